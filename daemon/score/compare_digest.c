#include "score/compare_digest.h"

#include "score/compare_sample.h"

struct compare_columns {
	struct hash_key key;
	struct arena *arena;
	struct compare_reading reading;
	const enum cell_class *types;
	struct hash_128 *bags;
	size_t count;
};

/* Consecutive rows whose sort keys tie: their order among themselves does not matter. */
struct tie {
	struct buf keys; /* canonical */
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
	bool ordered, ties_known, limited;
	uint64_t limit; /* 0: not known */
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
		.count = columns_count,
	};
	return columns;
}

void compare_columns_row(struct compare_columns *columns, const str_t *cells)
{
	for (size_t i = 0; i < columns->count; i++) {
		compare_reading_renew(&columns->reading);
		compare_read_alone(&columns->reading, columns->types[i], cells[i]);
		add_hash(&columns->bags[i], hash_reading(&columns->key, &columns->reading));
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

static size_t first_free(const bool *taken)
{
	size_t at = 0;
	while (taken[at])
		at++;
	return at;
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
	for (size_t i = 0; left > 0 && i < count; i++) {
		if (ret_pairing->pairs[i].generated != COMPARE_NOT_PAIRED_YET)
			continue;
		size_t partner = first_free(taken);
		taken[partner] = true;
		compare_set_pair(ret_pairing, generated, truth, i, partner);
		outcome = COMPARE_NOT_PAIRED;
	}
	return outcome;
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
		.ties_known = keys_known(options, settings->pairing->count),
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

/* Begins another tie where the row's keys are not those of the rows before. */
static void follow_order(struct compare_digest *digest, const str_t *cells)
{
	struct compare_reading *reading = &digest->reading;
	compare_reading_renew(reading);
	for (size_t i = 0; digest->ties_known && i < digest->keys_count; i++) {
		const struct compare_digest_column *column = &digest->columns[digest->keys[i]];
		compare_read(reading, column->mode, cells[column->column]);
	}
	bool same = digest->ties_known && str_equal(buf_str(&digest->tie.keys), buf_str(&reading->exact));
	if (same || digest->rows == 0) {
		buf_reset(&digest->tie.keys);
		buf_append_str(&digest->tie.keys, buf_str(&reading->exact));
		return;
	}
	digest->sequence = end_tie(digest);
	digest->tie.bag = (struct hash_128){ 0, 0 };
	digest->tie.rows = 0;
	buf_reset(&digest->tie.keys);
	buf_append_str(&digest->tie.keys, buf_str(&reading->exact));
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
		compare_sample_row(digest->sample, cells);
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
	return a->tie.rows == b->tie.rows && str_equal(buf_str(&a->tie.keys), buf_str(&b->tie.keys));
}

enum compare_digest_verdict compare_digest_judge(const struct compare_digest *generated,
						 const struct compare_digest *truth)
{
	if (generated->rows != truth->rows)
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
	if (generated->sample && truth->sample)
		compare_sample_estimate(generated->sample, generated->rows, truth->sample, truth->rows,
					tolerance, arena, ret_estimate);
}
