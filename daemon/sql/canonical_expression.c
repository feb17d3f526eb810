#include "sql/canonical_internal.h"

#include "sql/scan.h"

static str_t name_of(struct canon *canon, const List *names)
{
	struct texts parts = { 0 };
	const ListCell *cell;
	foreach(cell, names)
	{
		const Node *part = lfirst(cell);
		str_t text = IsA(part, String) ? str_from(NODE_STRING(part)) : STR("*");
		if (foreach_current_index(cell) == 0 && list_length(names) > 1 && str_is(text, "pg_catalog"))
			continue;
		texts_add(canon, &parts, canon_identifier(canon, text));
	}
	return parts.count == 1 ? parts.items[0] : texts_join(canon, "", &parts, "");
}

/* Operators are not identifiers: no quotes. */
static str_t operator_of(struct canon *canon, const List *names)
{
	if (list_length(names) == 1 ||
	    (list_length(names) == 2 && strcmp(NODE_STRING(linitial(names)), "pg_catalog") == 0))
		return str_from(NODE_STRING(llast(names)));
	return canon_printf(canon, "operator(%s)", name_of(canon, names).ptr);
}

static str_t quoted(struct canon *canon, const char *text)
{
	struct buf buf = BUF_INIT;
	buf_append_char(&buf, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_append_char(&buf, '\'');
		buf_append_char(&buf, *text);
	}
	buf_append_char(&buf, '\'');
	str_t copy = arena_str(canon->arena, buf_str(&buf));
	buf_free(&buf);
	return copy;
}

static str_t constant(struct canon *canon, const A_Const *literal)
{
	if (literal->isnull)
		return STR("null");
	switch ((int)literal->val.node.type) {
	case T_Integer:
		return canon_printf(canon, "%d", literal->val.ival.ival);
	case T_Float:
		return canon_printf(canon, "%s", literal->val.fval.fval);
	case T_Boolean:
		return literal->val.boolval.boolval ? STR("true") : STR("false");
	case T_String:
		return quoted(canon, literal->val.sval.sval);
	case T_BitString:
		return canon_printf(canon, "bits%s", literal->val.bsval.bsval);
	default:
		canon->failed = true;
		return STR("?");
	}
}

void canon_expressions(struct canon *canon, const List *list, struct texts *texts)
{
	const ListCell *cell;
	foreach(cell, list) texts_add(canon, texts, canon_expression(canon, lfirst(cell)));
}

static str_t listed(struct canon *canon, const char *open, const List *list, bool sorted)
{
	struct texts texts = { 0 };
	canon_expressions(canon, list, &texts);
	if (sorted)
		texts_sort(&texts);
	return texts_join(canon, open, &texts, ")");
}

static str_t type_of(struct canon *canon, const TypeName *type)
{
	struct texts bounds = { 0 };
	const ListCell *cell;
	foreach(cell, type->arrayBounds)
	{
		(void)cell;
		texts_add(canon, &bounds, STR("[]"));
	}
	return canon_printf(canon, "%s%s%s%s", name_of(canon, type->names).ptr,
			    (type->typmods ? listed(canon, "(", type->typmods, false) : STR("")).ptr,
			    texts_join(canon, "", &bounds, "").ptr, type->setof ? " setof" : "");
}

/* NULL is the largest value for PostgreSQL and the smallest for SQLite. */
bool canon_nulls_first(const struct canon *canon, const SortBy *sort)
{
	bool descending = sort->sortby_dir == SORTBY_DESC;
	if (sort->sortby_nulls == SORTBY_NULLS_DEFAULT)
		return canon->request->dialect == SQL_SQLITE ? !descending : descending;
	return sort->sortby_nulls == SORTBY_NULLS_FIRST;
}

str_t canon_sort(struct canon *canon, const SortBy *sort, str_t expression)
{
	str_t using = sort->sortby_dir == SORTBY_USING ? operator_of(canon, sort->useOp) : STR("");
	return canon_printf(canon, "%s%s%s%s", expression.ptr,
			    sort->sortby_dir == SORTBY_DESC ? " desc" : " asc", using.ptr,
			    canon_nulls_first(canon, sort) ? " nulls first" : "");
}

static str_t sorted_by(struct canon *canon, const char *open, const List *list)
{
	struct texts texts = { 0 };
	const ListCell *cell;
	foreach(cell, list)
	{
		const SortBy *sort = lfirst(cell);
		texts_add(canon, &texts, canon_sort(canon, sort, canon_expression(canon, sort->node)));
	}
	return texts_join(canon, open, &texts, ")");
}

