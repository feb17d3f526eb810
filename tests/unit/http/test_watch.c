/* What one look after another notes of reloads and readiness. */
#include "http/watch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct watch watch;
static struct changes changes;
static struct reloads reloads;

static void look(void)
{
	const struct metrics_parts parts = { .reloads = &reloads };
	watch_parts(&watch, 1000, &parts, &changes);
}

static const char *newest(void)
{
	static struct change found[CHANGES_KEPT];
	return changes_read(&changes, found) ? found[0].text : "";
}

/* One that comes before the first look is told as well. */
static void test_reloads(void **state)
{
	(void)state;
	atomic_fetch_add(&reloads.accepted, 1);
	look();
	assert_string_equal(newest(), "the configuration was loaded again");
	look();
	assert_int_equal(changes.count, 1);
	atomic_fetch_add(&reloads.refused, 2);
	look();
	assert_string_equal(newest(), "a configuration was refused (several times)");
	assert_int_equal(changes.count, 2);
}

static void test_readiness(void **state)
{
	(void)state;
	changes.count = 0;
	watch_readiness(&watch, 2000, false, false, "waiting for a broker\nand more", &changes);
	assert_int_equal(changes.count, 0); /* the first look */
	watch_readiness(&watch, 3000, true, false, "", &changes);
	assert_string_equal(newest(), "ready");
	watch_readiness(&watch, 4000, true, false, "", &changes);
	assert_int_equal(watch.since_ms, 3000);
	watch_readiness(&watch, 5000, false, false, "waiting for a broker\nand more", &changes);
	assert_string_equal(newest(), "not ready: waiting for a broker");
	watch_readiness(&watch, 6000, false, true, "the source thread is stuck", &changes);
	assert_string_equal(newest(), "stuck: the source thread is stuck");
	assert_int_equal(changes.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reloads),
		cmocka_unit_test(test_readiness),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
