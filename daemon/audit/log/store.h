/*
 * The tamper-evident log in PostgreSQL: where the tree of each partition stands, its tiles, its checkpoints
 * and marks. A batch is one transaction, and a log only moves on from the state that the writer knows, so
 * what is delivered twice, or read by two owners, changes nothing.
 *
 * Nothing is repaired here: rows that do not fit each other are ERR_AUDIT_DAMAGED, and nothing is written.
 *
 * Reconnects by itself and brings the tables up to date on a fresh connection. Functions that return an error
 * may also return DATABASE_UNAVAILABLE and DATABASE_REFUSED. Not thread-safe, but for
 * audit_store_limit_waits.
 */
#pragma once

#include "audit/growth.h"
#include "database/database.h"

struct audit_store;

struct audit_store_options {
	const char *dsn;	   /* libpq connection string without a password */
	const char *password_file; /* or NULL */
	const char *settings;	   /* how the names of both settings begin (database.h), or NULL */
	bool reads_only;	   /* the tables are taken as they are; what writes is not to be called */
	database_waits_fn *waits;  /* while the database is waited for (database.h); or NULL */
	void *waits_context;
};

/* Copies the texts; connects when first used. The caller owns the store. */
struct audit_store *audit_store_new(const struct audit_store_options *options);
void audit_store_free(struct audit_store *store);

/* No wait for the database lasts beyond this moment (monotonic). Any thread. */
void audit_store_limit_waits(struct audit_store *store, int64_t until_us);

DEFINE_CLEANUP(struct audit_store, audit_store_cleanup, audit_store_free)

/* The log of a partition. */
struct audit_store_log {
	const char *topic;
	int32_t partition;
};

/* Why a log was stopped, as it is stored. */
#define AUDIT_STOP_MAX 1024

struct audit_store_position {
	char stopped[AUDIT_STOP_MAX + 1]; /* "": it was not */
	bool known; /* where it stands; false: it was stopped, and what it has does not fit either */
	struct growth_position growth;
	uint64_t signed_size; /* of the newest checkpoint; 0: there is none */
	int64_t signed_at_ms; /* when that was made (the server's clock); 0: there is none */
};

/*
 * Reads where a log stands; begins it where it is not there. DATABASE_REFUSED: in these
 * tables it has another origin, or the origin is another log's. AUDIT_DAMAGED: the state is none or not that
 * of its size, the newest checkpoint is not one of it, or the tiles at its right edge do not hash to it; the
 * detail says which. Tiles left of that edge are not read, nor what a tile has beyond its width.
 */
err_t audit_store_open(struct audit_store *store, const struct audit_store_log *log, const char *origin,
		       struct audit_store_position *ret_position, struct err_detail *detail);

/* A batch of a log. */
struct audit_store_step {
	struct audit_store_log log;
	const struct growth *growth;
	const char *note; /* the signed checkpoint of where the batch ends, or NULL */
	bool lifts_stop;  /* the log was stopped, and goes on from here on */
};

/*
 * Writes batches: all or nothing. CONFLICT: a log is not where its batch begins, or was stopped (or was not,
 * where that was to be lifted), or the same checkpoint is there already, or another transaction was in the
 * way; open it again. AUDIT_DAMAGED: a tile is not as wide as the size says, or there
 * is a mark or a checkpoint in the place of that which is written. In both cases `ret_failed` is the step;
 * several steps are by topic and partition. On DATABASE_UNAVAILABLE the transaction may have been committed
 * or not: trying the same again is safe, and answers CONFLICT in the former case if a log has moved.
 */
err_t audit_store_apply(struct audit_store *store, const struct audit_store_step *steps, size_t count,
			size_t *ret_failed, struct err_detail *detail);

/* Stops a log that was opened: no batch is written any more. The reason is not empty; the first one stays.
 * CONFLICT: there is no such log. */
err_t audit_store_stop(struct audit_store *store, const struct audit_store_log *log, const char *reason,
		       struct err_detail *detail);

/* For a tile_source: AUDIT_DAMAGED: the tile is missing, or less wide than that. */
struct audit_store_tiles {
	struct audit_store *store;
	struct audit_store_log log;
	struct err_detail *detail;
};

err_t audit_store_read_tile(void *context, unsigned level, uint64_t index, unsigned width,
			    struct merkle_hash ret_hashes[TILE_WIDTH]);