static const WindowDef *named_window(const struct canon *canon, const char *name)
{
	const ListCell *cell;
	foreach(cell, canon->scope && canon->scope->select ? canon->scope->select->windowClause : NULL)
	{
		const WindowDef *window = lfirst(cell);
		if (window->name && strcmp(window->name, name) == 0)
			return window;
	}
	return NULL;
}

static str_t window(struct canon *canon, const WindowDef *def)
{
	const char *reference = def->refname;
	if (def->name && !def->partitionClause && !def->orderClause && !reference &&
	    !named_window(canon, def->name)) {
		canon->failed = true;
		return STR("?");
	}
	str_t base = STR("");
	if (reference) {
		const WindowDef *named = named_window(canon, reference);
		if (!named || !canon_enter(canon)) {
			canon->failed = true;
			return STR("?");
		}
		base = window(canon, named);
		canon_leave(canon);
	}
	return canon_printf(canon, "over(%s%s%s %x %s %s)", base.ptr,
			    listed(canon, "by(", def->partitionClause, true).ptr,
			    sorted_by(canon, "order(", def->orderClause).ptr, (unsigned)def->frameOptions,
			    canon_expression(canon, def->startOffset).ptr,
			    canon_expression(canon, def->endOffset).ptr);
}

/* OVER name means the window itself. */
static str_t call_window(struct canon *canon, const WindowDef *over)
{
	if (!over)
		return STR("");
	const WindowDef *named = over->name ? named_window(canon, over->name) : NULL;
	return window(canon, named ? named : over);
}

/* count(1) counts rows, as count(*) does. */
static bool counts_rows(const FuncCall *call)
{
	if (call->agg_star)
		return true;
	if (list_length(call->args) != 1 || call->agg_distinct ||
	    strcmp(NODE_STRING(llast(call->funcname)), "count") != 0)
		return false;
	const Node *argument = linitial(call->args);
	return IsA(argument, A_Const) && !((const A_Const *)argument)->isnull;
}

static str_t call(struct canon *canon, const FuncCall *function)
{
	struct texts arguments = { 0 };
	if (counts_rows(function))
		texts_add(canon, &arguments, STR("*"));
	else
		canon_expressions(canon, function->args, &arguments);
	str_t text = canon_printf(canon, "%s%s", name_of(canon, function->funcname).ptr,
				  texts_join(canon, function->agg_distinct ? "(distinct " : "(", &arguments,
					     function->func_variadic ? " variadic)" : ")")
					  .ptr);
	if (function->agg_order)
		text = canon_printf(canon, "%s %s%s", text.ptr, function->agg_within_group ? "within" : "",
				    sorted_by(canon, "order(", function->agg_order).ptr);
	if (function->agg_filter)
		text = canon_printf(canon, "%s filter(%s)", text.ptr,
				    canon_expression(canon, function->agg_filter).ptr);
	if (function->over)
		text = canon_printf(canon, "%s %s", text.ptr, call_window(canon, function->over).ptr);
	return text;
}

static str_t binary(struct canon *canon, const char *op, str_t left, str_t right)
{
	return canon_printf(canon, "(%s %s %s)", left.ptr, op, right.ptr);
}

static bool before(str_t a, str_t b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
	return order ? order < 0 : a.len < b.len;
}

/* Commutative operators in order of their operands, > and >= turned around. */
str_t canon_compared(struct canon *canon, const char *op, str_t left, str_t right)
{
	static const char *const commutative[] = { "=", "<>", "+", "*" };
	if (strcmp(op, ">") == 0)
		return binary(canon, "<", right, left);
	if (strcmp(op, ">=") == 0)
		return binary(canon, "<=", right, left);
	for (size_t i = 0; i < sizeof commutative / sizeof commutative[0]; i++)
		if (strcmp(op, commutative[i]) == 0 && before(right, left))
			return binary(canon, op, right, left);
	return binary(canon, op, left, right);
}

static str_t in_list(struct canon *canon, const char *op, const A_Expr *expr)
{
	bool negated = strcmp(op, "<>") == 0;
	const List *list = (const List *)expr->rexpr;
	str_t left = canon_expression(canon, expr->lexpr);
	if (list_length(list) == 1)
		return canon_compared(canon, op, left, canon_expression(canon, linitial(list)));
	struct texts texts = { 0 };
	canon_expressions(canon, list, &texts);
	texts_unique(&texts);
	return canon_printf(canon, "%s(%s; %s", negated ? "notin" : "in", left.ptr,
			    texts_join(canon, "", &texts, ")").ptr);
}

