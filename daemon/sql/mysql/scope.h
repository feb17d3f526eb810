/*
 * Inside of the resolver: scopes, and how a column is looked up in them. What the functions return lives in
 * the resolver's arena or the catalog. Pure; a resolver is one statement's, on one thread.
 */
#pragma once

#include "sql/lex/texts.h"
#include "sql/mysql/names.h"

/* Lookups of one statement; beyond, the resolver gives up. */
#define MYSQL_MAX_LOOKUPS 2000000
#define MYSQL_MAX_OUTPUTS 50000 /* of one statement; beyond, what an output is called is not known */
#define MYSQL_MAX_OFFERS  20000 /* names that hints may be looked for among */

#define MYSQL_MAX_HINTS 8 /* for functions, of one statement */

struct mysql_scope {
	struct mysql_scope *outer;
	struct query_range **ranges;
	size_t count, capacity;
	struct hash_map aliases;	/* in lower case, to the first range of that alias */
	size_t from, to;		/* part of the ranges that a join's condition can see */
	const struct hash_map *merged;	/* lower-case names of columns that USING has merged, or NULL */
	bool natural;			/* some join is a natural one: any column may be merged */
	bool past_items;		/* output names can be seen: GROUP BY, HAVING, ORDER BY */
	bool beside;			/* the query stands in FROM: what is outside may not be visible */
	const struct hash_map *outputs; /* lower-case names of the outputs */
	bool outputs_open;
};

/* A WITH query in reach. */
struct mysql_cte {
	struct mysql_cte *before;   /* all of them, the last first */
	struct mysql_cte *shadowed; /* of the same name, further outside */
	struct mysql_cte **place;   /* where the nearest one of the name is kept */
	const struct query_node *node;
	const struct query_columns *columns; /* NULL: not resolved yet */
	bool visible;			     /* false: only a later one of the same WITH */
};

struct mysql_resolver {
	struct arena *arena;
	const struct sql_request *request;
	struct diagnostics *diagnostics;
	struct hash_map ctes; /* names in lower case to the place of the nearest one */
	struct mysql_cte *last_cte;
	struct hash_map relations; /* address of a catalog relation to its columns */
	struct hash_map folded;	   /* "schema.name" in lower case to the relation; filled when first needed */
	bool folded_ready;
	struct query_columns unknown; /* open and empty */
	struct texts tables;
	size_t lookups;
	unsigned hints; /* for functions, given so far */
	size_t offers;	/* names that were looked at for hints */
	size_t outputs; /* that stars stand for */
};

/* columns.c */

/* The column of that name (in lower case), or NULL. */
const str_t *mysql_columns_find(struct mysql_resolver *resolver, const struct query_columns *columns,
				str_t name);

/* Resolves a COLUMN and reports when it is surely wrong. */
void mysql_column_resolve(struct mysql_resolver *resolver, struct mysql_scope *scope,
			  struct query_node *column);

/* The range that `qualifier.*` means, or NULL. */
struct query_range *mysql_scope_range(struct mysql_resolver *resolver, struct mysql_scope *scope,
				      str_t schema, str_t qualifier);

/* Reports the qualifier as none that can be referred to; `hint` may be absent. */
void mysql_report_qualifier(struct mysql_resolver *resolver, const struct query_node *node, str_t hint);

/* grouping.c */

/* Reports aggregates where none can stand, and columns that HAVING cannot see, of one SELECT whose names are
 * resolved. */
void mysql_grouping_check(struct mysql_resolver *resolver, const struct mysql_scope *scope,
			  const struct query_node *select);

/* Reports the LIMIT of a subquery of IN, ANY or ALL: the servers refuse it. */
void mysql_limit_check(struct mysql_resolver *resolver, const struct query_node *node);

/* Reports the keys of ORDER BY or GROUP BY (`clause`, or NULL) that are positions beyond the first `count`;
 * `where` they have to be, as "in the select list". */
void mysql_positions_check(struct mysql_resolver *resolver, const struct query_node *clause, size_t count,
			   const char *where);

/* relations.c */

/* The catalog's relation of that name (schema may be absent), or NULL; its columns. */
const struct catalog_relation *mysql_relation_find(struct mysql_resolver *resolver, str_t schema, str_t name);
const struct query_columns *mysql_relation_columns(struct mysql_resolver *resolver,
						   const struct catalog_relation *relation);
/* Columns of those names, in order; names are not copied. */
struct query_columns *mysql_columns_new(struct mysql_resolver *resolver, const str_t *names, size_t count);
/* The server's own relations, the sequence engine's and other things that catalogs may lack. */
bool mysql_relation_implicit(const struct query_node *relation);
void mysql_report_relation(struct mysql_resolver *resolver, const struct query_node *relation);
