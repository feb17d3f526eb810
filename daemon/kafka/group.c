#include "kafka/group.h"

#include "common/clock.h"

DEFINE_CLEANUP(rd_kafka_AdminOptions_t, options_cleanup, rd_kafka_AdminOptions_destroy)

static rd_kafka_resp_err_t ask(rd_kafka_t *client, const char *group, int32_t broker, int timeout_ms,
			       rd_kafka_event_t **ret_event,
			       const rd_kafka_ConsumerGroupDescription_t **ret_group)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	_cleanup_(options_cleanup) rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
	char reason[256];
	size_t count = 0;
	rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, reason, sizeof reason);
	rd_kafka_AdminOptions_set_broker(options, broker, reason, sizeof reason);
	rd_kafka_DescribeConsumerGroups(client, &group, 1, options, queue);
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
	if (!event)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (rd_kafka_event_error(event))
		return rd_kafka_event_error(event);
	const rd_kafka_ConsumerGroupDescription_t **groups = rd_kafka_DescribeConsumerGroups_result_groups(
		rd_kafka_event_DescribeConsumerGroups_result(event), &count);
	if (count != 1)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
	if (error)
		return rd_kafka_error_code(error);
	*ret_group = groups[0];
	*ret_event = TAKE_PTR(event);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Whether another broker than the one that answered so, or did not answer, may coordinate the group. */
static bool may_be_another(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_NOT_COORDINATOR || err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
	       err == RD_KAFKA_RESP_ERR__TRANSPORT;
}

/*
 * librdkafka 2.0.2 can look the coordinator up itself, but not safely: when its request ends (no answer in
 * time, or a coordinator that does not know it) before the coordinator is found, it frees what the lookup
 * still uses, and the process aborts when the coordinator is back. So each broker is asked by its number.
 */
rd_kafka_resp_err_t group_describe(rd_kafka_t *client, const char *group, int32_t *broker, int timeout_ms,
				   rd_kafka_event_t **ret_event,
				   const rd_kafka_ConsumerGroupDescription_t **ret_group)
{
	const struct rd_kafka_metadata *metadata;
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * 3 * timeout_ms;
	rd_kafka_resp_err_t err = ask(client, group, *broker, timeout_ms, ret_event, ret_group);
	if (err != RD_KAFKA_RESP_ERR_NOT_COORDINATOR)
		return err;
	rd_kafka_resp_err_t unknown = rd_kafka_metadata(client, 0, NULL, &metadata, timeout_ms);
	if (unknown)
		return unknown;
	for (int i = 0; i < metadata->broker_cnt && may_be_another(err) && clock_monotonic_us() < until_us;
	     i++) {
		int32_t other = metadata->brokers[i].id;
		if (other == *broker)
			continue;
		err = ask(client, group, other, timeout_ms, ret_event, ret_group);
		if (!err)
			*broker = other;
	}
	rd_kafka_metadata_destroy(metadata);
	return err;
}

static const char *name_of(const rd_kafka_ConsumerGroupDescription_t *group, size_t member)
{
	return rd_kafka_MemberDescription_group_instance_id(
		rd_kafka_ConsumerGroupDescription_member(group, member));
}

bool group_has_instance(const rd_kafka_ConsumerGroupDescription_t *group, const char *instance_id)
{
	for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(group); i++) {
		const char *name = name_of(group, i);
		if (name && strcmp(name, instance_id) == 0)
			return true;
	}
	return false;
}

static bool has_first_name(const rd_kafka_ConsumerGroupDescription_t *group, const char *instance_id)
{
	for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(group); i++) {
		const char *name = name_of(group, i);
		if (name && strcmp(name, instance_id) < 0)
			return false;
	}
	return group_has_instance(group, instance_id);
}

/* The first of so many that no member has, or −1. */
static int32_t find_uncovered(const rd_kafka_ConsumerGroupDescription_t *group, const char *topic, int count)
{
	_cleanup_(cleanup_free) bool *covered = calloc((size_t)count + 1, sizeof *covered);
	if (!covered)
		abort();
	for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(group); i++) {
		const rd_kafka_MemberAssignment_t *has = rd_kafka_MemberDescription_assignment(
			rd_kafka_ConsumerGroupDescription_member(group, i));
		const rd_kafka_topic_partition_list_t *list =
			has ? rd_kafka_MemberAssignment_partitions(has) : NULL;
		for (int j = 0; list && j < list->cnt; j++)
			if (list->elems[j].partition < count && strcmp(list->elems[j].topic, topic) == 0)
				covered[list->elems[j].partition] = true;
	}
	for (int32_t partition = 0; partition < count; partition++)
		if (!covered[partition])
			return partition;
	return -1;
}

/* How many partitions the topic has, 0 where that is not known, and a broker that answers. */
static int count_partitions(rd_kafka_t *client, rd_kafka_topic_t *topic, int timeout_ms, int32_t *ret_broker,
			    rd_kafka_resp_err_t *ret_err)
{
	const struct rd_kafka_metadata *metadata;
	*ret_err = rd_kafka_metadata(client, 0, topic, &metadata, timeout_ms);
	if (*ret_err)
		return 0;
	int count = 0;
	if (metadata->topic_cnt == 1 && !(*ret_err = metadata->topics[0].err))
		count = metadata->topics[0].partition_cnt;
	*ret_broker = metadata->orig_broker_id;
	rd_kafka_metadata_destroy(metadata);
	return count;
}

void group_look(rd_kafka_t *client, rd_kafka_topic_t *topic, const struct kafka_settings *settings,
		int timeout_ms, int32_t *coordinator, struct group_coverage *ret_coverage)
{
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = NULL;
	const rd_kafka_ConsumerGroupDescription_t *group;
	int32_t broker = -1;
	*ret_coverage = (struct group_coverage){ .uncovered = -1 };
	int count = count_partitions(client, topic, timeout_ms, &broker, &ret_coverage->err);
	if (*coordinator < 0)
		*coordinator = broker;
	if (!ret_coverage->err)
		ret_coverage->err =
			group_describe(client, settings->group_id, coordinator, timeout_ms, &event, &group);
	if (ret_coverage->err)
		*coordinator = -1;
	if (ret_coverage->err ||
	    rd_kafka_ConsumerGroupDescription_state(group) != RD_KAFKA_CONSUMER_GROUP_STATE_STABLE)
		return;
	ret_coverage->at_rest = true;
	ret_coverage->first = has_first_name(group, settings->instance_id);
	ret_coverage->uncovered = find_uncovered(group, rd_kafka_topic_name(topic), count);
}
