/* The catalog of MongoDB: what documents that were looked at, and validators, say of collections. */
#include "common/buf.h"
#include "sql/catalog/content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define FIRST "{\"format\":1,\"database\":\"shop\",\"sample_size\":1000}\n"
#define COLLECTION(name, sampled, complete)                                                                  \
	"{\"collection\":\"" name "\",\"kind\":\"collection\",\"sampled\":" sampled                          \
	",\"complete\":" complete ","
#define STRICT "\"validation_action\":\"error\",\"validation_level\":\"strict\""

static struct catalog *compile(str_t text)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (catalog_compile_mongodb(text, &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

/* "name type flags" of each column, in their order: o open, c closed, s holds no other types, k key; in front
 * those of the collection. */
static void assert_columns(const char *text, const char *name, const char *expected)
{
	struct catalog *catalog = compile(str_from(text));
	const struct catalog_relation *relation = catalog_relation_on_path(catalog, str_from(name));
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	assert_non_null(relation);
	buf_printf(&buf, "%s%s", relation->is_open ? "o" : "", relation->is_closed ? "c" : "");
	for (size_t i = 0; i < relation->columns_count; i++) {
		const struct catalog_column *column = &relation->columns[i];
		buf_printf(&buf, "; " STR_FMT " " STR_FMT " %s%s%s%s", STR_ARG(column->name),
			   STR_ARG(column->type), column->is_open ? "o" : "", column->is_closed ? "c" : "",
			   column->holds_only ? "s" : "", column->is_key ? "k" : "");
	}
	assert_string_equal(buf.data, expected);
	catalog_unref(catalog);
}

static void compiles_collections(void **state)
{
	(void)state;
	struct catalog *catalog = compile(STR(FIRST COLLECTION(
		"Orders", "2",
		"true") "\"fields\":[{\"path\":\"_id\",\"types\":["
			"\"objectId\"]},{\"path\":\"n\",\"types\":"
			"[\"int\",\"null\"]}]}\n"
			"{\"collection\":\"recent.orders\",\"kind\":\"view\",\"sampled\":1,"
			"\"complete\":false,\"fields\":[]}\n"
			"{\"collection\":\"ticks\",\"kind\":\"timeseries\",\"sampled\":1,"
			"\"complete\":false,\"fields\":[{\"path\":\"_id\",\"types\":[\"objectId\"]}]}"));
	size_t count;
	const struct catalog_relation *relations = catalog_relations(catalog, &count);
	assert_int_equal(catalog_dialect(catalog), SQL_MONGODB);
	assert_int_equal(catalog_sample_size(catalog), 1000);
	assert_int_equal(count, 3);
	assert_string_equal(relations[0].name.ptr, "Orders");
	assert_string_equal(relations[0].schema.ptr, "shop");
	assert_string_equal(catalog_database(catalog).ptr, "shop");
	assert_true(catalog_on_path(catalog, STR("shop")));
	assert_null(catalog_relation_on_path(catalog, STR("orders"))); /* case counts */
	assert_true(relations[0].kind == 'r' && !relations[0].is_view && !relations[0].is_system);
	assert_true(relations[1].kind == 'v' && relations[1].is_view);
	assert_true(relations[2].kind == 'r' && !relations[2].columns[0].is_key);
	const struct catalog_column *n = &relations[0].columns[1];
	assert_true(n->category == TYPE_INTEGER && n->holds == (CATALOG_INT | CATALOG_NULL));
	catalog_unref(catalog);
}

static void knows_fields_of_samples(void **state)
{
	static const struct {
		const char *fields, *expected;
	} rows[] = {
		{ "{\"path\":\"b\",\"types\":[\"string\"]},{\"path\":\"a\",\"types\":[\"double\",\"int\"]}",
		  "; a int|double s; b string s" },
		{ "{\"path\":\"t\",\"types\":[\"array\"],\"elements\":[\"string\"]}",
		  "; t array of string s" },
		{ "{\"path\":\"t\",\"types\":[\"array\",\"null\"],\"elements\":[\"long\",\"int\"]}",
		  "; t null|array of (int|long) s" },
		{ "{\"path\":\"t\",\"types\":[\"array\"],\"elements\":[]}", "; t array os" },
		{ "{\"path\":\"t\",\"types\":[\"array\"],\"elements\":[\"array\"]}",
		  "; t array of array os" },
		{ "{\"path\":\"o\",\"types\":[\"object\"]}", "; o object os" },
		{ "{\"path\":\"o\",\"types\":[\"null\"]}", "; o null os" },
		{ "{\"path\":\"o\",\"types\":[]}", "; o  o" },
		{ "{\"path\":\"o\",\"types\":[\"object\"],\"open\":true},{\"path\":\"o.x\",\"types\":["
		  "\"bool\"]}",
		  "; o object os; o.x bool s" },
		{ "{\"path\":\"items.price\",\"types\":[\"decimal\"]},{\"path\":\"items\",\"types\":["
		  "\"array\"],\"elements\":[\"object\"]}",
		  "; items array of object s; items.price decimal s" },
		{ "{\"path\":\"a.b.c\",\"types\":[\"date\"]}", "; a  ; a.b  ; a.b.c date s" },
		{ "{\"path\":\"x\",\"types\":[\"symbol\"]},{\"path\":\"y\",\"types\":[\"minKey\",\"other\"]}",
		  "; x other os; y other os" },
		{ "{\"path\":\"\",\"types\":[\"int\"]},{\"path\":\"a..b\",\"types\":[\"int\"]},{\"path\":"
		  "\".a\",\"types\":[\"int\"]},{\"path\":\"a.\",\"types\":[\"int\"]},{\"path\":\"a\\u0000b\","
		  "\"types\":[\"int\"]},{\"path\":\"k\",\"types\":[\"int\"],\"later\":1}",
		  "; k int s" },
		{ "{\"path\":\"k\",\"types\":[\"int\"]},{\"path\":\"k\",\"types\":[\"long\"]}",
		  "; k int|long s" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		buf_printf(&text, FIRST COLLECTION("c", "3", "true") "\"fields\":[%s]}", rows[i].fields);
		assert_columns(text.data, "c", rows[i].expected);
	}
}

static void knows_little_of_what_it_did_not_see(void **state)
{
	(void)state;
	assert_columns(
		FIRST COLLECTION("c", "9", "false") "\"fields\":[{\"path\":\"a\",\"types\":[\"int\"]}]}", "c",
		"; a int ");
	assert_columns(FIRST COLLECTION("c", "0", "true") "\"fields\":[]}", "c", "o");
	assert_columns(FIRST COLLECTION("c", "0", "false") "\"fields\":[]}", "c", "o");
	assert_columns(FIRST COLLECTION("c", "5", "true") "\"fields\":[],\"open\":true}", "c", "o");
}

static void knows_what_validators_say(void **state)
{
	static const struct {
		const char *sampled, *validator, *expected;
	} rows[] = {
		{ "0",
		  "{\"$jsonSchema\":{\"required\":[\"a\",\"b\"],\"properties\":{\"a\":{\"bsonType\":"
		  "\"string\"}}}}," STRICT,
		  "o; a string os; b  o" },
		{ "0",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}}," STRICT,
		  "c; _id  ok; a int os" },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}}," STRICT,
		  "c; _id  ok; a int s; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}}",
		  "c; _id  ok; a int s; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}},\"validation_action\":\"warn\",\"validation_level\":"
		  "\"strict\"",
		  "; a int ; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}},\"validation_action\":\"error\",\"validation_level\":"
		  "\"moderate\"",
		  "; a int ; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"object\",\"properties\":{"
		  "\"b\":{\"type\":\"number\"},\"c\":{\"bsonType\":[\"bool\",\"null\"]}},"
		  "\"additionalProperties\":false}}}}," STRICT,
		  "; a object cs; a.b int|long|double|decimal s; a.c bool|null s; seen string " },
		/* not every document that a path reaches is held to it */
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"properties\":{\"b\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false}}}}," STRICT,
		  "; a  o; a.b int ; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":[\"object\",\"array\"],"
		  "\"properties\":{\"b\":{\"bsonType\":\"int\"}},\"additionalProperties\":false}}}}," STRICT,
		  "; a object|array o; a.b int ; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"array\",\"items\":{\"bsonType\":"
		  "\"object\",\"properties\":{\"b\":{\"bsonType\":\"int\"}},\"additionalProperties\":"
		  "false}}}}}," STRICT,
		  "; a array of object cs; a.b int s; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"array\",\"items\":[{\"bsonType\":"
		  "\"string\"}]}}}}," STRICT,
		  "; a array of string ; seen string " },
		{ "2", "{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"array\"}}}}," STRICT,
		  "; a array o; seen string " },
		{ "2", "{\"$jsonSchema\":{\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false}}",
		  "o; seen string " },
		{ "2", "{\"$jsonSchema\":{\"additionalProperties\":{\"bsonType\":\"int\"}}}",
		  "o; seen string " },
		{ "2",
		  "{\"$jsonSchema\":{\"anyOf\":[{\"properties\":{\"a\":{\"bsonType\":\"int\"}},"
		  "\"additionalProperties\":false},{\"required\":[\"b\"]}]}}",
		  "; a int ; b  o; seen string " },
		{ "2", "{\"$jsonSchema\":{\"allOf\":[{\"properties\":{\"a\":{\"bsonType\":\"int\"}}}]}}",
		  "; a int s; seen string " },
		{ "2",
		  "{\"$and\":[{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}}}},{\"b.c\":{"
		  "\"$gt\":1}}]}",
		  "; a int s; b  o; b.c  o; seen string " },
		{ "2",
		  "{\"$or\":[{\"$jsonSchema\":{\"properties\":{\"a\":{\"bsonType\":\"int\"}}}},{\"b\":1}]}",
		  "; a int ; b  o; seen string " },
		{ "2", "{\"$jsonSchema\":{\"properties\":{\"a\":{\"encrypt\":{\"bsonType\":\"string\"}}}}}",
		  "; a other os; seen string " },
		{ "2", "{\"$jsonSchema\":{\"properties\":{\"a.b\":{\"bsonType\":\"int\"},\"\":{}}}}",
		  "; seen string " },
		{ "2", "{\"$jsonSchema\":{\"properties\":{\"seen\":{\"bsonType\":\"int\"}}}}",
		  "; seen int|string s" },
		{ "2", "{\"$jsonSchema\":7,\"$and\":3,\"$or\":[4]}", "; seen string " },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		bool empty = strcmp(rows[i].sampled, "0") == 0;
		buf_printf(&text,
			   FIRST
			   "{\"collection\":\"c\",\"kind\":\"collection\",\"sampled\":%s,\"complete\":false,"
			   "\"fields\":[%s],\"validator\":%s}",
			   rows[i].sampled, empty ? "" : "{\"path\":\"seen\",\"types\":[\"string\"]}",
			   rows[i].validator);
		assert_columns(text.data, "c", rows[i].expected);
	}
}

