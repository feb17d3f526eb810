/* Digests of large results: what proves two results equal, and what the samples say where nothing does. */
#include "compare/digest.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct hash_key key = { { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) } };

/* A digest of rows of up to four cells, all columns in the mode. */
struct digest_case {
	enum compare_mode mode;
	size_t columns;
	struct compare_options options;
	size_t sample_rows, sample_bytes;
};

static struct compare_digest *open_digest(const struct digest_case *item)
{
	struct compare_pair pairs[4];
	for (size_t i = 0; i < item->columns; i++)
		pairs[i] = (struct compare_pair){ i, item->mode };
	struct compare_pairing pairing = { pairs, item->columns, 1 };
	return compare_digest_new(&(struct compare_digest_settings){ .key = key,
								     .pairing = &pairing,
								     .is_truth = true,
								     .options = &item->options,
								     .sample_rows = item->sample_rows,
								     .sample_bytes = item->sample_bytes });
}

/* Rows of texts parted by |, one after the other up to a NULL. */
static struct compare_digest *digest_rows(const struct digest_case *item, const char *const *rows)
{
	struct compare_digest *digest = open_digest(item);
	struct arena *arena = arena_new();
	for (; *rows; rows++) {
		str_t cells[4];
		const char *at = *rows;
		for (size_t i = 0; i < item->columns; i++) {
			size_t len = strcspn(at, "|");
			cells[i] =
				len == 2 && memcmp(at, "\\N", 2) == 0 ? STR_NONE : arena_text(arena, at, len);
			at += len + (at[len] == '|');
		}
		compare_digest_row(digest, cells);
	}
	arena_free(arena);
	return digest;
}

static enum compare_digest_verdict judge(const struct digest_case *item, const char *const *generated,
					 const char *const *truth)
{
	struct compare_digest *ours = digest_rows(item, generated), *theirs = digest_rows(item, truth);
	enum compare_digest_verdict verdict = compare_digest_judge(ours, theirs);
	compare_digest_free(ours);
	compare_digest_free(theirs);
	return verdict;
}

#define MAX_ROWS 6

static void test_bags(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		const char *generated[MAX_ROWS], *truth[MAX_ROWS];
		enum compare_digest_verdict verdict;
	} cases[] = {
		{ "order_of_rows_matters",
		  { "1|a", "2|b", "3|c" },
		  { "3|c", "1|a", "2|b" },
		  COMPARE_DIGEST_EQUAL },
		{ "duplicates_cancel_out",
		  { "1|a", "1|a", "2|b" },
		  { "2|b", "3|c", "3|c" },
		  COMPARE_DIGEST_UNEQUAL },
		{ "duplicates_folded",
		  { "1|a", "1|a", "2|b" },
		  { "1|a", "2|b", "2|b" },
		  COMPARE_DIGEST_UNEQUAL },
		{ "pairs_of_duplicates_vanish", { "1|a", "1|a" }, { NULL }, COMPARE_DIGEST_UNEQUAL },
		{ "cells_run_together", { "ab|c" }, { "a|bc" }, COMPARE_DIGEST_UNEQUAL },
		{ "columns_apart", { "1|a", "2|b" }, { "1|b", "2|a" }, COMPARE_DIGEST_UNEQUAL },
		{ "null_is_empty", { "1|\\N" }, { "1|" }, COMPARE_DIGEST_UNEQUAL },
		{ "null_is_null", { "1|\\N" }, { "1|\\N" }, COMPARE_DIGEST_EQUAL },
		{ "scale_of_numbers", { "1.10|x" }, { "1.1|x" }, COMPARE_DIGEST_EQUAL },
		{ "exponents_of_numbers", { "11e-1|x" }, { "+01.100|x" }, COMPARE_DIGEST_EQUAL },
		{ "zeros_of_numbers", { "-0|0.000" }, { "0|.0" }, COMPARE_DIGEST_EQUAL },
		{ "sign_of_numbers", { "-1|x" }, { "1|x" }, COMPARE_DIGEST_UNEQUAL },
		{ "tens_of_numbers", { "10|x" }, { "1|x" }, COMPARE_DIGEST_UNEQUAL },
		{ "tenths_of_numbers", { "0.01|x" }, { "0.1|x" }, COMPARE_DIGEST_UNEQUAL },
		{ "digits_beyond_double",
		  { "9007199254740993|x" },
		  { "9007199254740992|x" },
		  COMPARE_DIGEST_UNEQUAL },
		{ "nan_is_nan", { "NaN|x" }, { "nan|x" }, COMPARE_DIGEST_EQUAL },
		{ "moments_in_zones",
		  { "2024-03-01 14:00:00+02|x" },
		  { "2024-03-01T12:00:00Z|x" },
		  COMPARE_DIGEST_EQUAL },
		{ "nothing", { NULL }, { NULL }, COMPARE_DIGEST_EQUAL },
		{ "count", { "1|a" }, { "1|a", "1|a" }, COMPARE_DIGEST_UNEQUAL },
	};
	static const struct digest_case loose = { .mode = COMPARE_LOOSE, .columns = 2 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (judge(&loose, cases[i].generated, cases[i].truth) != cases[i].verdict)
			fail_msg("%s", cases[i].fault);
}

