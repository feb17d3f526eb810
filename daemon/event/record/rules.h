/* The rules of a record's numbers that others need, too. Any thread. */
#pragma once

#include "avro/scored_query.h"
#include "common/buf.h"
#include "config/config.h"

/* Appends what overall confidence follows from by these settings (avro/overall_rules.h). */
void record_rules_of_overall(const struct config *config, struct buf *out);

/* What is in force where a record has null, as the schema's documentation writes it down. */
extern const struct record_retrieval_rules RECORD_RETRIEVAL_FORMULA;
extern const struct record_result_rules RECORD_RESULT_DEFAULTS;
