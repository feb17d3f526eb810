#include "audit/verify/log_claims.h"

const char *log_claims_place_name(enum log_claims_place place)
{
	return place == LOG_CLAIMS_DATABASE ? "database" : place == LOG_CLAIMS_TOPIC ? "topic" : "file";
}

void log_claims_free(struct log_claims *claims)
{
	free(claims->items);
	*claims = (struct log_claims){ .items = NULL };
}

void log_claims_add(struct log_claims *claims, uint64_t size, const struct merkle_hash *root,
		    enum log_claims_place place)
{
	if (claims->count == claims->capacity) {
		claims->capacity = claims->capacity ? 2 * claims->capacity : 64;
		claims->items = reallocarray(claims->items, claims->capacity, sizeof *claims->items);
		if (!claims->items)
			abort();
	}
	claims->items[claims->count++] = (struct log_claim){ size, *root, (unsigned)place };
}

static int by_size(const void *a, const void *b)
{
	const struct log_claim *left = a, *right = b;
	int order = (left->size > right->size) - (left->size < right->size);
	return order ? order : memcmp(left->root.bytes, right->root.bytes, sizeof left->root.bytes);
}

void log_claims_sort(struct log_claims *claims)
{
	size_t kept = 0;
	if (claims->count == 0)
		return;
	qsort(claims->items, claims->count, sizeof *claims->items, by_size);
	for (size_t i = 1; i < claims->count; i++) {
		struct log_claim *last = &claims->items[kept];
		const struct log_claim *item = &claims->items[i];
		bool same_size = last->size == item->size;
		if (same_size && merkle_hash_equal(&last->root, &item->root)) {
			last->places |= item->places;
			continue;
		}
		if (same_size && !claims->forked) {
			claims->forked = true;
			claims->forked_size = item->size;
		}
		claims->items[++kept] = *item;
	}
	claims->count = kept + 1;
}

/* The partition of an origin NAME/TOPIC/PARTITION, where name and topic are those; negative: it is none. */
static int32_t partition_of(str_t origin, const char *name, const char *topic)
{
	size_t name_len = strlen(name), topic_len = strlen(topic);
	int64_t number = 0;
	if (origin.len < name_len + topic_len + 3 || memcmp(origin.ptr, name, name_len) != 0 ||
	    origin.ptr[name_len] != '/' || memcmp(origin.ptr + name_len + 1, topic, topic_len) != 0 ||
	    origin.ptr[name_len + 1 + topic_len] != '/')
		return -1;
	size_t at = name_len + topic_len + 2;
	if (origin.ptr[at] == '0' && origin.len > at + 1)
		return -1;
	for (; at < origin.len; at++) {
		if (origin.ptr[at] < '0' || origin.ptr[at] > '9' || number > INT32_MAX)
			return -1;
		number = 10 * number + (origin.ptr[at] - '0');
	}
	return number > INT32_MAX ? -1 : (int32_t)number;
}

err_t log_claims_read(const struct log_claims_reader *reader, str_t note, int32_t *ret_partition,
		      uint64_t *ret_size, struct merkle_hash *ret_root, struct err_detail *detail)
{
	struct checkpoint checkpoint;
	const char *end = memchr(note.ptr, '\n', note.len);
	str_t origin = { note.ptr, end ? (size_t)(end - note.ptr) : note.len };
	int32_t partition = -1;
	for (size_t i = 0; i < reader->keys_count && partition < 0; i++)
		partition = partition_of(origin, reader->keys[i].name, reader->topic);
	*ret_partition = partition;
	if (partition < 0)
		return ERR_OK;
	err_t err =
		checkpoint_open(note, origin, reader->keys, reader->keys_count, &checkpoint, NULL, detail);
	if (err)
		return err;
	*ret_size = checkpoint.size;
	*ret_root = checkpoint.root;
	return ERR_OK;
}