static const struct {
	const char *fault;
	const char *generated[MAX_ROWS], *truth[MAX_ROWS];
	bool hidden_key, limited;
	enum compare_digest_verdict verdict;
} order_cases[] = {
	{ "order_ignored", { "2|b", "1|a" }, { "1|a", "2|b" }, false, false, COMPARE_DIGEST_UNEQUAL },
	{ "order_kept", { "1|a", "2|b" }, { "1|a", "2|b" }, false, false, COMPARE_DIGEST_EQUAL },
	{ "ties_punished",
	  { "1|b", "1|a", "2|c" },
	  { "1|a", "1|b", "2|c" },
	  false,
	  false,
	  COMPARE_DIGEST_EQUAL },
	{ "ties_run_together",
	  { "1|a", "2|b", "1|c" },
	  { "1|a", "1|c", "2|b" },
	  false,
	  false,
	  COMPARE_DIGEST_UNEQUAL },
	{ "keys_of_other_scale",
	  { "1.0|b", "1|a" },
	  { "1|a", "1.00|b" },
	  false,
	  false,
	  COMPARE_DIGEST_EQUAL },
	{ "hidden_key_ties", { "b|x", "a|x" }, { "a|x", "b|x" }, true, false, COMPARE_DIGEST_UNEQUAL },
	{ "limit_cut_punished",
	  { "1|a", "2|z" },
	  { "1|a", "2|b" },
	  false,
	  true,
	  COMPARE_DIGEST_EQUAL_TO_CUT },
	{ "limit_excuses_other_keys",
	  { "1|a", "3|z" },
	  { "1|a", "2|b" },
	  false,
	  true,
	  COMPARE_DIGEST_UNEQUAL },
	{ "limit_excuses_earlier_rows",
	  { "1|z", "2|b" },
	  { "1|a", "2|b" },
	  false,
	  true,
	  COMPARE_DIGEST_UNEQUAL },
	{ "limit_excuses_shorter_tie",
	  { "1|a", "1|c", "2|z" },
	  { "1|a", "2|b", "2|c" },
	  false,
	  true,
	  COMPARE_DIGEST_UNEQUAL },
	{ "cut_without_limit", { "1|a", "2|z" }, { "1|a", "2|b" }, false, false, COMPARE_DIGEST_UNEQUAL },
	{ "cut_reported_without_need",
	  { "1|a", "2|b" },
	  { "1|a", "2|b" },
	  false,
	  true,
	  COMPARE_DIGEST_EQUAL },
	{ "nothing_in_order", { NULL }, { NULL }, false, true, COMPARE_DIGEST_EQUAL },
};

static void test_order(void **state)
{
	(void)state;
	static const struct compare_order_key first = { 0 };
	for (size_t i = 0; i < sizeof order_cases / sizeof *order_cases; i++) {
		struct digest_case item = { .mode = COMPARE_LOOSE,
					    .columns = 2,
					    .options = { .ordered = true,
							 .order_keys = &first,
							 .order_keys_count = !order_cases[i].hidden_key,
							 .all_keys_visible = !order_cases[i].hidden_key,
							 .limited = order_cases[i].limited } };
		if (judge(&item, order_cases[i].generated, order_cases[i].truth) != order_cases[i].verdict)
			fail_msg("%s", order_cases[i].fault);
	}
}

