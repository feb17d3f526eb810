#include "sql/parse.h" // first: see pg_nodes.h

#include "sql/safety.h"

#include "sql/catalog_content.h"
#include "sql/resolve.h"
#include "sql/safety_bombs.h"
#include "sql/safety_functions.h"
#include "sql/safety_patterns.h"
#include "sql/scan.h"

#include <math.h>
#include <strings.h>

#define MAX_DEPTH      10000 /* of nodes; the gate lets about half of it pass */
#define MAX_VIEW_DEPTH 8     /* of views on views */
#define MAX_VIEWS      64    /* that are vetted for one statement */

/* Rows that a WITH query is estimated to have. */
struct cte_size {
	const char *name;
	double rows;
	struct cte_size *outer;
};

struct walk {
	struct violations list;
	const struct sql_request *request;
	const struct resolution *resolution; /* or NULL */
	str_t text;
	unsigned depth;
	double rows;	       /* of the SELECT under way, from constants alone */
	int rows_location;     /* of the last part that brought rows */
	struct cte_size *ctes; /* in scope, innermost first */
	size_t locking_offset; /* where the search for the next FOR UPDATE starts */
	size_t views_vetted;
	struct arm_reads reads; /* so far */
};

static void walk_node(struct walk *walk, const Node *node);
static void refuse_statement(struct walk *walk, const Node *node);

static void walk_list(struct walk *walk, const List *list)
{
	ListCell *cell;
	foreach(cell, list) walk_node(walk, lfirst(cell));
}

/* Schema and name out of a qualified name; a database's name in front of them is dropped. */
static struct function_name qualified_name(const List *names)
{
	struct function_name name = { STR_NONE, STR_NONE };
	ListCell *cell;
	foreach(cell, names)
	{
		const Node *part = lfirst(cell);
		name.schema = name.name;
		name.name = part && IsA(part, String) ? str_from(NODE_STRING(part)) : STR_NONE;
	}
	return name;
}

static void judge_function(struct walk *walk, struct function_name function, bool certain, int location)
{
	enum sql_violation_code code;
	if (str_present(function.name) && function_refused(function, certain, walk->request, &code))
		violations_add(&walk->list, code, location, STR_FMT "%s" STR_FMT, STR_ARG(function.schema),
			       str_present(function.schema) ? "." : "", STR_ARG(function.name));
}

static void judge_operator(struct walk *walk, const List *names, int location)
{
	struct function_name op = qualified_name(names);
	enum sql_violation_code code;
	if (str_present(op.name) && operator_refused(op, walk->request, &code))
		violations_add(&walk->list, code, location, "operator " STR_FMT "%s" STR_FMT,
			       STR_ARG(op.schema), str_present(op.schema) ? "." : "", STR_ARG(op.name));
}

/* Functions */

/* What joins, subqueries and set-returning calls multiply up to. */
static void multiply_rows(struct walk *walk, double rows, int location)
{
	bool below = walk->rows < BOMB_QUERY_ROWS && rows < BOMB_QUERY_ROWS;
	walk->rows *= rows;
	walk->rows_location = location;
	if (below && walk->rows >= BOMB_QUERY_ROWS)
		violations_add(&walk->list, VIOLATION_RESOURCE_BOMB, location, "%.0f rows by multiplication",
			       walk->rows);
}

static void judge_size(struct walk *walk, const FuncCall *call)
{
	struct call_size size = bomb_call_size(call);
	struct function_name name = qualified_name(call->funcname);
	if (size.rows >= BOMB_CALL_ROWS)
		violations_add(&walk->list, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " of %.0f rows",
			       STR_ARG(name.name), size.rows);
	else if (size.bytes >= BOMB_CALL_BYTES || size.bytes * walk->rows >= BOMB_QUERY_BYTES)
		violations_add(&walk->list, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " of %.0f bytes",
			       STR_ARG(name.name), size.bytes);
	if (size.rows > 1 && size.rows < BOMB_CALL_ROWS)
		multiply_rows(walk, size.rows, call->location);
}

static void walk_call(struct walk *walk, const FuncCall *call)
{
	struct function_name name = qualified_name(call->funcname);
	judge_function(walk, name, true, call->location);
	if (pattern_probe_function(name.name))
		walk->reads.probes++;
	walk_list(walk, call->args);
	walk_list(walk, call->agg_order);
	walk_node(walk, call->agg_filter);
	walk_node(walk, (const Node *)call->over);
	judge_size(walk, call);
}

