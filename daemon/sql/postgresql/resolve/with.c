#include "sql/postgresql/resolve/internal.h"

#include "common/hash.h"

#include "catalog/pg_type_d.h"

static void report_recursion(struct resolver *resolver, const struct cte_entry *entry, const char *sqlstate,
			     int location, const char *message)
{
	str_t name = str_from(entry->cte->ctename);
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_RECURSION, SUB_NONE, sqlstate, name,
			      location, "recursive query \"" STR_FMT "\": %s", STR_ARG(name), message);
}

static bool is_recursive_union(const Node *query)
{
	return IsA(query, SelectStmt) && ((const SelectStmt *)query)->op == SETOP_UNION;
}

/* Whether the active query is spoken of through another one of its WITH. One of a WITH within it is part of
 * its own text. */
static bool is_mutual(const struct resolver *resolver, const struct cte_entry *entry)
{
	const struct cte_entry *active = resolver->recursive;
	for (; active && active != entry; active = active->outer) {
		if (active->with == entry->with)
			return true;
	}
	return false;
}

/* Where the walk is within the active query. Recursive ones within it have places of their own. */
static enum recursion recursion_of(const struct resolver *resolver, const struct cte_entry *entry)
{
	enum recursion recursion = resolver->recursion;
	for (const struct cte_entry *inner = resolver->recursive; inner && inner != entry;
	     inner = inner->around) {
		if (recursion <= RECURSION_NON_RECURSIVE_TERM || inner->around_place > RECURSION_ALLOWED)
			recursion = inner->around_place;
	}
	return recursion;
}

void cte_check_self_reference(struct resolver *resolver, struct cte_entry *entry, const RangeVar *var)
{
	static const char *const messages[] = {
		[RECURSION_NON_RECURSIVE_TERM] = "the first term of its UNION speaks of itself",
		[RECURSION_SUBQUERY] = "a subquery speaks of it",
		[RECURSION_OUTER_JOIN] = "it is on the side of an outer join that may be missing",
		[RECURSION_INTERSECT] = "it is within INTERSECT",
		[RECURSION_EXCEPT] = "it is within EXCEPT",
	};
	if (is_mutual(resolver, entry)) {
		report_recursion(resolver, entry, "0A000", var->location,
				 "two queries of one WITH depend on each other");
		return;
	}
	enum recursion recursion = recursion_of(resolver, entry);
	entry->self_references++;
	if (!is_recursive_union(entry->cte->ctequery))
		report_recursion(resolver, entry, "42P19", entry->cte->location,
				 "it has to be a term without recursion UNION [ALL] one with it");
	else if (messages[recursion])
		report_recursion(resolver, entry, "42P19", var->location, messages[recursion]);
	else if (entry->self_references > 1)
		report_recursion(resolver, entry, "42P19", var->location, "it is spoken of more than once");
}

static void check_recursive_form(struct resolver *resolver, const struct cte_entry *entry)
{
	const SelectStmt *select = (const SelectStmt *)entry->cte->ctequery;
	if (entry->self_references == 0)
		return;
	if (select->sortClause || select->limitCount || select->limitOffset || select->lockingClause)
		report_recursion(resolver, entry, "0A000", entry->cte->location,
				 "ORDER BY, LIMIT and FOR UPDATE are not possible");
}

/* The recursive term cannot widen what the first one gives. */
static void check_recursive_types(struct resolver *resolver, const struct cte_entry *entry,
				  const struct outputs *first, const struct outputs *all)
{
	if (entry->self_references == 0 || !resolver_knows_types(resolver))
		return;
	for (size_t i = 0; i < first->count && i < all->count; i++) {
		type_id before = first->columns[i].type, after = all->columns[i].type;
		if (before == TYPE_UNSURE || after == TYPE_UNSURE || before == after)
			continue;
		str_t one = type_text(resolver->catalog, before), other = type_text(resolver->catalog, after);
		diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_RECURSION,
				      SUB_INVALID_RECURSION_TYPE, "42804", str_from(entry->cte->ctename),
				      entry->cte->location,
				      "recursive query \"%s\": column %zu is " STR_FMT
				      " in the first term and " STR_FMT " overall",
				      entry->cte->ctename, i + 1, STR_ARG(one), STR_ARG(other));
		return;
	}
}

void resolve_cte(struct resolver *resolver, struct cte_entry *entry)
{
	const CommonTableExpr *cte = entry->cte;
	enum recursion recursion = resolver->recursion;
	struct marks marks = resolver->marks;
	struct outputs outputs = { .open = true };
	entry->state = CTE_ACTIVE;
	entry->outer = resolver->recursive;
	/* What cannot speak of itself is but a part of the query around it. */
	if (entry->with->recursive) {
		resolver->recursive = entry;
		resolver->recursion = RECURSION_NONE;
	}
	type_id mark = resolve_cycle_mark(resolver, entry->scope, cte);
	if (IsA(cte->ctequery, SelectStmt)) {
		outputs.open = false;
		resolve_select(resolver, entry->scope, (const SelectStmt *)cte->ctequery, &outputs);
		check_recursive_form(resolver, entry);
		check_recursive_types(resolver, entry, &entry->outputs, &outputs);
	}
	resolver->recursive = entry->outer;
	resolver->recursion = recursion;
	resolver->marks = marks;
	outputs_name(resolver, &outputs, cte->aliascolnames, str_from(cte->ctename), cte->location);
	cte_add_search_columns(resolver, cte, entry->self_references > 0, mark, &outputs);
	entry->outputs = outputs;
	entry->has_outputs = true;
	entry->state = CTE_DONE;
}

