/*
 * Which rows of a large result may be among those of a small one: for looking for a few rows in what passes
 * by. Not thread-safe; no I/O.
 */
#pragma once

#include "common/hash.h"
#include "compare/columns.h"

struct compare_members;

/* Of the rows of `generated`, whose columns are paired with those of the rows that pass by. The caller owns
 * them; nothing is kept by reference. */
struct compare_members *compare_members_new(const struct result_set *generated,
					    const struct compare_pairing *pairing);

/* Whether one of the rows equals the cells but for the numbers that have a tolerance. */
bool compare_members_may_hold(struct compare_members *members, const str_t *cells);

void compare_members_free(struct compare_members *members);

DEFINE_CLEANUP(struct compare_members, compare_members_cleanup, compare_members_free)
