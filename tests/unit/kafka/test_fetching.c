#include "kafka/fetching.h"

#include <librdkafka/rdkafka_mock.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* librdkafka's mock cluster serves: no transactions are involved. */

enum { PARTITIONS = 3, MESSAGES = 10, ROUNDS = 20, PATIENCE_MS = 60000, SILENCE_MS = 300, REPLACEMENTS = 5 };

#define TOPIC "fetched"

static rd_kafka_t *producer;
static struct fetching fetching;

static rd_kafka_t *new_client(rd_kafka_type_t type, const char *const (*properties)[2])
{
	char reason[256] = "";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	for (; (*properties)[0]; properties++)
		assert_int_equal(
			rd_kafka_conf_set(conf, (*properties)[0], (*properties)[1], reason, sizeof reason),
			RD_KAFKA_CONF_OK);
	rd_kafka_t *client = rd_kafka_new(type, conf, reason, sizeof reason);
	assert_non_null(client);
	return client;
}

static int start_cluster(void **state)
{
	(void)state;
	static const char *const properties[][2] = { { "test.mock.num.brokers", "1" }, { NULL, NULL } };
	producer = new_client(RD_KAFKA_PRODUCER, properties);
	rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(producer);
	rd_kafka_mock_topic_create(cluster, TOPIC, PARTITIONS, 1);
	for (int i = 0; i < PARTITIONS * MESSAGES; i++)
		assert_int_equal(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(TOPIC),
						   RD_KAFKA_V_PARTITION(i % PARTITIONS),
						   RD_KAFKA_V_VALUE((void *)(uintptr_t) "v", 1),
						   RD_KAFKA_V_END),
				 RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(producer, PATIENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	const char *const consumer_properties[][2] = { { "bootstrap.servers",
							 rd_kafka_mock_cluster_bootstraps(cluster) },
						       { "group.id", "test" },
						       { "enable.auto.commit", "false" },
						       { "fetch.wait.max.ms", "10" },
						       { "fetch.error.backoff.ms", "10" },
						       { NULL, NULL } };
	fetching.consumer = new_client(RD_KAFKA_CONSUMER, consumer_properties);
	rd_kafka_poll_set_consumer(fetching.consumer);
	return 0;
}

static int stop_cluster(void **state)
{
	(void)state;
	rd_kafka_consumer_close(fetching.consumer);
	rd_kafka_destroy(fetching.consumer);
	rd_kafka_destroy(producer);
	return 0;
}

static rd_kafka_topic_partition_list_t *all_from_the_start(void)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);
	for (int i = 0; i < PARTITIONS; i++)
		rd_kafka_topic_partition_list_add(list, TOPIC, i)->offset = 0;
	return list;
}

/* Polls until `expected` messages came, or none for the time. */
static int poll_messages(int expected, int silence_ms)
{
	int count = 0;
	rd_kafka_message_t *message;
	while (count < expected && (message = rd_kafka_consumer_poll(fetching.consumer, silence_ms))) {
		count += !message->err;
		rd_kafka_message_destroy(message);
	}
	return count;
}

static void a_pause_at_once_loses_no_partition(void **state)
{
	(void)state;
	rd_kafka_topic_partition_list_t *list = all_from_the_start();
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
		fetching_pause(&fetching, list, true);
		fetching_pause(&fetching, list, false);
		assert_int_equal(poll_messages(PARTITIONS * MESSAGES, PATIENCE_MS), PARTITIONS * MESSAGES);
	}
	rd_kafka_topic_partition_list_destroy(list);
}

static void a_paused_partition_is_silent_until_it_is_resumed(void **state)
{
	(void)state;
	rd_kafka_topic_partition_list_t *list = all_from_the_start();
	assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	fetching_pause(&fetching, list, true);
	assert_int_equal(poll_messages(1, SILENCE_MS), 0);
	/* what the header warns of: the next assignment does not lift it */
	assert_int_equal(fetching_assign(&fetching, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(poll_messages(1, SILENCE_MS), 0);
	fetching_pause(&fetching, list, false);
	assert_int_equal(poll_messages(PARTITIONS * MESSAGES, PATIENCE_MS), PARTITIONS * MESSAGES);
	rd_kafka_topic_partition_list_destroy(list);
}

/* librdkafka would end the process: see the header. */
static void an_assignment_at_once_after_others_is_fetched(void **state)
{
	(void)state;
	rd_kafka_topic_partition_list_t *list = all_from_the_start();
	assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(poll_messages(PARTITIONS * MESSAGES, PATIENCE_MS), PARTITIONS * MESSAGES);
	for (int i = 0; i < REPLACEMENTS; i++)
		assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(poll_messages(PARTITIONS * MESSAGES, PATIENCE_MS), PARTITIONS * MESSAGES);
	rd_kafka_topic_partition_list_destroy(list);
}

/* Whichever limit is the nearer one; and what is fetched goes on. */
static void leaders_are_asked_when_half_is_taken(void **state)
{
	(void)state;
	static const struct {
		size_t ahead_bytes, ahead_messages, message_bytes;
		int taken, asked;
	} cases[] = {
		{ 1000, 100, 100, 4, 0 }, { 1000, 100, 100, 5, 1 },  { 1000, 100, 100, 24, 4 },
		{ 1000, 4, 100, 6, 3 },	  { 1000, 0, 100, 5, 1 },    { 0, 4, 100, 5, 2 },
		{ 0, 0, 100, 1000, 0 },	  { 1000, 100, 5000, 3, 3 }, { 1000, 100, 0, 49, 0 },
	};
	rd_kafka_topic_partition_list_t *list = all_from_the_start();
	assert_int_equal(fetching_assign(&fetching, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct fetching counted = { .consumer = fetching.consumer,
					    .ahead_bytes = cases[i].ahead_bytes,
					    .ahead_messages = cases[i].ahead_messages };
		for (int taken = 0; taken < cases[i].taken; taken++)
			fetching_take(&counted, list, cases[i].message_bytes);
		assert_int_equal(counted.asked, cases[i].asked);
	}
	for (int i = 0; i < PARTITIONS; i++)
		assert_int_equal(list->elems[i].offset, 0);
	assert_int_equal(poll_messages(PARTITIONS * MESSAGES, PATIENCE_MS), PARTITIONS * MESSAGES);
	rd_kafka_topic_partition_list_destroy(list);
}

static void nothing_paused_is_no_order(void **state)
{
	(void)state;
	rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);
	fetching_pause(&fetching, none, true);
	fetching_pause(&fetching, none, false);
	rd_kafka_topic_partition_list_destroy(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_at_once_loses_no_partition),
		cmocka_unit_test(a_paused_partition_is_silent_until_it_is_resumed),
		cmocka_unit_test(an_assignment_at_once_after_others_is_fetched),
		cmocka_unit_test(leaders_are_asked_when_half_is_taken),
		cmocka_unit_test(nothing_paused_is_no_order),
	};
	return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
