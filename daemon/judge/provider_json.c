#include "judge/provider_json.h"

#include <endian.h>

#define TOKENS_MAX 1000000000

#define SCHEMA(name, type)                                                                                   \
	"{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\"},\"" name "\":" type           \
	"},\"required\":[\"reason\",\"" name "\"],\"additionalProperties\":false}"

const char *provider_verdict_schema(enum judge_question kind)
{
	static const char *const schemas[] = {
		[JUDGE_RELEVANCE] = SCHEMA("score", "{\"type\":\"integer\"}"),
		[JUDGE_CORRECTNESS] = SCHEMA(
			"verdict", "{\"type\":\"string\",\"enum\":[\"correct\",\"partial\",\"incorrect\"]}"),
	};
	return schemas[kind];
}

bool provider_write_json(const json_t *json, struct buf *text)
{
	size_t size = json_dumpb(json, NULL, 0, JSON_COMPACT);
	if (size == 0)
		return false;
	json_dumpb(json, buf_reserve(text, size + 1), size, JSON_COMPACT);
	text->len += size;
	text->data[text->len] = 0;
	return true;
}

/* Length of the UTF-8 sequence at `at` (RFC 3629, table of section 4), 0 when it is none. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
	unsigned char lead = at[0], low = 0x80, high = 0xbf;
	size_t len = lead < 0x80   ? 1
		     : lead < 0xc2 ? 0
		     : lead < 0xe0 ? 2
		     : lead < 0xf0 ? 3
		     : lead < 0xf5 ? 4
				   : 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f; /* surrogates */
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++, low = 0x80, high = 0xbf)
		if (at[i] < low || at[i] > high)
			return 0;
	return len;
}

static void append_escape(struct buf *json, unsigned char byte)
{
	static const char hexadecimal[] = "0123456789abcdef";
	char escape[6] = { '\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15] };
	if (byte == '"' || byte == '\\')
		buf_append(json, (char[]){ '\\', (char)byte }, 2);
	else if (byte == '\n')
		buf_append(json, "\\n", 2);
	else
		buf_append(json, escape, sizeof escape);
}

/* All bytes of a word set to `byte`. */
static uint64_t every(unsigned char byte)
{
	return UINT64_C(0x0101010101010101) * byte;
}

/* The top bit of the lowest byte of `word` that is below `bound` (at most 0x80) is set in the result, and
 * perhaps bits above it; 0: there is none. */
static uint64_t any_below(uint64_t word, unsigned char bound)
{
	return (word - every(bound)) & ~word & every(0x80);
}

/* How many bytes at `at` surely stand for themselves; looks at eight of them at once. */
static size_t plain_length(const unsigned char *at, size_t left)
{
	size_t len = 0;
	for (uint64_t word; left - len >= sizeof word; len += sizeof word) {
		memcpy(&word, at + len, sizeof word);
		word = le64toh(word);
		uint64_t others = (word & every(0x80)) | any_below(word, ' ') |
				  any_below(word ^ every('"'), 1) | any_below(word ^ every('\\'), 1) |
				  any_below(word ^ every(0x7f), 1);
		if (others)
			return len + (size_t)__builtin_ctzll(others) / 8;
	}
	return len;
}

bool provider_write_text(str_t text, struct buf *json)
{
	const unsigned char *at = (const unsigned char *)text.ptr, *end = at + text.len, *from = at;
	buf_reserve(json, text.len + text.len / 8 + 2);
	buf_append_char(json, '"');
	while (at < end) {
		at += plain_length(at, (size_t)(end - at));
		if (at == end)
			break;
		size_t len = *at < 0x80 ? 1 : sequence_length(at, (size_t)(end - at));
		if (len == 0)
			return false;
		if (*at < ' ' || *at == '"' || *at == '\\' || *at == 0x7f) {
			buf_append(json, from, (size_t)(at - from));
			append_escape(json, *at);
			from = at + 1;
		}
		at += len;
	}
	buf_append(json, from, (size_t)(at - from));
	buf_append_char(json, '"');
	return true;
}

int64_t provider_token_count(const json_t *usage, const char *name)
{
	json_int_t count = json_integer_value(json_object_get(usage, name));
	return count < 0 ? 0 : count > TOKENS_MAX ? TOKENS_MAX : count;
}

str_t provider_read_error(str_t body, struct arena *arena)
{
	_cleanup_(provider_json_cleanup) json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	const json_t *error = json_object_get(root, "error");
	const json_t *found[] = { json_object_get(error, "message"), error, json_object_get(root, "message"),
				  json_object_get(root, "detail") };
	for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
		if (json_is_string(found[i]))
			return arena_text(arena, json_string_value(found[i]), json_string_length(found[i]));
	return STR_NONE;
}
