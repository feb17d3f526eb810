/*
 * What a dialect has instead of the words of others: for hints. Each front end has a table of its own
 * (instead.def). Pure; any thread.
 */
#pragma once

#include "common/arena.h"
#include "sql/lex/scan.h"

struct instead {
	const char *word; /* in lower case; `name(` only where a bracket follows; or an operator */
	const char *use;
};

/* The entry of a function's name, or NULL. */
const struct instead *instead_of_function(const struct instead *table, size_t count, str_t name);

/* The entry of the nearest token at or shortly before the offset of a syntax error, or NULL. */
const struct instead *instead_near(const struct instead *table, size_t count, str_t sql, size_t offset,
				   enum sql_dialect dialect);

/* "; instead of YEAR() there is strftime('%Y', …)", in the arena; NULL: "". */
str_t instead_hint(const struct instead *instead, struct arena *arena);
