#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

#include "common/nearest.h"

#include "catalog/pg_type_d.h"

static str_t hint(struct resolver *resolver, str_t best)
{
	return best.ptr ? arena_printf(resolver->arena, "; did you mean \"" STR_FMT "\"?", STR_ARG(best))
			: STR("");
}

static void offer_columns(struct nearest *nearest, const struct range_item *item)
{
	for (size_t i = 0; i < item->columns_count; i++)
		nearest_offer(nearest, item->columns[i].name);
}

static void offer_names(struct nearest *nearest, const struct namespace *namespace)
{
	for (size_t i = 0; namespace && i < namespace->count; i++)
		offer_columns(nearest, namespace->entries[i]->item);
}

static const struct range_item *with_column(const struct namespace *namespace, const struct range_item *other,
					    str_t name)
{
	for (size_t i = 0; namespace && i < namespace->count; i++) {
		const struct range_item *item = namespace->entries[i]->item;
		if (item != other && str_present(item->alias) &&
		    range_columns_find(item->columns, item->columns_count, name))
			return item;
	}
	return NULL;
}

/* The same column of another relation in scope, as PostgreSQL offers it; or absent. */
static str_t elsewhere(struct resolver *resolver, const struct scope *scope, const struct range_item *other,
		       str_t name)
{
	const struct range_item *found = NULL;
	for (; scope && !found; scope = scope->parent) {
		found = with_column(scope->names, other, name);
		for (const struct left_side *side = scope->sides; side && !found; side = side->outer)
			found = with_column(side->names, other, name);
	}
	return found ? arena_printf(resolver->arena, "; did you mean \"" STR_FMT "\".\"" STR_FMT "\"?",
				    STR_ARG(found->alias), STR_ARG(name))
		     : STR_NONE;
}

static void report_unknown(struct resolver *resolver, const struct scope *scope, const ColumnRef *column,
			   str_t name)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	bool wants_hint = resolver_wants_hint(resolver);
	for (; scope && wants_hint; scope = scope->parent) {
		offer_names(&nearest, scope->names);
		for (const struct left_side *side = scope->sides; side; side = side->outer)
			offer_names(&nearest, side->names);
	}
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, name, column->location,
			"column \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(name),
			STR_ARG(hint(resolver, nearest.best)));
}

/* `scope`: where the column may be found otherwise, or NULL. */
static void report_out_of_scope(struct resolver *resolver, const struct scope *scope, const ColumnRef *column,
				str_t relation, const char *sqlstate)
{
	const Node *last = llast(column->fields);
	str_t mend = scope && IsA(last, String) && resolver_wants_hint(resolver)
			     ? elsewhere(resolver, scope, NULL, str_from(NODE_STRING(last)))
			     : STR_NONE;
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_JOIN, SUB_NONE, sqlstate, relation,
			      column->location,
			      "\"" STR_FMT "\" is not a relation that can be referred to here" STR_FMT,
			      STR_ARG(relation), STR_ARG(str_present(mend) ? mend : STR("")));
}

static void record(struct resolver *resolver, const ColumnRef *column, struct resolved_column resolved)
{
	struct resolved_column *copy = ARENA_NEW(resolver->arena, struct resolved_column);
	*copy = resolved;
	resolver_record(resolver, column, copy);
	resolver->marks.columns |= resolved.item ? level_bit(resolved.level) : 0;
	resolver->marks.unsure |= resolved.kind == COLUMN_UNSURE || resolved.kind == COLUMN_UNKNOWN;
}

static type_id system_column_type(str_t name)
{
	return str_is(name, "ctid")	  ? TIDOID
	       : str_is(name, "tableoid") ? OIDOID
	       : name.ptr[0] == 'x'	  ? XIDOID
					  : CIDOID;
}

static type_id record_found(struct resolver *resolver, const ColumnRef *column, struct found_column found)
{
	record(resolver, column,
	       (struct resolved_column){ .kind = found.is_system ? COLUMN_SYSTEM : COLUMN_OF_ITEM,
					 .item = found.item,
					 .level = found.level,
					 .column = found.column });
	if (found.is_system)
		return system_column_type(str_from(names_last(column->fields)));
	return found.item->columns[found.column].type;
}