/* `a.f` is a call of f where a has no column f. The resolver knows; without it, names that are refused by the
 * text alone are refused here too. */
static void walk_column(struct walk *walk, const ColumnRef *column)
{
	const struct resolved_column *resolved =
		walk->resolution ? resolution_column(walk->resolution, column) : NULL;
	if (resolved && resolved->kind != COLUMN_UNSURE && resolved->kind != COLUMN_SUSPECTED_CALL &&
	    resolved->kind != COLUMN_FIELD)
		return;
	if (list_length(column->fields) < 2)
		return;
	struct function_name name = { STR_NONE, qualified_name(column->fields).name };
	judge_function(walk, name, false, column->location);
}

/* Where `(expression).field` starts, as far as its first nodes tell. */
static int location_of(const Node *node)
{
	switch (node ? (int)nodeTag(node) : (int)T_Invalid) {
	case T_ColumnRef:
		return ((const ColumnRef *)node)->location;
	case T_FuncCall:
		return ((const FuncCall *)node)->location;
	case T_TypeCast:
		return ((const TypeCast *)node)->location;
	case T_A_Const:
		return ((const A_Const *)node)->location;
	case T_SubLink:
		return ((const SubLink *)node)->location;
	default:
		return 0;
	}
}

static void walk_indirection(struct walk *walk, const A_Indirection *node)
{
	walk_node(walk, node->arg);
	ListCell *cell;
	foreach(cell, node->indirection)
	{
		const Node *part = lfirst(cell);
		if (part && IsA(part, String)) {
			struct function_name name = { STR_NONE, str_from(NODE_STRING(part)) };
			judge_function(walk, name, false, location_of(node->arg));
		} else {
			walk_node(walk, part);
		}
	}
}

static void judge_suspected_calls(struct walk *walk)
{
	const struct resolution *resolution = walk->resolution;
	for (size_t i = 0; resolution && i < resolution->suspected_calls_count; i++) {
		const struct suspected_call *call = &resolution->suspected_calls[i];
		judge_function(walk, (struct function_name){ STR_NONE, call->name }, false, call->location);
	}
}

static void walk_window(struct walk *walk, const WindowDef *window)
{
	walk_list(walk, window->partitionClause);
	walk_list(walk, window->orderClause);
	walk_node(walk, window->startOffset);
	walk_node(walk, window->endOffset);
}

/* Relations */

static void vet_view(struct walk *walk, str_t definition, int location, unsigned depth);

static void judge_relation(struct walk *walk, const struct catalog_relation *relation, str_t schema,
			   str_t name, int location, unsigned depth)
{
	bool own = relation && !relation->is_system;
	bool system = relation ? relation->is_system : pattern_system_relation(schema, name);
	if (system)
		walk->reads.system_relations++;
	else
		walk->reads.user_relations++;
	if (!own && relation_secret(schema, name))
		violations_add(&walk->list, VIOLATION_SYSTEM_CATALOG, location, STR_FMT, STR_ARG(name));
	if (own && relation->is_view && str_present(relation->definition))
		vet_view(walk, relation->definition, location, depth);
}

static const struct catalog_relation *find_relation(const struct walk *walk, str_t schema, str_t name)
{
	if (!walk->request->catalog)
		return NULL;
	return str_present(schema) ? catalog_relation(walk->request->catalog, schema, name)
				   : catalog_relation_on_path(walk->request->catalog, name);
}

static str_t identifier(struct walk *walk, str_t text, struct scan_token token)
{
	size_t quote = token.kind == SCAN_QUOTED ? 1 : 0;
	return arena_text(walk->list.arena, text.ptr + token.offset + quote, token.len - 2 * quote);
}

/* Names in the definition of a view, as the server prints it: calls that are refused, relations that are
 * secret or views themselves. */
