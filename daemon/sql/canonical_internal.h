/*
 * Inside of the canonical form. Texts are prefix notation over canonical names and are only ever compared:
 * - a relation in FROM is named after what it reads, with its nesting (`@1`) and its place among equals
 * (`#2`) where needed; a derived table or WITH query is a `q`, whose columns are counted from 1 when all have
 * names of their own, so that aliases vanish;
 * - inner joins and comma joins are a set of items and a set of conditions; AND, OR, IN lists and the
 * operands of commutative operators are sorted; > and >= are turned around; BETWEEN is two comparisons. Where
 * the text alone cannot say what a name means, the name stays in the text as written.
 */
#pragma once

#include "sql/resolve.h" // first: see pg_nodes.h

#include "common/buf.h"
#include "sql/analysis.h"

#define CANON_MAX_DEPTH 8000
#define CANON_MAX_BYTES ((size_t)8 << 20) /* of all texts built for one statement */
#define CANON_LONG_TEXT 2048		  /* of a WITH query that is named by digest from there on */

struct texts {
	str_t *items;
	size_t count;
	size_t capacity;
};

/* A relation in FROM. */
struct canon_range {
	const Node *node;
	str_t alias;	      /* what it is called in the statement */
	str_t schema;	      /* of a relation, as written */
	str_t name;	      /* canonical, unique among all that are visible where it is */
	str_t text;	      /* what it reads */
	const str_t *outputs; /* names of its columns, all different; NULL: not known */
	size_t outputs_count;
};

/* A column that USING has merged. */
struct canon_merged {
	str_t name;
	str_t text;
};

struct canon_scope {
	struct canon_scope *outer;
	unsigned depth;
	const SelectStmt *select;
	struct canon_range *ranges;
	size_t ranges_count;
	size_t ranges_capacity;
	struct canon_merged *merged;
	size_t merged_count;
	size_t merged_capacity;
};

/* A WITH query in scope. */
struct canon_cte {
	struct canon_cte *outer;
	const char *name;
	unsigned number; /* counted from the outermost */
	bool recursive;	 /* it refers to itself */
	str_t text;	 /* absent while it is being built: a reference is the recursion */
	const str_t *outputs;
	size_t outputs_count;
};

struct canon {
	struct arena *arena;
	const struct resolution *resolution; /* or NULL */
	const struct sql_request *request;
	struct canon_scope *scope;
	struct canon_cte *ctes;
	unsigned depth;
	size_t bytes;
	bool failed; /* something has no canonical text: the statement's own text stands in */
};

/* What a SELECT is made of, canonically. */
struct canon_select {
	struct texts targets; /* in order */
	bool distinct;
	str_t distinct_on; /* or absent */
	struct texts tables;
	struct texts joins; /* conditions between relations, outer joins */
	struct texts where; /* the other conditions */
	struct texts group;
	struct texts having;
	struct texts order; /* in order; with limit and offset behind */
	str_t text;
	const str_t *outputs; /* names of the targets, all different; NULL: not known */
	size_t outputs_count;
};

/* canonical_text.c */
void texts_add(struct canon *canon, struct texts *texts, str_t text);
void texts_sort(struct texts *texts);
void texts_unique(struct texts *texts);
str_t texts_join(struct canon *canon, const char *open, const struct texts *texts, const char *close);
str_t canon_printf(struct canon *canon, const char *format, ...) __attribute__((format(printf, 2, 3)));
str_t canon_identifier(struct canon *canon, str_t name);
bool canon_volatile(str_t text); /* it calls a function whose values differ from call to call */
/* The statement's tokens: keywords and plain identifiers in lower case, one space between. */
str_t canon_tokens(str_t sql, enum sql_dialect dialect, struct arena *arena);

/* canonical_expression.c */
str_t canon_expression(struct canon *canon, const Node *node);
void canon_expressions(struct canon *canon, const List *list, struct texts *texts);
void canon_conditions(struct canon *canon, const Node *node, struct texts *texts); /* of an AND */
bool canon_nulls_first(const struct canon *canon, const SortBy *sort);
str_t canon_sort(struct canon *canon, const SortBy *sort, str_t expression);

/* canonical_names.c */
str_t canon_column(struct canon *canon, const ColumnRef *column);
str_t canon_range_column(struct canon *canon, const struct canon_range *range, str_t name);
/* The new range is valid until the next one is added. */
struct canon_range *canon_range_add(struct canon *canon, const Node *node, str_t alias, str_t base);
const struct canon_range *canon_range_of(const struct canon *canon, const Node *node);
str_t canon_whole_row(struct canon *canon, const struct canon_range *range);
str_t canon_relation(struct canon *canon, const RangeVar *range); /* its identity, schema where needed */

/* canonical_from.c */
struct canon_from {
	struct texts items;
	struct texts conditions;
	struct texts outer_joins;
};
/* Puts the relations of FROM into the scope; then canon_from can read its joins. */
void canon_ranges(struct canon *canon, const Node *node);
void canon_from(struct canon *canon, const Node *node, struct canon_from *from);
str_t canon_compared(struct canon *canon, const char *op, str_t left, str_t right);

/* canonical_select.c */
void canon_select(struct canon *canon, const SelectStmt *select, struct canon_select *ret_select);
struct canon_cte *canon_cte_find(const struct canon *canon, const RangeVar *range);
/* Position of what the key sorts by among the outputs, from 0; −1: not among them. */
int canon_sort_output(struct canon *canon, const SelectStmt *select, const Node *key);
bool canon_enter(struct canon *canon);
void canon_leave(struct canon *canon);
