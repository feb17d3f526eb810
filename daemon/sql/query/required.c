#include "sql/query/required.h"

#include "common/nearest.h"
#include "sql/lex/identifier.h"

#include <ctype.h>

struct required_node {
	bool holds;
	struct required_node **followers;
	size_t followers_count;
	size_t followers_capacity;
};

void required_begin(struct required *required, struct arena *arena, const struct sql_policy *policy,
		    bool any_case, struct required_views *views)
{
	*required =
		(struct required){ .arena = arena, .policy = policy, .any_case = any_case, .views = views };
	hash_map_init(&required->nodes, arena, 16);
}

void required_begin_view(struct required *required, const struct required *outer, bool *broken)
{
	required_begin(required, outer->arena, outer->policy, outer->any_case, outer->views);
	required->broken = broken;
}

static struct required_node *node_of(struct required *required, struct required_end end)
{
	size_t len = sizeof end.item + end.column.len;
	char *key = arena_alloc(required->arena, len + 1);
	memcpy(key, &end.item, sizeof end.item);
	for (size_t i = 0; i < end.column.len; i++)
		key[sizeof end.item + i] = required->any_case
						   ? (char)tolower((unsigned char)end.column.ptr[i])
						   : end.column.ptr[i];
	str_t name = { key, len };
	struct required_node *node = hash_map_get(&required->nodes, name);
	if (!node) {
		node = ARENA_NEW(required->arena, struct required_node);
		*node = (struct required_node){ 0 };
		hash_map_set(&required->nodes, name, node);
	}
	return node;
}

/* Marks what follows, too; every node is marked once. */
static void mark(struct required *required, struct required_node *node)
{
	if (node->holds)
		return;
	node->holds = true;
	required->given_count = 0;
	ARENA_PUSH(required->arena, required->given, required->given_count, required->given_capacity, node);
	while (required->given_count > 0) {
		const struct required_node *next = required->given[--required->given_count];
		for (size_t i = 0; i < next->followers_count; i++) {
			struct required_node *follower = next->followers[i];
			if (follower->holds)
				continue;
			follower->holds = true;
			ARENA_PUSH(required->arena, required->given, required->given_count,
				   required->given_capacity, follower);
		}
	}
}

void required_given(struct required *required, struct required_end end)
{
	mark(required, node_of(required, end));
}

void required_follows(struct required *required, struct required_end to, struct required_end from)
{
	struct required_node *source = node_of(required, from), *target = node_of(required, to);
	if (source->holds)
		mark(required, target);
	else
		ARENA_PUSH(required->arena, source->followers, source->followers_count,
			   source->followers_capacity, target);
}

bool required_is_random(str_t function)
{
	return IDENTIFIER_IS_ANY(function, "random", "rand", "random_normal", "randomblob", "setseed",
				 "random_bytes", "uuid", "uuid_short", "sys_guid", "uuidv4", "uuidv7",
				 "gen_random_uuid", "nextval", "lastval", "row_count", "clock_timestamp",
				 "uuid_v4", "uuid_v7", "uuid_generate_v4", "last_insert_id", "found_rows",
				 "gen_random_bytes");
}

static bool same(const struct required *required, str_t a, str_t b)
{
	return required->any_case ? identifier_same(a, b) : str_equal(a, b);
}

/* A schema that is not known may be the rule's. */
static bool names(const struct required *required, str_t rule, str_t schema, str_t name)
{
	const char *dot = memchr(rule.ptr, '.', rule.len);
	if (!dot)
		return same(required, rule, name);
	size_t at = (size_t)(dot - rule.ptr);
	return (!str_present(schema) || same(required, (str_t){ rule.ptr, at }, schema)) &&
	       same(required, (str_t){ dot + 1, rule.len - at - 1 }, name);
}

static bool has_column(const struct required *required, const struct catalog_relation *relation, str_t name)
{
	bool found = relation->is_open;
	for (size_t i = 0; i < relation->columns_count && !found; i++)
		found = same(required, relation->columns[i].name, name);
	return found;
}

static void report(struct required *required, const struct required_relation *relation,
		   const struct sql_required_column *rule, bool by_view, struct diagnostics *diagnostics)
{
	str_t object = arena_printf(required->arena, STR_FMT "." STR_FMT, STR_ARG(relation->alias),
				    STR_ARG(rule->column));
	if (by_view)
		diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, SUB_NONE, object, relation->offset,
				"the view \"" STR_FMT "\" reads \"" STR_FMT
				"\" without a condition on the column \"" STR_FMT "\"",
				STR_ARG(relation->alias), STR_ARG(rule->table), STR_ARG(rule->column));
	else
		diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, SUB_NONE, object, relation->offset,
				"\"" STR_FMT "\" is read without a condition that gives its column \"" STR_FMT
				"\" a value",
				STR_ARG(relation->alias), STR_ARG(rule->column));
}

