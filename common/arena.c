#include "common/arena.h"

#include "common/utf8.h"

#include <stdalign.h>

#define FIRST_CHUNK_BYTES   4096u
#define LARGEST_CHUNK_BYTES 65536u

/* Of these an array begins with few: there is mostly one. */
#define LARGE_ITEM_BYTES 64u

struct chunk {
	struct chunk *next;
	size_t size; /* of data */
	size_t used;
	alignas(max_align_t) char data[];
};

struct arena {
	struct chunk *current; /* list: first the one that is being filled */
	size_t total;
	size_t shared; /* of the total, in chunks that hold many pieces */
};

static struct chunk *chunk_new(size_t size)
{
	struct chunk *chunk = malloc(sizeof *chunk + size);
	if (!chunk)
		abort();
	chunk->next = NULL;
	chunk->size = size;
	chunk->used = 0;
	return chunk;
}

struct arena *arena_new(void)
{
	struct arena *arena = calloc(1, sizeof *arena);
	if (!arena)
		abort();
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->current, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena);
}

/* A quarter of what there is, but for large pieces: of an event's memory, thousands of which wait to be
 * published, little is not used. */
static size_t next_size(const struct arena *arena)
{
	size_t size = arena->shared / 4;
	if (size < FIRST_CHUNK_BYTES)
		return FIRST_CHUNK_BYTES;
	return size < LARGEST_CHUNK_BYTES ? size : LARGEST_CHUNK_BYTES;
}

static struct chunk *add_shared(struct arena *arena, size_t size)
{
	struct chunk *chunk = chunk_new(size);
	chunk->next = arena->current;
	arena->current = chunk;
	arena->total += sizeof *chunk + size;
	arena->shared += sizeof *chunk + size;
	return chunk;
}

/* For one piece alone; what room is left in the current chunk stays in use. */
static struct chunk *add_own(struct arena *arena, size_t size)
{
	struct chunk *chunk = chunk_new(size);
	if (arena->current) {
		chunk->next = arena->current->next;
		arena->current->next = chunk;
	} else {
		arena->current = chunk;
	}
	arena->total += sizeof *chunk + size;
	return chunk;
}

static struct chunk *chunk_for(struct arena *arena, size_t size)
{
	struct chunk *current = arena->current;
	size_t next = next_size(arena);
	if (current && current->size - current->used >= size)
		return current;
	bool own = size > next || (current && size > next / 2);
	return own ? add_own(arena, size) : add_shared(arena, next);
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
	const size_t alignment = alignof(max_align_t);
	if (size_bytes > SIZE_MAX / 2)
		abort();
	size_t size = (size_bytes + alignment - 1) & ~(alignment - 1);
	struct chunk *chunk = chunk_for(arena, size);
	void *memory = chunk->data + chunk->used;
	chunk->used += size;
	return memset(memory, 0, size);
}

void *arena_calloc(struct arena *arena, size_t count, size_t size_bytes)
{
	size_t total;
	if (__builtin_mul_overflow(count, size_bytes, &total))
		abort();
	return arena_alloc(arena, total);
}

str_t arena_text(struct arena *arena, const char *data, size_t len)
{
	if (!data)
		return STR_NONE;
	char *copy = arena_alloc(arena, len + 1);
	memcpy(copy, data, len);
	return (str_t){ copy, len };
}

str_t arena_str(struct arena *arena, str_t text)
{
	return arena_text(arena, text.ptr, text.len);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t len = strlen(text);
	return memcpy(arena_alloc(arena, len + 1), text, len);
}

str_t arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int len = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (len < 0)
		abort();
	char *text = arena_alloc(arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, format, again);
	va_end(again);
	return (str_t){ text, (size_t)len };
}

str_t arena_excerpt(struct arena *arena, str_t text, size_t bytes)
{
	if (!str_present(text) || text.len <= bytes)
		return text;
	static const char more[] = "…";
	size_t kept = utf8_valid_prefix(text.ptr, bytes);
	char *excerpt = arena_alloc(arena, kept + sizeof more);
	memcpy(excerpt, text.ptr, kept);
	memcpy(excerpt + kept, more, sizeof more);
	return (str_t){ excerpt, kept + sizeof more - 1 };
}

void arena_adopt(struct arena *parent, struct arena *child)
{
	if (!child)
		return;
	if (child->current) {
		/* behind the parent's current chunk, which may still have room */
		struct chunk *last = child->current;
		while (last->next)
			last = last->next;
		if (parent->current) {
			last->next = parent->current->next;
			parent->current->next = child->current;
		} else {
			parent->current = child->current;
		}
		parent->total += child->total;
		parent->shared += child->shared;
	}
	free(child);
}

size_t arena_size_bytes(const struct arena *arena)
{
	return arena->total;
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t item_size_bytes)
{
	if (count < *capacity)
		return items;
	size_t larger = *capacity ? *capacity * 2 : item_size_bytes > LARGE_ITEM_BYTES ? 2 : 8;
	void *copy = arena_calloc(arena, larger, item_size_bytes);
	if (count)
		memcpy(copy, items, count * item_size_bytes);
	*capacity = larger;
	return copy;
}
