#include "kafka/topics.h"

#include "common/clock.h"

DEFINE_CLEANUP(rd_kafka_t, client_cleanup, rd_kafka_destroy)

static err_t check_topic(rd_kafka_t *client, const char *setting, const char *name, int timeout_ms,
			 struct err_detail *detail)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
	if (!topic)
		return err_fail(detail, ERR_KAFKA_TOPIC, "%s: \"%s\" is no name of a topic", setting, name);
	rd_kafka_resp_err_t err = rd_kafka_metadata(client, 0, topic, &metadata, timeout_ms);
	rd_kafka_topic_destroy(topic);
	if (err)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"%s: the cluster does not answer for topic \"%s\": %s", setting, name,
				rd_kafka_err2str(err));
	rd_kafka_resp_err_t topic_err =
		metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(metadata);
	if (topic_err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
		return ERR_OK; /* just being created, or a leader is about to be elected */
	if (topic_err)
		return err_fail(
			detail, ERR_KAFKA_TOPIC,
			"%s: topic \"%s\" cannot be used: %s; create it, or allow this client to use it",
			setting, name, rd_kafka_err2str(topic_err));
	return ERR_OK;
}

/* The first answer of the cluster, however long its connections take within the time. */
static err_t wait_for_cluster(rd_kafka_t *client, const struct kafka_settings *settings, int timeout_ms,
			      struct err_detail *detail)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err = rd_kafka_metadata(client, 0, NULL, &metadata, timeout_ms);
	if (err)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"kafka.bootstrap_servers: no answer from \"%s\" within %d s (%s)",
				settings->bootstrap_servers, timeout_ms / 1000, rd_kafka_err2str(err));
	rd_kafka_metadata_destroy(metadata);
	return ERR_OK;
}

err_t topics_check(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(client_cleanup) rd_kafka_t *client = NULL;
	const struct {
		const char *setting, *name;
	} topics[] = {
		{ "kafka.input_topic", settings->input_topic },
		{ "kafka.scored_topic", settings->scored_topic },
		{ "kafka.advisory_topic", settings->advisory_topic },
		{ "kafka.dead_letter_topic", settings->dead_letter_topic },
	};
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "allow.auto.create.topics", "false", detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &client, detail);
	if (!err)
		err = wait_for_cluster(client, settings, timeout_ms, detail);
	for (size_t i = 0; !err && i < sizeof topics / sizeof topics[0]; i++)
		err = check_topic(client, topics[i].setting, topics[i].name, timeout_ms, detail);
	return err;
}
