/*
 * Comparison of result sets made of foreign cells: a result equals itself and its copy with rows and columns
 * in other places, nothing depends on the side, equal digests are equal results, and what a cut leaves of a
 * result is right.
 */
#include "compare/digest.h"

#define MAX_CELLS 64

/* Header: columns (1..4), a class for each; then cells parted by 0xff. A cell of one 0xfe is NULL. Names are
 * foreign, too, or those of the places. */
static struct result_set read_set(const uint8_t *data, size_t size, bool named, struct arena *arena)
{
	struct result_set set = { .columns_count = 1 + data[0] % 4u };
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, set.columns_count);
	str_t *cells = ARENA_ARRAY(arena, str_t, MAX_CELLS);
	size_t count = 0, at = 1 + set.columns_count;
	for (size_t i = 0; i < set.columns_count; i++)
		columns[i] =
			(struct result_column){ arena_printf(arena, "%zu", named ? i : data[1 + i] / 17u),
						(enum cell_class)(data[1 + i] % (CELL_NULL + 1u)) };
	while (at < size && count < MAX_CELLS) {
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

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Rows from last to first, columns from right to left. */
static struct result_set mirror(const struct result_set *set, struct arena *arena)
{
	size_t width = set->columns_count, cells_count = set->rows_count * width;
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, width);
	str_t *cells = ARENA_ARRAY(arena, str_t, cells_count);
	for (size_t i = 0; i < width; i++)
		columns[i] = set->columns[width - 1 - i];
	for (size_t i = 0; i < cells_count; i++)
		cells[i] = set->cells[cells_count - 1 - i];
	return (struct result_set){ columns, width, cells, set->rows_count, false };
}

static struct compare_digest *digest(const struct result_set *set, const struct compare_pairing *pairing,
				     bool is_truth)
{
	static const struct compare_options options = { 0 };
	struct compare_digest *made =
		compare_digest_new(&(struct compare_digest_settings){ .pairing = pairing,
								      .is_truth = is_truth,
								      .options = &options,
								      .sample_rows = 4,
								      .sample_bytes = 256 });
	for (size_t row = 0; row < set->rows_count; row++)
		compare_digest_row(made, set->cells + row * set->columns_count);
	return made;
}

/* Of columns that names pair. */
static void check_digests(const struct result_set *left, const struct result_set *right, double rate,
			  struct arena *arena)
{
	static const struct compare_tolerance tolerance = { 1e-4, 1e-9 };
	struct compare_pairing pairing = { ARENA_ARRAY(arena, struct compare_pair, left->columns_count),
					   left->columns_count, 1 };
	bool *taken = ARENA_ARRAY(arena, bool, left->columns_count);
	must(compare_pair_names(left, right, &pairing, taken, arena) == 0);
	_cleanup_(compare_digest_cleanup) struct compare_digest *ours = digest(left, &pairing, false);
	_cleanup_(compare_digest_cleanup) struct compare_digest *theirs = digest(right, &pairing, true);
	struct compare_estimate estimate;
	if (compare_digest_judge(ours, theirs) == COMPARE_DIGEST_EQUAL)
		must(rate >= 1);
	compare_digest_estimate(ours, theirs, &tolerance, arena, &estimate);
	must(!estimate.known || (estimate.low <= estimate.rate && estimate.rate <= estimate.high));
}

static void check_named(const struct result_set *left, const struct result_set *right, struct arena *arena)
{
	struct result_set mirrored = mirror(left, arena);
	must(score(&mirrored, left, false, arena) >= 1);
	if (left->columns_count != right->columns_count)
		return;
	double there = score(left, right, false, arena), back = score(right, left, false, arena);
	must(there <= back && back <= there);
	check_digests(left, right, there, arena);
	check_digests(&mirrored, left, 1, arena);
}

/* The rows from `first` on are what an OFFSET leaves of all of them; they are right, whatever ties. */
static void check_whole(const struct result_set *set, size_t first, struct arena *arena)
{
	const struct compare_whole whole = { set, set, first };
	const struct compare_order_key key = { 0 };
	struct compare_options options = {
		.ordered = true, .order_keys = &key, .order_keys_count = 1, .all_keys_visible = true
	};
	struct result_set truth = *set;
	truth.cells += first * set->columns_count;
	truth.rows_count -= first;
	must(compare_whole_fit(&truth, &options, &whole, arena) == COMPARE_FITS);
	struct compare_verdict verdict;
	options.whole = &whole;
	compare_results(&truth, &truth, &options, arena, &verdict);
	must(verdict.content_match_rate >= 1 && !verdict.limit_cut_tie);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 13)
		return 0;
	bool named = data[0] & 1;
	size_t half = (size - 1) / 2;
	struct arena *arena = arena_new();
	struct result_set left = read_set(data + 1, half, named, arena);
	struct result_set right = read_set(data + 1 + half, size - 1 - half, named, arena);
	must(score(&left, &left, false, arena) >= 1);
	must(score(&left, &left, true, arena) >= 1);
	score(&left, &right, false, arena);
	score(&left, &right, true, arena);
	check_whole(&left, data[1] % (left.rows_count + 1), arena);
	if (named)
		check_named(&left, &right, arena);
	arena_free(arena);
	return 0;
}
