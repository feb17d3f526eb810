/*
 * Which of several names somebody may have meant who wrote another. Pure; a search belongs to one thread.
 */
#pragma once

#include "common/arena.h"

/* The candidate nearest to `name` for a hint, or absent when none is near: by edit distance (at most a third
 * of its length), else the one that shares most of its text at the beginning or within. */
struct nearest {
	str_t name;
	str_t best;
	size_t distance;
	size_t shared; /* bytes that the best has in common, where it is not near by distance */
};

/* Names are not copied: they outlive the search. */
void nearest_init(struct nearest *nearest, str_t name);
void nearest_offer(struct nearest *nearest, str_t candidate);

/* "; did you mean "…"?", between such quotes, in the arena; "" where nothing else than the name itself is
 * near. */
str_t nearest_hint(const struct nearest *nearest, char quote, struct arena *arena);
