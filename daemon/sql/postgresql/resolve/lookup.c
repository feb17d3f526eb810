#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

static enum lookup column_result(const struct column_search *search, struct found_column *ret_found)
{
	if (search->matches + search->ambiguous_inside == 0)
		return search->open ? LOOKUP_UNSURE : LOOKUP_MISSING;
	if (search->matches > 1 || search->ambiguous_inside)
		return search->doubtful ? LOOKUP_UNSURE : LOOKUP_AMBIGUOUS;
	*ret_found = search->found;
	return search->forbidden ? LOOKUP_FORBIDDEN : LOOKUP_FOUND;
}

enum lookup namespace_lookup(struct resolver *resolver, struct namespace *namespace, str_t name,
			     struct found_column *ret_found)
{
	struct column_search search = { .allowed = true };
	namespace_search_columns(resolver, namespace, name, &search);
	return column_result(&search, ret_found);
}

/* While FROM is being resolved only LATERAL sees it. */
static bool shows_names(const struct scope *scope)
{
	return scope->names && (!scope->in_from || scope->lateral_active);
}

enum lookup resolve_lookup_column(struct resolver *resolver, const struct scope *scope, str_t name,
				  bool local, struct found_column *ret_found)
{
	for (; scope; scope = scope->parent) {
		struct column_search search = { .allowed = true };
		if (shows_names(scope)) {
			namespace_search_columns(resolver, scope->names, name, &search);
			for (const struct left_side *side = scope->sides; side; side = side->outer) {
				search.allowed = side->allowed;
				namespace_search_columns(resolver, side->names, name, &search);
			}
		}
		enum lookup result = column_result(&search, ret_found);
		ret_found->level = scope->level;
		if (local || result != LOOKUP_MISSING)
			return result;
	}
	return LOOKUP_MISSING;
}

enum lookup resolve_lookup_item(struct resolver *resolver, const struct scope *scope, str_t schema,
				str_t name, const struct range_item **ret_item, unsigned *ret_level)
{
	for (; scope; scope = scope->parent) {
		struct item_search search = { .allowed = true };
		if (!shows_names(scope))
			continue;
		namespace_search_items(resolver, scope->names, schema, name, &search);
		for (const struct left_side *side = scope->sides; side; side = side->outer) {
			search.allowed = side->allowed;
			namespace_search_items(resolver, side->names, schema, name, &search);
		}
		if (search.matches == 0)
			continue;
		*ret_item = search.found;
		*ret_level = scope->level;
		return search.matches > 1 ? LOOKUP_AMBIGUOUS
		       : search.forbidden ? LOOKUP_FORBIDDEN
					  : LOOKUP_FOUND;
	}
	return LOOKUP_MISSING;
}