static void vet_view(struct walk *walk, str_t definition, int location, unsigned depth)
{
	if (depth >= MAX_VIEW_DEPTH || walk->views_vetted++ >= MAX_VIEWS) {
		violations_add(&walk->list, VIOLATION_TOO_DEEP, location, "views on views");
		return;
	}
	struct function_name name = { STR_NONE, STR_NONE };
	struct scan_token token = scan_next(definition, 0, SQL_POSTGRESQL);
	while (token.kind != SCAN_END) {
		struct scan_token next = scan_next(definition, token.offset + token.len, SQL_POSTGRESQL);
		if (token.kind == SCAN_WORD || token.kind == SCAN_QUOTED) {
			name.name = identifier(walk, definition, token);
			if (scan_is_char(definition, next, '(')) {
				judge_function(walk, name, false, location);
			} else if (!scan_is_char(definition, next, '.')) {
				const struct catalog_relation *found =
					find_relation(walk, name.schema, name.name);
				if (found || relation_secret(name.schema, name.name))
					judge_relation(walk, found, name.schema, name.name, location,
						       depth + 1);
			}
			name.schema = scan_is_char(definition, next, '.') ? name.name : STR_NONE;
		} else if (!scan_is_char(definition, token, '.')) {
			name.schema = STR_NONE;
		}
		token = next;
	}
}

static void walk_range(struct walk *walk, const RangeVar *range)
{
	const struct range_item *item = walk->resolution ? resolution_item(walk->resolution, range) : NULL;
	str_t schema = str_from(range->schemaname);
	str_t name = str_from(range->relname);
	for (const struct cte_size *cte = range->schemaname ? NULL : walk->ctes; cte; cte = cte->outer)
		if (strcmp(cte->name, range->relname) == 0) {
			multiply_rows(walk, cte->rows, range->location);
			return;
		}
	if (item && item->kind == RANGE_CTE)
		return;
	const struct catalog_relation *relation = item ? item->relation : NULL;
	judge_relation(walk, relation ? relation : find_relation(walk, schema, name), schema, name,
		       range->location, 0);
}

static void walk_range_function(struct walk *walk, const RangeFunction *range)
{
	walk_list(walk, range->functions);
	walk_list(walk, range->coldeflist);
}

static void walk_sample(struct walk *walk, const RangeTableSample *sample)
{
	static const char *const methods[] = { "system", "bernoulli", "system_rows", "system_time" };
	struct function_name method = qualified_name(sample->method);
	bool known = false;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		known = known || str_is(method.name, methods[i]);
	if (!known)
		violations_add(&walk->list, VIOLATION_UNANALYSABLE, sample->location,
			       "sampling method " STR_FMT, STR_ARG(method.name));
	walk_node(walk, sample->relation);
	walk_list(walk, sample->args);
	walk_node(walk, sample->repeatable);
}

static void walk_table_function(struct walk *walk, const RangeTableFunc *range)
{
	walk_node(walk, range->docexpr);
	walk_node(walk, range->rowexpr);
	walk_list(walk, range->namespaces);
	walk_list(walk, range->columns);
}

static void walk_join(struct walk *walk, const JoinExpr *join)
{
	walk_node(walk, join->larg);
	walk_node(walk, join->rarg);
	walk_node(walk, join->quals);
}

/* Queries */

static bool modifies_data(const Node *query)
{
	return IsA(query, InsertStmt) || IsA(query, UpdateStmt) || IsA(query, DeleteStmt) ||
	       IsA(query, MergeStmt);
}

static void walk_cte_query(struct walk *walk, const CommonTableExpr *cte)
{
	if (modifies_data(cte->ctequery)) {
		violations_add(&walk->list, VIOLATION_DATA_MODIFYING_CTE, cte->location, "%s", cte->ctename);
		refuse_statement(walk, cte->ctequery);
	} else {
		walk_node(walk, cte->ctequery);
	}
	if (cte->cycle_clause) {
		walk_node(walk, cte->cycle_clause->cycle_mark_value);
		walk_node(walk, cte->cycle_clause->cycle_mark_default);
	}
}

static void walk_cte(struct walk *walk, const CommonTableExpr *cte, bool recursive)
{
	if (recursive && bomb_recursion(cte))
		violations_add(&walk->list, VIOLATION_RESOURCE_BOMB, cte->location,
			       "recursion of %s without a bound", cte->ctename);
	double outer_rows = walk->rows;
	walk->rows = 1;
	struct cte_size *size = ARENA_NEW(walk->list.arena, struct cte_size);
	*size = (struct cte_size){ cte->ctename, 1, walk->ctes };
	if (recursive)
		walk->ctes = size;
	walk_cte_query(walk, cte);
	size->rows = walk->rows;
	walk->ctes = size;
	walk->rows = outer_rows;
}

