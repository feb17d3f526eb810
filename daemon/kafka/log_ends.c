#include "kafka/log_ends.h"

#include "common/clock.h"

#include <time.h>

enum { CLOSE_MS = 5000, PAUSE_NS = 200000000 };

static void close_client(rd_kafka_t *client)
{
	kafka_client_close(client, CLOSE_MS);
}

DEFINE_CLEANUP(rd_kafka_t, client_cleanup, close_client)

/* A leader that is new, or on its way, does not know the end yet. */
static rd_kafka_resp_err_t ask(rd_kafka_t *client, const char *topic, int32_t partition, int64_t deadline_us,
			       int64_t *ret_end)
{
	const struct timespec pause = { 0, PAUSE_NS };
	for (;;) {
		int64_t low, left_us = deadline_us - clock_monotonic_us();
		rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
			client, topic, partition, &low, ret_end, left_us > 1000 ? (int)(left_us / 1000) : 1);
		if (!code || !kafka_is_passing(code) || clock_monotonic_us() >= deadline_us)
			return code;
		nanosleep(&pause, NULL);
	}
}

err_t log_ends_ask(const struct kafka_settings *settings, const char *topic, int count, int timeout_ms,
		   int64_t *ret_ends, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	int64_t deadline_us = clock_monotonic_us() + INT64_C(1000) * timeout_ms;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err) /* what librdkafka asks with, whatever kind of client it is */
		err = kafka_conf_set(conf, "isolation.level", "read_uncommitted", detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &client, detail);
	for (int i = 0; !err && i < count; i++) {
		rd_kafka_resp_err_t code = ask(client, topic, i, deadline_us, &ret_ends[i]);
		if (code)
			err = err_fail(detail, ERR_KAFKA_UNAVAILABLE, "partition %d of %s: %s", i, topic,
				       rd_kafka_err2str(code));
	}
	return err;
}
