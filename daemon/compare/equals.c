#include "compare/equals.h"

/* How often colours of columns are refined. */
#define COLOURING_ROUNDS 3

/* An open column by what it is told apart by. */
struct sorted {
	uint64_t bag, colour;
	uint64_t exact; /* of those that look the same */
	struct pairing_candidate *candidate;
	const struct pairing_candidate *partner; /* of the truth's columns, once taken */
	bool taken;
};

static int by_bag_and_colour(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;
	if (left->bag != right->bag)
		return left->bag < right->bag ? -1 : 1;
	if (left->colour != right->colour)
		return left->colour < right->colour ? -1 : 1;
	return (left->candidate->column > right->candidate->column) -
	       (left->candidate->column < right->candidate->column);
}

static struct sorted *sort_columns(const struct pairing_side *side, struct arena *arena)
{
	struct sorted *list = ARENA_ARRAY(arena, struct sorted, side->open_count);
	for (size_t i = 0; i < side->open_count; i++)
		list[i] = (struct sorted){ .bag = side->open[i].bag,
					   .colour = side->open[i].colour,
					   .candidate = &side->open[i] };
	if (side->open_count > 1)
		qsort(list, side->open_count, sizeof *list, by_bag_and_colour);
	return list;
}

/* How many columns at the start of the list look the same. */
static size_t count_alike(const struct sorted *list, size_t count)
{
	size_t alike = 1;
	while (alike < count && list[alike].bag == list[0].bag && list[alike].colour == list[0].colour)
		alike++;
	return alike;
}

/* The bag of the values as they are, to the last digit, and the class. */
static uint64_t exact_bag(const struct pairing_side *side, size_t column)
{
	const uint64_t *values = compare_table_exact(side->table, column);
	uint64_t bag = side->set->columns[column].type;
	for (size_t row = 0; row < side->set->rows_count; row++)
		bag += values[row];
	return bag;
}

static int by_exact_bag(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;
	if (left->exact != right->exact)
		return left->exact < right->exact ? -1 : 1;
	return (left->candidate->column > right->candidate->column) -
	       (left->candidate->column < right->candidate->column);
}

static void sort_exactly(const struct pairing_side *side, struct sorted *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].exact = exact_bag(side, list[i].candidate->column);
	qsort(list, count, sizeof *list, by_exact_bag);
}

/* Columns that look the same, but are close only: brings those that are the same to the same place. False:
 * there are some on either side that the other one does not have, or that can be told apart by their rows
 * alone. */
static bool align_exactly(const struct pairing *pairing, struct sorted *theirs, struct sorted *ours,
			  size_t count)
{
	sort_exactly(&pairing->truth, theirs, count);
	sort_exactly(&pairing->generated, ours, count);
	for (size_t i = 0; i < count; i++) {
		if (theirs[i].exact != ours[i].exact)
			return false;
		if (i > 0 && theirs[i].exact == theirs[i - 1].exact &&
		    (compare_twin_mark(&pairing->truth, theirs[i].candidate) !=
			     compare_twin_mark(&pairing->truth, theirs[i - 1].candidate) ||
		     compare_twin_mark(&pairing->generated, ours[i].candidate) !=
			     compare_twin_mark(&pairing->generated, ours[i - 1].candidate)))
			return false;
	}
	return true;
}

static void pair_alike(struct sorted *theirs, struct sorted *ours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		theirs[i].partner = ours[i].candidate;
		theirs[i].taken = ours[i].taken = true;
	}
}

static void keep_untaken(struct pairing_side *side, const struct sorted *list)
{
	struct pairing_candidate *kept = side->open;
	for (size_t i = 0; i < side->open_count; i++)
		if (list[i].taken)
			list[i].candidate->column = COMPARE_NOT_PAIRED_YET;
	for (size_t i = 0; i < side->open_count; i++)
		if (side->open[i].column != COMPARE_NOT_PAIRED_YET)
			*kept++ = side->open[i];
	side->open_count = (size_t)(kept - side->open);
}

