/*
 * Circuit breaker: after a row of failures it lets nothing through for a while, then one probe; the probe's
 * outcome closes it or opens it again for longer. Pure: the time is handed in. Not thread-safe.
 * Source: Nygard, "Release It!", 2007.
 */
#pragma once

#include "common/backoff.h"

#include <stdbool.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker {
	unsigned threshold; /* failures in a row that open it */
	int64_t pause_ms;   /* the least time that it stays open; the backoff comes on top */
	struct backoff backoff;
	enum breaker_state state;
	unsigned failures;
	int64_t probe_at_us;
};

/* Whether a call may start now. */
bool breaker_allows(const struct breaker *breaker, int64_t now_us);

/* A call that is allowed starts: the first one after the pause becomes the probe. It must end in one of the
 * two below. */
void breaker_started(struct breaker *breaker);

/* The other side answered, whatever it said. */
void breaker_succeeded(struct breaker *breaker);

/* The other side could not be reached, failed, or was silent. Returns true when this opened the breaker. */
bool breaker_failed(struct breaker *breaker, int64_t now_us);
