#include "sql/query/bombs_internal.h"

#include "sql/query/bomb_limits.h"

#include <ctype.h>
#include <math.h>

#define MEASURED_NODES 1000000

enum { MYSQL = 1 << SQL_MYSQL, SQLITE = 1 << SQL_SQLITE, BOTH = MYSQL | SQLITE };

/* How the text that a function gives grows with its arguments; all others give at most all of them. */
enum growth_rule {
	GROWS_TIMES,	 /* all of them, so many times */
	GROWS_COUNTED,	 /* by the number that is the first */
	GROWS_PADDED,	 /* by the number that is the second */
	GROWS_REPEATED,	 /* times the second */
	GROWS_REPLACED,	 /* the first, with the third for each place of the second */
	GROWS_MATCHED,	 /* the first, with the longest of the others for each byte */
	GROWS_JOINED,	 /* with the first between the others */
	GROWS_FORMATTED, /* by any number in a literal: widths in formats */
};

/* `early`: a text of BOMB_CALL_BYTES is one too large; the server's time grows with its square, or it is
 * known to be no less. */
static const struct growth {
	const char *name;
	unsigned dialects;
	enum growth_rule rule;
	double times;
	bool early;
} growths[] = {
	{ "hex", BOTH, GROWS_TIMES, 2, false },
	{ "quote", BOTH, GROWS_TIMES, 2, false },
	{ "to_base64", MYSQL, GROWS_TIMES, 2, false },
	{ "json_quote", MYSQL, GROWS_TIMES, 6, false },
	{ "export_set", MYSQL, GROWS_TIMES, 64, false },
	{ "space", MYSQL, GROWS_COUNTED, 1, false },
	{ "random_bytes", MYSQL, GROWS_COUNTED, 1, false },
	{ "lpad", MYSQL, GROWS_PADDED, 1, true },
	{ "rpad", MYSQL, GROWS_PADDED, 1, true },
	{ "lpad_oracle", MYSQL, GROWS_PADDED, 1, true },
	{ "rpad_oracle", MYSQL, GROWS_PADDED, 1, true },
	{ "repeat", MYSQL, GROWS_REPEATED, 1, true },
	{ "replace", BOTH, GROWS_REPLACED, 1, false },
	{ "replace_oracle", MYSQL, GROWS_REPLACED, 1, false },
	{ "regexp_replace", MYSQL, GROWS_MATCHED, 1, true },
	{ "concat_ws", MYSQL, GROWS_JOINED, 1, false },
	{ "zeroblob", SQLITE, GROWS_FORMATTED, 1, false },
	{ "randomblob", SQLITE, GROWS_FORMATTED, 1, false },
	{ "printf", SQLITE, GROWS_FORMATTED, 1, false },
	{ "format", SQLITE, GROWS_FORMATTED, 1, false },
};

static const struct growth *growth_of(const struct bombs *bombs, const struct query_node *call)
{
	for (size_t i = 0; call->kind == QUERY_CALL && i < sizeof growths / sizeof growths[0]; i++)
		if ((growths[i].dialects & 1u << bombs->dialect) &&
		    identifier_is(call->name, growths[i].name))
			return &growths[i];
	return NULL;
}

double *bombs_memo_of(double **memo, const struct bombs *bombs, const struct query_node *node)
{
	if (!*memo)
		*memo = ARENA_ARRAY(bombs->violations->arena, double, bombs->nodes);
	return &(*memo)[node->number];
}

/* ---- numbers ---- */

static double combined(const char *op, double left, double right)
{
	switch (op[0]) {
	case '+':
		return left + right;
	case '-':
		return left + fabs(right); /* never less than it is */
	case '*':
		return left * right;
	case '/':
		return left / fmax(fabs(right), 1e-9);
	case '%':
	case 'm':
		return right;
	default:
		return INFINITY;
	}
}

static double largest_literal(const struct query_node *node)
{
	if (!node->op)
		return INFINITY;
	if (strcmp(node->op, "number") == 0 || strcmp(node->op, "string") == 0)
		return fabs(strtod(node->name.ptr, NULL));
	if (strcmp(node->op, "hex") == 0 || strcmp(node->op, "0x") == 0)
		return ldexp(1, 4 * (int)fmin((double)node->name.len, 16));
	if (strcmp(node->op, "bits") == 0 || strcmp(node->op, "0b") == 0)
		return ldexp(1, (int)fmin((double)node->name.len, 64));
	return 1;
}

struct source_search {
	struct bombs *bombs;
	double value; /* −1: only data so far */
};

static void keep_largest(const struct query_node *value, void *context)
{
	struct source_search *search = context;
	search->value = fmax(search->value, bombs_largest(search->bombs, value));
}

/* A column of a query in the text is what its outputs are; all others are data. */
static double largest_source(struct bombs *bombs, const struct query_node *column)
{
	struct source_search search = { bombs, -1 };
	if (++bombs->measured > MEASURED_NODES)
		return INFINITY;
	if (bombs->sources >= BOMBS_MAX_SOURCES)
		return -1;
	bombs->sources++;
	query_each_source(column, keep_largest, &search);
	bombs->sources--;
	return search.value;
}

