#include "judge/provider_json.h"

#define TOKENS_MAX 1000000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_count(int64_t count)
{
	return count >= 0 && count <= TOKENS_MAX;
}

/* Whatever a server answers, as a success and as an error. */
static void read_body(const struct provider *provider, str_t body)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct provider_answer answer;
	if (provider->read_answer(body, arena, &answer) == ERR_OK &&
	    (!is_count(answer.prompt_tokens) || !is_count(answer.completion_tokens) ||
	     (answer.text.ptr && answer.text.ptr[answer.text.len] != 0)))
		abort();
	str_t sentence = provider->read_error(body, arena);
	provider->refuses_structured(sentence);
}

/* The text that a request carries in the message of the user. */
static const json_t *message_of(const json_t *request)
{
	const json_t *messages = json_object_get(request, "messages");
	return json_object_get(json_array_get(messages, json_array_size(messages) - 1), "content");
}

/* Any text at all in a request: it comes out as it went in, or is refused for what is no UTF-8. */
static void write_body(const struct provider *provider, enum structured_output structured, str_t text)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT;
	_cleanup_(provider_json_cleanup) json_t *expected = json_stringn(text.ptr, text.len);
	struct provider_request request = { "model", JUDGE_CORRECTNESS, structured, STR("system"), text };
	if (provider->write_request(&request, &body) != (expected != NULL))
		abort();
	if (!expected)
		return;
	_cleanup_(provider_json_cleanup) json_t *read =
		json_loadb(body.data, body.len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	if (!json_equal(message_of(read), expected))
		abort();
}

/* The first byte says which provider, and how the form of the answer is asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const struct provider *provider = provider_find(data[0] & 1 ? "openai" : "anthropic");
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	buf_append(&text, data + 1, size - 1);
	read_body(provider, buf_str(&text));
	write_body(provider, data[0] / 2 % 3, buf_str(&text));
	return 0;
}
