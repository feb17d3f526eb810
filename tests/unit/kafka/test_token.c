/* Answers of token endpoints: what is taken, and what hostile or broken ones get. */
#include "kafka/token.h"

#include "common/base64.h"
#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NOW_S INT64_C(1800000000)

/* A JSON web token with these claims, as a text in `out`. */
static const char *web_token(const char *claims, struct buf *out)
{
	buf_reset(out);
	buf_append_text(out, "e30.");
	size_t from = out->len;
	base64_append(out, claims, strlen(claims));
	while (out->data[out->len - 1] == '=')
		out->data[--out->len] = '\0';
	for (char *at = out->data + from; *at; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
	buf_append_text(out, ".c2ln");
	return out->data;
}

static void what_is_taken(void **state)
{
	static const struct {
		const char *claims; /* NULL: the token is none of JSON */
		const char *fields;
		int64_t lifetime_ms;
		const char *subject, *description;
	} cases[] = {
		{ NULL, "\"token_type\": \"Bearer\", \"expires_in\": 300", 300000, "", "" },
		{ NULL, "\"token_type\": \"bearer\", \"expires_in\": \"3599\"", 3599000, "", "" },
		{ NULL, "\"expires_in\": 1.5", 1500, "", "" },
		{ NULL, "\"expires_in\": 1e18", 86400000, "", "" },
		{ NULL, "\"expires_in\": 999999999999999", 86400000, "", "" },
		{ "{\"exp\": 1800000060}", "\"scope\": \"kafka\"", 60000, "", "" },
		{ "{\"exp\": 1800000060}", "\"expires_in\": null", 60000, "", "" },
		/* the end that comes first; one that has passed is another clock's */
		{ "{\"exp\": 1800000060}", "\"expires_in\": 300", 60000, "", "" },
		{ "{\"exp\": 1800000600}", "\"expires_in\": 300", 300000, "", "" },
		{ "{\"exp\": 1700000000}", "\"expires_in\": 300", 300000, "", "" },
		{ "{\"exp\": \"soon\"}", "\"expires_in\": 300", 300000, "", "" },
		{ "{\"sub\": \"a\", \"aud\": [\"b\", 3, \"c\"], \"scope\": \"d e\", \"iss\": \"https://f\"}",
		  "\"expires_in\": 300", 300000, "a",
		  "subject \"a\", audience \"b\", audience \"c\", scope \"d e\", issuer \"https://f\"" },
		{ "{\"sub\": \"a\\u001b[2J\xc3\xa4\", \"aud\": {\"b\": 1}}", "\"expires_in\": 300", 300000,
		  "a?[2J??", "subject \"a?[2J??\"" },
		{ "{\"sub\": ", "\"expires_in\": 300", 300000, "", "" },
		{ "[1]", "\"expires_in\": 300", 300000, "", "" },
	};
	_cleanup_(buf_free) struct buf jwt = BUF_INIT, answer = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct token token;
		struct err_detail detail = { "" };
		const char *value = cases[i].claims ? web_token(cases[i].claims, &jwt) : "opaque-token~1.==";
		buf_reset(&answer);
		buf_printf(&answer, "{\"access_token\": \"%s\", %s}", value, cases[i].fields);
		if (token_read(buf_str(&answer), NOW_S * 1000, &token, &detail))
			fail_msg("case %zu: %s", i, detail.message);
		assert_string_equal(token.value, value);
		assert_int_equal(token.lifetime_ms, cases[i].lifetime_ms);
		assert_string_equal(token.subject, cases[i].subject);
		assert_string_equal(token.description, cases[i].description);
		token_free(&token);
		assert_null(token.value);
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *answer, *said;
	} cases[] = {
		{ "", "no JSON object" },
		{ "<html>", "no JSON object" },
		{ "[]", "no JSON object" },
		{ "{\"access_token\": \"secret\"", "no JSON object" },
		{ "{\"access_token\": \"secret\", \"access_token\": \"secret\", \"expires_in\": 9}",
		  "no JSON object" },
		{ "{}", "no access_token" },
		{ "{\"access_token\": \"\", \"expires_in\": 9}", "no access_token" },
		{ "{\"access_token\": 5, \"expires_in\": 9}", "no access_token" },
		{ "{\"access_token\": \"secret secret\", \"expires_in\": 9}", "characters" },
		{ "{\"access_token\": \"secret\\u0000\", \"expires_in\": 9}", "no JSON object" },
		{ "{\"access_token\": \"secret\\u0001auth=x\", \"expires_in\": 9}", "characters" },
		{ "{\"access_token\": \"===\", \"expires_in\": 9}", "characters" },
		{ "{\"access_token\": \"secret\", \"token_type\": \"mac\", \"expires_in\": 9}",
		  "not Bearer" },
		{ "{\"access_token\": \"secret\"}", "how long the token lives" },
		{ "{\"access_token\": \"secret\", \"expires_in\": 0}", "less than a second" },
		{ "{\"access_token\": \"secret\", \"expires_in\": -1}", "less than a second" },
		{ "{\"access_token\": \"secret\", \"expires_in\": \"\"}", "no number of seconds" },
		{ "{\"access_token\": \"secret\", \"expires_in\": \"-5\"}", "no number of seconds" },
		{ "{\"access_token\": \"secret\", \"expires_in\": \"9999999999999999\"}",
		  "no number of seconds" },
		{ "{\"access_token\": \"secret\", \"expires_in\": true}", "no number of seconds" },
		{ "{\"access_token\": \"secret\", \"expires_in\": [9]}", "no number of seconds" },
		/* {"exp":1700000000} */
		{ "{\"access_token\": \"a.eyJleHAiOjE3MDAwMDAwMDB9.b\"}", "has expired already" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct token token;
		struct err_detail detail = { "" };
		if (token_read(str_from(cases[i].answer), NOW_S * 1000, &token, &detail) !=
			    ERR_KAFKA_UNAVAILABLE ||
		    !strstr(detail.message, cases[i].said) || strstr(detail.message, "secret"))
			fail_msg("case %zu: %s", i, detail.message);
	}
}

static void sizes(void **state)
{
	_cleanup_(buf_free) struct buf answer = BUF_INIT;
	(void)state;
	for (size_t len = TOKEN_VALUE_MAX; len <= TOKEN_VALUE_MAX + 1; len++) {
		struct token token;
		buf_reset(&answer);
		buf_append_text(&answer, "{\"expires_in\": 9, \"access_token\": \"");
		for (size_t i = 0; i < len; i++)
			buf_append_char(&answer, i == 9 || i == len - 9 ? '.' : 'A');
		buf_append_text(&answer, "\"}");
		err_t err = token_read(buf_str(&answer), 0, &token, NULL);
		assert_int_equal(err, len > TOKEN_VALUE_MAX ? ERR_KAFKA_UNAVAILABLE : ERR_OK);
		if (!err)
			token_free(&token);
	}
	/* deeper than any answer, which a parser must survive */
	buf_reset(&answer);
	for (size_t i = 0; i < 60000; i++)
		buf_append_char(&answer, '[');
	assert_int_equal(token_read(buf_str(&answer), 0, &(struct token){ NULL, 0, "", "" }, NULL),
			 ERR_KAFKA_UNAVAILABLE);
}

static void refusals(void **state)
{
	static const struct {
		const char *answer, *code, *text;
	} cases[] = {
		{ "{\"error\": \"invalid_client\", \"error_description\": \"no such client\"}",
		  "invalid_client", "invalid_client: no such client" },
		{ "{\"error\": \"invalid_scope\"}", "invalid_scope", "invalid_scope" },
		{ "{\"error_description\": \"what\\nnow\"}", "", "what?now" },
		{ "{\"error\": \"a\", \"error_description\": \"your secret is hunter2\"}", "a", "a" },
		{ "{\"error\": {\"message\": \"a\"}}", "", "" },
		{ "<html>", "", "" },
		{ "", "", "" },
	};
	struct token_refusal refusal;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		token_read_refusal(str_from(cases[i].answer), "hunter2", &refusal);
		assert_string_equal(refusal.code, cases[i].code);
		assert_string_equal(refusal.text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(sizes),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
