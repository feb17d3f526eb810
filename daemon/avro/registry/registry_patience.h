/*
 * For how long more events may wait for schemas than the limits allow: a schema that is asked for for the
 * first time is mostly there in a moment, and a backlog that needs it is not lost for that. Bounded, since
 * what waits holds up what comes behind it. Pure; times are microseconds of the monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Empty at first. */
struct registry_patience {
	int64_t until_us; /* while it lasts; 0: nobody needs it */
	int64_t again_us; /* when there may be another, after one that was in vain */
};

/* Whether one more event may exceed the limits now; the first begins a patience of `for_us`. */
bool registry_patience_take(struct registry_patience *patience, int64_t now_us, int64_t for_us);

/* It was in vain: there is none for `pause_us`. */
void registry_patience_spend(struct registry_patience *patience, int64_t now_us, int64_t pause_us);

/* Looks after it from time to time; `exceeded`: more wait than the limits allow. True if they have to go: it
 * has lasted long enough, and is spent. */
bool registry_patience_is_over(struct registry_patience *patience, bool exceeded, int64_t now_us,
			       int64_t pause_us);
