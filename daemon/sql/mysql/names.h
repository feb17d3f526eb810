/*
 * What the names in a MySQL or MariaDB query mean: relations, derived tables, WITH queries, columns, output
 * names. Reports what is surely wrong; whatever is in doubt is no error. Table names are looked up in any
 * case of letters, since only the server's settings decide on that. What is found lives in the arena and
 * points into the tree and the catalog. Pure; any thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/query/tree.h"

struct mysql_names {
	const str_t *tables; /* base tables: lower case, with a schema where it matters; sorted, unique */
	size_t tables_count;
	bool gave_up; /* too much work: nothing may be concluded from what is absent */
};

/* Sets `range` of the nodes that are resolved. Without a catalog no table, column or function is unknown. */
void mysql_names_resolve(struct query_node *root, const struct sql_request *request, struct arena *arena,
			 struct diagnostics *diagnostics, struct mysql_names *ret_names);
