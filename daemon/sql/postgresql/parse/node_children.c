#include "sql/postgresql/parse/node_children.h"

#define MAX_PARTS 14

/* Parts are found before any is visited, so that recursion holds no more than this list of each level. */
struct parts {
	const Node *at[MAX_PARTS];
};

#define NODE(part) ((const Node *)(part))
#define PARTS(...) ((struct parts){ { __VA_ARGS__ } })

static struct parts select_parts(const SelectStmt *select)
{
	return PARTS(NODE(select->withClause), NODE(select->distinctClause), NODE(select->targetList),
		     NODE(select->fromClause), select->whereClause, NODE(select->groupClause),
		     select->havingClause, NODE(select->windowClause), NODE(select->valuesLists),
		     NODE(select->larg), NODE(select->rarg), NODE(select->sortClause), select->limitOffset,
		     select->limitCount);
}

static struct parts from_parts(const Node *node)
{
	switch (nodeTag(node)) {
	case T_JoinExpr:
		return PARTS(((const JoinExpr *)node)->larg, ((const JoinExpr *)node)->rarg,
			     ((const JoinExpr *)node)->quals);
	case T_RangeSubselect:
		return PARTS(((const RangeSubselect *)node)->subquery);
	case T_RangeFunction:
		return PARTS(NODE(((const RangeFunction *)node)->functions));
	case T_RangeTableSample:
		return PARTS(((const RangeTableSample *)node)->relation,
			     NODE(((const RangeTableSample *)node)->args),
			     ((const RangeTableSample *)node)->repeatable);
	case T_RangeTableFunc:
		return PARTS(((const RangeTableFunc *)node)->docexpr, ((const RangeTableFunc *)node)->rowexpr,
			     NODE(((const RangeTableFunc *)node)->namespaces),
			     NODE(((const RangeTableFunc *)node)->columns));
	case T_RangeTableFuncCol:
		return PARTS(((const RangeTableFuncCol *)node)->colexpr,
			     ((const RangeTableFuncCol *)node)->coldefexpr);
	case T_WithClause:
		return PARTS(NODE(((const WithClause *)node)->ctes));
	case T_CommonTableExpr:
		return PARTS(((const CommonTableExpr *)node)->ctequery);
	default:
		return PARTS(NULL);
	}
}

static struct parts call_parts(const FuncCall *call)
{
	return PARTS(NODE(call->args), NODE(call->agg_order), call->agg_filter, NODE(call->over));
}

static struct parts case_parts(const CaseExpr *expr)
{
	return PARTS(NODE(expr->arg), NODE(expr->args), NODE(expr->defresult));
}

static struct parts node_parts(const Node *node)
{
	switch (nodeTag(node)) {
	case T_List:
		return PARTS(node);
	case T_SelectStmt:
		return select_parts((const SelectStmt *)node);
	case T_ResTarget:
		return PARTS(((const ResTarget *)node)->val);
	case T_A_Expr:
		return PARTS(((const A_Expr *)node)->lexpr, ((const A_Expr *)node)->rexpr);
	case T_BoolExpr:
		return PARTS(NODE(((const BoolExpr *)node)->args));
	case T_FuncCall:
		return call_parts((const FuncCall *)node);
	case T_A_Indirection:
		return PARTS(((const A_Indirection *)node)->arg,
			     NODE(((const A_Indirection *)node)->indirection));
	case T_A_Indices:
		return PARTS(((const A_Indices *)node)->lidx, ((const A_Indices *)node)->uidx);
	case T_A_ArrayExpr:
		return PARTS(NODE(((const A_ArrayExpr *)node)->elements));
	case T_TypeCast:
		return PARTS(((const TypeCast *)node)->arg);
	case T_CollateClause:
		return PARTS(((const CollateClause *)node)->arg);
	case T_SortBy:
		return PARTS(((const SortBy *)node)->node);
	case T_WindowDef:
		return PARTS(NODE(((const WindowDef *)node)->partitionClause),
			     NODE(((const WindowDef *)node)->orderClause),
			     ((const WindowDef *)node)->startOffset, ((const WindowDef *)node)->endOffset);
	case T_SubLink:
		return PARTS(((const SubLink *)node)->testexpr, ((const SubLink *)node)->subselect);
	case T_CaseExpr:
		return case_parts((const CaseExpr *)node);
	case T_CaseWhen:
		return PARTS(NODE(((const CaseWhen *)node)->expr), NODE(((const CaseWhen *)node)->result));
	case T_RowExpr:
		return PARTS(NODE(((const RowExpr *)node)->args));
	case T_CoalesceExpr:
		return PARTS(NODE(((const CoalesceExpr *)node)->args));
	case T_MinMaxExpr:
		return PARTS(NODE(((const MinMaxExpr *)node)->args));
	case T_NullTest:
		return PARTS(NODE(((const NullTest *)node)->arg));
	case T_BooleanTest:
		return PARTS(NODE(((const BooleanTest *)node)->arg));
	case T_XmlExpr:
		return PARTS(NODE(((const XmlExpr *)node)->named_args), NODE(((const XmlExpr *)node)->args));
	case T_XmlSerialize:
		return PARTS(((const XmlSerialize *)node)->expr);
	case T_GroupingFunc:
		return PARTS(NODE(((const GroupingFunc *)node)->args));
	case T_GroupingSet:
		return PARTS(NODE(((const GroupingSet *)node)->content));
	case T_NamedArgExpr:
		return PARTS(NODE(((const NamedArgExpr *)node)->arg));
	default:
		return from_parts(node);
	}
}

