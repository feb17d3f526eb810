#include "sql/lex/texts.h"

void texts_add(struct arena *arena, struct texts *texts, str_t text)
{
	ARENA_PUSH(arena, texts->items, texts->count, texts->capacity, text);
}

void texts_sort(struct texts *texts)
{
	if (texts->count == 2 && str_compare(texts->items[0], texts->items[1]) > 0) {
		str_t first = texts->items[0];
		texts->items[0] = texts->items[1];
		texts->items[1] = first;
	} else if (texts->count > 2) {
		qsort(texts->items, texts->count, sizeof texts->items[0], str_compare_items);
	}
}

void texts_unique(struct texts *texts)
{
	size_t kept = 0;
	texts_sort(texts);
	for (size_t i = 0; i < texts->count; i++)
		if (kept == 0 || !str_equal(texts->items[kept - 1], texts->items[i]))
			texts->items[kept++] = texts->items[i];
	texts->count = kept;
}
