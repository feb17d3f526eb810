/*
 * Safety verdicts and canonical forms of PostgreSQL statements where a catalog says what names mean.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/unit/sql/catalog_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char schema[] =
	"CREATE TABLE users (id integer PRIMARY KEY, name text, pg_sleep text);"
	"CREATE TABLE orders (id integer, user_id integer, total numeric);"
	"CREATE TABLE pg_shadow_copy (id integer);"
	"CREATE FUNCTION tax(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT 1.0';"
	"CREATE FUNCTION rate() RETURNS numeric LANGUAGE sql STABLE AS 'SELECT 1.0';"
	"CREATE FUNCTION wipe(users) RETURNS integer LANGUAGE sql VOLATILE AS 'SELECT 1';"
	"CREATE FUNCTION audit() RETURNS integer LANGUAGE sql AS 'SELECT 1';"
	"CREATE FUNCTION mixed(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';"
	"CREATE FUNCTION mixed(text) RETURNS integer LANGUAGE sql VOLATILE AS 'SELECT 1';"
	"CREATE FUNCTION round(users) RETURNS integer LANGUAGE sql VOLATILE AS 'SELECT 1';"
	"CREATE VIEW tame AS SELECT id, name FROM users;"
	"CREATE VIEW sneaky AS SELECT id, audit() AS a FROM users;"
	"CREATE VIEW nested AS SELECT s.id FROM sneaky s;"
	"CREATE VIEW locks AS SELECT pg_advisory_lock(1) AS l;"
	"CREATE VIEW secrets AS SELECT rolname FROM pg_catalog.pg_authid;";

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

static struct sql_analysis analyse(const char *sql, const struct sql_policy *policy, struct arena *arena)
{
	struct sql_request request = { .sql = arena_text(arena, sql, strlen(sql)),
				       .dialect = SQL_POSTGRESQL,
				       .target_named = true,
				       .catalog = catalog,
				       .policy = policy };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

struct expectation {
	const char *sql;
	const char *code; /* of the first violation; NULL: safe */
};

static void check_all(const struct expectation *cases, size_t count, const struct sql_policy *policy)
{
	unsigned wrong = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, policy, arena);
		const char *code = analysis.violations_count > 0 ? analysis.violations[0].code : NULL;
		bool same =
			code && cases[i].code ? strcmp(code, cases[i].code) == 0 : !code && !cases[i].code;
		if (same && analysis.verdict == (code ? SQL_UNSAFE : SQL_SAFE))
			continue;
		print_error("%s\n  %s instead of %s\n", cases[i].sql, code ? code : "safe",
			    cases[i].code ? cases[i].code : "safe");
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_functions(void **state)
{
	static const struct expectation cases[] = {
		{ "SELECT tax(total), rate() FROM orders LIMIT 1", NULL },
		{ "SELECT lower(name), count(*) FROM users GROUP BY 1", NULL },
		{ "SELECT audit()", "volatile_function" },
		{ "SELECT public.audit()", "volatile_function" },
		{ "SELECT mixed(1)", NULL },
		{ "SELECT mixed(name) FROM users", "volatile_function" },
		{ "SELECT round(1.5)", NULL },
		{ "SELECT round(users) FROM users", "volatile_function" },
		{ "SELECT pg_catalog.round(1.5)", NULL },
		{ "SELECT nobody_knows(1)", NULL },
		{ "SELECT dblink('x', 'y')", "network_access" },
		{ "SELECT random(), clock_timestamp(), gen_random_uuid()", NULL },
		{ "SELECT pg_read_file('x')", "file_access" },
		{ "SELECT wipe(u) FROM users u", "volatile_function" },
		{ "SELECT u.wipe FROM users u", "volatile_function" },
		{ "SELECT (u).wipe FROM users u", "volatile_function" },
		{ "SELECT (u.*).wipe FROM users u", "volatile_function" },
		{ "SELECT 1 FROM users u WHERE u.wipe = 1", "volatile_function" },
		{ "SELECT 1 FROM users u GROUP BY u.id ORDER BY u.wipe", "volatile_function" },
		{ "SELECT s.wipe FROM (SELECT u FROM users u) s", "volatile_function" }, /* by its name */
		{ "SELECT (s.u).wipe FROM (SELECT u FROM users u) s", "volatile_function" },
		{ "SELECT u.pg_sleep FROM users u LIMIT 1", NULL },
		{ "SELECT pg_sleep FROM users LIMIT 1", NULL },
		{ "SELECT s.pg_sleep FROM generate_series(1, 2) s", "time_based" },
		{ "SELECT ('x'::text).length", NULL },
		{ "SELECT ('x'::text).pg_read_file", "file_access" },
	};
	(void)state;
	check_all(cases, COUNT(cases), NULL);
}

