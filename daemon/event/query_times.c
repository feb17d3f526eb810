#include "event/query_times.h"

#include "common/hash.h"

#include <math.h>
#include <pthread.h>

/* A set for each hash, and so many queries in a set. */
enum { SETS = 4096, WAYS = 4 };

/* The weight of the latest run, once there are more than its inverse. */
#define WEIGHT_MIN (1.0 / 64)

/* A clock ticks; what took no time took less than this. */
#define TIME_MIN_MS 0.001

#define DEVIATIONS 3

struct habit {
	uint64_t key; /* 0: free */
	int64_t runs;
	double mean, variance; /* of the logarithm of milliseconds */
	uint64_t last;	       /* when it came last: runs of all queries */
};

struct query_times {
	pthread_mutex_t mutex;
	uint64_t runs; /* of all queries */
	struct habit sets[SETS][WAYS];
};

struct query_times *query_times_new(void)
{
	struct query_times *times = calloc(1, sizeof *times);
	if (!times)
		abort();
	pthread_mutex_init(&times->mutex, NULL);
	return times;
}

void query_times_free(struct query_times *times)
{
	if (!times)
		return;
	pthread_mutex_destroy(&times->mutex);
	free(times);
}

/* Its habit, or an empty one in place of what came longest ago. */
static struct habit *find(struct query_times *times, uint64_t key)
{
	struct habit *set = times->sets[(key >> 8) % SETS], *oldest = &set[0];
	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].last < oldest->last)
			oldest = &set[i];
	}
	*oldest = (struct habit){ .key = key };
	return oldest;
}

static bool is_regression(const struct habit *habit, double time_ms, double factor, double floor_ms)
{
	return habit->runs >= QUERY_TIMES_RUNS_MIN && time_ms > factor * exp(habit->mean) &&
	       time_ms > floor_ms && log(time_ms) > habit->mean + DEVIATIONS * sqrt(habit->variance);
}

/* Mean and variance with exponential weights; a plain mean at first. */
static void learn(struct habit *habit, double time_ms)
{
	double weight = fmax(WEIGHT_MIN, 1.0 / (double)++habit->runs);
	double distance = log(time_ms) - habit->mean;
	habit->mean += weight * distance;
	habit->variance = (1 - weight) * (habit->variance + weight * distance * distance);
}

bool query_times_note(struct query_times *times, str_t target, str_t form, double time_ms, double factor,
		      double floor_ms, struct query_usual *ret_usual)
{
	uint64_t of_target = hash_seeded(target.ptr, target.len), of_form = hash_seeded(form.ptr, form.len);
	uint64_t key = (of_form ^ (of_target >> 32 | of_target << 32)) | 1;
	time_ms = fmax(time_ms, TIME_MIN_MS);
	pthread_mutex_lock(&times->mutex);
	struct habit *habit = find(times, key);
	bool slow = is_regression(habit, time_ms, factor, floor_ms);
	if (slow)
		*ret_usual = (struct query_usual){ habit->runs, exp(habit->mean) };
	learn(habit, time_ms);
	habit->last = ++times->runs;
	pthread_mutex_unlock(&times->mutex);
	return slow;
}
