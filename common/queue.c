#include "common/queue.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <sys/eventfd.h>

void queue_init(struct queue *queue, bool with_fd)
{
	pthread_mutex_init(&queue->mutex, NULL);
	clock_cond_init(&queue->filled);
	list_init(&queue->items);
	queue->closed = queue->woken = false;
	queue->awaited = 1;
	queue->enough = SIZE_MAX;
	queue->wakeup_fd = with_fd ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (with_fd && queue->wakeup_fd < 0)
		abort();
}

void queue_destroy(struct queue *queue)
{
	if (queue->wakeup_fd >= 0)
		close(queue->wakeup_fd);
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->mutex);
}

static void raise_fd(const struct queue *queue)
{
	uint64_t one = 1;
	if (queue->wakeup_fd >= 0 && write(queue->wakeup_fd, &one, sizeof one) < 0)
		return; /* full: it is readable already */
}

static void drain_fd(const struct queue *queue)
{
	uint64_t count;
	if (queue->wakeup_fd >= 0 && read(queue->wakeup_fd, &count, sizeof count) < 0)
		return; /* empty */
}

void queue_push(struct queue *queue, struct list_node *node)
{
	pthread_mutex_lock(&queue->mutex);
	list_append(&queue->items, node);
	if (queue->items.count >= queue->awaited)
		pthread_cond_signal(&queue->filled);
	raise_fd(queue); /* while locked: whoever takes the item may be about to destroy the queue */
	pthread_mutex_unlock(&queue->mutex);
}

/* Waits once; false when the time is up. The mutex is held. */
static bool wait_filled(struct queue *queue, int64_t timeout_ms, const struct timespec *deadline)
{
	if (timeout_ms < 0)
		return pthread_cond_wait(&queue->filled, &queue->mutex) == 0;
	return pthread_cond_timedwait(&queue->filled, &queue->mutex, deadline) == 0;
}

struct list_node *queue_take(struct queue *queue, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms > 0 ? timeout_ms : 0);
	pthread_mutex_lock(&queue->mutex);
	while (list_empty(&queue->items) && !queue->closed && timeout_ms != 0)
		if (!wait_filled(queue, timeout_ms, &deadline))
			break;
	struct list_node *node = list_take(&queue->items);
	pthread_mutex_unlock(&queue->mutex);
	return node;
}

size_t queue_take_all(struct queue *queue, struct list *to)
{
	drain_fd(queue);
	pthread_mutex_lock(&queue->mutex);
	size_t count = queue->items.count;
	list_splice(to, &queue->items);
	pthread_mutex_unlock(&queue->mutex);
	return count;
}

size_t queue_wait(struct queue *queue, size_t count, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms > 0 ? timeout_ms : 0);
	pthread_mutex_lock(&queue->mutex);
	for (;;) {
		queue->awaited = count < queue->enough ? count : queue->enough;
		if (queue->items.count >= queue->awaited || queue->closed || queue->woken ||
		    timeout_ms == 0 || !wait_filled(queue, timeout_ms, &deadline))
			break;
	}
	queue->woken = false;
	queue->awaited = 1;
	size_t held = queue->items.count;
	pthread_mutex_unlock(&queue->mutex);
	return held;
}

void queue_wake(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->woken = true;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

void queue_set_enough(struct queue *queue, size_t count)
{
	pthread_mutex_lock(&queue->mutex);
	queue->enough = count;
	if (queue->items.count >= count)
		pthread_cond_signal(&queue->filled);
	else if (queue->awaited > count)
		queue->awaited = count;
	pthread_mutex_unlock(&queue->mutex);
}

void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
	raise_fd(queue);
}

bool queue_closed(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	bool closed = queue->closed;
	pthread_mutex_unlock(&queue->mutex);
	return closed;
}

size_t queue_count(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	size_t count = queue->items.count;
	pthread_mutex_unlock(&queue->mutex);
	return count;
}
