/*
 * Tables with a partition a day (UTC): calibration_events and calibration_feedback. Needs an open connection
 * with the tables; for the thread that uses it. Times are ms since 1970.
 */
#pragma once

#include "database/database.h"

#define DAY_MS INT64_C(86400000)

/* Days that are known to have partitions; zeroed: none. */
struct days {
	int64_t *days; /* since 1970, sorted */
	size_t count, capacity;
};

/* Releases the list, not the partitions. */
void days_free(struct days *days);

/* Makes the partition of the time's day in both tables unless it is known to be there. Not within a
 * transaction whose locks others wait for. */
err_t days_need(struct days *days, struct database *database, int64_t time_ms, struct err_detail *detail);

/* Drops one partition of a day that ended before `before_ms`. `ret_more`: there may be another. */
err_t days_drop(struct database *database, int64_t before_ms, bool *ret_more, struct err_detail *detail);
