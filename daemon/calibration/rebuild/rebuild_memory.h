/*
 * Memory of a rebuild: events and feedback as they were counted again, put in place of what is remembered, as
 * far as the topics still have the records. What is remembered of other records stays, and so do verdicts
 * that the buckets have counted and that are not counted again: a later one would be counted twice.
 *
 * For the thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "calibration/rebuild/rebuild_log.h"

/* What is replaced; times are ms since 1970. */
struct rebuild_memory_range {
	int64_t since_ms, until_ms; /* events scored, and feedback given */
	int64_t former_ms;	    /* events that were scored before may be of another log */
	int64_t feedback_former_ms; /* and so may messages */
	int64_t verdicts_since_ms;  /* verdicts on events that were scored before are not counted again */
	const struct rebuild_log *scored, *feedback;
};

/* Rows that are gone, and that were not there; a changed one is both. */
struct rebuild_memory_replaced {
	int64_t events_removed, events_added;
	int64_t feedback_removed, feedback_added;
};

/* Within the caller's transaction that keeps others from counting. */
err_t rebuild_memory_replace(struct database *database, const struct rebuild_memory_range *range,
			     struct rebuild_memory_replaced *ret_replaced, struct err_detail *detail);
