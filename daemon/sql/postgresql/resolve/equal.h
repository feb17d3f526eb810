/*
 * Which expressions of a query level are the same. Inside of the resolver; see internal.h.
 */
#pragma once

#include "sql/postgresql/resolve/internal.h" // first: see pg_nodes.h

/* expression_parts.c */
/* A column behind the merged columns of joins. */
struct base_column {
	const struct range_item *item;
	size_t column;
};
struct base_column base_column_of(const struct range_item *item, size_t column);
/* What the expression converts, where that says nothing of what is equal to it; else itself. */
const Node *expression_without_casts(struct resolver *resolver, const Node *node);
const Node *expression_output_without_casts(struct resolver *resolver, const Node *node);
/* What a conversion converts, as a cast or as a call of its type's name; or NULL. */
const Node *expression_cast_operand(struct resolver *resolver, const Node *node);
/* A column as it is, or `(t).y` and y(t) of a row t. */
bool expression_is_column(struct resolver *resolver, const Node *node, struct base_column *ret_base);
/* Whether it may be equal to anything: a field that may be a call as well. */
bool expression_is_open(const struct resolver *resolver, const Node *node);
/* The number that the literal is where one is wanted, quoted or not; else NAN. */
double expression_constant_number(const A_Const *constant);

/* equal.c: whether two expressions of one query level may be the same to PostgreSQL, conversions
 * aside. */
bool expression_may_equal(struct resolver *resolver, const Node *a, const Node *b);
/* The same for two that stand for themselves, where PostgreSQL adds no conversion. */
bool expression_outputs_may_equal(struct resolver *resolver, const Node *a, const Node *b);
/* expression_index.c: places of expressions, to find an equal one without comparing with each. */
struct expression_index *expression_index_new(struct resolver *resolver, size_t places);
/* To be added in ascending order of places. `whole`: the expression stands for itself
 * (expression_outputs_may_equal). */
void expression_index_add(struct expression_index *index, const Node *node, bool whole, size_t place);
void expression_index_add_hash(struct expression_index *index, uint64_t hash, size_t place);
/* The first place that `matches`, or SIZE_MAX. */
size_t expression_index_find(const struct expression_index *index, const Node *node, bool whole,
			     bool (*matches)(const void *context, size_t place, const Node *node),
			     const void *context);
size_t expression_index_find_hash(const struct expression_index *index, uint64_t hash);
uint64_t base_column_hash(struct base_column base);
/* Told by their hashes, without going through both; casts around them count. */
bool expression_surely_differs(struct resolver *resolver, const Node *a, const Node *b);
