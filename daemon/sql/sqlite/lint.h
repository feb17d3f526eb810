/*
 * Warnings about a resolved SQLite query, and columns that a policy wants constrained. Where the tree or
 * the catalog leave a doubt, nothing is reported. Pure; any thread.
 */
#pragma once

#include "sql/diagnostics.h"
#include "sql/sqlite/resolve.h"

/* Adds all of them to `diagnostics`. */
void sqlite_lint(const struct sqlite_select *select, const struct sql_request *request,
		 struct diagnostics *diagnostics);

/* Calls `visit` for every SELECT in the tree, outer ones first. */
typedef void (*sqlite_visit_core)(const struct sqlite_core *core, void *context);
void sqlite_each_core(const struct sqlite_select *select, sqlite_visit_core visit, void *context);

/* Calls `visit` for every node below and including `node`, not for those of subqueries. */
typedef void (*sqlite_visit_node)(const struct sqlite_node *node, void *context);
void sqlite_each_node(const struct sqlite_node *node, sqlite_visit_node visit, void *context);

/* The same for every expression of the SELECT. */
void sqlite_each_expression(const struct sqlite_core *core, sqlite_visit_node visit, void *context);

/* required.c: missing_required, where the policy has such rules. `text`: of the statement. */
void sqlite_required(const struct sqlite_select *select, str_t text, const struct sql_request *request,
		     struct diagnostics *diagnostics);

/* The same without a tree: a rule that cannot be seen to hold does not hold. */
void sqlite_required_unseen(str_t text, const struct sql_policy *policy, struct diagnostics *diagnostics);
