#include "compare/compare.h"

#include "compare/order.h"
#include "compare/search.h"

/* Columns that nothing tells apart are tried in this many ways at most. */
#define CHOICES_LIMIT 16

/* Values looked at while pairing columns, all ways together. */
#define PAIRING_BUDGET ((size_t)1 << 25)

struct comparison {
	const struct result_set *generated, *truth;
	struct compare_table *generated_table, *truth_table;
	struct compare_table *whole_table; /* or NULL */
	const struct compare_options *options;
	struct compare_tolerance tolerance;
	size_t *matching_budget;
	struct compare_pairing *best; /* of the pairings tried, or with no pairs */
	struct arena *arena;
};

double compare_ladder(double rate)
{
	static const struct {
		double at_least;
		double score;
	} steps[] = { { 0.99, 1.0 }, { 0.95, 0.95 }, { 0.80, 0.80 } };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (rate >= steps[i].at_least)
			return steps[i].score;
	return rate;
}

struct compare_tolerance compare_tolerance_of(const struct compare_options *options)
{
	return (struct compare_tolerance){
		options->absolute_tolerance > 0 ? options->absolute_tolerance : 1e-4,
		options->relative_tolerance > 0 ? options->relative_tolerance : 1e-9,
	};
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t match_rows(const struct comparison *comparison, const struct compare_pairing *pairing,
			 struct compare_ties *ret_ties)
{
	const struct result_set *generated = comparison->generated, *truth = comparison->truth;
	struct compare_order order = {
		.generated = generated,
		.truth = truth,
		.pairing = pairing,
		.options = comparison->options,
		.tolerance = comparison->tolerance,
		.matching_budget = comparison->matching_budget,
		.generated_rows =
			compare_read_rows(comparison->generated_table, pairing, false, comparison->arena),
		.truth_rows = compare_read_rows(comparison->truth_table, pairing, true, comparison->arena),
	};
	if (comparison->whole_table)
		order.whole_rows =
			compare_read_rows(comparison->whole_table, pairing, true, comparison->arena);
	*ret_ties = (struct compare_ties){ false, false };
	if (comparison->options->ordered)
		return compare_match_ordered(&order, comparison->arena, ret_ties);
	return compare_match_bags(order.generated_rows, generated->rows_count, order.truth_rows,
				  truth->rows_count, &comparison->tolerance, comparison->matching_budget,
				  comparison->arena);
}

static size_t rows_most(const struct comparison *comparison)
{
	return larger(comparison->generated->rows_count, comparison->truth->rows_count);
}

/* The best of the pairings that have equal right, by the contents of `paired_with`; it has to be better than
 * `best`. */
static size_t match_best(const struct comparison *comparison, struct compare_table *paired_with, size_t best,
			 struct compare_ties *ties)
{
	size_t choices = 1, budget = PAIRING_BUDGET;
	size_t cells = comparison->truth->columns_count *
		       (comparison->generated->rows_count + compare_table_set(paired_with)->rows_count);
	for (size_t choice = 0; choice < choices && choice < CHOICES_LIMIT && budget > 0; choice++) {
		struct compare_pairing pairing;
		struct compare_ties found;
		compare_pair_columns(comparison->generated_table, paired_with, choice, &budget,
				     comparison->arena, &pairing);
		size_t matched = match_rows(comparison, &pairing, &found);
		compare_spend(&budget, 4 * cells);
		choices = larger(choices, pairing.choices);
		if (matched > best || !comparison->best->pairs)
			*comparison->best = pairing;
		if (matched > best) {
			best = matched;
			*ties = found;
		}
		if (best == rows_most(comparison))
			break;
	}
	return best;
}

/* A pairing that is being tried; who is right has its ties. */
struct attempt {
	const struct comparison *comparison;
	struct compare_ties ties;
};

static bool all_match(void *context, const struct compare_pairing *pairing)
{
	struct attempt *attempt = context;
	bool all = match_rows(attempt->comparison, pairing, &attempt->ties) == rows_most(attempt->comparison);
	if (all)
		*attempt->comparison->best = *pairing;
	return all;
}

/* Whether columns can be paired so that all rows match. */
static bool match_all(const struct comparison *comparison, struct compare_ties *ties)
{
	struct attempt attempt = { .comparison = comparison };
	const struct compare_search search = {
		.generated = comparison->generated_table,
		.truth = comparison->truth_table,
		.tolerance = &comparison->tolerance,
		.matching_budget = comparison->matching_budget,
		.is_right = all_match,
		.context = &attempt,
		.arena = comparison->arena,
	};
	if (comparison->generated->rows_count != comparison->truth->rows_count ||
	    !compare_search_pairing(&search))
		return false;
	*ties = attempt.ties;
	return true;
}

/* Columns belong together that hold the same; of what ties at a cut, it may be that the truth's rows hold
 * nothing of it. */
static size_t match(const struct comparison *comparison, struct compare_ties *ret_ties)
{
	*ret_ties = (struct compare_ties){ false, false };
	size_t best = match_best(comparison, comparison->truth_table, 0, ret_ties);
	if (best < rows_most(comparison) && match_all(comparison, ret_ties))
		best = rows_most(comparison);
	if (comparison->whole_table && best < rows_most(comparison))
		best = match_best(comparison, comparison->whole_table, best, ret_ties);
	return best;
}

/* Whether the results have different numbers of rows, however many were not fetched: of a truncated one there
 * is at least one more. */
static bool counts_differ(const struct result_set *a, const struct result_set *b)
{
	if (a->truncated != b->truncated) {
		const struct result_set *cut = a->truncated ? a : b, *complete = a->truncated ? b : a;
		return cut->rows_count >= complete->rows_count;
	}
	return !a->truncated && a->rows_count != b->rows_count;
}

void compare_results(const struct result_set *generated, const struct result_set *truth,
		     const struct compare_options *options, struct arena *arena,
		     struct compare_verdict *ret_verdict)
{
	struct compare_pairing pairing;
	compare_results_paired(generated, truth, options, arena, ret_verdict, &pairing);
}

void compare_results_paired(const struct result_set *generated, const struct result_set *truth,
			    const struct compare_options *options, struct arena *arena,
			    struct compare_verdict *ret_verdict, struct compare_pairing *ret_pairing)
{
	*ret_pairing = (struct compare_pairing){ 0 };
	size_t matching_budget = COMPARE_MATCHING_BUDGET;
	struct comparison comparison = {
		.generated = generated,
		.truth = truth,
		.generated_table = compare_table_new(generated, arena),
		.truth_table = compare_table_new(truth, arena),
		.whole_table = options->whole ? compare_table_new(options->whole->rows, arena) : NULL,
		.options = options,
		.tolerance = compare_tolerance_of(options),
		.matching_budget = &matching_budget,
		.best = ret_pairing,
		.arena = arena,
	};
	struct compare_verdict verdict = {
		.score = 0.1,
		.schema_match = generated->columns_count == truth->columns_count,
		.row_count_match = generated->rows_count == truth->rows_count &&
				   generated->truncated == truth->truncated,
		.ordering_matters = options->ordered,
		.truncated = generated->truncated || truth->truncated,
	};
	bool other_count = counts_differ(generated, truth);
	verdict.proven = !verdict.truncated || !verdict.schema_match || other_count;
	if (verdict.schema_match) {
		size_t rows = rows_most(&comparison);
		struct compare_ties ties;
		size_t matched = match(&comparison, &ties);
		verdict.limit_cut_tie = ties.cut;
		verdict.loose_tie = ties.loose;
		verdict.ties_certain =
			compare_ties_certain(&(struct compare_order){ .truth = truth, .options = options });
		verdict.content_match_rate = rows == 0 ? 1 : (double)matched / (double)rows;
		verdict.rows_matched = matched;
		verdict.rows_compared = rows;
		verdict.score =
			other_count ? COMPARE_SCORE_OTHER_COUNT : compare_ladder(verdict.content_match_rate);
	}
	*ret_verdict = verdict;
}

static struct compare_pairing pair_with_itself(const struct result_set *set, struct arena *arena)
{
	struct compare_pairing pairing = {
		ARENA_ARRAY(arena, struct compare_pair, set->columns_count),
		set->columns_count,
		1,
	};
	for (size_t i = 0; i < pairing.count; i++)
		compare_set_pair(&pairing, set, set, i, i);
	return pairing;
}

/* How many rows the cut leaves. */
static size_t rows_left(const struct compare_options *options, const struct compare_whole *whole)
{
	size_t rows = whole->rows->rows_count;
	size_t behind = rows > whole->first ? rows - whole->first : 0;
	return options->limited && options->limit < behind ? options->limit : behind;
}

enum compare_fit compare_whole_fit(const struct result_set *truth, const struct compare_options *options,
				   const struct compare_whole *whole, struct arena *arena)
{
	if (!options->ordered || whole->rows->columns_count != truth->columns_count ||
	    whole->keyed->columns_count < truth->columns_count ||
	    rows_left(options, whole) != truth->rows_count)
		return COMPARE_FITS_NOT;
	struct compare_options with_whole = *options;
	with_whole.whole = whole;
	const struct compare_pairing pairing = pair_with_itself(truth, arena);
	struct compare_table *table = compare_table_new(truth, arena);
	const struct compare_row *rows = compare_read_rows(table, &pairing, true, arena);
	size_t matching_budget = COMPARE_MATCHING_BUDGET;
	const struct compare_order order = {
		.matching_budget = &matching_budget,
		.generated = truth,
		.truth = truth,
		.pairing = &pairing,
		.options = &with_whole,
		.tolerance = compare_tolerance_of(options),
		.generated_rows = rows,
		.truth_rows = rows,
		.whole_rows = compare_read_rows(compare_table_new(whole->rows, arena), &pairing, true, arena),
	};
	struct compare_ties ties;
	if (!compare_keys_known(&order) || compare_match_ordered(&order, arena, &ties) != truth->rows_count)
		return COMPARE_FITS_NOT;
	return compare_last_tie_whole(&order, arena) ? COMPARE_FITS : COMPARE_FITS_PARTLY;
}
