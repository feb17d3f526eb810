/*
 * Parts of a scored record, each from what the stages have found out about an event. They belong to
 * event_finalise, which calls them in their order, on its thread; all memory is of the event's arena.
 */
#pragma once

#include "event/event.h"
#include "score/match.h"
#include "sql/redact.h"

/* What is worked out on the way and several parts of the record need. */
struct outcome {
	struct event *event;
	struct scored_query *scored;
	bool has_truth;
	size_t truth_index;
	struct truth_match match;
	struct evaluation_value result; /* of the ladder */
	struct evaluation_value semantic;
	bool truth_failed;
	opt_double_t relevance;	  /* 0..100 */
	opt_double_t correctness; /* 0..1 */
	bool judge_failed;
	str_t prompt_digest;		/* of the judge's prompts; absent: there is no judge */
	struct sql_redaction redaction; /* of the generated SQL, where the record hides literals */
	struct record_recommendation *recommendations;
	size_t recommendations_count, recommendations_capacity;
};

/* Confidence and safety: what was known before any answer. */
void outcome_confidence(struct outcome *outcome);
void outcome_safety(struct outcome *outcome);

/* Result validation. Sets `truth_failed` and `result`. */
void outcome_result(struct outcome *outcome);

/* Verdicts, their errors, what they cost. Sets `relevance`, `correctness`, `judge_failed`, `prompt_digest`.
 */
void outcome_judge(struct outcome *outcome);

/* Structure and tables, compared with the truth's. Sets `semantic`. */
void outcome_structure(struct outcome *outcome);

/* What a result has to explain, as the record may show it, or NULL. */
struct record_explanation *outcome_explanation(const struct outcome *outcome,
					       const struct validation_result *result);

/* What the metrics come to. They read what those above have set. */
void outcome_grading(struct outcome *outcome);
void outcome_evaluation(struct outcome *outcome);
void outcome_label(struct outcome *outcome);

/* The event as the record repeats it: without literals, or not at all, where records are configured so. */
void outcome_input(struct outcome *outcome);

/* Whether the record hides literals. */
bool outcome_hides_literals(const struct outcome *outcome);

/* An offset into the generated SQL, and a message about it, as the record may show them. */
int64_t outcome_offset(const struct outcome *outcome, int64_t offset);
str_t outcome_message(const struct outcome *outcome, str_t message);

/* A server's message without the literals of any of the event's texts, where the record hides them. */
str_t outcome_server_message(const struct outcome *outcome, str_t message);

/* Takes literals out of the messages of all errors. To be called when all errors are there. */
void outcome_redact_errors(struct outcome *outcome);
