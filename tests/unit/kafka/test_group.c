/*
 * Who coordinates a group: brokers of our own that say what a real cluster says only while it moves groups.
 */
#include "kafka/group.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	BROKERS = 3,
	CONNECTIONS = 8,
	METADATA = 3,
	FIND_COORDINATOR = 10,
	DESCRIBE_GROUPS = 15,
	API_VERSIONS = 18,
	PATIENCE_MS = 20000, /* for what has to come */
	SILENCE_MS = 3000,   /* for what does not */
};

struct broker {
	int listener;
	uint16_t port;
	_Atomic(int) verdict; /* what it says of the group; < 0: nothing */
	atomic_uint asked;
	pthread_t thread;
};

static struct broker brokers[BROKERS];
static atomic_uint lookups; /* of the coordinator */
static atomic_bool ends;
static rd_kafka_t *client;

/* ---- answers ---- */

struct answer {
	unsigned char bytes[512];
	size_t size;
};

static void put(struct answer *answer, const void *bytes, size_t size)
{
	assert_true(answer->size + size <= sizeof answer->bytes);
	memcpy(answer->bytes + answer->size, bytes, size);
	answer->size += size;
}

static void put_i8(struct answer *answer, int value)
{
	put(answer, &(unsigned char){ (unsigned char)value }, 1);
}

static void put_i16(struct answer *answer, int value)
{
	put(answer, &(uint16_t){ htons((uint16_t)value) }, 2);
}

static void put_i32(struct answer *answer, int32_t value)
{
	put(answer, &(uint32_t){ htonl((uint32_t)value) }, 4);
}

static void put_text(struct answer *answer, const char *text)
{
	put_i16(answer, (int)strlen(text));
	put(answer, text, strlen(text));
}

/* The third version, which librdkafka asks for: compact, with tags. The others are offered in their first. */
static void put_versions(struct answer *answer)
{
	static const int16_t known[] = { METADATA, FIND_COORDINATOR, DESCRIBE_GROUPS, API_VERSIONS };
	put_i16(answer, 0);
	put_i8(answer, (int)(sizeof known / sizeof *known) + 1);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		put_i16(answer, known[i]);
		put_i16(answer, 0);
		put_i16(answer, known[i] == API_VERSIONS ? 3 : 0);
		put_i8(answer, 0);
	}
	put_i32(answer, 0);
	put_i8(answer, 0);
}

static void put_cluster(struct answer *answer)
{
	put_i32(answer, BROKERS);
	for (int i = 0; i < BROKERS; i++) {
		put_i32(answer, i + 1);
		put_text(answer, "127.0.0.1");
		put_i32(answer, brokers[i].port);
	}
	put_i32(answer, 0);
}

static void put_group(struct answer *answer, int verdict)
{
	put_i32(answer, 1);
	put_i16(answer, verdict);
	put_text(answer, "g");
	put_text(answer, verdict ? "" : "Stable");
	put_text(answer, verdict ? "" : "consumer");
	put_text(answer, "");
	put_i32(answer, 0);
}

static bool read_all(int socket, unsigned char *to, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t count = recv(socket, to + have, size - have, 0);
		if (count <= 0)
			return false;
		have += (size_t)count;
	}
	return true;
}

/* One request; false: the connection is over. */
static bool serve(struct broker *broker, int socket)
{
	unsigned char request[4096];
	uint32_t size;
	uint16_t api;
	struct answer answer = { .size = 4 };
	if (!read_all(socket, (unsigned char *)&size, 4) || (size = ntohl(size)) < 8 ||
	    size > sizeof request || !read_all(socket, request, size))
		return false;
	memcpy(&api, request, 2);
	put(&answer, request + 4, 4); /* its number */
	switch (ntohs(api)) {
	case API_VERSIONS:
		put_versions(&answer);
		break;
	case METADATA:
		put_cluster(&answer);
		break;
	case DESCRIBE_GROUPS:
		broker->asked++;
		if (broker->verdict < 0)
			return true;
		put_group(&answer, broker->verdict);
		break;
	default:
		lookups += ntohs(api) == FIND_COORDINATOR;
		return true; /* no answer */
	}
	uint32_t length = htonl((uint32_t)(answer.size - 4));
	memcpy(answer.bytes, &length, 4);
	return send(socket, answer.bytes, answer.size, MSG_NOSIGNAL) == (ssize_t)answer.size;
}

