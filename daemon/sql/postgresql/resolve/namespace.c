#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

#include "common/hash.h"

/* Something of a name, and the next of the same name. The end of a list has no entry. */
struct name_place {
	struct visible *entry;
	size_t column;
	struct name_place *next;
};

static struct name_place no_place;

enum names { COLUMN_NAMES, ITEM_NAMES, NAMES_COUNT };

struct name_map {
	struct hash_map places;
	size_t count;
	size_t unsure;	 /* entries that may have columns that are not known */
	size_t doubtful; /* entries whose matches prove nothing */
	bool built;
};

struct name_index {
	struct name_map maps[NAMES_COUNT];
};

static bool is_unsure(const struct visible *entry)
{
	return entry->item->open || entry->doubtful;
}

bool namespace_shows(const struct visible *entry, size_t column)
{
	return !entry->hidden || !entry->hidden[column];
}

static void insert_place(struct name_map *map, str_t name, struct name_place *place)
{
	place->next = hash_map_set(&map->places, name, place);
	map->count++;
}

static void insert_columns(struct resolver *resolver, struct name_map *map, struct visible *entry)
{
	const struct range_item *item = entry->item;
	if (!entry->columns_visible)
		return;
	map->unsure += is_unsure(entry);
	map->doubtful += entry->doubtful;
	if (item->columns_count == 0 || !resolver_count_comparisons(resolver, item->columns_count))
		return;
	struct name_place *places = ARENA_ARRAY(resolver->arena, struct name_place, item->columns_count);
	for (size_t i = item->columns_count; i > 0; i--) {
		places[i - 1] = (struct name_place){ .entry = entry, .column = i - 1 };
		if (namespace_shows(entry, i - 1))
			insert_place(map, item->columns[i - 1].name, &places[i - 1]);
	}
}

static void insert_entry(struct resolver *resolver, struct name_map *map, enum names names,
			 struct visible *entry)
{
	if (names == COLUMN_NAMES) {
		insert_columns(resolver, map, entry);
	} else if (entry->relation_visible) {
		struct name_place *place = ARENA_NEW(resolver->arena, struct name_place);
		place->entry = entry;
		insert_place(map, entry->item->alias, place);
	}
}

static struct name_map *map_of(const struct namespace *namespace, enum names names)
{
	return namespace->index && namespace->index->maps[names].built ? &namespace->index->maps[names]
								       : NULL;
}

static void insert_entries(struct resolver *resolver, struct name_map *map, enum names names,
			   const struct namespace *namespace)
{
	for (size_t i = namespace->count; i > 0; i--)
		insert_entry(resolver, map, names, namespace->entries[i - 1]);
}

static struct name_map *build_map(struct resolver *resolver, struct namespace *namespace, enum names names)
{
	struct name_map *map = map_of(namespace, names);
	if (map)
		return map;
	if (!namespace->index)
	namespace->index = ARENA_NEW(resolver->arena, struct name_index);
	map = &namespace->index->maps[names];
	map->built = true;
	hash_map_init(&map->places, resolver->arena, namespace->count);
	insert_entries(resolver, map, names, namespace);
	return map;
}

static void merge_places(str_t name, void *value, void *context)
{
	struct name_map *into = context;
	struct name_place *last = value;
	if (!last->entry)
		return;
	while (last->next && last->next->entry)
		last = last->next;
	last->next = hash_map_set(&into->places, name, value);
}

/* The smaller into the larger: however joins are nested, a place moves only so often. */
static void merge_maps(struct name_map *into, struct name_map *from)
{
	if (from->count > into->count) {
		struct name_map larger = *from;
		*from = *into;
		*into = larger;
	}
	hash_map_each(&from->places, merge_places, into);
	into->count += from->count;
	into->unsure += from->unsure;
	into->doubtful += from->doubtful;
}

static void join_maps(struct resolver *resolver, struct namespace *left, const struct namespace *right,
		      enum names names)
{
	struct name_map *ours = map_of(left, names), *theirs = map_of(right, names);
	if (ours && theirs) {
		merge_maps(ours, theirs);
	} else if (ours) {
		insert_entries(resolver, ours, names, right);
	} else if (theirs) {
		insert_entries(resolver, theirs, names, left);
		if (!left->index)
			left->index = ARENA_NEW(resolver->arena, struct name_index);
		left->index->maps[names] = *theirs;
	}
}

/* Room for more entries before and after the present ones; doubles what it has to grow. */
static void reserve(struct resolver *resolver, struct namespace *namespace, size_t before, size_t after)
{
	if (namespace->before >= before && namespace->after >= after)
		return;
	size_t front = namespace->before >= before ? namespace->before : namespace->count + before;
	size_t back = namespace->after >= after ? namespace->after : namespace->count + after;
	struct visible **entries =
		ARENA_ARRAY(resolver->arena, struct visible *, front + namespace->count + back);
	if (namespace->count > 0)
		memcpy(entries + front, namespace->entries, namespace->count * sizeof *entries);
	namespace->entries = entries + front;
	namespace->before = front;
	namespace->after = back;
}

