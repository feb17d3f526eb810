#include "score/compare_columns.h"

#include "common/hash.h"
#include "score/compare_sketch.h"

#include <ctype.h>

#define SKETCH_MOST  256
#define SKETCH_LEAST 16

/* Sketches are merged for every pair of columns: their size follows from how many pairs there are. */
#define MERGING_BUDGET ((size_t)1 << 24)

/* How often colours of columns are refined. */
#define COLOURING_ROUNDS 3

/* More columns that differ are paired by their places: every one is compared with every other. */
#define SIMILAR_MOST 512

/* Similarity of a pair that is not to be taken. */
#define RULED_OUT (-1.0)

/* How many of the rows have to show that two columns belong together; columns of two values that do not
 * belong together reach half of what those reach that do. */
#define SURE_TOGETHER 0.3

/* More ways to decide are not told apart. */
#define CHOICES_MOST 1024

/* A column that has no partner yet. */
struct candidate {
	size_t column;
	size_t index;		/* among the columns that names did not pair */
	const uint64_t *values; /* fingerprint of every row */
	uint64_t sequence;	/* hash of all of them in order; 0: not asked for yet */
	uint64_t bag;		/* sum of all of them, in whatever order */
	uint64_t colour;	/* sum of all of them, each mixed with what else is in its row */
	bool shared;		/* the other side has as many open columns with this bag */
	struct sketch plain;	/* of the values alone */
	struct sketch joint;	/* of the values together with the columns already paired */
};

struct side {
	const struct result_set *set;
	struct compare_table *table;
	struct candidate *open; /* columns without partner */
	size_t open_count;
	uint64_t *anchors; /* for every row the hash of the columns that are surely paired */
};

struct pairing {
	struct side generated, truth;
	struct compare_pairing *out;
	struct arena *arena;
	size_t sketch_size; /* 0: no sketch was needed yet */
	size_t choice;
	size_t *budget;
	uint64_t *scratch;
	size_t columns;	    /* that names did not pair */
	double *similarity; /* of the values alone, for each of them on either side */
};

struct proposal {
	size_t truth, generated; /* indexes of open columns */
	double similarity;
	bool same_name;
	size_t distance; /* between their positions */
};

static str_t fold_name(str_t name, struct arena *arena)
{
	str_t trimmed = compare_trim(name);
	char *folded = arena_alloc(arena, trimmed.len + 1);
	for (size_t i = 0; i < trimmed.len; i++)
		folded[i] = (char)tolower((unsigned char)trimmed.ptr[i]);
	return (str_t){ folded, trimmed.len };
}

static str_t *fold_names(const struct result_set *set, struct arena *arena)
{
	str_t *names = ARENA_ARRAY(arena, str_t, set->columns_count);
	for (size_t i = 0; i < set->columns_count; i++)
		names[i] = fold_name(set->columns[i].name, arena);
	return names;
}

/* Where a name stands on each side, counted from 1; more than one place is as good as none. */
struct name_use {
	size_t generated, truth;
	size_t generated_uses, truth_uses;
};

static struct name_use *name_use(struct hash_map *map, str_t name)
{
	struct name_use *use = hash_map_get(map, name);
	if (!use) {
		use = ARENA_NEW(map->arena, struct name_use);
		hash_map_set(map, name, use);
	}
	return use;
}

void compare_set_pair(struct compare_pairing *pairing, const struct result_set *generated,
		      const struct result_set *truth, size_t truth_column, size_t generated_column)
{
	pairing->pairs[truth_column] = (struct compare_pair){
		generated_column,
		compare_mode_of(generated->columns[generated_column].type, truth->columns[truth_column].type),
	};
}

