#include "judge/anthropic.h"

#include "judge/provider_json.h"

/* The interface wants a bound; a verdict with its reason is far below it. */
#define ANSWER_TOKENS_MAX 1024

/* Structured output is the input of a tool that the model is made to call. */
static void write_tool(const struct provider_request *request, struct buf *body)
{
	if (request->structured != STRUCTURED_SCHEMA)
		return;
	buf_append_text(body, ",\"tools\":[{\"name\":\"verdict\",\"description\":\"Takes the verdict on the "
			      "query.\",\"input_schema\":");
	buf_append_text(body, provider_verdict_schema(request->kind));
	buf_append_text(body, "}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"verdict\"}");
}

static bool write_request(const struct provider_request *request, struct buf *body)
{
	buf_append_text(body, "{\"model\":");
	bool written = provider_write_text(str_from(request->model), body);
	buf_printf(body, ",\"max_tokens\":%d,\"temperature\":0,\"system\":", ANSWER_TOKENS_MAX);
	written = written && provider_write_text(request->system, body);
	buf_append_text(body, ",\"messages\":[{\"role\":\"user\",\"content\":");
	written = written && provider_write_text(request->user, body);
	buf_append_text(body, "}]");
	write_tool(request, body);
	buf_append_char(body, '}');
	return written;
}

/* The text of one block of the answer: a tool's input as JSON, or plain text. */
static void append_block(const json_t *block, struct buf *text)
{
	const json_t *input = json_object_get(block, "input"), *plain = json_object_get(block, "text");
	if (json_is_object(input))
		provider_write_json(input, text);
	else if (json_is_string(plain))
		buf_append(text, json_string_value(plain), json_string_length(plain));
}

static err_t read_answer(str_t body, struct arena *arena, struct provider_answer *ret_answer)
{
	_cleanup_(provider_json_cleanup) json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	const json_t *content = json_object_get(root, "content"), *block;
	const json_t *usage = json_object_get(root, "usage");
	size_t i;
	if (!json_is_array(content))
		return ERR_JUDGE_REPLY;
	json_array_foreach(content, i, block) append_block(block, &text);
	*ret_answer = (struct provider_answer){
		.text = arena_text(arena, text.data, text.len),
		.prompt_tokens = provider_token_count(usage, "input_tokens"),
		.completion_tokens = provider_token_count(usage, "output_tokens"),
	};
	return ERR_OK;
}

static bool refuses_structured(str_t sentence)
{
	return sentence.ptr && strcasestr(sentence.ptr, "tool");
}

const struct provider anthropic_provider = {
	.name = "anthropic",
	.path = "/messages",
	.key_header = "x-api-key: ",
	.more_header = "anthropic-version: 2023-06-01",
	.write_request = write_request,
	.read_answer = read_answer,
	.read_error = provider_read_error,
	.refuses_structured = refuses_structured,
};
