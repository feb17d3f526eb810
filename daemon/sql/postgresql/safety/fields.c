#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include <catalog/pg_type_d.h>

#define MAX_STEPS 512 /* of one search */

struct search {
	const struct walk *walk;
	str_t name;
	unsigned steps;
};

static bool lacks(struct search *search, const Node *node, bool element);

static bool is_constant_text(const Node *node)
{
	return IsA(node, A_Const) &&
	       (((const A_Const *)node)->isnull || nodeTag(&((const A_Const *)node)->val) == T_String);
}

/* Values of one type: what is sure of one is sure of all. Texts take the type of the others. */
static bool any_lacks(struct search *search, const List *values, bool element)
{
	bool only_texts = true;
	ListCell *cell;
	foreach(cell, values)
	{
		const Node *value = lfirst(cell);
		if (is_constant_text(value))
			continue;
		only_texts = false;
		if (lacks(search, value, element))
			return true;
	}
	return only_texts;
}

/* Types */

static bool is_any_value(type_id type)
{
	return type == ANYELEMENTOID || type == ANYNONARRAYOID || type == ANYCOMPATIBLEOID ||
	       type == ANYCOMPATIBLENONARRAYOID;
}

static bool is_any_array(type_id type)
{
	return type == ANYARRAYOID || type == ANYCOMPATIBLEARRAYOID;
}

static bool type_lacks(const struct walk *walk, type_id id, bool element)
{
	const struct catalog *catalog = walk->known.catalog;
	const struct catalog_type *type = catalog_type(catalog, catalog_type_base(catalog, id));
	if (!type || (element && is_any_array(id)))
		return false;
	if (element && type->is_subscriptable && type->subscript != type->id)
		return type_lacks(walk, type->subscript, false);
	return type->kind == 'p' ? id == VOIDOID || id == ANYENUMOID || id == ANYRANGEOID || is_any_array(id)
				 : type->kind != 'c' && type->kind != 'd';
}

static bool cast_lacks(const struct search *search, const TypeName *written, bool element)
{
	if (written->arrayBounds && !element)
		return true;
	const struct catalog_type *type = safety_type_written(search->walk, written);
	return type && type_lacks(search->walk, type->id, element && !written->arrayBounds);
}

/* Calls */

/* The result is of the type of an argument. */
static bool arguments_lack(struct search *search, const struct catalog_function *function, const List *args)
{
	ListCell *cell;
	foreach(cell, args)
	{
		unsigned at = (unsigned)foreach_current_index(cell);
		type_id declared = at < function->arguments ? function->argument_types[at] : TYPE_UNSURE;
		const Node *value = lfirst(cell);
		if (!is_any_value(declared) && !is_any_array(declared))
			continue;
		if (!is_constant_text(value) && lacks(search, value, is_any_array(declared)))
			return true;
	}
	return false;
}

/* Arrays are written where something else is declared: another overload is called. */
static bool takes_no_array(const struct walk *walk, const struct catalog_function *function, const List *args)
{
	ListCell *cell;
	foreach(cell, args)
	{
		unsigned at = (unsigned)foreach_current_index(cell);
		const Node *value = lfirst(cell);
		bool array = IsA(value, A_ArrayExpr) ||
			     (IsA(value, TypeCast) && ((const TypeCast *)value)->typeName->arrayBounds);
		const struct catalog_type *declared =
			array && at < function->arguments
				? catalog_type(walk->known.catalog, function->argument_types[at])
				: NULL;
		if (declared && declared->kind != 'p' && !declared->is_subscriptable)
			return true;
	}
	return false;
}

static bool result_lacks(struct search *search, const struct catalog_function *function, const List *args,
			 bool element)
{
	type_id result = function->result_type;
	if (is_any_value(result) || (element && is_any_array(result)))
		return arguments_lack(search, function, args);
	return type_lacks(search->walk, result, element);
}

/* `count` arguments, of which `args` are known. */
static bool call_lacks(struct search *search, struct qualified_name name, const List *args, size_t count,
		       bool element)
{
	const struct catalog *catalog = search->walk->known.catalog;
	size_t overloads_count;
	bool found = false;
	const struct catalog_function *const *overloads =
		catalog_functions(catalog, name.schema, name.name, &overloads_count);
	for (size_t i = 0; i < overloads_count; i++) {
		if (!catalog_function_accepts(overloads[i], count) ||
		    takes_no_array(search->walk, overloads[i], args))
			continue;
		found = true;
		if (!result_lacks(search, overloads[i], args, element))
			return false;
	}
	const struct catalog_type *type =
		!found && count == 1 ? catalog_type_named(catalog, name.schema, name.name) : NULL;
	return found || (type && type_lacks(search->walk, type->id, element));
}

/* Rows */

/* f1, f2, … of a row without a type; how many, only `*` in it knows. */
static bool row_lacks(const RowExpr *row, str_t name)
{
	uint64_t number = 0;
	bool star = false;
	ListCell *cell;
	foreach(cell, row->args)
	{
		star = star || node_is_star(lfirst(cell)) || node_is_all_fields(lfirst(cell));
	}
	if (name.len < 2 || name.len > 6 || name.ptr[0] != 'f' || name.ptr[1] == '0')
		return true;
	for (size_t i = 1; i < name.len; i++) {
		if (name.ptr[i] < '0' || name.ptr[i] > '9')
			return true;
		number = number * 10 + (uint64_t)(name.ptr[i] - '0');
	}
	return !star && number > (uint64_t)list_length(row->args);
}

