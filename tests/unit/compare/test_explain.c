/* What a mismatch says of itself: columns, rows, and no more than there is room for. See compare_cases.h. */
#include "cases.h"

#include "compare/explain.h"

struct explained {
	struct arena *arena;
	struct compare_verdict verdict;
	struct compare_explanation explanation;
};

static void explain_sets(struct explained *explained, const struct result_set *generated,
			 const struct result_set *truth, unsigned given, size_t rows_most)
{
	const struct compare_part all = { 0 };
	struct compare_order_key key = { 0 };
	struct compare_options options = { .ordered = given & ORDERED,
					   .order_keys = &key,
					   .order_keys_count = 1,
					   .all_keys_visible = true };
	struct compare_shown shown;
	compare_part_results(generated, truth, &all, &options, explained->arena, &explained->verdict, &shown);
	compare_explain(&shown, &explained->verdict, &options, rows_most, explained->arena,
			&explained->explanation);
}

static struct explained explain(const char *generated_columns, const char *generated,
				const char *truth_columns, const char *truth, unsigned given,
				size_t rows_most)
{
	struct explained explained = { .arena = arena_new() };
	struct result_set ours = read_set(explained.arena, generated_columns, generated);
	struct result_set theirs = read_set(explained.arena, truth_columns, truth);
	ours.truncated = given & GENERATED_TRUNCATED;
	explain_sets(&explained, &ours, &theirs, given, rows_most);
	return explained;
}

static void check_texts(const char *what, const str_t *texts, size_t count, const char *expected)
{
	_cleanup_(buf_free) struct buf joined = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_printf(&joined, "%s" STR_FMT, i ? "|" : "",
			   STR_ARG(str_present(texts[i]) ? texts[i] : STR("\\N")));
	if (!str_is(buf_str(&joined), expected))
		fail_msg("%s: %s instead of %s", what, joined.data ? joined.data : "nothing", expected);
}

static void check_rows(const char *what, const struct compare_cells *rows, size_t count, const char *expected)
{
	_cleanup_(buf_free) struct buf joined = BUF_INIT;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < rows[i].count; j++)
			buf_printf(&joined, "%s" STR_FMT, j ? "|" : "",
				   STR_ARG(str_present(rows[i].items[j]) ? rows[i].items[j] : STR("\\N")));
		buf_append_char(&joined, '\n');
	}
	if (!str_is(joined.len ? buf_str(&joined) : STR(""), expected))
		fail_msg("%s: %s instead of %s", what, joined.data ? joined.data : "nothing", expected);
}

static void test_other_columns(void **state)
{
	(void)state;
	struct explained found =
		explain("id:i|Name :t|x:i|x:i", "1|a|2|3\n", "name:t|total:d|x:i", "a|1|2\n", 0, 3);
	const struct compare_explanation *why = &found.explanation;
	assert_int_equal(why->generated_columns, 4);
	assert_int_equal(why->truth_columns, 3);
	check_texts("missing", why->missing, why->missing_count, "total");
	check_texts("extra", why->extra, why->extra_count, "id|x");
	assert_int_equal(why->paired_count, 2);
	assert_true(str_is(why->paired[0].truth, "name") && str_is(why->paired[0].generated, "Name "));
	assert_int_equal(why->missing_rows_count + why->extra_rows_count, 0);
	arena_free(found.arena);
}

static void test_rows_of_one_side(void **state)
{
	(void)state;
	/* the columns have other names and places; cells come in the order of the pairs */
	struct explained found = explain("b:f|a:t", "1.0|x\n2.00001|y\n9|z\n8|\\N\n8|\\N\n", "n:t|v:f",
					 "x|1\ny|2\nz|3\n\\N|8\nw|8\n", 0, 3);
	const struct compare_explanation *why = &found.explanation;
	assert_int_equal(why->paired_count, 2);
	assert_true(str_is(why->paired[0].truth, "n") && str_is(why->paired[0].generated, "a"));
	check_rows("missing", why->missing_rows, why->missing_rows_count, "z|3\nw|8\n");
	check_rows("extra", why->extra_rows, why->extra_rows_count, "z|9\n\\N|8\n");
	assert_false(why->other_order || why->shortened);
	arena_free(found.arena);
}

