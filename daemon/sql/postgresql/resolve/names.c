#include "sql/postgresql/resolve/internal.h"

#include "common/hash.h"
#include "sql/postgresql/node_children.h"

#include "catalog/pg_type_d.h"

static const char *const system_columns[] = { "ctid", "xmin", "cmin", "xmax", "cmax", "tableoid" };

static bool is_system_column(str_t name)
{
	if (name.len != 4 && name.len != 8) /* as all of them */
		return false;
	for (size_t i = 0; i < sizeof system_columns / sizeof *system_columns; i++) {
		if (str_is(name, system_columns[i]))
			return true;
	}
	return false;
}

static bool work_left(struct resolver *resolver, size_t comparisons)
{
	resolver->comparisons += comparisons;
	if (resolver->comparisons > RESOLVE_MAX_COMPARISONS)
		resolver_give_up(resolver);
	return resolver->comparisons <= RESOLVE_MAX_COMPARISONS;
}

/* Once so many names were compared, hashes are worth their while. */
#define FEW_NAMES ((size_t)4096)

/* So many of them are compared while one name is. */
#define HASHES_PER_NAME 4

struct name_hashes {
	const uint32_t *of_columns;
};

uint32_t name_hash(str_t name)
{
	return (uint32_t)hash_seeded(name.ptr, name.len);
}

const uint32_t *item_name_hashes(struct resolver *resolver, const struct range_item *item)
{
	if (item->hashes->of_columns)
		return item->hashes->of_columns;
	uint32_t *hashes = ARENA_ARRAY(resolver->arena, uint32_t, item->columns_count + 1);
	for (size_t i = 0; i < item->columns_count; i++)
		hashes[i] = name_hash(item->columns[i].name);
	item->hashes->of_columns = hashes;
	return hashes;
}

struct range_item *range_item_new(struct resolver *resolver, enum range_kind kind, const Node *node)
{
	struct range_item *item = ARENA_NEW(resolver->arena, struct range_item);
	item->kind = kind;
	item->node = node;
	item->number = resolver->items++;
	item->hashes = ARENA_NEW(resolver->arena, struct name_hashes);
	resolver_record(resolver, node, item);
	return item;
}

/* The first column of that name from `at` on, or their number. */
static size_t next_column(const struct range_item *item, const uint32_t *hashes, uint32_t hash, str_t name,
			  size_t at)
{
	while (at < item->columns_count &&
	       ((hashes && hashes[at] != hash) || !str_equal(item->columns[at].name, name)))
		at++;
	return at;
}

enum lookup lookup_in_item(struct resolver *resolver, const struct range_item *item, str_t name,
			   struct found_column *ret_found)
{
	bool many = resolver->comparisons > FEW_NAMES;
	if (!work_left(resolver, many ? item->columns_count / HASHES_PER_NAME + 1 : item->columns_count))
		return LOOKUP_UNSURE;
	const uint32_t *hashes = many ? item_name_hashes(resolver, item) : NULL;
	uint32_t hash = hashes ? name_hash(name) : 0;
	size_t first = next_column(item, hashes, hash, name, 0);
	if (first < item->columns_count) {
		*ret_found = (struct found_column){ .item = item, .column = first };
		return next_column(item, hashes, hash, name, first + 1) < item->columns_count
			       ? LOOKUP_AMBIGUOUS
			       : LOOKUP_FOUND;
	}
	if (item->relation && !item->relation->is_view && is_system_column(name)) {
		*ret_found = (struct found_column){ .item = item, .is_system = true };
		return LOOKUP_FOUND;
	}
	return item->open ? LOOKUP_UNSURE : LOOKUP_MISSING;
}

/* What one level has found so far. */
struct level_search {
	size_t matches;
	bool ambiguous_inside;
	bool doubtful;
	bool open;
	bool forbidden;
	struct found_column found;
};

