/*
 * Keeper: the thread that keeps the tamper-evident log of the scored topic.
 *
 * It has a consumer of its own (read_committed, group "<group_id>.audit"). Where each partition's log stands
 * is stored with its tree in PostgreSQL, not in Kafka: on assignment the positions are read from there, the
 * topic is proven to be the one that was logged (keeper_log.h), and every batch moves the log from the state
 * that the keeper knows, in one transaction. So crashes, rebalances and two owners at once give the same tree
 * as one run without any. While the database is away partitions are paused and the batch is kept; scoring
 * never waits for the log.
 *
 * Once an interval has passed, what has grown is signed: the checkpoint is stored with the batch that ends
 * there, then published (keeper_publisher.h). The key is read from its file each time. Without the key the
 * log goes on, unsigned; only a log that is not in the database yet waits for its name.
 */
#pragma once

#include "audit/keeper/keeper_log.h"
#include "common/heartbeat.h"
#include "kafka/client.h"

struct audit_keeper;

struct keeper_options {
	const struct kafka_settings *kafka; /* bootstrap servers, properties, group_id, scored_topic; outlives
					       the keeper, and so do the texts */
	const char *dsn;		    /* libpq connection string without a password */
	const char *password_file;	    /* or NULL */
	const char *database_settings;	    /* how the names of both settings begin */
	const char *key_file;
	const char *checkpoint_topic; /* or NULL */
	const char *checkpoint_file;  /* or NULL */
	int64_t checkpoint_interval_ms;
};

/* Of more partitions none is told apart. */
#define KEEPER_PARTITIONS_TOLD 256

/* Since the start. */
struct keeper_statistics {
	uint64_t records;     /* logged, in committed transactions */
	uint64_t gaps;	      /* marks of records that were deleted before they were logged */
	uint64_t batches;     /* committed transactions */
	uint64_t conflicts;   /* batches given up because somebody else had logged them */
	uint64_t failures;    /* attempts that the database did not take */
	uint64_t checkpoints; /* signed and stored */
	uint64_t sign_failures;
	uint64_t in_topic, in_file; /* checkpoints published */
	uint64_t publish_failures;
	bool database_up;	  /* it took the last attempt; false before the first */
	uint64_t behind;	  /* offsets that are not logged, as far as is known */
	int64_t waiting_since_ms; /* as the calibrator's: since when the oldest waits (wall clock); 0: none */
	int64_t unsigned_since_ms;  /* since when the oldest leaf waits for a checkpoint; 0: none does */
	unsigned assigned, stopped; /* partitions */
	struct {
		int32_t partition;
		uint64_t size;
	} sizes[KEEPER_PARTITIONS_TOLD];
	unsigned sizes_count;
};

/* Creates the consumer and starts the thread; needs neither Kafka nor database nor key to be there yet. */
err_t keeper_start(const struct keeper_options *options, struct audit_keeper **ret_keeper,
		   struct err_detail *detail);

/* Has the thread store what was read (one attempt), leave the group and end, waiting for the database until
 * `until_us` (monotonic) at most. Returns at once; NULL is fine. */
void keeper_close(struct audit_keeper *keeper, int64_t until_us);

/* Whether the thread has ended within `timeout_ms` after that; else the keeper cannot be released. NULL is
 * fine. */
bool keeper_ended(struct audit_keeper *keeper, int64_t timeout_ms);

/* Closes it without such limits, where that was not done, and releases it; NULL is fine. */
void keeper_stop(struct audit_keeper *keeper);

/* Any thread. */
void keeper_statistics(struct audit_keeper *keeper, struct keeper_statistics *ret_statistics);
struct heartbeat *keeper_heartbeat(struct audit_keeper *keeper);

/* Appends a line for each log that is stopped, `limit` at most, with how to mend it; NULL has none. Any
 * thread. */
void keeper_describe_stops(struct audit_keeper *keeper, unsigned limit, struct buf *out);
