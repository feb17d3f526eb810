/* Calibration store against a real PostgreSQL: exact sums, guarded positions, nothing lost or doubled. */
#include "calibration/count/store.h"

#include "calibration/store/schema.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TOPIC "scored-queries"

/* 2026-01-01 00:00:00 UTC */
#define NEW_YEAR_MS INT64_C(1767225600000)

static struct calibration_store *new_store(int64_t max_segments)
{
	struct calibration_store_options options = { .dsn = server.socket_dsn,
						     .bucket_s = 300,
						     .max_segments = max_segments };
	return calibration_store_new(&options);
}

static struct calibration_case new_case(const char *application, double confidence, double weight,
					bool correct)
{
	return (struct calibration_case){
		.scored_at_ms = NEW_YEAR_MS,
		.application = str_from(application),
		.label_source = LABEL_RESULT,
		.level = LEVEL_HIGH,
		.confidence = confidence,
		.weight = weight,
		.correct = correct,
	};
}

static err_t apply(struct calibration_store *store, const struct calibration_case *cases, size_t count,
		   int32_t partition, int64_t from, int64_t to)
{
	struct calibration_step step = { TOPIC, false, partition, from, to };
	struct err_detail detail = { "" };
	err_t err = calibration_store_apply(
		store,
		&(const struct calibration_work){
			.cases = cases, .cases_count = count, .steps = &step, .steps_count = 1 },
		NULL, NULL, &detail);
	if (err)
		print_message("%s\n", detail.message);
	return err;
}

static void test_sums_are_exact(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	const struct calibration_case cases[] = {
		new_case("app", 0.1, 1, true),	  new_case("app", 0.7000000000000001, 1 / 0.3, false),
		new_case("app", 0.7, 1e-3, true), new_case("app", 1.0, 2.5, true),
		new_case("app", 0.0, 1, false),
	};
	assert_int_equal(apply(store, cases, 5, 0, CALIBRATION_POSITION_NONE, 5), ERR_OK);
	expect("SELECT sum(weight_confidence) FROM calibration_buckets WHERE width_s = 300",
	       /* 0.1 + 0.7000000000000001 · 3.3333333333333335 + 0.7 · 0.001 + 2.5 */
	       "4.93403333333333378333333333333335");
	expect("SELECT weight_squared_error FROM calibration_buckets WHERE width_s = 300 AND bin = 7",
	       /* 3.3333333333333335 · 0.7000000000000001² + 0.001 · 0.3² */
	       "1.633423333333333881666666666666723333333333333335");
	expect("SELECT string_agg(bin || ':' || cases, ' ' ORDER BY bin) FROM calibration_buckets WHERE "
	       "width_s = 300",
	       "0:1 1:1 7:2 9:1");
	expect("SELECT trim_scale(sum(weight_correct)) FROM calibration_rollups WHERE width_s = 3600",
	       "3.501");
	expect("SELECT sum(weight_squared) FROM calibration_rollups WHERE width_s = 3600 AND bin <> 7",
	       "8.25");
}

static void test_sums_do_not_depend_on_batches(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case cases[60];
	for (int i = 0; i < 60; i++)
		cases[i] = new_case("app", 0.9 + i / 1000.0 / 7.0, 1 / (0.1 + i / 100.0), i % 3 != 0);
	assert_int_equal(apply(store, cases, 60, 0, CALIBRATION_POSITION_NONE, 60), ERR_OK);
	for (int i = 59; i >= 0; i--)
		assert_int_equal(
			apply(store, &cases[i], 1, 1, i == 59 ? CALIBRATION_POSITION_NONE : 59 - i, 60 - i),
			ERR_OK);
	/* The second round doubles each sum exactly. */
	expect("SELECT count(*) FROM calibration_sums WHERE cases = 120", "3");
	run_sql("CREATE TABLE twice AS SELECT * FROM calibration_sums; "
		"TRUNCATE calibration_buckets, calibration_rollups");
	assert_int_equal(apply(store, cases, 60, 2, CALIBRATION_POSITION_NONE, 60), ERR_OK);
	expect("SELECT bool_and(t.weight = 2 * b.weight AND t.weight_confidence = 2 * b.weight_confidence "
	       "AND "
	       "t.weight_squared_error = 2 * b.weight_squared_error) FROM twice t JOIN calibration_sums b "
	       "USING (width_s)",
	       "t");
}

