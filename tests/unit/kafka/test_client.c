#include "kafka/client.h"

#include "common/clock.h"

#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define TOPIC "polled"

/* A gap between two beats that is longer than the interval would fail the test on a busy machine. */
enum { INTERVAL_MS = 5000, BEAT_MS = 50, SILENCE_MS = 7000, CLOSE_MS = 20000, POLL_MS = 60000 };

static struct kafka_settings settings_with(int session_ms, int drain_ms)
{
	return (struct kafka_settings){ .bootstrap_servers = "localhost:1",
					.group_id = "group",
					.session_timeout_ms = session_ms,
					.heartbeat_ms = 100,
					.drain_on_revoke_ms = drain_ms };
}

static rd_kafka_conf_t *member_conf(const struct kafka_settings *settings)
{
	struct err_detail detail = { "" };
	rd_kafka_conf_t *conf = NULL;
	if (kafka_conf_new(settings, &conf, &detail) ||
	    kafka_conf_set(conf, "group.id", settings->group_id, &detail) ||
	    kafka_conf_set_liveness(conf, settings, &detail))
		fail_msg("%s", detail.message);
	return conf;
}

static void the_interval_of_polls_holds_a_session_and_a_rebalance(void **state)
{
	(void)state;
	static const struct {
		int session_ms, drain_ms;
		const char *expected;
	} cases[] = {
		{ 10000, 2000, "60000" },   { 1000, 0, "60000" },  { 60000, 20000, "60000" },
		{ 10000, 60000, "100000" }, { 61000, 0, "61000" }, { 3600000, 60000, "3600000" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct kafka_settings settings = settings_with(cases[i].session_ms, cases[i].drain_ms);
		struct err_detail detail = { "" };
		rd_kafka_t *client = NULL;
		char value[32];
		size_t size = sizeof value;
		rd_kafka_conf_t *conf = member_conf(&settings);
		assert_int_equal(rd_kafka_conf_get(conf, "max.poll.interval.ms", value, &size),
				 RD_KAFKA_CONF_OK);
		assert_string_equal(value, cases[i].expected);
		if (kafka_client_new(RD_KAFKA_CONSUMER, &conf, &client, &detail))
			fail_msg("%s", detail.message);
		kafka_client_close(client, CLOSE_MS);
	}
}

static void *end_poll(void *client)
{
	kafka_end_poll(client);
	return NULL;
}

/* Without a broker nothing comes. */
static rd_kafka_t *open_without_broker(void)
{
	struct kafka_settings settings = settings_with(INTERVAL_MS, 0);
	struct err_detail detail = { "" };
	rd_kafka_t *client = NULL;
	settings.bootstrap_servers = "";
	rd_kafka_conf_t *conf = member_conf(&settings);
	if (kafka_client_new(RD_KAFKA_CONSUMER, &conf, &client, &detail))
		fail_msg("%s", detail.message);
	return client;
}

static void a_nudge_waits_for_no_broker(void **state)
{
	(void)state;
	rd_kafka_t *client = open_without_broker();
	int64_t started_us = clock_monotonic_us();
	kafka_nudge(client);
	assert_true(clock_monotonic_us() - started_us < INT64_C(1000) * POLL_MS);
	kafka_client_close(client, CLOSE_MS);
}

static void a_poll_is_ended_from_outside_before_and_after_it_began(void **state)
{
	(void)state;
	pthread_t thread;
	rd_kafka_t *client = open_without_broker();
	rd_kafka_poll_set_consumer(client);
	int64_t started_us = clock_monotonic_us();
	kafka_end_poll(client);
	assert_null(rd_kafka_consumer_poll(client, POLL_MS));
	assert_int_equal(pthread_create(&thread, NULL, end_poll, client), 0);
	assert_null(rd_kafka_consumer_poll(client, POLL_MS));
	assert_true(clock_monotonic_us() - started_us < INT64_C(1000) * POLL_MS);
	pthread_join(thread, NULL);
	kafka_client_close(client, CLOSE_MS);
}

/* ---- a member of a group ---- */

static rd_kafka_t *host;
static rd_kafka_t *consumer;

static int start_member(void **state)
{
	char reason[256];
	struct err_detail detail = { "" };
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	(void)state;
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", reason, sizeof reason);
	host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
	assert_non_null(host);
	rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(host);
	rd_kafka_mock_topic_create(cluster, TOPIC, 1, 1);
	struct kafka_settings settings = settings_with(INTERVAL_MS, 0);
	settings.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster);
	conf = member_conf(&settings);
	assert_int_equal(kafka_conf_set_int(conf, "max.poll.interval.ms", INTERVAL_MS, &detail), ERR_OK);
	assert_int_equal(kafka_client_new(RD_KAFKA_CONSUMER, &conf, &consumer, &detail), ERR_OK);
	rd_kafka_poll_set_consumer(consumer);
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, TOPIC, RD_KAFKA_PARTITION_UA);
	assert_int_equal(rd_kafka_subscribe(consumer, topics), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(topics);
	for (int assigned = 0; assigned == 0;) {
		rd_kafka_topic_partition_list_t *list = NULL;
		rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, BEAT_MS);
		if (message)
			rd_kafka_message_destroy(message);
		assert_int_equal(rd_kafka_assignment(consumer, &list), RD_KAFKA_RESP_ERR_NO_ERROR);
		assigned = list->cnt;
		rd_kafka_topic_partition_list_destroy(list);
	}
	return 0;
}

static int stop_member(void **state)
{
	(void)state;
	rd_kafka_consumer_close(consumer);
	kafka_client_close(consumer, CLOSE_MS);
	rd_kafka_destroy(host);
	return 0;
}

static void be_silent(bool beats)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * SILENCE_MS;
	while (clock_monotonic_us() < until_us) {
		if (beats)
			kafka_count_as_poll(consumer);
		nanosleep(&(struct timespec){ 0, BEAT_MS * 1000000L }, NULL);
	}
}

/* Whether the client says, after that, that it was not polled. */
static bool is_told_of(void)
{
	bool told = false;
	rd_kafka_message_t *message;
	while ((message = rd_kafka_consumer_poll(consumer, BEAT_MS * 10)) && !told) {
		told = message->err == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED;
		rd_kafka_message_destroy(message);
	}
	if (message)
		rd_kafka_message_destroy(message);
	return told;
}

static void who_waits_for_something_else_is_no_less_a_member(void **state)
{
	(void)state;
	be_silent(true);
	assert_false(is_told_of());
	be_silent(false);
	assert_true(is_told_of());
}

/* A producer would have them made, and check has to change nothing. */
static void no_client_makes_topics(void **state)
{
	(void)state;
	static const char *const properties[] = { "allow.auto.create.topics=true" };
	for (size_t count = 0; count < 2; count++) {
		struct kafka_settings settings = settings_with(10000, 2000);
		char value[8];
		size_t size = sizeof value;
		settings.properties = properties;
		settings.properties_count = count;
		rd_kafka_conf_t *conf = member_conf(&settings);
		assert_int_equal(rd_kafka_conf_get(conf, "allow.auto.create.topics", value, &size),
				 RD_KAFKA_CONF_OK);
		assert_string_equal(value, count ? "true" : "false");
		rd_kafka_conf_destroy(conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_of_polls_holds_a_session_and_a_rebalance),
		cmocka_unit_test_setup_teardown(who_waits_for_something_else_is_no_less_a_member,
						start_member, stop_member),
		cmocka_unit_test(a_poll_is_ended_from_outside_before_and_after_it_began),
		cmocka_unit_test(a_nudge_waits_for_no_broker),
		cmocka_unit_test(no_client_makes_topics),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