static const struct {
	const char *fault;
	const char *generated_names[3], *truth_names[3];
	const char *generated[2][3], *truth[2][3];
	enum compare_columns_pairing outcome;
	size_t partners[3];
} pairing_cases[] = {
	{ "names_pair",
	  { "b", "A ", "c" },
	  { "a", "b", "c" },
	  { { "1", "2", "3" }, { "4", "5", "6" } },
	  { { "9", "9", "9" }, { "9", "9", "9" } },
	  COMPARE_PAIRED,
	  { 1, 0, 2 } },
	{ "contents_pair",
	  { "x", "y", "z" },
	  { "a", "b", "c" },
	  { { "3", "1.0", "t" }, { "6", "4", "u" } },
	  { { "4", "t", "3" }, { "1", "u", "6" } },
	  COMPARE_PAIRED,
	  { 1, 2, 0 } },
	{ "names_before_contents",
	  { "a", "y", "z" },
	  { "c", "a", "b" },
	  { { "7", "8", "9" }, { "7", "8", "9" } },
	  { { "9", "8", "8" }, { "9", "8", "8" } },
	  COMPARE_PAIRED,
	  { 2, 0, 1 } },
	{ "equal_bags_in_other_rows",
	  { "x", "y", "z" },
	  { "a", "b", "c" },
	  { { "1", "2", "5" }, { "2", "1", "6" } },
	  { { "5", "2", "1" }, { "6", "1", "2" } },
	  COMPARE_PAIRED,
	  { 2, 1, 0 } },
	{ "twins_are_chance",
	  { "x", "y", "z" },
	  { "a", "b", "c" },
	  { { "1", "1", "5" }, { "2", "2", "6" } },
	  { { "5", "1", "1" }, { "6", "2", "2" } },
	  COMPARE_PAIRED_BY_CHANCE,
	  { 2, 0, 1 } },
	{ "no_partner",
	  { "x", "y", "z" },
	  { "a", "b", "c" },
	  { { "1", "2", "3" }, { "4", "5", "6" } },
	  { { "2", "7", "3" }, { "5", "8", "6" } },
	  COMPARE_NOT_PAIRED,
	  { 1, 0, 2 } },
};

static void test_columns_are_paired(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairing_cases / sizeof *pairing_cases; i++) {
		struct arena *arena = arena_new();
		struct result_column columns[2][3];
		static const enum cell_class types[3] = { CELL_UNKNOWN, CELL_UNKNOWN, CELL_UNKNOWN };
		struct compare_columns *bags[2] = { compare_columns_new(&key, types, 3),
						    compare_columns_new(&key, types, 3) };
		for (size_t column = 0; column < 3; column++) {
			columns[0][column] =
				(struct result_column){ str_from(pairing_cases[i].generated_names[column]),
							CELL_UNKNOWN };
			columns[1][column] =
				(struct result_column){ str_from(pairing_cases[i].truth_names[column]),
							CELL_UNKNOWN };
		}
		for (size_t row = 0; row < 2; row++) {
			str_t cells[2][3];
			for (size_t column = 0; column < 3; column++) {
				cells[0][column] = str_from(pairing_cases[i].generated[row][column]);
				cells[1][column] = str_from(pairing_cases[i].truth[row][column]);
			}
			compare_columns_row(bags[0], cells[0]);
			compare_columns_row(bags[1], cells[1]);
		}
		struct result_set generated = { .columns = columns[0], .columns_count = 3 };
		struct result_set truth = { .columns = columns[1], .columns_count = 3 };
		struct compare_pairing pairing;
		enum compare_columns_pairing outcome =
			compare_columns_pair(&generated, bags[0], &truth, bags[1], arena, &pairing);
		if (outcome != pairing_cases[i].outcome)
			fail_msg("%s: outcome %d", pairing_cases[i].fault, (int)outcome);
		for (size_t column = 0; column < 3; column++)
			if (pairing.pairs[column].generated != pairing_cases[i].partners[column])
				fail_msg("%s: column %zu with %zu", pairing_cases[i].fault, column,
					 pairing.pairs[column].generated);
		compare_columns_free(bags[0]);
		compare_columns_free(bags[1]);
		arena_free(arena);
	}
}

