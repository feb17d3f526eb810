/* Comparison of large and random result sets: bounded time, and nothing but the best matching. The tables of
 * small cases are in the files beside, by topic. */
#include "compare/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static const struct compare_options unordered = { 0 };

static str_t number_cell(struct arena *arena, uint64_t seed, size_t row, size_t column, size_t variety)
{
	uint64_t mixed = (row * 2654435761u + column * 40503u + seed) * 0x9e3779b97f4a7c15u;
	return arena_printf(arena, "%zu.%02zu", (size_t)((mixed >> 33) % variety),
			    (size_t)((mixed >> 20) % 100));
}

/* `columns` number columns; on the generated side in reverse, under other names, the rows in reverse too. */
static void make_pair(struct arena *arena, size_t columns, size_t rows, size_t variety,
		      struct result_set sets[2])
{
	for (int side = 0; side < 2; side++) {
		struct result_column *list = ARENA_ARRAY(arena, struct result_column, columns);
		str_t *cells = ARENA_ARRAY(arena, str_t, rows * columns);
		for (size_t i = 0; i < columns; i++)
			list[i] = (struct result_column){ arena_printf(arena, "%c%zu", side ? 't' : 'g', i),
							  CELL_DECIMAL };
		for (size_t i = 0; i < rows * columns; i++) {
			size_t row = i / columns, column = i % columns;
			cells[i] =
				side ? number_cell(arena, 1, row, column, variety)
				     : number_cell(arena, 1, rows - 1 - row, columns - 1 - column, variety);
		}
		sets[side] = (struct result_set){ list, columns, cells, rows, false };
	}
}

/* CPU time of this thread: what others do on a busy machine does not count. */
static int64_t cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t compare_time_ms(const struct result_set sets[2], struct arena *arena,
			       struct compare_verdict *verdict)
{
	int64_t start_ms = cpu_ms();
	compare_results(&sets[0], &sets[1], &unordered, arena, verdict);
	return cpu_ms() - start_ms;
}

/* Limits are generous (sanitizers): what they catch is factorial or cubic growth. */
static void test_wide_results_take_no_factorial_time(void **state)
{
	(void)state;
	static const struct {
		size_t columns, rows, variety;
	} shapes[] = {
		{ 200, 200, 1000000 }, { 200, 200, 2 }, { 60, 2000, 1 }, { 3, 10000, 50 }, { 1000, 3, 9 }
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct arena *arena = arena_new();
		struct result_set sets[2];
		struct compare_verdict verdict;
		make_pair(arena, shapes[i].columns, shapes[i].rows, shapes[i].variety, sets);
		int64_t took_ms = compare_time_ms(sets, arena, &verdict);
		print_message("%zu columns, %zu rows, %zu values: %lld ms\n", shapes[i].columns,
			      shapes[i].rows, shapes[i].variety, (long long)took_ms);
		if (shapes[i].columns != 1000)
			assert_float_equal(verdict.score, 1.0, 0);
		assert_in_range(took_ms, 0, 10000);
		arena_free(arena);
	}
}