static void names_the_line_that_is_malformed(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "", "catalog: line 1 is malformed" },
		{ "[]", "catalog: line 1 is malformed" },
		{ "{\"format\":2,\"database\":\"a\",\"sample_size\":1}", "catalog: line 1 is malformed" },
		{ "{\"format\":1,\"database\":\"\",\"sample_size\":1}", "catalog: line 1 is malformed" },
		{ "{\"format\":1,\"sample_size\":1}", "catalog: line 1 is malformed" },
		{ "{\"format\":1,\"database\":\"a\",\"sample_size\":-1}", "catalog: line 1 is malformed" },
		{ FIRST "\n", "catalog: line 2 is malformed" },
		{ FIRST "{}", "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("", "1", "true") "\"fields\":[]}", "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":{}}", "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[1]}", "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[{\"types\":[]}]}",
		  "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[{\"path\":\"a\",\"types\":[1]}]}",
		  "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[{\"path\":\"a\",\"types\":1}]}",
		  "catalog: line 2 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[]}\n" COLLECTION("c", "1",
										   "true") "\"fields\":["
											   "]}",
		  "catalog: line 3 is malformed" },
		{ FIRST COLLECTION("c", "1", "true") "\"fields\":[", "catalog: line 2 is malformed" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct catalog *catalog = NULL;
		struct err_detail detail = { "" };
		err_t err = catalog_compile_mongodb(str_from(rows[i].text), &catalog, &detail);
		if (err != ERR_CATALOG_SYNTAX)
			fail_msg("%s: is taken", rows[i].text);
		assert_string_equal(detail.message, rows[i].message);
	}
}

