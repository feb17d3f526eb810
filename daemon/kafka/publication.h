/*
 * Publication: what one event has to say to the world, and what becomes of it.
 *
 * Embedded in the event. The event owns the memory; the publisher only links it and calls back. From
 * publisher_push until `ended` it belongs to the publisher.
 */
#pragma once

#include "common/list.h"
#include "common/str.h"
#include "kafka/assignment.h"

enum output_topic { OUTPUT_SCORED, OUTPUT_ADVISORY, OUTPUT_DEAD_LETTER, OUTPUT_TOPIC_COUNT_ };

struct output_header {
	const char *name;
	str_t value;
};

struct output {
	enum output_topic topic;
	str_t key; /* or absent */
	str_t value;
	const struct output_header *headers;
	size_t headers_count;
	rd_kafka_resp_err_t refusal; /* the publisher's: what the broker said to this very message */
};

/* How a publication changes; the event checks each against its table of steps. */
enum publication_change {
	PUBLICATION_JOINED,    /* READY → IN_TXN */
	PUBLICATION_RETURNED,  /* IN_TXN → READY: the transaction was aborted */
	PUBLICATION_COMMITTED, /* the end: published */
	PUBLICATION_DISCARDED, /* the end: its assignment is over, somebody else does it again */
};

struct publication {
	struct list_node node; /* the publisher's */
	struct assignment *assignment;
	int32_t partition;
	int64_t offset;
	struct output *outputs;
	size_t outputs_count;
	size_t bytes; /* of all outputs */

	/* Called by the publisher thread at every change. After COMMITTED or DISCARDED the publisher has let
	 * go of it. */
	void (*changed)(struct publication *publication, enum publication_change change);

	/* The broker will not take `outputs[index]` (reason: for a person): the event replaces its outputs
	 * with shorter ones or a dead letter. False: there is nothing left to try. Publisher thread, between
	 * transactions. */
	bool (*refused)(struct publication *publication, size_t index, bool too_large, const char *reason);
};
