#include "common/circuit_breaker.h"

int64_t circuit_breaker_ready_us(const struct circuit_breaker *breaker, int64_t now_us)
{
	bool paused = breaker->state != CIRCUIT_CLOSED && breaker->probe_at_us > now_us;
	return paused ? breaker->probe_at_us : now_us;
}

bool circuit_breaker_allows(const struct circuit_breaker *breaker, int64_t now_us)
{
	return circuit_breaker_ready_us(breaker, now_us) <= now_us;
}

void circuit_breaker_started(struct circuit_breaker *breaker, int64_t now_us)
{
	if (breaker->state == CIRCUIT_CLOSED)
		return;
	breaker->state = CIRCUIT_HALF_OPEN;
	breaker->probe_at_us = breaker->silence_ms ? now_us + breaker->silence_ms * 1000 : INT64_MAX;
}

void circuit_breaker_succeeded(struct circuit_breaker *breaker)
{
	breaker->state = CIRCUIT_CLOSED;
	breaker->failures = 0;
	backoff_reset(&breaker->backoff);
}

bool circuit_breaker_failed(struct circuit_breaker *breaker, int64_t now_us)
{
	breaker->failures++;
	if (breaker->state == CIRCUIT_OPEN)
		return false; /* a call that was under way when it opened */
	if (breaker->state == CIRCUIT_CLOSED && breaker->failures < breaker->threshold)
		return false;
	breaker->state = CIRCUIT_OPEN;
	int64_t pause_ms = breaker->pause_ms + backoff_next_ms(&breaker->backoff);
	if (pause_ms < breaker->least_pause_ms)
		pause_ms = breaker->least_pause_ms;
	breaker->probe_at_us = now_us + pause_ms * 1000;
	return true;
}
