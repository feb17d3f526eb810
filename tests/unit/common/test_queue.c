#include "common/queue.h"

#include "common/clock.h"
#include "common/pool.h"

#include <poll.h>
#include <setjmp.h>
#include <stdatomic.h>

#include <cmocka.h>

struct item {
	struct list_node node;
	struct queue *queue;
	unsigned pusher, number;
};

static struct item *item_of(struct list_node *node)
{
	return node ? container_of(node, struct item, node) : NULL;
}

static void first_in_first_out(void **state)
{
	(void)state;
	struct item items[3] = { { .number = 0 }, { .number = 1 }, { .number = 2 } };
	struct queue queue;
	queue_init(&queue, false);
	for (unsigned i = 0; i < 3; i++)
		queue_push(&queue, &items[i].node);
	assert_int_equal(queue_count(&queue), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(item_of(queue_take(&queue, 0))->number, i);
	assert_null(queue_take(&queue, 0));
	queue_destroy(&queue);
}

static void waits_as_long_as_told(void **state)
{
	(void)state;
	struct queue queue;
	queue_init(&queue, false);
	int64_t started_us = clock_monotonic_us();
	assert_null(queue_take(&queue, 30));
	assert_true(clock_monotonic_us() - started_us >= 30000);
	started_us = clock_monotonic_us();
	assert_int_equal(queue_wait(&queue, 1, 30), 0);
	assert_true(clock_monotonic_us() - started_us >= 30000);
	queue_destroy(&queue);
}

static void *set_enough(void *queue)
{
	queue_set_enough(queue, 2);
	return NULL;
}

static void *push_three(void *context)
{
	struct item *items = context;
	for (unsigned i = 0; i < 3; i++)
		queue_push(items[i].queue, &items[i].node);
	return NULL;
}

/* For ever, but for what is enough: whether that is said before or after what is there has come. */
static void waits_for_enough(void **state)
{
	(void)state;
	static void *(*const steps[][2])(void *) = { { push_three, set_enough }, { set_enough, push_three } };
	for (int order = 0; order < 2; order++) {
		struct queue queue;
		struct item items[3] = { { .queue = &queue }, { .queue = &queue }, { .queue = &queue } };
		pthread_t threads[2];
		queue_init(&queue, false);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, steps[order][i],
							steps[order][i] == push_three ? (void *)items
										      : (void *)&queue),
					 0);
		assert_true(queue_wait(&queue, 1000, -1) >= 2);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		queue_set_enough(&queue, SIZE_MAX);
		assert_int_equal(queue_wait(&queue, 4, 5), 3);
		assert_int_equal(queue_wait(&queue, 3, -1), 3);
		queue_destroy(&queue);
	}
}

static void *wake(void *queue)
{
	queue_wake(queue);
	return NULL;
}

/* For ever, but for being woken: whether that comes before or after it begins to wait. Once. */
static void is_woken(void **state)
{
	(void)state;
	struct item item;
	struct queue queue;
	pthread_t thread;
	queue_init(&queue, false);
	assert_int_equal(pthread_create(&thread, NULL, wake, &queue), 0);
	assert_int_equal(queue_wait(&queue, 1, -1), 0);
	pthread_join(thread, NULL);
	queue_push(&queue, &item.node);
	queue_wake(&queue);
	assert_int_equal(queue_wait(&queue, 2, -1), 1);
	int64_t started_us = clock_monotonic_us();
	assert_int_equal(queue_wait(&queue, 2, 30), 1);
	assert_true(clock_monotonic_us() - started_us >= 30000);
	queue_destroy(&queue);
}

static void everything_at_once(void **state)
{
	(void)state;
	struct item items[4] = { { .number = 9 }, { .number = 0 }, { .number = 1 }, { .number = 2 } };
	struct queue queue;
	struct list taken = LIST_INIT(taken);
	queue_init(&queue, false);
	list_append(&taken, &items[0].node);
	assert_int_equal(queue_take_all(&queue, &taken), 0);
	for (unsigned i = 1; i < 4; i++)
		queue_push(&queue, &items[i].node);
	assert_int_equal(queue_take_all(&queue, &taken), 3);
	assert_int_equal(queue_count(&queue), 0);
	static const unsigned expected[] = { 9, 0, 1, 2 };
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(item_of(list_take(&taken))->number, expected[i]);
	queue_destroy(&queue);
}

static bool readable(const struct queue *queue)
{
	struct pollfd fd = { .fd = queue->wakeup_fd, .events = POLLIN };
	return poll(&fd, 1, 0) == 1;
}

