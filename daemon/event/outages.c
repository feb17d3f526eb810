#include "event/outages.h"

#include <pthread.h>
#include <stdatomic.h>

/* More targets than that, and more names that are not configured, share one episode. */
enum { TARGETS_MAX = 256, UNCONFIGURED_MAX = 64, NAME_SIZE = 128 };

/* Of a target that is not configured: nothing ends it. */
#define EPISODE_US ((int64_t)3600 * 1000000)

struct outage {
	char target[NAME_SIZE];
	bool away;
	bool by_query; /* nothing but the answer to a query ends it */
};

/* An episode of a name that is not configured. */
struct unconfigured {
	char name[NAME_SIZE];
	bool known;
	int64_t since_us;
};

struct outages {
	pthread_mutex_t mutex;
	_Atomic unsigned away_count; /* of configured targets: usually there is nothing to end */
	struct outage targets[TARGETS_MAX];
	size_t count;
	struct unconfigured names[UNCONFIGURED_MAX];
	struct unconfigured others; /* whose name is empty */
};

struct outages *outages_new(void)
{
	struct outages *outages = calloc(1, sizeof *outages);
	if (!outages)
		abort();
	pthread_mutex_init(&outages->mutex, NULL);
	return outages;
}

void outages_free(struct outages *outages)
{
	if (!outages)
		return;
	pthread_mutex_destroy(&outages->mutex);
	free(outages);
}

/* NULL: there is none, and none may be made. */
static struct outage *find(struct outages *outages, str_t target, bool make)
{
	for (size_t i = 0; i < outages->count; i++)
		if (str_is(target, outages->targets[i].target))
			return &outages->targets[i];
	if (!make || outages->count == TARGETS_MAX || target.len >= NAME_SIZE)
		return NULL;
	struct outage *outage = &outages->targets[outages->count++];
	memcpy(outage->target, target.ptr, target.len);
	return outage;
}

static bool lasts(const struct unconfigured *episode, int64_t now_us)
{
	return episode->known && now_us - episode->since_us < EPISODE_US;
}

/* The place of that name: its own, else one whose episode is over, else that of all others. */
static struct unconfigured *place_of(struct outages *outages, str_t name, int64_t now_us)
{
	struct unconfigured *place = NULL;
	for (size_t i = 0; i < UNCONFIGURED_MAX; i++) {
		struct unconfigured *episode = &outages->names[i];
		if (episode->known && str_is(name, episode->name))
			return episode;
		if (!place && !lasts(episode, now_us))
			place = episode;
	}
	if (!place || name.len >= NAME_SIZE)
		return &outages->others;
	*place = (struct unconfigured){ .known = false };
	memcpy(place->name, name.ptr, name.len);
	return place;
}

static bool unconfigured_away(struct outages *outages, str_t name, int64_t now_us)
{
	struct unconfigured *episode = place_of(outages, name, now_us);
	if (lasts(episode, now_us))
		return false;
	episode->known = true;
	episode->since_us = now_us;
	return true;
}

bool outages_away(struct outages *outages, str_t target, bool configured, bool reached, int64_t now_us)
{
	bool begins;
	pthread_mutex_lock(&outages->mutex);
	struct outage *outage = configured ? find(outages, target, true) : NULL;
	if (outage) {
		begins = !outage->away;
		outage->away = true;
		outage->by_query |= reached;
		outages->away_count += begins;
	} else {
		begins = unconfigured_away(outages, target, now_us);
	}
	pthread_mutex_unlock(&outages->mutex);
	return begins;
}

void outages_back(struct outages *outages, str_t target, bool ran)
{
	if (atomic_load_explicit(&outages->away_count, memory_order_relaxed) == 0)
		return;
	pthread_mutex_lock(&outages->mutex);
	struct outage *outage = find(outages, target, false);
	if (outage && outage->away && (ran || !outage->by_query)) {
		outage->away = outage->by_query = false;
		outages->away_count--;
	}
	pthread_mutex_unlock(&outages->mutex);
}
