/*
 * Calibrator: counts what the scored topic says into the calibration database.
 *
 * One thread with a consumer of its own (read_committed, group "<group_id>.calibration"). Where it goes on is
 * stored with the counts, not in Kafka: on assignment the positions are read from PostgreSQL, and every batch
 * moves them in the transaction that counts it. So crashes, rebalances and two owners at once neither lose
 * nor double a case. While the database is away partitions are paused and the batch is kept; scoring never
 * waits.
 *
 * Between batches it judges drift, publishes its advisories and deletes what is too old (watch.h).
 *
 * With a feedback horizon it reads the feedback topic in the same way, and remembers scored events for it
 * (feedback.h).
 *
 * A record whose schema the registry does not give just now is held, and its partition paused, until it can
 * be read; other partitions go on, and the positions in the database stay below it. One that cannot be
 * decoded for another reason is skipped with a warning. Records without label or overall confidence only move
 * the position.
 */
#pragma once

#include "avro/codec.h"
#include "calibration/count/store.h"
#include "calibration/drift/watch.h"
#include "common/heartbeat.h"
#include "kafka/client.h"

struct calibrator;

struct calibrator_options {
	const struct kafka_settings *kafka; /* bootstrap servers, properties, group_id, scored_topic,
					       advisory_topic, feedback_topic; outlives the calibrator */
	const struct codec *codec;	    /* outlives the calibrator */
	const char *dsn;		    /* libpq connection string without a password */
	const char *password_file;	    /* or NULL */
	int64_t bucket_s;
	size_t max_segments; /* counted by themselves, the rest as "other" */
	struct drift_limits drift;
	int64_t retention_days;	     /* 0: nothing is deleted */
	const char *feedback_topic;  /* with a horizon; only read by calibrator_start */
	bool learns;		     /* labelled cases are kept for models to be fitted to */
	int64_t feedback_horizon_ms; /* 0: feedback is not read; longer than the retention: as long as that */
};

/* Since the start. */
struct calibrator_statistics {
	uint64_t records;	   /* consumed */
	uint64_t cases;		   /* counted, in committed transactions */
	uint64_t skipped;	   /* undecodable, or with values that cannot be counted */
	uint64_t feedback;	   /* messages consumed of the feedback topic, among the records */
	uint64_t feedback_counted; /* events with a first verdict, likewise below in committed transactions */
	uint64_t feedback_corrected; /* events whose verdict changed */
	uint64_t feedback_unchanged; /* messages that said it again, or were outdone by later ones */
	uint64_t feedback_unknown;   /* messages about events that are not known (yet) */
	uint64_t feedback_expired;   /* messages beyond the horizon */
	uint64_t feedback_refused;   /* messages that there was no room for */
	uint64_t batches;	     /* committed transactions */
	uint64_t conflicts;	     /* batches given up because somebody else had counted them */
	uint64_t failures;	     /* attempts that the database did not take */
	uint64_t drift_opened;	     /* episodes, by this instance, likewise below */
	uint64_t drift_closed;
	uint64_t drift_published; /* advisories */
	size_t drift_open_count;  /* see struct drift_watch_statistics */
	struct drift_open drift_open[DRIFT_OPEN_LISTED];
	int64_t last_commit_ms; /* wall clock; 0: none yet */
	bool database_up;	/* it took the last attempt; false before the first */
	size_t held;		/* partitions that wait for a schema of the registry */
	uint64_t behind;	/* offsets that are not counted, as far as is known, of about a second ago */
	int64_t waiting_since_ms; /* when the oldest of these that was read was written, or, where the
				     database does not tell where to read, when it was first asked, or, where
				     the broker refuses reading, since when it does (wall clock); 0: nothing
				     waits */
};

/* Creates the consumer and starts the thread; needs neither Kafka nor the database to be there yet. */
err_t calibrator_start(const struct calibrator_options *options, struct calibrator **ret_calibrator,
		       struct err_detail *detail);

/* Has the thread count what was read (one attempt), leave the group and end, waiting for the database until
 * `until_us` (monotonic) at most. Returns at once; NULL is fine. */
void calibrator_close(struct calibrator *calibrator, int64_t until_us);

/* Whether the thread has ended within `timeout_ms` after that; else the calibrator cannot be released. NULL
 * is fine. */
bool calibrator_ended(struct calibrator *calibrator, int64_t timeout_ms);

/* Closes it without such limits, where that was not done, and releases it; NULL is fine. */
void calibrator_stop(struct calibrator *calibrator);

/* Any thread. */
void calibrator_statistics(struct calibrator *calibrator, struct calibrator_statistics *ret_statistics);
struct heartbeat *calibrator_heartbeat(struct calibrator *calibrator);
