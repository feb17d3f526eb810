/*
 * Circuit breaker: after a row of failures it lets nothing through for a while, then probes, one at a time,
 * until one of them succeeds. Pure: the time is handed in. Not thread-safe. Source: Nygard, "Release It!",
 * 2007.
 */
#pragma once

#include "common/backoff.h"

#include <stdbool.h>

enum circuit_state { CIRCUIT_CLOSED, CIRCUIT_OPEN, CIRCUIT_HALF_OPEN };

struct circuit_breaker {
	/* settings */
	unsigned threshold;	/* failures in a row that open it */
	int64_t pause_ms;	/* of every pause; the backoff comes on top */
	int64_t least_pause_ms; /* both together are no less */
	int64_t silence_ms;	/* a probe that is silent holds up the next for so long; 0: until it ends */
	struct backoff backoff;

	enum circuit_state state;
	unsigned failures;
	int64_t probe_at_us;
};

/* Whether a call may start now. */
bool circuit_breaker_allows(const struct circuit_breaker *breaker, int64_t now_us);

/* When a call may start: now_us, or later; INT64_MAX: when the probe has ended. */
int64_t circuit_breaker_ready_us(const struct circuit_breaker *breaker, int64_t now_us);

/* A call that is allowed starts: after a pause it is a probe. It must end in one of the two below. */
void circuit_breaker_started(struct circuit_breaker *breaker, int64_t now_us);

/* The other side answered, whatever it said. */
void circuit_breaker_succeeded(struct circuit_breaker *breaker);

/* The other side could not be reached, failed, or was silent. Returns true when this opened the breaker. */
bool circuit_breaker_failed(struct circuit_breaker *breaker, int64_t now_us);
