#include "sql/catalog_content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char ddl[] =
	"CREATE TABLE a (id serial PRIMARY KEY, name varchar(20) NOT NULL, tags text[], at timestamptz);\n"
	"CREATE TABLE b (x int, y bigint, PRIMARY KEY (x, y), LIKE a);\n"
	"CREATE TABLE c (extra text) INHERITS (a);\n"
	"CREATE TABLE d (id int); ALTER TABLE ONLY d ADD CONSTRAINT d_pkey PRIMARY KEY (id);\n"
	"CREATE SCHEMA s CREATE TABLE t (u int);\n"
	"CREATE VIEW v (one, two) AS SELECT id, count(*) FROM a GROUP BY id;\n"
	"CREATE VIEW w AS SELECT * FROM v;\n"
	"CREATE TABLE copy AS SELECT name AS n FROM a;\n"
	"CREATE FUNCTION f(a int, b int DEFAULT 1, OUT r text) STABLE LANGUAGE sql AS '';\n"
	"CREATE FUNCTION g(VARIADIC v int[]) RETURNS SETOF int LANGUAGE sql AS '';\n"
	"CREATE TYPE mood AS ENUM ('sad');\n"
	"COMMENT ON TABLE a IS 'ignored';\n";

static struct catalog *compile_sql(const char *text)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (catalog_compile_sql(str_from(text), &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

static const struct catalog_relation *relation(const struct catalog *catalog, const char *name)
{
	const struct catalog_relation *found = catalog_relation_on_path(catalog, str_from(name));
	assert_non_null(found);
	return found;
}

static void assert_columns(const struct catalog_relation *found, const char *const *names, size_t count)
{
	assert_int_equal(found->columns_count, count);
	assert_false(found->is_open);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(found->columns[i].name.ptr, names[i]);
}

static void compiles_relations(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(ddl);
	const struct catalog_relation *a = relation(catalog, "a");
	assert_columns(a, (const char *const[]){ "id", "name", "tags", "at" }, 4);
	assert_true(a->columns[0].is_key && a->columns[0].not_null && a->columns[1].not_null);
	assert_false(a->columns[2].not_null || a->columns[1].is_key);
	assert_string_equal(a->columns[0].type.ptr, "integer");
	assert_string_equal(a->columns[1].type.ptr, "character varying");
	assert_string_equal(a->columns[2].type.ptr, "text[]");
	assert_int_equal(a->columns[0].category, TYPE_INTEGER);
	assert_int_equal(a->columns[1].category, TYPE_TEXT);
	assert_int_equal(a->columns[2].category, TYPE_OTHER);
	assert_int_equal(a->columns[3].category, TYPE_TEMPORAL);
	const struct catalog_relation *b = relation(catalog, "b");
	assert_columns(b, (const char *const[]){ "x", "y", "id", "name", "tags", "at" }, 6);
	assert_true(b->columns[0].is_key && b->columns[1].is_key && !b->columns[2].is_key);
	assert_columns(relation(catalog, "c"), (const char *const[]){ "id", "name", "tags", "at", "extra" },
		       5);
	assert_true(relation(catalog, "d")->columns[0].is_key);
	assert_columns(relation(catalog, "v"), (const char *const[]){ "one", "two" }, 2);
	assert_columns(relation(catalog, "w"), (const char *const[]){ "one", "two" }, 2);
	assert_true(relation(catalog, "v")->is_view);
	assert_string_equal(relation(catalog, "v")->definition.ptr, "SELECT id, count(*) FROM a GROUP BY id");
	assert_int_equal(relation(catalog, "v")->columns[1].category, TYPE_INTEGER);
	assert_columns(relation(catalog, "copy"), (const char *const[]){ "n" }, 1);
	assert_null(catalog_relation_on_path(catalog, STR("t")));
	assert_non_null(catalog_relation(catalog, STR("s"), STR("t")));
	assert_true(catalog_has_schema(catalog, STR("s")) && !catalog_on_path(catalog, STR("s")));
	assert_true(relation(catalog, "pg_class")->is_system);
	assert_true(relation(catalog, "pg_class")->columns[0].is_key);
	assert_true(catalog_has_type(catalog, STR(""), STR("mood")));
	assert_true(catalog_has_type(catalog, STR("pg_catalog"), STR("int4")));
	assert_false(catalog_has_type(catalog, STR(""), STR("nothing")));
	catalog_unref(catalog);
}

static void compiles_functions(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(ddl);
	size_t count = 0;
	const struct catalog_function *const *found = catalog_functions(catalog, STR_NONE, STR("f"), &count);
	assert_int_equal(count, 1);
	assert_int_equal(found[0]->volatility, 's');
	assert_int_equal(found[0]->arguments, 2);
	assert_string_equal(found[0]->outputs[0].ptr, "r");
	assert_false(catalog_function_accepts(found[0], 0));
	assert_true(catalog_function_accepts(found[0], 1) && catalog_function_accepts(found[0], 2));
	assert_false(catalog_function_accepts(found[0], 3));
	found = catalog_functions(catalog, STR("public"), STR("g"), &count);
	assert_int_equal(found[0]->volatility, 'v');
	assert_true(found[0]->returns_set && found[0]->is_variadic && !found[0]->is_system);
	assert_true(catalog_function_accepts(found[0], 9) && !catalog_function_accepts(found[0], 0));
	found = catalog_functions(catalog, STR_NONE, STR("count"), &count);
	assert_int_equal(count, 2);
	assert_int_equal(found[0]->kind, 'a');
	found = catalog_functions(catalog, STR_NONE, STR("pg_read_file"), &count);
	assert_true(count > 0 && !found[0]->is_public);
	assert_null(catalog_functions(catalog, STR_NONE, STR("nothing"), &count));
	assert_int_equal(count, 0);
	catalog_unref(catalog);
}

static void reports_where_a_file_is_wrong(void **state)
{
	(void)state;
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(catalog_compile_sql(STR("CREATE TABLE a (x int);\nCREATE TABLE (y int);\n"),
					     &catalog, &detail),
			 ERR_CATALOG_SYNTAX);
	assert_string_equal(detail.message, "line 2: syntax error at or near \"(\"");
	assert_null(catalog);
}

static const char json[] =
	"{\"format\":1,\"search_path\":[\"pg_catalog\",\"app\",\"public\"],\"schemas\":[\"app\",\"pg_"
	"catalog\",\"public\"],"
	"\"relations\":[[\"app\",\"t\",\"r\",[[\"id\",\"integer\",true,true],[\"v\",\"numeric\",false,false]]"
	",null],"
	"[\"public\",\"t\",\"v\",[[\"z\",\"text\",false,false]],\" SELECT 1\"],"
	"[\"public\",\"empty\",\"r\",null,null]],"
	"\"functions\":[[\"public\",\"f\",\"v\",\"f\",false,true,false,2,1,\"bigint\",[\"p\",\"q\"]]],"
	"\"types\":[[\"pg_catalog\",\"int4\"]]}";

static void compiles_postgresql(void **state)
{
	(void)state;
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(catalog_compile_postgresql(str_from(json), &catalog, &detail), ERR_OK);
	const struct catalog_relation *t = relation(catalog, "t");
	assert_string_equal(t->schema.ptr, "app"); /* first on the path */
	assert_columns(t, (const char *const[]){ "id", "v" }, 2);
	assert_true(t->columns[0].is_key && t->columns[0].not_null);
	assert_int_equal(t->columns[1].category, TYPE_NUMERIC);
	const struct catalog_relation *view = catalog_relation(catalog, STR("public"), STR("t"));
	assert_true(view->is_view);
	assert_string_equal(view->definition.ptr, " SELECT 1");
	assert_int_equal(relation(catalog, "empty")->columns_count, 0);
	size_t count = 0;
	const struct catalog_function *const *f = catalog_functions(catalog, STR_NONE, STR("f"), &count);
	assert_int_equal(count, 1);
	assert_true(f[0]->volatility == 'v' && !f[0]->is_public && f[0]->returns_set && f[0]->defaults == 1);
	assert_int_equal(f[0]->outputs_count, 2);
	assert_int_equal(f[0]->category, TYPE_INTEGER);
	assert_string_equal(catalog_source(catalog).ptr, json);
	assert_int_equal(catalog_dialect(catalog), SQL_POSTGRESQL);
	catalog_unref(catalog);
}

static void refuses_other_json(void **state)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"{}",
		"{\"format\":2}",
		"{\"format\":1,\"relations\":[1]}",
		"{\"format\":1,\"relations\":[[\"a\",\"b\",\"r\",[[1]]]]}",
		"{\"format\":1,\"search_path\":[null]}",
		"{\"format\":1,\"functions\":[[\"a\"]]}",
	};
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct catalog *catalog = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(catalog_compile_postgresql(str_from(wrong[i]), &catalog, &detail),
				 ERR_CATALOG_SYNTAX);
		assert_null(catalog);
		assert_int_equal(strncmp(detail.message, "catalog: ", strlen("catalog: ")), 0);
	}
}

