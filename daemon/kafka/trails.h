/*
 * Trails: what was read of each partition since it was last seen to be the log that is read from. Where it
 * turns out to be another one (identity.h), the trail tells from which arrival on.
 *
 * Bounded: of more than TRAILS_MAX arrivals between two looks the later ones are forgotten, so that they
 * would be read again if just then the topic was made again. The source's thread.
 */
#pragma once

#include "kafka/topic_probe.h"

enum { TRAILS_MAX = 4096 };

struct trail {
	int32_t partition;
	int64_t next;		  /* to be read next, negative: not known */
	struct witness base;	  /* a record that was there at the last look; sign 0: none is known */
	struct witness newest;	  /* the last arrival */
	struct witness asked;	  /* the last arrival when the look began */
	struct witness *arrivals; /* since the last look, ascending */
	size_t count, capacity;
	int64_t low, end;	     /* as of the last look, −1: unknown */
	int64_t unanswered_since_us; /* monotonic; 0: answered */
	bool out_of_range;	     /* the consumer says that there is nothing at its offset */
	bool unseen;		     /* nothing is read of it before a look tells what it is */
};

struct trails {
	struct trail *items;
	size_t count;
	bool full; /* one of them: a look would empty it */
};

/* Forgets all. */
void trails_clear(struct trails *trails);

/* Begins one; `next` negative: from the first record on. */
void trails_add(struct trails *trails, int32_t partition, int64_t next, struct witness witness);

/* NULL: none. */
struct trail *trails_find(const struct trails *trails, int32_t partition);

/* A record has arrived. */
void trails_note(struct trails *trails, int32_t partition, struct witness arrival);

/* Nothing was left to be read below `end`. */
void trails_pass(struct trails *trails, int32_t partition, int64_t end);

/* What to ask about each of them: whether the record that was there still is, so that all that arrived
 * meanwhile was of the same log. The caller frees it. */
struct topic_probe_question *trails_questions(struct trails *trails);

/* It was: forgets what had arrived when the question was asked. */
void trails_confirm(struct trails *trails, struct trail *trail);
