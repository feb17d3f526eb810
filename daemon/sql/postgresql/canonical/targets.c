#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"
#include "sql/postgresql/resolve/internal.h"

/* Lists up to this length are searched one by one. */
#define SHORT_LIST 16

/* Numbers of targets from 1; of equal ones the first. Each is filled when first asked for. */
struct target_index {
	struct hash_map by_name;
	struct hash_map by_text;
};

/* The place of `text` among the texts, or their number. */
static size_t place_of(struct canon *canon, const struct texts *texts, struct hash_map *index, str_t text)
{
	size_t place = 0;
	if (!canon_work(canon, index && index->count ? 1 : texts->count))
		return texts->count;
	if (!index) {
		while (place < texts->count && !str_equal(texts->items[place], text))
			place++;
		return place;
	}
	if (index->count == 0) {
		hash_map_init(index, canon->arena, texts->count);
		for (size_t i = texts->count; i > 0; i--)
			(void)hash_map_set(index, texts->items[i - 1], (void *)(uintptr_t)i);
	}
	place = (size_t)(uintptr_t)hash_map_get(index, text);
	return place ? place - 1 : texts->count;
}

static str_t target_name(const struct canon *canon, const ResTarget *target)
{
	if (target->name)
		return str_from(target->name);
	return node_is_star(target->val) ? STR("*") : expression_name(canon->resolution, target->val);
}

static void add_target(struct canon *canon, struct target_list *list, str_t text, str_t name,
		       const Node *node)
{
	texts_add(canon->arena, &list->texts, text);
	texts_add(canon->arena, &list->names, name);
	ARENA_PUSH(canon->arena, list->nodes, list->nodes_count, list->nodes_capacity, node);
}

/* A star whose columns are not known: the relations in order, with the names of their columns. */
static str_t star_text(struct canon *canon, const ColumnRef *star)
{
	if (list_length(star->fields) > 1)
		return CONCAT(canon, STR("* OF "), canon_column(canon, star));
	struct texts rows = { 0 };
	for (size_t i = 0; i < canon->scope->ranges_count; i++)
		texts_add(canon->arena, &rows, canon_whole_row(canon, canon->scope->ranges[i]));
	for (size_t i = 0; i < canon->scope->merged_count; i++)
		texts_add(canon->arena, &rows, canon_identifier(canon, canon->scope->merged[i].name));
	return texts_join(canon, STR("*("), &rows, STR(")"));
}

/* Outputs that the star stands for, as far as the resolver knows them. */
static bool star_width(const struct canon *canon, const ColumnRef *star, size_t *ret_width)
{
	const struct resolved_column *resolved = resolution_column(canon->resolution, star);
	if (!resolved || resolved->kind != COLUMN_STAR || !resolved->item || resolved->item->open)
		return false;
	*ret_width = resolved->item->columns_count;
	return true;
}

/* How many outputs the only `*` stands for: those that the other targets leave over. */
static bool whole_star_width(const struct canon *canon, const SelectStmt *select, size_t outputs,
			     size_t *ret_width)
{
	size_t others = 0, width = 0, wholes = 0;
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!node_is_star(value))
			others++;
		else if (list_length(((const ColumnRef *)value)->fields) == 1)
			wholes++;
		else if (star_width(canon, (const ColumnRef *)value, &width))
			others += width;
		else
			return false;
	}
	*ret_width = outputs - others;
	return wholes <= 1 && others <= outputs;
}

static bool expand_star_target(struct canon *canon, const SelectStmt *select, const ColumnRef *star,
			       struct target_list *list)
{
	size_t width = 0, first = list->texts.count;
	const struct outputs *outputs = canon->resolution && canon->resolution->names_known && list->exact
						? resolution_outputs(canon->resolution, select)
						: NULL;
	if (!outputs || outputs->open)
		return false;
	bool known = list_length(star->fields) > 1 ? star_width(canon, star, &width)
						   : whole_star_width(canon, select, outputs->count, &width);
	if (!known || first + width > outputs->count)
		return false;
	for (size_t i = first; i < first + width; i++)
		if (!outputs->columns[i].source)
			return false;
	for (size_t i = first; i < first + width; i++) {
		const struct range_column *column = &outputs->columns[i];
		add_target(canon, list, canon_item_column(canon, column->source, column->source_index),
			   column->name, NULL);
	}
	return true;
}

