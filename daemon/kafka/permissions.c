#include "kafka/permissions.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "kafka/group.h"
#include "kafka/producer.h"
#include "kafka/reason.h"

#include <assert.h>

enum {
	POLL_MS = 100,
	UNDISTURBED_MS = 1000, /* a wait that a stop does not end */
	CLOSE_MS = 5000,       /* of one client */
	AGAIN_MS = 200,
	RETRY_MS = 1,
	NUDGE_MS = 20, /* an answer takes less, mostly */
};

/* librdkafka's broker in memory, which takes what real ones refuse and forbids nothing: the beginning of its
 * cluster's id. */
#define MOCK_CLUSTER "mockCluster"

/* Far above what a topic can have. */
#define NO_PARTITION INT32_MAX

/* Confirmations are 0, 1 and -1 (all); brokers have refused anything else since there are transactions. */
#define NO_CONFIRMATION "2"

static void close_client(rd_kafka_t *client)
{
	kafka_client_close(client, CLOSE_MS);
}

DEFINE_CLEANUP(rd_kafka_t, client_cleanup, close_client)

struct attempts {
	const struct kafka_settings *settings;
	int timeout_ms;
	const _Atomic bool *stopping; /* ends all waiting; or NULL */
	right_set untestable;	      /* to write */
	right_set known, missing;
	bool instance_runs; /* a member of the group has this instance's name, or that is not known */
	bool member_seen;   /* one has */
};

static bool stops(const struct attempts *attempts)
{
	return attempts->stopping && atomic_load(attempts->stopping);
}

static void find_right(struct attempts *attempts, enum right right, bool there)
{
	attempts->known |= RIGHT_BIT(right);
	if (!there)
		attempts->missing |= RIGHT_BIT(right);
}

static err_t no_answer(const char *what, const char *name, rd_kafka_resp_err_t err, struct err_detail *detail)
{
	char reason[KAFKA_REASON_SIZE];
	bool known = kafka_is_passing(err) && kafka_reason(reason);
	return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "permissions on %s \"%s\" cannot be tested: %s%s%s",
			what, name, rd_kafka_err2str(err), known ? "; " : "", known ? reason : "");
}

/* ---- groups and what they read ---- */

/* Finds out whether a member of the group has our name. A broker that cannot tell leaves it open whether the
 * instance runs: then its name is not claimed. */
static rd_kafka_resp_err_t look_for_instance(struct attempts *attempts, rd_kafka_t *client, const char *group,
					     int timeout_ms)
{
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = NULL;
	const rd_kafka_ConsumerGroupDescription_t *description;
	int32_t broker = -1;
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * timeout_ms;
	while (broker < 0 && !stops(attempts) && clock_monotonic_us() < until_us)
		broker = kafka_answering_broker(client, UNDISTURBED_MS);
	if (broker < 0)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (attempts->stopping && timeout_ms > UNDISTURBED_MS)
		timeout_ms = UNDISTURBED_MS; /* it is asked again as long as there is time */
	rd_kafka_resp_err_t err = group_describe(client, group, &broker, timeout_ms, &event, &description);
	if (err == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
		attempts->instance_runs = true;
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	if (!err && group_has_instance(description, attempts->settings->instance_id))
		attempts->member_seen = attempts->instance_runs = true;
	return err;
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
static void commit_nothing(const struct attempts *attempts, rd_kafka_t *client,
			   const struct right_name *topics, size_t count, int timeout_ms,
			   struct committed *committed)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * timeout_ms;
	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topics[i].name, NO_PARTITION)->offset = 0;
	*committed = (struct committed){ .err = RD_KAFKA_RESP_ERR__TIMED_OUT };
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(client, list, queue, on_commit, committed);
	if (err)
		*committed = (struct committed){ .err = err, .done = true };
	while (!committed->done && !stops(attempts) && clock_monotonic_us() < until_us) {
		_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, NUDGE_MS);
		if (!event)
			kafka_nudge(client);
		else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_OFFSET_COMMIT)
			on_commit(client, rd_kafka_event_error(event),
				  rd_kafka_event_topic_partition_list(event), committed);
	}
}

