#include "sql/mysql/safety.h"

#include <math.h>
#include <strings.h>

#define MAX_STEPS 1000000 /* nodes that one statement may cost */

static double query_rows(struct mysql_safety *safety, const struct query_node *query);

/* Elements of a document that the text itself holds. */
static double document_rows(struct mysql_safety *safety, const struct query_node *table)
{
	return mysql_has_column(table->first) ? 1 : fmax(mysql_text_size(safety, table->first) / 2, 1);
}

static double item_rows(struct mysql_safety *safety, const struct query_node *item)
{
	double rows = 1;
	if (++safety->measured > MAX_STEPS)
		return INFINITY;
	if (item->kind == QUERY_DERIVED && query_child(item, QUERY_JSON_COLUMNS))
		return document_rows(safety, item);
	if (item->kind == QUERY_RELATION || item->kind == QUERY_DERIVED) {
		const struct query_node *query = query_made_by(item->range);
		return query ? query_rows(safety, query) : 1;
	}
	for (const struct query_node *child = item->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_RELATION ||
		    child->kind == QUERY_DERIVED)
			rows *= item_rows(safety, child);
	return rows;
}

static double body_rows(struct mysql_safety *safety, const struct query_node *body)
{
	double rows = 0;
	switch (body->kind) {
	case QUERY_SET:
		for (const struct query_node *arm = body->first; arm; arm = arm->next)
			rows += body_rows(safety, arm->first);
		return rows;
	case QUERY_VALUES:
		for (const struct query_node *row = body->first; row; row = row->next)
			rows++;
		return rows;
	case QUERY_SELECT:
		return query_child(body, QUERY_FROM) ? item_rows(safety, query_child(body, QUERY_FROM)) : 1;
	case QUERY_EXPRESSION:
		return query_rows(safety, body);
	default:
		return 1;
	}
}

/* Rows of a query: tables count as 1, and so does what is read while it is counted. Each is counted once. */
static double query_rows(struct mysql_safety *safety, const struct query_node *query)
{
	const struct query_node *with = query_child(query, QUERY_WITH);
	const struct query_node *body = with ? with->next : query->first;
	const struct query_node *limit = query_child(query, QUERY_LIMIT);
	double *known = mysql_memo_of(&safety->rows, safety, query);
	if (*known != 0)
		return *known < 0 ? 0 : *known;
	if (++safety->measured > MAX_STEPS)
		return INFINITY;
	*known = 1;
	double rows = body_rows(safety, body);
	if (limit && limit->first->kind == QUERY_LITERAL)
		rows = fmin(rows, strtod(limit->first->name.ptr, NULL));
	*known = rows > 0 ? rows : -1;
	return rows;
}

double mysql_from_rows(struct mysql_safety *safety, const struct query_node *from)
{
	return item_rows(safety, from);
}

/* Index of the output of that name in the first arm, or −1. */
static int output_index(const struct query_node *body, str_t name)
{
	while (body->kind == QUERY_SET || body->kind == QUERY_ARM || body->kind == QUERY_EXPRESSION) {
		const struct query_node *with = query_child(body, QUERY_WITH);
		body = with ? with->next : body->first;
	}
	const struct query_node *items = query_child(body, QUERY_ITEMS);
	int index = 0;
	for (const struct query_node *item = items ? items->first : NULL; item; item = item->next, index++) {
		if (item->kind != QUERY_ITEM)
			return -1;
		str_t own = str_present(item->alias)		? item->alias
			    : item->first->kind == QUERY_COLUMN ? item->first->name
								: item->name;
		if (query_same_name(own, name))
			return index;
	}
	return -1;
}

static int renamed_index(const struct query_node *owner, str_t name)
{
	const struct query_node *names = owner ? query_child(owner, QUERY_NAMES) : NULL;
	int index = 0;
	for (const struct query_node *own = names ? names->first : NULL; own; own = own->next, index++)
		if (query_same_name(own->name, name))
			return index;
	return -1;
}

int mysql_output_index(const struct query_node *maker, str_t name)
{
	int index = renamed_index(maker, name);
	return index >= 0 ? index : output_index(query_child(maker, QUERY_EXPRESSION), name);
}

static void visit_outputs(const struct query_node *body, int index,
			  void (*visit)(const struct query_node *value, void *context), void *context)
{
	const struct query_node *row = NULL;
	switch (body->kind) {
	case QUERY_SET:
		for (const struct query_node *arm = body->first; arm; arm = arm->next)
			visit_outputs(arm->first, index, visit, context);
		return;
	case QUERY_EXPRESSION: {
		const struct query_node *with = query_child(body, QUERY_WITH);
		visit_outputs(with ? with->next : body->first, index, visit, context);
		return;
	}
	case QUERY_VALUES:
		for (row = body->first; row; row = row->next) {
			const struct query_node *value = row->first;
			for (int i = 0; value && i < index; i++)
				value = value->next;
			if (value)
				visit(value, context);
		}
		return;
	case QUERY_SELECT: {
		const struct query_node *item = query_child(body, QUERY_ITEMS)->first;
		for (int i = 0; item && i < index; i++)
			item = item->next;
		if (item && item->kind == QUERY_ITEM)
			visit(item->first, context);
		return;
	}
	default:
		return;
	}
}

void mysql_each_source(const struct query_node *column,
		       void (*visit)(const struct query_node *value, void *context), void *context)
{
	const struct query_node *query = query_made_by(column->range);
	if (!query)
		return;
	int index = mysql_output_index(column->range->maker, column->name);
	if (index >= 0)
		visit_outputs(query, index, visit, context);
}
