#include "sql/postgresql/canonical/internal.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>

str_t canon_operator(struct canon *canon, const List *names)
{
	if (names_are_system(names))
		return str_from(NODE_STRING(llast(names)));
	struct texts parts = { 0 };
	const ListCell *cell;
	foreach(cell, names)
		texts_add(canon->arena, &parts, canon_quoted(canon, str_from(NODE_STRING(lfirst(cell)))));
	return texts_join(canon, STR("OPERATOR("), &parts, STR(")"));
}

str_t canon_constant(struct canon *canon, const A_Const *literal)
{
	if (literal->isnull)
		return STR("NULL");
	if (canon->masked)
		return STR("?");
	switch ((int)literal->val.node.type) {
	case T_Integer: {
		int64_t number = literal->val.ival.ival;
		return number < 0 ? CONCAT(canon, STR("-"), canon_number(canon, (size_t)-number))
				  : canon_number(canon, (size_t)number);
	}
	case T_Float:
		return str_from(literal->val.fval.fval);
	case T_Boolean:
		return literal->val.boolval.boolval ? STR("TRUE") : STR("FALSE");
	case T_String:
		return canon_quoted(canon, str_from(literal->val.sval.sval));
	case T_BitString:
		return CONCAT(canon, STR("BITS "), str_from(literal->val.bsval.bsval));
	default:
		canon->failed = true;
		return STR("?");
	}
}

void canon_expressions(struct canon *canon, const List *list, struct texts *texts)
{
	const ListCell *cell;
	foreach(cell, list) texts_add(canon->arena, texts, canon_expression(canon, lfirst(cell)));
}

static str_t listed(struct canon *canon, str_t open, const List *list)
{
	struct texts texts = { 0 };
	canon_expressions(canon, list, &texts);
	return texts_join(canon, open, &texts, STR(")"));
}

/* Types */

type_id canon_type(const struct canon *canon, const Node *node)
{
	if (!canon->resolution || !canon->resolution->names_known || !node)
		return TYPE_UNSURE;
	return resolution_type(canon->resolution, node);
}

str_t canon_type_name(struct canon *canon, const TypeName *type)
{
	str_t text = canon_name(canon, type->names);
	if (type->typmods)
		text = CONCAT(canon, text, listed(canon, STR("("), type->typmods));
	for (int i = 0; i < list_length(type->arrayBounds); i++)
		text = CONCAT(canon, text, STR("[]"));
	return type->setof ? CONCAT(canon, text, STR(" SETOF")) : text;
}

/* To the type that the value has. (A type without bounds takes any of its kind as it is.) */
static bool changes_nothing(const struct canon *canon, const TypeCast *cast)
{
	type_id source = canon_type(canon, cast->arg);
	return source != TYPE_UNSURE && source != UNKNOWNOID && !cast->typeName->typmods &&
	       !cast->typeName->arrayBounds && source == canon_type(canon, (const Node *)cast);
}

static str_t cast_text(struct canon *canon, const TypeCast *cast)
{
	if (changes_nothing(canon, cast))
		return canon_expression(canon, cast->arg);
	return CONCAT(canon, STR("CAST("), canon_expression(canon, cast->arg), STR(" AS "),
		      canon_type_name(canon, cast->typeName), STR(")"));
}