/* Ties that begin far apart, and rows that are out of their tie only there. */
static void test_ties_are_held_to_places(void **state)
{
	enum { ROWS = 100000, SECOND = 75000 };
	static const size_t swapped[][2] = {
		{ 0, 0 }, { 5, SECOND - 1 }, { SECOND - 1, SECOND }, { SECOND + 1, ROWS - 1 }
	};
	static const struct digest_case item = { .mode = COMPARE_INTEGER, .columns = 2 };
	(void)state;
	for (size_t i = 0; i < sizeof swapped / sizeof *swapped; i++) {
		struct compare_pair pairs[2] = { { 0, item.mode }, { 1, item.mode } };
		struct compare_pairing pairing = { pairs, 2, 1 };
		const struct compare_order_key sort_key = { 0 };
		const struct compare_options options = { .ordered = true,
							 .order_keys = &sort_key,
							 .order_keys_count = 1,
							 .all_keys_visible = true };
		struct compare_tie_starts *starts = compare_tie_starts_new();
		struct compare_digest *digests[2];
		for (size_t side = 0; side < 2; side++) {
			digests[side] = compare_digest_new(
				&(struct compare_digest_settings){ .key = key,
								   .pairing = &pairing,
								   .is_truth = side == 0,
								   .options = &options,
								   .tie_starts = starts,
								   .sample_rows = ROWS,
								   .sample_bytes = SIZE_MAX / 4 });
			for (size_t row = 0; row < ROWS; row++) {
				size_t shown = side == 0	      ? row
					       : row == swapped[i][0] ? swapped[i][1]
					       : row == swapped[i][1] ? swapped[i][0]
								      : row;
				char number[24];
				str_t cells[2] = { shown < SECOND ? STR("1") : STR("2"),
						   { number, (size_t)snprintf(number, sizeof number, "%zu",
									      shown) } };
				compare_digest_row(digests[side], cells);
			}
		}
		bool equal = swapped[i][0] / SECOND == swapped[i][1] / SECOND;
		struct compare_estimate estimate;
		const struct compare_tolerance tolerance = { 1e-4, 1e-9 };
		struct arena *arena = arena_new();
		compare_digest_estimate(digests[1], digests[0], &tolerance, arena, &estimate);
		assert_int_equal(compare_digest_judge(digests[1], digests[0]),
				 equal ? COMPARE_DIGEST_EQUAL : COMPARE_DIGEST_UNEQUAL);
		assert_true(estimate.known && estimate.rate == (equal ? 1 : (ROWS - 2.0) / ROWS));
		compare_digest_free(digests[0]);
		compare_digest_free(digests[1]);
		compare_tie_starts_free(starts);
		arena_free(arena);
	}
}

/* Columns whose numbers differ in their last digits, and one of which a few values differ. */
static void test_columns_are_paired_by_likeness(void **state)
{
	enum { ROWS = 5000 };
	static const enum cell_class types[4] = { CELL_FLOAT, CELL_FLOAT, CELL_TEXT, CELL_TEXT };
	static const size_t partners[4] = { 1, 0, 3, 2 };
	struct result_column columns[2][4];
	struct compare_columns *bags[2];
	struct arena *arena = arena_new();
	(void)state;
	for (size_t side = 0; side < 2; side++) {
		bags[side] = compare_columns_new(&key, types, 4);
		for (size_t i = 0; i < 4; i++)
			columns[side][i] =
				(struct result_column){ arena_printf(arena, "%s%zu", side ? "t" : "g", i),
							types[i] };
		for (size_t row = 0; row < ROWS; row++) {
			size_t at = side ? row : ROWS - 1 - row;
			str_t values[4] = { arena_printf(arena, "%.9f", (double)at / 7 + (side ? 0 : 1e-7)),
					    arena_printf(arena, "%.9f", (double)at * 3.3 + (side ? 0 : 1e-7)),
					    arena_printf(arena, "%s%zu", side || at % 10 ? "v" : "x", at),
					    arena_printf(arena, "%s%zu", side || at % 10 ? "w" : "x", at) };
			str_t cells[4];
			for (size_t i = 0; i < 4; i++)
				cells[i] = values[side ? i : partners[i]];
			compare_columns_row(bags[side], cells);
		}
	}
	struct result_set generated = { .columns = columns[0], .columns_count = 4 };
	struct result_set truth = { .columns = columns[1], .columns_count = 4 };
	struct compare_pairing pairing;
	assert_int_equal(compare_columns_pair(&generated, bags[0], &truth, bags[1], arena, &pairing),
			 COMPARE_NOT_PAIRED);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pairing.pairs[i].generated, partners[i]);
	compare_columns_free(bags[0]);
	compare_columns_free(bags[1]);
	arena_free(arena);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Equal digests are what is called equal, whatever order the rows come in; unequal ones of results without
 * tolerance are what is called different. */
