/*
 * A result set while it is being fetched: bounded in rows and bytes, or handed on row by row without being
 * kept. One owner, one thread.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "compare/compare.h"

/* Takes rows one by one. */
struct row_sink {
	/* `cells`, one for each column, live until this returns. False: no more rows are wanted. NULL: rows
	 * are kept. */
	bool (*take)(void *context, const str_t *cells, size_t cells_count);
	void *context;
};

struct result_builder {
	struct arena *arena;  /* for names and texts */
	struct row_sink sink; /* with one, nothing but the columns is kept, and max_bytes limits a row */
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
	struct buf row_text; /* of the one row that is on its way to the sink */
};

/* Drops a result that was begun before and starts one of `columns_count` columns, to be named by the caller.
 */
void result_begin(struct result_builder *builder, size_t columns_count);

/* Makes room for one more row whose cells hold `text_bytes` together. Returns its cells, all absent, and in
 * `ret_text` the memory for the texts (each with a NUL behind it, which `text_bytes` need not count). NULL
 * when a limit is reached: the result is truncated then. Behind it, once the cells are filled in, belongs
 * result_end_row(). */
str_t *result_add_row(struct result_builder *builder, size_t text_bytes, char **ret_text);

/* The row that was added last is complete. False: no more rows are wanted. */
bool result_end_row(struct result_builder *builder);

/* The finished result; it lives as long as builder and arena. */
struct result_set result_finish(const struct result_builder *builder);

/* The same rows without their last `hidden` columns; memory comes from the arena, texts are shared. */
struct result_set result_without(const struct result_set *set, size_t hidden, struct arena *arena);

/* The same rows with `columns` columns, which are more: further ones have no name and hold nothing. Memory as
 * above. */
struct result_set result_widened(const struct result_set *set, size_t columns, struct arena *arena);

/* The same rows with the columns of `whole`, in its order, found by their names; one that the set lacks holds
 * nothing. Classes are the set's as far as it has values. False: it has one that the whole lacks. Memory as
 * above. */
bool result_arranged(const struct result_set *set, const struct result_set *whole, struct arena *arena,
		     struct result_set *ret_set);

void result_free(struct result_builder *builder);
