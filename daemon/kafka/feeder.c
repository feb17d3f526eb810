#include "kafka/feeder.h"

#include "common/clock.h"
#include "kafka/producer.h"
#include "kafka/rights.h"

#include <stdio.h>

enum { QUEUE_MESSAGES = 20000, QUEUE_KBYTES = 65536, POLL_MS = 100, PURGE_MS = 5000, CLOSE_MS = 5000 };

/* One of a batch that was refused; the copy is its own. */
struct feeder_again {
	uint64_t number;
	char *key, *value;
	size_t key_len, value_len;
};

struct feeder {
	struct feeder_options options;
	rd_kafka_t *client;
	rd_kafka_topic_t *topic;
	struct feeder_again *again; /* as many as were in flight at most */
	size_t again_count, again_capacity;
	bool giving_up;
	err_t failure; /* why no more is sent */
	struct err_detail failure_detail;
};

/* ---- reports ---- */

/* The lowest bit of what a message carries: it was sent alone. */
static void *tag_of(uint64_t number, bool alone)
{
	return (void *)(uintptr_t)(number << 1 | alone);
}

static char *copy(const void *data, size_t len)
{
	char *copied = data ? malloc(len + 1) : NULL;
	if (data && !copied)
		abort();
	if (data)
		memcpy(copied, data, len);
	return copied;
}

static void keep(struct feeder *feeder, uint64_t number, const rd_kafka_message_t *message)
{
	if (feeder->again_count == feeder->again_capacity) {
		feeder->again_capacity = feeder->again_capacity ? 2 * feeder->again_capacity : 64;
		feeder->again = reallocarray(feeder->again, feeder->again_capacity, sizeof *feeder->again);
		if (!feeder->again)
			abort();
	}
	feeder->again[feeder->again_count++] =
		(struct feeder_again){ .number = number,
				       .key = copy(message->key, message->key_len),
				       .key_len = message->key_len,
				       .value = copy(message->payload, message->len),
				       .value_len = message->len };
}

static void fail(struct feeder *feeder, rd_kafka_resp_err_t code, const char *reason)
{
	const struct kafka_settings *settings = feeder->options.settings;
	if (feeder->failure || feeder->giving_up)
		return;
	if (rights_are_missing(code))
		feeder->failure =
			err_fail(&feeder->failure_detail, ERR_KAFKA_TOPIC,
				 "this client lacks WRITE on topic \"%s\"; grant it (kafka-acls.sh --add "
				 "--allow-principal … --operation Write --topic %s)",
				 settings->input_topic, settings->input_topic);
	else if (code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
		feeder->failure = kafka_no_answer(settings, feeder->options.patience_ms, reason,
						  &feeder->failure_detail);
	else
		feeder->failure =
			err_fail(&feeder->failure_detail, ERR_KAFKA_UNAVAILABLE,
				 "the topic \"%s\" takes no events: %s", settings->input_topic, reason);
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct feeder *feeder = opaque;
	uint64_t tag = (uintptr_t)message->_private, number = tag >> 1;
	bool alone = tag & 1, refused = producer_is_refusal(message->err);
	(void)client;
	if (refused && !alone && !feeder->giving_up && !feeder->failure) {
		keep(feeder, number, message);
		return;
	}
	const char *reason = message->err ? rd_kafka_err2str(message->err) : NULL;
	enum feeder_outcome outcome =
		!message->err ? FEEDER_DELIVERED
		: refused     ? FEEDER_REFUSED
		: rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED ? FEEDER_DOUBTFUL
											     : FEEDER_LOST;
	if (message->err && !refused)
		fail(feeder, message->err, reason);
	feeder->options.report(number, outcome, reason, feeder->options.context);
}

/* ---- life ---- */

static err_t build_conf(const struct feeder_options *options, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	const struct kafka_settings *settings = options->settings;
	long long largest = (long long)settings->max_message_bytes + (1 << 20);
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms", options->patience_ms, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.max.bytes", largest, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.messages", QUEUE_MESSAGES, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.kbytes", QUEUE_KBYTES + largest / 1024,
					 detail);
	if (!err)
		err = kafka_conf_set(conf, "linger.ms", "20", detail);
	if (!err)
		err = producer_set_compression(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

err_t feeder_new(const struct feeder_options *options, struct feeder **ret_feeder, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(feeder_cleanup) struct feeder *feeder = calloc(1, sizeof *feeder);
	if (!feeder)
		abort();
	feeder->options = *options;
	err_t err = build_conf(options, &conf, detail);
	if (err)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	rd_kafka_conf_set_opaque(conf, feeder);
	err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &feeder->client, detail);
	if (err)
		return err;
	feeder->topic = rd_kafka_topic_new(feeder->client, options->settings->input_topic, NULL);
	if (!feeder->topic)
		return err_fail(detail, ERR_KAFKA_TOPIC,
				"kafka.input_topic: \"%s\" is not a valid topic name",
				options->settings->input_topic);
	*ret_feeder = TAKE_PTR(feeder);
	return ERR_OK;
}

static void ignore(uint64_t number, enum feeder_outcome outcome, const char *reason, void *context)
{
	(void)number, (void)outcome, (void)reason, (void)context;
}

void feeder_free(struct feeder *feeder)
{
	if (!feeder)
		return;
	feeder->options.report = ignore;
	if (feeder->client)
		feeder_give_up(feeder);
	if (feeder->topic)
		rd_kafka_topic_destroy(feeder->topic);
	kafka_client_close(feeder->client, CLOSE_MS);
	free(feeder->again);
	free(feeder);
}

/* ---- sending ---- */

static err_t failure_of(const struct feeder *feeder, struct err_detail *detail)
{
	return err_fail(detail, feeder->failure, "%s", feeder->failure_detail.message);
}

static err_t enqueue(struct feeder *feeder, str_t key, str_t value, uint64_t number, bool alone,
		     struct err_detail *detail)
{
	while (!feeder->failure) {
		if (rd_kafka_produce(feeder->topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
				     (void *)(uintptr_t)value.ptr, value.len, key.ptr, key.len,
				     tag_of(number, alone)) == 0) {
			rd_kafka_poll(feeder->client, 0);
			return ERR_OK;
		}
		rd_kafka_resp_err_t code = rd_kafka_last_error();
		if (producer_is_refusal(code)) {
			feeder->options.report(number, FEEDER_REFUSED, rd_kafka_err2str(code),
					       feeder->options.context);
			return ERR_OK;
		}
		if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			feeder->failure =
				err_fail(&feeder->failure_detail, ERR_KAFKA_FATAL,
					 "the Kafka client failed permanently: %s", rd_kafka_err2str(code));
			break;
		}
		if (feeder->options.stopping())
			return ERR_SHUTTING_DOWN;
		rd_kafka_poll(feeder->client, POLL_MS);
	}
	return failure_of(feeder, detail);
}

