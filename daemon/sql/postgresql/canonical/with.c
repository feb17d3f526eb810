#include "sql/postgresql/canonical/internal.h"

#include "sql/postgresql/node_children.h"

#include <limits.h>

struct canon_cte *canon_cte_find(const struct canon *canon, const RangeVar *range)
{
	for (struct canon_cte *cte = range->schemaname ? NULL : canon->ctes; cte; cte = cte->outer)
		if (strcmp(cte->query->ctename, range->relname) == 0)
			return cte;
	return NULL;
}

/* References */

struct counting {
	struct canon *canon;
	const struct canon_cte *outer; /* of those that are counted */
};

/* Counts every name that could be meant, whatever hides it. */
static bool count_references(const Node *node, void *context)
{
	const struct counting *counting = context;
	struct canon *canon = counting->canon;
	if (!canon_work(canon, 1) || !canon_enter(canon))
		return false;
	if (IsA(node, RangeVar)) {
		for (struct canon_cte *cte = canon->ctes; cte != counting->outer; cte = cte->outer) {
			(void)canon_work(canon, 1);
			cte->references +=
				strcmp(cte->query->ctename, ((const RangeVar *)node)->relname) == 0;
		}
	}
	bool more = node_children(node, count_references, context);
	canon_leave(canon);
	return more;
}

void canon_with(struct canon *canon, const SelectStmt *select)
{
	const ListCell *cell;
	struct counting counting = { canon, canon->ctes };
	if (!select->withClause)
		return;
	foreach(cell, select->withClause->ctes)
	{
		struct canon_cte *cte = ARENA_NEW(canon->arena, struct canon_cte);
		*cte = (struct canon_cte){ .outer = canon->ctes,
					   .visible = canon->ctes,
					   .scope = canon->scope,
					   .query = lfirst(cell),
					   .may_recurse = select->withClause->recursive };
		canon->ctes = cte;
	}
	for (struct canon_cte *cte = canon->ctes; cte != counting.outer; cte = cte->outer)
		if (cte->may_recurse)
			cte->visible = canon->ctes;
	(void)count_references((const Node *)select, &counting);
}

str_t canon_with_text(struct canon *canon, const struct canon_cte *outer)
{
	struct texts numbers = { 0 };
	for (const struct canon_cte *cte = canon->ctes; cte != outer; cte = cte->outer)
		if (cte->once)
			texts_add(canon, &numbers, canon_number(canon, cte->once));
	texts_sort(&numbers);
	return numbers.count ? texts_join(canon, STR(" WITH("), &numbers, STR(")")) : STR("");
}

/* Texts */

static void set_outputs(struct canon *canon, const struct canon_select *select, struct canon_cte *cte)
{
	const List *aliases = cte->query->aliascolnames;
	size_t listed = (size_t)list_length(aliases);
	cte->outputs = select->outputs;
	cte->outputs_count = select->outputs_count;
	if (listed == 0)
		return;
	if (!select->outputs || listed > select->outputs_count) {
		canon->failed = true;
		return;
	}
	str_t *names = ARENA_ARRAY(canon->arena, str_t, select->outputs_count);
	for (size_t i = 0; i < select->outputs_count; i++)
		names[i] = i < listed ? str_from(NODE_STRING(list_nth(aliases, (int)i))) : select->outputs[i];
	cte->outputs = names;
}

/* Where the columns of the recursion are not known, they are called by the names in the text. */
static str_t recursive_text(struct canon *canon, const struct canon_cte *cte, str_t body, unsigned recursion)
{
	struct texts names = { 0 };
	for (size_t i = 0; cte->refers_to_itself && i < cte->outputs_count; i++)
		texts_add(canon, &names, canon_identifier(canon, cte->outputs[i]));
	return CONCAT(canon, STR("(RECURSIVE "), canon_number(canon, recursion), STR(" "), body,
		      names.count ? texts_join(canon, STR(" AS("), &names, STR(")")) : STR(""), STR(")"));
}

/* A WITH query of the surrounding one that is named by itself, if by nobody else. */
static bool names_itself(const struct canon_cte *cte)
{
	return cte->may_recurse && ((const SelectStmt *)cte->query->ctequery)->op == SETOP_UNION;
}

static void build(struct canon *canon, struct canon_cte *cte)
{
	struct canon_select select = { 0 };
	const SelectStmt *query = (const SelectStmt *)cte->query->ctequery;
	const SelectStmt *outer_recursion = canon->recursive_query;
	bool recursive = names_itself(cte);
	size_t unsteady = canon->unsteady, volatile_calls = canon->volatile_calls;
	unsigned lowest = canon->lowest_scope;
	canon->lowest_scope = UINT_MAX;
	unsigned recursion = recursive ? ++canon->recursions : 0;
	cte->recursion = recursion;
	canon->recursive_query = recursive ? query : NULL;
	canon_select(canon, query, canon_order_matters(canon) ? CANON_ALL : CANON_UNORDERED, &select);
	canon->recursive_query = outer_recursion;
	canon->recursions -= recursive;
	cte->recursion = 0;
	cte->correlated = canon->lowest_scope != UINT_MAX;
	if (lowest < canon->lowest_scope)
		canon->lowest_scope = lowest;
	set_outputs(canon, &select, cte);
	str_t body = canon_short(canon, select.text);
	cte->text = recursive ? recursive_text(canon, cte, body, recursion)
			      : CONCAT(canon, STR("("), body, STR(")"));
	if (canon->volatile_calls != volatile_calls || (canon->unsteady != unsteady && cte->references > 1)) {
		cte->once = ++canon->onces;
		cte->text = CONCAT(canon, STR("ONCE "), canon_number(canon, cte->once), cte->text);
	}
}

/* Where the query stands: it sees what its WITH sees, and nothing of where it is named. */
void canon_cte_build(struct canon *canon, struct canon_cte *cte)
{
	const CommonTableExpr *query = cte->query;
	struct canon_scope *scope = canon->scope;
	struct canon_cte *ctes = canon->ctes;
	if (cte->built)
		return;
	cte->built = true;
	cte->text = STR("");
	if (!IsA(query->ctequery, SelectStmt) || query->search_clause || query->cycle_clause ||
	    !canon_enter(canon)) {
		canon->failed = true;
		return;
	}
	canon->scope = cte->scope;
	canon->ctes = cte->visible;
	build(canon, cte);
	canon->scope = scope;
	canon->ctes = ctes;
	canon_leave(canon);
}
