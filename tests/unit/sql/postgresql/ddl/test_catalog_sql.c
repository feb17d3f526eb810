/* Catalogs from files: what is read, what is passed over, where a file is wrong. */
#include "common/buf.h"
#include "sql/catalog/content.h"
#include "sql/postgresql/ddl/ddl.h"
#include "tests/unit/sql/catalogs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define STRAY                                                                                                \
	"defines nothing that can be followed: leave it out (a catalog file holds CREATE statements, as "    \
	"pg_dump --schema-only writes them)"

static void tells_where_a_file_is_wrong(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} wrong[] = {
		{ "CREATE OPERATOR + (LEFTARG = int, RIGHTARG = int);",
		  "line 1: operator function must be specified" },
		{ "CREATE TABLE a (x int);\n\nSELECT x FROM a;", "line 3: a query " STRAY },
		{ "CREATE TABLE a (x int);\nVALUES (1);", "line 2: a query " STRAY },
		{ "SELECT 1;", "line 1: a query " STRAY },
		{ "SELECT f() UNION SELECT g();", "line 1: a query " STRAY },
		{ "UPDATE a SET x = 1;", "line 1: UPDATE " STRAY },
		{ "\n-- all of them\nDELETE FROM a;", "line 3: DELETE " STRAY },
		{ "EXPLAIN SELECT 1;", "line 1: EXPLAIN " STRAY },
		{ "DO $$ BEGIN NULL; END $$;", "line 1: DO may define anything, which cannot be followed" },
		{ "CREATE TABLE (y int);", "line 1: syntax error at or near \"(\"" },
		{ "CREATE TABLE a (x int); CREATE TABLE 'b';\nSELECT x FROM a;", "line 2: a query " STRAY },
		{ "COPY a FROM stdin;\n1\n\\.\nCREATE TABL a ();",
		  "line 4: syntax error at or near \"TABL\"" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct catalog *catalog = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(ddl_compile(str_from(wrong[i].text), &catalog, &detail), ERR_CATALOG_SYNTAX);
		assert_string_equal(detail.message, wrong[i].message);
		assert_null(catalog);
		assert_int_equal(ddl_compile(str_from(wrong[i].text), &catalog, NULL), ERR_CATALOG_SYNTAX);
	}
}