void canon_targets(struct canon *canon, const SelectStmt *select, struct target_list *list)
{
	list->exact = true;
	list->first_inexact = SIZE_MAX;
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst(cell);
		bool star = node_is_star(target->val);
		if (star && expand_star_target(canon, select, (const ColumnRef *)target->val, list))
			continue;
		if (list->exact && (star || node_is_all_fields(target->val))) {
			list->exact = false;
			list->first_inexact = list->texts.count;
		}
		add_target(canon, list,
			   star ? star_text(canon, (const ColumnRef *)target->val)
				: canon_expression(canon, target->val),
			   target_name(canon, target), target->val);
	}
	if (list->nodes_count > SHORT_LIST)
		list->places = ARENA_NEW(canon->arena, struct target_index);
}

bool canon_ordinal(const Node *node, size_t *ret_index)
{
	int number;
	if (!node_integer(node, &number) || number < 1)
		return false;
	*ret_index = (size_t)number - 1;
	return true;
}

/* Index of the output that the key names by number or by name. */
static bool output_of(struct canon *canon, const struct target_list *list, const Node *key, size_t *ret_index)
{
	const char *name = node_column_name(key);
	if (canon_ordinal(key, ret_index))
		return *ret_index < list->texts.count && *ret_index < list->first_inexact;
	if (!name)
		return false;
	*ret_index =
		place_of(canon, &list->names, list->places ? &list->places->by_name : NULL, str_from(name));
	return *ret_index < list->names.count;
}

static int index_of(const struct target_list *list, size_t index)
{
	return index < list->first_inexact ? (int)index : -1;
}

str_t canon_key(struct canon *canon, const struct target_list *list, const Node *key, int *ret_index,
		const Node **ret_node)
{
	size_t index;
	*ret_index = -1;
	*ret_node = key;
	if (output_of(canon, list, key, &index)) {
		*ret_index = index_of(list, index);
		*ret_node = index < list->nodes_count ? list->nodes[index] : NULL;
		return list->texts.items[index];
	}
	if (canon_ordinal(key, &index)) {
		*ret_index = (int)index;
		*ret_node = NULL;
		return CONCAT(canon, STR("OUTPUT "), canon_number(canon, index + 1));
	}
	str_t text = canon_expression(canon, key);
	index = list->nodes_count
			? place_of(canon, &list->texts, list->places ? &list->places->by_text : NULL, text)
			: 0;
	if (index < list->nodes_count)
		*ret_index = index_of(list, index);
	return text;
}

/* GROUP BY prefers a column of FROM; where that is not known, both meanings are in the text. */
static str_t named_group(struct canon *canon, const struct target_list *list, const ColumnRef *key)
{
	size_t index;
	const struct resolved_column *resolved = resolution_column(canon->resolution, key);
	if (resolved && (resolved->kind == COLUMN_OF_ITEM || resolved->kind == COLUMN_WHOLE_ROW))
		return canon_expression(canon, (const Node *)key);
	if (!output_of(canon, list, (const Node *)key, &index))
		return canon_expression(canon, (const Node *)key);
	if (resolved && resolved->kind == COLUMN_OUTPUT)
		return list->texts.items[index];
	str_t text = canon_expression(canon, (const Node *)key);
	if (str_equal(text, list->texts.items[index]))
		return text;
	return CONCAT(canon, STR("EITHER("), text, STR("; "), list->texts.items[index], STR(")"));
}

static str_t grouping_set(struct canon *canon, const struct target_list *list, const GroupingSet *set)
{
	struct texts texts = { 0 };
	const ListCell *cell;
	foreach(cell, set->content)
		texts_add(canon->arena, &texts, canon_group_key(canon, list, lfirst(cell)));
	return canon_grouping_set(canon, set->kind, &texts);
}

str_t canon_group_key(struct canon *canon, const struct target_list *list, const Node *key)
{
	int index;
	const Node *node;
	if (!canon_enter(canon))
		return STR("");
	str_t text;
	if (IsA(key, GroupingSet)) {
		text = grouping_set(canon, list, (const GroupingSet *)key);
	} else if (IsA(key, RowExpr) && ((const RowExpr *)key)->row_format == COERCE_IMPLICIT_CAST) {
		struct texts parts = { 0 };
		const ListCell *cell;
		foreach(cell, ((const RowExpr *)key)->args)
			texts_add(canon->arena, &parts, canon_group_key(canon, list, lfirst(cell)));
		texts_sort(&parts);
		text = texts_join(canon, STR("SIMPLE("), &parts, STR(")"));
	} else if (node_column_name(key)) {
		text = named_group(canon, list, (const ColumnRef *)key);
	} else if (IsA(key, A_Const)) {
		text = canon_key(canon, list, key, &index, &node);
	} else {
		text = canon_expression(canon, key);
	}
	canon_leave(canon);
	return text;
}
