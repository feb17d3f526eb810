#include "kafka/topics.h"

#include "common/buf.h"
#include "kafka/reason.h"

enum { CLOSE_MS = 5000 }; /* of one client */

static void close_client(rd_kafka_t *client)
{
	kafka_client_close(client, CLOSE_MS);
}

DEFINE_CLEANUP(rd_kafka_t, client_cleanup, close_client)

/* `ret_denied`: all that is wrong is that this client may not ask. */
static err_t check_topic(const struct kafka_settings *settings, rd_kafka_t *client, const char *setting,
			 const char *name, int timeout_ms, bool *ret_denied, struct err_detail *detail)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
	*ret_denied = false;
	if (!topic)
		return err_fail(detail, ERR_KAFKA_TOPIC, "%s: \"%s\" is not a valid topic name", setting,
				name);
	rd_kafka_resp_err_t err = rd_kafka_metadata(client, 0, topic, &metadata, timeout_ms);
	rd_kafka_topic_destroy(topic);
	if (err)
		return kafka_no_answer(settings, timeout_ms, rd_kafka_err2str(err), detail);
	rd_kafka_resp_err_t topic_err =
		metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(metadata);
	if (topic_err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
		return ERR_OK; /* just being created, or a leader is about to be elected */
	if (topic_err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		return err_fail(detail, ERR_KAFKA_TOPIC, "%s: topic \"%s\" does not exist: create it",
				setting, name);
	*ret_denied = topic_err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	if (*ret_denied)
		return err_fail(detail, ERR_KAFKA_TOPIC,
				"%s: this client has no permission on topic \"%s\": grant it (kafka-acls.sh "
				"--add --allow-principal …)",
				setting, name);
	if (topic_err)
		return err_fail(detail, ERR_KAFKA_TOPIC, "%s: topic \"%s\" cannot be used: %s", setting, name,
				rd_kafka_err2str(topic_err));
	return ERR_OK;
}

/* The first answer of the cluster, however long its connections take within the time. */
static err_t wait_for_cluster(rd_kafka_t *client, const struct kafka_settings *settings, int timeout_ms,
			      struct err_detail *detail)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err = rd_kafka_metadata(client, 0, NULL, &metadata, timeout_ms);
	if (err)
		return kafka_no_answer(settings, timeout_ms, rd_kafka_err2str(err), detail);
	rd_kafka_metadata_destroy(metadata);
	kafka_reason_forget();
	return ERR_OK;
}

static err_t open_client(const struct kafka_settings *settings, rd_kafka_t **ret_client,
			 struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err) /* whatever kafka.properties say */
		err = kafka_conf_set(conf, "allow.auto.create.topics", "false", detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, ret_client, detail);
	return err;
}

/* A topic with the setting that names it. */
struct named_topic {
	const char *setting, *name;
	int replicas;	     /* the fewest of its partitions; 0: not known, likewise below */
	int64_t max_message; /* max.message.bytes */
	int64_t min_in_sync; /* min.insync.replicas */
	int64_t retention_ms;
	bool compacted;
};

enum { INPUT, SCORED, ADVISORY, DEAD_LETTER, FEEDBACK, TOPICS };

static const char feedback_setting[] = "kafka.feedback_topic";

/* All that are used, the one of feedback last, in the order of the enumeration; their number. */
static size_t name_topics(const struct kafka_settings *settings, struct named_topic ret_topics[TOPICS])
{
	ret_topics[INPUT] =
		(struct named_topic){ .setting = "kafka.input_topic", .name = settings->input_topic };
	ret_topics[SCORED] =
		(struct named_topic){ .setting = "kafka.scored_topic", .name = settings->scored_topic };
	ret_topics[ADVISORY] =
		(struct named_topic){ .setting = "kafka.advisory_topic", .name = settings->advisory_topic };
	ret_topics[DEAD_LETTER] = (struct named_topic){ .setting = "kafka.dead_letter_topic",
							.name = settings->dead_letter_topic };
	ret_topics[FEEDBACK] =
		(struct named_topic){ .setting = feedback_setting, .name = settings->feedback_topic };
	return settings->feedback_topic ? TOPICS : FEEDBACK;
}