static str_t deep_validator(struct buf *buf, unsigned depth)
{
	buf_append_text(buf,
			FIRST COLLECTION("c", "0", "true") "\"fields\":[],\"validator\":{\"$jsonSchema\":");
	for (unsigned i = 0; i < depth; i++)
		buf_append_text(buf, "{\"bsonType\":\"object\",\"properties\":{\"a\":");
	buf_append_text(buf, "{}");
	for (unsigned i = 0; i < depth; i++)
		buf_append_text(buf, "}}");
	buf_append_text(buf, "}}");
	return buf_str(buf);
}

static void is_bounded(void **state)
{
	_cleanup_(buf_free) struct buf deep = BUF_INIT;
	_cleanup_(buf_free) struct buf wide = BUF_INIT;
	(void)state;
	struct catalog *catalog = compile(deep_validator(&deep, 500));
	assert_true(catalog_relation_on_path(catalog, STR("c"))->columns_count <= 102);
	catalog_unref(catalog);
	buf_append_text(&wide, FIRST COLLECTION("c", "1", "true") "\"fields\":[");
	for (unsigned i = 0; i < 30000; i++)
		buf_printf(&wide, "%s{\"path\":\"f%u\",\"types\":[\"int\"]}", i > 0 ? "," : "", i);
	buf_append_text(&wide, "]}");
	catalog = compile(buf_str(&wide));
	const struct catalog_relation *relation = catalog_relation_on_path(catalog, STR("c"));
	assert_true(relation->columns_count == 20000 && relation->is_open);
	catalog_unref(catalog);
}

