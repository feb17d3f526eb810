#include "sql/sqlite/bombs.h"

#include "sql/query/bomb_limits.h"

#define COLUMN_BYTES 1000.0

static double size_of(const struct query_node *node);

static double literal_size(const struct query_node *node)
{
	return (double)node->name.len;
}

static bool has_arguments(const struct query_node *call, size_t least)
{
	const struct query_node *argument = call->first;
	for (; argument && argument->kind != QUERY_WINDOW && least > 0; argument = argument->next)
		least--;
	return least == 0;
}

static double sum_of(const struct query_node *node)
{
	double sum = 1;
	for (const struct query_node *child = node->first; child; child = child->next)
		sum += size_of(child);
	return sum;
}

/* Every byte of the text could be a match of the pattern. */
static double replaced_size(const struct query_node *node)
{
	const struct query_node *pattern = node->first->next, *instead = pattern->next;
	double found = pattern->kind == QUERY_LITERAL ? literal_size(pattern) : 1;
	double growth = size_of(instead) / (found > 1 ? found : 1);
	return size_of(node->first) * (growth > 1 ? growth : 1);
}

/* Numbers in the text of a format are widths. */
static double widths_in(str_t text)
{
	double width = 1;
	double number = 0;
	for (size_t i = 0; i < text.len; i++) {
		bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
		number = digit ? number * 10 + (text.ptr[i] - '0') : 0;
		width = number > width ? number : width;
	}
	return width;
}

static double largest_number(const struct query_node *node)
{
	double largest = node->kind == QUERY_LITERAL ? widths_in(node->name) : 1;
	for (const struct query_node *child = node->first; child; child = child->next) {
		double number = largest_number(child);
		largest = number > largest ? number : largest;
	}
	return largest;
}

static bool makes_blanks(const struct query_node *node)
{
	static const char *const names[] = { "zeroblob", "randomblob", "printf", "format" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->name, names[i]))
			return true;
	return false;
}

/* Upper bound of the text that the node gives, as far as literals make it large. */
static double size_of(const struct query_node *node)
{
	if (node->kind == QUERY_LITERAL)
		return literal_size(node);
	if (node->kind == QUERY_COLUMN || node->kind == QUERY_EXPRESSION)
		return COLUMN_BYTES;
	if (node->kind == QUERY_CALL && str_is(node->name, "replace") && has_arguments(node, 3))
		return replaced_size(node);
	if (node->kind == QUERY_CALL && (str_is(node->name, "hex") || str_is(node->name, "quote")))
		return 4 * sum_of(node);
	if (node->kind == QUERY_CALL && makes_blanks(node))
		return sum_of(node) + largest_number(node);
	return sum_of(node);
}

double sqlite_text_size(const struct query_node *node)
{
	return size_of(node);
}

/* Aggregates that put a text together of one for each row. */
static bool gathers(const struct query_node *node)
{
	static const char *const names[] = { "group_concat", "string_agg", "json_group_array",
					     "json_group_object" };
	for (size_t i = 0; node->kind == QUERY_CALL && i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->name, names[i]))
			return true;
	return false;
}

/* Functions that look for the second of their texts at each place of the first. */
static bool searches_long(const struct query_node *node)
{
	static const char *const names[] = { "instr", "replace", "trim", "ltrim", "rtrim" };
	for (size_t i = 0; node->kind == QUERY_CALL && i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->name, names[i]) && has_arguments(node, 2))
			return size_of(node->first) * size_of(node->first->next) >= BOMB_WORK;
	return false;
}

static void check_call(const struct query_node *node, struct violations *violations)
{
	if (searches_long(node))
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " of a long text in another one", STR_ARG(node->name));
	if (gathers(node) && sum_of(node) >= BOMB_ROW_BYTES)
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " of a text that is large in each row", STR_ARG(node->name));
	bool grows = node->kind == QUERY_CALL && (str_is(node->name, "replace") ||
						  str_is(node->name, "hex") || str_is(node->name, "quote"));
	if (grows && size_of(node) >= BOMB_QUERY_BYTES)
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " makes a text that is huge", STR_ARG(node->name));
}

void sqlite_bombs(const struct query_node *node, struct violations *violations)
{
	check_call(node, violations);
	for (const struct query_node *child = node->first; child; child = child->next)
		sqlite_bombs(child, violations);
}
