#include "kafka/source.h"

#include "common/clock.h"

#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/* librdkafka's mock cluster serves. What a rebalance does is told by the test itself, at the place where
 * librdkafka would: the linker puts these functions between the source and the client (--wrap). */

enum { MESSAGES = 3, PATIENCE_MS = 60000, CREDITS_BYTES = 1 << 20 };

#define TOPIC "input"

/* librdkafka 2.0.2 loses the operation of a request that the broker does not know, as the mock cluster's does
 * not know of groups. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:librdkafka.so";
}

typedef void rebalance_fn(rd_kafka_t *consumer, rd_kafka_resp_err_t err,
			  rd_kafka_topic_partition_list_t *list, void *opaque);

static rebalance_fn *rebalance;
static _Atomic bool gives_again; /* at the next poll, the same partition */

void __real_rd_kafka_conf_set_rebalance_cb(rd_kafka_conf_t *conf, rebalance_fn *fn);
void __wrap_rd_kafka_conf_set_rebalance_cb(rd_kafka_conf_t *conf, rebalance_fn *fn);
void __wrap_rd_kafka_conf_set_rebalance_cb(rd_kafka_conf_t *conf, rebalance_fn *fn)
{
	rebalance = fn;
	__real_rd_kafka_conf_set_rebalance_cb(conf, fn);
}

rd_kafka_message_t *__real_rd_kafka_consumer_poll(rd_kafka_t *consumer, int timeout_ms);
rd_kafka_message_t *__wrap_rd_kafka_consumer_poll(rd_kafka_t *consumer, int timeout_ms);
rd_kafka_message_t *__wrap_rd_kafka_consumer_poll(rd_kafka_t *consumer, int timeout_ms)
{
	if (atomic_exchange(&gives_again, false)) {
		rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
		rd_kafka_topic_partition_list_add(list, TOPIC, 0);
		rebalance(consumer, RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, list, rd_kafka_opaque(consumer));
		rd_kafka_topic_partition_list_destroy(list);
	}
	return __real_rd_kafka_consumer_poll(consumer, timeout_ms);
}

/* ---- what comes out of the source ---- */

static struct rig {
	rd_kafka_t *host;
	struct kafka_settings settings;
	struct credits credits;
	struct source *source;
	pthread_mutex_t mutex; /* guards the events, which stay in flight */
	pthread_cond_t arrived;
	struct assignment *assignments[2 * MESSAGES + 1];
	int64_t offsets[2 * MESSAGES + 1];
	size_t bytes[2 * MESSAGES + 1];
	size_t count;
} rig = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void on_message(const struct source_message *message, void *context)
{
	(void)context;
	pthread_mutex_lock(&rig.mutex);
	assert_true(rig.count < sizeof rig.offsets / sizeof rig.offsets[0]);
	rig.assignments[rig.count] = message->assignment;
	rig.offsets[rig.count] = message->offset;
	rig.bytes[rig.count++] = message->credit_bytes;
	pthread_cond_broadcast(&rig.arrived);
	pthread_mutex_unlock(&rig.mutex);
}

static void on_passed(struct assignment *assignment, void *context)
{
	(void)assignment;
	(void)context;
}

static void on_fatal(err_t err, const char *message, void *context)
{
	(void)err;
	(void)context;
	fail_msg("%s", message);
}

static void await_events(size_t count)
{
	struct timespec until = clock_deadline_after(PATIENCE_MS);
	pthread_mutex_lock(&rig.mutex);
	while (rig.count < count)
		assert_int_equal(pthread_cond_timedwait(&rig.arrived, &rig.mutex, &until), 0);
	pthread_mutex_unlock(&rig.mutex);
}

/* ---- life ---- */

static int start(void **state)
{
	char reason[256];
	struct err_detail detail;
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	(void)state;
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", reason, sizeof reason);
	rig.host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
	assert_non_null(rig.host);
	rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(rig.host);
	rd_kafka_mock_topic_create(cluster, TOPIC, 1, 1);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(rd_kafka_producev(rig.host, RD_KAFKA_V_TOPIC(TOPIC), RD_KAFKA_V_PARTITION(0),
						   RD_KAFKA_V_VALUE((void *)(uintptr_t) "v", 1),
						   RD_KAFKA_V_END),
				 RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(rig.host, PATIENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	rig.settings = (struct kafka_settings){
		.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster),
		.group_id = "group",
		.instance_id = "one",
		.input_topic = TOPIC,
		.session_timeout_ms = PATIENCE_MS,
		.heartbeat_ms = 100,
		.read_ahead_bytes = CREDITS_BYTES,
		.max_message_bytes = CREDITS_BYTES,
	};
	credits_init(&rig.credits, 2 * MESSAGES + 1, CREDITS_BYTES);
	clock_cond_init(&rig.arrived);
	const struct source_callbacks callbacks = { .message = on_message,
						    .passed = on_passed,
						    .fatal = on_fatal };
	assert_int_equal(source_start(&rig.settings, NULL, &rig.credits, &callbacks, &rig.source, &detail),
			 ERR_OK);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_true(source_close(rig.source, PATIENCE_MS));
	source_stop(rig.source);
	for (size_t i = 0; i < rig.count; i++) {
		assignment_leave(rig.assignments[i]);
		credits_return(&rig.credits, rig.bytes[i]);
	}
	pthread_cond_destroy(&rig.arrived);
	credits_destroy(&rig.credits);
	rd_kafka_destroy(rig.host);
	return 0;
}

static void partitions_given_while_others_are_held_end_those(void **state)
{
	(void)state;
	await_events(MESSAGES);
	atomic_store(&gives_again, true);
	await_events(MESSAGES + MESSAGES); /* nothing was committed: all of it is read again */
	struct assignment *former = rig.assignments[0], *present = rig.assignments[MESSAGES];
	assert_ptr_not_equal(former, present);
	for (size_t i = 0; i < 2 * MESSAGES; i++) {
		assert_ptr_equal(rig.assignments[i], i < MESSAGES ? former : present);
		assert_int_equal(rig.offsets[i], i % MESSAGES);
	}
	/* or what is in flight of it would be published again and again, and could never be committed */
	assert_int_equal(assignment_state(former), ASSIGNMENT_CLOSED);
	assert_false(assignment_begin(former));
	assert_int_equal(assignment_state(present), ASSIGNMENT_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(partitions_given_while_others_are_held_end_those, start,
						stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
