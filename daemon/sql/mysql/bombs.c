#include "sql/mysql/safety.h"
#include "sql/query/bomb_limits.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define MEASURED_NODES	 1000000
#define RECURSION_LEVELS 1000 /* that servers allow unless told otherwise */
#define SYSTEM_TABLES	 3    /* of the server's own, joined without any condition */

static void bomb(struct mysql_safety *safety, const struct query_node *node, const char *reason)
{
	violations_add(safety->violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset, "%s", reason);
}

double *mysql_memo_of(struct mysql_memo *memo, const struct mysql_safety *safety,
		      const struct query_node *node)
{
	if (!memo->values)
		memo->values = ARENA_ARRAY(safety->violations->arena, double, safety->nodes);
	return &memo->values[node->number];
}

/* Largest value that a tree of constants can have; INFINITY when it cannot be told, and −1 when columns or
 * parameters take part: those are bounded by what the tables hold. */
static double largest(struct mysql_safety *safety, const struct query_node *node);

double mysql_largest(struct mysql_safety *safety, const struct query_node *node)
{
	return largest(safety, node);
}

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

static bool is_text(const struct query_node *node)
{
	return node->op && strcmp(node->op, "string") == 0;
}

static double largest_literal(const struct query_node *node)
{
	if (!node->op)
		return INFINITY;
	if (strcmp(node->op, "number") == 0 || is_text(node))
		return fabs(strtod(node->name.ptr, NULL));
	if (strcmp(node->op, "hex") == 0 || strcmp(node->op, "0x") == 0)
		return ldexp(1, 4 * (int)fmin((double)node->name.len, 16));
	if (strcmp(node->op, "bits") == 0 || strcmp(node->op, "0b") == 0)
		return ldexp(1, (int)fmin((double)node->name.len, 64));
	return 1;
}

bool mysql_has_column(const struct query_node *node)
{
	return node->has_column || node->kind == QUERY_COLUMN || node->kind == QUERY_PARAMETER;
}

struct source_search {
	struct mysql_safety *safety;
	double value; /* −1: only data so far */
};

static void keep_largest(const struct query_node *value, void *context)
{
	struct source_search *search = context;
	search->value = fmax(search->value, largest(search->safety, value));
}

/* A column of a query in the text is what its outputs are; all others are data. */
static double largest_source(struct mysql_safety *safety, const struct query_node *column)
{
	struct source_search search = { safety, -1 };
	if (++safety->measured > MEASURED_NODES)
		return INFINITY;
	if (safety->sources >= MYSQL_MAX_SOURCES)
		return -1;
	safety->sources++;
	mysql_each_source(column, keep_largest, &search);
	safety->sources--;
	return search.value;
}

static double largest_operation(struct mysql_safety *safety, const struct query_node *node)
{
	double left = largest(safety, node->first);
	double right = largest(safety, node->last);
	if (left >= 0 && right >= 0)
		return combined(node->op, left, right);
	if (left < 0 && right < 0)
		return -1;
	double guess = combined(node->op, left < 0 ? 1 : left, right < 0 ? 1 : right);
	return isfinite(guess) && guess >= BOMB_CALL_BYTES ? guess : -1; /* 1000000000 * data is large */
}

static double find_largest(struct mysql_safety *safety, const struct query_node *node)
{
	if (node->kind == QUERY_COLUMN)
		return largest_source(safety, node);
	if (node->kind == QUERY_OPERATION && node->first && node->first->next && !node->first->next->next)
		return largest_operation(safety, node);
	if (node->kind == QUERY_OPERATION && node->op[0] == '-' && node->first)
		return largest(safety, node->first);
	return mysql_has_column(node) ? -1 : INFINITY;
}

static double largest(struct mysql_safety *safety, const struct query_node *node)
{
	if (node->kind == QUERY_LITERAL)
		return largest_literal(node);
	double *known = mysql_memo_of(&safety->largest[safety->sources], safety, node);
	if (*known == 0) {
		double value = find_largest(safety, node);
		*known = value == 0 ? -2 : value;
	}
	return *known == -2 ? 0 : *known;
}

static double count_of(const struct query_node *node)
{
	double count = 0;
	for (; node; node = node->next)
		count++;
	return count;
}

