/* What a registry answers, from the first request to a schema that refers to nothing outside. */
#include "../support.h"

#include "avro/registry/registry_fetch.h"
#include "avro/registry/registry_inline.h"
#include "avro/schema_tree.h"

#include <stdlib.h>

static struct registry_request answered(long status, const char *body)
{
	struct registry_request request = { .status = status, .reached = true, .content_type = "text/html" };
	buf_append_text(&request.answer, body);
	return request;
}

static enum registry_outcome take(struct registry_fetch *fetch, long status, const char *body,
				  struct err_detail *detail)
{
	struct registry_request request = answered(status, body);
	enum registry_outcome outcome = registry_fetch_take(fetch, &request, detail);
	registry_request_free(&request);
	return outcome;
}

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		long status;
		const char *body;
		enum registry_outcome outcome;
		const char *says;
	} CASES[] = {
		{ 200, "{\"schema\": \"\\\"string\\\"\"}", REGISTRY_COMPLETE, "" },
		{ 200, "{\"schema\": \"x\", \"schemaType\": \"AVRO\", \"references\": null}",
		  REGISTRY_COMPLETE, "" },
		{ 200, "{\"schema\": \"x\", \"schemaType\": \"PROTOBUF\"}", REGISTRY_REFUSED, "PROTOBUF" },
		{ 200, "{\"schema\": 7}", REGISTRY_ODD, "schema" },
		{ 200, "<html>", REGISTRY_ODD,
		  "what answers there is no schema registry (HTTP 200, text/html); correct registry.urls" },
		{ 200, "{\"schema\": \"x\", \"schema\": \"y\"}", REGISTRY_ODD, "duplicate" },
		{ 200, "{\"schema\": \"x\", \"references\": [{\"name\": \"a\"}]}", REGISTRY_ODD,
		  "reference" },
		{ 200, "{\"schema\": \"x\", \"references\": {}}", REGISTRY_ODD, "references" },
		{ 404, "{\"error_code\": 40403, \"message\": \"Schema not found\"}", REGISTRY_ABSENT,
		  "Schema not found" },
		{ 404, "", REGISTRY_ODD,
		  "it answers HTTP 404, text/html; what answers there is no schema registry: correct "
		  "registry.urls" },
		{ 405, "<html>", REGISTRY_ODD, "is no schema registry" },
		{ 404, "{\"error_code\": 404, \"message\": \"HTTP 404 Not Found\"}", REGISTRY_ODD,
		  "is no schema registry" },
		{ 200, "\x1f\x8b\x08", REGISTRY_ODD, "the answer is compressed (gzip)" },
		{ 418, "{\"error_code\": 41800, \"message\": \"\\u001b[2J\\nshort\"}", REGISTRY_ODD,
		  "HTTP 418, \\u001b[2J\\nshort" },
		{ 401, "", REGISTRY_UNAVAILABLE, "registry.user" },
		{ 429, "", REGISTRY_UNAVAILABLE, "HTTP 429, text/html; it limits requests" },
		{ 500, "{\"error_code\": 50001, \"message\": \"store\"}", REGISTRY_UNAVAILABLE,
		  "it answers HTTP 500, store; see the log of the registry" },
		{ 503, "{}", REGISTRY_UNAVAILABLE,
		  "HTTP 503, text/html; see the log of the registry, and of" },
		{ 302, "", REGISTRY_ODD, "redirects" },
	};
	const struct schema_name name = { .id = 7 };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct registry_fetch *fetch = registry_fetch_new(&name);
		struct err_detail detail = { "" };
		assert_string_equal(registry_fetch_path(fetch), "/schemas/ids/7");
		if (take(fetch, CASES[i].status, CASES[i].body, &detail) != CASES[i].outcome ||
		    !strstr(detail.message, CASES[i].says))
			fail_msg("HTTP %ld %s: %s", CASES[i].status, CASES[i].body, detail.message);
		registry_fetch_free(fetch);
	}
}

