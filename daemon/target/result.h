/*
 * A result set while it is being fetched: bounded in rows and bytes. One owner, one thread.
 */
#pragma once

#include "common/arena.h"
#include "score/compare.h"

struct result_builder {
	struct arena *arena; /* for names and texts */
	int64_t max_rows;
	int64_t max_bytes;
	struct result_column *columns;
	size_t columns_count;
	str_t *cells; /* heap; row by row */
	size_t cells_count;
	size_t cells_capacity;
	size_t rows_count;
	int64_t bytes; /* texts and their places */
	bool truncated;
};

/* Drops a result that was begun before and starts one of `columns_count` columns, to be named by the caller.
 */
void result_begin(struct result_builder *builder, size_t columns_count);

/* Makes room for one more row whose cells hold `text_bytes` together. Returns its cells, all absent, and in
 * `ret_text` the memory for the texts (each with a NUL behind it, which `text_bytes` need not count). NULL
 * when a limit is reached: the result is truncated then. */
str_t *result_add_row(struct result_builder *builder, size_t text_bytes, char **ret_text);

/* The finished result; it lives as long as builder and arena. */
struct result_set result_finish(const struct result_builder *builder);

void result_free(struct result_builder *builder);
