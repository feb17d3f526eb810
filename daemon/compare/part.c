#include "compare/part.h"

#include "compare/value.h"

/* Cells looked at in search of columns that have no names in common; beyond, columns are taken in their
 * order.
 */
#define CHOOSING_BUDGET ((size_t)1 << 24)

/* Answers whose columns nothing tells apart are tried in this many ways at most. */
#define MAX_CHOICES 16

/* Rates this near to each other are the same. */
#define SAME_RATE 1e-9

static bool same_name(str_t a, str_t b)
{
	a = compare_trim(a);
	b = compare_trim(b);
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

static size_t find_column(const struct result_set *set, str_t name, size_t from)
{
	while (from < set->columns_count && !same_name(set->columns[from].name, name))
		from++;
	return from;
}

bool compare_part_find(const struct result_set *truth, const str_t *names, size_t names_count,
		       struct arena *arena, struct compare_part *ret_part, str_t *ret_missing)
{
	size_t *columns = ARENA_ARRAY(arena, size_t, names_count), count = 0;
	bool *taken = ARENA_ARRAY(arena, bool, truth->columns_count);
	for (size_t i = 0; i < names_count; i++) {
		size_t column = find_column(truth, names[i], 0);
		if (column == truth->columns_count) {
			*ret_missing = names[i];
			return false;
		}
		if (!taken[column])
			columns[count++] = column;
		taken[column] = true;
	}
	*ret_part = names_count > 0 ? (struct compare_part){ columns, count } : (struct compare_part){ 0 };
	return true;
}

struct result_set compare_part_of(const struct result_set *set, const size_t *columns, size_t count,
				  struct arena *arena)
{
	struct result_column *names = ARENA_ARRAY(arena, struct result_column, count);
	str_t *cells = ARENA_ARRAY(arena, str_t, set->rows_count * count);
	for (size_t i = 0; i < count; i++)
		names[i] = set->columns[columns[i]];
	for (size_t row = 0; row < set->rows_count; row++)
		for (size_t i = 0; i < count; i++)
			cells[row * count + i] = set->cells[row * set->columns_count + columns[i]];
	return (struct result_set){ names, count, cells, set->rows_count, set->truncated };
}

/* The choice of columns of an answer, while it is made. */
struct choice {
	const struct result_set *generated, *truth; /* what is asked for of it */
	const struct compare_options *options;
	struct arena *arena;
	size_t *chosen; /* by column of the truth */
	bool *taken;	/* columns of the answer */
	size_t budget;
	size_t ways; /* in which the columns that nothing tells apart can be chosen */
	size_t way;  /* that is to be taken */
};

static void choose(struct choice *choice, size_t truth, size_t generated)
{
	choice->chosen[truth] = generated;
	choice->taken[generated] = true;
}

/* Chooses the columns whose names stand once on either side; SIZE_MAX for the others. */
static void choose_names(struct choice *choice)
{
	const struct result_set *generated = choice->generated, *truth = choice->truth;
	memset(choice->taken, 0, generated->columns_count * sizeof *choice->taken);
	for (size_t i = 0; i < truth->columns_count; i++) {
		str_t name = truth->columns[i].name;
		size_t column = find_column(generated, name, 0);
		bool once = find_column(truth, name, 0) == i &&
			    find_column(truth, name, i + 1) == truth->columns_count &&
			    column < generated->columns_count &&
			    find_column(generated, name, column + 1) == generated->columns_count;
		choice->chosen[i] = SIZE_MAX;
		if (once)
			choose(choice, i, column);
	}
}

/* How much of a column of the truth a column of the answer holds, 0..1. */
static double likeness(struct choice *choice, size_t truth, size_t generated)
{
	struct compare_options options = { .absolute_tolerance = choice->options->absolute_tolerance,
					   .relative_tolerance = choice->options->relative_tolerance };
	size_t rows = choice->generated->rows_count + choice->truth->rows_count + 1;
	if (choice->budget < rows)
		return 0;
	choice->budget -= rows;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct result_set ours = compare_part_of(choice->generated, &generated, 1, arena);
	struct result_set theirs = compare_part_of(choice->truth, &truth, 1, arena);
	struct compare_verdict verdict;
	compare_results(&ours, &theirs, &options, arena, &verdict);
	return verdict.content_match_rate;
}

/* Chooses the column that holds most of this one; of several that hold as much, the one of this way. */
static void choose_content(struct choice *choice, size_t truth)
{
	size_t count = choice->generated->columns_count, rivals = 0;
	size_t *best = ARENA_ARRAY(choice->arena, size_t, count);
	double best_rate = -1;
	for (size_t i = 0; i < count; i++) {
		if (choice->taken[i])
			continue;
		double rate = likeness(choice, truth, i);
		if (rate > best_rate + SAME_RATE) {
			best_rate = rate;
			rivals = 0;
		}
		if (rate >= best_rate - SAME_RATE)
			best[rivals++] = i;
	}
	choose(choice, truth, best[choice->way % rivals]);
	choice->way /= rivals;
	if (choice->ways < MAX_CHOICES)
		choice->ways *= rivals;
}

static void choose_columns(struct choice *choice, size_t way)
{
	choice->ways = 1;
	choice->way = way;
	choose_names(choice);
	for (size_t i = 0; i < choice->truth->columns_count; i++)
		if (choice->chosen[i] == SIZE_MAX)
			choose_content(choice, i);
}

/* Columns of the whole as those of the part, and behind them all that the whole had: keys are found there. */
static struct result_set keyed_part(const struct result_set *keyed, const struct compare_part *part,
				    struct arena *arena)
{
	size_t *columns = ARENA_ARRAY(arena, size_t, part->count + keyed->columns_count);
	memcpy(columns, part->columns, part->count * sizeof *columns);
	for (size_t i = 0; i < keyed->columns_count; i++)
		columns[part->count + i] = i;
	return compare_part_of(keyed, columns, part->count + keyed->columns_count, arena);
}

static size_t index_in(const struct compare_part *part, size_t column)
{
	size_t index = 0;
	while (index < part->count && part->columns[index] != column)
		index++;
	return index;
}

/* Sort keys as columns of the part. Without a whole the first that is none of them ends the list. */
static void shift_keys(const struct compare_part *part, struct compare_options *options, struct arena *arena)
{
	struct compare_order_key *keys =
		ARENA_ARRAY(arena, struct compare_order_key, options->order_keys_count);
	size_t count = 0;
	for (; count < options->order_keys_count; count++) {
		size_t column = options->order_keys[count].column;
		keys[count].column = options->whole ? part->count + column : index_in(part, column);
		if (!options->whole && keys[count].column == part->count)
			break;
	}
	options->all_keys_visible = options->all_keys_visible && count == options->order_keys_count;
	options->order_keys = keys;
	options->order_keys_count = count;
}

/* The best of the ways to choose columns that have equal right. */
static void compare_best(struct choice *choice, struct compare_verdict *ret_verdict,
			 struct compare_shown *ret_shown)
{
	*ret_verdict = (struct compare_verdict){ .score = -1 };
	for (size_t way = 0; way == 0 || (way < choice->ways && way < MAX_CHOICES); way++) {
		struct compare_verdict verdict;
		choose_columns(choice, way);
		struct compare_shown sets = { compare_part_of(choice->generated, choice->chosen,
							      choice->truth->columns_count, choice->arena),
					      *choice->truth,
					      { 0 } };
		compare_results_paired(&sets.generated, &sets.truth, choice->options, choice->arena, &verdict,
				       &sets.pairing);
		if (verdict.score <= ret_verdict->score)
			continue;
		*ret_verdict = verdict;
		*ret_shown = sets;
		if (verdict.content_match_rate >= 1)
			return;
	}
}

void compare_part_results(const struct result_set *generated, const struct result_set *truth,
			  const struct compare_part *part, const struct compare_options *options,
			  struct arena *arena, struct compare_verdict *ret_verdict,
			  struct compare_shown *ret_shown)
{
	struct compare_shown unwanted, *shown = ret_shown ? ret_shown : &unwanted;
	*shown = (struct compare_shown){ *generated, *truth, { 0 } };
	if (!part->columns) {
		compare_results_paired(generated, truth, options, arena, ret_verdict, &shown->pairing);
		return;
	}
	struct result_set asked = compare_part_of(truth, part->columns, part->count, arena);
	struct compare_options shifted = *options;
	struct compare_whole whole;
	struct result_set rows, keyed;
	shown->truth = asked;
	shift_keys(part, &shifted, arena);
	if (options->whole) {
		rows = compare_part_of(options->whole->rows, part->columns, part->count, arena);
		keyed = keyed_part(options->whole->keyed, part, arena);
		whole = (struct compare_whole){ &rows, &keyed, options->whole->first };
		shifted.whole = &whole;
	}
	if (generated->columns_count < asked.columns_count) {
		compare_results(generated, &asked, &shifted, arena, ret_verdict);
		return;
	}
	struct choice choice = {
		.generated = generated,
		.truth = &asked,
		.options = &shifted,
		.arena = arena,
		.chosen = ARENA_ARRAY(arena, size_t, asked.columns_count),
		.taken = ARENA_ARRAY(arena, bool, generated->columns_count),
		.budget = CHOOSING_BUDGET,
	};
	compare_best(&choice, ret_verdict, shown);
}

static bool is_truth_value(str_t cell)
{
	str_t text = compare_trim(cell);
	return (text.len == 4 && strncasecmp(text.ptr, "true", 4) == 0) ||
	       (text.len == 5 && strncasecmp(text.ptr, "false", 5) == 0);
}

void compare_class_texts(struct result_column *columns, size_t columns_count, const str_t *cells,
			 size_t rows_count)
{
	for (size_t i = 0; i < columns_count; i++) {
		bool any = false, boolean = true;
		for (size_t row = 0; row < rows_count && (boolean || !any); row++) {
			str_t cell = cells[row * columns_count + i];
			if (!str_present(cell))
				continue;
			any = true;
			boolean = is_truth_value(cell);
		}
		columns[i].type = !any ? CELL_NULL : boolean ? CELL_BOOLEAN : CELL_TEXT;
	}
}