/* What cannot be read costs that statement. */
static void leaves_out_what_it_cannot_read(void **state)
{
	static const struct {
		const char *text;
		const char *warnings; /* one a line */
	} files[] = {
		{ "CREATE TABLE a (x int);", "" },
		{ "CREATE TABLE a (x int);\nCREATE TABLE (y int);",
		  "line 2: syntax error at or near \"(\"\n" },
		{ "CREATE TABL b (y int;\nCREATE TABLE a (x int);\nCREATE TABLE c (x in(t);\nCREATE TABLE d "
		  "(x int);",
		  "line 1: syntax error at or near \"TABL\"\nline 3: syntax error at or near \"in\"\n" },
		{ "CREATE TABLE a (x int);\nCREATE TABLE b (x int) oops 'a;b' /* ; */ \"c;d\" $$ ; $$;CREATE "
		  "VIEW d AS "
		  "SELECT x FROM a",
		  "line 2: syntax error at or near \"oops\"\n" },
		{ "CREATE TABLE a (x int);\nCREATE TABLE b (x int",
		  "line 2: syntax error at end of input\n" },
		{ "CREATE TABLE a (x int);\nCREATE TABLE b (x text DEFAULT 'y);",
		  "line 2: unterminated quoted string at or near \"'y);\"\n" },
		{ "CREATE TABLE a (x int);\n\n  CREATE TABLE a (y int);",
		  "line 3: relation \"a\" already exists\n" },
		{ "CREATE VIEW a AS SELECT 1 AS x;\nCREATE TABLE a (y int);",
		  "line 2: relation \"a\" already exists\n" },
		{ "CREATE TYPE b AS ENUM ();CREATE TABLE a (x int);\nCREATE TABLE b (y int);",
		  "line 2: type \"b\" already exists\n" },
		{ "\nCREATE TABLE a (x int, PRIMARY KEY (y));",
		  "line 2: column \"y\" named in key does not exist\n" },
		{ "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS ''; CREATE TABLE a (x int);\n"
		  "CREATE FUNCTION f(b integer) RETURNS text LANGUAGE sql AS '';",
		  "line 2: function \"f\" already exists with same argument types\n" },
		{ "CREATE TABLE a (x int);\nCREATE OPERATOR + (LEFTARG = int, RIGHTARG = int);",
		  "line 2: operator function must be specified\n" },
		{ "CREATE TABLE a (x int);\nALTER TABLE a DROP COLUMN x;",
		  "line 2: a column that is dropped again cannot be followed\n" },
		{ "CREATE TABLE a (x int); CREATE TABLE b (y int);\nALTER TABLE b RENAME TO a;",
		  "line 2: relation \"a\" already exists\n" },
		{ "CREATE TABLE a (x int, y int);\nALTER TABLE a RENAME x TO y;",
		  "line 2: column \"y\" of relation \"a\" already exists\n" },
		{ "CREATE TABLE a (x int); CREATE TABLE b (y int);\nDROP TABLE b CASCADE;",
		  "line 2: what depends on \"b\" is not dropped with it\n" },
		{ "CREATE TABLE a (x int);\nDO $$ BEGIN NULL; END $$;",
		  "line 2: DO may define anything, which cannot be followed\n" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct catalog *catalog = compile_sql(files[i].text);
		struct buf text = BUF_INIT;
		size_t count;
		const str_t *warnings = catalog_warnings(catalog, &count);
		for (size_t w = 0; w < count; w++)
			buf_printf(&text, STR_FMT "\n", STR_ARG(warnings[w]));
		assert_string_equal(text.data ? text.data : "", files[i].warnings);
		assert_int_equal(str_present(catalog_gap(catalog)), count > 0);
		assert_string_equal(relation(catalog, "a")->columns[0].name.ptr, "x");
		buf_free(&text);
		catalog_unref(catalog);
	}
}

/* What the file makes and then renames or drops. */
static void follows_renames_and_drops(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"CREATE TABLE a (i int PRIMARY KEY); CREATE TABLE kid (k int) INHERITS (a);"
		"CREATE TABLE user_of (r a, s a[]);"
		"CREATE VIEW v AS SELECT 1 AS x; ALTER VIEW v RENAME TO w;"
		"ALTER TABLE a RENAME COLUMN i TO j; ALTER TABLE a RENAME TO b;"
		"CREATE TABLE a (other text); CREATE TABLE c (x int); DROP TABLE c; DROP VIEW IF EXISTS w;"
		"CREATE TABLE c (y int);"
		"CREATE TABLE d (x int); CREATE TABLE uses_d (x d); DROP TABLE d;"
		"ALTER TABLE never RENAME TO ever;");
	const struct catalog_relation *b = relation(catalog, "b");
	const struct catalog_relation *user = relation(catalog, "user_of");
	size_t count;
	(void)catalog_warnings(catalog, &count);
	assert_int_equal(count, 0);
	assert_string_equal(b->columns[0].name.ptr, "j");
	assert_int_equal(b->keys_count, 1);
	assert_string_equal(relation(catalog, "kid")->columns[0].name.ptr, "j");
	assert_string_equal(relation(catalog, "a")->columns[0].name.ptr, "other");
	assert_string_equal(relation(catalog, "c")->columns[0].name.ptr, "y");
	assert_string_equal(user->columns[0].type.ptr, "b");
	assert_string_equal(user->columns[1].type.ptr, "b[]");
	assert_int_equal(user->columns[0].value_type, b->row_type);
	assert_int_equal(relation(catalog, "uses_d")->columns[0].value_type, 0);
	assert_null(catalog_relation(catalog, STR("public"), STR("v")));
	assert_null(catalog_relation(catalog, STR("public"), STR("w")));
	assert_null(catalog_relation(catalog, STR("public"), STR("d")));
	catalog_unref(catalog);
}