static void test_compressed(void **state)
{
	(void)state;
	static const struct {
		const char *encoding, *says;
	} CASES[] = { { "br", "the answer is compressed (br)" }, { "identity", "the answer is no JSON" } };
	const struct schema_name name = { .id = 7 };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct registry_fetch *fetch = registry_fetch_new(&name);
		struct registry_request request = answered(200, "x");
		struct err_detail detail = { "" };
		snprintf(request.encoding, sizeof request.encoding, "%s", CASES[i].encoding);
		assert_int_equal(registry_fetch_take(fetch, &request, &detail), REGISTRY_ODD);
		assert_non_null(strstr(detail.message, CASES[i].says));
		registry_request_free(&request);
		registry_fetch_free(fetch);
	}
}

static void test_short_answers_first(void **state)
{
	(void)state;
	struct list finished = LIST_INIT(finished);
	struct registry_request requests[] = {
		answered(200, "four"), answered(200, "two"), { .status = 0 }, answered(200, "one")
	};
	static const size_t order[] = { 2, 1, 3, 0 };
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		list_append(&finished, &requests[i].node);
	for (size_t i = 0; i < COUNT_OF(order); i++)
		assert_ptr_equal(registry_request_take(&finished), &requests[order[i]]);
	assert_null(registry_request_take(&finished));
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		registry_request_free(&requests[i]);
}

static void test_no_answer(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	struct registry_request request = { .fault = "refused" };
	assert_int_equal(registry_failure(&request, &detail), REGISTRY_UNAVAILABLE);
	assert_string_equal(detail.message, "refused");
	request.reached = true;
	assert_int_equal(registry_failure(&request, &detail), REGISTRY_ODD);
	snprintf(request.fault, sizeof request.fault, "SSL certificate problem: self-signed certificate");
	assert_int_equal(registry_failure(&request, &detail), REGISTRY_ODD);
	assert_non_null(strstr(detail.message, "self-signed certificate; set registry.ca_file"));
	snprintf(request.fault, sizeof request.fault, "Operation timed out after 1000 milliseconds");
	assert_int_equal(registry_failure(&request, &detail), REGISTRY_ODD);
	assert_non_null(strstr(detail.message, "milliseconds; see whether it hangs (its log)"));
}

#define RECORD(name, space, fields)                                                                          \
	"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"" name "\\\",\\\"namespace\\\":\\\"" space            \
	"\\\",\\\"fields\\\":[" fields "]}"
#define FIELD(name, type)	    "{\\\"name\\\":\\\"" name "\\\",\\\"type\\\":\\\"" type "\\\"}"
#define REFERENCE(subject, version) "{\"name\":\"n\",\"subject\":\"" subject "\",\"version\":" version "}"

static void test_references(void **state)
{
	(void)state;
	const struct schema_name name = { .by_guid = true };
	struct registry_fetch *fetch = registry_fetch_new(&name);
	struct err_detail detail = { "" };
	assert_string_equal(registry_fetch_path(fetch),
			    "/schemas/guids/00000000-0000-0000-0000-000000000000");
	assert_int_equal(
		take(fetch, 200,
		     "{\"schema\":\"" RECORD(
			     "A", "n",
			     FIELD("b", "B") "," FIELD("c", "m.C") "," FIELD(
				     "again",
				     "n.B")) "\",\"references\":[" REFERENCE("b/1",
									     "1") "," REFERENCE("c",
												"2") "]}",
		     &detail),
		REGISTRY_MORE);
	assert_string_equal(registry_fetch_path(fetch), "/subjects/b%2F1/versions/1");
	/* it refers to the other one, too, which is asked for once */
	assert_int_equal(
		take(fetch, 200,
		     "{\"schema\":\"" RECORD("B", "n", FIELD("c", "m.C")) "\",\"references\":[" REFERENCE(
			     "c", "2") "]}",
		     &detail),
		REGISTRY_MORE);
	assert_string_equal(registry_fetch_path(fetch), "/subjects/c/versions/2");
	assert_int_equal(
		take(fetch, 200, "{\"schema\":\"" RECORD("C", "m", FIELD("x", "int")) "\"}", &detail),
		REGISTRY_COMPLETE);
	struct schema *schema;
	if (schema_parse(registry_fetch_schema(fetch), &schema, &detail))
		fail_msg("%s: %s", registry_fetch_schema(fetch).ptr, detail.message);
	const struct schema_node *root = schema->root;
	assert_true(str_is(root->name, "n.A"));
	assert_true(str_is(root->children[0]->name, "n.B"));
	assert_true(str_is(root->children[1]->name, "m.C"));
	assert_ptr_equal(root->children[0]->children[0], root->children[1]);
	assert_ptr_equal(root->children[2], root->children[0]);
	schema_free(schema);
	registry_fetch_free(fetch);
}