static void test_digests_agree_with_the_comparison(void **state)
{
	(void)state;
	enum { ROUNDS = 3000, ROWS = 5 };
	static const struct digest_case item = { .mode = COMPARE_INTEGER, .columns = 2 };
	static const struct result_column columns[2] = { { STR("a"), CELL_INTEGER },
							 { STR("b"), CELL_INTEGER } };
	static const str_t values[] = { STR("1"), STR("2"), STR("+1.0"), STR_NONE };
	uint64_t random = 5;
	int equal = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		str_t cells[2][2 * ROWS];
		struct compare_digest *digests[2];
		for (int side = 0; side < 2; side++) {
			digests[side] = open_digest(&item);
			for (size_t i = 0; i < 2 * ROWS; i++)
				cells[side][i] = values[next_random(&random) % 8 % 5 % 4];
			for (size_t row = 0; row < ROWS; row++)
				compare_digest_row(digests[side], &cells[side][2 * row]);
		}
		struct result_set sets[2] = { { columns, 2, cells[0], ROWS, false },
					      { columns, 2, cells[1], ROWS, false } };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &item.options, arena, &verdict);
		bool proven = compare_digest_judge(digests[0], digests[1]) == COMPARE_DIGEST_EQUAL;
		if (proven != (verdict.content_match_rate >= 1))
			fail_msg("round %d: digests say %d, the comparison %.2f", round, proven,
				 verdict.content_match_rate);
		equal += proven;
		compare_digest_free(digests[0]);
		compare_digest_free(digests[1]);
		arena_free(arena);
	}
	assert_in_range(equal, 5, ROUNDS - 5); /* both happen */
}

/* What is fed to a digest: `wrong` of 1,000 rows have another second column. */
struct stream {
	size_t rows;
	size_t wrong;
	double noise;
	bool backwards;
	size_t keys; /* different values of the first column */
};

static void feed(struct compare_digest *digest, const struct stream *stream)
{
	for (size_t i = 0; i < stream->rows; i++) {
		size_t row = stream->backwards ? stream->rows - 1 - i : i;
		uint64_t mixed = (row + 1) * UINT64_C(0x9e3779b97f4a7c15);
		bool wrong = (mixed >> 20) % 1000 < stream->wrong;
		char texts[2][40];
		str_t cells[2] = { { texts[0], 0 }, { texts[1], 0 } };
		cells[0].len = (size_t)snprintf(texts[0], sizeof texts[0], "key %zu", row % stream->keys);
		cells[1].len =
			(size_t)snprintf(texts[1], sizeof texts[1], "%.9f",
					 (double)(mixed >> 40) / 64 + stream->noise + (wrong ? 1000 : 0));
		compare_digest_row(digest, cells);
	}
}

