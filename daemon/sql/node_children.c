#include "sql/node_children.h"

#define MAX_PARTS 12

/* Up to MAX_PARTS parts, visited in order; absent ones are skipped. */
static bool visit_parts(const Node *const parts[MAX_PARTS], bool (*visit)(const Node *child, void *context),
			void *context)
{
	for (size_t i = 0; i < MAX_PARTS; i++) {
		if (!parts[i])
			continue;
		if (!IsA(parts[i], List)) {
			if (!visit(parts[i], context))
				return false;
			continue;
		}
		const ListCell *cell;
		foreach(cell, (const List *)parts[i])
		{
			if (lfirst(cell) && !visit(lfirst(cell), context))
				return false;
		}
	}
	return true;
}

#define NODE(part) ((const Node *)(part))
#define VISIT(...) visit_parts((const Node *const[MAX_PARTS]){ __VA_ARGS__ }, visit, context)

static bool select_children(const SelectStmt *select, bool (*visit)(const Node *child, void *context),
			    void *context)
{
	return VISIT(NODE(select->withClause), NODE(select->distinctClause), NODE(select->targetList),
		     NODE(select->fromClause), select->whereClause, NODE(select->groupClause)) &&
	       VISIT(select->havingClause, NODE(select->windowClause), NODE(select->valuesLists),
		     NODE(select->larg), NODE(select->rarg), NODE(select->sortClause), select->limitOffset,
		     select->limitCount);
}

static bool from_children(const Node *node, bool (*visit)(const Node *child, void *context), void *context)
{
	switch (nodeTag(node)) {
	case T_JoinExpr:
		return VISIT(((const JoinExpr *)node)->larg, ((const JoinExpr *)node)->rarg,
			     ((const JoinExpr *)node)->quals);
	case T_RangeSubselect:
		return VISIT(((const RangeSubselect *)node)->subquery);
	case T_RangeFunction:
		return VISIT(NODE(((const RangeFunction *)node)->functions));
	case T_RangeTableSample:
		return VISIT(((const RangeTableSample *)node)->relation,
			     NODE(((const RangeTableSample *)node)->args),
			     ((const RangeTableSample *)node)->repeatable);
	case T_RangeTableFunc:
		return VISIT(((const RangeTableFunc *)node)->docexpr, ((const RangeTableFunc *)node)->rowexpr,
			     NODE(((const RangeTableFunc *)node)->namespaces),
			     NODE(((const RangeTableFunc *)node)->columns));
	case T_RangeTableFuncCol:
		return VISIT(((const RangeTableFuncCol *)node)->colexpr,
			     ((const RangeTableFuncCol *)node)->coldefexpr);
	case T_WithClause:
		return VISIT(NODE(((const WithClause *)node)->ctes));
	case T_CommonTableExpr:
		return VISIT(((const CommonTableExpr *)node)->ctequery);
	default:
		return true;
	}
}

static bool call_children(const FuncCall *call, bool (*visit)(const Node *child, void *context),
			  void *context)
{
	return VISIT(NODE(call->args), NODE(call->agg_order), call->agg_filter, NODE(call->over));
}

static bool case_children(const CaseExpr *expr, bool (*visit)(const Node *child, void *context),
			  void *context)
{
	return VISIT(NODE(expr->arg), NODE(expr->args), NODE(expr->defresult));
}

bool node_children(const Node *node, bool (*visit)(const Node *child, void *context), void *context)
{
	switch (nodeTag(node)) {
	case T_List:
		return VISIT(node);
	case T_SelectStmt:
		return select_children((const SelectStmt *)node, visit, context);
	case T_ResTarget:
		return VISIT(((const ResTarget *)node)->val);
	case T_A_Expr:
		return VISIT(((const A_Expr *)node)->lexpr, ((const A_Expr *)node)->rexpr);
	case T_BoolExpr:
		return VISIT(NODE(((const BoolExpr *)node)->args));
	case T_FuncCall:
		return call_children((const FuncCall *)node, visit, context);
	case T_A_Indirection:
		return VISIT(((const A_Indirection *)node)->arg,
			     NODE(((const A_Indirection *)node)->indirection));
	case T_A_Indices:
		return VISIT(((const A_Indices *)node)->lidx, ((const A_Indices *)node)->uidx);
	case T_A_ArrayExpr:
		return VISIT(NODE(((const A_ArrayExpr *)node)->elements));
	case T_TypeCast:
		return VISIT(((const TypeCast *)node)->arg);
	case T_CollateClause:
		return VISIT(((const CollateClause *)node)->arg);
	case T_SortBy:
		return VISIT(((const SortBy *)node)->node);
	case T_WindowDef:
		return VISIT(NODE(((const WindowDef *)node)->partitionClause),
			     NODE(((const WindowDef *)node)->orderClause),
			     ((const WindowDef *)node)->startOffset, ((const WindowDef *)node)->endOffset);
	case T_SubLink:
		return VISIT(((const SubLink *)node)->testexpr, ((const SubLink *)node)->subselect);
	case T_CaseExpr:
		return case_children((const CaseExpr *)node, visit, context);
	case T_CaseWhen:
		return VISIT(NODE(((const CaseWhen *)node)->expr), NODE(((const CaseWhen *)node)->result));
	case T_RowExpr:
		return VISIT(NODE(((const RowExpr *)node)->args));
	case T_CoalesceExpr:
		return VISIT(NODE(((const CoalesceExpr *)node)->args));
	case T_MinMaxExpr:
		return VISIT(NODE(((const MinMaxExpr *)node)->args));
	case T_NullTest:
		return VISIT(NODE(((const NullTest *)node)->arg));
	case T_BooleanTest:
		return VISIT(NODE(((const BooleanTest *)node)->arg));
	case T_XmlExpr:
		return VISIT(NODE(((const XmlExpr *)node)->named_args), NODE(((const XmlExpr *)node)->args));
	case T_XmlSerialize:
		return VISIT(((const XmlSerialize *)node)->expr);
	case T_GroupingFunc:
		return VISIT(NODE(((const GroupingFunc *)node)->args));
	case T_GroupingSet:
		return VISIT(NODE(((const GroupingSet *)node)->content));
	case T_NamedArgExpr:
		return VISIT(NODE(((const NamedArgExpr *)node)->arg));
	default:
		return from_children(node, visit, context);
	}
}

const char *names_last(const List *names)
{
	if (names == NIL)
		return NULL;
	const Node *last = llast(names);
	return IsA(last, String) ? NODE_STRING(last) : NULL;
}
