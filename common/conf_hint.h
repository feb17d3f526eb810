/*
 * What a person may have meant who wrote a name that a configuration does not know: the known ones as a list,
 * and the nearest of them. Inside of conf_table. Pure.
 */
#pragma once

#include "common/err.h"

struct conf_hint {
	const char *wanted;
	const char *best; /* the nearest of the known names, or NULL */
	size_t best_distance;
	char all[256]; /* the known names, as far as there is place */
};

/* Adds a known name, which has to outlive the hint. */
void conf_hint_add(struct conf_hint *hint, const char *name);

/* Whether `best` is near enough to be worth asking for. */
bool conf_hint_is_near(const struct conf_hint *hint);
