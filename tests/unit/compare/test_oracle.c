/*
 * Small results of hostile values against every way to pair their columns and rows, where an oracle of its
 * own (tests/harness/oracles/cell_oracle.h) says which cells are equal: bags and orders, ties, cuts through
 * them, names on some columns, classes of different engines, digests of streams.
 *
 * ASSAYD_ORACLE_TRIALS: how many (default 2,000; a million take six minutes); ASSAYD_ORACLE_SEED.
 */
#include "cases.h"

#include "compare/digest.h"
#include "compare/value.h"
#include "tests/harness/fixtures/matching.h"
#include "tests/harness/oracles/cell_oracle.h"

enum { MAX_COLUMNS = 5, MAX_ROWS = 6, TRIALS = 2000, MAX_VALUES = 32 };

/* Values that may stand in one column, and the classes that it may have. */
static const struct theme {
	const char *classes;
	const char *values[MAX_VALUES];
} themes[] = {
	{ "idfu",
	  { "0", "-0", "1", "1.0", "1.00005", "1.0001", "1.00015", "0.99995", "1.10", "1.1", "-1", "10",
	    "1e0", "0.00009", "-0.00004", "1.00004", "\\N" } },
	{ "idfutj",
	  { "0", "1", "1.00", "1.0", "0.3", "0.30000000000000004", "123.45", "123.450", "NaN", "Infinity",
	    "-Infinity", "7", "007", "+7", "5e-5", "\\N", "" } },
	{ "dfu",
	  { "0.00002", "0.00008", "0", "-0.00002", "1e-12", "-1e-12", "1.005e-12", "9.96e-13", "1e-17",
	    "0.01", "0.0099", "0.00980", "0.0001", "0.000101", "0.00010201", "0.0100999", "0.0101", "\\N" } },
	{ "iidu",
	  { "5000000001", "5000000002", "5000000001.0", "9007199254740993", "9007199254740992",
	    "1234567890123", "1234567890124", "-5000000001", "999999999", "1000000000", "1e10", "10000000000",
	    "\\N" } },
	{ "df",
	  { "1000000000000", "1000000000900", "1000000001800", "1000000002700", "1e12", "999999999100.5",
	    "1000000000000.00" } },
	{ "btidujf", { "t", "f", "true", "false", "TRUE", "1", "0", "1.0", "0.0", "2", "yes", "", "\\N" } },
	{ "tuu",
	  { "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
	    "A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
	    "a0eebc999c0b4ef8bb6d6bb9bd380a11", "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "\\xab", "\\xAB", "\\XAB",
	    "\\xA", "\\xa", "\\x", "\\xag", "\\xAG", "AB", "ab", "\\N" } },
	{ "$$dftiu",
	  { "$5.00", "5", "5.00", "-$5.00", "-5", "$1,234.50", "1234.5", "$0.00", "0", "$1,234.00", "1234",
	    "five", "$0.05", "0.05", "\\N" } },
	{ "tun",
	  { "", " ", "a", "A", "a ", " a", "\xc3\xa9", "e\xcc\x81", "NULL", "-", "#", "\\N", "a", "\xc3\x9f",
	    "ss", "\xc3\xa0", "\xc3", "\\N" } },
	{ "tuu", { "1", "1.0", "t", "true", "nan", "NaN", "inf", "01", "0x61", "1e0", "2024", "\\N" } },
	{ "Dmztu",
	  { "2024-03-01", "2024-03-01 00:00:00", "2024-03-01T00:00:00Z", "2024-03-01 02:00:00+02",
	    "2024-02-29 19:00:00-05", "2024-03-01 00:00:00.000001", "2024-03-01 00:00:00.000000",
	    "2024-02-29 24:00:00", "2024-02-30", "0044-03-15 BC", "infinity", "2024-03-01 05:30:00+05:30",
	    "\\N" } },
	{ "cvtu",
	  { "01:00:00", "1:00:00", "00:60:00", "01:00", "01:00:00.000", "02:00:00+01", "25:00:00",
	    "1 day 01:00:00", "-01:00:00", "1 mon", "30 days", "1 day -01:00:00", "23:00:00", "\\N" } },
	{ "xtu",
	  { "", "00", "0000", "6869", "\\x6869", "0x6869", "hi", "ab", "AB", "\\xab", "1e3", "1000",
	    "\\N" } },
	{ "jjta",
	  { "{\"a\":1,\"b\":2}",
	    "{\"b\": 2, \"a\": 1.0}",
	    "{\"a\":1,\"a\":2}",
	    "{\"a\":2}",
	    "[1,2]",
	    "[2,1]",
	    "{1,2}",
	    "[1.00005,2]",
	    "[1.0001,2]",
	    "[1.00015,2]",
	    "null",
	    "\"a\"",
	    "a",
	    "1",
	    "true",
	    "{\"a\":5000000001}",
	    "{\"a\":5000000002}",
	    "[]",
	    "{}",
	    "\\N",
	    "[\"1\",\"2\"]",
	    "5000000001" } },
	{ "aaAjt",
	  { "{}",
	    "{1,2}",
	    "{1.0,2.00}",
	    "{2,1}",
	    "{NULL}",
	    "{\"NULL\"}",
	    "{a,b}",
	    "{\"a\",\"b\"}",
	    "{\"a,b\"}",
	    "[0:1]={1,2}",
	    "{{1,2},{3,4}}",
	    "{1,2,3,4}",
	    "{1.00005}",
	    "{1.0001}",
	    "{1.00015}",
	    "{NaN}",
	    "{nan}",
	    "[1,2]",
	    "{007}",
	    "{7}",
	    "{\"\"}",
	    "{null}",
	    "\\N" } },
};

