#include "score/compare_digest.h"

#include "score/compare_sample.h"

#include <ctype.h>

/* Values of a column that its sample holds, and up to twice as many before it is cut back. */
#define SAMPLED_VALUES 128

/* The smallest hashes of a column's values, where close numbers nearly always have the same one. */
struct sampled_values {
	uint64_t hashes[2 * SAMPLED_VALUES];
	size_t count;
	uint64_t limit; /* above it nothing is kept */
};

struct compare_columns {
	struct hash_key key;
	struct arena *arena;
	struct compare_reading reading;
	const enum cell_class *types;
	struct hash_128 *bags;
	struct sampled_values *samples;
	size_t count;
};

/* Of 512 million rows; whatever stands behind them is not told apart. */
#define TIE_STARTS_MOST ((size_t)64 << 20)

struct compare_tie_starts {
	uint8_t *bits;
	size_t size; /* bytes */
	bool full;
};

/* Consecutive rows whose sort keys tie: their order among themselves does not matter. */
struct tie {
	struct buf keys; /* canonical; of its first row */
	bool mixed;	 /* another row has others */
	uint64_t number; /* from 0 */
	struct hash_128 bag;
	uint64_t rows;
};

struct compare_digest {
	struct hash_key key;
	struct arena *arena;
	struct compare_reading reading;
	const struct compare_digest_column *columns;
	size_t columns_count;
	const size_t *keys; /* of the order: indexes of columns */
	size_t keys_count;
	bool ordered, ties_known, limited, keys_any_case, is_truth;
	struct compare_tie_starts *starts; /* or NULL */
	uint64_t limit;			   /* 0: not known */
	uint64_t rows;
	struct hash_128 bag;
	struct hash_128 sequence; /* of all ties before the last one */
	struct tie tie;		  /* the last one */
	struct compare_sample *sample;
};

static void add_hash(struct hash_128 *bag, struct hash_128 hash)
{
	bag->high += hash.high + __builtin_add_overflow(bag->low, hash.low, &bag->low);
}

static struct hash_128 hash_reading(const struct hash_key *key, const struct compare_reading *reading)
{
	str_t exact = buf_str(&reading->exact);
	return hash_keyed_128(key, exact.ptr, exact.len);
}

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
		.samples = ARENA_ARRAY(arena, struct sampled_values, columns_count),
		.count = columns_count,
	};
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

