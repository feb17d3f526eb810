#include "judge/provider.h"
#include "judge/provider_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_find(void **state)
{
	(void)state;
	assert_string_equal(provider_find("openai")->path, "/chat/completions");
	assert_string_equal(provider_find("anthropic")->path, "/messages");
	assert_null(provider_find("OpenAI"));
	assert_null(provider_find(""));
	assert_null(provider_find(NULL));
}

#define SCHEMA(name, type)                                                                                   \
	"{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\"},\"" name "\":" type           \
	"},\"required\":[\"reason\",\"" name "\"],\"additionalProperties\":false}"
#define SCORE	SCHEMA("score", "{\"type\":\"integer\"}")
#define VERDICT SCHEMA("verdict", "{\"type\":\"string\",\"enum\":[\"correct\",\"partial\",\"incorrect\"]}")
#define OPENAI                                                                                               \
	"{\"model\":\"m\",\"temperature\":0,\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"          \
	"{\"role\":\"user\",\"content\":\"u \\\"\\n\xc3\xa4\"}]"
#define ANTHROPIC                                                                                            \
	"{\"model\":\"m\",\"max_tokens\":1024,\"temperature\":0,\"system\":\"s\",\"messages\":["             \
	"{\"role\":\"user\",\"content\":\"u \\\"\\n\xc3\xa4\"}]"

static void test_requests(void **state)
{
	(void)state;
	static const struct {
		const char *provider;
		enum judge_question kind;
		enum structured_output structured;
		const char *body;
	} cases[] = {
		{ "openai", JUDGE_RELEVANCE, STRUCTURED_NONE, OPENAI "}" },
		{ "openai", JUDGE_RELEVANCE, STRUCTURED_OBJECT,
		  OPENAI ",\"response_format\":{\"type\":\"json_object\"}}" },
		{ "openai", JUDGE_RELEVANCE, STRUCTURED_SCHEMA,
		  OPENAI
		  ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"relevance\","
		  "\"strict\":true,\"schema\":" SCORE "}}}" },
		{ "openai", JUDGE_CORRECTNESS, STRUCTURED_SCHEMA,
		  OPENAI
		  ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"correctness\","
		  "\"strict\":true,\"schema\":" VERDICT "}}}" },
		{ "anthropic", JUDGE_RELEVANCE, STRUCTURED_NONE, ANTHROPIC "}" },
		{ "anthropic", JUDGE_RELEVANCE, STRUCTURED_OBJECT, ANTHROPIC "}" },
		{ "anthropic", JUDGE_CORRECTNESS, STRUCTURED_SCHEMA,
		  ANTHROPIC
		  ",\"tools\":[{\"name\":\"verdict\",\"description\":\"Takes the verdict on the query.\","
		  "\"input_schema\":" VERDICT
		  "}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"verdict\"}}" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf body = BUF_INIT;
		struct provider_request request = { "m", cases[i].kind, cases[i].structured, STR("s"),
						    STR("u \"\n\xc3\xa4") };
		assert_true(provider_find(cases[i].provider)->write_request(&request, &body));
		assert_string_equal(body.data, cases[i].body);
		assert_int_equal(strlen(body.data), body.len);
		request.user = STR("\xff");
		assert_false(provider_find(cases[i].provider)->write_request(&request, &body));
	}
}

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		const char *provider;
		const char *body;
		err_t error;
		const char *text;
		int64_t prompt_tokens, completion_tokens;
	} cases[] = {
		{ "openai",
		  "{\"choices\":[{\"message\":{\"content\":\"hi\"}}],\"usage\":{\"prompt_tokens\":3,"
		  "\"completion_tokens\":4}}",
		  ERR_OK, "hi", 3, 4 },
		{ "openai", "{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}", ERR_OK, "hi", 0, 0 },
		{ "openai",
		  "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no\"}}],\"usage\":{\"prompt_"
		  "tokens\":3}}",
		  ERR_OK, NULL, 3, 0 },
		{ "openai", "{\"choices\":[],\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":1e3}}",
		  ERR_OK, NULL, 0, 0 },
		{ "openai", "{\"choices\":[7],\"usage\":{\"prompt_tokens\":9000000000000}}", ERR_OK, NULL,
		  1000000000, 0 },
		{ "openai", "{\"choices\":{}}", ERR_JUDGE_REPLY, NULL, 0, 0 },
		{ "openai", "[]", ERR_JUDGE_REPLY, NULL, 0, 0 },
		{ "openai", "", ERR_JUDGE_REPLY, NULL, 0, 0 },
		{ "openai", "<html>", ERR_JUDGE_REPLY, NULL, 0, 0 },
		{ "openai", "{\"choices\":[{\"message\":{\"content\":\"hi\"}}]} trailing", ERR_JUDGE_REPLY,
		  NULL, 0, 0 },
		{ "anthropic",
		  "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}],"
		  "\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}",
		  ERR_OK, "ab", 3, 4 },
		{ "anthropic",
		  "{\"content\":[{\"type\":\"tool_use\",\"name\":\"verdict\",\"input\":{\"reason\":\"r\","
		  "\"score\":5}}]}",
		  ERR_OK, "{\"reason\":\"r\",\"score\":5}", 0, 0 },
		{ "anthropic", "{\"content\":[]}", ERR_OK, NULL, 0, 0 },
		{ "anthropic", "{\"content\":\"text\"}", ERR_JUDGE_REPLY, NULL, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct provider_answer answer = { STR_NONE, 0, 0 };
		err_t err = provider_find(cases[i].provider)
				    ->read_answer(str_from(cases[i].body), arena, &answer);
		assert_string_equal(err_name(err), err_name(cases[i].error));
		assert_int_equal(!answer.text.ptr, !cases[i].text);
		if (cases[i].text)
			assert_string_equal(answer.text.ptr, cases[i].text);
		assert_int_equal(answer.prompt_tokens, cases[i].prompt_tokens);
		assert_int_equal(answer.completion_tokens, cases[i].completion_tokens);
	}
}

