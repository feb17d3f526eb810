/* Which column is compared with which: names, contents, and what cannot be told apart. See compare_cases.h.
 */
#include "cases.h"

static void test_names(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "permuted_columns_by_place", "names pair", "b:t|a:i", "x|1\ny|2\n", "a:i|b:t", "1|x\n2|y\n",
		  0, 0, 1, 1 },
		{ "permuted_columns_of_one_class", "names pair", "b:i|a:i", "1|2\n3|4\n", "a:i|b:i",
		  "2|1\n4|3\n", 0, 0, 1, 1 },
		{ "letter_case_of_names", "names are lower-cased", "TOTAL:i|Name:t", "1|x\n",
		  "name:t|total:i", "x|1\n", 0, 0, 1, 1 },
		{ "blanks_of_names", "names are trimmed", " a :i|b:i", "1|2\n", "b:i|a:i", "2|1\n", 0, 0, 1,
		  1 },
		{ "contents_beat_names", "names win even where contents are swapped", "a:i|b:i", "1|9\n2|8\n",
		  "a:i|b:i", "9|1\n8|2\n", 0, 0, 0, 0 },
		{ "contents_beat_names_texts", "names win even where contents are swapped", "first:t|last:t",
		  "Smith|Ann\nJones|Bob\n", "first:t|last:t", "Ann|Smith\nBob|Jones\n", 0, 0, 0, 0 },
		{ "names_partly_equal", "one name pairs, the others pair by content", "id:i|n:t|s:i",
		  "1|ann|50\n2|bob|60\n", "total:i|id:i|name:t", "50|1|ann\n60|2|bob\n", 0, 0, 1, 1 },
		{ "equal_name_taken_by_content", "a is a, although it holds what b holds", "a:i|x:i",
		  "1|5\n2|6\n", "b:i|a:i", "1|5\n2|6\n", 0, 0, 0, 0 },
		{ "duplicate_names_by_place", "two columns id: contents tell them apart", "id:i|id:i",
		  "7|1\n8|2\n", "id:i|id:i", "1|7\n2|8\n", 0, 0, 1, 1 },
		{ "duplicate_names_on_one_side", "a join without aliases", "id:i|id:i", "1|7\n2|8\n",
		  "a_id:i|b_id:i", "1|7\n2|8\n", 0, 0, 1, 1 },
		{ "duplicate_names_keep_others", "the unique name pairs", "id:i|id:i|k:i", "1|7|3\n2|8|4\n",
		  "k:i|id:i|id:i", "3|7|1\n4|8|2\n", 0, 0, 1, 1 },
		{ "no_names", "contents pair", ":i|:t", "1|x\n", ":t|:i", "x|1\n", 0, 0, 1, 1 },
		{ "question_mark_names", "PostgreSQL's ?column? twice", "?column?:i|?column?:t", "1|x\n2|y\n",
		  "?column?:t|?column?:i", "x|1\ny|2\n", 0, 0, 1, 1 },
		{ "expression_name", "sum(amount) is total", "sum(amount):d", "10.50\n20\n", "total:d",
		  "10.5\n20\n", 0, 0, 1, 1 },
	};
	CHECK_ALL(cases, check_case);
}

