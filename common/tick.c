#include "common/tick.h"

#include "common/clock.h"

void tick(struct ticker *ticker)
{
	/* the time first: who reads a wait that has just ended must not take it for a stall */
	atomic_store_explicit(&ticker->last_us, clock_monotonic_us(), memory_order_release);
	atomic_store_explicit(&ticker->waiting_for, NULL, memory_order_release);
}

void tick_waiting(struct ticker *ticker, const char *dependency)
{
	int64_t now_us = clock_monotonic_us();
	if (!atomic_load_explicit(&ticker->waiting_for, memory_order_relaxed))
		atomic_store_explicit(&ticker->waiting_since_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&ticker->last_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&ticker->waiting_for, dependency, memory_order_relaxed);
}

void tick_stop(struct ticker *ticker)
{
	atomic_store_explicit(&ticker->waiting_for, NULL, memory_order_relaxed);
	atomic_store_explicit(&ticker->last_us, 0, memory_order_relaxed);
}

const struct ticker *tick_find_stuck(struct ticker *const *tickers, size_t count,
				     const struct tick_limits *limits, int64_t now_us,
				     const char **ret_waiting_for)
{
	*ret_waiting_for = NULL;
	for (size_t i = 0; i < count; i++) {
		int64_t last_us = atomic_load(&tickers[i]->last_us);
		const char *waiting_for = atomic_load(&tickers[i]->waiting_for);
		int64_t since_us = atomic_load(&tickers[i]->waiting_since_us);
		if (waiting_for && !*ret_waiting_for &&
		    now_us - since_us >= INT64_C(1000) * TICK_WORTH_TELLING_MS)
			*ret_waiting_for = waiting_for;
		int64_t allowed_ms = waiting_for ? limits->waiting_ms : limits->busy_ms;
		if (last_us != 0 && now_us - last_us > allowed_ms * 1000)
			return tickers[i];
	}
	return NULL;
}