/* What cannot be looked into breaks the rules of the tables that its text speaks of. */
static void distrust(const struct required *required, const struct catalog_relation *view, bool *broken)
{
	str_t definition = arena_str(required->arena, view->definition);
	for (size_t i = 0; i < required->policy->required_columns_count; i++) {
		str_t table = required->policy->required_columns[i].table;
		const char *dot = memchr(table.ptr, '.', table.len);
		broken[i] = broken[i] || strcasestr(definition.ptr, dot ? dot + 1 : table.ptr);
	}
}

/* A flag for each rule that the view's definition breaks; each view is looked into once. */
static const bool *broken_in(struct required *required, const struct catalog_relation *view,
			     required_view_fn look, const void *context)
{
	struct required_views *views = required->views;
	const struct catalog_relation **key = arena_alloc(required->arena, sizeof *key);
	*key = view;
	str_t address = { (const char *)key, sizeof *key };
	if (!views->broken.arena)
		hash_map_init(&views->broken, required->arena, 8);
	bool *broken = hash_map_get(&views->broken, address);
	if (broken)
		return broken;
	broken = ARENA_ARRAY(required->arena, bool, required->policy->required_columns_count);
	hash_map_set(&views->broken, address, broken);
	if (++views->count > REQUIRED_MAX_VIEWS || !look(required, view, broken, context))
		distrust(required, view, broken);
	return broken;
}

/* Whether a view reads the rule's table against it. */
static bool view_breaks(struct required *required, const struct required_relation *relation, size_t rule,
			bool holds, required_view_fn look, const void *context)
{
	const struct catalog_relation *view = relation->relation;
	bool has = has_column(required, view, required->policy->required_columns[rule].column);
	if (holds && has)
		return false;
	bool readable = str_present(view->definition) && view->definition.len > 0;
	return readable ? broken_in(required, view, look, context)[rule] : has;
}

void required_check(struct required *required, const struct required_relation *relation,
		    required_view_fn view, const void *context, struct diagnostics *diagnostics)
{
	const struct catalog_relation *known = relation->relation;
	for (size_t i = 0; i < required->policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &required->policy->required_columns[i];
		bool named = names(required, rule->table, relation->schema, relation->name);
		bool holds = node_of(required, (struct required_end){ relation->item, rule->column })->holds;
		bool is_view = !named && known && known->is_view;
		bool broken = named	? !holds
			      : is_view ? view_breaks(required, relation, i, holds, view, context)
					: false;
		if (broken && required->broken)
			required->broken[i] = true;
		else if (broken)
			report(required, relation, rule, is_view, diagnostics);
	}
}

static str_t no_table(const struct sql_required_column *rule, const struct catalog_relation *relations,
		      size_t count, struct arena *arena)
{
	const char *dot = memchr(rule->table.ptr, '.', rule->table.len);
	struct nearest nearest;
	nearest_init(&nearest, rule->table);
	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest,
			      dot ? arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(relations[i].schema),
						 STR_ARG(relations[i].name))
				  : relations[i].name);
	return arena_printf(arena, "there is no table \"" STR_FMT "\"" STR_FMT, STR_ARG(rule->table),
			    STR_ARG(nearest_hint(&nearest, '"', arena)));
}

str_t required_misnamed(const struct sql_required_column *rule, const struct catalog *catalog,
			struct arena *arena)
{
	enum sql_dialect dialect = catalog_dialect(catalog);
	struct required required = { .any_case = dialect == SQL_MYSQL || dialect == SQL_SQLITE };
	struct nearest nearest;
	size_t count;
	bool found = false;
	const struct catalog_relation *relations = catalog_relations(catalog, &count);
	nearest_init(&nearest, rule->column);
	for (size_t i = 0; i < count; i++) {
		if (!names(&required, rule->table, relations[i].schema, relations[i].name))
			continue;
		if (has_column(&required, &relations[i], rule->column))
			return STR_NONE;
		found = true;
		for (size_t c = 0; c < relations[i].columns_count; c++)
			nearest_offer(&nearest, relations[i].columns[c].name);
	}
	if (!found)
		return no_table(rule, relations, count, arena);
	return arena_printf(arena, "table \"" STR_FMT "\" has no column \"" STR_FMT "\"" STR_FMT,
			    STR_ARG(rule->table), STR_ARG(rule->column),
			    STR_ARG(nearest_hint(&nearest, '"', arena)));
}
