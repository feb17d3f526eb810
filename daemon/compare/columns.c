#include "compare/columns.h"

#include "common/hash.h"
#include "compare/equals.h"
#include "compare/similar.h"

#include <ctype.h>

/* Of how many values columns are sketched to see whether they are mostly the same. */
#define SKETCH_SIZE 256

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

static void open_column(struct pairing_side *side, size_t column)
{
	struct pairing_candidate *candidate = &side->open[side->open_count++];
	size_t rows = side->set->rows_count;
	candidate->column = column;
	candidate->values = compare_table_fingerprints(side->table, column);
	for (size_t row = 0; row < rows; row++)
		candidate->bag += candidate->values[row];
}

static void init_side(struct pairing *pairing, struct pairing_side *side, struct compare_table *table,
		      size_t open)
{
	side->set = compare_table_set(table);
	side->table = table;
	side->open = ARENA_ARRAY(pairing->arena, struct pairing_candidate, open);
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
	struct compare_sketch their_sketch = { 0 }, our_sketch = { 0 };
	if (their_rows == our_rows && bag_of(theirs, their_rows) == bag_of(ours, our_rows))
		return true;
	sketch_init(&their_sketch, SKETCH_SIZE, pairing->arena);
	sketch_init(&our_sketch, SKETCH_SIZE, pairing->arena);
	sketch_make(&their_sketch, theirs, NULL, their_rows, SKETCH_SIZE, pairing->scratch);
	sketch_make(&our_sketch, ours, NULL, our_rows, SKETCH_SIZE, pairing->scratch);
	return sketch_similarity(&their_sketch, &our_sketch, SKETCH_SIZE) >= 0.9;
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
		compare_add_anchor(&pairing->truth, theirs);
		compare_add_anchor(&pairing->generated, ours);
	}
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
	compare_pair_equal_contents(pairing);
	compare_pair_similar_contents(pairing);
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
