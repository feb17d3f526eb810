/*
 * Arena: memory that is released all at once.
 *
 * Every in-flight event has one; a branch that works beside it gets a child of its own, which the event
 * adopts when the branch is done. Not thread-safe: one owner at a time. Running out of memory aborts the
 * process (sizes are bounded before anything is allocated from foreign data).
 */
#pragma once

#include "common/cleanup.h"
#include "common/str.h"

struct arena;

/* New, empty arena; the caller owns it. */
struct arena *arena_new(void);

/* Releases everything; NULL is fine. */
void arena_free(struct arena *arena);

DEFINE_CLEANUP(struct arena, arena_cleanup, arena_free)

/* Zeroed memory of `size` bytes, aligned for any type; lives as long as the arena. Never NULL. */
void *arena_alloc(struct arena *arena, size_t size_bytes) __attribute__((malloc, alloc_size(2)));

/* Zeroed array; aborts when count × size overflows. */
void *arena_calloc(struct arena *arena, size_t count, size_t size_bytes);

#define ARENA_NEW(arena, type)		((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_calloc((arena), (count), sizeof(type)))

/* Copies `len` bytes and adds a NUL. A NULL `data` gives STR_NONE. */
str_t arena_text(struct arena *arena, const char *data, size_t len);

/* Copies a text; an absent one stays absent. */
str_t arena_str(struct arena *arena, str_t text);

/* Copies a C string. */
char *arena_strdup(struct arena *arena, const char *text);

/* Formatted text in the arena. */
str_t arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text, or, of one that is longer, at most `bytes` of it, whole characters, and "…". Of an absent text
 * none. */
str_t arena_excerpt(struct arena *arena, str_t text, size_t bytes);

/* Moves all memory of `child` into `parent` and releases the child's handle. NULL child: nothing. */
void arena_adopt(struct arena *parent, struct arena *child);

/* Bytes held from the system, for the accounting of bytes in flight. */
size_t arena_size_bytes(const struct arena *arena);

/* Grows an arena array for appending: when `count` has reached `*capacity`, returns a copy twice as large
 * (the old one stays in the arena), else `items` itself. Use through ARENA_PUSH. */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t item_size_bytes);

/* Appends `value` to the arena array `items` with its `count` and `capacity`. */
#define ARENA_PUSH(arena, items, count, capacity, ...)                                                       \
	do {                                                                                                 \
		(items) = arena_grow((arena), (items), (count), &(capacity), sizeof *(items));               \
		(items)[(count)++] = __VA_ARGS__;                                                            \
	} while (0)
