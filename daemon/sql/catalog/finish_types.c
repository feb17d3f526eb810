#include "sql/catalog/finish.h"

/* Which ids a type's own stands among: PostgreSQL's constants, those of its initialisation, the users'. */
static int id_class(type_id id)
{
	return (id >= TYPE_ID_INITIAL) + (id >= TYPE_ID_USER);
}

static int compare_type_drafts(const void *left, const void *right)
{
	const struct catalog_type *a = &(*(struct type_draft *const *)left)->type;
	const struct catalog_type *b = &(*(struct type_draft *const *)right)->type;
	int order = id_class(a->id) - id_class(b->id);
	if (order != 0)
		return order;
	return id_class(a->id) == 0 ? finish_compare_ids(a->id, b->id)
				    : finish_compare_names(a->schema, a->name, b->schema, b->name);
}

static bool number_types(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->types;
	type_id next[3] = { 0, TYPE_ID_INITIAL, TYPE_ID_USER };
	finish->ids = ARENA_ARRAY(finish->builder->scratch, struct id_pair, drafts->count);
	finish->ids_count = drafts->count;
	finish_sort(drafts->items, drafts->count, sizeof *drafts->items, compare_type_drafts);
	for (size_t i = 0; i < drafts->count; i++) {
		type_id id = ((const struct type_draft *)drafts->items[i])->type.id;
		int kind = id_class(id);
		finish->ids[i] = (struct id_pair){ id, kind == 0 ? id : next[kind]++ };
	}
	finish_sort(finish->ids, finish->ids_count, sizeof *finish->ids, finish_compare_pairs);
	for (size_t i = 1; i < finish->ids_count; i++) {
		if (finish->ids[i - 1].from == finish->ids[i].from) {
			(void)err_fail(finish->detail, ERR_CATALOG_SYNTAX, "catalog: type %u comes twice",
				       finish->ids[i].from);
			return false;
		}
	}
	return true;
}

static void copy_labels(struct finish *finish, struct catalog_type *type)
{
	if (!type->labels)
		return;
	str_t *labels = ARENA_ARRAY(finish->arena, str_t, type->labels_count + 1);
	for (size_t i = 0; i < type->labels_count; i++)
		labels[i] = arena_str(finish->arena, type->labels[i]);
	type->labels = labels;
}

static void copy_type(struct finish *finish, struct catalog_type *type, const struct type_draft *draft)
{
	*type = draft->type;
	type->schema = finish_copy_schema(finish, type->schema);
	type->name = arena_str(finish->arena, type->name);
	type->text = STR_NONE;
	type_id *const references[] = { &type->id,   &type->element, &type->subscript, &type->array,
					&type->base, &type->subtype, &type->range };
	for (size_t i = 0; i < sizeof references / sizeof *references; i++)
		*references[i] = finish_id(finish, *references[i]);
	type->relation = NULL;
	type->multirange = TYPE_UNSURE;
	copy_labels(finish, type);
}

static bool index_types(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	for (size_t i = 0; i < catalog->types_count; i++) {
		struct catalog_type *type = &catalog->types[i];
		if (!catalog_index_type(catalog, finish->arena, type)) {
			(void)err_fail(finish->detail, ERR_CATALOG_SYNTAX,
				       "catalog: type " STR_FMT "." STR_FMT " comes twice",
				       STR_ARG(type->schema), STR_ARG(type->name));
			return false;
		}
	}
	for (size_t i = 0; i < catalog->types_count; i++) {
		const struct catalog_type *type = &catalog->types[i];
		struct catalog_type *range = catalog_added_type(finish->builder, type->range);
		if (range)
			range->multirange = type->id;
	}
	return true;
}

/* Arrays in a second pass: they are written by their elements. */
static void write_types(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	for (int arrays = 0; arrays < 2; arrays++) {
		for (size_t i = 0; i < catalog->types_count; i++) {
			struct catalog_type *type = &catalog->types[i];
			if ((catalog_array_element(catalog, type) != NULL) == (arrays == 1))
				type->text = catalog_type_write(catalog, type, finish->arena);
		}
	}
}

static void copy_type_columns(struct finish *finish)
{
	for (size_t i = 0; i < finish->catalog->types_count; i++) {
		struct catalog_type *type = &finish->catalog->types[i];
		if (type->columns_count > 0)
			type->columns = finish_copy_columns(finish, type->columns, type->columns_count);
	}
}

bool finish_types(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->types;
	struct catalog *catalog = finish->catalog;
	struct type_list *uses = ARENA_ARRAY(finish->builder->scratch, struct type_list, drafts->count);
	if (!number_types(finish))
		return false;
	catalog->types = ARENA_ARRAY(finish->arena, struct catalog_type, drafts->count);
	catalog->types_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		const struct type_draft *draft = drafts->items[i];
		copy_type(finish, &catalog->types[i], draft);
		uses[i] = (struct type_list){ finish_ids(finish, finish->builder->scratch, draft->uses.ids,
							 draft->uses.count),
					      draft->uses.count };
	}
	finish->type_uses = uses;
	if (!index_types(finish))
		return false;
	write_types(finish);
	copy_type_columns(finish);
	return true;
}

/* --- volatility of types --- */

enum { STATE_NEW, STATE_OPEN, STATE_DONE };

static char settle_volatility(struct finish *finish, type_id id, unsigned depth);

static char worst_of(struct finish *finish, const type_id *ids, size_t count, char volatility, unsigned depth)
{
	for (size_t i = 0; i < count && volatility != 'v'; i++)
		volatility = catalog_worse(volatility, settle_volatility(finish, ids[i], depth));
	return volatility;
}

/* The worst of the type and of all that it is made of. What cannot be followed counts as volatile. */
static char settle_volatility(struct finish *finish, type_id id, unsigned depth)
{
	struct catalog_type *type = catalog_added_type(finish->builder, id);
	if (!type) {
		const struct catalog_type *of_base = catalog_type(finish->catalog, id);
		return of_base ? of_base->volatility : 'i';
	}
	size_t at = (size_t)(type - finish->catalog->types);
	if (finish->type_states[at] == STATE_DONE)
		return type->volatility;
	if (finish->type_states[at] == STATE_OPEN || depth > TYPE_NESTING_MAX)
		return 'v';
	finish->type_states[at] = STATE_OPEN;
	const type_id parts[] = { type->element, type->base, type->subtype, type->range };
	char volatility = worst_of(finish, parts, sizeof parts / sizeof *parts, type->volatility, depth + 1);
	for (size_t i = 0; i < type->columns_count && volatility != 'v'; i++)
		volatility = catalog_worse(volatility,
					   settle_volatility(finish, type->columns[i].value_type, depth + 1));
	volatility = worst_of(finish, finish->type_uses[at].ids, finish->type_uses[at].count, volatility,
			      depth + 1);
	finish->type_states[at] = STATE_DONE;
	return type->volatility = volatility;
}

void finish_volatilities(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	finish->type_states = arena_calloc(finish->builder->scratch, catalog->types_count, 1);
	for (size_t i = 0; i < catalog->types_count; i++)
		(void)settle_volatility(finish, catalog->types[i].id, 0);
}

char finish_worst(struct finish *finish, char volatility, struct type_list uses)
{
	for (size_t i = 0; i < uses.count; i++) {
		const struct catalog_type *type =
			catalog_type(finish->catalog, finish_id(finish, uses.ids[i]));
		if (type)
			volatility = catalog_worse(volatility, type->volatility);
	}
	return volatility;
}
