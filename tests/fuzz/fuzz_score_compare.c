/* Comparison of result sets made of foreign cells: a result equals itself, and nothing depends on the side.
 */
#include "score/compare.h"

#define MOST_CELLS 64

/* Header: columns (1..4), a class for each; then cells parted by 0xff. A cell of one 0xfe is NULL. */
static struct result_set read_set(const uint8_t *data, size_t size, struct arena *arena)
{
	struct result_set set = { .columns_count = 1 + data[0] % 4u };
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, set.columns_count);
	str_t *cells = ARENA_ARRAY(arena, str_t, MOST_CELLS);
	size_t count = 0, at = 1 + set.columns_count;
	for (size_t i = 0; i < set.columns_count; i++)
		columns[i] = (struct result_column){ arena_printf(arena, "%u", data[1 + i] / 16u),
						     (enum cell_class)(data[1 + i] % (CELL_NULL + 1u)) };
	while (at < size && count < MOST_CELLS) {
		const uint8_t *end = memchr(data + at, 0xff, size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;
		bool absent = len == 1 && data[at] == 0xfe;
		cells[count++] = absent ? STR_NONE : arena_text(arena, (const char *)data + at, len);
		at += len + 1;
	}
	set.columns = columns;
	set.cells = cells;
	set.rows_count = count / set.columns_count;
	return set;
}

static double score(const struct result_set *generated, const struct result_set *truth, bool ordered,
		    struct arena *arena)
{
	struct compare_order_key key = { 0 };
	struct compare_options options = {
		.ordered = ordered, .order_keys = &key, .order_keys_count = 1, .all_keys_visible = true
	};
	struct compare_verdict verdict;
	compare_results(generated, truth, &options, arena, &verdict);
	if (verdict.content_match_rate < 0 || verdict.content_match_rate > 1 || verdict.score < 0 ||
	    verdict.score > 1)
		abort();
	return verdict.content_match_rate;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 12)
		return 0;
	size_t half = size / 2;
	struct arena *arena = arena_new();
	struct result_set left = read_set(data, half, arena);
	struct result_set right = read_set(data + half, size - half, arena);
	if (score(&left, &left, false, arena) < 1 || score(&left, &left, true, arena) < 1)
		abort();
	/* Equal column names pair the same way from both sides; guessed pairs need not. */
	if (left.columns_count == 1) {
		double there = score(&left, &right, false, arena), back = score(&right, &left, false, arena);
		if (there < back || there > back)
			abort();
	}
	score(&left, &right, true, arena);
	arena_free(arena);
	return 0;
}
