/*
 * Event metrics: counts of what became of events, for metrics. An event is counted when its outputs are
 * committed, once, however often it was tried: what is counted here is what readers of the topics have.
 * Lock-free; any thread may read.
 */
#pragma once

#include "avro/advisory.h"
#include "common/histogram.h"
#include "event/event_metrics_segments.h"
#include "event/recent.h"
#include "event/record/facts.h"
#include "kafka/publication.h"
#include "target/target.h"

struct event;

/* How a question to the judge ended, or why it was answered without it. */
enum event_metrics_answer {
	ANSWER_VERDICT,
	ANSWER_CACHED,
	ANSWER_IDENTICAL, /* to the ground truth */
	ANSWER_SATURATED, /* no place in time */
	ANSWER_SPENT,	  /* the tokens of the day are */
	ANSWER_TIMEOUT,
	ANSWER_FAILED,
	ANSWER_COUNT_
};

enum event_metrics_question { QUESTION_RELEVANCE, QUESTION_CORRECTNESS, QUESTION_COUNT_ };

/* Whose verdicts are graded, and the classes of safety, then those of validation. */
enum { EVENT_METRICS_VALIDATORS = 2, EVENT_METRICS_CLASSES = 8 };

/* Bands of the confidence that a level is of, each a tenth; 1 belongs to the last. */
enum { EVENT_METRICS_BANDS = 10 };

/* Labelled events of a band. Weights are in millionths, and so is what they are sums of. */
struct event_metrics_band {
	_Atomic uint64_t events, weight, correct, confidence; /* confidence: weight × confidence */
};

struct event_metrics {
	_Atomic uint64_t
		scored[EVENT_METRICS_LEVELS]; /* by enum confidence_level, or EVENT_METRICS_NO_LEVEL */
	_Atomic uint64_t dead[ERR_COUNT_];    /* by reason */
	_Atomic uint64_t errors[ERR_COUNT_];  /* metrics of events that could not be had */
	_Atomic uint64_t advisories[ADVISORY_KIND_COUNT_];
	_Atomic uint64_t actions[EVENT_METRICS_ACTIONS]; /* by enum record_action */
	struct event_metrics_band bands[EVENT_METRICS_SOURCES][EVENT_METRICS_BANDS];
	_Atomic uint64_t verdicts[EVENT_METRICS_VERDICTS]; /* by enum safety_verdict */
	_Atomic uint64_t validations[VALIDATION_STATUS_COUNT_];
	_Atomic uint64_t evaluations[2]; /* not passed, passed */
	_Atomic uint64_t gradings[EVENT_METRICS_VALIDATORS][EVENT_METRICS_CLASSES];
	/* by member of the judge, but for ANSWER_IDENTICAL, which nobody has to give: that is the first's */
	_Atomic uint64_t answers[JUDGE_MEMBERS_MAX][QUESTION_COUNT_][ANSWER_COUNT_];
	_Atomic uint64_t cost_nano[JUDGE_MEMBERS_MAX]; /* of tokens, in billionths of the prices' currency */
	_Atomic uint64_t records[OUTPUT_TOPIC_COUNT_], bytes[OUTPUT_TOPIC_COUNT_]; /* by enum output_topic */
	struct histogram stages[STAGE_COUNT_];
	struct histogram whole;			 /* from reading to commit */
	struct event_metrics_segments *segments; /* the pipeline's, or NULL */
	struct recent *recent;			 /* likewise */
};

/* The event's outputs are committed. */
void event_metrics_event(struct event_metrics *event_metrics, const struct event *event);

/* Names as metrics have them; static. */
const char *event_metrics_answer_name(enum event_metrics_answer answer);
const char *event_metrics_question_name(enum event_metrics_question question);
const char *event_metrics_source_name(unsigned source); /* of a label */
const char *event_metrics_validator_name(unsigned validator);
const char *event_metrics_class_name(unsigned grade); /* TRUE_NEGATIVE, CORRECT_ACCEPTANCE, … */

static inline uint64_t event_metrics_get(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}
