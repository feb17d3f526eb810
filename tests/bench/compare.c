/*
 * How long a comparison of result sets takes, from cells as text (the only form that cells have) to the
 * verdict, on one core: `taskset -c 0 compare [RUNS [SHAPE]]` in a Release build. Prints the least
 * CPU time, the median and the 99th percentile for each shape; the least is what a machine without other work
 * needs.
 */
#include "compare/compare.h"
#include "common/memory.h"
#include "compare/digest.h"
#include "samples.h"

enum { ROWS = 10000, COLUMNS = 10, WIDE_ROWS = 500, WIDE_COLUMNS = 200 };

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

struct shape {
	const char *name;
	size_t rows, columns;
	bool numbers_only, same_names, ordered, noise, wrong; /* wrong: one cell in 20 rows */
};

static const enum cell_class classes[COLUMNS] = { CELL_INTEGER, CELL_INTEGER, CELL_TEXT,	 CELL_TEXT,
						  CELL_DECIMAL, CELL_FLOAT,   CELL_TIMESTAMP_TZ, CELL_DATE,
						  CELL_BOOLEAN, CELL_TEXT };

static str_t number_cell(struct arena *arena, bool noisy, uint64_t *random)
{
	double value = next_random(random) % 10000000 / 100.0;
	double noise = (next_random(random) % 1000) * 1e-8;
	return noisy ? arena_printf(arena, "%.10f", value + noise) : arena_printf(arena, "%.2f", value);
}

static str_t make_cell(struct arena *arena, enum cell_class type, size_t column, size_t row, bool noisy,
		       uint64_t *random)
{
	static const char *const words[] = { "open", "paid", "shipped", "returned", "cancelled" };
	uint32_t value = next_random(random);
	switch (type) {
	case CELL_INTEGER:
		return arena_printf(arena, "%zu", column == 0 ? row + 1 : (size_t)value % 5000);
	case CELL_TEXT:
		return column == 2 ? str_from(words[value % 5])
				   : arena_printf(arena, "customer %u of %zu", value % 100000, column);
	case CELL_TIMESTAMP_TZ:
		return arena_printf(arena, "2024-%02u-%02u %02u:%02u:%02u.%06u+00", 1 + value % 12,
				    1 + value % 28, value % 24, value % 60, value / 60 % 60, value % 1000000);
	case CELL_DATE:
		return arena_printf(arena, "2024-%02u-%02u", 1 + value % 12, 1 + value % 28);
	case CELL_BOOLEAN:
		return value % 2 ? STR("t") : STR("f");
	default:
		return number_cell(arena, noisy, random);
	}
}

/* The side of the truth, or the generated one: shuffled rows and columns from right to left. */
static struct result_set make_set(struct arena *arena, const struct shape *shape, bool is_truth)
{
	uint64_t random = 5;
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, shape->columns);
	str_t *cells = ARENA_ARRAY(arena, str_t, shape->rows * shape->columns);
	for (size_t i = 0; i < shape->columns; i++) {
		size_t at = is_truth ? i : shape->columns - 1 - i;
		bool same = is_truth || shape->same_names;
		columns[at] =
			(struct result_column){ arena_printf(arena, "%s%zu", same ? "column_" : "c", i),
						shape->numbers_only ? CELL_DECIMAL : classes[i % COLUMNS] };
	}
	for (size_t i = 0; i < shape->rows * shape->columns; i++) {
		size_t row = i / shape->columns, column = i % shape->columns;
		enum cell_class type = shape->numbers_only ? CELL_DECIMAL : classes[column % COLUMNS];
		uint64_t noise = random;
		str_t cell = make_cell(arena, type, column, row, !is_truth && shape->noise, &random);
		if (!is_truth && shape->wrong && row % 20 == 0 && column == 4)
			cell = number_cell(arena, false, &noise),
			cell = arena_printf(arena, "9" STR_FMT, STR_ARG(cell));
		size_t to_row = is_truth || shape->ordered ? row : row * 7919 % shape->rows;
		size_t to_column = is_truth ? column : shape->columns - 1 - column;
		cells[to_row * shape->columns + to_column] = cell;
	}
	return (struct result_set){ columns, shape->columns, cells, shape->rows, false };
}

/* Texts lie as they are fetched: row by row. */
static struct result_set fetch_set(struct arena *arena, const struct shape *shape, bool is_truth)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct result_set made = make_set(scratch, shape, is_truth);
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, made.columns_count);
	str_t *cells = ARENA_ARRAY(arena, str_t, made.rows_count * made.columns_count);
	for (size_t i = 0; i < made.columns_count; i++)
		columns[i] = (struct result_column){ arena_str(arena, made.columns[i].name),
						     made.columns[i].type };
	for (size_t row = 0; row < made.rows_count; row++) {
		size_t bytes = 0;
		const str_t *from = made.cells + row * made.columns_count;
		for (size_t i = 0; i < made.columns_count; i++)
			bytes += from[i].len + 1;
		char *text = arena_alloc(arena, bytes);
		for (size_t i = 0; i < made.columns_count; i++) {
			cells[row * made.columns_count + i] = (str_t){ text, from[i].len };
			memcpy(text, from[i].ptr, from[i].len);
			text += from[i].len + 1;
		}
	}
	return (struct result_set){ columns, made.columns_count, cells, made.rows_count, false };
}

