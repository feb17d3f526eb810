#include "score/compare_rows.h"

#include "common/hash.h"

#include <math.h>

/* Comparisons of one bipartite matching; beyond, it stays as far as it got (a lower bound). */
#define MATCHING_BUDGET ((size_t)1 << 25)

/* How often each column may cut a group again. */
#define CUTTING_ROUNDS 3

struct entry {
	const double *numbers;
	bool is_right;
};

/* Rows with one exact part. */
struct group {
	struct entry *entries;
	size_t count;
	size_t filled;
	size_t dimensions;
};

/* A piece of a group that is still to be cut, and the column to be tried next. */
struct piece {
	struct entry *entries;
	size_t count;
	size_t dimension;
	size_t idle;   /* columns since the last cut */
	size_t rounds; /* columns tried in all */
};

struct matcher {
	const struct compare_tolerance *tolerance;
	struct arena *arena;
	size_t dimensions;
};

struct compare_row *compare_read_rows(const struct result_set *set, const struct compare_pairing *pairing,
				      bool is_truth, struct arena *arena)
{
	_cleanup_(compare_reading_free) struct compare_reading reading = { .arena = arena };
	struct compare_row *rows = ARENA_ARRAY(arena, struct compare_row, set->rows_count);
	for (size_t row = 0; row < set->rows_count; row++) {
		const str_t *cells = set->cells + row * set->columns_count;
		compare_reading_reset(&reading);
		for (size_t i = 0; i < pairing->count; i++) {
			size_t column = is_truth ? i : pairing->pairs[i].generated;
			compare_read(&reading, pairing->pairs[i].mode, cells[column]);
		}
		double *numbers = ARENA_ARRAY(arena, double, reading.numbers_count);
		if (reading.numbers_count > 0)
			memcpy(numbers, reading.numbers, reading.numbers_count * sizeof *numbers);
		str_t exact = buf_str(&reading.exact);
		rows[row] = (struct compare_row){ arena_text(arena, exact.ptr, exact.len), numbers,
						  reading.numbers_count };
	}
	return rows;
}

bool compare_row_equal(const struct compare_row *a, const struct compare_row *b,
		       const struct compare_tolerance *tolerance)
{
	if (!str_equal(a->exact, b->exact))
		return false;
	for (size_t i = 0; i < a->numbers_count; i++)
		if (!compare_close(a->numbers[i], b->numbers[i], tolerance))
			return false;
	return true;
}

static int by_dimension(const void *a, const void *b, void *context)
{
	const struct entry *left = a, *right = b;
	size_t dimension = *(const size_t *)context;
	double x = left->numbers[dimension], y = right->numbers[dimension];
	return (x > y) - (x < y);
}

static void sort_entries(struct entry *entries, size_t count, size_t dimension)
{
	qsort_r(entries, count, sizeof *entries, by_dimension, &dimension);
}

static bool entries_close(const struct matcher *matcher, const struct entry *a, const struct entry *b)
{
	for (size_t i = 0; i < matcher->dimensions; i++)
		if (!compare_close(a->numbers[i], b->numbers[i], matcher->tolerance))
			return false;
	return true;
}

static size_t count_right(const struct entry *entries, size_t count)
{
	size_t right = 0;
	for (size_t i = 0; i < count; i++)
		right += entries[i].is_right;
	return right;
}

/* The column in which the entries lie farthest apart, measured in tolerances; `ret_loose` counts the columns
 * in which not all are close. */
static size_t widest_dimension(const struct matcher *matcher, const struct entry *entries, size_t count,
			       size_t *ret_loose)
{
	size_t widest = 0, loose = 0;
	double widest_spread = -1;
	for (size_t dimension = 0; dimension < matcher->dimensions; dimension++) {
		double least = INFINITY, most = -INFINITY;
		for (size_t i = 0; i < count; i++) {
			least = fmin(least, entries[i].numbers[dimension]);
			most = fmax(most, entries[i].numbers[dimension]);
		}
		loose += !compare_close(least, most, matcher->tolerance);
		double width = fmax(matcher->tolerance->absolute,
				    matcher->tolerance->relative * fmax(fabs(least), fabs(most)));
		double spread = (most - least) / fmax(width, 1e-300);
		if (spread > widest_spread) {
			widest_spread = spread;
			widest = dimension;
		}
	}
	*ret_loose = loose;
	return widest;
}

/* Left and right entries of a piece, each sorted by `dimension`, and who is matched with whom. */
struct bipartite {
	const struct matcher *matcher;
	struct entry *left, *right;
	size_t left_count, right_count;
	size_t dimension;
	size_t *right_partner; /* left index + 1, or 0 */
	size_t *reached_by;    /* of a right entry in this search: left index + 1, or 0 */
	size_t *window;	       /* of a left entry: the first right entry that is not too small */
	size_t *queue;	       /* left entries of this search */
	size_t *left_partner;  /* right index + 1, or 0 */
	size_t budget;
};

