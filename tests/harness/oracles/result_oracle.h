/*
 * How far two statements return the same, as the server itself says: with row numbers, INTERSECT ALL and
 * counts, and nothing of the comparison under test.
 *
 * Values are equal when the server calls them equal, texts without the blanks around them, floats to 15
 * digits. What only a tolerance decides, or a way to pair columns that have no names in common, is said.
 */
#pragma once

#include "tests/harness/mutators/result_rewrites.h"

enum result_known {
	RESULT_KNOWN,
	RESULT_FAILS,	    /* the second statement has an error */
	RESULT_OTHER_SHAPE, /* another number of columns */
	RESULT_TYPES,	    /* columns of types that the server does not compare */
	RESULT_TOO_LARGE,   /* too many rows, or it takes too long */
};

struct result_likeness {
	enum result_known known;
	size_t truth_rows, rows;
	size_t matched; /* rows in common: of the bags, or by position up to ties of the sort keys */
	bool cut_tie;	/* `matched` counts rows at the end of a LIMIT that have the right keys only */
	bool by_whole;	/* ties are those of all rows that the truth's were cut from, by all of its keys */
	bool close;	/* numbers differ by so little that a tolerance decides: `matched` is the least */
	bool guessed;	/* more than one column has no partner by name: `matched` is the most */
};

/* Runs both in one snapshot of the connection. `rows_most`: beyond, a result is too large. */
struct result_likeness result_likeness(PGconn *connection, const struct result_source *truth, str_t sql,
				       size_t rows_most, struct arena *arena);
