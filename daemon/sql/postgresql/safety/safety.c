#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/findings/unparsed.h"
#include "sql/lex/scan.h"
#include "sql/postgresql/safety/growth.h"
#include "sql/postgresql/safety/safety.h"

#include <strings.h>

#define MAX_DEPTH 10000 /* of nodes; the gate lets about half of it pass */

void walk_list(struct walk *walk, const List *list)
{
	ListCell *cell;
	foreach(cell, list) walk_node(walk, lfirst(cell));
}

static bool walk_child(const Node *child, void *context)
{
	walk_node(context, child);
	return true;
}

static void walk_children(struct walk *walk, const void *node)
{
	(void)node_children(node, walk_child, walk);
}

static void walk_window(struct walk *walk, const WindowDef *window)
{
	walk_children(walk, window);
	safety_check_compared_list(walk, NULL, window->partitionClause);
	safety_check_compared_list(walk, NULL, window->orderClause);
}

/* Expressions */

static void walk_bool(struct walk *walk, const BoolExpr *expr)
{
	int64_t offset = pattern_tautology(walk->text, expr, walk->filters);
	if (offset >= 0 && !walk->in_view)
		WALK_VIOLATION(walk, VIOLATION_INJECTION_PATTERN, offset, "a condition that is always true");
	walk_list(walk, expr->args);
}

static void walk_sublink(struct walk *walk, const SubLink *link)
{
	struct qualified_name name = names_qualified(link->operName);
	if (link->subLinkType == ANY_SUBLINK && !link->operName)
		name.name = STR("="); /* IN */
	if (str_present(name.name))
		safety_check_operators(walk, link, name, NULL, NULL, link->location);
	walk_children(walk, link);
}

static void walk_case(struct walk *walk, const CaseExpr *expr)
{
	if (expr->arg)
		safety_check_operators(walk, expr, (struct qualified_name){ STR_NONE, STR("=") }, NULL, NULL,
				       expr->location);
	walk_children(walk, expr);
}

static void walk_table_column(struct walk *walk, const RangeTableFuncCol *column)
{
	walk_type(walk, column->typeName);
	walk_node(walk, column->colexpr);
	walk_node(walk, column->coldefexpr);
}

static void walk_value_function(struct walk *walk, const SQLValueFunction *function)
{
	switch (function->op) {
	case SVFOP_CURRENT_ROLE:
	case SVFOP_CURRENT_USER:
	case SVFOP_USER:
	case SVFOP_SESSION_USER:
	case SVFOP_CURRENT_CATALOG:
		walk->reads.probes++;
		break;
	default:
		break;
	}
}

static void walk_cast(struct walk *walk, const TypeCast *cast)
{
	walk_node(walk, cast->arg);
	walk_type(walk, cast->typeName);
}

static void walk_serialize(struct walk *walk, const XmlSerialize *serialize)
{
	walk_node(walk, serialize->expr);
	walk_type(walk, serialize->typeName);
}

static void walk_definition(struct walk *walk, const ColumnDef *definition)
{
	walk_type(walk, definition->typeName);
}

static void walk_target(struct walk *walk, const ResTarget *target)
{
	walk_node(walk, target->val);
	walk_list(walk, target->indirection);
}

static void walk_assignment(struct walk *walk, const MultiAssignRef *assignment)
{
	walk_node(walk, assignment->source);
}

static void walk_sort(struct walk *walk, const SortBy *sort)
{
	walk_node(walk, sort->node);
	if (sort->useOp)
		safety_check_operators(walk, sort, names_qualified(sort->useOp), sort->node, sort->node,
				       sort->location);
}

static void walk_extreme(struct walk *walk, const MinMaxExpr *expr)
{
	walk_list(walk, expr->args);
	safety_check_compared_list(walk, NULL, expr->args);
}

/* Statements that are no queries */

static void refuse_copy(struct walk *walk, const CopyStmt *copy)
{
	if (copy->filename)
		WALK_VIOLATION(walk, VIOLATION_FILE_ACCESS, 0, "COPY %s on the server",
			       copy->is_program ? "runs a program"
			       : copy->is_from	? "reads a file"
						: "writes a file");
	walk_node(walk, copy->query);
}

