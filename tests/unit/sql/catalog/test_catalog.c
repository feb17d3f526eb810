#include "common/buf.h"
#include "sql/catalog/content.h"
#include "sql/postgresql/ddl/ddl.h"
#include "tests/unit/sql/catalogs.h"

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

/* As many columns as a catalog may well have, of odd names. */
static void keeps_words(void **state)
{
	(void)state;
	enum { TABLES = 100, COLUMNS = 100 };
	static const char *const names[] = { "camelCase",
					     "HTTPServer",
					     "12",
					     "_",
					     "id",
					     "x y-z",
					     "stra\xC3\x9F"
					     "enName",
					     "\xC3\x89T\xC3\x89",
					     "FREE_meal_counts",
					     "a.b",
					     "9Lives" };
	struct buf text = BUF_INIT;
	for (int table = 0; table < TABLES; table++) {
		buf_printf(&text, "CREATE TABLE \"Table%dOf\" (", table);
		for (int column = 0; column < COLUMNS; column++)
			buf_printf(&text, "%s\"%s%d\" int", column ? ", " : "",
				   names[(size_t)(table + column) % (sizeof names / sizeof names[0])],
				   column);
		buf_append_text(&text, ");\n");
	}
	struct catalog *catalog = compile_sql(text.data);
	size_t count, columns = 0;
	const struct catalog_relation *found = catalog_relations(catalog, &count);
	for (size_t i = 0; i < count; i++) {
		word_id ids[NAME_WORDS_MAX];
		char lower[WORD_BYTES_MAX];
		assert_int_equal(found[i].words.count, words_of_name(found[i].name, ids, NAME_WORDS_MAX));
		assert_memory_equal(found[i].words.ids, ids, found[i].words.count * sizeof *ids);
		for (size_t j = 0; j < found[i].columns_count; j++) {
			const struct name_words *words = &found[i].column_words[j];
			str_t name = found[i].columns[j].name;
			assert_int_equal(words->count, words_of_name(name, ids, NAME_WORDS_MAX));
			assert_memory_equal(words->ids, ids, words->count * sizeof *ids);
			assert_int_equal(words->whole, word_stem(lower, word_lower(name, lower)));
		}
		columns += found[i].columns_count;
	}
	assert_true(columns >= (size_t)TABLES * COLUMNS);
	catalog_unref(catalog);
	buf_free(&text);
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
	assert_int_equal(ddl_compile(STR("\nCREATE TABLE (y int);\n"), &catalog, &detail),
			 ERR_CATALOG_SYNTAX);
	assert_string_equal(detail.message, "line 2: syntax error at or near \"(\"");
	assert_null(catalog);
}

static const char json[] =
	"{\"format\":2,\"search_path\":[\"pg_catalog\",\"app\",\"public\"],"
	"\"schemas\":[\"app\",\"pg_catalog\",\"public\"],"
	"\"types\":[[23,null,\"int4\",\"bNi-u\",0,1007,0,null,null],[20,null,\"int8\",\"bNi-u\",0,0,0,null,"
	"null],"
	"[1700,null,\"numeric\",\"bNi-u\",0,0,0,null,null],[25,null,\"text\",\"bSi-pu\",0,0,0,null,null],"
	"[1007,null,\"_int4\",\"bAsau\",23,0,0,null,null],"
	"[70010,\"app\",\"_id\",\"bAsau\",70009,0,0,null,null],[70009,\"app\",\"id\",\"dNv-u\",0,70010,23,"
	"null,null],"
	"[60000,\"zoo\",\"pair\",\"cCs-u\",0,0,0,[[\"a\",70010,false]],null]],"
	"\"relations\":[[\"app\",\"t\",\"rix\",90000,0,[[\"id\",70009,true],[\"v\",1700,false]],"
	"[[\"pi\",[\"id\"]],[\"u\",[\"v\",\"id\"]]],null,null],"
	"[\"public\",\"t\",\"vipx\",0,0,[[\"z\",25,false]],null,\" SELECT 1\",null],"
	"[\"public\",\"empty\",\"rixc\",0,0,null,null,null,\"70009\"]],"
	"\"functions\":[[\"public\",\"f\",\"vf-xr\",\"plpgsql\",1,0,0,20,\"23 "
	"70009\",[\"a\",\"\"],[\"p\",\"q\"],"
	"\"20 25\",null]],"
	"\"operators\":[[null,\"+\",\"ipx\",23,20,20],[\"app\",\"+\",\"vx\",0,23,23]],"
	"\"casts\":[[23,20,\"ifipx\"],[70009,25,\"efv\"]]}";

