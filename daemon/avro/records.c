/* The tables of fields.h: what the schemas under schemas/ say, bound to the structs. */
#include "avro/fields.h"
#include "avro/query_feedback.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define ENUMERATION(id, ...)                                                                                 \
	static const char *const id##_SYMBOLS[] = { __VA_ARGS__ };                                           \
	const struct enumeration id = { id##_SYMBOLS, COUNT_OF(id##_SYMBOLS) }

#define LOCAL_ENUMERATION(id, ...)                                                                           \
	static const char *const id##_SYMBOLS[] = { __VA_ARGS__ };                                           \
	static const struct enumeration id = { id##_SYMBOLS, COUNT_OF(id##_SYMBOLS) }

/* Each table defines RECORD as the struct that it describes. */
#define NAMED(text, member, field_kind, ...)                                                                 \
	{                                                                                                    \
		.name = (text), .kind = (field_kind), .offset = offsetof(struct RECORD, member), __VA_ARGS__ \
	}
#define REQUIRED(member, kind, ...)    NAMED(#member, member, kind, .flags = FIELD_REQUIRED, ##__VA_ARGS__)
#define OBVIOUS(member, kind)	       NAMED(#member, member, kind, .flags = FIELD_REQUIRED | FIELD_OBVIOUS)
#define NULLABLE(member, kind, ...)    NAMED(#member, member, kind, .flags = FIELD_NULLABLE, ##__VA_ARGS__)
#define DEFAULTED(member, kind, value) NAMED(#member, member, kind, .fallback = (value))
#define EMBEDDED(member, type)	       REQUIRED(member, FIELD_RECORD, .record = &(type))
#define OPTIONAL_RECORD(member, type)  NULLABLE(member, FIELD_RECORD, .record = &(type))
#define ENUM(member, values)	       REQUIRED(member, FIELD_ENUM, .symbols = &(values))
#define OPTIONAL_ENUM(member, values)  NULLABLE(member, FIELD_ENUM, .symbols = &(values))
/* What is none of our symbols is kept in unknown_<member>. */
#define KEPT_UNKNOWN(member) .unknown_offset = offsetof(struct RECORD, unknown_##member)
#define ITEMS(member, element)                                                                               \
	.count_offset = offsetof(struct RECORD, member##_count),                                             \
	.item_size_bytes = sizeof *((struct RECORD *)NULL)->member, .item = &(element)
#define TEXTS(member)		 NAMED(#member, member, FIELD_ARRAY, ITEMS(member, TEXT_ITEM))
#define RECORDS(member, element) NAMED(#member, member, FIELD_ARRAY, ITEMS(member, element))
#define MAP(member, element)	 NAMED(#member, member, FIELD_MAP, ITEMS(member, element))

#define TABLE(id, text)                                                                                      \
	{                                                                                                    \
		(text), sizeof(struct RECORD), id, COUNT_OF(id)                                              \
	}
#define ITEM_OF(type)                                                                                        \
	{                                                                                                    \
		.name = "item", .kind = FIELD_RECORD, .flags = FIELD_REQUIRED, .record = &(type)             \
	}

static const struct field TEXT_ITEM = { .name = "item", .kind = FIELD_TEXT, .flags = FIELD_REQUIRED };

LOCAL_ENUMERATION(DIALECTS, "POSTGRESQL", "SQLITE", "MYSQL", "MONGODB");
LOCAL_ENUMERATION(SOURCE_TYPES, "GOVERNMENT", "REGULATORY", "MARKET_DATA", "THIRD_PARTY", "UNKNOWN");
LOCAL_ENUMERATION(EXPECTED_FAILURES, "SYNTAX", "SCHEMA", "SAFETY");
LOCAL_ENUMERATION(SEVERITIES, "WARNING", "ERROR");
LOCAL_ENUMERATION(VERDICTS, "SAFE", "UNSAFE", "UNKNOWN");
LOCAL_ENUMERATION(DECISIONS, "REJECT", "WARN", "ACCEPT", "ACCEPT_HIGH", "UNJUDGED");
LOCAL_ENUMERATION(DIAGNOSTIC_SOURCES, "OWN", "EVENT", "WORST");
LOCAL_ENUMERATION(CONFIDENCE_FACTORS, "TECHNICAL", "ADVISORY", "RETRIEVAL", "GENERATOR", "AGREEMENT",
		  "RETRIEVAL_WITHOUT_ADVISORY", "OTHER");
LOCAL_ENUMERATION(LABEL_SOURCES, "FEEDBACK", "RESULT", "CORRECTNESS", "RELEVANCE");
ENUMERATION(DISPOSITION_ACTIONS, "WITHHOLD", "VERIFY", "USE_WITH_CAUTION", "USE");
ENUMERATION(CONFIDENCE_LEVELS, "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE",
	    "HIGH_CONFIDENCE");
ENUMERATION(ADVISORY_KINDS, "LOW_CONFIDENCE", "UNSAFE_QUERY", "LOW_RELEVANCE", "GROUND_TRUTH_FAILED",
	    "PERFORMANCE_REGRESSION", "CALIBRATION_DRIFT");

/* GeneratedQuery */

#define RECORD upstream_diagnostic
static const struct field DIAGNOSTIC_FIELDS[] = {
	REQUIRED(valid, FIELD_BOOL),
	TEXTS(errors),
	TEXTS(warnings),
};
static const struct record_type DIAGNOSTIC = TABLE(DIAGNOSTIC_FIELDS, "UpstreamDiagnostic");
#undef RECORD

#define RECORD upstream_validator
static const struct field VALIDATOR_FIELDS[] = {
	NULLABLE(safety_valid, FIELD_BOOL),
	NULLABLE(is_valid, FIELD_BOOL),
	TEXTS(errors),
};
static const struct record_type VALIDATOR = TABLE(VALIDATOR_FIELDS, "UpstreamValidator");
#undef RECORD

#define RECORD retrieved_chunk
static const struct field CHUNK_FIELDS[] = {
	OBVIOUS(chunk_id, FIELD_TEXT),
	NULLABLE(document_id, FIELD_TEXT),
	NAMED("source_type", source_type, FIELD_ENUM, .symbols = &SOURCE_TYPES, .fallback = SOURCE_UNKNOWN,
	      KEPT_UNKNOWN(source_type)),
	NULLABLE(bm25_score, FIELD_DOUBLE),
	NULLABLE(dense_score, FIELD_DOUBLE),
	NULLABLE(rrf_score, FIELD_DOUBLE),
	NULLABLE(boosted_score, FIELD_DOUBLE),
	NULLABLE(rerank_score, FIELD_DOUBLE),
	NULLABLE(graph_boost, FIELD_DOUBLE),
};
static const struct record_type CHUNK = TABLE(CHUNK_FIELDS, "RetrievedChunk");
static const struct field CHUNK_ITEM = ITEM_OF(CHUNK);
#undef RECORD

#define RECORD retrieval
static const struct field RETRIEVAL_FIELDS[] = {
	RECORDS(chunks, CHUNK_ITEM),
};
static const struct record_type RETRIEVAL = TABLE(RETRIEVAL_FIELDS, "Retrieval");
#undef RECORD

#define RECORD model_response
static const struct field RESPONSE_FIELDS[] = {
	REQUIRED(raw, FIELD_TEXT),
	TEXTS(required_fields),
	TEXTS(optional_fields),
};
static const struct record_type RESPONSE = TABLE(RESPONSE_FIELDS, "ModelResponse");
#undef RECORD

/* The item of an array of nullable texts. */
static const struct field CELL_ITEM = { .name = "item", .kind = FIELD_TEXT, .flags = FIELD_NULLABLE };

#define RECORD truth_row
static const struct field ROW_ITEM =
	NAMED("item", cells, FIELD_ARRAY, .flags = FIELD_REQUIRED, ITEMS(cells, CELL_ITEM));
#undef RECORD

#define RECORD truth_table
static const struct field TRUTH_TABLE_FIELDS[] = {
	TEXTS(columns),
	RECORDS(rows, ROW_ITEM),
	DEFAULTED(ordered, FIELD_BOOL, 0),
};
static const struct record_type TRUTH_TABLE = TABLE(TRUTH_TABLE_FIELDS, "TruthTable");
static const struct field TRUTH_TABLE_ITEM = ITEM_OF(TRUTH_TABLE);
#undef RECORD

#define RECORD truth_comparison
static const struct field TRUTH_COMPARISON_FIELDS[] = {
	TEXTS(columns),
	NULLABLE(ignore_order, FIELD_BOOL),
	NULLABLE(absolute_tolerance, FIELD_DOUBLE),
};
static const struct record_type TRUTH_COMPARISON = TABLE(TRUTH_COMPARISON_FIELDS, "TruthComparison");
#undef RECORD

#define RECORD ground_truth
static const struct field GROUND_TRUTH_FIELDS[] = {
	NULLABLE(sql, FIELD_TEXT),
	TEXTS(alternatives),
	RECORDS(results, TRUTH_TABLE_ITEM),
	OPTIONAL_RECORD(compare, TRUTH_COMPARISON),
	NULLABLE(question, FIELD_TEXT),
	NULLABLE(similarity, FIELD_DOUBLE),
	NULLABLE(tables, FIELD_ARRAY, ITEMS(tables, TEXT_ITEM),
		 .set_offset = offsetof(struct RECORD, tables_set)),
	NULLABLE(should_pass, FIELD_BOOL),
	NULLABLE(expected_failure, FIELD_ENUM, .symbols = &EXPECTED_FAILURES, KEPT_UNKNOWN(expected_failure)),
};
static const struct record_type GROUND_TRUTH = TABLE(GROUND_TRUTH_FIELDS, "GroundTruth");
#undef RECORD

#define RECORD candidate
static const struct field CANDIDATE_FIELDS[] = {
	REQUIRED(sql, FIELD_TEXT),
	NULLABLE(model, FIELD_TEXT),
};
static const struct record_type CANDIDATE = TABLE(CANDIDATE_FIELDS, "Candidate");
static const struct field CANDIDATE_ITEM = ITEM_OF(CANDIDATE);
#undef RECORD

static const struct field ATTRIBUTE_VALUE = { .name = "value",
					      .kind = FIELD_TEXT,
					      .flags = FIELD_REQUIRED,
					      .offset = offsetof(struct attribute, value) };

#define RECORD generated_query
static const struct field GENERATED_QUERY_FIELDS[] = {
	OBVIOUS(event_id, FIELD_TEXT),
	OBVIOUS(occurred_at, FIELD_TIME),
	OBVIOUS(application, FIELD_TEXT),
	NULLABLE(model, FIELD_TEXT),
	NULLABLE(prompt_version, FIELD_TEXT),
	OBVIOUS(question, FIELD_TEXT),
	REQUIRED(sql, FIELD_TEXT),
	NULLABLE(dialect, FIELD_ENUM, .symbols = &DIALECTS, KEPT_UNKNOWN(dialect)),
	NULLABLE(target, FIELD_TEXT),
	NULLABLE(generator_confidence, FIELD_DOUBLE),
	OPTIONAL_RECORD(diagnostic, DIAGNOSTIC),
	OPTIONAL_RECORD(validator, VALIDATOR),
	OPTIONAL_RECORD(retrieval, RETRIEVAL),
	OPTIONAL_RECORD(response, RESPONSE),
	RECORDS(candidates, CANDIDATE_ITEM),
	OPTIONAL_RECORD(ground_truth, GROUND_TRUTH),
	MAP(attributes, ATTRIBUTE_VALUE),
};
const struct record_type GENERATED_QUERY_RECORD = TABLE(GENERATED_QUERY_FIELDS, "GeneratedQuery");
#undef RECORD

/* ScoredQuery */

#define RECORD record_diagnostic
static const struct field FINDING_FIELDS[] = {
	REQUIRED(code, FIELD_TEXT),	   NULLABLE(sub_code, FIELD_TEXT),    ENUM(severity, SEVERITIES),
	DEFAULTED(message, FIELD_TEXT, 0), DEFAULTED(offset, FIELD_LONG, -1),
};
static const struct record_type FINDING = TABLE(FINDING_FIELDS, "Diagnostic");
static const struct field FINDING_ITEM = ITEM_OF(FINDING);
#undef RECORD

#define RECORD record_technical
static const struct field TECHNICAL_FIELDS[] = {
	REQUIRED(score, FIELD_DOUBLE),
	REQUIRED(valid, FIELD_BOOL),
	RECORDS(diagnostics, FINDING_ITEM),
	NULLABLE(upstream, FIELD_DOUBLE),
};
static const struct record_type TECHNICAL = TABLE(TECHNICAL_FIELDS, "TechnicalConfidence");
#undef RECORD

#define RECORD record_retrieval
static const struct field RETRIEVAL_CONFIDENCE_FIELDS[] = {
	REQUIRED(confidence, FIELD_DOUBLE),
	ENUM(level, CONFIDENCE_LEVELS),
	REQUIRED(flagged, FIELD_BOOL),
	REQUIRED(top_score, FIELD_DOUBLE),
	REQUIRED(score_gap, FIELD_DOUBLE),
	REQUIRED(score_spread, FIELD_DOUBLE),
	REQUIRED(consensus_count, FIELD_LONG),
	NULLABLE(bm25_dense_agreement, FIELD_DOUBLE),
	NULLABLE(reranker_impact, FIELD_DOUBLE),
	REQUIRED(graph_support, FIELD_BOOL),
	REQUIRED(document_diversity, FIELD_DOUBLE),
	REQUIRED(interpretation, FIELD_TEXT),
	DEFAULTED(interpretation_text, FIELD_TEXT, 0),
	DEFAULTED(action_text, FIELD_TEXT, 0),
	DEFAULTED(non_finite_scores, FIELD_LONG, 0),
};
static const struct record_type RETRIEVAL_CONFIDENCE =
	TABLE(RETRIEVAL_CONFIDENCE_FIELDS, "RetrievalConfidence");
#undef RECORD

#define RECORD record_advisory_confidence
static const struct field ADVISORY_CONFIDENCE_FIELDS[] = {
	REQUIRED(confidence, FIELD_DOUBLE),	   ENUM(level, CONFIDENCE_LEVELS),
	REQUIRED(retrieval_quality, FIELD_DOUBLE), REQUIRED(source_quality, FIELD_DOUBLE),
	REQUIRED(response_quality, FIELD_DOUBLE),
};
static const struct record_type ADVISORY_CONFIDENCE = TABLE(ADVISORY_CONFIDENCE_FIELDS, "AdvisoryConfidence");
#undef RECORD

#define RECORD record_agreement
static const struct field AGREEMENT_FIELDS[] = {
	NULLABLE(canonical, FIELD_DOUBLE),
	NULLABLE(results, FIELD_DOUBLE),
	REQUIRED(texts, FIELD_LONG),
	DEFAULTED(left_out, FIELD_LONG, 0),
};
static const struct record_type AGREEMENT = TABLE(AGREEMENT_FIELDS, "Agreement");
#undef RECORD

static const struct field FEATURE_VALUE = { .name = "value",
					    .kind = FIELD_DOUBLE,
					    .flags = FIELD_REQUIRED,
					    .offset = offsetof(struct record_feature, value) };

#define RECORD record_reason
static const struct field REASON_FIELDS[] = {
	REQUIRED(feature, FIELD_TEXT),
	REQUIRED(value, FIELD_DOUBLE),
	REQUIRED(addend, FIELD_DOUBLE),
};
static const struct record_type REASON = TABLE(REASON_FIELDS, "Reason");
static const struct field REASON_ITEM = ITEM_OF(REASON);
#undef RECORD

#define RECORD record_probability
static const struct field PROBABILITY_FIELDS[] = {
	REQUIRED(value, FIELD_DOUBLE),	      REQUIRED(low, FIELD_DOUBLE),
	REQUIRED(high, FIELD_DOUBLE),	      REQUIRED(labels, FIELD_LONG),
	REQUIRED(segment_labels, FIELD_LONG), REQUIRED(model, FIELD_LONG),
	DEFAULTED(judgement, FIELD_LONG, 0),  RECORDS(reasons, REASON_ITEM),
};
static const struct record_type PROBABILITY = TABLE(PROBABILITY_FIELDS, "Probability");
#undef RECORD

#define RECORD record_confidence
static const struct field CONFIDENCE_FIELDS[] = {
	NULLABLE(overall, FIELD_DOUBLE),
	OPTIONAL_ENUM(level, CONFIDENCE_LEVELS),
	NULLABLE(limiting_factor, FIELD_TEXT),
	OPTIONAL_RECORD(technical, TECHNICAL),
	OPTIONAL_RECORD(retrieval, RETRIEVAL_CONFIDENCE),
	OPTIONAL_RECORD(advisory, ADVISORY_CONFIDENCE),
	NULLABLE(generator, FIELD_DOUBLE),
	OPTIONAL_RECORD(agreement, AGREEMENT),
	MAP(features, FEATURE_VALUE),
	OPTIONAL_RECORD(probability, PROBABILITY),
	NULLABLE(level_by, FIELD_TEXT),
};
static const struct record_type CONFIDENCE = TABLE(CONFIDENCE_FIELDS, "Confidence");
#undef RECORD

#define RECORD record_violation
static const struct field VIOLATION_FIELDS[] = {
	REQUIRED(code, FIELD_TEXT),
	DEFAULTED(detail, FIELD_TEXT, 0),
	DEFAULTED(offset, FIELD_LONG, -1),
};
static const struct record_type VIOLATION = TABLE(VIOLATION_FIELDS, "Violation");
static const struct field VIOLATION_ITEM = ITEM_OF(VIOLATION);
#undef RECORD

#define RECORD record_safety
static const struct field SAFETY_FIELDS[] = {
	ENUM(verdict, VERDICTS),
	RECORDS(violations, VIOLATION_ITEM),
	NULLABLE(doubt, FIELD_TEXT),
};
static const struct record_type SAFETY = TABLE(SAFETY_FIELDS, "Safety");
#undef RECORD

#define RECORD record_findings
static const struct field FINDINGS_FIELDS[] = {
	REQUIRED(valid, FIELD_BOOL),
	RECORDS(diagnostics, FINDING_ITEM),
};
static const struct record_type FINDINGS = TABLE(FINDINGS_FIELDS, "Findings");
#undef RECORD

#define RECORD record_clauses
static const struct field CLAUSES_FIELDS[] = {
	REQUIRED(select, FIELD_DOUBLE), REQUIRED(where, FIELD_DOUBLE), REQUIRED(from, FIELD_DOUBLE),
	REQUIRED(group, FIELD_DOUBLE),	REQUIRED(order, FIELD_DOUBLE), REQUIRED(join, FIELD_DOUBLE),
};
static const struct record_type CLAUSES = TABLE(CLAUSES_FIELDS, "Clauses");
#undef RECORD

#define RECORD record_structure_truth
static const struct field STRUCTURE_TRUTH_FIELDS[] = {
	NULLABLE(same_form, FIELD_BOOL),
	OPTIONAL_RECORD(clauses, CLAUSES),
	TEXTS(tables),
};
static const struct record_type STRUCTURE_TRUTH = TABLE(STRUCTURE_TRUTH_FIELDS, "StructureTruth");
#undef RECORD

#define RECORD record_structure
static const struct field STRUCTURE_FIELDS[] = {
	REQUIRED(structural, FIELD_DOUBLE),	 NULLABLE(semantic, FIELD_DOUBLE),
	NULLABLE(table_accuracy, FIELD_DOUBLE),	 TEXTS(tables),
	OPTIONAL_RECORD(truth, STRUCTURE_TRUTH), OPTIONAL_RECORD(findings, FINDINGS),
};
static const struct record_type STRUCTURE = TABLE(STRUCTURE_FIELDS, "Structure");
#undef RECORD

#define RECORD record_execution
static const struct field EXECUTION_FIELDS[] = {
	REQUIRED(rows, FIELD_LONG), REQUIRED(time_ms, FIELD_DOUBLE), NULLABLE(sqlstate, FIELD_TEXT),
	NULLABLE(code, FIELD_LONG), DEFAULTED(more, FIELD_BOOL, 0),  NULLABLE(digest, FIELD_TEXT),
};
static const struct record_type EXECUTION = TABLE(EXECUTION_FIELDS, "Execution");
#undef RECORD

#define RECORD record_column_pair
static const struct field COLUMN_PAIR_FIELDS[] = {
	REQUIRED(truth, FIELD_TEXT),
	REQUIRED(generated, FIELD_TEXT),
};
static const struct record_type COLUMN_PAIR = TABLE(COLUMN_PAIR_FIELDS, "ColumnPair");
static const struct field COLUMN_PAIR_ITEM = ITEM_OF(COLUMN_PAIR);
#undef RECORD

#define RECORD record_explanation
static const struct field EXPLANATION_FIELDS[] = {
	REQUIRED(summary, FIELD_TEXT),
	NULLABLE(error, FIELD_TEXT),
	NULLABLE(message, FIELD_TEXT),
	DEFAULTED(generated_columns, FIELD_LONG, 0),
	DEFAULTED(truth_columns, FIELD_LONG, 0),
	RECORDS(columns_paired, COLUMN_PAIR_ITEM),
	TEXTS(columns_missing),
	TEXTS(columns_extra),
	RECORDS(rows_missing, ROW_ITEM),
	RECORDS(rows_extra, ROW_ITEM),
	DEFAULTED(other_order, FIELD_BOOL, 0),
	DEFAULTED(shortened, FIELD_BOOL, 0),
};
static const struct record_type EXPLANATION = TABLE(EXPLANATION_FIELDS, "ResultExplanation");
#undef RECORD

#define RECORD record_result_validation
static const struct field RESULT_VALIDATION_FIELDS[] = {
	REQUIRED(status, FIELD_TEXT),
	REQUIRED(score, FIELD_DOUBLE),
	DEFAULTED(truth_index, FIELD_LONG, 0),
	REQUIRED(weight, FIELD_DOUBLE),
	ENUM(match_confidence, CONFIDENCE_LEVELS),
	REQUIRED(schema_match, FIELD_BOOL),
	REQUIRED(row_count_match, FIELD_BOOL),
	REQUIRED(content_match_rate, FIELD_DOUBLE),
	REQUIRED(ordering_matters, FIELD_BOOL),
	DEFAULTED(truncated, FIELD_BOOL, 0),
	DEFAULTED(nondeterministic, FIELD_BOOL, 0),
	DEFAULTED(conclusive, FIELD_BOOL, 1),
	DEFAULTED(limit_cut_tie, FIELD_BOOL, 0),
	DEFAULTED(truth_cached, FIELD_BOOL, 0),
	DEFAULTED(one_snapshot, FIELD_BOOL, 1),
	NULLABLE(match_rate_low, FIELD_DOUBLE),
	NULLABLE(match_rate_high, FIELD_DOUBLE),
	EMBEDDED(generated, EXECUTION),
	EMBEDDED(truth, EXECUTION),
	OPTIONAL_RECORD(explanation, EXPLANATION),
	NULLABLE(rows_matched, FIELD_LONG),
};
static const struct record_type RESULT_VALIDATION = TABLE(RESULT_VALIDATION_FIELDS, "ResultValidation");
#undef RECORD

#define RECORD record_judge_score
static const struct field JUDGE_SCORE_FIELDS[] = {
	REQUIRED(score, FIELD_DOUBLE),	  DEFAULTED(reason, FIELD_TEXT, 0), REQUIRED(status, FIELD_TEXT),
	DEFAULTED(cached, FIELD_BOOL, 0), NULLABLE(raw, FIELD_TEXT),
};
static const struct record_type JUDGE_SCORE = TABLE(JUDGE_SCORE_FIELDS, "JudgeScore");
#undef RECORD

#define RECORD record_panelist
static const struct field PANELIST_FIELDS[] = {
	REQUIRED(name, FIELD_TEXT),
	REQUIRED(provider, FIELD_TEXT),
	REQUIRED(model, FIELD_TEXT),
	OPTIONAL_RECORD(relevance, JUDGE_SCORE),
	OPTIONAL_RECORD(correctness, JUDGE_SCORE),
	NULLABLE(unjudged_reason, FIELD_TEXT),
	REQUIRED(prompt_digest, FIELD_TEXT),
	DEFAULTED(prompt_tokens, FIELD_LONG, 0),
	DEFAULTED(completion_tokens, FIELD_LONG, 0),
	NULLABLE(cost, FIELD_DOUBLE),
};
static const struct record_type PANELIST = TABLE(PANELIST_FIELDS, "Panelist");
static const struct field PANELIST_ITEM = ITEM_OF(PANELIST);
#undef RECORD

#define RECORD record_judge
static const struct field JUDGE_FIELDS[] = {
	OPTIONAL_RECORD(relevance, JUDGE_SCORE),
	OPTIONAL_RECORD(correctness, JUDGE_SCORE),
	ENUM(decision, DECISIONS),
	NULLABLE(unjudged_reason, FIELD_TEXT),
	REQUIRED(sampling_probability, FIELD_DOUBLE),
	NULLABLE(provider, FIELD_TEXT),
	NULLABLE(model, FIELD_TEXT),
	DEFAULTED(prompt_tokens, FIELD_LONG, 0),
	DEFAULTED(completion_tokens, FIELD_LONG, 0),
	NULLABLE(cost, FIELD_DOUBLE),
	NULLABLE(relevance_disagreement, FIELD_DOUBLE),
	NULLABLE(correctness_disagreement, FIELD_DOUBLE),
	RECORDS(panel, PANELIST_ITEM),
};
static const struct record_type JUDGE = TABLE(JUDGE_FIELDS, "Judge");
#undef RECORD

#define RECORD record_grade
static const struct field GRADE_FIELDS[] = {
	REQUIRED(score, FIELD_DOUBLE),
	NAMED("class", classification, FIELD_TEXT, .flags = FIELD_REQUIRED),
	NULLABLE(category, FIELD_TEXT),
};
static const struct record_type GRADE = TABLE(GRADE_FIELDS, "Grade");
#undef RECORD

#define RECORD record_grading
static const struct field GRADING_FIELDS[] = {
	OPTIONAL_RECORD(safety, GRADE),
	OPTIONAL_RECORD(validation, GRADE),
	OPTIONAL_RECORD(upstream_safety, GRADE),
	OPTIONAL_RECORD(upstream_validation, GRADE),
};
static const struct record_type GRADING = TABLE(GRADING_FIELDS, "Grading");
#undef RECORD

static const struct field WEIGHT_VALUE = { .name = "value",
					   .kind = FIELD_DOUBLE,
					   .flags = FIELD_REQUIRED,
					   .offset = offsetof(struct record_weight, value) };

#define RECORD record_evaluation
static const struct field EVALUATION_FIELDS[] = {
	REQUIRED(score, FIELD_DOUBLE), REQUIRED(passed, FIELD_BOOL),	REQUIRED(degraded, FIELD_BOOL),
	MAP(weights, WEIGHT_VALUE),    NULLABLE(failed_by, FIELD_TEXT),
};
static const struct record_type EVALUATION = TABLE(EVALUATION_FIELDS, "Evaluation");
#undef RECORD

#define RECORD record_label
static const struct field LABEL_FIELDS[] = {
	REQUIRED(value, FIELD_DOUBLE),
	REQUIRED(correct, FIELD_BOOL),
	ENUM(source, LABEL_SOURCES),
	REQUIRED(weight, FIELD_DOUBLE),
};
static const struct record_type LABEL = TABLE(LABEL_FIELDS, "Label");
#undef RECORD

#define RECORD record_recommendation
static const struct field RECOMMENDATION_FIELDS[] = {
	REQUIRED(code, FIELD_TEXT),
	DEFAULTED(text, FIELD_TEXT, 0),
};
static const struct record_type RECOMMENDATION = TABLE(RECOMMENDATION_FIELDS, "Recommendation");
static const struct field RECOMMENDATION_ITEM = ITEM_OF(RECOMMENDATION);
#undef RECORD

#define RECORD record_disposition
static const struct field DISPOSITION_FIELDS[] = {
	ENUM(action, DISPOSITION_ACTIONS),
	RECORDS(reasons, RECOMMENDATION_ITEM),
};
static const struct record_type DISPOSITION = TABLE(DISPOSITION_FIELDS, "Disposition");
#undef RECORD

#define RECORD record_error
static const struct field ERROR_FIELDS[] = {
	REQUIRED(metric, FIELD_TEXT), REQUIRED(code, FIELD_TEXT), DEFAULTED(message, FIELD_TEXT, 0),
	REQUIRED(input, FIELD_TEXT),  REQUIRED(time, FIELD_TIME), NULLABLE(sql, FIELD_TEXT),
};
static const struct record_type METRIC_ERROR = TABLE(ERROR_FIELDS, "MetricError");
static const struct field METRIC_ERROR_ITEM = ITEM_OF(METRIC_ERROR);
#undef RECORD

#define RECORD record_stage
static const struct field STAGE_FIELDS[] = {
	REQUIRED(name, FIELD_TEXT),
	REQUIRED(status, FIELD_TEXT),
	REQUIRED(duration_us, FIELD_LONG),
};
static const struct record_type STAGE = TABLE(STAGE_FIELDS, "Stage");
static const struct field STAGE_ITEM = ITEM_OF(STAGE);
#undef RECORD

#define RECORD record_bounds
static const struct field BOUNDS_FIELDS[] = {
	REQUIRED(high, FIELD_DOUBLE),
	REQUIRED(medium, FIELD_DOUBLE),
	REQUIRED(low, FIELD_DOUBLE),
};
static const struct record_type BOUNDS = TABLE(BOUNDS_FIELDS, "Bounds");
#undef RECORD

#define RECORD record_retrieval_weights
static const struct field RETRIEVAL_WEIGHTS_FIELDS[] = {
	REQUIRED(top, FIELD_DOUBLE),	       REQUIRED(gap, FIELD_DOUBLE),
	REQUIRED(consensus, FIELD_DOUBLE),     REQUIRED(agreement, FIELD_DOUBLE),
	REQUIRED(low_spread, FIELD_DOUBLE),    REQUIRED(graph, FIELD_DOUBLE),
	REQUIRED(low_diversity, FIELD_DOUBLE),
};
static const struct record_type RETRIEVAL_WEIGHTS = TABLE(RETRIEVAL_WEIGHTS_FIELDS, "RetrievalWeights");
#undef RECORD

#define RECORD record_retrieval_rules
static const struct field RETRIEVAL_RULES_FIELDS[] = {
	EMBEDDED(weights, RETRIEVAL_WEIGHTS),	 REQUIRED(rrf_scale, FIELD_DOUBLE),
	REQUIRED(consensus_above, FIELD_DOUBLE), REQUIRED(gap_scale, FIELD_DOUBLE),
	REQUIRED(spread_scale, FIELD_DOUBLE),	 EMBEDDED(thresholds, BOUNDS),
};
static const struct record_type RETRIEVAL_RULES = TABLE(RETRIEVAL_RULES_FIELDS, "RetrievalRules");
#undef RECORD

#define RECORD record_price
static const struct field PRICE_FIELDS[] = {
	REQUIRED(prompt, FIELD_DOUBLE),
	REQUIRED(completion, FIELD_DOUBLE),
};
static const struct record_type PRICE = TABLE(PRICE_FIELDS, "Price");
static const struct field PRICE_ITEM = ITEM_OF(PRICE);
#undef RECORD

#define RECORD record_judge_rules
static const struct field JUDGE_RULES_FIELDS[] = {
	REQUIRED(sample_rate, FIELD_DOUBLE),
	ENUM(always_below, CONFIDENCE_LEVELS),
	REQUIRED(unsafe, FIELD_BOOL),
	RECORDS(prices, PRICE_ITEM),
};
static const struct record_type JUDGE_RULES = TABLE(JUDGE_RULES_FIELDS, "JudgeRules");
#undef RECORD

static const struct field FACTOR_ITEM = {
	.name = "item", .kind = FIELD_ENUM, .flags = FIELD_REQUIRED, .symbols = &CONFIDENCE_FACTORS
};

#define RECORD record_result_rules
static const struct field RESULT_RULES_FIELDS[] = {
	REQUIRED(absolute_tolerance, FIELD_DOUBLE),
	REQUIRED(relative_tolerance, FIELD_DOUBLE),
	REQUIRED(performance_factor, FIELD_DOUBLE),
	REQUIRED(performance_floor_ms, FIELD_DOUBLE),
};
static const struct record_type RESULT_RULES = TABLE(RESULT_RULES_FIELDS, "ResultRules");
#undef RECORD

#define RECORD record_rules
static const struct field RULES_FIELDS[] = {
	ENUM(diagnostic_source, DIAGNOSTIC_SOURCES),  RECORDS(factors, FACTOR_ITEM),
	ENUM(technical_alone, CONFIDENCE_LEVELS),     EMBEDDED(thresholds, BOUNDS),
	OPTIONAL_RECORD(retrieval, RETRIEVAL_RULES),  REQUIRED(pass_score, FIELD_DOUBLE),
	REQUIRED(low_confidence_below, FIELD_DOUBLE), REQUIRED(low_relevance_below, FIELD_DOUBLE),
	OPTIONAL_RECORD(judge, JUDGE_RULES),	      DEFAULTED(redacted, FIELD_BOOL, 0),
	OPTIONAL_RECORD(result, RESULT_RULES),	      DEFAULTED(formulas, FIELD_LONG, 1),
};
static const struct record_type RULES = TABLE(RULES_FIELDS, "Rules");
#undef RECORD

#define RECORD record_provenance
static const struct field PROVENANCE_FIELDS[] = {
	REQUIRED(topic, FIELD_TEXT),
	REQUIRED(partition, FIELD_LONG),
	REQUIRED(offset, FIELD_LONG),
	REQUIRED(program_version, FIELD_TEXT),
	REQUIRED(config_digest, FIELD_TEXT),
	NULLABLE(prompt_digest, FIELD_TEXT),
	NULLABLE(catalog_digest, FIELD_TEXT),
	NULLABLE(catalog_age_s, FIELD_DOUBLE),
	DEFAULTED(catalog_sampled, FIELD_BOOL, 0),
};
static const struct record_type PROVENANCE = TABLE(PROVENANCE_FIELDS, "Provenance");
#undef RECORD

#define RECORD scored_query
static const struct field SCORED_QUERY_FIELDS[] = {
	REQUIRED(event_id, FIELD_TEXT),
	REQUIRED(occurred_at, FIELD_TIME),
	REQUIRED(scored_at, FIELD_TIME),
	REQUIRED(application, FIELD_TEXT),
	NULLABLE(model, FIELD_TEXT),
	NULLABLE(prompt_version, FIELD_TEXT),
	NULLABLE(target, FIELD_TEXT),
	OPTIONAL_RECORD(input, GENERATED_QUERY_RECORD),
	DEFAULTED(input_shortened, FIELD_BOOL, 0),
	OPTIONAL_RECORD(disposition, DISPOSITION),
	EMBEDDED(confidence, CONFIDENCE),
	EMBEDDED(safety, SAFETY),
	EMBEDDED(structure, STRUCTURE),
	OPTIONAL_RECORD(result_validation, RESULT_VALIDATION),
	EMBEDDED(judge, JUDGE),
	OPTIONAL_RECORD(grading, GRADING),
	OPTIONAL_RECORD(evaluation, EVALUATION),
	OPTIONAL_RECORD(label, LABEL),
	DEFAULTED(review_required, FIELD_BOOL, 0),
	RECORDS(recommendations, RECOMMENDATION_ITEM),
	RECORDS(errors, METRIC_ERROR_ITEM),
	RECORDS(stages, STAGE_ITEM),
	OPTIONAL_RECORD(rules, RULES),
	EMBEDDED(provenance, PROVENANCE),
};
const struct record_type SCORED_QUERY_RECORD = TABLE(SCORED_QUERY_FIELDS, "ScoredQuery");
#undef RECORD

/* Advisory */

#define RECORD advisory
static const struct field ADVISORY_FIELDS[] = {
	REQUIRED(advisory_id, FIELD_TEXT),
	ENUM(kind, ADVISORY_KINDS),
	TEXTS(kinds),
	REQUIRED(event_type, FIELD_TEXT),
	REQUIRED(raised_at, FIELD_TIME),
	OPTIONAL_ENUM(level, CONFIDENCE_LEVELS),
	OPTIONAL_ENUM(action, DISPOSITION_ACTIONS),
	RECORDS(reasons, RECOMMENDATION_ITEM),
	NULLABLE(threshold, FIELD_DOUBLE),
	NULLABLE(value, FIELD_DOUBLE),
	NULLABLE(limiting_factor, FIELD_TEXT),
	MAP(factors, WEIGHT_VALUE),
	REQUIRED(summary, FIELD_TEXT),
	NULLABLE(remedy, FIELD_TEXT),
	NULLABLE(question, FIELD_TEXT),
	NULLABLE(sql, FIELD_TEXT),
	NULLABLE(truth_sql, FIELD_TEXT),
	NULLABLE(event_id, FIELD_TEXT),
	NULLABLE(occurred_at, FIELD_TIME),
	NULLABLE(application, FIELD_TEXT),
	NULLABLE(model, FIELD_TEXT),
	NULLABLE(prompt_version, FIELD_TEXT),
	NULLABLE(target, FIELD_TEXT),
	NULLABLE(topic, FIELD_TEXT),
	NULLABLE(partition, FIELD_LONG),
	NULLABLE(offset, FIELD_LONG),
	NULLABLE(scored_topic, FIELD_TEXT),
	NULLABLE(episode_id, FIELD_TEXT),
	DEFAULTED(suppressed, FIELD_LONG, 0),
	NULLABLE(drift_direction, FIELD_TEXT),
	NULLABLE(drift_size, FIELD_DOUBLE),
	NULLABLE(drift_since, FIELD_TIME),
};
const struct record_type ADVISORY_RECORD = TABLE(ADVISORY_FIELDS, "Advisory");
#undef RECORD

/* QueryFeedback */

#define RECORD query_feedback
static const struct field QUERY_FEEDBACK_FIELDS[] = {
	REQUIRED(event_id, FIELD_TEXT),
	REQUIRED(correct, FIELD_BOOL),
	NULLABLE(source, FIELD_TEXT),
	NULLABLE(note, FIELD_TEXT),
};
const struct record_type QUERY_FEEDBACK_RECORD = TABLE(QUERY_FEEDBACK_FIELDS, "QueryFeedback");
#undef RECORD