/* A function by itself that gives plain values stands for the value; else its row has a type of its own. */
static type_id function_value(const struct resolver *resolver, const struct range_item *item)
{
	if (!resolver_knows_types(resolver) || !IsA(item->node, RangeFunction))
		return TYPE_UNSURE;
	const RangeFunction *range = (const RangeFunction *)item->node;
	if (range->ordinality || list_length(range->functions) != 1)
		return TYPE_UNSURE;
	type_id type = resolution_type(resolver->resolution, linitial(linitial_node(List, range->functions)));
	const struct catalog_type *value =
		catalog_type(resolver->catalog, catalog_type_base(resolver->catalog, type));
	return value && value->kind != 'c' && value->kind != 'p' ? type : TYPE_UNSURE;
}

/* The row of an item: of the relation's own type, or, of a function with one plain column, that value. */
static type_id row_type(const struct resolver *resolver, const struct range_item *item)
{
	if (item->relation)
		return item->relation->row_type;
	if (item->kind == RANGE_FUNCTION)
		return function_value(resolver, item);
	return RECORDOID;
}

static type_id resolve_unqualified(struct resolver *resolver, struct scope *scope, const ColumnRef *column,
				   str_t name)
{
	struct found_column found;
	const struct range_item *item;
	unsigned level = 0;
	enum lookup result = resolve_lookup_column(resolver, scope, name, false, &found);
	if (result == LOOKUP_FOUND)
		return record_found(resolver, column, found);
	if (result == LOOKUP_FORBIDDEN) {
		report_out_of_scope(resolver, NULL, column, name, "42P10");
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (result == LOOKUP_AMBIGUOUS) {
		diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, SUB_NONE, name,
				column->location,
				"column reference \"" STR_FMT "\" is ambiguous: several relations have it",
				STR_ARG(name));
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (resolve_lookup_item(resolver, scope, STR_NONE, name, &item, &level) == LOOKUP_FOUND) {
		record(resolver, column,
		       (struct resolved_column){ .kind = COLUMN_WHOLE_ROW, .item = item, .level = level });
		return row_type(resolver, item);
	} else if (result == LOOKUP_UNSURE || resolver->resolution->too_deep) {
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNSURE });
	} else {
		report_unknown(resolver, scope, column, name);
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	}
	return TYPE_UNSURE;
}

/* What `item` is worth where it stands for a value: its row, or the plain value of a function. */
static type_id value_type(const struct resolver *resolver, const struct range_item *item)
{
	if (item->kind != RANGE_FUNCTION)
		return row_type(resolver, item);
	return item->columns_count == 1 && !item->open ? item->columns[0].type : TYPE_UNSURE;
}

/* `item.name` for the call name(item), which may be that of an aggregate. */
static type_id record_call(struct resolver *resolver, struct scope *scope, const ColumnRef *column,
			   struct resolved_column resolved, const struct catalog_function *function,
			   type_id type)
{
	struct marks arguments = { .columns = level_bit(resolved.level) };
	unsigned level;
	record(resolver, column, resolved);
	if (!function)
		return type;
	if (function->kind == 'a' && function->aggregate == 'n')
		place_check_aggregate(resolver, scope, &arguments, resolved.call.ptr, column->location,
				      &level);
	else if (function->kind == 'a' || function->kind == 'w')
		diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_AGGREGATE, SUB_NONE, "42809",
				      resolved.call, column->location,
				      "\"" STR_FMT "\" cannot be called without WITHIN GROUP or OVER",
				      STR_ARG(resolved.call));
	return type;
}

/* `item.name` that is no column: attribute notation for name(item), or nothing. In doubt it is a call to
 * safety. */
