#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

#include "common/nearest.h"

#include "catalog/pg_type_d.h"

static void report_unknown_table(struct resolver *resolver, const RangeVar *var)
{
	struct nearest nearest;
	size_t count = 0;
	str_t name = str_from(var->relname);
	const struct catalog_relation *relations = catalog_relations(resolver->catalog, &count);
	nearest_init(&nearest, name);
	bool wants_hint = resolver_wants_hint(resolver);
	for (size_t i = 0; i < count && wants_hint; i++) {
		if (!relations[i].is_system)
			nearest_offer(&nearest, relations[i].name);
	}
	str_t object = var->schemaname ? arena_printf(resolver->arena, "%s.%s", var->schemaname, var->relname)
				       : name;
	str_t hint = nearest.best.ptr ? arena_printf(resolver->arena, "; did you mean \"" STR_FMT "\"?",
						     STR_ARG(nearest.best))
				      : STR("");
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_TABLE, SUB_NONE, object, var->location,
			"relation \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(object), STR_ARG(hint));
}

static void relation_columns(struct resolver *resolver, const struct catalog_relation *relation,
			     struct outputs *outputs)
{
	struct range_column *columns = outputs_extend(resolver, outputs, relation->columns_count);
	outputs->open |= relation->is_open;
	for (size_t i = 0; columns && i < relation->columns_count; i++)
		columns[i] = (struct range_column){ .name = relation->columns[i].name,
						    .type = relation->columns[i].value_type,
						    .not_null = relation->columns[i].not_null };
}

static bool is_temporary_schema(const char *schema)
{
	return schema && strncmp(schema, "pg_temp", strlen("pg_temp")) == 0;
}

static struct range_item *base_relation(struct resolver *resolver, const RangeVar *var)
{
	struct range_item *item = range_item_new(resolver, RANGE_RELATION, (const Node *)var);
	struct outputs outputs = { 0 };
	item->schema = str_from(var->schemaname);
	item->name = str_from(var->relname);
	item->alias = item->name;
	item->relation = catalog_relation_named(resolver->catalog, item->schema, item->name);
	if (resolver_names_other_database(resolver, var->catalogname, var->location)) {
		outputs.open = true;
	} else if (item->relation) {
		item->schema = item->relation->schema;
		relation_columns(resolver, item->relation, &outputs);
	} else {
		outputs.open = true;
		if (resolver->catalog && catalog_may_lack_relation(resolver->catalog, item->name))
			resolver_note_missing(resolver, "relation", item->name);
		else if (resolver->catalog && !is_temporary_schema(var->schemaname))
			report_unknown_table(resolver, var);
	}
	item_adopt_columns(resolver, item, &outputs, var->alias);
	return item;
}

static struct range_item *cte_reference(struct resolver *resolver, struct scope *scope, const RangeVar *var,
					struct cte_entry *entry)
{
	struct range_item *item = range_item_new(resolver, RANGE_CTE, (const Node *)var);
	if (entry->state == CTE_PENDING)
		resolve_cte(resolver, entry);
	if (entry->state == CTE_ACTIVE) {
		cte_check_self_reference(resolver, entry, var);
		scope->reads_recursion = true;
	}
	struct outputs outputs = outputs_copy(resolver, &entry->outputs);
	outputs.open |= !entry->has_outputs;
	item->cte = entry->cte;
	item->name = item->alias = str_from(var->relname);
	item_adopt_columns(resolver, item, &outputs, var->alias);
	return item;
}

static void from_relation(struct resolver *resolver, struct scope *scope, const RangeVar *var,
			  struct namespace *names)
{
	struct cte_entry *entry = var->schemaname ? NULL : cte_lookup(scope, str_from(var->relname));
	namespace_append_item(resolver, names,
			      entry ? cte_reference(resolver, scope, var, entry)
				    : base_relation(resolver, var));
}

static void from_subselect(struct resolver *resolver, struct scope *scope, const RangeSubselect *sub,
			   struct namespace *names)
{
	struct outputs outputs = { 0 };
	bool lateral = scope->lateral_active;
	scope->lateral_active = sub->lateral;
	scope->place = PLACE_FROM_SUBSELECT;
	if (IsA(sub->subquery, SelectStmt))
		resolve_select(resolver, scope, (const SelectStmt *)sub->subquery, &outputs);
	else
		outputs.open = true;
	scope->lateral_active = lateral;
	scope->place = PLACE_OTHER;
	struct range_item *item = range_item_new(resolver, RANGE_SUBQUERY, (const Node *)sub);
	outputs = outputs_copy(resolver, &outputs);
	item_adopt_columns(resolver, item, &outputs, sub->alias);
	namespace_append_item(resolver, names, item);
}

