/*
 * Drift episodes in the calibration database: opened and closed by the rules of drift.h, one at a time for
 * each segment, label source and window, however many instances judge.
 *
 * Judgements hold an advisory lock, so that none is made from older counts than the one before it. All
 * functions need an open connection with the tables. Not thread-safe.
 */
#pragma once

#include "calibration/drift.h"
#include "calibration/segments.h"
#include "common/arena.h"
#include "database/database.h"

#define EPISODE_ID_SIZE 37

/* Times are wall clock, texts in the caller's arena. */
struct drift_episode {
	char id[EPISODE_ID_SIZE];
	struct calibration_segment segment;
	int label_source; /* enum label_source */
	int64_t window_s;
	int64_t opened_at_ms;
	double threshold;
	double opening_score;
	int64_t opening_cases;
	int64_t judged_at_ms; /* last */
	double score;	      /* at that time, likewise below */
	int64_t cases;
};

struct episodes_options {
	struct drift_limits limits;
	int64_t bucket_s; /* width of the fine buckets, as configured */
	int64_t now_ms;	  /* end of the windows; 0: now */
};

struct episodes_outcome {
	bool busy; /* another instance is judging: nothing was done, try again later */
	size_t opened, closed;
};

/* Judges the segments over all windows and label sources, in one transaction. */
err_t episodes_judge(struct database *database, const struct episodes_options *options,
		     const struct calibration_segment *segments, size_t count,
		     struct episodes_outcome *ret_outcome, struct err_detail *detail);

/* Episodes whose advisory is not known to be published, oldest first, at most `most`; closed ones too. */
err_t episodes_unpublished(struct database *database, size_t most, struct arena *arena,
			   struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail);

/* The advisory of the episode is published. */
err_t episodes_set_published(struct database *database, const char *id, struct err_detail *detail);

/* Open episodes of the application (NULL: of all), by segment, label source and window. */
err_t episodes_open(struct database *database, const char *application, struct arena *arena,
		    struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail);