static void the_descriptor_follows(void **state)
{
	(void)state;
	struct item items[2] = { { .number = 0 }, { .number = 1 } };
	struct queue queue;
	struct list taken = LIST_INIT(taken);
	queue_init(&queue, true);
	assert_false(readable(&queue));
	queue_push(&queue, &items[0].node);
	queue_push(&queue, &items[1].node);
	assert_true(readable(&queue));
	assert_int_equal(queue_take_all(&queue, &taken), 2);
	assert_false(readable(&queue));
	queue_close(&queue);
	assert_true(readable(&queue));
	queue_destroy(&queue);
}

static void closed(void **state)
{
	(void)state;
	struct item item = { .number = 5 };
	struct queue queue;
	queue_init(&queue, false);
	queue_push(&queue, &item.node);
	assert_false(queue_closed(&queue));
	queue_close(&queue);
	assert_true(queue_closed(&queue));
	assert_int_equal(item_of(queue_take(&queue, -1))->number, 5);
	assert_null(queue_take(&queue, -1)); /* closed and empty: no wait */
	assert_int_equal(queue_wait(&queue, 10, -1), 0);
	queue_destroy(&queue);
}

enum { PUSHERS = 4, TAKERS = 3, EACH = 20000 };

struct traffic {
	struct queue queue;
	struct item items[PUSHERS][EACH];
	_Atomic unsigned pushing;
	_Atomic unsigned taken;
	_Atomic uint64_t sum;
	_Atomic unsigned disorders;
};

static void push_many(struct traffic *traffic, unsigned pusher)
{
	for (unsigned i = 0; i < EACH; i++) {
		traffic->items[pusher][i] = (struct item){ .pusher = pusher, .number = i };
		queue_push(&traffic->queue, &traffic->items[pusher][i].node);
	}
	if (atomic_fetch_sub(&traffic->pushing, 1) == 1)
		queue_close(&traffic->queue);
}

/* What one taker sees of one pusher is in the pusher's order. */
static void take_many(struct traffic *traffic)
{
	int64_t last[PUSHERS] = { -1, -1, -1, -1 };
	struct item *item;
	while ((item = item_of(queue_take(&traffic->queue, -1)))) {
		if (item->number <= last[item->pusher])
			atomic_fetch_add(&traffic->disorders, 1);
		last[item->pusher] = item->number;
		atomic_fetch_add(&traffic->taken, 1);
		atomic_fetch_add(&traffic->sum, item->number);
	}
}

static void work(void *context, unsigned index)
{
	if (index < PUSHERS)
		push_many(context, index);
	else
		take_many(context);
}

static void nothing_is_lost_between_threads(void **state)
{
	(void)state;
	struct traffic *traffic = calloc(1, sizeof *traffic);
	assert_non_null(traffic);
	queue_init(&traffic->queue, false);
	atomic_store(&traffic->pushing, PUSHERS);
	pool_join(pool_start("queue", PUSHERS + TAKERS, work, traffic));
	assert_int_equal(atomic_load(&traffic->taken), PUSHERS * EACH);
	assert_int_equal(atomic_load(&traffic->sum), (uint64_t)PUSHERS * EACH * (EACH - 1) / 2);
	assert_int_equal(atomic_load(&traffic->disorders), 0);
	queue_destroy(&traffic->queue);
	free(traffic);
}

static void wait_for_one(void *context, unsigned index)
{
	struct traffic *traffic = context;
	if (index == 0)
		queue_close(&traffic->queue);
	else if (!queue_take(&traffic->queue, -1))
		atomic_fetch_add(&traffic->taken, 1);
}

static void closing_wakes_everybody(void **state)
{
	(void)state;
	struct traffic *traffic = calloc(1, sizeof *traffic);
	assert_non_null(traffic);
	queue_init(&traffic->queue, false);
	pool_join(pool_start("queue", 1 + TAKERS, wait_for_one, traffic));
	assert_int_equal(atomic_load(&traffic->taken), TAKERS);
	queue_destroy(&traffic->queue);
	free(traffic);
}

/* Whoever takes the last item may destroy the queue at once: the push must be through with it by then. */
static void push_one(void *context, unsigned index)
{
	static struct item items[2];
	struct queue *queue = context;
	(void)index;
	queue_push(queue, &items[0].node);
}

static void the_taker_may_destroy_it(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct queue *queue = malloc(sizeof *queue);
		assert_non_null(queue);
		queue_init(queue, true);
		struct pool *pool = pool_start("queue", 1, push_one, queue);
		assert_non_null(queue_take(queue, -1));
		queue_destroy(queue);
		free(queue);
		pool_join(pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_first_out),
		cmocka_unit_test(waits_as_long_as_told),
		cmocka_unit_test(waits_for_enough),
		cmocka_unit_test(is_woken),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(the_descriptor_follows),
		cmocka_unit_test(closed),
		cmocka_unit_test(nothing_is_lost_between_threads),
		cmocka_unit_test(closing_wakes_everybody),
		cmocka_unit_test(the_taker_may_destroy_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
