#include "common/pool.h"

#include "common/clock.h"

#include <pthread.h>
#include <signal.h>

struct pool_member {
	struct pool *pool;
	pthread_t thread;
	unsigned index;
};

struct pool {
	char name[13];
	void (*run)(void *context, unsigned index);
	void *context;
	unsigned started;
	unsigned joined; /* so many, from the first */
	struct pool_member members[];
};

static void *member_main(void *argument)
{
	struct pool_member *member = argument;
	char name[16];
	snprintf(name, sizeof name, "%.12s%u", member->pool->name, member->index % 1000);
	pthread_setname_np(pthread_self(), name);
	member->pool->run(member->pool->context, member->index);
	return NULL;
}

/* Signals belong to the main thread: the new thread starts with all of them blocked. */
static int start_member(struct pool_member *member)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, POOL_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&member->thread, &attributes, member_main, member);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed;
}

struct pool *pool_start(const char *name, unsigned threads, void (*run)(void *context, unsigned index),
			void *context)
{
	struct pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->members[0]);
	if (!pool)
		abort();
	snprintf(pool->name, sizeof pool->name, "%s", name);
	pool->run = run;
	pool->context = context;
	for (unsigned i = 0; i < threads; i++) {
		pool->members[i] = (struct pool_member){ .pool = pool, .index = i };
		if (start_member(&pool->members[i]))
			abort();
		pool->started++;
	}
	return pool;
}

void pool_join(struct pool *pool)
{
	if (!pool)
		return;
	for (; pool->joined < pool->started; pool->joined++)
		pthread_join(pool->members[pool->joined].thread, NULL);
	free(pool);
}

static bool join_within(pthread_t thread, int64_t left_us)
{
	if (left_us < 0)
		left_us = 0;
#ifdef __SANITIZE_THREAD__ /* which does not know the other join, and takes the thread for a leak */
	int64_t until_us = clock_wall_ms() * 1000 + left_us;
	const struct timespec until = { until_us / 1000000, until_us % 1000000 * 1000 };
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
#else
	int64_t until_us = clock_monotonic_us() + left_us;
	const struct timespec until = { until_us / 1000000, until_us % 1000000 * 1000 };
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
#endif
}

bool pool_join_within(struct pool *pool, int64_t timeout_ms)
{
	int64_t until_us = clock_monotonic_us() + (timeout_ms > 0 ? timeout_ms : 0) * 1000;
	if (!pool)
		return true;
	for (; pool->joined < pool->started; pool->joined++)
		if (!join_within(pool->members[pool->joined].thread, until_us - clock_monotonic_us()))
			return false;
	free(pool);
	return true;
}
