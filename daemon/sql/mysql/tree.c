#include "sql/mysql/tree.h"

#include <ctype.h>
#include <strings.h>

bool mysql_same(str_t a, str_t b)
{
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

bool mysql_is(str_t name, const char *word)
{
	return str_present(name) && name.len == strlen(word) && strncasecmp(name.ptr, word, name.len) == 0;
}

str_t mysql_lower(str_t name, struct arena *arena)
{
	char *copy = arena_alloc(arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++)
		copy[i] = (char)tolower((unsigned char)name.ptr[i]);
	return (str_t){ copy, name.len };
}

unsigned mysql_last_number(const struct mysql_node *node)
{
	unsigned last = node->number;
	for (const struct mysql_node *child = node->first; child; child = child->next) {
		unsigned own = mysql_last_number(child);
		last = own > last ? own : last;
	}
	return last;
}
