/*
 * Claims of a rebuild: the latest claims of each segment (store/claims.h) taken from the log again, in a
 * temporary table beside the stored one, and compared with it or put in its place.
 *
 * Which ones are kept follows from the log: the latest by time, partition and offset. What cannot be read
 * again is taken as it is stored and keeps its place among the others. Of segments that have no place of
 * their own, and where some were counted as "other", nobody knows which had one at which time: there only
 * what is in both is compared.
 *
 * For the thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "calibration/rebuild/rebuild_log.h"

/* Where claims of the log are put; made by rebuild_tables_make. */
#define REBUILD_CLAIMS "rebuild_claims"

/* Copies the stored claims; within the caller's snapshot. */
err_t rebuild_claims_copy(struct database *database, struct err_detail *detail);

/* How many of the claims scored from `since_ms` on differ, are missing or should not be there. */
err_t rebuild_claims_compare(struct database *database, const struct rebuild_log *scored, int64_t since_ms,
			     int64_t *ret_differing, struct err_detail *detail);

/* Claims that are gone, and that were not there; a changed one is both. */
struct rebuild_claims_replaced {
	int64_t removed, added;
};

/* Puts the claims of the log, scored from `since_ms` on, in place of what is stored, and notes that all are
 * there; within the caller's transaction that keeps others from counting. */
err_t rebuild_claims_replace(struct database *database, const struct rebuild_log *scored, int64_t since_ms,
			     struct rebuild_claims_replaced *ret_replaced, struct err_detail *detail);
