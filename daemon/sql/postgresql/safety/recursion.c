#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

static bool few_rows(const Node *limit, struct const_eval eval)
{
	return limit && const_eval_number_or(limit, eval, BOMB_CALL_ROWS) < BOMB_CALL_ROWS;
}

/* Whether the query reads from the name anywhere in its FROM clauses. */
static bool reads_from(const Node *node, const char *name, unsigned depth)
{
	if (!node || depth >= RECURSION_MAX_DEPTH)
		return false;
	ListCell *cell;
	switch ((int)nodeTag(node)) {
	case T_RangeVar: {
		const RangeVar *range = (const RangeVar *)node;
		return !range->schemaname && strcmp(range->relname, name) == 0;
	}
	case T_JoinExpr:
		return reads_from(((const JoinExpr *)node)->larg, name, depth + 1) ||
		       reads_from(((const JoinExpr *)node)->rarg, name, depth + 1);
	case T_RangeSubselect:
		return reads_from(((const RangeSubselect *)node)->subquery, name, depth + 1);
	case T_SelectStmt: {
		const SelectStmt *select = (const SelectStmt *)node;
		foreach(cell, select->fromClause) if (reads_from(lfirst(cell), name, depth + 1)) return true;
		return reads_from((const Node *)select->larg, name, depth + 1) ||
		       reads_from((const Node *)select->rarg, name, depth + 1);
	}
	default:
		return false;
	}
}

static bool only_copies(const List *targets)
{
	ListCell *cell;
	foreach(cell, targets)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!value || !(IsA(value, ColumnRef) || IsA(value, A_Const)))
			return false;
	}
	return true;
}

/* Whether the query takes the first few rows as they come, and then stops: PostgreSQL makes no more of them.
 */
static bool takes_few(const SelectStmt *reader, const char *name, struct const_eval eval)
{
	if (!reader || reader->op != SETOP_NONE || list_length(reader->withClause->ctes) != 1 ||
	    !few_rows(reader->limitCount, eval) || reader->limitOffset || reader->sortClause ||
	    reader->groupClause || reader->distinctClause || reader->havingClause || reader->whereClause ||
	    reader->windowClause || list_length(reader->fromClause) != 1 ||
	    !IsA(linitial(reader->fromClause), RangeVar) ||
	    !reads_from(linitial(reader->fromClause), name, 0))
		return false;
	return only_copies(reader->targetList);
}

/* Whether the arm makes no value that is not there already: UNION ends such a recursion. */
static bool only_repeats(const SelectStmt *arm)
{
	return arm->op == SETOP_NONE && arm->targetList && only_copies(arm->targetList);
}

bool bomb_recursion_read(const CommonTableExpr *cte, const SelectStmt *reader, struct const_eval eval)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt))
		return false;
	const SelectStmt *query = (const SelectStmt *)cte->ctequery;
	if (query->op == SETOP_NONE || !const_eval_recursive(cte))
		return false;
	if (few_rows(query->limitCount, eval) || takes_few(reader, cte->ctename, eval))
		return false;
	if (!query->all && only_repeats(query->rarg))
		return false;
	if (query->all && bomb_recursion_rows(cte, eval) >= BOMB_QUERY_ROWS)
		return true;
	struct recursion recursion = { cte, NULL, eval, eval.resolution };
	eval.resolution = NULL;
	eval.memory = NULL;
	recursion.eval = eval;
	if (recursion_doubles(cte, query->rarg, eval))
		return true;
	return recursion_bound_of(recursion, query->rarg, 0) != BOUND_SOME;
}

bool bomb_recursion(const CommonTableExpr *cte)
{
	unsigned steps = 0;
	return bomb_recursion_read(cte, NULL, (struct const_eval){ .steps = &steps });
}