static void test_contents(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "renamed_and_permuted", "contents pair", "n:i|who:t", "3|ann\n5|bob\n", "name:t|count:i",
		  "ann|3\nbob|5\n", 0, 0, 1, 1 },
		{ "equal_bags_paired_blindly", "u and v hold the same values in other rows", "x:i|y:i|k:t",
		  "1|2|p\n2|1|q\n3|3|r\n", "u:i|v:i|k:t", "2|1|p\n1|2|q\n3|3|r\n", 0, 0, 1, 1 },
		{ "cycle_paired_once", "three rows that turn in a circle", "x:i|y:i", "2|1\n3|2\n1|3\n",
		  "u:i|v:i", "1|2\n2|3\n3|1\n", 0, 0, 1, 1 },
		{ "columns_permutations_of_each_other", "each holds 1 to 4, in other rows", "x:i|y:i|z:i",
		  "1|2|3\n2|3|4\n3|4|1\n4|1|2\n", "c:i|a:i|b:i", "3|1|2\n4|2|3\n1|3|4\n2|4|1\n", 0, 0, 1, 1 },
		{ "one_wrong_cell_breaks_pairing", "4 of 5 rows", "x:t|y:i", "a|1\nb|2\nc|3\nd|4\ne|6\n",
		  "n:i|m:t", "1|a\n2|b\n3|c\n4|d\n5|e\n", 0, 0, 0.8, 0.8 },
		{ "columns_equal_but_one_row", "x is u, y is v: only row 5 tells", "x:i|y:i",
		  "1|1\n2|2\n3|3\n4|4\n5|6\n", "v:i|u:i", "1|1\n2|2\n3|3\n4|4\n6|5\n", 0, 0, 1, 1 },
		{ "classes_stop_pairing", "numbers in a text column", "x:t|y:t", "12|ann\n13|bob\n",
		  "name:t|age:i", "ann|12\nbob|13\n", 0, 0, 1, 1 },
		{ "booleans_stop_pairing", "0 and 1 of SQLite", "x:i|y:i", "1|12\n0|13\n", "n:i|ok:b",
		  "12|t\n13|f\n", 0, 0, 1, 1 },
		{ "noise_stops_pairing", "close numbers", "x:f|y:f", "0.30000000000000004|5\n0.7|6\n",
		  "p:d|q:d", "5|0.3\n6|0.7\n", 0, 0, 1, 1 },
		{ "scale_stops_pairing", "1.10 is 1.1", "x:d|y:d", "1.10|7.00\n2.20|8.00\n", "p:f|q:f",
		  "7|1.1\n8|2.2\n", 0, 0, 1, 1 },
		{ "zones_stop_pairing", "one moment in two zones", "x:z|y:z",
		  "2024-03-01 14:00:00+02|2024-03-05 00:00:00+00\n", "p:z|q:z",
		  "2024-03-05 00:00:00+00|2024-03-01 12:00:00+00\n", 0, 0, 1, 1 },
		{ "large_keys_look_alike", "keys that differ in their last digits only", "x:i|y:i",
		  "500000001|500000004\n500000002|500000003\n", "p:i|q:i",
		  "500000004|500000001\n500000003|500000002\n", 0, 0, 1, 1 },
		{ "identical_columns_confuse", "a twin has either partner", "a:i|b:i|c:i", "1|1|2\n3|3|4\n",
		  "x:i|y:i|z:i", "2|1|1\n4|3|3\n", 0, 0, 1, 1 },
		{ "all_columns_alike", "any pairing is right", "a:i|b:i|c:i", "1|1|1\n2|2|2\n", "x:i|y:i|z:i",
		  "2|2|2\n1|1|1\n", 0, 0, 1, 1 },
		{ "close_columns_are_twins", "one row: sums that differ in the seventh digit", "x:d|y:d",
		  "1000001|1000000.5\n", "p:d|q:d", "1000000.5|1000001\n", 0, 0, 1, 1 },
		{ "adjacent_keys_are_twins", "one row: keys beyond what a double tells apart", "x:i|y:i",
		  "175928847299117064|175928847299117063\n", "p:i|q:i",
		  "175928847299117063|175928847299117064\n", 0, 0, 1, 1 },
		{ "versions_are_twins", "one row: texts that are one number", "x:t|y:t", "1.0|1\n", "p:t|q:t",
		  "1|1.0\n", 0, 0, 1, 1 },
		{ "small_numbers_are_false", "one row: 0.00009 is not false", "x:b|y:f", "f|0.00009\n",
		  "p:f|q:b", "0.00009|f\n", 0, 0, 1, 1 },
		{ "twins_of_two_classes", "any pairing is right", "x:i|y:d", "0|0.00\n", "p:d|q:i", "0.0|0\n",
		  0, 0, 1, 1 },
		{ "null_columns_confuse", "any pairing of the empty ones is right", "a:n|b:i|c:n",
		  "\\N|1|\\N\n\\N|2|\\N\n", "x:n|y:n|z:i", "\\N|\\N|1\n\\N|\\N|2\n", 0, 0, 1, 1 },
		{ "null_column_against_values", "two of the columns differ", "a:i|b:n", "1|\\N\n", "x:i|y:i",
		  "1|2\n", 0, 0, 0, 0 },
		{ "scrambled_column_paired_anyway", "the same values, not in the same rows", "x:i|y:t",
		  "1|a\n2|b\n3|c\n", "n:i|m:t", "1|b\n2|c\n3|a\n", 0, 0, 0, 0 },
		{ "scrambled_columns_of_one_class", "no pairing makes the rows equal", "x:i|y:i",
		  "1|4\n2|5\n3|6\n", "n:i|m:i", "1|5\n2|6\n3|4\n", 0, 0, 0, 0 },
		{ "extra_occurrence_ignored", "columns hold the same set, not the same bag", "x:i|y:i",
		  "1|1\n1|2\n2|3\n", "n:i|m:i", "1|1\n2|2\n2|3\n", 0, 0, 2.0 / 3, 2.0 / 3 },
		{ "counts_differ_and_names", "contents pair even so", "x:t|y:i", "a|1\nb|2\nc|3\n", "n:i|m:t",
		  "1|a\n2|b\n", 0, COUNTS_DIFFER, 0.3, 2.0 / 3 },
	};
	CHECK_ALL(cases, check_case);
}

