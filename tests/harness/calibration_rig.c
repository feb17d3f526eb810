#include "harness/calibration_rig.h"

#include "common/clock.h"
#include "harness/thread_sanitizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

struct calibration_rig rig;

/* ---- servers ---- */

static FILE *begin_kafka(void)
{
	char command[512];
	snprintf(command, sizeof command, "exec %s/tests/harness/kafka/kafka.sh start --owner %ld",
		 ASSAYD_SOURCE_DIR, (long)getpid());
	return popen(command, "r");
}

static int await_kafka(FILE *starting)
{
	char line[256];
	if (!starting)
		return 1;
	while (fgets(line, sizeof line, starting))
		(void)(test_postgres_field(line, "dir", rig.kafka_dir, sizeof rig.kafka_dir) ||
		       test_postgres_field(line, "bootstrap", rig.bootstrap, sizeof rig.bootstrap));
	int status = pclose(starting);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void new_producer(void)
{
	char reason[256], name[32];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	snprintf(name, sizeof name, "test-%ld", (long)getpid());
	rd_kafka_conf_set(conf, "bootstrap.servers", rig.bootstrap, reason, sizeof reason);
	rd_kafka_conf_set(conf, "transactional.id", name, reason, sizeof reason);
	rig.producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
	assert_non_null(rig.producer);
	assert_null(rd_kafka_init_transactions(rig.producer, 30000));
}

int rig_start(void **state)
{
	(void)state;
	if (THREAD_SANITIZER) {
		print_message("skipped: the Kafka client cannot run under the thread sanitizer\n");
		exit(77);
	}
	FILE *starting = begin_kafka(); /* both servers at a time */
	int status = test_postgres_start(&rig.server, NULL), kafka_status = await_kafka(starting);
	if (status == 0)
		status = kafka_status;
	if (status == 77) {
		print_message("skipped: PostgreSQL or Kafka is not to be had here\n");
		exit(77);
	}
	if (status)
		return status;
	const struct codec_options options = { .output = WIRE_JSON };
	assert_int_equal(codec_new(&options, &rig.codec, NULL), ERR_OK);
	new_producer();
	return 0;
}

int rig_stop(void **state)
{
	(void)state;
	char command[512];
	rd_kafka_destroy(rig.producer);
	codec_free(rig.codec);
	snprintf(command, sizeof command, "exec %s/tests/harness/kafka/kafka.sh stop %s", ASSAYD_SOURCE_DIR,
		 rig.kafka_dir);
	return (rig.kafka_dir[0] ? system(command) : 0) | test_postgres_do(&rig.server, "stop");
}

static void create_topic(const char *name)
{
	char reason[256];
	rd_kafka_NewTopic_t *request = rd_kafka_NewTopic_new(name, RIG_PARTITIONS, 1, reason, sizeof reason);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rig.producer);
	rd_kafka_CreateTopics(rig.producer, &request, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
	assert_non_null(event);
	assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy(request);
}

/* ---- records ---- */

static struct scored_query new_record(struct record_label *label, char event_id[16], int number)
{
	snprintf(event_id, 16, "event-%d", number);
	*label = (struct record_label){ 1, number % 2 == 0, LABEL_RESULT, 1.1 };
	return (struct scored_query){
		.event_id = str_from(event_id),
		.occurred_at = 1767225600000,
		.scored_at = rig.first_scored_at_ms + number * INT64_C(100),
		.application = STR("app"),
		.confidence = { .overall = { true, (3 + number % 7) / 10.0 }, .level = LEVEL_MEDIUM },
		.safety = { .verdict = VERDICT_SAFE },
		.judge = { .decision = DECISION_UNJUDGED, .sampling_probability = 1 },
		.label = label,
		.provenance = { .topic = STR("t"), .program_version = STR("0"), .config_digest = STR("0") },
	};
}

static void send_record(const char *to_topic, const char *data, size_t len, int partition,
			int64_t published_ms)
{
	rd_kafka_resp_err_t err;
	do {
		err = rd_kafka_producev(rig.producer, RD_KAFKA_V_TOPIC(to_topic),
					RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_TIMESTAMP(published_ms),
					RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
					RD_KAFKA_V_VALUE((void *)(uintptr_t)data, len), RD_KAFKA_V_END);
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			rd_kafka_poll(rig.producer, 50);
	} while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	assert_int_equal(err, RD_KAFKA_RESP_ERR_NO_ERROR);
}

void rig_produce(int count, bool commit)
{
	_cleanup_(buf_free) struct buf value = BUF_INIT;
	assert_null(rd_kafka_begin_transaction(rig.producer));
	for (int i = 0; i < count; i++) {
		struct record_label label;
		char event_id[16];
		struct scored_query record = new_record(&label, event_id, rig.sent + i);
		/* a broker would delete what is very old */
		int64_t published_ms = rig.first_scored_at_ms == LONG_AGO_MS ? 0 : record.scored_at;
		buf_reset(&value);
		assert_int_equal(codec_encode_scored(rig.codec, &record, &value), ERR_OK);
		send_record(rig.topic, value.data, value.len, i % RIG_PARTITIONS, published_ms);
		record.label = NULL;
		buf_reset(&value);
		assert_int_equal(codec_encode_scored(rig.codec, &record, &value), ERR_OK);
		if (i % 10 == 0)
			send_record(rig.topic, value.data, value.len, i % RIG_PARTITIONS, published_ms);
		if (i % 50 == 0)
			send_record(rig.topic, "no record", 9, i % RIG_PARTITIONS, published_ms);
	}
	assert_int_equal(rd_kafka_flush(rig.producer, 30000), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_null(commit ? rd_kafka_commit_transaction(rig.producer, 30000)
			   : rd_kafka_abort_transaction(rig.producer, 30000));
	rig.sent += commit ? count : 0;
}

void rig_say(int number, const bool *correct, int64_t said_at_ms)
{
	static bool in_transaction;
	char text[96];
	if (number < 0) { /* the end */
		assert_null(in_transaction ? rd_kafka_commit_transaction(rig.producer, 30000) : NULL);
		in_transaction = false;
		return;
	}
	if (!in_transaction)
		assert_null(rd_kafka_begin_transaction(rig.producer));
	in_transaction = true;
	if (correct)
		snprintf(text, sizeof text,
			 "{\"event_id\": \"event-%d\", \"correct\": %s, \"source\": \"Ann\"}", number,
			 *correct ? "true" : "false");
	else
		snprintf(text, sizeof text, "{\"event_id\": \"event-%d\", \"correct\": 0.5}", number);
	send_record(rig.feedback_topic, text, strlen(text), number % RIG_PARTITIONS, said_at_ms);
}

void rig_flush_feedback(void)
{
	rig_say(-1, NULL, 0);
}

void rig_delete_records(int32_t partition, int64_t before_offset)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, rig.topic, partition)->offset = before_offset;
	rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rig.producer);
	rd_kafka_DeleteRecords(rig.producer, &request, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
	assert_non_null(event);
	assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_DeleteRecords_destroy(request);
}