static double largest_operation(struct bombs *bombs, const struct query_node *node)
{
	double left = bombs_largest(bombs, node->first);
	double right = bombs_largest(bombs, node->last);
	if (left >= 0 && right >= 0)
		return combined(node->op, left, right);
	if (left < 0 && right < 0)
		return -1;
	double guess = combined(node->op, left < 0 ? 1 : left, right < 0 ? 1 : right);
	return isfinite(guess) && guess >= BOMB_CALL_BYTES ? guess : -1; /* 1000000000 * data is large */
}

static double find_largest(struct bombs *bombs, const struct query_node *node)
{
	if (node->kind == QUERY_COLUMN)
		return largest_source(bombs, node);
	if (node->kind == QUERY_OPERATION && node->first && node->first->next && !node->first->next->next)
		return largest_operation(bombs, node);
	if (node->kind == QUERY_OPERATION && node->op[0] == '-' && node->first)
		return bombs_largest(bombs, node->first);
	return query_has_column(node) ? -1 : INFINITY;
}

double bombs_largest(struct bombs *bombs, const struct query_node *node)
{
	if (node->kind == QUERY_LITERAL)
		return largest_literal(node);
	double *known = bombs_memo_of(&bombs->largest[bombs->sources], bombs, node);
	if (*known == 0) {
		double value = find_largest(bombs, node);
		*known = value == 0 ? -2 : value;
	}
	return *known == -2 ? 0 : *known;
}

/* ---- texts ---- */

static double replaced_size(struct bombs *bombs, const struct query_node *call)
{
	const struct query_node *pattern = call->first->next;
	const struct query_node *instead = pattern ? pattern->next : NULL;
	bool plain = pattern && pattern->kind == QUERY_LITERAL;
	double found = plain ? fmax((double)pattern->name.len, 1) : 1;
	double growth = instead ? bombs_text_size(bombs, instead) / found : 1;
	return bombs_text_size(bombs, call->first) * fmax(growth, 1);
}

/* What a pattern costs grows with it, too. */
static double matched_size(struct bombs *bombs, const struct query_node *call)
{
	double longest = 1;
	for (const struct query_node *other = call->first->next; other; other = other->next)
		longest = fmax(longest, bombs_text_size(bombs, other));
	return bombs_text_size(bombs, call->first) * longest;
}

/* The largest number among the digits of a tree's literals. */
static double largest_digits(const struct query_node *node)
{
	double largest = 1, number = 0;
	for (size_t i = 0; node->kind == QUERY_LITERAL && i < node->name.len; i++) {
		bool digit = isdigit((unsigned char)node->name.ptr[i]) != 0;
		number = digit ? number * 10 + (node->name.ptr[i] - '0') : 0;
		largest = fmax(largest, number);
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		largest = fmax(largest, largest_digits(child));
	return largest;
}

static double count_of(const struct query_node *node)
{
	double count = 0;
	for (; node; node = node->next)
		count++;
	return count;
}

/* `sum`: of all arguments. */
static double grown(struct bombs *bombs, const struct query_node *call, const struct growth *growth,
		    double sum)
{
	const struct query_node *first = call->first, *second = first->next;
	switch (growth->rule) {
	case GROWS_TIMES:
		return sum * growth->times;
	case GROWS_COUNTED:
		return sum + fmax(bombs_largest(bombs, first), 0);
	case GROWS_PADDED:
		return second ? sum + fmax(bombs_largest(bombs, second), 1) : sum;
	case GROWS_REPEATED:
		return second ? sum * fmax(bombs_largest(bombs, second), 1) : sum;
	case GROWS_REPLACED:
		return replaced_size(bombs, call);
	case GROWS_MATCHED:
		return matched_size(bombs, call);
	case GROWS_JOINED:
		return sum * 2 + count_of(first) * bombs_text_size(bombs, first);
	case GROWS_FORMATTED:
	default:
		return sum + largest_digits(call);
	}
}

static double find_text_size(struct bombs *bombs, const struct query_node *node)
{
	const struct growth *growth = growth_of(bombs, node);
	double sum = 1;
	if (node->kind == QUERY_LITERAL)
		sum = (double)node->name.len;
	else if (node->kind == QUERY_COLUMN && bombs->dialect == SQL_SQLITE)
		sum = BOMB_COLUMN_BYTES_SQLITE;
	if (++bombs->measured > MEASURED_NODES)
		return INFINITY;
	for (const struct query_node *child = node->first; child; child = child->next)
		sum += bombs_text_size(bombs, child);
	return growth && node->first ? grown(bombs, node, growth, sum) : sum;
}

double bombs_text_size(struct bombs *bombs, const struct query_node *node)
{
	double *known = bombs_memo_of(&bombs->sizes, bombs, node);
	if (*known == 0)
		*known = find_text_size(bombs, node);
	return *known;
}

/* A text that is repeated by a number is huge early; other texts have to be really large. Those of formats
 * and blobs the tokens of SQLite's statements tell of. */
bool bombs_call_is_large(struct bombs *bombs, const struct query_node *call)
{
	const struct growth *growth = growth_of(bombs, call);
	const struct query_node *size = NULL;
	if (growth && growth->rule == GROWS_FORMATTED)
		return false;
	if (growth && growth->rule == GROWS_COUNTED)
		size = call->first;
	else if (growth && (growth->rule == GROWS_PADDED || growth->rule == GROWS_REPEATED))
		size = call->first->next;
	return (size && bombs_largest(bombs, size) >= BOMB_CALL_BYTES) ||
	       bombs_text_size(bombs, call) >= (growth && growth->early ? BOMB_CALL_BYTES : BOMB_QUERY_BYTES);
}
