#include "sql/postgresql/resolve/internal.h"

/* How good a name is, as PostgreSQL ranks them: a weak one gives way to the type of a cast. */
enum name_strength { NAME_NONE, NAME_WEAK, NAME_STRONG };

struct naming {
	const struct resolution *resolution; /* or NULL */
	str_t name;
};

static enum name_strength find_name(const Node *node, struct naming *naming);

static enum name_strength named(struct naming *naming, const char *text, enum name_strength strength)
{
	naming->name = str_from(text);
	return text ? strength : NAME_NONE;
}

static enum name_strength selection_name(const A_Indirection *selection, struct naming *naming)
{
	const char *field = NULL;
	const ListCell *cell;
	foreach(cell, selection->indirection)
	{
		if (IsA(lfirst(cell), String))
			field = NODE_STRING(lfirst(cell));
	}
	return field ? named(naming, field, NAME_STRONG) : find_name(selection->arg, naming);
}

static enum name_strength sublink_name(const SubLink *link, struct naming *naming)
{
	if (link->subLinkType == EXISTS_SUBLINK)
		return named(naming, "exists", NAME_STRONG);
	if (link->subLinkType == ARRAY_SUBLINK)
		return named(naming, "array", NAME_STRONG);
	if (link->subLinkType != EXPR_SUBLINK || !IsA(link->subselect, SelectStmt))
		return NAME_NONE;
	const SelectStmt *select = (const SelectStmt *)link->subselect;
	const struct outputs *outputs = resolution_outputs(naming->resolution, select);
	if (outputs && outputs->count > 0 && !outputs->open) {
		naming->name = outputs->columns[0].name;
		return NAME_STRONG;
	}
	while (select->op != SETOP_NONE)
		select = select->larg;
	if (select->targetList == NIL)
		return NAME_NONE;
	const ResTarget *target = linitial_node(ResTarget, select->targetList);
	return target->name ? named(naming, target->name, NAME_STRONG) : find_name(target->val, naming);
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

static enum name_strength weak_name(enum name_strength inner, struct naming *naming, const char *otherwise)
{
	return inner > NAME_WEAK ? inner : named(naming, otherwise, NAME_WEAK);
}

static const char *xml_name(const XmlExpr *xml)
{
	static const char *const names[] = { "xmlconcat", "xmlelement", "xmlforest", "xmlparse",
					     "xmlpi",	  "xmlroot",	NULL };
	return (size_t)xml->op < sizeof names / sizeof *names ? names[xml->op] : NULL;
}

static enum name_strength find_name(const Node *node, struct naming *naming)
{
	if (!node)
		return NAME_NONE;
	switch (nodeTag(node)) {
	case T_ColumnRef:
		return named(naming, names_last(((const ColumnRef *)node)->fields), NAME_STRONG);
	case T_A_Indirection:
		return selection_name((const A_Indirection *)node, naming);
	case T_FuncCall:
		return named(naming, names_last(((const FuncCall *)node)->funcname), NAME_STRONG);
	case T_A_Expr:
		return named(naming, ((const A_Expr *)node)->kind == AEXPR_NULLIF ? "nullif" : NULL,
			     NAME_STRONG);
	case T_TypeCast:
		return weak_name(find_name(((const TypeCast *)node)->arg, naming), naming,
				 names_last(((const TypeCast *)node)->typeName->names));
	case T_CollateClause:
		return find_name(((const CollateClause *)node)->arg, naming);
	case T_GroupingFunc:
		return named(naming, "grouping", NAME_STRONG);
	case T_SubLink:
		return sublink_name((const SubLink *)node, naming);
	case T_CaseExpr:
		return weak_name(find_name((const Node *)((const CaseExpr *)node)->defresult, naming), naming,
				 "case");
	case T_A_ArrayExpr:
		return named(naming, "array", NAME_STRONG);
	case T_RowExpr:
		return named(naming, "row", NAME_STRONG);
	case T_CoalesceExpr:
		return named(naming, "coalesce", NAME_STRONG);
	case T_MinMaxExpr:
		return named(naming, ((const MinMaxExpr *)node)->op == IS_GREATEST ? "greatest" : "least",
			     NAME_STRONG);
	case T_SQLValueFunction:
		return named(naming, value_function_name((const SQLValueFunction *)node), NAME_STRONG);
	case T_XmlExpr:
		return named(naming, xml_name((const XmlExpr *)node), NAME_STRONG);
	case T_XmlSerialize:
		return named(naming, "xmlserialize", NAME_STRONG);
	default:
		return NAME_NONE;
	}
}

str_t expression_name(const struct resolution *resolution, const Node *node)
{
	struct naming naming = { .resolution = resolution };
	return find_name(node, &naming) == NAME_NONE ? STR("?column?") : naming.name;
}
