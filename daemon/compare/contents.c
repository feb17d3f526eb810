/* The first pass over large results: which columns belong together. */
#include "compare/digest.h"

/* Values of a column that its sample holds, and up to twice as many before it is cut back. */
#define SAMPLED_VALUES 128

/* The smallest hashes of a column's values, where close numbers nearly always have the same one. */
struct sampled_values {
	uint64_t hashes[2 * SAMPLED_VALUES];
	size_t count;
	uint64_t limit; /* above it nothing is kept */
};

/* Which values a column has: one bit of so many for each. */
#define SEEN_BITS      ((size_t)1 << 20)
#define MAX_SEEN_BYTES ((size_t)16 << 20) /* of all columns; of more columns nothing is noted */

/* So many rows of a result are asked for where their values are, and such a share has to be there. */
#define ROWS_ASKED    1000
#define SHARE_OF_SEEN 0.95

struct compare_columns {
	struct hash_key key;
	struct arena *arena;
	struct compare_reading reading;
	const enum cell_class *types;
	struct hash_128 *bags;
	uint64_t *joint; /* sums of the values, each with what else is in its row, in whatever columns */
	uint64_t *row;	 /* the values of one row */
	struct sampled_values *samples;
	uint8_t *seen; /* SEEN_BITS of each column; NULL: not noted */
	size_t count;
};

struct compare_columns *compare_columns_new(const struct hash_key *key, const enum cell_class *types,
					    size_t columns_count)
{
	struct arena *arena = arena_new();
	struct compare_columns *columns = ARENA_NEW(arena, struct compare_columns);
	enum cell_class *copy = ARENA_ARRAY(arena, enum cell_class, columns_count);
	for (size_t i = 0; i < columns_count; i++)
		copy[i] = types[i];
	*columns = (struct compare_columns){
		.key = *key,
		.arena = arena,
		.reading = { .canonical = true },
		.types = copy,
		.bags = ARENA_ARRAY(arena, struct hash_128, columns_count),
		.joint = ARENA_ARRAY(arena, uint64_t, columns_count),
		.row = ARENA_ARRAY(arena, uint64_t, columns_count),
		.samples = ARENA_ARRAY(arena, struct sampled_values, columns_count),
		.count = columns_count,
	};
	if (columns_count * (SEEN_BITS / 8) <= MAX_SEEN_BYTES) {
		columns->seen = calloc(columns_count + 1, SEEN_BITS / 8);
		if (!columns->seen)
			abort();
	}
	for (size_t i = 0; i < columns_count; i++) {
		columns->samples[i].count = 0;
		columns->samples[i].limit = UINT64_MAX;
	}
	return columns;
}

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* Leaves the smallest distinct ones. */
static void cut_back(struct sampled_values *sample)
{
	size_t kept = 0;
	qsort(sample->hashes, sample->count, sizeof *sample->hashes, by_size);
	for (size_t i = 0; i < sample->count && kept < SAMPLED_VALUES; i++)
		if (kept == 0 || sample->hashes[i] != sample->hashes[kept - 1])
			sample->hashes[kept++] = sample->hashes[i];
	sample->count = kept;
	if (kept == SAMPLED_VALUES)
		sample->limit = sample->hashes[kept - 1];
}

/* Spreads bits as murmur's finaliser does; the key keeps others from choosing what is sampled. */
static uint64_t mix(const struct hash_key *key, uint64_t value)
{
	value = (value ^ key->words[0]) * UINT64_C(0xff51afd7ed558ccd);
	value = (value ^ value >> 32 ^ key->words[1]) * UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 29;
}

/* Of a number, however it is written and whatever its last digits are; else of what was read. */
static uint64_t value_hash(const struct hash_key *key, enum cell_class type, str_t cell,
			   struct hash_128 exact)
{
	bool may_be_number =
		type == CELL_FLOAT || type == CELL_DECIMAL || type == CELL_INTEGER || type == CELL_UNKNOWN;
	double number;
	if (!may_be_number || !str_present(cell))
		return exact.low;
	if (!compare_number_simple(cell, &number)) {
		if (compare_number_of(cell) != COMPARE_NUMBER_FINITE)
			return exact.low;
		number = compare_number_double(cell);
	}
	return mix(key, (uint64_t)compare_quantise(number));
}

static void sample_value(struct sampled_values *sample, uint64_t hash)
{
	if (hash > sample->limit || (sample->count > 0 && sample->hashes[sample->count - 1] == hash))
		return;
	sample->hashes[sample->count++] = hash;
	if (sample->count == 2 * SAMPLED_VALUES)
		cut_back(sample);
}