/* A type may be called as an array type was: that gives way. */
static void array_types_give_way(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"CREATE SCHEMA other; CREATE TYPE public.textrange1 AS RANGE (subtype = text,"
		" multirange_type_name = public._textrange1, collation = pg_catalog.\"C\");"
		"CREATE TYPE public.textrange2 AS RANGE (subtype = text, multirange_type_name = other.many);"
		"CREATE TABLE t (x int); CREATE TYPE _t AS ENUM ('a'); CREATE TABLE a (e _t, t t[], m "
		"_textrange1,"
		" r textrange1[], o other.many);");
	const struct catalog_relation *a = relation(catalog, "a");
	size_t count;
	assert_null(catalog_warnings(catalog, &count));
	assert_int_equal(catalog_type(catalog, a->columns[0].value_type)->kind, 'e');
	assert_string_equal(catalog_type(catalog, a->columns[1].value_type)->name.ptr, "__t");
	assert_int_equal(catalog_type(catalog, a->columns[2].value_type)->kind, 'm');
	assert_string_equal(catalog_type(catalog, a->columns[3].value_type)->name.ptr, "__textrange1");
	assert_string_equal(catalog_type(catalog, a->columns[4].value_type)->schema.ptr, "other");
	catalog_unref(catalog);
}

static void passes_over_what_queries_cannot_see(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"\\connect shop\n"
		"\\restrict abc'def\n"
		"SET statement_timeout = 0; SELECT pg_catalog.set_config('search_path', '', false);\n"
		"DROP TABLE IF EXISTS public.a; DROP TABLE public.never;\n"
		"CREATE TABLE public.a (x int, \"from\" text);\n"
		"CREATE TABLE IF NOT EXISTS public.a (other int);\n"
		"COMMENT ON TABLE public.a IS '\n\\not a command; it''s a text';\n"
		"GRANT SELECT ON public.a TO PUBLIC; ALTER TABLE public.a OWNER TO me;\n"
		"COPY public.a (x, \"from\") FROM stdin;\n"
		"1\tit's; -- $$ /* \"\n"
		"\\N\t\\\\x\n"
		"\\.\n"
		"-- COPY b FROM stdin; it's a comment\n"
		"/* nested /* it's */ \\ one */\n"
		"CREATE FUNCTION public.f() RETURNS text LANGUAGE sql AS $body$\n"
		"\\not a command\nSELECT 'COPY a FROM stdin;' $body$;\n"
		"INSERT INTO public.a VALUES (1, E'it\\'s; '), (2, 'COPY a FROM stdin;');\n"
		"COPY public.a FROM stdin WITH (FORMAT csv);\r\n1,\"x\"\r\n\\.\r\n"
		"CREATE TABLE public.last (x int)");
	assert_int_equal(relation(catalog, "a")->columns_count, 2);
	assert_string_equal(relation(catalog, "a")->columns[1].name.ptr, "from");
	(void)relation(catalog, "last");
	size_t count;
	(void)catalog_functions(catalog, STR_NONE, STR("f"), &count);
	assert_int_equal(count, 1);
	catalog_unref(catalog);
}

static void follows_the_search_path(void **state)
{
	(void)state;
	struct catalog *catalog =
		compile_sql("CREATE SCHEMA app; CREATE SCHEMA other;"
			    "CREATE TABLE t (in_public int); CREATE TABLE other.o (x int);"
			    "SET search_path = app, public;"
			    "CREATE TABLE t (in_app int); CREATE TYPE kind AS ENUM ('a');"
			    "CREATE FUNCTION lower(text) RETURNS int VOLATILE LANGUAGE sql AS '';"
			    "CREATE VIEW v AS SELECT * FROM t;");
	size_t count;
	assert_string_equal(relation(catalog, "t")->columns[0].name.ptr, "in_app");
	assert_string_equal(relation(catalog, "v")->columns[0].name.ptr, "in_app");
	assert_true(catalog_on_path(catalog, STR("app")) && catalog_on_path(catalog, STR("public")));
	assert_false(catalog_on_path(catalog, STR("other")));
	assert_string_equal(catalog_type_named(catalog, STR_NONE, STR("kind"))->schema.ptr, "app");
	assert_null(catalog_relation_on_path(catalog, STR("o")));
	const struct catalog_function *const *lower =
		catalog_functions(catalog, STR_NONE, STR("lower"), &count);
	assert_int_equal(count, 4); /* of texts, ranges and multiranges, then ours */
	assert_true(lower[0]->is_system && !lower[3]->is_system);
	(void)catalog_functions(catalog, STR("app"), STR("lower"), &count);
	assert_int_equal(count, 1);
	(void)catalog_functions(catalog, STR("public"), STR("lower"), &count);
	assert_int_equal(count, 0);
	catalog_unref(catalog);
	catalog = compile_sql(
		"CREATE SCHEMA app; CREATE FUNCTION app.lower(text) RETURNS int LANGUAGE sql AS '';"
		"ALTER DATABASE d SET search_path = app, pg_catalog");
	lower = catalog_functions(catalog, STR_NONE, STR("lower"), &count);
	assert_true(count == 4 && !lower[0]->is_system && lower[1]->is_system);
	(void)catalog_functions(catalog, STR_NONE, STR("upper"), &count);
	assert_int_equal(count, 3);
	catalog_unref(catalog);
}

