/*
 * Names in FROM: items, what is visible of them, and looking names up. Inside of the resolver; see
 * internal.h.
 */
#pragma once

#include "sql/postgresql/resolve/internal.h" // first: see pg_nodes.h

enum lookup { LOOKUP_FOUND, LOOKUP_MISSING, LOOKUP_UNSURE, LOOKUP_AMBIGUOUS, LOOKUP_FORBIDDEN };
struct found_column {
	const struct range_item *item;
	size_t column;
	bool is_system;
	unsigned level; /* of the query whose FROM has it */
};
/* What a level has found of a name so far. */
struct column_search {
	bool allowed; /* what is found from here on may be referred to */
	size_t matches;
	bool ambiguous_inside;
	bool doubtful;
	bool open;
	bool forbidden;
	struct found_column found; /* the first match */
};
struct item_search {
	bool allowed;
	bool forbidden;
	size_t matches;
	const struct range_item *found;
};
/* items.c */
struct range_item *range_item_new(struct resolver *resolver, enum range_kind kind, const Node *node);
bool item_is_system_column(str_t name);
bool item_has_system_columns(const struct range_item *item);
/* Hashes of the names of the item's columns. */
const uint32_t *item_name_hashes(struct resolver *resolver, const struct range_item *item);
uint32_t item_name_hash(str_t name);
/* Whether so many names were compared that an index is worth its while. */
bool resolver_compares_many(const struct resolver *resolver);
bool resolver_count_comparisons(struct resolver *resolver, size_t comparisons); /* false: too many */
/* A column of an item by name; system columns too. Merged columns of an unaliased join are the join's. */
enum lookup item_lookup(struct resolver *resolver, const struct range_item *item, str_t name,
			struct found_column *ret_found);

/* lookup.c */
/* An unqualified column; outer levels too unless `local`. */
enum lookup resolve_lookup_column(struct resolver *resolver, const struct scope *scope, str_t name,
				  bool local, struct found_column *ret_found);
/* An item by the name that it is visible by; the schema is absent where none was written. */
enum lookup resolve_lookup_item(struct resolver *resolver, const struct scope *scope, str_t schema,
				str_t name, const struct range_item **ret_item, unsigned *ret_level);
enum lookup namespace_lookup(struct resolver *resolver, struct namespace *namespace, str_t name,
			     struct found_column *ret_found);
/* Bits of names' hashes: a name whose bit is not set is surely not among them. */
struct name_filter {
	uint64_t words[32];
};

static inline void name_filter_add(struct name_filter *filter, uint32_t hash)
{
	filter->words[hash / 64 % 32] |= UINT64_C(1) << hash % 64;
}

static inline bool name_filter_has(const struct name_filter *filter, uint32_t hash)
{
	return filter->words[hash / 64 % 32] >> hash % 64 & 1;
}

/* namespace.c */
void namespace_append_item(struct resolver *resolver, struct namespace *namespace, struct range_item *item);
void namespace_prepend_item(struct resolver *resolver, struct namespace *namespace, struct range_item *item);
/* Adds the entries of `right`, which has no other use from then on. */
void namespace_join(struct resolver *resolver, struct namespace *left, const struct namespace *right);
/* Hides what is named like the merged columns. */
void namespace_hide(struct resolver *resolver, struct namespace *namespace, const struct outputs *merged);
void namespace_doubt(struct namespace *namespace); /* all that is in it */
bool namespace_is_unsure(const struct namespace *namespace);
bool namespace_shows(const struct visible *entry, size_t column);
/* Reports what is named like something on the left. */
void namespace_check_conflicts(struct resolver *resolver, struct namespace *left,
			       const struct namespace *right);
void namespace_search_columns(struct resolver *resolver, struct namespace *namespace, str_t name,
			      struct column_search *search);
void namespace_search_items(struct resolver *resolver, struct namespace *namespace, str_t schema, str_t name,
			    struct item_search *search);