/* The same rows as different engines give them. */
static void test_engines(void **state)
{
	(void)state;
	static const char postgresql_columns[] = "id:i|active:b|price:d|created:z|day:D|name:t|raw:x|tags:j";
	static const char postgresql[] =
		"1|t|1.10|2024-01-01 00:00:00+00|2024-01-01|ann|00ff|[1, 2]\n"
		"2|f|20.00|2024-06-30 23:59:59.5+00|2024-07-01|bob  |dead|{\"a\": 1}\n"
		"3|\\N|\\N|\\N|\\N|\\N|\\N|\\N\n";
	static const char sqlite_columns[] = "id:i|active:i|price:f|created:t|day:t|name:t|raw:x|tags:j";
	static const char sqlite[] = "1|1|1.1|2024-01-01T00:00:00Z|2024-01-01|ann|00ff|[1,2]\n"
				     "2|0|20.0|2024-07-01T01:59:59.500+02:00|2024-07-01|bob|dead|{\"a\":1}\n"
				     "3|\\N|\\N|\\N|\\N|\\N|\\N|\\N\n";
	static const char mariadb_columns[] = "id:i|active:i|price:d|created:m|day:D|name:t|raw:x|tags:t";
	static const char mariadb[] =
		"1|1|1.10|2024-01-01 00:00:00.000000|2024-01-01|ann|00FF|[1, 2]\n"
		"2|0|20.00|2024-06-30 23:59:59.500000|2024-07-01|bob|DEAD|{\"a\": 1.0}\n"
		"3|\\N|\\N|\\N|\\N|\\N|\\N|\\N\n";
	static const struct compare_case cases[] = {
		{ "sqlite_against_postgresql", "the same rows", sqlite_columns, sqlite, postgresql_columns,
		  postgresql, 0, 0, 1, 1 },
		{ "mariadb_against_postgresql", "the same rows", mariadb_columns, mariadb, postgresql_columns,
		  postgresql, 0, 0, 1, 1 },
		{ "mariadb_against_sqlite", "the same rows", mariadb_columns, mariadb, sqlite_columns, sqlite,
		  0, 0, 1, 1 },
		{ "sqlite_against_postgresql_ordered", "the same rows", sqlite_columns, sqlite,
		  postgresql_columns, postgresql, ORDERED, 0, 1, 1 },
		{ "sqlite_against_postgresql_renamed", "the same rows, no name in common",
		  "c1:i|c2:i|c3:f|c4:t|c5:t|c6:t|c7:x|c8:j", sqlite, postgresql_columns, postgresql, 0, 0, 1,
		  1 },
		{ "hex_text_hides_columns", "HEX() against bytea, columns in other places, no name in common",
		  "p:i|q:d|r:x", "0|1000000000000|00\n", "h:t|n:d|k:i", "00|1000000000000|0\n", 0, 0, 1, 1 },
		{ "time_against_length_hides_columns", "TIMEDIFF against a difference of timestamps",
		  "p:t|q:v|r:v", "x|01:00:00|1 day 02:00:00\n", "a:c|b:t|c:c", "26:00:00|x|01:00:00\n", 0, 0,
		  1, 1 },
		{ "truth_value_hides_columns", "MariaDB's JSON is text, its booleans are numbers",
		  "p:t|q:i|r:d", "[1, 2]|1|2.50\n[]|0|2.50\n", "a:d|b:j|c:b", "2.5|[]|f\n2.5|[1,2]|t\n", 0, 0,
		  1, 1 },
		{ "close_lists_hide_columns", "elements have a tolerance", "p:j|q:a",
		  "null|{2}\n{\"b\":1.0}|{1.0001}\n", "a:a|b:j", "{1.00015}|{\"b\":1}\n{2}|null\n", 0, 0, 1,
		  1 },
		{ "arrays_of_texts_look_alike_as_numbers", "1.0 is not 1 in texts: the columns are crossed",
		  "p:A|q:A", "{1.0,2.00}|{1,2}\n", "a:A|b:A", "{1,2}|{1.0,2.00}\n", 0, 0, 1, 1 },
		{ "search_finds_what_is_not_there", "columns fit one by one, rows do not", "p:i|q:t|r:x",
		  "1|00|aa\n2|ff|bb\n", "a:x|b:i|c:t", "00|1|bb\nff|2|aa\n", 0, 0, 0, 0 },
	};
	CHECK_ALL(cases, check_case);
}