err_t topics_check(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	struct named_topic topics[TOPICS];
	err_t err = open_client(settings, &client, detail);
	name_topics(settings, topics);
	if (!err)
		err = wait_for_cluster(client, settings, timeout_ms, detail);
	if (err)
		return err;
	_cleanup_(buf_free) struct buf faults = BUF_INIT; /* all of them at once */
	for (size_t i = 0; i < FEEDBACK && err != ERR_KAFKA_UNAVAILABLE; i++) {
		struct err_detail fault = { "" };
		bool denied;
		err_t one = check_topic(settings, client, topics[i].setting, topics[i].name, timeout_ms,
					&denied, &fault);
		if (one)
			buf_printf(&faults, "%s%s", faults.len ? "; " : "", fault.message);
		err = one ? one : err;
	}
	return err ? err_fail(detail, err, "%s", faults.data) : ERR_OK;
}

static right_set right_to_write(size_t topic)
{
	switch (topic) {
	case SCORED:
		return RIGHT_BIT(RIGHT_WRITE_SCORED);
	case ADVISORY:
		return RIGHT_BIT(RIGHT_WRITE_ADVISORY);
	case DEAD_LETTER:
		return RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER);
	default:
		return 0;
	}
}

err_t topics_check_all(const struct kafka_settings *settings, int timeout_ms, topics_refused_fn refused,
		       void *context, right_set *ret_untestable, struct err_detail *detail)
{
	*ret_untestable = 0;
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	struct named_topic topics[TOPICS];
	err_t err = open_client(settings, &client, detail);
	size_t count = name_topics(settings, topics);
	if (!err)
		err = wait_for_cluster(client, settings, timeout_ms, detail);
	for (size_t i = 0; !err && i < count; i++) {
		struct err_detail reason = { "" };
		bool denied;
		err_t topic_err = check_topic(settings, client, topics[i].setting, topics[i].name, timeout_ms,
					      &denied, &reason);
		if (topic_err)
			refused(topic_err, &reason, context);
		if (topic_err && !denied)
			*ret_untestable |= right_to_write(i);
		if (topic_err == ERR_KAFKA_UNAVAILABLE) /* once is enough to wait for */
			break;
	}
	return err;
}

err_t topics_check_input(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	bool denied;
	err_t err = open_client(settings, &client, detail);
	if (!err)
		err = wait_for_cluster(client, settings, timeout_ms, detail);
	if (!err)
		err = check_topic(settings, client, "kafka.input_topic", settings->input_topic, timeout_ms,
				  &denied, detail);
	return err;
}

err_t topics_check_feedback(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	if (!settings->feedback_topic)
		return ERR_OK;
	bool denied;
	err_t err = open_client(settings, &client, detail);
	if (!err)
		err = check_topic(settings, client, feedback_setting, settings->feedback_topic, timeout_ms,
				  &denied, detail);
	return err;
}

/* ---- what is doubtful ---- */

DEFINE_CLEANUP(rd_kafka_queue_t, queue_cleanup, rd_kafka_queue_destroy)
DEFINE_CLEANUP(rd_kafka_event_t, event_cleanup, rd_kafka_event_destroy)
DEFINE_CLEANUP(rd_kafka_AdminOptions_t, options_cleanup, rd_kafka_AdminOptions_destroy)

