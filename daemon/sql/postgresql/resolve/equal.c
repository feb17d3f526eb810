#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"

#include "catalog/pg_type_d.h"

#include <math.h>

/* Before so many comparisons it takes longer to hash than to compare. */
#define FEW_COMPARISONS 64

/* `t.*` in an expression is the row t. */
static bool is_row(const struct resolved_column *column)
{
	return column->kind == COLUMN_WHOLE_ROW || column->kind == COLUMN_STAR;
}

static bool columns_equal(const struct resolver *resolver, const ColumnRef *a, const ColumnRef *b)
{
	const struct resolved_column *one = resolution_column(resolver->resolution, a);
	const struct resolved_column *other = resolution_column(resolver->resolution, b);
	if (!one || !other)
		return true;
	if (one->kind != other->kind)
		return is_row(one) && is_row(other) && one->item == other->item;
	switch (one->kind) {
	case COLUMN_WHOLE_ROW:
	case COLUMN_STAR:
		return one->item == other->item;
	case COLUMN_OUTPUT:
		return one->column == other->column;
	case COLUMN_SYSTEM:
		return one->item == other->item && strcmp(names_last(a->fields), names_last(b->fields)) == 0;
	default:
		return true;
	}
}

static bool constants_equal(const A_Const *a, const A_Const *b)
{
	double one = expression_constant_number(a), other = expression_constant_number(b);
	if (a->isnull || b->isnull)
		return a->isnull == b->isnull;
	if (!isnan(one) || !isnan(other))
		return one >= other && one <= other;
	if (nodeTag(&a->val) != nodeTag(&b->val))
		return false;
	switch (nodeTag(&a->val)) {
	case T_Boolean:
		return a->val.boolval.boolval == b->val.boolval.boolval;
	case T_Float:
		return strcmp(a->val.fval.fval, b->val.fval.fval) == 0;
	case T_String:
		return strcmp(a->val.sval.sval, b->val.sval.sval) == 0;
	default:
		return true;
	}
}

static bool lists_equal(struct resolver *resolver, const List *a, const List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++) {
		if (!expression_may_equal(resolver, list_nth(a, i), list_nth(b, i)))
			return false;
	}
	return true;
}

static bool names_equal(const List *a, const List *b)
{
	const char *one = names_last(a), *other = names_last(b);
	return one && other && strcmp(one, other) == 0;
}

static bool windows_equal(struct resolver *resolver, const WindowDef *a, const WindowDef *b)
{
	if (!a || !b)
		return a == b;
	if (a->name || b->name || a->refname || b->refname)
		return true;
	return lists_equal(resolver, a->partitionClause, b->partitionClause) &&
	       lists_equal(resolver, a->orderClause, b->orderClause) && a->frameOptions == b->frameOptions;
}

static bool calls_equal(struct resolver *resolver, const FuncCall *a, const FuncCall *b)
{
	return names_equal(a->funcname, b->funcname) && a->agg_star == b->agg_star &&
	       a->agg_distinct == b->agg_distinct && lists_equal(resolver, a->args, b->args) &&
	       lists_equal(resolver, a->agg_order, b->agg_order) &&
	       expression_may_equal(resolver, a->agg_filter, b->agg_filter) &&
	       windows_equal(resolver, a->over, b->over);
}

static bool cases_equal(struct resolver *resolver, const CaseExpr *a, const CaseExpr *b)
{
	return expression_may_equal(resolver, (const Node *)a->arg, (const Node *)b->arg) &&
	       lists_equal(resolver, a->args, b->args) &&
	       expression_may_equal(resolver, (const Node *)a->defresult, (const Node *)b->defresult);
}

static bool selections_equal(struct resolver *resolver, const A_Indirection *a, const A_Indirection *b)
{
	return expression_may_equal(resolver, a->arg, b->arg) &&
	       lists_equal(resolver, a->indirection, b->indirection);
}

