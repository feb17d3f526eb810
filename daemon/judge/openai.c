#include "judge/openai.h"

#include "judge/provider_json.h"

static void write_format(const struct provider_request *request, struct buf *body)
{
	if (request->structured == STRUCTURED_NONE)
		return;
	if (request->structured == STRUCTURED_OBJECT) {
		buf_append_text(body, ",\"response_format\":{\"type\":\"json_object\"}");
		return;
	}
	buf_append_text(body, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"");
	buf_append_text(body, request->kind == JUDGE_RELEVANCE ? "relevance" : "correctness");
	buf_append_text(body, "\",\"strict\":true,\"schema\":");
	buf_append_text(body, provider_verdict_schema(request->kind));
	buf_append_text(body, "}}");
}

static bool write_request(const struct provider_request *request, struct buf *body)
{
	buf_append_text(body, "{\"model\":");
	bool written = provider_write_text(str_from(request->model), body);
	buf_append_text(body, ",\"temperature\":0,\"messages\":[{\"role\":\"system\",\"content\":");
	written = written && provider_write_text(request->system, body);
	buf_append_text(body, "},{\"role\":\"user\",\"content\":");
	written = written && provider_write_text(request->user, body);
	buf_append_text(body, "}]");
	write_format(request, body);
	buf_append_char(body, '}');
	return written;
}

static err_t read_answer(str_t body, struct arena *arena, struct provider_answer *ret_answer)
{
	_cleanup_(provider_json_cleanup) json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	const json_t *choices = json_object_get(root, "choices");
	if (!json_is_array(choices))
		return ERR_JUDGE_REPLY;
	const json_t *content =
		json_object_get(json_object_get(json_array_get(choices, 0), "message"), "content");
	const json_t *usage = json_object_get(root, "usage");
	*ret_answer = (struct provider_answer){
		.text = arena_text(arena, json_string_value(content), json_string_length(content)),
		.prompt_tokens = provider_token_count(usage, "prompt_tokens"),
		.completion_tokens = provider_token_count(usage, "completion_tokens"),
	};
	return ERR_OK;
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
	.read_error = provider_read_error,
	.refuses_structured = refuses_structured,
};
