#include "compare/digest.h"

#include "compare/sample.h"

#include <ctype.h>

/* Of 512 million rows; whatever stands behind them is not told apart. */
#define MAX_TIE_STARTS ((size_t)64 << 20)

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
	struct buf shape; /* of the row that was read last */
};

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
		uint8_t *bits = size <= MAX_TIE_STARTS ? realloc(starts->bits, size) : NULL;
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
		digest->sample = compare_sample_new(digest->columns, digest->columns_count,
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

/* Of what has no tolerance in the row that was read, and of its tie: rows of different ties are no partners.
 */
static uint64_t group_hash(struct compare_digest *digest, struct hash_128 row)
{
	if (digest->reading.spans_count > 0) {
		buf_reset(&digest->shape);
		compare_reading_shape(&digest->reading, &digest->shape);
		row = hash_keyed_128(&digest->key, digest->shape.data, digest->shape.len);
	}
	const uint64_t words[] = { row.low, row.high, digest->tie.number };
	return digest->starts ? hash_keyed(&digest->key, words, sizeof words) : row.low;
}

void compare_digest_row(struct compare_digest *digest, const str_t *cells)
{
	struct compare_reading *reading = &digest->reading;
	if (digest->ordered)
		follow_order(digest, cells);
	compare_reading_renew(reading);
	for (size_t i = 0; i < digest->columns_count; i++)
		compare_read(reading, digest->columns[i].mode, cells[digest->columns[i].column]);
	struct hash_128 hash = compare_reading_hash(&digest->key, reading);
	hash_128_add(&digest->bag, hash);
	hash_128_add(&digest->tie.bag, hash);
	digest->tie.rows++;
	digest->rows++;
	if (digest->sample)
		compare_sample_row(digest->sample, cells, group_hash(digest, hash));
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
	buf_free(&digest->shape);
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
	bool ties_known = !truth->starts || !truth->starts->full;
	if (generated->sample && truth->sample && ties_known)
		compare_sample_estimate(generated->sample, generated->rows, truth->sample, truth->rows,
					tolerance, arena, ret_estimate);
}
