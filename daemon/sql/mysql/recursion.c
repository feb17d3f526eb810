#include "sql/mysql/safety.h"

enum { SEARCHING = 1, SEARCHED = 2 };

static bool leads_back(struct mysql_safety *safety, const struct query_node *cte);

/* Whether what stands there reads a WITH query that is being searched, other than `cte` itself. */
static bool reads_searched(struct mysql_safety *safety, const struct query_node *node,
			   const struct query_node *cte)
{
	const struct query_node *maker = node->range ? node->range->maker : NULL;
	if (node->kind == QUERY_RELATION && maker && maker->kind == QUERY_CTE && maker != cte &&
	    leads_back(safety, maker))
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (reads_searched(safety, child, cte))
			return true;
	return false;
}

/* Whether a WITH query reads itself through others. Each is searched once. */
static bool leads_back(struct mysql_safety *safety, const struct query_node *cte)
{
	double *state = mysql_memo_of(&safety->searched, safety, cte);
	if (*state != 0)
		return *state == SEARCHING;
	*state = SEARCHING;
	bool found = reads_searched(safety, cte, cte);
	*state = SEARCHED;
	return found;
}

void mysql_bombs_with(struct mysql_safety *safety, const struct query_node *with)
{
	for (const struct query_node *cte = with->first; with->flag && cte; cte = cte->next)
		if (leads_back(safety, cte)) {
			violations_add(safety->violations, VIOLATION_RESOURCE_BOMB, (int64_t)cte->offset,
				       "queries that read each other");
			return;
		}
}
