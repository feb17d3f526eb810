#include "sql/postgresql/parse/hints.h"

#include "sql/findings/instead.h"

static const struct instead table[] = {
#define INSTEAD(word, use) { (word), (use) },
#include "sql/postgresql/parse/instead.def"
};

#define TABLE_SIZE (sizeof table / sizeof table[0])

str_t hint_of_function(str_t name, struct arena *arena)
{
	return instead_hint(instead_of_function(table, TABLE_SIZE, name), arena);
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

str_t hint_of_syntax(str_t sql, size_t offset, struct arena *arena)
{
	if (has_escaped_quote(sql, offset))
		return STR("; a quote inside of a text is doubled, or the text is written E'…'");
	return instead_hint(instead_near(table, TABLE_SIZE, sql, offset, SQL_POSTGRESQL), arena);
}
