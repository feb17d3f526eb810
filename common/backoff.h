/*
 * Exponential backoff with full jitter: the n-th delay is uniform in [0, min(cap, base · 2ⁿ)].
 * Source: Brooker, "Exponential Backoff And Jitter", 2015. Not thread-safe.
 */
#pragma once

#include <stdint.h>

struct backoff {
	int64_t base_ms;
	int64_t cap_ms;
	unsigned attempt;
	uint64_t random_state; /* 0: seeded on first use */
};

/* Delay before the next attempt, in ms; counts the attempt. */
int64_t backoff_next_ms(struct backoff *backoff);

/* After a success: the next delay starts from the base again. */
void backoff_reset(struct backoff *backoff);
