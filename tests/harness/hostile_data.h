/*
 * Data that tells apart queries which only look alike: NULLs wherever they are allowed, duplicates, ties,
 * equal keys, empty tables, texts that differ in case, extreme values, and the literals of the ground truths.
 *
 * In a transaction over a database of the corpus, without its keys and constraints; nothing stays.
 */
#pragma once

#include "tests/harness/oracle.h"

enum hostile_data {
	DATA_ITS_OWN, /* as loaded */
	DATA_DENSE,   /* few values, so that everything joins and ties */
	DATA_SPARSE,  /* half of it NULL */
	DATA_EMPTY,   /* every other table is empty */
};

/* Begins a transaction with that data and a savepoint `data` behind it. False: the reason is on standard
 * error. */
bool hostile_data_begin(struct oracle_database *database, enum hostile_data data, uint64_t seed,
			struct arena *arena);

/* Everything as it was. */
void hostile_data_end(struct oracle_database *database);
