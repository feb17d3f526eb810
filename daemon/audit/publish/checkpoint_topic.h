/*
 * Publishing checkpoints to a compacted topic, with the log's origin as the key: whoever reads it finds the
 * newest one of each log. Those of one log arrive in the order in which they are sent, or not at all: once
 * one has failed, those behind it fail as well. One thread; only checkpoint_topic_poll waits.
 */
#pragma once

#include "kafka/client.h"

#include "common/str.h"

#define CHECKPOINT_TOPIC_MAX_IN_FLIGHT 256

struct checkpoint_topic;

/* Nothing is connected before the first is sent. `settings` outlive it. */
err_t checkpoint_topic_new(const struct kafka_settings *settings, const char *topic,
			   struct checkpoint_topic **ret_topic, struct err_detail *detail);

/* Ends within some seconds; what is under way may have arrived. NULL is fine. */
void checkpoint_topic_free(struct checkpoint_topic *topic);

/* Sends a note of the log of a partition, which has that size. Nothing happens where it is under way already,
 * or there is no room, or one of that log before it has failed and was not taken yet. */
err_t checkpoint_topic_send(struct checkpoint_topic *topic, int32_t partition, uint64_t size, str_t origin,
			    str_t note, struct err_detail *detail);

/* Lets notes arrive. */
void checkpoint_topic_poll(struct checkpoint_topic *topic, int timeout_ms);

/* What became of one that was sent, the first of its log first. */
struct checkpoint_topic_outcome {
	int32_t partition;
	uint64_t size;
	rd_kafka_resp_err_t err;
};

/* Takes one; false: there is none to be told yet. */
bool checkpoint_topic_take(struct checkpoint_topic *topic, struct checkpoint_topic_outcome *ret_outcome);

/* How many are under way or to be taken. */
size_t checkpoint_topic_count(const struct checkpoint_topic *topic);
