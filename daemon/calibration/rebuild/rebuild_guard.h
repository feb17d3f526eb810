/*
 * Guard of a rebuild: what is stored that the topics cannot supply again. Which rows these are, by table:
 *
 *   buckets, days, totals   sums over all partitions: those from a time on, since when all that was counted
 *                           is still to be read (struct rebuild_range); of the label source FEEDBACK from the
 *                           later time on since when all that was said about the events is, too
 *   events, examples,       rows of records that a partition still has, by their offsets, as far as they are
 *   claims                  not of a log of before; verdicts as the buckets of FEEDBACK
 *   feedback                likewise, of the feedback topic
 *   segments                are only added to
 *   sequences               stay, and are asked later whether they have missed a case
 *   models, looks, episodes stay: nothing of any topic makes them again
 *
 * A log of before is another topic that was counted into the same tables, or one of the same name that was
 * deleted and made again and is counted from its beginning: offsets say nothing of it, and a digest of an
 * event_id may stand beside the offset of another record. What tells it is the time: nothing of a log is
 * older than its first record.
 *
 * For the thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "calibration/rebuild/rebuild_log.h"

/* Rows that there are. */
struct rebuild_stored {
	int64_t buckets;
	int64_t cases; /* of the hours */
	int64_t events, feedback, examples, claims;
	int64_t models, episodes;
};

err_t rebuild_guard_stored(struct database *database, struct rebuild_stored *ret_stored,
			   struct err_detail *detail);

/* ERR_CALIBRATION_LOG: nothing of the topic was ever counted into the database; says what is in it. */
err_t rebuild_guard_counted(struct database *database, const struct rebuild_log *scored,
			    struct err_detail *detail);

/* ERR_CALIBRATION_LOG: a partition ends before the position up to which it is counted. */
err_t rebuild_guard_length(struct database *database, const struct rebuild_log *log,
			   struct err_detail *detail);

/* ERR_CALIBRATION_LOG: no scored event is left of what was counted, though something of it is stored. */
err_t rebuild_guard_empty(struct database *database, const struct rebuild_log *scored,
			  struct err_detail *detail);

/* Rows that tell which record was at an offset. */
enum rebuild_rows { REBUILD_OF_EVENTS, REBUILD_OF_EXAMPLES };

/* ERR_CALIBRATION_LOG: what was read has other events at the places of those that are stored, scored from
 * `since_ms` on. After all was read, and these rows were made of it. */
err_t rebuild_guard_identity(struct database *database, const struct rebuild_log *scored,
			     enum rebuild_rows rows, int64_t since_ms, struct err_detail *detail);

/* Another topic that was counted, and when that was last; in the arena, NULL: there is none. */
struct rebuild_other {
	const char *topic;
	int64_t counted_ms;
};

err_t rebuild_guard_other(struct database *database, const char *scored_topic, const char *feedback_topic,
			  struct arena *arena, struct rebuild_other *ret_other, struct err_detail *detail);

/* What tells that a topic was made again. */
struct rebuild_former {
	bool buckets;  /* hours are stored from before the first record that is read */
	bool rows;     /* and rows of records that are read, likewise */
	bool verdicts; /* verdicts or messages are stored from before what is read of feedback */
};

/* `stored` is the table with the hours that are compared or replaced. What is looked at was scored from
 * `since_ms` on; `horizon_ms` 0: feedback is left out. After all was read. */
err_t rebuild_guard_former(struct database *database, const struct rebuild_log *scored,
			   const struct rebuild_log *feedback, const char *stored, int64_t since_ms,
			   int64_t horizon_ms, struct rebuild_former *ret_former, struct err_detail *detail);
