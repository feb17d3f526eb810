/*
 * Schema registry: asks it for the schemas that messages name and lets the codec learn them, off everybody's
 * way. One thread with its own connections.
 *
 * A name that the codec does not know is asked for once, whoever waits for it. What the registry says is kept
 * for good in the codec, and as far as it has room in the state directory. That it has no such schema counts
 * after it was asked twice, and for a while; of several addresses, all that answer have to say so. While it
 * cannot be asked, or answers something else, it is asked again, with backoff: all names wait together when
 * nobody is answered, and one at a time is tried; each for itself, or for as long as the registry says
 * (Retry-After), when it is that one that fails. A name of nobody's tells which of these it is.
 *
 * No name holds up others for long. Those that are asked for the first time have REGISTRY_FIRST_MAX places of
 * their own, in turn; those that have failed have REGISTRY_AGAIN_MAX others, by when they are due. Whoever
 * waits for a place gets that of an attempt that has lasted for REGISTRY_SLICE_MS, doubled with every failure
 * of its name; the name is then asked for again. So a new name, with n new ones before it, is asked for after
 * n / REGISTRY_FIRST_MAX (rounded down) times REGISTRY_SLICE_MS at the latest, whatever becomes of those; and
 * one that failed, with m due before it that failed f times at most, after m / REGISTRY_AGAIN_MAX times
 * REGISTRY_SLICE_MS << f, or the time limit of a request for each address where that is less. An attempt that
 * ended for another before it was sent, or at an address that answers nobody while there is another, leaves
 * its name among the new ones, three times at most. What the thread itself does meanwhile, learning schemas,
 * the short ones first, comes on top.
 *
 * Events wait (registry_await) within limits of number, bytes and time, and each of their partitions within
 * the number of gaps that its completion map can hold. Only while an answer is awaited for the first time
 * more may wait, until the request for it fails or for as long as one may last (registry_patience.h): what
 * holds their credits holds up whatever else comes for so long. A request that ended for another is none.
 */
#pragma once

#include "avro/codec.h"
#include "avro/registry/registry_settings.h"
#include "common/heartbeat.h"
#include "common/list.h"

/* Events of one partition that may wait: each leaves a gap in the completion map of its partition, which at
 * three bytes a gap has room for these below the fill at which the partition would have to pause. */
enum { REGISTRY_WAITING_PER_PARTITION = 700 };

/* Attempts under way, of names that are asked for the first time and of others; milliseconds. */
enum { REGISTRY_FIRST_MAX = 64, REGISTRY_AGAIN_MAX = 8, REGISTRY_SLICE_MS = 250 };

struct registry;

/* One that waits for a schema. The caller owns it, and keeps it until `done`. */
struct registry_wait {
	struct schema_name name;
	size_t bytes;	   /* that it holds meanwhile */
	int32_t partition; /* of the input topic */

	/* Its wait is over: `err` is ERR_OK (the codec knows the name), ERR_SCHEMA_UNKNOWN,
	 * ERR_SCHEMA_UNAVAILABLE or ERR_SCHEMA_INCOMPATIBLE, each with a detail, or ERR_SHUTTING_DOWN. The
	 * registry's thread; must not block. */
	void (*done)(struct registry_wait *wait);
	/* Whether anybody wants it still; asked about once a second. The registry's thread; must not call
	 * the registry. NULL: somebody does. */
	bool (*wanted)(const struct registry_wait *wait);
	void *context;
	err_t err;
	struct err_detail detail;

	/* the registry's */
	struct list_node node, among_all;
	int64_t since_us;
	struct registry_lookup *lookup;
	bool counted;
};

/* Keeps the settings and the codec, which outlive it, teaches the codec what the state directory has, for up
 * to 2 s, and starts the thread, which looks there for the rest when it is named. The registry need not be
 * there. */
struct registry *registry_start(const struct registry_settings *settings, struct codec *codec);

enum registry_answer {
	REGISTRY_KNOWS,	  /* the codec knows the name by now */
	REGISTRY_WAITS,	  /* the wait is the registry's, and may even be over */
	REGISTRY_REFUSES, /* its `err` and `detail` say why */
};

/* Any thread; never blocks. */
enum registry_answer registry_await(struct registry *registry, struct registry_wait *wait);

/* For threads that may block, and come again: until the codec knows the name, or it is known why not, or a
 * request has failed, for up to `timeout_ms`, or not at all where one has failed before. After that
 * ERR_SCHEMA_UNAVAILABLE: whoever comes again within 10 s is not forgotten meanwhile. ERR_SCHEMA_UNKNOWN also
 * where the registry has answered something else for as long as events wait (wait_ms), has been seen to
 * answer others for so long while this name failed, or there has been no room for schemas for so long. Any
 * thread. */
err_t registry_resolve(struct registry *registry, const struct schema_name *name, int64_t timeout_ms,
		       struct err_detail *detail);

/* All waits are over (ERR_SHUTTING_DOWN), and nobody can wait any more. Returns how many there were. Any
 * thread; NULL is fine. */
size_t registry_give_up(struct registry *registry);

/* Likewise, and ends the thread; NULL is fine. */
void registry_stop(struct registry *registry);

struct registry_statistics {
	uint64_t requests;
	uint64_t errors;  /* requests that were not answered as they should be */
	uint64_t unknown; /* names that the registry does not have */
	uint64_t refused; /* waits that ended, or did not begin, for a limit */
	size_t schemas;	  /* known names */
	size_t waiting, waiting_bytes;
	int64_t oldest_ms; /* for how long the first of them has waited */
	bool down;	   /* nobody was answered when it was last tried */
	int64_t since_ms; /* that it can be asked, or cannot: milliseconds since 1970; 0: nobody has asked yet
			   */
	struct err_detail fault; /* why it cannot, else "" */
};

/* Any thread. */
void registry_statistics(struct registry *registry, struct registry_statistics *ret_statistics);

/* Appends why the registry cannot be asked, and what waits for it, one line without its end; nothing where
 * all is well. Any thread; NULL is fine. */
void registry_describe(struct registry *registry, struct buf *out);

struct heartbeat *registry_heartbeat(struct registry *registry);
