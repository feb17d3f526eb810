/* Parts of what is printed for people. Whether the stream took it is the caller's to ask (ferror). */
#pragma once

#include "common/str.h"

#include <stdio.h>

/* "2026-01-08 12:00:00 UTC" of ms since 1970. */
void print_time(FILE *stream, int64_t ms);

/* "7 d", "24 h" or "60 s". */
void print_window(FILE *stream, int64_t seconds);

/* A name of an event, made fit for a terminal; "-" for an absent one. */
void print_name(FILE *stream, str_t name);
