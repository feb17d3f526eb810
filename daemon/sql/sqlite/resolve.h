/*
 * What the names of a SQLite query mean: each column of the tree gets the item of FROM that it is of, as far
 * as that is sure. The library has found all names already: nothing is reported here. Pure; any thread.
 */
#pragma once

#include "sql/catalog/content.h"
#include "sql/sqlite/tree.h"

/* An item of FROM with what is known of it. */
struct sqlite_item {
	const struct sqlite_source *source;
	const struct catalog_relation *relation; /* NULL: none, or the catalog does not know it */
	bool is_cte;
	str_t name;  /* that columns are qualified by */
	str_t label; /* unique among the items that are visible together; equal for equal places */
	bool known;  /* `columns` are all of its columns */
	const str_t *columns;
	size_t columns_count;
	struct query_range *range; /* what sqlite_graph made of it */
};

/* Tables that are no WITH queries: lower case, sorted, unique. */
struct sqlite_names {
	str_t *items;
	size_t count;
	size_t capacity;
};

/* Sets the meaning of the columns and the items of each SELECT. All that is found lives in the arena and
 * points into the catalog (NULL, or one of another dialect: none). */
void sqlite_resolve(struct sqlite_select *select, const struct catalog *catalog, struct arena *arena,
		    struct sqlite_names *ret_tables);

/* The catalog's column that the node is, or NULL. */
const struct catalog_column *sqlite_column_of(const struct sqlite_node *node);
