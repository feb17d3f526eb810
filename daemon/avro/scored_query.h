/*
 * ScoredQuery: what the daemon publishes for every event, as a plain value (schemas/scored_query.avsc). It
 * holds all that an auditor needs to recompute every number in it. Lives in the event's arena.
 */
#pragma once

#include "avro/generated_query.h"

enum confidence_level { LEVEL_VERY_LOW, LEVEL_LOW, LEVEL_MEDIUM, LEVEL_HIGH };

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct record_diagnostic {
	str_t code;
	str_t sub_code; /* or absent */
	int severity;	/* enum severity */
	str_t message;
	int64_t offset; /* bytes into the event's sql; −1: none */
};

struct record_technical {
	double score; /* 0..100 */
	bool valid;
	struct record_diagnostic *diagnostics;
	size_t diagnostics_count;
	opt_double_t upstream; /* score of the event's own diagnostic, 0..100 */
};

struct record_retrieval {
	double confidence;
	int level; /* enum confidence_level */
	bool flagged;
	double top_score;
	double score_gap;
	double score_spread;
	int64_t consensus_count;
	opt_double_t bm25_dense_agreement;
	opt_double_t reranker_impact;
	bool graph_support;
	double document_diversity;
	str_t interpretation;
	str_t interpretation_text, action_text; /* for a person */
	int64_t non_finite_scores;		/* scores that were NaN or infinite and counted as missing */
};

struct record_advisory_confidence {
	double confidence;
	int level;
	double retrieval_quality; /* points, 0..0.4 */
	double source_quality;	  /* points, 0..0.3 */
	double response_quality;  /* points, 0..0.3 */
};

/* How far the candidates agree with the answer. */
struct record_agreement {
	opt_double_t canonical; /* share of the texts, above 0..1, likewise below */
	opt_double_t results;
	int64_t texts;	  /* that count, the answer's included */
	int64_t left_out; /* of these, not in `results` */
};

struct record_feature {
	str_t name;
	double value;
};

/* What a feature adds to the log odds of the probability. */
struct record_reason {
	str_t feature;
	double value; /* of the feature */
	double addend;
};

struct record_probability {
	double value, low, high;       /* 0..1; the interval is at 95 % */
	int64_t labels;		       /* behind it */
	int64_t segment_labels;	       /* of these, of the event's own segment */
	int64_t model;		       /* number of the model */
	int64_t judgement;	       /* of the model, that was the last; 0: none */
	struct record_reason *reasons; /* the largest first */
	size_t reasons_count;
};

struct record_confidence {
	opt_double_t overall;
	int level;	       /* enum confidence_level or ENUM_ABSENT */
	str_t limiting_factor; /* or absent */
	struct record_technical *technical;
	struct record_retrieval *retrieval;
	struct record_advisory_confidence *advisory;
	opt_double_t generator;
	struct record_agreement *agreement;
	struct record_feature *features; /* those that are not 0 */
	size_t features_count;
	struct record_probability *probability;
	str_t level_by; /* "overall", "probability", or absent without a level */
};

enum safety_verdict { VERDICT_SAFE, VERDICT_UNSAFE, VERDICT_UNKNOWN };

struct record_violation {
	str_t code;
	str_t detail;
	int64_t offset;
};

struct record_safety {
	int verdict; /* enum safety_verdict */
	struct record_violation *violations;
	size_t violations_count;
	str_t doubt; /* why the verdict is UNKNOWN; or absent */
};

/* What analysing the SQL has shown where that makes no technical confidence. */
struct record_findings {
	bool valid;
	struct record_diagnostic *diagnostics;
	size_t diagnostics_count;
};

/* Jaccard of each clause's items with the truth's. */
struct record_clauses {
	double select, where, from, group, order, join;
};

/* What the SQL was compared with. */
struct record_structure_truth {
	opt_bool_t same_form;		/* unset: one of both has no canonical form */
	struct record_clauses *clauses; /* of other forms; or NULL */
	str_t *tables;
	size_t tables_count;
};

struct record_structure {
	double structural;
	opt_double_t semantic;
	opt_double_t table_accuracy;
	str_t *tables;
	size_t tables_count;
	struct record_structure_truth *truth; /* or NULL */
	struct record_findings *findings;     /* or NULL: see technical */
};

struct record_execution {
	int64_t rows;
	bool more; /* than these were there */
	double time_ms;
	str_t sqlstate; /* or absent */
	opt_int64_t code;
	str_t digest; /* of the rows (compare/fingerprint.h), or absent */
};

struct record_column_pair {
	str_t truth, generated;
};

