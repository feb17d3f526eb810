#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"
#include "sql/postgresql/resolve/internal.h"

#include <strings.h>

#define MAX_JOIN_DEPTH 1000

static const struct canon_range *range_of_item(const struct canon *canon, const struct range_item *item)
{
	return item && item->number < canon->by_number_count ? canon->by_number[item->number] : NULL;
}

const struct canon_range *canon_range_of(const struct canon *canon, const Node *node)
{
	if (canon->resolution)
		return range_of_item(canon, resolution_item(canon->resolution, node));
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer)
		for (size_t i = 0; i < scope->ranges_count; i++)
			if (scope->ranges[i]->node == node)
				return scope->ranges[i];
	return NULL;
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
	if (range->catalogname) /* another database, or none */
		return CONCAT(canon, canon_identifier(canon, str_from(range->catalogname)), STR("."),
			      canon_identifier(canon, str_from(range->schemaname)), STR("."), name);
	if (!str_present(schema))
		return name;
	return CONCAT(canon, canon_identifier(canon, schema), STR("."), name);
}

/* The number of the output of that name, from 1; 0: none. */
static size_t output_of(const struct canon_range *range, str_t name)
{
	if (range->outputs_index)
		return (size_t)(uintptr_t)hash_map_get(range->outputs_index, name);
	for (size_t i = 0; i < range->outputs_count; i++)
		if (str_equal(range->outputs[i], name))
			return i + 1;
	return 0;
}

/* The range's name as it is seen from the current scope. */
static str_t seen_name(struct canon *canon, const struct canon_range *range)
{
	struct canon_scope *scope = canon->scope;
	str_t name = range->name;
	for (; scope && scope != range->scope; scope = scope->outer)
		name = CONCAT(canon, STR("^"), name);
	if (range->scope->depth < canon->lowest_scope)
		canon->lowest_scope = range->scope->depth;
	return name;
}

static str_t real_column(struct canon *canon, const struct canon_range *range, str_t name)
{
	canon_representative(range->scope, &range, &name);
	return CONCAT(canon, seen_name(canon, range), STR("."), canon_identifier(canon, name));
}

static str_t numbered_column(struct canon *canon, const struct canon_range *range, size_t index)
{
	if (range->dissolved)
		return canon_output_column(canon, range->dissolved, index);
	return CONCAT(canon, seen_name(canon, range), STR("."), canon_number(canon, index + 1));
}

str_t canon_range_column(struct canon *canon, const struct canon_range *range, str_t name)
{
	if (!canon_work(canon, range->outputs_count))
		return STR("");
	size_t output = output_of(range, name);
	if (output)
		return numbered_column(canon, range, output - 1);
	if (range->dissolved) /* no column: a call */
		return CONCAT(canon, STR("("), canon_whole_row(canon, range), STR(")."),
			      canon_identifier(canon, name));
	return real_column(canon, range, name);
}

str_t canon_relation_column(const struct range_item *item, size_t column)
{
	return item->relation && column < item->relation->columns_count ? item->relation->columns[column].name
									: item->columns[column].name;
}

static bool is_building(const struct canon *canon, const SelectStmt *select, size_t index)
{
	for (const struct canon_output *output = canon->building; output; output = output->outer)
		if (output->select == select && output->index == index)
			return true;
	return false;
}

/* An output of a query that has dissolved into the current one. A name in it that its own relations do not
 * have may look like one of its outputs from outside, and would lead back here. */
str_t canon_output_column(struct canon *canon, const SelectStmt *select, size_t index)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, select);
	if (!outputs || index >= outputs->count || is_building(canon, select, index)) {
		canon->failed = true;
		return STR("");
	}
	const struct range_column *column = &outputs->columns[index];
	const struct canon_output output = { canon->building, select, index };
	canon->building = &output;
	str_t text = column->expression ? canon_expression(canon, column->expression)
					: canon_item_column(canon, column->source, column->source_index);
	canon->building = output.outer;
	return text;
}

static const struct canon_merged *merged_of(const struct canon *canon, const Node *join, str_t name)
{
	const struct canon_merged *merged = NULL;
	for (const struct canon_scope *scope = canon->scope; scope && !merged; scope = scope->outer)
		merged = canon_merged_of(canon, scope, (const JoinExpr *)join, name);
	return merged;
}

