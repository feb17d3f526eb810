#include "compare/sample.h"

#include "compare/rows.h"

#include <math.h>

/* 97.5 % quantile of the normal distribution. */
#define Z95 1.959963984540054

/* A row that was kept: places, then texts, in one block. */
struct kept_row {
	uint64_t hash; /* of its group */
	str_t *cells;
	size_t bytes;
};

struct compare_sample {
	const struct compare_digest_column *columns;
	size_t columns_count, rows_most, bytes_most;
	uint64_t limit; /* groups up to this hash are complete */
	bool nothing;	/* not even the first group */
	struct kept_row *rows;
	size_t count, capacity, bytes;
};

struct compare_sample *compare_sample_new(const struct compare_digest_column *columns, size_t columns_count,
					  size_t rows_most, size_t bytes_most)
{
	struct compare_sample *sample = calloc(1, sizeof *sample);
	if (!sample)
		abort();
	sample->columns = columns;
	sample->columns_count = columns_count;
	sample->rows_most = rows_most;
	sample->bytes_most = bytes_most;
	sample->limit = UINT64_MAX;
	return sample;
}

void compare_sample_free(struct compare_sample *sample)
{
	if (!sample)
		return;
	for (size_t i = 0; i < sample->count; i++)
		free(sample->rows[i].cells);
	free(sample->rows);
	free(sample);
}

static int by_hash(const void *a, const void *b)
{
	const struct kept_row *left = a, *right = b;
	return (left->hash > right->hash) - (left->hash < right->hash);
}

static void sort_rows(struct compare_sample *sample)
{
	if (sample->count > 1)
		qsort(sample->rows, sample->count, sizeof *sample->rows, by_hash);
}

/* Drops rows from `from` on. */
static void drop_rows(struct compare_sample *sample, size_t from)
{
	for (size_t i = from; i < sample->count; i++) {
		sample->bytes -= sample->rows[i].bytes;
		free(sample->rows[i].cells);
	}
	sample->count = from;
}

/* Gives up the groups with the largest hashes until the rest is within the limits. */
static void shrink(struct compare_sample *sample)
{
	size_t fits = 0, bytes = 0, start = 0;
	sort_rows(sample);
	for (size_t i = 0; i < sample->count; i++) {
		if (i > 0 && sample->rows[i].hash != sample->rows[i - 1].hash)
			fits = start = i;
		bytes += sample->rows[i].bytes;
		if (i + 1 > sample->rows_most || bytes > sample->bytes_most)
			break;
	}
	uint64_t first_dropped = sample->rows[start].hash;
	drop_rows(sample, fits);
	sample->nothing = first_dropped == 0;
	sample->limit = first_dropped - 1;
}

static struct kept_row copy_row(const struct compare_sample *sample, const str_t *cells, uint64_t hash)
{
	size_t bytes = sample->columns_count * (sizeof *cells + 1);
	for (size_t i = 0; i < sample->columns_count; i++)
		bytes += cells[sample->columns[i].column].len;
	str_t *copy = malloc(bytes > 0 ? bytes : 1);
	if (!copy)
		abort();
	char *text = (char *)(copy + sample->columns_count);
	for (size_t i = 0; i < sample->columns_count; i++) {
		str_t cell = cells[sample->columns[i].column];
		copy[i] = str_present(cell) ? (str_t){ text, cell.len } : STR_NONE;
		if (!str_present(cell))
			continue;
		if (cell.len > 0)
			memcpy(text, cell.ptr, cell.len);
		text[cell.len] = '\0';
		text += cell.len + 1;
	}
	return (struct kept_row){ hash, copy, bytes };
}

static void keep_row(struct compare_sample *sample, struct kept_row row)
{
	if (sample->count == sample->capacity) {
		sample->capacity = sample->capacity ? 2 * sample->capacity : 64;
		sample->rows = realloc(sample->rows, sample->capacity * sizeof *sample->rows);
		if (!sample->rows)
			abort();
	}
	sample->rows[sample->count++] = row;
	sample->bytes += row.bytes;
}

void compare_sample_row(struct compare_sample *sample, const str_t *cells, uint64_t hash)
{
	if (sample->nothing || hash > sample->limit)
		return;
	keep_row(sample, copy_row(sample, cells, hash));
	if (sample->count > 2 * sample->rows_most || sample->bytes > 2 * sample->bytes_most)
		shrink(sample);
}