/* Of a number, however it is written and whatever its last digits are; else of what was read. */
static uint64_t value_hash(const struct hash_key *key, enum cell_class type, str_t cell,
			   struct hash_128 exact)
{
	bool may_be_number =
		type == CELL_FLOAT || type == CELL_DECIMAL || type == CELL_INTEGER || type == CELL_UNKNOWN;
	double number;
	if (!may_be_number || !str_present(cell) ||
	    (!compare_number_simple(cell, &number) && compare_number_of(cell) != COMPARE_NUMBER_FINITE))
		return exact.low;
	int64_t close = compare_quantise(compare_number_double(cell));
	return hash_keyed_128(key, &close, sizeof close).low;
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

void compare_columns_row(struct compare_columns *columns, const str_t *cells)
{
	for (size_t i = 0; i < columns->count; i++) {
		compare_reading_renew(&columns->reading);
		compare_read_alone(&columns->reading, columns->types[i], cells[i]);
		struct hash_128 hash = hash_reading(&columns->key, &columns->reading);
		add_hash(&columns->bags[i], hash);
		sample_value(&columns->samples[i],
			     value_hash(&columns->key, columns->types[i], cells[i], hash));
	}
}

void compare_columns_free(struct compare_columns *columns)
{
	if (!columns)
		return;
	compare_reading_end(&columns->reading);
	arena_free(columns->arena);
}

/* The first free generated column that holds the same, or COMPARE_NOT_PAIRED_YET; `ret_count`: how many do.
 */
static size_t find_equal(const struct compare_columns *generated, const bool *taken, struct hash_128 bag,
			 size_t *ret_count)
{
	size_t found = COMPARE_NOT_PAIRED_YET;
	*ret_count = 0;
	for (size_t i = generated->count; i-- > 0;)
		if (!taken[i] && hash_128_equal(generated->bags[i], bag)) {
			found = i;
			++*ret_count;
		}
	return found;
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
		size_t partner = find_equal(generated_columns, taken, truth_columns->bags[i], &choices);
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

static const struct compare_digest_column *copy_columns(const struct compare_digest_settings *settings,
							struct arena *arena)
{
	const struct compare_pairing *pairing = settings->pairing;
	struct compare_digest_column *columns =
		ARENA_ARRAY(arena, struct compare_digest_column, pairing->count);
	for (size_t i = 0; i < pairing->count; i++)
		columns[i] = (struct compare_digest_column){
			settings->is_truth ? i : pairing->pairs[i].generated,
			pairing->pairs[i].mode,
		};
	return columns;
}

static const size_t *copy_keys(const struct compare_options *options, struct arena *arena)
{
	size_t *keys = ARENA_ARRAY(arena, size_t, options->order_keys_count);
	for (size_t i = 0; i < options->order_keys_count; i++)
		keys[i] = options->order_keys[i].column;
	return keys;
}

struct compare_tie_starts *compare_tie_starts_new(void)
{
	struct compare_tie_starts *starts = calloc(1, sizeof *starts);
	if (!starts)
		abort();
	return starts;
}

void compare_tie_starts_free(struct compare_tie_starts *starts)
{
	if (starts)
		free(starts->bits);
	free(starts);
}

/* Rows come one behind the other. */
static void add_start(struct compare_tie_starts *starts, uint64_t row)
{
	size_t at = row / 8;
	if (at >= starts->size) {
		size_t size = starts->size ? 2 * starts->size : 4096;
		while (size <= at)
			size *= 2;
		uint8_t *bits = size <= TIE_STARTS_MOST ? realloc(starts->bits, size) : NULL;
		starts->full |= !bits;
		if (!bits)
			return;
		memset(bits + starts->size, 0, size - starts->size);
		starts->bits = bits;
		starts->size = size;
	}
	starts->bits[at] |= (uint8_t)(1u << row % 8);
}

static bool is_start(const struct compare_tie_starts *starts, uint64_t row)
{
	return row / 8 < starts->size && starts->bits[row / 8] >> row % 8 & 1;
}

static bool keys_known(const struct compare_options *options, size_t columns_count)
{
	for (size_t i = 0; i < options->order_keys_count; i++)
		if (options->order_keys[i].column >= columns_count)
			return false;
	return options->all_keys_visible && options->order_keys_count > 0;
}

struct compare_digest *compare_digest_new(const struct compare_digest_settings *settings)
{
	struct arena *arena = arena_new();
	struct compare_digest *digest = ARENA_NEW(arena, struct compare_digest);
	const struct compare_options *options = settings->options;
	*digest = (struct compare_digest){
		.key = settings->key,
		.arena = arena,
		.reading = { .canonical = true },
		.columns = copy_columns(settings, arena),
		.columns_count = settings->pairing->count,
		.keys = copy_keys(options, arena),
		.keys_count = options->order_keys_count,
		.ordered = options->ordered,
		.ties_known = keys_known(options, settings->tie_starts && settings->is_truth
							  ? SIZE_MAX
							  : settings->pairing->count),
		.keys_any_case = options->keys_any_case,
		.is_truth = settings->is_truth,
		.starts = options->ordered ? settings->tie_starts : NULL,
		.limited = options->limited,
		.limit = options->limit,
	};
	if (settings->sample_rows > 0)
		digest->sample = compare_sample_new(&settings->key, digest->columns, digest->columns_count,
						    settings->sample_rows, settings->sample_bytes);
	return digest;
}

/* Appends the tie to a sequence. */
static struct hash_128 end_tie(const struct compare_digest *digest)
{
	uint64_t words[] = { digest->sequence.low, digest->sequence.high, digest->tie.bag.low,
			     digest->tie.bag.high, digest->tie.rows };
	return hash_keyed_128(&digest->key, words, sizeof words);
}

/* Reads the row's sort keys; those that stand behind the columns have no partner. */
static void read_keys(struct compare_digest *digest, const str_t *cells)
{
	struct compare_reading *reading = &digest->reading;
	compare_reading_renew(reading);
	for (size_t i = 0; digest->ties_known && i < digest->keys_count; i++) {
		size_t key = digest->keys[i];
		if (key < digest->columns_count)
			compare_read(reading, digest->columns[key].mode, cells[digest->columns[key].column]);
		else
			compare_read(reading, COMPARE_GUESSED, cells[key]);
	}
	for (size_t i = 0; digest->keys_any_case && i < reading->exact.len; i++)
		reading->exact.data[i] = (char)tolower((unsigned char)reading->exact.data[i]);
}

/* Whether the row does not tie with the one before, by its own keys or, of generated ones, by its place. What
 * the last tie's keys are is only asked of a truth that was cut. */
static bool begins_tie(struct compare_digest *digest, const str_t *cells)
{
	bool by_place = digest->starts && !digest->is_truth;
	bool begins = by_place && is_start(digest->starts, digest->rows);
	if (by_place && !digest->limited)
		return begins;
	read_keys(digest, cells);
	str_t keys = buf_str(&digest->reading.exact);
	bool same = digest->ties_known && str_equal(buf_str(&digest->tie.keys), keys);
	begins = by_place ? begins : !same && digest->rows > 0;
	if (begins || digest->rows == 0) {
		buf_reset(&digest->tie.keys);
		buf_append_str(&digest->tie.keys, keys);
		digest->tie.mixed = false;
	} else {
		digest->tie.mixed |= !same;
	}
	return begins;
}

/* Begins another tie where there is one. */
static void follow_order(struct compare_digest *digest, const str_t *cells)
{
	if (!begins_tie(digest, cells))
		return;
	if (digest->starts && digest->is_truth)
		add_start(digest->starts, digest->rows);
	digest->sequence = end_tie(digest);
	digest->tie.bag = (struct hash_128){ 0, 0 };
	digest->tie.rows = 0;
	digest->tie.number++;
}

void compare_digest_row(struct compare_digest *digest, const str_t *cells)
{
	struct compare_reading *reading = &digest->reading;
	if (digest->ordered)
		follow_order(digest, cells);
	compare_reading_renew(reading);
	for (size_t i = 0; i < digest->columns_count; i++)
		compare_read(reading, digest->columns[i].mode, cells[digest->columns[i].column]);
	struct hash_128 hash = hash_reading(&digest->key, reading);
	add_hash(&digest->bag, hash);
	add_hash(&digest->tie.bag, hash);
	digest->tie.rows++;
	digest->rows++;
	if (digest->sample)
		compare_sample_row(digest->sample, cells, digest->starts ? digest->tie.number : 0);
}

uint64_t compare_digest_rows(const struct compare_digest *digest)
{
	return digest->rows;
}

struct hash_128 compare_digest_bag(const struct compare_digest *digest)
{
	return digest->bag;
}

void compare_digest_free(struct compare_digest *digest)
{
	if (!digest)
		return;
	compare_sample_free(digest->sample);
	compare_reading_end(&digest->reading);
	buf_free(&digest->tie.keys);
	arena_free(digest->arena);
}

static bool ties_equal(const struct compare_digest *a, const struct compare_digest *b)
{
	return a->tie.rows == b->tie.rows && !a->tie.mixed && !b->tie.mixed &&
	       str_equal(buf_str(&a->tie.keys), buf_str(&b->tie.keys));
}

enum compare_digest_verdict compare_digest_judge(const struct compare_digest *generated,
						 const struct compare_digest *truth)
{
	if (generated->rows != truth->rows || (truth->starts && truth->starts->full))
		return COMPARE_DIGEST_UNEQUAL;
	if (!truth->ordered)
		return hash_128_equal(generated->bag, truth->bag) ? COMPARE_DIGEST_EQUAL
								  : COMPARE_DIGEST_UNEQUAL;
	if (hash_128_equal(end_tie(generated), end_tie(truth)))
		return COMPARE_DIGEST_EQUAL;
	bool cut = truth->limited && truth->rows >= truth->limit && truth->ties_known &&
		   ties_equal(generated, truth) && hash_128_equal(generated->sequence, truth->sequence);
	return cut ? COMPARE_DIGEST_EQUAL_TO_CUT : COMPARE_DIGEST_UNEQUAL;
}

void compare_digest_estimate(const struct compare_digest *generated, const struct compare_digest *truth,
			     const struct compare_tolerance *tolerance, struct arena *arena,
			     struct compare_estimate *ret_estimate)
{
	*ret_estimate = (struct compare_estimate){ 0 };
	bool told_apart = !truth->starts || !truth->starts->full;
	if (generated->sample && truth->sample && told_apart)
		compare_sample_estimate(generated->sample, generated->rows, truth->sample, truth->rows,
					tolerance, arena, ret_estimate);
}
