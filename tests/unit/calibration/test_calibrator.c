/* Calibrator between a real Kafka and a real PostgreSQL: every case is counted once, whatever happens. */
#include "calibration/calibrator.h"

#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/fixtures/calibration_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <librdkafka/rdkafka_mock.h>

/* The sums of all records sent, added up by PostgreSQL from the records' numbers. */
static void check_sums(void)
{
	char counted_sums[256], expected[256], sql[512];
	snprintf(sql, sizeof sql,
		 "SELECT count(*) || ' ' || sum(1.1) || ' ' || trim_scale(sum(1.1 * (3 + n %% 7) / 10.0)) "
		 "|| ' ' || "
		 "trim_scale(sum(1.1 * (1 - n %% 2))) FROM generate_series(0, %d) AS n",
		 rig.sent - 1);
	rig_query(sql, expected, sizeof expected);
	rig_query(
		"SELECT sum(cases) || ' ' || sum(weight) || ' ' || trim_scale(sum(weight_confidence)) || ' ' "
		"|| "
		"trim_scale(sum(weight_correct)) FROM calibration_buckets WHERE width_s = 300",
		counted_sums, sizeof counted_sums);
	assert_string_equal(counted_sums, expected);
}

static struct calibrator_statistics statistics_of(struct calibrator *calibrator)
{
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	return statistics;
}

/* What the calibrator says once it has nothing to do. The database shows a commit before the calibrator has
 * counted it in its statistics: it has once it no longer waits for the database. */
static struct calibrator_statistics statistics_at_rest(struct calibrator *calibrator)
{
	struct calibrator_statistics statistics;
	int64_t deadline_us = clock_monotonic_us() + INT64_C(120000000);
	while (atomic_load(&calibrator_heartbeat(calibrator)->waiting_for) &&
	       clock_monotonic_us() < deadline_us)
		rig_sleep_ms(5);
	assert_null(atomic_load(&calibrator_heartbeat(calibrator)->waiting_for));
	calibrator_statistics(calibrator, &statistics);
	return statistics;
}

static void test_every_case_is_counted_once(void **state)
{
	(void)state;
	rig_produce(1500, true);
	rig_produce(300, false);
	rig_produce(200, true);
	struct calibrator *calibrator = rig_start_calibrator();
	rig_wait_counted(1700);
	check_sums();
	const struct calibrator_statistics statistics = statistics_at_rest(calibrator);
	assert_int_equal(statistics.cases, 1700);
	assert_int_equal(statistics.skipped, 34);
	assert_int_equal(statistics.conflicts, 0);
	calibrator_stop(calibrator);
}

static void test_restart_goes_on_where_it_was(void **state)
{
	(void)state;
	rig_produce(100, true);
	struct calibrator *calibrator = rig_start_calibrator();
	rig_wait_counted(100);
	calibrator_stop(calibrator);
	rig_produce(100, true);
	calibrator = rig_start_calibrator();
	rig_wait_counted(200);
	rig_sleep_ms(1500);
	check_sums();
	calibrator_stop(calibrator);
}

static void test_stopping_counts_what_was_read(void **state)
{
	(void)state;
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(10, true);
	rig_wait_counted(10);
	rig_produce(20, true);
	struct calibrator_statistics statistics = { 0 };
	while (statistics.records < 33) {
		calibrator_statistics(calibrator, &statistics);
		rig_sleep_ms(5);
	}
	calibrator_stop(calibrator);
	assert_int_equal(rig_counted(), 30);
}

/* The sum of the ends, as a reader of what is committed sees them: marks of transactions are part of it; -1:
 * the broker does not say at the moment. */
static int64_t ends(void)
{
	int64_t low, high, sum = 0;
	for (int partition = 0; partition < RIG_PARTITIONS; partition++) {
		if (rd_kafka_query_watermark_offsets(rig.producer, rig.topic, partition, &low, &high, 30000))
			return -1;
		sum += high;
	}
	return sum;
}

/* Until what is committed reaches the ends. These are asked each time: marks of an aborted transaction are
 * written after its producer was answered. */
static void wait_for_ends(void)
{
	char sum[64] = "", wanted[64] = "none";
	int64_t deadline_us = clock_monotonic_us() + INT64_C(120000000);
	while (strcmp(sum, wanted) != 0 && clock_monotonic_us() < deadline_us) {
		rig_sleep_ms(100);
		rig_query("SELECT sum(next_offset) FROM calibration_positions", sum, sizeof sum);
		snprintf(wanted, sizeof wanted, "%lld", (long long)ends());
	}
	assert_string_equal(sum, wanted);
}