/* One attempt; `ret_list`, which the caller destroys, has an error for each topic, or is NULL. */
static rd_kafka_resp_err_t ask_group(struct attempts *attempts, rd_kafka_t *client, const char *group,
				     const struct right_name *topics, size_t count, int timeout_ms,
				     rd_kafka_topic_partition_list_t **ret_list)
{
	struct committed committed = { NULL, RD_KAFKA_RESP_ERR_NO_ERROR, false };
	rd_kafka_resp_err_t err = look_for_instance(attempts, client, group, timeout_ms);
	if (err)
		return err;
	commit_nothing(attempts, client, topics, count, timeout_ms, &committed);
	*ret_list = committed.list;
	return committed.err;
}

static err_t open_consumer(const struct attempts *attempts, const char *group, rd_kafka_t **ret_client,
			   struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(attempts->settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "group.id", group, detail);
	if (!err) /* what is refused because the partition is not there is asked again, twice */
		err = kafka_conf_set_int(conf, "retry.backoff.ms", RETRY_MS, detail);
	return err ? err : kafka_client_new(RD_KAFKA_CONSUMER, &conf, ret_client, detail);
}

/* That of the group, and those of topics that are read with it. */
static err_t try_reading(struct attempts *attempts, enum right group, const enum right *rights, size_t count,
			 struct err_detail *detail)
{
	enum { MAX_TOPICS = 2 };
	struct right_name name, topics[MAX_TOPICS];
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	int64_t left_ms, until_us = clock_monotonic_us() + INT64_C(1000) * attempts->timeout_ms;
	rd_kafka_resp_err_t answer = RD_KAFKA_RESP_ERR__TIMED_OUT;
	assert(count <= MAX_TOPICS);
	right_name(attempts->settings, group, &name);
	for (size_t i = 0; i < count; i++)
		right_name(attempts->settings, rights[i], &topics[i]);
	err_t err = open_consumer(attempts, name.name, &client, detail);
	if (err)
		return err;
	while (!stops(attempts) && (left_ms = (until_us - clock_monotonic_us()) / 1000) > 0) {
		answer = ask_group(attempts, client, name.name, topics, count, (int)left_ms, &list);
		if (!kafka_is_passing(answer))
			break;
		kafka_list_cleanup(&list);
		list = NULL;
		usleep(AGAIN_MS * 1000); /* a coordinator that has just come to it, say */
	}
	bool refused = answer == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	if (!refused && !list)
		return no_answer("group", name.name, answer, detail);
	find_right(attempts, group, !refused);
	for (size_t i = 0; !refused && i < count; i++) {
		const rd_kafka_topic_partition_t *found =
			rd_kafka_topic_partition_list_find(list, topics[i].name, NO_PARTITION);
		if (found)
			find_right(attempts, rights[i],
				   found->err != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	}
	return ERR_OK;
}

static err_t try_scoring(struct attempts *attempts, struct err_detail *detail)
{
	static const enum right input = RIGHT_READ_INPUT;
	return try_reading(attempts, RIGHT_READ_GROUP, &input, 1, detail);
}

static err_t try_calibrating(struct attempts *attempts, struct err_detail *detail)
{
	static const enum right topics[] = { RIGHT_READ_SCORED, RIGHT_READ_FEEDBACK };
	return try_reading(attempts, RIGHT_READ_CALIBRATION, topics,
			   attempts->settings->feedback_topic ? 2 : 1, detail);
}

static err_t try_auditing(struct attempts *attempts, struct err_detail *detail)
{
	static const enum right scored = RIGHT_READ_SCORED;
	return try_reading(attempts, RIGHT_READ_AUDIT, &scored, 1, detail);
}

static err_t try_webhook(struct attempts *attempts, struct err_detail *detail)
{
	static const enum right advisories = RIGHT_READ_ADVISORIES;
	return try_reading(attempts, RIGHT_READ_WEBHOOK, &advisories, 1, detail);
}

static err_t try_otlp(struct attempts *attempts, struct err_detail *detail)
{
	static const enum right scored = RIGHT_READ_SCORED;
	return try_reading(attempts, RIGHT_READ_OTLP, &scored, 1, detail);
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

/* Whether this is a broker in memory, where trying would leave messages behind; < 0: not known. */
static int is_mock(const struct attempts *attempts, rd_kafka_t *client)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * attempts->timeout_ms;
	char *cluster = NULL;
	while (!cluster && !stops(attempts) && clock_monotonic_us() < until_us)
		cluster = rd_kafka_clusterid(client, UNDISTURBED_MS);
	int mock = cluster ? strncmp(cluster, MOCK_CLUSTER, strlen(MOCK_CLUSTER)) == 0 : -1;
	rd_kafka_mem_free(client, cluster);
	return mock;
}

static void flush(const struct attempts *attempts, rd_kafka_t *client)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * attempts->timeout_ms + POLL_MS * 1000;
	while (rd_kafka_flush(client, POLL_MS) == RD_KAFKA_RESP_ERR__TIMED_OUT && !stops(attempts) &&
	       clock_monotonic_us() < until_us)
		;
}