static void index_entry(struct resolver *resolver, struct namespace *namespace, struct visible *entry)
{
	for (enum names names = 0; names < NAMES_COUNT; names++) {
		struct name_map *map = map_of(namespace, names);
		if (map)
			insert_entry(resolver, map, names, entry);
	}
}

static struct visible *visible_new(struct resolver *resolver, struct range_item *item)
{
	struct visible *entry = ARENA_NEW(resolver->arena, struct visible);
	entry->item = item;
	entry->relation_visible = str_present(item->alias);
	entry->columns_visible = true;
	return entry;
}

void namespace_append_item(struct resolver *resolver, struct namespace *namespace, struct range_item *item)
{
	struct visible *entry = visible_new(resolver, item);
	reserve(resolver, namespace, 0, 1);
	namespace->entries[namespace->count++] = entry;
	namespace->after--;
	index_entry(resolver, namespace, entry);
}

void namespace_prepend_item(struct resolver *resolver, struct namespace *namespace, struct range_item *item)
{
	struct visible *entry = visible_new(resolver, item);
	reserve(resolver, namespace, 1, 0);
	*--namespace->entries = entry;
	namespace->count++;
	namespace->before--;
	index_entry(resolver, namespace, entry);
}

void namespace_join(struct resolver *resolver, struct namespace *left, const struct namespace *right)
{
	if (right->count == 0)
		return;
	for (enum names names = 0; names < NAMES_COUNT; names++)
		join_maps(resolver, left, right, names);
	reserve(resolver, left, 0, right->count);
	memcpy(left->entries + left->count, right->entries, right->count * sizeof *right->entries);
	left->count += right->count;
	left->after -= right->count;
}

/* What shows nothing more is not searched. */
static void update_visibility(struct visible *entry)
{
	entry->columns_visible = entry->columns_visible &&
				 (is_unsure(entry) || entry->hidden_count < entry->item->columns_count);
}

static void hide_column(struct resolver *resolver, struct visible *entry, size_t column)
{
	if (!entry->hidden)
		entry->hidden = ARENA_ARRAY(resolver->arena, bool, entry->item->columns_count);
	entry->hidden[column] = true;
	entry->hidden_count++;
	update_visibility(entry);
}

static void hide_in_entry(struct resolver *resolver, struct visible *entry, const struct outputs *merged,
			  const struct name_filter *filter)
{
	const struct range_item *item = entry->item;
	const uint32_t *hashes = entry->columns_visible ? item_name_hashes(resolver, item) : NULL;
	for (size_t i = 0; hashes && i < item->columns_count; i++) {
		if (name_filter_has(filter, hashes[i]) && namespace_shows(entry, i) &&
		    range_columns_find(merged->columns, merged->count, item->columns[i].name))
			hide_column(resolver, entry, i);
	}
	update_visibility(entry);
}

static void hide_places(struct resolver *resolver, struct name_map *map, str_t name)
{
	const struct name_place *place = hash_map_get(&map->places, name);
	if (!place)
		return;
	for (; place && place->entry; place = place->next)
		hide_column(resolver, place->entry, place->column);
	(void)hash_map_set(&map->places, name, &no_place);
}

void namespace_hide(struct resolver *resolver, struct namespace *namespace, const struct outputs *merged)
{
	struct name_filter filter = { 0 };
	struct name_map *map = map_of(namespace, COLUMN_NAMES);
	for (size_t i = 0; i < merged->count; i++) {
		if (map)
			hide_places(resolver, map, merged->columns[i].name);
		else
			name_filter_add(&filter, item_name_hash(merged->columns[i].name));
	}
	for (size_t i = 0; !map && i < namespace->count; i++)
		hide_in_entry(resolver, namespace->entries[i], merged, &filter);
}

void namespace_doubt(struct namespace *namespace)
{
	struct name_map *map = map_of(namespace, COLUMN_NAMES);
	for (size_t i = 0; i < namespace->count; i++) {
		struct visible *entry = namespace->entries[i];
		if (map && entry->columns_visible) {
			map->unsure += !is_unsure(entry);
			map->doubtful += !entry->doubtful;
		}
		entry->doubtful = true;
	}
}

bool namespace_is_unsure(const struct namespace *namespace)
{
	for (size_t i = 0; i < namespace->count; i++) {
		if (is_unsure(namespace->entries[i]))
			return true;
	}
	return false;
}

/* Two relations of different schemas may share their name as long as neither has an alias. */
static bool may_share_name(const struct range_item *a, const struct range_item *b)
{
	if (a->kind != RANGE_RELATION || b->kind != RANGE_RELATION || ((const RangeVar *)a->node)->alias ||
	    ((const RangeVar *)b->node)->alias)
		return false;
	return a->relation && b->relation ? a->relation != b->relation : !str_equal(a->schema, b->schema);
}

static int item_location(const struct range_item *item)
{
	return IsA(item->node, RangeVar) ? ((const RangeVar *)item->node)->location : -1;
}

