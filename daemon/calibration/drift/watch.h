/*
 * Drift watch: what the calibrator does besides counting. Judges segments that were counted, publishes the
 * advisories of drift episodes, and deletes what is too old. Belongs to the calibrator's thread.
 *
 * Segments are judged when cases of them were counted, and all of them once after a start. Not more often
 * than every few seconds, and at most for a small share of the time however long it takes.
 *
 * An episode's advisory is published at least once: the row is claimed by one instance, and marked after the
 * broker's acknowledgement; rows without mark and claim are looked for after a start and every minute,
 * whoever opened them. It comes again only where an instance dies, or loses the database for longer than a
 * claim lasts, between the two.
 */
#pragma once

#include "calibration/count/store.h"
#include "calibration/drift/drift.h"
#include "calibration/drift/drift_publisher.h"

struct drift_watch;

struct drift_watch_options {
	struct calibration_store *store; /* outlives the watch, likewise below */
	const struct codec *codec;
	struct heartbeat *heartbeat;
	const struct kafka_settings *kafka; /* read by drift_watch_new only */
	struct drift_limits limits;
	int64_t bucket_s;
	bool claims;		/* records have probabilities */
	int64_t retention_days; /* 0: nothing is deleted */
	int64_t feedback_horizon_ms;
};

enum { DRIFT_OPEN_LISTED = 8, DRIFT_APPLICATION_BYTES = 128, DRIFT_SUMMARY_BYTES = 512 };

/* An open episode in words, shortened where they do not fit. */
struct drift_open {
	int64_t opened_at_ms; /* wall clock */
	char application[DRIFT_APPLICATION_BYTES];
	char summary[DRIFT_SUMMARY_BYTES]; /* as its advisory has it */
};

struct drift_watch_statistics {
	uint64_t opened, closed; /* episodes, by this instance */
	uint64_t published;	 /* advisories */
	/* Those that are open, whoever opened them, as of a minute ago; the last opened ones first. */
	size_t open_count;
	struct drift_open open[DRIFT_OPEN_LISTED];
};

/* The caller owns the watch. */
err_t drift_watch_new(const struct drift_watch_options *options, struct drift_watch **ret_watch,
		      struct err_detail *detail);

/* NULL is fine. */
void drift_watch_free(struct drift_watch *watch);

/* Where to put segments that are to be judged; the watch's, which empties it as they are. */
struct segments *drift_watch_touched(struct drift_watch *watch);

/* Whether all that was read is counted and nothing else is known to wait: only then is forgotten what
 * feedback may have come for. */
void drift_watch_set_caught_up(struct drift_watch *watch, bool caught_up);

/* Does what is due, at most one piece of work in the database; never waits for Kafka. Returns whether the
 * statistics have changed. What fails is tried again later and logged once. */
bool drift_watch_step(struct drift_watch *watch);

/* When the next step has something to do (monotonic clock), if nothing comes before: 0 while an advisory is
 * on its way. */
int64_t drift_watch_due_us(const struct drift_watch *watch);

/* Publishes what it can within `timeout_ms` before a stop. */
void drift_watch_finish(struct drift_watch *watch, int64_t timeout_ms);

/* Counts since the start, and what is open. */
void drift_watch_statistics(const struct drift_watch *watch, struct drift_watch_statistics *ret_statistics);
