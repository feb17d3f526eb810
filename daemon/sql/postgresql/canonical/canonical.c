#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/postgresql/canonical/canonical.h"

#include "sql/lex/scan_text.h"
#include "sql/postgresql/canonical/internal.h"
#include "sql/postgresql/canonical/tables.h"

#include <limits.h>

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct texts *texts)
{
	texts_sort(texts);
	analysis->clauses[clause] = (struct sql_items){ texts->items, texts->count };
}

static void set_clauses(struct canon *canon, struct canon_select *select, struct sql_analysis *analysis)
{
	struct texts targets = { 0 };
	texts_add_all(canon, &targets, &select->targets);
	if (select->distinct)
		texts_add(canon->arena, &targets, CONCAT(canon, STR("DISTINCT"), select->distinct_on));
	texts_add_all(canon, &select->where, &select->having);
	set_clause(analysis, SQL_CLAUSE_SELECT, &targets);
	set_clause(analysis, SQL_CLAUSE_WHERE, &select->where);
	set_clause(analysis, SQL_CLAUSE_FROM, &select->tables);
	set_clause(analysis, SQL_CLAUSE_GROUP, &select->group);
	set_clause(analysis, SQL_CLAUSE_ORDER, &select->order);
	set_clause(analysis, SQL_CLAUSE_JOIN, &select->joins);
}

/* By number or by name alone, where there is no canonical form. */
static int plain_column(struct canon *canon, const SelectStmt *select, const Node *key)
{
	size_t index;
	const SelectStmt *first = select;
	if (canon_ordinal(key, &index))
		return (int)index;
	while (first->op != SETOP_NONE)
		first = first->larg;
	const char *wanted = node_column_name(key);
	const ListCell *cell;
	foreach(cell, first->targetList)
	{
		const ResTarget *target = lfirst(cell);
		if (node_is_star(target->val) || !wanted || !canon_work(canon, 1))
			return -1;
		const char *name = target->name ? target->name
				   : IsA(target->val, ColumnRef)
					   ? names_last(((const ColumnRef *)target->val)->fields)
					   : NULL;
		if (name && strcmp(name, wanted) == 0)
			return foreach_current_index(cell);
	}
	return -1;
}

static void set_order(struct canon *canon, const SelectStmt *select, const int *columns,
		      struct sql_analysis *analysis)
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
		key->column = columns ? columns[i] : plain_column(canon, select, sort->node);
	}
}

/* FNV-1a, 64 bits: it names families in metrics and guards nothing. */
static str_t short_digest(struct arena *arena, str_t text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char hex[CANONICAL_SHAPE_LEN];
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < sizeof hex; i++, hash <<= 4)
		hex[i] = "0123456789abcdef"[hash >> 60];
	return arena_text(arena, hex, sizeof hex);
}

static str_t text_shape(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	return short_digest(arena, scan_text_masked(sql, dialect, arena));
}

static struct canon canon_begin(const struct parsed_statement *statement, const struct resolution *resolution,
				const struct sql_request *request, struct arena *arena, bool masked)
{
	return (struct canon){ .arena = arena,
			       .resolution = resolution,
			       .request = request,
			       .statement = statement->statement,
			       .lowest_scope = UINT_MAX,
			       .masked = masked };
}

/* The same again without literals: how they are sorted does not show. */
static str_t shape_of(const struct parsed_statement *statement, const struct resolution *resolution,
		      const struct sql_request *request, struct arena *arena)
{
	struct canon canon = canon_begin(statement, resolution, request, arena, true);
	struct canon_select select = { 0 };
	canon_select(&canon, (const SelectStmt *)statement->statement, CANON_ALL, &select);
	return canon.failed ? text_shape(statement->text, request->dialect, arena)
			    : short_digest(arena, select.text);
}

void canonical_distrust(struct arena *arena, enum sql_dialect dialect, struct sql_analysis *analysis)
{
	if (str_present(analysis->canonical))
		analysis->canonical =
			arena_printf(arena, "text: %s", scan_text(analysis->text, dialect, arena).ptr);
}

void canonical_build(const struct parsed_statement *statement, const struct resolution *resolution,
		     const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis)
{
	if (!statement->statement)
		return;
	analysis->tables_known = canonical_tables(statement->statement, request, arena, &analysis->tables,
						  &analysis->tables_count);
	struct canon canon = canon_begin(statement, resolution, request, arena, false);
	struct canon_select select = { 0 };
	bool is_select = IsA(statement->statement, SelectStmt);
	if (is_select)
		canon_select(&canon, (const SelectStmt *)statement->statement, CANON_ALL, &select);
	bool canonical = is_select && !canon.failed;
	if (canonical) {
		analysis->canonical = select.text;
		analysis->shape = shape_of(statement, resolution, request, arena);
		set_clauses(&canon, &select, analysis);
	} else {
		analysis->canonical = arena_printf(arena, "text: %s",
						   scan_text(statement->text, request->dialect, arena).ptr);
		analysis->shape = text_shape(statement->text, request->dialect, arena);
	}
	if (is_select)
		set_order(&canon, (const SelectStmt *)statement->statement,
			  canonical ? select.order_columns : NULL, analysis);
}
