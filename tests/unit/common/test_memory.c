/* Memory that an event has used is there for the next one: in the main thread and in others. */
#include "common/memory.h"

#include "common/arena.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <pthread.h>
#include <sys/resource.h>

#define EVENT_BYTES ((size_t)8 << 20)
#define PAGE_BYTES  4096

/* Faults of this thread. */
static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt;
}

/* As large as it gets: the arena's chunks, and a block or two of the parser. */
static void use_memory(void)
{
	struct arena *arena = arena_new();
	while (arena_size_bytes(arena) < EVENT_BYTES / 2)
		(void)arena_alloc(arena, 1000);
	char *block = malloc(EVENT_BYTES / 2);
	assert_non_null(block);
	for (size_t i = 0; i < EVENT_BYTES / 2; i += PAGE_BYTES)
		*(volatile char *)(block + i) = 1;
	free(block);
	arena_free(arena);
}

static void *use_again(void *context)
{
	long *again = context;
	use_memory();
	long before = faults();
	use_memory();
	*again = faults() - before;
	return NULL;
}

static void test_kept(void **state)
{
	(void)state;
	long here = 0, there = 0;
	pthread_t thread;
	memory_keep_freed();
	use_again(&here);
	assert_int_equal(pthread_create(&thread, NULL, use_again, &there), 0);
	pthread_join(thread, NULL);
	assert_true(here < (long)(EVENT_BYTES / PAGE_BYTES / 8));
	assert_true(there < (long)(EVENT_BYTES / PAGE_BYTES / 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
