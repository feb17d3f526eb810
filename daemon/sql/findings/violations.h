/*
 * Violations: the list that every front end reports into. Codes come from violations.def; one violation per
 * (code, offset, detail). Beside it stands the doubt: what cannot be known is no violation, but nothing with
 * a doubt is SAFE. The list and its texts live in its arena. Pure; a list belongs to one thread.
 */
#pragma once

#include "sql/findings/analysis.h"

/* Kept of one statement; further ones would tell nobody anything new, and each is compared with all before.
 */
#define VIOLATIONS_MAX 200

enum sql_violation_code {
#define VIOLATION(symbol, code, text) VIOLATION_##symbol,
#include "sql/findings/violations.def"
#undef VIOLATION
	VIOLATION_COUNT_
};

struct violations {
	struct arena *arena;
	size_t text_offset; /* of the text that offsets count in, within the SQL as given */
	struct sql_violation *items;
	size_t count;
	size_t capacity;
	str_t doubt; /* the first, or absent */
};

/* Stable name of the code; static. */
const char *violation_name(enum sql_violation_code code);

/* Continues the list that `analysis` holds. */
struct violations violations_begin(const struct sql_analysis *analysis, struct arena *arena);

/* Adds a violation at `offset` bytes into the text (negative: unknown, its start). The detail is copied.
 * Past VIOLATIONS_MAX, none is added. */
void violations_add(struct violations *violations, enum sql_violation_code code, int64_t offset,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Notes why the statement cannot be judged: something that is neither built in nor in a catalog that may be
 * incomplete, a text that does not parse. The first reason is kept; it is copied. */
void violations_doubt(struct violations *violations, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Stores list and doubt in `analysis` and sets its verdict: UNSAFE with a violation, else UNKNOWN with a
 * doubt or when a target is named and its catalog is missing, else SAFE. */
void violations_end(const struct violations *violations, const struct sql_request *request,
		    struct sql_analysis *analysis);