/* ---- what is counted ---- */

struct kafka_settings rig_kafka_settings(void)
{
	return (struct kafka_settings){ .bootstrap_servers = rig.bootstrap,
					.group_id = rig.topic,
					.input_topic = "nobody-reads-this",
					.scored_topic = rig.topic,
					.dead_letter_topic = "nobody-writes-this",
					.advisory_topic = rig.advisory_topic,
					.session_timeout_ms = 10000,
					.heartbeat_ms = 1000 };
}

struct calibrator *rig_start_calibrator(void)
{
	const struct kafka_settings kafka = rig_kafka_settings();
	const struct calibrator_options options = { .kafka = &kafka,
						    .codec = rig.codec,
						    .dsn = rig.server.socket_dsn,
						    .bucket_s = RIG_BUCKET_S,
						    .max_segments = 10,
						    .drift = { 0.5, 0.55, 20 },
						    .retention_days = 3650,
						    .feedback_topic = rig.feedback_topic,
						    .feedback_horizon_ms = rig.horizon_ms };
	struct calibrator *calibrator = NULL;
	struct err_detail detail = { "" };
	if (calibrator_start(&options, &calibrator, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return calibrator;
}

struct rebuild_options rig_rebuild_options(void)
{
	static struct kafka_settings kafka;
	kafka = rig_kafka_settings();
	return (struct rebuild_options){ .kafka = &kafka,
					 .codec = rig.codec,
					 .dsn = rig.server.socket_dsn,
					 .bucket_s = RIG_BUCKET_S,
					 .max_segments = 10,
					 .retention_days = 3650,
					 .feedback_topic = rig.feedback_topic,
					 .feedback_horizon_ms = rig.horizon_ms };
}

void rig_query(const char *sql, char *text, size_t size)
{
	_cleanup_(database_cleanup) struct database *database = database_new(rig.server.socket_dsn, NULL);
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	text[0] = '\0';
	if (database_connect(database, NULL, NULL) == ERR_OK &&
	    database_query(database, sql, 0, NULL, &result, NULL) == ERR_OK && PQntuples(result))
		snprintf(text, size, "%s", PQgetvalue(result, 0, 0));
}

void rig_sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

long rig_counted(void)
{
	char text[64];
	rig_query("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300 "
		  "AND label_source = 'RESULT'",
		  text, sizeof text);
	return strtol(text, NULL, 10);
}

void rig_wait_counted(long expected)
{
	int64_t deadline_us = clock_monotonic_us() + INT64_C(60000000);
	while (rig_counted() < expected && clock_monotonic_us() < deadline_us)
		rig_sleep_ms(100);
	assert_int_equal(rig_counted(), expected);
}

int rig_begin_test(void **state)
{
	static int number;
	_cleanup_(database_cleanup) struct database *database = database_new(rig.server.socket_dsn, NULL);
	(void)state;
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
	assert_int_equal(database_script(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public", NULL),
			 ERR_OK);
	snprintf(rig.topic, sizeof rig.topic, "scored-%ld-%d", (long)getpid(), ++number);
	snprintf(rig.advisory_topic, sizeof rig.advisory_topic, "advisories-%ld-%d", (long)getpid(), number);
	snprintf(rig.feedback_topic, sizeof rig.feedback_topic, "feedback-%ld-%d", (long)getpid(), number);
	create_topic(rig.topic);
	create_topic(rig.feedback_topic);
	create_topic(rig.advisory_topic);
	rig.sent = 0;
	rig.horizon_ms = 0;
	rig.first_scored_at_ms = LONG_AGO_MS;
	return 0;
}