/* A catalog that may lack things: what it lacks is not known. Of the whole of one, it does not exist. */
static void test_operators(void **state)
{
	static const struct expectation cases[] = {
		{ "SELECT id <<< 1 FROM u LIMIT 1", "volatile_function" },
		{ "SELECT 1 FROM u WHERE name <<< 'x'", "volatile_function" },
		{ "SELECT 1 FROM u WHERE id OPERATOR(public.<<<) 1000", "volatile_function" },
		{ "SELECT 1 FROM u WHERE id <<< ANY (ARRAY[1, 2])", "volatile_function" },
		{ "SELECT id +++ 1 FROM u LIMIT 1", NULL },
		{ "SELECT id << 1 FROM u LIMIT 1", NULL },
	};
	struct catalog *whole = catalog;
	(void)state;
	assert_int_equal(
		compile_catalog(
			"CREATE TABLE u (id integer, name text);"
			"CREATE FUNCTION loud(integer, integer) RETURNS boolean VOLATILE LANGUAGE sql "
			"AS 'SELECT true';"
			"CREATE FUNCTION loud(text, text) RETURNS boolean VOLATILE LANGUAGE sql AS "
			"'SELECT true';"
			"CREATE FUNCTION calm(integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql "
			"AS 'SELECT 1';"
			"CREATE OPERATOR <<< (FUNCTION = loud, LEFTARG = integer, RIGHTARG = integer);"
			"CREATE OPERATOR <<< (FUNCTION = loud, LEFTARG = text, RIGHTARG = text);"
			"CREATE OPERATOR +++ (FUNCTION = calm, LEFTARG = integer, RIGHTARG = integer);"),
		0);
	check_all(cases, COUNT(cases), NULL);
	catalog_unref(catalog);
	catalog = whole;
}

static void test_extensions(void **state)
{
	static const char *const unknowns[] = {
		"SELECT public.wipe_all()",
		"SELECT wipe_all(id) FROM users",
		"SELECT * FROM wipe_all()",
		"SELECT lower(id) FROM users",
		"SELECT u.wipe_all FROM users u",
		"SELECT (u).wipe_all FROM users u",
		"SELECT (u.name).wipe_all FROM users u",
		"SELECT name(u) FROM users u",
		"SELECT ('x'::text).wipe_all",
		"SELECT id FROM users WHERE name === 'x'",
		"SELECT id FROM users WHERE id % name",
		"SELECT id FROM users WHERE id = name",
		"SELECT '5'::evil_dom",
		"SELECT evil_dom(id) FROM users",
		"SELECT id::date FROM users",
		"SELECT CASE WHEN true THEN id ELSE name END FROM users",
		"SELECT * FROM jsonb_to_recordset('[]') AS x(e evil_dom)",
		"SELECT id FROM looks",
	};
	static const char *const reads[] = {
		"SELECT id, name::integer, lower(name), count(*) FROM users GROUP BY 1, 2, 3",
		"SELECT o.total + 1 FROM orders o JOIN users u ON u.id = o.user_id WHERE u.name LIKE 'a%'",
		"SELECT u FROM users u LIMIT 1",
		"SELECT tax(total) FROM orders LIMIT 1",
		"SELECT id FROM tame LIMIT 1",
	};
	struct catalog *complete = catalog;
	(void)state;
	for (unsigned lacks = 0; lacks < 2; lacks++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		str_t text =
			arena_printf(arena, "%s%s;CREATE %s AS SELECT %s AS id FROM users",
				     lacks ? "CREATE EXTENSION pg_cron;" : "", schema,
				     lacks ? "VIEW looks" : "TABLE looks", lacks ? "wipe_all(id)" : "id");
		assert_int_equal(compile_catalog(text.ptr), 0);
		for (size_t i = 0; i < COUNT(unknowns); i++) {
			struct sql_analysis analysis = analyse(unknowns[i], NULL, arena);
			if (analysis.verdict != (lacks ? SQL_UNKNOWN : SQL_SAFE))
				print_error("%s\n", unknowns[i]);
			assert_int_equal(analysis.verdict, lacks ? SQL_UNKNOWN : SQL_SAFE);
			assert_true(!lacks || strstr(analysis.doubt.ptr, "extension \"pg_cron\""));
		}
		for (size_t i = 0; i < COUNT(reads); i++) {
			struct sql_analysis analysis = analyse(reads[i], NULL, arena);
			if (analysis.verdict != SQL_SAFE)
				print_error("%s\n  " STR_FMT "\n", reads[i], STR_ARG(analysis.doubt));
			assert_int_equal(analysis.verdict, SQL_SAFE);
		}
		catalog_unref(catalog);
	}
	catalog = complete;
}

