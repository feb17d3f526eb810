/*
 * What a dispatcher consists of: for its own files alone. Everything belongs to the judge's thread, but for
 * the cache and what is atomic.
 */
#pragma once

#include "common/circuit_breaker.h"
#include "judge/cache.h"
#include "judge/dispatcher.h"
#include "judge/exchange.h"
#include "judge/limits.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROOM_ENDLESS (INT64_MAX / 2) /* for room_left: other threads add and subtract */

/* By the first two bytes of a key: beside some hundreds of open exchanges hardly any other call has the same,
 * and is handed to the judge's thread in vain. */
#define OPEN_MARKS 65536

struct dispatcher {
	struct endpoint endpoint;
	struct dispatcher_limits bounds;
	struct shared_cache *shared; /* or NULL; of all members, and run by the first */
	bool runs_shared;
	char *budget_file; /* or NULL */
	struct transport *transport;
	pthread_mutex_t cache_mutex; /* guards the cache, in which any thread may look */
	struct cache *cache;
	struct circuit_breaker breaker;
	struct limits limits;
	unsigned key_generation;     /* that the transport sends */
	bool refusal_logged;	     /* that the server refuses the key was logged */
	int64_t next_refusal_log_us; /* not before that */
	bool spent_logged;	     /* that the tokens of the day are used up was */
	bool budget_changed;	     /* since it was saved */
	int64_t budget_saved_us;
	struct judge_stats stats;
	struct digest_table open;		 /* every exchange that is not done, by key */
	_Atomic uint16_t open_marks[OPEN_MARKS]; /* for any thread: how many of these have such a key */
	int64_t room;				 /* of the queue for a slot */
	_Atomic int64_t room_left; /* for any thread: of it, for calls that were not handed over yet */
	struct list looking;	   /* in the shared cache */
	struct list waiting;	   /* for a slot */
	struct list sending;
	struct list pausing;	  /* until the next try; keeps its slot */
	int64_t next_expiry_us;	  /* of what waits */
	int64_t next_deadline_us; /* of what was sent for several calls that do not end together */
	int64_t next_start_us;	  /* when the limits let the next one start; INT64_MAX: not by time */
};

/* Requests that have a slot. */
static inline unsigned dispatcher_in_flight(const struct dispatcher *dispatcher)
{
	return (unsigned)(dispatcher->sending.count + dispatcher->pausing.count);
}
