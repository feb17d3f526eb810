/*
 * Identity: whether a partition still is the log that was read up to an offset, or the topic was deleted and
 * made again, or records are gone that were not read. librdkafka 2.0.2 knows no topic ids; what tells is a
 * record that was read (its witness) and the first one that is there now: in a log that was made again that
 * one is newer. Pure.
 */
#pragma once

#include "kafka/witness.h"

enum identity {
	IDENTITY_UNKNOWN,   /* the broker does not answer */
	IDENTITY_SAME,	    /* also where records that were read have gone, by age or compaction */
	IDENTITY_RECREATED, /* another topic of that name: none of it was read */
	IDENTITY_DELETED,   /* records that were not read are gone from the beginning */
	IDENTITY_DIVERGED,  /* records that were read are gone from the end or replaced, and what is there is
			       older: the  log was cut off, or made again with records that are older than it
			     */
};

/* What a partition looks like now. */
struct identity_sight {
	int64_t low, end;
	struct witness there; /* at the witness's offset; sign 0: no record is */
	struct witness first; /* of the records that are there; sign 0: there is none */
};

/* `next`: what is to be read next; `witness`: a record below that was read, sign 0: none is known. */
enum identity identity_judge(int64_t next, struct witness witness, const struct identity_sight *sight);
