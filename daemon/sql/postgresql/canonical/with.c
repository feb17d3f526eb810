#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"
#include "sql/postgresql/parse/node_children.h"
#include "sql/postgresql/resolve/internal.h"

#include <limits.h>

struct canon_cte *canon_cte_find(const struct canon *canon, const RangeVar *range)
{
	if (range->schemaname || !canon->ctes)
		return NULL;
	uint64_t hash = hash_seeded(range->relname, strlen(range->relname));
	for (struct canon_cte *cte = canon->ctes; cte; cte = cte->outer)
		if (cte->name_hash == hash && strcmp(cte->query->ctename, range->relname) == 0)
			return cte;
	return NULL;
}

/* References */

/* The relations of a text are numbered as they are met: each name has its places, and each query with a WITH
 * those from its first to its last. */
struct places {
	size_t *items; /* ascending */
	size_t count;
	size_t capacity;
};

struct interval {
	size_t first;
	size_t end;
};

struct canon_references {
	struct hash_map names;	  /* to places */
	struct node_map *queries; /* to intervals */
	size_t relations;
};

static void note_relation(struct canon *canon, const RangeVar *range)
{
	struct canon_references *references = canon->references;
	struct places *places = hash_map_get(&references->names, str_from(range->relname));
	if (!places) {
		places = ARENA_NEW(canon->arena, struct places);
		(void)hash_map_set(&references->names, str_from(range->relname), places);
	}
	ARENA_PUSH(canon->arena, places->items, places->count, places->capacity, references->relations++);
}

static bool note_references(const Node *node, void *context)
{
	struct canon *canon = context;
	struct interval *interval = NULL;
	if (!canon_work(canon, 1) || !canon_enter(canon))
		return false;
	if (IsA(node, RangeVar))
		note_relation(canon, (const RangeVar *)node);
	if (IsA(node, SelectStmt) && ((const SelectStmt *)node)->withClause) {
		interval = ARENA_NEW(canon->arena, struct interval);
		interval->first = canon->references->relations;
		node_map_set(canon->references->queries, node, interval);
	}
	bool more = node_children(node, note_references, context);
	if (interval)
		interval->end = canon->references->relations;
	canon_leave(canon);
	return more;
}

/* Where the query stands among all; the first that is asked for is the outermost. */
static const struct interval *interval_of(struct canon *canon, const SelectStmt *select)
{
	if (!canon->references) {
		canon->references = ARENA_NEW(canon->arena, struct canon_references);
		canon->references->names.arena = canon->arena;
		canon->references->queries = node_map_new(canon->arena);
	}
	if (!node_map_get(canon->references->queries, select))
		(void)note_references((const Node *)select, canon);
	return node_map_get(canon->references->queries, select);
}

static size_t places_before(const struct places *places, size_t end)
{
	size_t low = 0, high = places->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (places->items[middle] < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Every name that could be meant counts, whatever hides it. */
static size_t count_references(const struct canon *canon, const struct interval *interval, const char *name)
{
	const struct places *places = hash_map_get(&canon->references->names, str_from(name));
	return places ? places_before(places, interval->end) - places_before(places, interval->first) : 0;
}

void canon_with(struct canon *canon, const SelectStmt *select)
{
	const ListCell *cell;
	const struct canon_cte *outer = canon->ctes;
	const struct interval *interval = select->withClause ? interval_of(canon, select) : NULL;
	if (!interval)
		return;
	foreach(cell, select->withClause->ctes)
	{
		const CommonTableExpr *query = lfirst(cell);
		struct canon_cte *cte = ARENA_NEW(canon->arena, struct canon_cte);
		*cte = (struct canon_cte){ .outer = canon->ctes,
					   .visible = canon->ctes,
					   .scope = canon->scope,
					   .query = query,
					   .name_hash = hash_seeded(query->ctename, strlen(query->ctename)),
					   .references = count_references(canon, interval, query->ctename),
					   .may_recurse = select->withClause->recursive };
		canon->ctes = cte;
	}
	for (struct canon_cte *cte = canon->ctes; cte != outer; cte = cte->outer)
		if (cte->may_recurse)
			cte->visible = canon->ctes;
}

str_t canon_with_text(struct canon *canon, const struct canon_cte *outer)
{
	struct texts numbers = { 0 };
	for (const struct canon_cte *cte = canon->ctes; cte != outer; cte = cte->outer)
		if (cte->once)
			texts_add(canon->arena, &numbers, canon_number(canon, cte->once));
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
		texts_add(canon->arena, &names, canon_identifier(canon, cte->outputs[i]));
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