static bool is_one_of(str_t name, const char *const *words)
{
	while (*words && !query_name_is(name, *words))
		words++;
	return *words != NULL;
}

static const char *const counted[] = { "space", "random_bytes", NULL };
static const char *const sized[] = { "repeat", "lpad", "rpad", "lpad_oracle", "rpad_oracle", NULL };
static const char *const replaces[] = { "replace", "replace_oracle", "regexp_replace", NULL };
static const char *const doubles[] = { "hex", "quote", "to_base64", NULL };

/* Rough length of the longest text that an expression builds, its parts included. Functions multiply what
 * they repeat; everything else has at most the length of all its parts together. Infinite, when measuring
 * itself would take too long. */
static double find_text_size(struct mysql_safety *safety, const struct query_node *node)
{
	const struct query_node *first = node->first;
	double sum = node->kind == QUERY_LITERAL ? (double)node->name.len : 1, longest = 1;
	if (++safety->measured > MEASURED_NODES)
		return INFINITY;
	for (const struct query_node *child = first; child; child = child->next) {
		double own = mysql_text_size(safety, child);
		sum += own;
		if (child != first)
			longest = fmax(longest, own);
		else if (node->kind == QUERY_CALL && is_one_of(node->name, replaces))
			sum = own;
	}
	if (node->kind != QUERY_CALL || !first)
		return sum;
	if (is_one_of(node->name, replaces))
		return sum * longest;
	if (is_one_of(node->name, doubles))
		return sum * 2;
	if (query_name_is(node->name, "json_quote"))
		return sum * 6;
	if (query_name_is(node->name, "export_set"))
		return sum * 64;
	if (query_name_is(node->name, "concat_ws"))
		return sum * 2 + count_of(first) * mysql_text_size(safety, first);
	if (is_one_of(node->name, counted))
		return sum + fmax(largest(safety, first), 0);
	if (!is_one_of(node->name, sized) || !first->next)
		return sum;
	double times = fmax(largest(safety, first->next), 1);
	return query_name_is(node->name, "repeat") ? sum * times : sum + times;
}

double mysql_text_size(struct mysql_safety *safety, const struct query_node *node)
{
	double *known = mysql_memo_of(&safety->sizes, safety, node);
	if (*known == 0)
		*known = find_text_size(safety, node);
	return *known;
}

/* Widths in the text of SFORMAT: '{:>1000}', or '{:>{}}' with one of the values. */
static double widest_field(struct mysql_safety *safety, const struct query_node *call)
{
	const struct query_node *format = call->first;
	double width = 1;
	bool in_field = false;
	if (format->kind != QUERY_LITERAL || !is_text(format))
		return INFINITY;
	for (const char *at = format->name.ptr; at < format->name.ptr + format->name.len; at++) {
		if (*at == '{' && in_field) { /* what is a width here is not told apart from what is shown */
			for (const struct query_node *value = format->next; value; value = value->next)
				width = fmax(width, value->kind == QUERY_LITERAL && is_text(value)
							    ? 1
							    : largest(safety, value));
		} else if (in_field && isdigit((unsigned char)*at)) {
			char *end;
			width = fmax(width, strtod(at, &end));
			at = end - 1;
		}
		in_field = *at == '{' || (in_field && *at != '}');
	}
	return width;
}

/* Of an aggregate that puts a document together of a value from each row. */
static bool gathers_large(struct mysql_safety *safety, const struct query_node *call)
{
	return (query_name_is(call->name, "json_objectagg") || query_name_is(call->name, "json_arrayagg")) &&
	       mysql_text_size(safety, call) >= BOMB_ROW_BYTES;
}

/* Functions that look for one of their first two texts at each place of the other. */
static bool searches_long(struct mysql_safety *safety, const struct query_node *call)
{
	static const char *const names[] = { "locate",	       "instr", "position",	   "replace",
					     "replace_oracle", "trim",	"substring_index", NULL };
	return is_one_of(call->name, names) && call->first->next &&
	       mysql_text_size(safety, call->first) * mysql_text_size(safety, call->first->next) >= BOMB_WORK;
}

