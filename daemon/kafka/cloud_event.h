/*
 * CloudEvent: the attributes of CloudEvents 1.0 as headers of a message (Kafka binding, binary content mode),
 * beside whatever headers it has. The value of the message stays as it is. Pure.
 *
 *   ce_specversion  1.0
 *   ce_id           unique among the messages of a topic; the same whenever the message is published again
 *   ce_source       /TOPIC, the topic that it is in
 *   ce_type         full name of the record's Avro schema
 *   ce_subject      what it is about: the event_id
 *   ce_time         RFC 3339, in UTC
 *   content-type    of the value
 */
#pragma once

#include "common/arena.h"
#include "kafka/publication.h"

struct cloud_event {
	str_t id;
	const char *topic;
	const char *type;
	str_t subject;	 /* or absent */
	int64_t time_ms; /* since 1970 */
	str_t value;	 /* of the message: JSON or Avro, by its first byte */
};

enum { CLOUD_EVENT_HEADERS = 7 };

/* Writes up to so many, in the arena, and returns how many. */
size_t cloud_event_headers(const struct cloud_event *event, struct arena *arena,
			   struct output_header headers[static CLOUD_EVENT_HEADERS]);