static void compiles_postgresql(void **state)
{
	(void)state;
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(catalog_compile_postgresql(str_from(json), &catalog, &detail), ERR_OK);
	const struct catalog_relation *t = relation(catalog, "t");
	assert_string_equal(t->schema.ptr, "app"); /* first on the path */
	assert_columns(t, (const char *const[]){ "id", "v" }, 2);
	assert_true(t->columns[0].is_key && t->columns[0].not_null && !t->columns[1].is_key);
	assert_string_equal(t->columns[0].type.ptr, "integer"); /* the domain's base */
	assert_int_equal(t->columns[0].category, TYPE_INTEGER);
	assert_int_equal(t->columns[1].category, TYPE_NUMERIC);
	assert_true(t->may_read && !t->is_public && !t->has_children);
	assert_int_equal(t->keys_count, 2);
	assert_true(t->keys[0].is_primary && t->keys[0].is_immediate && t->keys[0].columns[0] == 0);
	assert_true(!t->keys[1].is_immediate && t->keys[1].columns[0] == 1 && t->keys[1].columns[1] == 0);
	const struct catalog_relation *view = catalog_relation(catalog, STR("public"), STR("t"));
	assert_true(view->is_view && view->is_public);
	assert_string_equal(view->definition.ptr, " SELECT 1");
	assert_int_equal(relation(catalog, "empty")->columns_count, 0);
	assert_int_equal(relation(catalog, "empty")->volatility, 'v'); /* by the domain in its policy */
	size_t count = 0;
	const struct catalog_function *const *f = catalog_functions(catalog, STR_NONE, STR("f"), &count);
	assert_int_equal(count, 1);
	assert_true(f[0]->volatility == 'v' && !f[0]->is_public && f[0]->may_execute);
	assert_true(f[0]->returns_set && f[0]->defaults == 1 && f[0]->outputs_count == 2);
	assert_int_equal(f[0]->category, TYPE_INTEGER);
	assert_int_equal(f[0]->argument_types[0], 23);
	assert_string_equal(f[0]->argument_names[0].ptr, "a");
	assert_int_equal(f[0]->output_types[1], 25);
	assert_string_equal(f[0]->language.ptr, "plpgsql");
	assert_string_equal(catalog_source(catalog).ptr, json);
	assert_int_equal(catalog_dialect(catalog), SQL_POSTGRESQL);
	catalog_unref(catalog);
}

/* Ids of the target's own types are those of the names' order; volatility goes up through what types are made
 * of. */
static void numbers_types(void **state)
{
	(void)state;
	struct catalog *catalog = NULL;
	assert_int_equal(catalog_compile_postgresql(str_from(json), &catalog, NULL), ERR_OK);
	static const struct {
		type_id id;
		const char *name, *text;
		char volatility;
	} expected[] = {
		{ 23, "int4", "integer", 'i' },	    { 1007, "_int4", "integer[]", 's' },
		{ 16384, "_id", "id[]", 'v' },	    { 16385, "id", "id", 'v' },
		{ 16386, "t", "t", 'v' }, /* rows of app.t */
		{ 16387, "pair", "zoo.pair", 'v' },
	};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		const struct catalog_type *type = catalog_type(catalog, expected[i].id);
		assert_non_null(type);
		assert_string_equal(type->name.ptr, expected[i].name);
		assert_string_equal(type->text.ptr, expected[i].text);
		assert_int_equal(type->volatility, expected[i].volatility);
	}
	assert_null(catalog_type(catalog, TYPE_UNSURE));
	assert_null(catalog_type(catalog, 70009));
	const struct catalog_type *id = catalog_type_named(catalog, STR_NONE, STR("id"));
	assert_int_equal(id->base, 23);
	assert_int_equal(catalog_type(catalog, id->array)->element, id->id);
	assert_int_equal(catalog_type_base(catalog, id->id), 23);
	assert_int_equal(relation(catalog, "t")->columns[0].value_type, id->id);
	assert_int_equal(relation(catalog, "t")->row_type, 16386);
	assert_ptr_equal(catalog_type(catalog, 16386)->relation, relation(catalog, "t"));
	assert_null(catalog_type_named(catalog, STR_NONE, STR("pair")));
	assert_int_equal(catalog_type_named(catalog, STR("zoo"), STR("pair"))->columns_count, 1);
	size_t count = 0;
	const struct catalog_operator *const *plus = catalog_operators(catalog, STR_NONE, STR("+"), &count);
	assert_int_equal(count, 2);
	assert_true(plus[0]->is_system && !plus[0]->is_prefix && plus[0]->result == 20);
	assert_true(plus[1]->is_prefix && plus[1]->volatility == 'v' && !plus[1]->is_public);
	assert_int_equal(catalog_cast(catalog, 23, 20)->context, 'i');
	assert_int_equal(catalog_cast(catalog, id->id, 25)->volatility, 'v');
	assert_null(catalog_cast(catalog, 20, 23));
	catalog_unref(catalog);
}

#define EMPTY_LISTS(except)                                                                                  \
	"{\"format\":2,\"search_path\":[],\"schemas\":[],\"types\":[]," except                               \
	"\"functions\":[],\"operators\":[],\"casts\":[]}"

