/*
 * Dead letter: what a message of the dead-letter topic says of itself in its headers, and the headers with
 * which its event goes back into the input topic.
 *
 * A dead letter always has `reason`, `topic`, `partition` and `offset`, the last of each being the daemon's;
 * what an event brought under these names is left out when it becomes one. So nothing that an event has in
 * its headers can pass for a receipt (receipts.h), which has no `reason`. Headers are hostile all the same:
 * anybody may write to the topic. Pure.
 */
#pragma once

#include "common/str.h"

#include <librdkafka/rdkafka.h>

/* Marks of an event that was put back: how often, from which dead letter (topic/partition/offset) and which
 * reason that had: headers redriven, redriven_from, redriven_reason. */
enum { DEAD_LETTER_MARKS = 3 };

/* Texts lie in the headers. */
struct dead_letter {
	str_t reason; /* 1 to 64 characters of a-z, 0-9 and _ */
	str_t detail; /* any bytes, or absent */
	str_t topic;  /* that the event came from; any bytes */
	int32_t partition;
	int64_t offset;
	bool cut;	   /* it has only the first part of the event, or not all that came with it */
	uint32_t redriven; /* how often it was put back before */
};

/* False: the message is no dead letter of assayd's; `headers`: NULL where it has none. */
bool dead_letter_read(const rd_kafka_headers_t *headers, struct dead_letter *ret_letter);

/* The value of a message's header, the last of that name; absent: there is none, or it is null. */
str_t dead_letter_header(const rd_kafka_headers_t *headers, const char *name);

/* Whether a header is one that the daemon gives a dead letter, or one of the marks. */
bool dead_letter_is_own(const char *name);
bool dead_letter_is_mark(const char *name);

/* Headers of the event that goes back: the marks first, so that no limit of headers cuts them off, then
 * those that the event had. `letter` is what was read of the same headers. The caller owns them. */
rd_kafka_headers_t *dead_letter_event_headers(const rd_kafka_headers_t *headers,
					      const struct dead_letter *letter, const char *topic,
					      int32_t partition, int64_t offset);