/* Objects that are made of what the file does not have. */
static void test_made_of_unknowns(void **state)
{
	static const struct {
		const char *sql;
		enum sql_verdict verdict;
	} cases[] = {
		{ "SELECT id FROM guarded", SQL_UNKNOWN },
		{ "SELECT auth.wipe_all(id) FROM plain", SQL_UNKNOWN }, /* not all that it names is there */
		{ "SELECT id FROM plain", SQL_SAFE },
		{ "SELECT id::checked FROM plain", SQL_UNKNOWN },
		{ "SELECT id FROM plain WHERE id === 1", SQL_UNKNOWN },
		{ "SELECT sums(id) FROM plain", SQL_UNKNOWN },
		{ "SELECT id FROM guarded WHERE pg_sleep(1) IS NULL", SQL_UNSAFE },
		{ "SELECT id FROM remote", SQL_UNKNOWN },
		{ "SELECT id FROM parents", SQL_UNKNOWN },
		{ "SELECT id FROM runs", SQL_UNSAFE },
	};
	struct catalog *outer = catalog;
	(void)state;
	assert_int_equal(
		compile_catalog(
			"CREATE TABLE plain (id int); CREATE TABLE guarded (id int, owner text);"
			"ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;"
			"CREATE POLICY p ON guarded USING (owner = auth.uid());"
			"CREATE DOMAIN checked AS int CHECK (elsewhere.proves(VALUE));"
			"CREATE OPERATOR === (FUNCTION = elsewhere.same, LEFTARG = int, RIGHTARG = int);"
			"CREATE AGGREGATE sums(int) (SFUNC = elsewhere.adds, STYPE = int);"
			"CREATE TABLE parents (id int);"
			"CREATE FOREIGN TABLE remote () INHERITS (parents) SERVER elsewhere;"
			"CREATE FOREIGN TABLE runs (id int) SERVER elsewhere OPTIONS (program 'id');"),
		0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, NULL, arena);
		if (analysis.verdict != cases[i].verdict)
			print_error("%s: %d\n", cases[i].sql, (int)analysis.verdict);
		assert_int_equal(analysis.verdict, cases[i].verdict);
		assert_true(analysis.verdict == SQL_SAFE || analysis.violations_count > 0 ||
			    str_present(analysis.doubt));
	}
	catalog_unref(catalog);
	catalog = outer;
}

static void check_verdict(const char *schema_text, const char *sql, enum sql_verdict verdict)
{
	struct catalog *outer = catalog;
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	assert_int_equal(compile_catalog(schema_text), 0);
	struct sql_analysis analysis = analyse(sql, NULL, arena);
	if (analysis.verdict != verdict)
		print_error("%s: %d " STR_FMT "\n", schema_text, (int)analysis.verdict,
			    STR_ARG(analysis.doubt));
	assert_int_equal(analysis.verdict, verdict);
	catalog_unref(catalog);
	catalog = outer;
}