static void keeps_queries_of_views(void **state)
{
	static const struct {
		const char *view;
		const char *definition;
	} views[] = {
		{ "CREATE VIEW v AS SELECT 1 AS x", "SELECT 1 AS x" },
		{ "CREATE OR REPLACE VIEW \"as as\" (x) AS\n  SELECT 1 ", "SELECT 1" },
		{ "CREATE VIEW v /* as */ (x) -- as\n AS(SELECT 1)", "(SELECT 1)" },
		{ "CREATE VIEW v AS WITH c AS (SELECT 1) SELECT * FROM c",
		  "WITH c AS (SELECT 1) SELECT * FROM c" },
		{ "CREATE VIEW v WITH (security_barrier) AS SELECT 1 WITH LOCAL CHECK OPTION", "SELECT 1" },
		{ "CREATE MATERIALIZED VIEW v AS SELECT 1 WITH NO DATA", "SELECT 1" },
		{ "CREATE MATERIALIZED VIEW v TABLESPACE pg_default AS SELECT 2", "SELECT 2" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		struct catalog *catalog = compile_sql(views[i].view);
		size_t count;
		const struct catalog_relation *relations = catalog_relations(catalog, &count);
		assert_int_equal(count, 1);
		assert_true(relations[0].is_view);
		assert_string_equal(relations[0].definition.ptr, views[i].definition);
		catalog_unref(catalog);
	}
}

static void replaces(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"CREATE VIEW v AS SELECT 1 AS a; CREATE OR REPLACE VIEW v AS SELECT 1 AS a, 2 AS b;"
		"CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS '';"
		"CREATE FUNCTION f(text) RETURNS int IMMUTABLE LANGUAGE sql AS '';"
		"CREATE OR REPLACE FUNCTION f(int) RETURNS text STRICT LANGUAGE sql AS '';"
		"CREATE FUNCTION g(int) RETURNS int LANGUAGE sql AS ''; ALTER FUNCTION g(int) STABLE;"
		"CREATE DOMAIN d AS int; ALTER DOMAIN d ADD CHECK (f(VALUE) IS NOT NULL);");
	size_t count;
	assert_int_equal(relation(catalog, "v")->columns_count, 2);
	const struct catalog_function *const *f = catalog_functions(catalog, STR_NONE, STR("f"), &count);
	assert_int_equal(count, 2);
	assert_true(f[0]->argument_types[0] == 23 && f[0]->volatility == 'v' && f[0]->is_strict);
	assert_string_equal(f[0]->result.ptr, "text");
	assert_int_equal(f[1]->volatility, 'i');
	assert_int_equal(catalog_functions(catalog, STR_NONE, STR("g"), &count)[0]->volatility, 's');
	assert_int_equal(catalog_type_named(catalog, STR_NONE, STR("d"))->volatility, 'v');
	catalog_unref(catalog);
}

static void leaves_unknown_types_unsure(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"CREATE EXTENSION postgis; CREATE TABLE places (id int, at geometry(Point,4326), all_at "
		"geometry[]);"
		"CREATE FUNCTION id_of(places.id%TYPE) RETURNS int IMMUTABLE LANGUAGE sql AS '';"
		"CREATE FUNCTION near(geometry, geography) RETURNS float8 IMMUTABLE LANGUAGE c AS 'x';"
		"CREATE FUNCTION near(geography, geometry) RETURNS geometry IMMUTABLE LANGUAGE c AS 'x';"
		"CREATE CAST (geometry AS text) WITH INOUT;"
		"CREATE TABLE heirs () INHERITS (somewhere.else);");
	size_t count;
	const struct catalog_relation *places = relation(catalog, "places");
	assert_int_equal(places->columns[1].value_type, TYPE_UNSURE);
	assert_string_equal(places->columns[1].type.ptr, "geometry");
	assert_string_equal(places->columns[2].type.ptr, "geometry[]");
	assert_int_equal(places->columns[1].category, TYPE_OTHER);
	const struct catalog_function *const *near =
		catalog_functions(catalog, STR_NONE, STR("near"), &count);
	assert_int_equal(count, 2);
	assert_int_equal(near[0]->argument_types[0], TYPE_UNSURE);
	assert_int_equal(catalog_functions(catalog, STR_NONE, STR("id_of"), &count)[0]->argument_types[0],
			 23);
	assert_true(relation(catalog, "heirs")->is_open);
	assert_true(str_present(catalog_gap(catalog)));
	catalog_unref(catalog);
	catalog = compile_sql("CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog;");
	assert_false(str_present(catalog_gap(catalog)));
	catalog_unref(catalog);
}

