/*
 * Inside of the canonical form. Texts are prefix notation over canonical names; they are no SQL and are only
 * ever compared. Words of the notation are in capitals, which no plain name has:
 * - a relation in FROM is named after what it reads, with its place among equals (`#2`) where needed; a
 *   derived table or WITH query is `Q1`, …, and its columns are counted from 1 when all have names of their
 *   own, so that aliases vanish; one that only selects and filters dissolves into the query around it;
 * - `^` before a name leads one query outward;
 * - inner and comma joins are a set of relations and a set of conditions, LEFT JOINs are attached to that
 *   set; AND, OR, IN lists and the operands of commutative operators are sorted; > and >= are turned around;
 *   BETWEEN is two comparisons; columns that an inner join equates are one.
 * Where the text and the catalog cannot say what a name means, the name stays as written. Texts beyond
 * CANON_LONG_TEXT are named by their digest, so that what nests does not multiply.
 *
 * Queries hold expressions, and these queries: select.c, set.c, with.c, from.c, join.c, pass.c and targets.c
 * recurse into expression.c, call.c, condition.c, alternatives.c and names.c, and those back. canon_enter
 * bounds it.
 */
#pragma once

#include "sql/postgresql/resolve/resolve.h" // first: see pg_nodes.h

#include "common/hash.h"
#include "sql/findings/analysis.h"
#include "sql/lex/texts.h"
#include "sql/postgresql/parse/node_children.h"

#define CANON_MAX_DEPTH	     8000
#define CANON_MAX_RANGES     600	       /* in one FROM */
#define CANON_MAX_BYTES	     ((size_t)8 << 20) /* of all texts built for one statement */
#define CANON_MAX_WORK	     ((size_t)2 << 20) /* names compared */
#define CANON_MAX_REBUILDS   24		       /* of one statement, to tell twins in FROM apart */
#define CANON_LONG_TEXT	     1024
#define CANON_MAX_CANDIDATES 32 /* relations of which any may have a column */

/* A relation in FROM. */
struct canon_range {
	const Node *node;
	const struct range_item *item; /* what the resolver knows, or NULL */
	struct canon_scope *scope;
	str_t alias;	      /* what it is called in the statement */
	str_t schema;	      /* of a relation, as written */
	str_t stem;	      /* the name begins with it */
	str_t text;	      /* what it reads; absent until the names of its neighbours are there */
	str_t name;	      /* canonical, unique among all of its scope */
	const str_t *outputs; /* names of its columns, all different; NULL: not known */
	size_t outputs_count;
	struct hash_map *outputs_index; /* from.c's, where they are many: the number of each from 1 */
	unsigned index;			/* order of appearance in its scope */
	bool optional;			/* on the side of an outer join that may be missing */
	bool numbered;			/* among equals: its place has to be found */
	const SelectStmt *dissolved;	/* its query is part of the one around it, or NULL */
};

/* A column that USING or NATURAL has merged. */
struct canon_merged {
	const JoinExpr *join;
	str_t name;
	str_t text;
	const struct canon_range *range; /* whose column stands for it, or NULL */
	size_t column;
};

/* Numbers by a join and the name of a column in it. */
struct join_map {
	struct hash_map by_key;
};

/* A column and the one that stands for it, since an inner join equates them. */
struct canon_equal {
	const struct canon_range *range;
	str_t column;  /* name of the relation's column */
	size_t parent; /* index of another one of its set, or its own */
};

/* A relation's column, by its number. */
struct canon_place {
	const struct canon_range *range;
	size_t column;
};

struct canon_scope {
	struct canon_scope *outer;
	unsigned depth;
	const SelectStmt *select;
	struct hash_map *windows; /* call.c's: of its WINDOW clause by name, once one was asked for */
	struct canon_range **ranges;
	size_t ranges_count;
	size_t ranges_capacity;
	struct canon_range **sorted; /* by stem and text: equals side by side */
	struct canon_merged *merged;
	size_t merged_count;
	size_t merged_capacity;
	struct join_map merged_map; /* merged.c's, where they are many */
	struct canon_equal *equal;
	size_t equal_count;
	size_t equal_capacity;
	struct join_map first; /* equal.c's: the first column of a name in a join; its number in `firsts` */
	struct canon_place *firsts;
	size_t firsts_count;
	size_t firsts_capacity;
};

