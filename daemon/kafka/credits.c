#include "kafka/credits.h"

#include "common/clock.h"

/* What was given back is told to the source when it is worth taking: so much of all. */
enum { WORTH = 16 };

/* Of the way between what was estimated and what was found, an estimate goes so much up, or down. */
enum { RISE = 8, FALL = 128 };

/* ---- estimates ---- */

static uint64_t *ratio_of(struct credits *credits, size_t message_bytes)
{
	return &credits->ratio[message_bytes ? 63 - __builtin_clzll(message_bytes) : 0];
}

static size_t estimate(struct credits *credits, size_t message_bytes)
{
	return CREDITS_FIXED_BYTES + (size_t)(*ratio_of(credits, message_bytes) * message_bytes / 1024);
}

static void learn(struct credits *credits, size_t message_bytes, size_t held)
{
	uint64_t *ratio = ratio_of(credits, message_bytes);
	uint64_t beyond = held > CREDITS_FIXED_BYTES ? held - CREDITS_FIXED_BYTES : 0;
	uint64_t found = beyond * 1024 / (message_bytes ? message_bytes : 1);
	if (found > *ratio)
		*ratio += (found - *ratio + RISE - 1) / RISE;
	else
		*ratio -= (*ratio - found) / FALL;
}

/* ---- taking and giving back ---- */

void credits_init(struct credits *credits, size_t events_limit, size_t bytes_limit)
{
	*credits = (struct credits){ .events_limit = events_limit, .bytes_limit = bytes_limit };
	pthread_mutex_init(&credits->mutex, NULL);
	clock_cond_init(&credits->returned);
	for (size_t i = 0; i < CREDITS_SIZES; i++)
		credits->ratio[i] = CREDITS_FIRST_RATIO * 1024;
}

void credits_destroy(struct credits *credits)
{
	pthread_cond_destroy(&credits->returned);
	pthread_mutex_destroy(&credits->mutex);
}

void credits_on_shortage(struct credits *credits, credits_shortage_fn shortage, void *context)
{
	credits->shortage = shortage;
	credits->shortage_context = context;
}

static bool room_for(const struct credits *credits, size_t bytes)
{
	if (credits->events_used == 0)
		return true;
	return credits->events_used < credits->events_limit && credits->bytes_used < credits->bytes_limit &&
	       bytes <= credits->bytes_limit - credits->bytes_used;
}

/* Not for each event that leaves a full daemon: the source would wake up for one event at a time. */
static bool worth_taking(const struct credits *credits)
{
	if (credits->events_used == 0)
		return true;
	return credits->events_used < credits->events_limit - credits->events_limit / WORTH &&
	       credits->bytes_used <= credits->bytes_limit - credits->bytes_limit / WORTH;
}

/* There is more room than before. */
static void signal_room(struct credits *credits)
{
	if (credits->watchers || (credits->takers && worth_taking(credits)))
		pthread_cond_broadcast(&credits->returned);
}

static bool wait_for_room(struct credits *credits, size_t message_bytes, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	bool room, waited = false;
	credits->takers++;
	if (credits->shortage)
		credits->shortage(credits->events_used, credits->shortage_context);
	while (!(room = room_for(credits, estimate(credits, message_bytes))) && !waited)
		waited = pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0;
	if (credits->shortage)
		credits->shortage(0, credits->shortage_context);
	credits->takers--;
	return room;
}

bool credits_take(struct credits *credits, size_t message_bytes, int64_t timeout_ms, size_t *ret_held)
{
	pthread_mutex_lock(&credits->mutex);
	bool room = room_for(credits, estimate(credits, message_bytes));
	if (!room && timeout_ms > 0)
		room = wait_for_room(credits, message_bytes, timeout_ms);
	if (room) {
		*ret_held = estimate(credits, message_bytes);
		credits->events_used++;
		credits->bytes_used += *ret_held;
	}
	pthread_mutex_unlock(&credits->mutex);
	return room;
}

static void hold(struct credits *credits, size_t bytes, size_t *held)
{
	credits->bytes_used += bytes - *held;
	if (bytes < *held)
		signal_room(credits);
	*held = bytes;
}

void credits_hold(struct credits *credits, size_t bytes, size_t *held)
{
	pthread_mutex_lock(&credits->mutex);
	hold(credits, bytes, held);
	pthread_mutex_unlock(&credits->mutex);
}

void credits_settle(struct credits *credits, size_t message_bytes, size_t bytes, size_t *held)
{
	pthread_mutex_lock(&credits->mutex);
	learn(credits, message_bytes, bytes);
	hold(credits, bytes, held);
	pthread_mutex_unlock(&credits->mutex);
}

void credits_return(struct credits *credits, size_t held)
{
	pthread_mutex_lock(&credits->mutex);
	credits->events_used--;
	credits->bytes_used -= held;
	signal_room(credits);
	pthread_mutex_unlock(&credits->mutex);
}

/* ---- watching ---- */

static bool quarter_free(const struct credits *credits)
{
	return credits->events_used <= credits->events_limit * 3 / 4 &&
	       credits->bytes_used <= credits->bytes_limit / 4 * 3;
}

bool credits_wait_quarter(struct credits *credits, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&credits->mutex);
	credits->watchers++;
	while (!quarter_free(credits) && timeout_ms > 0)
		if (pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0)
			break;
	credits->watchers--;
	bool free_again = quarter_free(credits);
	pthread_mutex_unlock(&credits->mutex);
	return free_again;
}

bool credits_wait_below(struct credits *credits, size_t events, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&credits->mutex);
	credits->watchers++;
	while (credits->events_used > events && timeout_ms > 0)
		if (pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0)
			break;
	credits->watchers--;
	bool below = credits->events_used <= events;
	pthread_mutex_unlock(&credits->mutex);
	return below;
}

void credits_used(struct credits *credits, size_t *ret_events, size_t *ret_bytes)
{
	pthread_mutex_lock(&credits->mutex);
	*ret_events = credits->events_used;
	*ret_bytes = credits->bytes_used;
	pthread_mutex_unlock(&credits->mutex);
}
