/*
 * Dispatcher: one member of the judge. Decides what becomes of each call and when: answered from a cache,
 * joined to a request that is open, sent when there is a slot and the server is well, tried again, or given
 * up. Everything belongs to the judge's thread, except what is said to be any thread's.
 */
#pragma once

#include "judge/endpoint.h"
#include "judge/judge.h"

struct dispatcher;

/* What can change while the judge runs. */
struct dispatcher_limits {
	int64_t timeout_us;
	int64_t queue_wait_us; /* −1: without end */
	unsigned max_attempts;
	unsigned max_in_flight;
	int64_t requests_per_minute, tokens_per_minute, tokens_per_day; /* 0: no limit */
	size_t cache_bytes;
	int64_t cache_ttl_s, cache_retention_s;
};

/* Pure. */
struct dispatcher_limits dispatcher_limits_of(const struct judge_settings *settings);

/* Reads what the settings name, and begins to connect the shared cache, unless `first` has one already: the
 * dispatcher of the thread's first member, which is to be freed last; NULL: this is it. Before the thread
 * starts. ERR_CONFIG_* or ERR_FILE_UNREADABLE with a detail that names the setting. */
err_t dispatcher_open(const struct judge_settings *settings, struct dispatcher *first,
		      struct dispatcher **ret_dispatcher, struct err_detail *detail);

/* After the thread has ended. Stores what the shared cache has not stored yet; blocks for some seconds at
 * most. NULL is fine. */
void dispatcher_free(struct dispatcher *dispatcher);

/* Its provider and model never change: any thread may read them. */
const struct endpoint *dispatcher_endpoint(const struct dispatcher *dispatcher);

/* Takes over other prompts, which are its own from then on, limits, and what is in the key's file; what is
 * open goes on with the prompts that it began with. */
void dispatcher_change(struct dispatcher *dispatcher, struct prompts *prompts,
		       const struct dispatcher_limits *bounds);

enum dispatcher_answer {
	DISPATCHER_WANTS_IT,   /* it is to be admitted */
	DISPATCHER_REMEMBERS,  /* its verdict was in memory */
	DISPATCHER_TURNS_AWAY, /* it would get no slot in time: ERR_JUDGE_SATURATED */
};

/* What can be said of the call at once: unless it is wanted, it has its verdict and is done but for naming
 * the prompts and saying so. `prompts` are those that it would be asked with, or stay so for as long as this
 * takes. Any thread; waits for nobody. */
enum dispatcher_answer dispatcher_find(struct dispatcher *dispatcher, const struct prompts *prompts,
				       struct judge_call *call);

/* Takes the call over until it is done. */
void dispatcher_admit(struct dispatcher *dispatcher, struct judge_call *call);

/* Does what is due: reads the shared cache, sends, gives up. */
void dispatcher_run(struct dispatcher *dispatcher);

/* Waits until something is due for one of the dispatchers, which are all of the thread's, an answer comes or
 * somebody wakes, and reads the answers, the shared cache's as well: before anybody else is admitted. */
void dispatcher_wait(struct dispatcher *const dispatchers[], size_t count);

/* Ends the current or the next wait, of whichever of the thread's it is. Any thread. */
void dispatcher_wake(struct dispatcher *dispatcher);

/* Whether requests are with the server: the thread may wait for it. */
bool dispatcher_busy(const struct dispatcher *dispatcher);

/* As things are now. */
struct judge_stats dispatcher_stats(struct dispatcher *dispatcher);

/* Answers what is open with SHUTTING_DOWN, and keeps the budget. The first member's before the others'. */
void dispatcher_abandon(struct dispatcher *dispatcher);

/* That of the shared cache's thread; NULL: there is none. Any thread. */
struct heartbeat *dispatcher_cache_heartbeat(const struct dispatcher *dispatcher);
