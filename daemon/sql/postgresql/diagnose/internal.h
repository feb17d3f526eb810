/*
 * Inside of the checks of a resolved PostgreSQL statement; see diagnose.h.
 */
#pragma once

#include "sql/postgresql/resolve/internal.h" // first: see pg_nodes.h

#include "sql/postgresql/diagnose/diagnose.h"
#include "sql/postgresql/parse/node_children.h"

struct diagnosis {
	const struct resolution *resolution;
	struct diagnostics *diagnostics;
	const struct sql_request *request;
	bool in_exists; /* the next SELECT is that of EXISTS */
};

/*
 * graph.c: the statement as the tree that all dialects' rules read (sql/query/tree.h), and those rules.
 */

/* Relations of one FROM that no condition connects. */
void diagnose_products(const struct diagnosis *diagnosis, const SelectStmt *select);

/* Columns that the policy wants constrained. */
void diagnose_required(const struct diagnosis *diagnosis, const SelectStmt *select);
