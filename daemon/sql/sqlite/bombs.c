#include "sql/sqlite/bombs.h"

#include "sql/bomb_limits.h"
#include "sql/sqlite/lint.h"

#define COLUMN_BYTES 1000.0

static double size_of(const struct sqlite_node *node);

static double literal_size(const struct sqlite_node *node)
{
	return node->text.len >= 2 ? (double)node->text.len - 2 : (double)node->text.len;
}

static double sum_of(const struct sqlite_node *node)
{
	double sum = 1;
	for (size_t i = 0; i < node->children_count; i++)
		sum += size_of(node->children[i]);
	return sum;
}

/* Every byte of the text could be a match of the pattern. */
static double replaced_size(const struct sqlite_node *node)
{
	const struct sqlite_node *pattern = node->children[1], *instead = node->children[2];
	double found = pattern->kind == SQLITE_LITERAL ? literal_size(pattern) : 1;
	double growth = size_of(instead) / (found > 1 ? found : 1);
	return size_of(node->children[0]) * (growth > 1 ? growth : 1);
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

static double largest_number(const struct sqlite_node *node)
{
	double largest = node->kind == SQLITE_LITERAL ? widths_in(node->text) : 1;
	for (size_t i = 0; i < node->children_count; i++) {
		double number = largest_number(node->children[i]);
		largest = number > largest ? number : largest;
	}
	return largest;
}

static bool makes_blanks(const struct sqlite_node *node)
{
	static const char *const names[] = { "zeroblob", "randomblob", "printf", "format" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->text, names[i]))
			return true;
	return false;
}

/* Upper bound of the text that the node gives, as far as literals make it large. */
static double size_of(const struct sqlite_node *node)
{
	if (node->kind == SQLITE_LITERAL)
		return literal_size(node);
	if (node->kind == SQLITE_COLUMN || node->select)
		return COLUMN_BYTES;
	if (node->kind == SQLITE_CALL && str_is(node->text, "replace") && node->children_count == 3)
		return replaced_size(node);
	if (node->kind == SQLITE_CALL && (str_is(node->text, "hex") || str_is(node->text, "quote")))
		return 4 * sum_of(node);
	if (node->kind == SQLITE_CALL && makes_blanks(node))
		return sum_of(node) + largest_number(node);
	return sum_of(node);
}

double sqlite_text_size(const struct sqlite_node *node)
{
	return size_of(node);
}

/* Aggregates that put a text together of one for each row. */
static bool gathers(const struct sqlite_node *node)
{
	static const char *const names[] = { "group_concat", "string_agg", "json_group_array",
					     "json_group_object" };
	for (size_t i = 0; node->kind == SQLITE_CALL && i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->text, names[i]))
			return true;
	return false;
}

/* Functions that look for the second of their texts at each place of the first. */
static bool searches_long(const struct sqlite_node *node)
{
	static const char *const names[] = { "instr", "replace", "trim", "ltrim", "rtrim" };
	for (size_t i = 0; node->kind == SQLITE_CALL && i < sizeof names / sizeof names[0]; i++)
		if (str_is(node->text, names[i]) && node->children_count >= 2)
			return size_of(node->children[0]) * size_of(node->children[1]) >= BOMB_WORK;
	return false;
}

static void check_call(const struct sqlite_node *node, void *context)
{
	struct violations *violations = context;
	if (searches_long(node))
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " of a long text in another one", STR_ARG(node->text));
	if (gathers(node) && sum_of(node) >= BOMB_ROW_BYTES)
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " of a text that is large in each row", STR_ARG(node->text));
	bool grows = node->kind == SQLITE_CALL && (str_is(node->text, "replace") ||
						   str_is(node->text, "hex") || str_is(node->text, "quote"));
	if (grows && size_of(node) >= BOMB_QUERY_BYTES)
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset,
			       STR_FMT " makes a text that is huge", STR_ARG(node->text));
}

static void check_core(const struct sqlite_core *core, void *context)
{
	sqlite_each_expression(core, check_call, context);
}

void sqlite_bombs(const struct sqlite_select *select, struct violations *violations)
{
	sqlite_each_core(select, check_core, violations);
}