/* BETWEEN as its two comparisons, unless its operand would be called twice. */
static str_t between(struct canon *canon, const A_Expr *expr)
{
	const List *bounds = (const List *)expr->rexpr;
	str_t value = canon_expression(canon, expr->lexpr);
	str_t low = canon_expression(canon, linitial(bounds));
	str_t high = canon_expression(canon, lsecond(bounds));
	bool negated = expr->kind == AEXPR_NOT_BETWEEN || expr->kind == AEXPR_NOT_BETWEEN_SYM;
	bool symmetric = expr->kind == AEXPR_BETWEEN_SYM || expr->kind == AEXPR_NOT_BETWEEN_SYM;
	if (symmetric || canon_volatile(value))
		return canon_printf(canon, "%sbetween%s(%s; %s; %s)", negated ? "not" : "",
				    symmetric ? "symmetric" : "", value.ptr, low.ptr, high.ptr);
	struct texts parts = { 0 };
	texts_add(canon, &parts,
		  canon_compared(canon, negated ? "<" : "<=", negated ? value : low, negated ? low : value));
	texts_add(
		canon, &parts,
		canon_compared(canon, negated ? "<" : "<=", negated ? high : value, negated ? value : high));
	texts_unique(&parts);
	return texts_join(canon, negated ? "or(" : "and(", &parts, ")");
}

static str_t operation(struct canon *canon, const A_Expr *expr)
{
	str_t op = operator_of(canon, expr->name);
	switch (expr->kind) {
	case AEXPR_BETWEEN:
	case AEXPR_NOT_BETWEEN:
	case AEXPR_BETWEEN_SYM:
	case AEXPR_NOT_BETWEEN_SYM:
		return between(canon, expr);
	case AEXPR_IN:
		return in_list(canon, op.ptr, expr);
	default:
		break;
	}
	static const char *const names[] = {
		[AEXPR_OP_ANY] = "any",	       [AEXPR_OP_ALL] = "all",
		[AEXPR_DISTINCT] = "distinct", [AEXPR_NOT_DISTINCT] = "notdistinct",
		[AEXPR_NULLIF] = "nullif",     [AEXPR_LIKE] = "like",
		[AEXPR_ILIKE] = "ilike",       [AEXPR_SIMILAR] = "similar"
	};
	str_t left = canon_expression(canon, expr->lexpr);
	str_t right = canon_expression(canon, expr->rexpr);
	if (expr->kind == AEXPR_OP)
		return expr->lexpr ? canon_compared(canon, op.ptr, left, right)
				   : canon_printf(canon, "(%s %s)", op.ptr, right.ptr);
	return canon_printf(canon, "%s(%s; %s; %s)", names[expr->kind], op.ptr, left.ptr, right.ptr);
}

static void gather(struct canon *canon, BoolExprType op, const Node *node, struct texts *texts)
{
	const BoolExpr *expr = (const BoolExpr *)node;
	if (!IsA(node, BoolExpr) || expr->boolop != op || !canon_enter(canon)) {
		str_t text = canon_expression(canon, node);
		/* BETWEEN has become an AND of its own */
		texts_add(canon, texts, text);
		return;
	}
	const ListCell *cell;
	foreach(cell, expr->args) gather(canon, op, lfirst(cell), texts);
	canon_leave(canon);
}

static bool is_between(const Node *node)
{
	return IsA(node, A_Expr) && ((const A_Expr *)node)->kind == AEXPR_BETWEEN;
}

static void between_conditions(struct canon *canon, const A_Expr *expr, struct texts *texts)
{
	const List *bounds = (const List *)expr->rexpr;
	str_t value = canon_expression(canon, expr->lexpr);
	if (canon_volatile(value)) {
		texts_add(canon, texts, canon_expression(canon, (const Node *)expr));
		return;
	}
	texts_add(canon, texts,
		  canon_compared(canon, "<=", canon_expression(canon, linitial(bounds)), value));
	texts_add(canon, texts, canon_compared(canon, "<=", value, canon_expression(canon, lsecond(bounds))));
}

/* Conditions joined by AND, with those of BETWEEN beside them. */
void canon_conditions(struct canon *canon, const Node *node, struct texts *texts)
{
	if (!node || !canon_enter(canon))
		return;
	const ListCell *cell;
	if (IsA(node, BoolExpr) && ((const BoolExpr *)node)->boolop == AND_EXPR) {
		foreach(cell, ((const BoolExpr *)node)->args) canon_conditions(canon, lfirst(cell), texts);
	} else if (is_between(node)) {
		between_conditions(canon, (const A_Expr *)node, texts);
	} else {
		texts_add(canon, texts, canon_expression(canon, node));
	}
	canon_leave(canon);
}

