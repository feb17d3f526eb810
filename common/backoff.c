#include "common/backoff.h"

#include <stdlib.h>
#include <sys/random.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state)
{
	if (*state == 0 && getrandom(state, sizeof *state, 0) != sizeof *state)
		abort();
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

int64_t backoff_next_ms(struct backoff *backoff)
{
	int64_t ceiling = backoff->base_ms;
	for (unsigned i = 0; i < backoff->attempt && ceiling < backoff->cap_ms; i++)
		ceiling *= 2;
	if (ceiling > backoff->cap_ms)
		ceiling = backoff->cap_ms;
	backoff->attempt++;
	return (int64_t)(next_random(&backoff->random_state) % (uint64_t)(ceiling + 1));
}

void backoff_reset(struct backoff *backoff)
{
	backoff->attempt = 0;
}