enum { THEMES = sizeof themes / sizeof *themes };

static uint64_t random_state;
static size_t faults, below_best;

static size_t below(size_t count)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(random_state >> 33) % count;
}

static size_t values_of(const struct theme *theme)
{
	size_t count = 0;
	while (count < MAX_VALUES && theme->values[count])
		count++;
	return count;
}

struct side {
	size_t rows;
	char classes[MAX_COLUMNS];
	struct result_column columns[MAX_COLUMNS];
	const char *values[2 * MAX_ROWS][MAX_COLUMNS];
	str_t cells[2 * MAX_ROWS * MAX_COLUMNS];
};

struct trial {
	size_t columns;
	struct side truth, generated;
	size_t keys_count;
	struct compare_order_key keys[MAX_COLUMNS];
	struct compare_options options;
	bool equal[MAX_COLUMNS][MAX_COLUMNS][MAX_ROWS][MAX_ROWS]; /* generated column, truth's; rows */
	bool excused; /* rows with the keys of a tie at the cut count */
};

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

static const char *any_value(const struct theme *theme, size_t few)
{
	size_t count = values_of(theme);
	return theme->values[few ? below(few < count ? few : count) : below(count)];
}

static const char *as_null(const char *value)
{
	return strcmp(value, "\\N") == 0 ? NULL : value;
}

static void make_cells(const struct trial *trial, struct side *side)
{
	for (size_t row = 0; row < side->rows; row++)
		for (size_t i = 0; i < trial->columns; i++)
			side->cells[row * trial->columns + i] =
				side->values[row][i] ? str_from(side->values[row][i]) : STR_NONE;
}

/* Names that pair some columns, or none, or that stand more than once. */
static void make_names(struct trial *trial, const size_t *places)
{
	static const char *const truth_names[] = { "a", "b", "c", "d", "e" };
	static const char *const our_names[] = { "A ", " b", "c", "D", "e" };
	size_t kind = below(4);
	for (size_t i = 0; i < trial->columns; i++) {
		bool paired = kind == 1 || (kind == 2 && below(2)), twice = kind == 3 && below(2);
		trial->truth.columns[i].name = twice ? STR("x") : str_from(truth_names[i]);
		trial->generated.columns[places[i]].name = paired  ? str_from(our_names[i])
							   : twice ? STR("x")
								   : STR("y");
	}
}