/* All values of both columns form one chain of close values: the hardest case of matching. */
static void test_dense_chains_are_matched(void **state)
{
	(void)state;
	enum { ROWS = 3000 };
	struct arena *arena = arena_new();
	static const struct result_column columns[] = { { { "a", 1 }, CELL_FLOAT },
							{ { "b", 1 }, CELL_FLOAT } };
	str_t *cells[2] = { ARENA_ARRAY(arena, str_t, 2 * ROWS), ARENA_ARRAY(arena, str_t, 2 * ROWS) };
	for (size_t i = 0; i < ROWS; i++) {
		double a = 1 + 0.00005 * (double)i, b = 1 + 0.00005 * (double)(i * 7919 % ROWS);
		cells[0][2 * i] = arena_printf(arena, "%.17g", a + 1e-9);
		cells[0][2 * i + 1] = arena_printf(arena, "%.17g", b - 1e-9);
		size_t mirrored = ROWS - 1 - i;
		cells[1][2 * mirrored] = arena_printf(arena, "%.17g", a);
		cells[1][2 * mirrored + 1] = arena_printf(arena, "%.17g", b);
	}
	struct result_set sets[2] = { { columns, 2, cells[0], ROWS, false },
				      { columns, 2, cells[1], ROWS, false } };
	struct compare_verdict verdict;
	int64_t took_ms = compare_time_ms(sets, arena, &verdict);
	assert_float_equal(verdict.content_match_rate, 1.0, 0);
	assert_in_range(took_ms, 0, 10000);
	arena_free(arena);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#define ORACLE_ROWS 6

/* Rows of two numbers in steps of 0.4 tolerances and a text of two values: chains in every direction. */
struct oracle_row {
	int a, b, text;
};

static bool oracle_equal(const struct oracle_row *left, const struct oracle_row *right)
{
	return abs(left->a - right->a) <= 2 && abs(left->b - right->b) <= 2 && left->text == right->text;
}

/* The largest matching, by trying everything. */
static int oracle_match(const struct oracle_row *left, int left_count, const struct oracle_row *right,
			int right_count, unsigned used)
{
	if (left_count == 0)
		return 0;
	int best = oracle_match(left + 1, left_count - 1, right, right_count, used);
	for (int i = 0; i < right_count; i++)
		if (!(used & 1u << i) && oracle_equal(left, &right[i])) {
			int found = 1 + oracle_match(left + 1, left_count - 1, right, right_count,
						     used | 1u << i);
			best = found > best ? found : best;
		}
	return best;
}

static struct result_set oracle_set(const struct oracle_row *rows, int count, struct arena *arena)
{
	static const struct result_column columns[] = { { { "a", 1 }, CELL_FLOAT },
							{ { "b", 1 }, CELL_DECIMAL },
							{ { "t", 1 }, CELL_TEXT } };
	str_t *cells = ARENA_ARRAY(arena, str_t, 3 * (size_t)count);
	for (int i = 0; i < count; i++) {
		cells[3 * i] = arena_printf(arena, "%.5f", 3 + rows[i].a * 0.00004);
		cells[3 * i + 1] = arena_printf(arena, "%.5f", 7 + rows[i].b * 0.00004);
		cells[3 * i + 2] = rows[i].text ? STR("x") : STR("y");
	}
	return (struct result_set){ columns, 3, cells, (size_t)count, false };
}

static void test_matching_is_the_largest_there_is(void **state)
{
	(void)state;
	uint64_t random = 42;
	for (int round = 0; round < 3000; round++) {
		struct oracle_row rows[2][ORACLE_ROWS];
		for (int i = 0; i < 2 * ORACLE_ROWS; i++)
			rows[i / ORACLE_ROWS][i % ORACLE_ROWS] =
				(struct oracle_row){ (int)(next_random(&random) % 8),
						     (int)(next_random(&random) % 8),
						     next_random(&random) % 8 == 0 };
		struct arena *arena = arena_new();
		struct result_set sets[2] = { oracle_set(rows[0], ORACLE_ROWS, arena),
					      oracle_set(rows[1], ORACLE_ROWS, arena) };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
		int expected = oracle_match(rows[0], ORACLE_ROWS, rows[1], ORACLE_ROWS, 0);
		if (fabs(verdict.content_match_rate * ORACLE_ROWS - expected) > 1e-9)
			fail_msg("round %d: %.0f rows matched, %d can be", round,
				 verdict.content_match_rate * ORACLE_ROWS, expected);
		assert_true(verdict.rows_matched == (size_t)expected && verdict.rows_compared == ORACLE_ROWS);
		arena_free(arena);
	}
}

/* Columns of few distinct values under other names, columns and rows shuffled: everything can be paired. */
static void test_shuffled_and_renamed_results_are_equal(void **state)
{
	(void)state;
	enum { ROUNDS = 2000, ROWS = 12, COLUMNS = 5 };
	uint64_t random = 7;
	int failures = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		struct result_column columns[2][COLUMNS];
		str_t cells[2][ROWS * COLUMNS];
		size_t column_at[COLUMNS], row_at[ROWS];
		uint32_t variety = 2 + next_random(&random) % 5;
		for (size_t i = 0; i < COLUMNS; i++) {
			size_t other = next_random(&random) % (i + 1);
			column_at[i] = column_at[other];
			column_at[other] = i;
			columns[0][i] =
				(struct result_column){ arena_printf(arena, "g%zu", i), CELL_INTEGER };
			columns[1][i] =
				(struct result_column){ arena_printf(arena, "t%zu", i), CELL_INTEGER };
		}
		for (size_t i = 0; i < ROWS; i++) {
			size_t other = next_random(&random) % (i + 1);
			row_at[i] = row_at[other];
			row_at[other] = i;
		}
		for (size_t row = 0; row < ROWS; row++)
			for (size_t column = 0; column < COLUMNS; column++) {
				str_t cell = arena_printf(arena, "%u", next_random(&random) % variety);
				cells[0][row * COLUMNS + column] = cell;
				cells[1][row_at[row] * COLUMNS + column_at[column]] = cell;
			}
		struct result_set sets[2] = { { columns[0], COLUMNS, cells[0], ROWS, false },
					      { columns[1], COLUMNS, cells[1], ROWS, false } };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
		failures += verdict.content_match_rate < 1;
		arena_free(arena);
	}
	print_message("%d of %d not recognised\n", failures, ROUNDS);
	assert_int_equal(failures, 0);
}

/* Deep documents must neither overflow the stack nor take for ever. */
static void test_deep_documents_are_text(void **state)
{
	(void)state;
	enum { DEPTH = 200000 };
	struct arena *arena = arena_new();
	char *deep = arena_alloc(arena, DEPTH + 1);
	memset(deep, '[', DEPTH);
	str_t cell = { deep, DEPTH };
	static const struct result_column columns[] = { { { "a", 1 }, CELL_JSON } };
	struct result_set sets[2] = { { columns, 1, &cell, 1, false }, { columns, 1, &cell, 1, false } };
	struct compare_verdict verdict;
	assert_in_range(compare_time_ms(sets, arena, &verdict), 0, 5000);
	assert_float_equal(verdict.score, 1.0, 0);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide_results_take_no_factorial_time),
		cmocka_unit_test(test_dense_chains_are_matched),
		cmocka_unit_test(test_matching_is_the_largest_there_is),
		cmocka_unit_test(test_shuffled_and_renamed_results_are_equal),
		cmocka_unit_test(test_deep_documents_are_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
