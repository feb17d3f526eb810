#include "kafka/permissions.h"

#include "common/clock.h"

#include <librdkafka/rdkafka_mock.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/* librdkafka's mock cluster, which cannot tell who is in a group, as brokers of old; what real ones deny is
 * in the integration suites. */

enum { OFFSET_COMMIT = 8, FIND_COORDINATOR = 10, INIT_PRODUCER_ID = 22, MAX_ERRORS = 6, PATIENCE_MS = 60000 };

/* librdkafka 2.0.2 loses the operation of a request that the broker does not know, which the mock cluster's
 * does not: 176 bytes each time, in `check` alone. */
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

static int start_cluster(void **state)
{
	char reason[256];
	(void)state;
	host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof reason);
	assert_non_null(host);
	cluster = rd_kafka_mock_cluster_new(host, 1);
	assert_non_null(cluster);
	const char *const topics[] = { "input", "scored", "advisory", "letters" };
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		rd_kafka_mock_topic_create(cluster, topics[i], 1, 1);
	settings.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster);
	return 0;
}

static int stop_cluster(void **state)
{
	(void)state;
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(host);
	return 0;
}

static void answers_of_a_coordinator(void **state)
{
	static const struct {
		const char *what;
		int16_t request;
		size_t count;
		rd_kafka_resp_err_t errors[MAX_ERRORS];
		err_t expected;
		const char *says;
	} cases[] = {
		{ "nothing is wrong", OFFSET_COMMIT, 0, { RD_KAFKA_RESP_ERR_NO_ERROR }, ERR_OK, NULL },
		{ "a coordinator that has just come to it",
		  OFFSET_COMMIT,
		  3,
		  { RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
		    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE },
		  ERR_OK,
		  NULL },
		{ "none yet",
		  FIND_COORDINATOR,
		  2,
		  { RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
		    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE },
		  ERR_OK,
		  NULL },
		{ "no right",
		  OFFSET_COMMIT,
		  1,
		  { RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED },
		  ERR_KAFKA_TOPIC,
		  "READ on group \"group\"" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err_detail detail = { "" };
		bool runs = true;
		print_message("%s\n", cases[i].what);
		rd_kafka_mock_push_request_errors_array(cluster, cases[i].request, cases[i].count,
							cases[i].errors);
		err_t err = permissions_check(&settings, false, 0, PATIENCE_MS, &runs, &detail);
		rd_kafka_mock_clear_request_errors(cluster, cases[i].request);
		if (err != cases[i].expected)
			print_error("%s\n", err_message(err, &detail));
		assert_int_equal(err, cases[i].expected);
		assert_false(runs);
		if (cases[i].says)
			assert_non_null(strstr(detail.message, cases[i].says));
		assert_int_equal(kafka_clients_left(), 0);
	}
}

static void a_coordinator_that_never_comes_is_given_up(void **state)
{
	struct err_detail detail = { "" };
	bool runs = true;
	rd_kafka_resp_err_t errors[1000];
	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		errors[i] = RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
	rd_kafka_mock_push_request_errors_array(cluster, OFFSET_COMMIT, sizeof errors / sizeof *errors,
						errors);
	assert_int_equal(permissions_check(&settings, false, 0, 2000, &runs, &detail), ERR_KAFKA_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "group \"group\""));
	rd_kafka_mock_clear_request_errors(cluster, OFFSET_COMMIT);
}

static _Atomic bool stuck;

static void log_and_stick(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client;
	(void)level;
	(void)facility;
	(void)text;
	while (stuck)
		usleep(10000);
}

/* One of its threads does not come to its end. */
static void a_client_that_does_not_end_is_left_behind(void **state)
{
	char reason[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	(void)state;
	assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", settings.bootstrap_servers, reason,
					   sizeof reason),
			 RD_KAFKA_CONF_OK);
	assert_int_equal(rd_kafka_conf_set(conf, "debug", "all", reason, sizeof reason), RD_KAFKA_CONF_OK);
	rd_kafka_conf_set_log_cb(conf, log_and_stick);
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
	assert_non_null(client);
	assert_int_equal(kafka_clients_left(), 0);
	stuck = true;
	int64_t before_us = clock_monotonic_us();
	kafka_client_close(client, 300);
	assert_true(clock_monotonic_us() - before_us >= 300000);
	assert_int_equal(kafka_clients_left(), 1);
	stuck = false;
	while (kafka_clients_left() > 0) /* it ends after all, and is not counted any more */
		usleep(10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_a_coordinator),
		cmocka_unit_test(a_coordinator_that_never_comes_is_given_up),
		cmocka_unit_test(a_client_that_does_not_end_is_left_behind),
	};
	return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