void safety_refuse_statement(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_InsertStmt: {
		const InsertStmt *insert = (const InsertStmt *)node;
		walk_with(walk, insert->withClause, NULL);
		walk_node(walk, insert->selectStmt);
		walk_list(walk, insert->returningList);
		break;
	}
	case T_UpdateStmt: {
		const UpdateStmt *update = (const UpdateStmt *)node;
		walk_with(walk, update->withClause, NULL);
		walk_list(walk, update->targetList);
		walk_list(walk, update->fromClause);
		walk_node(walk, update->whereClause);
		walk_list(walk, update->returningList);
		break;
	}
	case T_DeleteStmt: {
		const DeleteStmt *delete = (const DeleteStmt *)node;
		walk_with(walk, delete->withClause, NULL);
		walk_list(walk, delete->usingClause);
		walk_node(walk, delete->whereClause);
		walk_list(walk, delete->returningList);
		break;
	}
	case T_CreateTableAsStmt:
		walk_node(walk, ((const CreateTableAsStmt *)node)->query);
		break;
	case T_DeclareCursorStmt:
		walk_node(walk, ((const DeclareCursorStmt *)node)->query);
		break;
	case T_PrepareStmt:
		walk_node(walk, ((const PrepareStmt *)node)->query);
		break;
	case T_CopyStmt:
		refuse_copy(walk, (const CopyStmt *)node);
		break;
	default:
		break;
	}
}

static bool option_is_off(const DefElem *option)
{
	if (!option->arg)
		return false;
	if (IsA(option->arg, Integer))
		return ((const Integer *)option->arg)->ival == 0;
	if (IsA(option->arg, Boolean))
		return !((const Boolean *)option->arg)->boolval;
	return IsA(option->arg, String) && (strcasecmp(NODE_STRING(option->arg), "off") == 0 ||
					    strcasecmp(NODE_STRING(option->arg), "false") == 0);
}

static void walk_explain(struct walk *walk, const ExplainStmt *explain, int64_t offset)
{
	ListCell *cell;
	foreach(cell, explain->options)
	{
		const DefElem *option = lfirst(cell);
		if (strcasecmp(option->defname, "analyze") == 0 && !option_is_off(option))
			WALK_VIOLATION(walk, VIOLATION_NOT_A_READ,
				       option->location >= 0 ? option->location : offset,
				       "EXPLAIN ANALYZE runs the statement");
	}
	walk_statement(walk, explain->query, offset);
}

static void refuse_other(struct walk *walk, int64_t offset)
{
	str_t word = scan_name(walk->text, scan_next(walk->text, (size_t)offset, SQL_POSTGRESQL));
	WALK_VIOLATION(walk, VIOLATION_NOT_A_READ, offset, "%.*s is no query",
		       word.len < 20 ? (int)word.len : 20, word.ptr);
}

/* A whole statement: only queries, EXPLAIN and SHOW are reads. */
void walk_statement(struct walk *walk, const Node *node, int64_t offset)
{
	switch (node ? (int)nodeTag(node) : (int)T_Invalid) {
	case T_SelectStmt:
		walk_node(walk, node);
		return;
	case T_ExplainStmt:
		walk_explain(walk, (const ExplainStmt *)node, offset);
		return;
	case T_VariableShowStmt:
		return;
	default:
		refuse_other(walk, offset);
		if (node)
			safety_refuse_statement(walk, node);
		return;
	}
}

#define WALK(type, function)                                                                                 \
	case T_##type:                                                                                       \
		function(walk, (const type *)node);                                                          \
		return true

