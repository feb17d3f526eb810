/*
 * Topic reader: records of partitions from one offset up to another, committed ones only, by a consumer that
 * belongs to no group's assignment and commits nothing. For rebuilds, verifications and proofs. Not
 * thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "kafka/client.h"

struct topic_reader;

/* A part of a partition. */
struct topic_span {
	const char *topic;
	int32_t partition;
	int64_t from; /* moves up to `until` while it is read */
	int64_t until;
	int64_t since_ms; /* records with timestamps before are passed over; 0: none is */
};

/* What to do with a record of the span with that index; it lives until this returns. An error ends the
 * reading. */
typedef err_t (*topic_reader_take_fn)(size_t span, const rd_kafka_message_t *message, void *context,
				      struct err_detail *detail);

/* Connects when it is first asked; the settings are read here only. `group_suffix`: of a group that every
 * instance may use (kafka_conf_new_reader); without a subscription nobody joins it. The caller owns the
 * reader. */
err_t topic_reader_new(const struct kafka_settings *settings, const char *group_suffix,
		       struct topic_reader **ret_reader, struct err_detail *detail);

/* The same for short spans, and for whoever takes longer with a record than to read it: reads less ahead. */
err_t topic_reader_new_searching(const struct kafka_settings *settings, const char *group_suffix,
				 struct topic_reader **ret_reader, struct err_detail *detail);
void topic_reader_free(struct topic_reader *reader);

/* Offsets of the first record that is kept and of the end. */
err_t topic_reader_bounds(struct topic_reader *reader, const char *topic, int32_t partition, int64_t *ret_low,
			  int64_t *ret_high, struct err_detail *detail);

/* How many partitions the topic has. ERR_KAFKA_TOPIC: there is no such topic. */
err_t topic_reader_partitions(struct topic_reader *reader, const char *topic, int *ret_count,
			      struct err_detail *detail);

/* The span of one partition, whose records are from `since_ms` (by their timestamps) up to what is committed
 * now; 0, here and below: from the first record that is kept. A broker that knows no offsets by time has it
 * begin there, too, and what is older is left out while it is read. */
err_t topic_reader_span(struct topic_reader *reader, const char *topic, int32_t partition, int64_t since_ms,
			struct topic_span *ret_span, struct err_detail *detail);

/* The same of all partitions of a topic; in the arena, but for the name, which is the caller's.
 * ERR_KAFKA_TOPIC: there is no such topic. */
err_t topic_reader_spans(struct topic_reader *reader, const char *topic, int64_t since_ms,
			 struct arena *arena, struct topic_span **ret_spans, size_t *ret_count,
			 struct err_detail *detail);

/* Reads the spans to their ends, whose records have to be committed. ERR_CONFLICT: records were deleted
 * while they were read. ERR_KAFKA_UNAVAILABLE: none came for a minute. */
err_t topic_reader_read(struct topic_reader *reader, struct topic_span *spans, size_t count,
			topic_reader_take_fn take, void *context, struct err_detail *detail);

/* After ERR_CONFLICT of that, for who can do without: begins the spans with what is kept now, and ends them
 * where the partition does. */
err_t topic_reader_pass_deleted(struct topic_reader *reader, struct topic_span *spans, size_t count,
				struct err_detail *detail);

DEFINE_CLEANUP(struct topic_reader, topic_reader_cleanup, topic_reader_free)
