/*
 * What a configuration's text has to go through before libconfig 1.5 sees it: that library silently cuts
 * integers beyond 32 bits that have no `L`, and ends the process when an included file is a directory. Pure;
 * any thread.
 */
#pragma once

#include "common/buf.h"

/* Appends the text with an `L` behind every integer that needs it and without the byte order mark of UTF-8;
 * lines stay where they are. Fails on integers beyond 64 bits, on @include, on texts and comments without an
 * end, on UTF-16 and on NUL bytes, naming `name` and the line. */
err_t conf_scan(const char *name, str_t text, struct buf *prepared, struct err_detail *detail);
