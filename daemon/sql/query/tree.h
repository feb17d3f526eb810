/*
 * Tree of a query as the front ends share it, for the rules of this folder. One type of node for everything:
 * what a node means is its kind, what it holds are its children in order (kinds.def). What columns and items
 * of FROM stand for, once names are resolved, is their range.
 *
 * The parsers of MySQL and SQLite build it, and their resolvers set the ranges; PostgreSQL's front end fills
 * it from its own nodes for two of the rules alone, products and required columns: FROM and conditions, no
 * more (postgresql/diagnose/graph.c). Nodes and ranges live in the arena of the analysis. Pure; any thread.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/content.h"
#include "sql/lex/identifier.h"

/* Of one FROM: MySQL's own limit; SQLite's is 64. Beyond, nothing is concluded. */
#define QUERY_MAX_TABLES 61

enum query_kind {
#define QUERY_KIND(symbol, word) QUERY_##symbol,
#include "sql/query/kinds.def"
#undef QUERY_KIND
};

struct query_node {
	enum query_kind kind;
	bool flag;
	bool has_column; /* a COLUMN or a PARAMETER stands in it */
	bool aggregate;	 /* names: a CALL of an aggregate that makes groups, not one over a window */
	unsigned depth;	 /* of the tree below, leaves have 1 */
	unsigned number; /* in order of their making, from 0 */
	size_t offset;	 /* into the text */
	size_t end;	 /* MySQL: behind its last token */
	const char *op;	 /* static */
	str_t schema;
	str_t qualifier;
	str_t name;
	str_t alias;
	double size;			 /* CAST: largest length in its type */
	const struct query_range *range; /* names: what a COLUMN or a RELATION stands for, or NULL; what the
					  * merged columns of a JOIN belong to (PostgreSQL) */
	const struct query_node *item; /* names: the ITEM that a COLUMN means by its name in ORDER BY or GROUP
					* BY, or NULL. Positions: query/position.h */
	struct query_node *first;      /* child */
	struct query_node *last;
	struct query_node *next; /* sibling */
};

/* Names of columns. */
struct query_columns {
	const str_t *names;
	size_t count;
	struct hash_map map; /* lower-case name to its str_t */
	bool open;	     /* not all are known */
	bool loose;	     /* some are named by the text of an expression */
};

enum query_range_kind {
	QUERY_RANGE_RELATION,
	QUERY_RANGE_CTE,
	QUERY_RANGE_DERIVED,
	QUERY_RANGE_OUTPUT, /* the columns of a set operation, for its ORDER BY */
};

/* Something in FROM that columns belong to. */
struct query_range {
	enum query_range_kind kind;
	const struct query_node *node;
	str_t alias;  /* the name that it is visible by */
	str_t schema; /* of a relation: as the catalog has it, as written, or absent */
	str_t name;   /* of a relation, as the catalog has it, or as written; of a WITH query */
	const struct catalog_relation *relation; /* in the catalog, or NULL */
	const struct query_columns *columns;
	const struct query_node *maker; /* the DERIVED or CTE in the text that makes it, or NULL */
	struct query_range *same;	/* the next one of that alias in its scope, or NULL */
	struct query_range *last_same;	/* of the first one: the last */
	size_t position;		/* in its scope */
};

/* The catalog's column of that name, or NULL where it is not known; `range` may be NULL. */
const struct catalog_column *query_range_column(const struct query_range *range, str_t column);

/* The first child of that kind, or NULL. */
static inline struct query_node *query_child(const struct query_node *node, enum query_kind kind)
{
	struct query_node *child = node ? node->first : NULL;
	while (child && child->kind != kind)
		child = child->next;
	return child;
}

/* A column or a parameter, or one in it. */
static inline bool query_has_column(const struct query_node *node)
{
	return node->has_column || node->kind == QUERY_COLUMN || node->kind == QUERY_PARAMETER;
}

/* A literal of that kind, or an operation by that operator; `node` may be NULL. */
static inline bool query_is_literal(const struct query_node *node, const char *kind)
{
	return node && node->kind == QUERY_LITERAL && node->op && strcmp(node->op, kind) == 0;
}

static inline bool query_is_operation(const struct query_node *node, const char *op)
{
	return node && node->kind == QUERY_OPERATION && strcmp(node->op, op) == 0;
}

/* Whether a join is a "left", "right", "full" or "natural" one. */
static inline bool query_joins(const struct query_node *join, const char *word)
{
	return strstr(join->op, word) != NULL;
}

/* An operation that compares two values, `<=>` among them. */
bool query_compares(const struct query_node *node);

/* An item of FROM that is no join. */
static inline bool query_is_item(const struct query_node *node)
{
	return node->kind == QUERY_RELATION || node->kind == QUERY_DERIVED;
}

/* The SELECT, SET, VALUES, TABLE or query in brackets that a query is made of. */
static inline const struct query_node *query_body(const struct query_node *query)
{
	const struct query_node *with = query_child(query, QUERY_WITH);
	return with ? with->next : query->first;
}

/* The SELECT that names the outputs of a query, or NULL: VALUES or TABLE does. */
const struct query_node *query_first_select(const struct query_node *query);

/* What an ITEM is called by those that read it. */
str_t query_item_name(const struct query_node *item);

/* Index of the output of that name of a WITH query or another one in FROM, or −1. */
int query_output_index(const struct query_node *maker, str_t name);

/* Calls `visit` with each value that a column of such a query can be. */
void query_each_source(const struct query_node *column,
		       void (*visit)(const struct query_node *value, void *context), void *context);

/* The query in the text that a range is made by, or NULL. */
const struct query_node *query_made_by(const struct query_range *range);

/* A node without children, of no extent, in the arena. */
struct query_node *query_node_new(struct arena *arena, enum query_kind kind, unsigned number, size_t offset);

/* Puts a child behind the others. */
void query_append(struct query_node *parent, struct query_node *child);

/* Whether some node of the tree is such; `here`: outside of queries in it. */
typedef bool (*query_is_fn)(const struct query_node *node, const void *context);
bool query_has(const struct query_node *node, query_is_fn is, const void *context);
bool query_has_here(const struct query_node *node, query_is_fn is, const void *context);

/* Whether an aggregate that groups stands in the tree, outside of subqueries; of NULL, none. */
bool query_aggregates(const struct query_node *node);

/* The largest number of a node in the tree. */
unsigned query_last_number(const struct query_node *node);
