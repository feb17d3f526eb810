/*
 * A result set as columns of values, each read once for each way of reading. Not thread-safe; memory comes
 * from the arena.
 *
 * A value is the seeded hash of its exact part and the finite numbers in it. Equal exact parts have equal
 * hashes; that different ones do, too, has a chance of 2^-64 for each two of them, and nobody without the
 * seed can bring it about.
 */
#pragma once

#include "score/compare_value.h"

/* The numbers in a document. */
struct compare_numbers {
	const double *items;
	size_t count;
};

/* One column, by row. */
struct compare_values {
	uint64_t *exact;
	double *numbers;	       /* of values that are one number; NULL when none is */
	struct compare_numbers *lists; /* of documents; NULL otherwise */
	bool plain;		       /* no value was read as a number, finite or not */
};

struct compare_table;

struct compare_table *compare_table_new(const struct result_set *set, struct arena *arena);

const struct result_set *compare_table_set(const struct compare_table *table);

/* The column read in a mode. */
const struct compare_values *compare_table_values(struct compare_table *table, size_t column,
						  enum compare_mode mode);

/* For every row the hash of the column's value whatever its class, for guessing which columns belong
 * together: close numbers nearly always have the same one. */
const uint64_t *compare_table_fingerprints(struct compare_table *table, size_t column);

/* Whether the exact part is that of one number. */
bool compare_is_number(uint64_t exact);

/* Seeded mixture of two hashes; the order matters. */
uint64_t compare_mix(uint64_t a, uint64_t b);