static void commit_pairs(struct pairing *pairing, const struct sorted *theirs, bool anchored)
{
	for (size_t i = 0; i < pairing->truth.open_count; i++) {
		if (!theirs[i].taken)
			continue;
		compare_set_pair(pairing->out, pairing->generated.set, pairing->truth.set,
				 theirs[i].candidate->column, theirs[i].partner->column);
		if (anchored) {
			compare_add_anchor(&pairing->truth, theirs[i].candidate->values);
			compare_add_anchor(&pairing->generated, theirs[i].partner->values);
		}
	}
}

/* Pairs columns that look the same to the last value and that nothing else looks like; with `all` only if
 * these are all. Whether there were any that look the same. */
static bool pair_equals(struct pairing *pairing, bool all)
{
	bool any_alike = false;
	size_t open = pairing->truth.open_count, i = 0, j = 0, paired = 0;
	struct sorted *theirs = sort_columns(&pairing->truth, pairing->arena);
	struct sorted *ours = sort_columns(&pairing->generated, pairing->arena);
	while (i < open && j < open) {
		size_t their_count = count_alike(theirs + i, open - i);
		size_t our_count = count_alike(ours + j, open - j);
		bool alike = theirs[i].bag == ours[j].bag && theirs[i].colour == ours[j].colour;
		any_alike |= alike;
		for (size_t k = 0; alike && k < their_count; k++)
			theirs[i + k].candidate->shared = their_count == our_count;
		for (size_t k = 0; alike && k < our_count; k++)
			ours[j + k].candidate->shared = their_count == our_count;
		if (alike && their_count == our_count &&
		    (their_count == 1 || align_exactly(pairing, theirs + i, ours + j, their_count))) {
			pair_alike(theirs + i, ours + j, their_count);
			paired += their_count;
		}
		bool behind = theirs[i].bag < ours[j].bag ||
			      (theirs[i].bag == ours[j].bag && theirs[i].colour < ours[j].colour);
		i += alike || behind ? their_count : 0;
		j += alike || !behind ? our_count : 0;
	}
	if (all && paired < open)
		return any_alike;
	commit_pairs(pairing, theirs, paired < open);
	keep_untaken(&pairing->truth, theirs);
	keep_untaken(&pairing->generated, ours);
	return any_alike;
}

/* Gives every open column a colour: what its values go together with in their rows, as far as both sides have
 * it. Colours of the last time refine those of this time (after Weisfeiler and Leman 1968). */
static void colour_columns(const struct pairing *pairing, const struct pairing_side *side)
{
	size_t rows = side->set->rows_count;
	uint64_t *signatures = ARENA_ARRAY(pairing->arena, uint64_t, rows);
	for (size_t row = 0; row < rows; row++)
		signatures[row] = side->anchors[row];
	for (size_t i = 0; i < side->open_count; i++) {
		const struct pairing_candidate *candidate = &side->open[i];
		uint64_t colour = compare_mix(candidate->bag, candidate->colour);
		for (size_t row = 0; candidate->shared && row < rows; row++)
			signatures[row] += compare_mix(candidate->values[row], colour);
	}
	for (size_t i = 0; i < side->open_count; i++) {
		struct pairing_candidate *candidate = &side->open[i];
		candidate->colour = 0;
		for (size_t row = 0; row < rows; row++)
			candidate->colour += compare_mix(candidate->values[row], signatures[row]);
	}
	compare_spend(pairing->budget, 2 * side->open_count * rows);
}

/* Columns that both sides hold alike: nearly all of them, when results are equal. That a column alone holds
 * the same is not enough where others do not: among columns of few values, some look alike by chance. */
void compare_pair_equal_contents(struct pairing *pairing)
{
	if (pairing->truth.set->rows_count != pairing->generated.set->rows_count)
		return;
	bool any_alike = pair_equals(pairing, true);
	for (int round = 0; any_alike && round < COLOURING_ROUNDS && pairing->truth.open_count > 0; round++) {
		colour_columns(pairing, &pairing->truth);
		colour_columns(pairing, &pairing->generated);
		any_alike = pair_equals(pairing, false);
	}
}
