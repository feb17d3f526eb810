#include "kafka/producer_recovery.h"
#include "kafka/transaction.h"

#include "common/clock.h"

#include <librdkafka/rdkafka_mock.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* librdkafka's mock cluster serves: what becomes of a commit is shown on a real broker, see the suite of
 * generations. */

enum { CLAIM_MS = 60000, PARTITION = 0, OFFSET = 7 };

static rd_kafka_t *host, *consumer;
static rd_kafka_mock_cluster_t *cluster;
static struct kafka_settings settings;

static int start_cluster(void **state)
{
	char reason[256];
	(void)state;
	host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof reason);
	cluster = rd_kafka_mock_cluster_new(host, 1);
	static const char *const topics[] = { "input", "scored", "advisories", "dead" };
	for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
		rd_kafka_mock_topic_create(cluster, topics[i], 1, 1);
	settings = (struct kafka_settings){
		.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster),
		.group_id = "group",
		.instance_id = "one",
		.input_topic = "input",
		.scored_topic = "scored",
		.advisory_topic = "advisories",
		.dead_letter_topic = "dead",
		.heartbeat_ms = 100,
		.transaction_timeout_ms = 60000,
		.transaction_max_bytes = 1 << 20,
		.max_message_bytes = 1 << 20,
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set(conf, "bootstrap.servers", settings.bootstrap_servers, reason, sizeof reason);
	rd_kafka_conf_set(conf, "group.id", "group", reason, sizeof reason);
	consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
	return consumer ? 0 : -1;
}

static int stop_cluster(void **state)
{
	(void)state;
	rd_kafka_destroy(consumer);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(host);
	return 0;
}

/* One event in the assignment, and who publishes it. */
struct rig {
	struct transactor transactor;
	struct assignment *assignment;
	struct output output;
	struct publication publication;
	struct list publications;
};

static void open_rig(struct rig *rig, bool exactly_once)
{
	struct err_detail detail;
	settings.exactly_once = exactly_once;
	*rig = (struct rig){ 0 };
	transactor_init(&rig->transactor, &settings);
	rig->transactor.backoff = (struct backoff){ .base_ms = 1, .cap_ms = 1 };
	atomic_store(&rig->transactor.consumer, consumer);
	assert_int_equal(producer_open(&rig->transactor.producer, &settings, &detail), ERR_OK);
	assert_int_equal(producer_claim(&rig->transactor.producer, CLAIM_MS, &detail), ERR_OK);
	rig->assignment = assignment_new("input", rd_kafka_consumer_group_metadata_new("group"));
	assignment_add(rig->assignment, PARTITION, offsets_new(OFFSET));
	assert_int_equal(assignment_arrive(rig->assignment, PARTITION, OFFSET, 0, 0), OFFSETS_FRESH);
	rig->output = (struct output){ .topic = OUTPUT_SCORED, .key = STR("k"), .value = STR("v") };
	rig->publication = (struct publication){ .assignment = rig->assignment,
						 .partition = PARTITION,
						 .offset = OFFSET,
						 .outputs = &rig->output,
						 .outputs_count = 1 };
	list_init(&rig->publications);
	list_append(&rig->publications, &rig->publication.node);
}

static void close_rig(struct rig *rig)
{
	transactor_destroy(&rig->transactor);
	assignment_leave(rig->assignment);
	assignment_unref(rig->assignment);
}

static enum transaction_outcome run(struct rig *rig)
{
	assert_true(assignment_begin(rig->assignment));
	assert_true(assignment_join(rig->assignment, PARTITION, OFFSET));
	enum transaction_outcome outcome =
		transaction_run(&rig->transactor, &rig->publications, rig->assignment);
	assignment_end(rig->assignment, outcome == OUTCOME_OK);
	return outcome;
}

static void lose(struct rig *rig, rd_kafka_resp_err_t err)
{
	rd_kafka_test_fatal_error(rig->transactor.producer.client, err, "lost on purpose");
}

static void a_lost_producer_is_replaced_and_the_next_transaction_goes_through(void **state)
{
	(void)state;
	for (int exactly_once = 0; exactly_once <= 1; exactly_once++) {
		struct rig rig;
		open_rig(&rig, exactly_once);
		lose(&rig, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
		assert_int_equal(run(&rig), OUTCOME_ABORT);
		assert_int_equal(rig.transactor.renewed, 1);
		if (exactly_once) { /* commits of a group that nobody has joined need a broker */
			assert_int_equal(run(&rig), OUTCOME_OK);
			assert_int_equal(rig.transactor.recoveries, 0);
		}
		close_rig(&rig);
	}
}

static void one_that_is_lost_again_and_again_is_given_up(void **state)
{
	(void)state;
	struct rig rig;
	enum transaction_outcome outcome = OUTCOME_ABORT;
	unsigned losses = 0;
	open_rig(&rig, true);
	for (; outcome == OUTCOME_ABORT && losses < 100; losses++) {
		lose(&rig, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
		outcome = run(&rig);
	}
	assert_int_equal(outcome, OUTCOME_FATAL);
	assert_int_equal(rig.transactor.failure, ERR_KAFKA_FATAL);
	assert_int_equal(losses, 6);
	close_rig(&rig);
}

static void one_that_was_fenced_in_time_has_a_rival(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig, true);
	lose(&rig, RD_KAFKA_RESP_ERR__FENCED);
	assert_int_equal(run(&rig), OUTCOME_FATAL);
	assert_int_equal(rig.transactor.failure, ERR_KAFKA_FENCED);
	assert_non_null(strstr(rig.transactor.failure_detail.message, "\"one\""));
	assert_int_equal(rig.transactor.renewed, 0);
	close_rig(&rig);
}

static void one_that_was_fenced_for_its_age_is_replaced(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig, true);
	lose(&rig, RD_KAFKA_RESP_ERR__FENCED);
	rig.transactor.began_us = clock_monotonic_us() - INT64_C(1000) * settings.transaction_timeout_ms;
	assert_int_equal(producer_recovery_run(&rig.transactor, rig.assignment), OUTCOME_ABORT);
	assert_int_equal(rig.transactor.renewed, 1);
	close_rig(&rig);
}

static void a_stop_renews_nothing(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig, true);
	lose(&rig, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	atomic_store(&rig.transactor.stop_at_us, clock_monotonic_us());
	assert_int_equal(producer_recovery_run(&rig.transactor, rig.assignment), OUTCOME_ENDED);
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_producer_is_replaced_and_the_next_transaction_goes_through),
		cmocka_unit_test(one_that_is_lost_again_and_again_is_given_up),
		cmocka_unit_test(one_that_was_fenced_in_time_has_a_rival),
		cmocka_unit_test(one_that_was_fenced_for_its_age_is_replaced),
		cmocka_unit_test(a_stop_renews_nothing),
	};
	return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