static const enum right outputs[] = { RIGHT_WRITE_SCORED, RIGHT_WRITE_ADVISORY, RIGHT_WRITE_DEAD_LETTER,
				      RIGHT_WRITE_CHECKPOINTS };

enum { OUTPUTS = sizeof outputs / sizeof *outputs };

static bool is_tried(const struct attempts *attempts, enum right right)
{
	return !(attempts->untestable & RIGHT_BIT(right)) &&
	       (right != RIGHT_WRITE_CHECKPOINTS ||
		(attempts->settings->audits && attempts->settings->checkpoint_topic));
}

/* Sends what no topic takes; `answer` is set by its report, or here. A message that goes to a topic by name
 * alone would wait until librdkafka 2.0.2 looks at what it does not know yet, which it does every second. */
static void send_one(rd_kafka_t *client, const char *name, rd_kafka_resp_err_t *answer)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
	*answer = RD_KAFKA_RESP_ERR__TIMED_OUT;
	rd_kafka_resp_err_t refused =
		topic ? rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_VALUE(NULL, 0),
					  RD_KAFKA_V_OPAQUE(answer), RD_KAFKA_V_END)
		      : rd_kafka_last_error();
	if (refused)
		*answer = refused;
	if (topic)
		rd_kafka_topic_destroy(topic);
}

static err_t send_nothing(struct attempts *attempts, rd_kafka_t *client, struct err_detail *detail)
{
	struct right_name topics[OUTPUTS];
	rd_kafka_resp_err_t answers[OUTPUTS];
	err_t err = ERR_OK;
	for (size_t i = 0; i < OUTPUTS; i++) {
		if (!is_tried(attempts, outputs[i]))
			continue;
		right_name(attempts->settings, outputs[i], &topics[i]);
		send_one(client, topics[i].name, &answers[i]);
	}
	flush(attempts, client);
	for (size_t i = 0; i < OUTPUTS; i++) {
		bool refused = answers[i] == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
		if (!is_tried(attempts, outputs[i]))
			continue;
		if (refused || !answers[i] || answers[i] == RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS)
			find_right(attempts, outputs[i], !refused);
		else if (!err)
			err = no_answer("topic", topics[i].name, answers[i], detail);
	}
	/* reports that have not come point into this function */
	rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(client, attempts->timeout_ms);
	return err;
}

static err_t try_writing(struct attempts *attempts, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	err_t err = open_producer(attempts, &client, detail);
	if (err)
		return err;
	int mock = is_mock(attempts, client);
	if (mock < 0)
		return kafka_no_answer(attempts->settings, attempts->timeout_ms,
				       "it does not identify itself", detail);
	if (!mock)
		return send_nothing(attempts, client, detail);
	attempts->known |= RIGHTS_OF_OUTPUTS;
	return ERR_OK;
}

/* ---- transactions ---- */

static err_t try_transactions(struct attempts *attempts, struct err_detail *detail)
{
	const struct kafka_settings *settings = attempts->settings;
	_cleanup_(producer_close) struct producer producer = { .settings = settings };
	if (!settings->exactly_once || attempts->instance_runs)
		return ERR_OK;
	err_t err = producer_open(&producer, settings, detail);
	if (!err)
		err = producer_claim(&producer, attempts->timeout_ms, detail);
	if (err && err != ERR_KAFKA_TOPIC)
		return err;
	find_right(attempts, RIGHT_WRITE_TRANSACTIONS, !err);
	return ERR_OK;
}

