/*
 * Circuit breaker: after a row of failures it lets nothing through for a while, then probes, one at a time,
 * until one of them succeeds; one that is silent holds up the next for a moment only. Pure: the time is
 * handed in. Not thread-safe. Source: Nygard, "Release It!", 2007.
 */
#pragma once

#include "common/backoff.h"

#include <stdbool.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker {
	unsigned threshold; /* failures in a row that open it */
	int64_t pause_ms;   /* the least time between two probes; after a failure the backoff comes on top */
	struct backoff backoff;
	enum breaker_state state;
	unsigned failures;
	int64_t probe_at_us;
};

/* Whether a call may start now. */
bool breaker_allows(const struct breaker *breaker, int64_t now_us);

/* When a call may start: now_us, or later. */
int64_t breaker_ready_us(const struct breaker *breaker, int64_t now_us);

/* A call that is allowed starts: after a pause it is a probe. It must end in one of the two below. */
void breaker_started(struct breaker *breaker, int64_t now_us);

/* The other side answered, whatever it said. */
void breaker_succeeded(struct breaker *breaker);

/* The other side could not be reached, failed, or was silent. Returns true when this opened the breaker. */
bool breaker_failed(struct breaker *breaker, int64_t now_us);
