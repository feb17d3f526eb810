/*
 * Feedback about scored events, counted under the label source FEEDBACK.
 *
 * Scored events are remembered, and what is said about them is kept, a table partition a day. The verdict on
 * an event is the last one said within the horizon before or after it was scored, by the times of the
 * messages, then by partition and offset: so it does not matter in which order events and feedback are read,
 * and a rebuild comes to the same. When the verdict on an event changes, so do the sums, by the difference.
 *
 * What takes a database needs an open connection with the tables and a transaction under way, blocks within
 * the connection's deadlines, and is for the thread that uses it. `counts` is added to; `touched` gets the
 * segments whose counts changed (may be NULL). Nothing that is handed in is kept.
 */
#pragma once

#include "calibration/store/cases.h"
#include "calibration/store/sequences.h"

/* One message of the feedback topic. */
struct calibration_feedback {
	struct calibration_event_key event;
	int64_t said_at_ms;
	int32_t partition;
	int64_t offset;
	bool correct;
};

/* What a message of the feedback topic says, with the value of its header (FRAMING_HEADER), or an absent one;
 * time and place are the caller's to set. Errors: it cannot be decoded, or names no event. Pure. */
err_t calibration_feedback_read(const struct codec *codec, str_t header, const void *data, size_t len,
				struct calibration_feedback *ret_feedback, struct err_detail *detail);

/* calibration_events and so on, or others of their shape. */
struct feedback_tables {
	struct case_tables cases;
	const char *events;
	const char *feedback;
};

/* Counts of what became of feedback. */
struct feedback_outcome {
	int64_t counted;		 /* events that have got their first verdict */
	int64_t corrected;		 /* events whose verdict has changed */
	int64_t unchanged;		 /* messages that said it again, or were outdone by later ones */
	int64_t unknown;		 /* messages about events that are not known, or not yet: they wait */
	int64_t expired;		 /* messages that came too late, or too early */
	int64_t refused;		 /* messages that waiting had no room for */
	struct sequence_cases *verdicts; /* first verdicts are added to it; or NULL */
};

/* Feedback and events meet: whoever brings feedback is alone, those who bring events are among themselves.
 * For the transaction; its statements find rows by their keys. */
err_t feedback_lock(struct database *database, bool feedback, struct err_detail *detail);

/* Remembers the events that were scored from `keep_since_ms` on, and counts the feedback that has waited for
 * any of them. */
err_t feedback_add_events(struct database *database, const struct feedback_tables *tables,
			  const struct case_columns *columns, int64_t bucket_s, int64_t horizon_ms,
			  int64_t keep_since_ms, struct segments *touched, struct feedback_outcome *counts,
			  struct err_detail *detail);

/* Keeps what was said, and counts it for the events that are known and were scored from `since_ms` on. There
 * is at least one message. */
err_t feedback_add_feedback(struct database *database, const struct feedback_tables *tables,
			    const struct calibration_feedback *feedback, size_t count, int64_t bucket_s,
			    int64_t horizon_ms, int64_t since_ms, struct segments *touched,
			    struct feedback_outcome *counts, struct err_detail *detail);
