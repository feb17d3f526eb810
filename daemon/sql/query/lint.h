/*
 * Warnings that need a query's tree and its resolved names alone, the same for MySQL and SQLite; the manual's
 * list of diagnostics says what each means (findings/diagnostics.def, findings/sub_codes.def). Where the tree
 * or the catalog leave a doubt, nothing is reported, and neither is what an error is reported for. Pure; any
 * thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/query/tree.h"

/* Adds to `diagnostics`. `text` is what the tree was parsed from. */
void query_lint(const struct query_node *root, str_t text, enum sql_dialect dialect,
		struct diagnostics *diagnostics);

/* products.c: relations of one FROM that no condition connects; PostgreSQL's, too. */
void query_lint_products(const struct query_node *select, struct diagnostics *diagnostics);
