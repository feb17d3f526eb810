/*
 * Rules that cases and models are of: what their overall confidence follows from (avro/overall_rules.h).
 * Tables have a number for each text, and calibration_rules has the texts that were met. Rows without a
 * number are of a program before that, or of a record that does not say; they count as those of the rules
 * that were met first.
 *
 * What needs a database needs an open connection with the tables, blocks within its deadlines, and is for the
 * thread that uses it; the rest is pure.
 */
#pragma once

#include "calibration/store/cases.h"

/* So many texts are kept. */
#define RULES_MAX 1000

/* The number of a text, from its digest; of an absent one 0. */
int64_t rules_number(str_t text);

/* Room for a set of numbers as PostgreSQL reads a bigint[]. */
struct rules_numbers {
	char text[64];
};

/* The numbers that rows of these rules may have, in `to`: its own, and that of events without retrieval. Of
 * an absent text 0, by which rows without a number are found where no rules were met. */
const char *rules_numbers(struct rules_numbers *to, str_t text);

/* Whether a row is of the rules that the parameter has the numbers of; `column` is its number. */
#define RULES_ARE(column, numbers)                                                                           \
	"coalesce(" column ", " RULES_FORMER ", (" numbers "::bigint[])[1]) = ANY (" numbers "::bigint[]) "

/* The number of those that were met first; NULL: none were. */
#define RULES_FORMER "(SELECT number FROM calibration_rules ORDER BY since, number LIMIT 1)"

/* Notes a text in calibration_rules, and that it was met in something scored at that time; an absent one is
 * not noted. */
err_t rules_note(struct database *database, str_t text, int64_t since_ms, struct err_detail *detail);

/* Notes those of cases in `table` (calibration_rules, or another of its shape). Within a transaction. */
err_t rules_add(struct database *database, const char *table, const struct calibration_case *cases,
		size_t count, struct err_detail *detail);
