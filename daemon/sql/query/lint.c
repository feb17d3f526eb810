#include "sql/query/lint.h"

#include <ctype.h>

struct lint {
	str_t text;
	enum sql_dialect dialect;
	struct diagnostics *diagnostics;
};

static bool is_number(const struct query_node *node)
{
	bool sign = node->kind == QUERY_OPERATION && node->first && !node->first->next &&
		    (node->op[0] == '-' || node->op[0] == '+');
	return query_is_literal(sign ? node->first : node, "number");
}

static bool has_digit(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if (isdigit((unsigned char)text.ptr[i]))
			return true;
	return false;
}

/* What it says; SQLite's tree does not keep where a node ends, and names its place. */
static str_t object_of(const struct lint *lint, const struct query_node *node)
{
	if (lint->dialect == SQL_MYSQL && node->end > node->offset)
		return (str_t){ lint->text.ptr + node->offset, node->end - node->offset };
	return arena_printf(lint->diagnostics->arena, "@%zu", node->offset);
}

static void risk(const struct lint *lint, enum diagnostic_sub_code sub_code, const struct query_node *node,
		 const char *message)
{
	diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN, sub_code, object_of(lint, node),
			(int64_t)node->offset, "%s", message);
}

/* ---- expressions ---- */

static const struct catalog_column *column_of(const struct query_node *node)
{
	return node && node->kind == QUERY_COLUMN && !node->item ? query_range_column(node->range, node->name)
								 : NULL;
}

/* MySQL counts a text without a number as 0; SQLite holds every text for greater than all numbers. */
static void check_pair(const struct lint *lint, const struct query_node *operand,
		       const struct query_node *literal)
{
	const struct catalog_column *column = column_of(operand);
	if (!column)
		return;
	bool number = column->category == TYPE_INTEGER || column->category == TYPE_NUMERIC;
	bool counts_as_zero = lint->dialect == SQL_MYSQL;
	if (column->category == TYPE_TEXT && !str_is(column->type, "enum") && is_number(literal))
		diagnostics_add(lint->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, operand->name,
				(int64_t)literal->offset,
				"the column \"" STR_FMT "\" of texts is compared with a number%s",
				STR_ARG(operand->name),
				counts_as_zero ? ": texts that are no numbers count as 0"
					       : "; write the number as a text, or CAST the column");
	if (number && query_is_literal(literal, "string") && !has_digit(literal->name))
		diagnostics_add(lint->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, operand->name,
				(int64_t)literal->offset,
				"the column \"" STR_FMT
				"\" of numbers is compared with a text that is no number%s",
				STR_ARG(operand->name), counts_as_zero ? ", which counts as 0" : "");
}

static void check_types(const struct lint *lint, const struct query_node *node)
{
	if (query_compares(node)) {
		check_pair(lint, node->first, node->last);
		check_pair(lint, node->last, node->first);
	}
	const struct query_node *listed = node->kind == QUERY_BETWEEN ? node->first->next
					  : node->kind == QUERY_IN && node->last->kind == QUERY_ROW
						  ? node->last->first
						  : NULL;
	for (; listed; listed = listed->next)
		check_pair(lint, node->first, listed);
}

static void check_null(const struct lint *lint, const struct query_node *node)
{
	if (query_compares(node) && !query_is_operation(node, "<=>") &&
	    (query_is_literal(node->first, "null") || query_is_literal(node->last, "null")))
		risk(lint, SUB_RISKY_PATTERN_EQUALS_NULL, node,
		     "a comparison with NULL is never true; write IS NULL or IS NOT NULL");
}

static void check_pattern(const struct lint *lint, const struct query_node *node)
{
	const struct query_node *pattern = node->kind == QUERY_LIKE ? node->first->next : NULL;
	bool like = pattern && strcmp(node->op, "like") == 0, glob = pattern && strcmp(node->op, "glob") == 0;
	if ((!like && !glob) || !query_is_literal(pattern, "string") || pattern->name.len == 0)
		return;
	if (strchr(like ? "%_" : "*?", pattern->name.ptr[0]))
		risk(lint, SUB_RISKY_PATTERN_LEADING_WILDCARD, node,
		     "a pattern that begins with a wildcard cannot use an index");
}

/* OR between texts was meant to join them. */
static void check_pipes(const struct lint *lint, const struct query_node *node)
{
	if (lint->dialect == SQL_MYSQL && query_is_operation(node, "or") && node->first &&
	    (query_is_literal(node->first, "string") || query_is_literal(node->last, "string")))
		diagnostics_add(
			lint->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, STR("||"), (int64_t)node->offset,
			"|| is OR here, and a text is no condition; texts are joined by CONCAT(…, …)");
}

static bool is_integer(const struct query_node *node)
{
	const struct catalog_column *column = column_of(node);
	if (!query_is_literal(node, "number"))
		return column && column->category == TYPE_INTEGER;
	for (size_t i = 0; i < node->name.len; i++)
		if (!isdigit((unsigned char)node->name.ptr[i]))
			return false;
	return true;
}

