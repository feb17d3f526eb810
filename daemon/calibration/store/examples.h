/*
 * Examples: a sample of cases that have a label of their own (label source RESULT), with all that was known
 * of them before. The sample of a day, an application and a label source are those with the lowest digests of
 * their event_id: it does not depend on the order in which they come, and is as good as a random one. A
 * judge's labels are left out: its verdict may be what a model learns from.
 *
 * Needs an open connection with the tables, blocks within its deadlines, and is for the thread that uses it.
 */
#pragma once

#include "calibration/store/cases.h"

/* Of one day, application and label source; and of days before yesterday. */
#define EXAMPLES_A_DAY	    5000
#define EXAMPLES_A_PAST_DAY 500

/* Adds cases to `table` (calibration_examples, or another of its shape), of segments as `segments` has them;
 * those whose label is no result and those without a key are left out. Within a transaction. */
err_t examples_add(struct database *database, const char *table, const char *segments,
		   const struct calibration_case *cases, size_t count, struct err_detail *detail);

/* Thins out days before the one before `now_ms`, one day at a time. `ret_more`: there may be others. */
err_t examples_thin(struct database *database, int64_t now_ms, bool *ret_more, struct err_detail *detail);