static void test_redelivery_changes_nothing(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case item = new_case("app", 0.5, 1, true);
	assert_int_equal(apply(store, &item, 1, 0, CALIBRATION_POSITION_NONE, 1), ERR_OK);
	assert_int_equal(apply(store, &item, 1, 0, CALIBRATION_POSITION_NONE, 1), ERR_CONFLICT);
	assert_int_equal(apply(store, &item, 1, 0, 0, 1), ERR_CONFLICT);
	assert_int_equal(apply(store, &item, 1, 0, 2, 3), ERR_CONFLICT);
	expect("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", "1");
	expect("SELECT next_offset FROM calibration_positions", "1");
	assert_int_equal(apply(store, &item, 1, 0, 1, 2), ERR_OK);
	expect("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", "2");
}

static void test_one_moved_position_refuses_the_whole_batch(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case item = new_case("app", 0.5, 1, true);
	const struct calibration_step steps[] = { { TOPIC, false, 0, CALIBRATION_POSITION_NONE, 4 },
						  { TOPIC, false, 1, 9, 10 } };
	assert_int_equal(calibration_store_apply(
				 store,
				 &(const struct calibration_work){
					 .cases = &item, .cases_count = 1, .steps = steps, .steps_count = 2 },
				 NULL, NULL, NULL),
			 ERR_CONFLICT);
	expect("SELECT count(*) FROM calibration_positions", "0");
	expect("SELECT count(*) FROM calibration_sums", "0");
}

static void test_positions_are_read_back(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	const struct calibration_step steps[] = { { TOPIC, false, 0, CALIBRATION_POSITION_NONE, 4 },
						  { TOPIC, false, 7, CALIBRATION_POSITION_NONE,
						    1234567890123 } };
	const int32_t partitions[] = { 7, 3, 0 };
	int64_t positions[3];
	assert_int_equal(calibration_store_apply(
				 store, &(const struct calibration_work){ .steps = steps, .steps_count = 2 },
				 NULL, NULL, NULL),
			 ERR_OK);
	assert_int_equal(calibration_store_positions(store, TOPIC, partitions, 3, positions, NULL), ERR_OK);
	assert_true(positions[0] == 1234567890123);
	assert_true(positions[1] == CALIBRATION_POSITION_NONE);
	assert_true(positions[2] == 4);
	assert_int_equal(calibration_store_positions(store, "another", partitions, 1, positions, NULL),
			 ERR_OK);
	assert_true(positions[0] == CALIBRATION_POSITION_NONE);
}

static void test_segments_beyond_the_limit_are_other(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(2);
	struct calibration_case cases[4] = { new_case("a", 0.5, 1, true), new_case("b", 0.5, 1, true),
					     new_case("c", 0.5, 1, true), new_case("a", 0.5, 1, false) };
	cases[3].model = STR("m");
	assert_int_equal(apply(store, cases, 4, 0, CALIBRATION_POSITION_NONE, 4), ERR_OK);
	assert_int_equal(apply(store, cases, 4, 0, 4, 8), ERR_OK);
	expect("SELECT string_agg(application || '/' || model || '/' || cases, ' ' ORDER BY 1) FROM "
	       "(SELECT application, model, sum(cases) AS cases FROM calibration_buckets WHERE width_s = 300 "
	       "GROUP BY 1, 2 ORDER BY 1, 2) AS s",
	       "a//2 a/m/2 other//4");
}

static void test_hostile_names_are_data(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case item =
		new_case("\",NULL}'); DROP TABLE calibration_buckets; --\\", 0.5, 1, true);
	assert_int_equal(apply(store, &item, 1, 0, CALIBRATION_POSITION_NONE, 1), ERR_OK);
	expect("SELECT DISTINCT application FROM calibration_sums",
	       "\",NULL}'); DROP TABLE calibration_buckets; --\\");
	char name[3000];
	memset(name, 'x', sizeof name);
	item.application = (str_t){ name, sizeof name };
	assert_int_equal(apply(store, &item, 1, 0, 1, 2), ERR_OK);
	expect("SELECT max(length(application)) FROM calibration_buckets", "256");
}