/* One side's sampled rows up to a hash, readable as values. */
struct sampled {
	const struct compare_sample *sample;
	const struct compare_row *rows;
	size_t count, at;
};

static struct sampled read_sample(const struct compare_sample *sample, uint64_t limit, struct arena *arena)
{
	size_t count = 0, width = sample->columns_count;
	while (count < sample->count && sample->rows[count].hash <= limit)
		count++;
	str_t *cells = ARENA_ARRAY(arena, str_t, count * width);
	for (size_t i = 0; i < count && width > 0; i++)
		memcpy(cells + i * width, sample->rows[i].cells, width * sizeof *cells);
	struct compare_pairing pairing = { ARENA_ARRAY(arena, struct compare_pair, width), width, 1 };
	for (size_t i = 0; i < width; i++)
		pairing.pairs[i] = (struct compare_pair){ i, sample->columns[i].mode };
	struct result_set *set = ARENA_NEW(arena, struct result_set);
	*set = (struct result_set){ .columns_count = width, .cells = cells, .rows_count = count };
	return (struct sampled){ sample,
				 compare_read_rows(compare_table_new(set, arena), &pairing, true, arena),
				 count, 0 };
}

/* How many rows from here on belong to the group. */
static size_t group_size(const struct sampled *side, uint64_t hash)
{
	size_t size = 0;
	while (side->at + size < side->count && side->sample->rows[side->at + size].hash == hash)
		size++;
	return size;
}

static uint64_t next_hash(const struct sampled *side)
{
	return side->at < side->count ? side->sample->rows[side->at].hash : UINT64_MAX;
}

/* Sums over the groups of both samples; `squares` is of the larger side's group sizes. */
struct sample_tally {
	double matched, rows, squares;
};

static struct sample_tally tally_groups(struct sampled *ours, struct sampled *theirs,
					const struct compare_tolerance *tolerance, struct arena *arena)
{
	struct sample_tally tally = { 0, 0, 0 };
	size_t budget = COMPARE_MATCHING_BUDGET;
	while (ours->at < ours->count || theirs->at < theirs->count) {
		uint64_t a = next_hash(ours), b = next_hash(theirs), hash = a < b ? a : b;
		size_t left = group_size(ours, hash), right = group_size(theirs, hash);
		tally.matched +=
			(double)compare_match_bags(ours->rows + ours->at, left, theirs->rows + theirs->at,
						   right, tolerance, &budget, arena);
		tally.rows += (double)left;
		tally.squares += (double)left * (double)left;
		ours->at += left;
		theirs->at += right;
	}
	return tally;
}

static void set_interval(const struct sample_tally *tally, bool complete, struct compare_estimate *estimate)
{
	double n = tally->rows * tally->rows / tally->squares, p = tally->matched / tally->rows;
	double shift = Z95 * Z95 / n, middle = (p + shift / 2) / (1 + shift);
	double half = Z95 / (1 + shift) * sqrt(p * (1 - p) / n + shift / (4 * n));
	estimate->known = true;
	estimate->rows = (size_t)tally->rows;
	estimate->rate = p;
	/* At the ends one bound is the end itself, but for rounding. */
	estimate->low = complete || p <= 0 ? p : fmax(0, middle - half);
	estimate->high = complete || p >= 1 ? p : fmin(1, middle + half);
}

void compare_sample_estimate(struct compare_sample *generated, uint64_t generated_rows,
			     struct compare_sample *truth, uint64_t truth_rows,
			     const struct compare_tolerance *tolerance, struct arena *arena,
			     struct compare_estimate *ret_estimate)
{
	uint64_t limit = generated->limit < truth->limit ? generated->limit : truth->limit;
	if (generated->nothing || truth->nothing)
		return;
	sort_rows(generated);
	sort_rows(truth);
	struct sampled ours = read_sample(generated, limit, arena);
	struct sampled theirs = read_sample(truth, limit, arena);
	bool ours_larger = generated_rows >= truth_rows;
	struct sample_tally tally =
		tally_groups(ours_larger ? &ours : &theirs, ours_larger ? &theirs : &ours, tolerance, arena);
	if (tally.rows > 0)
		set_interval(&tally, limit == UINT64_MAX, ret_estimate);
}
