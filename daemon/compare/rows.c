#include "compare/rows.h"

#include <math.h>

/* Marks of a search that are cleared in the time of looking at one pair. */
#define CLEARED_AT_ONCE 32

/* How often each column may cut a group again. */
#define CUTTING_ROUNDS 3

struct rows_entry {
	const double *numbers;
	bool is_right;
};

/* Rows with one exact part. */
struct rows_group {
	uint64_t exact;
	struct rows_entry *entries;
	uint32_t left_count, right_count;
	uint32_t filled;
	uint32_t dimensions;
};

/* Groups by their exact parts; open addressing, never more than half full. */
struct rows_grouping {
	struct rows_group *groups;
	size_t count;
	uint32_t *slots; /* index + 1 */
	size_t mask;
};

/* A piece of a group that is still to be cut, and the column to be tried next. */
struct rows_piece {
	struct rows_entry *entries;
	size_t count;
	size_t dimension;
	size_t idle;   /* columns since the last cut */
	size_t rounds; /* columns tried in all */
};

struct keyed;

struct matcher {
	const struct compare_tolerance *tolerance;
	struct arena *arena;
	size_t dimensions;
	size_t *budget;
	struct keyed *sorting; /* room for twice as many entries as are ever sorted at once */
};

/* Room for the numbers of a column; not all of its values need be numbers. */
static size_t numbers_most(const struct compare_values *values, size_t count)
{
	size_t most = values->numbers ? count : 0;
	for (size_t row = 0; values->lists && row < count; row++)
		most += values->lists[row].count;
	return most;
}