/* The other side holds the truth's values in other forms, with errors in some trials, rows and columns in
 * other places; truths that are sorted stay so. */
static void make_trial(struct trial *trial, bool ordered)
{
	const struct theme *kinds[MAX_COLUMNS];
	size_t places[MAX_COLUMNS], rows[MAX_ROWS];
	trial->columns = 1 + below(MAX_COLUMNS);
	trial->truth.rows = trial->generated.rows = below(MAX_ROWS + 1);
	shuffle(places, trial->columns);
	shuffle(rows, trial->truth.rows);
	for (size_t i = 0; ordered && i < trial->truth.rows; i++)
		rows[i] = i;
	bool wild = below(16) == 0, errors = below(4) == 0;
	size_t few = below(2) ? 2 + below(5) : 0, one_theme = below(4) == 0 ? below(THEMES) : THEMES;
	for (size_t i = 0; i < trial->columns; i++) {
		kinds[i] = &themes[one_theme < THEMES ? one_theme : below(THEMES)];
		const char *classes = wild ? "uidfbtDcmzvxjaA$n" : kinds[i]->classes;
		char theirs = classes[below(strlen(classes))];
		char ours = below(2) ? theirs : classes[below(strlen(classes))];
		trial->truth.classes[i] = theirs;
		trial->truth.columns[i].type = class_of(theirs);
		trial->generated.classes[places[i]] = ours;
		trial->generated.columns[places[i]].type = class_of(ours);
	}
	make_names(trial, places);
	for (size_t row = 0; row < trial->truth.rows; row++)
		for (size_t i = 0; i < trial->columns; i++) {
			const char *value = any_value(kinds[i], few), *other = value;
			if (errors && below(8) == 0)
				other = any_value(kinds[i], few);
			for (int tries = 0; below(2) && tries < 4; tries++) {
				const char *form = any_value(kinds[i], 0);
				if (oracle_cells_equal(trial->truth.classes[i], as_null(value),
						       trial->generated.classes[places[i]], as_null(form),
						       false))
					other = form;
			}
			trial->truth.values[row][i] = as_null(value);
			trial->generated.values[rows[row]][places[i]] = as_null(other);
		}
	if (errors && below(4) == 0 && trial->generated.rows > 0)
		trial->generated.rows--;
	make_cells(trial, &trial->truth);
	make_cells(trial, &trial->generated);
}

static void ask_oracle(struct trial *trial, bool exactly)
{
	const struct side *ours = &trial->generated, *theirs = &trial->truth;
	for (size_t a = 0; a < trial->columns; a++)
		for (size_t b = 0; b < trial->columns; b++)
			for (size_t i = 0; i < ours->rows * theirs->rows; i++) {
				size_t row = i / theirs->rows, other = i % theirs->rows;
				trial->equal[a][b][row][other] = oracle_cells_equal(
					ours->classes[a], ours->values[row][a], theirs->classes[b],
					theirs->values[other][b], exactly);
			}
}

/* --- every matching of rows --- */

/* Rows `from` to `to`, of either side. */
static size_t match_rows(const struct trial *trial, const size_t *partners, size_t from, size_t to)
{
	size_t ours_end = to < trial->generated.rows ? to : trial->generated.rows;
	struct matching matching = { .rows = ours_end > from ? ours_end - from : 0, .others = to - from };
	for (size_t row = 0; row < matching.rows; row++)
		for (size_t other = 0; other < matching.others; other++) {
			bool equal = true;
			for (size_t i = 0; equal && i < trial->columns; i++)
				equal = trial->equal[partners[i]][i][from + row][from + other];
			matching.equal[row][other] = equal;
		}
	return matching_count(&matching);
}

