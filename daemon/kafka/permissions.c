#include "kafka/permissions.h"

#include "common/buf.h"
#include "common/clock.h"
#include "kafka/producer.h"

enum { POLL_MS = 100 };

/* Far above what a topic can have. */
#define NO_PARTITION INT32_MAX

/* Confirmations are 0, 1 and -1 (all); brokers have refused anything else since there are transactions. */
#define NO_CONFIRMATION "2"

DEFINE_CLEANUP(rd_kafka_t, client_cleanup, rd_kafka_destroy)
DEFINE_CLEANUP(rd_kafka_queue_t, queue_cleanup, rd_kafka_queue_destroy)
DEFINE_CLEANUP(rd_kafka_event_t, event_cleanup, rd_kafka_event_destroy)

struct attempts {
	const struct kafka_settings *settings;
	int timeout_ms;
	struct buf missing;
	bool instance_runs; /* a member of the group has this instance's name */
};

static void add_missing(struct attempts *attempts, const char *right, const char *kind, const char *name)
{
	buf_printf(&attempts->missing, "%s%s on %s \"%s\"", attempts->missing.len ? ", " : "", right, kind,
		   name);
}

static err_t no_answer(const char *what, const char *name, rd_kafka_resp_err_t err, struct err_detail *detail)
{
	return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "permissions of %s \"%s\" cannot be tried: %s", what,
			name, rd_kafka_err2str(err));
}

/* ---- groups and what they read ---- */

static bool has_member(const rd_kafka_ConsumerGroupDescription_t *group, const char *instance)
{
	for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(group); i++) {
		const char *name = rd_kafka_MemberDescription_group_instance_id(
			rd_kafka_ConsumerGroupDescription_member(group, i));
		if (name && strcmp(name, instance) == 0)
			return true;
	}
	return false;
}

