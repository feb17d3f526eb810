#include "kafka/credits.h"

#include "common/clock.h"

void credits_init(struct credits *credits, size_t events_limit, size_t bytes_limit)
{
	pthread_mutex_init(&credits->mutex, NULL);
	clock_cond_init(&credits->returned);
	credits->events_limit = events_limit;
	credits->bytes_limit = bytes_limit;
	credits->events_used = credits->bytes_used = 0;
}

void credits_destroy(struct credits *credits)
{
	pthread_cond_destroy(&credits->returned);
	pthread_mutex_destroy(&credits->mutex);
}

static bool room_for(const struct credits *credits, size_t bytes)
{
	if (credits->events_used == 0)
		return true;
	return credits->events_used < credits->events_limit && credits->bytes_used < credits->bytes_limit &&
	       bytes <= credits->bytes_limit - credits->bytes_used;
}

bool credits_take(struct credits *credits, size_t bytes, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&credits->mutex);
	bool room;
	while (!(room = room_for(credits, bytes)) && timeout_ms > 0)
		if (pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0)
			break;
	room = room || room_for(credits, bytes);
	if (room) {
		credits->events_used++;
		credits->bytes_used += bytes;
	}
	pthread_mutex_unlock(&credits->mutex);
	return room;
}

void credits_grow(struct credits *credits, size_t bytes)
{
	pthread_mutex_lock(&credits->mutex);
	credits->bytes_used += bytes;
	pthread_mutex_unlock(&credits->mutex);
}

void credits_return(struct credits *credits, size_t bytes)
{
	pthread_mutex_lock(&credits->mutex);
	credits->events_used--;
	credits->bytes_used -= bytes;
	pthread_cond_broadcast(&credits->returned);
	pthread_mutex_unlock(&credits->mutex);
}

static bool quarter_free(const struct credits *credits)
{
	return credits->events_used <= credits->events_limit * 3 / 4 &&
	       credits->bytes_used <= credits->bytes_limit / 4 * 3;
}

bool credits_wait_quarter(struct credits *credits, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&credits->mutex);
	while (!quarter_free(credits) && timeout_ms > 0)
		if (pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0)
			break;
	bool free_again = quarter_free(credits);
	pthread_mutex_unlock(&credits->mutex);
	return free_again;
}

bool credits_wait_below(struct credits *credits, size_t events, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&credits->mutex);
	while (credits->events_used > events && timeout_ms > 0)
		if (pthread_cond_timedwait(&credits->returned, &credits->mutex, &deadline) != 0)
			break;
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
