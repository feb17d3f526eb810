#include "score/compare.h"

#include "score/compare_order.h"

/* Columns that nothing tells apart are tried in this many ways at most. */
#define CHOICES_LIMIT 16

/* Values looked at while pairing columns, all ways together. */
#define PAIRING_BUDGET ((size_t)1 << 25)

struct comparison {
	const struct result_set *generated, *truth;
	struct compare_table *generated_table, *truth_table;
	const struct compare_options *options;
	struct compare_tolerance tolerance;
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
			 bool *ret_cut_tie)
{
	const struct result_set *generated = comparison->generated, *truth = comparison->truth;
	struct compare_order order = {
		.generated = generated,
		.truth = truth,
		.pairing = pairing,
		.options = comparison->options,
		.tolerance = comparison->tolerance,
		.generated_rows =
			compare_read_rows(comparison->generated_table, pairing, false, comparison->arena),
		.truth_rows = compare_read_rows(comparison->truth_table, pairing, true, comparison->arena),
	};
	*ret_cut_tie = false;
	if (comparison->options->ordered)
		return compare_match_ordered(&order, comparison->arena, ret_cut_tie);
	return compare_match_bags(order.generated_rows, generated->rows_count, order.truth_rows,
				  truth->rows_count, &comparison->tolerance, comparison->arena);
}

/* The best of the pairings that have equal right. */
static size_t match_best(const struct comparison *comparison, bool *ret_cut_tie)
{
	size_t best = 0, choices = 1, budget = PAIRING_BUDGET;
	size_t cells = comparison->truth->columns_count *
		       (comparison->generated->rows_count + comparison->truth->rows_count);
	size_t full = larger(comparison->generated->rows_count, comparison->truth->rows_count);
	*ret_cut_tie = false;
	for (size_t choice = 0; choice < choices && choice < CHOICES_LIMIT && budget > 0; choice++) {
		struct compare_pairing pairing;
		bool cut_tie;
		compare_pair_columns(comparison->generated_table, comparison->truth_table, choice, &budget,
				     comparison->arena, &pairing);
		size_t matched = match_rows(comparison, &pairing, &cut_tie);
		compare_spend(&budget, 4 * cells);
		choices = larger(choices, pairing.choices);
		if (choice == 0 || matched > best) {
			best = matched;
			*ret_cut_tie = cut_tie;
		}
		if (best == full)
			break;
	}
	return best;
}

void compare_results(const struct result_set *generated, const struct result_set *truth,
		     const struct compare_options *options, struct arena *arena,
		     struct compare_verdict *ret_verdict)
{
	struct comparison comparison = {
		.generated = generated,
		.truth = truth,
		.generated_table = compare_table_new(generated, arena),
		.truth_table = compare_table_new(truth, arena),
		.options = options,
		.tolerance = compare_tolerance_of(options),
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
	if (verdict.schema_match) {
		size_t rows = larger(generated->rows_count, truth->rows_count);
		size_t matched = match_best(&comparison, &verdict.limit_cut_tie);
		verdict.content_match_rate = rows == 0 ? 1 : (double)matched / (double)rows;
		verdict.score = verdict.row_count_match || verdict.truncated
					? compare_ladder(verdict.content_match_rate)
					: COMPARE_SCORE_OTHER_COUNT;
	}
	*ret_verdict = verdict;
}
