#include "sql/postgresql/diagnose/internal.h" // first: see pg_nodes.h

#include "sql/postgresql/diagnose/inner_cuts.h"

#include "sql/lex/texts.h"

struct cut_search {
	const struct resolution *resolution;
	struct arena *arena;
	struct sql_analysis *analysis;
	size_t capacity;
	struct texts with_names;    /* of all WITH queries of the statement */
	const SelectStmt *top;	    /* its LIMIT is the statement's */
	const SelectStmt *existing; /* of the EXISTS that was met last: any row will do */
};

/* ---- what it reads ---- */

static bool gather_names(const Node *node, void *context)
{
	struct cut_search *search = context;
	if (IsA(node, CommonTableExpr))
		texts_add(search->arena, &search->with_names,
			  str_from(((const CommonTableExpr *)node)->ctename));
	return node_children(node, gather_names, search);
}

/* False: it may read a WITH query. */
static bool is_alone(const Node *node, void *context)
{
	struct cut_search *search = context;
	if (IsA(node, RangeVar) && !((const RangeVar *)node)->schemaname)
		for (size_t i = 0; i < search->with_names.count; i++)
			if (str_is(search->with_names.items[i], ((const RangeVar *)node)->relname))
				return false;
	return node_children(node, is_alone, search);
}

/* ---- what it takes ---- */

static bool counts(const Node *number)
{
	int value = 1;
	return number && !node_is_null(number) && !(node_integer(number, &value) && value == 0);
}

static bool takes_some(const SelectStmt *select)
{
	int rows = 1;
	bool none = select->limitCount && node_integer(select->limitCount, &rows) && rows == 0;
	return !none && !node_with_ties(select) &&
	       (counts(select->limitCount) || counts(select->limitOffset));
}

static bool has_one_row(const struct cut_search *search, const SelectStmt *select)
{
	return select->op == SETOP_NONE && !select->valuesLists && !select->groupClause &&
	       (!select->fromClause || resolution_is_aggregated(search->resolution, select));
}

static int place_of(const Node *number)
{
	return number && IsA(number, A_Const) ? ((const A_Const *)number)->location : -1;
}

/* −1: not known. */
static int place_of_cut(const SelectStmt *select)
{
	if (place_of(select->limitCount) >= 0)
		return place_of(select->limitCount);
	if (place_of(select->limitOffset) >= 0)
		return place_of(select->limitOffset);
	return select->targetList ? linitial_node(ResTarget, select->targetList)->location : -1;
}

static void add(struct cut_search *search, struct sql_inner_cut cut)
{
	struct sql_analysis *analysis = search->analysis;
	if (analysis->inner_cuts_count == SQL_MAX_INNER_CUTS)
		analysis->inner_cuts[SQL_MAX_INNER_CUTS - 1] = (struct sql_inner_cut){ .offset = -1 };
	else
		ARENA_PUSH(search->arena, analysis->inner_cuts, analysis->inner_cuts_count, search->capacity,
			   cut);
}

/* ---- DISTINCT ON ---- */

static bool is_key(const SelectStmt *select, const ResTarget *target, int position)
{
	const char *column = node_column_name(target->val);
	const ListCell *cell;
	foreach(cell, select->distinctClause)
	{
		int number;
		const char *name = node_column_name(lfirst(cell));
		if (node_integer(lfirst(cell), &number) ? number == position
							: name && column && strcmp(name, column) == 0)
			return true;
	}
	return false;
}

/* Whether rows of the same key may differ in what is returned, and nothing says which comes first. */
static bool takes_any_of_key(const SelectStmt *select)
{
	const ListCell *cell;
	bool distinct_on = select->distinctClause && linitial(select->distinctClause);
	if (!distinct_on || list_length(select->sortClause) > list_length(select->distinctClause))
		return false;
	foreach(cell, select->targetList)
	{
		if (!is_key(select, lfirst(cell), foreach_current_index(cell) + 1))
			return true;
	}
	return false;
}

/* ---- levels ---- */

static bool search_node(const Node *node, void *context)
{
	struct cut_search *search = context;
	const SubLink *link = IsA(node, SubLink) ? (const SubLink *)node : NULL;
	const SelectStmt *select = IsA(node, SelectStmt) ? (const SelectStmt *)node : NULL;
	if (link && link->subLinkType == EXISTS_SUBLINK)
		search->existing = (const SelectStmt *)link->subselect;
	if (select && select != search->existing) {
		if (takes_any_of_key(select))
			add(search, (struct sql_inner_cut){ .offset = -1, .distinct_on = true });
		if (select != search->top && takes_some(select) && !has_one_row(search, select))
			add(search, (struct sql_inner_cut){ .offset = place_of_cut(select),
							    .ordered = select->sortClause != NIL,
							    .alone = is_alone(node, search) });
	}
	return node_children(node, search_node, search);
}

void diagnose_inner_cuts(const struct parsed_statement *parsed, const struct resolution *resolution,
			 struct arena *arena, struct sql_analysis *analysis)
{
	struct cut_search search = { .resolution = resolution, .arena = arena, .analysis = analysis };
	if (!parsed->statement || !IsA(parsed->statement, SelectStmt) || resolution->too_deep)
		return;
	search.top = (const SelectStmt *)parsed->statement;
	(void)gather_names(parsed->statement, &search);
	(void)search_node(parsed->statement, &search);
}