/* What results differ in, or why there are none to compare; see compare/explain.h. */
struct record_explanation {
	str_t summary; /* one line */
	str_t error;   /* name of an error, or absent */
	str_t message; /* of the server, or absent */
	int64_t generated_columns, truth_columns;
	struct record_column_pair *columns_paired;
	size_t columns_paired_count;
	str_t *columns_missing;
	size_t columns_missing_count;
	str_t *columns_extra;
	size_t columns_extra_count;
	struct truth_row *rows_missing;
	size_t rows_missing_count;
	struct truth_row *rows_extra;
	size_t rows_extra_count;
	bool other_order;
	bool shortened;
};

struct record_result_validation {
	str_t status; /* name of a validation status */
	double score;
	int64_t truth_index; /* 0: ground_truth.sql, n: alternatives[n−1], behind those: results */
	double weight;
	int match_confidence; /* enum confidence_level; HIGH, MEDIUM or LOW */
	bool schema_match;
	bool row_count_match;
	double content_match_rate;
	opt_int64_t rows_matched; /* unset: the rate is an estimate, or nothing was compared */
	bool ordering_matters;
	bool truncated;
	bool nondeterministic; /* the truth is not its own equal */
	bool conclusive;       /* the score counts in evaluation and label */
	bool limit_cut_tie; /* the truth's LIMIT cuts through a tie, whose other rows counted as matches, or
			       rows count that are only believed to tie */
	bool truth_cached;  /* the truth's execution is that of an earlier run */
	bool one_snapshot;  /* both queries were to see one state of the target */
	opt_double_t
		match_rate_low; /* 95 % interval of the whole results' match rate, estimated by a sample */
	opt_double_t match_rate_high;
	struct record_execution generated;
	struct record_execution truth;
	struct record_explanation *explanation; /* NULL: there is nothing to explain */
};

struct record_judge_score {
	double score; /* relevance: 0..100; correctness: 0, 0.5, 1 */
	str_t reason;
	str_t status; /* "ok", "identical", or the name of an error (then score is 0) */
	bool cached;
	str_t raw; /* the reply, cut; or absent */
};

enum judge_decision {
	DECISION_REJECT,
	DECISION_WARN,
	DECISION_ACCEPT,
	DECISION_ACCEPT_HIGH,
	DECISION_UNJUDGED
};

/* One of several judges. */
struct record_panelist {
	str_t name;
	str_t provider;
	str_t model;
	struct record_judge_score *relevance;
	struct record_judge_score *correctness; /* or NULL */
	str_t unjudged_reason;			/* or absent */
	str_t prompt_digest;
	int64_t prompt_tokens;
	int64_t completion_tokens;
	opt_double_t cost;
};

struct record_judge {
	struct record_judge_score *relevance; /* of several judges the mean, likewise below */
	struct record_judge_score *correctness;
	int decision;	       /* enum judge_decision */
	str_t unjudged_reason; /* or absent */
	double sampling_probability;
	str_t provider; /* or absent */
	str_t model;	/* or absent */
	int64_t prompt_tokens;
	int64_t completion_tokens;
	opt_double_t cost; /* of these tokens; unset without prices */
	opt_double_t relevance_disagreement;
	opt_double_t correctness_disagreement;
	struct record_panelist *panel; /* of several judges, all that were asked */
	size_t panel_count;
};

struct record_grade {
	double score;
	str_t classification; /* field `class`: TRUE_NEGATIVE, CORRECT_ACCEPTANCE, … */
	str_t category;	      /* of a rejection: syntax, schema, safety; or absent */
};

struct record_grading {
	struct record_grade *safety;
	struct record_grade *validation;
	struct record_grade *upstream_safety;
	struct record_grade *upstream_validation;
};

struct record_weight {
	str_t key; /* structural, semantic, judge, result */
	double value;
};

struct record_evaluation {
	double score;
	bool passed;
	bool degraded;
	struct record_weight *weights; /* the ones used, before division by their sum */
	size_t weights_count;
	str_t failed_by; /* a reason's code, "score" or "no_evidence"; absent: passed */
};

enum label_source { LABEL_FEEDBACK, LABEL_RESULT, LABEL_CORRECTNESS, LABEL_RELEVANCE };

struct record_label {
	double value;
	bool correct;
	int source; /* enum label_source */
	double weight;
};

struct record_recommendation {
	str_t code;
	str_t text;
};

/* Lowest first. */
enum record_action {
	RECORD_ACTION_WITHHOLD,
	RECORD_ACTION_VERIFY,
	RECORD_ACTION_USE_WITH_CAUTION,
	RECORD_ACTION_USE
};

/* The conclusion; see score/disposition.h. */
struct record_disposition {
	int action;			       /* enum record_action */
	struct record_recommendation *reasons; /* the decisive one first */
	size_t reasons_count;
};

