/* Claims in a real PostgreSQL: the latest of each segment, whatever order they come in. */
#include "calibration/store/claims.h"

#include "calibration/count/store.h"
#include "calibration/store/retention.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 2026-01-08 12:00:00 UTC */
#define NOON_MS INT64_C(1767873600000)
#define DAY_MS	INT64_C(86400000)

static struct calibration_store *new_store(bool learns)
{
	const struct calibration_store_options options = {
		.dsn = server.socket_dsn, .bucket_s = 300, .max_segments = 2, .learns = learns
	};
	return calibration_store_new(&options);
}

static struct calibration_case new_case(const char *application, int64_t number)
{
	return (struct calibration_case){ .scored_at_ms = NOON_MS + 1000 * (number / 2),
					  .application = str_from(application),
					  .label_source = LABEL_RESULT,
					  .level = LEVEL_MEDIUM,
					  .confidence = 0.5,
					  .weight = 1,
					  .correct = number % 3 == 0,
					  .probability = opt_double((double)(number % 101) / 101),
					  .partition = (int32_t)(number % 2),
					  .offset = number / 2 };
}

static void apply(struct calibration_store *store, const struct calibration_case *cases, size_t count)
{
	static int32_t partition;
	const struct calibration_step step = { "t", true, partition++, CALIBRATION_POSITION_NONE, 1 };
	const struct calibration_work work = {
		.cases = cases, .cases_count = count, .steps = &step, .steps_count = 1
	};
	struct err_detail detail = { "" };
	if (calibration_store_apply(store, &work, NULL, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
}

#define KEPT                                                                                                 \
	"SELECT concat_ws(' ', count(*), min(2 * record_offset + partition), "                               \
	"max(2 * record_offset + partition)) FROM calibration_claims WHERE application = "

static void test_the_latest_stay(void **state)
{
	enum { ALL = 2500, STEP = 50 };
	static struct calibration_case cases[ALL];
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(true);
	(void)state;
	for (int i = 0; i < ALL; i++) /* 7 · 50 and 2500 / 50 have no common divisor but 50 */
		cases[i] = new_case("a", (i / STEP * 7 * STEP + i % STEP) % ALL);
	for (int i = 0; i < ALL; i += STEP)
		apply(store, &cases[i], STEP);
	expect(KEPT "'a'", "1000 1500 2499");
	/* what comes twice, and what is too old when it comes, changes nothing */
	apply(store, cases, STEP);
	expect(KEPT "'a'", "1000 1500 2499");
	expect("SELECT concat_ws(' ', probability = 1600 % 101 / 101.0::float8, correct, model = '', "
	       "scored_at = timestamptz '2026-01-08 12:13:20Z') FROM calibration_claims "
	       "WHERE record_offset = 800 AND partition = 0",
	       "t f t t");
}

static void test_what_is_a_claim(void **state)
{
	struct calibration_case cases[5];
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(true), *other;
	(void)state;
	for (int i = 0; i < 5; i++)
		cases[i] = new_case("a", i);
	cases[0].label_source = LABEL_RELEVANCE;
	cases[1].label_source = LABEL_CORRECTNESS;
	cases[2].probability.set = false;
	cases[3].untested = true;
	apply(store, cases, 5);
	expect(KEPT "'a'", "1 4 4");
	other = new_store(false); /* which learns nothing */
	struct calibration_case later = new_case("a", 6);
	apply(other, &later, 1);
	expect(KEPT "'a'", "1 4 4");
	calibration_store_free(TAKE_PTR(other));
	/* beyond the limit of segments */
	for (int i = 0; i < 5; i++)
		cases[i] = new_case((const char *[]){ "b", "c", "d", "c", "a" }[i], 10 + i);
	apply(store, cases, 5);
	expect("SELECT string_agg(concat_ws(' ', application, model, count), ', ' ORDER BY application) FROM "
	       "(SELECT application, model, count(*) FROM calibration_claims GROUP BY 1, 2) AS c",
	       "a  2, b  1, other  3");
}

static void test_the_old_are_deleted(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(true);
	struct calibration_case cases[] = { new_case("a", 1), new_case("a", 2) };
	struct database *database;
	bool more;
	(void)state;
	cases[1].scored_at_ms += DAY_MS;
	apply(store, cases, 2);
	assert_int_equal(calibration_store_database(store, &database, NULL), ERR_OK);
	assert_int_equal(retention_apply(database, 7, NOON_MS + 8 * DAY_MS, &more, NULL), ERR_OK);
	expect(KEPT "'a'", "1 2 2");
}

static void test_reading(void **state)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	size_t count;
	(void)state;
	claims_parse("", arena, &count);
	assert_int_equal(count, 0);
	const struct claim *claims = claims_parse("1767873600001 2 77 1 0.125,5 0 0 0 1", arena, &count);
	assert_int_equal(count, 2);
	assert_int_equal(claims[0].place.scored_at_ms, NOON_MS + 1);
	assert_int_equal(claims[0].place.partition, 2);
	assert_int_equal(claims[0].place.offset, 77);
	assert_true(claims[0].correct && claims[0].probability == 0.125);
	assert_int_equal(claims[1].place.scored_at_ms, 5);
	assert_true(!claims[1].correct && claims[1].probability == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_latest_stay, drop_tables),
		cmocka_unit_test_setup(test_what_is_a_claim, drop_tables),
		cmocka_unit_test_setup(test_the_old_are_deleted, drop_tables),
		cmocka_unit_test(test_reading),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
