#include "sql/query/tree.h"

#include <ctype.h>
#include <strings.h>

bool query_same_name(str_t a, str_t b)
{
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

bool query_name_is(str_t name, const char *word)
{
	return str_present(name) && name.len == strlen(word) && strncasecmp(name.ptr, word, name.len) == 0;
}

str_t query_lower(str_t name, struct arena *arena)
{
	char *copy = arena_alloc(arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++)
		copy[i] = (char)tolower((unsigned char)name.ptr[i]);
	return (str_t){ copy, name.len };
}

const struct catalog_column *query_range_column(const struct query_range *range, str_t column)
{
	const struct catalog_relation *relation = range ? range->relation : NULL;
	for (size_t i = 0; relation && i < relation->columns_count; i++)
		if (query_same_name(relation->columns[i].name, column))
			return &relation->columns[i];
	return NULL;
}

const struct query_node *query_made_by(const struct query_range *range)
{
	return range && range->maker ? query_child(range->maker, QUERY_EXPRESSION) : NULL;
}

const struct query_node *query_first_select(const struct query_node *query)
{
	const struct query_node *body = query;
	while (body && (body->kind == QUERY_SET || body->kind == QUERY_ARM || body->kind == QUERY_EXPRESSION))
		body = body->kind == QUERY_EXPRESSION ? query_body(body) : body->first;
	return body && body->kind == QUERY_SELECT ? body : NULL;
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
