/*
 * Columns that both sides hold alike, whatever their names. Not thread-safe.
 */
#pragma once

#include "compare/pairing.h"

/* Pairs the columns that both sides hold alike. */
void compare_pair_equal_contents(struct pairing *pairing);
