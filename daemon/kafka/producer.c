#include "kafka/producer.h"

#include "common/clock.h"
#include "common/log.h"
#include "kafka/rights.h"

enum {
	CALL_TIMEOUT_MS = 5000,	  /* of one librdkafka call; unfinished ones are called again */
	FLUSH_TIMEOUT_MS = 30000, /* at least once: until outputs count as not delivered */
	ZSTD_LEVEL = 1,
};

/* ---- messages ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct output *output = message->_private;
	(void)client;
	(void)opaque;
	if (message->err && output)
		output->refusal = message->err;
}

/* A topic that is missing or forbidden is a fault of the moment: its events wait until it is mended. */
bool producer_is_refusal(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
	case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
	case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
		return true;
	default:
		return false;
	}
}

bool producer_is_consequence(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
	       err == RD_KAFKA_RESP_ERR__STATE;
}

bool producer_is_too_large(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE || err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE;
}

bool producer_is_fenced(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__FENCED || err == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	       err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

static rd_kafka_headers_t *build_headers(const struct output *output)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(output->headers_count);
	for (size_t i = 0; i < output->headers_count; i++)
		rd_kafka_header_add(headers, output->headers[i].name, -1, output->headers[i].value.ptr,
				    (ssize_t)output->headers[i].value.len);
	return headers;
}

rd_kafka_resp_err_t producer_send(struct producer *producer, struct output *output)
{
	output->refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_headers_t *headers = build_headers(output);
	rd_kafka_vu_t arguments[] = {
		{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = producer->topics[output->topic] },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = RD_KAFKA_PARTITION_UA },
		{ .vtype = RD_KAFKA_VTYPE_KEY,
		  .u.mem = { (void *)(uintptr_t)output->key.ptr, output->key.len } },
		{ .vtype = RD_KAFKA_VTYPE_VALUE,
		  .u.mem = { (void *)(uintptr_t)output->value.ptr, output->value.len } },
		{ .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers },
		{ .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = output },
	};
	rd_kafka_error_t *error =
		rd_kafka_produceva(producer->client, arguments, sizeof arguments / sizeof arguments[0]);
	if (!error)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	rd_kafka_error_destroy(error);
	rd_kafka_headers_destroy(headers);
	return code;
}

/* ---- life ---- */

/* That no broker can be reached the source reports, once it lasts; that nothing is published, the publisher.
 */
static void on_error(rd_kafka_t *client, int err, const char *reason, void *opaque)
{
	(void)client, (void)err, (void)opaque;
	log_debug("producer: %s", reason);
}

static bool has_property(const struct kafka_settings *settings, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < settings->properties_count; i++)
		if (strncmp(settings->properties[i], name, len) == 0 && settings->properties[i][len] == '=')
			return true;
	return false;
}

/* Whether this librdkafka was built with it: a word of a list with commas. */
static bool has_feature(rd_kafka_conf_t *conf, const char *feature)
{
	char features[512];
	size_t size = sizeof features, len = strlen(feature);
	if (rd_kafka_conf_get(conf, "builtin.features", features, &size) != RD_KAFKA_CONF_OK)
		return false;
	for (const char *word = features; *word; word += strcspn(word, ","), word += *word == ',')
		if (strcspn(word, ",") == len && memcmp(word, feature, len) == 0)
			return true;
	return false;
}

/* Records repeat each other's words: zstd leaves an eighth of them, lz4 a quarter, and neither costs time
 * that shows beside scoring; zstd's first level leaves no more than its third. lz4 is always there. */
err_t producer_set_compression(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			       struct err_detail *detail)
{
	if (has_property(settings, "compression.type") || has_property(settings, "compression.codec"))
		return ERR_OK;
	bool zstd = has_feature(conf, "zstd");
	err_t err = kafka_conf_set(conf, "compression.type", zstd ? "zstd" : "lz4", detail);
	if (!err && zstd && !has_property(settings, "compression.level"))
		err = kafka_conf_set_int(conf, "compression.level", ZSTD_LEVEL, detail);
	return err;
}

static err_t build_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (!err && settings->exactly_once)
		err = kafka_conf_set(conf, "transactional.id", settings->instance_id, detail);
	if (!err && settings->exactly_once)
		err = kafka_conf_set_int(conf, "transaction.timeout.ms", settings->transaction_timeout_ms,
					 detail);
	/* below the transaction's: what the broker does not take is aborted before it does that by itself,
	 * after which this producer would be of no more use */
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms",
					 settings->exactly_once ? settings->transaction_timeout_ms / 3 * 2
								: FLUSH_TIMEOUT_MS,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.kbytes",
					 (long long)(settings->transaction_max_bytes / 1024) * 4 + 65536,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.max.bytes",
					 (long long)settings->max_message_bytes * 2, detail);
	if (!err)
		err = kafka_conf_set(conf, "linger.ms", "5", detail);
	if (!err)
		err = producer_set_compression(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static void open_topics(struct producer *producer)
{
	const struct kafka_settings *settings = producer->settings;
	const char *names[] = { [OUTPUT_SCORED] = settings->scored_topic,
				[OUTPUT_ADVISORY] = settings->advisory_topic,
				[OUTPUT_DEAD_LETTER] = settings->dead_letter_topic };
	for (size_t i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		producer->topics[i] = rd_kafka_topic_new(producer->client, names[i], NULL);
}

err_t producer_open(struct producer *producer, const struct kafka_settings *settings,
		    struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	*producer = (struct producer){ .settings = settings };
	err_t err = build_conf(settings, &conf, detail);
	if (err)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	rd_kafka_conf_set_error_cb(conf, on_error);
	err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &producer->client, detail);
	if (!err)
		open_topics(producer);
	return err;
}

static err_t lack_of_transactions(const struct kafka_settings *settings, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	rights_describe(settings, RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS), &text);
	return err_fail(detail, ERR_KAFKA_TOPIC, "%s", text.data);
}

err_t producer_claim(struct producer *producer, int timeout_ms, struct err_detail *detail)
{
	int64_t deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000;
	while (producer->settings->exactly_once) {
		_cleanup_(kafka_error_cleanup) rd_kafka_error_t *error =
			rd_kafka_init_transactions(producer->client, CALL_TIMEOUT_MS);
		if (!error)
			return ERR_OK;
		rd_kafka_resp_err_t code = rd_kafka_error_code(error);
		if (code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
			return lack_of_transactions(producer->settings, detail);
		if (!rd_kafka_error_is_retriable(error) && !kafka_is_passing(code))
			return err_fail(detail, ERR_KAFKA_FATAL, "transactions cannot be used as \"%s\": %s",
					producer->settings->instance_id, rd_kafka_error_string(error));
		if (clock_monotonic_us() >= deadline_us)
			return kafka_no_answer(producer->settings, timeout_ms, rd_kafka_error_string(error),
					       detail);
	}
	return ERR_OK;
}

/* Delivery reports point into events: they have to come before these go. */
void producer_close(struct producer *producer)
{
	if (!producer->client)
		return;
	rd_kafka_purge(producer->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(producer->client, CALL_TIMEOUT_MS);
	for (size_t i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		rd_kafka_topic_destroy(producer->topics[i]);
	kafka_client_close(TAKE_PTR(producer->client), CALL_TIMEOUT_MS);
}
