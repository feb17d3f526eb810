/*
 * Verdicts that all instances share and that outlive them: a table in PostgreSQL below the cache in memory.
 *
 * Reading never blocks: what is asked for in one round of the judge's thread goes out as one query, and when
 * much is asked for, some queries are under way at a time, in one pipeline. A verdict that PostgreSQL has is
 * not to be paid for again because PostgreSQL is slow: it is waited for, by everyone for the same time at
 * most. When nothing comes for as long, all that waits is a miss, and nothing waits any more until a new
 * connection has shown that the table can be read: a server that hangs costs one wait, not one for every
 * event. At the start there is more patience (for SHARED_CACHE_START_MS at most), until it is known whether
 * PostgreSQL is there: whatever was asked before the restart is asked again first. Writing is a thread's own,
 * behind: it connects, brings the table up to date, stores what was put, removes what is too old, and opens
 * the connection for reading. Without PostgreSQL everything is a miss, what is put waits within a bound, and
 * connections are tried again.
 */
#pragma once

#include "common/heartbeat.h"
#include "common/list.h"
#include "judge/cache.h"
#include "judge/digest_table.h"
#include "judge/judge.h"

#define SHARED_CACHE_START_MS 5000
#define SHARED_CACHE_STOP_MS  1000

struct shared_cache;

struct shared_cache_options {
	const char *dsn;
	const char *password_file;   /* or NULL */
	const char *settings;	     /* how the names of these two begin in the configuration */
	int64_t retention_s;	     /* rows are of use for this time */
	int64_t wait_ms;	     /* for an answer */
	void (*wake)(void *context); /* there is something to run; any thread */
	void *context;
};

/* One verdict that is asked for. The caller owns it, and sets the key, the kind and the time to live. */
struct shared_lookup {
	struct list_node node;	   /* the cache's until it is finished, then in the list of finished ones */
	struct digest_node by_key; /* its key; the rest is the cache's */
	enum judge_question kind;
	int64_t ttl_us;	  /* one that was given longer ago is a miss */
	void *asker;	  /* the caller's */
	int64_t since_us; /* the cache's: it waits */
	bool found;
	int64_t age_us; /* when found: since it was given; likewise below */
	double score;
	str_t reason; /* valid until the next shared_cache_run */
};

struct shared_cache_stats {
	int64_t stored; /* verdicts written */
	int64_t lost;	/* verdicts that had no room while PostgreSQL was away */
	bool connected; /* for reading */
};

/* Copies the options; connects beside. */
struct shared_cache *shared_cache_start(const struct shared_cache_options *options);

/* Tries once to store what was put, and releases all. Blocks for SHARED_CACHE_STOP_MS at most, and as long as
 * the look-up of a name that is under way. NULL is fine. */
void shared_cache_stop(struct shared_cache *shared);

/* Of rows read and removed from now on. Any thread. */
void shared_cache_set_retention(struct shared_cache *shared, int64_t retention_s);

/* Keeps a verdict for all. Any thread; never blocks. */
void shared_cache_put(struct shared_cache *shared, const unsigned char key[DIGEST_BYTES],
		      enum judge_question kind, const struct cached_verdict *verdict);

/* ---- the judge's thread alone ---- */

/* Asks for `lookup`; false: there is no connection or a slow one, which is a miss. */
bool shared_cache_ask(struct shared_cache *shared, struct shared_lookup *lookup, int64_t now_us);

/* Sends, receives, and appends what is answered or late to `finished`. */
void shared_cache_run(struct shared_cache *shared, int64_t now_us, struct list *finished);

/* Forgets everything that is asked for. */
void shared_cache_forget(struct shared_cache *shared);

/* Whether the descriptor to be watched for reading is another one than when this was last asked; −1: none.
 * After every run: the former one is closed. */
bool shared_cache_moved(struct shared_cache *shared, int *ret_fd);

/* When it has to be run at the latest; INT64_MAX: not by time. */
int64_t shared_cache_next_us(struct shared_cache *shared);

/* ---- any thread ---- */

struct heartbeat *shared_cache_heartbeat(struct shared_cache *shared);
struct shared_cache_stats shared_cache_stats(struct shared_cache *shared);
