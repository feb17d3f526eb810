#include "event/rate_limiter.h"

#include "common/hash.h"

#include <pthread.h>

#define MINUTE_US ((int64_t)60 * 1000000)

/* A fixed table, addressed by hash: segments that collide share a limit, and memory stays as it is. */
enum { SLOTS = 4096 };

struct rate_limiter_slot {
	int64_t minute_started_us;
	unsigned passed;
	int64_t suppressed;
};

struct rate_limiter {
	pthread_mutex_t mutex;
	struct rate_limiter_slot slots[SLOTS];
};

struct rate_limiter *rate_limiter_new(void)
{
	struct rate_limiter *limiter = calloc(1, sizeof *limiter);
	if (!limiter)
		abort();
	pthread_mutex_init(&limiter->mutex, NULL);
	return limiter;
}

void rate_limiter_free(struct rate_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->mutex);
	free(limiter);
}

bool rate_limiter_pass(struct rate_limiter *limiter, int kind, str_t segment, unsigned max_a_minute,
		       int64_t now_us, int64_t *ret_suppressed)
{
	uint64_t hash = hash_seeded(segment.ptr ? segment.ptr : "", segment.len) +
			(uint64_t)kind * 0x9e3779b97f4a7c15u;
	pthread_mutex_lock(&limiter->mutex);
	struct rate_limiter_slot *slot = &limiter->slots[(hash >> 20) % SLOTS];
	if (slot->passed == 0 || now_us - slot->minute_started_us >= MINUTE_US) {
		slot->minute_started_us = now_us;
		slot->passed = 0;
	}
	bool pass = slot->passed < max_a_minute;
	if (pass) {
		slot->passed++;
		*ret_suppressed = slot->suppressed;
		slot->suppressed = 0;
	} else {
		slot->suppressed++;
	}
	pthread_mutex_unlock(&limiter->mutex);
	return pass;
}
