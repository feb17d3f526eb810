/*
 * The scored record of an event, from what its stages have found out. No I/O but for log lines about an
 * unsafe query that was allowed; the time is handed in. Any thread, one event at a time.
 */
#pragma once

#include "event/record/facts.h"

/* What a record says besides the facts. Texts are copied where the record keeps them, but for `topic`. */
struct record_sources {
	int64_t now_ms; /* wall clock */
	str_t topic;	/* where the event comes from; absent: from no topic, likewise below */
	int32_t partition;
	int64_t offset;
	const struct judge *judge; /* NULL: none is configured */
};

/* Version and commit of this program, as records name it; static. */
const char *record_program_version(void);

/* Takes together what the members of the judge have said. All of them must have answered. Before the record
 * is built, or anything else is made of it. */
void record_settle_judging(struct record_facts *facts);

/* Builds the record, in the arena of the facts. All branches must have answered. Notes in the facts what
 * answers have cost in time and which of them are missing, and takes literals out of the errors where records
 * hide them. Stages are left to the caller: building is one of them. */
struct scored_query *record_build(struct record_facts *facts, const struct record_sources *sources);