/* Rows of the truth that tie: the same keys to the last digit, as read beside their partners. */
static bool is_tie(const struct trial *trial, const size_t *partners, size_t a, size_t b)
{
	for (size_t i = 0; i < trial->keys_count; i++) {
		size_t key = trial->keys[i].column;
		if (!oracle_cells_equal(trial->truth.classes[key], trial->truth.values[a][key],
					trial->generated.classes[partners[key]], trial->truth.values[b][key],
					true))
			return false;
	}
	return true;
}

/* Generated rows of a tie at the cut that have its keys. */
static size_t count_with_keys(const struct trial *trial, const size_t *partners, size_t start)
{
	size_t count = 0;
	for (size_t row = start; row < trial->generated.rows; row++) {
		bool same = true;
		for (size_t i = 0; same && i < trial->keys_count; i++) {
			size_t key = trial->keys[i].column;
			same = trial->equal[partners[key]][key][row][start];
		}
		count += same;
	}
	return count;
}

static size_t match(const struct trial *trial, const size_t *partners)
{
	size_t rows = trial->truth.rows, matched = 0;
	if (!trial->options.ordered)
		return match_rows(trial, partners, 0, rows);
	for (size_t start = 0, end; start < rows; start = end) {
		for (end = start + 1; end < rows && is_tie(trial, partners, start, end); end++)
			;
		size_t found = match_rows(trial, partners, start, end);
		size_t excused = trial->excused && end == rows && start < trial->generated.rows
					 ? count_with_keys(trial, partners, start)
					 : 0;
		matched += excused > found ? excused : found;
	}
	return matched;
}

/* --- every pairing of columns --- */

static size_t uses_of(const struct result_column *columns, size_t count, str_t name, size_t *ret_last)
{
	size_t uses = 0;
	for (size_t i = 0; i < count; i++) {
		str_t other = compare_trim(columns[i].name);
		if (other.len == name.len && strncasecmp(other.ptr, name.ptr, name.len) == 0) {
			uses++;
			*ret_last = i;
		}
	}
	return uses;
}

/* Names that stand once on either side decide. */
static bool names_allow(const struct trial *trial, size_t truth, size_t generated)
{
	size_t ours = 0, theirs = 0;
	str_t name = compare_trim(trial->truth.columns[truth].name);
	if (uses_of(trial->truth.columns, trial->columns, name, &theirs) == 1 &&
	    uses_of(trial->generated.columns, trial->columns, name, &ours) == 1)
		return generated == ours;
	name = compare_trim(trial->generated.columns[generated].name);
	return uses_of(trial->truth.columns, trial->columns, name, &theirs) != 1 ||
	       uses_of(trial->generated.columns, trial->columns, name, &ours) != 1;
}

/* The most rows in common, over all orders of the columns from `column` on. */
static size_t match_best(const struct trial *trial, size_t *partners, size_t column)
{
	size_t best = 0;
	if (column == trial->columns)
		return match(trial, partners);
	for (size_t i = column; i < trial->columns && best < trial->truth.rows; i++) {
		size_t partner = partners[i];
		if (!names_allow(trial, column, partner))
			continue;
		partners[i] = partners[column];
		partners[column] = partner;
		size_t matched = match_best(trial, partners, column + 1);
		best = matched > best ? matched : best;
		partners[column] = partners[i];
		partners[i] = partner;
	}
	return best;
}

static struct result_set set_of(const struct trial *trial, const struct side *side)
{
	return (struct result_set){ side->columns, trial->columns, side->cells, side->rows, false };
}

static void show_side(const struct trial *trial, const struct side *side)
{
	for (size_t i = 0; i < trial->columns; i++)
		fprintf(stderr, "%s" STR_FMT ":%c", i ? " | " : "", STR_ARG(side->columns[i].name),
			side->classes[i]);
	for (size_t i = 0; i < side->rows * trial->columns; i++) {
		const char *value = side->values[i / trial->columns][i % trial->columns];
		fprintf(stderr, "%s%s", i % trial->columns ? " | " : "\n", value ? value : "NULL");
	}
	fprintf(stderr, "\n");
}