/* From a right entry without partner back to the start of the search, swapping partners. */
static void augment(struct bipartite *graph, size_t right)
{
	while (true) {
		size_t left = graph->reached_by[right] - 1;
		size_t previous = graph->left_partner[left];
		graph->right_partner[right] = left + 1;
		graph->left_partner[left] = right + 1;
		if (previous == 0)
			return;
		right = previous - 1;
	}
}

/* Visits the right entries close to `left`. Returns true when one had no partner and was taken. */
static bool search_from(struct bipartite *graph, size_t left, size_t *queued)
{
	const struct entry *entry = &graph->left[left];
	double number = entry->numbers[graph->dimension];
	for (size_t i = graph->window[left]; i < graph->right_count && graph->budget > 0; i++) {
		double other = graph->right[i].numbers[graph->dimension];
		graph->budget--;
		if (other > number && !compare_close(number, other, graph->matcher->tolerance))
			break;
		if (graph->reached_by[i] || !entries_close(graph->matcher, entry, &graph->right[i]))
			continue;
		graph->reached_by[i] = left + 1;
		if (graph->right_partner[i] == 0) {
			augment(graph, i);
			return true;
		}
		graph->queue[(*queued)++] = graph->right_partner[i] - 1;
	}
	return false;
}

static bool find_partner(struct bipartite *graph, size_t start)
{
	size_t queued = 0;
	memset(graph->reached_by, 0, graph->right_count * sizeof *graph->reached_by);
	graph->queue[queued++] = start;
	for (size_t i = 0; i < queued; i++)
		if (search_from(graph, graph->queue[i], &queued))
			return true;
	return false;
}

static void find_windows(struct bipartite *graph)
{
	size_t first = 0;
	for (size_t i = 0; i < graph->left_count; i++) {
		double number = graph->left[i].numbers[graph->dimension];
		while (first < graph->right_count) {
			double other = graph->right[first].numbers[graph->dimension];
			if (other >= number || compare_close(number, other, graph->matcher->tolerance))
				break;
			first++;
		}
		graph->window[i] = first;
	}
}

/* A maximum matching by shortest augmenting paths, one start after the other. */
static size_t match_general(const struct matcher *matcher, const struct entry *entries, size_t count,
			    size_t dimension)
{
	size_t right_count = count_right(entries, count), left_count = count - right_count;
	struct bipartite graph = {
		.matcher = matcher,
		.left = ARENA_ARRAY(matcher->arena, struct entry, left_count),
		.right = ARENA_ARRAY(matcher->arena, struct entry, right_count),
		.dimension = dimension,
		.right_partner = ARENA_ARRAY(matcher->arena, size_t, right_count),
		.reached_by = ARENA_ARRAY(matcher->arena, size_t, right_count),
		.window = ARENA_ARRAY(matcher->arena, size_t, left_count),
		.queue = ARENA_ARRAY(matcher->arena, size_t, right_count + 1),
		.left_partner = ARENA_ARRAY(matcher->arena, size_t, left_count),
		.budget = MATCHING_BUDGET,
	};
	for (size_t i = 0; i < count; i++) {
		if (entries[i].is_right)
			graph.right[graph.right_count++] = entries[i];
		else
			graph.left[graph.left_count++] = entries[i];
	}
	sort_entries(graph.left, left_count, dimension);
	sort_entries(graph.right, right_count, dimension);
	find_windows(&graph);
	size_t matched = 0;
	for (size_t i = 0; i < left_count && matched < right_count && graph.budget > 0; i++)
		matched += find_partner(&graph, i);
	return matched;
}

/* Where only one column separates the entries, taking the smallest that fit is a maximum matching. */
static size_t match_line(const struct matcher *matcher, struct entry *entries, size_t count, size_t dimension)
{
	size_t left = 0, right = 0, matched = 0;
	sort_entries(entries, count, dimension);
	while (true) {
		while (left < count && entries[left].is_right)
			left++;
		while (right < count && !entries[right].is_right)
			right++;
		if (left >= count || right >= count)
			return matched;
		double x = entries[left].numbers[dimension], y = entries[right].numbers[dimension];
		if (compare_close(x, y, matcher->tolerance)) {
			matched++;
			left++;
			right++;
		} else if (x < y) {
			left++;
		} else {
			right++;
		}
	}
}

