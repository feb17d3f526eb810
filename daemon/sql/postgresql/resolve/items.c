#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

/* Once so many names were compared, hashes are worth their while. */
#define FEW_NAMES ((size_t)4096)

/* So many of them are compared while one name is. */
#define HASHES_PER_NAME 4

/* What is wider, and searched more often than that, gets a map of its columns. */
#define WIDE_ITEM	 64
#define SEARCHES_OF_WIDE 4

struct named_column {
	size_t first;
	bool again; /* there are more of the name */
};

bool item_is_system_column(str_t name)
{
	return (name.len == 4 || name.len == 8) && /* as all of them */
	       STR_IS_ANY(name, "ctid", "xmin", "cmin", "xmax", "cmax", "tableoid");
}

bool item_has_system_columns(const struct range_item *item)
{
	/* A materialized view is stored like a table. */
	return item->relation && (!item->relation->is_view || item->relation->kind == 'm');
}

bool resolver_count_comparisons(struct resolver *resolver, size_t comparisons)
{
	resolver->comparisons += comparisons;
	if (resolver->comparisons > RESOLVE_MAX_COMPARISONS)
		resolver_give_up(resolver);
	return resolver->comparisons <= RESOLVE_MAX_COMPARISONS;
}

bool resolver_compares_many(const struct resolver *resolver)
{
	return resolver->comparisons > FEW_NAMES;
}

uint32_t item_name_hash(str_t name)
{
	return (uint32_t)hash_seeded(name.ptr, name.len);
}

const uint32_t *item_name_hashes(struct resolver *resolver, const struct range_item *item)
{
	if (item->notes->name_hashes)
		return item->notes->name_hashes;
	uint32_t *hashes = ARENA_ARRAY(resolver->arena, uint32_t, item->columns_count + 1);
	for (size_t i = 0; i < item->columns_count; i++)
		hashes[i] = item_name_hash(item->columns[i].name);
	item->notes->name_hashes = hashes;
	return hashes;
}

struct range_item *range_item_new(struct resolver *resolver, enum range_kind kind, const Node *node)
{
	struct range_item *item = ARENA_NEW(resolver->arena, struct range_item);
	item->kind = kind;
	item->node = node;
	item->number = resolver->items++;
	item->notes = ARENA_NEW(resolver->arena, struct item_notes);
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

static void map_columns(struct resolver *resolver, const struct range_item *item, struct hash_map *columns)
{
	struct named_column *named = ARENA_ARRAY(resolver->arena, struct named_column, item->columns_count);
	hash_map_init(columns, resolver->arena, item->columns_count);
	for (size_t i = item->columns_count; i > 0; i--) {
		named[i - 1].first = i - 1;
		named[i - 1].again = hash_map_set(columns, item->columns[i - 1].name, &named[i - 1]) != NULL;
	}
}

static bool is_mapped(struct resolver *resolver, const struct range_item *item)
{
	struct item_notes *notes = item->notes;
	if (item->columns_count <= WIDE_ITEM || ++notes->searches <= SEARCHES_OF_WIDE)
		return false;
	if (!notes->columns.arena && resolver_count_comparisons(resolver, item->columns_count))
		map_columns(resolver, item, &notes->columns);
	return notes->columns.arena != NULL;
}

/* The first one of the name, or the number of columns. */
static size_t find_column(struct resolver *resolver, const struct range_item *item, str_t name,
			  bool *ret_again)
{
	bool many = resolver_compares_many(resolver);
	if (many && is_mapped(resolver, item)) {
		const struct named_column *named = hash_map_get(&item->notes->columns, name);
		*ret_again = named && named->again;
		return named ? named->first : item->columns_count;
	}
	const uint32_t *hashes = many ? item_name_hashes(resolver, item) : NULL;
	uint32_t hash = hashes ? item_name_hash(name) : 0;
	size_t first = next_column(item, hashes, hash, name, 0);
	*ret_again = first < item->columns_count &&
		     next_column(item, hashes, hash, name, first + 1) < item->columns_count;
	(void)resolver_count_comparisons(
		resolver, (many ? item->columns_count / HASHES_PER_NAME : item->columns_count) + 1);
	return first;
}

enum lookup item_lookup(struct resolver *resolver, const struct range_item *item, str_t name,
			struct found_column *ret_found)
{
	bool again = false;
	if (resolver->comparisons > RESOLVE_MAX_COMPARISONS)
		return LOOKUP_UNSURE;
	size_t first = find_column(resolver, item, name, &again);
	if (first < item->columns_count) {
		*ret_found = (struct found_column){ .item = item, .column = first };
		return again ? LOOKUP_AMBIGUOUS : LOOKUP_FOUND;
	}
	if (item_has_system_columns(item) && item_is_system_column(name)) {
		*ret_found = (struct found_column){ .item = item, .is_system = true };
		return LOOKUP_FOUND;
	}
	return item->open ? LOOKUP_UNSURE : LOOKUP_MISSING;
}