static void show(const struct trial *trial, const char *what, double found, double best)
{
	fprintf(stderr, "--- truth\n");
	show_side(trial, &trial->truth);
	fprintf(stderr, "--- generated\n");
	show_side(trial, &trial->generated);
	for (size_t i = 0; i < trial->keys_count; i++)
		fprintf(stderr, "key %zu\n", trial->keys[i].column);
	print_error("%s: a rate of %g, %g at best%s%s\n", what, found, best,
		    trial->options.ordered ? ", ordered" : "", trial->options.limited ? ", limited" : "");
	faults++;
}

/* How much of it is equal at best, over all pairings that the names allow. */
static double best_rate(struct trial *trial, bool excused)
{
	size_t partners[MAX_COLUMNS] = { 0, 1, 2, 3, 4 };
	trial->excused = excused;
	return trial->truth.rows == 0 ? 1
				      : (double)match_best(trial, partners, 0) / (double)trial->truth.rows;
}

static double compared_rate(const struct result_set *generated, const struct result_set *truth,
			    const struct compare_options *options, struct arena *arena)
{
	struct compare_verdict verdict;
	compare_results(generated, truth, options, arena, &verdict);
	return verdict.content_match_rate;
}

static void check_rates(struct trial *trial, struct arena *arena)
{
	const struct result_set generated = set_of(trial, &trial->generated);
	const struct result_set truth = set_of(trial, &trial->truth);
	double best = best_rate(trial, false), most = best;
	if (trial->options.limited)
		most = best_rate(trial, true);
	double found = compared_rate(&generated, &truth, &trial->options, arena);
	double back =
		trial->options.ordered ? found : compared_rate(&truth, &generated, &trial->options, arena);
	if (fmax(found, back) > most + 1e-9)
		show(trial, "more alike than possible", fmax(found, back), most);
	if (best >= 1 && fmin(found, back) < 1)
		show(trial, "equal, called other", fmin(found, back), best);
	below_best += found < best - 1e-9;
}

static struct compare_digest *digest(const struct trial *trial, const struct side *side,
				     const struct compare_pairing *pairing)
{
	static const struct hash_key key = { { 1, 2 } };
	struct compare_digest *made =
		compare_digest_new(&(struct compare_digest_settings){ .key = key,
								      .pairing = pairing,
								      .is_truth = side == &trial->truth,
								      .options = &trial->options });
	for (size_t row = 0; row < side->rows; row++)
		compare_digest_row(made, side->cells + row * trial->columns);
	return made;
}

static struct compare_columns *column_bags(const struct trial *trial, const struct side *side)
{
	static const struct hash_key key = { { 1, 2 } };
	enum cell_class types[MAX_COLUMNS];
	for (size_t i = 0; i < trial->columns; i++)
		types[i] = class_of(side->classes[i]);
	struct compare_columns *bags = compare_columns_new(&key, types, trial->columns);
	for (size_t row = 0; row < side->rows; row++)
		compare_columns_row(bags, side->cells + row * trial->columns);
	return bags;
}

/* Read row by row: what is proven equal is, and what is the same to the last digit is proven where names
 * pair. */
