#include "event/query_times.h"

#include <math.h>
#include <setjmp.h>

#include <cmocka.h>

#define FACTOR	 5
#define FLOOR_MS 250

static struct query_usual usual;

static bool note(struct query_times *times, const char *form, double time_ms)
{
	return query_times_note(times, STR("shop"), str_from(form), time_ms, FACTOR, FLOOR_MS, &usual);
}

static void habit_of(struct query_times *times, const char *form, double time_ms, int runs)
{
	for (int i = 0; i < runs; i++)
		assert_false(note(times, form, time_ms));
}

static void a_habit_takes_runs(void **state)
{
	struct query_times *times = query_times_new();
	(void)state;
	habit_of(times, "q", 100, QUERY_TIMES_RUNS_MIN - 1);
	assert_false(note(times, "q", 10000));
	habit_of(times, "r", 100, QUERY_TIMES_RUNS_MIN);
	assert_true(note(times, "r", 10000));
	assert_int_equal(usual.runs, QUERY_TIMES_RUNS_MIN);
	assert_true(fabs(usual.time_ms - 100) < 1e-9);
	query_times_free(times);
}

static void bounds(void **state)
{
	struct query_times *times = query_times_new();
	(void)state;
	habit_of(times, "q", 100, 50);
	assert_false(note(times, "q", 500)); /* not more than five times as long */
	habit_of(times, "r", 100, 50);
	assert_true(note(times, "r", 501));
	habit_of(times, "s", 1, 50);
	assert_false(note(times, "s", 250)); /* not above the floor */
	habit_of(times, "t", 1, 50);
	assert_true(note(times, "t", 251));
	habit_of(times, "u", 0, 50); /* less than the clock can tell */
	assert_true(note(times, "u", 251));
	query_times_free(times);
}

/* A query whose times scatter by a factor of ten has no habit that 600 ms would break. */
static void what_scatters_takes_more(void **state)
{
	struct query_times *times = query_times_new();
	(void)state;
	for (int i = 0; i < 100; i++)
		assert_false(note(times, "q", i % 2 ? 20 : 200));
	assert_false(note(times, "q", 600));
	assert_true(note(times, "q", 20000));
	query_times_free(times);
}

/* What lasts becomes usual; the first runs of it are told. */
static void what_lasts_becomes_usual(void **state)
{
	struct query_times *times = query_times_new();
	int told = 0;
	(void)state;
	habit_of(times, "q", 100, 1000);
	for (int i = 0; i < 200; i++)
		told += note(times, "q", 1000);
	assert_in_range(told, 1, 40);
	habit_of(times, "q", 1000, 300);
	assert_true(note(times, "q", 10000));
	assert_true(usual.time_ms > 900 && usual.time_ms < 1100);
	query_times_free(times);
}

static void targets_and_forms_are_apart(void **state)
{
	struct query_times *times = query_times_new();
	(void)state;
	habit_of(times, "q", 100, 50);
	assert_false(note(times, "r", 10000));
	assert_false(query_times_note(times, STR("depot"), STR("q"), 10000, FACTOR, FLOOR_MS, &usual));
	assert_true(note(times, "q", 10000));
	query_times_free(times);
}

/* However many queries there are, one that keeps coming is known: but for one run of the test in 30,000, in
 * which four others of its set come between two of its own. */
static void what_comes_often_is_kept(void **state)
{
	struct query_times *times = query_times_new();
	char form[32];
	(void)state;
	for (int i = 0; i < 200000; i++) {
		snprintf(form, sizeof form, "form %d", i);
		assert_false(note(times, form, 1000));
		if (i % 100 == 0)
			assert_false(note(times, "often", 100));
	}
	assert_true(note(times, "often", 10000));
	assert_int_equal(usual.runs, 2000);
	query_times_free(times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_habit_takes_runs),	       cmocka_unit_test(bounds),
		cmocka_unit_test(what_scatters_takes_more),    cmocka_unit_test(what_lasts_becomes_usual),
		cmocka_unit_test(targets_and_forms_are_apart), cmocka_unit_test(what_comes_often_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
