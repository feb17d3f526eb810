#include "sql/mysql/scope.h"

#include "common/nearest.h"
#include <ctype.h>
#include <strings.h>

struct query_columns *mysql_columns_new(struct mysql_resolver *resolver, const str_t *names, size_t count)
{
	struct query_columns *columns = ARENA_NEW(resolver->arena, struct query_columns);
	columns->names = names;
	columns->count = count;
	hash_map_init(&columns->map, resolver->arena, count);
	for (size_t i = 0; i < count; i++) {
		str_t *entry = ARENA_NEW(resolver->arena, str_t);
		*entry = names[i];
		hash_map_set(&columns->map, identifier_lower(names[i], resolver->arena), entry);
	}
	resolver->lookups += count;
	return columns;
}

const struct query_columns *mysql_relation_columns(struct mysql_resolver *resolver,
						   const struct catalog_relation *relation)
{
	const struct catalog_relation **key = arena_alloc(resolver->arena, sizeof *key);
	*key = relation;
	str_t address = { (const char *)key, sizeof *key };
	struct query_columns *columns = hash_map_get(&resolver->relations, address);
	if (columns)
		return columns;
	str_t *names = ARENA_ARRAY(resolver->arena, str_t, relation->columns_count);
	for (size_t i = 0; i < relation->columns_count; i++)
		names[i] = relation->columns[i].name;
	columns = mysql_columns_new(resolver, names, relation->columns_count);
	columns->open = relation->is_open;
	hash_map_set(&resolver->relations, address, columns);
	return columns;
}

static str_t folded_key(struct mysql_resolver *resolver, str_t schema, str_t name)
{
	str_t key = arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(schema), STR_ARG(name));
	return identifier_lower(key, resolver->arena);
}

static void fold_relations(struct mysql_resolver *resolver)
{
	size_t count;
	const struct catalog_relation *relations = catalog_relations(resolver->request->catalog, &count);
	hash_map_init(&resolver->folded, resolver->arena, 2 * count);
	for (size_t i = 0; i < count; i++) {
		union {
			const struct catalog_relation *relation;
			void *value;
		} entry = { .relation = &relations[i] };
		hash_map_set(&resolver->folded, folded_key(resolver, relations[i].schema, relations[i].name),
			     entry.value);
		if (catalog_on_path(resolver->request->catalog, relations[i].schema))
			hash_map_set(&resolver->folded, folded_key(resolver, STR(""), relations[i].name),
				     entry.value);
	}
	resolver->folded_ready = true;
}

const struct catalog_relation *mysql_relation_find(struct mysql_resolver *resolver, str_t schema, str_t name)
{
	const struct catalog *catalog = resolver->request->catalog;
	if (!catalog)
		return NULL;
	const struct catalog_relation *exact = str_present(schema) ? catalog_relation(catalog, schema, name)
								   : catalog_relation_on_path(catalog, name);
	if (exact)
		return exact;
	if (!resolver->folded_ready)
		fold_relations(resolver);
	return hash_map_get(&resolver->folded,
			    folded_key(resolver, str_present(schema) ? schema : STR(""), name));
}

bool mysql_relation_implicit(const struct query_node *relation)
{
	str_t name = relation->name;
	if (name.len > 4 && strncasecmp(name.ptr, "seq_", 4) == 0 && isdigit((unsigned char)name.ptr[4]))
		return true;
	return IDENTIFIER_IS_ANY(relation->schema, "information_schema", "mysql", "performance_schema",
				 "sys");
}

void mysql_report_relation(struct mysql_resolver *resolver, const struct query_node *relation)
{
	struct nearest nearest;
	size_t count;
	const struct catalog_relation *relations = catalog_relations(resolver->request->catalog, &count);
	if (resolver->diagnostics->count >= DIAGNOSTICS_MAX)
		return;
	nearest_init(&nearest, relation->name);
	for (size_t i = 0; i < count && resolver->offers < MYSQL_MAX_OFFERS; i++, resolver->offers++)
		nearest_offer(&nearest, relations[i].name);
	str_t hint = nearest.best.ptr ? arena_printf(resolver->arena, "; did you mean `" STR_FMT "`?",
						     STR_ARG(nearest.best))
				      : STR("");
	str_t name = relation->name;
	if (str_present(relation->schema))
		name = arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(relation->schema),
				    STR_ARG(relation->name));
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_TABLE, SUB_NONE, name, (int64_t)relation->offset,
			"table `" STR_FMT "` does not exist" STR_FMT, STR_ARG(name), STR_ARG(hint));
}
