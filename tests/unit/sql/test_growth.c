/*
 * What the gate lets through is analysed in bounded time: every shape that a text can repeat, as large as the
 * gate (or the parser of another dialect) allows, with and without a catalog, on a stack of the size that
 * workers have. How the time grows: tests/bench/sql_scaling.
 */
#include "common/pool.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/lex/gate.h"
#include "tests/harness/mutators/sql_shapes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

enum { MAX_MS = 5000 };

enum { LARGEST_COUNT = 1 << 16, MAX_RESULT_BYTES = 32 << 20 };

static struct catalog *catalog;

/* Of this thread: the machine may be busy. */
static int64_t cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static bool passes(const struct sql_shape *shape, unsigned count, struct buf *text)
{
	sql_shape_write(shape, count, text);
	return gate_check(buf_str(text)).verdict == GATE_PASSED;
}

static unsigned largest_count(const struct sql_shape *shape, struct buf *text)
{
	unsigned good = 1, bad = LARGEST_COUNT;
	while (bad - good > 1) {
		unsigned middle = good + (bad - good) / 2;
		if (passes(shape, middle, text))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

/* Returns whether it was within all bounds. */
static bool analyse(const struct sql_shape *shape, str_t sql, enum sql_dialect dialect,
		    const struct catalog *with)
{
	struct sql_request request = {
		.sql = sql, .dialect = dialect, .target_named = with != NULL, .catalog = with
	};
	bool within = true;
	struct arena *arena = arena_new();
	struct sql_analysis analysis = { 0 };
	int64_t start_ms = cpu_ms();
	sql_analyse(&request, arena, &analysis);
	int64_t took_ms = cpu_ms() - start_ms;
	if (took_ms > MAX_MS || arena_size_bytes(arena) > MAX_RESULT_BYTES)
		fail_msg("%s: %ld ms, a result of %zu bytes", shape->name, (long)took_ms,
			 arena_size_bytes(arena));
	/* What is kept has to be readable when the parse tree has gone. */
	size_t bytes = 0;
	for (size_t i = 0; i < SQL_CLAUSE_COUNT_; i++)
		for (size_t j = 0; j < analysis.clauses[i].count; j++)
			bytes += strlen(analysis.clauses[i].items[j].ptr);
	assert_true(bytes <= arena_size_bytes(arena));
	for (size_t i = 0; i < analysis.violations_count; i++)
		within = within && strcmp(analysis.violations[i].code, "too_long") != 0 &&
			 strcmp(analysis.violations[i].code, "too_deep") != 0;
	arena_free(arena);
	return within;
}

static void test_shapes(void **state)
{
	struct buf text = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < sql_shapes_count; i++) {
		unsigned count = largest_count(&sql_shapes[i], &text);
		sql_shape_write(&sql_shapes[i], count ? count : 1, &text);
		(void)analyse(&sql_shapes[i], buf_str(&text), SQL_POSTGRESQL, catalog);
		(void)analyse(&sql_shapes[i], buf_str(&text), SQL_POSTGRESQL, NULL);
	}
	buf_free(&text);
}

/* Until a bound is met. */
static void grow_shape(const struct sql_shape *shape, enum sql_dialect dialect, const struct catalog *with)
{
	struct buf text = BUF_INIT;
	bool within = true;
	for (unsigned count = 64; within && count <= LARGEST_COUNT; count += count / 2) {
		sql_shape_write(shape, count, &text);
		within = analyse(shape, buf_str(&text), dialect, with);
	}
	buf_free(&text);
}

static void test_shapes_of_other_dialects(void **state)
{
	static const enum sql_dialect dialects[] = { SQL_MYSQL, SQL_SQLITE };
	(void)state;
	for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
		struct catalog *common = sql_common_shapes_catalog(dialects[i]);
		for (size_t j = 0; j < sql_common_shapes_count; j++)
			grow_shape(&sql_common_shapes[j], dialects[i], common);
		catalog_unref(common);
	}
}

/* The tests run in a thread with that stack: a failure of cmocka stays in its thread. */
static void *run(void *context)
{
	int *failed = context;
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes),
					    cmocka_unit_test(test_shapes_of_other_dialects) };
	*failed = cmocka_run_group_tests(tests, NULL, NULL);
	return NULL;
}

int main(void)
{
	int failed = 1;
	pthread_attr_t attributes;
	pthread_t thread;
	catalog = sql_shapes_catalog();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, POOL_STACK_BYTES);
	if (pthread_create(&thread, &attributes, run, &failed) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	catalog_unref(catalog);
	return failed;
}