/* Until nothing is on its way; false: told to stop, or the time is over. */
static bool wait_for_reports(struct feeder *feeder, int64_t deadline_us)
{
	while (rd_kafka_outq_len(feeder->client) > 0 && !feeder->failure) {
		rd_kafka_flush(feeder->client, POLL_MS);
		if (deadline_us ? clock_monotonic_us() >= deadline_us : feeder->options.stopping())
			return rd_kafka_outq_len(feeder->client) == 0;
	}
	return true;
}

/* Those of refused batches, each in a batch of its own. */
static err_t send_again(struct feeder *feeder, int64_t deadline_us, struct err_detail *detail)
{
	err_t err = ERR_OK;
	bool any = feeder->again_count > 0;
	while (!err && feeder->again_count > 0 && wait_for_reports(feeder, deadline_us)) {
		struct feeder_again one = feeder->again[feeder->again_count - 1];
		err = enqueue(feeder, (str_t){ one.key, one.key_len }, (str_t){ one.value, one.value_len },
			      one.number, true, detail);
		if (err)
			break;
		feeder->again_count--;
		free(one.key);
		free(one.value);
	}
	if (any) /* what follows is not to join the batch of the last one */
		wait_for_reports(feeder, deadline_us);
	return err;
}

err_t feeder_send(struct feeder *feeder, str_t key, str_t value, uint64_t number, struct err_detail *detail)
{
	err_t err = send_again(feeder, 0, detail);
	return err ? err : enqueue(feeder, key, value, number, false, detail);
}

err_t feeder_flush(struct feeder *feeder, int timeout_ms, struct err_detail *detail)
{
	int64_t deadline_us = timeout_ms > 0 ? clock_monotonic_us() + INT64_C(1000) * timeout_ms : 0;
	err_t err = ERR_OK;
	do {
		if (!wait_for_reports(feeder, deadline_us))
			return ERR_OK;
		err = send_again(feeder, deadline_us, detail);
	} while (!err && !feeder->failure &&
		 (rd_kafka_outq_len(feeder->client) > 0 || feeder->again_count > 0));
	return feeder->failure ? failure_of(feeder, detail) : err;
}

void feeder_give_up(struct feeder *feeder)
{
	feeder->giving_up = true;
	rd_kafka_purge(feeder->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(feeder->client, PURGE_MS);
	for (size_t i = 0; i < feeder->again_count; i++) {
		feeder->options.report(feeder->again[i].number, FEEDER_LOST, "it was not sent",
				       feeder->options.context);
		free(feeder->again[i].key);
		free(feeder->again[i].value);
	}
	feeder->again_count = 0;
}