static bool column_lacks(struct search *search, const ColumnRef *column, bool element)
{
	const struct resolved_column *resolved = resolution_column(search->walk->resolution, column);
	if (!resolved || !resolved->item)
		return false;
	if (resolved->kind == COLUMN_WHOLE_ROW || resolved->kind == COLUMN_STAR)
		return !element && !resolved->item->open &&
		       !range_columns_find(resolved->item->columns, resolved->item->columns_count,
					   search->name);
	return resolved->kind == COLUMN_OF_ITEM &&
	       lacks(search, resolved->item->columns[resolved->column].expression, element);
}

/* Expressions */

static bool sublink_lacks(struct search *search, const SubLink *link, bool element)
{
	if (link->subLinkType != EXPR_SUBLINK && (link->subLinkType != ARRAY_SUBLINK || !element))
		return true;
	const SelectStmt *select = (const SelectStmt *)link->subselect;
	while (select && IsA(select, SelectStmt) && select->op != SETOP_NONE)
		select = select->larg;
	if (!select || !IsA(select, SelectStmt) || list_length(select->targetList) != 1)
		return false;
	return lacks(search, ((const ResTarget *)linitial(select->targetList))->val,
		     element && link->subLinkType == EXPR_SUBLINK);
}

static bool operation_lacks(struct search *search, const A_Expr *expr, bool element)
{
	if (expr->kind == AEXPR_NULLIF)
		return lacks(search, expr->lexpr, element);
	if (!element || !str_is(names_qualified(expr->name).name, "||"))
		return true; /* no operator of the system gives a row */
	return lacks(search, expr->lexpr, true) || lacks(search, expr->rexpr, true);
}

/* An element of ARRAY[…] is also one of its parts, where those are arrays. */
static bool array_lacks(struct search *search, const A_ArrayExpr *array, bool element)
{
	return !element ||
	       (any_lacks(search, array->elements, true) && any_lacks(search, array->elements, false));
}

static bool case_lacks(struct search *search, const CaseExpr *expr, bool element)
{
	bool only_texts = !expr->defresult || is_constant_text((const Node *)expr->defresult);
	if (!only_texts && lacks(search, (const Node *)expr->defresult, element))
		return true;
	ListCell *cell;
	foreach(cell, expr->args)
	{
		const Node *result = (const Node *)((const CaseWhen *)lfirst(cell))->result;
		if (is_constant_text(result))
			continue;
		only_texts = false;
		if (lacks(search, result, element))
			return true;
	}
	return only_texts;
}

/* The value before the step of that index. */
static bool step_lacks(struct search *search, const A_Indirection *node, int step, bool element)
{
	while (step > 0 && IsA(list_nth(node->indirection, step - 1), A_Indices)) {
		element = true;
		step--;
	}
	if (step == 0)
		return lacks(search, node->arg, element);
	const Node *before = list_nth(node->indirection, step - 1);
	if (!IsA(before, String) || ++search->steps >= MAX_STEPS)
		return false;
	struct search field = { search->walk, str_from(NODE_STRING(before)), search->steps };
	bool called = step_lacks(&field, node, step - 1, false);
	search->steps = field.steps;
	return called && call_lacks(search, (struct qualified_name){ STR_NONE, field.name }, NIL, 1, element);
}

static bool lacks(struct search *search, const Node *node, bool element)
{
	if (!node || ++search->steps >= MAX_STEPS)
		return false;
	if (type_lacks(search->walk, resolution_type(search->walk->resolution, node), element))
		return true;
	switch ((int)nodeTag(node)) {
	case T_A_Const:
	case T_CollateClause:
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
	case T_GroupingFunc:
	case T_SQLValueFunction:
	case T_XmlExpr:
	case T_XmlSerialize:
		return true;
	case T_TypeCast:
		return cast_lacks(search, ((const TypeCast *)node)->typeName, element);
	case T_FuncCall:
		return call_lacks(search, names_qualified(((const FuncCall *)node)->funcname),
				  ((const FuncCall *)node)->args,
				  (size_t)list_length(((const FuncCall *)node)->args), element);
	case T_A_Expr:
		return operation_lacks(search, (const A_Expr *)node, element);
	case T_A_ArrayExpr:
		return array_lacks(search, (const A_ArrayExpr *)node, element);
	case T_A_Indirection:
		return step_lacks(search, (const A_Indirection *)node,
				  list_length(((const A_Indirection *)node)->indirection), element);
	case T_CaseExpr:
		return case_lacks(search, (const CaseExpr *)node, element);
	case T_CoalesceExpr:
		return any_lacks(search, ((const CoalesceExpr *)node)->args, element);
	case T_MinMaxExpr:
		return any_lacks(search, ((const MinMaxExpr *)node)->args, element);
	case T_SubLink:
		return sublink_lacks(search, (const SubLink *)node, element);
	case T_RowExpr:
		return !element && row_lacks((const RowExpr *)node, search->name);
	case T_ColumnRef:
		return column_lacks(search, (const ColumnRef *)node, element);
	default:
		return false;
	}
}

bool safety_surely_no_field(const struct walk *walk, const A_Indirection *node, int step)
{
	const Node *name = list_nth(node->indirection, step);
	struct search search = { .walk = walk, .name = str_from(NODE_STRING(name)) };
	return !walk->known.complete && step_lacks(&search, node, step, false);
}