/* Views over what the file does not have: more may be missing, too. */
static void test_views_of_unknowns(void **state)
{
	static const struct {
		const char *query;
		enum sql_verdict verdict;
	} views[] = {
		{ "SELECT a AS x FROM t", SQL_SAFE },
		{ "SELECT abs(a) AS x, name(a::text), a + 1, a::bigint FROM t WHERE a > 1", SQL_SAFE },
		{ "SELECT unknown_fn(a) AS x FROM t", SQL_UNKNOWN },
		{ "SELECT elsewhere.fn(a) AS x FROM t", SQL_UNKNOWN },
		{ "SELECT abs(a, a) AS x FROM t", SQL_UNKNOWN },
		{ "SELECT a AS x FROM t WHERE unknown_fn(a) > 1", SQL_UNKNOWN },
		{ "SELECT t.unknown_fn AS x FROM t", SQL_UNKNOWN },
		{ "SELECT a AS x FROM t WHERE a === 1", SQL_UNKNOWN },
		{ "SELECT a::unknown_type AS x FROM t", SQL_UNKNOWN },
		{ "WITH s AS (SELECT unknown_fn(a) AS x FROM t) SELECT x FROM s", SQL_UNKNOWN },
		{ "SELECT x FROM elsewhere.u", SQL_UNKNOWN },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(views); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		str_t text =
			arena_printf(arena, "CREATE TABLE t (a int);CREATE VIEW v AS %s", views[i].query);
		check_verdict(text.ptr, "SELECT x FROM v LIMIT 1", views[i].verdict);
	}
}

/* The text of a view stays as it was written. */
static void test_renamed_relations(void **state)
{
	static const char text[] = "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t;"
				   "CREATE TABLE u (a int); ALTER TABLE t RENAME TO renamed;"
				   "ALTER TABLE u RENAME a TO b;";
	(void)state;
	check_verdict(text, "SELECT a FROM renamed LIMIT 1", SQL_SAFE);
	check_verdict(text, "SELECT b FROM u LIMIT 1", SQL_SAFE);
	check_verdict(text, "SELECT a FROM v LIMIT 1", SQL_UNKNOWN);
}

/* ONLY does not read children. */
static void test_foreign_children(void **state)
{
	static const char text[] = "CREATE TABLE par (a int);"
				   "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
				   "CREATE FOREIGN TABLE kid () INHERITS (par) SERVER s "
				   "OPTIONS (program 'id');";
	(void)state;
	check_verdict(text, "SELECT a FROM par LIMIT 1", SQL_UNSAFE);
	check_verdict(text, "SELECT a FROM ONLY par LIMIT 1", SQL_SAFE);
	check_verdict(text, "SELECT a FROM ONLY kid LIMIT 1", SQL_UNSAFE);
}

static void test_sampling_methods(void **state)
{
	static const char method[] = "CREATE TABLE t (a int); CREATE FUNCTION evil(internal) RETURNS "
				     "tsm_handler LANGUAGE c AS 'x';";
	(void)state;
	check_verdict("CREATE TABLE t (a int)", "SELECT a FROM t TABLESAMPLE evil (1)", SQL_UNSAFE);
	check_verdict(method, "SELECT a FROM t TABLESAMPLE evil (1)", SQL_UNSAFE);
}

/* A table that came with an extension may be a view that calls what it likes. */
static void test_relations_of_extensions(void **state)
{
	(void)state;
	check_verdict("CREATE EXTENSION pg_cron; CREATE TABLE t (a int)", "SELECT a FROM t, cron.job",
		      SQL_UNKNOWN);
	check_verdict("CREATE EXTENSION pg_cron; CREATE TABLE t (a int)", "SELECT a FROM t", SQL_SAFE);
	check_verdict("CREATE EXTENSION pgcrypto; CREATE TABLE t (a int)", "SELECT a FROM t, job", SQL_SAFE);
}

