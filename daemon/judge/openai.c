#include "judge/openai.h"

#include <jansson.h>

/* Counts above this are lies; they would spoil sums. */
#define TOKENS_MAX 1000000000

static void json_cleanup(json_t **json)
{
	json_decref(*json);
}

static json_t *verdict_schema(enum judge_question kind)
{
	json_t *verdict = kind == JUDGE_RELEVANCE ? json_pack("{s:s}", "type", "integer")
						  : json_pack("{s:s, s:[s, s, s]}", "type", "string", "enum",
							      "correct", "partial", "incorrect");
	const char *name = kind == JUDGE_RELEVANCE ? "score" : "verdict";
	return json_pack("{s:s, s:{s:{s:s}, s:o}, s:[s, s], s:b}", "type", "object", "properties", "reason",
			 "type", "string", name, verdict, "required", "reason", name, "additionalProperties",
			 0);
}

static json_t *response_format(const struct provider_request *request)
{
	if (request->structured == STRUCTURED_OBJECT)
		return json_pack("{s:s}", "type", "json_object");
	return json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name",
			 request->kind == JUDGE_RELEVANCE ? "relevance" : "correctness", "strict", 1,
			 "schema", verdict_schema(request->kind));
}

static bool write_request(const struct provider_request *request, struct buf *body)
{
	_cleanup_(json_cleanup) json_t *root = json_pack(
		"{s:s, s:i, s:[{s:s, s:s%}, {s:s, s:s%}]}", "model", request->model, "temperature", 0,
		"messages", "role", "system", "content", request->system.ptr, request->system.len, "role",
		"user", "content", request->user.ptr, request->user.len);
	if (!root)
		return false;
	if (request->structured != STRUCTURED_NONE)
		json_object_set_new(root, "response_format", response_format(request));
	size_t size = json_dumpb(root, NULL, 0, JSON_COMPACT);
	if (size == 0)
		return false;
	json_dumpb(root, buf_reserve(body, size), size, JSON_COMPACT);
	body->len += size;
	return true;
}

static int64_t token_count(const json_t *usage, const char *name)
{
	json_int_t count = json_integer_value(json_object_get(usage, name));
	return count < 0 ? 0 : count > TOKENS_MAX ? TOKENS_MAX : count;
}

static err_t read_answer(str_t body, struct arena *arena, struct provider_answer *ret_answer)
{
	_cleanup_(json_cleanup) json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	const json_t *choices = json_object_get(root, "choices");
	if (!json_is_array(choices))
		return ERR_JUDGE_REPLY;
	const json_t *content =
		json_object_get(json_object_get(json_array_get(choices, 0), "message"), "content");
	const json_t *usage = json_object_get(root, "usage");
	*ret_answer = (struct provider_answer){
		.text = arena_text(arena, json_string_value(content), json_string_length(content)),
		.prompt_tokens = token_count(usage, "prompt_tokens"),
		.completion_tokens = token_count(usage, "completion_tokens"),
	};
	return ERR_OK;
}

/* {"error": {"message": "…"}}; some servers say {"error": "…"}, {"message": "…"} or {"detail": "…"}. */
static str_t read_error(str_t body, struct arena *arena)
{
	_cleanup_(json_cleanup) json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	const json_t *error = json_object_get(root, "error");
	const json_t *found[] = { json_object_get(error, "message"), error, json_object_get(root, "message"),
				  json_object_get(root, "detail") };
	for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
		if (json_is_string(found[i]))
			return arena_text(arena, json_string_value(found[i]), json_string_length(found[i]));
	return STR_NONE;
}

static bool refuses_structured(str_t sentence)
{
	static const char *const names[] = { "response_format", "json_schema", "json_object" };
	for (size_t i = 0; sentence.ptr && i < sizeof names / sizeof names[0]; i++)
		if (strcasestr(sentence.ptr, names[i]))
			return true;
	return false;
}

const struct provider openai_provider = {
	.name = "openai",
	.path = "/chat/completions",
	.key_header = "Authorization: Bearer ",
	.write_request = write_request,
	.read_answer = read_answer,
	.read_error = read_error,
	.refuses_structured = refuses_structured,
};
