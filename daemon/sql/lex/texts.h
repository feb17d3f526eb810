/*
 * Lists of texts that grow, and sets of them: sorted by their bytes. The texts are not copied. Pure; a list
 * belongs to one thread.
 */
#pragma once

#include "common/arena.h"

struct texts {
	str_t *items; /* in the arena that they were added with */
	size_t count;
	size_t capacity;
};

void texts_add(struct arena *arena, struct texts *texts, str_t text);
void texts_sort(struct texts *texts);

/* Sorts them and keeps each once. */
void texts_unique(struct texts *texts);