/* A WITH query in scope. */
struct canon_cte {
	struct canon_cte *outer;
	struct canon_cte *visible; /* what its query sees */
	struct canon_scope *scope; /* where its query stands */
	const CommonTableExpr *query;
	uint64_t name_hash;
	size_t references;  /* at least so many as there are */
	unsigned recursion; /* it is being built: nesting of such, from 1 */
	unsigned once; /* number of one that is evaluated once for all of its references, from 1; 0: none */
	bool may_recurse;
	bool built;
	bool refers_to_itself;
	bool correlated; /* it names what stands outside of its WITH */
	str_t text;
	const str_t *outputs;
	size_t outputs_count;
};

/* An output of a dissolved query whose text is being built: it cannot be part of itself. */
struct canon_output {
	const struct canon_output *outer;
	const SelectStmt *select;
	size_t index;
};

struct canon {
	struct arena *arena;
	const struct resolution *resolution; /* or NULL */
	const struct sql_request *request;
	const Node *statement;
	struct canon_scope *scope;
	struct canon_cte *ctes;
	struct canon_references *references; /* with.c's */
	const struct canon_output *building;
	struct canon_range **by_number; /* the range of the resolver's item of that number */
	size_t by_number_count;
	unsigned depth;
	unsigned recursions;
	unsigned onces;
	unsigned rebuilds;
	const SelectStmt *recursive_query; /* whose arms keep their places */
	unsigned lowest_scope;		   /* depth of the outermost scope named since it was set */
	size_t volatile_calls;		   /* built so far: what calls them is not the same twice */
	size_t unsteady; /* built so far, whose rows depend on more than the data: LIMIT, windows, … */
	size_t bytes;
	size_t work;
	bool deduplicated;		 /* within a set operation that keeps one of equal rows */
	bool masked;			 /* literals are `?` */
	bool order_known, order_matters; /* whether the order of derived tables shows in the result */
	bool failed; /* something has no canonical text: the statement's own text stands in */
};

/* What a SELECT is made of, canonically. */
struct canon_select {
	struct texts targets; /* in order */
	bool distinct;
	str_t distinct_on; /* or "" */
	struct texts tables;
	struct texts joins; /* conditions between relations, outer joins */
	struct texts where; /* the other conditions */
	struct texts group;
	struct texts having;
	struct texts order; /* in order; with limit and offset behind */
	int *order_columns; /* output that each key of ORDER BY sorts by, from 0; −1: none */
	str_t text;
	const str_t *names; /* of the targets */
	size_t names_count;
	bool exact;	      /* every output is among the targets, one by one */
	const str_t *outputs; /* the names, where they are exact and all different; else NULL */
	size_t outputs_count;
};

/* Parts of a SELECT that do not show where it stands. */
enum canon_use { CANON_ALL, CANON_UNORDERED, CANON_EXISTENCE };

/* text.c */
#define CONCAT(canon, ...)                                                                                   \
	canon_concat((canon), (const str_t[]){ __VA_ARGS__ },                                                \
		     sizeof((const str_t[]){ __VA_ARGS__ }) / sizeof(str_t))
str_t canon_concat(struct canon *canon, const str_t *parts, size_t count);
str_t canon_number(struct canon *canon, size_t number);
str_t canon_short(struct canon *canon, str_t text); /* by digest where it is long */
void texts_add_all(struct canon *canon, struct texts *texts, const struct texts *more);
/* As texts_add_all; where `texts` is empty, `more` is taken over and must not be used any more. */
void texts_take(struct canon *canon, struct texts *texts, const struct texts *more);
str_t texts_join(struct canon *canon, str_t open, const struct texts *texts, str_t close);
str_t canon_identifier(struct canon *canon, str_t name);
str_t canon_quoted(struct canon *canon, str_t text);
bool canon_work(struct canon *canon, size_t comparisons); /* false: too much */

