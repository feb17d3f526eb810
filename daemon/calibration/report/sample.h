/*
 * Single cases that the calibration database keeps: a sample of those with a label of their own
 * (store/examples.h), and all that feedback is about, within its horizon. For figures that need scores as
 * they were, which buckets do not have. Of other label sources no single cases are kept.
 *
 * The sample of a day and application stands for all cases that were counted there, so that its cases weigh
 * as much as they are more.
 *
 * Needs an open connection with the tables, blocks within its deadlines, and is for the thread that uses it.
 */
#pragma once

#include "calibration/report/reader.h"
#include "calibration/statistics/outcomes.h"

/* At most so many cases are read: of results, those of the newest days; where these are more, of each day and
 * application the same share, with the lowest digests of their event_id; of feedback likewise, whatever the
 * day. */
#define SAMPLE_CASES_MAX 10000

/* Tables have what is read here since this version. */
#define SAMPLE_SINCE_VERSION 12

struct sample {
	struct outcome *overall;     /* by overall confidence */
	struct outcome *probability; /* by the probability that was published; those that had one */
	struct outcome *both;	     /* the same cases by overall confidence, where all of them have one */
	size_t overall_count, probability_count, both_count;
	int64_t overall_since_ms, probability_since_ms; /* scored_at of the oldest; without cases 0 */
};

/* Of the query's segments, scored from `since_ms` on and before `until_ms`; in the arena. */
err_t sample_read(struct database *database, const struct calibration_query *query, int label_source,
		  int64_t since_ms, int64_t until_ms, struct arena *arena, struct sample *ret_sample,
		  struct err_detail *detail);
