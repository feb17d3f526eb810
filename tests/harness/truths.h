/*
 * Ground truths of the defog corpus: CSV files with a field `query`, which holds every accepted statement of
 * a question, and a field `db_name`.
 */
#pragma once

#include "common/arena.h"

#include <stdio.h>

struct truth {
	unsigned question;    /* record of the file, from 1 */
	unsigned alternative; /* of the question, from 0 */
	const char *database;
	str_t sql;     /* choices of columns written out; in the arena, likewise below */
	str_t written; /* as it is in the file: `{a,b}` offers columns to choose from, `{}` repeats the choice
			*/
};

typedef void (*truth_fn)(void *context, const struct truth *truth);

/* Calls `found` for each in the order of the file. */
void truths_read(FILE *csv, struct arena *arena, truth_fn found, void *context);
