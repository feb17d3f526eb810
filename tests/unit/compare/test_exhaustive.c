/*
 * Small results against every way to pair their columns and rows. What is tried is made by chance from values
 * that look alike; columns have no names in common, and the other side has rows and columns in other places.
 *
 * ASSAYD_EXHAUSTIVE_TRIALS: how many (default 20,000); ASSAYD_EXHAUSTIVE_SEED.
 */
#include "cases.h"

#include "compare/value.h"
#include "tests/harness/fixtures/matching.h"

enum { MAX_COLUMNS = 4, MAX_ROWS = 6, TRIALS = 20000 };

static const struct {
	char class;
	const char *values[12];
	size_t count;
} pools[] = {
	{ 'i', { "0", "1", "2", "5000000001", "5000000002", NULL }, 6 },
	{ 'f',
	  { "0", "1", "0.3", "0.30000000000000004", "-0.0", "0.00009", "1e10", NULL, "NaN", "1.00005",
	    "0.0000905" },
	  11 },
	{ 't', { "a", "b", "", "1", "1.0", "2024-01-01", "2024-01-01 00:00:00", NULL, "0" }, 9 },
	{ 'b', { "t", "f", NULL }, 3 },
	{ 'd', { "1.10", "1.1", "0", "1", NULL, "0.00009", "1000000.5", "1000001" }, 8 },
	{ 'u', { "1.0", "1", "007", "abc", NULL, "1234567890123", "1234567890124" }, 7 },
	{ 'j', { "1", "{\"a\":1}", "{\"a\":1.0}", "[1234567890123]", NULL }, 5 },
};

static uint64_t random_state;

static size_t below(size_t count)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(random_state >> 33) % count;
}

static void shuffle(size_t *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		items[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = below(i), item = items[i - 1];
		items[i - 1] = items[other];
		items[other] = item;
	}
}

struct trial {
	struct arena *arena;
	size_t columns, rows;
	struct result_column truth_columns[MAX_COLUMNS], generated_columns[MAX_COLUMNS];
	str_t truth_cells[MAX_COLUMNS * MAX_ROWS], generated_cells[MAX_COLUMNS * MAX_ROWS];
};

/* One in eight values is another where there are `errors`. */
static void make_trial(struct trial *trial, bool errors)
{
	size_t kinds[MAX_COLUMNS], columns[MAX_COLUMNS], rows[MAX_ROWS];
	trial->columns = 1 + below(MAX_COLUMNS);
	trial->rows = below(MAX_ROWS + 1);
	shuffle(columns, trial->columns);
	shuffle(rows, trial->rows);
	for (size_t i = 0; i < trial->columns; i++) {
		kinds[i] = below(sizeof pools / sizeof *pools);
		enum cell_class class = class_of(pools[kinds[i]].class);
		trial->truth_columns[i] = (struct result_column){ STR("x"), class };
		trial->generated_columns[columns[i]] = (struct result_column){ STR("y"), class };
	}
	for (size_t i = 0; i < trial->columns * trial->rows; i++) {
		size_t row = i / trial->columns, column = i % trial->columns, kind = kinds[column];
		const char *value = pools[kind].values[below(pools[kind].count)];
		trial->truth_cells[i] = str_from(value);
		if (errors && below(8) == 0)
			value = pools[kind].values[below(pools[kind].count)];
		trial->generated_cells[rows[row] * trial->columns + columns[column]] = str_from(value);
	}
}

static bool cells_equal(const struct trial *trial, size_t generated, size_t truth, size_t column,
			size_t partner)
{
	static const struct compare_tolerance tolerance = { 1e-4, 1e-9 };
	struct compare_reading ours = { .arena = trial->arena }, theirs = { .arena = trial->arena };
	enum compare_mode mode =
		compare_mode_of(trial->generated_columns[partner].type, trial->truth_columns[column].type);
	compare_read(&ours, mode, trial->generated_cells[generated * trial->columns + partner]);
	compare_read(&theirs, mode, trial->truth_cells[truth * trial->columns + column]);
	bool equal = compare_readings_equal(&ours, &theirs, &tolerance);
	compare_reading_free(&ours);
	compare_reading_free(&theirs);
	return equal;
}

static size_t match_rows(const struct trial *trial, const size_t *partners)
{
	struct matching matching = { .rows = trial->rows, .others = trial->rows };
	for (size_t i = 0; i < trial->rows * trial->rows; i++) {
		bool *equal = &matching.equal[i / trial->rows][i % trial->rows];
		*equal = true;
		for (size_t column = 0; *equal && column < trial->columns; column++)
			*equal = cells_equal(trial, i / trial->rows, i % trial->rows, column,
					     partners[column]);
	}
	return matching_count(&matching);
}

/* The most rows in common, over all orders of the columns from `column` on. */
static size_t match_best(const struct trial *trial, size_t *partners, size_t column)
{
	size_t best = 0;
	if (column == trial->columns)
		return match_rows(trial, partners);
	for (size_t i = column; i < trial->columns; i++) {
		size_t partner = partners[i];
		partners[i] = partners[column];
		partners[column] = partner;
		size_t matched = match_best(trial, partners, column + 1);
		best = matched > best ? matched : best;
		partners[column] = partners[i];
		partners[i] = partner;
	}
	return best;
}

static void show(const struct trial *trial, const char *what, double found, size_t best)
{
	for (size_t row = 0; row < trial->rows; row++) {
		for (size_t i = 0; i < 2 * trial->columns; i++) {
			const str_t *cells = i < trial->columns ? trial->truth_cells : trial->generated_cells;
			str_t cell = cells[row * trial->columns + i % trial->columns];
			fprintf(stderr, "%s" STR_FMT, i == trial->columns ? "   ||   " : " | ",
				STR_ARG(str_present(cell) ? cell : STR("NULL")));
		}
		fprintf(stderr, "\n");
	}
	fail_msg("%s: a rate of %g, %zu of %zu rows at best", what, found, best, trial->rows);
}

static void nothing_is_better_than_the_best(void **state)
{
	const char *trials = getenv("ASSAYD_EXHAUSTIVE_TRIALS"), *seed = getenv("ASSAYD_EXHAUSTIVE_SEED");
	static const struct compare_options unordered = { 0 };
	(void)state;
	random_state = seed ? strtoull(seed, NULL, 10) : 7;
	for (size_t i = trials ? strtoull(trials, NULL, 10) : TRIALS; i > 0; i--) {
		struct trial trial = { .arena = arena_new() };
		size_t partners[MAX_COLUMNS] = { 0, 1, 2, 3 };
		make_trial(&trial, i % 4 == 0);
		const struct result_set truth = { trial.truth_columns, trial.columns, trial.truth_cells,
						  trial.rows, false };
		const struct result_set generated = { trial.generated_columns, trial.columns,
						      trial.generated_cells, trial.rows, false };
		struct compare_verdict verdict;
		compare_results(&generated, &truth, &unordered, trial.arena, &verdict);
		size_t best = match_best(&trial, partners, 0);
		double rate = trial.rows == 0 ? 1 : (double)best / (double)trial.rows;
		if (verdict.content_match_rate > rate + 1e-9)
			show(&trial, "more alike than possible", verdict.content_match_rate, best);
		if (best == trial.rows && verdict.content_match_rate < rate - 1e-9)
			show(&trial, "equal, called other", verdict.content_match_rate, best);
		arena_free(trial.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_is_better_than_the_best) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
