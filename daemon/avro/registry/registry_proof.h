/*
 * Whether it is the registry that is away, or one name that alone is not given: for how long the registry has
 * been seen to answer others while that one failed. The clock of this runs from answer to answer, so it
 * stands while nobody is answered. Pure; times are microseconds of the monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of the registry; empty at first. */
struct registry_proof {
	int64_t clock_us;  /* for how long it has been there in all, as far as is known */
	int64_t proven_us; /* when it last answered as a registry does */
	int64_t since_us;  /* since when it does; 0: it did not when last tried */
};

/* Of a name that is asked for; empty while it does not fail. */
struct registry_failing {
	int64_t last_us; /* when it failed last; 0: it does not */
	int64_t from_us; /* what that clock said when it began to */
};

/* It has answered as a registry does, whoever asked. */
void registry_proof_give(struct registry_proof *proof, int64_t now_us);

/* It has not, although what it was asked can be answered. */
void registry_proof_miss(struct registry_proof *proof);

void registry_fails(struct registry_failing *failing, const struct registry_proof *proof, int64_t now_us);

/* Whether it has failed alone for longer than that, and has failed since the registry was last away. */
bool registry_fails_alone(const struct registry_failing *failing, const struct registry_proof *proof,
			  int64_t wait_us);
