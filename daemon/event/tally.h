/*
 * Tally: counts of what became of events, for metrics. An event is counted when its outputs are committed,
 * once, however often it was tried: what is counted here is what readers of the topics have. Lock-free; any
 * thread may read.
 */
#pragma once

#include "avro/advisory.h"
#include "common/histogram.h"
#include "kafka/publication.h"
#include "target/target.h"

struct event;

/* Stages of an event that take time, by the names that its record gives them. */
enum tally_stage {
#define STAGE(symbol, name) STAGE_##symbol,
#include "event/stage.def"
#undef STAGE
	STAGE_COUNT_
};

/* How a question to the judge ended, or why it was answered without it. */
enum tally_answer {
	ANSWER_VERDICT,
	ANSWER_CACHED,
	ANSWER_IDENTICAL, /* to the ground truth */
	ANSWER_SATURATED, /* no place in time */
	ANSWER_TIMEOUT,
	ANSWER_FAILED,
	ANSWER_COUNT_
};

enum tally_question { QUESTION_RELEVANCE, QUESTION_CORRECTNESS, QUESTION_COUNT_ };

enum { TALLY_LEVELS = LEVEL_HIGH + 2, TALLY_NO_LEVEL = LEVEL_HIGH + 1, TALLY_VERDICTS = VERDICT_UNKNOWN + 1 };

struct tally {
	_Atomic uint64_t scored[TALLY_LEVELS]; /* by enum confidence_level, or TALLY_NO_LEVEL */
	_Atomic uint64_t dead[ERR_COUNT_];     /* by reason */
	_Atomic uint64_t errors[ERR_COUNT_];   /* metrics of events that could not be had */
	_Atomic uint64_t advisories[ADVISORY_KIND_COUNT_];
	_Atomic uint64_t verdicts[TALLY_VERDICTS]; /* by enum safety_verdict */
	_Atomic uint64_t validations[VALIDATION_STATUS_COUNT_];
	_Atomic uint64_t evaluations[2]; /* not passed, passed */
	_Atomic uint64_t answers[QUESTION_COUNT_][ANSWER_COUNT_];
	_Atomic uint64_t cost_nano; /* of the judge's tokens, in billionths of the prices' currency */
	_Atomic uint64_t records[OUTPUT_TOPIC_COUNT_], bytes[OUTPUT_TOPIC_COUNT_]; /* by enum output_topic */
	struct histogram stages[STAGE_COUNT_];
	struct histogram whole; /* from reading to commit */
};

/* The event's outputs are committed. */
void tally_event(struct tally *tally, const struct event *event);

/* Names as metrics have them; static. */
const char *tally_stage_name(enum tally_stage stage);
const char *tally_answer_name(enum tally_answer answer);
const char *tally_question_name(enum tally_question question);

static inline uint64_t tally_get(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}
