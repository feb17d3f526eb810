/*
 * Counts of scored events by application and model, for metrics. Both are what clients say, so their number
 * is bounded: who comes when the table is full counts as application and model "other". Any thread.
 */
#pragma once

#include "avro/scored_query.h"

enum {
	EVENT_METRICS_LEVELS = LEVEL_HIGH + 2,
	EVENT_METRICS_NO_LEVEL = LEVEL_HIGH + 1,
	EVENT_METRICS_VERDICTS = VERDICT_UNKNOWN + 1,
	EVENT_METRICS_SOURCES = LABEL_RELEVANCE + 1,
	EVENT_METRICS_ACTIONS = RECORD_ACTION_USE + 1,
	EVENT_METRICS_DECISIONS = DECISION_UNJUDGED + 1,
	EVENT_METRICS_NAME_SIZE = 128, /* with its NUL; longer names are cut */
	EVENT_METRICS_SERIES = EVENT_METRICS_LEVELS + EVENT_METRICS_VERDICTS +
			       2 * (EVENT_METRICS_SOURCES - 1) + 2 + EVENT_METRICS_ACTIONS +
			       EVENT_METRICS_DECISIONS, /* of one segment */
};

struct event_metrics_segment {
	char application[EVENT_METRICS_NAME_SIZE], model[EVENT_METRICS_NAME_SIZE];
	uint64_t levels[EVENT_METRICS_LEVELS]; /* by enum confidence_level, or EVENT_METRICS_NO_LEVEL */
	uint64_t verdicts[EVENT_METRICS_VERDICTS];
	uint64_t labels[EVENT_METRICS_SOURCES][2];   /* wrong, correct; by enum label_source */
	uint64_t evaluations[2];		     /* not passed, passed */
	uint64_t actions[EVENT_METRICS_ACTIONS];     /* by enum record_action */
	uint64_t decisions[EVENT_METRICS_DECISIONS]; /* by enum judge_decision */
};

struct event_metrics_segments;

/* With room for so many series, but for one segment at least. The caller owns it; freeing NULL is fine. */
struct event_metrics_segments *event_metrics_segments_new(size_t max_series);
void event_metrics_segments_free(struct event_metrics_segments *segments);

/* One more scored event. */
void event_metrics_segments_count(struct event_metrics_segments *segments, const struct scored_query *scored);

/* A copy of all, the caller's to free; returns how many they are. NULL has none. */
size_t event_metrics_segments_read(const struct event_metrics_segments *segments,
				   struct event_metrics_segment **ret_segments);
