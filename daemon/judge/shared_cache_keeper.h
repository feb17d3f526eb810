/*
 * The writing side of the shared cache: a thread that may block. Opens connections, brings the table up to
 * date, stores verdicts, removes old ones. Its functions but start and stop never block; any thread, except
 * that one alone takes connections.
 */
#pragma once

#include "judge/shared_cache.h"

#include <libpq-fe.h>

struct keeper;

/* Copies the options and starts the thread; PostgreSQL need not be there. `wake` is called from the thread:
 * once when the first attempt to connect has ended, and for each new connection. */
struct keeper *shared_cache_keeper_start(const struct shared_cache_options *options);

/* Tries once more to store what is left, for SHARED_CACHE_STOP_MS at most; then joins the thread and frees
 * all: nobody uses the keeper any more. NULL is fine. */
void shared_cache_keeper_stop(struct keeper *keeper);

/* Of rows, from the next sweep on. */
void shared_cache_keeper_set_retention(struct keeper *keeper, int64_t retention_s);
int64_t shared_cache_keeper_retention_s(const struct keeper *keeper);

/* Copies the verdict. Beyond a bound it is lost, and counted. */
void shared_cache_keeper_put(struct keeper *keeper, const unsigned char key[DIGEST_BYTES],
			     enum judge_question kind, const struct cached_verdict *verdict);

/* The connection for reading, if a new one is there, else NULL: the caller's to finish, non-blocking, its
 * table up to date. */
PGconn *shared_cache_keeper_take_connection(struct keeper *keeper);

/* The caller has none, or has finished the one it had: open another. */
void shared_cache_keeper_want_connection(struct keeper *keeper);

/* Whether the first attempt to reach PostgreSQL has ended, well or badly. */
bool shared_cache_keeper_tried(const struct keeper *keeper);

/* Of the thread; lives as long as the keeper. */
struct heartbeat *shared_cache_keeper_heartbeat(struct keeper *keeper);

/* Sets what was stored and lost; `connected` is the reading side's. */
void shared_cache_keeper_stats(struct keeper *keeper, struct shared_cache_stats *stats);
