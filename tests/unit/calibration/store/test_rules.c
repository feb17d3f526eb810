/* Which rules cases are of, in a real PostgreSQL. */
#include "calibration/store/rules.h"

#include "calibration/count/store.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/servers/database_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOON_MS INT64_C(1767873600000)

static const str_t A = { "factors=generator source=own retrieval=formula", 46 };
static const str_t B = { "factors=technical source=own retrieval=formula", 46 };

static struct calibration_store *new_store(void)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 2,
							   .feedback_horizon_ms = INT64_C(8640000000),
							   .learns = true };
	return calibration_store_new(&options);
}

static struct calibration_case new_case(int number, str_t rules)
{
	char id[16];
	snprintf(id, sizeof id, "event %d", number);
	return (struct calibration_case){ .scored_at_ms = NOON_MS - 1000 * number,
					  .application = STR("app"),
					  .label_source = LABEL_RESULT,
					  .level = LEVEL_MEDIUM,
					  .confidence = 0.5,
					  .weight = 1,
					  .event = calibration_event_key(str_from(id)),
					  .key = calibration_event_key(str_from(id)),
					  .rules = rules,
					  .offset = number };
}

static void count_one(struct calibration_store *store, int number, str_t rules)
{
	const struct calibration_case item = new_case(number, rules);
	counting_apply(store, &item, 1, NULL, 0);
}

static void test_numbers(void **state)
{
	(void)state;
	struct rules_numbers numbers;
	char expected[64];
	assert_int_equal(rules_number(STR_NONE), 0);
	assert_string_equal(rules_numbers(&numbers, STR_NONE), "{0,0}");
	assert_true(rules_number(A) > 0 && rules_number(A) != rules_number(B));
	/* the first 63 bits of SHA-256 but its highest */
	assert_int_equal(rules_number(STR("abc")), 0x3a7816bf8f01cfea);
	snprintf(expected, sizeof expected, "{%lld,%lld}", (long long)rules_number(A),
		 (long long)rules_number(STR("factors=generator source=own")));
	assert_string_equal(rules_numbers(&numbers, A), expected);
}

#define MET                                                                                                  \
	"SELECT string_agg(rules || ' ' || extract(epoch FROM since)::bigint, ', ' ORDER BY since) FROM "    \
	"calibration_rules"

/* Each text once, with the first time that it was met, in whatever order. */
static void test_rules_are_noted(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	const struct calibration_case cases[] = { new_case(3, STR("b")), new_case(1, STR("a")),
						  new_case(2, STR("a")), new_case(9, STR_NONE) };
	counting_apply(store, cases, 4, NULL, 0);
	expect(MET, "b 1767873597, a 1767873598");
	count_one(store, 5, STR("a"));
	count_one(store, 0, STR("b"));
	expect(MET, "a 1767873595, b 1767873597");
	assert_int_equal(rules_note(counting_database(store), STR("c"), NOON_MS, NULL), ERR_OK);
	assert_int_equal(rules_note(counting_database(store), STR_NONE, NOON_MS, NULL), ERR_OK);
	expect(MET, "a 1767873595, b 1767873597, c 1767873600");
	expect("SELECT count(*) FROM calibration_rules r JOIN calibration_events e ON e.rules = r.number",
	       "5");
	expect("SELECT count(*) FROM calibration_examples WHERE rules IS NULL", "1");
}

/* Who makes up ever new ones fills no table. */
static void test_there_is_a_limit(void **state)
{
	(void)state;
	enum { MANY = RULES_MAX + 200 };
	static struct calibration_case cases[MANY];
	static char texts[MANY][16];
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	for (int i = 0; i < MANY; i++) {
		snprintf(texts[i], sizeof texts[i], "rules %d", i);
		cases[i] = new_case(i, str_from(texts[i]));
	}
	for (int i = 0; i + 50 <= MANY; i += 50)
		counting_apply(store, cases + i, 50, NULL, 0);
	expect("SELECT count(*) FROM calibration_rules", "1000");
	counting_apply(store, cases, MANY, NULL, 0);
	expect("SELECT count(*) FROM calibration_rules", "1000");
}

static long count_of(struct calibration_store *store, str_t rules)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct rules_numbers numbers;
	const char *const parameters[] = { rules_numbers(&numbers, rules) };
	assert_int_equal(
		database_query(counting_database(store),
			       "SELECT count(*) FROM calibration_examples WHERE " RULES_ARE("rules", "$1"), 1,
			       parameters, &result, NULL),
		ERR_OK);
	return strtol(PQgetvalue(result, 0, 0), NULL, 10);
}

/* What does not say belongs to the first that were met; before any were, to whoever asks. */
static void test_rows_that_do_not_say(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	for (int i = 0; i < 5; i++)
		count_one(store, i, STR_NONE);
	assert_int_equal(count_of(store, A), 5);
	assert_int_equal(count_of(store, B), 5);
	assert_int_equal(count_of(store, STR_NONE), 5);
	count_one(store, 6, A);
	count_one(store, 7, STR("factors=generator source=own"));
	count_one(store, 8, B);
	assert_int_equal(count_of(store, B), 6); /* it was met in the oldest one */
	assert_int_equal(count_of(store, A), 2);
	assert_int_equal(count_of(store, STR_NONE), 0);
	count_one(store, 9, A);
	assert_int_equal(count_of(store, B), 1);
	assert_int_equal(count_of(store, A), 8);
	assert_int_equal(count_of(store, STR("factors=generator source=own retrieval=1,2")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test_setup(test_rules_are_noted, drop_tables),
		cmocka_unit_test_setup(test_there_is_a_limit, drop_tables),
		cmocka_unit_test_setup(test_rows_that_do_not_say, drop_tables),
	};
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
