/*
 * Event: one generated query on its way through the daemon, with everything that is known of it.
 *
 * One object, one arena. Owned by one thread at a time: the source, then a worker, then (AWAITING) nobody
 * while the target and the judge work on calls with arenas of their own, then a worker again, then the
 * publisher. The step changes through event_set_step alone. What it needs of others is in its context.
 */
#pragma once

#include "avro/advisory.h"
#include "event/record/facts.h"
#include "event/step.h"
#include "kafka/publication.h"

#include <stdatomic.h>

struct event_context;
struct registry_wait;

/* Where an event comes from; all zero for one that comes from no topic. */
struct event_origin {
	str_t topic; /* or absent */
	int32_t partition;
	int64_t offset;
	struct assignment *assignment; /* or NULL */
	size_t credit_bytes;	       /* that it has of the credits */
};

struct event {
	unsigned magic;
	struct list_node node; /* the workers' queue */
	struct event_context *context;
	struct arena *arena;
	_Atomic enum step step;
	_Atomic unsigned pending; /* branches that still owe an answer, plus the analysing worker */
	struct config *config;	  /* the settings that it started with */
	int64_t received_us;	  /* monotonic */

	struct event_origin origin;
	str_t key;	/* of the message, or absent */
	str_t raw;	/* untouched bytes */
	bool tombstone; /* the message had no value at all */
	/* as the message had them; outputs carry the trace, a dead letter all of them */
	const struct output_header *headers;
	size_t headers_count;
	uint64_t sequence;		   /* of one that comes from no topic: its line */
	struct registry_wait *schema_wait; /* PARKED: for its schema */

	struct record_facts facts;   /* what the stages find out */
	struct scored_query *scored; /* from READY on, unless dead */
	bool advised;		     /* `advisory` is settled: from the first encoding on */
	struct advisory *advisory;   /* that it raises, or NULL */
	unsigned advisory_kinds;     /* bits of its kinds */
	err_t dead_reason;	     /* ERR_OK: alive */
	bool dead_shortened;	     /* the dead letter is as short as it gets */
	str_t dead_detail;

	struct buf encoded; /* of the outputs, one behind the other */
	struct publication publication;
};

/* New event from foreign bytes, which are copied. The reference to the settings becomes the event's. */
struct event *event_new(struct event_context *context, struct config *config, str_t raw, str_t key,
			const struct event_origin *origin);
void event_free(struct event *event);

/* The value of the header by which its message names its writer's schema (FRAMING_HEADER), the first of that
 * name; or an absent one. */
str_t event_schema_header(const struct event *event);

/* What it holds of memory: all that is known of it, its outputs, and while they are in a transaction their
 * copies in the Kafka client; before there are outputs, what it will hold by then, as far as that can be
 * known. Not while others work on it. */
size_t event_held_bytes(const struct event *event);

/* The only way in which a step changes; a transition that is not in the table aborts the process. */
void event_set_step(struct event *event, enum step step);

/* Makes the event a dead letter. Of the detail, some of which may be foreign, what a terminal would obey and
 * what is no UTF-8 become escapes. */
void event_kill(struct event *event, err_t reason, const char *detail);