/* A text that is repeated by a number is huge early; other texts have to be really large, except where the
 * server's time grows with the square of the length. */
void mysql_bombs_call(struct mysql_safety *safety, const struct query_node *call)
{
	bool space = is_one_of(call->name, counted), repeated = is_one_of(call->name, sized);
	if (!call->first)
		return;
	const struct query_node *size = space ? call->first : repeated ? call->first->next : NULL;
	bool early = repeated || query_name_is(call->name, "regexp_replace");
	bool format = query_name_is(call->name, "sformat") && widest_field(safety, call) >= BOMB_CALL_BYTES;
	if (format || gathers_large(safety, call) || searches_long(safety, call) ||
	    (size && largest(safety, size) >= BOMB_CALL_BYTES) ||
	    mysql_text_size(safety, call) >= (early ? BOMB_CALL_BYTES : BOMB_QUERY_BYTES))
		bomb(safety, call, "a text of a size that is huge or not known");
}

void mysql_bombs_cast(struct mysql_safety *safety, const struct query_node *cast)
{
	if (cast->size >= BOMB_CALL_BYTES)
		bomb(safety, cast, "a type of a huge length");
}

/* Reads `prefix` and the number behind it; false: they do not stand at `*at`. */
static bool take_number(const char **at, const char *prefix, double *ret_value)
{
	size_t len = strlen(prefix);
	if (strncasecmp(*at, prefix, len) != 0 || !isdigit((unsigned char)(*at)[len]))
		return false;
	char *end;
	*ret_value = strtod(*at + len, &end);
	*at = end;
	return true;
}

/* seq_1_to_1000000, seq_1_to_1000000_step_2: tables that the sequence engine makes up. */
static double sequence_rows(str_t name)
{
	const char *at = str_present(name) ? name.ptr : "";
	double from, to, step = 1;
	if (!take_number(&at, "seq_", &from) || !take_number(&at, "_to_", &to))
		return 1;
	(void)take_number(&at, "_step_", &step);
	return fmax(fabs(to - from) / fmax(step, 1), 1);
}

void mysql_bombs_relation(struct mysql_safety *safety, const struct query_node *relation)
{
	double rows = sequence_rows(relation->name);
	safety->generated *= rows;
	if (rows >= BOMB_CALL_ROWS || (rows > 1 && safety->generated >= BOMB_QUERY_ROWS))
		bomb(safety, relation, "a table that is made up of too many rows");
}

static bool has_condition(const struct query_node *node)
{
	if (node->kind == QUERY_ON || node->kind == QUERY_USING)
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_ON || child->kind == QUERY_USING)
			if (has_condition(child))
				return true;
	return false;
}

static size_t system_tables(const struct query_node *node)
{
	size_t count = node->kind == QUERY_RELATION && query_name_is(node->schema, "information_schema");
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_RELATION)
			count += system_tables(child);
	return count;
}

void mysql_bombs_select(struct mysql_safety *safety, const struct query_node *select)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	if (from && system_tables(from) >= SYSTEM_TABLES && !query_child(select, QUERY_WHERE) &&
	    !has_condition(from))
		bomb(safety, from, "the server's own tables multiplied");
	if (from && mysql_from_rows(safety, from) >= BOMB_QUERY_ROWS)
		bomb(safety, from, "rows of the text itself multiplied");
}

static bool reads_cte(const struct query_node *node, str_t name)
{
	if (node->kind == QUERY_RELATION && !str_present(node->schema) && query_same_name(node->name, name))
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (reads_cte(child, name))
			return true;
	return false;
}

static bool joins_relation(const struct query_node *node, str_t name)
{
	if (node->kind == QUERY_RELATION)
		return !query_same_name(node->name, name) && !node->op;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_RELATION)
			if (joins_relation(child, name))
				return true;
	return false;
}

/* Whether an arm that reads its own query comes to an end. */
static bool arm_ends(struct mysql_safety *safety, const struct query_node *arm, const struct query_node *cte)
{
	str_t name = cte->name;
	const struct query_node *select = query_child(arm, QUERY_SELECT);
	if (!select)
		return false;
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *where = query_child(select, QUERY_WHERE);
	if (where && where->first && mysql_recursion_limited(safety, cte, arm))
		return true;
	return from && joins_relation(from, name) && (where || has_condition(from));
}

