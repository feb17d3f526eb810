#include "sql/lex/scan_text.h"

#include "common/buf.h"
#include "sql/lex/scan.h"

static bool is_literal(enum scan_kind kind)
{
	return kind == SCAN_STRING || kind == SCAN_NUMBER || kind == SCAN_PARAMETER;
}

/* MySQL may tell names apart by the case of their letters. */
static void append_token(struct buf *buf, str_t sql, struct scan_token token, enum sql_dialect dialect)
{
	bool fold = token.kind == SCAN_WORD && dialect != SQL_MYSQL;
	for (size_t i = token.offset; i < token.offset + token.len; i++) {
		char byte = sql.ptr[i];
		buf_append_char(buf, fold && byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte);
	}
}

/* Two operator characters keep whether there was space between them. */
static bool needs_space(enum scan_kind previous, enum scan_kind kind, bool apart)
{
	if (previous == SCAN_END)
		return false;
	return previous != SCAN_OTHER || kind != SCAN_OTHER || apart;
}

/* One more of a list of literals adds nothing to its shape. */
static bool continues_list(const struct buf *buf)
{
	return buf->len >= 4 && memcmp(buf->data + buf->len - 4, "? , ", 4) == 0;
}

static str_t join_tokens(str_t sql, enum sql_dialect dialect, bool masked, struct arena *arena)
{
	struct buf buf = BUF_INIT;
	enum scan_kind previous = SCAN_END;
	size_t end = 0;
	struct scan_token token = scan_next(sql, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_next(sql, token.offset + token.len, dialect)) {
		if (scan_is_char(sql, token, ';'))
			continue; /* there is one statement */
		if (needs_space(previous, token.kind, masked || token.offset > end))
			buf_append_char(&buf, ' ');
		if (!masked || !is_literal(token.kind))
			append_token(&buf, sql, token, dialect);
		else if (continues_list(&buf))
			buf.data[buf.len -= 3] = '\0';
		else
			buf_append_char(&buf, '?');
		previous = token.kind;
		end = token.offset + token.len;
	}
	str_t text = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return text;
}

str_t scan_text(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	return join_tokens(sql, dialect, false, arena);
}

str_t scan_text_masked(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	return join_tokens(sql, dialect, true, arena);
}
