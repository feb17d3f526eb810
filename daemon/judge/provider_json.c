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