/* An arm that reads its own query. */
struct recursive_arm {
	struct mysql_safety *safety;
	str_t name;
	struct hash_map picked; /* addresses of ranges whose rows a column of another one picks */
};

static str_t address_of(const struct query_range *const *range)
{
	return (str_t){ (const char *)range, sizeof *range };
}

static void find_picked(struct recursive_arm *arm, const struct query_node *node)
{
	if (node->kind == QUERY_OPERATION && strcmp(node->op, "=") == 0 &&
	    node->first->kind == QUERY_COLUMN && node->last->kind == QUERY_COLUMN) {
		if (node->first->range == node->last->range)
			return;
		hash_map_set(&arm->picked, address_of(&node->first->range), arm);
		hash_map_set(&arm->picked, address_of(&node->last->range), arm);
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind != QUERY_EXPRESSION)
			find_picked(arm, child);
}

/* Rows of the text that each row of a recursion is joined with. */
static double branches(const struct recursive_arm *arm, const struct query_node *item)
{
	double rows = 1;
	if (item->kind == QUERY_RELATION && query_same_name(item->name, arm->name) &&
	    !str_present(item->schema))
		return 1;
	if (item->kind == QUERY_RELATION || item->kind == QUERY_DERIVED)
		return hash_map_get(&arm->picked, address_of(&item->range))
			       ? 1
			       : mysql_from_rows(arm->safety, item);
	for (const struct query_node *child = item->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_RELATION ||
		    child->kind == QUERY_DERIVED)
			rows *= branches(arm, child);
	return rows;
}

/* The least number that a condition, joined by AND, keeps something below. */
static double levels_of(struct mysql_safety *safety, const struct query_node *condition)
{
	double levels = INFINITY;
	if (condition->kind == QUERY_OPERATION && strcmp(condition->op, "and") == 0) {
		for (const struct query_node *part = condition->first; part; part = part->next)
			levels = fmin(levels, levels_of(safety, part));
		return levels;
	}
	bool compares = condition->kind == QUERY_OPERATION && strchr("<>=", condition->op[0]);
	if (!compares && condition->kind != QUERY_BETWEEN)
		return levels;
	for (const struct query_node *side = condition->first; side; side = side->next)
		if (side->kind == QUERY_LITERAL)
			levels = largest(safety, side); /* of BETWEEN the last */
	return levels;
}

/* A recursion that each step multiplies by rows of the text. */
static bool arm_explodes(struct mysql_safety *safety, const struct query_node *arm, str_t name)
{
	const struct query_node *select = query_child(arm, QUERY_SELECT);
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *where = query_child(select, QUERY_WHERE);
	struct recursive_arm recursion = { .safety = safety, .name = name };
	hash_map_init(&recursion.picked, safety->violations->arena, 8);
	find_picked(&recursion, select);
	double each = from ? branches(&recursion, from) : 1;
	double levels = where ? levels_of(safety, where->first) : INFINITY;
	return each >= 2 && pow(each, fmin(levels, RECURSION_LEVELS)) >= BOMB_QUERY_ROWS;
}

void mysql_bombs_cte(struct mysql_safety *safety, const struct query_node *cte)
{
	const struct query_node *query = query_child(cte, QUERY_EXPRESSION);
	const struct query_node *set = query_child(query, QUERY_SET);
	const struct query_node *limit = query_child(query, QUERY_LIMIT);
	if (!set || (limit && largest(safety, limit->first) < BOMB_CALL_ROWS))
		return;
	size_t recursive = 0;
	for (const struct query_node *arm = set->first; arm; arm = arm->next) {
		if (!reads_cte(arm, cte->name))
			continue;
		const struct query_node *from = query_child(query_child(arm, QUERY_SELECT), QUERY_FROM);
		recursive++;
		if (!arm_ends(safety, arm, cte) || arm_explodes(safety, arm, cte->name) ||
		    (recursive > 1 && !(from && joins_relation(from, cte->name)))) {
			bomb(safety, cte, "recursion without a bound");
			return;
		}
	}
}