size_t compare_pair_names(const struct result_set *generated, const struct result_set *truth,
			  struct compare_pairing *pairing, bool *generated_taken, struct arena *arena)
{
	size_t count = truth->columns_count, left = count;
	const str_t *generated_names = fold_names(generated, arena), *truth_names = fold_names(truth, arena);
	struct hash_map map;
	hash_map_init(&map, arena, 2 * count);
	for (size_t i = 0; i < count; i++) {
		struct name_use *use = name_use(&map, generated_names[i]);
		use->generated = i;
		use->generated_uses++;
		use = name_use(&map, truth_names[i]);
		use->truth = i;
		use->truth_uses++;
	}
	for (size_t i = 0; i < count; i++) {
		const struct name_use *use = name_use(&map, truth_names[i]);
		pairing->pairs[i].generated = COMPARE_NOT_PAIRED_YET;
		if (use->generated_uses != 1 || use->truth_uses != 1)
			continue;
		compare_set_pair(pairing, generated, truth, i, use->generated);
		generated_taken[use->generated] = true;
		left--;
	}
	return left;
}

static void open_column(struct side *side, size_t column)
{
	struct candidate *candidate = &side->open[side->open_count++];
	size_t rows = side->set->rows_count;
	candidate->column = column;
	candidate->values = compare_table_fingerprints(side->table, column);
	for (size_t row = 0; row < rows; row++)
		candidate->bag += candidate->values[row];
}

static uint64_t sequence_of(const struct side *side, struct candidate *candidate)
{
	if (candidate->sequence == 0) {
		candidate->sequence = 1;
		for (size_t row = 0; row < side->set->rows_count; row++)
			candidate->sequence = compare_mix(candidate->sequence, candidate->values[row]);
	}
	return candidate->sequence;
}

static void add_anchor(struct side *side, const uint64_t *values)
{
	for (size_t row = 0; row < side->set->rows_count; row++)
		side->anchors[row] = compare_mix(side->anchors[row], values[row]);
}

static void make_joint_sketches(struct pairing *pairing, struct side *side)
{
	for (size_t i = 0; i < side->open_count; i++)
		sketch_make(&side->open[i].joint, side->open[i].values, side->anchors, side->set->rows_count,
			    pairing->sketch_size, pairing->scratch);
	compare_spend(pairing->budget, side->open_count * side->set->rows_count);
}

static int by_merit(const void *a, const void *b)
{
	const struct proposal *left = a, *right = b;
	if (left->similarity < right->similarity || left->similarity > right->similarity)
		return left->similarity > right->similarity ? -1 : 1;
	if (left->same_name != right->same_name)
		return left->same_name ? -1 : 1;
	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return (left->truth > right->truth) - (left->truth < right->truth);
}