/* What is known counts, not how many documents were looked at. */
static void digests_what_is_known(void **state)
{
#define FIELDS "\"fields\":[{\"path\":\"a\",\"types\":[\"int\"]}]"
	static const struct {
		const char *text;
		bool same;
	} rows[] = {
		{ FIRST COLLECTION("c", "7", "true") FIELDS "}", true },
		{ "{\"format\":1,\"database\":\"shop\",\"sample_size\":5}\n" COLLECTION("c", "3", "true")
			  FIELDS "}\n",
		  true },
		{ FIRST COLLECTION("c", "7", "false") FIELDS "}", false },
		{ FIRST COLLECTION("d", "7", "true") FIELDS "}", false },
		{ FIRST COLLECTION("c", "7", "true") "\"fields\":[{\"path\":\"a\",\"types\":[\"long\"]}]}",
		  false },
		{ FIRST COLLECTION("c", "7", "true") FIELDS ",\"open\":true}", false },
		{ FIRST COLLECTION("c", "7", "true") FIELDS
		  ",\"validator\":{\"$jsonSchema\":{\"additionalProperties\":false}}}",
		  false },
	};
	(void)state;
	struct catalog *one = compile(str_from(rows[0].text));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct catalog *other = compile(str_from(rows[i].text));
		if ((strcmp(catalog_digest(one), catalog_digest(other)) == 0) != rows[i].same)
			fail_msg("%s", rows[i].text);
		catalog_unref(other);
	}
	catalog_unref(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiles_collections),
		cmocka_unit_test(knows_fields_of_samples),
		cmocka_unit_test(knows_little_of_what_it_did_not_see),
		cmocka_unit_test(knows_what_validators_say),
		cmocka_unit_test(names_the_line_that_is_malformed),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(digests_what_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
