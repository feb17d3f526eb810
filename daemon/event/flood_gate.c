#include "event/flood_gate.h"

#include "common/hash.h"

#include <pthread.h>

#define MINUTE_US ((int64_t)60 * 1000000)

/* A fixed table, addressed by hash: segments that collide share a limit, and memory stays as it is. */
enum { SLOTS = 4096 };

struct slot {
	int64_t minute_started_us;
	unsigned passed;
	int64_t suppressed;
};

struct flood_gate {
	pthread_mutex_t mutex;
	struct slot slots[SLOTS];
};

struct flood_gate *flood_gate_new(void)
{
	struct flood_gate *gate = calloc(1, sizeof *gate);
	if (!gate)
		abort();
	pthread_mutex_init(&gate->mutex, NULL);
	return gate;
}

void flood_gate_free(struct flood_gate *gate)
{
	if (!gate)
		return;
	pthread_mutex_destroy(&gate->mutex);
	free(gate);
}

bool flood_gate_pass(struct flood_gate *gate, int kind, str_t segment, unsigned most_a_minute, int64_t now_us,
		     int64_t *ret_suppressed)
{
	uint64_t hash = hash_seeded(segment.ptr ? segment.ptr : "", segment.len) +
			(uint64_t)kind * 0x9e3779b97f4a7c15u;
	pthread_mutex_lock(&gate->mutex);
	struct slot *slot = &gate->slots[(hash >> 20) % SLOTS];
	if (slot->passed == 0 || now_us - slot->minute_started_us >= MINUTE_US) {
		slot->minute_started_us = now_us;
		slot->passed = 0;
	}
	bool pass = slot->passed < most_a_minute;
	if (pass) {
		slot->passed++;
		*ret_suppressed = slot->suppressed;
		slot->suppressed = 0;
	} else {
		slot->suppressed++;
	}
	pthread_mutex_unlock(&gate->mutex);
	return pass;
}