static void test_relations(void **state)
{
	static const struct expectation cases[] = {
		{ "SELECT name FROM tame LIMIT 1", NULL },
		{ "SELECT id FROM pg_shadow_copy LIMIT 1", NULL },
		{ "SELECT id FROM sneaky LIMIT 1", "volatile_function" },
		{ "SELECT id FROM nested LIMIT 1", "volatile_function" },
		{ "SELECT l FROM locks", "dangerous_function" },
		{ "SELECT rolname FROM secrets", "system_catalog" },
		{ "WITH sneaky AS (SELECT 1 AS id) SELECT id FROM sneaky", NULL },
		{ "SELECT * FROM pg_authid", "system_catalog" },
		{ "SELECT relname FROM pg_class LIMIT 1", NULL },
	};
	(void)state;
	check_all(cases, COUNT(cases), NULL);
}

static void test_policies(void **state)
{
	static const str_t allowed[] = { { "audit", 5 }, { "public.rate", 11 } };
	static const struct sql_policy none = { .user_functions = SQL_USER_FUNCTIONS_NONE };
	static const struct sql_policy list = { .user_functions = SQL_USER_FUNCTIONS_LIST,
						.allowed_functions = allowed,
						.allowed_functions_count = 2 };
	static const struct expectation with_none[] = {
		{ "SELECT rate()", "dangerous_function" },
		{ "SELECT lower('X')", NULL },
	};
	static const struct expectation with_list[] = {
		{ "SELECT audit()", NULL },
		{ "SELECT rate()", NULL },
		{ "SELECT tax(1)", "dangerous_function" },
		{ "SELECT lower('X')", NULL },
		{ "SELECT dblink('x', 'y')", "network_access" },
	};
	(void)state;
	check_all(with_none, COUNT(with_none), &none);
	check_all(with_list, COUNT(with_list), &list);
}

static void test_canonical_with_catalog(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool equal;
	} cases[] = {
		{ "SELECT name, total FROM users JOIN orders ON user_id = users.id",
		  "SELECT u.name, o.total FROM orders o, users u WHERE u.id = o.user_id", true },
		{ "SELECT * FROM orders", "SELECT id, user_id, total FROM orders", true },
		{ "SELECT o.* FROM orders o", "SELECT id, user_id, total FROM orders", true },
		{ "SELECT * FROM orders", "SELECT user_id, id, total FROM orders", false },
		{ "SELECT 1 FROM users WHERE id IN (SELECT user_id FROM orders)",
		  "SELECT 1 FROM users u WHERE u.id IN (SELECT o.user_id FROM orders o)", true },
		{ "SELECT 1 FROM users WHERE name IN (SELECT name FROM orders)",
		  "SELECT 1 FROM users u WHERE u.name IN (SELECT u.name FROM orders o)", true },
		{ "SELECT name FROM users JOIN orders USING (id)",
		  "SELECT name FROM users u JOIN orders o ON o.id = u.id", true },
		{ "SELECT count(*), lower(name) AS n FROM users GROUP BY n",
		  "SELECT count(*), lower(name) FROM users GROUP BY 2", true },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis a = analyse(cases[i].a, NULL, arena);
		struct sql_analysis b = analyse(cases[i].b, NULL, arena);
		if (str_equal(a.canonical, b.canonical) != cases[i].equal)
			print_error(STR_FMT "\n" STR_FMT "\n", STR_ARG(a.canonical), STR_ARG(b.canonical));
		assert_int_equal(str_equal(a.canonical, b.canonical), cases[i].equal);
	}
}

static void test_order_keys_of_stars(void **state)
{
	static const struct {
		const char *sql;
		int column;
	} cases[] = {
		{ "SELECT * FROM orders ORDER BY total", 2 },
		{ "SELECT o.*, 1 AS one FROM orders o ORDER BY one", 3 },
		{ "SELECT * FROM users JOIN orders ON true ORDER BY orders.user_id", 4 },
		{ "SELECT name FROM users ORDER BY id", -1 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, NULL, arena);
		assert_int_equal(analysis.order_keys_count, 1);
		assert_int_equal(analysis.order_keys[0].column, cases[i].column);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_made_of_unknowns),
		cmocka_unit_test(test_relations),
		cmocka_unit_test(test_relations_of_extensions),
		cmocka_unit_test(test_views_of_unknowns),
		cmocka_unit_test(test_renamed_relations),
		cmocka_unit_test(test_foreign_children),
		cmocka_unit_test(test_sampling_methods),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_canonical_with_catalog),
		cmocka_unit_test(test_order_keys_of_stars),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
