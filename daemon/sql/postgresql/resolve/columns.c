#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

void outputs_add(struct resolver *resolver, struct outputs *outputs, struct range_column column)
{
	if (!resolver_count_columns(resolver, 1)) {
		outputs->open = true;
		return;
	}
	ARENA_PUSH(resolver->arena, outputs->columns, outputs->count, outputs->capacity, column);
}

struct range_column *outputs_extend(struct resolver *resolver, struct outputs *outputs, size_t count)
{
	if (count == 0)
		return outputs->columns;
	if (!resolver_count_columns(resolver, count)) {
		outputs->open = true;
		return NULL;
	}
	if (outputs->capacity - outputs->count < count) {
		struct range_column *before = outputs->columns;
		outputs->capacity = 2 * outputs->count + count;
		outputs->columns = ARENA_ARRAY(resolver->arena, struct range_column, outputs->capacity);
		if (outputs->count > 0)
			memcpy(outputs->columns, before, outputs->count * sizeof *before);
	}
	outputs->count += count;
	return outputs->columns + outputs->count - count;
}

void outputs_rename(struct outputs *outputs, const List *names)
{
	const ListCell *cell;
	size_t at = 0;
	foreach(cell, names)
	{
		if (at < outputs->count)
			outputs->columns[at++].name = str_from(NODE_STRING(lfirst(cell)));
	}
}

void outputs_name(struct resolver *resolver, struct outputs *outputs, const List *names, str_t object,
		  int location)
{
	outputs_rename(outputs, names);
	if (!outputs->open && (size_t)list_length(names) > outputs->count)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_ALIAS_LIST, SUB_NONE, object, location,
				"\"" STR_FMT "\" has %zu columns, and %d are named", STR_ARG(object),
				outputs->count, list_length(names));
}

/* Aliases may also name columns of an item that are not known: those are known by that. */
static void add_named_columns(struct resolver *resolver, struct outputs *outputs, const List *names)
{
	for (int i = (int)outputs->count; i < list_length(names); i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = str_from(NODE_STRING(list_nth(names, i))) });
}

static void give_columns(struct resolver *resolver, struct range_item *item, struct outputs *outputs,
			 const Alias *alias)
{
	if (alias) {
		if (outputs->open)
			add_named_columns(resolver, outputs, alias->colnames);
		outputs_name(resolver, outputs, alias->colnames, str_from(alias->aliasname),
			     resolver_node_location(resolver, item->node));
		item->alias = str_from(alias->aliasname);
	}
	item->columns = outputs->columns;
	item->columns_count = outputs->count;
	item->open = outputs->open;
}

static void own_columns(const struct range_item *item, struct outputs *outputs, size_t from)
{
	for (size_t i = from; i < outputs->count; i++) {
		if (outputs->columns[i].source)
			continue;
		outputs->columns[i].source = item;
		outputs->columns[i].source_index = i;
	}
}

void item_adopt_columns(struct resolver *resolver, struct range_item *item, struct outputs *outputs,
			const Alias *alias)
{
	give_columns(resolver, item, outputs, alias);
	own_columns(item, outputs, 0);
}

struct outputs outputs_copy(struct resolver *resolver, const struct outputs *from)
{
	struct outputs copy = { 0 };
	struct range_column *columns = outputs_extend(resolver, &copy, from->count);
	for (size_t i = 0; columns && i < from->count; i++) {
		columns[i] = from->columns[i];
		columns[i].source = NULL;
	}
	copy.open |= from->open;
	return copy;
}

static void expand(struct resolver *resolver, const struct range_item *item, const struct visible *entry,
		   struct outputs *outputs)
{
	size_t hidden = entry ? entry->hidden_count : 0;
	struct range_column *column = outputs_extend(resolver, outputs, item->columns_count - hidden);
	outputs->open |= item->open || (entry && entry->doubtful);
	for (size_t i = 0; column && i < item->columns_count; i++) {
		if (hidden > 0 && !namespace_shows(entry, i))
			continue;
		*column++ = (struct range_column){ .name = item->columns[i].name,
						   .type = item->columns[i].type,
						   .not_null = item->columns[i].not_null && !item->nullable,
						   .source = item,
						   .source_index = i };
	}
}

void outputs_expand_item(struct resolver *resolver, const struct range_item *item, struct outputs *outputs)
{
	expand(resolver, item, NULL, outputs);
}

void outputs_expand_star(struct resolver *resolver, const struct namespace *namespace,
			 struct outputs *outputs)
{
	for (size_t i = 0; i < namespace->count && !resolver->resolution->too_deep; i++) {
		const struct visible *entry = namespace->entries[i];
		if (entry->columns_visible)
			expand(resolver, entry->item, entry, outputs);
	}
}

static bool is_aliased_join(const struct range_item *item)
{
	return item->kind == RANGE_JOIN && ((const JoinExpr *)item->node)->alias;
}

/* Behind an aliased join on the left the columns go on in its own array, so that joins around joins do not
 * copy them again and again. They come from where its own come from; only the join around it may do so. */
static bool continue_join(const struct range_item *item, struct outputs *outputs)
{
	if (!is_aliased_join(item) || item->nullable)
		return false;
	*outputs = item->notes->joined;
	return outputs->count > 0;
}

void item_expand_join(struct resolver *resolver, const struct namespace *namespace, struct range_item *item,
		      const Alias *alias)
{
	struct outputs all = { 0 };
	struct namespace rest = *namespace;
	const struct visible *first = namespace->count > 0 ? namespace->entries[0] : NULL;
	if (first && !first->hidden && !first->doubtful && first->item != item && alias->colnames == NIL &&
	    continue_join(first->item, &all)) {
		rest.entries++;
		rest.count--;
	}
	size_t shared = all.count;
	outputs_expand_star(resolver, &rest, &all);
	give_columns(resolver, item, &all, alias);
	own_columns(item, &all, shared);
	item->notes->joined = all;
}
