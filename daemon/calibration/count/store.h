/*
 * Calibration store: adds counted cases to the time buckets in PostgreSQL, in one transaction with the
 * positions of the scored topic that they came from. A position only moves from the value that the writer
 * knows, so what is delivered twice, or counted by two, changes nothing. The same transaction feeds the cases
 * to the sequences that tell drift (store/sequences.h).
 *
 * Reconnects by itself. Not thread-safe.
 */
#pragma once

#include "calibration/feedback/feedback.h"

struct calibration_store;

struct calibration_store_options {
	const char *dsn;	   /* libpq connection string without a password */
	const char *password_file; /* or NULL */
	int64_t bucket_s;
	int64_t max_segments;
	int64_t feedback_horizon_ms; /* 0: nothing is remembered */
	int64_t retention_ms;	     /* 0: nothing is deleted */
	bool learns;		     /* labelled cases are kept to learn from, and claims to be tested */
	double false_alarms_per_10k; /* of both tests of drift; 0: sequences never alarm */
	database_waits_fn *waits;    /* while the database is waited for (database.h); or NULL */
	void *waits_context;
};

/* No position is stored yet. */
#define CALIBRATION_POSITION_NONE (-1)

/* A partition's position moves. */
struct calibration_step {
	const char *topic;
	bool remembers; /* its events are remembered and sampled from here on, where they are at all */
	int32_t partition;
	int64_t from; /* next offset as it was read, or CALIBRATION_POSITION_NONE */
	int64_t to;
};

/* What was read and how far. */
struct calibration_work {
	const struct calibration_case *cases; /* valid ones */
	size_t cases_count;
	const struct calibration_feedback *feedback;
	size_t feedback_count;
	const struct calibration_step *steps; /* by topic and partition */
	size_t steps_count;
};

/* Copies the options; connects when first used. The caller owns the store. */
struct calibration_store *calibration_store_new(const struct calibration_store_options *options);
void calibration_store_free(struct calibration_store *store);

/* No wait for the database lasts beyond this moment (monotonic). Any thread. */
void calibration_store_limit_waits(struct calibration_store *store, int64_t until_us);

DEFINE_CLEANUP(struct calibration_store, calibration_store_cleanup, calibration_store_free)

/* Reads the stored next offset of each partition of the topic, or CALIBRATION_POSITION_NONE. Brings the
 * tables up to date on a fresh connection. */
err_t calibration_store_positions(struct calibration_store *store, const char *topic,
				  const int32_t *partitions, size_t count, int64_t *ret_next_offsets,
				  struct err_detail *detail);

/*
 * Counts cases and feedback, remembers events, and moves the positions: all or nothing. ERR_CONFLICT: a
 * position is not where the caller believes; nothing was counted, read the positions again. On
 * DATABASE_UNAVAILABLE the transaction may have been committed or not: trying the same again is safe, and
 * answers CONFLICT in the former case. Segments that were counted are added to `touched` (may be NULL), as
 * they are named in the tables; also when the transaction fails after that. `ret_counts` may be NULL.
 */
err_t calibration_store_apply(struct calibration_store *store, const struct calibration_work *work,
			      struct segments *touched, struct feedback_outcome *ret_counts,
			      struct err_detail *detail);

/* The time from which on scored events are counted and remembered for feedback: what is older is about to be
 * deleted. */
int64_t calibration_store_since_ms(const struct calibration_store *store);

/* Connects and brings the tables up to date; the connection is the store's and lives as long as it,
 * for what else is kept in the same database. */
err_t calibration_store_database(struct calibration_store *store, struct database **ret_database,
				 struct err_detail *detail);
