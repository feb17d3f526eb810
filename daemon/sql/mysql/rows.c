#include "sql/mysql/safety.h"

#include <math.h>
#include <strings.h>

#define MAX_SOUGHT 20000000 /* nodes that are passed in search of WITH queries */
#define MAX_STEPS  1000000  /* nodes that one statement may cost */

static double query_rows(struct mysql_safety *safety, const struct mysql_node *query);

/* The WITH query of that name, wherever it stands in the statement. */
static const struct mysql_node *find_cte(struct mysql_safety *safety, const struct mysql_node *node,
					 str_t name)
{
	if (++safety->sought > MAX_SOUGHT)
		safety->measured = MAX_STEPS;
	if (node->kind == MYSQL_CTE && mysql_same(node->name, name))
		return node;
	for (const struct mysql_node *child = node->first; child; child = child->next) {
		const struct mysql_node *found = find_cte(safety, child, name);
		if (found)
			return found;
	}
	return NULL;
}

const struct mysql_node *mysql_made_by(struct mysql_safety *safety, const struct mysql_range *range)
{
	if (!range || !safety->root)
		return NULL;
	if (range->kind == MYSQL_RANGE_DERIVED)
		return mysql_child(range->node, MYSQL_QUERY);
	return range->kind == MYSQL_RANGE_CTE
		       ? mysql_child(find_cte(safety, safety->root, range->name), MYSQL_QUERY)
		       : NULL;
}

/* Elements of a document that the text itself holds. */
static double document_rows(struct mysql_safety *safety, const struct mysql_node *table)
{
	return mysql_has_column(table->first) ? 1 : fmax(mysql_text_size(safety, table->first) / 2, 1);
}

static double item_rows(struct mysql_safety *safety, const struct mysql_node *item)
{
	double rows = 1;
	if (++safety->measured > MAX_STEPS)
		return INFINITY;
	if (item->kind == MYSQL_DERIVED && mysql_child(item, MYSQL_JSON_COLUMNS))
		return document_rows(safety, item);
	if (item->kind == MYSQL_RELATION || item->kind == MYSQL_DERIVED) {
		const struct mysql_node *query = mysql_made_by(safety, item->range);
		return query && query != safety->recursion ? query_rows(safety, query) : 1;
	}
	for (const struct mysql_node *child = item->first; child; child = child->next)
		if (child->kind == MYSQL_JOIN || child->kind == MYSQL_RELATION ||
		    child->kind == MYSQL_DERIVED)
			rows *= item_rows(safety, child);
	return rows;
}

static double body_rows(struct mysql_safety *safety, const struct mysql_node *body)
{
	double rows = 0;
	switch (body->kind) {
	case MYSQL_SET:
		for (const struct mysql_node *arm = body->first; arm; arm = arm->next)
			rows += body_rows(safety, arm->first);
		return rows;
	case MYSQL_VALUES:
		for (const struct mysql_node *row = body->first; row; row = row->next)
			rows++;
		return rows;
	case MYSQL_SELECT:
		return mysql_child(body, MYSQL_FROM) ? item_rows(safety, mysql_child(body, MYSQL_FROM)) : 1;
	case MYSQL_QUERY:
		return query_rows(safety, body);
	default:
		return 1;
	}
}

/* Rows of a query that does not read itself: tables count as 1. */
static double query_rows(struct mysql_safety *safety, const struct mysql_node *query)
{
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	const struct mysql_node *body = with ? with->next : query->first;
	const struct mysql_node *limit = mysql_child(query, MYSQL_LIMIT);
	const struct mysql_node *outer = safety->recursion;
	if (++safety->measured > MAX_STEPS)
		return INFINITY;
	if (safety->row_depth >= 64)
		return 1;
	safety->row_depth++;
	safety->recursion = query;
	double rows = body_rows(safety, body);
	safety->recursion = outer;
	safety->row_depth--;
	bool counted = limit && limit->first->kind == MYSQL_LITERAL;
	return counted ? fmin(rows, strtod(limit->first->name.ptr, NULL)) : rows;
}

double mysql_from_rows(struct mysql_safety *safety, const struct mysql_node *from)
{
	return item_rows(safety, from);
}

/* Index of the output of that name in the first arm, or −1. */
static int output_index(const struct mysql_node *body, str_t name)
{
	while (body->kind == MYSQL_SET || body->kind == MYSQL_ARM || body->kind == MYSQL_QUERY) {
		const struct mysql_node *with = mysql_child(body, MYSQL_WITH);
		body = with ? with->next : body->first;
	}
	const struct mysql_node *items = mysql_child(body, MYSQL_ITEMS);
	int index = 0;
	for (const struct mysql_node *item = items ? items->first : NULL; item; item = item->next, index++) {
		if (item->kind != MYSQL_ITEM)
			return -1;
		str_t own = str_present(item->alias)		? item->alias
			    : item->first->kind == MYSQL_COLUMN ? item->first->name
								: item->name;
		if (mysql_same(own, name))
			return index;
	}
	return -1;
}

static int renamed_index(const struct mysql_node *owner, str_t name)
{
	const struct mysql_node *names = owner ? mysql_child(owner, MYSQL_NAMES) : NULL;
	int index = 0;
	for (const struct mysql_node *own = names ? names->first : NULL; own; own = own->next, index++)
		if (mysql_same(own->name, name))
			return index;
	return -1;
}

static void visit_outputs(const struct mysql_node *body, int index,
			  void (*visit)(const struct mysql_node *value, void *context), void *context)
{
	const struct mysql_node *row = NULL;
	switch (body->kind) {
	case MYSQL_SET:
		for (const struct mysql_node *arm = body->first; arm; arm = arm->next)
			visit_outputs(arm->first, index, visit, context);
		return;
	case MYSQL_QUERY: {
		const struct mysql_node *with = mysql_child(body, MYSQL_WITH);
		visit_outputs(with ? with->next : body->first, index, visit, context);
		return;
	}
	case MYSQL_VALUES:
		for (row = body->first; row; row = row->next) {
			const struct mysql_node *value = row->first;
			for (int i = 0; value && i < index; i++)
				value = value->next;
			if (value)
				visit(value, context);
		}
		return;
	case MYSQL_SELECT: {
		const struct mysql_node *item = mysql_child(body, MYSQL_ITEMS)->first;
		for (int i = 0; item && i < index; i++)
			item = item->next;
		if (item && item->kind == MYSQL_ITEM)
			visit(item->first, context);
		return;
	}
	default:
		return;
	}
}

void mysql_each_source(struct mysql_safety *safety, const struct mysql_node *column,
		       void (*visit)(const struct mysql_node *value, void *context), void *context)
{
	const struct mysql_node *query = mysql_made_by(safety, column->range);
	if (!query)
		return;
	const struct mysql_node *owner = column->range->kind == MYSQL_RANGE_CTE
						 ? find_cte(safety, safety->root, column->range->name)
						 : column->range->node;
	int index = renamed_index(owner, column->name);
	if (index < 0)
		index = output_index(query, column->name);
	if (index >= 0)
		visit_outputs(query, index, visit, context);
}