/* The share of values that both have, of those that either's sample would hold. */
static double likeness(const struct sampled_values *a, const struct sampled_values *b)
{
	size_t i = 0, j = 0, shared = 0, either = 0;
	while (i < a->count && j < b->count && either < SAMPLED_VALUES) {
		uint64_t left = a->hashes[i], right = b->hashes[j];
		shared += left == right;
		i += left <= right;
		j += right <= left;
		either++;
	}
	size_t rest = a->count - i + b->count - j;
	either += rest < SAMPLED_VALUES - either ? rest : SAMPLED_VALUES - either;
	return either == 0 ? 1 : (double)shared / (double)either;
}

/* The byte of a value's bit. */
static size_t seen_at(size_t column, uint64_t value)
{
	return column * (SEEN_BITS / 8) + value / 8 % (SEEN_BITS / 8);
}

/* Columns that hold the same values in other rows are told apart by what else is in these: but for numbers,
 * whose last digits may differ. */
static void add_joint(struct compare_columns *columns)
{
	uint64_t others = 0;
	for (size_t i = 0; i < columns->count; i++)
		if (columns->types[i] != CELL_FLOAT && columns->types[i] != CELL_DECIMAL)
			others += columns->row[i];
	for (size_t i = 0; i < columns->count; i++)
		columns->joint[i] +=
			mix(&columns->key, columns->row[i] ^ others * UINT64_C(0x9e3779b97f4a7c15));
}

void compare_columns_row(struct compare_columns *columns, const str_t *cells)
{
	for (size_t i = 0; i < columns->count; i++) {
		compare_reading_renew(&columns->reading);
		compare_read_alone(&columns->reading, columns->types[i], cells[i]);
		struct hash_128 hash = compare_reading_hash(&columns->key, &columns->reading);
		hash_128_add(&columns->bags[i], hash);
		uint64_t value = value_hash(&columns->key, columns->types[i], cells[i], hash);
		sample_value(&columns->samples[i], value);
		if (columns->seen)
			columns->seen[seen_at(i, value)] |= (uint8_t)(1u << value % 8);
		columns->row[i] = value;
	}
	add_joint(columns);
}

void compare_columns_free(struct compare_columns *columns)
{
	if (!columns)
		return;
	compare_reading_end(&columns->reading);
	free(columns->seen);
	arena_free(columns->arena);
}

/* The share of the generated column's values that the truth's column has. */
static double share_of_seen(const struct result_set *generated, const struct compare_columns *ours,
			    size_t column, const struct compare_columns *theirs, size_t partner)
{
	struct compare_reading reading = { .canonical = true };
	size_t rows = generated->rows_count < ROWS_ASKED ? generated->rows_count : ROWS_ASKED, found = 0;
	for (size_t row = 0; row < rows; row++) {
		str_t cell = generated->cells[row * generated->columns_count + column];
		compare_reading_renew(&reading);
		compare_read_alone(&reading, ours->types[column], cell);
		uint64_t value = value_hash(&ours->key, ours->types[column], cell,
					    compare_reading_hash(&ours->key, &reading));
		found += theirs->seen[seen_at(partner, value)] >> value % 8 & 1;
	}
	compare_reading_end(&reading);
	return rows == 0 ? 1 : (double)found / (double)rows;
}

/* The open column whose values are among those of the fewest open columns of the truth, and the first of
 * these; false when there is none. */
static bool most_certain(const bool *fits, const bool *taken, const struct compare_pairing *pairing,
			 size_t *ret_column, size_t *ret_partner)
{
	size_t fewest = SIZE_MAX;
	for (size_t j = 0; j < pairing->count; j++) {
		size_t choices = 0, first = 0;
		for (size_t i = pairing->count; !taken[j] && i-- > 0;) {
			bool open = pairing->pairs[i].generated == COMPARE_NOT_PAIRED_YET;
			if (!open || !fits[i * pairing->count + j])
				continue;
			choices++;
			first = i;
		}
		if (choices == 0 || choices >= fewest)
			continue;
		fewest = choices;
		*ret_column = first;
		*ret_partner = j;
	}
	return fewest < SIZE_MAX;
}

