#include "target/result.h"

#include "common/hash.h"

void result_begin(struct result_builder *builder, size_t columns_count)
{
	builder->columns = ARENA_ARRAY(builder->arena, struct result_column, columns_count);
	builder->columns_count = columns_count;
	builder->cells_count = 0;
	builder->rows_count = 0;
	builder->bytes = 0;
	builder->truncated = false;
}

/* False when the process's memory limit is reached, which truncates the result and does not end the process.
 */
static bool make_room(struct result_builder *builder)
{
	size_t need = builder->cells_count + builder->columns_count;
	if (builder->cells && need <= builder->cells_capacity) /* rows without columns have a place, too */
		return true;
	size_t capacity = builder->cells_capacity ? builder->cells_capacity * 2 : 64;
	while (capacity < need)
		capacity *= 2;
	str_t *cells = realloc(builder->cells, capacity * sizeof *cells);
	if (!cells)
		return false;
	builder->cells = cells;
	builder->cells_capacity = capacity;
	return true;
}

/* The same room again and again, for a row that nobody keeps. */
static str_t *passing_row(struct result_builder *builder, size_t text_bytes, char **ret_text)
{
	builder->cells_count = 0;
	buf_reset(&builder->row_text);
	if ((int64_t)text_bytes > builder->max_bytes || !make_room(builder)) {
		builder->truncated = true;
		return NULL;
	}
	for (size_t i = 0; i < builder->columns_count; i++)
		builder->cells[i] = STR_NONE;
	builder->rows_count++;
	*ret_text = buf_reserve(&builder->row_text, text_bytes + builder->columns_count);
	return builder->cells;
}

str_t *result_add_row(struct result_builder *builder, size_t text_bytes, char **ret_text)
{
	if (builder->sink.take)
		return passing_row(builder, text_bytes, ret_text);
	size_t cost = text_bytes + builder->columns_count * (sizeof(str_t) + 1);
	bool fits = (int64_t)builder->rows_count < builder->max_rows &&
		    (int64_t)cost <= builder->max_bytes - builder->bytes;
	if (!fits || !make_room(builder)) {
		builder->truncated = true;
		return NULL;
	}
	str_t *row = builder->cells + builder->cells_count;
	for (size_t i = 0; i < builder->columns_count; i++)
		row[i] = STR_NONE;
	builder->cells_count += builder->columns_count;
	builder->rows_count++;
	builder->bytes += (int64_t)cost;
	*ret_text = arena_alloc(builder->arena, text_bytes + builder->columns_count);
	return row;
}

bool result_end_row(struct result_builder *builder)
{
	const struct row_sink *sink = &builder->sink;
	return !sink->take || sink->take(sink->context, builder->cells, builder->columns_count);
}

struct result_set result_finish(const struct result_builder *builder)
{
	return (struct result_set){
		.columns = builder->columns,
		.columns_count = builder->columns_count,
		.cells = builder->cells,
		.rows_count = builder->rows_count,
		.truncated = builder->truncated,
	};
}

struct result_set result_without(const struct result_set *set, size_t hidden, struct arena *arena)
{
	size_t columns = set->columns_count - hidden;
	str_t *cells = ARENA_ARRAY(arena, str_t, set->rows_count * columns);
	for (size_t row = 0; row < set->rows_count && columns > 0; row++)
		memcpy(cells + row * columns, set->cells + row * set->columns_count, columns * sizeof *cells);
	struct result_set shown = *set;
	shown.columns_count = columns;
	shown.cells = cells;
	return shown;
}

/* `places`: for each column of the set the one that it gets. */
static struct result_set placed(const struct result_set *set, const size_t *places,
				const struct result_column *columns, size_t count, struct arena *arena)
{
	str_t *cells = ARENA_ARRAY(arena, str_t, set->rows_count * count);
	for (size_t row = 0; row < set->rows_count; row++)
		for (size_t i = 0; i < set->columns_count; i++)
			cells[row * count + places[i]] = set->cells[row * set->columns_count + i];
	struct result_set result = *set;
	result.columns = columns;
	result.columns_count = count;
	result.cells = cells;
	return result;
}

struct result_set result_widened(const struct result_set *set, size_t columns, struct arena *arena)
{
	struct result_column *wide = ARENA_ARRAY(arena, struct result_column, columns);
	size_t *places = ARENA_ARRAY(arena, size_t, columns);
	for (size_t i = 0; i < columns; i++) {
		places[i] = i;
		wide[i] = i < set->columns_count ? set->columns[i]
						 : (struct result_column){ STR(""), CELL_NULL };
	}
	return placed(set, places, wide, columns, arena);
}

bool result_arranged(const struct result_set *set, const struct result_set *whole, struct arena *arena,
		     struct result_set *ret_set)
{
	size_t count = whole->columns_count;
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, count);
	size_t *places = ARENA_ARRAY(arena, size_t, set->columns_count);
	struct hash_map by_name;
	hash_map_init(&by_name, arena, count);
	for (size_t i = 0; i < count; i++) {
		columns[i] = whole->columns[i];
		hash_map_set(&by_name, columns[i].name, &columns[i]);
	}
	for (size_t i = 0; i < set->columns_count; i++) {
		struct result_column *column = hash_map_get(&by_name, set->columns[i].name);
		if (!column)
			return false;
		places[i] = (size_t)(column - columns);
		if (set->columns[i].type != CELL_NULL)
			column->type = set->columns[i].type;
	}
	*ret_set = placed(set, places, columns, count, arena);
	return true;
}

void result_free(struct result_builder *builder)
{
	free(builder->cells);
	buf_free(&builder->row_text);
	builder->cells = NULL;
	builder->cells_count = builder->cells_capacity = 0;
}