/* expression.c */
str_t canon_expression(struct canon *canon, const Node *node);
void canon_expressions(struct canon *canon, const List *list, struct texts *texts);
/* `members` in order where it counts; they are sorted otherwise. */
str_t canon_grouping_set(struct canon *canon, GroupingSetKind kind, struct texts *members);
str_t canon_constant(struct canon *canon, const A_Const *literal);
str_t canon_operator(struct canon *canon, const List *names);
/* The literal as what it is compared with asks for: casts that change nothing vanish. */
str_t canon_operand(struct canon *canon, const Node *node, const Node *other);
type_id canon_type(const struct canon *canon, const Node *node);
str_t canon_type_name(struct canon *canon, const TypeName *type);
str_t canon_sublink(struct canon *canon, const SubLink *link, bool negated);

/* call.c */
str_t canon_call(struct canon *canon, const FuncCall *function);
str_t canon_name(struct canon *canon, const List *names);
bool canon_never_null(const struct canon *canon, const Node *node);
bool canon_nulls_first(const struct canon *canon, const SortBy *sort);
/* `value`: what it sorts by, where it is known. */
str_t canon_sort(struct canon *canon, const SortBy *sort, const Node *value, str_t expression);
/* Whether rows would be the same whatever their order in derived tables. */
bool canon_order_matters(struct canon *canon);
bool canon_keys_only_order(const struct canon *canon, const SelectStmt *select);

/* condition.c */
str_t canon_boolean(struct canon *canon, const Node *node, bool negated);
void canon_conditions(struct canon *canon, const Node *node, bool negated, struct texts *texts);
str_t canon_comparison(struct canon *canon, str_t op, str_t left, str_t right);
str_t canon_binary(struct canon *canon, const A_Expr *expr, str_t op);
bool canon_is_condition(const Node *node); /* canon_boolean knows more of it than its kind */
/* Made of several conditions that all have to hold; the other way negated, one of which has to. */
bool canon_is_conjunction(const Node *node, bool negated);
bool canon_is_bool(const Node *node, BoolExprType op);
bool canon_is_expr(const Node *node, A_Expr_Kind kind);
bool canon_is_between(const Node *node);
bool canon_named(const List *names, const char *name);
/* The two comparisons that BETWEEN, or (`inside` false) NOT BETWEEN, is made of. */
void canon_between(struct canon *canon, const A_Expr *expr, bool inside, str_t ret_parts[2]);

/* alternatives.c */
bool canon_list_negated(const A_Expr *expr);
void canon_not_in(struct canon *canon, const A_Expr *expr, struct texts *texts);
/* Parts of an OR; equalities of one subject are an IN list. */
void canon_alternatives(struct canon *canon, const Node *node, bool negated, struct texts *texts);

/* names.c */
str_t canon_column(struct canon *canon, const ColumnRef *column);
str_t canon_range_column(struct canon *canon, const struct canon_range *range, str_t name);
str_t canon_item_column(struct canon *canon, const struct range_item *item, size_t column);
str_t canon_output_column(struct canon *canon, const SelectStmt *select, size_t index);
const struct canon_range *canon_range_of(const struct canon *canon, const Node *node);
str_t canon_whole_row(struct canon *canon, const struct canon_range *range);
str_t canon_relation(struct canon *canon, const RangeVar *range); /* its identity, schema where needed */
str_t canon_relation_column(const struct range_item *item, size_t column); /* its real name */
/* The column of FROM that the reference comes from, through joins and dissolved queries; false: none, or
 * merged of several. */
bool canon_base_column(const struct canon *canon, const ColumnRef *column,
		       const struct canon_range **ret_range, size_t *ret_column);

/* from.c */
void canon_ranges(struct canon *canon, const Node *node, bool optional);
void canon_name_ranges(struct canon *canon);
void canon_build_ranges(struct canon *canon);