/* A registry that goes on and on. */
static void test_endless_references(void **state)
{
	(void)state;
	const struct schema_name name = { .id = 1 };
	struct registry_fetch *fetch = registry_fetch_new(&name);
	struct err_detail detail = { "" };
	enum registry_outcome outcome = REGISTRY_MORE;
	int asked = 0;
	for (; outcome == REGISTRY_MORE; asked++) {
		char body[200];
		snprintf(body, sizeof body,
			 "{\"schema\":\"\\\"int\\\"\",\"references\":[" REFERENCE("s", "%d") "]}", asked + 1);
		outcome = take(fetch, 200, body, &detail);
		assert_true(asked < 100);
	}
	assert_int_equal(outcome, REGISTRY_REFUSED);
	assert_non_null(strstr(detail.message, "refers to"));
	registry_fetch_free(fetch);
}

static void test_inlining(void **state)
{
	(void)state;
	static const struct {
		const char *texts[3];
		const char *expected; /* NULL: refused */
	} CASES[] = {
		{ { "{\"type\":\"array\",\"items\":\"n.E\"}",
		    "{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"n\",\"symbols\":[\"X\"]}" },
		  "{\"type\":\"array\",\"items\":{\"type\":\"enum\",\"name\":\"n.E\",\"symbols\":[\"X\"]}}" },
		/* without a namespace it stays so wherever it stands */
		{ { "{\"type\":\"record\",\"name\":\"n.A\",\"fields\":[{\"name\":\"f\",\"type\":[\"null\","
		    "\"o.F\"]}]}",
		    "{\"type\":\"record\",\"name\":\"o.F\",\"fields\":[{\"name\":\"g\",\"type\":{\"type\":"
		    "\"fixed\","
		    "\"name\":\"G\",\"namespace\":\"\",\"size\":1}}]}" },
		  "{\"type\":\"record\",\"name\":\"n.A\",\"fields\":[{\"name\":\"f\",\"type\":[\"null\",{"
		  "\"type\":"
		  "\"record\",\"name\":\"o.F\",\"fields\":[{\"name\":\"g\",\"type\":{\"type\":\"fixed\","
		  "\"name\":\"G\","
		  "\"namespace\":\"\",\"size\":1}}]}]}]}" },
		/* one that refers to itself */
		{ { "{\"type\":\"map\",\"values\":\"L\"}",
		    "{\"type\":\"record\",\"name\":\"L\",\"namespace\":\"\",\"fields\":[{\"name\":\"next\","
		    "\"type\":[\"null\","
		    "\"L\"]}]}" },
		  "{\"type\":\"map\",\"values\":{\"type\":\"record\",\"name\":\"L\",\"namespace\":\"\","
		  "\"fields\":[{\"name\":"
		  "\"next\",\"type\":[\"null\",\"L\"]}]}}" },
		{ { "\"int\"", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[]}",
		    "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[]}" },
		  NULL },
		{ { "\"int\"", "{" }, NULL },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		str_t texts[3];
		size_t count = 0;
		struct err_detail detail = { "" };
		for (; count < 3 && CASES[i].texts[count]; count++)
			texts[count] = str_from(CASES[i].texts[count]);
		err_t err = registry_inline(texts, count, &out, &detail);
		assert_int_equal(err == ERR_OK, CASES[i].expected != NULL);
		if (!err)
			assert_string_equal(out.data, CASES[i].expected);
	}
}

static void test_deep_nesting(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT, out = BUF_INIT;
	for (int i = 0; i < 1000; i++)
		buf_append_char(&text, '[');
	for (int i = 0; i < 1000; i++)
		buf_append_char(&text, ']');
	const str_t texts[] = { buf_str(&text), STR("\"int\"") };
	assert_int_equal(registry_inline(texts, 2, &out, NULL), ERR_SCHEMA_INCOMPATIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compressed), cmocka_unit_test(test_short_answers_first),
		cmocka_unit_test(test_answers),	   cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_references), cmocka_unit_test(test_endless_references),
		cmocka_unit_test(test_inlining),   cmocka_unit_test(test_deep_nesting),
	};
	return cmocka_run_group_tests_name("registry_fetch", tests, NULL, NULL);
}