static bool conflicts(struct resolver *resolver, struct namespace *namespace, const struct visible *entry)
{
	const struct range_item *item = entry->item;
	if (namespace->count > RESOLVE_SHORT_LIST) {
		const struct name_place *place =
			hash_map_get(&build_map(resolver, namespace, ITEM_NAMES)->places, item->alias);
		while (place && may_share_name(place->entry->item, item))
			place = place->next;
		return place != NULL;
	}
	for (size_t i = 0; i < namespace->count; i++) {
		const struct visible *other = namespace->entries[i];
		if (other->relation_visible && str_equal(other->item->alias, item->alias) &&
		    !may_share_name(other->item, item))
			return true;
	}
	return false;
}

void namespace_check_conflicts(struct resolver *resolver, struct namespace *left,
			       const struct namespace *right)
{
	for (size_t i = 0; i < right->count; i++) {
		const struct visible *entry = right->entries[i];
		if (entry->relation_visible && conflicts(resolver, left, entry))
			diagnostics_add(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, SUB_NONE,
					entry->item->alias, item_location(entry->item),
					"table name \"" STR_FMT
					"\" stands for two relations; give one an alias",
					STR_ARG(entry->item->alias));
	}
}

static void add_result(const struct visible *entry, enum lookup result, const struct found_column *found,
		       struct column_search *search)
{
	/* The join that hides a column shows one of its name. */
	if ((result == LOOKUP_FOUND || result == LOOKUP_AMBIGUOUS) && !found->is_system &&
	    !namespace_shows(entry, found->column))
		return;
	switch (result) {
	case LOOKUP_FOUND:
		if (found->is_system && entry->joined)
			break;
		if (search->matches++ == 0)
			search->found = *found;
		search->doubtful |= entry->doubtful;
		search->forbidden |= !search->allowed;
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

static void search_entries(struct resolver *resolver, const struct namespace *namespace, str_t name,
			   struct column_search *search)
{
	for (size_t i = 0; i < namespace->count; i++) {
		const struct visible *entry = namespace->entries[i];
		struct found_column found;
		if (entry->columns_visible)
			add_result(entry, item_lookup(resolver, entry->item, name, &found), &found, search);
	}
}

/* More matches would change nothing. */
static bool is_settled(const struct name_map *map, const struct column_search *search)
{
	return search->matches > 1 && (search->doubtful || map->doubtful == 0);
}

static void search_places(struct resolver *resolver, const struct name_map *map,
			  const struct name_place *place, struct column_search *search)
{
	size_t unsure = 0;
	while (place && place->entry && !is_settled(map, search)) {
		const struct visible *entry = place->entry;
		const struct found_column found = { .item = entry->item, .column = place->column };
		size_t count = 0;
		for (; place && place->entry == entry; place = place->next)
			count++;
		add_result(entry, count > 1 ? LOOKUP_AMBIGUOUS : LOOKUP_FOUND, &found, search);
		unsure += is_unsure(entry);
		(void)resolver_count_comparisons(resolver, count);
	}
	search->open |= unsure < map->unsure;
}

static void search_system_columns(const struct name_map *map, const struct namespace *namespace,
				  struct column_search *search)
{
	for (size_t i = 0; i < namespace->count && !is_settled(map, search); i++) {
		const struct visible *entry = namespace->entries[i];
		const struct found_column found = { .item = entry->item, .is_system = true };
		if (entry->columns_visible && item_has_system_columns(entry->item))
			add_result(entry, LOOKUP_FOUND, &found, search);
	}
}

void namespace_search_columns(struct resolver *resolver, struct namespace *namespace, str_t name,
			      struct column_search *search)
{
	if (namespace->count <= 2 || !resolver_compares_many(resolver)) {
		search_entries(resolver, namespace, name, search);
		return;
	}
	const struct name_map *map = build_map(resolver, namespace, COLUMN_NAMES);
	const struct name_place *place = hash_map_get(&map->places, name);
	if (!item_is_system_column(name)) {
		search_places(resolver, map, place, search);
	} else if (place) { /* it stands before the system column, but only in its own item */
		search_entries(resolver, namespace, name, search);
	} else {
		search->open |= map->unsure > 0;
		search_system_columns(map, namespace, search);
	}
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

static void add_item(const struct visible *entry, struct item_search *search)
{
	if (search->matches++ == 0)
		search->found = entry->item;
	search->forbidden |= !search->allowed;
}

void namespace_search_items(struct resolver *resolver, struct namespace *namespace, str_t schema, str_t name,
			    struct item_search *search)
{
	if (namespace->count > RESOLVE_SHORT_LIST) {
		const struct name_place *place =
			hash_map_get(&build_map(resolver, namespace, ITEM_NAMES)->places, name);
		for (; place && search->matches < 2; place = place->next)
			if (item_matches(place->entry->item, schema, name))
				add_item(place->entry, search);
		return;
	}
	for (size_t i = 0; i < namespace->count; i++) {
		const struct visible *entry = namespace->entries[i];
		if (entry->relation_visible && item_matches(entry->item, schema, name))
			add_item(entry, search);
	}
}
