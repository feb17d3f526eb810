#include "sql/postgresql/parse/parse_tokens.h"

#include "pg_query.h"

/* Numbers of pg_query.proto: tokens of the scanner, fields of ScanResult and ScanToken. */
enum { TOKEN_FCONST = 260, TOKEN_SCONST, TOKEN_USCONST, TOKEN_BCONST, TOKEN_XCONST };
enum { TOKEN_ICONST = 266, TOKEN_SQL_COMMENT = 275, TOKEN_C_COMMENT = 276 };
enum { FIELD_TOKENS = 2, FIELD_START = 1, FIELD_END = 2, FIELD_TOKEN = 4 };

/* Wire types of protocol buffers. */
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct wire {
	const unsigned char *at;
	const unsigned char *end;
};

static uint64_t take_varint(struct wire *wire)
{
	uint64_t value = 0;
	for (unsigned shift = 0; wire->at < wire->end && shift < 64; shift += 7) {
		unsigned char byte = *wire->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* The next field: its number, and its value or its bytes. False at the end. */
static bool take_field(struct wire *wire, unsigned *ret_field, uint64_t *ret_value, struct wire *ret_bytes)
{
	if (wire->at >= wire->end)
		return false;
	uint64_t key = take_varint(wire);
	*ret_field = (unsigned)(key >> 3);
	*ret_value = take_varint(wire);
	*ret_bytes = (struct wire){ wire->at, wire->at };
	if ((key & 7) == WIRE_VARINT)
		return true;
	if ((key & 7) != WIRE_BYTES || *ret_value > (uint64_t)(wire->end - wire->at))
		return false;
	wire->at += *ret_value;
	ret_bytes->end = wire->at;
	return true;
}

static enum parse_token_kind kind_of(uint64_t token)
{
	switch (token) {
	case TOKEN_FCONST:
	case TOKEN_SCONST:
	case TOKEN_USCONST:
	case TOKEN_BCONST:
	case TOKEN_XCONST:
	case TOKEN_ICONST:
		return PARSE_TOKEN_LITERAL;
	case TOKEN_SQL_COMMENT:
	case TOKEN_C_COMMENT:
		return PARSE_TOKEN_COMMENT;
	default:
		return PARSE_TOKEN_OTHER;
	}
}

static struct parse_token read_token(struct wire wire, size_t limit)
{
	uint64_t start = 0, end = 0, token = 0, value;
	unsigned field;
	struct wire bytes;
	while (take_field(&wire, &field, &value, &bytes)) {
		if (field == FIELD_START)
			start = value;
		else if (field == FIELD_END)
			end = value;
		else if (field == FIELD_TOKEN)
			token = value;
	}
	if (end > limit || start > end)
		start = end = limit;
	return (struct parse_token){ kind_of(token), (size_t)start, (size_t)(end - start) };
}

/* The scanner does not tell where a U&'…' ends: all up to the next token is of it. */
static size_t length_up_to(str_t text, size_t offset, size_t next)
{
	while (next > offset && strchr(" \t\r\n\f\v", text.ptr[next - 1]))
		next--;
	return next > offset ? next - offset : 0;
}

struct parse_token *parse_tokens(str_t text, struct arena *arena, size_t *ret_count)
{
	PgQueryScanResult result = pg_query_scan(text.ptr);
	struct wire wire = { NULL, NULL };
	if (result.pbuf.data) { /* there is none when the scanner refuses the text */
		wire.at = (const unsigned char *)result.pbuf.data;
		wire.end = wire.at + result.pbuf.len;
	}
	struct parse_token *tokens = NULL;
	size_t count = 0, capacity = 0;
	uint64_t value;
	unsigned field;
	struct wire bytes;
	while (!result.error && take_field(&wire, &field, &value, &bytes))
		if (field == FIELD_TOKENS)
			ARENA_PUSH(arena, tokens, count, capacity, read_token(bytes, text.len));
	pg_query_free_scan_result(result);
	for (size_t i = 0; i < count; i++)
		if (tokens[i].len == 0)
			tokens[i].len = length_up_to(text, tokens[i].offset,
						     i + 1 < count ? tokens[i + 1].offset : text.len);
	*ret_count = count;
	return tokens;
}