static void add_result(const struct visible *entry, enum lookup result, const struct found_column *found,
		       struct level_search *search)
{
	/* The join that hides a column shows one of its name. */
	if ((result == LOOKUP_FOUND || result == LOOKUP_AMBIGUOUS) && !found->is_system && entry->hidden &&
	    entry->hidden[found->column])
		return;
	switch (result) {
	case LOOKUP_FOUND:
		if (found->is_system && entry->joined)
			break;
		if (search->matches++ == 0)
			search->found = *found;
		search->doubtful |= entry->doubtful;
		search->forbidden |= entry->lateral_only && !entry->lateral_ok;
		break;
	case LOOKUP_AMBIGUOUS:
		search->ambiguous_inside = true;
		break;
	case LOOKUP_UNSURE:
		search->open = true;
		break;
	case LOOKUP_MISSING:
	case LOOKUP_FORBIDDEN:
		search->open |= entry->doubtful;
		break;
	}
}

/* What was found by name in a scope whose names stay as they are. */
struct found_names {
	struct hash_map columns; /* to struct remembered_column */
	struct hash_map items;	 /* to struct remembered_item */
	struct hash_map places;	 /* to struct name_place: the first one of a name */
	bool has_places;
	size_t unsure; /* entries that may have columns that are not known */
};

/* A column that shows, and the next one of its name. */
struct name_place {
	size_t entry, column;
	const struct name_place *next;
};

struct remembered_column {
	enum lookup result;
	struct found_column found;
};

struct remembered_item {
	enum lookup result;
	const struct range_item *item;
};

void scope_remember_names(struct resolver *resolver, struct scope *scope)
{
	if (scope->names.count <= 2)
		return;
	scope->found = ARENA_NEW(resolver->arena, struct found_names);
	scope->found->columns.arena = scope->found->items.arena = resolver->arena;
}

static bool shows_columns(const struct scope *scope, const struct visible *entry)
{
	return entry->columns_visible && !(entry->lateral_only && !scope->lateral_active);
}

static bool is_unsure(const struct visible *entry)
{
	return entry->item->open || entry->doubtful;
}

static bool index_names(struct resolver *resolver, const struct scope *scope, struct found_names *found)
{
	size_t columns = 0;
	for (size_t i = 0; i < scope->names.count; i++)
		if (shows_columns(scope, &scope->names.entries[i]))
			columns += scope->names.entries[i].item->columns_count;
	if (!work_left(resolver, columns))
		return false;
	struct name_place *places = ARENA_ARRAY(resolver->arena, struct name_place, columns + 1);
	hash_map_init(&found->places, resolver->arena, columns);
	found->has_places = true;
	for (size_t i = scope->names.count; i > 0; i--) {
		const struct visible *entry = &scope->names.entries[i - 1];
		if (!shows_columns(scope, entry))
			continue;
		found->unsure += is_unsure(entry);
		for (size_t j = entry->item->columns_count; j > 0; j--) {
			struct name_place *place = &places[--columns];
			*place = (struct name_place){ .entry = i - 1, .column = j - 1 };
			place->next = hash_map_set(&found->places, entry->item->columns[j - 1].name, place);
		}
	}
	return true;
}

/* By the index, which has no system columns. */
static void search_places(struct resolver *resolver, const struct scope *scope, str_t name,
			  struct level_search *search)
{
	size_t unsure = 0;
	if (!scope->found->has_places && !index_names(resolver, scope, scope->found)) {
		search->open = true;
		return;
	}
	const struct name_place *place = hash_map_get(&scope->found->places, name);
	while (place) {
		const struct visible *entry = &scope->names.entries[place->entry];
		struct found_column found = { .item = entry->item, .column = place->column };
		size_t first = place->entry, count = 0;
		for (; place && place->entry == first; place = place->next)
			count++;
		add_result(entry, count > 1 ? LOOKUP_AMBIGUOUS : LOOKUP_FOUND, &found, search);
		unsure += is_unsure(entry);
	}
	search->open |= unsure < scope->found->unsure;
}

static void search_entries(struct resolver *resolver, const struct scope *scope, str_t name,
			   struct level_search *search)
{
	for (size_t i = 0; i < scope->names.count; i++) {
		const struct visible *entry = &scope->names.entries[i];
		struct found_column found;
		if (shows_columns(scope, entry))
			add_result(entry, lookup_in_item(resolver, entry->item, name, &found), &found,
				   search);
	}
}