static void walk_with(struct walk *walk, const WithClause *with)
{
	ListCell *cell;
	foreach(cell, with ? with->ctes : NULL) walk_cte(walk, lfirst(cell), with->recursive);
}

static void judge_locking(struct walk *walk, const SelectStmt *select)
{
	static const char *const strengths[] = { "UPDATE", "SHARE", "NO", "KEY" };
	int clauses = list_length(select->lockingClause);
	struct scan_token token = scan_next(walk->text, walk->locking_offset, SQL_POSTGRESQL);
	while (clauses > 0 && token.kind != SCAN_END) {
		struct scan_token next = scan_next(walk->text, token.offset + token.len, SQL_POSTGRESQL);
		bool follows = false;
		for (size_t i = 0; i < sizeof strengths / sizeof strengths[0]; i++)
			follows = follows || scan_is_word(walk->text, next, strengths[i]);
		if (scan_is_word(walk->text, token, "FOR") && follows) {
			violations_add(&walk->list, VIOLATION_ROW_LOCKING, (int64_t)token.offset,
				       "the query locks rows");
			clauses--;
			walk->locking_offset = next.offset;
		}
		token = next;
	}
	if (clauses > 0) /* never where the scan is right; but a lock must not be missed */
		violations_add(&walk->list, VIOLATION_ROW_LOCKING, 0, "the query locks rows");
}

/* One arm of a set operation reads tables, the other catalogs or what identifies the server. */
static void walk_set_operation(struct walk *walk, const SelectStmt *select)
{
	double outer_rows = walk->rows;
	struct arm_reads before = walk->reads;
	walk->rows = 1;
	walk_node(walk, (const Node *)select->larg);
	double left_rows = walk->rows;
	struct arm_reads middle = walk->reads;
	walk->rows = 1;
	walk_node(walk, (const Node *)select->rarg);
	if (pattern_exfiltration(before, middle, walk->reads))
		violations_add(&walk->list, VIOLATION_INJECTION_PATTERN,
			       pattern_set_operation_offset(walk->text, select),
			       "a set operation joins the system catalog to tables");
	walk->rows = outer_rows * (left_rows + walk->rows);
}

static void walk_select_body(struct walk *walk, const SelectStmt *select)
{
	double outer_rows = walk->rows;
	walk->rows = fmax(1, list_length(select->valuesLists));
	walk_list(walk, select->fromClause);
	walk_list(walk, select->valuesLists);
	if (list_length(select->distinctClause) > 0 && linitial(select->distinctClause))
		walk_list(walk, select->distinctClause);
	walk_list(walk, select->targetList);
	walk_node(walk, select->whereClause);
	walk_list(walk, select->groupClause);
	walk_node(walk, select->havingClause);
	walk_list(walk, select->windowClause);
	multiply_rows(walk, outer_rows, walk->rows_location);
}

static void walk_select(struct walk *walk, const SelectStmt *select)
{
	struct cte_size *outer_ctes = walk->ctes;
	walk_with(walk, select->withClause);
	if (select->intoClause)
		violations_add(&walk->list, VIOLATION_SELECT_INTO, select->intoClause->rel->location, "%s",
			       select->intoClause->rel->relname);
	if (select->op != SETOP_NONE)
		walk_set_operation(walk, select);
	else
		walk_select_body(walk, select);
	walk_list(walk, select->sortClause);
	walk_node(walk, select->limitOffset);
	walk_node(walk, select->limitCount);
	if (select->lockingClause)
		judge_locking(walk, select);
	walk->ctes = outer_ctes;
}

/* Expressions */

static void walk_operator(struct walk *walk, const A_Expr *expr)
{
	bool named = expr->kind != AEXPR_BETWEEN && expr->kind != AEXPR_NOT_BETWEEN &&
		     expr->kind != AEXPR_BETWEEN_SYM && expr->kind != AEXPR_NOT_BETWEEN_SYM;
	if (named)
		judge_operator(walk, expr->name, expr->location);
	walk_node(walk, expr->lexpr);
	walk_node(walk, expr->rexpr);
}

static void walk_bool(struct walk *walk, const BoolExpr *expr)
{
	int64_t offset = pattern_tautology(walk->text, expr);
	if (offset >= 0)
		violations_add(&walk->list, VIOLATION_INJECTION_PATTERN, offset,
			       "a condition that is always true");
	walk_list(walk, expr->args);
}

