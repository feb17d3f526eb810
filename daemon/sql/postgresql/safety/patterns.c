#include "sql/postgresql/safety/patterns.h"

#include "sql/findings/front_end.h"
#include "sql/lex/identifier.h"
#include "sql/lex/scan.h"
#include "sql/postgresql/safety/const_eval.h"

#include <ctype.h>
#include <strings.h>

static struct arm_reads difference(struct arm_reads after, struct arm_reads before)
{
	return (struct arm_reads){ after.user_relations - before.user_relations,
				   after.system_relations - before.system_relations,
				   after.probes - before.probes };
}

/* One arm reads users' tables; the other reads only the catalog, or nothing at all and tells on the server.
 */
static bool takes_along(struct arm_reads tables, struct arm_reads other)
{
	if (tables.user_relations == 0 || other.user_relations > 0)
		return false;
	return other.system_relations > 0 || other.probes > 0;
}

bool pattern_exfiltration(struct arm_reads before, struct arm_reads middle, struct arm_reads after)
{
	struct arm_reads left = difference(middle, before);
	struct arm_reads right = difference(after, middle);
	return takes_along(left, right) || takes_along(right, left);
}

bool pattern_system_relation(str_t schema, str_t name)
{
	if (identifier_is(schema, "pg_catalog") || identifier_is(schema, "information_schema"))
		return true;
	return !str_present(schema) && name.len > 3 && strncasecmp(name.ptr, "pg_", 3) == 0;
}

bool pattern_probe_function(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "version", "current_database", "current_setting", "current_schemas",
				  "inet_server_addr", "inet_server_port", "pg_backend_pid", "current_schema",
				  "getpgusername", "inet_client_addr", "pg_postmaster_start_time");
}

#define MAX_DEPTH 32 /* of a condition that is looked into */

static const A_Const *constant_condition(const Node *node, unsigned depth);

/* The first literal of parts that are all constant, or NULL. */
static const A_Const *constant_parts(const List *parts, unsigned depth)
{
	const A_Const *first = NULL;
	ListCell *cell;
	foreach(cell, parts)
	{
		const A_Const *part = constant_condition(lfirst(cell), depth);
		if (!part)
			return NULL;
		first = first ? first : part;
	}
	return first;
}

/* (SELECT 1), EXISTS (SELECT 1) */
static const A_Const *constant_subquery(const SubLink *link, unsigned depth)
{
	if (link->testexpr || !link->subselect || !IsA(link->subselect, SelectStmt))
		return NULL;
	const SelectStmt *select = (const SelectStmt *)link->subselect;
	if (select->op != SETOP_NONE || select->fromClause || select->whereClause)
		return NULL;
	return list_length(select->targetList) == 1
		       ? constant_condition(((const ResTarget *)linitial(select->targetList))->val, depth)
		       : NULL;
}

static const A_Const *constant_operation(const A_Expr *expr, unsigned depth)
{
	const A_Const *left = expr->lexpr ? constant_condition(expr->lexpr, depth) : NULL;
	if (expr->lexpr && !left)
		return NULL;
	const A_Const *right = constant_condition(expr->rexpr, depth);
	return right && left ? left : right;
}

/* The first literal of an expression that is made of literals alone, or NULL. */
static const A_Const *constant_condition(const Node *node, unsigned depth)
{
	if (!node || depth >= MAX_DEPTH)
		return NULL;
	depth++;
	switch ((int)nodeTag(node)) {
	case T_A_Const:
		return (const A_Const *)node;
	case T_TypeCast:
		return constant_condition(((const TypeCast *)node)->arg, depth);
	case T_CollateClause:
		return constant_condition(((const CollateClause *)node)->arg, depth);
	case T_A_Expr:
		return constant_operation((const A_Expr *)node, depth);
	case T_BoolExpr:
		return constant_parts(((const BoolExpr *)node)->args, depth);
	case T_NullTest:
		return constant_condition((const Node *)((const NullTest *)node)->arg, depth);
	case T_BooleanTest:
		return constant_condition((const Node *)((const BooleanTest *)node)->arg, depth);
	case T_List:
		return constant_parts((const List *)node, depth);
	case T_SubLink:
		return constant_subquery((const SubLink *)node, depth);
	default:
		return NULL;
	}
}

/* A column compared with itself. */
static const ColumnRef *own_comparison(const Node *node)
{
	if (!node || !IsA(node, A_Expr))
		return NULL;
	const A_Expr *expr = (const A_Expr *)node;
	if (!expr->lexpr || !IsA(expr->lexpr, ColumnRef) || !expr->rexpr || !IsA(expr->rexpr, ColumnRef))
		return NULL;
	const List *left = ((const ColumnRef *)expr->lexpr)->fields;
	const List *right = ((const ColumnRef *)expr->rexpr)->fields;
	if (list_length(left) != list_length(right))
		return NULL;
	for (int i = 0; i < list_length(left); i++) {
		const Node *a = list_nth(left, i);
		const Node *b = list_nth(right, i);
		if (!IsA(a, String) || !IsA(b, String) || strcmp(NODE_STRING(a), NODE_STRING(b)) != 0)
			return NULL;
	}
	return (const ColumnRef *)expr->lexpr;
}

