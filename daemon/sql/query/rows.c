#include "sql/query/bombs_internal.h"

#include "common/hash.h"

#include <math.h>

#define MAX_STEPS 1000000 /* nodes that one statement may cost */

static double query_rows(struct bombs *bombs, const struct query_node *query);

/* Elements of a document that the text itself holds. */
static double document_rows(struct bombs *bombs, const struct query_node *document)
{
	return !document || query_has_column(document) ? 1 : fmax(bombs_text_size(bombs, document) / 2, 1);
}

double bombs_from_rows(struct bombs *bombs, const struct query_node *from)
{
	const struct query_node *query = query_is_item(from) ? query_made_by(from->range) : NULL;
	double rows = 1;
	if (++bombs->measured > MAX_STEPS)
		return INFINITY;
	if (query && from->range->maker->kind == QUERY_CTE)
		return bombs_recursion_rows(bombs, from->range->maker);
	if (query)
		return query_rows(bombs, query);
	if (from->kind == QUERY_DERIVED)
		return document_rows(bombs, from->first);
	for (const struct query_node *child = from->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			rows *= bombs_from_rows(bombs, child);
	return rows;
}

static double body_rows(struct bombs *bombs, const struct query_node *body)
{
	const struct query_node *from = query_child(body, QUERY_FROM);
	double rows = 0;
	switch (body->kind) {
	case QUERY_SET:
		for (const struct query_node *arm = body->first; arm; arm = arm->next)
			rows += body_rows(bombs, arm->first);
		return rows;
	case QUERY_VALUES:
		for (const struct query_node *row = body->first; row; row = row->next)
			rows++;
		return rows;
	case QUERY_SELECT:
		return from ? bombs_from_rows(bombs, from) : 1;
	case QUERY_EXPRESSION:
		return query_rows(bombs, body);
	default:
		return 1;
	}
}

static double limit_of(const struct query_node *query)
{
	const struct query_node *limit = query_child(query, QUERY_LIMIT);
	bool number = limit && query_is_literal(limit->first, "number");
	return number ? strtod(limit->first->name.ptr, NULL) : INFINITY;
}

/* Rows of a query: what is read while it is counted counts as 1. Each is counted once. */
static double query_rows(struct bombs *bombs, const struct query_node *query)
{
	double *known = bombs_memo_of(&bombs->rows, bombs, query);
	if (*known != 0)
		return *known < 0 ? 0 : *known;
	if (++bombs->measured > MAX_STEPS)
		return INFINITY;
	*known = 1;
	double rows = fmin(body_rows(bombs, query_body(query)), limit_of(query));
	*known = rows > 0 ? rows : -1;
	return rows;
}

/* ---- recursions ---- */

static bool is_made_by(const struct query_node *node, const void *cte)
{
	return node->kind == QUERY_RELATION && node->range && node->range->maker == cte;
}

bool bombs_reads(const struct query_node *node, const struct query_node *cte)
{
	return query_has(node, is_made_by, cte);
}

/* DUAL is none. */
static bool is_table(const struct query_node *node, const void *cte)
{
	return node->kind == QUERY_RELATION && !node->op && !(node->range && node->range->maker == cte);
}

bool bombs_joins_table(const struct query_node *from, const struct query_node *cte)
{
	return query_has_here(from, is_table, cte);
}

/* An arm that reads its own query. */
struct recursive_arm {
	struct bombs *bombs;
	const struct query_node *cte;
	struct hash_map picked; /* addresses of ranges whose rows a column of another one picks */
};

static str_t address_of(const struct query_range *const *range)
{
	return (str_t){ (const char *)range, sizeof *range };
}

static void find_picked(struct recursive_arm *arm, const struct query_node *node)
{
	if (query_is_operation(node, "=") && node->first->kind == QUERY_COLUMN &&
	    node->last->kind == QUERY_COLUMN) {
		if (node->first->range == node->last->range)
			return;
		hash_map_set(&arm->picked, address_of(&node->first->range), arm);
		hash_map_set(&arm->picked, address_of(&node->last->range), arm);
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind != QUERY_EXPRESSION)
			find_picked(arm, child);
}

/* Rows of the text that each row of a recursion is joined with. */
static double branches(const struct recursive_arm *arm, const struct query_node *from)
{
	double rows = 1;
	if (query_is_item(from))
		return (from->range && from->range->maker == arm->cte) ||
				       hash_map_get(&arm->picked, address_of(&from->range))
			       ? 1
			       : bombs_from_rows(arm->bombs, from);
	for (const struct query_node *child = from->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			rows *= branches(arm, child);
	return rows;
}

/* How many rows an arm makes of each; of those that a table is joined to, data decides. */
static double multiplied_by(struct bombs *bombs, const struct query_node *select,
			    const struct query_node *cte)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	struct recursive_arm recursion = { .bombs = bombs, .cte = cte };
	if (!from)
		return 1;
	hash_map_init(&recursion.picked, bombs->violations->arena, 8);
	find_picked(&recursion, select);
	double rows = branches(&recursion, from);
	return rows < 2 && bombs_joins_table(from, cte) ? 0 : rows;
}

/* The least number that a condition, joined by AND, keeps something below. */
static double levels_of(struct bombs *bombs, const struct query_node *condition)
{
	double levels = INFINITY;
	if (query_is_operation(condition, "and")) {
		for (const struct query_node *part = condition->first; part; part = part->next)
			levels = fmin(levels, levels_of(bombs, part));
		return levels;
	}
	bool compares = condition->kind == QUERY_OPERATION && strchr("<>=", condition->op[0]);
	if (!compares && condition->kind != QUERY_BETWEEN)
		return levels;
	for (const struct query_node *side = condition->first; side; side = side->next)
		if (query_is_literal(side, "number"))
			levels = bombs_largest(bombs, side); /* of BETWEEN the last */
	return levels;
}

static double recursion_rows(struct bombs *bombs, const struct query_node *cte)
{
	const struct query_node *query = query_child(cte, QUERY_EXPRESSION), *body = query_body(query);
	double each = 0, levels = 0;
	bool recursive = false;
	for (const struct query_node *arm = body->kind == QUERY_SET ? body->first : NULL; arm;
	     arm = arm->next) {
		const struct query_node *where = query_child(arm->first, QUERY_WHERE);
		if (!bombs_reads(arm, cte))
			continue;
		recursive = true;
		each += multiplied_by(bombs, arm->first, cte);
		levels = fmax(levels, where ? levels_of(bombs, where->first) : INFINITY);
	}
	if (!recursive)
		return query_rows(bombs, query);
	double rows = each >= 2 ? pow(each, levels) : isinf(levels) ? 1 : fmax(levels, 1);
	return fmin(rows, limit_of(query));
}

double bombs_recursion_rows(struct bombs *bombs, const struct query_node *cte)
{
	double *known = bombs_memo_of(&bombs->rows, bombs, cte);
	if (*known != 0)
		return *known < 0 ? 0 : *known;
	*known = 1;
	double rows = recursion_rows(bombs, cte);
	*known = rows > 0 ? rows : -1;
	return rows;
}
