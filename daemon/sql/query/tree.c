#include "sql/query/tree.h"

const struct catalog_column *query_range_column(const struct query_range *range, str_t column)
{
	const struct catalog_relation *relation = range ? range->relation : NULL;
	for (size_t i = 0; relation && i < relation->columns_count; i++)
		if (identifier_same(relation->columns[i].name, column))
			return &relation->columns[i];
	return NULL;
}

const struct query_node *query_made_by(const struct query_range *range)
{
	return range && range->maker ? query_child(range->maker, QUERY_EXPRESSION) : NULL;
}

bool query_compares(const struct query_node *node)
{
	static const char *const operators[] = { "=", "<>", "<", ">", "<=", ">=", "<=>" };
	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
		if (query_is_operation(node, operators[i]))
			return node->first && node->first->next;
	return false;
}

str_t query_item_name(const struct query_node *item)
{
	if (str_present(item->alias))
		return item->alias;
	return item->first->kind == QUERY_COLUMN ? item->first->name : item->name;
}

const struct query_node *query_first_select(const struct query_node *query)
{
	const struct query_node *body = query;
	while (body && (body->kind == QUERY_SET || body->kind == QUERY_ARM || body->kind == QUERY_EXPRESSION))
		body = body->kind == QUERY_EXPRESSION ? query_body(body) : body->first;
	return body && body->kind == QUERY_SELECT ? body : NULL;
}

bool query_has(const struct query_node *node, query_is_fn is, const void *context)
{
	bool found = is(node, context);
	for (const struct query_node *child = node->first; child && !found; child = child->next)
		found = query_has(child, is, context);
	return found;
}

bool query_has_here(const struct query_node *node, query_is_fn is, const void *context)
{
	bool found = is(node, context);
	for (const struct query_node *child = node->first; child && !found; child = child->next)
		found = child->kind != QUERY_EXPRESSION && query_has_here(child, is, context);
	return found;
}

static bool is_aggregate(const struct query_node *node, const void *context)
{
	(void)context;
	return node->aggregate;
}

bool query_aggregates(const struct query_node *node)
{
	return node && query_has_here(node, is_aggregate, NULL);
}

/* Index of the output of that name in the first arm, or −1. */
static int output_index(const struct query_node *body, str_t name)
{
	const struct query_node *items = query_child(query_first_select(body), QUERY_ITEMS);
	int index = 0;
	for (const struct query_node *item = items ? items->first : NULL; item; item = item->next, index++) {
		if (item->kind != QUERY_ITEM)
			return -1;
		if (identifier_same(query_item_name(item), name))
			return index;
	}
	return -1;
}

static int renamed_index(const struct query_node *owner, str_t name)
{
	const struct query_node *names = owner ? query_child(owner, QUERY_NAMES) : NULL;
	int index = 0;
	for (const struct query_node *own = names ? names->first : NULL; own; own = own->next, index++)
		if (identifier_same(own->name, name))
			return index;
	return -1;
}

int query_output_index(const struct query_node *maker, str_t name)
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
	case QUERY_EXPRESSION:
		visit_outputs(query_body(body), index, visit, context);
		return;
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

void query_each_source(const struct query_node *column,
		       void (*visit)(const struct query_node *value, void *context), void *context)
{
	const struct query_node *query = query_made_by(column->range);
	if (!query)
		return;
	int index = query_output_index(column->range->maker, column->name);
	if (index >= 0)
		visit_outputs(query, index, visit, context);
}

struct query_node *query_node_new(struct arena *arena, enum query_kind kind, unsigned number, size_t offset)
{
	struct query_node *node = ARENA_NEW(arena, struct query_node);
	*node = (struct query_node){
		.kind = kind, .depth = 1, .number = number, .offset = offset, .end = offset
	};
	return node;
}

void query_append(struct query_node *parent, struct query_node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	parent->has_column = parent->has_column || child->has_column || child->kind == QUERY_COLUMN ||
			     child->kind == QUERY_PARAMETER;
	if (child->depth >= parent->depth)
		parent->depth = child->depth + 1;
	if (child->end > parent->end)
		parent->end = child->end;
}

unsigned query_last_number(const struct query_node *node)
{
	unsigned last = node->number;
	for (const struct query_node *child = node->first; child; child = child->next) {
		unsigned own = query_last_number(child);
		last = own > last ? own : last;
	}
	return last;
}
