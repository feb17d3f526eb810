#include "compare/search.h"

#include "common/hash.h"

/* Values read at most: some hundredths of a second. Half of it has to do for comparing every column with
 * every other one. */
#define SEARCH_BUDGET ((size_t)1 << 19)

enum fit { NOT_KNOWN, FITS, FITS_NOT };

struct trying {
	const struct compare_search *search;
	const struct result_set *generated, *truth;
	struct compare_pairing pairing;
	size_t *columns; /* of the truth: those with partners, then those to be tried */
	size_t columns_count, named;
	bool *taken;	      /* generated columns */
	enum fit *fits;	      /* of every column of the truth with every generated one */
	uint64_t *twin_marks; /* generated columns with the same one hold the same, row by row */
	size_t budget;
};

static size_t match_columns(const struct trying *trying, const size_t *columns, size_t count,
			    const struct compare_pair *pairs)
{
	const struct compare_search *search = trying->search;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct compare_row *ours =
		compare_read_part(search->generated, columns, count, pairs, false, arena);
	const struct compare_row *theirs =
		compare_read_part(search->truth, columns, count, pairs, true, arena);
	return compare_match_bags(ours, trying->generated->rows_count, theirs, trying->truth->rows_count,
				  search->tolerance, search->matching_budget, arena);
}

/* Whether the rows are the same as far as these columns of the truth and their partners go. */
static bool rows_match(struct trying *trying, const size_t *columns, size_t count)
{
	size_t rows = trying->truth->rows_count, values = 2 * rows * count;
	if (trying->budget < values)
		return false;
	compare_spend(&trying->budget, values);
	return match_columns(trying, columns, count, trying->pairing.pairs) == rows;
}

static void set_pair(struct trying *trying, size_t truth, size_t generated)
{
	compare_set_pair(&trying->pairing, trying->generated, trying->truth, truth, generated);
}

/* Whether the two columns hold the same values. */
static bool fits(struct trying *trying, size_t truth, size_t generated)
{
	enum fit *fit = &trying->fits[truth * trying->columns_count + generated];
	if (*fit == NOT_KNOWN) {
		set_pair(trying, truth, generated);
		*fit = rows_match(trying, &truth, 1) ? FITS : FITS_NOT;
	}
	return *fit == FITS;
}

static size_t count_fitting(struct trying *trying, size_t truth)
{
	size_t count = 0;
	for (size_t i = 0; i < trying->columns_count; i++)
		count += !trying->taken[i] && fits(trying, truth, i);
	return count;
}

/* Columns with few partners come first. False: one has none. */
static bool sort_columns(struct trying *trying)
{
	size_t *fitting = ARENA_ARRAY(trying->search->arena, size_t, trying->columns_count);
	for (size_t i = trying->named; i < trying->columns_count; i++) {
		size_t column = trying->columns[i], count = count_fitting(trying, column), at = i;
		if (count == 0)
			return false;
		for (; at > trying->named && fitting[trying->columns[at - 1]] > count; at--)
			trying->columns[at] = trying->columns[at - 1];
		trying->columns[at] = column;
		fitting[column] = count;
	}
	return true;
}

/* By the texts as they are: what is the same beside one column need not be beside another one. */
static void mark_twins(struct trying *trying)
{
	const struct result_set *set = trying->generated;
	for (size_t i = 0; i < trying->columns_count; i++) {
		uint64_t mark = set->columns[i].type;
		for (size_t row = 0; row < set->rows_count; row++) {
			str_t cell = set->cells[row * set->columns_count + i];
			mark = compare_mix(mark, str_present(cell) ? hash_seeded(cell.ptr, cell.len)
								   : compare_marks.absent);
		}
		trying->twin_marks[i] = mark;
	}
}

/* Whether a column that holds the same stood before it, free as well: it has been tried. */
static bool has_earlier_twin(const struct trying *trying, size_t generated)
{
	for (size_t i = 0; i < generated; i++)
		if (!trying->taken[i] && trying->twin_marks[i] == trying->twin_marks[generated])
			return true;
	return false;
}

/* Finds partners for the columns from the given one on. */
static bool try_columns(struct trying *trying, size_t at)
{
	if (at == trying->columns_count)
		return trying->search->is_right(trying->search->context, &trying->pairing);
	size_t truth = trying->columns[at];
	for (size_t i = 0; i < trying->columns_count && trying->budget > 0; i++) {
		if (trying->taken[i] || !fits(trying, truth, i) || has_earlier_twin(trying, i))
			continue;
		set_pair(trying, truth, i);
		trying->taken[i] = true;
		if (rows_match(trying, trying->columns, at + 1) && try_columns(trying, at + 1))
			return true;
		trying->taken[i] = false;
	}
	return false;
}

static void take_named(struct trying *trying)
{
	size_t open = 0;
	trying->named =
		trying->columns_count - compare_pair_names(trying->generated, trying->truth, &trying->pairing,
							   trying->taken, trying->search->arena);
	for (size_t i = 0, named = 0; i < trying->columns_count; i++) {
		bool is_named = trying->pairing.pairs[i].generated != COMPARE_NOT_PAIRED_YET;
		trying->columns[is_named ? named++ : trying->named + open++] = i;
	}
}

bool compare_search_pairing(const struct compare_search *search)
{
	const struct result_set *truth = compare_table_set(search->truth);
	size_t count = truth->columns_count;
	struct trying trying = {
		.search = search,
		.generated = compare_table_set(search->generated),
		.truth = truth,
		.pairing = { ARENA_ARRAY(search->arena, struct compare_pair, count), count, 1 },
		.columns = ARENA_ARRAY(search->arena, size_t, count),
		.columns_count = count,
		.taken = ARENA_ARRAY(search->arena, bool, count),
		.budget = SEARCH_BUDGET,
	};
	take_named(&trying);
	size_t open = count - trying.named;
	if (open < 2 || truth->rows_count == 0 || open > SEARCH_BUDGET / 4 / truth->rows_count / open)
		return false;
	trying.fits = ARENA_ARRAY(search->arena, enum fit, count * count);
	trying.twin_marks = ARENA_ARRAY(search->arena, uint64_t, count);
	mark_twins(&trying);
	return sort_columns(&trying) &&
	       (trying.named == 0 || rows_match(&trying, trying.columns, trying.named)) &&
	       try_columns(&trying, trying.named);
}
