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

void log_claims_add(struct log_claims *claims, const struct log_claim *claim)
{
	if (claims->count == claims->capacity) {
		claims->capacity = claims->capacity ? 2 * claims->capacity : 64;
		claims->items = reallocarray(claims->items, claims->capacity, sizeof *claims->items);
		if (!claims->items)
			abort();
	}
	claims->items[claims->count++] = *claim;
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

int32_t log_claims_partition(const struct log_claims_reader *reader, str_t origin)
{
	int32_t partition = -1;
	for (size_t i = 0; i < reader->keys_count && partition < 0; i++)
		partition = partition_of(origin, reader->keys[i].name, reader->topic);
	return partition;
}

/* The first line, without its newline. */
static str_t first_line(str_t text)
{
	const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
	return (str_t){ text.ptr, end ? (size_t)(end - text.ptr) : text.len };
}

bool log_claims_may_begin(const struct log_claims_reader *reader, str_t text)
{
	str_t line = first_line(text);
	if (line.len < text.len)
		return log_claims_partition(reader, line) >= 0;
	for (size_t i = 0; i < reader->keys_count; i++) {
		char begins[NOTE_NAME_MAX + CHECKPOINT_ORIGIN_MAX];
		size_t len = (size_t)snprintf(begins, sizeof begins, "%s/%s/", reader->keys[i].name,
					      reader->topic);
		if (len < sizeof begins && memcmp(line.ptr, begins, line.len < len ? line.len : len) == 0)
			return true;
	}
	return false;
}

uint64_t log_claims_digest(str_t note)
{
	return hash_seeded(note.ptr, note.len);
}

struct log_claim *log_claims_find(const struct log_claims *claims, uint64_t size, uint64_t digest)
{
	size_t low = 0, high = claims->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (claims->items[middle].size < size)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < claims->count && claims->items[low].size == size; low++)
		if (claims->items[low].digest == digest)
			return &claims->items[low];
	return NULL;
}

/* Whether a signature is in the name of a trusted key. */
static bool names_a_key(const struct log_claims_reader *reader, str_t note)
{
	for (size_t i = 0; i < reader->keys_count; i++) {
		char line[NOTE_NAME_MAX + 16];
		int len = snprintf(line, sizeof line, "\n\xe2\x80\x94 %s ", reader->keys[i].name);
		if (memmem(note.ptr, note.len, line, (size_t)len))
			return true;
	}
	return false;
}

/* One whose origin is that of no such log: another log's, or its origin was damaged. */
static err_t read_other(const struct log_claims_reader *reader, str_t note, struct err_detail *detail)
{
	str_t text;
	if (!names_a_key(reader, note))
		return ERR_OK;
	return note_open(note, reader->keys, reader->keys_count, &text, NULL, detail);
}

err_t log_claims_read(const struct log_claims_reader *reader, str_t note, int32_t *ret_partition,
		      struct log_claim *ret_claim, struct err_detail *detail)
{
	struct checkpoint checkpoint;
	str_t origin = first_line(note);
	int32_t partition = log_claims_partition(reader, origin);
	*ret_partition = partition;
	if (partition < 0)
		return read_other(reader, note, detail);
	err_t err =
		checkpoint_open(note, origin, reader->keys, reader->keys_count, &checkpoint, NULL, detail);
	if (!err)
		*ret_claim =
			(struct log_claim){ checkpoint.size, checkpoint.root, log_claims_digest(note), 0 };
	return err;
}
