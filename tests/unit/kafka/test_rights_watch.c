#include "kafka/rights_watch.h"

#include "common/log.h"

#include <librdkafka/rdkafka_mock.h>
#include <setjmp.h>
#include <stdatomic.h>

#include <cmocka.h>

/* librdkafka's mock cluster refuses what it is told to; what real brokers do is in the integration suites. */

enum { OFFSET_COMMIT = 8, STOP_MS = 60000 };

/* librdkafka 2.0.2 loses the operation of a request that the broker does not know. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:librdkafka.so";
}

static rd_kafka_t *host;
static rd_kafka_mock_cluster_t *cluster;
static struct kafka_settings settings = {
	.group_id = "group",
	.instance_id = "instance",
	.input_topic = "input",
	.scored_topic = "scored",
	.advisory_topic = "advisory",
	.dead_letter_topic = "letters",
	.exactly_once = true,
	.transaction_timeout_ms = 15000,
	.max_message_bytes = 1 << 20,
	.transaction_max_bytes = 1 << 20,
};

static _Atomic unsigned told, taken_back;

static void count_line(enum log_level level, const char *line, void *context)
{
	(void)context;
	if (strstr(line, "this client lacks")) {
		assert_int_equal(level, LOG_LEVEL_CRITICAL);
		atomic_fetch_add(&told, 1);
	} else if (strstr(line, "again")) {
		assert_int_equal(level, LOG_LEVEL_NOTICE);
		atomic_fetch_add(&taken_back, 1);
	}
}

static int start_cluster(void **state)
{
	char reason[256];
	(void)state;
	host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof reason);
	cluster = rd_kafka_mock_cluster_new(host, 1);
	const char *const topics[] = { "input", "scored", "advisory", "letters" };
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		rd_kafka_mock_topic_create(cluster, topics[i], 1, 1);
	settings.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster);
	log_set_sink(count_line, NULL);
	return 0;
}

static int stop_cluster(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(host);
	return 0;
}

static struct rights_watch *start(void)
{
	atomic_store(&told, 0);
	atomic_store(&taken_back, 0);
	return rights_watch_start(&settings);
}

static void stop(struct rights_watch *watch)
{
	rights_watch_close(watch);
	assert_true(rights_watch_ended(watch, STOP_MS));
	rights_watch_free(watch);
}

static void await_missing(struct rights_watch *watch, right_set expected)
{
	while (rights_watch_missing(watch) != expected)
		usleep(10000);
}

static void nothing_is_missing_at_first(void **state)
{
	(void)state;
	struct rights_watch *watch = start();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	assert_int_equal(rights_watch_missing(watch), 0);
	assert_int_equal(rights_watch_needed(watch), RIGHTS_OF_SCORING);
	assert_int_equal(rights_watch_age_ms(watch), 0);
	assert_false(rights_watch_doubts(watch));
	rights_watch_describe(watch, &text);
	assert_int_equal(text.len, 0);
	rights_watch_set(watch, RIGHT_WRITE_TRANSACTIONS, false); /* was there all the time */
	stop(watch);
	assert_int_equal(told + taken_back, 0);
}

static void there_may_be_no_watch(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	rights_watch_set(NULL, RIGHT_READ_GROUP, true);
	rights_watch_doubt(NULL);
	assert_int_equal(rights_watch_missing(NULL) | rights_watch_needed(NULL), 0);
	assert_false(rights_watch_doubts(NULL));
	assert_int_equal(rights_watch_age_ms(NULL), 0);
	rights_watch_describe(NULL, &text);
	rights_watch_close(NULL);
	assert_true(rights_watch_ended(NULL, 0));
	rights_watch_free(NULL);
}

/* Only who claims the transactional id can tell. */
static void what_cannot_be_tried_stays_until_somebody_tells(void **state)
{
	(void)state;
	struct rights_watch *watch = start();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (int i = 0; i < 3; i++)
		rights_watch_set(watch, RIGHT_WRITE_TRANSACTIONS, true);
	rights_watch_describe(watch, &text);
	assert_non_null(strstr(text.data, "this client lacks WRITE on transactional id \"instance\""));
	rights_watch_doubt(watch);
	while (rights_watch_doubts(watch))
		usleep(10000);
	assert_int_equal(rights_watch_missing(watch), RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS));
	assert_true(rights_watch_age_ms(watch) > 0);
	rights_watch_set(watch, RIGHT_WRITE_TRANSACTIONS, false);
	assert_int_equal(rights_watch_missing(watch), 0);
	assert_int_equal(rights_watch_age_ms(watch), 0);
	rights_watch_set(watch, RIGHT_WRITE_TRANSACTIONS, true);  /* one that comes and goes */
	rights_watch_set(watch, RIGHT_WRITE_TRANSACTIONS, false); /* is not told each time */
	assert_int_equal(rights_watch_missing(watch), 0);
	stop(watch);
	assert_int_equal(told, 1);
	assert_int_equal(taken_back, 1);
}

static void what_is_tried_comes_back_by_itself(void **state)
{
	(void)state;
	struct rights_watch *watch = start();
	static const rd_kafka_resp_err_t refusals[] = { RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED };
	rights_watch_set(watch, RIGHT_WRITE_SCORED, true); /* nobody forbids it any more */
	rights_watch_set(watch, RIGHT_READ_INPUT, true);
	await_missing(watch, 0);
	rd_kafka_mock_push_request_errors_array(cluster, OFFSET_COMMIT, 1, refusals);
	rights_watch_doubt(watch);
	await_missing(watch, RIGHT_BIT(RIGHT_READ_GROUP));
	await_missing(watch, 0);
	assert_int_equal(told, 3);
	assert_int_equal(taken_back, 3);
	stop(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_missing_at_first),
		cmocka_unit_test(there_may_be_no_watch),
		cmocka_unit_test(what_cannot_be_tried_stays_until_somebody_tells),
		cmocka_unit_test(what_is_tried_comes_back_by_itself),
	};
	return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
