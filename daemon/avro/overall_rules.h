/*
 * Rules of overall confidence: what of the configuration its value, and the value of the factors that it is
 * the least of, follow from, as one canonical text. What is learnt from overall confidence means something
 * under the same rules alone.
 *
 *   factors=technical,advisory,retrieval_without_advisory source=own retrieval=formula
 *
 * Factors in the order of enum record_factor, each once, without retrieval_without_advisory beside retrieval,
 * which says the same; source: of diagnostics; retrieval: "formula" for the numbers of the formula, else its
 * weights in the schema's order, rrf_scale, consensus_above, gap_scale and spread_scale. A record without
 * retrieval has no such part: it is the same under all of them. Thresholds and technical_alone are no part:
 * they make the level, not the value. Pure; any thread.
 */
#pragma once

#include "avro/scored_query.h"
#include "common/buf.h"

/* Appends the text; `retrieval`: there is one, or any event is meant. */
void overall_rules_write(const struct record_rules *rules, bool retrieval, struct buf *out);

/* Of the text for any event that for an event without retrieval: its beginning. */
str_t overall_rules_without_retrieval(str_t text);

/* Whether a record has overall confidence by these rules, which are a text for any event. */
bool overall_rules_hold(str_t text, const struct scored_query *scored);