static void knows_user_objects(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql(
		"CREATE TYPE complex;"
		"CREATE FUNCTION complex_in(cstring) RETURNS complex VOLATILE STRICT LANGUAGE c AS 'x';"
		"CREATE FUNCTION complex_out(complex) RETURNS cstring IMMUTABLE STRICT LANGUAGE c AS 'x';"
		"CREATE TYPE complex (INPUT = complex_in, OUTPUT = complex_out);"
		"CREATE TABLE t (c complex, m complex[]);"
		"CREATE AGGREGATE olds (BASETYPE = int, SFUNC = int4pl, STYPE = int, INITCOND = '0');"
		"CREATE AGGREGATE rank_of (float8 ORDER BY float8) (SFUNC = missing, STYPE = float8);"
		"CREATE FUNCTION twice(VARIADIC xs int[]) RETURNS TABLE (a int, b text) IMMUTABLE LANGUAGE "
		"sql AS '';");
	const struct catalog_type *type = catalog_type_named(catalog, STR_NONE, STR("complex"));
	size_t count;
	assert_int_equal(type->volatility, 'v');
	assert_int_equal(relation(catalog, "t")->columns[0].value_type, type->id);
	assert_int_equal(relation(catalog, "t")->columns[1].value_type, type->array);
	assert_int_equal(catalog_type(catalog, relation(catalog, "t")->row_type)->volatility, 'v');
	const struct catalog_function *const *olds =
		catalog_functions(catalog, STR_NONE, STR("olds"), &count);
	assert_true(olds[0]->kind == 'a' && olds[0]->aggregate == 'n' && olds[0]->volatility == 'i');
	assert_true(olds[0]->arguments == 1 && olds[0]->result_type == 23);
	const struct catalog_function *const *rank =
		catalog_functions(catalog, STR_NONE, STR("rank_of"), &count);
	assert_true(rank[0]->aggregate == 'o' && rank[0]->direct_arguments == 1 && rank[0]->arguments == 2);
	assert_int_equal(rank[0]->volatility, VOLATILITY_UNKNOWN); /* of a function that is not there */
	const struct catalog_function *const *twice =
		catalog_functions(catalog, STR_NONE, STR("twice"), &count);
	assert_true(twice[0]->is_variadic && twice[0]->variadic == 23 && twice[0]->returns_set);
	assert_int_equal(twice[0]->outputs_count, 2);
	assert_int_equal(twice[0]->output_types[1], 25);
	catalog_unref(catalog);
}

/* The built-in part is compiled once a process: what is added to it costs by itself. */
static void is_cheap_to_compile(void **state)
{
	struct timespec start, end;
	(void)state;
	catalog_unref(compile_sql(""));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (int i = 0; i < 100; i++)
		catalog_unref(compile_sql("CREATE TABLE t (id int PRIMARY KEY, name text)"));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	assert_true(seconds < 5.0); /* some 20 µs each, without sanitizers; the built-in part takes 20 ms */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_where_a_file_is_wrong),
		cmocka_unit_test(leaves_out_what_it_cannot_read),
		cmocka_unit_test(follows_renames_and_drops),
		cmocka_unit_test(array_types_give_way),
		cmocka_unit_test(passes_over_what_queries_cannot_see),
		cmocka_unit_test(follows_the_search_path),
		cmocka_unit_test(keeps_queries_of_views),
		cmocka_unit_test(replaces),
		cmocka_unit_test(leaves_unknown_types_unsure),
		cmocka_unit_test(knows_user_objects),
		cmocka_unit_test(is_cheap_to_compile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