/* A merged column of a join, or through it the column of what is joined. */
static str_t join_column(struct canon *canon, const struct range_item *item, size_t column)
{
	const struct range_column *source = &item->columns[column];
	const struct canon_merged *merged = merged_of(canon, item->node, source->name);
	if (merged)
		return merged->text;
	if (!((const JoinExpr *)item->node)->alias || !source->source || source->source == item ||
	    !canon_enter(canon)) {
		canon->failed = true;
		return STR("");
	}
	str_t text = canon_item_column(canon, source->source, source->source_index);
	canon_leave(canon);
	return text;
}

str_t canon_item_column(struct canon *canon, const struct range_item *item, size_t column)
{
	if (!item || column >= item->columns_count) {
		canon->failed = true;
		return STR("");
	}
	if (item->kind == RANGE_JOIN)
		return join_column(canon, item, column);
	const struct canon_range *range = range_of_item(canon, item);
	if (!range) {
		canon->failed = true;
		return STR("");
	}
	if (range->outputs || range->dissolved)
		return numbered_column(canon, range, column);
	return real_column(canon, range, canon_relation_column(item, column));
}

/* One step: out of a join, or into a query that has dissolved. */
static bool column_source(const struct canon *canon, const struct range_item **item, size_t *column,
			  const struct range_column *output)
{
	const struct resolved_column *resolved = resolution_column(canon->resolution, output->expression);
	if (resolved && resolved->kind != COLUMN_OF_ITEM)
		return false;
	const struct range_item *source = resolved	       ? resolved->item
					  : output->expression ? NULL
							       : output->source;
	if (!source || source == *item)
		return false;
	*column = resolved ? resolved->column : output->source_index;
	*item = source;
	return true;
}

bool canon_base_column(const struct canon *canon, const ColumnRef *column,
		       const struct canon_range **ret_range, size_t *ret_column)
{
	const struct resolved_column *resolved = resolution_column(canon->resolution, column);
	if (!resolved || resolved->kind != COLUMN_OF_ITEM || !resolved->item)
		return false;
	const struct range_item *item = resolved->item;
	size_t index = resolved->column;
	for (unsigned depth = 0; depth < MAX_JOIN_DEPTH && index < item->columns_count; depth++) {
		const struct range_column *output = &item->columns[index];
		const struct canon_range *range = NULL;
		if (item->kind != RANGE_JOIN) {
			range = range_of_item(canon, item);
			if (!range || !range->dissolved) {
				*ret_range = range;
				*ret_column = index;
				return range != NULL;
			}
			const struct outputs *outputs =
				resolution_outputs(canon->resolution, range->dissolved);
			if (!outputs || index >= outputs->count)
				return false;
			output = &outputs->columns[index];
		} else if (merged_of(canon, item->node, output->name)) {
			return false;
		}
		if (!column_source(canon, &item, &index, output))
			return false;
	}
	return false;
}

str_t canon_whole_row(struct canon *canon, const struct canon_range *range)
{
	struct texts parts = { 0 };
	for (size_t i = 0; i < range->outputs_count; i++) {
		str_t name = canon_identifier(canon, range->outputs[i]);
		texts_add(canon->arena, &parts,
			  range->dissolved
				  ? CONCAT(canon, numbered_column(canon, range, i), STR(" AS "), name)
				  : name);
	}
	if (range->dissolved)
		return texts_join(canon, STR("ROW AS("), &parts, STR(")"));
	return CONCAT(canon, STR("ROW OF("), seen_name(canon, range), STR("; "),
		      texts_join(canon, STR(""), &parts, STR(")")));
}

static str_t field_of(const ColumnRef *column, int index)
{
	const Node *node = list_nth(column->fields, index);
	return IsA(node, String) ? str_from(NODE_STRING(node)) : STR_NONE;
}

/* What every part is called in the statement. */
static str_t written(struct canon *canon, const char *open, const ColumnRef *column)
{
	struct texts parts = { 0 };
	for (int i = 0; i < list_length(column->fields); i++)
		texts_add(canon->arena, &parts,
			  str_present(field_of(column, i)) ? canon_identifier(canon, field_of(column, i))
							   : STR("*"));
	return texts_join(canon, str_from(open), &parts, STR(")"));
}

static bool merged_by_name(const struct canon *canon, str_t name, str_t *ret_text)
{
	for (size_t i = canon->scope ? canon->scope->merged_count : 0; i > 0; i--)
		if (str_equal(canon->scope->merged[i - 1].name, name)) {
			*ret_text = canon->scope->merged[i - 1].text;
			return true;
		}
	return false;
}

