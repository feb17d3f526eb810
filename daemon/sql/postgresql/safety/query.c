#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "common/hash.h"
#include "sql/lex/scan.h"
#include "sql/postgresql/safety/paths.h"

#include <math.h>

/* Relations */

static void check_foreign(struct walk *walk, const struct catalog_relation *relation, int location)
{
	const struct sql_policy *policy = walk->request->policy;
	const char *whose = relation->kind == 'f' ? "foreign table" : "a foreign table whose rows belong to";
	if (relation->foreign >= FOREIGN_FILE)
		WALK_VIOLATION(walk, VIOLATION_FILE_ACCESS, location, "%s " STR_FMT " %s", whose,
			       STR_ARG(relation->name),
			       relation->foreign == FOREIGN_PROGRAM ? "runs a program on the server"
								    : "reads a file of the server");
	else if (policy && policy->refuse_foreign_tables)
		WALK_VIOLATION(walk, VIOLATION_NETWORK_ACCESS, location,
			       "%s " STR_FMT " reads another system", whose, STR_ARG(relation->name));
	else if (relation->foreign == FOREIGN_UNKNOWN)
		violations_doubt(walk->list,
				 "where %s " STR_FMT " reads is not known: the catalog lacks its server",
				 whose, STR_ARG(relation->name));
}

/* `only`: without the rows of its children. */
static void check_relation(struct walk *walk, const struct catalog_relation *relation, str_t schema,
			   str_t name, bool only, int location)
{
	bool own = relation && !relation->is_system;
	bool system = relation ? relation->is_system : pattern_system_relation(schema, name);
	if (system)
		walk->reads.system_relations++;
	else
		walk->reads.user_relations++;
	if (!own && safety_relation_is_secret(schema, name))
		WALK_VIOLATION(walk, VIOLATION_SYSTEM_CATALOG, location, STR_FMT, STR_ARG(name));
	if (own && relation->volatility == 'v')
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, location,
			       "policy of " STR_FMT " that may have side effects", STR_ARG(name));
	if (own && relation->foreign != FOREIGN_NONE && (!only || relation->kind == 'f'))
		check_foreign(walk, relation, location);
	if (own && relation->volatility == VOLATILITY_UNKNOWN)
		safety_doubt_name(walk, "a policy of", (struct qualified_name){ schema, name });
	if (own && relation->kind != 'm' && relation->is_view && str_present(relation->definition))
		safety_check_view(walk, relation, location);
}

void walk_range(struct walk *walk, const RangeVar *range)
{
	const struct range_item *item = resolution_item(walk->resolution, range);
	str_t schema = str_from(range->schemaname);
	str_t name = str_from(range->relname);
	uint64_t hash = walk->ctes ? hash_seeded(range->relname, strlen(range->relname)) : 0;
	for (const struct cte_size *cte = range->schemaname ? NULL : walk->ctes; cte; cte = cte->outer)
		if (cte->name_hash == hash && strcmp(cte->name, range->relname) == 0) {
			safety_multiply_rows(walk, cte->rows, range->location);
			return;
		}
	if (item && item->kind == RANGE_CTE)
		return;
	const struct catalog_relation *relation =
		item && item->relation ? item->relation
				       : catalog_relation_named(walk->request->catalog, schema, name);
	bool may_be_there = walk->request->catalog && catalog_may_lack_relation(walk->request->catalog, name);
	if (!relation && (walk->in_view || may_be_there) && !pattern_system_relation(schema, name))
		safety_doubt_name(walk, "relation", (struct qualified_name){ schema, name });
	check_relation(walk, relation, schema, name, !range->inh, range->location);
}

void walk_range_function(struct walk *walk, const RangeFunction *range)
{
	walk_list(walk, range->functions);
	walk_list(walk, range->coldeflist);
}

void walk_sample(struct walk *walk, const RangeTableSample *sample)
{
	struct qualified_name method = names_qualified(sample->method);
	bool builtin = !str_present(method.schema) || str_is(method.schema, "pg_catalog");
	bool known = builtin && STR_IS_ANY(method.name, "system", "bernoulli", "system_rows", "system_time");
	if (!known && walk->known.complete) /* no catalog has them, and nobody else tells what it is */
		WALK_VIOLATION(walk, VIOLATION_UNANALYSABLE, sample->location, "sampling method " STR_FMT,
			       STR_ARG(method.name));
	else if (!known)
		violations_doubt(walk->list, "sampling method " STR_FMT " is not known: " STR_FMT,
				 STR_ARG(method.name), STR_ARG(walk->known.gap));
	walk_node(walk, sample->relation);
	walk_list(walk, sample->args);
	walk_node(walk, sample->repeatable);
}