static bool same_name(const struct pairing *pairing, size_t generated, size_t truth)
{
	str_t a = compare_trim(pairing->generated.set->columns[generated].name);
	str_t b = compare_trim(pairing->truth.set->columns[truth].name);
	return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* Pairs that do not go together with what is in their rows to a degree of `least_joint` are ruled out. */
static void propose(const struct pairing *pairing, double least_joint, struct proposal *proposals)
{
	size_t count = pairing->truth.open_count;
	for (size_t i = 0; i < count * count; i++) {
		const struct candidate *truth = &pairing->truth.open[i / count];
		const struct candidate *generated = &pairing->generated.open[i % count];
		double alone = pairing->similarity[truth->index * pairing->columns + generated->index];
		double joint = sketch_similarity(&truth->joint, &generated->joint, pairing->sketch_size);
		proposals[i] = (struct proposal){
			.truth = i / count,
			.generated = i % count,
			.similarity = joint < least_joint ? RULED_OUT : alone + joint,
			.same_name = same_name(pairing, generated->column, truth->column),
			.distance = truth->column > generated->column ? truth->column - generated->column
								      : generated->column - truth->column,
		};
	}
	qsort(proposals, count * count, sizeof *proposals, by_merit);
	compare_spend(pairing->budget, count * count * pairing->sketch_size);
}

static void accept(struct pairing *pairing, const struct proposal *proposal)
{
	const struct candidate *truth = &pairing->truth.open[proposal->truth];
	const struct candidate *generated = &pairing->generated.open[proposal->generated];
	compare_set_pair(pairing->out, pairing->generated.set, pairing->truth.set, truth->column,
			 generated->column);
	/* A column that holds something else on the other side would tell rows apart that belong together. */
	if (proposal->similarity >= 1) {
		add_anchor(&pairing->generated, generated->values);
		add_anchor(&pairing->truth, truth->values);
	}
}

/* Bits of an open column in a round. */
enum { SEEN = 1, TIED = 2, TAKEN = 4 };

/* Marks the columns whose best similarity occurs with more than one partner. Proposals come best first. */
static void mark_ties(const struct proposal *proposals, size_t count, bool by_truth, unsigned char *marks,
		      double *best)
{
	for (size_t i = 0; i < count; i++) {
		size_t column = by_truth ? proposals[i].truth : proposals[i].generated;
		if (!(marks[column] & SEEN)) {
			marks[column] |= SEEN;
			best[column] = proposals[i].similarity;
		} else if (proposals[i].similarity >= best[column]) {
			marks[column] |= TIED;
		}
	}
}

/* One round's working memory. */
struct round {
	struct proposal *proposals;
	size_t count;
	unsigned char *truth_marks, *generated_marks;
};

static void take_proposal(struct pairing *pairing, struct round *round, const struct proposal *proposal)
{
	accept(pairing, proposal);
	round->truth_marks[proposal->truth] |= TAKEN;
	round->generated_marks[proposal->generated] |= TAKEN;
}

static bool is_open(const struct round *round, const struct proposal *proposal)
{
	return !(round->truth_marks[proposal->truth] & TAKEN) &&
	       !(round->generated_marks[proposal->generated] & TAKEN);
}

/* Accepts the pairs that are each other's only best partner. */
static size_t take_clear(struct pairing *pairing, struct round *round)
{
	size_t open = pairing->truth.open_count, taken = 0;
	double *best = ARENA_ARRAY(pairing->arena, double, 2 * open);
	mark_ties(round->proposals, round->count, true, round->truth_marks, best);
	mark_ties(round->proposals, round->count, false, round->generated_marks, best + open);
	for (size_t i = 0; i < round->count; i++) {
		const struct proposal *proposal = &round->proposals[i];
		if (proposal->similarity <= RULED_OUT)
			break;
		if (!is_open(round, proposal) || (round->truth_marks[proposal->truth] & TIED) ||
		    (round->generated_marks[proposal->generated] & TIED) ||
		    best[proposal->truth] > proposal->similarity ||
		    best[open + proposal->generated] > proposal->similarity)
			continue;
		take_proposal(pairing, round, proposal);
		taken++;
	}
	return taken;
}

/* Columns that hold the same in every row as the ones just paired can be paired in any way. */
static void take_twins(struct pairing *pairing, struct round *round, const struct proposal *chosen)
{
	uint64_t truth = sequence_of(&pairing->truth, &pairing->truth.open[chosen->truth]);
	uint64_t generated = sequence_of(&pairing->generated, &pairing->generated.open[chosen->generated]);
	for (size_t i = 0; i < round->count; i++) {
		const struct proposal *proposal = &round->proposals[i];
		if (is_open(round, proposal) &&
		    sequence_of(&pairing->truth, &pairing->truth.open[proposal->truth]) == truth &&
		    sequence_of(&pairing->generated, &pairing->generated.open[proposal->generated]) ==
			    generated)
			take_proposal(pairing, round, proposal);
	}
}

/* Whether the proposal is as good as the best one, for the same column of the truth. */
static bool is_rival(const struct proposal *proposal, const struct proposal *best)
{
	return proposal->truth == best->truth && proposal->similarity >= best->similarity;
}

/* Nothing tells the best proposals apart: takes one of them. `choice` says which: its digits, in the bases of
 * how many there are to choose from, are the decisions one after the other. */
static void take_arbitrary(struct pairing *pairing, struct round *round)
{
	const struct proposal *best = &round->proposals[0], *chosen = best;
	size_t rivals = 0, seen = 0;
	for (size_t i = 0; i < round->count; i++)
		rivals += is_rival(&round->proposals[i], best);
	for (size_t i = 0; i < round->count; i++)
		if (is_rival(&round->proposals[i], best) && seen++ == pairing->choice % rivals)
			chosen = &round->proposals[i];
	pairing->choice /= rivals;
	if (pairing->out->choices < CHOICES_MOST)
		pairing->out->choices *= rivals;
	take_proposal(pairing, round, chosen);
	take_twins(pairing, round, chosen);
}

static void close_taken(struct side *side, const unsigned char *marks)
{
	size_t kept = 0;
	for (size_t i = 0; i < side->open_count; i++)
		if (!(marks[i] & TAKEN))
			side->open[kept++] = side->open[i];
	side->open_count = kept;
}

static struct round start_round(struct pairing *pairing, struct proposal *proposals)
{
	size_t open = pairing->truth.open_count;
	return (struct round){ proposals, open * open, ARENA_ARRAY(pairing->arena, unsigned char, open),
			       ARENA_ARRAY(pairing->arena, unsigned char, open) };
}

static void end_round(struct pairing *pairing, const struct round *round)
{
	close_taken(&pairing->truth, round->truth_marks);
	close_taken(&pairing->generated, round->generated_marks);
}

static void run_round(struct pairing *pairing, struct proposal *proposals)
{
	struct round round = start_round(pairing, proposals);
	bool last = *pairing->budget == 0;
	if (!last) {
		make_joint_sketches(pairing, &pairing->truth);
		make_joint_sketches(pairing, &pairing->generated);
	}
	propose(pairing, 0, proposals);
	if (take_clear(pairing, &round) == 0)
		take_arbitrary(pairing, &round);
	for (size_t i = 0; last && i < round.count; i++)
		if (is_open(&round, &proposals[i]))
			take_proposal(pairing, &round, &proposals[i]);
	end_round(pairing, &round);
}

/* For every row what is in it, wherever it stands: the same for rows that are equal. */
static uint64_t *sign_rows(const struct pairing *pairing, const struct side *side)
{
	size_t rows = side->set->rows_count;
	uint64_t *signatures = ARENA_ARRAY(pairing->arena, uint64_t, rows);
	for (size_t row = 0; row < rows; row++)
		signatures[row] = side->anchors[row];
	for (size_t i = 0; i < side->open_count; i++)
		for (size_t row = 0; row < rows; row++)
			signatures[row] += compare_mix(side->open[i].values[row], 0);
	return signatures;
}

/* Where some rows are equal as a whole, their signatures tell which columns belong together, even where the
 * columns alone look all alike. */
static void run_signature_round(struct pairing *pairing, struct proposal *proposals)
{
	uint64_t *their_anchors = pairing->truth.anchors, *our_anchors = pairing->generated.anchors;
	struct round round = start_round(pairing, proposals);
	pairing->truth.anchors = sign_rows(pairing, &pairing->truth);
	pairing->generated.anchors = sign_rows(pairing, &pairing->generated);
	make_joint_sketches(pairing, &pairing->truth);
	make_joint_sketches(pairing, &pairing->generated);
	pairing->truth.anchors = their_anchors;
	pairing->generated.anchors = our_anchors;
	propose(pairing, SURE_TOGETHER, proposals);
	take_clear(pairing, &round);
	end_round(pairing, &round);
}

static void init_side(struct pairing *pairing, struct side *side, struct compare_table *table, size_t open)
{
	side->set = compare_table_set(table);
	side->table = table;
	side->open = ARENA_ARRAY(pairing->arena, struct candidate, open);
	side->anchors = ARENA_ARRAY(pairing->arena, uint64_t, side->set->rows_count);
}

static uint64_t bag_of(const uint64_t *values, size_t rows)
{
	uint64_t bag = 0;
	for (size_t row = 0; row < rows; row++)
		bag += values[row];
	return bag;
}

/* Whether most values of two columns are the same. */
static bool mostly_same(struct pairing *pairing, const uint64_t *theirs, const uint64_t *ours)
{
	size_t their_rows = pairing->truth.set->rows_count, our_rows = pairing->generated.set->rows_count;
	struct sketch their_sketch = { 0 }, our_sketch = { 0 };
	if (their_rows == our_rows && bag_of(theirs, their_rows) == bag_of(ours, our_rows))
		return true;
	sketch_init(&their_sketch, SKETCH_MOST, pairing->arena);
	sketch_init(&our_sketch, SKETCH_MOST, pairing->arena);
	sketch_make(&their_sketch, theirs, NULL, their_rows, SKETCH_MOST, pairing->scratch);
	sketch_make(&our_sketch, ours, NULL, our_rows, SKETCH_MOST, pairing->scratch);
	return sketch_similarity(&their_sketch, &our_sketch, SKETCH_MOST) >= 0.9;
}

/* Columns paired by name say which rows belong together, unless their contents have nothing in common. */
static void anchor_named(struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->truth.set->columns_count; i++) {
		size_t partner = pairing->out->pairs[i].generated;
		if (partner == COMPARE_NOT_PAIRED_YET)
			continue;
		const uint64_t *theirs = compare_table_fingerprints(pairing->truth.table, i);
		const uint64_t *ours = compare_table_fingerprints(pairing->generated.table, partner);
		if (!mostly_same(pairing, theirs, ours))
			continue;
		add_anchor(&pairing->truth, theirs);
		add_anchor(&pairing->generated, ours);
	}
}