static type_id resolve_attribute(struct resolver *resolver, struct scope *scope, const ColumnRef *column,
				 const struct range_item *item, unsigned level, str_t name)
{
	struct resolved_column resolved = { .kind = COLUMN_UNKNOWN, .item = item, .level = level };
	const struct catalog_function *function = NULL;
	type_id type = TYPE_UNSURE;
	resolver_suspect(resolver, name, column->location, true, (const Node *)column);
	enum overload_result result =
		resolver_knows_types(resolver)
			? resolve_call_by_attribute(resolver, value_type(resolver, item), name, &function,
						    &type)
			: OVERLOAD_NONE;
	if (result != OVERLOAD_NONE && result != OVERLOAD_AMBIGUOUS) {
		resolved.kind = COLUMN_SUSPECTED_CALL;
		resolved.call = name;
		return record_call(resolver, scope, column, resolved, function, type);
	}
	resolver_note_missing(resolver, "function", name);
	struct nearest nearest;
	nearest_init(&nearest, name);
	bool wants_hint = resolver_wants_hint(resolver);
	str_t mend = wants_hint ? elsewhere(resolver, scope, item, name) : STR_NONE;
	if (wants_hint && !str_present(mend))
		offer_columns(&nearest, item);
	if (!str_present(mend))
		mend = hint(resolver, nearest.best);
	str_t object =
		arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(item->alias), STR_ARG(name));
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, object, column->location,
			"column \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(object), STR_ARG(mend));
	record(resolver, column, resolved);
	return TYPE_UNSURE;
}

static type_id resolve_in_item(struct resolver *resolver, struct scope *scope, const ColumnRef *column,
			       const struct range_item *item, unsigned level, str_t name)
{
	struct found_column found;
	switch (item_lookup(resolver, item, name, &found)) {
	case LOOKUP_FOUND:
		found.level = level;
		return record_found(resolver, column, found);
	case LOOKUP_AMBIGUOUS:
		diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, SUB_NONE, name,
				column->location,
				"column reference \"" STR_FMT "\" is ambiguous: \"" STR_FMT
				"\" has it more than once",
				STR_ARG(name), STR_ARG(item->alias));
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN, .item = item });
		break;
	case LOOKUP_UNSURE:
		resolver_suspect(resolver, name, column->location, false, (const Node *)column);
		record(resolver, column,
		       (struct resolved_column){ .kind = COLUMN_UNSURE, .item = item, .call = name });
		break;
	case LOOKUP_MISSING:
	case LOOKUP_FORBIDDEN:
		return resolve_attribute(resolver, scope, column, item, level, name);
	}
	return TYPE_UNSURE;
}

static str_t field_at(const List *fields, int at)
{
	return str_from(NODE_STRING(list_nth(fields, at)));
}

/* `[database.][schema.]relation.column`, or `.*` for the column. */
static type_id resolve_qualified(struct resolver *resolver, struct scope *scope, const ColumnRef *column)
{
	int count = list_length(column->fields);
	str_t relation = field_at(column->fields, count - 2);
	str_t schema = count > 2 ? field_at(column->fields, count - 3) : STR_NONE;
	const struct range_item *item = NULL;
	unsigned level = 0;
	const Node *last = llast(column->fields);
	if (resolver_list_names_other_database(resolver, column->fields, 3, column->location)) {
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
		return TYPE_UNSURE;
	}
	enum lookup result = resolve_lookup_item(resolver, scope, schema, relation, &item, &level);
	if (result == LOOKUP_AMBIGUOUS) {
		diagnostics_add_state(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, SUB_NONE, "42P09",
				      relation, column->location,
				      "table reference \"" STR_FMT "\" is ambiguous", STR_ARG(relation));
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (result != LOOKUP_FOUND) {
		report_out_of_scope(resolver, scope, column, relation,
				    result == LOOKUP_FORBIDDEN ? "42P10"
				    : count > 3		       ? "0A000"
							       : "42P01");
		str_t call = IsA(last, String) ? str_from(NODE_STRING(last)) : STR_NONE;
		if (call.ptr)
			resolver_suspect(resolver, call, column->location, true, (const Node *)column);
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (IsA(last, A_Star)) {
		record(resolver, column,
		       (struct resolved_column){ .kind = COLUMN_STAR, .item = item, .level = level });
		return row_type(resolver, item);
	} else {
		return resolve_in_item(resolver, scope, column, item, level, str_from(NODE_STRING(last)));
	}
	return TYPE_UNSURE;
}

type_id resolve_column_ref(struct resolver *resolver, struct scope *scope, const ColumnRef *column)
{
	const Node *first = linitial(column->fields);
	if (IsA(first, A_Star)) {
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_STAR });
		return TYPE_UNSURE;
	}
	if (list_length(column->fields) == 1)
		return resolve_unqualified(resolver, scope, column, str_from(NODE_STRING(first)));
	return resolve_qualified(resolver, scope, column);
}