void walk_table_function(struct walk *walk, const RangeTableFunc *range)
{
	ListCell *cell;
	path_check(walk, range->rowexpr, range->docexpr, false, range->location);
	foreach(cell, range->columns)
	{
		const RangeTableFuncCol *column = lfirst(cell);
		path_check(walk, column->colexpr, range->docexpr, true, column->location);
	}
	walk_node(walk, range->docexpr);
	walk_node(walk, range->rowexpr);
	walk_list(walk, range->namespaces);
	walk_list(walk, range->columns);
}

static void walk_filter(struct walk *walk, const Node *condition)
{
	bool outer = walk->filters;
	walk->filters = true;
	walk_node(walk, condition);
	walk->filters = outer;
}

void walk_join(struct walk *walk, const JoinExpr *join)
{
	walk_node(walk, join->larg);
	walk_node(walk, join->rarg);
	walk_filter(walk, join->quals);
	if (join->usingClause || join->isNatural)
		safety_check_operators(walk, join, (struct qualified_name){ STR_NONE, STR("=") }, NULL, NULL,
				       walk->rows_location);
}

/* Queries */

static bool modifies_data(const Node *query)
{
	return IsA(query, InsertStmt) || IsA(query, UpdateStmt) || IsA(query, DeleteStmt) ||
	       IsA(query, MergeStmt);
}

static const char *verb_of(const Node *query)
{
	return IsA(query, InsertStmt)	? "INSERT"
	       : IsA(query, UpdateStmt) ? "UPDATE"
	       : IsA(query, DeleteStmt) ? "DELETE"
					: "MERGE";
}

static void walk_cte_query(struct walk *walk, const CommonTableExpr *cte)
{
	if (modifies_data(cte->ctequery)) {
		WALK_VIOLATION(walk, VIOLATION_DATA_MODIFYING_CTE, cte->location, "%s in the WITH query %s",
			       verb_of(cte->ctequery), cte->ctename);
		safety_refuse_statement(walk, cte->ctequery);
	} else {
		walk_node(walk, cte->ctequery);
	}
	if (cte->cycle_clause) {
		walk_node(walk, cte->cycle_clause->cycle_mark_value);
		walk_node(walk, cte->cycle_clause->cycle_mark_default);
	}
}

static void walk_cte(struct walk *walk, const CommonTableExpr *cte, bool recursive, const SelectStmt *reader)
{
	if (recursive && !walk->in_view && bomb_recursion_read(cte, reader, walk_const_eval(walk)))
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, cte->location,
			       "recursion of %s without a bound", cte->ctename);
	double outer_rows = walk->rows;
	walk->rows = 1;
	struct cte_size *size = ARENA_NEW(walk->list->arena, struct cte_size);
	*size = (struct cte_size){ cte->ctename, hash_seeded(cte->ctename, strlen(cte->ctename)), 1,
				   walk->ctes };
	if (recursive)
		walk->ctes = size;
	double outer_bytes = walk->bytes;
	double levels = recursive ? bomb_recursion_rows(cte, walk_const_eval(walk)) : 1;
	walk_cte_query(walk, cte);
	size->rows = fmax(walk->rows, levels);
	if (walk->bytes < BOMB_QUERY_BYTES &&
	    outer_bytes + (walk->bytes - outer_bytes) * levels >= BOMB_QUERY_BYTES)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, cte->location,
			       "%.0f bytes in each of %.0f rows of %s", walk->bytes - outer_bytes, levels,
			       cte->ctename);
	walk->ctes = size;
	walk->rows = outer_rows;
}

void walk_with(struct walk *walk, const WithClause *with, const SelectStmt *reader)
{
	ListCell *cell;
	foreach(cell, with ? with->ctes : NULL) walk_cte(walk, lfirst(cell), with->recursive, reader);
}

