#include "compare/members.h"

struct compare_members {
	struct hash_key key;
	struct compare_reading reading;
	struct compare_pair *pairs;
	size_t columns_count;
	uint64_t *hashes; /* in order */
	size_t count;
};

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static uint64_t row_hash(struct compare_members *members, const str_t *cells, bool is_generated)
{
	struct compare_reading *reading = &members->reading;
	compare_reading_renew(reading);
	for (size_t i = 0; i < members->columns_count; i++) {
		const struct compare_pair *pair = &members->pairs[i];
		compare_read(reading, pair->mode, cells[is_generated ? pair->generated : i]);
	}
	str_t exact = buf_str(&reading->exact);
	return hash_keyed_128(&members->key, exact.ptr, exact.len).low;
}

struct compare_members *compare_members_new(const struct result_set *generated,
					    const struct compare_pairing *pairing)
{
	struct compare_members *members = calloc(1, sizeof *members);
	if (!members)
		abort();
	members->columns_count = pairing->count;
	members->count = generated->rows_count;
	members->pairs = calloc(pairing->count + 1, sizeof *members->pairs);
	members->hashes = calloc(members->count + 1, sizeof *members->hashes);
	if (!members->pairs || !members->hashes)
		abort();
	hash_key_make(&members->key);
	for (size_t i = 0; i < pairing->count; i++)
		members->pairs[i] = pairing->pairs[i];
	for (size_t row = 0; row < members->count; row++)
		members->hashes[row] =
			row_hash(members, generated->cells + row * generated->columns_count, true);
	qsort(members->hashes, members->count, sizeof *members->hashes, by_size);
	return members;
}

bool compare_members_may_hold(struct compare_members *members, const str_t *cells)
{
	uint64_t hash = row_hash(members, cells, false);
	return bsearch(&hash, members->hashes, members->count, sizeof hash, by_size) != NULL;
}

void compare_members_free(struct compare_members *members)
{
	if (!members)
		return;
	compare_reading_end(&members->reading);
	free(members->pairs);
	free(members->hashes);
	free(members);
}
