#include "judge/breaker.h"

int64_t breaker_ready_us(const struct breaker *breaker, int64_t now_us)
{
	bool paused = breaker->state != BREAKER_CLOSED && breaker->probe_at_us > now_us;
	return paused ? breaker->probe_at_us : now_us;
}

bool breaker_allows(const struct breaker *breaker, int64_t now_us)
{
	return breaker_ready_us(breaker, now_us) <= now_us;
}

void breaker_started(struct breaker *breaker, int64_t now_us)
{
	if (breaker->state == BREAKER_CLOSED)
		return;
	breaker->state = BREAKER_HALF_OPEN;
	breaker->probe_at_us = now_us + breaker->pause_ms * 1000;
}

void breaker_succeeded(struct breaker *breaker)
{
	breaker->state = BREAKER_CLOSED;
	breaker->failures = 0;
	backoff_reset(&breaker->backoff);
}

bool breaker_failed(struct breaker *breaker, int64_t now_us)
{
	breaker->failures++;
	if (breaker->state == BREAKER_OPEN)
		return false; /* a call that was under way when it opened */
	if (breaker->state == BREAKER_CLOSED && breaker->failures < breaker->threshold)
		return false;
	breaker->state = BREAKER_OPEN;
	breaker->probe_at_us = now_us + (breaker->pause_ms + backoff_next_ms(&breaker->backoff)) * 1000;
	return true;
}