/* Only what holds rows itself can be sampled. */
static void check_sampled(struct resolver *resolver, const RangeTableSample *sample,
			  const struct namespace *names)
{
	const struct range_item *item = names->count > 0 ? names->entries[names->count - 1]->item : NULL;
	if (!item ||
	    (item->kind == RANGE_RELATION && (!item->relation || strchr("rpm", item->relation->kind))))
		return;
	resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_SAMPLE, "0A000", sample->location,
			     "TABLESAMPLE: \"" STR_FMT "\" is no table and no materialized view",
			     STR_ARG(item->alias));
}

/* The methods of PostgreSQL itself take one number; those of extensions are not known. */
static bool is_builtin_method(const List *names)
{
	return names_are_system(names) && STR_IS_ANY(names_qualified(names).name, "system", "bernoulli");
}

static void check_method(struct resolver *resolver, const RangeTableSample *sample)
{
	struct qualified_name method = names_qualified(sample->method);
	if (!resolver_knows_types(resolver) || list_length(sample->method) > 2 ||
	    !catalog_lacks_sampling(resolver->catalog, method.schema, method.name))
		return;
	resolver_report_type(resolver, DIAG_UNKNOWN_FUNCTION, SUB_UNKNOWN_FUNCTION_SAMPLE,
			     resolver_missing_sqlstate(resolver, method.schema, "42704"), sample->location,
			     "TABLESAMPLE: there is no method \"" STR_FMT "\"", STR_ARG(method.name));
}

static void from_sample(struct resolver *resolver, struct scope *scope, const RangeTableSample *sample,
			struct namespace *names)
{
	const ListCell *cell;
	resolve_from_item(resolver, scope, sample->relation, names);
	check_sampled(resolver, sample, names);
	check_method(resolver, sample);
	bool is_builtin = is_builtin_method(sample->method);
	if (is_builtin && list_length(sample->args) != 1)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_SAMPLE, "2202H",
				     sample->location, "TABLESAMPLE: %s takes one argument, not %d",
				     names_last(sample->method), list_length(sample->args));
	foreach(cell, sample->args)
	{
		type_id type = resolve_expression(resolver, scope, lfirst(cell));
		if (is_builtin)
			resolver_coerce_or_report(resolver, lfirst(cell), type, FLOAT4OID, "TABLESAMPLE");
	}
	if (sample->repeatable)
		resolver_coerce_or_report(resolver, sample->repeatable,
					  resolve_expression(resolver, scope, sample->repeatable), FLOAT8OID,
					  "REPEATABLE");
}

void resolve_from_item(struct resolver *resolver, struct scope *scope, const Node *node,
		       struct namespace *names)
{
	if (!resolver_enter(resolver))
		return;
	switch (nodeTag(node)) {
	case T_RangeVar:
		from_relation(resolver, scope, (const RangeVar *)node, names);
		break;
	case T_RangeSubselect:
		from_subselect(resolver, scope, (const RangeSubselect *)node, names);
		break;
	case T_RangeFunction:
		resolve_from_function(resolver, scope, (const RangeFunction *)node, names);
		break;
	case T_RangeTableFunc:
		resolve_from_table_function(resolver, scope, (const RangeTableFunc *)node, names);
		break;
	case T_RangeTableSample:
		from_sample(resolver, scope, (const RangeTableSample *)node, names);
		break;
	case T_JoinExpr:
		resolve_from_join(resolver, scope, (const JoinExpr *)node, names);
		break;
	default:
		break;
	}
	resolver_leave(resolver);
}

void resolve_from(struct resolver *resolver, struct scope *scope, const List *from)
{
	const ListCell *cell;
	scope->in_from = true;
	foreach(cell, from)
	{
		struct namespace names = { 0 };
		resolve_from_item(resolver, scope, lfirst(cell), &names);
		namespace_check_conflicts(resolver, scope->names, &names);
		namespace_join(resolver, scope->names, &names);
		if (scope->names->count > RESOLVE_MAX_RELATIONS)
			resolver_give_up(resolver);
		if (resolver->resolution->too_deep)
			return;
	}
	scope->in_from = false;
}
