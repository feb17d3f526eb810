#include "compare/similar.h"

#define MAX_SKETCH   256
#define SKETCH_LEAST 16

/* Sketches are merged for every pair of columns: their size follows from how many pairs there are. */
#define MERGING_BUDGET ((size_t)1 << 24)

/* More columns that differ are paired by their places: every one is compared with every other. */
#define MAX_SIMILAR 512

/* Similarity of a pair that is not to be taken. */
#define RULED_OUT (-1.0)

/* How many of the rows have to show that two columns belong together; columns of two values that do not
 * belong together reach half of what those reach that do. */
#define SURE_TOGETHER 0.3

/* More ways to decide are not told apart. */
#define MAX_CHOICES 1024

struct proposal {
	size_t truth, generated; /* indexes of open columns */
	double similarity;
	bool same_name;
	size_t distance; /* between their positions */
};

static void make_joint_sketches(struct pairing *pairing, struct pairing_side *side)
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
		const struct pairing_candidate *truth = &pairing->truth.open[i / count];
		const struct pairing_candidate *generated = &pairing->generated.open[i % count];
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
	const struct pairing_candidate *truth = &pairing->truth.open[proposal->truth];
	const struct pairing_candidate *generated = &pairing->generated.open[proposal->generated];
	compare_set_pair(pairing->out, pairing->generated.set, pairing->truth.set, truth->column,
			 generated->column);
	/* A column that holds something else on the other side would tell rows apart that belong together. */
	if (proposal->similarity >= 1) {
		compare_add_anchor(&pairing->generated, generated->values);
		compare_add_anchor(&pairing->truth, truth->values);
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
	uint64_t truth = compare_twin_mark(&pairing->truth, &pairing->truth.open[chosen->truth]);
	uint64_t generated =
		compare_twin_mark(&pairing->generated, &pairing->generated.open[chosen->generated]);
	for (size_t i = 0; i < round->count; i++) {
		const struct proposal *proposal = &round->proposals[i];
		if (is_open(round, proposal) &&
		    compare_twin_mark(&pairing->truth, &pairing->truth.open[proposal->truth]) == truth &&
		    compare_twin_mark(&pairing->generated, &pairing->generated.open[proposal->generated]) ==
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
	if (pairing->out->choices < MAX_CHOICES)
		pairing->out->choices *= rivals;
	take_proposal(pairing, round, chosen);
	take_twins(pairing, round, chosen);
}

static void close_taken(struct pairing_side *side, const unsigned char *marks)
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
static uint64_t *sign_rows(const struct pairing *pairing, const struct pairing_side *side)
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

static size_t sketch_size(size_t open)
{
	size_t size = MERGING_BUDGET / (open * open);
	return size > MAX_SKETCH ? MAX_SKETCH : size < SKETCH_LEAST ? SKETCH_LEAST : size;
}

static void sketch_columns(struct pairing *pairing, struct pairing_side *side)
{
	for (size_t i = 0; i < side->open_count; i++) {
		struct pairing_candidate *candidate = &side->open[i];
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
void compare_pair_similar_contents(struct pairing *pairing)
{
	size_t open = pairing->truth.open_count;
	if (open == 0)
		return;
	if (open > MAX_SIMILAR) {
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
