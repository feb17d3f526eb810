#include "sql/postgresql/resolve/internal.h"

/* Rows of what is computed from several cannot be locked. */
static const char *obstacle(const struct resolver *resolver, const SelectStmt *select)
{
	if (select->op != SETOP_NONE)
		return "UNION, INTERSECT or EXCEPT";
	if (select->distinctClause)
		return "DISTINCT";
	if (select->groupClause)
		return "GROUP BY";
	if (select->havingClause)
		return "HAVING";
	if (resolution_is_aggregated(resolver->resolution, select))
		return "aggregates";
	const struct outputs *outputs = resolution_outputs(resolver->resolution, select);
	return outputs ? outputs->computed : NULL;
}

static bool is_locked(const List *names, const Alias *alias)
{
	const ListCell *cell;
	foreach(cell, names)
	{
		if (alias && strcmp(lfirst_node(RangeVar, cell)->relname, alias->aliasname) == 0)
			return true;
	}
	return names == NIL;
}

static void lock_query(struct resolver *resolver, const SelectStmt *select, const List *names);

/* Locking goes down into the subqueries of FROM. */
static void lock_from(struct resolver *resolver, const Node *from, const List *names)
{
	if (IsA(from, JoinExpr)) {
		if (((const JoinExpr *)from)->alias)
			return;
		lock_from(resolver, ((const JoinExpr *)from)->larg, names);
		lock_from(resolver, ((const JoinExpr *)from)->rarg, names);
	} else if (IsA(from, RangeSubselect)) {
		const RangeSubselect *sub = (const RangeSubselect *)from;
		if (IsA(sub->subquery, SelectStmt) && is_locked(names, sub->alias))
			lock_query(resolver, (const SelectStmt *)sub->subquery, NIL);
	}
}

static void lock_query(struct resolver *resolver, const SelectStmt *select, const List *names)
{
	const ListCell *cell;
	if (!resolver_enter(resolver))
		return;
	const char *what = obstacle(resolver, select);
	if (what)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_LOCKING, "0A000", -1,
				     "rows cannot be locked together with %s", what);
	foreach(cell, select->fromClause) lock_from(resolver, lfirst(cell), names);
	resolver_leave(resolver);
}

/* What OF names in FROM. */
struct named {
	const char *name;
	bool found;
	bool doubtful;	  /* a function without an alias: it may have the name */
	const char *what; /* that cannot be locked, or NULL */
};

static void find_alias(struct named *named, const Alias *alias, const char *what)
{
	if (!alias) {
		named->doubtful = true;
	} else if (!named->found && strcmp(alias->aliasname, named->name) == 0) {
		named->found = true;
		named->what = what;
	}
}

static void find_named(struct resolver *resolver, const Node *from, struct named *named)
{
	if (named->found || !resolver_enter(resolver))
		return;
	if (IsA(from, RangeTableSample))
		from = ((const RangeTableSample *)from)->relation;
	if (IsA(from, RangeVar)) {
		const RangeVar *range = (const RangeVar *)from;
		named->found =
			strcmp(range->alias ? range->alias->aliasname : range->relname, named->name) == 0;
	} else if (IsA(from, RangeSubselect)) {
		find_alias(named, ((const RangeSubselect *)from)->alias, NULL);
	} else if (IsA(from, RangeFunction)) {
		find_alias(named, ((const RangeFunction *)from)->alias, "a function");
	} else if (IsA(from, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)from;
		find_named(resolver, join->larg, named);
		find_named(resolver, join->rarg, named);
		if (join->alias || join->join_using_alias)
			find_alias(named, join->alias ? join->alias : join->join_using_alias, "a join");
	} else {
		named->doubtful = true;
	}
	resolver_leave(resolver);
}

static void check_named(struct resolver *resolver, const SelectStmt *select, const RangeVar *range)
{
	const ListCell *cell;
	struct named named = { .name = range->relname };
	if (range->schemaname)
		return;
	foreach(cell, select->fromClause) find_named(resolver, lfirst(cell), &named);
	if (named.what)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_LOCKING, "0A000",
				     range->location, "\"%s\" is %s, which cannot be locked", named.name,
				     named.what);
	else if (!named.found && !named.doubtful && !resolver->resolution->too_deep)
		diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_JOIN, SUB_NONE, "42P01",
				      str_from(named.name), range->location,
				      "\"%s\" is to be locked, but not in FROM", named.name);
}

void resolve_check_locking(struct resolver *resolver, const SelectStmt *select)
{
	const ListCell *cell, *name;
	if (select->valuesLists)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_LOCKING, "0A000", -1,
				     "VALUES cannot be locked");
	foreach(cell, select->lockingClause)
	{
		const LockingClause *clause = lfirst_node(LockingClause, cell);
		lock_query(resolver, select, clause->lockedRels);
		foreach(name, clause->lockedRels) check_named(resolver, select, lfirst_node(RangeVar, name));
	}
}