static void walk_sublink(struct walk *walk, const SubLink *link)
{
	judge_operator(walk, link->operName, link->location);
	walk_node(walk, link->testexpr);
	walk_node(walk, link->subselect);
}

static void walk_case(struct walk *walk, const CaseExpr *expr)
{
	walk_node(walk, (const Node *)expr->arg);
	walk_list(walk, expr->args);
	walk_node(walk, (const Node *)expr->defresult);
}

static void walk_xml(struct walk *walk, const XmlExpr *expr)
{
	walk_list(walk, expr->named_args);
	walk_list(walk, expr->args);
}

static void walk_type(struct walk *walk, const TypeName *type)
{
	if (type)
		walk_list(walk, type->typmods);
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

static void walk_sort(struct walk *walk, const SortBy *sort)
{
	walk_node(walk, sort->node);
	judge_operator(walk, sort->useOp, sort->location);
}

static void walk_slice(struct walk *walk, const A_Indices *slice)
{
	walk_node(walk, slice->lidx);
	walk_node(walk, slice->uidx);
}

/* Statements that are no queries */

static void refuse_statement(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_InsertStmt: {
		const InsertStmt *insert = (const InsertStmt *)node;
		walk_with(walk, insert->withClause);
		walk_node(walk, insert->selectStmt);
		walk_list(walk, insert->returningList);
		break;
	}
	case T_UpdateStmt: {
		const UpdateStmt *update = (const UpdateStmt *)node;
		walk_with(walk, update->withClause);
		walk_list(walk, update->targetList);
		walk_list(walk, update->fromClause);
		walk_node(walk, update->whereClause);
		walk_list(walk, update->returningList);
		break;
	}
	case T_DeleteStmt: {
		const DeleteStmt *delete = (const DeleteStmt *)node;
		walk_with(walk, delete->withClause);
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
		walk_node(walk, ((const CopyStmt *)node)->query);
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

static void walk_top(struct walk *walk, const Node *node, int64_t offset);

static void walk_explain(struct walk *walk, const ExplainStmt *explain, int64_t offset)
{
	ListCell *cell;
	foreach(cell, explain->options)
	{
		const DefElem *option = lfirst(cell);
		if (strcasecmp(option->defname, "analyze") == 0 && !option_is_off(option))
			violations_add(&walk->list, VIOLATION_NOT_A_READ,
				       option->location >= 0 ? option->location : offset,
				       "EXPLAIN ANALYZE executes");
	}
	walk_top(walk, explain->query, offset);
}

/* A whole statement: only queries, EXPLAIN and SHOW are reads. */
static void walk_top(struct walk *walk, const Node *node, int64_t offset)
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
		violations_add(&walk->list, VIOLATION_NOT_A_READ, offset, "not a query");
		if (node)
			refuse_statement(walk, node);
		return;
	}
}

/* Nodes that hold one or two expressions and nothing to judge. */
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
		return true;
	case T_ResTarget:
		walk_node(walk, ((const ResTarget *)node)->val);
		walk_list(walk, ((const ResTarget *)node)->indirection);
		return true;
	case T_MultiAssignRef:
		walk_node(walk, ((const MultiAssignRef *)node)->source);
		return true;
	case T_CollateClause:
		walk_node(walk, ((const CollateClause *)node)->arg);
		return true;
	case T_NamedArgExpr:
		walk_node(walk, (const Node *)((const NamedArgExpr *)node)->arg);
		return true;
	case T_NullTest:
		walk_node(walk, (const Node *)((const NullTest *)node)->arg);
		return true;
	case T_BooleanTest:
		walk_node(walk, (const Node *)((const BooleanTest *)node)->arg);
		return true;
	case T_CaseWhen:
		walk_node(walk, (const Node *)((const CaseWhen *)node)->expr);
		walk_node(walk, (const Node *)((const CaseWhen *)node)->result);
		return true;
	case T_TypeCast:
		walk_node(walk, ((const TypeCast *)node)->arg);
		walk_type(walk, ((const TypeCast *)node)->typeName);
		return true;
	case T_XmlSerialize:
		walk_node(walk, ((const XmlSerialize *)node)->expr);
		walk_type(walk, ((const XmlSerialize *)node)->typeName);
		return true;
	case T_TypeName:
		walk_type(walk, (const TypeName *)node);
		return true;
	case T_ColumnDef:
		walk_type(walk, ((const ColumnDef *)node)->typeName);
		return true;
	case T_RangeSubselect:
		walk_node(walk, ((const RangeSubselect *)node)->subquery);
		return true;
	default:
		return false;
	}
}