static void test_positions_pass_what_is_no_record(void **state)
{
	(void)state;
	rig_produce(30, true);
	struct calibrator *calibrator = rig_start_calibrator();
	rig_wait_counted(30);
	wait_for_ends();
	rig_produce(300, false);
	wait_for_ends();
	const struct calibrator_statistics before = statistics_at_rest(calibrator);
	rig_sleep_ms(7000);
	struct calibrator_statistics after = statistics_at_rest(calibrator);
	for (int i = 0; i < 600 && after.behind > 0; i++) {
		rig_sleep_ms(100);
		after = statistics_at_rest(calibrator);
	}
	assert_int_equal(after.batches, before.batches); /* it does not go on for ever */
	assert_int_equal(after.behind, 0);
	calibrator_stop(calibrator);
	calibrator = rig_start_calibrator();
	rig_produce(20, true);
	rig_wait_counted(50);
	wait_for_ends();
	assert_int_equal(statistics_at_rest(calibrator).conflicts, 0);
	check_sums();
	calibrator_stop(calibrator);
}

/* Until it says what it waits for. */
static void wait_for_word(struct calibrator *calibrator, const char *word)
{
	const char *said = NULL;
	for (int i = 0; i < 6000 && (!said || strcmp(said, word) != 0); i++) {
		rig_sleep_ms(20);
		said = atomic_load(&calibrator_heartbeat(calibrator)->waiting_for);
	}
	assert_non_null(said);
	assert_string_equal(said, word);
}

static void test_database_away_and_back(void **state)
{
	(void)state;
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(200, true);
	rig_wait_counted(200);
	assert_int_equal(test_postgres_do(&rig.server, "kill"), 0);
	rig_produce(3000, true);
	wait_for_word(calibrator, "calibration database");
	assert_int_equal(test_postgres_do(&rig.server, "resume"), 0);
	rig_wait_counted(3200);
	check_sums();
	calibrator_stop(calibrator);
}

/* A database that is away at the assignment: nothing is read before the positions are. */
static void test_start_without_database(void **state)
{
	(void)state;
	rig_produce(50, true);
	assert_int_equal(test_postgres_do(&rig.server, "halt"), 0);
	struct calibrator *calibrator = rig_start_calibrator();
	rig_sleep_ms(6000);
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	assert_int_equal(statistics.records, 0);
	assert_int_equal(test_postgres_do(&rig.server, "resume"), 0);
	rig_wait_counted(50);
	check_sums();
	calibrator_stop(calibrator);
}

static void test_instances_share_the_partitions(void **state)
{
	(void)state;
	struct calibrator *first = rig_start_calibrator();
	rig_produce(500, true);
	struct calibrator *second = rig_start_calibrator();
	rig_produce(500, true);
	rig_sleep_ms(4000);
	rig_produce(500, true);
	calibrator_stop(first);
	rig_produce(500, true);
	rig_wait_counted(2000);
	check_sums();
	calibrator_stop(second);
}

/* Somebody else moves the positions while a batch is open: it is dropped, and what was not counted is read
 * again. */
/* The first records after each return are fetched at once, so that what drops fetched records has a chance
 * to. */
static void test_positions_that_moved_are_obeyed(void **state)
{
	(void)state;
	enum { ROUNDS = 5 };
	char text[64];
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(300, true);
	rig_wait_counted(300);
	for (int round = 1; round <= ROUNDS; round++) {
		rig_query("WITH fine AS (DELETE FROM calibration_buckets), rolled_up AS (DELETE FROM "
			  "calibration_rollups), moved AS (UPDATE "
			  "calibration_positions SET next_offset = 0 RETURNING 1) SELECT count(*) FROM moved",
			  text, sizeof text);
		assert_string_equal(text, "3");
		rig_produce(10, true);
		rig_wait_counted(300 + 10 * round);
	}
	check_sums();
	assert_true(statistics_at_rest(calibrator).conflicts >= ROUNDS);
	calibrator_stop(calibrator);
}