static enum lookup search_names(struct resolver *resolver, const struct scope *scope, str_t name, bool many,
				struct found_column *ret_found)
{
	struct level_search search = { 0 };
	if (many && !is_system_column(name))
		search_places(resolver, scope, name, &search);
	else
		search_entries(resolver, scope, name, &search);
	if (search.matches + search.ambiguous_inside == 0)
		return search.open ? LOOKUP_UNSURE : LOOKUP_MISSING;
	if (search.matches > 1 || search.ambiguous_inside)
		return search.doubtful ? LOOKUP_UNSURE : LOOKUP_AMBIGUOUS;
	*ret_found = search.found;
	ret_found->level = scope->level;
	return search.forbidden ? LOOKUP_FORBIDDEN : LOOKUP_FOUND;
}

static enum lookup search_level(struct resolver *resolver, const struct scope *scope, str_t name,
				struct found_column *ret_found)
{
	if (!scope->found || resolver->comparisons <= FEW_NAMES)
		return search_names(resolver, scope, name, false, ret_found);
	struct remembered_column *remembered = hash_map_get(&scope->found->columns, name);
	if (!remembered) {
		remembered = ARENA_NEW(resolver->arena, struct remembered_column);
		remembered->result = search_names(resolver, scope, name, true, &remembered->found);
		(void)hash_map_set(&scope->found->columns, name, remembered);
	}
	*ret_found = remembered->found;
	return remembered->result;
}

enum lookup lookup_column(struct resolver *resolver, const struct scope *scope, str_t name, bool local,
			  struct found_column *ret_found)
{
	for (; scope; scope = scope->parent) {
		enum lookup result = search_level(resolver, scope, name, ret_found);
		if (local || result != LOOKUP_MISSING)
			return result;
	}
	return LOOKUP_MISSING;
}

/* `schema.table` names a relation that has no alias of its own. */
static bool item_matches(const struct range_item *item, str_t schema, str_t name)
{
	if (!str_present(schema))
		return str_equal(item->alias, name);
	if (item->kind != RANGE_RELATION || !str_equal(item->name, name) || !str_equal(item->alias, name))
		return false;
	return str_equal(item->schema, schema) || (!item->relation && !str_present(item->schema));
}

static enum lookup search_items(const struct scope *scope, str_t schema, str_t name,
				const struct range_item **ret_item)
{
	size_t matches = 0;
	bool forbidden = false;
	for (size_t i = 0; i < scope->names.count; i++) {
		const struct visible *entry = &scope->names.entries[i];
		if (!entry->relation_visible || (entry->lateral_only && !scope->lateral_active) ||
		    !item_matches(entry->item, schema, name))
			continue;
		if (matches++ == 0)
			*ret_item = entry->item;
		forbidden |= entry->lateral_only && !entry->lateral_ok;
	}
	if (matches != 1)
		return matches > 1 ? LOOKUP_AMBIGUOUS : LOOKUP_MISSING;
	return forbidden ? LOOKUP_FORBIDDEN : LOOKUP_FOUND;
}

static enum lookup search_items_of(struct resolver *resolver, const struct scope *scope, str_t schema,
				   str_t name, const struct range_item **ret_item)
{
	if (!scope->found || str_present(schema) || scope->names.count <= RESOLVE_SHORT_LIST)
		return search_items(scope, schema, name, ret_item);
	struct remembered_item *remembered = hash_map_get(&scope->found->items, name);
	if (!remembered) {
		remembered = ARENA_NEW(resolver->arena, struct remembered_item);
		remembered->result = search_items(scope, schema, name, &remembered->item);
		(void)hash_map_set(&scope->found->items, name, remembered);
	}
	if (remembered->item)
		*ret_item = remembered->item;
	return remembered->result;
}

