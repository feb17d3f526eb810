/*
 * The names that are looked up, by what is to be done for each, and which of them have their turn. Those that
 * are asked for the first time have REGISTRY_FIRST_MAX places, in turn, and those that have failed
 * REGISTRY_AGAIN_MAX, by when they are due. Whoever holds a place does so for REGISTRY_SLICE_MS, doubled with
 * each failure of its name, even though another waits for it, and longer if none does.
 *
 * No I/O, no lock: the registry's mutex guards it. Times are microseconds of the monotonic clock.
 */
#pragma once

#include "avro/registry/registry.h"
#include "avro/registry/registry_fetch.h"
#include "avro/registry/registry_proof.h"
#include "common/backoff.h"

enum lookup_state {
	LOOKUP_NEW,	     /* it may be on the disk */
	LOOKUP_FIRST,	     /* the registry was never asked for it */
	LOOKUP_AGAIN,	     /* it was, in vain; by when it is due */
	LOOKUP_ASKING_FIRST, /* it is being asked; by when that began */
	LOOKUP_ASKING_AGAIN,
	LOOKUP_NEGATIVE, /* known not to be had; by age */
	LOOKUP_STATES
};

/* A name that is looked up, or known not to be had. */
struct registry_lookup {
	struct registry_lookup *next; /* in its bucket */
	struct list_node node;	      /* among those of its state */
	struct schema_name name;
	enum lookup_state state;
	struct list waits;
	int64_t due_us;	   /* AGAIN: when it is to be asked for; NEGATIVE: until when that counts */
	int64_t asked_us;  /* when the attempt that is under way began, or the last one */
	unsigned failures; /* 0: it is new */
	unsigned excused;  /* first attempts that came to nothing for no fault of its own */
	bool cut;	   /* the last attempt was ended for others */
	struct backoff again;
	int64_t again_ms; /* that the registry wants us to wait, or 0 */
	int64_t negative_ms;
	bool unsure;		 /* it failed, and it is not known yet whether others do */
	bool logged;		 /* the journal knows that it fails */
	bool absent;		 /* the registry said once that it does not have it */
	int64_t wanted_until_us; /* somebody comes again for it until then */
	int64_t odd_since_us;	 /* since when it is answered, and not as it should be; 0: it is not */
	struct registry_failing failing;
	bool passed_over; /* by those who come again, as the journal knows */
	err_t err;	  /* NEGATIVE: what it is, and why; else what went wrong last, or ERR_OK */
	struct err_detail detail;
	struct err_detail known; /* NEGATIVE: the same for those whom no redrive helps */
	/* the registry's thread's */
	struct registry_fetch *fetch;
	struct registry_request request;
	int64_t requested_us; /* when that began */
	unsigned asked;	      /* bits of the addresses that were asked for what is wanted now */
	bool denied;	      /* one of them says that it does not have it */
	bool reached;	      /* one of them took the request */
	bool answered;	      /* and answered it in time */
	enum registry_outcome failure;
	struct err_detail fault; /* of one of them: what it answered, or else why it did not */
};

enum { REGISTRY_BUCKETS = 4096, REGISTRY_AT_ONCE_MAX = REGISTRY_FIRST_MAX + REGISTRY_AGAIN_MAX };

struct registry_lookups {
	struct registry_lookup *buckets[REGISTRY_BUCKETS];
	struct list by_state[LOOKUP_STATES];
};

void registry_lookups_init(struct registry_lookups *lookups);

static inline struct registry_lookup *registry_lookup_of(struct list_node *node)
{
	return container_of(node, struct registry_lookup, node);
}

/* Whether anybody waits for it, or comes again. */
static inline bool registry_lookup_is_wanted(const struct registry_lookup *lookup, int64_t now_us)
{
	return !list_empty(&lookup->waits) || lookup->wanted_until_us > now_us;
}

/* NULL: it is not looked up. */
struct registry_lookup *registry_lookups_find(struct registry_lookups *lookups,
					      const struct schema_name *name);

/* A name that is not looked up yet; that state. */
struct registry_lookup *registry_lookups_add(struct registry_lookups *lookups, const struct schema_name *name,
					     enum lookup_state state);

/* Behind the others of that state, but for AGAIN, where its `due_us` counts. */
void registry_lookup_set(struct registry_lookups *lookups, struct registry_lookup *lookup,
			 enum lookup_state state);

/* Frees one that is not under way, and that nobody waits for. */
void registry_lookup_forget(struct registry_lookups *lookups, struct registry_lookup *lookup);

/* ---- places ---- */

/* Kinds of attempts. */
enum registry_kind { REGISTRY_FIRST, REGISTRY_AGAIN, REGISTRY_KINDS };

size_t registry_lookups_under_way(const struct registry_lookups *lookups);

/* Begins attempts of wanted names whose turn it is, `most` at most: sets their state and time. Returns how
 * many it has put into `taken`. */
size_t registry_lookups_take(struct registry_lookups *lookups, enum registry_kind kind, size_t most,
			     int64_t now_us, struct registry_lookup **taken);

/* Attempts that have to end since others wait for their places: those that have had their time and are not
 * answered, in the order in which they began, and no more than wait. Returns how many. */
size_t registry_lookups_spent(const struct registry_lookups *lookups, enum registry_kind kind, int64_t now_us,
			      struct registry_lookup **spent);

/* When something is to be done for that kind: one begins, not before `begin_us`, or another has had its time;
 * INT64_MAX: nobody waits. */
int64_t registry_lookups_next_us(const struct registry_lookups *lookups, enum registry_kind kind,
				 int64_t begin_us, int64_t now_us);