static void check_locking(struct walk *walk, const SelectStmt *select)
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
			WALK_VIOLATION(walk, VIOLATION_ROW_LOCKING, (int64_t)token.offset,
				       "the query locks rows");
			clauses--;
			walk->locking_offset = next.offset;
		}
		token = next;
	}
	if (clauses > 0) /* never where the scan is right; but a lock must not be missed */
		WALK_VIOLATION(walk, VIOLATION_ROW_LOCKING, 0, "the query locks rows");
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
	if (!walk->in_view && pattern_exfiltration(before, middle, walk->reads))
		WALK_VIOLATION(walk, VIOLATION_INJECTION_PATTERN,
			       pattern_set_operation_offset(walk->text, select),
			       "a set operation joins the system catalog to tables");
	walk->rows = outer_rows * (left_rows + walk->rows);
	if (!select->all || select->op != SETOP_UNION) {
		safety_check_compared_outputs(walk, select->larg);
		safety_check_compared_outputs(walk, select->rarg);
	}
}

/* Relations of the system that nothing joins: heavy queries out of what every server has. */
static double loose_relations(const struct walk *walk, const Node *from)
{
	if (from && IsA(from, RangeVar)) {
		const RangeVar *range = (const RangeVar *)from;
		return pattern_system_relation(str_from(range->schemaname), str_from(range->relname))
			       ? BOMB_CATALOG_ROWS
			       : 1;
	}
	if (!from || !IsA(from, JoinExpr))
		return 1;
	const JoinExpr *join = (const JoinExpr *)from;
	double value;
	bool loose = !join->usingClause && !join->isNatural &&
		     (!join->quals || IsA(join->quals, A_Const) ||
		      const_eval_number(join->quals, walk_const_eval(walk), &value));
	double left = loose_relations(walk, join->larg);
	double right = loose_relations(walk, join->rarg);
	return loose ? left * right : fmax(left, right);
}

static void check_loose_relations(struct walk *walk, const SelectStmt *select)
{
	if (select->whereClause && !IsA(select->whereClause, A_Const))
		return;
	double rows = 1;
	ListCell *cell;
	foreach(cell, select->fromClause) rows *= loose_relations(walk, lfirst(cell));
	if (rows > 1 && rows * walk->rows >= BOMB_QUERY_ROWS)
		safety_multiply_rows(walk, rows, walk->rows_location);
}

/* What is selected, where no call or operator of it was too large by itself. */
static void check_outputs(struct walk *walk, const SelectStmt *select)
{
	ListCell *cell;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst(cell);
		double bytes = target->val ? const_eval_bytes(target->val, walk_const_eval(walk)) : 1;
		if (bytes >= BOMB_SMALL_BYTES)
			safety_add_bytes(walk, STR("a column"), bytes, target->location);
	}
}

static void walk_select_body(struct walk *walk, const SelectStmt *select)
{
	double outer_rows = walk->rows;
	walk->rows = fmax(1, list_length(select->valuesLists));
	walk_list(walk, select->fromClause);
	check_loose_relations(walk, select);
	walk_list(walk, select->valuesLists);
	if (list_length(select->distinctClause) > 0 && linitial(select->distinctClause))
		walk_list(walk, select->distinctClause);
	bool outer_filters = walk->filters;
	walk->filters = false;
	walk_list(walk, select->targetList);
	walk->filters = outer_filters;
	check_outputs(walk, select);
	walk_filter(walk, select->whereClause);
	walk_list(walk, select->groupClause);
	walk_filter(walk, select->havingClause);
	walk_list(walk, select->windowClause);
	safety_check_compared_list(walk, select, select->groupClause);
	if (select->distinctClause && !linitial(select->distinctClause))
		safety_check_compared_outputs(walk, select);
	else
		safety_check_compared_list(walk, select, select->distinctClause);
	safety_multiply_rows(walk, outer_rows, walk->rows_location);
}

void walk_select(struct walk *walk, const SelectStmt *select)
{
	struct cte_size *outer_ctes = walk->ctes;
	walk_with(walk, select->withClause, select);
	if (select->intoClause)
		WALK_VIOLATION(walk, VIOLATION_SELECT_INTO, select->intoClause->rel->location, "%s",
			       select->intoClause->rel->relname);
	if (select->op != SETOP_NONE)
		walk_set_operation(walk, select);
	else
		walk_select_body(walk, select);
	walk_list(walk, select->sortClause);
	safety_check_compared_list(walk, select, select->sortClause);
	walk_node(walk, select->limitOffset);
	walk_node(walk, select->limitCount);
	if (select->lockingClause)
		check_locking(walk, select);
	walk->ctes = outer_ctes;
}