/* Nodes that hold lists of expressions and nothing to judge. */
static bool walk_lists(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_List:
		walk_list(walk, (const List *)node);
		return true;
	case T_A_ArrayExpr:
		walk_list(walk, ((const A_ArrayExpr *)node)->elements);
		return true;
	case T_RowExpr:
		walk_list(walk, ((const RowExpr *)node)->args);
		return true;
	case T_CoalesceExpr:
		walk_list(walk, ((const CoalesceExpr *)node)->args);
		return true;
	case T_MinMaxExpr:
		walk_list(walk, ((const MinMaxExpr *)node)->args);
		return true;
	case T_GroupingFunc:
		walk_list(walk, ((const GroupingFunc *)node)->args);
		return true;
	case T_GroupingSet:
		walk_list(walk, ((const GroupingSet *)node)->content);
		return true;
	default:
		return false;
	}
}

#define WALK(tag, type, function)                                                                            \
	case T_##tag:                                                                                        \
		function(walk, (const type *)node);                                                          \
		return true

static bool walk_judged(struct walk *walk, const Node *node)
{
	switch ((int)nodeTag(node)) {
		WALK(SelectStmt, SelectStmt, walk_select);
		WALK(RangeVar, RangeVar, walk_range);
		WALK(RangeFunction, RangeFunction, walk_range_function);
		WALK(RangeTableFunc, RangeTableFunc, walk_table_function);
		WALK(RangeTableFuncCol, RangeTableFuncCol, walk_table_column);
		WALK(RangeTableSample, RangeTableSample, walk_sample);
		WALK(JoinExpr, JoinExpr, walk_join);
		WALK(FuncCall, FuncCall, walk_call);
		WALK(ColumnRef, ColumnRef, walk_column);
		WALK(A_Indirection, A_Indirection, walk_indirection);
		WALK(A_Indices, A_Indices, walk_slice);
		WALK(A_Expr, A_Expr, walk_operator);
		WALK(BoolExpr, BoolExpr, walk_bool);
		WALK(SubLink, SubLink, walk_sublink);
		WALK(CaseExpr, CaseExpr, walk_case);
		WALK(XmlExpr, XmlExpr, walk_xml);
		WALK(SQLValueFunction, SQLValueFunction, walk_value_function);
		WALK(SortBy, SortBy, walk_sort);
		WALK(WindowDef, WindowDef, walk_window);
		WALK(WithClause, WithClause, walk_with);
	default:
		return false;
	}
}

static void walk_node(struct walk *walk, const Node *node)
{
	if (!node)
		return;
	if (walk->depth >= MAX_DEPTH) {
		violations_add(&walk->list, VIOLATION_TOO_DEEP, 0, "nested too deeply");
		return;
	}
	walk->depth++;
	if (!walk_judged(walk, node) && !walk_plain(walk, node) && !walk_lists(walk, node)) {
		violations_add(&walk->list, VIOLATION_UNANALYSABLE, 0, "node %d cannot be judged",
			       (int)nodeTag(node));
		refuse_statement(walk, node);
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
			violations_add(&walk->list, VIOLATION_MULTIPLE_STATEMENTS, offset, "%zu statements",
				       parsed->count);
		walk->depth = 0;
		walk->rows = 1;
		walk_top(walk, raw->stmt, offset);
	}
}

void safety_check(const struct parsed_statement *statement, const struct resolution *resolution,
		  const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis)
{
	struct walk walk = { .list = violations_begin(analysis, arena),
			     .request = request,
			     .resolution = resolution,
			     .text = statement->text,
			     .rows = 1 };
	if (statement->count == 0)
		violations_add(
			&walk.list, VIOLATION_UNANALYSABLE, (int64_t)statement->error_offset, STR_FMT,
			STR_ARG(str_present(statement->error) ? statement->error : STR("no statement")));
	if (resolution && resolution->too_deep)
		violations_add(&walk.list, VIOLATION_TOO_DEEP, 0, "nested too deeply");
	walk_statements(&walk, statement);
	judge_suspected_calls(&walk);
	pattern_check_comments(&walk.list, statement->text);
	violations_end(&walk.list, request, analysis);
}
