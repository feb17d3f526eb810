#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/node_children.h"

/* How good a name is, as PostgreSQL ranks them: a weak one gives way to the type of a cast. */
enum name_strength { NAME_NONE, NAME_WEAK, NAME_STRONG };

static enum name_strength find_name(const Node *node, const char **name);

static enum name_strength named(const char **name, const char *text, enum name_strength strength)
{
	*name = text;
	return text ? strength : NAME_NONE;
}

static enum name_strength selection_name(const A_Indirection *selection, const char **name)
{
	const char *field = NULL;
	const ListCell *cell;
	foreach(cell, selection->indirection)
	{
		if (IsA(lfirst(cell), String))
			field = NODE_STRING(lfirst(cell));
	}
	return field ? named(name, field, NAME_STRONG) : find_name(selection->arg, name);
}

static enum name_strength sublink_name(const SubLink *link, const char **name)
{
	if (link->subLinkType == EXISTS_SUBLINK)
		return named(name, "exists", NAME_STRONG);
	if (link->subLinkType == ARRAY_SUBLINK)
		return named(name, "array", NAME_STRONG);
	if (link->subLinkType != EXPR_SUBLINK || !IsA(link->subselect, SelectStmt))
		return NAME_NONE;
	const SelectStmt *select = (const SelectStmt *)link->subselect;
	while (select->op != SETOP_NONE)
		select = select->larg;
	if (select->targetList == NIL)
		return NAME_NONE;
	const ResTarget *target = linitial_node(ResTarget, select->targetList);
	return target->name ? named(name, target->name, NAME_STRONG) : find_name(target->val, name);
}

static const char *value_function_name(const SQLValueFunction *function)
{
	static const char *const names[] = { "current_date",	  "current_time",      "current_time",
					     "current_timestamp", "current_timestamp", "localtime",
					     "localtime",	  "localtimestamp",    "localtimestamp",
					     "current_role",	  "current_user",      "user",
					     "session_user",	  "current_catalog",   "current_schema" };
	return (size_t)function->op < sizeof names / sizeof *names ? names[function->op] : NULL;
}

static enum name_strength weak_name(enum name_strength inner, const char **name, const char *otherwise)
{
	return inner > NAME_WEAK ? inner : named(name, otherwise, NAME_WEAK);
}

static const char *xml_name(const XmlExpr *xml)
{
	static const char *const names[] = { "xmlconcat", "xmlelement", "xmlforest", "xmlparse",
					     "xmlpi",	  "xmlroot",	NULL };
	return (size_t)xml->op < sizeof names / sizeof *names ? names[xml->op] : NULL;
}

static enum name_strength find_name(const Node *node, const char **name)
{
	if (!node)
		return NAME_NONE;
	switch (nodeTag(node)) {
	case T_ColumnRef:
		return named(name, names_last(((const ColumnRef *)node)->fields), NAME_STRONG);
	case T_A_Indirection:
		return selection_name((const A_Indirection *)node, name);
	case T_FuncCall:
		return named(name, names_last(((const FuncCall *)node)->funcname), NAME_STRONG);
	case T_A_Expr:
		return named(name, ((const A_Expr *)node)->kind == AEXPR_NULLIF ? "nullif" : NULL,
			     NAME_STRONG);
	case T_TypeCast:
		return weak_name(find_name(((const TypeCast *)node)->arg, name), name,
				 names_last(((const TypeCast *)node)->typeName->names));
	case T_CollateClause:
		return find_name(((const CollateClause *)node)->arg, name);
	case T_GroupingFunc:
		return named(name, "grouping", NAME_STRONG);
	case T_SubLink:
		return sublink_name((const SubLink *)node, name);
	case T_CaseExpr:
		return weak_name(find_name((const Node *)((const CaseExpr *)node)->defresult, name), name,
				 "case");
	case T_A_ArrayExpr:
		return named(name, "array", NAME_STRONG);
	case T_RowExpr:
		return named(name, "row", NAME_STRONG);
	case T_CoalesceExpr:
		return named(name, "coalesce", NAME_STRONG);
	case T_MinMaxExpr:
		return named(name, ((const MinMaxExpr *)node)->op == IS_GREATEST ? "greatest" : "least",
			     NAME_STRONG);
	case T_SQLValueFunction:
		return named(name, value_function_name((const SQLValueFunction *)node), NAME_STRONG);
	case T_XmlExpr:
		return named(name, xml_name((const XmlExpr *)node), NAME_STRONG);
	case T_XmlSerialize:
		return named(name, "xmlserialize", NAME_STRONG);
	default:
		return NAME_NONE;
	}
}

str_t expression_name(const Node *node)
{
	const char *name = NULL;
	return find_name(node, &name) == NAME_NONE ? STR("?column?") : str_from(name);
}
