#include "sql/lex/scan.h"

#include <ctype.h>
#include <strings.h>

static char byte_at(str_t sql, size_t offset)
{
	return offset < sql.len ? sql.ptr[offset] : '\0';
}

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_word_char(char c)
{
	return is_word_start(c) || isdigit((unsigned char)c) || c == '$';
}

static struct scan_token token(enum scan_kind kind, size_t offset, size_t end)
{
	return (struct scan_token){ kind, offset, end - offset };
}

static struct scan_token broken(str_t sql, size_t offset)
{
	return token(SCAN_BROKEN, offset, sql.len);
}

/* From `start`, where the opening quote stands, to behind the closing one; a doubled quote stays inside. */
static struct scan_token quoted(str_t sql, size_t offset, size_t start, char close, bool backslash,
				enum scan_kind kind)
{
	for (size_t i = start + 1; i < sql.len; i++) {
		if (backslash && sql.ptr[i] == '\\') {
			i++;
		} else if (sql.ptr[i] == close) {
			if (byte_at(sql, i + 1) != close || close == ']')
				return token(kind, offset, i + 1);
			i++;
		}
	}
	return broken(sql, offset);
}

/* A carriage return ends it for PostgreSQL alone. */
static struct scan_token line_comment(str_t sql, size_t offset, enum sql_dialect dialect)
{
	size_t end = offset;
	while (end < sql.len && sql.ptr[end] != '\n' && (sql.ptr[end] != '\r' || dialect != SQL_POSTGRESQL))
		end++;
	return token(SCAN_COMMENT, offset, end);
}

static struct scan_token block_comment(str_t sql, size_t offset, enum sql_dialect dialect)
{
	unsigned depth = 1;
	for (size_t i = offset + 2; i + 1 < sql.len; i++) {
		if (sql.ptr[i] == '*' && sql.ptr[i + 1] == '/') {
			i++;
			if (--depth == 0)
				return token(SCAN_COMMENT, offset, i + 1);
		} else if (dialect == SQL_POSTGRESQL && sql.ptr[i] == '/' && sql.ptr[i + 1] == '*') {
			i++;
			depth++;
		}
	}
	/* SQLite lets the end of the text close a comment. */
	return dialect == SQL_SQLITE ? token(SCAN_COMMENT, offset, sql.len) : broken(sql, offset);
}

/* $tag$ … $tag$, or a parameter $1, or a lone dollar. */
static struct scan_token dollar(str_t sql, size_t offset)
{
	size_t tag_end = offset + 1;
	while (tag_end < sql.len && is_word_char(sql.ptr[tag_end]) && sql.ptr[tag_end] != '$')
		tag_end++;
	if (byte_at(sql, tag_end) != '$' || isdigit((unsigned char)byte_at(sql, offset + 1)))
		return token(tag_end > offset + 1 ? SCAN_PARAMETER : SCAN_OTHER, offset, tag_end);
	size_t tag_len = tag_end + 1 - offset;
	const char *body = sql.ptr + tag_end + 1;
	const char *close = memmem(body, sql.len - tag_end - 1, sql.ptr + offset, tag_len);
	return close ? token(SCAN_STRING, offset, (size_t)(close - sql.ptr) + tag_len) : broken(sql, offset);
}

static struct scan_token number(str_t sql, size_t offset)
{
	size_t i = offset;
	if (sql.ptr[i] == '0' && (byte_at(sql, i + 1) | 0x20) == 'x') {
		for (i += 2; isxdigit((unsigned char)byte_at(sql, i));)
			i++;
		return token(SCAN_NUMBER, offset, i);
	}
	while (isdigit((unsigned char)byte_at(sql, i)))
		i++;
	if (byte_at(sql, i) == '.' && byte_at(sql, i + 1) != '.')
		for (i++; isdigit((unsigned char)byte_at(sql, i));)
			i++;
	if ((byte_at(sql, i) | 0x20) == 'e') {
		size_t exponent = i + 1;
		if (byte_at(sql, exponent) == '+' || byte_at(sql, exponent) == '-')
			exponent++;
		if (isdigit((unsigned char)byte_at(sql, exponent)))
			for (i = exponent; isdigit((unsigned char)byte_at(sql, i));)
				i++;
	}
	return token(SCAN_NUMBER, offset, i);
}

static struct scan_token word(str_t sql, size_t offset)
{
	size_t end = offset;
	while (end < sql.len && is_word_char(sql.ptr[end]))
		end++;
	return token(SCAN_WORD, offset, end);
}