static void test_error_sentences(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		const char *sentence;
		bool openai_refuses, anthropic_refuses;
	} cases[] = {
		{ "{\"error\":{\"message\":\"'response_format' of type 'json_schema' is not supported\"}}",
		  "'response_format' of type 'json_schema' is not supported", true, false },
		{ "{\"error\":\"no such model\"}", "no such model", false, false },
		{ "{\"message\":\"Response_Format is unavailable\"}", "Response_Format is unavailable", true,
		  false },
		{ "{\"detail\":\"tools are not supported\"}", "tools are not supported", false, true },
		{ "{\"detail\":[{\"msg\":\"x\"}]}", NULL, false, false },
		{ "<html>", NULL, false, false },
		{ "", NULL, false, false },
	};
	const struct provider *openai = provider_find("openai"), *anthropic = provider_find("anthropic");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		str_t sentence = openai->read_error(str_from(cases[i].body), arena);
		assert_int_equal(!sentence.ptr, !cases[i].sentence);
		if (cases[i].sentence)
			assert_string_equal(sentence.ptr, cases[i].sentence);
		assert_int_equal(openai->refuses_structured(sentence), cases[i].openai_refuses);
		assert_int_equal(anthropic->refuses_structured(sentence), cases[i].anthropic_refuses);
	}
}

/* Every byte, and sequences of two and three at the bounds of UTF-8: what is written reads back as it was,
 * and what the JSON library refuses is refused. */
static void test_texts(void **state)
{
	(void)state;
	static const unsigned char bytes[] = { 0x00, 0x1f, '"',	 '\\', 0x7f, 0x80, 0x8f, 0x90,
					       0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
					       0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5 };
	for (uint32_t i = 0; i < 256 * 22 * 22 * 22; i++) {
		const char text[] = { (char)(i % 256), (char)bytes[i / 256 % 22], (char)bytes[i / 5632 % 22],
				      (char)bytes[i / 123904] };
		if (i % 256 < 0xc0 && i % 7 != 0)
			continue; /* leads alone are tried with everything */
		_cleanup_(buf_free) struct buf json = BUF_INIT;
		_cleanup_(provider_json_cleanup) json_t *expected = json_stringn(text, sizeof text);
		assert_int_equal(provider_write_text((str_t){ text, sizeof text }, &json), expected != NULL);
		if (!expected)
			continue;
		_cleanup_(provider_json_cleanup) json_t *read =
			json_loadb(json.data, json.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_true(json_equal(read, expected));
	}
}

/* Every byte at every place of a text that is mostly plain, which is read by eights. */
static void test_places_in_texts(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 26; len++) {
		for (size_t at = 0; at < len; at++) {
			for (unsigned byte = 0; byte < 256; byte++) {
				char text[26];
				memset(text, 'x', sizeof text);
				text[at] = (char)byte;
				_cleanup_(buf_free) struct buf json = BUF_INIT;
				_cleanup_(provider_json_cleanup) json_t *expected = json_stringn(text, len);
				assert_int_equal(provider_write_text((str_t){ text, len }, &json),
						 expected != NULL);
				if (!expected)
					continue;
				_cleanup_(provider_json_cleanup) json_t *read = json_loadb(
					json.data, json.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
				assert_true(json_equal(read, expected));
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	cmocka_unit_test(test_requests),
		cmocka_unit_test(test_answers), cmocka_unit_test(test_error_sentences),
		cmocka_unit_test(test_texts),	cmocka_unit_test(test_places_in_texts),
	};
	return cmocka_run_group_tests_name("provider", tests, NULL, NULL);
}
