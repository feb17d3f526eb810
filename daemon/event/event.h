/*
 * Event: one generated query on its way through the daemon, with everything that is known of it.
 *
 * One object, one arena. Owned by one thread at a time: the source, then a worker, then (AWAITING) nobody
 * while the target and the judge work on calls with arenas of their own, then a worker again, then the
 * publisher. The step changes through event_set_step alone. Only this room knows all stages.
 */
#pragma once

#include "avro/codec.h"
#include "config/config.h"
#include "event/step.h"
#include "judge/judge.h"
#include "kafka/publication.h"
#include "score/advisory.h"
#include "score/evaluation.h"
#include "score/overall.h"
#include "score/retrieval.h"
#include "sql/analysis.h"
#include "target/target.h"

#include <stdatomic.h>

struct pipeline;

enum { EVENT_STAGES_MAX = 8, EVENT_ERRORS_MAX = 12 };

/* Where an event comes from; all zero for one that comes from no topic. */
struct event_origin {
	str_t topic; /* or absent */
	int32_t partition;
	int64_t offset;
	struct assignment *assignment; /* or NULL */
	size_t credit_bytes;
};

/* A ground truth that is given as its answer. */
struct event_table {
	struct result_set set;
	bool ordered;
};

/* What is known of the event's SQL before anybody has answered. */
struct event_analysis {
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
	struct event_table *truth_tables;
	size_t *truth_places; /* as records count: 0 is ground_truth.sql, then alternatives, then results */
	size_t *truths_asked; /* what the target compares with, by its own count: indices of truths */
	size_t truths_asked_count;
	bool truths_left_out; /* some could not be used: who matches no other is not proven wrong */
	struct validation_comparing comparing;
	opt_double_t technical; /* 0..100 */
	size_t errors_count;	/* diagnostics that are errors */
	bool has_retrieval, has_advisory;
	struct retrieval_score retrieval;
	struct advisory_score advisory;
	struct overall_score overall;
	double structural;
};

/* How the judge is involved. */
struct event_judging {
	double sampling_probability;
	const char *unjudged_reason; /* static text, or NULL when the judge is asked */
	bool identical;		     /* to a ground truth: correct without asking */
	bool relevance_asked, correctness_asked;
	struct judge_call relevance;
	struct judge_call correctness;
};

struct event {
	unsigned magic;
	struct list_node node; /* the workers' queue */
	struct pipeline *pipeline;
	struct arena *arena;
	_Atomic enum step step;
	_Atomic unsigned pending; /* branches that still owe an answer, plus the analysing worker */
	struct config *config;	  /* the settings that it started with */
	int64_t received_us;	  /* monotonic */

	struct event_origin origin;
	str_t key; /* of the message, or absent */
	str_t raw; /* untouched bytes */
	/* as the message had them; outputs carry the trace, a dead letter all of them */
	const struct output_header *headers;
	size_t headers_count;
	uint64_t sequence; /* of one that comes from no topic: its line */

	struct generated_query *query;
	struct event_analysis analysis;
	struct event_judging judging;
	bool validation_asked;
	struct target_call validation;

	struct record_stage stages[EVENT_STAGES_MAX];
	size_t stages_count;
	struct record_error errors[EVENT_ERRORS_MAX];
	size_t errors_count;

	struct scored_query *scored; /* from READY on, unless dead */
	struct advisory *advisories; /* raised when it was first encoded, or NULL */
	size_t advisories_count;
	err_t dead_reason;   /* ERR_OK: alive */
	bool dead_shortened; /* the dead letter is as short as it gets */
	str_t dead_detail;

	struct buf encoded; /* of the outputs, one behind the other */
	struct publication publication;
};

/* New event from foreign bytes, which are copied. The caller submits it, or frees it. */
struct event *event_new(struct pipeline *pipeline, str_t raw, str_t key, const struct event_origin *origin);
void event_free(struct event *event);

/* The only way in which a step changes; a transition that is not in the table aborts the process. */
void event_set_step(struct event *event, enum step step);

/* Notes how long a stage took and how it went ("ok", "failed", "skipped"; static texts). */
void event_add_stage(struct event *event, const char *name, const char *status, int64_t duration_us);

/* Notes that a metric could not be computed; `message` is copied into the arena. */
void event_add_error(struct event *event, const char *metric, err_t err, const char *message);

/* The stages, in order; each is called by a worker thread. */

/* Decodes and scores what the text alone allows, and prepares the calls of the branches (asked flags say
 * which). ERR_OK, or the reason of a dead letter with its detail. */
err_t event_analyse(struct event *event, struct err_detail *detail);

/* Builds the scored record and the advisories from all answers. */
void event_finalise(struct event *event);

/* Encodes the outputs of a finalised or dead event into its publication. */
err_t event_encode(struct event *event, struct err_detail *detail);

/* Makes the event a dead letter. */
void event_kill(struct event *event, err_t reason, const char *detail);
