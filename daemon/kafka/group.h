/*
 * What a broker says of a consumer group: who is in it, and whether all partitions of a topic belong to
 * somebody. Whoever may read with the group may ask. All functions may be called in any thread.
 */
#pragma once

#include "kafka/client.h"

/* Asks `*broker` (a number, see kafka_answering_broker), and where that does not coordinate the group the
 * others of the cluster, one after the other, for up to `timeout_ms` each and four times that in all. The one
 * that coordinates it is left in `*broker`, to be asked first the next time. `*ret_group` lives as long as
 * `*ret_event`, which the caller destroys. RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE: that broker cannot tell,
 * and librdkafka loses some memory by being asked. */
rd_kafka_resp_err_t group_describe(rd_kafka_t *client, const char *group, int32_t *broker, int timeout_ms,
				   rd_kafka_event_t **ret_event,
				   const rd_kafka_ConsumerGroupDescription_t **ret_group);

/* Whether a member has this name (group.instance.id). */
bool group_has_instance(const rd_kafka_ConsumerGroupDescription_t *group, const char *instance_id);

/*
 * Partitions that belong to nobody. Every rebalance hands out all that there are. But where a member with a
 * name comes back within its session, the broker takes it for the one that it was, with the partitions that
 * it had: what the topic got while all members were away, or were just about to notice, is nobody's then, as
 * long as nothing else happens in the group.
 */
struct group_coverage {
	rd_kafka_resp_err_t err; /* why nothing is known */
	bool at_rest;		 /* it is known, and no rebalance is under way */
	int32_t uncovered;	 /* the first partition of the topic that no member has; negative: none */
	bool first;		 /* of all members this instance has the first name: one of them is to act */
};

/* Asks for the partitions of the topic and for the members of the group, up to five times `timeout_ms`.
 * `*coordinator`: the broker to ask first, negative where none is known; left for the next time. */
void group_look(rd_kafka_t *client, rd_kafka_topic_t *topic, const struct kafka_settings *settings,
		int timeout_ms, int32_t *coordinator, struct group_coverage *ret_coverage);
