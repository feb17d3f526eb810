/*
 * Diagnostics: the list that every front end reports into. Codes come from diagnostics.def. One diagnostic
 * per (code, object). The list and its texts live in its arena. Pure; a list belongs to one thread.
 */
#pragma once

#include "sql/findings/analysis.h"

/* More than these are not reported: the score is 0 long before. */
#define DIAGNOSTICS_MAX 200

enum sql_diagnostic_code {
#define DIAGNOSTIC(symbol, code, severity, sqlstate, meaning) DIAG_##symbol,
#include "sql/findings/diagnostics.def"
#undef DIAGNOSTIC
	DIAG_COUNT_
};

struct diagnostics {
	struct arena *arena;
	size_t text_offset; /* of the text that offsets count in, within the SQL as given */
	struct sql_diagnostic *items;
	size_t count;
	size_t capacity;
	unsigned order;
};

/* Stable name of the code; static. */
const char *diagnostic_name(enum sql_diagnostic_code code);

/* Adds a diagnostic unless (code, sub code, object) is there already. `offset`: bytes into the statement's
 * text, negative where unknown. `sub_code` is static or NULL; object and message are copied. */
void diagnostics_add(struct diagnostics *diagnostics, enum sql_diagnostic_code code, const char *sub_code,
		     str_t object, int64_t offset, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* The same for an error whose SQLSTATE is not that of its code. */
void diagnostics_add_state(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
			   const char *sub_code, const char *sqlstate, str_t object, int64_t offset,
			   const char *format, ...) __attribute__((format(printf, 7, 8)));
