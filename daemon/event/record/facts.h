/*
 * Facts: everything that is known of one generated query and that its record is made of. The stages of an
 * event fill them in; the record is built from nothing else.
 *
 * A plain value, owned by who owns the event. What it points at lives in the event's arena, or as long as the
 * event.
 */
#pragma once

#include "avro/codec.h"
#include "config/config.h"
#include "event/record/stage.h"
#include "judge/panel.h"
#include "score/advisory.h"
#include "score/disposition.h"
#include "score/evaluation.h"
#include "score/features.h"
#include "score/overall.h"
#include "score/retrieval.h"
#include "sql/findings/analysis.h"
#include "target/target.h"

enum { RECORD_STAGES_MAX = 8, RECORD_ERRORS_MAX = 12 + JUDGE_MEMBERS_MAX * JUDGE_QUESTIONS };

/* A ground truth that is given as its answer. */
struct record_table {
	struct result_set set;
	bool ordered;
};

/* The candidates that have one meaning, which is not the answer's. */
struct record_meaning {
	str_t form;	   /* canonical */
	size_t texts;	   /* that have it */
	str_t sql;	   /* one of them that is proven to be a read; or absent */
	bool other_result; /* known not to return what the answer returns */
	size_t same_as;	   /* then the index of the first meaning that is known to return the same, or its own
			    */
};

/* What is known of the query's SQL before anybody has answered. */
struct record_analysis {
	const struct target_settings *target; /* NULL: none named, or not configured */
	struct catalog *catalog;	      /* a reference, or NULL */
	enum sql_dialect dialect;
	opt_double_t generator;	 /* the generator's own estimate, where it is one */
	opt_double_t similarity; /* of the ground truth, likewise */
	struct sql_analysis sql;
	size_t truths_count;	    /* that are used: SQL first, then tables */
	size_t truth_queries_count; /* of these, SQL */
	str_t *truth_texts;	    /* of the SQL */
	struct sql_analysis *truths;
	struct record_table *truth_tables;
	size_t *truth_places; /* as records count: 0 is ground_truth.sql, then alternatives, then results */
	size_t *truths_asked; /* what the target compares with, by its own count: indices of truths */
	size_t truths_asked_count;
	bool truths_left_out; /* some could not be used: who matches no other is not proven wrong */
	struct validation_comparing comparing;
	size_t candidates_count;	 /* that count; none of fewer than two */
	size_t same_meaning_count;	 /* of these, with the answer's canonical form */
	struct record_meaning *meanings; /* of those with another one */
	size_t meanings_count;
	size_t candidates_left_out;	 /* of which the target could not tell */
	opt_double_t agreement;		 /* share of the texts that agree with the answer, by meaning */
	opt_double_t agreement_results;	 /* by what they return, of those of which that is known */
	opt_double_t agreement_factor;	 /* what of both counts as confidence; not set: missing */
	err_t agreement_error;		 /* why what candidates return is not known, or not of all */
	str_t agreement_message;	 /* what the target said then; or absent */
	bool agreement_target_failed;	 /* it was asked, and there is no share for want of it */
	opt_double_t technical;		 /* 0..100 */
	opt_double_t upstream_technical; /* by the event's own diagnostic, likewise */
	size_t errors_count;		 /* diagnostics that are errors */
	bool has_retrieval, has_advisory;
	struct retrieval_score retrieval;
	struct advisory_score advisory;
	struct overall_score overall;
	struct record_probability *probability; /* or NULL */
	bool level_by_probability;
	double *features; /* FEATURE_COUNT_ of them; NULL: the settings ask for none */
	double structural;
};

/* What one member of the judge is asked, by enum judge_question. */
struct record_member {
	struct judge_call calls[JUDGE_QUESTIONS];
};

/* How the judge is involved. */
struct record_judging {
	double sampling_probability;
	const char *unjudged_reason; /* static text, or NULL when the judge is asked */
	bool identical;		     /* to a ground truth: correct without asking */
	bool asked[JUDGE_QUESTIONS]; /* all members alike; relevance wherever anything is asked */
	struct record_member *members;
	size_t members_count;			    /* 0: nothing is asked */
	struct panel_score scores[JUDGE_QUESTIONS]; /* see record_settle_judging */
};

struct record_facts {
	struct arena *arena;
	const struct config *config; /* the settings that the event started with */
	struct generated_query *query;
	struct record_analysis analysis;
	struct record_judging judging;
	bool target_asked;     /* `validation` */
	bool validation_asked; /* it has truths */
	struct target_call validation;
	struct record_stage stages[RECORD_STAGES_MAX];
	size_t stages_count;
	struct record_error *errors; /* at most RECORD_ERRORS_MAX */
	size_t errors_count, errors_capacity;
	struct disposition disposition; /* from the record on */
};

/* Notes how long a stage took and how it went ("ok", "failed", "skipped"; static texts). */
void record_add_stage(struct record_facts *facts, enum stage stage, const char *status, int64_t duration_us);

/* Notes that a metric of the answer could not be computed, now; `message` is copied into the arena, `metric`
 * is static. */
void record_add_error(struct record_facts *facts, const char *metric, err_t err, const char *message);

/* Whether that is noted of the metric. */
bool record_has_error(const struct record_facts *facts, const char *metric, err_t err);

/* The same because of a truth, of analysis.truth_places. */
void record_add_truth_error(struct record_facts *facts, size_t truth, const char *metric, err_t err,
			    const char *message);

/* "PostgreSQL", …: as people call it; static. */
const char *record_dialect_name(enum sql_dialect dialect);

/* Where a truth stands in the event, for a person: "ground_truth.alternatives[2]". In the arena. */
str_t record_truth_name(const struct record_facts *facts, size_t truth);
