/*
 * Wrong and nearly wrong SQL for the tests that ask a real server for a second opinion: one or two changes to
 * a SELECT that somebody wrote, at the level of words and of clauses.
 *
 * Deterministic: equal statements, vocabularies and seeds give equal mutants. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* The names of a database, for changes that stay within it. */
struct sql_vocabulary_column {
	str_t name;
	char kind; /* 'n' a number, 's' a text, 'd' a date or timestamp, 'b' a boolean, '?' something else */
};

struct sql_vocabulary_relation {
	str_t name;
	const struct sql_vocabulary_column *columns;
	size_t columns_count;
};

struct sql_vocabulary {
	const struct sql_vocabulary_relation *relations; /* at least one, each with a column */
	size_t relations_count;
};

struct sql_mutant {
	str_t sql;
	const char *kind; /* what was changed (the last change of several); static */
};

/* The mutant of the statement for the seed; its text lives in the arena. It differs from the statement. */
struct sql_mutant sql_mutate(str_t sql, const struct sql_vocabulary *vocabulary, uint64_t seed,
			     struct arena *arena);
