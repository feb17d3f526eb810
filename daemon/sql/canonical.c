#include "sql/parse.h" // first: see pg_nodes.h

#include "sql/canonical.h"

#include "sql/canonical_internal.h"
#include "sql/canonical_tables.h"

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct texts *texts)
{
	texts_sort(texts);
	analysis->clauses[clause] = (struct sql_items){ texts->items, texts->count };
}

static void add_all(struct canon *canon, struct texts *to, const struct texts *from)
{
	for (size_t i = 0; i < from->count; i++)
		texts_add(canon, to, from->items[i]);
}

static void set_clauses(struct canon *canon, struct canon_select *select, struct sql_analysis *analysis)
{
	struct texts targets = { 0 };
	add_all(canon, &targets, &select->targets);
	if (select->distinct)
		texts_add(canon, &targets, canon_printf(canon, "distinct%s", select->distinct_on.ptr));
	add_all(canon, &select->where, &select->having);
	set_clause(analysis, SQL_CLAUSE_SELECT, &targets);
	set_clause(analysis, SQL_CLAUSE_WHERE, &select->where);
	set_clause(analysis, SQL_CLAUSE_FROM, &select->tables);
	set_clause(analysis, SQL_CLAUSE_GROUP, &select->group);
	set_clause(analysis, SQL_CLAUSE_ORDER, &select->order);
	set_clause(analysis, SQL_CLAUSE_JOIN, &select->joins);
}

static void set_order(struct canon *canon, const SelectStmt *select, struct sql_analysis *analysis)
{
	size_t count = (size_t)list_length(select->sortClause);
	analysis->ordered = count > 0;
	const A_Const *limit = select->limitCount && IsA(select->limitCount, A_Const)
				       ? (const A_Const *)select->limitCount
				       : NULL;
	analysis->limited = select->limitCount && !(limit && limit->isnull);
	if (count == 0)
		return;
	analysis->order_keys = ARENA_ARRAY(canon->arena, struct sql_order_key, count);
	analysis->order_keys_count = count;
	for (size_t i = 0; i < count; i++) {
		const SortBy *sort = list_nth(select->sortClause, (int)i);
		struct sql_order_key *key = &analysis->order_keys[i];
		key->descending = sort->sortby_dir == SORTBY_DESC;
		key->nulls_first = canon_nulls_first(canon, sort);
		key->column = canon_sort_output(canon, select, sort->node);
	}
}

static struct canon canon_begin(const struct resolution *resolution, const struct sql_request *request,
				struct arena *arena)
{
	return (struct canon){ .arena = arena, .resolution = resolution, .request = request };
}

void canonical_build(const struct parsed_statement *statement, const struct resolution *resolution,
		     const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis)
{
	if (!statement->statement)
		return;
	analysis->tables = canonical_tables(statement->statement, request, arena, &analysis->tables_count);
	analysis->tables_known = true;
	struct canon canon = canon_begin(resolution, request, arena);
	struct canon_select select = { 0 };
	bool is_select = IsA(statement->statement, SelectStmt);
	if (is_select)
		canon_select(&canon, (const SelectStmt *)statement->statement, &select);
	if (!is_select || canon.failed) {
		analysis->canonical = arena_printf(arena, "text: %s",
						   canon_tokens(statement->text, SQL_POSTGRESQL, arena).ptr);
	} else {
		analysis->canonical = select.text;
		set_clauses(&canon, &select, analysis);
	}
	if (is_select) {
		struct canon again = canon_begin(resolution, request, arena);
		set_order(&again, (const SelectStmt *)statement->statement, analysis);
	}
}