static void measure(const struct shape *shape, int runs)
{
	struct arena *arena = arena_new();
	struct result_set generated = fetch_set(arena, shape, false), truth = fetch_set(arena, shape, true);
	struct compare_order_key key = { 0 };
	struct compare_options options = {
		.ordered = shape->ordered, .order_keys = &key, .order_keys_count = 1, .all_keys_visible = true
	};
	struct compare_verdict verdict = { 0 };
	struct samples samples = { 0 };
	for (int run = 0; run < runs; run++) {
		int64_t start_ns = cpu_ns();
		struct arena *scratch = arena_new();
		compare_results(&generated, &truth, &options, scratch, &verdict);
		arena_free(scratch);
		samples_add(&samples, cpu_ns() - start_ns);
	}
	struct sample_summary summary = samples_summary(&samples);
	printf("%-40s %6zu x %-3zu  %8.2f ms  %8.2f ms  %8.2f ms  rate %.4f\n", shape->name, shape->rows,
	       shape->columns, (double)samples.ns[0] / 1e6, summary.median_us / 1e3, summary.p99_us / 1e3,
	       verdict.content_match_rate);
	free(samples.ns);
	arena_free(arena);
}

/* What a row costs on its way through a digest with a sample of 1,000 rows. */
static void measure_digest(int runs)
{
	static const struct shape shape = { "digest with a sample", ROWS, COLUMNS, .same_names = true };
	struct arena *arena = arena_new();
	struct result_set truth = fetch_set(arena, &shape, true);
	struct compare_pair pairs[COLUMNS];
	for (size_t i = 0; i < COLUMNS; i++)
		pairs[i] = (struct compare_pair){ i, compare_mode_of(classes[i], classes[i]) };
	struct compare_pairing pairing = { pairs, COLUMNS, 1 };
	struct compare_options options = { 0 };
	struct compare_digest_settings settings = { .pairing = &pairing,
						    .is_truth = true,
						    .options = &options,
						    .sample_rows = 1000,
						    .sample_bytes = 1 << 20 };
	hash_key_make(&settings.key);
	struct samples samples = { 0 };
	for (int run = 0; run < runs; run++) {
		int64_t start_ns = cpu_ns();
		struct compare_digest *digest = compare_digest_new(&settings);
		for (size_t row = 0; row < truth.rows_count; row++)
			compare_digest_row(digest, truth.cells + row * COLUMNS);
		compare_digest_free(digest);
		samples_add(&samples, cpu_ns() - start_ns);
	}
	struct sample_summary summary = samples_summary(&samples);
	printf("%-40s %6d x %-3d  %8.2f ms  %8.2f ms  %8.2f ms\n", shape.name, ROWS, COLUMNS,
	       (double)samples.ns[0] / 1e6, summary.median_us / 1e3, summary.p99_us / 1e3);
	free(samples.ns);
	arena_free(arena);
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 50;
	static const struct shape shapes[] = {
		{ "names differ, columns permuted", ROWS, COLUMNS, .same_names = false },
		{ "names equal, columns permuted", ROWS, COLUMNS, .same_names = true },
		{ "ordered, names equal", ROWS, COLUMNS, .same_names = true, .ordered = true },
		{ "ordered, names differ", ROWS, COLUMNS, .ordered = true },
		{ "numbers only, names differ", ROWS, COLUMNS, .numbers_only = true },
		{ "numbers only, names equal, noise", ROWS, COLUMNS, .numbers_only = true, .same_names = true,
		  .noise = true },
		{ "noise within tolerance, names equal", ROWS, COLUMNS, .same_names = true, .noise = true },
		{ "noise within tolerance, names differ", ROWS, COLUMNS, .noise = true },
		{ "5 % of rows wrong, names equal", ROWS, COLUMNS, .same_names = true, .wrong = true },
		{ "5 % of rows wrong, names differ", ROWS, COLUMNS, .wrong = true },
		{ "wide, names differ", WIDE_ROWS, WIDE_COLUMNS, .same_names = false },
		{ "wide, numbers only, names differ", WIDE_ROWS, WIDE_COLUMNS, .numbers_only = true },
		{ "wide, names differ, noise", WIDE_ROWS, WIDE_COLUMNS, .noise = true },
	};
	memory_keep_freed(); /* as a worker process does */
	printf("%-40s %-14s %8s     %8s     %8s\n", "from text cells to the verdict", "rows x columns",
	       "least", "median", "99 %");
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (argc < 3 || strcmp(argv[2], shapes[i].name) == 0)
			measure(&shapes[i], runs);
	if (argc < 3)
		measure_digest(runs);
	return 0;
}
