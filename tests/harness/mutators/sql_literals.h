/*
 * Literals that are right, wrong and nearly right, of all kinds of types, for tests that ask a real server.
 *
 * Deterministic: equal seeds give equal literals. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

struct sql_literal {
	const char *type; /* as a cast names it; static */
	str_t text;	  /* without quotes */
	str_t quoted;	  /* '…', or E'…' where backslashes are in it */
};

/* One of sql_literals.def, or such a one broken in one or two places; lives in the arena. */
struct sql_literal sql_literal_for(uint64_t seed, struct arena *arena);

/* The text with a byte dropped, doubled, replaced, two swapped, or its end cut off. */
str_t sql_literal_broken(str_t text, uint64_t *random, struct arena *arena);
