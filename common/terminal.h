/*
 * Texts of others on their way to a terminal, or to whatever shows them to a person: what a terminal would
 * obey instead of showing it is written as an escape. That are control characters (those of C1, too), line
 * ends, what turns the direction of writing or is invisible, and bytes that are no UTF-8.
 *
 * Code points become \n, \t or \u202e, as in JSON, where a text of it keeps its meaning; bytes become \x9b.
 * All else is left as it is. Pure but for what prints.
 */
#pragma once

#include "common/buf.h"

#include <stdio.h>

/* Appends the text, which is on one line then. */
void terminal_append(struct buf *out, str_t text);

/* The same, where line feeds stay what they are: JSON, or lines that were made fit one by one. */
void terminal_append_lines(struct buf *out, str_t text);

/* Appends a formatted line with its line feed. */
void terminal_append_line(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first and the third of them to a stream; whether it took them is the caller's to ask (ferror). */
void terminal_print(FILE *stream, str_t text);
void terminal_print_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On standard error what a command waits for that reads events from standard input, where that is a terminal.
 */
void terminal_tell_waiting(void);
