#include "sql/postgresql/diagnose_internal.h"

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
	return is_aggregated(resolver->resolution, select) ? "aggregates" : NULL;
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
		report_type(resolver, DIAG_INVALID_USE, "locking", "0A000", -1,
			    "rows cannot be locked together with %s", what);
	foreach(cell, select->fromClause) lock_from(resolver, lfirst(cell), names);
	resolver_leave(resolver);
}

void check_locking(struct resolver *resolver, const SelectStmt *select)
{
	const ListCell *cell;
	foreach(cell, select->lockingClause)
		lock_query(resolver, select, lfirst_node(LockingClause, cell)->lockedRels);
}