/* An open column by what it is told apart by. */
struct sorted {
	uint64_t bag, colour;
	struct candidate *candidate;
	const struct candidate *partner; /* of the truth's columns, once taken */
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

static struct sorted *sort_columns(const struct side *side, struct arena *arena)
{
	struct sorted *list = ARENA_ARRAY(arena, struct sorted, side->open_count);
	for (size_t i = 0; i < side->open_count; i++)
		list[i] = (struct sorted){ side->open[i].bag, side->open[i].colour, &side->open[i], NULL,
					   false };
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

/* Whether all hold the same in every row, so that any of them is as good as another. */
static bool are_twins(const struct side *side, const struct sorted *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sequence_of(side, list[i].candidate) != sequence_of(side, list[0].candidate))
			return false;
	return true;
}

static void pair_alike(struct sorted *theirs, struct sorted *ours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		theirs[i].partner = ours[i].candidate;
		theirs[i].taken = ours[i].taken = true;
	}
}

static void keep_untaken(struct side *side, const struct sorted *list)
{
	struct candidate *kept = side->open;
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
			add_anchor(&pairing->truth, theirs[i].candidate->values);
			add_anchor(&pairing->generated, theirs[i].partner->values);
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
		    are_twins(&pairing->truth, theirs + i, their_count) &&
		    are_twins(&pairing->generated, ours + j, our_count)) {
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
static void colour_columns(const struct pairing *pairing, const struct side *side)
{
	size_t rows = side->set->rows_count;
	uint64_t *signatures = ARENA_ARRAY(pairing->arena, uint64_t, rows);
	for (size_t row = 0; row < rows; row++)
		signatures[row] = side->anchors[row];
	for (size_t i = 0; i < side->open_count; i++) {
		const struct candidate *candidate = &side->open[i];
		uint64_t colour = compare_mix(candidate->bag, candidate->colour);
		for (size_t row = 0; candidate->shared && row < rows; row++)
			signatures[row] += compare_mix(candidate->values[row], colour);
	}
	for (size_t i = 0; i < side->open_count; i++) {
		struct candidate *candidate = &side->open[i];
		candidate->colour = 0;
		for (size_t row = 0; row < rows; row++)
			candidate->colour += compare_mix(candidate->values[row], signatures[row]);
	}
	compare_spend(pairing->budget, 2 * side->open_count * rows);
}

/* Columns that both sides hold alike: nearly all of them, when results are equal. That a column alone holds
 * the same is not enough where others do not: among columns of few values, some look alike by chance. */
static void pair_equal_contents(struct pairing *pairing)
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

static size_t sketch_size(size_t open)
{
	size_t size = MERGING_BUDGET / (open * open);
	return size > SKETCH_MOST ? SKETCH_MOST : size < SKETCH_LEAST ? SKETCH_LEAST : size;
}

static void sketch_columns(struct pairing *pairing, struct side *side)
{
	for (size_t i = 0; i < side->open_count; i++) {
		struct candidate *candidate = &side->open[i];
		candidate->index = i;
		sketch_init(&candidate->plain, pairing->sketch_size, pairing->arena);
		sketch_init(&candidate->joint, pairing->sketch_size, pairing->arena);
		sketch_make(&candidate->plain, candidate->values, NULL, side->set->rows_count,
			    pairing->sketch_size, pairing->scratch);
	}
}

static void compare_values_alone(struct pairing *pairing)
{
	size_t count = pairing->columns;
	pairing->similarity = ARENA_ARRAY(pairing->arena, double, count *count);
	for (size_t i = 0; i < count * count; i++)
		pairing->similarity[i] =
			sketch_similarity(&pairing->truth.open[i / count].plain,
					  &pairing->generated.open[i % count].plain, pairing->sketch_size);
	compare_spend(pairing->budget, count * count * pairing->sketch_size);
}

static void pair_places(struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->truth.open_count; i++)
		compare_set_pair(pairing->out, pairing->generated.set, pairing->truth.set,
				 pairing->truth.open[i].column, pairing->generated.open[i].column);
}

