#include "sql/postgresql/parse.h"

#include "pg_query.h"
#include "pg_query_internal.h"

/* libpg_query counts characters from 1; we count bytes from 0. */
static size_t byte_offset(str_t text, int cursor)
{
	size_t at = 0;
	for (int passed = 1; passed < cursor && at < text.len; passed++) {
		at++;
		while (at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
			at++;
	}
	return at;
}

static void take_tree(struct parsed_statement *parsed, List *tree)
{
	parsed->statements = tree;
	parsed->count = (size_t)list_length(tree);
	if (parsed->count == 1)
		parsed->statement = ((RawStmt *)linitial(tree))->stmt;
}

void parse_begin(str_t text, struct arena *arena, struct parsed_statement *ret_parsed)
{
	*ret_parsed = (struct parsed_statement){ .text = text };
	ret_parsed->memory_context = pg_query_enter_memory_context();
	PgQueryInternalParsetreeAndError result = pg_query_raw_parse(text.ptr);
	free(result.stderr_buffer);
	if (result.error) {
		ret_parsed->error = arena_str(arena, str_from(result.error->message));
		ret_parsed->error_offset = byte_offset(text, result.error->cursorpos);
		pg_query_free_error(result.error);
		return;
	}
	take_tree(ret_parsed, result.tree);
}

void parse_end(struct parsed_statement *parsed)
{
	if (!parsed->memory_context)
		return;
	pg_query_exit_memory_context(parsed->memory_context);
	parsed->memory_context = NULL;
	parsed->statements = NIL;
	parsed->statement = NULL;
	parsed->count = 0;
}