/* NOT of a comparison of plain values is the opposite comparison, also for NULL. */
static const char *opposite(const A_Expr *expr)
{
	static const char *const pairs[][2] = { { "=", "<>" }, { "<>", "=" }, { "<", ">=" },
						{ ">=", "<" }, { ">", "<=" }, { "<=", ">" } };
	if ((expr->kind != AEXPR_OP && expr->kind != AEXPR_IN) || list_length(expr->name) != 1 ||
	    !expr->lexpr || IsA(expr->lexpr, RowExpr))
		return NULL;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (strcmp(NODE_STRING(linitial(expr->name)), pairs[i][0]) == 0)
			return pairs[i][1];
	return NULL;
}

static str_t negation(struct canon *canon, const Node *node)
{
	if (IsA(node, BoolExpr) && ((const BoolExpr *)node)->boolop == NOT_EXPR)
		return canon_expression(canon, linitial(((const BoolExpr *)node)->args));
	if (IsA(node, A_Expr)) {
		const A_Expr *expr = (const A_Expr *)node;
		const char *op = opposite(expr);
		if (op && expr->kind == AEXPR_IN)
			return in_list(canon, op, expr);
		if (op)
			return canon_compared(canon, op, canon_expression(canon, expr->lexpr),
					      canon_expression(canon, expr->rexpr));
	}
	return canon_printf(canon, "not(%s)", canon_expression(canon, node).ptr);
}

static str_t boolean(struct canon *canon, const BoolExpr *expr)
{
	if (expr->boolop == NOT_EXPR)
		return negation(canon, linitial(expr->args));
	struct texts texts = { 0 };
	if (expr->boolop == AND_EXPR)
		canon_conditions(canon, (const Node *)expr, &texts);
	else
		gather(canon, OR_EXPR, (const Node *)expr, &texts);
	texts_unique(&texts);
	if (texts.count == 1)
		return texts.items[0];
	return texts_join(canon, expr->boolop == AND_EXPR ? "and(" : "or(", &texts, ")");
}

/* What EXISTS selects does not matter, unless it makes a group of nothing. */
static bool only_existence(const SelectStmt *select)
{
	if (select->op != SETOP_NONE || select->valuesLists || select->groupClause || select->havingClause ||
	    select->limitCount || select->limitOffset || select->withClause)
		return false;
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!IsA(value, A_Const) && !IsA(value, ColumnRef))
			return false;
	}
	return true;
}

static str_t subquery_text(struct canon *canon, const Node *node, bool existence)
{
	struct canon_select select = { 0 };
	if (!IsA(node, SelectStmt)) {
		canon->failed = true;
		return STR("?");
	}
	SelectStmt copy = *(const SelectStmt *)node;
	if (existence && only_existence(&copy)) {
		copy.targetList = NULL;
		copy.distinctClause = NULL;
		copy.sortClause = NULL;
	}
	canon_select(canon, &copy, &select);
	return select.text;
}

static str_t sublink(struct canon *canon, const SubLink *link)
{
	static const char *const names[] = {
		[EXISTS_SUBLINK] = "exists",  [ALL_SUBLINK] = "all",	[ANY_SUBLINK] = "any",
		[ROWCOMPARE_SUBLINK] = "row", [EXPR_SUBLINK] = "value", [MULTIEXPR_SUBLINK] = "multi",
		[ARRAY_SUBLINK] = "array",    [CTE_SUBLINK] = "cte"
	};
	str_t op = link->operName ? operator_of(canon, link->operName) : STR("=");
	return canon_printf(canon, "%s(%s; %s; %s)", names[link->subLinkType],
			    (link->testexpr ? op : STR("")).ptr, canon_expression(canon, link->testexpr).ptr,
			    subquery_text(canon, link->subselect, link->subLinkType == EXISTS_SUBLINK).ptr);
}

static str_t case_text(struct canon *canon, const CaseExpr *expr)
{
	struct texts parts = { 0 };
	const ListCell *cell;
	foreach(cell, expr->args)
	{
		const CaseWhen *when = lfirst(cell);
		texts_add(canon, &parts, canon_expression(canon, (const Node *)when->expr));
		texts_add(canon, &parts, canon_expression(canon, (const Node *)when->result));
	}
	return canon_printf(
		canon, "case(%s; %s; %s)", canon_expression(canon, (const Node *)expr->arg).ptr,
		texts_join(canon, "", &parts, "").ptr,
		(expr->defresult ? canon_expression(canon, (const Node *)expr->defresult) : STR("null")).ptr);
}