static const struct compare_options unordered = { 0 };

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void shuffle(size_t *order, size_t count, uint64_t *random)
{
	for (size_t i = 0; i < count; i++) {
		size_t other = next_random(random) % (i + 1);
		order[i] = order[other];
		order[other] = i;
	}
}

/* A table of texts, and its copy with columns and rows in other places and other names. */
struct table {
	struct arena *arena;
	size_t columns, rows;
	str_t *cells;
	enum cell_class type;
};

static struct result_set set_of(const struct table *table, char letter, const size_t *column_at,
				const size_t *row_at)
{
	struct result_column *columns = ARENA_ARRAY(table->arena, struct result_column, table->columns);
	str_t *cells = ARENA_ARRAY(table->arena, str_t, table->columns * table->rows);
	for (size_t i = 0; i < table->columns; i++)
		columns[column_at ? column_at[i] : i] =
			(struct result_column){ arena_printf(table->arena, "%c%zu", letter, i), table->type };
	for (size_t row = 0; row < table->rows; row++)
		for (size_t i = 0; i < table->columns; i++)
			cells[(row_at ? row_at[row] : row) * table->columns +
			      (column_at ? column_at[i] : i)] = table->cells[row * table->columns + i];
	return (struct result_set){ columns, table->columns, cells, table->rows, false };
}

static double score_shuffled(const struct table *generated, const struct table *truth, uint64_t *random)
{
	size_t *column_at = ARENA_ARRAY(truth->arena, size_t, truth->columns);
	size_t *row_at = ARENA_ARRAY(truth->arena, size_t, generated->rows);
	shuffle(column_at, truth->columns, random);
	shuffle(row_at, generated->rows, random);
	struct result_set ours = set_of(generated, 'g', column_at, row_at);
	struct result_set theirs = set_of(truth, 't', NULL, NULL);
	struct compare_verdict verdict;
	compare_results(&ours, &theirs, &unordered, truth->arena, &verdict);
	return verdict.score;
}

/* What stands in row and column of a wide table. */
typedef size_t (*fill_t)(size_t row, size_t column, uint64_t *random);

static size_t fill_alike(size_t row, size_t column, uint64_t *random)
{
	(void)column;
	(void)random;
	return row;
}

static size_t fill_null(size_t row, size_t column, uint64_t *random)
{
	(void)row;
	(void)column;
	(void)random;
	return SIZE_MAX;
}

/* Columns are the numbers from 0 on, each in an order of its own. */
static size_t fill_permutation(size_t row, size_t column, uint64_t *random)
{
	(void)random;
	return (row * (2 * column + 1) + column * column) % 128;
}

static size_t fill_random(size_t row, size_t column, uint64_t *random)
{
	(void)row;
	(void)column;
	return next_random(random) % 100000;
}

static size_t fill_binary(size_t row, size_t column, uint64_t *random)
{
	(void)row;
	(void)column;
	return next_random(random) % 2;
}

static size_t fill_rare(size_t row, size_t column, uint64_t *random)
{
	(void)row;
	(void)column;
	return next_random(random) % 50 == 0;
}

/* All columns hold the same but for one row each. */
static size_t fill_all_but_one(size_t row, size_t column, uint64_t *random)
{
	(void)random;
	return row == column % 128 ? 1000 + column : row;
}