/* MySQL divides integers into decimals. */
static void check_division(const struct lint *lint, const struct query_node *node)
{
	if (lint->dialect == SQL_SQLITE && query_is_operation(node, "/") && is_integer(node->first) &&
	    is_integer(node->last))
		risk(lint, SUB_RISKY_PATTERN_INTEGER_DIVISION, node,
		     "a division of integers drops the remainder; multiply by 1.0 first");
}

static bool tests_null(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_IS && node->flag && strcmp(node->op, "null") == 0;
}

static bool joins_outer(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_JOIN &&
	       (query_joins(node, "left") || query_joins(node, "right") || query_joins(node, "full"));
}

/* x NOT IN (SELECT y …) is never true once a y is NULL; in the rows of an outer join, and behind a test for
 * NULL, that is not known. */
static void check_not_in(const struct lint *lint, const struct query_node *node)
{
	const struct query_node *subquery = node->kind == QUERY_IN && node->flag ? node->last : NULL;
	const struct query_node *select = subquery && subquery->kind == QUERY_SUBQUERY
						  ? query_child(subquery->first, QUERY_SELECT)
						  : NULL;
	const struct query_node *items = query_child(select, QUERY_ITEMS);
	const struct query_node *where = query_child(select, QUERY_WHERE),
				*from = query_child(select, QUERY_FROM);
	if (!items || items->first != items->last || (where && query_has(where, tests_null, NULL)) || !from ||
	    query_has_here(from, joins_outer, NULL))
		return;
	const struct catalog_column *column = column_of(items->first->first);
	bool key = column && column->is_key && column->category == TYPE_INTEGER;
	if (column && !column->not_null && !key)
		diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN,
				SUB_RISKY_PATTERN_NOT_IN_NULLABLE_SUBQUERY, column->name,
				(int64_t)node->offset,
				"NOT IN is never true once \"" STR_FMT "\" is NULL; write NOT EXISTS",
				STR_ARG(column->name));
}

/* ---- queries ---- */

static bool is_relation(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_RELATION && node->range && node->range->kind == QUERY_RANGE_RELATION;
}

/* A star over derived tables only repeats what they list. */
static void check_stars(const struct lint *lint, const struct query_node *select)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *item = from ? query_child(select, QUERY_ITEMS)->first : NULL;
	for (; item; item = item->next)
		if (item->kind == QUERY_STAR && (item->range ? item->range->kind == QUERY_RANGE_RELATION
							     : query_has_here(from, is_relation, NULL)))
			diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_SELECT_STAR,
					STR("*"), (int64_t)item->offset,
					"name the columns that are needed instead of *");
}

static bool query_bounded(const struct query_node *query);

/* Aggregated, or made of rows that the text itself lists. */
static bool body_bounded(const struct query_node *body)
{
	const struct query_node *from = query_child(body, QUERY_FROM);
	switch (body->kind) {
	case QUERY_SELECT:
		return !from ||
		       (from->first == from->last && from->first->kind == QUERY_RELATION &&
			from->first->op) || /* DUAL */
		       query_child(body, QUERY_GROUP) ||
		       query_aggregates(query_child(body, QUERY_ITEMS)) ||
		       query_aggregates(query_child(body, QUERY_HAVING));
	case QUERY_SET:
		for (const struct query_node *arm = body->first; arm; arm = arm->next)
			if (!body_bounded(arm->first))
				return false;
		return true;
	case QUERY_EXPRESSION:
		return query_bounded(body);
	default:
		return body->kind == QUERY_VALUES;
	}
}

static bool query_bounded(const struct query_node *query)
{
	return query_child(query, QUERY_LIMIT) || body_bounded(query_body(query)) ||
	       query_aggregates(query_child(query, QUERY_ORDER));
}

static void visit(const struct lint *lint, const struct query_node *node, bool in_exists)
{
	check_types(lint, node);
	check_pipes(lint, node);
	check_null(lint, node);
	check_pattern(lint, node);
	check_division(lint, node);
	check_not_in(lint, node);
	if (node->kind == QUERY_SELECT) {
		if (!in_exists)
			check_stars(lint, node);
		query_lint_products(node, lint->diagnostics);
	}
	bool exists = node->kind == QUERY_EXISTS ||
		      (in_exists && (node->kind == QUERY_EXPRESSION || node->kind == QUERY_SET ||
				     node->kind == QUERY_ARM));
	for (const struct query_node *child = node->first; child; child = child->next)
		visit(lint, child, exists);
}

void query_lint(const struct query_node *root, str_t text, enum sql_dialect dialect,
		struct diagnostics *diagnostics)
{
	struct lint lint = { text, dialect, diagnostics };
	visit(&lint, root, false);
	if (root->kind == QUERY_EXPRESSION && !query_bounded(root))
		diagnostics_add(
			diagnostics, DIAG_MISSING_LIMIT, SUB_NONE, STR("statement"), 0,
			"the query is neither aggregated nor limited: it can return any number of rows");
}