/* Adds a column's value to its row, whose numbers grow at their end. */
static inline void add_value(const struct compare_values *values, size_t at, struct compare_row *row,
			     double *numbers)
{
	row->exact = compare_mix(row->exact, values->exact[at]);
	if (values->numbers && compare_is_number(values->exact[at]))
		numbers[row->numbers_count++] = values->numbers[at];
	for (size_t i = 0; values->lists && i < values->lists[at].count; i++)
		numbers[row->numbers_count++] = values->lists[at].items[i];
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void read_all(struct compare_table *table, const struct compare_pairing *pairing, bool is_truth,
		     struct arena *arena)
{
	enum compare_mode *modes = ARENA_ARRAY(arena, enum compare_mode, pairing->count);
	for (size_t i = 0; i < pairing->count; i++)
		modes[is_truth ? i : pairing->pairs[i].generated] = pairing->pairs[i].mode;
	compare_table_read(table, modes);
}

static struct compare_row *join_values(const struct compare_values *const *values, size_t values_count,
				       size_t count, struct arena *arena)
{
	size_t most = 0;
	struct compare_row *rows = ARENA_ARRAY(arena, struct compare_row, count);
	for (size_t i = 0; i < values_count; i++)
		most += numbers_most(values[i], count);
	double *numbers = ARENA_ARRAY(arena, double, most);
	for (size_t at = 0; at < count; at++) {
		struct compare_row row = { .numbers = numbers };
		for (size_t i = 0; i < values_count; i++)
			add_value(values[i], at, &row, numbers);
		numbers += row.numbers_count;
		rows[at] = row;
	}
	return rows;
}

struct compare_row *compare_read_part(struct compare_table *table, const size_t *columns, size_t count,
				      const struct compare_pair *pairs, bool is_truth, struct arena *arena)
{
	const struct compare_values **values = ARENA_ARRAY(arena, const struct compare_values *, count);
	for (size_t i = 0; i < count; i++) {
		const struct compare_pair *pair = &pairs[columns[i]];
		values[i] = compare_table_values(table, is_truth ? columns[i] : pair->generated, pair->mode);
	}
	return join_values(values, count, compare_table_set(table)->rows_count, arena);
}

struct compare_row *compare_read_rows(struct compare_table *table, const struct compare_pairing *pairing,
				      bool is_truth, struct arena *arena)
{
	size_t *columns = ARENA_ARRAY(arena, size_t, pairing->count);
	for (size_t i = 0; i < pairing->count; i++)
		columns[i] = i;
	read_all(table, pairing, is_truth, arena);
	return compare_read_part(table, columns, pairing->count, pairing->pairs, is_truth, arena);
}

bool compare_row_equal(const struct compare_row *a, const struct compare_row *b,
		       const struct compare_tolerance *tolerance)
{
	if (a->exact != b->exact || a->numbers_count != b->numbers_count)
		return false;
	for (size_t i = 0; i < a->numbers_count; i++)
		if (!compare_close(a->numbers[i], b->numbers[i], tolerance))
			return false;
	return true;
}

#define SHORT_SORT 24

/* A number as an integer that sorts alike. */
static uint64_t sort_key(double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return bits & UINT64_C(1) << 63 ? ~bits : bits | UINT64_C(1) << 63;
}

struct keyed {
	uint64_t key;
	struct rows_entry entry;
};

static void sort_short(struct keyed *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct keyed item = items[i];
		size_t at = i;
		for (; at > 0 && items[at - 1].key > item.key; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* By one byte of the key after the other; bytes that all keys share are passed over. */
static struct keyed *sort_long(struct keyed *items, struct keyed *other, size_t count)
{
	for (int shift = 0; shift < 64; shift += 8) {
		size_t starts[257] = { 0 };
		for (size_t i = 0; i < count; i++)
			starts[(items[i].key >> shift & 255) + 1]++;
		if (starts[(items[0].key >> shift & 255) + 1] == count)
			continue;
		for (size_t i = 1; i < 257; i++)
			starts[i] += starts[i - 1];
		for (size_t i = 0; i < count; i++)
			other[starts[items[i].key >> shift & 255]++] = items[i];
		struct keyed *swap = items;
		items = other;
		other = swap;
	}
	return items;
}

static void sort_entries(const struct matcher *matcher, struct rows_entry *entries, size_t count,
			 size_t dimension)
{
	struct keyed *items = matcher->sorting;
	for (size_t i = 0; i < count; i++)
		items[i] = (struct keyed){ sort_key(entries[i].numbers[dimension]), entries[i] };
	if (count <= SHORT_SORT)
		sort_short(items, count);
	else
		items = sort_long(items, items + count, count);
	for (size_t i = 0; i < count; i++)
		entries[i] = items[i].entry;
}

static bool entries_close(const struct matcher *matcher, const struct rows_entry *a,
			  const struct rows_entry *b)
{
	for (size_t i = 0; i < matcher->dimensions; i++)
		if (!compare_close(a->numbers[i], b->numbers[i], matcher->tolerance))
			return false;
	return true;
}

static size_t count_right(const struct rows_entry *entries, size_t count)
{
	size_t right = 0;
	for (size_t i = 0; i < count; i++)
		right += entries[i].is_right;
	return right;
}

/* The column in which the entries lie farthest apart, measured in tolerances; `ret_loose` counts the columns
 * in which not all are close. */
static size_t widest_dimension(const struct matcher *matcher, const struct rows_entry *entries, size_t count,
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
		double width = compare_width(fmax(fabs(least), fabs(most)), matcher->tolerance);
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
	struct rows_entry *left, *right;
	size_t left_count, right_count;
	size_t dimension;
	size_t *right_partner; /* left index + 1, or 0 */
	size_t *reached_by;    /* of a right entry in this search: left index + 1, or 0 */
	size_t *window;	       /* of a left entry: the first right entry that is not too small */
	size_t *queue;	       /* left entries of this search */
	size_t *left_partner;  /* right index + 1, or 0 */
	size_t *budget;	       /* the matcher's */
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
	const struct rows_entry *entry = &graph->left[left];
	double number = entry->numbers[graph->dimension];
	for (size_t i = graph->window[left]; i<graph->right_count && * graph->budget> 0; i++) {
		double other = graph->right[i].numbers[graph->dimension];
		--*graph->budget;
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
	size_t queued = 0, clearing = graph->right_count / CLEARED_AT_ONCE;
	*graph->budget -= smaller(clearing, *graph->budget);
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

/* Most rows that are close were computed in two ways from the same: they stand at the same place. */
static size_t match_places(struct bipartite *graph)
{
	size_t matched = 0;
	for (size_t i = 0; i < smaller(graph->left_count, graph->right_count); i++) {
		if (!entries_close(graph->matcher, &graph->left[i], &graph->right[i]))
			continue;
		graph->left_partner[i] = graph->right_partner[i] = i + 1;
		matched++;
	}
	return matched;
}

/* A maximum matching by shortest augmenting paths, one start after the other. */
static size_t match_general(const struct matcher *matcher, const struct rows_entry *entries, size_t count,
			    size_t dimension)
{
	size_t right_count = count_right(entries, count), left_count = count - right_count;
	struct bipartite graph = {
		.matcher = matcher,
		.left = ARENA_ARRAY(matcher->arena, struct rows_entry, left_count),
		.right = ARENA_ARRAY(matcher->arena, struct rows_entry, right_count),
		.dimension = dimension,
		.right_partner = ARENA_ARRAY(matcher->arena, size_t, right_count),
		.reached_by = ARENA_ARRAY(matcher->arena, size_t, right_count),
		.window = ARENA_ARRAY(matcher->arena, size_t, left_count),
		.queue = ARENA_ARRAY(matcher->arena, size_t, right_count + 1),
		.left_partner = ARENA_ARRAY(matcher->arena, size_t, left_count),
		.budget = matcher->budget,
	};
	for (size_t i = 0; i < count; i++) {
		if (entries[i].is_right)
			graph.right[graph.right_count++] = entries[i];
		else
			graph.left[graph.left_count++] = entries[i];
	}
	sort_entries(matcher, graph.left, left_count, dimension);
	sort_entries(matcher, graph.right, right_count, dimension);
	find_windows(&graph);
	size_t matched = match_places(&graph);
	for (size_t i = 0; i < left_count && matched<right_count && * graph.budget> 0; i++)
		if (graph.left_partner[i] == 0)
			matched += find_partner(&graph, i);
	return matched;
}

/* Where only one column separates the entries, taking the smallest that fit is a maximum matching. */
static size_t match_line(const struct matcher *matcher, struct rows_entry *entries, size_t count,
			 size_t dimension)
{
	size_t left = 0, right = 0, matched = 0;
	sort_entries(matcher, entries, count, dimension);
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
static size_t match_piece(const struct matcher *matcher, const struct rows_piece *piece)
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
	struct rows_piece *items;
	size_t count;
	size_t capacity;
};

/* Sorts the piece by its next column and pushes the parts between the gaps. */
static void cut_piece(const struct matcher *matcher, struct rows_piece piece, struct pieces *pieces)
{
	size_t dimension = piece.dimension;
	size_t start = 0;
	sort_entries(matcher, piece.entries, piece.count, dimension);
	for (size_t end = 1; end <= piece.count; end++) {
		if (end < piece.count &&
		    compare_close(piece.entries[end - 1].numbers[dimension],
				  piece.entries[end].numbers[dimension], matcher->tolerance))
			continue;
		struct rows_piece part = { piece.entries + start, end - start,
					   (dimension + 1) % matcher->dimensions,
					   end - start == piece.count ? piece.idle + 1 : 1,
					   piece.rounds + 1 };
		start = end;
		ARENA_PUSH(matcher->arena, pieces->items, pieces->count, pieces->capacity, part);
	}
}

static bool numbers_same(const double *a, const double *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i] < b[i] || a[i] > b[i])
			return false;
	return true;
}

static uint64_t hash_numbers(const double *numbers, size_t count)
{
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++)
		hash = compare_mix(hash, sort_key(numbers[i] + 0.0)); /* -0 becomes 0 */
	return hash;
}

/* Equal rows of the larger side that have no partner yet. */
struct twins {
	const double *numbers;
	size_t free;
};

struct twin_table {
	struct twins *slots;
	size_t mask;
	size_t dimensions;
};

static struct twins *find_twins(const struct twin_table *table, const double *numbers)
{
	size_t at = hash_numbers(numbers, table->dimensions) & table->mask;
	while (table->slots[at].numbers &&
	       !numbers_same(table->slots[at].numbers, numbers, table->dimensions))
		at = (at + 1) & table->mask;
	return &table->slots[at];
}

/* Whether each row of the smaller side has a partner with the very same numbers: then there is no better
 * matching, and rows need not be sorted. Left entries come before right ones. */
static bool all_have_twins(const struct matcher *matcher, const struct rows_group *group)
{
	bool left_larger = group->left_count >= group->right_count;
	const struct rows_entry *left = group->entries, *right = group->entries + group->left_count;
	const struct rows_entry *larger = left_larger ? left : right, *smaller = left_larger ? right : left;
	size_t most = left_larger ? group->left_count : group->right_count;
	size_t least = left_larger ? group->right_count : group->left_count;
	size_t capacity = 16;
	while (capacity < 2 * most)
		capacity *= 2;
	struct twin_table table = { ARENA_ARRAY(matcher->arena, struct twins, capacity), capacity - 1,
				    matcher->dimensions };
	for (size_t i = 0; i < most; i++) {
		struct twins *twins = find_twins(&table, larger[i].numbers);
		twins->numbers = larger[i].numbers;
		twins->free++;
	}
	for (size_t i = 0; i < least; i++) {
		struct twins *twins = find_twins(&table, smaller[i].numbers);
		if (twins->free == 0)
			return false;
		twins->free--;
	}
	return true;
}

/* Two entries, one of either side. */
static bool are_partners(const struct matcher *matcher, const struct rows_entry *entries)
{
	return entries[0].is_right != entries[1].is_right && entries_close(matcher, &entries[0], &entries[1]);
}

static size_t match_pieces(const struct matcher *matcher, const struct rows_group *group)
{
	struct pieces pieces = { 0 };
	size_t matched = 0;
	struct rows_piece whole = { .entries = group->entries,
				    .count = group->left_count + group->right_count };
	ARENA_PUSH(matcher->arena, pieces.items, pieces.count, pieces.capacity, whole);
	while (pieces.count > 0) {
		struct rows_piece piece = pieces.items[--pieces.count];
		if (piece.count <= 2) {
			matched += piece.count == 2 && are_partners(matcher, piece.entries);
			continue;
		}
		if (piece.idle < matcher->dimensions && piece.rounds < CUTTING_ROUNDS * matcher->dimensions)
			cut_piece(matcher, piece, &pieces);
		else
			matched += match_piece(matcher, &piece);
	}
	return matched;
}

static size_t match_group(const struct matcher *matcher, const struct rows_group *group)
{
	size_t least = smaller(group->left_count, group->right_count);
	if (least == 0 || matcher->dimensions == 0)
		return least;
	if (group->left_count == 1 && group->right_count == 1)
		return are_partners(matcher, group->entries);
	if (all_have_twins(matcher, group))
		return least;
	return match_pieces(matcher, group);
}

static struct rows_grouping make_grouping(size_t rows, struct arena *arena)
{
	size_t capacity = 16;
	while (capacity < 2 * rows)
		capacity *= 2;
	return (struct rows_grouping){
		.groups = ARENA_ARRAY(arena, struct rows_group, rows),
		.slots = ARENA_ARRAY(arena, uint32_t, capacity),
		.mask = capacity - 1,
	};
}

static size_t group_of(struct rows_grouping *grouping, const struct compare_row *row)
{
	size_t at = row->exact & grouping->mask;
	for (; grouping->slots[at]; at = (at + 1) & grouping->mask)
		if (grouping->groups[grouping->slots[at] - 1].exact == row->exact)
			return grouping->slots[at] - 1;
	grouping->groups[grouping->count] =
		(struct rows_group){ .exact = row->exact, .dimensions = (uint32_t)row->numbers_count };
	grouping->slots[at] = (uint32_t)++grouping->count;
	return grouping->count - 1;
}

/* Counts the rows of each group, in groups in the order of their first rows. */
static uint32_t *count_rows(struct rows_grouping *grouping, const struct compare_row *rows, size_t count,
			    bool is_right, struct arena *arena)
{
	uint32_t *indexes = ARENA_ARRAY(arena, uint32_t, count);
	for (size_t i = 0; i < count; i++) {
		size_t index = group_of(grouping, &rows[i]);
		grouping->groups[index].left_count += (uint32_t)!is_right;
		grouping->groups[index].right_count += (uint32_t)is_right;
		indexes[i] = (uint32_t)index;
	}
	return indexes;
}

/* Hands out the entries; returns how many the largest group has. */
static size_t place_groups(struct rows_grouping *grouping, struct rows_entry *entries)
{
	size_t largest = 0;
	for (size_t i = 0; i < grouping->count; i++) {
		struct rows_group *group = &grouping->groups[i];
		size_t count = group->left_count + group->right_count;
		group->entries = entries;
		entries += count;
		largest = count > largest ? count : largest;
	}
	return largest;
}

static void fill_groups(struct rows_grouping *grouping, const struct compare_row *rows, size_t count,
			const uint32_t *indexes, bool is_right)
{
	for (size_t i = 0; i < count; i++) {
		struct rows_group *group = &grouping->groups[indexes[i]];
		group->entries[group->filled++] = (struct rows_entry){ rows[i].numbers, is_right };
	}
}

size_t compare_match_bags(const struct compare_row *left, size_t left_count, const struct compare_row *right,
			  size_t right_count, const struct compare_tolerance *tolerance, size_t *budget,
			  struct arena *arena)
{
	if (left_count == 1 && right_count == 1)
		return compare_row_equal(left, right, tolerance);
	size_t rows = left_count + right_count, matched = 0;
	struct rows_grouping grouping = make_grouping(rows, arena);
	const uint32_t *left_groups = count_rows(&grouping, left, left_count, false, arena);
	const uint32_t *right_groups = count_rows(&grouping, right, right_count, true, arena);
	size_t largest = place_groups(&grouping, ARENA_ARRAY(arena, struct rows_entry, rows));
	fill_groups(&grouping, left, left_count, left_groups, false);
	fill_groups(&grouping, right, right_count, right_groups, true);
	struct matcher matcher = { tolerance, arena, 0, budget,
				   ARENA_ARRAY(arena, struct keyed, 2 * largest) };
	for (size_t i = 0; i < grouping.count; i++) {
		matcher.dimensions = grouping.groups[i].dimensions;
		matched += match_group(&matcher, &grouping.groups[i]);
	}
	return matched;
}