static bool visit_list(const List *list, bool (*visit)(const Node *child, void *context), void *context)
{
	const ListCell *cell;
	foreach(cell, list)
	{
		if (lfirst(cell) && !visit(lfirst(cell), context))
			return false;
	}
	return true;
}

bool node_children(const Node *node, bool (*visit)(const Node *child, void *context), void *context)
{
	const struct parts parts = node_parts(node);
	for (size_t i = 0; i < MAX_PARTS; i++) {
		const Node *part = parts.at[i];
		if (part && !(IsA(part, List) ? visit_list((const List *)part, visit, context)
					      : visit(part, context)))
			return false;
	}
	return true;
}

const char *names_last(const List *names)
{
	if (names == NIL)
		return NULL;
	const Node *last = llast(names);
	return IsA(last, String) ? NODE_STRING(last) : NULL;
}

struct qualified_name names_qualified(const List *names)
{
	struct qualified_name name = { STR_NONE, STR_NONE };
	const ListCell *cell;
	foreach(cell, names)
	{
		const Node *part = lfirst(cell);
		name.schema = name.name;
		name.name = part && IsA(part, String) ? str_from(NODE_STRING(part)) : STR_NONE;
	}
	return name;
}

bool names_are_system(const List *names)
{
	return list_length(names) == 1 ||
	       (list_length(names) == 2 && strcmp(NODE_STRING(linitial(names)), "pg_catalog") == 0);
}

bool node_is_null(const Node *node)
{
	return node && IsA(node, A_Const) && ((const A_Const *)node)->isnull;
}

/* The literal, if it is one of that kind. */
static const A_Const *constant_of(const Node *node, NodeTag kind)
{
	const A_Const *constant = node && IsA(node, A_Const) ? (const A_Const *)node : NULL;
	return constant && !constant->isnull && nodeTag(&constant->val) == kind ? constant : NULL;
}

const char *node_string(const Node *node)
{
	const A_Const *constant = constant_of(node, T_String);
	return constant ? constant->val.sval.sval : NULL;
}

bool node_integer(const Node *node, int *ret_value)
{
	const A_Const *constant = constant_of(node, T_Integer);
	if (constant)
		*ret_value = constant->val.ival.ival;
	return constant != NULL;
}

bool node_is_star(const Node *node)
{
	return node && IsA(node, ColumnRef) && IsA(llast(((const ColumnRef *)node)->fields), A_Star);
}

bool node_is_all_fields(const Node *node)
{
	return node && IsA(node, A_Indirection) &&
	       IsA(llast(((const A_Indirection *)node)->indirection), A_Star);
}

const char *node_column_name(const Node *node)
{
	const List *fields = node && IsA(node, ColumnRef) ? ((const ColumnRef *)node)->fields : NIL;
	return list_length(fields) == 1 ? names_last(fields) : NULL;
}

/* libpg_query numbers this enum in another order than the server's header: default, count, with ties. */
bool node_with_ties(const SelectStmt *select)
{
	return (int)select->limitOption == 2;
}