void cte_publish_arm(struct resolver *resolver, const SelectStmt *select, const struct outputs *outputs)
{
	struct cte_entry *entry = resolver->recursive;
	if (!entry || entry->cte->ctequery != (const Node *)select)
		return;
	entry->outputs = *outputs;
	if (outputs->count > 0) {
		entry->outputs.columns = ARENA_ARRAY(resolver->arena, struct range_column, outputs->count);
		memcpy(entry->outputs.columns, outputs->columns, outputs->count * sizeof *outputs->columns);
	}
	for (size_t i = 0; i < entry->outputs.count; i++) {
		if (entry->outputs.columns[i].type == UNKNOWNOID)
			entry->outputs.columns[i].type = TEXTOID;
	}
	outputs_name(resolver, &entry->outputs, entry->cte->aliascolnames, str_from(entry->cte->ctename),
		     entry->cte->location);
	/* The columns that SEARCH and CYCLE add are not there yet. */
	entry->outputs.open |= entry->cte->search_clause || entry->cte->cycle_clause;
	entry->has_outputs = true;
}

static bool is_among(const List *ctes, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(((const CommonTableExpr *)list_nth(ctes, i))->ctename, name) == 0)
			return true;
	}
	return false;
}

/* Reports names that are there twice. `names`, if they are many, takes the first entry of each. */
static void check_cte_names(struct resolver *resolver, const List *ctes, struct cte_entry *entries,
			    struct hash_map *names)
{
	for (int i = 0; i < list_length(ctes); i++) {
		const CommonTableExpr *cte = list_nth(ctes, i);
		str_t name = str_from(cte->ctename);
		bool again = names ? hash_map_get(names, name) != NULL : is_among(ctes, i, cte->ctename);
		if (again)
			diagnostics_add(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, SUB_NONE, name,
					cte->location, "WITH query name \"%s\" is there twice", cte->ctename);
		else if (names)
			(void)hash_map_set(names, name, &entries[i]);
	}
}

struct cte_entry *cte_lookup(const struct scope *scope, str_t name)
{
	for (; scope; scope = scope->parent) {
		if (scope->cte_names) {
			struct cte_entry *entry = hash_map_get(scope->cte_names, name);
			if (entry && entry < scope->ctes + scope->ctes_count)
				return entry;
			continue;
		}
		for (size_t i = 0; i < scope->ctes_count; i++) {
			if (str_is(name, scope->ctes[i].cte->ctename))
				return &scope->ctes[i];
		}
	}
	return NULL;
}

/* Whether the WITH stands before the whole UNION of the recursive query. */
static bool heads_recursive(const struct resolver *resolver, const WithClause *with)
{
	const struct cte_entry *entry = resolver->recursive;
	return entry && IsA(entry->cte->ctequery, SelectStmt) &&
	       ((const SelectStmt *)entry->cte->ctequery)->withClause == with;
}

/* Where the first `count` of the queries are known. */
static struct scope *with_scope(struct resolver *resolver, struct scope *parent, struct cte_entry *entries,
				size_t count, struct hash_map *names)
{
	struct scope *scope = scope_new(resolver, parent);
	scope->ctes = entries;
	scope->ctes_count = count;
	scope->cte_names = names;
	return scope;
}

struct scope *resolve_with(struct resolver *resolver, struct scope *parent, const WithClause *with)
{
	if (!with)
		return parent;
	enum recursion recursion = resolver->recursion;
	if (heads_recursive(resolver, with))
		resolver->recursion = RECURSION_SUBQUERY;
	size_t count = (size_t)list_length(with->ctes);
	struct cte_entry *entries = ARENA_ARRAY(resolver->arena, struct cte_entry, count);
	struct hash_map *names =
		count > RESOLVE_SHORT_LIST ? ARENA_NEW(resolver->arena, struct hash_map) : NULL;
	if (names)
		hash_map_init(names, resolver->arena, count);
	check_cte_names(resolver, with->ctes, entries, names);
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct cte_entry){
			.cte = list_nth(with->ctes, (int)i),
			.with = with,
			.around = resolver->recursive,
			.around_place = resolver->recursion,
		};
	struct scope *all = with_scope(resolver, parent, entries, count, names);
	for (size_t i = 0; i < count; i++)
		entries[i].scope = with->recursive ? all : with_scope(resolver, parent, entries, i, names);
	for (size_t i = 0; i < count; i++) {
		if (entries[i].state == CTE_PENDING)
			resolve_cte(resolver, &entries[i]);
	}
	resolver->recursion = recursion;
	return all;
}