/* Half of the medium group is right: 1 − 3·|0.50 − 0.75| = 0.25, in each of the three windows. */
static void test_instances_open_one_episode(void **state)
{
	(void)state;
	char text[64] = "";
	struct calibrator *first = rig_start_calibrator(), *second = rig_start_calibrator();
	rig.first_scored_at_ms = clock_wall_ms() - 60000;
	for (int i = 0; i < 5; i++) {
		rig_produce(140, true);
		rig_sleep_ms(300);
	}
	rig_wait_counted(700);
	int64_t deadline_us = clock_monotonic_us() + INT64_C(60000000);
	while (strcmp(text, "1") != 0 && clock_monotonic_us() < deadline_us) {
		rig_sleep_ms(100);
		rig_query("SELECT count(*) FROM calibration_drift_episodes WHERE published_at IS NOT NULL",
			  text, sizeof text);
	}
	rig_sleep_ms(4000);
	rig_query(
		"SELECT count(*) || ' ' || count(published_at) || ' ' || round(min(score)::numeric, 9) FROM "
		"calibration_drift_episodes",
		text, sizeof text);
	assert_string_equal(text, "1 1 0.250000000");
	const struct calibrator_statistics first_statistics = statistics_at_rest(first);
	const struct calibrator_statistics second_statistics = statistics_at_rest(second);
	assert_int_equal(first_statistics.drift_opened + second_statistics.drift_opened, 1);
	assert_true(first_statistics.drift_published + second_statistics.drift_published >= 1);
	calibrator_stop(first);
	calibrator_stop(second);
}

/* ---- rights ---- */

enum { FETCH = 1, FIND_COORDINATOR = 10, REFUSALS = 2000 };

static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;
static char told[8192];

static void hear(enum log_level level, const char *line, void *context)
{
	(void)level;
	(void)context;
	pthread_mutex_lock(&told_mutex);
	strncat(told, line, sizeof told - strlen(told) - 1);
	pthread_mutex_unlock(&told_mutex);
}

static void wait_until_told(const char *text)
{
	bool found = false;
	for (int i = 0; i < 6000 && !found; i++) {
		rig_sleep_ms(20);
		pthread_mutex_lock(&told_mutex);
		found = strstr(told, text);
		pthread_mutex_unlock(&told_mutex);
	}
	if (!found)
		fail_msg("never told: %s; but: %s", text, told);
}

static void refuse(rd_kafka_mock_cluster_t *cluster, int16_t request, rd_kafka_resp_err_t err)
{
	rd_kafka_resp_err_t errors[REFUSALS];
	for (size_t i = 0; i < REFUSALS; i++)
		errors[i] = err;
	rd_kafka_mock_push_request_errors_array(cluster, request, REFUSALS, errors);
}

static void wait_until_behind(struct calibrator *calibrator, bool behind)
{
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	for (int i = 0; i < 6000 && (statistics.waiting_since_ms != 0) != behind; i++) {
		rig_sleep_ms(20);
		calibrator_statistics(calibrator, &statistics);
	}
	assert_int_equal(statistics.waiting_since_ms != 0, behind);
}

/* By librdkafka's broker in memory, which refuses what it is told to. */
static void test_rights_that_are_missing(void **state)
{
	char reason[256], bootstrap[sizeof rig.bootstrap];
	rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof reason);
	rd_kafka_mock_cluster_t *cluster = host ? rd_kafka_mock_cluster_new(host, 1) : NULL;
	(void)state;
	assert_non_null(cluster);
	rd_kafka_mock_topic_create(cluster, rig.topic, RIG_PARTITIONS, 1);
	memcpy(bootstrap, rig.bootstrap, sizeof bootstrap);
	snprintf(rig.bootstrap, sizeof rig.bootstrap, "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	refuse(cluster, FIND_COORDINATOR, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
	refuse(cluster, FETCH, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	log_set_sink(hear, NULL);
	struct calibrator *calibrator = rig_start_calibrator();
	wait_until_told("the calibration does not count: this client lacks READ on group");
	wait_until_behind(calibrator, true);
	rd_kafka_mock_clear_request_errors(cluster, FIND_COORDINATOR);
	wait_until_told("the calibration does not count: this client lacks READ on topic");
	wait_until_behind(calibrator, true);
	rd_kafka_mock_clear_request_errors(cluster, FETCH);
	wait_until_behind(calibrator, false);
	calibrator_stop(calibrator);
	log_set_sink(NULL, NULL);
	memcpy(rig.bootstrap, bootstrap, sizeof bootstrap);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(host);
}

/* ---- schemas ---- */

enum { GIVEN = 7, GIVEN_TOO = 8, UNKNOWN = 9 };

static _Atomic bool registry_away;

static err_t ask_registry(const struct schema_name *name, void *context, struct err_detail *detail)
{
	(void)context;
	if (registry_away)
		return err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "nobody answers");
	if (name->id == UNKNOWN)
		return err_fail(detail, ERR_SCHEMA_UNKNOWN, "there is no such schema");
	return codec_learn_named(rig.codec, name, builtin_schema(RECORD_SCORED), detail);
}

static void wait_until_held(struct calibrator *calibrator, size_t held)
{
	struct calibrator_statistics statistics = { .held = SIZE_MAX };
	for (int i = 0; i < 6000 && statistics.held != held; i++) {
		rig_sleep_ms(20);
		calibrator_statistics(calibrator, &statistics);
	}
	assert_int_equal(statistics.held, held);
}