/* ---- all ---- */

static err_t try_all(struct attempts *attempts, bool calibrates, struct err_detail *detail)
{
	err_t err = try_scoring(attempts, detail);
	if (!err && calibrates)
		err = try_calibrating(attempts, detail);
	if (!err && attempts->settings->audits)
		err = try_auditing(attempts, detail);
	if (!err && attempts->settings->webhook)
		err = try_webhook(attempts, detail);
	if (!err && attempts->settings->otlp)
		err = try_otlp(attempts, detail);
	if (!err)
		err = try_writing(attempts, detail);
	return err ? err : try_transactions(attempts, detail);
}

/* Rights to read topics, which are asked of a group that may not be asked. */
static void append_hidden(const struct attempts *attempts, bool calibrates, struct buf *out)
{
	right_set hidden = rights_needed(attempts->settings, calibrates) & ~attempts->known &
			   (RIGHT_BIT(RIGHT_READ_INPUT) | RIGHT_BIT(RIGHT_READ_SCORED) |
			    RIGHT_BIT(RIGHT_READ_FEEDBACK) | RIGHT_BIT(RIGHT_READ_ADVISORIES));
	struct right_name name;
	const char *before = "; only with the group can be tested: ";
	for (enum right right = 0; right < RIGHT_COUNT_; right++) {
		if (!(hidden & RIGHT_BIT(right)))
			continue;
		right_name(attempts->settings, right, &name);
		buf_printf(out, "%s%s on %s \"%s\"", before, name.operation, name.resource, name.name);
		before = ", ";
	}
}

err_t permissions_check(const struct kafka_settings *settings, bool calibrates, right_set untestable,
			int timeout_ms, bool *ret_instance_runs, struct err_detail *detail)
{
	struct attempts attempts = { .settings = settings,
				     .timeout_ms = timeout_ms,
				     .untestable = untestable };
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	err_t err = try_all(&attempts, calibrates, detail);
	if (!err && attempts.missing) {
		rights_describe(settings, attempts.missing, &text);
		append_hidden(&attempts, calibrates, &text);
		err = err_fail(detail, ERR_KAFKA_TOPIC, "%s", text.data);
	}
	*ret_instance_runs = attempts.member_seen;
	return err;
}

right_set permissions_look(const struct kafka_settings *settings, right_set wanted, int timeout_ms,
			   const _Atomic bool *stopping, right_set *ret_missing)
{
	struct attempts attempts = { .settings = settings, .timeout_ms = timeout_ms, .stopping = stopping };
	struct err_detail detail = { "" };
	err_t err = ERR_OK;
	if (wanted & (RIGHT_BIT(RIGHT_READ_GROUP) | RIGHT_BIT(RIGHT_READ_INPUT)))
		err = try_scoring(&attempts, &detail);
	if (err)
		log_debug("rights: %s", err_message(err, &detail));
	err = !stops(&attempts) && (wanted & RIGHTS_OF_OUTPUTS) ? try_writing(&attempts, &detail) : ERR_OK;
	if (err)
		log_debug("rights: %s", err_message(err, &detail));
	*ret_missing = attempts.missing & wanted;
	return attempts.known & wanted;
}

err_t permissions_check_input(const struct kafka_settings *settings, bool dead_letters, int timeout_ms,
			      struct err_detail *detail)
{
	struct kafka_settings outputs_are_inputs = *settings;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	right_set wanted = RIGHT_BIT(RIGHT_WRITE_SCORED), missing;
	outputs_are_inputs.scored_topic = outputs_are_inputs.advisory_topic = settings->input_topic;
	outputs_are_inputs.audits = outputs_are_inputs.webhook = outputs_are_inputs.otlp = false;
	if (dead_letters)
		wanted |= RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER);
	else
		outputs_are_inputs.dead_letter_topic = settings->input_topic;
	permissions_look(&outputs_are_inputs, wanted, timeout_ms, NULL, &missing);
	if (!missing)
		return ERR_OK;
	rights_describe(&outputs_are_inputs, missing, &text);
	return err_fail(detail, ERR_KAFKA_TOPIC, "%s", text.data);
}
