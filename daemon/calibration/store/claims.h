/*
 * Claims: probabilities as they were published, with the outcomes that labels told; what the second of the
 * two tests of drift looks at (statistics/claims_sequence.h). A probability claims how often a label of
 * RESULT or FEEDBACK says "correct", since these are what models learn from; of what a judge says it claims
 * nothing.
 *
 * Those of RESULT are rows of calibration_claims: of each segment the latest CLAIMS_MAX, by time, partition
 * and offset. They are written in the transaction that counts their cases, and do not depend on the order in
 * which cases come: a row that goes has enough later ones in every order. Those of FEEDBACK are the
 * remembered events that have a verdict and a probability (calibration_events): nothing is written for them.
 *
 * Needs an open connection with the tables, blocks within its deadlines, and is for the thread that uses it.
 */
#pragma once

#include "calibration/statistics/claims_sequence.h"
#include "calibration/store/cases.h"
#include "common/arena.h"

/* Adds the claims among the cases to `table` (calibration_claims, or another of its shape), of segments as
 * `segments` has them, and removes those that have had their time. Within a transaction. */
err_t claims_add(struct database *database, const char *table, const char *segments,
		 const struct calibration_case *cases, size_t count, struct err_detail *detail);

/* An expression of SQL: the claims of the row `q`, which has a segment and a label source, as claims_parse
 * reads them. */
#define CLAIMS_OF_Q                                                                                          \
	"CASE q.label_source WHEN 'RESULT' THEN (SELECT " CLAIMS_TEXT " FROM (SELECT scored_at, partition, " \
	"record_offset, probability, correct FROM calibration_claims c "                                     \
	"WHERE (c.application, c.model, c.prompt_version, c.label_source) = "                                \
	"(q.application, q.model, q.prompt_version, q.label_source) " CLAIMS_LATEST ") AS l) "               \
	"WHEN 'FEEDBACK' THEN (SELECT " CLAIMS_TEXT " FROM (SELECT scored_at, partition, "                   \
	"record_offset, probability, correct FROM calibration_events c "                                     \
	"WHERE (c.application, c.model, c.prompt_version) = (q.application, q.model, q.prompt_version) "     \
	"AND c.correct IS NOT NULL AND c.probability IS NOT NULL "                                           \
	"AND c.scored_at >= calibration_claims_since() " CLAIMS_LATEST ") AS l) END"

#define CLAIMS_LATEST "ORDER BY scored_at DESC, partition DESC, record_offset DESC LIMIT 1000"

#define CLAIMS_TEXT                                                                                          \
	"string_agg(concat_ws(' ', (date_part('epoch', l.scored_at) * 1000)::bigint, l.partition, "          \
	"l.record_offset, l.correct::integer, l.probability), ',' "                                          \
	"ORDER BY l.scored_at, l.partition, l.record_offset)"

/* The claims of such a text, in the arena and in the order of their places. Pure. */
struct claim *claims_parse(const char *text, struct arena *arena, size_t *ret_count);