/* What the coordinator says of the group; whoever may read may ask. */
static rd_kafka_resp_err_t describe(struct attempts *attempts, rd_kafka_t *client, const char *group)
{
	_cleanup_(queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	size_t count = 0;
	rd_kafka_DescribeConsumerGroups(client, &group, 1, NULL, queue);
	_cleanup_(event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, attempts->timeout_ms);
	if (!event)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (rd_kafka_event_error(event))
		return rd_kafka_event_error(event);
	const rd_kafka_ConsumerGroupDescription_t **groups = rd_kafka_DescribeConsumerGroups_result_groups(
		rd_kafka_event_DescribeConsumerGroups_result(event), &count);
	if (count != 1)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
	if (!error)
		attempts->instance_runs |= has_member(groups[0], attempts->settings->instance_id);
	return error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

struct committed {
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;
	bool done;
};

static void on_commit(rd_kafka_t *client, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *offsets,
		      void *opaque)
{
	struct committed *committed = opaque;
	(void)client;
	committed->err = err;
	committed->list = offsets ? rd_kafka_topic_partition_list_copy(offsets) : NULL;
	committed->done = true;
}

/* Commits offsets of partitions that are not there. */
static void commit_nothing(struct attempts *attempts, rd_kafka_t *client, const char *const *topics,
			   size_t count, struct committed *committed)
{
	_cleanup_(queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * attempts->timeout_ms;
	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topics[i], NO_PARTITION)->offset = 0;
	*committed = (struct committed){ .err = RD_KAFKA_RESP_ERR__TIMED_OUT };
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(client, list, queue, on_commit, committed);
	if (err)
		*committed = (struct committed){ .err = err, .done = true };
	while (!committed->done && clock_monotonic_us() < until_us) {
		_cleanup_(event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, POLL_MS);
		if (event && rd_kafka_event_type(event) == RD_KAFKA_EVENT_OFFSET_COMMIT)
			on_commit(client, rd_kafka_event_error(event),
				  rd_kafka_event_topic_partition_list(event), committed);
	}
}

static err_t try_reading(struct attempts *attempts, const char *group, const char *const *topics,
			 size_t count, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	struct committed committed = { NULL, RD_KAFKA_RESP_ERR_NO_ERROR, false };
	err_t err = kafka_conf_new(attempts->settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "group.id", group, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &client, detail);
	if (err)
		return err;
	rd_kafka_resp_err_t answer = describe(attempts, client, group);
	if (!answer) {
		commit_nothing(attempts, client, topics, count, &committed);
		answer = committed.err;
	}
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = committed.list;
	if (answer == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		add_missing(attempts, "READ", "group", group);
	else if (!list)
		return no_answer("group", group, answer, detail);
	for (int i = 0; list && i < list->cnt; i++)
		if (list->elems[i].err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			add_missing(attempts, "READ", "topic", list->elems[i].topic);
	return ERR_OK;
}

static err_t try_calibrating(struct attempts *attempts, struct err_detail *detail)
{
	char group[256];
	const char *const topics[] = { attempts->settings->scored_topic, attempts->settings->feedback_topic };
	snprintf(group, sizeof group, "%s" KAFKA_CALIBRATION_SUFFIX, attempts->settings->group_id);
	return try_reading(attempts, group, topics, topics[1] ? 2 : 1, detail);
}

/* ---- outputs ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	(void)client;
	(void)opaque;
	*(rd_kafka_resp_err_t *)message->_private = message->err;
}

static err_t open_producer(const struct attempts *attempts, rd_kafka_t **ret_client,
			   struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(attempts->settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.idempotence", "false", detail);
	if (!err)
		err = kafka_conf_set(conf, "acks", NO_CONFIRMATION, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms", attempts->timeout_ms, detail);
	if (err)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	return kafka_client_new(RD_KAFKA_PRODUCER, &conf, ret_client, detail);
}

static err_t try_writing(struct attempts *attempts, struct err_detail *detail)
{
	const struct kafka_settings *settings = attempts->settings;
	const char *const topics[] = { settings->scored_topic, settings->advisory_topic,
				       settings->dead_letter_topic };
	enum { COUNT = sizeof topics / sizeof *topics };
	rd_kafka_resp_err_t answers[COUNT];
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	err_t err = open_producer(attempts, &client, detail);
	if (err)
		return err;
	for (size_t i = 0; i < COUNT; i++) {
		answers[i] = RD_KAFKA_RESP_ERR__TIMED_OUT;
		rd_kafka_resp_err_t refused =
			rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topics[i]), RD_KAFKA_V_VALUE(NULL, 0),
					  RD_KAFKA_V_OPAQUE(&answers[i]), RD_KAFKA_V_END);
		if (refused)
			answers[i] = refused;
	}
	rd_kafka_flush(client, attempts->timeout_ms + POLL_MS);
	for (size_t i = 0; !err && i < COUNT; i++) {
		if (answers[i] == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			add_missing(attempts, "WRITE", "topic", topics[i]);
		else if (answers[i] && answers[i] != RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS)
			err = no_answer("topic", topics[i], answers[i], detail);
	}
	/* reports that have not come point into this function */
	rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(client, attempts->timeout_ms);
	return err;
}

/* ---- transactions ---- */

static err_t try_transactions(struct attempts *attempts, struct err_detail *detail)
{
	const struct kafka_settings *settings = attempts->settings;
	_cleanup_(producer_close) struct producer producer = { .settings = settings };
	if (!settings->exactly_once || attempts->instance_runs)
		return ERR_OK;
	err_t err = producer_open(&producer, settings, detail);
	if (err)
		return err;
	_cleanup_(kafka_error_cleanup) rd_kafka_error_t *error =
		rd_kafka_init_transactions(producer.client, attempts->timeout_ms);
	if (!error)
		return ERR_OK;
	if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
		return err_fail(detail, ERR_KAFKA_FATAL, "transactions cannot be used as \"%s\": %s",
				settings->instance_id, rd_kafka_error_string(error));
	add_missing(attempts, "WRITE", "transactional id", settings->instance_id);
	return ERR_OK;
}

/* ---- all ---- */

static err_t try_all(struct attempts *attempts, bool calibrates, struct err_detail *detail)
{
	const struct kafka_settings *settings = attempts->settings;
	err_t err = try_reading(attempts, settings->group_id, &settings->input_topic, 1, detail);
	if (!err && calibrates)
		err = try_calibrating(attempts, detail);
	if (!err)
		err = try_writing(attempts, detail);
	return err ? err : try_transactions(attempts, detail);
}

err_t permissions_check(const struct kafka_settings *settings, bool calibrates, int timeout_ms,
			struct err_detail *detail)
{
	struct attempts attempts = { .settings = settings, .timeout_ms = timeout_ms, .missing = BUF_INIT };
	err_t err = try_all(&attempts, calibrates, detail);
	if (!err && attempts.missing.len)
		err = err_fail(detail, ERR_KAFKA_TOPIC,
			       "this client lacks %.*s; grant it (kafka-acls.sh --add --allow-principal …)",
			       (int)attempts.missing.len, attempts.missing.data);
	buf_free(&attempts.missing);
	return err;
}
