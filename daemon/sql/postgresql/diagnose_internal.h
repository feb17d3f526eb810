/*
 * Inside of the checks of a resolved PostgreSQL statement; see diagnose.h.
 */
#pragma once

#include "sql/postgresql/resolve/internal.h" // first: see pg_nodes.h

#include "sql/postgresql/diagnose.h"

struct diagnosis {
	const struct resolution *resolution;
	struct diagnostics *diagnostics;
	const struct sql_request *request;
	bool in_exists;			 /* the next SELECT is that of EXISTS */
};

bool is_aggregate_call(const struct resolution *resolution, const FuncCall *call);

/* Whether the SELECT groups its rows, with or without GROUP BY. */
bool is_aggregated(const struct resolution *resolution, const SelectStmt *select);

bool is_null_constant(const Node *node);

/* diagnose_products.c: relations of one FROM that no condition connects. */
void diagnose_products(const struct diagnosis *diagnosis, const SelectStmt *select);

/* diagnose_required.c: columns that the policy wants constrained. */
void diagnose_required(const struct diagnosis *diagnosis, const SelectStmt *select);