static void *broker_main(void *argument)
{
	struct broker *broker = argument;
	struct pollfd sockets[1 + CONNECTIONS] = { { .fd = broker->listener, .events = POLLIN } };
	nfds_t count = 1;
	while (!ends) {
		if (poll(sockets, count, 50) <= 0)
			continue;
		for (nfds_t i = count - 1; i > 0; i--)
			if (sockets[i].revents && !serve(broker, sockets[i].fd)) {
				close(sockets[i].fd);
				sockets[i] = sockets[--count];
			}
		if (sockets[0].revents && count <= CONNECTIONS)
			sockets[count++] = (struct pollfd){ .fd = accept(broker->listener, NULL, NULL),
							    .events = POLLIN };
	}
	while (count > 0)
		close(sockets[--count].fd);
	return NULL;
}

/* ---- the cluster ---- */

static void start_broker(struct broker *broker)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	broker->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(broker->listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(broker->listener, CONNECTIONS), 0);
	assert_int_equal(getsockname(broker->listener, (struct sockaddr *)&address, &size), 0);
	broker->port = ntohs(address.sin_port);
}

static int start(void **state)
{
	char bootstrap[64], reason[256];
	(void)state;
	ends = false;
	lookups = 0;
	for (int i = 0; i < BROKERS; i++) {
		brokers[i].verdict = RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
		brokers[i].asked = 0;
		start_broker(&brokers[i]);
	}
	for (int i = 0; i < BROKERS; i++)
		assert_int_equal(pthread_create(&brokers[i].thread, NULL, broker_main, &brokers[i]), 0);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	snprintf(bootstrap, sizeof bootstrap, "127.0.0.1:%u", brokers[0].port);
	rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, reason, sizeof reason);
	rd_kafka_conf_set(conf, "log_level", "0", reason, sizeof reason);
	client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
	return client ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rd_kafka_destroy(client);
	ends = true;
	for (int i = 0; i < BROKERS; i++)
		pthread_join(brokers[i].thread, NULL);
	return 0;
}

static rd_kafka_resp_err_t describe(int32_t *broker, int timeout_ms)
{
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = NULL;
	const rd_kafka_ConsumerGroupDescription_t *group = NULL;
	rd_kafka_resp_err_t err = group_describe(client, "g", broker, timeout_ms, &event, &group);
	if (!err)
		assert_string_equal(rd_kafka_ConsumerGroupDescription_group_id(group), "g");
	return err;
}

/* ---- tests ---- */

static void the_coordinator_is_found_and_kept(void **state)
{
	int32_t broker = 1;
	(void)state;
	brokers[2].verdict = 0;
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(broker, 3);
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(brokers[0].asked, 1);
	assert_int_equal(brokers[2].asked, 2);
	assert_int_equal(lookups, 0);
}

static void a_moved_group_is_found_again(void **state)
{
	int32_t broker = 3;
	(void)state;
	brokers[1].verdict = 0;
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(broker, 2);
}

/* librdkafka's own lookup of a coordinator aborts the process when it is answered too late. */
static void a_group_that_nobody_coordinates_is_not_looked_up(void **state)
{
	int32_t broker = 1;
	(void)state;
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
	assert_int_equal(broker, 1);
	for (int i = 0; i < BROKERS; i++)
		assert_int_equal(brokers[i].asked, 1);
	assert_int_equal(lookups, 0);
}

static void a_broker_that_is_silent_is_passed_over(void **state)
{
	int32_t broker = 1;
	(void)state;
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
	brokers[1].verdict = -1;
	brokers[2].verdict = 0;
	assert_int_equal(describe(&broker, SILENCE_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(broker, 3);
}

static void a_coordinator_that_loads_its_groups_is_the_answer(void **state)
{
	int32_t broker = 1;
	(void)state;
	brokers[1].verdict = RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
	brokers[2].verdict = 0;
	assert_int_equal(describe(&broker, PATIENCE_MS), RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
	assert_int_equal(broker, 1);
	assert_int_equal(brokers[2].asked, 0);
}

static void silence_has_an_end(void **state)
{
	int32_t broker = 1;
	(void)state;
	brokers[0].verdict = -1;
	assert_int_equal(describe(&broker, SILENCE_MS), RD_KAFKA_RESP_ERR__TIMED_OUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_coordinator_is_found_and_kept, start, stop),
		cmocka_unit_test_setup_teardown(a_moved_group_is_found_again, start, stop),
		cmocka_unit_test_setup_teardown(a_group_that_nobody_coordinates_is_not_looked_up, start,
						stop),
		cmocka_unit_test_setup_teardown(a_broker_that_is_silent_is_passed_over, start, stop),
		cmocka_unit_test_setup_teardown(a_coordinator_that_loads_its_groups_is_the_answer, start,
						stop),
		cmocka_unit_test_setup_teardown(silence_has_an_end, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
