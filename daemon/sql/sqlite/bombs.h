/*
 * Texts that one call could blow up: REPLACE in REPLACE, sums of copies. Sizes by design of the literals;
 * what a column holds is taken for small, as it is the target's own.
 */
#pragma once

#include "sql/sqlite/tree.h"
#include "sql/violations.h"

void sqlite_bombs(const struct sqlite_select *select, struct violations *violations);