/* A piece that no column cuts any more. */
static size_t match_piece(const struct matcher *matcher, const struct piece *piece)
{
	size_t right = count_right(piece->entries, piece->count), left = piece->count - right;
	if (left == 0 || right == 0)
		return 0;
	size_t loose;
	size_t widest = widest_dimension(matcher, piece->entries, piece->count, &loose);
	if (loose == 0)
		return left < right ? left : right;
	if (loose == 1)
		return match_line(matcher, piece->entries, piece->count, widest);
	return match_general(matcher, piece->entries, piece->count, widest);
}

/* The pieces still to be treated, as a stack. */
struct pieces {
	struct piece *items;
	size_t count;
	size_t capacity;
};

/* Sorts the piece by its next column and pushes the parts between the gaps. */
static void cut_piece(const struct matcher *matcher, struct piece piece, struct pieces *pieces)
{
	size_t dimension = piece.dimension;
	size_t start = 0;
	sort_entries(piece.entries, piece.count, dimension);
	for (size_t end = 1; end <= piece.count; end++) {
		if (end < piece.count &&
		    compare_close(piece.entries[end - 1].numbers[dimension],
				  piece.entries[end].numbers[dimension], matcher->tolerance))
			continue;
		struct piece part = { piece.entries + start, end - start,
				      (dimension + 1) % matcher->dimensions,
				      end - start == piece.count ? piece.idle + 1 : 1, piece.rounds + 1 };
		start = end;
		ARENA_PUSH(matcher->arena, pieces->items, pieces->count, pieces->capacity, part);
	}
}

static size_t match_group(const struct matcher *matcher, struct group *group)
{
	size_t right = count_right(group->entries, group->count), left = group->count - right;
	if (left == 0 || right == 0)
		return 0;
	if (matcher->dimensions == 0)
		return left < right ? left : right;
	struct pieces pieces = { 0 };
	size_t matched = 0;
	struct piece whole = { .entries = group->entries, .count = group->count };
	ARENA_PUSH(matcher->arena, pieces.items, pieces.count, pieces.capacity, whole);
	while (pieces.count > 0) {
		struct piece piece = pieces.items[--pieces.count];
		if (piece.count == 1)
			continue;
		if (piece.idle < matcher->dimensions && piece.rounds < CUTTING_ROUNDS * matcher->dimensions)
			cut_piece(matcher, piece, &pieces);
		else
			matched += match_piece(matcher, &piece);
	}
	return matched;
}

/* Counts the rows of each exact part, in groups in the order of their first rows. */
static void count_groups(struct hash_map *map, struct group **groups, size_t *used, size_t *capacity,
			 const struct compare_row *rows, size_t count, size_t *group_of)
{
	for (size_t i = 0; i < count; i++) {
		size_t index = (size_t)(uintptr_t)hash_map_get(map, rows[i].exact);
		if (index == 0) {
			struct group group = { .dimensions = rows[i].numbers_count };
			ARENA_PUSH(map->arena, *groups, *used, *capacity, group);
			index = *used;
			hash_map_set(map, rows[i].exact, (void *)(uintptr_t)index);
		}
		(*groups)[index - 1].count++;
		group_of[i] = index - 1;
	}
}

static void fill_groups(struct group *groups, const struct compare_row *rows, size_t count,
			const size_t *group_of, bool is_right)
{
	for (size_t i = 0; i < count; i++) {
		struct group *group = &groups[group_of[i]];
		group->entries[group->filled++] = (struct entry){ rows[i].numbers, is_right };
	}
}

size_t compare_match_bags(const struct compare_row *left, size_t left_count, const struct compare_row *right,
			  size_t right_count, const struct compare_tolerance *tolerance, struct arena *arena)
{
	if (left_count == 1 && right_count == 1)
		return compare_row_equal(left, right, tolerance);
	struct hash_map map;
	struct group *groups = NULL;
	size_t used = 0, capacity = 0;
	size_t *left_groups = ARENA_ARRAY(arena, size_t, left_count);
	size_t *right_groups = ARENA_ARRAY(arena, size_t, right_count);
	hash_map_init(&map, arena, left_count);
	count_groups(&map, &groups, &used, &capacity, left, left_count, left_groups);
	count_groups(&map, &groups, &used, &capacity, right, right_count, right_groups);
	for (size_t i = 0; i < used; i++)
		groups[i].entries = ARENA_ARRAY(arena, struct entry, groups[i].count);
	fill_groups(groups, left, left_count, left_groups, false);
	fill_groups(groups, right, right_count, right_groups, true);
	size_t matched = 0;
	for (size_t i = 0; i < used; i++) {
		struct matcher matcher = { tolerance, arena, groups[i].dimensions };
		matched += match_group(&matcher, &groups[i]);
	}
	return matched;
}
