/*
 * The floor that the daemon is measured against: copies messages from one topic to another, offsets and
 * copies in one transaction, and does nothing else. Ends after COUNT messages.
 */
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MESSAGES = 5000, LINGER_MS = 50, TIMEOUT_MS = 30000, AGAIN_MS = 100 };

static void die(const char *what, const char *why)
{
	fprintf(stderr, "passthrough: %s: %s\n", what, why);
	exit(1);
}

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void must(const char *what, rd_kafka_error_t *error)
{
	if (error)
		die(what, rd_kafka_error_string(error));
}

/* A new broker is no coordinator for a moment. */
static bool passes(rd_kafka_error_t *error, long deadline_ms)
{
	rd_kafka_resp_err_t code = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
	bool again = error && now_ms() < deadline_ms &&
		     (rd_kafka_error_is_retriable(error) || code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
		      code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
		      code == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
	if (again) {
		rd_kafka_error_destroy(error);
		usleep(AGAIN_MS * 1000);
	}
	return again;
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *const (*properties)[2], size_t count)
{
	char reason[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	for (size_t i = 0; i < count; i++)
		if (rd_kafka_conf_set(conf, properties[i][0], properties[i][1], reason, sizeof reason) !=
		    RD_KAFKA_CONF_OK)
			die(properties[i][0], reason);
	rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
	if (!made)
		die("client", reason);
	return made;
}

/* Copies messages until a transaction is full or old; returns how many. */
static long fill(rd_kafka_t *consumer, rd_kafka_t *producer, const char *output, long most)
{
	long copied = 0, deadline_ms = 0;
	while (copied < most && (copied == 0 || now_ms() < deadline_ms)) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, copied ? 5 : 1000);
		if (!message)
			continue;
		if (message->err)
			die("consumer", rd_kafka_message_errstr(message));
		if (copied++ == 0)
			deadline_ms = now_ms() + LINGER_MS;
		rd_kafka_resp_err_t err;
		while ((err = rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(output),
						RD_KAFKA_V_VALUE(message->payload, message->len),
						RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END)) ==
		       RD_KAFKA_RESP_ERR__QUEUE_FULL)
			rd_kafka_poll(producer, 10);
		if (err)
			die("producer", rd_kafka_err2str(err));
		rd_kafka_message_destroy(message);
	}
	return copied;
}

static void commit(rd_kafka_t *consumer, rd_kafka_t *producer)
{
	rd_kafka_topic_partition_list_t *offsets;
	rd_kafka_assignment(consumer, &offsets);
	rd_kafka_position(consumer, offsets);
	rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);
	rd_kafka_error_t *error;
	long deadline_ms = now_ms() + TIMEOUT_MS;
	do
		error = rd_kafka_send_offsets_to_transaction(producer, offsets, group, TIMEOUT_MS);
	while (passes(error, deadline_ms));
	must("offsets", error);
	must("commit", rd_kafka_commit_transaction(producer, TIMEOUT_MS));
	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(offsets);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fputs("Usage: passthrough BROKERS INPUT OUTPUT COUNT\n", stderr);
		return 64;
	}
	const char *const consuming[][2] = { { "bootstrap.servers", argv[1] },
					     { "group.id", argv[3] },
					     { "isolation.level", "read_committed" },
					     { "enable.auto.commit", "false" },
					     { "auto.offset.reset", "earliest" } };
	const char *const producing[][2] = { { "bootstrap.servers", argv[1] },
					     { "transactional.id", argv[3] },
					     { "linger.ms", "5" } };
	rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, consuming, sizeof consuming / sizeof consuming[0]);
	rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, producing, sizeof producing / sizeof producing[0]);
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_poll_set_consumer(consumer);
	rd_kafka_error_t *error;
	long deadline_ms = now_ms() + TIMEOUT_MS;
	do
		error = rd_kafka_init_transactions(producer, TIMEOUT_MS);
	while (passes(error, deadline_ms));
	must("transactions", error);
	rd_kafka_topic_partition_list_add(topics, argv[2], RD_KAFKA_PARTITION_UA);
	rd_kafka_subscribe(consumer, topics);
	rd_kafka_topic_partition_list_destroy(topics);
	for (long left = strtol(argv[4], NULL, 10); left > 0;) {
		must("begin", rd_kafka_begin_transaction(producer));
		left -= fill(consumer, producer, argv[3], left < MAX_MESSAGES ? left : MAX_MESSAGES);
		commit(consumer, producer);
	}
	rd_kafka_consumer_close(consumer);
	rd_kafka_destroy(consumer);
	rd_kafka_destroy(producer);
	return 0;
}