/* In the order of the scores' factors. */
enum record_factor {
	RECORD_FACTOR_TECHNICAL,
	RECORD_FACTOR_ADVISORY,
	RECORD_FACTOR_RETRIEVAL,
	RECORD_FACTOR_GENERATOR,
	RECORD_FACTOR_AGREEMENT,
	RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY,
	RECORD_FACTOR_OTHER /* of a later version */
};

enum record_diagnostic_source { RECORD_SOURCE_OWN, RECORD_SOURCE_EVENT, RECORD_SOURCE_WORST };

struct record_bounds {
	double high, medium, low;
};

struct record_retrieval_weights {
	double top, gap, consensus, agreement, low_spread, graph, low_diversity;
};

struct record_retrieval_rules {
	struct record_retrieval_weights weights;
	double rrf_scale, consensus_above, gap_scale, spread_scale;
	struct record_bounds thresholds;
};

struct record_price {
	double prompt, completion; /* of a million tokens */
};

struct record_judge_rules {
	double sample_rate;
	int always_below; /* enum confidence_level */
	bool unsafe;
	struct record_price *prices; /* of those that were asked; 0 and 0: not known */
	size_t prices_count;
};

struct record_result_rules {
	double absolute_tolerance, relative_tolerance;
	double performance_factor, performance_floor_ms;
};

/* What of the configuration makes the record's numbers of what is known. */
struct record_rules {
	int diagnostic_source; /* enum record_diagnostic_source */
	int *factors;	       /* enum record_factor */
	size_t factors_count;
	int technical_alone; /* enum confidence_level */
	struct record_bounds thresholds;
	struct record_retrieval_rules *retrieval; /* NULL: those of the formula, or there is no retrieval */
	double pass_score;
	double low_confidence_below, low_relevance_below;
	struct record_judge_rules *judge;   /* or NULL: there is none */
	bool redacted;			    /* literals are hidden */
	struct record_result_rules *result; /* NULL: the defaults, or nothing was compared */
	int64_t formulas;		    /* by which the record was computed; see below */
};

/* What `formulas` counts: 1 an identical answer weighed 1 / sampling probability, 2 it weighs 1. Whoever
 * changes a formula adds one, so that records from before are computed again by theirs. */
#define RECORD_FORMULAS 2
/* From these on every record has its disposition. */
#define RECORD_FORMULAS_CONCLUDED 2

struct record_error {
	str_t metric;
	str_t code;
	str_t message;
	str_t input;  /* identity of the input: event_id */
	int64_t time; /* ms since 1970 */
	str_t sql;    /* an excerpt of the text that it is about; or absent */
	/* not published, and of a record that was read not known: */
	size_t text; /* which one: 0 the answer, 1 + place of a truth's query */
	err_t err;   /* that the code names */
};

struct record_stage {
	str_t name;
	str_t status; /* ok, failed, skipped */
	int64_t duration_us;
};

struct record_provenance {
	str_t topic;
	int64_t partition;
	int64_t offset;
	str_t program_version;
	str_t config_digest;
	str_t prompt_digest;  /* or absent */
	str_t catalog_digest; /* or absent */
	opt_double_t catalog_age_s;
	bool catalog_sampled; /* it says of fields what a sample of the data has */
};

struct scored_query {
	str_t event_id;
	int64_t occurred_at;
	int64_t scored_at;
	str_t application;
	str_t model;
	str_t prompt_version;
	str_t target;
	struct generated_query *input; /* or NULL */
	bool input_shortened; /* the input was left out because the record was too large for its topic */
	struct record_disposition *disposition; /* or NULL: the record is older */
	struct record_confidence confidence;
	struct record_safety safety;
	struct record_structure structure;
	struct record_result_validation *result_validation;
	struct record_judge judge;
	struct record_grading *grading;
	struct record_evaluation *evaluation;
	struct record_label *label;
	bool review_required;
	struct record_recommendation *recommendations;
	size_t recommendations_count;
	struct record_error *errors;
	size_t errors_count;
	struct record_stage *stages;
	size_t stages_count;
	struct record_rules *rules; /* or NULL: the record is older */
	struct record_provenance provenance;
};

/* The code of the error that says why it is not known what the candidates return; absent: none does. */
static inline str_t scored_query_agreement_error(const struct scored_query *scored)
{
	for (size_t i = 0; i < scored->errors_count; i++)
		if (str_is(scored->errors[i].metric, "agreement") &&
		    !str_is(scored->errors[i].code, "candidates_limit"))
			return scored->errors[i].code;
	return STR_NONE;
}
