/* Calibrator between a real Kafka and a real PostgreSQL: every case is counted once, whatever happens. */
#include "calibration/calibrator.h"

#include "common/clock.h"
#include "common/log.h"
#include "harness/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define PARTITIONS 3

/* 2026-01-01 00:00:00 UTC: outside of all windows that are judged */
#define LONG_AGO_MS INT64_C(1767225600000)

/* librdkafka starts its threads by C11's thrd_create, which the thread sanitizer does not know of: it crashes
 * in them. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER true
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER false
#endif

static struct test_postgres server;
static char kafka_dir[128], bootstrap[64];
static struct codec *codec;
static rd_kafka_t *producer;
static char topic[64], advisory_topic[64];
static int sent;
static int64_t first_scored_at_ms;

/* ---- servers ---- */

static int start_kafka(void)
{
	char command[512], line[256];
	snprintf(command, sizeof command, "exec %s/tests/harness/kafka/kafka.sh start --owner %ld",
		 ASSAYD_SOURCE_DIR, (long)getpid());
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	while (fgets(line, sizeof line, pipe))
		(void)(test_postgres_field(line, "dir", kafka_dir, sizeof kafka_dir) ||
		       test_postgres_field(line, "bootstrap", bootstrap, sizeof bootstrap));
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void new_producer(void)
{
	char reason[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, reason, sizeof reason);
	rd_kafka_conf_set(conf, "transactional.id", "test", reason, sizeof reason);
	producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
	assert_non_null(producer);
	assert_null(rd_kafka_init_transactions(producer, 30000));
}

static int start_servers(void **state)
{
	(void)state;
	int status = test_postgres_start(&server, NULL);
	if (status == 0)
		status = start_kafka();
	if (status == 77) {
		print_message("skipped: PostgreSQL or Kafka is not to be had here\n");
		exit(77);
	}
	if (status)
		return status;
	const struct codec_options options = { .output = WIRE_JSON };
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	new_producer();
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	char command[512];
	rd_kafka_destroy(producer);
	codec_free(codec);
	snprintf(command, sizeof command, "exec %s/tests/harness/kafka/kafka.sh stop %s", ASSAYD_SOURCE_DIR,
		 kafka_dir);
	return (kafka_dir[0] ? system(command) : 0) | test_postgres_do(&server, "stop");
}

static void create_topic(const char *name)
{
	char reason[256];
	rd_kafka_NewTopic_t *request = rd_kafka_NewTopic_new(name, PARTITIONS, 1, reason, sizeof reason);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(producer);
	rd_kafka_CreateTopics(producer, &request, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
	assert_non_null(event);
	assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy(request);
}

/* ---- records ---- */

static struct scored_query new_record(struct record_label *label, int number)
{
	*label = (struct record_label){ 1, number % 2 == 0, LABEL_RESULT, 1.1 };
	return (struct scored_query){
		.event_id = STR("c0ffee00-0000-4000-8000-000000000000"),
		.occurred_at = 1767225600000,
		.scored_at = first_scored_at_ms + number * INT64_C(100),
		.application = STR("app"),
		.confidence = { .overall = { true, (3 + number % 7) / 10.0 }, .level = LEVEL_MEDIUM },
		.safety = { .verdict = VERDICT_SAFE },
		.judge = { .decision = DECISION_UNJUDGED, .sampling_probability = 1 },
		.label = label,
		.provenance = { .topic = STR("t"), .program_version = STR("0"), .config_digest = STR("0") },
	};
}

static void send_record(const char *data, size_t len, int partition)
{
	rd_kafka_resp_err_t err;
	do {
		err = rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
					RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
					RD_KAFKA_V_VALUE((void *)(uintptr_t)data, len), RD_KAFKA_V_END);
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			rd_kafka_poll(producer, 50);
	} while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	assert_int_equal(err, RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* `count` labelled records, between them some without label and some that are no records; committed or
 * aborted. */
static void produce(int count, bool commit)
{
	_cleanup_(buf_free) struct buf value = BUF_INIT;
	assert_null(rd_kafka_begin_transaction(producer));
	for (int i = 0; i < count; i++) {
		struct record_label label;
		struct scored_query record = new_record(&label, sent + i);
		buf_reset(&value);
		assert_int_equal(codec_encode_scored(codec, &record, &value), ERR_OK);
		send_record(value.data, value.len, i % PARTITIONS);
		record.label = NULL;
		buf_reset(&value);
		assert_int_equal(codec_encode_scored(codec, &record, &value), ERR_OK);
		if (i % 10 == 0)
			send_record(value.data, value.len, i % PARTITIONS);
		if (i % 50 == 0)
			send_record("no record", 9, i % PARTITIONS);
	}
	assert_int_equal(rd_kafka_flush(producer, 30000), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_null(commit ? rd_kafka_commit_transaction(producer, 30000)
			   : rd_kafka_abort_transaction(producer, 30000));
	sent += commit ? count : 0;
}

/* ---- what is counted ---- */

static struct calibrator *start_calibrator(void)
{
	const struct kafka_settings kafka = { .bootstrap_servers = bootstrap,
					      .group_id = topic,
					      .scored_topic = topic,
					      .advisory_topic = advisory_topic,
					      .session_timeout_ms = 10000,
					      .heartbeat_ms = 1000 };
	const struct calibrator_options options = { .kafka = &kafka,
						    .codec = codec,
						    .dsn = server.socket_dsn,
						    .bucket_s = 300,
						    .max_segments = 10,
						    .drift = { 0.5, 0.55, 20 },
						    .retention_days = 3650 };
	struct calibrator *calibrator = NULL;
	struct err_detail detail = { "" };
	if (calibrator_start(&options, &calibrator, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return calibrator;
}

static void query(const char *sql, char *text, size_t size)
{
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	text[0] = '\0';
	if (database_connect(database, NULL, NULL) == ERR_OK &&
	    database_query(database, sql, 0, NULL, &result, NULL) == ERR_OK && PQntuples(result))
		snprintf(text, size, "%s", PQgetvalue(result, 0, 0));
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static long counted(void)
{
	char text[64];
	query("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", text, sizeof text);
	return strtol(text, NULL, 10);
}

static void wait_counted(long expected)
{
	int64_t deadline_us = clock_monotonic_us() + INT64_C(60000000);
	while (counted() < expected && clock_monotonic_us() < deadline_us)
		sleep_ms(100);
	assert_int_equal(counted(), expected);
}

/* The sums of all records sent, added up by PostgreSQL from the records' numbers. */
static void check_sums(void)
{
	char counted_sums[256], expected[256], sql[512];
	snprintf(sql, sizeof sql,
		 "SELECT count(*) || ' ' || sum(1.1) || ' ' || trim_scale(sum(1.1 * (3 + n %% 7) / 10.0)) "
		 "|| ' ' || "
		 "trim_scale(sum(1.1 * (1 - n %% 2))) FROM generate_series(0, %d) AS n",
		 sent - 1);
	query(sql, expected, sizeof expected);
	query("SELECT sum(cases) || ' ' || sum(weight) || ' ' || trim_scale(sum(weight_confidence)) || ' ' "
	      "|| "
	      "trim_scale(sum(weight_correct)) FROM calibration_buckets WHERE width_s = 300",
	      counted_sums, sizeof counted_sums);
	assert_string_equal(counted_sums, expected);
}

static int begin_test(void **state)
{
	static int number;
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	(void)state;
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
	assert_int_equal(database_script(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public", NULL),
			 ERR_OK);
	snprintf(topic, sizeof topic, "scored-%d", ++number);
	snprintf(advisory_topic, sizeof advisory_topic, "advisories-%d", number);
	create_topic(topic);
	create_topic(advisory_topic);
	sent = 0;
	first_scored_at_ms = LONG_AGO_MS;
	return 0;
}

static void test_every_case_is_counted_once(void **state)
{
	(void)state;
	struct calibrator_statistics statistics;
	produce(1500, true);
	produce(300, false);
	produce(200, true);
	struct calibrator *calibrator = start_calibrator();
	wait_counted(1700);
	check_sums();
	calibrator_statistics(calibrator, &statistics);
	assert_int_equal(statistics.cases, 1700);
	assert_int_equal(statistics.skipped, 34);
	assert_int_equal(statistics.conflicts, 0);
	calibrator_stop(calibrator);
}

static void test_restart_goes_on_where_it_was(void **state)
{
	(void)state;
	produce(100, true);
	struct calibrator *calibrator = start_calibrator();
	wait_counted(100);
	calibrator_stop(calibrator);
	produce(100, true);
	calibrator = start_calibrator();
	wait_counted(200);
	sleep_ms(1500);
	check_sums();
	calibrator_stop(calibrator);
}

static void test_stopping_counts_what_was_read(void **state)
{
	(void)state;
	struct calibrator *calibrator = start_calibrator();
	produce(10, true);
	wait_counted(10);
	produce(20, true);
	struct calibrator_statistics statistics = { 0 };
	while (statistics.records < 33) {
		calibrator_statistics(calibrator, &statistics);
		sleep_ms(5);
	}
	calibrator_stop(calibrator);
	assert_int_equal(counted(), 30);
}

static void test_database_away_and_back(void **state)
{
	(void)state;
	struct calibrator *calibrator = start_calibrator();
	produce(200, true);
	wait_counted(200);
	assert_int_equal(test_postgres_do(&server, "kill"), 0);
	produce(3000, true);
	sleep_ms(3000);
	assert_string_equal(atomic_load(&calibrator_ticker(calibrator)->waiting_for), "calibration database");
	assert_int_equal(test_postgres_do(&server, "resume"), 0);
	wait_counted(3200);
	check_sums();
	calibrator_stop(calibrator);
}

/* A database that is away at the assignment: nothing is read before the positions are. */
static void test_start_without_database(void **state)
{
	(void)state;
	produce(50, true);
	assert_int_equal(test_postgres_do(&server, "halt"), 0);
	struct calibrator *calibrator = start_calibrator();
	sleep_ms(6000);
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	assert_int_equal(statistics.records, 0);
	assert_int_equal(test_postgres_do(&server, "resume"), 0);
	wait_counted(50);
	check_sums();
	calibrator_stop(calibrator);
}

static void test_instances_share_the_partitions(void **state)
{
	(void)state;
	struct calibrator *first = start_calibrator();
	produce(500, true);
	struct calibrator *second = start_calibrator();
	produce(500, true);
	sleep_ms(4000);
	produce(500, true);
	calibrator_stop(first);
	produce(500, true);
	wait_counted(2000);
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
	struct calibrator_statistics statistics;
	struct calibrator *calibrator = start_calibrator();
	produce(300, true);
	wait_counted(300);
	for (int round = 1; round <= ROUNDS; round++) {
		query("WITH forgotten AS (DELETE FROM calibration_buckets), moved AS (UPDATE "
		      "calibration_positions SET next_offset = 0 RETURNING 1) SELECT count(*) FROM moved",
		      text, sizeof text);
		assert_string_equal(text, "3");
		produce(10, true);
		wait_counted(300 + 10 * round);
	}
	check_sums();
	calibrator_statistics(calibrator, &statistics);
	assert_true(statistics.conflicts >= ROUNDS);
	calibrator_stop(calibrator);
}

/* Half of the medium group is right: 1 − 3·|0.50 − 0.75| = 0.25, in each of the three windows. */
static void test_instances_open_one_episode_for_each_window(void **state)
{
	(void)state;
	char text[64] = "";
	struct calibrator_statistics first_statistics, second_statistics;
	struct calibrator *first = start_calibrator(), *second = start_calibrator();
	first_scored_at_ms = clock_wall_ms() - 60000;
	for (int i = 0; i < 5; i++) {
		produce(30, true);
		sleep_ms(300);
	}
	wait_counted(150);
	int64_t deadline_us = clock_monotonic_us() + INT64_C(30000000);
	while (strcmp(text, "3") != 0 && clock_monotonic_us() < deadline_us) {
		sleep_ms(100);
		query("SELECT count(*) FROM calibration_drift_episodes WHERE published_at IS NOT NULL", text,
		      sizeof text);
	}
	sleep_ms(4000);
	query("SELECT count(*) || ' ' || count(published_at) || ' ' || round(min(score)::numeric, 9) FROM "
	      "calibration_drift_episodes",
	      text, sizeof text);
	assert_string_equal(text, "3 3 0.250000000");
	calibrator_statistics(first, &first_statistics);
	calibrator_statistics(second, &second_statistics);
	assert_int_equal(first_statistics.drift_opened + second_statistics.drift_opened, 3);
	assert_true(first_statistics.drift_published + second_statistics.drift_published >= 3);
	calibrator_stop(first);
	calibrator_stop(second);
}

int main(void)
{
	if (THREAD_SANITIZER) {
		print_message("skipped: the Kafka client cannot run under the thread sanitizer\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_case_is_counted_once, begin_test),
		cmocka_unit_test_setup(test_restart_goes_on_where_it_was, begin_test),
		cmocka_unit_test_setup(test_stopping_counts_what_was_read, begin_test),
		cmocka_unit_test_setup(test_database_away_and_back, begin_test),
		cmocka_unit_test_setup(test_start_without_database, begin_test),
		cmocka_unit_test_setup(test_instances_share_the_partitions, begin_test),
		cmocka_unit_test_setup(test_positions_that_moved_are_obeyed, begin_test),
		cmocka_unit_test_setup(test_instances_open_one_episode_for_each_window, begin_test),
	};
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
