/*
 * The writing side of the shared cache: a thread that may block. Opens connections, brings the table up to
 * date, stores verdicts, removes old ones.
 */
#pragma once

#include "judge/shared_cache.h"

#include <libpq-fe.h>

struct keeper;

struct keeper *keeper_start(const struct shared_cache_options *options);

/* Tries once more to store what is left. NULL is fine. */
void keeper_stop(struct keeper *keeper);

void keeper_set_retention(struct keeper *keeper, int64_t retention_s);
int64_t keeper_retention_s(const struct keeper *keeper);

/* Any thread; never blocks. Beyond a bound the verdict is lost, and counted. */
void keeper_put(struct keeper *keeper, const unsigned char key[DIGEST_BYTES], enum judge_question kind,
		const struct cached_verdict *verdict);

/* The connection for reading, if a new one is there: the caller's, non-blocking, its table up to date. */
PGconn *keeper_take_connection(struct keeper *keeper);

/* The caller has none, or has finished the one it had: open another. */
void keeper_want_connection(struct keeper *keeper);

/* Whether the first attempt to reach PostgreSQL has ended, well or badly. */
bool keeper_tried(const struct keeper *keeper);

struct ticker *keeper_ticker(struct keeper *keeper);
void keeper_stats(struct keeper *keeper, struct shared_cache_stats *stats);
