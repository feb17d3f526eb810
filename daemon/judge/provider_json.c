#include "judge/provider_json.h"

#define TOKENS_MAX 1000000000

json_t *provider_verdict_schema(enum judge_question kind)
{
	json_t *verdict = kind == JUDGE_RELEVANCE ? json_pack("{s:s}", "type", "integer")
						  : json_pack("{s:s, s:[s, s, s]}", "type", "string", "enum",
							      "correct", "partial", "incorrect");
	const char *name = kind == JUDGE_RELEVANCE ? "score" : "verdict";
	return json_pack("{s:s, s:{s:{s:s}, s:o}, s:[s, s], s:b}", "type", "object", "properties", "reason",
			 "type", "string", name, verdict, "required", "reason", name, "additionalProperties",
			 0);
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

bool provider_write_text(str_t text, struct buf *json)
{
	const unsigned char *at = (const unsigned char *)text.ptr, *end = at + text.len, *from = at;
	buf_reserve(json, text.len + text.len / 8 + 2);
	buf_append_char(json, '"');
	while (at < end) {
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
