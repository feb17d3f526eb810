/*
 * Technical confidence: how sound a query is by its diagnostics alone, 0..100. Pure; any thread.
 *
 * Starts at 100; SQL that is not valid and an unknown table give 0; every error takes 20 and every warning 5.
 * One is what is said of one object: a (code, sub code, object) of sql/findings/diagnostics.h.
 */
#pragma once

#include "common/str.h"

struct technical_findings {
	bool valid; /* parses as exactly one statement */
	bool unknown_table;
	size_t errors; /* unknown tables included */
	size_t warnings;
};

/* By the formula above. */
double technical_score(const struct technical_findings *findings);

/* Whether an upstream error's text says that a table is missing: it speaks of a table that is "not found" or
 * "does not exist", in any case of letters. */
bool technical_text_is_unknown_table(str_t text);

/* Whose diagnostics count. */
enum technical_source { TECHNICAL_OWN, TECHNICAL_EVENT, TECHNICAL_WORST };

/* Chooses between our own score and the one made from the event's diagnostic. TECHNICAL_EVENT falls back to
 * ours where the event brings none; TECHNICAL_WORST takes the lower of those that are there. */
opt_double_t technical_choose(enum technical_source source, opt_double_t own, opt_double_t event);
