#include "sql/mysql/safety.h"

#include <math.h>
#include <strings.h>

#define MAX_STEPS 1000000 /* nodes that one statement may cost */

static double query_rows(struct mysql_safety *safety, const struct mysql_node *query);

const struct mysql_node *mysql_made_by(const struct mysql_range *range)
{
	return range && range->maker ? mysql_child(range->maker, MYSQL_QUERY) : NULL;
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
		const struct mysql_node *query = mysql_made_by(item->range);
		return query ? query_rows(safety, query) : 1;
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

/* Rows of a query: tables count as 1, and so does what is read while it is counted. Each is counted once. */
static double query_rows(struct mysql_safety *safety, const struct mysql_node *query)
{
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	const struct mysql_node *body = with ? with->next : query->first;
	const struct mysql_node *limit = mysql_child(query, MYSQL_LIMIT);
	double *known = mysql_memo_of(&safety->rows, safety, query);
	if (*known != 0)
		return *known < 0 ? 0 : *known;
	if (++safety->measured > MAX_STEPS)
		return INFINITY;
	*known = 1;
	double rows = body_rows(safety, body);
	if (limit && limit->first->kind == MYSQL_LITERAL)
		rows = fmin(rows, strtod(limit->first->name.ptr, NULL));
	*known = rows > 0 ? rows : -1;
	return rows;
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

int mysql_output_index(const struct mysql_node *maker, str_t name)
{
	int index = renamed_index(maker, name);
	return index >= 0 ? index : output_index(mysql_child(maker, MYSQL_QUERY), name);
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

void mysql_each_source(const struct mysql_node *column,
		       void (*visit)(const struct mysql_node *value, void *context), void *context)
{
	const struct mysql_node *query = mysql_made_by(column->range);
	if (!query)
		return;
	int index = mysql_output_index(column->range->maker, column->name);
	if (index >= 0)
		visit_outputs(query, index, visit, context);
}
