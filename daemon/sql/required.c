#include "sql/required.h"

#include <ctype.h>
#include <strings.h>

struct required_node {
	bool holds;
	struct required_node **followers;
	size_t followers_count;
	size_t followers_capacity;
};

void required_begin(struct required *required, struct arena *arena, const struct sql_policy *policy,
		    bool any_case, unsigned *views)
{
	*required =
		(struct required){ .arena = arena, .policy = policy, .any_case = any_case, .views = views };
	hash_map_init(&required->nodes, arena, 16);
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

bool required_holds(struct required *required, struct required_end end)
{
	return node_of(required, end)->holds;
}

bool required_is_random(str_t function)
{
	static const char *const names[] = { "random",
					     "rand",
					     "random_normal",
					     "randomblob",
					     "setseed",
					     "random_bytes",
					     "uuid",
					     "uuid_short",
					     "sys_guid",
					     "uuidv4",
					     "uuidv7",
					     "gen_random_uuid",
					     "nextval",
					     "lastval",
					     "row_count",
					     "clock_timestamp",
					     "uuid_v4",
					     "uuid_v7",
					     "uuid_generate_v4",
					     "last_insert_id",
					     "found_rows",
					     "gen_random_bytes" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (function.len == strlen(names[i]) &&
		    strncasecmp(function.ptr, names[i], function.len) == 0)
			return true;
	return false;
}

static bool same(const struct required *required, str_t a, str_t b)
{
	return required->any_case ? a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0 : str_equal(a, b);
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
		diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, NULL, object, relation->offset,
				"the view \"" STR_FMT "\" reads \"" STR_FMT
				"\" without a condition on the column \"" STR_FMT "\"",
				STR_ARG(relation->alias), STR_ARG(rule->table), STR_ARG(rule->column));
	else
		diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, NULL, object, relation->offset,
				"\"" STR_FMT "\" is read without a condition that gives its column \"" STR_FMT
				"\" a value",
				STR_ARG(relation->alias), STR_ARG(rule->column));
}

void required_check(struct required *required, const struct required_relation *relation,
		    required_view_fn view, const void *context, struct diagnostics *diagnostics)
{
	const struct catalog_relation *known = relation->relation;
	for (size_t i = 0; i < required->policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &required->policy->required_columns[i];
		bool named = names(required, rule->table, relation->schema, relation->name);
		bool holds = required_holds(required, (struct required_end){ relation->item, rule->column });
		struct sql_policy only = { .required_columns = rule, .required_columns_count = 1 };
		if (named ? holds : !known || !known->is_view)
			continue;
		if (!named) {
			if (holds && has_column(required, known, rule->column))
				continue;
			bool readable = str_present(known->definition) && known->definition.len > 0;
			if (readable ? !view(required, known, &only, context)
				     : !has_column(required, known, rule->column))
				continue;
		}
		report(required, relation, rule, !named, diagnostics);
	}
}

static str_t did_you_mean(const struct nearest *nearest, struct arena *arena)
{
	return str_present(nearest->best) && !str_equal(nearest->best, nearest->name)
		       ? arena_printf(arena, "; did you mean \"" STR_FMT "\"?", STR_ARG(nearest->best))
		       : STR("");
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
			    STR_ARG(did_you_mean(&nearest, arena)));
}

str_t required_misnamed(const struct sql_required_column *rule, const struct catalog *catalog,
			struct arena *arena)
{
	struct required required = { .any_case = catalog_dialect(catalog) != SQL_POSTGRESQL };
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
			    STR_ARG(did_you_mean(&nearest, arena)));
}