/* What is left differs somewhere, or nothing tells it apart. */
static void pair_similar_contents(struct pairing *pairing)
{
	size_t open = pairing->truth.open_count;
	if (open == 0)
		return;
	if (open > SIMILAR_MOST) {
		pair_places(pairing);
		return;
	}
	pairing->columns = open;
	pairing->sketch_size = sketch_size(open);
	sketch_columns(pairing, &pairing->truth);
	sketch_columns(pairing, &pairing->generated);
	compare_values_alone(pairing);
	struct proposal *proposals = ARENA_ARRAY(pairing->arena, struct proposal, open * open);
	if (open > 1 && *pairing->budget > 0)
		run_signature_round(pairing, proposals);
	while (pairing->truth.open_count > 0)
		run_round(pairing, proposals);
}

static void pair_contents(struct pairing *pairing, const bool *generated_taken)
{
	size_t theirs = pairing->truth.set->rows_count, ours = pairing->generated.set->rows_count;
	pairing->scratch = ARENA_ARRAY(pairing->arena, uint64_t, ours > theirs ? ours : theirs);
	bool *truth_open = ARENA_ARRAY(pairing->arena, bool, pairing->out->count);
	bool *generated_open = ARENA_ARRAY(pairing->arena, bool, pairing->out->count);
	for (size_t i = 0; i < pairing->out->count; i++) {
		truth_open[i] = pairing->out->pairs[i].generated == COMPARE_NOT_PAIRED_YET;
		generated_open[i] = !generated_taken[i];
	}
	compare_table_read_alone(pairing->truth.table, truth_open);
	compare_table_read_alone(pairing->generated.table, generated_open);
	for (size_t i = 0; i < pairing->out->count; i++) {
		if (truth_open[i])
			open_column(&pairing->truth, i);
		if (generated_open[i])
			open_column(&pairing->generated, i);
	}
	anchor_named(pairing);
	pair_equal_contents(pairing);
	pair_similar_contents(pairing);
}

void compare_spend(size_t *budget, size_t work)
{
	*budget -= work < *budget ? work : *budget;
}

void compare_pair_columns(struct compare_table *generated, struct compare_table *truth, size_t choice,
			  size_t *budget, struct arena *arena, struct compare_pairing *ret_pairing)
{
	size_t count = compare_table_set(truth)->columns_count;
	bool *generated_taken = ARENA_ARRAY(arena, bool, count);
	*ret_pairing = (struct compare_pairing){ ARENA_ARRAY(arena, struct compare_pair, count), count, 1 };
	size_t open = compare_pair_names(compare_table_set(generated), compare_table_set(truth), ret_pairing,
					 generated_taken, arena);
	struct pairing pairing = { .out = ret_pairing, .arena = arena, .choice = choice, .budget = budget };
	if (open == 0)
		return;
	init_side(&pairing, &pairing.generated, generated, open);
	init_side(&pairing, &pairing.truth, truth, open);
	pair_contents(&pairing, generated_taken);
}