static bool nodes_equal(struct resolver *resolver, const Node *a, const Node *b)
{
	switch (nodeTag(a)) {
	case T_ColumnRef:
		return columns_equal(resolver, (const ColumnRef *)a, (const ColumnRef *)b);
	case T_A_Const:
		return constants_equal((const A_Const *)a, (const A_Const *)b);
	case T_FuncCall:
		return calls_equal(resolver, (const FuncCall *)a, (const FuncCall *)b);
	case T_A_Expr:
		return ((const A_Expr *)a)->kind == ((const A_Expr *)b)->kind &&
		       names_equal(((const A_Expr *)a)->name, ((const A_Expr *)b)->name) &&
		       expression_may_equal(resolver, ((const A_Expr *)a)->lexpr,
					    ((const A_Expr *)b)->lexpr) &&
		       expression_may_equal(resolver, ((const A_Expr *)a)->rexpr, ((const A_Expr *)b)->rexpr);
	case T_BoolExpr:
		return ((const BoolExpr *)a)->boolop == ((const BoolExpr *)b)->boolop &&
		       lists_equal(resolver, ((const BoolExpr *)a)->args, ((const BoolExpr *)b)->args);
	case T_CaseExpr:
		return cases_equal(resolver, (const CaseExpr *)a, (const CaseExpr *)b);
	case T_CaseWhen:
		return expression_may_equal(resolver, (const Node *)((const CaseWhen *)a)->expr,
					    (const Node *)((const CaseWhen *)b)->expr) &&
		       expression_may_equal(resolver, (const Node *)((const CaseWhen *)a)->result,
					    (const Node *)((const CaseWhen *)b)->result);
	case T_CoalesceExpr:
		return lists_equal(resolver, ((const CoalesceExpr *)a)->args,
				   ((const CoalesceExpr *)b)->args);
	case T_MinMaxExpr:
		return ((const MinMaxExpr *)a)->op == ((const MinMaxExpr *)b)->op &&
		       lists_equal(resolver, ((const MinMaxExpr *)a)->args, ((const MinMaxExpr *)b)->args);
	case T_RowExpr:
		return lists_equal(resolver, ((const RowExpr *)a)->args, ((const RowExpr *)b)->args);
	case T_List:
		return lists_equal(resolver, (const List *)a, (const List *)b);
	case T_SortBy:
		return expression_may_equal(resolver, ((const SortBy *)a)->node, ((const SortBy *)b)->node);
	case T_SQLValueFunction:
		return ((const SQLValueFunction *)a)->op == ((const SQLValueFunction *)b)->op;
	case T_NullTest:
		return ((const NullTest *)a)->nulltesttype == ((const NullTest *)b)->nulltesttype &&
		       expression_may_equal(resolver, (const Node *)((const NullTest *)a)->arg,
					    (const Node *)((const NullTest *)b)->arg);
	case T_TypeCast:
		return resolution_type(resolver->resolution, a) == resolution_type(resolver->resolution, b) &&
		       expression_may_equal(resolver, ((const TypeCast *)a)->arg, ((const TypeCast *)b)->arg);
	case T_A_Indirection:
		return selections_equal(resolver, (const A_Indirection *)a, (const A_Indirection *)b);
	case T_String:
		return strcmp(NODE_STRING(a), NODE_STRING(b)) == 0;
	case T_A_Indices:
		return ((const A_Indices *)a)->is_slice == ((const A_Indices *)b)->is_slice &&
		       expression_may_equal(resolver, ((const A_Indices *)a)->lidx,
					    ((const A_Indices *)b)->lidx) &&
		       expression_may_equal(resolver, ((const A_Indices *)a)->uidx,
					    ((const A_Indices *)b)->uidx);
	default:
		return true;
	}
}

/* Two of one kind. Those that differ only far below are not gone through again and again. */
static bool same_kind_equal(struct resolver *resolver, const Node *a, const Node *b)
{
	if (!IsA(a, ColumnRef) && !IsA(a, A_Const) && resolver->node_comparisons > FEW_COMPARISONS &&
	    expression_surely_differs(resolver, a, b))
		return false;
	return nodes_equal(resolver, a, b);
}

/* `x::date` and date(x). */
static bool spellings_equal(struct resolver *resolver, const Node *a, const Node *b)
{
	const Node *one = expression_cast_operand(resolver, a), *other = expression_cast_operand(resolver, b);
	type_id from = resolution_type(resolver->resolution, a),
		to = resolution_type(resolver->resolution, b);
	return one && other && (from == to || from == TYPE_UNSURE || to == TYPE_UNSURE) &&
	       expression_may_equal(resolver, one, other);
}

static bool may_equal_without_casts(struct resolver *resolver, const Node *a, const Node *b)
{
	struct base_column one, other;
	bool is_column = expression_is_column(resolver, a, &one);
	bool other_is_column = expression_is_column(resolver, b, &other);
	if (is_column && other_is_column)
		return one.item == other.item && one.column == other.column;
	if ((!is_column && expression_is_open(resolver, a)) ||
	    (!other_is_column && expression_is_open(resolver, b)))
		return true;
	return nodeTag(a) == nodeTag(b) ? same_kind_equal(resolver, a, b) : spellings_equal(resolver, a, b);
}

static bool may_equal(struct resolver *resolver, const Node *a, const Node *b, bool whole)
{
	if (!a || !b)
		return a == b;
	if (++resolver->node_comparisons > RESOLVE_MAX_NODE_COMPARISONS || !resolver_enter(resolver))
		return true;
	a = whole ? expression_output_without_casts(resolver, a) : expression_without_casts(resolver, a);
	b = whole ? expression_output_without_casts(resolver, b) : expression_without_casts(resolver, b);
	bool equal = may_equal_without_casts(resolver, a, b);
	resolver_leave(resolver);
	return equal;
}

bool expression_may_equal(struct resolver *resolver, const Node *a, const Node *b)
{
	return may_equal(resolver, a, b, false);
}

bool expression_outputs_may_equal(struct resolver *resolver, const Node *a, const Node *b)
{
	return may_equal(resolver, a, b, true);
}
