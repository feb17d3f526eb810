#include "sql/query/bombs_internal.h"

#include "sql/query/bomb_limits.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define SYSTEM_TABLES 3 /* of the server's own, joined without any condition */

static void bomb(struct bombs *bombs, const struct query_node *node, const char *reason)
{
	violations_add(bombs->violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset, "%s", reason);
}

/* Said once: what multiplies a query multiplies those that read it. */
static void bomb_rows(struct bombs *bombs, const struct query_node *node, const char *reason)
{
	if (!bombs->multiplied)
		bomb(bombs, node, reason);
	bombs->multiplied = true;
}

/* ---- calls ---- */

/* Widths in the text of SFORMAT: '{:>1000}', or '{:>{}}' with one of the values. */
static double widest_field(struct bombs *bombs, const struct query_node *call)
{
	const struct query_node *format = call->first;
	double width = 1;
	bool in_field = false;
	if (format->kind != QUERY_LITERAL || !format->op || strcmp(format->op, "string") != 0)
		return INFINITY;
	for (const char *at = format->name.ptr; at < format->name.ptr + format->name.len; at++) {
		if (*at == '{' && in_field) { /* what is a width here is not told apart from what is shown */
			for (const struct query_node *value = format->next; value; value = value->next)
				width = fmax(width, query_is_literal(value, "string")
							    ? 1
							    : bombs_largest(bombs, value));
		} else if (in_field && isdigit((unsigned char)*at)) {
			char *end;
			width = fmax(width, strtod(at, &end));
			at = end - 1;
		}
		in_field = *at == '{' || (in_field && *at != '}');
	}
	return width;
}

/* Of an aggregate that puts a text together of a value from each row. MySQL cuts GROUP_CONCAT off. */
static bool gathers_large(struct bombs *bombs, const struct query_node *call)
{
	bool gathers = bombs->dialect == SQL_MYSQL
			       ? IDENTIFIER_IS_ANY(call->name, "json_objectagg", "json_arrayagg")
			       : IDENTIFIER_IS_ANY(call->name, "group_concat", "string_agg",
						   "json_group_array", "json_group_object");
	return gathers && bombs_text_size(bombs, call) >= BOMB_ROW_BYTES;
}

/* Functions that look for one of their first two texts at each place of the other. */
static bool searches_long(struct bombs *bombs, const struct query_node *call)
{
	return IDENTIFIER_IS_ANY(call->name, "locate", "instr", "position", "replace", "replace_oracle",
				 "trim", "ltrim", "rtrim", "substring_index") &&
	       call->first->next &&
	       bombs_text_size(bombs, call->first) * bombs_text_size(bombs, call->first->next) >= BOMB_WORK;
}

static void check_call(struct bombs *bombs, const struct query_node *call)
{
	if (!call->first)
		return;
	bool format = bombs->dialect == SQL_MYSQL && identifier_is(call->name, "sformat") &&
		      widest_field(bombs, call) >= BOMB_CALL_BYTES;
	if (format || gathers_large(bombs, call) || searches_long(bombs, call) ||
	    bombs_call_is_large(bombs, call))
		bomb(bombs, call, "a text of a size that is huge or not known");
}

/* ---- rows ---- */

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

static void check_relation(struct bombs *bombs, const struct query_node *relation)
{
	double rows = bombs->dialect == SQL_MYSQL ? sequence_rows(relation->name) : 1;
	bombs->generated *= rows;
	if (rows >= BOMB_CALL_ROWS || (rows > 1 && bombs->generated >= BOMB_QUERY_ROWS))
		bomb(bombs, relation, "a table that is made up of too many rows");
}

static bool is_condition(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_ON || node->kind == QUERY_USING;
}

static size_t system_tables(const struct query_node *node)
{
	size_t count = node->kind == QUERY_RELATION && identifier_is(node->schema, "information_schema");
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || child->kind == QUERY_RELATION)
			count += system_tables(child);
	return count;
}

static void check_select(struct bombs *bombs, const struct query_node *select)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	if (from && system_tables(from) >= SYSTEM_TABLES && !query_child(select, QUERY_WHERE) &&
	    !query_has_here(from, is_condition, NULL))
		bomb(bombs, from, "the server's own tables multiplied");
	if (from && bombs_from_rows(bombs, from) >= BOMB_QUERY_ROWS)
		bomb_rows(bombs, from, "rows of the text itself multiplied");
}