static void test_samples_estimate_the_match_rate(void **state)
{
	(void)state;
	static const struct compare_tolerance tolerance = { 1e-4, 1e-9 };
	static const struct {
		const char *fault;
		struct stream generated, truth;
		bool known;
		double low, high; /* the truth lies in the estimated interval, which lies in this one */
		double rate;
	} cases[] = {
		{ "noise_breaks_partners",
		  { 20000, 0, 1e-6, true, 20000 },
		  { 20000, 0, 0, false, 20000 },
		  true,
		  0.99,
		  1,
		  1 },
		{ "one_tenth_wrong",
		  { 50000, 100, 0, true, 50000 },
		  { 50000, 0, 0, false, 50000 },
		  true,
		  0.85,
		  0.94,
		  0.9 },
		{ "groups_of_rows",
		  { 50000, 100, 0, true, 10000 },
		  { 50000, 0, 0, false, 10000 },
		  true,
		  0.84,
		  0.95,
		  0.9 },
		{ "half_missing",
		  { 25000, 0, 0, true, 50000 },
		  { 50000, 0, 0, false, 50000 },
		  true,
		  0.43,
		  0.57,
		  0.5 },
		{ "half_too_many",
		  { 50000, 0, 0, true, 50000 },
		  { 25000, 0, 0, false, 50000 },
		  true,
		  0.43,
		  0.57,
		  0.5 },
		{ "few_rows_are_exact", { 300, 0, 0, true, 300 }, { 300, 0, 0, false, 300 }, true, 1, 1, 1 },
		{ "one_group_too_large",
		  { 50000, 0, 0, true, 1 },
		  { 50000, 0, 0, false, 1 },
		  false,
		  0,
		  0,
		  0 },
		{ "nothing_to_compare", { 0, 0, 0, false, 1 }, { 0, 0, 0, false, 1 }, false, 0, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		struct digest_case item = { COMPARE_LOOSE, 2, { 0 }, 1000, 1 << 20 };
		struct compare_digest *ours = open_digest(&item), *theirs = open_digest(&item);
		struct compare_estimate estimate;
		feed(ours, &cases[i].generated);
		feed(theirs, &cases[i].truth);
		compare_digest_estimate(ours, theirs, &tolerance, arena, &estimate);
		if (estimate.known != cases[i].known)
			fail_msg("%s: known %d", cases[i].fault, estimate.known);
		if (estimate.known && (estimate.low < cases[i].low || estimate.high > cases[i].high ||
				       estimate.low > cases[i].rate || estimate.high < cases[i].rate))
			fail_msg("%s: %.4f, %.4f to %.4f, of %zu rows", cases[i].fault, estimate.rate,
				 estimate.low, estimate.high, estimate.rows);
		compare_digest_free(ours);
		compare_digest_free(theirs);
		arena_free(arena);
	}
}

/* A million rows forwards and backwards: one digest, and no more memory behind the last than behind the first
 * thousands. */
static void test_a_million_rows_take_constant_memory(void **state)
{
	(void)state;
	enum { ROWS = 1000000, FIRST = 50000, SLACK_BYTES = 64 << 10 };
	struct digest_case item = { COMPARE_LOOSE, 2, { 0 }, 200, 64 << 10 };
	struct compare_digest *digests[2] = { open_digest(&item), open_digest(&item) };
	feed(digests[0], &(struct stream){ FIRST, 0, 0, false, ROWS });
	size_t before_bytes = mallinfo2().uordblks;
	struct compare_digest *whole = digests[1];
	feed(whole, &(struct stream){ ROWS, 0, 0, true, ROWS });
	size_t after_bytes = mallinfo2().uordblks;
	assert_int_equal(compare_digest_rows(whole), ROWS);
	assert_true(after_bytes < before_bytes + 2 * item.sample_bytes + 256 * 1024 + SLACK_BYTES);
	compare_digest_free(digests[0]);
	digests[0] = open_digest(&item);
	feed(digests[0], &(struct stream){ ROWS, 0, 0, false, ROWS });
	assert_true(hash_128_equal(compare_digest_bag(digests[0]), compare_digest_bag(whole)));
	compare_digest_free(digests[0]);
	compare_digest_free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bags),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_columns_are_paired),
		cmocka_unit_test(test_columns_are_paired_by_likeness),
		cmocka_unit_test(test_ties_are_held_to_places),
		cmocka_unit_test(test_digests_agree_with_the_comparison),
		cmocka_unit_test(test_samples_estimate_the_match_rate),
		cmocka_unit_test(test_a_million_rows_take_constant_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