/* Other dialects let conditions name what the query selects. */
static void output_meanings(struct canon *canon, str_t name, struct texts *meanings)
{
	if (canon->request->dialect == SQL_POSTGRESQL)
		return;
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer) {
		const ListCell *cell;
		foreach(cell, scope->select->targetList)
		{
			const char *output = ((const ResTarget *)lfirst(cell))->name;
			if (output && canon_work(canon, 1) && strcasecmp(output, name.ptr) == 0)
				texts_add(canon->arena, meanings,
					  CONCAT(canon, STR("OUTPUT "),
						 canon_number(canon, (size_t)foreach_current_index(cell) + 1),
						 STR(" OF "), canon_number(canon, scope->depth)));
		}
	}
}

/* Everything that an unqualified name might mean goes into its text, so that equal texts stay equal. */
static str_t unsure_column(struct canon *canon, str_t name)
{
	struct texts meanings = { 0 };
	str_t text;
	if (merged_by_name(canon, name, &text))
		return text;
	output_meanings(canon, name, &meanings);
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer) {
		if (!canon_work(canon, scope->ranges_count))
			return STR("");
		for (size_t i = 0; i < scope->ranges_count; i++) {
			const struct canon_range *range = scope->ranges[i];
			if (output_of(range, name))
				texts_add(canon->arena, &meanings, canon_range_column(canon, range, name));
			else if (str_equal(range->alias, name))
				texts_add(canon->arena, &meanings, canon_whole_row(canon, range));
		}
		if (scope->outer)
			canon->lowest_scope = 0;
	}
	if (canon->scope && !canon->scope->outer && canon->scope->ranges_count == 1 && meanings.count == 0)
		return canon_range_column(canon, canon->scope->ranges[0], name);
	if (canon->scope && canon->scope->ranges_count == 1 && meanings.count == 1 &&
	    output_of(canon->scope->ranges[0], name))
		return meanings.items[0];
	texts_sort(&meanings);
	return CONCAT(canon, STR("?."), canon_identifier(canon, name),
		      meanings.count ? texts_join(canon, STR("("), &meanings, STR(")")) : STR(""));
}

static const struct canon_range *range_by_alias(struct canon *canon, str_t alias, str_t schema)
{
	for (const struct canon_scope *scope = canon->scope; scope; scope = scope->outer) {
		if (!canon_work(canon, scope->ranges_count))
			return NULL;
		for (size_t i = 0; i < scope->ranges_count; i++) {
			const struct canon_range *range = scope->ranges[i];
			if (str_equal(range->alias, alias) &&
			    (!str_present(schema) || str_equal(range->schema, schema)))
				return range;
		}
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
	return range ? canon_whole_row(canon, range) : written(canon, "?.(", column);
}

/* By what the resolver has found; false: it does not say. */
static bool resolved_text(struct canon *canon, const ColumnRef *column, str_t *ret_text)
{
	const struct resolved_column *resolved = resolution_column(canon->resolution, column);
	if (!resolved)
		return false;
	const struct canon_range *range = range_of_item(canon, resolved->item);
	switch (resolved->kind) {
	case COLUMN_OF_ITEM:
		*ret_text = canon_item_column(canon, resolved->item, resolved->column);
		return true;
	case COLUMN_WHOLE_ROW:
		if (range)
			*ret_text = canon_whole_row(canon, range);
		return range != NULL;
	case COLUMN_FIELD:
		*ret_text = written(canon, "FIELD(", column);
		canon->failed |= !range || range->dissolved;
		if (range)
			*ret_text = CONCAT(canon, *ret_text, STR(" OF "), seen_name(canon, range));
		return true;
	case COLUMN_SUSPECTED_CALL:
		canon->volatile_calls++;
		canon->unsteady++;
		return false;
	case COLUMN_SYSTEM:
	case COLUMN_UNSURE: {
		const Node *last = llast(column->fields);
		if (!range || !IsA(last, String))
			return false;
		*ret_text = canon_range_column(canon, range, str_from(NODE_STRING(last)));
		return true;
	}
	default:
		return false;
	}
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
	if (resolved_text(canon, column, &text))
		return text;
	if (count == 1)
		return unsure_column(canon, name);
	return qualified_column(canon, column, count);
}
