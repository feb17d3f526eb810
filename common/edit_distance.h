/* How far two names are from each other, to guess what somebody meant who wrote a name that is not known.
 * Pure. */
#pragma once

#include "common/str.h"

/* Longer names are far from everything: the guess costs the product of both lengths. */
#define EDIT_DISTANCE_BYTES_MAX 128u

/* Bytes to insert, remove or change and neighbours to exchange to make one of the other, no byte twice
 * (Damerau, 1964); SIZE_MAX when one is longer than EDIT_DISTANCE_BYTES_MAX. */
size_t edit_distance(str_t a, str_t b);
