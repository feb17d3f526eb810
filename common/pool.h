/*
 * A fixed set of threads that run one function until it returns. Threads have the stack that parsers of
 * foreign text need (POOL_STACK_BYTES) and a name for debuggers.
 */
#pragma once

#include "common/err.h"

#define POOL_STACK_BYTES ((size_t)64 << 20)

struct pool;

/* Starts `threads` threads in `run(context, index)`; `name` is at most 12 bytes. Aborts when the
 * system refuses a thread: a daemon without its threads is of no use. */
struct pool *pool_start(const char *name, unsigned threads, void (*run)(void *context, unsigned index),
			void *context);

/* Waits until all of them have returned and releases the pool; NULL is fine. */
void pool_join(struct pool *pool);

/* The same for up to `timeout_ms`. False: some have not returned; the pool is still there, and may be joined
 * again. */
bool pool_join_within(struct pool *pool, int64_t timeout_ms);
