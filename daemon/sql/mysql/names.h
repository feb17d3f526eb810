/*
 * What the names in a MySQL or MariaDB query mean: relations, derived tables, WITH queries, columns, output
 * names. Reports what is surely wrong; whatever is in doubt is no error. Table names are looked up in any
 * case of letters, since only the server's settings decide on that. What is found lives in the arena and
 * points into the tree and the catalog. Pure; any thread.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/content.h"
#include "sql/diagnostics.h"
#include "sql/mysql/tree.h"

/* Names of columns. */
struct mysql_columns {
	const str_t *names;
	size_t count;
	struct hash_map map; /* lower-case name to its str_t */
	bool open;	     /* not all are known */
	bool loose;	     /* some are named by the text of an expression */
};

enum mysql_range_kind {
	MYSQL_RANGE_RELATION,
	MYSQL_RANGE_CTE,
	MYSQL_RANGE_DERIVED,
	MYSQL_RANGE_OUTPUT, /* the columns of a set operation, for its ORDER BY */
};

/* Something in FROM that columns belong to. */
struct mysql_range {
	enum mysql_range_kind kind;
	const struct mysql_node *node;
	str_t alias;  /* the name that it is visible by */
	str_t schema; /* of a relation: as the catalog has it, as written, or absent */
	str_t name;   /* of a relation, as the catalog has it, or as written; of a WITH query */
	const struct catalog_relation *relation; /* in the catalog, or NULL */
	const struct mysql_columns *columns;
	const struct mysql_node *maker; /* the DERIVED or CTE in the text that makes it, or NULL */
	struct mysql_range *same;	/* the next one of that alias in its scope, or NULL */
	struct mysql_range *last_same;	/* of the first one: the last */
	size_t position;		/* in its scope */
};

/* The catalog's column of that name, or NULL where it is not known; `range` may be NULL. */
const struct catalog_column *mysql_range_column(const struct mysql_range *range, str_t column);

struct mysql_names {
	const str_t *tables; /* base tables: lower case, with a schema where it matters; sorted, unique */
	size_t tables_count;
	bool gave_up; /* too much work: nothing may be concluded from what is absent */
};

/* Sets `range` of the nodes that are resolved. Without a catalog no table, column or function is unknown. */
void mysql_names_resolve(struct mysql_node *root, const struct sql_request *request, struct arena *arena,
			 struct diagnostics *diagnostics, struct mysql_names *ret_names);