static str_t indirection(struct canon *canon, const A_Indirection *node)
{
	str_t text = canon_expression(canon, node->arg);
	const ListCell *cell;
	foreach(cell, node->indirection)
	{
		const Node *part = lfirst(cell);
		if (IsA(part, String)) {
			text = canon_printf(canon, "(%s).%s", text.ptr,
					    canon_identifier(canon, str_from(NODE_STRING(part))).ptr);
		} else if (IsA(part, A_Indices)) {
			const A_Indices *indices = (const A_Indices *)part;
			text = canon_printf(
				canon, "(%s)[%s%s%s]", text.ptr, canon_expression(canon, indices->lidx).ptr,
				indices->is_slice ? ":" : "", canon_expression(canon, indices->uidx).ptr);
		} else {
			text = canon_printf(canon, "(%s).*", text.ptr);
		}
	}
	return text;
}

static str_t grouping_set(struct canon *canon, const GroupingSet *set)
{
	static const char *const names[] = { [GROUPING_SET_EMPTY] = "empty(",
					     [GROUPING_SET_SIMPLE] = "simple(",
					     [GROUPING_SET_ROLLUP] = "rollup(",
					     [GROUPING_SET_CUBE] = "cube(",
					     [GROUPING_SET_SETS] = "sets(" };
	return listed(canon, names[set->kind], set->content, set->kind == GROUPING_SET_CUBE);
}

static str_t wrapped(struct canon *canon, const char *name, const void *argument)
{
	return canon_printf(canon, "%s(%s)", name, canon_expression(canon, argument).ptr);
}

static str_t boolean_test(struct canon *canon, const BooleanTest *test)
{
	static const char *const names[] = {
		[IS_TRUE] = "istrue",	       [IS_NOT_TRUE] = "isnottrue", [IS_FALSE] = "isfalse",
		[IS_NOT_FALSE] = "isnotfalse", [IS_UNKNOWN] = "isunknown",  [IS_NOT_UNKNOWN] = "isnotunknown"
	};
	return wrapped(canon, names[test->booltesttype], test->arg);
}

static str_t composed(struct canon *canon, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_A_ArrayExpr:
		return listed(canon, "array(", ((const A_ArrayExpr *)node)->elements, false);
	case T_RowExpr:
		return listed(canon, "row(", ((const RowExpr *)node)->args, false);
	case T_CoalesceExpr:
		return listed(canon, "coalesce(", ((const CoalesceExpr *)node)->args, false);
	case T_MinMaxExpr:
		return listed(canon, ((const MinMaxExpr *)node)->op == IS_GREATEST ? "greatest(" : "least(",
			      ((const MinMaxExpr *)node)->args, true);
	case T_GroupingFunc:
		return listed(canon, "grouping(", ((const GroupingFunc *)node)->args, false);
	case T_List:
		return listed(canon, "list(", (const List *)node, false);
	case T_NullTest:
		return wrapped(canon,
			       ((const NullTest *)node)->nulltesttype == IS_NULL ? "isnull" : "notnull",
			       ((const NullTest *)node)->arg);
	case T_BooleanTest:
		return boolean_test(canon, (const BooleanTest *)node);
	case T_CollateClause:
		return canon_printf(canon, "collate(%s; %s)",
				    canon_expression(canon, ((const CollateClause *)node)->arg).ptr,
				    name_of(canon, ((const CollateClause *)node)->collname).ptr);
	case T_NamedArgExpr:
		return canon_printf(
			canon, "%s => %s", ((const NamedArgExpr *)node)->name,
			canon_expression(canon, (const Node *)((const NamedArgExpr *)node)->arg).ptr);
	case T_SQLValueFunction:
		return canon_printf(canon, "now%d(%d)", (int)((const SQLValueFunction *)node)->op,
				    ((const SQLValueFunction *)node)->typmod);
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
		return constant(canon, (const A_Const *)node);
	case T_ParamRef:
		return canon_printf(canon, "$%d", ((const ParamRef *)node)->number);
	case T_FuncCall:
		return call(canon, (const FuncCall *)node);
	case T_TypeCast:
		return canon_printf(canon, "cast(%s as %s)",
				    canon_expression(canon, ((const TypeCast *)node)->arg).ptr,
				    type_of(canon, ((const TypeCast *)node)->typeName).ptr);
	case T_A_Expr:
		return operation(canon, (const A_Expr *)node);
	case T_BoolExpr:
		return boolean(canon, (const BoolExpr *)node);
	case T_SubLink:
		return sublink(canon, (const SubLink *)node);
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
	str_t text = dispatch(canon, node);
	canon_leave(canon);
	return text;
}