/* One of the two, whichever it is: it fetched the partition anew. */
static void wait_until_one_holds(struct calibrator *first, struct calibrator *second)
{
	size_t held = 0;
	for (int i = 0; i < 6000 && held != 1; i++) {
		rig_sleep_ms(20);
		held = statistics_of(first).held + statistics_of(second).held;
	}
	assert_int_equal(held, 1);
}

/* Partition 0 waits for a schema: the others are counted, whatever else happens, and in the end all is, once.
 */
static void test_a_schema_that_is_away(void **state)
{
	char reached[32], after[32];
	(void)state;
	registry_away = true;
	codec_set_resolver(rig.codec, ask_registry, NULL, NULL);
	log_set_level(LOG_LEVEL_NOTICE);
	log_set_sink(hear, NULL);
	rig_produce(30, true);
	struct calibrator *first = rig_start_calibrator();
	rig_wait_counted(30);
	rig.schema_id = GIVEN;
	rig_produce(300, true);
	rig_wait_counted(230);
	wait_until_held(first, 1);
	wait_until_told("the calibration waits for a schema of the registry");
	wait_until_behind(first, true);
	wait_for_word(first, "schema registry");

	assert_int_equal(test_postgres_do(&rig.server, "kill"), 0);
	rig_produce(30, true);
	wait_for_word(first, "calibration database");
	assert_int_equal(test_postgres_do(&rig.server, "resume"), 0);
	rig_wait_counted(250);
	rig_query("SELECT next_offset FROM calibration_positions WHERE partition = 0", reached,
		  sizeof reached);

	struct calibrator *second = rig_start_calibrator(); /* one of them gets the partition, maybe again */
	rig_produce(30, true);
	rig_wait_counted(270);
	rig_sleep_ms(1500); /* what each said before is no more */
	wait_until_one_holds(first, second);
	calibrator_stop(first);
	rig_produce(30, true);
	rig_wait_counted(290);
	wait_until_held(second, 1);
	rig_query("SELECT next_offset FROM calibration_positions WHERE partition = 0", after, sizeof after);
	assert_string_equal(after, reached);

	rig_sleep_ms(4000); /* a wait that is worth telling, of the second one, too */
	registry_away = false;
	rig_wait_counted(420);
	wait_until_held(second, 0);
	wait_until_told("the calibration waits for no schema any more");
	check_sums();
	wait_for_ends();
	wait_until_behind(second, false);
	calibrator_stop(second);
	log_set_sink(NULL, NULL);
	log_set_level(LOG_LEVEL_ERROR);
}

/* It is skipped, and what waits behind it is not: even if another schema comes and goes. */
static void test_a_schema_that_nobody_has(void **state)
{
	(void)state;
	registry_away = true;
	codec_set_resolver(rig.codec, ask_registry, NULL, NULL);
	struct calibrator *calibrator = rig_start_calibrator();
	rig.schema_id = UNKNOWN;
	rig_produce(3, true);
	rig.schema_id = GIVEN_TOO;
	rig_produce(3, true);
	rig_wait_counted(4);
	wait_until_held(calibrator, 1);
	assert_int_equal(statistics_of(calibrator).skipped, 0);
	registry_away = false;
	rig_wait_counted(5);
	wait_until_held(calibrator, 0);
	wait_for_ends();
	assert_int_equal(statistics_of(calibrator).skipped, 4);
	assert_int_equal(statistics_of(calibrator).conflicts, 0);
	calibrator_stop(calibrator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_case_is_counted_once, rig_begin_test),
		cmocka_unit_test_setup(test_restart_goes_on_where_it_was, rig_begin_test),
		cmocka_unit_test_setup(test_stopping_counts_what_was_read, rig_begin_test),
		cmocka_unit_test_setup(test_positions_pass_what_is_no_record, rig_begin_test),
		cmocka_unit_test_setup(test_database_away_and_back, rig_begin_test),
		cmocka_unit_test_setup(test_start_without_database, rig_begin_test),
		cmocka_unit_test_setup(test_instances_share_the_partitions, rig_begin_test),
		cmocka_unit_test_setup(test_positions_that_moved_are_obeyed, rig_begin_test),
		cmocka_unit_test_setup(test_instances_open_one_episode, rig_begin_test),
		cmocka_unit_test_setup(test_rights_that_are_missing, rig_begin_test),
		cmocka_unit_test_setup(test_a_schema_that_is_away, rig_begin_test),
		cmocka_unit_test_setup(test_a_schema_that_nobody_has, rig_begin_test),
	};
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, rig_start, rig_stop);
}
