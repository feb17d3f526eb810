/*
 * Opens and closes drift episodes by the rules of drift.h, from counts and sequences, one at a time for each
 * segment and label source, however many instances do so: an advisory lock lets one at a time judge, so that
 * none goes by older counts than the one before it. Not thread-safe.
 */
#pragma once

#include "calibration/drift/drift.h"
#include "calibration/store/episodes.h"

struct drift_update_options {
	struct drift_limits limits;
	int64_t bucket_s; /* width of the fine buckets, as configured */
	bool claims;	  /* records have probabilities, which are tested as well */
	int64_t now_ms;	  /* end of the windows; 0: now */
};

struct drift_changes {
	bool busy; /* another instance is judging: nothing was done, try again later */
	size_t opened, closed;
};

/* Judges the segments over all windows and label sources, in one transaction. */
err_t drift_update(struct database *database, const struct drift_update_options *options,
		   const struct calibration_segment *segments, size_t count,
		   struct drift_changes *ret_changes, struct err_detail *detail);
