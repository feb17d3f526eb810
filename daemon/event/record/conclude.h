/*
 * Conclusions of a record, from its other parts alone: by them it is concluded when it is built, and again
 * when it is audited. Pure; any thread.
 */
#pragma once

#include "avro/scored_query.h"
#include "score/disposition.h"
#include "score/evaluation.h"
#include "score/grading.h"

/* What a record says, in the words that its conclusions need. */
struct record_reading {
	/* of the SQL */
	const struct record_diagnostic *diagnostics;
	size_t diagnostics_count;
	bool valid;
	size_t errors, warnings;
	bool unknown_table, refused, tolerated; /* errors of these kinds */
	/* of what went wrong */
	bool analysed; /* the dialect is one that is */
	bool truth_unreadable, tables_unreadable, target_unknown;
	bool has_target, has_catalog;
	/* of judges, as far as it counts */
	opt_double_t relevance;	  /* 0..100 */
	opt_double_t correctness; /* 0..1 */
};

/* Reads diagnostics, errors, verdicts, target and provenance. */
void record_read(const struct scored_query *scored, struct record_reading *ret_reading);

/* Whether a database would refuse a query for an error of that code: of a fence it is what stands in it that
 * would run. */
bool record_code_refused(str_t code);

/* The verdict, where it counts. */
opt_double_t record_score_that_counts(const struct record_judge_score *score);

/* What the disposition is drawn from, but for whether the evaluation was passed. Reads rules and result
 * besides. */
void record_known(const struct scored_query *scored, const struct record_reading *reading,
		  bool rejection_expected, struct disposition_input *ret_known);

/* The evaluation by a truth (`has_truth`), of an answer that is known to be wrong by `wrong`, or
 * FINDING_COUNT_; and what failed it, static or NULL. */
void record_evaluate(const struct scored_query *scored, const struct record_reading *reading, bool has_truth,
		     enum disposition_finding wrong, struct evaluation_score *ret_score,
		     const char **ret_failed_by);

/* False: there is none. Goes by the formulas of the record. */
bool record_label_of(const struct scored_query *scored, const struct record_reading *reading,
		     struct label *ret_label);

/* Why our own check rejects the query, or REJECTION_NONE. */
enum rejection record_own_rejection(const struct scored_query *scored, const struct record_reading *reading);

/* The grade of our own verdict on safety; false: nothing is known of that. */
bool record_grade_own_safety(const struct scored_query *scored, const struct record_reading *reading,
			     bool should_pass, enum rejection expected, struct grade *ret_grade);

/* The same of an upstream validator's, whose rejection is that. */
bool record_grade_upstream_safety(const struct upstream_validator *validator,
				  const struct record_reading *reading, bool should_pass,
				  enum rejection expected, enum rejection rejection, struct grade *ret_grade);

/* Why an upstream validator rejects it, by its verdicts and by what its errors say. */
enum rejection record_upstream_rejection(const struct upstream_validator *validator);
