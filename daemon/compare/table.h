/*
 * A result set as columns of values, each read once for each way of reading. Not thread-safe; memory comes
 * from the arena.
 *
 * A value is the seeded hash of its exact part and the finite numbers in it. Equal exact parts have equal
 * hashes; that different ones do, too, has a chance of 2^-64 for each two of them, and nobody without the
 * seed can bring it about.
 */
#pragma once

#include "compare/value.h"

/* The numbers in a document. */
struct compare_numbers {
	const double *items;
	size_t count;
};

/* One column, by row. */
struct compare_values {
	uint64_t *exact;
	double *numbers;	       /* of values that are one number; NULL when none is */
	uint64_t *fingerprints;	       /* of COMPARE_INTEGER where they were asked for; NULL otherwise */
	struct compare_numbers *lists; /* of documents; NULL otherwise */
	bool plain;		       /* no value was read as a number, finite or not */
};

struct compare_table;

/* The set outlives the table. */
struct compare_table *compare_table_new(const struct result_set *set, struct arena *arena);

const struct result_set *compare_table_set(const struct compare_table *table);

/* The column read in a mode. */
const struct compare_values *compare_table_values(struct compare_table *table, size_t column,
						  enum compare_mode mode);

/* Reads columns row by row, which is quicker than one column after the other: `modes` by column. */
void compare_table_read(struct compare_table *table, const enum compare_mode *modes);

/* Reads the columns for which `needed` (by column) as their fingerprints ask for it. */
void compare_table_read_alone(struct compare_table *table, const bool *needed);

/* For every row the hash of the column's value whatever its class, for guessing which columns belong
 * together: close numbers nearly always have the same one. */
const uint64_t *compare_table_fingerprints(struct compare_table *table, size_t column);

/* The same of the value as it is, to the last digit: equal values of columns of one class that were not
 * computed in different ways have the same one. */
const uint64_t *compare_table_exact(struct compare_table *table, size_t column);

/* From the process's seed: set by compare_table_new, the same ever after. */
extern struct compare_marks {
	uint64_t seeds[4];
	uint64_t number, absent, yes, no; /* hashes of the exact parts that occur most */
} compare_marks;

/* Whether the exact part is that of one number. */
static inline bool compare_is_number(uint64_t exact)
{
	return exact == compare_marks.number;
}

/* Seeded mixture of two hashes; the order matters. */
static inline uint64_t compare_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ compare_marks.seeds[0]) * (b ^ compare_marks.seeds[1]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