/* 2020-01-31, with a time of midnight behind it or not. */
static bool is_date(str_t text, bool midnight)
{
	static const char pattern[] = "dddd-dd-dd 00:00:00";
	size_t len = midnight ? sizeof pattern - 1 : 10;
	if (text.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (pattern[i] == 'd' ? !isdigit((unsigned char)text.ptr[i]) : text.ptr[i] != pattern[i])
			return false;
	return true;
}

static bool is_time_stamp(type_id type)
{
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* A small whole number in quotes, as it would be written without them. */
static bool is_number(str_t text, size_t digits)
{
	size_t start = text.len > 1 && text.ptr[0] == '-';
	if (text.len - start == 0 || text.len - start > digits || (text.ptr[start] == '0' && text.len > 1))
		return false;
	for (size_t i = start; i < text.len; i++)
		if (!isdigit((unsigned char)text.ptr[i]))
			return false;
	return true;
}

static bool is_text_type(type_id type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* A quoted literal beside a value of that type: it is read as one of the type. */
static str_t typed_literal(struct canon *canon, const A_Const *literal, type_id type)
{
	str_t text = str_from(literal->val.sval.sval);
	if ((type == INT2OID || type == INT4OID || type == INT8OID) &&
	    is_number(text, type == INT2OID ? 4 : 9) && !canon->masked)
		return text;
	if (is_time_stamp(type) && is_date(text, true) && !canon->masked)
		return canon_quoted(canon, (str_t){ text.ptr, 10 });
	return canon_constant(canon, literal);
}

/* Whether comparing with the literal cast to `cast` is the same as with the bare literal. */
static bool cast_is_implied(type_id type, type_id cast, str_t literal)
{
	if (is_text_type(type) && is_text_type(cast))
		return true;
	if (is_time_stamp(type) && cast == DATEOID)
		return is_date(literal, false);
	switch (type) {
	case DATEOID:
	case TIMEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
	case INTERVALOID:
	case UUIDOID:
	case BOOLOID:
	case NUMERICOID:
	case INT4OID:
	case INT8OID:
		return type == cast;
	default:
		return false;
	}
}

str_t canon_operand(struct canon *canon, const Node *node, const Node *other)
{
	type_id type = canon_type(canon, other);
	if (type == TYPE_UNSURE || type == UNKNOWNOID || !node)
		return canon_expression(canon, node);
	if (node_string(node))
		return typed_literal(canon, (const A_Const *)node, type);
	if (!IsA(node, TypeCast))
		return canon_expression(canon, node);
	const TypeCast *cast = (const TypeCast *)node;
	type_id target = canon_type(canon, node);
	if (!node_string(cast->arg) || cast->typeName->typmods || cast->typeName->arrayBounds ||
	    target == TYPE_UNSURE || !cast_is_implied(type, target, str_from(node_string(cast->arg))))
		return canon_expression(canon, node);
	return typed_literal(canon, (const A_Const *)cast->arg, type);
}

/* Operations */

static str_t operation(struct canon *canon, const A_Expr *expr)
{
	if (canon_is_condition((const Node *)expr))
		return canon_boolean(canon, (const Node *)expr, false);
	str_t op = canon_operator(canon, expr->name);
	if (expr->kind == AEXPR_OP && expr->lexpr)
		return canon_binary(canon, expr, op);
	str_t right = canon_expression(canon, expr->rexpr);
	if (expr->kind == AEXPR_OP)
		return CONCAT(canon, STR("("), op, STR(" "), right, STR(")"));
	str_t left = canon_expression(canon, expr->lexpr);
	if (expr->kind == AEXPR_NULLIF)
		return CONCAT(canon, STR("NULLIF("), op, STR("; "), left, STR("; "), right, STR(")"));
	const List *bounds = (const List *)expr->rexpr;
	bool negated = expr->kind == AEXPR_NOT_BETWEEN_SYM;
	struct texts ends = { 0 };
	if (expr->kind != AEXPR_BETWEEN_SYM && !negated) {
		canon->failed = true;
		return STR("");
	}
	canon_expressions(canon, bounds, &ends);
	texts_sort(&ends);
	return CONCAT(canon, negated ? STR("NOT BETWEEN(") : STR("BETWEEN("), left,
		      texts_join(canon, STR("; "), &ends, STR(")")));
}

/* Subqueries */

static str_t subquery(struct canon *canon, const Node *node, enum canon_use use)
{
	struct canon_select select = { 0 };
	if (!IsA(node, SelectStmt)) {
		canon->failed = true;
		return STR("?");
	}
	canon_select(canon, (const SelectStmt *)node, use, &select);
	return canon_short(canon, select.text);
}

/* x <> ALL (…) is NOT x IN (…). */
str_t canon_sublink(struct canon *canon, const SubLink *link, bool negated)
{
	static const char *const names[] = {
		[EXISTS_SUBLINK] = "EXISTS(",	 [ALL_SUBLINK] = "ALL(",    [ANY_SUBLINK] = "ANY(",
		[ROWCOMPARE_SUBLINK] = "ROW(",	 [EXPR_SUBLINK] = "VALUE(", [MULTIEXPR_SUBLINK] = "MULTI(",
		[ARRAY_SUBLINK] = "ARRAY FROM(", [CTE_SUBLINK] = "CTE("
	};
	enum SubLinkType type = link->subLinkType;
	str_t op = link->operName ? canon_operator(canon, link->operName) : STR("=");
	bool row = link->testexpr && IsA(link->testexpr, RowExpr);
	if (type == ALL_SUBLINK && str_is(op, "<>") && !row) {
		type = ANY_SUBLINK;
		op = STR("=");
		negated = !negated;
	}
	str_t test = STR("");
	if (link->testexpr)
		test = CONCAT(canon, op, STR("; "), canon_expression(canon, link->testexpr), STR("; "));
	enum canon_use use = type == ARRAY_SUBLINK    ? CANON_ALL
			     : type == EXISTS_SUBLINK ? CANON_EXISTENCE
						      : CANON_UNORDERED;
	str_t text =
		CONCAT(canon, str_from(names[type]), test, subquery(canon, link->subselect, use), STR(")"));
	return negated ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

/* CASE x WHEN a is CASE WHEN x = a. */
static str_t case_text(struct canon *canon, const CaseExpr *expr)
{
	struct texts parts = { 0 };
	const ListCell *cell;
	size_t before = canon->volatile_calls;
	str_t argument = expr->arg ? canon_expression(canon, (const Node *)expr->arg) : STR("");
	bool simple = expr->arg && canon->volatile_calls == before && !IsA(expr->arg, A_Const);
	foreach(cell, expr->args)
	{
		const CaseWhen *when = lfirst(cell);
		const Node *condition = (const Node *)when->expr;
		str_t text;
		if (simple)
			text = canon_comparison(canon, STR("="), argument,
						canon_operand(canon, condition, (const Node *)expr->arg));
		else if (expr->arg)
			text = canon_expression(canon, condition);
		else
			text = canon_boolean(canon, condition, false);
		texts_add(canon->arena, &parts, text);
		texts_add(canon->arena, &parts, canon_expression(canon, (const Node *)when->result));
	}
	texts_add(canon->arena, &parts,
		  expr->defresult ? canon_expression(canon, (const Node *)expr->defresult) : STR("NULL"));
	return CONCAT(canon, STR("CASE("), simple ? STR("") : argument,
		      texts_join(canon, STR("; "), &parts, STR(")")));
}

static str_t selected_part(struct canon *canon, const Node *part)
{
	if (IsA(part, String)) {
		canon->volatile_calls++; /* it may be a call */
		canon->unsteady++;
		return CONCAT(canon, STR(")."), canon_identifier(canon, str_from(NODE_STRING(part))));
	}
	if (!IsA(part, A_Indices))
		return STR(").*");
	const A_Indices *indices = (const A_Indices *)part;
	return CONCAT(canon, STR(")["), canon_expression(canon, indices->lidx),
		      indices->is_slice ? STR(":") : STR(""), canon_expression(canon, indices->uidx),
		      STR("]"));
}

/* ((a)[1])[2]: parentheses for each part, which are many at times. */
static str_t indirection(struct canon *canon, const A_Indirection *node)
{
	size_t count = (size_t)list_length(node->indirection);
	str_t *texts = ARENA_ARRAY(canon->arena, str_t, 2 * count + 1);
	texts[count] = canon_expression(canon, node->arg);
	for (size_t i = 0; i < count; i++) {
		texts[i] = STR("(");
		texts[count + 1 + i] = selected_part(canon, list_nth(node->indirection, (int)i));
	}
	return canon_concat(canon, texts, 2 * count + 1);
}

str_t canon_grouping_set(struct canon *canon, GroupingSetKind kind, struct texts *members)
{
	static const char *const names[] = { [GROUPING_SET_EMPTY] = "EMPTY(",
					     [GROUPING_SET_SIMPLE] = "SIMPLE(",
					     [GROUPING_SET_ROLLUP] = "ROLLUP(",
					     [GROUPING_SET_CUBE] = "CUBE(",
					     [GROUPING_SET_SETS] = "SETS(" };
	if (kind == GROUPING_SET_CUBE || kind == GROUPING_SET_SETS)
		texts_sort(members);
	return texts_join(canon, str_from(names[kind]), members, STR(")"));
}

static str_t grouping_set(struct canon *canon, const GroupingSet *set)
{
	struct texts texts = { 0 };
	canon_expressions(canon, set->content, &texts);
	return canon_grouping_set(canon, set->kind, &texts);
}

/* now() is CURRENT_TIMESTAMP. */
static str_t value_function(struct canon *canon, const SQLValueFunction *function)
{
	if (function->op == SVFOP_CURRENT_TIMESTAMP)
		return STR("now()");
	str_t text = CONCAT(canon, STR("NOW "), canon_number(canon, (size_t)function->op));
	return function->typmod < 0 ? text
				    : CONCAT(canon, text, STR("("),
					     canon_number(canon, (size_t)function->typmod), STR(")"));
}

static str_t composed(struct canon *canon, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_A_ArrayExpr:
		return listed(canon, STR("ARRAY("), ((const A_ArrayExpr *)node)->elements);
	case T_RowExpr:
		return listed(canon, STR("ROW("), ((const RowExpr *)node)->args);
	case T_CoalesceExpr:
		return listed(canon, STR("COALESCE("), ((const CoalesceExpr *)node)->args);
	case T_MinMaxExpr: /* of equal values the first counts: 1.0 is not 1.00 */
		return listed(canon,
			      ((const MinMaxExpr *)node)->op == IS_GREATEST ? STR("GREATEST(")
									    : STR("LEAST("),
			      ((const MinMaxExpr *)node)->args);
	case T_GroupingFunc:
		return listed(canon, STR("GROUPING("), ((const GroupingFunc *)node)->args);
	case T_List:
		return listed(canon, STR("LIST("), (const List *)node);
	case T_CollateClause:
		return CONCAT(canon, STR("COLLATE("),
			      canon_expression(canon, ((const CollateClause *)node)->arg), STR("; "),
			      canon_name(canon, ((const CollateClause *)node)->collname), STR(")"));
	case T_NamedArgExpr:
		return CONCAT(canon, canon_identifier(canon, str_from(((const NamedArgExpr *)node)->name)),
			      STR(" => "),
			      canon_expression(canon, (const Node *)((const NamedArgExpr *)node)->arg));
	case T_SQLValueFunction:
		return value_function(canon, (const SQLValueFunction *)node);
	default:
		canon->failed = true; /* XML and what else has no text here */
		return STR("?");
	}
}

static str_t dispatch(struct canon *canon, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_ColumnRef:
		return canon_column(canon, (const ColumnRef *)node);
	case T_A_Const:
		return canon_constant(canon, (const A_Const *)node);
	case T_ParamRef:
		return CONCAT(canon, STR("$"), canon_number(canon, (size_t)((const ParamRef *)node)->number));
	case T_FuncCall:
		return canon_call(canon, (const FuncCall *)node);
	case T_TypeCast:
		return cast_text(canon, (const TypeCast *)node);
	case T_A_Expr:
		return operation(canon, (const A_Expr *)node);
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
		return canon_boolean(canon, node, false);
	case T_SubLink:
		return canon_sublink(canon, (const SubLink *)node, false);
	case T_CaseExpr:
		return case_text(canon, (const CaseExpr *)node);
	case T_A_Indirection:
		return indirection(canon, (const A_Indirection *)node);
	case T_GroupingSet:
		return grouping_set(canon, (const GroupingSet *)node);
	default:
		return composed(canon, node);
	}
}

str_t canon_expression(struct canon *canon, const Node *node)
{
	if (!node || !canon_enter(canon))
		return STR("");
	str_t text = canon_short(canon, dispatch(canon, node));
	canon_leave(canon);
	return text;
}
