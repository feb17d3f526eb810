/*
 * Inside of the measure of growth: what its parts share. See growth.h.
 *
 * - growth.c: queries, expressions and what is too much
 * - growth_columns.c: columns, and what a reference to one stands for
 * - growth_from.c: FROM, WITH and views
 * - growth_paths.c: paths through JSON
 *
 * growth.c and growth_from.c recurse into each other as queries nest, GROWTH_MAX_LEVELS deep.
 */
#pragma once

#include "sql/postgresql/safety/growth.h" // first: see pg_nodes.h

#include "common/hash.h"

#define GROWTH_MAX_LEVELS 5000 /* of nodes */

/* A column that a query hands out. */
struct expansion_column {
	str_t name;
	double weight; /* nodes that stand for a reference to it */
};

/* What a query grows to. */
struct expansion {
	struct expansion_column *columns;
	size_t count;
	size_t capacity;
	bool positions; /* the columns are all there, in their order */
	double others;	/* at least 1: weight of a column that is not there */
	double widest;	/* at least 1: of any column */
	double nodes;	/* of all its expressions */
	double relations;
};

/* Something in FROM. */
struct source {
	const char *alias; /* or NULL */
	const struct expansion *expansion;
	double row;		   /* weight of all of it */
	struct hash_map *heaviest; /* of each name the column, where it has many that weigh something */
	struct source *same;	   /* the one before it of the same alias, as far as aliases are known */
};

struct sources {
	struct source **items;
	size_t count;
	size_t capacity;
};

struct scope {
	struct sources all;
	struct sources heavy;	   /* those with a column that stands for more than itself */
	double rows;		   /* weights of all of them */
	struct hash_map *by_alias; /* where they are many */
	size_t aliases_known;	   /* of so many sources `same` is set */
	bool merges;		   /* FULL JOIN … USING: both sides are read for one column */
	struct scope *outer;
};

struct expansion_with {
	const CommonTableExpr *cte;
	uint64_t name_hash;
	unsigned references;
	enum { WITH_NEW, WITH_UNDER_WAY, WITH_DONE } state;
	bool recursive;
	struct expansion expansion;
	const struct visible *around; /* WITH queries that it sees */
	struct scope *scope;	      /* of the query that it belongs to */
	struct expansion_with *next;
};

/* WITH queries in scope, innermost first. */
struct visible {
	struct expansion_with *with;
	const struct visible *outer;
};

struct expansion_view {
	const struct catalog_relation *relation;
	bool done;
	struct expansion expansion;
	struct expansion_view *next;
};

struct growth {
	struct arena *arena;
	const struct catalog *catalog;
	struct expansion_with *withs; /* of the text under way */
	struct expansion_view *views;
	size_t views_count;
	unsigned steps;
	unsigned depth;
	bool counting;	 /* how often WITH queries are read; it is not known yet */
	bool pushing;	 /* only conditions count: they are put into queries that group, too */
	bool kept_apart; /* a query that groups hides what it is made of, unless `pushing` */
	bool gave_up;
	int path_location; /* of a path through JSON that repeats itself, or −1 */
};

/* Where an expression or a query stands. */
struct place {
	struct growth *growth;
	const struct visible *visible;
	struct scope *scope;
};

/* growth.c */
void growth_query(struct place place, const Node *query, struct expansion *ret_expansion);
/* A whole text: the statement's, or a view's. */
void growth_text(struct growth *growth, const Node *query, struct expansion *ret_expansion);
/* Nodes that stand for the expression once all columns are put in their places. */
double growth_weigh(struct place place, const Node *node);

/* growth_columns.c */
void expansion_add_column(struct growth *growth, struct expansion *expansion, str_t name, double weight);
/* The same query under the names of `AS s (x, y)`. Where the order is not known, any may be the widest. */
struct expansion expansion_renamed(struct growth *growth, const struct expansion *expansion,
				   const List *names);
double expansion_whole_row(const struct expansion *expansion);
/* The last source of that alias; `same` leads from it to the others. */
struct source *growth_find_source(struct growth *growth, struct scope *scope, const char *alias);
/* A column by its bare name, or a whole row. */
double growth_weigh_name(struct place place, const char *name);
double growth_weigh_column(struct place place, const ColumnRef *column);

/* growth_from.c */
void growth_from(struct place place, struct scope *scope, const List *items, struct expansion *total);
/* Brings the WITH queries into scope; those that stay plans of their own count once. */
void growth_enter_with(struct place *place, const WithClause *clause, struct expansion *total);

/* growth_paths.c */
/* Notes where a path through JSON repeats itself. */
void growth_note_paths(struct growth *growth, const Node *node);
