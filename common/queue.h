/*
 * Thread-safe intrusive FIFO. Pushing never blocks and never allocates: what may be in a queue is bounded by
 * the credits that its items hold. Any number of threads may push and take.
 */
#pragma once

#include "common/list.h"

#include <pthread.h>
#include <stdint.h>

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct list items;
	bool closed;
	bool woken;	/* queue_wait ends at once */
	int wakeup_fd;	/* eventfd made readable by a push, or -1 */
	size_t awaited; /* a push to fewer items wakes nobody */
	size_t enough;	/* for queue_wait */
};

/* An empty queue. `with_fd`: also an eventfd that a push makes readable, for threads that poll. */
void queue_init(struct queue *queue, bool with_fd);
void queue_destroy(struct queue *queue);

/* Appends the item, which then belongs to whoever takes it; wakes one that waits. Never fails. */
void queue_push(struct queue *queue, struct list_node *node);

/* Takes the oldest item; waits up to `timeout_ms` (0: not at all, −1: until one comes or the queue is
 * closed). NULL: none came, or the queue is closed and empty. */
struct list_node *queue_take(struct queue *queue, int64_t timeout_ms);

/* Moves everything into `to` (behind what it holds) without waiting; returns how many. Drains the eventfd. */
size_t queue_take_all(struct queue *queue, struct list *to);

/* Waits up to `timeout_ms` until the queue holds at least `count` items, or what is enough, or is closed;
 * returns how many. For a queue with one thread that waits or takes. */
size_t queue_wait(struct queue *queue, size_t count, int64_t timeout_ms);

/* Ends queue_wait, or the next one where nobody waits: there is something else to look after. */
void queue_wake(struct queue *queue);

/* From now on queue_wait waits for no more than `count` items, above 0, whatever it was called for; SIZE_MAX:
 * for as many as it was called for. */
void queue_set_enough(struct queue *queue, size_t count);

/* Wakes all that wait; what is inside can still be taken. */
void queue_close(struct queue *queue);
bool queue_closed(struct queue *queue);

/* Items inside at this moment. */
size_t queue_count(struct queue *queue);
