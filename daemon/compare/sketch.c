#include "compare/sketch.h"

#include "compare/table.h"

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* Sorts what was gathered and keeps the smallest distinct hashes; returns how many entries remain. */
static size_t shrink(uint64_t *hashes, size_t count, size_t distinct)
{
	size_t kept = 0, seen = 0;
	qsort(hashes, count, sizeof *hashes, by_value);
	while (kept < count) {
		seen += kept == 0 || hashes[kept] != hashes[kept - 1];
		if (seen > distinct)
			break;
		kept++;
	}
	return kept;
}

static size_t count_distinct(const uint64_t *hashes, size_t count)
{
	size_t distinct = 0;
	for (size_t i = 0; i < count; i++)
		distinct += i == 0 || hashes[i] != hashes[i - 1];
	return distinct;
}

/* Gathers the smallest hashes up to `limit`; returns how many entries there are. */
static size_t gather(const uint64_t *values, const uint64_t *anchors, size_t rows, size_t size,
		     uint64_t limit, uint64_t *scratch)
{
	size_t gathered = 0, next_shrink = 8 * size;
	for (size_t row = 0; row < rows; row++) {
		uint64_t hash = compare_mix(values[row], anchors ? anchors[row] : 0);
		if (hash > limit)
			continue;
		scratch[gathered++] = hash;
		if (gathered < next_shrink)
			continue;
		gathered = shrink(scratch, gathered, size);
		limit = scratch[gathered - 1];
		next_shrink = 2 * gathered + 8 * size;
	}
	return shrink(scratch, gathered, size);
}

void sketch_make(struct compare_sketch *sketch, const uint64_t *values, const uint64_t *anchors, size_t rows,
		 size_t size, uint64_t *scratch)
{
	/* Where values hardly repeat, so many of their hashes are below this, nearly always. */
	bool guessed = rows > 8 * size;
	uint64_t limit = guessed ? UINT64_MAX / rows * 2 * size : UINT64_MAX;
	size_t gathered = gather(values, anchors, rows, size, limit, scratch);
	if (guessed && (gathered == 0 || count_distinct(scratch, gathered) < size))
		gathered = gather(values, anchors, rows, size, UINT64_MAX, scratch);
	sketch->size = 0;
	for (size_t i = 0; i < gathered; i++) {
		if (i > 0 && scratch[i] == scratch[i - 1]) {
			sketch->counts[sketch->size - 1]++;
			continue;
		}
		sketch->hashes[sketch->size] = scratch[i];
		sketch->counts[sketch->size++] = 1;
	}
}

double sketch_similarity(const struct compare_sketch *a, const struct compare_sketch *b, size_t full_size)
{
	size_t i = 0, j = 0, shared = 0, either = 0;
	while (i < a->size || j < b->size) {
		/* Behind the end of a full sample nothing is known. */
		if ((i == a->size && a->size == full_size) || (j == b->size && b->size == full_size))
			break;
		if (j == b->size || (i < a->size && a->hashes[i] < b->hashes[j])) {
			either += a->counts[i++];
		} else if (i == a->size || b->hashes[j] < a->hashes[i]) {
			either += b->counts[j++];
		} else {
			size_t x = a->counts[i++], y = b->counts[j++];
			shared += x < y ? x : y;
			either += x < y ? y : x;
		}
	}
	return either == 0 ? 1 : (double)shared / (double)either;
}

void sketch_init(struct compare_sketch *sketch, size_t size, struct arena *arena)
{
	sketch->hashes = ARENA_ARRAY(arena, uint64_t, size);
	sketch->counts = ARENA_ARRAY(arena, size_t, size);
}