static void compiles_sqlite(void **state)
{
	static const char definitions[] =
		"[\"CREATE TABLE Users (Id INTEGER PRIMARY KEY, Name TEXT NOT NULL)\","
		"\"CREATE VIEW names AS SELECT name AS n FROM users\","
		"\"CREATE TABLE sqlite_sequence(name,seq)\",\"DROP TABLE Users\",\"CREATE INDEX i ON "
		"users(name)\"]";
	struct catalog *catalog = NULL;
	(void)state;
	assert_int_equal(catalog_compile_sqlite(str_from(definitions), &catalog, NULL), ERR_OK);
	assert_columns(relation(catalog, "users"), (const char *const[]){ "id", "name" }, 2);
	assert_true(relation(catalog, "users")->columns[0].is_key);
	assert_columns(relation(catalog, "names"), (const char *const[]){ "n" }, 1);
	assert_int_equal(catalog_dialect(catalog), SQL_SQLITE);
	catalog_unref(catalog);
	assert_int_equal(catalog_compile_sqlite(STR("{}"), &catalog, NULL), ERR_CATALOG_SYNTAX);
}

static void digests_content(void **state)
{
	(void)state;
	struct catalog *one = compile_sql("CREATE TABLE a (x int); CREATE TABLE b (y int);");
	struct catalog *same = compile_sql("CREATE TABLE b (y int);\n\nCREATE TABLE a (x integer);");
	struct catalog *other = compile_sql("CREATE TABLE a (x int NOT NULL); CREATE TABLE b (y int);");
	assert_int_equal(strlen(catalog_digest(one)), 64);
	assert_string_equal(catalog_digest(one), catalog_digest(same));
	assert_string_not_equal(catalog_digest(one), catalog_digest(other));
	catalog_unref(one);
	catalog_unref(same);
	catalog_unref(other);
}

static void counts_references(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql("CREATE TABLE a (x int)");
	catalog_set_read_at_ms(catalog, 42);
	struct catalog *again = catalog_ref(catalog);
	catalog_unref(catalog);
	assert_int_equal(catalog_read_at_ms(again), 42);
	assert_non_null(catalog_relation_on_path(again, STR("a")));
	catalog_unref(again);
	catalog_unref(NULL);
	assert_null(catalog_ref(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiles_relations),
		cmocka_unit_test(compiles_functions),
		cmocka_unit_test(reports_where_a_file_is_wrong),
		cmocka_unit_test(compiles_postgresql),
		cmocka_unit_test(refuses_other_json),
		cmocka_unit_test(compiles_sqlite),
		cmocka_unit_test(digests_content),
		cmocka_unit_test(counts_references),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