static void test_how_many_rows(void **state)
{
	(void)state;
	static const struct {
		size_t most;
		const char *missing, *extra;
	} cases[] = {
		{ 0, "", "" },
		{ 1, "1\n", "5\n" },
		{ 3, "1\n2\n3\n", "5\n6\n7\n" },
		{ SIZE_MAX, "1\n2\n3\n4\n", "5\n6\n7\n8\n" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct explained found =
			explain("a:i", "5\n6\n7\n8\n", "a:i", "1\n2\n3\n4\n", 0, cases[i].most);
		const struct compare_explanation *why = &found.explanation;
		check_rows("missing", why->missing_rows, why->missing_rows_count, cases[i].missing);
		check_rows("extra", why->extra_rows, why->extra_rows_count, cases[i].extra);
		arena_free(found.arena);
	}
}

static void test_order(void **state)
{
	(void)state;
	struct explained found = explain("a:i|b:i", "2|1\n1|1\n", "a:i|b:i", "1|1\n2|1\n", ORDERED, 3);
	assert_true(found.verdict.content_match_rate < 1);
	assert_true(found.explanation.other_order);
	assert_int_equal(found.explanation.missing_rows_count + found.explanation.extra_rows_count, 0);
	arena_free(found.arena);
	found = explain("a:i|b:i", "2|1\n1|5\n", "a:i|b:i", "1|1\n2|1\n", ORDERED, 3);
	assert_false(found.explanation.other_order);
	check_rows("missing", found.explanation.missing_rows, found.explanation.missing_rows_count, "1|1\n");
	arena_free(found.arena);
}

/* Rows that were not fetched may be those that are missing. */
static void test_truncated_results_show_no_rows(void **state)
{
	(void)state;
	struct explained found = explain("a:i", "5\n6\n", "a:i", "1\n2\n3\n", GENERATED_TRUNCATED, 3);
	assert_int_equal(found.explanation.paired_count, 1);
	assert_int_equal(found.explanation.missing_rows_count + found.explanation.extra_rows_count, 0);
	arena_free(found.arena);
}

static size_t bytes_of(const struct compare_explanation *why)
{
	size_t bytes = 0;
	for (size_t i = 0; i < why->paired_count; i++)
		bytes += why->paired[i].truth.len + why->paired[i].generated.len;
	for (size_t i = 0; i < why->missing_count; i++)
		bytes += why->missing[i].len;
	for (size_t i = 0; i < why->extra_count; i++)
		bytes += why->extra[i].len;
	for (size_t i = 0; i < why->missing_rows_count; i++)
		for (size_t j = 0; j < why->missing_rows[i].count; j++)
			bytes += why->missing_rows[i].items[j].len;
	for (size_t i = 0; i < why->extra_rows_count; i++)
		for (size_t j = 0; j < why->extra_rows[i].count; j++)
			bytes += why->extra_rows[i].items[j].len;
	return bytes;
}

/* Names and cells of any length, in any number. */
static void test_it_is_bounded(void **state)
{
	(void)state;
	enum { COLUMNS = 1600, ROWS = 20, LENGTH = 5000 };
	struct explained found = { .arena = arena_new() };
	struct result_column *columns = ARENA_ARRAY(found.arena, struct result_column, COLUMNS);
	str_t *ours = ARENA_ARRAY(found.arena, str_t, COLUMNS * ROWS);
	str_t *theirs = ARENA_ARRAY(found.arena, str_t, COLUMNS * ROWS);
	char *text = arena_alloc(found.arena, 2 * LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i] = (struct result_column){ { text, 2 * LENGTH - 2 * i }, CELL_TEXT };
	for (size_t i = 0; i < COLUMNS * ROWS; i++) {
		ours[i] = (str_t){ text, 2 * LENGTH };
		theirs[i] = (str_t){ text, 2 * LENGTH - 2 };
	}
	struct result_set generated = { columns, COLUMNS, ours, ROWS, false };
	struct result_set truth = { columns, COLUMNS, theirs, ROWS, false };
	explain_sets(&found, &generated, &truth, 0, SIZE_MAX);
	assert_in_range(bytes_of(&found.explanation), 1, COMPARE_EXPLAIN_BYTES);
	assert_true(found.explanation.shortened);
	assert_int_equal(found.explanation.paired_count, COMPARE_EXPLAIN_NAMES);
	assert_int_equal(found.explanation.paired[0].truth.len, COMPARE_EXPLAIN_TEXT + strlen("…"));
	assert_true(found.explanation.missing_rows_count > 0);
	truth.columns_count--; /* another shape */
	explain_sets(&found, &generated, &truth, 0, SIZE_MAX);
	assert_in_range(bytes_of(&found.explanation), 1, COMPARE_EXPLAIN_BYTES);
	arena_free(found.arena);
}

/* A character is not cut apart. */
static void test_texts_are_cut_between_characters(void **state)
{
	(void)state;
	for (size_t lead = 0; lead < 4; lead++) {
		struct explained found = { .arena = arena_new() };
		static const struct result_column column = { { "t", 1 }, CELL_TEXT };
		struct buf text = BUF_INIT;
		buf_append(&text, "xxxx", lead);
		for (int i = 0; i < 40; i++)
			buf_append_text(&text, "\xf0\x9f\xa6\x8a");
		str_t cells[2] = { buf_str(&text), STR("a") };
		const struct result_set sets[2] = { { &column, 1, cells, 1, false },
						    { &column, 1, cells + 1, 1, false } };
		explain_sets(&found, &sets[0], &sets[1], 0, 3);
		str_t cut = found.explanation.extra_rows[0].items[0];
		assert_int_equal((cut.len - strlen("…") - lead) % 4, 0);
		assert_in_range(cut.len, COMPARE_EXPLAIN_TEXT - 1, COMPARE_EXPLAIN_TEXT + strlen("…"));
		buf_free(&text);
		arena_free(found.arena);
	}
}

/* What is said to be on one side alone is: against all rows of the other, on results made by chance. */
static void test_rows_have_no_partner(void **state)
{
	(void)state;
	static const char *const values[] = { "1", "1.00005", "2", "0.3", "0.30000000000000004", "7" };
	uint64_t random = 11;
	for (int round = 0; round < 2000; round++) {
		struct buf texts[2] = { BUF_INIT, BUF_INIT };
		for (int i = 0; i < 16; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			buf_printf(&texts[i % 2], "%s\n", values[(random >> 33) % 6]);
		}
		struct explained found = explain("a:f", texts[0].data, "a:f", texts[1].data, 0, SIZE_MAX);
		size_t unmatched = 8 - (size_t)(found.verdict.content_match_rate * 8 + 0.5);
		assert_true(found.explanation.missing_rows_count >= unmatched);
		assert_true(found.explanation.extra_rows_count >= unmatched);
		if (unmatched == 0)
			assert_int_equal(found.explanation.missing_rows_count, 0);
		arena_free(found.arena);
		buf_free(&texts[0]);
		buf_free(&texts[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_columns),
		cmocka_unit_test(test_rows_of_one_side),
		cmocka_unit_test(test_how_many_rows),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_truncated_results_show_no_rows),
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_texts_are_cut_between_characters),
		cmocka_unit_test(test_rows_have_no_partner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
