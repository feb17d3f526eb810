#include "sql/resolve_internal.h"

#include "sql/node_children.h"

/* Types by the names that the grammar gives them. */
static const struct {
	const char *name;
	enum type_category category;
} type_names[] = {
	{ "int2", TYPE_INTEGER },
	{ "int4", TYPE_INTEGER },
	{ "int8", TYPE_INTEGER },
	{ "smallint", TYPE_INTEGER },
	{ "integer", TYPE_INTEGER },
	{ "bigint", TYPE_INTEGER },
	{ "numeric", TYPE_NUMERIC },
	{ "decimal", TYPE_NUMERIC },
	{ "float4", TYPE_NUMERIC },
	{ "float8", TYPE_NUMERIC },
	{ "text", TYPE_TEXT },
	{ "varchar", TYPE_TEXT },
	{ "bpchar", TYPE_TEXT },
	{ "bool", TYPE_BOOLEAN },
	{ "date", TYPE_TEMPORAL },
	{ "timestamp", TYPE_TEMPORAL },
	{ "timestamptz", TYPE_TEMPORAL },
};

enum type_category type_name_category(const TypeName *type)
{
	const char *name = names_last(type->names);
	if (!name || type->arrayBounds != NIL || type->setof)
		return TYPE_OTHER;
	for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
		if (strcmp(name, type_names[i].name) == 0)
			return type_names[i].category;
	}
	return TYPE_OTHER;
}

static enum type_category constant_category(const A_Const *constant)
{
	if (constant->isnull)
		return TYPE_OTHER;
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return TYPE_INTEGER;
	case T_Float:
		return TYPE_NUMERIC;
	case T_Boolean:
		return TYPE_BOOLEAN;
	default:
		return TYPE_OTHER; /* a quoted literal takes the type that its place asks for */
	}
}

static enum type_category column_category(const struct resolution *resolution, const ColumnRef *column)
{
	const struct resolved_column *resolved = resolution_column(resolution, column);
	return resolved && resolved->kind == COLUMN_OF_ITEM
		       ? resolved->item->columns[resolved->column].category
		       : TYPE_OTHER;
}

/* The category that all overloads which could be meant agree on. */
static enum type_category call_category(const struct resolution *resolution, const FuncCall *call)
{
	const struct resolved_function *function = resolution_function(resolution, call);
	size_t arguments = (size_t)list_length(call->args);
	enum type_category category = TYPE_OTHER;
	bool some = false;
	for (size_t i = 0; function && i < function->overloads_count; i++) {
		const struct catalog_function *overload = function->overloads[i];
		if (!catalog_function_accepts(overload, arguments))
			continue;
		if (some && overload->category != category)
			return TYPE_OTHER;
		category = overload->category;
		some = true;
	}
	return category;
}

static bool is_number(enum type_category category)
{
	return category == TYPE_INTEGER || category == TYPE_NUMERIC;
}

static enum type_category operator_category(const struct resolution *resolution, const A_Expr *expr)
{
	const char *name = names_last(expr->name);
	if (expr->kind != AEXPR_OP)
		return expr->kind == AEXPR_NULLIF ? expression_category(resolution, expr->lexpr)
						  : TYPE_BOOLEAN;
	if (!name || strlen(name) != 1 || !strchr("+-*/%", name[0]) || !expr->lexpr)
		return TYPE_OTHER;
	enum type_category left = expression_category(resolution, expr->lexpr);
	enum type_category right = expression_category(resolution, expr->rexpr);
	if (!is_number(left) || !is_number(right))
		return TYPE_OTHER;
	return left == TYPE_INTEGER && right == TYPE_INTEGER ? TYPE_INTEGER : TYPE_NUMERIC;
}

static enum type_category common_category(const struct resolution *resolution, const List *expressions)
{
	const ListCell *cell;
	enum type_category category = TYPE_OTHER;
	foreach(cell, expressions)
	{
		enum type_category other = expression_category(resolution, lfirst(cell));
		if (cell != list_head(expressions) && other != category)
			return TYPE_OTHER;
		category = other;
	}
	return category;
}

static enum type_category case_category(const struct resolution *resolution, const CaseExpr *expr)
{
	const ListCell *cell;
	enum type_category category = expression_category(resolution, (const Node *)expr->defresult);
	foreach(cell, expr->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, cell);
		if (expression_category(resolution, (const Node *)when->result) != category)
			return TYPE_OTHER;
	}
	return category;
}

static enum type_category sublink_category(const struct resolution *resolution, const SubLink *link)
{
	if (link->subLinkType == ARRAY_SUBLINK)
		return TYPE_OTHER;
	if (link->subLinkType != EXPR_SUBLINK)
		return TYPE_BOOLEAN;
	const struct outputs *outputs = resolution_outputs(resolution, (const SelectStmt *)link->subselect);
	return outputs && outputs->count == 1 && !outputs->open ? outputs->columns[0].category : TYPE_OTHER;
}

enum type_category expression_category(const struct resolution *resolution, const Node *node)
{
	if (!node || resolution->too_deep)
		return TYPE_OTHER;
	switch (nodeTag(node)) {
	case T_A_Const:
		return constant_category((const A_Const *)node);
	case T_ColumnRef:
		return column_category(resolution, (const ColumnRef *)node);
	case T_TypeCast:
		return type_name_category(((const TypeCast *)node)->typeName);
	case T_FuncCall:
		return call_category(resolution, (const FuncCall *)node);
	case T_A_Expr:
		return operator_category(resolution, (const A_Expr *)node);
	case T_CaseExpr:
		return case_category(resolution, (const CaseExpr *)node);
	case T_CoalesceExpr:
		return common_category(resolution, ((const CoalesceExpr *)node)->args);
	case T_MinMaxExpr:
		return common_category(resolution, ((const MinMaxExpr *)node)->args);
	case T_CollateClause:
		return TYPE_TEXT;
	case T_SubLink:
		return sublink_category(resolution, (const SubLink *)node);
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
		return TYPE_BOOLEAN;
	default:
		return TYPE_OTHER;
	}
}