void compare_columns_guess(const struct result_set *generated,
			   const struct compare_columns *generated_columns, const struct result_set *truth,
			   const struct compare_columns *truth_columns, struct arena *arena,
			   struct compare_pairing *ret_pairing)
{
	size_t count = truth->columns_count, column = 0, partner = 0;
	bool *taken = ARENA_ARRAY(arena, bool, count), *fits = ARENA_ARRAY(arena, bool, count *count);
	*ret_pairing = (struct compare_pairing){ ARENA_ARRAY(arena, struct compare_pair, count), count, 1 };
	compare_pair_names(generated, truth, ret_pairing, taken, arena);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			fits[i * count + j] = truth_columns->seen && !taken[j] &&
					      ret_pairing->pairs[i].generated == COMPARE_NOT_PAIRED_YET &&
					      share_of_seen(generated, generated_columns, j, truth_columns,
							    i) >= SHARE_OF_SEEN;
	while (most_certain(fits, taken, ret_pairing, &column, &partner)) {
		taken[partner] = true;
		compare_set_pair(ret_pairing, generated, truth, column, partner);
	}
	for (size_t i = 0, next = 0; i < count; i++) {
		if (ret_pairing->pairs[i].generated != COMPARE_NOT_PAIRED_YET)
			continue;
		while (taken[next])
			next++;
		compare_set_pair(ret_pairing, generated, truth, i, next++);
	}
}

/* The first free generated column that holds the same, and in the same rows where one does, or
 * COMPARE_NOT_PAIRED_YET; `ret_count`: how many do. */
static size_t find_equal(const struct compare_columns *generated, const bool *taken,
			 const struct compare_columns *truth, size_t column, size_t *ret_count)
{
	size_t found = COMPARE_NOT_PAIRED_YET, together = COMPARE_NOT_PAIRED_YET, count = 0;
	*ret_count = 0;
	for (size_t i = generated->count; i-- > 0;) {
		if (taken[i] || !hash_128_equal(generated->bags[i], truth->bags[column]))
			continue;
		found = i;
		++*ret_count;
		if (generated->joint[i] != truth->joint[column])
			continue;
		together = i;
		count++;
	}
	if (count == 0)
		return found;
	*ret_count = count;
	return together;
}

/* Pairs what is left, the most alike first. */
static void pair_alike(const struct result_set *generated, const struct compare_columns *ours,
		       const struct result_set *truth, const struct compare_columns *theirs, bool *taken,
		       struct compare_pairing *pairing)
{
	for (size_t i = 0; i < ours->count; i++)
		cut_back(&ours->samples[i]);
	for (size_t i = 0; i < theirs->count; i++)
		cut_back(&theirs->samples[i]);
	for (;;) {
		size_t partner = 0, column = pairing->count;
		double most = -1;
		for (size_t i = 0; i < pairing->count; i++) {
			if (pairing->pairs[i].generated != COMPARE_NOT_PAIRED_YET)
				continue;
			for (size_t j = 0; j < ours->count; j++) {
				double alike =
					taken[j] ? -1 : likeness(&ours->samples[j], &theirs->samples[i]);
				if (alike <= most)
					continue;
				most = alike;
				column = i;
				partner = j;
			}
		}
		if (column == pairing->count)
			return;
		taken[partner] = true;
		compare_set_pair(pairing, generated, truth, column, partner);
	}
}

enum compare_columns_pairing compare_columns_pair(const struct result_set *generated,
						  const struct compare_columns *generated_columns,
						  const struct result_set *truth,
						  const struct compare_columns *truth_columns,
						  struct arena *arena, struct compare_pairing *ret_pairing)
{
	size_t count = truth->columns_count, left = 0;
	bool *taken = ARENA_ARRAY(arena, bool, count);
	enum compare_columns_pairing outcome = COMPARE_PAIRED;
	*ret_pairing = (struct compare_pairing){ ARENA_ARRAY(arena, struct compare_pair, count), count, 1 };
	compare_pair_names(generated, truth, ret_pairing, taken, arena);
	for (size_t i = 0; i < count; i++) {
		size_t choices;
		if (ret_pairing->pairs[i].generated != COMPARE_NOT_PAIRED_YET)
			continue;
		size_t partner = find_equal(generated_columns, taken, truth_columns, i, &choices);
		left += partner == COMPARE_NOT_PAIRED_YET;
		if (partner == COMPARE_NOT_PAIRED_YET)
			continue;
		taken[partner] = true;
		compare_set_pair(ret_pairing, generated, truth, i, partner);
		if (choices > 1)
			outcome = COMPARE_PAIRED_BY_CHANCE;
	}
	if (left == 0)
		return outcome;
	pair_alike(generated, generated_columns, truth, truth_columns, taken, ret_pairing);
	return outcome == COMPARE_PAIRED ? COMPARE_NOT_PAIRED : outcome;
}
