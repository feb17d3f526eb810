/*
 * Errors: one code per kind (errors.def), and a sentence for a person where one is due.
 *
 * Functions that can fail return err_t and set their `ret_` outputs only on success. One that can say more
 * than its code takes a `struct err_detail *` (may be NULL) and fills it with what, where and how to mend it.
 * All functions here are pure and safe in any thread.
 */
#pragma once

#include "common/banned.h" // IWYU pragma: export

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum err {
#define ERROR(symbol, name, disposition, exit_status, text) ERR_##symbol,
#include "common/errors.def"
#undef ERROR
	ERR_COUNT_
} err_t;

enum err_disposition {
	ERR_DISPOSITION_NONE,
	ERR_DISPOSITION_RETRY,
	ERR_DISPOSITION_DEAD_LETTER,
	ERR_DISPOSITION_FAIL_METRIC,
	ERR_DISPOSITION_FATAL,
};

/* What went wrong, for a person: one sentence without a final full stop. */
struct err_detail {
	char message[512];
};

/* Stable name of the error, as records and logs show it. */
const char *err_name(err_t err);

/* General sentence of the error; a detail, where there is one, says more. */
const char *err_text(err_t err);

/* What the layer that decides does with the error. */
enum err_disposition err_disposition(err_t err);

/* Exit status (sysexits.h) of a command that ends with the error. */
int err_exit_status(err_t err);

/* Writes the message into `detail` (may be NULL) and returns `err`, so that callers can `return err_fail(…)`.
 */
err_t err_fail(struct err_detail *detail, err_t err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The detail's message, or the error's general text where the detail is NULL or empty. */
const char *err_message(err_t err, const struct err_detail *detail);
