/*
 * Tree of a SQLite query as its grammar has it. Built by parser.h from a text that the library has accepted;
 * lives in the arena of the parse. The rules that the dialects share read the one of query/tree.h instead,
 * which graph.h makes of it. After that it is only read, by any thread.
 */
#pragma once

#include "common/arena.h"

enum sqlite_node_kind {
	SQLITE_LITERAL,	  /* `text`: as written */
	SQLITE_PARAMETER, /* which one is not kept */
	SQLITE_COLUMN,	  /* `text`: name, `table`, `schema`: or absent; all in lower case */
	SQLITE_STAR,	  /* `*`, `table.*` */
	SQLITE_UNARY,	  /* `text`: operator */
	SQLITE_BINARY, /* `text`: operator, in lower case; LIKE and its like may have ESCAPE as third child */
	SQLITE_POSTFIX,	 /* `text`: isnull, notnull, or "collate name" */
	SQLITE_BETWEEN,	 /* operand, lower and upper bound */
	SQLITE_IN,	 /* operand, then the list, or `select`, or `table` */
	SQLITE_CALL,	 /* `text`: name, arguments */
	SQLITE_CASE,	 /* pairs of WHEN and THEN, an ELSE if their number is odd; `operand` */
	SQLITE_CAST,	 /* `text`: type */
	SQLITE_EXISTS,	 /* `select` */
	SQLITE_SUBQUERY, /* `select` */
	SQLITE_ROW,	 /* (a, b) */
};

struct query_node;
struct sqlite_select;
struct sqlite_core;
struct sqlite_item;

/* What the name of a column means. */
enum sqlite_meaning {
	SQLITE_UNSURE,	/* a column of some item, or nothing that is known */
	SQLITE_OF_ITEM, /* of `item` */
	SQLITE_OUTPUT,	/* the alias of an output of the same SELECT */
	SQLITE_MERGED,	/* of several items: USING or NATURAL */
};

struct sqlite_node {
	enum sqlite_node_kind kind;
	size_t offset; /* in the text */
	str_t text;
	str_t table;
	str_t schema;
	bool negated;  /* NOT in front of the operator */
	bool distinct; /* f(DISTINCT x) */
	bool has_star; /* f(*) */
	str_t window;  /* FILTER and OVER, as tokens; absent: none */
	struct sqlite_node *operand;
	struct sqlite_node **children;
	size_t children_count;
	size_t children_capacity;
	struct sqlite_select *select;
	enum sqlite_meaning meaning;	/* of a column; set by sqlite_resolve */
	bool doubtful;			/* it could be the alias of an output */
	const struct sqlite_item *item; /* of a column, or of `table.*` */
	const struct sqlite_core *core; /* of an output: the SELECT whose it is */
	size_t output;			/* index of the output that is meant */
};

enum sqlite_join { SQLITE_JOIN_INNER, SQLITE_JOIN_LEFT, SQLITE_JOIN_RIGHT, SQLITE_JOIN_FULL };

/* One item of FROM, and how it is joined to those before it. */
struct sqlite_source {
	size_t offset;
	str_t schema;
	str_t name;   /* of a relation or function; absent: `select` */
	str_t alias;  /* or absent */
	bool is_call; /* name(arguments) */
	struct sqlite_node **arguments;
	size_t arguments_count;
	size_t arguments_capacity;
	struct sqlite_select *select; /* a subquery */
	enum sqlite_join join;
	bool natural;
	struct sqlite_node *on;
	str_t *using;
	size_t using_count;
	size_t using_capacity;
};

struct sqlite_output {
	struct sqlite_node *expression;
	str_t alias;		       /* in lower case, or absent */
	const struct query_node *item; /* what sqlite_graph made of it */
};

struct sqlite_order {
	struct sqlite_node *expression;
	bool descending;
	bool nulls_first;
};

/* One SELECT or VALUES; rows of VALUES are ROW nodes among the outputs. */
struct sqlite_core {
	str_t operator; /* in front of it: union, union all, …; absent: the first */
	bool is_values;
	bool distinct;
	struct sqlite_output *outputs;
	size_t outputs_count;
	size_t outputs_capacity;
	struct sqlite_source *sources;
	size_t sources_count;
	size_t sources_capacity;
	struct sqlite_node *where;
	struct sqlite_node **group;
	size_t group_count;
	size_t group_capacity;
	struct sqlite_node *having;
	str_t windows;		   /* of WINDOW, as tokens; or absent */
	struct sqlite_item *items; /* one for each source; set by sqlite_resolve */
};

struct sqlite_cte {
	str_t name;
	str_t *columns;
	size_t columns_count;
	size_t columns_capacity;
	struct sqlite_select *select;
};

struct sqlite_select {
	size_t offset;
	struct sqlite_cte *ctes;
	size_t ctes_count;
	size_t ctes_capacity;
	struct sqlite_core *cores;
	size_t cores_count;
	size_t cores_capacity;
	struct sqlite_order *order;
	size_t order_count;
	size_t order_capacity;
	struct sqlite_node *limit;
	struct sqlite_node *skip; /* OFFSET */
};
