/*
 * Retention: what is too old leaves the calibration database. Buckets and closed episodes go by their age, in
 * whole days (UTC), so that a day is always the sum of its hours; an open episode that was not judged for
 * that long has no counts left to be judged by and goes as well. Sequences go that were not fed for that
 * long, and examples by their age; of past days fewer are kept (examples.h). Models go when another one took
 * their place so long ago, since records name them until then; the newest ones of each kind and rules stay,
 * which are what is used where the one in use cannot be read.
 *
 * Needs an open connection with the tables; for the thread that uses it, blocks within its deadlines.
 */
#pragma once

#include "database/database.h"

/* Models of each kind and rules that stay whatever their age. */
#define RETENTION_MODELS 20

/* Deletes a bounded number of rows of days before the one that was `days` before `now_ms` (0: now).
 * `ret_more`: there may be others. */
err_t retention_apply(struct database *database, int64_t days, int64_t now_ms, bool *ret_more,
		      struct err_detail *detail);

/* Drops a day of remembered events or feedback that is so old that none can be about the other any more, with
 * a day to spare for what comes late; without a horizon (0), what is older than `days`. */
err_t retention_forget(struct database *database, int64_t days, int64_t horizon_ms, int64_t now_ms,
		       bool *ret_more, struct err_detail *detail);
