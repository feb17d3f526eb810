#include "compare/document.h"

#define DEPTH_LIMIT 64

/* With `out` NULL a value is only skipped over. */
struct document_parser {
	const char *at;
	const char *end;
	struct compare_reading *out;
	struct arena *arena;
	int depth;
	bool texts; /* elements of arrays are no numbers */
};

struct document_member {
	str_t name; /* decoded */
	size_t index;
	const char *value;
};

static bool parse_value(struct document_parser *parser);

static void emit(struct document_parser *parser, const char *mark)
{
	if (parser->out)
		buf_append_text(&parser->out->exact, mark);
}

static void emit_number(struct document_parser *parser, str_t number)
{
	if (parser->out)
		compare_push_number_or_key(parser->out, number);
}

static void emit_text(struct document_parser *parser, str_t text)
{
	if (parser->out)
		compare_push_text(parser->out, text);
}

static char peek(const struct document_parser *parser)
{
	return parser->at < parser->end ? *parser->at : '\0';
}

static void skip_space(struct document_parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) && *parser->at)
		parser->at++;
}

static bool take(struct document_parser *parser, char byte)
{
	skip_space(parser);
	if (parser->at >= parser->end || *parser->at != byte)
		return false;
	parser->at++;
	return true;
}

static bool take_literal(struct document_parser *parser, const char *literal)
{
	size_t len = strlen(literal);
	if ((size_t)(parser->end - parser->at) < len || memcmp(parser->at, literal, len) != 0)
		return false;
	parser->at += len;
	return true;
}

static bool take_hex4(struct document_parser *parser, uint32_t *ret_code)
{
	uint32_t code = 0;
	if (parser->end - parser->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		char lower = (char)(*parser->at | 0x20);
		const char *digit = lower ? strchr(digits, lower) : NULL;
		if (!digit || (*parser->at < '0'))
			return false;
		code = code * 16 + (uint32_t)(digit - digits);
		parser->at++;
	}
	*ret_code = code;
	return true;
}

static size_t put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = len - 1; i > 0; i--) {
		to[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	to[0] = (char)(lead[len] | code);
	return len;
}

/* Behind `\u`: one code point, from two halves where it takes them. */
static bool take_code_point(struct document_parser *parser, uint32_t *ret_code)
{
	uint32_t code, low;
	if (!take_hex4(parser, &code))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (!take_literal(parser, "\\u") || !take_hex4(parser, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	*ret_code = code;
	return true;
}

/* Behind the backslash: writes the bytes that the escape stands for. */
static bool take_escape(struct document_parser *parser, char bytes[4], size_t *ret_len)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char name = peek(parser);
	if (!name)
		return false;
	parser->at++;
	if (name == 'u') {
		uint32_t code;
		if (!take_code_point(parser, &code))
			return false;
		*ret_len = put_utf8(bytes, code);
		return true;
	}
	const char *found = strchr(names, name);
	if (!found)
		return false;
	bytes[0] = meanings[found - names];
	*ret_len = 1;
	return true;
}

static const char *closing_quote(const struct document_parser *parser)
{
	const char *at = parser->at;
	while (at < parser->end && *at != '"')
		at += *at == '\\' ? 2 : 1;
	return at < parser->end ? at : NULL;
}

/* A string of JSON, decoded into the arena (an escape is never shorter than what it stands for); with
 * `ret_text` NULL only checked. */
static bool take_string(struct document_parser *parser, str_t *ret_text)
{
	if (!take(parser, '"'))
		return false;
	const char *quote = closing_quote(parser);
	if (!quote)
		return false;
	char *text = ret_text ? arena_alloc(parser->arena, (size_t)(quote - parser->at) + 1) : NULL;
	size_t len = 0;
	while (parser->at < quote) {
		char bytes[4] = { *parser->at++ };
		size_t bytes_len = 1;
		if (bytes[0] == '\\' && !take_escape(parser, bytes, &bytes_len))
			return false;
		if (text)
			memcpy(text + len, bytes, bytes_len);
		len += bytes_len;
	}
	parser->at = quote + 1;
	if (ret_text)
		*ret_text = (str_t){ text, len };
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct document_member *left = a, *right = b;
	size_t shorter = left->name.len < right->name.len ? left->name.len : right->name.len;
	int order = memcmp(left->name.ptr, right->name.ptr, shorter);
	if (order == 0 && left->name.len != right->name.len)
		order = left->name.len < right->name.len ? -1 : 1;
	if (order == 0)
		order = left->index < right->index ? -1 : 1;
	return order;
}

static void emit_members(struct document_parser *parser, struct document_member *members, size_t count)
{
	if (count > 1)
		qsort(members, count, sizeof *members, by_name);
	emit(parser, "{");
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && str_equal(members[i].name, members[i + 1].name))
			continue;
		struct document_parser value = *parser;
		value.at = members[i].value;
		emit_text(parser, members[i].name);
		parse_value(&value);
	}
	emit(parser, "}");
}

