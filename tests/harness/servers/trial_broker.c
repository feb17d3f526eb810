/*
 * A Kafka broker to try things with, where no Apache Kafka is at hand: librdkafka's mock cluster in a process
 * of its own. Everything is kept in memory, a few MiB a partition.
 *
 * No stand-in for the real one where delivery matters: it shows aborted messages to read_committed readers
 * and forgets the offsets of a transaction.
 */
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

static const char usage[] = "Usage: trial_broker TOPIC:PARTITIONS...\n"
			    "Serves an in-memory Kafka on a free port of 127.0.0.1 and prints its address.\n"
			    "Ends on SIGTERM or SIGINT, or when a pipe on standard input is closed.\n";

/* Returns 0, or what is wrong with the argument. */
static const char *create_topic(rd_kafka_mock_cluster_t *cluster, const char *argument)
{
	char topic[250] = "";
	const char *colon = strrchr(argument, ':');
	if (!colon || colon == argument || (size_t)(colon - argument) >= sizeof(topic))
		return "expected TOPIC:PARTITIONS";
	memcpy(topic, argument, (size_t)(colon - argument));
	char *end = NULL;
	long partitions = strtol(colon + 1, &end, 10);
	if (end == colon + 1 || *end || partitions < 1 || partitions > 1000)
		return "partitions must be 1 to 1000";
	rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(cluster, topic, (int)partitions, 1);
	return error ? rd_kafka_err2str(error) : NULL;
}

/* The handle that the mock cluster needs to live in; its own log lines would only confuse. */
static rd_kafka_t *new_host(void)
{
	char reason[256] = "";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set(conf, "log_level", "3", reason, sizeof(reason));
	rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	if (!host)
		fprintf(stderr, "trial_broker: %s\n", reason);
	return host;
}

/* Blocks until somebody wants the broker to end. */
static void wait_for_end(const sigset_t *signals)
{
	struct stat input;
	int is_pipe =
		fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
	struct pollfd wait[2] = {
		{ .fd = signalfd(-1, signals, SFD_CLOEXEC), .events = POLLIN },
		{ .fd = is_pipe ? STDIN_FILENO : -1, .events = POLLIN },
	};
	for (;;) {
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return;
		if (wait[0].revents)
			return;
		char byte;
		if (wait[1].revents && read(STDIN_FILENO, &byte, 1) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') {
		fputs(usage, argc < 2 ? stderr : stdout);
		return argc < 2 ? EX_USAGE : 0;
	}
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	rd_kafka_t *host = new_host();
	if (!host)
		return EX_SOFTWARE;
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(host, 1);
	int status = cluster ? 0 : EX_OSERR;
	for (int i = 1; i < argc && !status; i++) {
		const char *wrong = create_topic(cluster, argv[i]);
		if (wrong) {
			fprintf(stderr, "trial_broker: %s: %s\n", argv[i], wrong);
			status = EX_USAGE;
		}
	}
	if (!status) {
		puts(rd_kafka_mock_cluster_bootstraps(cluster));
		fflush(stdout);
		wait_for_end(&signals);
	}
	if (cluster)
		rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(host);
	return status;
}