/* join.c */
struct canon_from {
	struct texts items;
	struct texts conditions;
	struct texts joins; /* outer ones */
};
void canon_from(struct canon *canon, const Node *node, struct canon_from *from);

/* equal.c */
void canon_find_equal(struct canon *canon, const SelectStmt *select);
/* What stands for the column; the same column where nothing does. */
void canon_representative(const struct canon_scope *scope, const struct canon_range **range, str_t *column);
bool canon_is_equation(const struct canon *canon, const Node *node,
		       bool negated); /* canon_equations tells it */
void canon_equations(struct canon *canon, struct canon_from *from);
bool canon_same_type(const struct canon_range *a, size_t a_column, const struct canon_range *b,
		     size_t b_column, bool identical);

/* merged.c */
void join_map_set(struct join_map *map, struct arena *arena, const JoinExpr *join, str_t name, size_t value);
bool join_map_get(const struct join_map *map, struct arena *arena, const JoinExpr *join, str_t name,
		  size_t *ret_value);
void canon_merged_add(struct canon *canon, const struct canon_merged *merged);
void canon_merged_clear(struct canon_scope *scope);
/* What the join has merged under that name, or NULL. */
const struct canon_merged *canon_merged_of(const struct canon *canon, const struct canon_scope *scope,
					   const JoinExpr *join, str_t name);

/* twins.c */
/* Finds the places of those that read the same; `body` builds the text of what they stand in. */
void canon_place_twins(struct canon *canon, const SelectStmt *select,
		       str_t (*body)(struct canon *canon, const SelectStmt *select));

/* with.c */
void canon_with(struct canon *canon, const SelectStmt *select);
/* The WITH queries of this SELECT that are evaluated once, or "". */
str_t canon_with_text(struct canon *canon, const struct canon_cte *outer);
struct canon_cte *canon_cte_find(const struct canon *canon, const RangeVar *range);
void canon_cte_build(struct canon *canon, struct canon_cte *cte);

/* targets.c */
struct target_list {
	struct texts texts;
	struct texts names;
	const Node **nodes; /* NULL: of a star */
	size_t nodes_count;
	size_t nodes_capacity;
	bool exact;		     /* every output is there, one by one */
	size_t first_inexact;	     /* what stands behind cannot be counted */
	struct target_index *places; /* targets.c's, where they are many */
};
void canon_targets(struct canon *canon, const SelectStmt *select, struct target_list *list);
bool canon_ordinal(const Node *node, size_t *ret_index);
/* What a key of ORDER BY or DISTINCT ON means. `ret_index`: the output, or −1; `ret_node`: its expression, or
 * NULL. */
str_t canon_key(struct canon *canon, const struct target_list *list, const Node *key, int *ret_index,
		const Node **ret_node);
str_t canon_group_key(struct canon *canon, const struct target_list *list, const Node *key);

/* pass.c */
/* A query that only hands on (and orders) what one in its FROM returns is that one; false: it is not one. */
bool canon_pass_through(struct canon *canon, const SelectStmt *select, enum canon_use use,
			struct canon_select *result);

/* set.c */
bool canon_untyped(const SelectStmt *select); /* it returns a bare literal */
void canon_set_operation(struct canon *canon, const SelectStmt *select, enum canon_use use,
			 struct canon_select *result);

/* select.c */
void canon_set_outputs(const struct target_list *list, struct canon_select *select);
void canon_order_and_limit(struct canon *canon, const SelectStmt *select, enum canon_use use,
			   const struct target_list *list, struct canon_select *result);
void canon_limit(struct canon *canon, const SelectStmt *select, struct texts *order);
bool canon_limited(const SelectStmt *select);
bool canon_has_grouping_sets(const SelectStmt *select);
str_t canon_clause(struct canon *canon, str_t name, const struct texts *texts); /* "" when empty */
void canon_select(struct canon *canon, const SelectStmt *select, enum canon_use use,
		  struct canon_select *ret_select);
bool canon_enter(struct canon *canon);
void canon_leave(struct canon *canon);
