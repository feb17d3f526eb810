/*
 * Messages of the topics that assayd writes or is told by, for scripts and for people: what a message says,
 * as one JSON text or one line. Messages may be anybody's. Any thread.
 */
#pragma once

#include "avro/codec.h"
#include "config/config.h"
#include "kafka/client.h"

enum topic_kind { TOPIC_SCORED, TOPIC_ADVISORIES, TOPIC_DEAD_LETTERS, TOPIC_FEEDBACK, TOPIC_KINDS_ };

/* "scored", "advisories", "dead-letters", "feedback": as the command line calls it. */
const char *topic_message_word(enum topic_kind kind);

/* The topic's own name. Lives as long as the configuration. */
const char *topic_message_topic(enum topic_kind kind, const struct config *config);

/* Which topic is meant by its word, or by its own name. ERR_USAGE: none; the detail lists what there is. */
err_t topic_message_kind(const char *text, const struct config *config, enum topic_kind *ret_kind,
			 struct err_detail *detail);

/* For reading any message of these topics, however large. The caller owns the codec. */
err_t topic_message_codec(const struct config *config, struct codec **ret_codec, struct err_detail *detail);

/* One of them is set, by the kind; none of a dead letter, which is whatever it is. */
struct topic_message {
	enum topic_kind kind;
	const rd_kafka_message_t *message; /* the caller's */
	struct scored_query *scored;
	struct advisory *advisory;
	struct query_feedback *feedback;
};

/* Into the arena. The error says why the bytes cannot be read. */
err_t topic_message_read(const struct codec *codec, enum topic_kind kind, const rd_kafka_message_t *message,
			 struct arena *arena, struct topic_message *ret_message, struct err_detail *detail);

/* A header's value; absent: there is none, or it is null. Lives as long as the message. */
str_t topic_message_header(const rd_kafka_message_t *message, const char *name);

/* Appends one line of JSON without its end: a record as `assayd score` writes it; of a dead letter an object
 * with its coordinates, key, headers and value, the latter in base 64 (`value_base64`) where it is no text.
 */
void topic_message_json(const struct topic_message *message, struct buf *out);

/* Appends a line for a person with its end; nothing of the message can move the terminal. */
void topic_message_line(const struct topic_message *message, bool colours, struct buf *out);
