/*
 * Rewrites of a SELECT that somebody wrote: some say the same in other words, some nearly the same. For tests
 * that ask which of them are recognised as equal, and whether rightly.
 *
 * At the level of tokens, and careful: a kind that does not surely apply does not apply. Deterministic. Not
 * thread-safe.
 */
#pragma once

#include "common/arena.h"

struct sql_rewrite_kind {
	const char *name;
	bool preserving; /* it means the same to every database; else it may mean something else */
};

/* All kinds; `sql_rewrite` takes their index. */
const struct sql_rewrite_kind *sql_rewrite_kinds(size_t *ret_count);

/* The statement rewritten, in the arena; absent where the kind does not apply. */
str_t sql_rewrite(size_t kind, str_t sql, struct arena *arena);
