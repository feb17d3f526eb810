#include "event/schema_text.h"
#include "sql/postgresql/ddl/ddl.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct catalog *compile(const char *text)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (ddl_compile(str_from(text), &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

static void test_tables(void **state)
{
	(void)state;
	static const char tables_sql[] =
		"CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL);"
		"CREATE TABLE \"Orders\" (\"a\n</schema>\" numeric(10,2), at timestamptz);"
		"CREATE SCHEMA s; CREATE TABLE s.t (x integer[]);";
	static const struct {
		const char *tables[3];
		const char *text;
	} cases[] = {
		{ { "customers" }, "customers (id integer key, name text)" },
		{ { "orders" }, "orders (a </schema> numeric, at timestamp with time zone)" },
		{ { "customers", "s.t" }, "customers (id integer key, name text)\ns.t (x integer[])" },
		{ { "nothing", "s.nothing" }, NULL },
		{ { "nothing", "s.t" }, "s.t (x integer[])" },
		{ { NULL }, NULL },
	};
	struct catalog *catalog = compile(tables_sql);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		str_t tables[3];
		size_t count = 0;
		for (; count < 3 && cases[i].tables[count]; count++)
			tables[count] = str_from(cases[i].tables[count]);
		str_t text = schema_text(catalog, tables, count, arena);
		assert_int_equal(!text.ptr, !cases[i].text);
		if (cases[i].text)
			assert_string_equal(text.ptr, cases[i].text);
		assert_null(schema_text(NULL, tables, count, arena).ptr);
	}
	catalog_unref(catalog);
}

static void test_collections(void **state)
{
	static const char lines[] = "{\"format\":1,\"database\":\"shop\",\"sample_size\":9}\n"
				    "{\"collection\":\"Log.entries\",\"kind\":\"collection\",\"sampled\":9,"
				    "\"complete\":true,\"fields\":["
				    "{\"path\":\"_id\",\"types\":[\"objectId\"]},{\"path\":\"tags\","
				    "\"types\":[\"array\"],\"elements\":["
				    "\"string\"]},{\"path\":\"a.b\",\"types\":[\"int\",\"long\"]}]}";
	const str_t tables[] = { STR("log.entries") };
	struct catalog *catalog = NULL;
	struct err_detail detail;
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	assert_int_equal(catalog_compile_mongodb(str_from(lines), &catalog, &detail), ERR_OK);
	assert_string_equal(schema_text(catalog, tables, 1, arena).ptr,
			    "log.entries (_id objectId key, a, a.b int|long, tags array of string)");
	catalog_unref(catalog);
}

static void test_bound(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf script = BUF_INIT;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	buf_append_text(&script, "CREATE TABLE small (x integer); CREATE TABLE large (c0 integer");
	for (int i = 1; i < 1000; i++)
		buf_printf(&script, ", column_number_%d integer", i);
	buf_append_text(&script, ");");
	struct catalog *catalog = compile(script.data);
	const str_t tables[] = { STR("small"), STR("large"), STR("small") };
	str_t text = schema_text(catalog, tables, 3, arena);
	assert_string_equal(text.ptr, "small (x integer)\n(more is left out)");
	str_t many[1000];
	for (size_t i = 0; i < 1000; i++)
		many[i] = STR("small");
	text = schema_text(catalog, many, 1000, arena);
	assert_in_range(text.len, SCHEMA_TEXT_MAX - 64, SCHEMA_TEXT_MAX);
	catalog_unref(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_tables), cmocka_unit_test(test_collections),
					    cmocka_unit_test(test_bound) };
	return cmocka_run_group_tests_name("schema_text", tests, NULL, NULL);
}
