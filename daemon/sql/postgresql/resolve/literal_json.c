#include "sql/postgresql/resolve/literal_internal.h"

#include <ctype.h>

#define DEPTH_MAX	200
#define EXPONENT_DIGITS 4 /* of numbers that jsonb surely holds */
#define NOT_REPRESENTED "22P05"

struct reader {
	const char *at;
	bool binary;
	unsigned depth;
};

static void skip_space(struct reader *reader)
{
	while (*reader->at && strchr(" \t\n\r", *reader->at))
		reader->at++;
}

static size_t take_digits(struct reader *reader)
{
	const char *start = reader->at;
	while (literal_is_digit(*reader->at))
		reader->at++;
	return (size_t)(reader->at - start);
}

static bool is_word_byte(char c)
{
	return literal_is_digit(c) || literal_is_letter(c) || c == '_' || (unsigned char)c >= 0x80;
}

static literal_fault read_number(struct reader *reader)
{
	literal_fault fault = NULL;
	reader->at += *reader->at == '-';
	bool zero = *reader->at == '0';
	size_t whole = take_digits(reader);
	if (whole == 0 || (zero && whole > 1))
		return BAD_TEXT;
	if (*reader->at == '.') {
		reader->at++;
		if (take_digits(reader) == 0)
			return BAD_TEXT;
	}
	if (*reader->at == 'e' || *reader->at == 'E') {
		reader->at++;
		reader->at += *reader->at == '-' || *reader->at == '+';
		size_t exponent = take_digits(reader);
		if (exponent == 0)
			return BAD_TEXT;
		fault = reader->binary && exponent > EXPONENT_DIGITS ? LITERAL_DOUBT : NULL;
	}
	return is_word_byte(*reader->at) ? BAD_TEXT : fault;
}

static literal_fault read_unicode(struct reader *reader, unsigned *ret_code)
{
	*ret_code = 0;
	for (unsigned i = 0; i < 4; i++) {
		char c = *reader->at;
		if (!isxdigit((unsigned char)c))
			return BAD_TEXT;
		*ret_code = *ret_code * 16 +
			    (unsigned)(literal_is_digit(c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
		reader->at++;
	}
	if (!reader->binary)
		return NULL;
	return *ret_code == 0 ? NOT_REPRESENTED : NULL;
}

static bool is_high(unsigned code)
{
	return code >= 0xd800 && code < 0xdc00;
}

static bool is_low(unsigned code)
{
	return code >= 0xdc00 && code < 0xe000;
}

/* What follows a backslash; `high`: half of a pair that is still open. */
static literal_fault read_escape(struct reader *reader, bool *high)
{
	unsigned code = 0;
	char letter = *reader->at;
	if (letter == '\0' || !strchr("u\"\\/bfnrt", letter))
		return BAD_TEXT;
	reader->at++;
	literal_fault fault = letter == 'u' ? read_unicode(reader, &code) : NULL;
	if (fault || !reader->binary)
		return fault;
	if (is_low(code) != *high)
		return BAD_TEXT;
	*high = is_high(code);
	return NULL;
}

static literal_fault read_string(struct reader *reader)
{
	bool high = false, in_doubt = false;
	reader->at++;
	while (*reader->at != '"') {
		if ((unsigned char)*reader->at < ' ')
			return BAD_TEXT;
		if (*reader->at == '\\') {
			reader->at++;
			in_doubt |= reader->binary && *reader->at == 'u';
			literal_fault fault = read_escape(reader, &high);
			if (fault)
				return fault;
			continue;
		}
		if (high)
			return BAD_TEXT;
		reader->at++;
	}
	reader->at++;
	return high ? BAD_TEXT : in_doubt ? LITERAL_DOUBT : NULL;
}

static literal_fault read_word(struct reader *reader)
{
	const char *start = reader->at;
	while (is_word_byte(*reader->at))
		reader->at++;
	return STR_IS_ANY(((str_t){ start, (size_t)(reader->at - start) }), "true", "false", "null")
		       ? NULL
		       : BAD_TEXT;
}

static literal_fault read_value(struct reader *reader);

static literal_fault worse(literal_fault a, literal_fault b)
{
	return literal_is_refused(a) || !b ? a : b;
}

/* A member of an object, or of an array. */
static literal_fault read_member(struct reader *reader, bool of_object)
{
	literal_fault key = NULL;
	skip_space(reader);
	if (of_object) {
		if (*reader->at != '"')
			return BAD_TEXT;
		key = read_string(reader);
		if (literal_is_refused(key))
			return key;
		skip_space(reader);
		if (*reader->at++ != ':')
			return BAD_TEXT;
	}
	return worse(read_value(reader), key);
}

static literal_fault read_members(struct reader *reader, char end)
{
	literal_fault all = NULL;
	if (++reader->depth > DEPTH_MAX)
		return LITERAL_DOUBT;
	reader->at++;
	skip_space(reader);
	if (*reader->at == end) {
		reader->at++;
		reader->depth--;
		return NULL;
	}
	for (;;) {
		literal_fault fault = read_member(reader, end == '}');
		if (literal_is_refused(fault) || reader->depth > DEPTH_MAX)
			return fault;
		all = worse(all, fault);
		skip_space(reader);
		char next = *reader->at;
		if (next != ',' && next != end)
			return BAD_TEXT;
		reader->at++;
		if (next == end) {
			reader->depth--;
			return all;
		}
	}
}

static literal_fault read_value(struct reader *reader)
{
	skip_space(reader);
	char first = *reader->at;
	if (first == '{')
		return read_members(reader, '}');
	if (first == '[')
		return read_members(reader, ']');
	if (first == '"')
		return read_string(reader);
	if (first == '-' || literal_is_digit(first))
		return read_number(reader);
	return is_word_byte(first) ? read_word(reader) : BAD_TEXT;
}

literal_fault literal_json(const char *text, bool binary)
{
	struct reader reader = { .at = text, .binary = binary };
	literal_fault fault = read_value(&reader);
	if (literal_is_refused(fault) || reader.depth > DEPTH_MAX)
		return fault;
	skip_space(&reader);
	return *reader.at ? BAD_TEXT : fault;
}
