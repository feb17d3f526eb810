/*
 * What was read of cells: an exact part (bytes that have to be equal) and the finite numbers (which have to
 * be close). Pure; a reading belongs to one thread.
 */
#pragma once

#include "common/buf.h"
#include "common/hash.h"
#include "compare/number.h"

/* What was read of one or more cells, one behind the other. */
struct compare_reading {
	struct buf exact;
	bool canonical; /* set by the caller: numbers join the exact part, none has a tolerance … */
	struct compare_span {
		size_t start, end;
	} * spans; /* … but where those stand there that would have one is noted; of the arena */
	size_t spans_count;
	size_t spans_capacity;
	struct arena *arena; /* of the numbers */
	double *numbers;
	size_t numbers_count;
	size_t numbers_capacity;
};

/* Releases the exact part; the numbers go with their arena. */
void compare_reading_free(struct compare_reading *reading);

/* Forgets what was read, keeps the memory. */
void compare_reading_reset(struct compare_reading *reading);

/* The same where row after row is read and nothing may add up: now and then all memory of the arena, which is
 * the reading's own then, is given back. Such a reading begins with no arena. */
void compare_reading_renew(struct compare_reading *reading);

/* Releases such a reading. */
void compare_reading_end(struct compare_reading *reading);

/* Of the exact part. */
struct hash_128 compare_reading_hash(const struct hash_key *key, const struct compare_reading *reading);

/* Appends the exact part of a canonical reading as it is without the numbers that have a tolerance. */
void compare_reading_shape(const struct compare_reading *reading, struct buf *shape);

/* The text without white space at its ends. */
str_t compare_trim(str_t text);

/* Appends a number to the exact part: it has to be equal, in whatever form it is written. */
void compare_push_exact_number(struct compare_reading *reading, str_t number);

/* Appends a finite number. One that is beyond all doubles is exact. */
void compare_push_number(struct compare_reading *reading, str_t number);

/* The same, but exact too where it may be a key. */
void compare_push_number_or_key(struct compare_reading *reading, str_t number);

/* Appends text to the exact part in a form that nothing else has. */
void compare_push_text(struct compare_reading *reading, str_t text);
