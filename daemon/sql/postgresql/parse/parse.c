#include "sql/postgresql/parse/parse.h"

#include "sql/findings/instead.h"
#include "sql/lex/scan.h"
#include "sql/postgresql/parse/parse_tokens.h"

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

/* False: it does not parse; the error is in place. */
static bool parse_text(str_t text, struct arena *arena, struct parsed_statement *parsed)
{
	parsed->memory_context = pg_query_enter_memory_context();
	PgQueryInternalParsetreeAndError result = pg_query_raw_parse(text.ptr);
	free(result.stderr_buffer);
	if (result.error) {
		parsed->error = arena_str(arena, str_from(result.error->message));
		parsed->error_offset = byte_offset(text, result.error->cursorpos);
		pg_query_free_error(result.error);
		return false;
	}
	parsed->error = STR_NONE;
	parsed->error_offset = 0;
	take_tree(parsed, result.tree);
	return true;
}

/* The text with blanks for its comments, or absent when it has none. */
static str_t without_comments(str_t text, struct arena *arena)
{
	size_t count;
	const struct parse_token *tokens = parse_tokens(text, arena, &count);
	char *blanked = NULL;
	for (size_t i = 0; i < count; i++) {
		if (tokens[i].kind != PARSE_TOKEN_COMMENT)
			continue;
		if (!blanked) {
			blanked = arena_alloc(arena, text.len + 1);
			memcpy(blanked, text.ptr, text.len);
			blanked[text.len] = '\0';
		}
		memset(blanked + tokens[i].offset, ' ', tokens[i].len);
	}
	return blanked ? (str_t){ blanked, text.len } : STR_NONE;
}

void parse_begin(str_t text, struct arena *arena, struct parsed_statement *ret_parsed)
{
	*ret_parsed = (struct parsed_statement){ .text = text };
	if (parse_text(text, arena, ret_parsed))
		return;
	/* Where the grammar looks a word ahead (NULLS FIRST, NOT IN, WITH ORDINALITY), the library stumbles
	 * over a comment that the server skips. */
	parse_end(ret_parsed);
	str_t blanked = without_comments(text, arena);
	struct parsed_statement again = { .text = text };
	if (str_present(blanked) && parse_text(blanked, arena, &again)) {
		*ret_parsed = again;
		return;
	}
	parse_end(&again);
}

/* A text that ends with a backslash, in front of the error or at it: its quote was meant to be a part of it.
 */
static bool has_escaped_quote(str_t sql, size_t offset)
{
	struct scan_token token = scan_next(sql, 0, SQL_POSTGRESQL);
	for (; token.kind != SCAN_END && token.offset <= offset;
	     token = scan_next(sql, token.offset + token.len, SQL_POSTGRESQL)) {
		bool is_text = sql.ptr[token.offset] == '\'' && token.len > 2;
		if (is_text && memcmp(sql.ptr + token.offset + token.len - 2, "\\'", 2) == 0)
			return true;
	}
	return false;
}

str_t parse_hint(const struct parsed_statement *parsed, struct arena *arena)
{
	if (!str_present(parsed->error))
		return STR("");
	if (has_escaped_quote(parsed->text, parsed->error_offset))
		return STR("; a quote inside of a text is doubled, or the text is written E'…'");
	return instead_near(parsed->text, parsed->error_offset, SQL_POSTGRESQL, arena);
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