enum lookup lookup_item(struct resolver *resolver, const struct scope *scope, str_t schema, str_t name,
			const struct range_item **ret_item, unsigned *ret_level)
{
	for (; scope; scope = scope->parent) {
		enum lookup result = search_items_of(resolver, scope, schema, name, ret_item);
		if (result == LOOKUP_MISSING)
			continue;
		*ret_level = scope->level;
		return result;
	}
	return LOOKUP_MISSING;
}

struct cte_entry *lookup_cte(const struct scope *scope, str_t name)
{
	for (; scope; scope = scope->parent) {
		for (size_t i = 0; i < scope->ctes_count; i++) {
			if (str_is(name, scope->ctes[i].cte->ctename))
				return &scope->ctes[i];
		}
	}
	return NULL;
}

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

static void report_unknown(struct resolver *resolver, const struct scope *scope, const ColumnRef *column,
			   str_t name)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	bool wants_hint = resolver_wants_hint(resolver);
	for (; scope && wants_hint; scope = scope->parent) {
		for (size_t i = 0; i < scope->names.count; i++)
			offer_columns(&nearest, scope->names.entries[i].item);
	}
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, NULL, name, column->location,
			"column \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(name),
			STR_ARG(hint(resolver, nearest.best)));
}

static void report_out_of_scope(struct resolver *resolver, const ColumnRef *column, str_t relation,
				const char *sqlstate)
{
	diagnostics_add_state(
		resolver->diagnostics, DIAG_INVALID_JOIN, NULL, sqlstate, relation, column->location,
		"\"" STR_FMT "\" is not a relation that can be referred to here", STR_ARG(relation));
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
	enum lookup result = lookup_column(resolver, scope, name, false, &found);
	if (result == LOOKUP_FOUND)
		return record_found(resolver, column, found);
	if (result == LOOKUP_FORBIDDEN) {
		report_out_of_scope(resolver, column, name, "42P10");
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (result == LOOKUP_AMBIGUOUS) {
		diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, NULL, name, column->location,
				"column reference \"" STR_FMT "\" is ambiguous: several relations have it",
				STR_ARG(name));
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (lookup_item(resolver, scope, STR_NONE, name, &item, &level) == LOOKUP_FOUND) {
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
		check_aggregate_place(resolver, scope, &arguments, resolved.call.ptr, column->location,
				      &level);
	else if (function->kind == 'a' || function->kind == 'w')
		diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_AGGREGATE, NULL, "42809",
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
			? call_by_attribute(resolver, value_type(resolver, item), name, &function, &type)
			: OVERLOAD_NONE;
	if (result != OVERLOAD_NONE && result != OVERLOAD_AMBIGUOUS) {
		resolved.kind = COLUMN_SUSPECTED_CALL;
		resolved.call = name;
		return record_call(resolver, scope, column, resolved, function, type);
	}
	struct nearest nearest;
	nearest_init(&nearest, name);
	if (resolver_wants_hint(resolver))
		offer_columns(&nearest, item);
	str_t object =
		arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(item->alias), STR_ARG(name));
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, NULL, object, column->location,
			"column \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(object),
			STR_ARG(hint(resolver, nearest.best)));
	record(resolver, column, resolved);
	return TYPE_UNSURE;
}

static type_id resolve_in_item(struct resolver *resolver, struct scope *scope, const ColumnRef *column,
			       const struct range_item *item, unsigned level, str_t name)
{
	struct found_column found;
	switch (lookup_in_item(resolver, item, name, &found)) {
	case LOOKUP_FOUND:
		found.level = level;
		return record_found(resolver, column, found);
	case LOOKUP_AMBIGUOUS:
		diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, NULL, name, column->location,
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
	enum lookup result = lookup_item(resolver, scope, schema, relation, &item, &level);
	if (result == LOOKUP_AMBIGUOUS) {
		diagnostics_add_state(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, NULL, "42P09", relation,
				      column->location, "table reference \"" STR_FMT "\" is ambiguous",
				      STR_ARG(relation));
		record(resolver, column, (struct resolved_column){ .kind = COLUMN_UNKNOWN });
	} else if (result != LOOKUP_FOUND) {
		report_out_of_scope(resolver, column, relation,
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
