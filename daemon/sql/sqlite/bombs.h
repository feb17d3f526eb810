/*
 * Texts that one call could blow up: REPLACE in REPLACE, sums of copies. Sizes by design of the literals;
 * what a column holds is taken for small, as it is the target's own. Pure; any thread.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/query/tree.h"

/* Adds to `violations`. */
void sqlite_bombs(const struct query_node *query, struct violations *violations);

/* Bytes of text that an expression makes, at most, as far as literals make it large. */
double sqlite_text_size(const struct query_node *node);

/* rows.c: rows that recursions and documents in the text multiply up to; `check_ends`: also whether each
 * recursion has a condition that can end it. */
void sqlite_bombs_rows(const struct query_node *query, bool check_ends, struct violations *violations);