/* Values are skipped first and read in the order of their names afterwards. */
static bool parse_object(struct document_parser *parser)
{
	struct document_member *members = NULL;
	size_t count = 0, capacity = 0;
	struct compare_reading *out = parser->out;
	parser->at++;
	parser->out = NULL;
	while (!take(parser, '}')) {
		struct document_member member = { .index = count };
		if ((count > 0 && !take(parser, ',')) || !take_string(parser, &member.name) ||
		    !take(parser, ':'))
			return false;
		member.value = parser->at;
		if (!parse_value(parser))
			return false;
		if (out)
			ARENA_PUSH(parser->arena, members, count, capacity, member);
		else
			count++;
	}
	parser->out = out;
	if (out)
		emit_members(parser, members, count);
	return true;
}

static bool parse_list(struct document_parser *parser)
{
	parser->at++;
	emit(parser, "[");
	for (size_t count = 0; !take(parser, ']'); count++)
		if ((count > 0 && !take(parser, ',')) || !parse_value(parser))
			return false;
	emit(parser, "]");
	return true;
}

static bool parse_scalar(struct document_parser *parser)
{
	if (peek(parser) == '"') {
		str_t text = STR_NONE;
		bool read = take_string(parser, parser->out ? &text : NULL);
		if (read)
			emit_text(parser, text);
		return read;
	}
	static const char *const literals[][2] = { { "true", "t" }, { "false", "f" }, { "null", "n" } };
	for (size_t i = 0; i < 3; i++)
		if (take_literal(parser, literals[i][0])) {
			emit(parser, literals[i][1]);
			return true;
		}
	size_t len =
		peek(parser) == '+'
			? 0
			: compare_number_length((str_t){ parser->at, (size_t)(parser->end - parser->at) });
	if (len == 0)
		return false;
	emit_number(parser, (str_t){ parser->at, len });
	parser->at += len;
	return true;
}

static bool parse_value(struct document_parser *parser)
{
	skip_space(parser);
	if (parser->depth >= DEPTH_LIMIT)
		return false;
	parser->depth++;
	bool read = peek(parser) == '{'	  ? parse_object(parser)
		    : peek(parser) == '[' ? parse_list(parser)
					  : parse_scalar(parser);
	parser->depth--;
	return read;
}

/* Runs `parse` over the whole text; what it appended is taken back when it fails. */
static bool read_whole(struct compare_reading *reading, str_t text, bool texts,
		       bool (*parse)(struct document_parser *))
{
	struct document_parser parser = { text.ptr, text.ptr + text.len, reading, reading->arena, 0, texts };
	size_t exact_len = reading->exact.len, numbers_count = reading->numbers_count;
	size_t spans_count = reading->spans_count;
	bool read = parse(&parser);
	skip_space(&parser);
	if (read && parser.at == parser.end)
		return true;
	reading->exact.len = exact_len;
	reading->numbers_count = numbers_count;
	reading->spans_count = spans_count;
	return false;
}

bool compare_read_json(struct compare_reading *reading, str_t text)
{
	return read_whole(reading, text, false, parse_value);
}

/* "[2:4]=" before an array whose subscripts do not start at 1. */
static void skip_bounds(struct document_parser *parser)
{
	const char *equals =
		peek(parser) == '[' ? memchr(parser->at, '=', (size_t)(parser->end - parser->at)) : NULL;
	if (equals)
		parser->at = equals + 1;
}

static bool take_quoted_element(struct document_parser *parser)
{
	parser->at++;
	const char *quote = closing_quote(parser);
	if (!quote)
		return false;
	char *text = arena_alloc(parser->arena, (size_t)(quote - parser->at) + 1);
	size_t len = 0;
	while (parser->at < quote) {
		if (*parser->at == '\\')
			parser->at++;
		text[len++] = *parser->at++;
	}
	parser->at = quote + 1;
	emit_text(parser, (str_t){ text, len });
	return true;
}

static bool take_bare_element(struct document_parser *parser)
{
	const char *start = parser->at;
	while (parser->at < parser->end && !strchr(",{}\"", *parser->at))
		parser->at++;
	str_t text = compare_trim((str_t){ start, (size_t)(parser->at - start) });
	if (text.len == 0)
		return false;
	if (text.len == 4 && strncasecmp(text.ptr, "null", 4) == 0)
		emit(parser, "n");
	else if (!parser->texts && compare_number_length(text) == text.len)
		emit_number(parser, text);
	else
		emit_text(parser, text);
	return true;
}

static bool parse_array(struct document_parser *parser)
{
	if (parser->depth >= DEPTH_LIMIT || !take(parser, '{'))
		return false;
	parser->depth++;
	emit(parser, "[");
	for (size_t count = 0; !take(parser, '}'); count++) {
		if (count > 0 && !take(parser, ','))
			return false;
		skip_space(parser);
		bool read = peek(parser) == '{'	  ? parse_array(parser)
			    : peek(parser) == '"' ? take_quoted_element(parser)
						  : take_bare_element(parser);
		if (!read)
			return false;
	}
	emit(parser, "]");
	parser->depth--;
	return true;
}

static bool parse_whole_array(struct document_parser *parser)
{
	skip_bounds(parser);
	return parse_array(parser);
}

bool compare_read_array(struct compare_reading *reading, str_t text)
{
	return read_whole(reading, text, false, parse_whole_array);
}

bool compare_read_text_array(struct compare_reading *reading, str_t text)
{
	return read_whole(reading, text, true, parse_whole_array);
}
