#include "sql/findings/analysis_copy.h"

/* All texts go into one block: an arena would round each of them up. */
struct texts_block {
	char *next; /* NULL: only the size is wanted */
	size_t bytes;
};

static str_t take_text(struct texts_block *block, str_t text)
{
	if (!str_present(text))
		return STR_NONE;
	block->bytes += text.len + 1;
	if (!block->next)
		return text;
	char *copy = memcpy(block->next, text.ptr, text.len);
	copy[text.len] = '\0';
	block->next += text.len + 1;
	return (str_t){ copy, text.len };
}

static const str_t *take_texts(struct texts_block *block, const str_t *texts, size_t count,
			       struct arena *arena)
{
	str_t *copy = block->next && count ? ARENA_ARRAY(arena, str_t, count) : NULL;
	for (size_t i = 0; i < count; i++) {
		str_t text = take_text(block, texts[i]);
		if (copy)
			copy[i] = text;
	}
	return copy;
}

static void *take_array(const struct texts_block *block, const void *items, size_t count, size_t item_bytes,
			struct arena *arena)
{
	if (!block->next || count == 0)
		return NULL;
	return memcpy(arena_calloc(arena, count, item_bytes), items, count * item_bytes);
}

static void take_diagnostics(struct texts_block *block, const struct sql_analysis *from, struct arena *arena,
			     struct sql_analysis *to)
{
	struct sql_diagnostic *items = take_array(block, from->diagnostics, from->diagnostics_count,
						  sizeof from->diagnostics[0], arena);
	for (size_t i = 0; i < from->diagnostics_count; i++) {
		str_t object = take_text(block, from->diagnostics[i].object);
		str_t message = take_text(block, from->diagnostics[i].message);
		if (!items)
			continue;
		items[i].object = object;
		items[i].message = message;
	}
	to->diagnostics = items;
}

static void take_violations(struct texts_block *block, const struct sql_analysis *from, struct arena *arena,
			    struct sql_analysis *to)
{
	struct sql_violation *items = take_array(block, from->violations, from->violations_count,
						 sizeof from->violations[0], arena);
	for (size_t i = 0; i < from->violations_count; i++) {
		str_t detail = take_text(block, from->violations[i].detail);
		if (items)
			items[i].detail = detail;
	}
	to->violations = items;
}

static void take_all(struct texts_block *block, const struct sql_analysis *from, struct arena *arena,
		     struct sql_analysis *to)
{
	*to = *from;
	to->text = take_text(block, from->text);
	to->canonical = take_text(block, from->canonical);
	to->shape = take_text(block, from->shape);
	to->doubt = take_text(block, from->doubt);
	take_diagnostics(block, from, arena, to);
	take_violations(block, from, arena, to);
	to->tables = take_texts(block, from->tables, from->tables_count, arena);
	for (size_t i = 0; i < SQL_CLAUSE_COUNT_; i++)
		to->clauses[i].items =
			take_texts(block, from->clauses[i].items, from->clauses[i].count, arena);
	to->order_keys = take_array(block, from->order_keys, from->order_keys_count,
				    sizeof from->order_keys[0], arena);
	to->inner_cuts = take_array(block, from->inner_cuts, from->inner_cuts_count,
				    sizeof from->inner_cuts[0], arena);
}

void analysis_copy(const struct sql_analysis *analysis, struct arena *arena,
		   struct sql_analysis *ret_analysis)
{
	struct texts_block block = { NULL, 0 };
	struct sql_analysis measured;
	take_all(&block, analysis, arena, &measured);
	block.next = arena_alloc(arena, block.bytes + 1);
	take_all(&block, analysis, arena, ret_analysis);
}
