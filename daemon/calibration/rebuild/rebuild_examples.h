/*
 * Examples of a rebuild: the sample of labelled cases (store/examples.h) drawn again from the log, in a
 * temporary table beside the stored one, and compared with it or put in its place.
 *
 * The sample of a day, an application and a label source are the cases with the lowest digests, so that it
 * follows from the log. What cannot be read again, because the log does not hold it any more or because it
 * was counted before anything was sampled, is taken as it is stored: it keeps its place among the others. Of
 * days that were thinned out no more is expected than thinning leaves. On a day of which cases are counted as
 * "other" nobody knows which segments had places of their own at which time: there only what is in both
 * samples is compared.
 *
 * For the thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "calibration/rebuild/rebuild_log.h"

/* Where cases of the log are sampled; made by rebuild_tables_make. */
#define REBUILD_EXAMPLES "rebuild_examples"

/* Copies the stored sample of days that have not begun before `since_ms` less a day; within the caller's
 * snapshot. */
err_t rebuild_examples_copy(struct database *database, int64_t since_ms, struct err_detail *detail);

/* What is looked at: days that have not begun before `since_ms` less a day, of which those before the day
 * before `now_ms` may be thinned out. What was scored before `former_ms` may be of another log: it is taken
 * as it is stored. */
struct rebuild_examples_range {
	int64_t since_ms, former_ms, now_ms;
	const struct rebuild_log *scored;
};

/* Compares the copy with what was drawn: how many stored ones can be compared, and how many examples differ,
 * are missing or should not be there. */
err_t rebuild_examples_compare(struct database *database, const struct rebuild_examples_range *range,
			       int64_t *ret_compared, int64_t *ret_differing, struct err_detail *detail);

/* What became of the sample. */
struct rebuild_examples_replaced {
	int64_t drawn;		/* examples that were put in place */
	int64_t removed, added; /* of them and of the stored ones: those that are gone, or were not there */
};

/* Puts what was drawn in place of what is stored, and notes that all that is counted is sampled; within the
 * caller's transaction that keeps others from counting. */
err_t rebuild_examples_replace(struct database *database, const struct rebuild_examples_range *range,
			       struct rebuild_examples_replaced *ret_replaced, struct err_detail *detail);
