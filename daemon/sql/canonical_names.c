#include "sql/canonical_internal.h"

#include "sql/catalog_content.h"

const struct canon_range *canon_range_of(const struct canon *canon, const Node *node)
{
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer)
		for (size_t i = 0; i < scope->ranges_count; i++)
			if (scope->ranges[i].node == node)
				return &scope->ranges[i];
	return NULL;
}

struct canon_range *canon_range_add(struct canon *canon, const Node *node, str_t alias, str_t base)
{
	struct canon_scope *scope = canon->scope;
	str_t name = scope->depth ? canon_printf(canon, "%s@%u", base.ptr, scope->depth) : base;
	str_t first = name;
	unsigned same = 1;
	for (size_t i = 0; i < scope->ranges_count; i++)
		if (str_equal(scope->ranges[i].name, name)) {
			name = canon_printf(canon, "%s#%u", first.ptr, ++same);
			i = 0;
		}
	struct canon_range range = { .node = node, .alias = alias, .name = name };
	ARENA_PUSH(canon->arena, scope->ranges, scope->ranges_count, scope->ranges_capacity, range);
	return &scope->ranges[scope->ranges_count - 1];
}

str_t canon_relation(struct canon *canon, const RangeVar *range)
{
	str_t schema = str_from(range->schemaname);
	str_t name = str_from(range->relname);
	const struct catalog *catalog = canon->request->catalog;
	if (catalog && str_present(schema)) {
		const struct catalog_relation *relation = catalog_relation(catalog, schema, name);
		if (relation && relation == catalog_relation_on_path(catalog, name))
			schema = STR_NONE;
	} else if (!catalog && str_is(schema, "public")) {
		schema = STR_NONE;
	}
	name = canon_identifier(canon, name);
	if (!str_present(schema))
		return name;
	return canon_printf(canon, "%s.%s", canon_identifier(canon, schema).ptr, name.ptr);
}

static size_t output_of(const struct canon_range *range, str_t name)
{
	for (size_t i = 0; i < range->outputs_count; i++)
		if (str_equal(range->outputs[i], name))
			return i + 1;
	return 0;
}

str_t canon_range_column(struct canon *canon, const struct canon_range *range, str_t name)
{
	size_t output = output_of(range, name);
	if (output)
		return canon_printf(canon, "%s.%zu", range->name.ptr, output);
	return canon_printf(canon, "%s.%s", range->name.ptr, canon_identifier(canon, name).ptr);
}

str_t canon_whole_row(struct canon *canon, const struct canon_range *range)
{
	struct texts names = { 0 };
	for (size_t i = 0; i < range->outputs_count; i++)
		texts_add(canon, &names, canon_identifier(canon, range->outputs[i]));
	return canon_printf(canon, "row(%s%s)", range->name.ptr, texts_join(canon, " as ", &names, "").ptr);
}

static str_t field_of(const ColumnRef *column, int index)
{
	const Node *node = list_nth(column->fields, index);
	return IsA(node, String) ? str_from(NODE_STRING(node)) : STR_NONE;
}

/* The resolver knows the item, through joins, down to what stands in FROM. */
static const struct canon_range *resolved_range(const struct canon *canon, const ColumnRef *column,
						str_t *ret_name)
{
	const struct resolved_column *resolved =
		canon->resolution ? resolution_column(canon->resolution, column) : NULL;
	if (!resolved || resolved->kind != COLUMN_OF_ITEM || !resolved->item)
		return NULL;
	const struct range_item *item = resolved->item;
	size_t index = resolved->column;
	for (unsigned depth = 0; item && item->kind == RANGE_JOIN; depth++) {
		if (depth > 100 || index >= item->columns_count)
			return NULL;
		const struct range_column *source = &item->columns[index];
		if (!source->source || source->source == item)
			return NULL;
		index = source->source_index;
		item = source->source;
	}
	if (!item || index >= item->columns_count)
		return NULL;
	*ret_name = item->columns[index].name;
	return canon_range_of(canon, item->node);
}

static bool merged_column(const struct canon *canon, str_t name, str_t *ret_text)
{
	for (size_t i = 0; i < canon->scope->merged_count; i++)
		if (str_equal(canon->scope->merged[i].name, name)) {
			*ret_text = canon->scope->merged[i].text;
			return true;
		}
	return false;
}

/* Everything that an unqualified name might mean goes into its text, so that equal texts stay equal. */
static str_t unsure_column(struct canon *canon, str_t name)
{
	struct texts meanings = { 0 };
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer)
		for (size_t i = 0; i < scope->ranges_count; i++) {
			const struct canon_range *range = &scope->ranges[i];
			if (output_of(range, name))
				texts_add(canon, &meanings, canon_range_column(canon, range, name));
			else if (str_equal(range->alias, name))
				texts_add(canon, &meanings, canon_whole_row(canon, range));
		}
	if (canon->scope && !canon->scope->outer && canon->scope->ranges_count == 1 && meanings.count == 0)
		return canon_range_column(canon, &canon->scope->ranges[0], name);
	if (canon->scope && canon->scope->ranges_count == 1 && meanings.count == 1 &&
	    output_of(&canon->scope->ranges[0], name))
		return meanings.items[0];
	return canon_printf(canon, "?.%s%s", canon_identifier(canon, name).ptr,
			    texts_join(canon, "|", &meanings, "").ptr);
}

static const struct canon_range *range_by_alias(const struct canon *canon, str_t alias, str_t schema)
{
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer)
		for (size_t i = 0; i < scope->ranges_count; i++) {
			const struct canon_range *range = &scope->ranges[i];
			if (!str_equal(range->alias, alias))
				continue;
			if (!str_present(schema) || str_equal(range->schema, schema) ||
			    !str_present(range->schema))
				return range;
		}
	return NULL;
}

static str_t qualified_column(struct canon *canon, const ColumnRef *column, int count)
{
	str_t schema = count > 2 ? field_of(column, count - 3) : STR_NONE;
	const struct canon_range *range = range_by_alias(canon, field_of(column, count - 2), schema);
	str_t name = field_of(column, count - 1);
	if (range && str_present(name))
		return canon_range_column(canon, range, name);
	if (range)
		return canon_whole_row(canon, range);
	struct texts parts = { 0 };
	for (int i = 0; i < count; i++)
		texts_add(canon, &parts,
			  str_present(field_of(column, i)) ? canon_identifier(canon, field_of(column, i))
							   : STR("*"));
	return texts_join(canon, "?.(", &parts, ")");
}

str_t canon_column(struct canon *canon, const ColumnRef *column)
{
	int count = list_length(column->fields);
	str_t name = field_of(column, 0);
	str_t text;
	if (count == 1 && !str_present(name)) {
		canon->failed = true; /* a star outside of a target list */
		return STR("*");
	}
	if (count == 1 && canon->scope && merged_column(canon, name, &text))
		return text;
	str_t resolved_name;
	const struct canon_range *range = resolved_range(canon, column, &resolved_name);
	if (range)
		return canon_range_column(canon, range, resolved_name);
	if (count == 1)
		return unsure_column(canon, name);
	return qualified_column(canon, column, count);
}
