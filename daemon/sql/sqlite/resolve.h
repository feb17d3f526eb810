/*
 * What the names of a SQLite query mean: each column of the tree gets the item of FROM that it is of, or the
 * output that it stands for, as far as that is sure. The library has found all names already: nothing is
 * reported here. Pure; any thread.
 */
#pragma once

#include "sql/lex/texts.h"
#include "sql/sqlite/parser.h"

/* Sets `range` and `item` of the nodes, and what the query hides by names that are in doubt. All that is
 * found lives in the arena and points into the catalog (NULL, or one of another dialect: none). Tables are
 * those that are no WITH queries: lower case, sorted, unique. */
void sqlite_resolve(struct sqlite_query *query, const struct catalog *catalog, struct arena *arena,
		    struct texts *ret_tables);

/* The first item with a name that has the column (in lower case) where a column stands at the offset of a
 * text, the nearest ones first; NULL: none. */
const struct query_range *sqlite_range_having(str_t sql, size_t offset, str_t column,
					      const struct catalog *catalog, struct arena *arena);

/* Parses and resolves; for those who do not ask for tables. */
struct sqlite_query sqlite_read(str_t sql, const struct catalog *catalog, struct arena *arena);
