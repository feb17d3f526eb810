/* Parts of recomputing one record. They belong to recompute_record, which calls them in their order. */
#pragma once

#include "audit/recompute/recompute.h"
#include "event/record/conclude.h"
#include "score/features.h"
#include "score/retrieval.h"
#include "sql/findings/analysis.h"

struct recompute {
	const struct scored_query *scored;
	const struct record_rules *rules;
	const struct recompute_archive *archive; /* or NULL */
	const struct recompute_targets *targets; /* or NULL */
	struct recompute_report *report;
	const struct generated_query *input; /* or NULL: the record does not have it */
	bool shown;			     /* its texts are those that were scored */
	struct record_reading read;
	/* what is worked out on the way */
	bool has_retrieval;		  /* `retrieval` was computed */
	struct retrieval_score retrieval; /* from the chunks */
	struct disposition_input known;
};

/* Each compares what the record says in a field with what follows, and notes what differs. */
void recompute_number(struct recompute *work, const char *field, double said, double follows);
void recompute_share(struct recompute *work, const char *field, opt_double_t said, opt_double_t follows);
void recompute_integer(struct recompute *work, const char *field, int64_t said, int64_t follows);
void recompute_flag(struct recompute *work, const char *field, bool said, bool follows);
void recompute_text(struct recompute *work, const char *field, str_t said, str_t follows);

/* Whether the field has a value; true where it has one and is to have one. */
bool recompute_presence(struct recompute *work, const char *field, bool said, bool follows);

/* An index of a list of names; ENUM_ABSENT: null. */
void recompute_symbol(struct recompute *work, const char *field, int said, int follows,
		      const char *const *names, int count);
void recompute_level(struct recompute *work, const char *field, int said, int follows);

/* A name that has to be one of a table. */
void recompute_known(struct recompute *work, const char *field, str_t said, bool known);

/* An input: from `low` to `high`. */
void recompute_range(struct recompute *work, const char *field, double said, double low, double high);

void recompute_leave(struct recompute *work, enum recompute_gap gap);

void recompute_identity(struct recompute *work);   /* against the event */
void recompute_rules(struct recompute *work);	   /* against the archived configuration */
void recompute_codes(struct recompute *work);	   /* against the tables */
void recompute_confidence(struct recompute *work); /* technical to agreement; sets `retrieval` */
void recompute_analysis(struct recompute *work);   /* where it is asked for */
void recompute_features(struct recompute *work);   /* those that follow from the record alone */
void recompute_features_of_texts(struct recompute *work, const struct sql_request *request,
				 const struct sql_analysis *sql, size_t largest_other); /* and all others */
void recompute_overall(struct recompute *work);	   /* overall, level, probability */
void recompute_structure(struct recompute *work);  /* safety, structure */
void recompute_result(struct recompute *work);	   /* result validation */
void recompute_judge(struct recompute *work);	   /* verdicts and whether they were asked for */
void recompute_grading(struct recompute *work);	   /* grades */
void recompute_conclusion(struct recompute *work); /* evaluation, label, disposition, recommendations */

/* What the SQL was read as; false: that is not known. */
bool recompute_dialect(const struct recompute *work, enum sql_dialect *ret_dialect);

/* How many reasons of a probability the archived configuration asks for, `otherwise` without one. */
size_t recompute_model_reasons(const struct recompute *work, size_t otherwise);

/* As it counts: 0 outside of 0 to 1. */
opt_double_t recompute_similarity(const struct ground_truth *truth);

/* The error of that name that records may have, or ERR_OK. */
err_t recompute_error(str_t name);

/* How many of the record's errors are of that metric, and have that code unless it is absent. */
int64_t recompute_errors(const struct recompute *work, const char *metric, str_t code);

/* Whether there is a truth to evaluate by, as far as the record tells. */
bool recompute_has_truth(const struct recompute *work);
bool recompute_has_truth_query(const struct generated_query *input);

/* The level that follows from the smallest factor, with this agreement; false: there is none. */
bool recompute_smallest(const struct recompute *work, opt_double_t agreement, opt_double_t *ret_overall,
			int *ret_level, const char **ret_limiting);