/* ---- recursions ---- */

/* Whether an arm that reads its own query comes to an end. */
static bool arm_ends(struct bombs *bombs, const struct query_node *arm, const struct query_node *cte)
{
	const struct query_node *select = query_child(arm, QUERY_SELECT);
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *where = query_child(select, QUERY_WHERE);
	if (where && where->first && bombs_recursion_limited(bombs, cte, arm))
		return true;
	return from && bombs_joins_table(from, cte) && (where || query_has_here(from, is_condition, NULL));
}

/* A LIMIT that is written out, or that the server wants to be positive. */
static bool is_cut_off(struct bombs *bombs, const struct query_node *limit)
{
	if (limit->first->kind == QUERY_PARAMETER)
		return bombs->dialect == SQL_MYSQL;
	return limit->first->kind == QUERY_LITERAL && bombs_largest(bombs, limit->first) < BOMB_CALL_ROWS;
}

static void check_cte(struct bombs *bombs, const struct query_node *cte)
{
	const struct query_node *query = query_child(cte, QUERY_EXPRESSION);
	const struct query_node *set = query_child(query, QUERY_SET);
	const struct query_node *limit = query_child(query, QUERY_LIMIT);
	bool recursive = false;
	bool ends = bombs->ends_known && !limit;
	if (!set || (limit && is_cut_off(bombs, limit)))
		return;
	for (const struct query_node *arm = set->first; arm; arm = arm->next) {
		if (!bombs_reads(arm, cte))
			continue;
		recursive = true;
		if (!ends && !arm_ends(bombs, arm, cte)) {
			bomb_rows(bombs, cte, "recursion without a bound");
			return;
		}
	}
	if (recursive && bombs_recursion_rows(bombs, cte) >= BOMB_QUERY_ROWS)
		bomb_rows(bombs, cte, "a recursion of too many rows");
}

enum { SEARCHING = 1, SEARCHED = 2 };

static bool leads_back(struct bombs *bombs, const struct query_node *cte);

/* Whether what stands there reads a WITH query that is being searched, other than `cte` itself. */
static bool reads_searched(struct bombs *bombs, const struct query_node *node, const struct query_node *cte)
{
	const struct query_node *maker = node->range ? node->range->maker : NULL;
	if (node->kind == QUERY_RELATION && maker && maker->kind == QUERY_CTE && maker != cte &&
	    leads_back(bombs, maker))
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (reads_searched(bombs, child, cte))
			return true;
	return false;
}

/* Whether a WITH query reads itself through others. Each is searched once. */
static bool leads_back(struct bombs *bombs, const struct query_node *cte)
{
	double *state = bombs_memo_of(&bombs->searched, bombs, cte);
	if (*state != 0)
		return *state == SEARCHING;
	*state = SEARCHING;
	bool found = reads_searched(bombs, cte, cte);
	*state = SEARCHED;
	return found;
}

/* Those have no bound that could be told; SQLite refuses them. */
static void check_with(struct bombs *bombs, const struct query_node *with)
{
	bool possible = with->flag && bombs->dialect == SQL_MYSQL;
	for (const struct query_node *cte = with->first; possible && cte; cte = cte->next)
		if (leads_back(bombs, cte)) {
			bomb(bombs, cte, "queries that read each other");
			return;
		}
}

static void walk(struct bombs *bombs, const struct query_node *node)
{
	switch (node->kind) {
	case QUERY_CALL:
		check_call(bombs, node);
		break;
	case QUERY_CAST:
		if (node->size >= BOMB_CALL_BYTES)
			bomb(bombs, node, "a type of a huge length");
		break;
	case QUERY_RELATION:
		check_relation(bombs, node);
		break;
	case QUERY_SELECT:
		check_select(bombs, node);
		break;
	case QUERY_WITH:
		check_with(bombs, node);
		break;
	case QUERY_CTE:
		check_cte(bombs, node);
		break;
	default:
		break;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		walk(bombs, child);
}

void query_bombs(const struct query_node *root, enum sql_dialect dialect, bool ends_known,
		 struct violations *violations)
{
	struct bombs bombs = { .violations = violations,
			       .dialect = dialect,
			       .ends_known = ends_known,
			       .nodes = query_last_number(root) + 1,
			       .generated = 1 };
	walk(&bombs, root);
}
