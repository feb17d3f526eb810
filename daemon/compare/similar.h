/*
 * Columns without a partner that has the same contents. Not thread-safe.
 */
#pragma once

#include "compare/pairing.h"

/* Pairs what is left: it differs somewhere, or nothing tells it apart. */
void compare_pair_similar_contents(struct pairing *pairing);