static size_t fill_half_null(size_t row, size_t column, uint64_t *random)
{
	return column % 2 ? SIZE_MAX : fill_permutation(row, column, random);
}

static struct table make_table(struct arena *arena, size_t columns, size_t rows, fill_t fill,
			       uint64_t *random)
{
	struct table table = { arena, columns, rows, ARENA_ARRAY(arena, str_t, columns * rows),
			       CELL_INTEGER };
	for (size_t i = 0; i < columns * rows; i++) {
		size_t value = fill(i / columns, i % columns, random);
		table.cells[i] = value == SIZE_MAX ? STR_NONE : arena_printf(arena, "%zu", value);
	}
	return table;
}

/* Time is bounded by the test's own limit; what is asserted is that the right pairing is found. */
static void test_wide_tables_are_recognised(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		size_t columns, rows;
		fill_t fill;
	} cases[] = {
		{ "wide_all_alike", 200, 128, fill_alike },
		{ "wide_all_null", 200, 128, fill_null },
		{ "wide_half_null", 200, 128, fill_half_null },
		{ "wide_permutations_of_each_other", 200, 128, fill_permutation },
		{ "wide_random", 200, 500, fill_random },
		{ "wide_random_binary", 200, 128, fill_binary },
		{ "wide_rare_values", 200, 128, fill_rare },
		{ "wide_all_but_one_row", 128, 128, fill_all_but_one },
		{ "wide_one_row", 200, 1, fill_random },
		{ "wide_no_rows", 200, 0, fill_random },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		uint64_t random = 3 + i;
		struct table table =
			make_table(arena, cases[i].columns, cases[i].rows, cases[i].fill, &random);
		double score = score_shuffled(&table, &table, &random);
		if (score < 1)
			fail_msg("%s: %.4f", cases[i].fault, score);
		arena_free(arena);
	}
}

/* Columns of two values all look alike; only whole rows tell which belong together, as far as they are right:
 * one cell in 2,000 is not. */
static void test_columns_of_few_values_with_errors(void **state)
{
	(void)state;
	enum { COLUMNS = 100, ROWS = 800 };
	struct arena *arena = arena_new();
	uint64_t random = 21;
	struct table table = make_table(arena, COLUMNS, ROWS, fill_binary, &random);
	struct table wrong = table;
	wrong.cells = ARENA_ARRAY(arena, str_t, COLUMNS * ROWS);
	size_t right_rows = 0;
	for (size_t row = 0; row < ROWS; row++) {
		bool right = true;
		for (size_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
			bool flip = next_random(&random) % 2000 == 0;
			wrong.cells[i] = !flip			       ? table.cells[i]
					 : str_is(table.cells[i], "0") ? STR("1")
								       : STR("0");
			right &= !flip;
		}
		right_rows += right;
	}
	double score = score_shuffled(&wrong, &table, &random);
	double rate = (double)right_rows / ROWS;
	double expected = rate >= 0.99 ? 1 : rate >= 0.95 ? 0.95 : rate >= 0.80 ? 0.80 : rate;
	if (fabs(score - expected) > 1e-9)
		fail_msg("%.4f instead of %.4f", score, expected);
	arena_free(arena);
}

/* Ways to spoil a table; each has to show in less than 100 rows, where one row is more than 1 %. */
enum harm { HARM_CELL, HARM_DUPLICATE, HARM_SCRAMBLE, HARM_NULL, HARM_COUNT };

static struct table copy_table(const struct table *table)
{
	struct table copy = *table;
	copy.cells = ARENA_ARRAY(table->arena, str_t, table->columns * table->rows);
	memcpy(copy.cells, table->cells, table->columns * table->rows * sizeof *copy.cells);
	return copy;
}

/* Turns a column by one row against the others. */
static void scramble(struct table *table, size_t column)
{
	str_t first = table->cells[column];
	for (size_t row = 0; row + 1 < table->rows; row++)
		table->cells[row * table->columns + column] =
			table->cells[(row + 1) * table->columns + column];
	table->cells[(table->rows - 1) * table->columns + column] = first;
}

