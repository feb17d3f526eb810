/*
 * MongoDB's part of sort_keys.h: a command as a pipeline that returns its sort keys as further fields,
 * without the skip and limit at its end. Pure; any thread.
 *
 * `db.t.find({}, {name: 1}).sort({age: 1}).limit(3)` becomes a pipeline of $sort, $addFields (the key's) and
 * $project (with the key). What stands in the command is taken as it is written there.
 */
#pragma once

#include "sql/sort_keys.h"

/* Of a command that is ordered, or limited. False: it cannot be rewritten. */
bool mongodb_sort_keys(const struct sql_analysis *analysis, struct arena *arena, struct sort_keys *ret_keys);

/* The pipeline up to its last $skip or $limit behind which more is done with what that leaves than
 * sort_keys.h can show, as a text of its own in the arena. Absent: there is none. */
str_t mongodb_sort_keys_inner_cut(const struct sql_analysis *analysis, struct arena *arena);
