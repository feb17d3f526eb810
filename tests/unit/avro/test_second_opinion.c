/* Avro's own library reads the schemas that we read, and as the same. */
#include "support.h"

#include "avro/builtin.h"
#include "avro/second_opinion.h"

#define RECORD(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"
#define FIELD(name, type)    "{\"name\":\"" name "\",\"type\":" type "}"

static void test_agreed(void **state)
{
	(void)state;
	static const char *const TEXTS[] = {
		"\"null\"",
		"[\"null\",\"boolean\",\"int\",\"long\",\"float\",\"double\",\"bytes\",\"string\"]",
		"{\"type\":\"fixed\",\"name\":\"a.b.F\",\"size\":0}",
		RECORD("n.R", FIELD("self", "[\"null\",\"R\"]") "," FIELD(
				      "whole", "{\"type\":\"array\",\"items\":\"n.R\"}")),
		RECORD("n.R",
		       FIELD("self", "{\"type\":\"map\",\"values\":\"R\"}") "," FIELD(
			       "e", "{\"type\":\"enum\",\"name\":\"other.E\",\"symbols\":[\"A\",\"B\"]"
				    "}") "," FIELD("again", "{\"type\":\"array\",\"items\":\"other.E\"}")),
		/* by their canonical form: the library does not take them as they are */
		"{\"type\":{\"type\":{\"type\":\"string\"}}}",
		"{\"type\":\"error\",\"name\":\"E\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"}]}",
		"{\"type\":\"fixed\",\"name\":\"F\",\"namespace\":\"\",\"size\":1}",
		/* not asked about */
		"[]",
		RECORD("R", ""),
		"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[]}",
		RECORD("n.R",
		       FIELD("f", "{\"type\":\"fixed\",\"name\":\"F\",\"namespace\":\"\",\"size\":1}")),
	};
	for (size_t i = 0; i < COUNT_OF(TEXTS); i++)
		schema_free(parse_schema(TEXTS[i]));
}

static void test_ours(void **state)
{
	(void)state;
	struct schema *schema;
	for (int id = 0; id < RECORD_COUNT_; id++) {
		assert_int_equal(schema_parse(builtin_schema((enum record_id)id), &schema, NULL), ERR_OK);
		schema_free(schema);
	}
	for (size_t i = 0; str_present(builtin_former_schema(i)); i++) {
		assert_int_equal(schema_parse(builtin_former_schema(i), &schema, NULL), ERR_OK);
		schema_free(schema);
	}
}

/* A tree that is not that of the text. */
static void test_differences(void **state)
{
	(void)state;
	static const char TEXT[] =
		RECORD("n.R", FIELD("a", "\"int\"") "," FIELD(
				      "b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}"));
	static const struct {
		const char *text, *message;
	} CASES[] = {
		{ RECORD("n.S", FIELD("a", "\"int\"") "," FIELD(
					"b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}")),
		  "another" },
		{ RECORD("m.R", FIELD("a", "\"int\"") "," FIELD(
					"b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}")),
		  "another" },
		{ RECORD("n.R", FIELD("a", "\"long\"") "," FIELD(
					"b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}")),
		  "another" },
		{ RECORD("n.R", FIELD("c", "\"int\"") "," FIELD(
					"b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}")),
		  "another" },
		{ RECORD("n.R", FIELD("a", "\"int\"") "," FIELD(
					"b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"B\",\"A\"]}")),
		  "another" },
		{ RECORD("n.R", FIELD("a", "\"int\"")), "another" },
		{ RECORD("n.R", FIELD("a", "\"int\"") "," FIELD("b", "[\"int\"]")), "another" },
		{ RECORD("n.R", FIELD("a", "\"strange\"")), "strange" },
		{ "{", "JSON" },
	};
	struct schema *schema = parse_schema(TEXT);
	assert_int_equal(second_opinion_ask(schema, str_from(TEXT), NULL), ERR_OK);
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct err_detail detail = { "" };
		assert_int_equal(second_opinion_ask(schema, str_from(CASES[i].text), &detail),
				 ERR_SCHEMA_INCOMPATIBLE);
		if (!strstr(detail.message, CASES[i].message))
			fail_msg("%s: %s", CASES[i].text, detail.message);
	}
	schema_free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agreed),
		cmocka_unit_test(test_ours),
		cmocka_unit_test(test_differences),
	};
	return cmocka_run_group_tests_name("second_opinion", tests, NULL, NULL);
}
