#include "sql/query/position.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static bool is_sign(const struct query_node *node)
{
	return node->kind == QUERY_OPERATION && node->first && !node->first->next &&
	       (strcmp(node->op, "+") == 0 || strcmp(node->op, "-") == 0);
}

/* Digits of the base alone, up to `max`. */
static bool read_digits(str_t text, int base, uint64_t max, uint64_t *ret_value)
{
	for (size_t i = 0; i < text.len; i++)
		if (base == 16 ? !isxdigit((unsigned char)text.ptr[i]) : !isdigit((unsigned char)text.ptr[i]))
			return false;
	errno = 0;
	*ret_value = strtoull(text.ptr, NULL, base);
	return text.len > 0 && errno == 0 && *ret_value <= max;
}

/* Servers of MySQL's dialect cut what is longer than 32 bits. */
static bool read_place(const struct query_node *literal, enum sql_dialect dialect, uint64_t *ret_value)
{
	str_t text = literal->name;
	bool hex = dialect == SQL_SQLITE && text.len > 2 && text.ptr[0] == '0' && (text.ptr[1] | 0x20) == 'x';
	if (hex)
		text = (str_t){ text.ptr + 2, text.len - 2 };
	return read_digits(text, hex ? 16 : 10, dialect == SQL_SQLITE ? INT32_MAX : UINT64_MAX, ret_value);
}

struct query_position query_position_of(const struct query_node *key, enum sql_dialect dialect)
{
	bool mysql = dialect == SQL_MYSQL, negative = false, sure = true;
	uint64_t value;
	if (dialect == SQL_POSTGRESQL)
		return (struct query_position){ QUERY_POSITION_NONE, 0 };
	for (; !mysql && key->kind == QUERY_COLLATE; key = key->first)
		sure = false;
	for (; is_sign(key); key = key->first) {
		bool minus = key->op[0] == '-';
		negative = negative != minus;
		sure = sure && !(mysql && minus);
	}
	if (mysql && (query_is_literal(key, "true") || query_is_literal(key, "false")))
		return (struct query_position){ QUERY_POSITION_UNSURE, 0 };
	if (!query_is_literal(key, "number") || !read_place(key, dialect, &value))
		return (struct query_position){ QUERY_POSITION_NONE, 0 };
	if (!sure || value > UINT32_MAX)
		return (struct query_position){ QUERY_POSITION_UNSURE, 0 };
	return (struct query_position){ QUERY_POSITION_SURE, negative ? -(int64_t)value : (int64_t)value };
}

const struct query_node *query_position_item(const struct query_node *select, struct query_position position)
{
	const struct query_node *items = select ? query_child(select, QUERY_ITEMS) : NULL;
	const struct query_node *item = items ? items->first : NULL;
	if (position.kind != QUERY_POSITION_SURE || position.place < 1)
		return NULL;
	for (int64_t i = 1; item && item->kind == QUERY_ITEM && i < position.place; i++)
		item = item->next;
	return item && item->kind == QUERY_ITEM ? item : NULL;
}
