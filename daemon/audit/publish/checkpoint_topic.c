#include "audit/publish/checkpoint_topic.h"

#include "common/list.h"

enum { MESSAGE_TIMEOUT_MS = 30000, CLOSE_MS = 1000 };

/* A note under way; the message's opaque. */
struct sending {
	struct list_node node;
	struct checkpoint_topic_outcome outcome;
	bool done;
	rd_kafka_resp_err_t before; /* why one of its log before it failed; 0: none has */
};

struct checkpoint_topic {
	rd_kafka_conf_t *conf; /* copied for each producer */
	rd_kafka_t *producer;  /* or NULL */
	char *name;
	struct list sendings; /* in the order in which they were sent */
};

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct sending *sending = message->_private;
	(void)client;
	(void)opaque;
	sending->done = true;
	sending->outcome.err = message->err;
}

err_t checkpoint_topic_new(const struct kafka_settings *settings, const char *topic,
			   struct checkpoint_topic **ret_topic, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms", MESSAGE_TIMEOUT_MS, detail);
	if (err)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	struct checkpoint_topic *made = calloc(1, sizeof *made);
	if (!made || !(made->name = strdup(topic)))
		abort();
	made->conf = TAKE_PTR(conf);
	list_init(&made->sendings);
	*ret_topic = made;
	return ERR_OK;
}

/* What is under way then has failed or arrived. */
static void drop_producer(struct checkpoint_topic *topic)
{
	if (!topic->producer)
		return;
	rd_kafka_purge(topic->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(topic->producer, CLOSE_MS);
	kafka_client_close(TAKE_PTR(topic->producer), CLOSE_MS);
	LIST_FOREACH (node, &topic->sendings) {
		struct sending *sending = container_of(node, struct sending, node);
		if (!sending->done)
			sending->outcome.err = RD_KAFKA_RESP_ERR__DESTROY;
		sending->done = true;
	}
}

void checkpoint_topic_free(struct checkpoint_topic *topic)
{
	if (!topic)
		return;
	drop_producer(topic);
	for (struct list_node *node; (node = list_take(&topic->sendings));)
		free(container_of(node, struct sending, node));
	rd_kafka_conf_destroy(topic->conf);
	free(topic->name);
	free(topic);
}

/* Whether it has to wait: the same one is under way, or one of that log has failed. */
static bool has_to_wait(struct checkpoint_topic *topic, int32_t partition, uint64_t size)
{
	if (topic->sendings.count >= CHECKPOINT_TOPIC_MAX_IN_FLIGHT)
		return true;
	LIST_FOREACH (node, &topic->sendings) {
		const struct sending *sending = container_of(node, struct sending, node);
		if (sending->outcome.partition == partition &&
		    (sending->outcome.size >= size || sending->before ||
		     (sending->done && sending->outcome.err)))
			return true;
	}
	return false;
}

static err_t need_producer(struct checkpoint_topic *topic, struct err_detail *detail)
{
	if (topic->producer)
		return ERR_OK;
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = rd_kafka_conf_dup(topic->conf);
	return kafka_client_new(RD_KAFKA_PRODUCER, &conf, &topic->producer, detail);
}

err_t checkpoint_topic_send(struct checkpoint_topic *topic, int32_t partition, uint64_t size, str_t origin,
			    str_t note, struct err_detail *detail)
{
	if (has_to_wait(topic, partition, size))
		return ERR_OK;
	err_t err = need_producer(topic, detail);
	if (err)
		return err;
	_cleanup_(cleanup_free) struct sending *sending = calloc(1, sizeof *sending);
	if (!sending)
		abort();
	sending->outcome.partition = partition;
	sending->outcome.size = size;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		topic->producer, RD_KAFKA_V_TOPIC(topic->name), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_KEY((void *)(uintptr_t)origin.ptr, origin.len),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)note.ptr, note.len), RD_KAFKA_V_OPAQUE(sending),
		RD_KAFKA_V_END);
	if (code == RD_KAFKA_RESP_ERR__FATAL) /* takes nothing any more: the next attempt has a new one */
		drop_producer(topic);
	if (code)
		return err_fail(detail, ERR_OUTPUT_REFUSED, "%s: %s", topic->name, rd_kafka_err2str(code));
	list_append(&topic->sendings, &TAKE_PTR(sending)->node);
	return ERR_OK;
}

void checkpoint_topic_poll(struct checkpoint_topic *topic, int timeout_ms)
{
	if (topic->producer && !list_empty(&topic->sendings))
		rd_kafka_poll(topic->producer, timeout_ms);
}

/* Those of its log that were sent before have to be told first, and when one failed, those behind it fail. */
static bool is_first_of_its_log(struct checkpoint_topic *topic, const struct sending *of)
{
	LIST_FOREACH (node, &topic->sendings) {
		const struct sending *sending = container_of(node, struct sending, node);
		if (sending == of)
			return true;
		if (sending->outcome.partition == of->outcome.partition)
			return false;
	}
	return true;
}

/* They may arrive all the same; then they are sent again behind that one. */
static void fail_those_behind(struct checkpoint_topic *topic, const struct checkpoint_topic_outcome *failed)
{
	LIST_FOREACH (node, &topic->sendings) {
		struct sending *sending = container_of(node, struct sending, node);
		if (sending->outcome.partition == failed->partition && !sending->before)
			sending->before = failed->err;
	}
}

bool checkpoint_topic_take(struct checkpoint_topic *topic, struct checkpoint_topic_outcome *ret_outcome)
{
	LIST_FOREACH (node, &topic->sendings) {
		struct sending *sending = container_of(node, struct sending, node);
		if (!sending->done || !is_first_of_its_log(topic, sending))
			continue;
		*ret_outcome = sending->outcome;
		if (sending->before)
			ret_outcome->err = sending->before;
		list_remove(&topic->sendings, node);
		free(sending);
		if (ret_outcome->err)
			fail_those_behind(topic, ret_outcome);
		return true;
	}
	return false;
}

size_t checkpoint_topic_count(const struct checkpoint_topic *topic)
{
	return topic->sendings.count;
}