/* Offset of a condition that no row can change, or −1. */
static int64_t literal_condition(const Node *node)
{
	const A_Const *constant = constant_condition(node, 0);
	if (constant &&
	    (node->type != T_A_Const ||
	     (!constant->isnull && constant->val.node.type == T_Boolean && constant->val.boolval.boolval)))
		return constant->location;
	const ColumnRef *own = own_comparison(node);
	return own ? own->location : -1;
}

/* −1, 0 or 1 of two literals of one kind; false: they are of no such kind. */
static bool compare_literals(const A_Const *left, const A_Const *right, int *ret_order)
{
	int kind = (int)nodeTag(&left->val);
	if (left->isnull || right->isnull || kind != (int)nodeTag(&right->val))
		return false;
	if (kind == T_Integer)
		*ret_order = (left->val.ival.ival > right->val.ival.ival) -
			     (left->val.ival.ival < right->val.ival.ival);
	else if (kind == T_String)
		*ret_order = strcmp(left->val.sval.sval, right->val.sval.sval);
	else
		return false;
	return true;
}

/* A comparison of two literals that does not hold. Texts are equal or not; which is larger, their collation
 * says. */
static bool surely_false(const Node *node)
{
	if (!node || !IsA(node, A_Expr) || ((const A_Expr *)node)->kind != AEXPR_OP)
		return false;
	const A_Expr *expr = (const A_Expr *)node;
	int order;
	if (!expr->lexpr || !IsA(expr->lexpr, A_Const) || !expr->rexpr || !IsA(expr->rexpr, A_Const) ||
	    list_length(expr->name) != 1 ||
	    !compare_literals((const A_Const *)expr->lexpr, (const A_Const *)expr->rexpr, &order))
		return false;
	const char *name = NODE_STRING(linitial(expr->name));
	bool numbers = IsA(&((const A_Const *)expr->lexpr)->val, Integer);
	if (strcmp(name, "=") == 0)
		return order != 0;
	if (strcmp(name, "<>") == 0)
		return order == 0;
	if (!numbers)
		return false;
	return (strcmp(name, "<") == 0 && order >= 0) || (strcmp(name, ">") == 0 && order <= 0) ||
	       (strcmp(name, "<=") == 0 && order > 0) || (strcmp(name, ">=") == 0 && order < 0);
}

/* Whether an empty comment follows the token at `offset` and the two behind it (`1 = 1 --`), and nothing
 * else.
 */
static bool cut_off_behind(str_t text, size_t offset)
{
	struct scan_token token = { SCAN_SPACE, offset, 0 };
	struct scan_token last = token;
	for (unsigned seen = 0; token.kind != SCAN_END;
	     token = scan_token_at(text, token.offset + token.len, SQL_POSTGRESQL)) {
		bool content = token.kind != SCAN_SPACE && token.kind != SCAN_COMMENT &&
			       !scan_is_char(text, token, ')') && !scan_is_char(text, token, ';');
		seen += content;
		if (seen > 3)
			return false;
		if (token.kind != SCAN_SPACE)
			last = token;
	}
	if (last.kind != SCAN_COMMENT)
		return false;
	for (size_t i = last.offset; i < last.offset + last.len; i++)
		if (isalnum((unsigned char)text.ptr[i]))
			return false;
	return true;
}

int64_t pattern_tautology(str_t text, const BoolExpr *condition, bool filters)
{
	ListCell *cell;
	if (!filters)
		return -1;
	foreach(cell, condition->args)
	{
		int64_t offset = literal_condition(lfirst(cell));
		if (offset < 0 || condition->boolop == NOT_EXPR)
			continue;
		if (condition->boolop == OR_EXPR && surely_false(lfirst(cell)))
			continue;
		if (condition->boolop == OR_EXPR || cut_off_behind(text, (size_t)offset))
			return offset;
	}
	return -1;
}

static int64_t target_location(const SelectStmt *select)
{
	while (select->op != SETOP_NONE)
		select = select->larg;
	return select->targetList ? ((const ResTarget *)linitial(select->targetList))->location : 0;
}

int64_t pattern_set_operation_offset(str_t text, const SelectStmt *select)
{
	int64_t offset = target_location(select->rarg);
	return offset > 0 && (size_t)offset < text.len ? offset : 0;
}

static bool has_dashes(str_t text)
{
	const char *end = text.ptr + text.len;
	for (const char *at = text.ptr; at < end; at++) {
		at = memchr(at, '-', (size_t)(end - at));
		if (!at)
			return false;
		if (at + 1 < end && at[1] == '-')
			return true;
	}
	return false;
}

void pattern_check_comments(struct violations *list, str_t text)
{
	if (has_dashes(text))
		front_end_check_comments(text, SQL_POSTGRESQL, " -", list);
}
