/*
 * Log lines with fields: to the journal where standard error is connected to it, else as text to standard
 * error.
 *
 * Errors are logged once, by the layer that decides what becomes of them. Secrets never enter a log line.
 * Safe in any thread.
 */
#pragma once

#include "common/err.h"

enum log_level {
	LOG_LEVEL_CRITICAL,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* A field of the line: name in lower case (journal: ASSAYD_<NAME>), value as text. */
struct log_field {
	const char *name;
	const char *value;
};

#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { NULL, NULL } })

/* Lines above this level are dropped; the default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* Writes one line; `fields` ends with a NULL name, or is NULL. */
void log_write(enum log_level level, const struct log_field *fields, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(...)	 log_write(LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_notice(...)	 log_write(LOG_LEVEL_NOTICE, NULL, __VA_ARGS__)
#define log_info(...)	 log_write(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...)	 log_write(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)

/* For tests: lines go to `sink` instead (NULL: back to normal). */
void log_set_sink(void (*sink)(enum log_level level, const char *line, void *context), void *context);