static struct table harm_table(const struct table *table, enum harm harm, uint64_t *random)
{
	struct table copy = copy_table(table);
	size_t row = next_random(random) % table->rows, column = next_random(random) % table->columns;
	size_t other = (row + 1 + next_random(random) % (table->rows - 1)) % table->rows;
	str_t *cell = &copy.cells[row * table->columns + column];
	switch (harm) {
	case HARM_CELL:
		*cell = arena_printf(table->arena, "%.4f", strtod(cell->ptr, NULL) + 0.0002);
		break;
	case HARM_DUPLICATE:
		memcpy(&copy.cells[row * table->columns], &copy.cells[other * table->columns],
		       table->columns * sizeof *cell);
		break;
	case HARM_SCRAMBLE:
		scramble(&copy, column);
		break;
	default:
		*cell = STR_NONE;
	}
	return copy;
}

/* Every row has a number of its own in column 0, so that no harm can restore the bag. */
static void test_harm_is_noticed_and_shuffling_is_not(void **state)
{
	(void)state;
	enum { ROUNDS = 400 };
	uint64_t random = 11;
	for (int round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		size_t rows = 2 + next_random(&random) % 98, columns = 2 + next_random(&random) % 6;
		struct table table = { arena, columns, rows, ARENA_ARRAY(arena, str_t, columns * rows),
				       CELL_DECIMAL };
		for (size_t i = 0; i < columns * rows; i++)
			table.cells[i] =
				arena_printf(arena, "%zu.%02u",
					     i % columns ? next_random(&random) % 5000 : 100 * (i / columns),
					     next_random(&random) % 100);
		double whole = score_shuffled(&table, &table, &random);
		if (whole < 1)
			fail_msg("round %d: shuffled copy of %zu x %zu scores %.4f", round, rows, columns,
				 whole);
		for (enum harm harm = 0; harm < HARM_COUNT; harm++) {
			struct table harmed = harm_table(&table, harm, &random);
			double score = score_shuffled(&harmed, &table, &random);
			if (score >= 1)
				fail_msg("round %d: harm %d in %zu x %zu is not noticed", round, (int)harm,
					 rows, columns);
		}
		arena_free(arena);
	}
}

/* Many columns that nothing tells apart, few rows: whatever is tried, memory is bounded. */
static void test_trying_is_bounded(void **state)
{
	(void)state;
	enum { MAX_BYTES = 32 << 20 };
	static const struct {
		const char *what;
		size_t rows, columns;
		unsigned values;
		bool other; /* one cell is of another value */
		double rate;
	} cases[] = {
		{ "one row, all the same", 1, 300, 1, false, 1 },
		{ "one row, one cell is another", 1, 300, 1, true, 0 },
		{ "few rows, one cell is another", 20, 80, 1, true, 0.95 },
		{ "more columns than are tried", 10, 400, 1, true, 0.9 },
		{ "as many rows as are tried", 1300, 10, 1, true, 1299.0 / 1300 },
		{ "columns of two values", 50, 50, 2, true, -1 },
	};
	uint64_t random = 3;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new(), *scratch = arena_new();
		size_t cells = cases[i].rows * cases[i].columns;
		struct table tables[2] = { { arena, cases[i].columns, cases[i].rows,
					     ARENA_ARRAY(arena, str_t, cells), CELL_INTEGER },
					   { arena, cases[i].columns, cases[i].rows,
					     ARENA_ARRAY(arena, str_t, cells), CELL_INTEGER } };
		for (size_t cell = 0; cell < 2 * cells; cell++)
			tables[cell % 2].cells[cell / 2] =
				next_random(&random) % cases[i].values ? STR("1") : STR("0");
		if (cases[i].other)
			tables[0].cells[0] = STR("2");
		struct result_set sets[2] = { set_of(&tables[0], 'x', NULL, NULL),
					      set_of(&tables[1], 'y', NULL, NULL) };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, scratch, &verdict);
		if ((cases[i].rate >= 0 && fabs(verdict.content_match_rate - cases[i].rate) > 1e-12) ||
		    arena_size_bytes(scratch) > MAX_BYTES)
			fail_msg("%s: a rate of %g, %zu bytes", cases[i].what, verdict.content_match_rate,
				 arena_size_bytes(scratch));
		arena_free(arena);
		arena_free(scratch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_wide_tables_are_recognised),
		cmocka_unit_test(test_columns_of_few_values_with_errors),
		cmocka_unit_test(test_trying_is_bounded),
		cmocka_unit_test(test_harm_is_noticed_and_shuffling_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
