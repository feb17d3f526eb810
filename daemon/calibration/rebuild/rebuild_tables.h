/*
 * Tables of a rebuild: temporary ones beside the calibration's, in the same connection, in which the log is
 * counted again and compared with what is stored. Everything is done in slices of time, so that no statement
 * is a long one however much is kept. For the thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "calibration/feedback/feedback.h"
#include "calibration/rebuild/rebuild_log.h"

/* Where cases of the log are counted. */
extern const struct feedback_tables rebuild_log_tables;

/* What of the tables is compared or replaced; times are of buckets' starts, ms since 1970. */
struct rebuild_range {
	int64_t bucket_s;	   /* the fine width; of others nothing is compared */
	int64_t since_ms;	   /* buckets from here on */
	int64_t fine_since_ms;	   /* the same for the fine width; not before `since_ms` */
	int64_t feedback_since_ms; /* the same for the label source FEEDBACK; INT64_MAX: none */
};

/* Exact decimals, as PostgreSQL prints them. */
struct rebuild_figures {
	int64_t cases;
	str_t weight, weight_squared, weight_correct, weight_confidence, weight_squared_error;
};

/* Buckets that differ, of one width, segment, label source, level and bin. */
struct rebuild_difference {
	int64_t width_s;
	struct calibration_segment segment;
	int label_source; /* enum label_source */
	str_t level;
	int bin;
	int64_t buckets;
	int64_t first_ms, last_ms;		/* starts of the first and the last of them */
	struct rebuild_figures stored, counted; /* sums over them */
};

struct rebuild_differences {
	struct rebuild_difference *items; /* at most 1000 */
	size_t count;
	int64_t compared; /* buckets that were counted again */
	int64_t days;	  /* further buckets: days, with the sums of their hours */
	int64_t differing;
	int64_t totals;	   /* rows that are not the sums of the days of all segments */
	int64_t sequences; /* that were fed another number of cases than are counted */
	int64_t sampled;   /* examples of labelled cases that were drawn again */
	int64_t examples;  /* that differ, are missing or should not be there */
	int64_t claims;	   /* the same of claims of probabilities */
	int64_t events;	   /* remembered events that differ, are missing or should not be there */
	int64_t feedback;  /* the same of remembered feedback */
	int64_t moved; /* cases that are counted as "other" of segments that have a place of their own since
			*/
};

/* Makes the tables, with the known segments in them. */
err_t rebuild_tables_make(struct database *database, struct err_detail *detail);

/* Copies what is stored from `since_ms` on; within the caller's transaction. */
err_t rebuild_tables_copy(struct database *database, int64_t since_ms, struct err_detail *detail);

/* End of the last bucket that is stored of another fine width than `bucket_s`, or 0: the width was
 * another one until then. */
err_t rebuild_tables_other_width(struct database *database, int64_t bucket_s, int64_t *ret_until_ms,
				 struct err_detail *detail);

/* Copies what is remembered of events and feedback from `since_ms` on, likewise, and counts the totals that
 * are not the sums of their days. */
err_t rebuild_tables_copy_memory(struct database *database, int64_t since_ms, struct err_detail *detail);
err_t rebuild_tables_compare_totals(struct database *database, int64_t *ret_differing,
				    struct err_detail *detail);

/* What of the memory is compared: events scored, and feedback given, from `since_ms` to `until_ms` (what is
 * dated ahead may have been refused when it came); verdicts on events scored from `verdicts_since_ms` on. Of
 * each partition, from a record on that is still kept. */
struct rebuild_memory {
	int64_t since_ms, until_ms, verdicts_since_ms;
	const struct rebuild_log *scored, *feedback;
};

/* Compares that copy with what was counted. */
err_t rebuild_tables_compare_memory(struct database *database, const struct rebuild_memory *memory,
				    int64_t *ret_events, int64_t *ret_feedback, struct err_detail *detail);

/* Compares the copy with what was counted, its days with the sums of the hours that they ought to have. Texts
 * in the arena. */
err_t rebuild_tables_compare(struct database *database, const struct rebuild_range *range,
			     struct arena *arena, struct rebuild_differences *ret_differences,
			     struct err_detail *detail);

/* Puts what was counted in place of what is stored, and makes the days of the hours anew, within the caller's
 * transaction that keeps others from counting, and their totals. Returns how many buckets were removed and
 * added, and how many totals were not their sums; equal ones stay as they are. */
err_t rebuild_tables_replace(struct database *database, const struct rebuild_range *range,
			     int64_t *ret_removed, int64_t *ret_added, int64_t *ret_totals,
			     struct err_detail *detail);