static void test_cases_that_cannot_be_counted(void **state)
{
	(void)state;
	struct calibration_case item = new_case("app", 0.5, 1, true);
	assert_true(calibration_case_valid(&item));
	item.confidence = 0.0 / 0.0;
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 1.0000001, 1, true);
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 0.5, 0, true);
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 0.5, 1e300 * 1e300, true);
	assert_false(calibration_case_valid(&item));
	item = new_case("\xff", 0.5, 1, true);
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 0.5, 1, true);
	item.model = (str_t){ "a\0b", 3 };
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 0.5, 1, true);
	item.scored_at_ms = -1;
	assert_false(calibration_case_valid(&item));
	item = new_case("app", 0.5, 1, true);
	item.level = ENUM_ABSENT;
	assert_false(calibration_case_valid(&item));
}

static void test_server_restart_is_survived(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case item = new_case("app", 0.5, 1, true);
	assert_int_equal(apply(store, &item, 1, 0, CALIBRATION_POSITION_NONE, 1), ERR_OK);
	assert_int_equal(test_postgres_do(&server, "kill"), 0);
	assert_int_equal(apply(store, &item, 1, 0, 1, 2), ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(apply(store, &item, 1, 0, 1, 2), ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(test_postgres_do(&server, "resume"), 0);
	assert_int_equal(apply(store, &item, 1, 0, 1, 2), ERR_OK);
	expect("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", "2");
}

static void test_newer_tables_are_refused(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(10);
	struct calibration_case item = new_case("app", 0.5, 1, true);
	assert_int_equal(apply(store, &item, 1, 0, CALIBRATION_POSITION_NONE, 1), ERR_OK);
	run_sql("INSERT INTO calibration_migrations (version) VALUES (999)");
	_cleanup_(calibration_store_cleanup) struct calibration_store *older = new_store(10);
	assert_int_equal(apply(older, &item, 1, 0, 1, 2), ERR_DATABASE_REFUSED);
}

#define WRITERS 4
#define BATCHES 25

struct writer {
	int32_t partition;
	int failures;
};

/* Segments and buckets of all writers are the same; only the partitions differ. */
static void *write_batches(void *context)
{
	struct writer *writer = context;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store(5);
	struct calibration_case cases[8];
	for (int batch = 0; batch < BATCHES; batch++) {
		static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
		for (int i = 0; i < 8; i++)
			cases[i] = new_case(names[(i * 5 + batch + writer->partition) % 8], 0.05 + 0.1 * i,
					    1.5, i % 2 == 0);
		struct calibration_step step = { TOPIC, false, writer->partition,
						 batch ? batch * 8 : CALIBRATION_POSITION_NONE,
						 batch * 8 + 8 };
		writer->failures +=
			calibration_store_apply(
				store,
				&(const struct calibration_work){
					.cases = cases, .cases_count = 8, .steps = &step, .steps_count = 1 },
				NULL, NULL, NULL) != ERR_OK;
	}
	return NULL;
}

static void test_writers_side_by_side(void **state)
{
	(void)state;
	pthread_t threads[WRITERS];
	struct writer writers[WRITERS];
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, write_batches, &writers[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(writers[i].failures, 0);
	}
	expect("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", "800");
	expect("SELECT sum(weight) FROM calibration_rollups WHERE width_s = 3600", "1200.0");
	expect("SELECT count(*) FROM calibration_segments", "5");
	expect("SELECT sum(next_offset) FROM calibration_positions", "800");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sums_are_exact, drop_tables),
		cmocka_unit_test_setup(test_sums_do_not_depend_on_batches, drop_tables),
		cmocka_unit_test_setup(test_redelivery_changes_nothing, drop_tables),
		cmocka_unit_test_setup(test_one_moved_position_refuses_the_whole_batch, drop_tables),
		cmocka_unit_test_setup(test_positions_are_read_back, drop_tables),
		cmocka_unit_test_setup(test_segments_beyond_the_limit_are_other, drop_tables),
		cmocka_unit_test_setup(test_hostile_names_are_data, drop_tables),
		cmocka_unit_test(test_cases_that_cannot_be_counted),
		cmocka_unit_test_setup(test_server_restart_is_survived, drop_tables),
		cmocka_unit_test_setup(test_newer_tables_are_refused, drop_tables),
		cmocka_unit_test_setup(test_writers_side_by_side, drop_tables),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