static void count_replicas(rd_kafka_t *client, struct named_topic *topic, int timeout_ms)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic->name, NULL);
	if (!handle)
		return;
	if (rd_kafka_metadata(client, 0, handle, &metadata, timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		const struct rd_kafka_metadata_topic *found = &metadata->topics[0];
		for (int i = 0; metadata->topic_cnt == 1 && i < found->partition_cnt; i++)
			if (topic->replicas == 0 || found->partitions[i].replica_cnt < topic->replicas)
				topic->replicas = found->partitions[i].replica_cnt;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(handle);
}

static void take_limit(struct named_topic *topic, const rd_kafka_ConfigEntry_t *entry)
{
	const char *name = rd_kafka_ConfigEntry_name(entry), *value = rd_kafka_ConfigEntry_value(entry);
	if (!name || !value) /* a value that is a secret, or that the broker does not know */
		return;
	if (strcmp(name, "max.message.bytes") == 0)
		topic->max_message = strtoll(value, NULL, 10);
	if (strcmp(name, "min.insync.replicas") == 0)
		topic->min_in_sync = strtoll(value, NULL, 10);
	if (strcmp(name, "retention.ms") == 0)
		topic->retention_ms = strtoll(value, NULL, 10);
	if (strcmp(name, "cleanup.policy") == 0)
		topic->compacted = strstr(value, "compact") != NULL;
}

static void take_limits(struct named_topic *topics, size_t topics_count, const rd_kafka_event_t *event)
{
	size_t count = 0, entries_count = 0;
	const rd_kafka_DescribeConfigs_result_t *result =
		rd_kafka_event_DescribeConfigs_result((rd_kafka_event_t *)(uintptr_t)event);
	const rd_kafka_ConfigResource_t **resources =
		result ? rd_kafka_DescribeConfigs_result_resources(result, &count) : NULL;
	for (size_t i = 0; i < count; i++) {
		const rd_kafka_ConfigEntry_t **entries =
			rd_kafka_ConfigResource_configs(resources[i], &entries_count);
		const char *name = rd_kafka_ConfigResource_name(resources[i]);
		for (size_t t = 0; name && entries && t < topics_count; t++)
			if (strcmp(name, topics[t].name) == 0)
				for (size_t e = 0; e < entries_count; e++)
					take_limit(&topics[t], entries[e]);
	}
}

static void read_limits(rd_kafka_t *client, struct named_topic *topics, size_t topics_count, int timeout_ms)
{
	_cleanup_(queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_ConfigResource_t *resources[TOPICS];
	for (size_t i = 0; i < topics_count; i++)
		resources[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topics[i].name);
	/* any broker will do: without this it would be the controller, which not every cluster names */
	_cleanup_(options_cleanup) rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	int32_t broker = kafka_answering_broker(client, timeout_ms);
	char reason[256];
	if (broker >= 0)
		rd_kafka_AdminOptions_set_broker(options, broker, reason, sizeof reason);
	rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, reason, sizeof reason);
	rd_kafka_DescribeConfigs(client, resources, topics_count, options, queue);
	_cleanup_(event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
	if (event && !rd_kafka_event_error(event))
		take_limits(topics, topics_count, event);
	rd_kafka_ConfigResource_destroy_array(resources, topics_count);
}

err_t topics_compacted(const struct kafka_settings *settings, int timeout_ms,
		       struct topics_compacted *ret_compacted, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	struct named_topic topics[TOPICS];
	err_t err = open_client(settings, &client, detail);
	if (err)
		return err;
	size_t count = name_topics(settings, topics);
	read_limits(client, topics, count, timeout_ms);
	*ret_compacted =
		(struct topics_compacted){ .scored = topics[SCORED].compacted,
					   .feedback = count > FEEDBACK && topics[FEEDBACK].compacted };
	return ERR_OK;
}

err_t topics_check_checkpoints(const struct kafka_settings *settings, int timeout_ms, bool *ret_compacted,
			       struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	struct named_topic topic = { .setting = "audit.checkpoint_topic",
				     .name = settings->checkpoint_topic };
	bool denied;
	err_t err = open_client(settings, &client, detail);
	if (!err)
		err = check_topic(settings, client, topic.setting, topic.name, timeout_ms, &denied, detail);
	if (err)
		return err;
	read_limits(client, &topic, 1, timeout_ms);
	*ret_compacted = topic.compacted;
	return ERR_OK;
}

/* Of feedback the last message of an event is all that counts. */
static void remark_on_cleanup(const struct named_topic *topics, struct buf *notes)
{
	static const char *const losses[] = {
		[INPUT] = "events with the same key replace each other, even if they are unread",
		[SCORED] = ("records of one event_id replace each other, and \"assayd calibration --verify\" "
			    "cannot rely on the log"),
		[ADVISORY] = "advisories of one event replace each other",
		[DEAD_LETTER] = "events without a key cannot become dead letters, and their partitions pause",
	};
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (topics[i].compacted)
			buf_printf(notes, "topic \"%s\" has cleanup.policy = compact: %s; set delete\n",
				   topics[i].name, losses[i]);
	const int64_t longest_window_ms = INT64_C(7) * 24 * 3600 * 1000;
	if (topics[SCORED].retention_ms > 0 && topics[SCORED].retention_ms < longest_window_ms)
		buf_printf(
			notes,
			"topic \"%s\" keeps records for %lld h: older records are not available for audits, "
			"and the 7-day window of the calibration cannot be verified or rebuilt completely\n",
			topics[SCORED].name, (long long)(topics[SCORED].retention_ms / 3600000));
}

/* A verification counts anew what may have been fed back to, and what that was. */
static void remark_on_horizon(const struct named_topic *topics, size_t topics_count, int64_t horizon_ms,
			      struct buf *notes)
{
	static const size_t counted[] = { SCORED, FEEDBACK };
	for (size_t i = 0; i < sizeof counted / sizeof *counted && horizon_ms > 0; i++) {
		const struct named_topic *topic = &topics[counted[i]];
		if (counted[i] < topics_count && topic->retention_ms > 0 &&
		    topic->retention_ms < 2 * horizon_ms)
			buf_printf(
				notes,
				"topic \"%s\" keeps messages for %lld h, less than twice "
				"calibration.feedback_horizon_s (%lld h): late feedback cannot be verified; "
				"raise retention.ms\n",
				topic->name, (long long)(topic->retention_ms / 3600000),
				(long long)(horizon_ms / 3600000));
	}
}

static void remark(const struct kafka_settings *settings, const struct named_topic *topics,
		   size_t topics_count, struct buf *notes)
{
	int64_t input = topics[INPUT].max_message;
	for (size_t i = 0; i < topics_count; i++) {
		if (topics[i].replicas == 1)
			buf_printf(notes,
				   "topic \"%s\" has a single replica: a lost broker loses messages; give it "
				   "three where there are as many brokers\n",
				   topics[i].name);
		if (i != INPUT && topics[i].replicas > 1 && topics[i].min_in_sync == 1)
			buf_printf(notes,
				   "topic \"%s\" has min.insync.replicas = 1: a broker that fails right "
				   "after its acknowledgement may lose messages; set 2\n",
				   topics[i].name);
	}
	if (input > (int64_t)settings->max_message_bytes + 4096)
		buf_printf(notes,
			   "topic \"%s\" accepts messages of %lld bytes, kafka.max_message_bytes is %zu: "
			   "larger events become dead letters; set its max.message.bytes to %zu\n",
			   topics[INPUT].name, (long long)input, settings->max_message_bytes,
			   settings->max_message_bytes);
	if (input && topics[SCORED].max_message && topics[SCORED].max_message < 2 * input)
		buf_printf(notes,
			   "topic \"%s\" accepts %lld bytes, less than twice the %lld of the input: records "
			   "of large events are published without the event; set its max.message.bytes to "
			   "%lld\n",
			   topics[SCORED].name, (long long)topics[SCORED].max_message, (long long)input,
			   2 * (long long)input);
	if (input && topics[DEAD_LETTER].max_message && topics[DEAD_LETTER].max_message < input)
		buf_printf(notes,
			   "topic \"%s\" accepts %lld bytes, less than the input: large dead letters are "
			   "truncated; set its max.message.bytes to %lld\n",
			   topics[DEAD_LETTER].name, (long long)topics[DEAD_LETTER].max_message,
			   (long long)input);
	remark_on_cleanup(topics, notes);
}

err_t topics_inspect(const struct kafka_settings *settings, int64_t feedback_horizon_ms, int timeout_ms,
		     struct arena *arena, str_t *ret_notes, struct err_detail *detail)
{
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	_cleanup_(buf_free) struct buf notes = BUF_INIT;
	struct named_topic topics[TOPICS];
	err_t err = open_client(settings, &client, detail);
	if (err)
		return err;
	size_t topics_count = name_topics(settings, topics);
	for (size_t i = 0; i < topics_count; i++)
		count_replicas(client, &topics[i], timeout_ms);
	read_limits(client, topics, topics_count, timeout_ms);
	remark(settings, topics, topics_count, &notes);
	remark_on_horizon(topics, topics_count, feedback_horizon_ms, &notes);
	*ret_notes = arena_str(arena, buf_str(&notes));
	return ERR_OK;
}