static bool walk_judged(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
		WALK(SelectStmt, walk_select);
		WALK(RangeVar, walk_range);
		WALK(RangeFunction, walk_range_function);
		WALK(RangeTableFunc, walk_table_function);
		WALK(RangeTableFuncCol, walk_table_column);
		WALK(RangeTableSample, walk_sample);
		WALK(JoinExpr, walk_join);
		WALK(FuncCall, walk_call);
		WALK(ColumnRef, walk_column);
		WALK(A_Indirection, walk_indirection);
		WALK(A_Expr, walk_operator);
		WALK(BoolExpr, walk_bool);
		WALK(SubLink, walk_sublink);
		WALK(CaseExpr, walk_case);
		WALK(MinMaxExpr, walk_extreme);
		WALK(SQLValueFunction, walk_value_function);
		WALK(SortBy, walk_sort);
		WALK(WindowDef, walk_window);
		WALK(ResTarget, walk_target);
		WALK(MultiAssignRef, walk_assignment);
		WALK(TypeCast, walk_cast);
		WALK(XmlSerialize, walk_serialize);
		WALK(TypeName, walk_type);
		WALK(ColumnDef, walk_definition);
	default:
		return false;
	}
}

/* Nodes with nothing to judge but what they hold. */
static bool walk_plain(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_A_Const:
	case T_A_Star:
	case T_ParamRef:
	case T_SetToDefault:
	case T_Integer:
	case T_Float:
	case T_Boolean:
	case T_String:
	case T_BitString:
	case T_Alias:
	case T_List:
	case T_A_ArrayExpr:
	case T_A_Indices:
	case T_BooleanTest:
	case T_CaseWhen:
	case T_CoalesceExpr:
	case T_CollateClause:
	case T_GroupingFunc:
	case T_GroupingSet:
	case T_NamedArgExpr:
	case T_NullTest:
	case T_RangeSubselect:
	case T_RowExpr:
	case T_XmlExpr:
		walk_children(walk, node);
		return true;
	default:
		return false;
	}
}

void walk_node(struct walk *walk, const Node *node)
{
	if (!node)
		return;
	if (walk->depth >= MAX_DEPTH) {
		WALK_VIOLATION(walk, VIOLATION_TOO_DEEP, 0, "nested too deeply");
		return;
	}
	walk->depth++;
	if (!walk_judged(walk, node) && !walk_plain(walk, node)) {
		WALK_VIOLATION(walk, VIOLATION_UNANALYSABLE, 0, "node %d cannot be judged",
			       (int)nodeTag(node));
		safety_refuse_statement(walk, node);
	}
	walk->depth--;
}

static int64_t statement_offset(str_t text, const RawStmt *raw)
{
	size_t start = raw->stmt_location > 0 ? (size_t)raw->stmt_location : 0;
	return (int64_t)scan_next(text, start, SQL_POSTGRESQL).offset;
}

static void walk_statements(struct walk *walk, const struct parsed_statement *parsed)
{
	ListCell *cell;
	foreach(cell, parsed->statements)
	{
		const RawStmt *raw = lfirst(cell);
		int64_t offset = statement_offset(walk->text, raw);
		if (foreach_current_index(cell) == 1)
			WALK_VIOLATION(walk, VIOLATION_MULTIPLE_STATEMENTS, offset, "%zu statements",
				       parsed->count);
		walk->depth = 0;
		walk->rows = 1;
		walk_statement(walk, raw->stmt, offset);
		growth_check(walk, raw->stmt, offset);
	}
}

void safety_check(const struct parsed_statement *statement, const struct resolution *resolution,
		  const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis)
{
	struct violations list = violations_begin(analysis, arena);
	struct checked_views views = { .count = 0 };
	unsigned steps = 0;
	struct const_eval_memory memory = { .used = false };
	struct walk walk = { .list = &list,
			     .request = request,
			     .known = known_names_of(request),
			     .resolution = resolution,
			     .volatiles = volatile_objects_of(request->catalog, arena),
			     .views = &views,
			     .steps = &steps,
			     .memory = &memory,
			     .text = statement->text,
			     .rows = 1 };
	if (statement->count == 0)
		unparsed_check(statement->text, SQL_POSTGRESQL, function_refused_by_name,
			       str_present(statement->error) ? statement->error : STR("no statement"), &list);
	if (resolution && resolution->too_deep)
		violations_add(&list, VIOLATION_TOO_DEEP, 0, "nested too deeply");
	walk_statements(&walk, statement);
	safety_check_suspected_calls(&walk);
	safety_check_conversions(&walk);
	pattern_check_comments(&list, statement->text);
	violations_end(&list, request, analysis);
}
