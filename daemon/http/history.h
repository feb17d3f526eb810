/*
 * History: what was scored in the last three hours by the minute, and in the last 24 by the hour, of this
 * process. It is told totals from time to time and keeps the differences. Bounded; not thread-safe.
 */
#pragma once

#include "event/event_metrics_segments.h"

#include <stdbool.h>

enum { HISTORY_MINUTES = 180, HISTORY_HOURS = 24 };

/* Counts since the start. */
struct history_totals {
	uint64_t levels[EVENT_METRICS_LEVELS];	 /* of scored events; by enum confidence_level, or
						    EVENT_METRICS_NO_LEVEL */
	uint64_t actions[EVENT_METRICS_ACTIONS]; /* by enum record_action */
	uint64_t dead;				 /* letters */
	uint64_t advisories;			 /* events with one */
};

struct history_span {
	int64_t start_ms; /* since 1970; a multiple of its length */
	struct history_totals counts;
	int64_t oldest_age_ms; /* the greatest that was told of the oldest unfinished event */
};

struct history {
	struct history_totals last;
	struct history_span minutes[HISTORY_MINUTES], hours[HISTORY_HOURS]; /* rings, by start */
};

/* `history` is all zero at first. A clock that goes back adds to the span that it goes back to, as far as
 * that is kept. Totals that are below the last ones (another part counts now) are counted from 0. */
void history_note(struct history *history, int64_t now_ms, const struct history_totals *totals,
		  int64_t oldest_age_ms);

/* The spans until now, the oldest first; one in which nothing was told is all zero but for its start. */
void history_minutes(const struct history *history, int64_t now_ms,
		     struct history_span ret_spans[HISTORY_MINUTES]);
void history_hours(const struct history *history, int64_t now_ms,
		   struct history_span ret_spans[HISTORY_HOURS]);
