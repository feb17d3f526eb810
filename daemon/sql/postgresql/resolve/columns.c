#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/node_children.h"

void outputs_add(struct resolver *resolver, struct outputs *outputs, struct range_column column)
{
	if (!resolver_count_columns(resolver, 1)) {
		outputs->open = true;
		return;
	}
	ARENA_PUSH(resolver->arena, outputs->columns, outputs->count, outputs->capacity, column);
}

void rename_columns(struct outputs *outputs, const List *names)
{
	const ListCell *cell;
	size_t at = 0;
	foreach(cell, names)
	{
		if (at < outputs->count)
			outputs->columns[at++].name = str_from(NODE_STRING(lfirst(cell)));
	}
}

void name_columns(struct resolver *resolver, struct outputs *outputs, const List *names, str_t object,
		  int location)
{
	rename_columns(outputs, names);
	if (!outputs->open && (size_t)list_length(names) > outputs->count)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_ALIAS_LIST, NULL, object, location,
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

void adopt_columns(struct resolver *resolver, struct range_item *item, struct outputs *outputs,
		   const Alias *alias)
{
	if (alias) {
		if (outputs->open)
			add_named_columns(resolver, outputs, alias->colnames);
		name_columns(resolver, outputs, alias->colnames, str_from(alias->aliasname),
			     node_location(resolver, item->node));
		item->alias = str_from(alias->aliasname);
	}
	for (size_t i = 0; i < outputs->count; i++) {
		if (outputs->columns[i].source)
			continue;
		outputs->columns[i].source = item;
		outputs->columns[i].source_index = i;
	}
	item->columns = outputs->columns;
	item->columns_count = outputs->count;
	item->open = outputs->open;
}

struct outputs copy_outputs(struct resolver *resolver, const struct outputs *from)
{
	struct outputs copy = { .open = from->open };
	for (size_t i = 0; i < from->count; i++) {
		struct range_column column = from->columns[i];
		column.source = NULL;
		outputs_add(resolver, &copy, column);
	}
	return copy;
}

static void expand(struct resolver *resolver, const struct range_item *item, const struct visible *entry,
		   struct outputs *outputs)
{
	outputs->open |= item->open || (entry && entry->doubtful);
	for (size_t i = 0; i < item->columns_count; i++) {
		if (entry && !is_shown(entry, i))
			continue;
		struct range_column column = item->columns[i];
		column.not_null = column.not_null && !item->nullable;
		column.source = item;
		column.source_index = i;
		column.expression = NULL;
		outputs_add(resolver, outputs, column);
	}
}

void expand_item(struct resolver *resolver, const struct range_item *item, struct outputs *outputs)
{
	expand(resolver, item, NULL, outputs);
}

void expand_star(struct resolver *resolver, const struct namespace *namespace, struct outputs *outputs)
{
	for (size_t i = 0; i < namespace->count && !resolver->resolution->too_deep; i++) {
		const struct visible *entry = namespace->entries[i];
		if (entry->columns_visible)
			expand(resolver, entry->item, entry, outputs);
	}
}