/* Literals with a letter before their quote: e'…', b'…', x'…', n'…', u&'…', u&"…". */
static bool prefixed(str_t sql, size_t offset, enum sql_dialect dialect, struct scan_token *ret_token)
{
	char letter = (char)(sql.ptr[offset] | 0x20);
	if (dialect == SQL_POSTGRESQL && letter == 'u' && byte_at(sql, offset + 1) == '&') {
		char quote = byte_at(sql, offset + 2);
		if (quote != '\'' && quote != '"')
			return false;
		*ret_token = quoted(sql, offset, offset + 2, quote, false,
				    quote == '"' ? SCAN_QUOTED : SCAN_STRING);
		return true;
	}
	const char *letters = dialect == SQL_POSTGRESQL ? "ebxn" : dialect == SQL_SQLITE ? "x" : "bxn";
	if (byte_at(sql, offset + 1) != '\'' || !strchr(letters, letter))
		return false;
	bool backslash = dialect == SQL_POSTGRESQL ? letter == 'e' : dialect == SQL_MYSQL && letter == 'n';
	*ret_token = quoted(sql, offset, offset + 1, '\'', backslash, SCAN_STRING);
	return true;
}

static struct scan_token special(str_t sql, size_t offset, enum sql_dialect dialect)
{
	bool mysql = dialect == SQL_MYSQL;
	switch (sql.ptr[offset]) {
	case '\'':
		return quoted(sql, offset, offset, '\'', mysql, SCAN_STRING);
	case '"':
		return quoted(sql, offset, offset, '"', mysql, mysql ? SCAN_STRING : SCAN_QUOTED);
	case '`':
		if (dialect == SQL_POSTGRESQL)
			break;
		return quoted(sql, offset, offset, '`', false, SCAN_QUOTED);
	case '[':
		if (dialect != SQL_SQLITE)
			break;
		return quoted(sql, offset, offset, ']', false, SCAN_QUOTED);
	case '$':
		if (dialect == SQL_POSTGRESQL)
			return dollar(sql, offset);
		break;
	case '?':
		if (dialect != SQL_POSTGRESQL)
			return token(SCAN_PARAMETER, offset, offset + 1);
		break;
	case '-':
		if (byte_at(sql, offset + 1) == '-')
			return line_comment(sql, offset, dialect);
		break;
	case '#':
		if (mysql)
			return line_comment(sql, offset, dialect);
		break;
	case '/':
		if (byte_at(sql, offset + 1) == '*')
			return block_comment(sql, offset, dialect);
		break;
	default:
		break;
	}
	return token(SCAN_OTHER, offset, offset + 1);
}

struct scan_token scan_token_at(str_t sql, size_t offset, enum sql_dialect dialect)
{
	if (offset >= sql.len)
		return token(SCAN_END, sql.len, sql.len);
	char c = sql.ptr[offset];
	if (isspace((unsigned char)c)) {
		size_t end = offset;
		while (end < sql.len && isspace((unsigned char)sql.ptr[end]))
			end++;
		return token(SCAN_SPACE, offset, end);
	}
	struct scan_token literal;
	if (is_word_start(c))
		return prefixed(sql, offset, dialect, &literal) ? literal : word(sql, offset);
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)byte_at(sql, offset + 1))))
		return number(sql, offset);
	return special(sql, offset, dialect);
}

struct scan_token scan_next(str_t sql, size_t offset, enum sql_dialect dialect)
{
	for (;;) {
		struct scan_token next = scan_token_at(sql, offset, dialect);
		if (next.kind != SCAN_SPACE && next.kind != SCAN_COMMENT)
			return next;
		offset = next.offset + next.len;
	}
}

bool scan_is_word(str_t sql, struct scan_token token, const char *expected)
{
	return token.kind == SCAN_WORD && strlen(expected) == token.len &&
	       strncasecmp(sql.ptr + token.offset, expected, token.len) == 0;
}

bool scan_is_name(struct scan_token token)
{
	return token.kind == SCAN_WORD || token.kind == SCAN_QUOTED;
}

str_t scan_name(str_t sql, struct scan_token token)
{
	size_t quote = token.kind == SCAN_QUOTED && token.len >= 2 ? 1 : 0;
	return (str_t){ sql.ptr + token.offset + quote, token.len - 2 * quote };
}

bool scan_is_char(str_t sql, struct scan_token token, char byte)
{
	return token.kind == SCAN_OTHER && sql.ptr[token.offset] == byte;
}
