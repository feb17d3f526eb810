/*
 * Which of a registry's addresses is asked next. That which gave a schema last comes first; one that answers
 * nobody is left out for a while, twice as long each time, unless no other is left. Pure; times are
 * microseconds of the monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGISTRY_ADDRESSES_MAX = 8 }; /* those beyond are not asked */

/* All zero but `count` at first. */
struct registry_addresses {
	size_t count;
	size_t best; /* which gave a schema last */
	struct registry_address {
		int64_t answered_us; /* when it last did, whoever asked */
		int64_t until_us;    /* it is left out until then; 0: it is not */
		int64_t pause_us;    /* for how long it was left out last */
	} each[REGISTRY_ADDRESSES_MAX];
};

#define REGISTRY_NO_ADDRESS SIZE_MAX

/* The next for a question that was put to those whose bits `asked` has; REGISTRY_NO_ADDRESS: there is none.
 * `answered`: one of them has answered it, so those that are left out may stay so. */
size_t registry_addresses_next(const struct registry_addresses *addresses, unsigned asked, bool answered,
			       int64_t now_us);

/* It has answered as a registry does. */
void registry_addresses_answer(struct registry_addresses *addresses, size_t index, int64_t now_us);

/* It has not, since `asked_us`. That says nothing of the address if it has answered others meanwhile. */
void registry_addresses_fail(struct registry_addresses *addresses, size_t index, int64_t asked_us,
			     int64_t now_us);
