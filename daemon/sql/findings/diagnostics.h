/*
 * Diagnostics: the list that every front end reports into. Codes come from diagnostics.def, sub codes from
 * sub_codes.def. The list and its texts live in its arena. Pure; a list belongs to one thread.
 *
 * There is one diagnostic per (code, sub code, object), and each of them has its price (score/technical.h: 20
 * points for an error, 5 for a warning). So the object decides three things, and is chosen for them.
 *
 * What counts once: `*` for select_star, since ten stars of a statement are one habit and cost 5; a place
 * ("@41") or the text that stands there for what is wrong each time it is written.
 *
 * What it costs: two comparisons with NULL that are written alike are one object in MySQL, whose tree knows
 * their text, and two in PostgreSQL and SQLite, where a place is known alone.
 *
 * What is left out: a type_mismatch of PostgreSQL whose object an error names already (is_refused in
 * postgresql/diagnose).
 *
 * One fault is counted once, whoever reports it: a rule that warns of a construct leaves alone what an error
 * is reported for, such as a position that is not in the select list. Neither does the list know that two
 * codes speak of the same place, nor does it take anything back; the rule itself has to look.
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

/* Sub codes: SUB_<code>_<sub code>. */
enum diagnostic_sub_code {
	SUB_NONE,
#define SUB_CODE(of, symbol, sub_code, meaning) SUB_##of##_##symbol,
#include "sql/findings/sub_codes.def"
#undef SUB_CODE
	SUB_COUNT_
};

struct diagnostics {
	struct arena *arena;
	size_t text_offset; /* of the text that offsets count in, within the SQL as given */
	struct sql_diagnostic *items;
	size_t count;
	size_t capacity;
	unsigned order;
};

/* Stable name of the code; what it means, for users; whether it is an error. Static. */
const char *diagnostic_name(enum sql_diagnostic_code code);
const char *diagnostic_meaning(enum sql_diagnostic_code code);
bool diagnostic_is_error(enum sql_diagnostic_code code);

/* Stable name of a sub code, NULL for SUB_NONE; what it means; the code that has it. Static. */
const char *diagnostic_sub_name(enum diagnostic_sub_code sub_code);
const char *diagnostic_sub_meaning(enum diagnostic_sub_code sub_code);
enum sql_diagnostic_code diagnostic_of_sub(enum diagnostic_sub_code sub_code);

/* Adds a diagnostic unless (code, sub code, object) is there already. `offset`: bytes into the statement's
 * text, negative where unknown. `sub_code` is one of the code's, or SUB_NONE; object and message are copied.
 */
void diagnostics_add(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
		     enum diagnostic_sub_code sub_code, str_t object, int64_t offset, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* The same for an error whose SQLSTATE is not that of its code. */
void diagnostics_add_state(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
			   enum diagnostic_sub_code sub_code, const char *sqlstate, str_t object,
			   int64_t offset, const char *format, ...) __attribute__((format(printf, 7, 8)));