static void check_digests(struct trial *trial, struct arena *arena)
{
	const struct result_set generated = set_of(trial, &trial->generated);
	const struct result_set truth = set_of(trial, &trial->truth);
	struct compare_columns *our_bags = column_bags(trial, &trial->generated);
	struct compare_columns *their_bags = column_bags(trial, &trial->truth);
	struct compare_pairing pairing;
	compare_columns_pair(&generated, our_bags, &truth, their_bags, arena, &pairing);
	struct compare_digest *ours = digest(trial, &trial->generated, &pairing);
	struct compare_digest *theirs = digest(trial, &trial->truth, &pairing);
	enum compare_digest_verdict verdict = compare_digest_judge(ours, theirs);
	bool *taken = ARENA_ARRAY(arena, bool, trial->columns);
	bool named = compare_pair_names(&generated, &truth, &pairing, taken, arena) == 0;
	double exact = (ask_oracle(trial, true), best_rate(trial, verdict == COMPARE_DIGEST_EQUAL_TO_CUT));
	if (verdict != COMPARE_DIGEST_UNEQUAL && exact < 1)
		show(trial, "digests of different results are equal", 1, exact);
	if (verdict == COMPARE_DIGEST_UNEQUAL && named && exact >= 1 &&
	    generated.rows_count == truth.rows_count)
		show(trial, "digests of equal results differ", 0, exact);
	compare_columns_free(our_bags);
	compare_columns_free(their_bags);
	compare_digest_free(ours);
	compare_digest_free(theirs);
}

static void run_trials(void (*prepare)(struct trial *))
{
	const char *trials = getenv("ASSAYD_ORACLE_TRIALS"), *seed = getenv("ASSAYD_ORACLE_SEED");
	random_state = seed ? strtoull(seed, NULL, 10) : 7;
	faults = below_best = 0;
	for (size_t i = trials ? strtoull(trials, NULL, 10) : TRIALS; i > 0 && faults < 20; i--) {
		struct arena *arena = arena_new();
		struct trial *trial = ARENA_NEW(arena, struct trial);
		make_trial(trial, prepare);
		if (prepare)
			prepare(trial);
		ask_oracle(trial, false);
		check_rates(trial, arena);
		check_digests(trial, arena);
		arena_free(arena);
	}
	print_message("%zu trials found less than there is\n", below_best);
	assert_int_equal(faults, 0);
}

static void bags_are_judged_right(void **state)
{
	(void)state;
	run_trials(NULL);
}

static void swap_rows(struct trial *trial, struct side *side, size_t a, size_t b)
{
	for (size_t i = 0; i < trial->columns; i++) {
		const char *value = side->values[a][i];
		side->values[a][i] = side->values[b][i];
		side->values[b][i] = value;
	}
}

static bool same_keys(const struct trial *trial, size_t a, size_t b)
{
	for (size_t i = 0; i < trial->keys_count; i++) {
		size_t key = trial->keys[i].column;
		char class = trial->truth.classes[key];
		if (!oracle_cells_equal(class, trial->truth.values[a][key], class,
					trial->truth.values[b][key], true))
			return false;
	}
	return true;
}

/* Brings rows together that tie, by one to three columns, and exchanges some of the generated rows. */
static void sort_rows(struct trial *trial)
{
	size_t columns[MAX_COLUMNS], rows = trial->generated.rows;
	shuffle(columns, trial->columns);
	trial->keys_count = 1 + below(trial->columns < 3 ? trial->columns : 3);
	for (size_t i = 0; i < trial->keys_count; i++)
		trial->keys[i].column = columns[i];
	for (size_t i = 0; i + 1 < rows; i++)
		for (size_t other = i + 2; other < rows && !same_keys(trial, i, i + 1); other++)
			if (same_keys(trial, i, other)) {
				swap_rows(trial, &trial->truth, i + 1, other);
				swap_rows(trial, &trial->generated, i + 1, other);
			}
	for (size_t i = 0; i + 1 < rows; i++)
		if (same_keys(trial, i, i + 1) ? below(2) : below(16) == 0)
			swap_rows(trial, &trial->generated, i, i + 1);
	make_cells(trial, &trial->truth);
	make_cells(trial, &trial->generated);
	trial->options = (struct compare_options){ .ordered = true,
						   .order_keys = trial->keys,
						   .order_keys_count = trial->keys_count,
						   .all_keys_visible = true,
						   .limited = below(3) == 0 };
}

static void orders_are_judged_right(void **state)
{
	(void)state;
	run_trials(sort_rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bags_are_judged_right),
					    cmocka_unit_test(orders_are_judged_right) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