static void refuses_other_json(void **state)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"{}",
		"{\"format\":1}",
		"{\"format\":2}",
		"{\"format\":2,\"search_path\":{}}",
		"{\"format\":2,\"search_path\":[null]}",
		EMPTY_LISTS("\"relations\":[1],"),
		EMPTY_LISTS("\"relations\":[[\"a\",\"b\",\"rix\",0,0,[[1]],null,null,null]],"),
		EMPTY_LISTS("\"relations\":[[\"a\",\"b\",\"rix\",0,0,[],[[\"pi\",[\"x\"]]],null,null]],"),
		EMPTY_LISTS("\"relations\":[[\"a\",\"b\",\"r\",0,0,[],null,null,null]],"),
		EMPTY_LISTS("\"relations\":[[\"a\",\"b\",\"ri\",-1,0,[],null,null,null]],"),
		EMPTY_LISTS("\"relations\":[[\"a\",\"b\",\"ri\",0,0,null,null,null],"
			    "[\"a\",\"b\",\"ri\",0,0,null,null,null]],"),
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

/* Every byte replaced by each of some, and every beginning: one clear error, or a catalog. */
static void survives_mutations(void **state)
{
	static const char bytes[] = "09\"[]{}n,-x ";
	char text[sizeof json];
	size_t compiled = 0, refused = 0;
	(void)state;
	for (size_t at = 0; at < sizeof json - 1; at++) {
		for (size_t b = 0; b < sizeof bytes; b++) {
			struct catalog *catalog = NULL;
			struct err_detail detail = { "" };
			memcpy(text, json, sizeof json);
			text[at] = bytes[b]; /* the last is NUL: there the text is cut */
			str_t mutant = { text, b == sizeof bytes - 1 ? at : sizeof json - 1 };
			if (catalog_compile_postgresql(mutant, &catalog, &detail) == ERR_OK) {
				compiled++;
				(void)catalog_type_base(catalog, 16385);
			} else {
				refused++;
				assert_int_equal(strncmp(detail.message, "catalog: ", strlen("catalog: ")),
						 0);
			}
			catalog_unref(catalog);
		}
	}
	assert_true(compiled > 1000 && refused > 1000);
}

/* Types that are made of themselves end somewhere, and count as the worst. */
static void survives_circles(void **state)
{
	static const struct {
		const char *types;
		type_id base;
	} circles[] = {
		{ "[50000,\"a\",\"a\",\"dNi-u\",0,0,50000,null,null]", TYPE_UNSURE },
		{ "[50000,\"a\",\"a\",\"dNi-u\",0,0,50001,null,null],"
		  "[50001,\"a\",\"b\",\"dNi-u\",0,0,50000,null,null]",
		  TYPE_UNSURE },
		{ "[50000,\"a\",\"a\",\"bAiau\",50001,50001,0,null,null],"
		  "[50001,\"a\",\"b\",\"bAiau\",50000,50000,0,null,null]",
		  16384 },
		{ "[50000,\"a\",\"a\",\"cCi-u\",0,0,0,[[\"x\",50000,false]],null]", 16384 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof circles / sizeof *circles; i++) {
		struct catalog *catalog = NULL;
		struct err_detail detail = { "" };
		char text[600];
		snprintf(text, sizeof text,
			 "{\"format\":2,\"search_path\":[],\"schemas\":[],\"types\":[%s],\"relations\":[],"
			 "\"functions\":[],\"operators\":[],\"casts\":[]}",
			 circles[i].types);
		assert_int_equal(catalog_compile_postgresql(str_from(text), &catalog, &detail), ERR_OK);
		assert_int_equal(catalog_type(catalog, 16384)->volatility, 'v');
		assert_int_equal(catalog_type_base(catalog, 16384), circles[i].base);
		catalog_unref(catalog);
	}
}

static void survives_deep_types(void **state)
{
	struct buf text = BUF_INIT;
	struct catalog *catalog = NULL;
	(void)state;
	buf_append_text(&text, "{\"format\":2,\"search_path\":[],\"schemas\":[],\"types\":[");
	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "%s[%d,\"a\",\"t%05d\",\"dNi-u\",0,0,%d,null,null]", i > 0 ? "," : "",
			   20000 + i, i, 20001 + i);
	buf_append_text(&text, "],\"relations\":[],\"functions\":[],\"operators\":[],\"casts\":[]}");
	assert_int_equal(catalog_compile_postgresql(buf_str(&text), &catalog, NULL), ERR_OK);
	assert_int_equal(catalog_type_base(catalog, 16384), TYPE_UNSURE);
	assert_int_equal(catalog_type_base(catalog, 16384 + 49000), TYPE_UNSURE);
	catalog_unref(catalog);
	buf_free(&text);
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
		cmocka_unit_test(compiles_relations),  cmocka_unit_test(keeps_words),
		cmocka_unit_test(compiles_functions),  cmocka_unit_test(reports_where_a_file_is_wrong),
		cmocka_unit_test(compiles_postgresql), cmocka_unit_test(numbers_types),
		cmocka_unit_test(refuses_other_json),  cmocka_unit_test(survives_mutations),
		cmocka_unit_test(survives_circles),    cmocka_unit_test(survives_deep_types),
		cmocka_unit_test(compiles_sqlite),     cmocka_unit_test(digests_content),
		cmocka_unit_test(counts_references),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
