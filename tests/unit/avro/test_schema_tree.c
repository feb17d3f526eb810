#include "support.h"

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *json;
		err_t err;
		const char *message; /* part of it */
	} CASES[] = {
		{ "{", ERR_JSON_SYNTAX, "line 1" },
		{ "7", ERR_SCHEMA_INCOMPATIBLE, "neither a name nor a definition" },
		{ "\"strng\"", ERR_SCHEMA_INCOMPATIBLE, "\"strng\"" },
		{ "{}", ERR_SCHEMA_INCOMPATIBLE, "a type without" },
		{ "[\"int\",\"int\"]", ERR_SCHEMA_INCOMPATIBLE, "holds twice \"int\"" },
		{ "[\"int\",[\"null\"]]", ERR_SCHEMA_INCOMPATIBLE, "directly inside" },
		{ "{\"type\":\"array\"}", ERR_SCHEMA_INCOMPATIBLE, "\"items\"" },
		{ "{\"type\":\"map\"}", ERR_SCHEMA_INCOMPATIBLE, "\"values\"" },
		{ "{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}", ERR_SCHEMA_INCOMPATIBLE, "size" },
		{ "{\"type\":\"fixed\",\"name\":\"int\",\"size\":1}", ERR_SCHEMA_INCOMPATIBLE, "primitive" },
		{ "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"A\"]}", ERR_SCHEMA_INCOMPATIBLE,
		  "twice the same" },
		{ "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A-B\"]}", ERR_SCHEMA_INCOMPATIBLE,
		  "A-B" },
		{ "{\"type\":\"record\",\"name\":\"a..b\",\"fields\":[]}", ERR_SCHEMA_INCOMPATIBLE, "a..b" },
		{ "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"},"
		  "{\"name\":\"x\",\"type\":\"int\"}]}",
		  ERR_SCHEMA_INCOMPATIBLE, "two fields \"x\"" },
		{ "[{\"type\":\"fixed\",\"name\":\"F\",\"size\":1},{\"type\":\"array\",\"items\":"
		  "{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}}]",
		  ERR_SCHEMA_INCOMPATIBLE, "defined twice" },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct schema *schema = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(schema_parse(str_from(CASES[i].json), &schema, &detail), CASES[i].err);
		if (!strstr(detail.message, CASES[i].message))
			fail_msg("%s: %s", CASES[i].json, detail.message);
		assert_null(schema);
	}
}

static void test_depth_is_bounded(void **state)
{
	(void)state;
	static const struct {
		int levels;
		err_t err;
	} CASES[] = { { 64, ERR_OK }, { 65, ERR_SCHEMA_INCOMPATIBLE }, { 1000, ERR_SCHEMA_INCOMPATIBLE } };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct schema *schema = NULL;
		for (int level = 0; level < CASES[i].levels; level++)
			buf_append_text(&text, "{\"type\":\"array\",\"items\":");
		buf_append_text(&text, "\"int\"");
		for (int level = 0; level < CASES[i].levels; level++)
			buf_append_char(&text, '}');
		assert_int_equal(schema_parse(buf_str(&text), &schema, NULL), CASES[i].err);
		schema_free(schema);
	}
}

static void test_tree(void **state)
{
	(void)state;
	struct schema *schema =
		parse_schema("{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":["
			     "{\"name\":\"self\",\"type\":[\"null\",\"R\"]},"
			     "{\"name\":\"none\",\"type\":{\"type\":\"record\",\"name\":\"Empty\",\"fields\":"
			     "[{\"name\":\"x\",\"type\":\"null\"}]}},"
			     "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"other.E\",\"symbols\":["
			     "\"A\",\"B\"]}}]}");
	const struct schema_node *root = schema->root;
	assert_int_equal(root->type, SCHEMA_RECORD);
	assert_int_equal(root->count, 3);
	assert_true(str_is(root->name, "n.R"));
	assert_ptr_equal(root->children[0]->children[1], root);
	assert_true(root->children[0]->children[0]->empty);
	assert_false(root->children[0]->empty);
	assert_true(root->children[1]->empty);
	assert_true(str_is(root->children[1]->name, "n.Empty"));
	assert_true(str_is(root->children[2]->name, "other.E"));
	assert_true(str_is(root->children[2]->labels[1], "B"));
	assert_false(root->empty);
	schema_free(schema);
	schema_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_tree),
	};
	return cmocka_run_group_tests_name("schema_tree", tests, NULL, NULL);
}
