/*
 * The SQLite front end: diagnostics, safety, tables and canonical form against a small schema and without
 * one.
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char schema[] = "[\"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, city TEXT)\","
			     " \"CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total REAL)\","
			     " \"CREATE VIEW big AS SELECT * FROM orders WHERE total > 100\","
			     " \"CREATE VIEW odd AS SELECT id, name FROM users WHERE city = \\\"Rome\\\"\"]";

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static struct catalog *catalog;

static int load_catalog(void **state)
{
	(void)state;
	return catalog_compile_sqlite(str_from(schema), &catalog, NULL) == ERR_OK ? 0 : -1;
}

static int drop_catalog(void **state)
{
	(void)state;
	catalog_unref(catalog);
	return 0;
}

static struct sql_analysis analyse(const char *sql, bool with_catalog, bool target_named, struct arena *arena)
{
	struct sql_request request = { .sql = arena_text(arena, sql, strlen(sql)),
				       .dialect = SQL_SQLITE,
				       .target_named = target_named,
				       .catalog = with_catalog ? catalog : NULL };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static bool has_violation(const struct sql_analysis *analysis, const char *code)
{
	for (size_t i = 0; i < analysis->violations_count; i++)
		if (strcmp(analysis->violations[i].code, code) == 0)
			return true;
	return false;
}

static void print_analysis(const char *sql, const struct sql_analysis *analysis)
{
	print_error("%s\n  verdict %d valid %d\n", sql, (int)analysis->verdict, analysis->valid);
	for (size_t i = 0; i < analysis->violations_count; i++)
		print_error("  %s: " STR_FMT "\n", analysis->violations[i].code,
			    STR_ARG(analysis->violations[i].detail));
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		print_error("  %s at %lld: " STR_FMT "\n", analysis->diagnostics[i].code,
			    (long long)analysis->diagnostics[i].offset,
			    STR_ARG(analysis->diagnostics[i].message));
}

static const struct {
	const char *sql;
	const char *code;
} attacks[] = {
	{ "DELETE FROM users", "not_a_read" },
	{ "INSERT INTO users VALUES (1, 'a', 'b')", "not_a_read" },
	{ "REPLACE INTO users VALUES (1, 'a', 'b')", "not_a_read" },
	{ "UPDATE users SET name = 'x'", "not_a_read" },
	{ "WITH x AS (SELECT 1) DELETE FROM users", "not_a_read" },
	{ "WITH x AS (SELECT 1) INSERT INTO users SELECT 1, 'a', 'b'", "not_a_read" },
	{ "EXPLAIN DELETE FROM users", "not_a_read" },
	{ "DROP TABLE users", "not_a_read" },
	{ "CREATE TABLE x (a)", "not_a_read" },
	{ "CREATE TEMP TABLE x AS SELECT 1", "not_a_read" },
	{ "ALTER TABLE users ADD COLUMN x", "not_a_read" },
	{ "ATTACH DATABASE '/tmp/x.db' AS x", "not_a_read" },
	{ "DETACH DATABASE main", "not_a_read" },
	{ "PRAGMA writable_schema = 1", "not_a_read" },
	{ "PRAGMA table_info(users)", "not_a_read" },
	{ "BEGIN", "not_a_read" },
	{ "COMMIT", "not_a_read" },
	{ "SAVEPOINT x", "not_a_read" },
	{ "VACUUM", "not_a_read" },
	{ "VACUUM INTO '/tmp/x'", "not_a_read" },
	{ "REINDEX", "not_a_read" },
	{ "ANALYZE", "not_a_read" },
	{ "SELECT 1; DROP TABLE users", "multiple_statements" },
	{ "SELECT 1; SELECT 2", "multiple_statements" },
	{ "SELECT 1 -- \r ' \n; DROP TABLE users --'", "multiple_statements" },
	{ "SELECT load_extension('x')", "file_access" },
	{ "SELECT Load_Extension /* x */ ('x')", "file_access" },
	{ "SELECT \"load_extension\"('x')", "file_access" },
	{ "SELECT name FROM users WHERE id = 1 OR \"a\" = \"a\"", "injection_pattern" },
	{ "SELECT [load_extension]('x')", "file_access" },
	{ "SELECT readfile('/etc/passwd')", "file_access" },
	{ "SELECT writefile('/tmp/x', 'y')", "file_access" },
	{ "SELECT edit('x')", "file_access" },
	{ "SELECT fts3_tokenizer('simple')", "dangerous_function" },
	{ "SELECT last_insert_rowid()", "volatile_function" },
	{ "SELECT randomblob(1000000000)", "resource_bomb" },
	{ "SELECT zeroblob(1000 * 1000 * 1000)", "resource_bomb" },
	{ "SELECT hex(zeroblob(500000000))", "resource_bomb" },
	{ "SELECT length(replace(hex(zeroblob(30000)), '00', hex(zeroblob(15000))))", "resource_bomb" },
	{ "SELECT replace(printf('%30000s', ''), ' ', printf('%30000s', ''))", "resource_bomb" },
	{ "SELECT printf('%.*c', 900000000, 'x')", "resource_bomb" },
	{ "SELECT format('%900000000d', 1)", "resource_bomb" },
	{ "SELECT printf(name, 1) FROM users", "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
	  "resource_bomb" },
	{ "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", "resource_bomb" },
	{ "SELECT id FROM users WHERE id = (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
	  "FROM r) "
	  "SELECT count(*) FROM r)",
	  "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE [n] = [n]) SELECT "
	  "count(*) "
	  "FROM r",
	  "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE `n` > 0) SELECT "
	  "count(*) "
	  "FROM r",
	  "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT -1) SELECT count(*) "
	  "FROM r",
	  "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9000) SELECT "
	  "count(*) "
	  "FROM r a, r b, r c",
	  "resource_bomb" },
	{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, (SELECT 1 UNION ALL "
	  "SELECT 2) "
	  "WHERE n < 60) SELECT count(*) FROM r",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT DATE('2020-01-01') AS x UNION ALL SELECT date(x, '-1 day') FROM d "
	  "WHERE x < '2020-01-31') SELECT x FROM d",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT '2020-01-01' AS x UNION ALL SELECT date(x, '+0 day') FROM d WHERE x < "
	  "'2020-01-31') SELECT x FROM d",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT abs(n) FROM d WHERE n < 5) SELECT n FROM d",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT -n FROM d WHERE n < 5) SELECT n FROM d",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n * 1 FROM d WHERE n < 10) SELECT n FROM d",
	  "resource_bomb" },
	{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n + 2 FROM d WHERE n <> 10) SELECT n FROM d",
	  "resource_bomb" },
	{ "SELECT group_concat(name, printf('%200000s', '')) FROM users", "resource_bomb" },
	{ "SELECT json_group_array(hex(randomblob(90000))) FROM users", "resource_bomb" },
	{ "SELECT instr(printf('%900000s', ''), printf('%400000s', 'b'))", "resource_bomb" },
	{ "SELECT * FROM pragma_table_info('users')", "system_catalog" },
	{ "SELECT name FROM users UNION SELECT sql FROM sqlite_master", "injection_pattern" },
	{ "SELECT name FROM users WHERE name = '' OR 1 = 1", "injection_pattern" },
	{ "SELECT name FROM users WHERE name = '' OR 1 = 0 + 1", "injection_pattern" },
	{ "SELECT name FROM users WHERE name = '' OR '1'='1' --", "injection_pattern" },
	{ "SELECT name FROM users WHERE name = 'admin'--' AND city = ''", "injection_pattern" },
	{ "SELECT $a(') , load_extension('x') --'", "unanalysable" },
};

/* Nothing that can be seen speaks against these; they are no statements all the same. */
static const char *const broken[] = {
	"SELEC 1",
	"SELECT (",
	"",
	"SELECT 'x",
	"SELECT * FORM users",
	"SELECT 1;\nAnd this is why; it is.",
	"I cannot drop table users.",
	"SELECT 1; \"x",
	"SELECT name FROM users WHERE name = 'it's'",
};

static void test_broken(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(broken) * 2; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(broken[i / 2], i % 2 == 0, i % 2 == 0, arena);
		if (analysis.verdict == SQL_UNKNOWN && !analysis.valid && str_present(analysis.doubt))
			continue;
		print_analysis(broken[i / 2], &analysis);
		fail();
	}
}

static void test_attacks(void **state)
{
	(void)state;
	unsigned missed = 0;
	for (size_t i = 0; i < COUNT(attacks) * 2; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(attacks[i / 2].sql, i % 2 == 0, i % 2 == 0, arena);
		if (analysis.verdict == SQL_UNSAFE && has_violation(&analysis, attacks[i / 2].code))
			continue;
		print_error("expected %s%s\n", attacks[i / 2].code, i % 2 ? " without a catalog" : "");
		print_analysis(attacks[i / 2].sql, &analysis);
		missed++;
	}
	assert_int_equal(missed, 0);
}

static void test_reads(void **state)
{
	static const char *const queries[] = {
		"SELECT name FROM users LIMIT 3",
		"SELECT u.name, sum(o.total) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.name",
		"SELECT count(*) FROM big",
		"WITH x AS (SELECT total FROM orders) SELECT max(total) FROM x",
		"SELECT `name`, [city] FROM \"users\" LIMIT 1 OFFSET 2",
		"SELECT replace(name, 'DELETE', 'x'), printf('%5d', id) FROM users LIMIT 1",
		"SELECT hex(randomblob(16)), strftime('%Y', 'now'), json_extract('{}', '$.a')",
		"SELECT value FROM json_each('[1]') LIMIT 1",
		"EXPLAIN QUERY PLAN SELECT name FROM users LIMIT 1",
		"VALUES (1), (2)",
		"SELECT 1; -- done",
		"SELECT name FROM sqlite_master LIMIT 5",
		"WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT max(n) FROM r",
		"SELECT row_number() OVER (ORDER BY total DESC) FROM orders LIMIT 3",
		"WITH RECURSIVE d AS (SELECT DATE('2020-01-01') AS x UNION ALL SELECT date(x, '+1 day') FROM "
		"d WHERE x < '2020-01-31') SELECT x FROM d LIMIT 99",
		"WITH RECURSIVE d AS (SELECT '2020-01-31' AS x UNION ALL SELECT date(x, '-1 month') FROM d "
		"WHERE x > '2019-01-01') SELECT x FROM d LIMIT 99",
		"WITH RECURSIVE d AS (SELECT date('now') AS x UNION ALL SELECT date(x, '-1 day') FROM d "
		"WHERE x > date('now', '-6 days')) SELECT x FROM d LIMIT 99",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n * 2 FROM d WHERE n < 100) SELECT n "
		"FROM d LIMIT 99",
		"SELECT name FROM users WHERE id = 1 OR 1 = 0 LIMIT 3",
		"SELECT name FROM users WHERE (id = 1 OR 'a' = 'b') AND id > 0 LIMIT 3",
		"SELECT name FROM users WHERE name GLOB 'a*' AND city == 'x' LIMIT 2, 3",
	};
	(void)state;
	for (size_t i = 0; i < COUNT(queries) * 2; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(queries[i / 2], i % 2 == 0, i % 2 == 0, arena);
		if (analysis.verdict != SQL_SAFE || !analysis.valid || analysis.diagnostics_count > 0)
			print_analysis(queries[i / 2], &analysis);
		assert_int_equal(analysis.verdict, SQL_SAFE);
		assert_true(analysis.valid);
		assert_int_equal(analysis.diagnostics_count, 0);
		assert_true(str_present(analysis.canonical));
	}
}

static void test_diagnostics(void **state)
{
	static const struct {
		const char *sql;
		const char *codes; /* joined by spaces, in order */
		int64_t offset;	   /* of the first */
		bool valid;
	} cases[] = {
		{ "SELECT a FROM nowhere LIMIT 1", "unknown_table", -1, true },
		{ "SELECT nope FROM users LIMIT 1", "unknown_column", 7, true },
		{ "SELECT users.nope, gone FROM users LIMIT 1", "unknown_column unknown_column", 7, true },
		{ "SELECT id FROM users, orders LIMIT 1", "ambiguous_column risky_pattern", 7, true },
		{ "SELECT frob(id) FROM users LIMIT 1", "unknown_function", 7, true },
		{ "SELECT a FROM x JOIN y ON x.i = y.i LIMIT 1", "unknown_table unknown_table", -1, true },
		{ "SELECT name FROM users WHERE count(*) > 1 LIMIT 1", "invalid_aggregate", -1, true },
		{ "SELECT FROM users", "syntax_error", 7, false },
		{ "SELECT [x] FROM users LIMIT 1", "unknown_column", 7, true },
		{ "SELECT users.\"x\" FROM users LIMIT 1", "unknown_column", 7, true },
		{ "SELECT name FROM users", "missing_limit", 0, true },
		{ "SELECT * FROM users LIMIT 1", "risky_pattern", 7, true },
		{ "SELECT 1; SELECT 2", "syntax_error", 10, false },
		{ "SELECT id FROM users WHERE id IN (", "syntax_error", 34, false },
		{ "```sql\nSELECT name FROM users LIMIT 1\n```", "markdown_fence", 0, true },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, true, true, arena);
		char codes[256] = "";
		for (size_t d = 0; d < analysis.diagnostics_count; d++)
			snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%s", d ? " " : "",
				 analysis.diagnostics[d].code);
		if (strcmp(codes, cases[i].codes) != 0)
			print_analysis(cases[i].sql, &analysis);
		assert_string_equal(codes, cases[i].codes);
		assert_int_equal(analysis.valid, cases[i].valid);
		if (cases[i].offset >= 0)
			assert_int_equal(analysis.diagnostics[0].offset, cases[i].offset);
	}
}

static void test_tables(void **state)
{
	static const struct {
		const char *sql;
		const char *tables;
	} cases[] = {
		{ "SELECT u.name FROM Users u JOIN orders o ON o.user_id = u.id LIMIT 1", "orders users" },
		{ "SELECT count(*) FROM users", "users" },
		{ "WITH x AS (SELECT * FROM orders) SELECT max(total) FROM x", "orders" },
		{ "SELECT total FROM big LIMIT 1, 2", "big" },
		{ "SELECT [name] FROM [users] LIMIT 1", "users" },
		{ "SELECT [name] FROM [nowhere] LIMIT 1", "nowhere" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, true, true, arena);
		char joined[128] = "";
		for (size_t t = 0; t < analysis.tables_count; t++)
			snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s" STR_FMT,
				 t ? " " : "", STR_ARG(analysis.tables[t]));
		assert_true(analysis.tables_known);
		assert_string_equal(joined, cases[i].tables);
	}
}

static void test_no_catalog(void **state)
{
	static const struct {
		const char *sql;
		bool target_named;
		enum sql_verdict verdict;
	} cases[] = {
		{ "SELECT a.x, y FROM a JOIN b ON a.i = b.i LIMIT 1", false, SQL_SAFE },
		{ "SELECT a.x, y FROM a JOIN b ON a.i = b.i LIMIT 1", true, SQL_UNKNOWN },
		{ "SELECT my_function(x) FROM a LIMIT 1", false, SQL_UNKNOWN },
		{ "SELECT lower(x), $1, $a, ?1, :a FROM a LIMIT 1", false, SQL_SAFE },
		{ "SELECT $a::b(x) FROM a LIMIT 1", false, SQL_UNSAFE },
		{ "SELECT writefile(x, y) FROM a LIMIT 1", false, SQL_UNSAFE },
		{ "SELECT my_function(x) FROM a LIMIT 1", true, SQL_UNKNOWN },
		{ "DELETE FROM a", true, SQL_UNSAFE },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, false, cases[i].target_named, arena);
		if (analysis.verdict != cases[i].verdict)
			print_analysis(cases[i].sql, &analysis);
		assert_int_equal(analysis.verdict, cases[i].verdict);
	}
}

static void test_canonical(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool equal;
	} cases[] = {
		{ "SELECT name FROM users", "select u.NAME from Users as u", true },
		{ "SELECT name FROM users ORDER BY id", "SELECT name FROM users ORDER BY id NULLS FIRST",
		  true },
		{ "SELECT name FROM users LIMIT 1, 2", "select name\nfrom USERS limit 1,2", true },
		{ "SELECT name FROM users LIMIT 1, 2", "SELECT name FROM users LIMIT 2, 1", false },
		{ "SELECT name FROM users", "SELECT city FROM users", false },
		{ "SELECT name FROM users WHERE id = 1 AND city = 'x'",
		  "SELECT u.name FROM users u WHERE 'x' == u.city AND u.id = 1", true },
		{ "SELECT u.name FROM users u JOIN orders o ON o.user_id = u.id",
		  "SELECT name FROM orders, users WHERE users.id = user_id", true },
		{ "SELECT * FROM users, orders", "SELECT * FROM orders, users", false },
		{ "SELECT u.name FROM users u LEFT JOIN orders o ON o.user_id = u.id",
		  "SELECT u.name FROM users u JOIN orders o ON o.user_id = u.id", false },
		{ "SELECT name AS n FROM users ORDER BY n", "SELECT name FROM users ORDER BY 1", true },
		{ "SELECT name FROM users ORDER BY 1 DESC", "SELECT name FROM users ORDER BY 1", false },
		/* SQLite's precedences, not PostgreSQL's. */
		{ "SELECT name || id + 1 FROM users", "SELECT (name || id) + 1 FROM users", true },
		{ "SELECT name || id + 1 FROM users", "SELECT name || (id + 1) FROM users", false },
		{ "SELECT id = 1 LIKE 2 FROM users", "SELECT (id = 1) LIKE 2 FROM users", true },
		{ "SELECT id = 1 LIKE 2 FROM users", "SELECT id = (1 LIKE 2) FROM users", false },
		{ "SELECT NOT id = 1 FROM users", "SELECT NOT (id = 1) FROM users", true },
		{ "SELECT -id COLLATE nocase FROM users", "SELECT (-id) COLLATE nocase FROM users", true },
		{ "SELECT id - 1 - 2 FROM users", "SELECT id - (1 - 2) FROM users", false },
		{ "SELECT id < 1 = 0 FROM users", "SELECT (id < 1) = 0 FROM users", true },
		{ "SELECT id & 1 = 0 FROM users", "SELECT (id & 1) = 0 FROM users", true },
		{ "SELECT id BETWEEN 1 AND 2 AND id = 3 FROM users",
		  "SELECT (id BETWEEN 1 AND 2) AND (id = 3) FROM users", true },
		{ "SELECT 1 UNION SELECT 2 INTERSECT SELECT 2", "SELECT 2 INTERSECT SELECT 2 UNION SELECT 1",
		  false },
		{ "SELECT name 'x' FROM users", "SELECT 'x' FROM users", false },
		{ "SELECT name AS a, city AS b FROM users GROUP BY a",
		  "SELECT name AS b, city AS a FROM users GROUP BY a", false },
		{ "SELECT a.name FROM users a JOIN users b ON a.id = b.id",
		  "SELECT b.name FROM users a JOIN users b ON a.id = b.id", false },
		{ "SELECT count(*) FROM users WHERE id IN (1, 2)",
		  "SELECT count(*) FROM users WHERE id IN (2, 1)", true },
		{ "SELECT name FROM users WHERE id NOT IN (1, 2)",
		  "SELECT name FROM users WHERE id IN (1, 2)", false },
		{ "SELECT (SELECT max(total) FROM orders WHERE user_id = users.id) FROM users",
		  "SELECT (SELECT max(o.total) FROM orders o WHERE u.id = o.user_id) FROM users u", true },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis a = analyse(cases[i].a, true, true, arena);
		struct sql_analysis b = analyse(cases[i].b, true, true, arena);
		assert_int_equal(str_equal(a.canonical, b.canonical), cases[i].equal);
	}
}

/* What is wrong in a file's schema costs its relation, not the catalog and not the time. */
static void test_hostile_schema(void **state)
{
	static const char hostile[] =
		"[\"CREATE TABLE good (id INTEGER PRIMARY KEY, a TEXT)\", \"nonsense\", null, 5, \"CREATE\","
		" \"CREATE VIRTUAL TABLE v USING no_such_module(x)\", \"CREATE TABLE bad (\","
		" \"CREATE VIEW missing AS SELECT x FROM nowhere\", \"CREATE VIEW fine AS SELECT a FROM "
		"good\","
		" \"CREATE TABLE packed (k TEXT PRIMARY KEY, g INT AS (1)) WITHOUT ROWID, STRICT\","
		" \"CREATE TABLE endless AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
		"SELECT n FROM r\","
		" \"CREATE TEMP TABLE t (a)\", \"CREATE TRIGGER x AFTER INSERT ON good BEGIN DELETE FROM "
		"good; END\","
		" \"CREATE VIEW loud AS SELECT load_extension('x') AS l\", \"ATTACH 'x' AS y\"]";
	static const struct {
		const char *sql;
		enum sql_verdict verdict;
		size_t errors;
	} cases[] = {
		{ "SELECT a FROM good LIMIT 1", SQL_SAFE, 0 },
		{ "SELECT a FROM fine LIMIT 1", SQL_SAFE, 0 },
		{ "SELECT k, g FROM packed LIMIT 1", SQL_SAFE, 0 },
		{ "SELECT x FROM missing LIMIT 1", SQL_SAFE, 1 },
		{ "SELECT x FROM v LIMIT 1", SQL_SAFE, 1 },
		{ "SELECT l FROM loud LIMIT 1", SQL_UNSAFE, 1 },
	};
	struct catalog *schema_of_file = NULL;
	(void)state;
	assert_int_equal(catalog_compile_sqlite(STR(hostile), &schema_of_file, NULL), ERR_OK);
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_request request = { .sql = str_from(cases[i].sql),
					       .dialect = SQL_SQLITE,
					       .target_named = true,
					       .catalog = schema_of_file };
		struct sql_analysis analysis;
		size_t errors = 0;
		sql_analyse(&request, arena, &analysis);
		for (size_t d = 0; d < analysis.diagnostics_count; d++)
			errors += analysis.diagnostics[d].severity == SQL_ERROR;
		if (errors != cases[i].errors || analysis.verdict != cases[i].verdict)
			print_analysis(cases[i].sql, &analysis);
		assert_int_equal(errors, cases[i].errors);
		assert_int_equal(analysis.verdict, cases[i].verdict);
	}
	catalog_unref(schema_of_file);
}

static void join_items(const struct sql_items *items, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; i < items->count; i++)
		snprintf(text + strlen(text), size - strlen(text), "%s" STR_FMT, i ? " | " : "",
			 STR_ARG(items->items[i]));
}

static void test_clauses(void **state)
{
	static const char sql[] =
		"SELECT DISTINCT u.city, count(*) AS n FROM users u JOIN orders o ON o.user_id = u.id "
		"WHERE o.total > 5 AND u.name LIKE 'a%' GROUP BY u.city HAVING count(*) > 1 "
		"ORDER BY n DESC, u.city LIMIT 3";
	static const char *const expected[SQL_CLAUSE_COUNT_] = {
		[SQL_CLAUSE_SELECT] = "call count(*()) | distinct | users.city",
		[SQL_CLAUSE_WHERE] =
			"<(5, orders.total) | having(<(1, call count(*()))) | like like (users.name, 'a%')",
		[SQL_CLAUSE_FROM] = "orders | users",
		[SQL_CLAUSE_GROUP] = "users.city",
		[SQL_CLAUSE_ORDER] = "desc(call count(*())) | limit (3) | users.city",
		[SQL_CLAUSE_JOIN] = "=(orders.user_id, users.id)",
	};
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_analysis analysis = analyse(sql, true, true, arena);
	(void)state;
	for (size_t i = 0; i < SQL_CLAUSE_COUNT_; i++) {
		char text[512];
		join_items(&analysis.clauses[i], text, sizeof text);
		assert_string_equal(text, expected[i]);
	}
	assert_true(analysis.ordered && analysis.limited);
	assert_int_equal(analysis.order_keys_count, 2);
	assert_int_equal(analysis.order_keys[0].column, 1);
	assert_true(analysis.order_keys[0].descending && !analysis.order_keys[0].nulls_first);
	assert_int_equal(analysis.order_keys[1].column, 0);
	assert_true(!analysis.order_keys[1].descending && analysis.order_keys[1].nulls_first);
}

static void test_warnings(void **state)
{
	static const struct {
		const char *sql;
		const char *codes; /* sub codes, or codes without one */
	} cases[] = {
		{ "SELECT name FROM users, orders LIMIT 1", "cartesian_product" },
		{ "SELECT name FROM users u, orders o WHERE o.user_id = u.id LIMIT 1", "" },
		{ "SELECT name FROM users JOIN orders USING (id) LIMIT 1", "" },
		{ "SELECT name FROM users JOIN (SELECT max(total) AS m FROM orders) LIMIT 1", "" },
		{ "SELECT name FROM users WHERE city = NULL LIMIT 1", "equals_null" },
		{ "SELECT name FROM users WHERE city = NULL OR id = NULL LIMIT 1",
		  "equals_null equals_null" },
		{ "SELECT name FROM users WHERE city LIKE '%x' OR name LIKE '%x' LIMIT 1",
		  "leading_wildcard leading_wildcard" },
		{ "SELECT id / 2, id / 3 FROM users LIMIT 1", "integer_division integer_division" },
		{ "SELECT name FROM users WHERE city IS NULL LIMIT 1", "" },
		{ "SELECT name FROM users WHERE city LIKE '%x' LIMIT 1", "leading_wildcard" },
		{ "SELECT name FROM users WHERE city GLOB '*x' LIMIT 1", "leading_wildcard" },
		{ "SELECT name FROM users WHERE city LIKE 'x%' LIMIT 1", "" },
		{ "SELECT id / 2 FROM users LIMIT 1", "integer_division" },
		{ "SELECT id / 2.0 FROM users LIMIT 1", "" },
		{ "SELECT total / 2 FROM orders LIMIT 1", "" },
		{ "SELECT name FROM users WHERE id = 'abc' LIMIT 1", "type_mismatch" },
		{ "SELECT name FROM users WHERE id = '12' LIMIT 1", "" },
		{ "SELECT name FROM users WHERE id IN (1, 'abc') LIMIT 1", "type_mismatch" },
		{ "SELECT id FROM orders WHERE total > 'much' LIMIT 1", "type_mismatch" },
		{ "SELECT id FROM users WHERE name = 5 LIMIT 1", "type_mismatch" },
		{ "SELECT id FROM users WHERE -5 < name LIMIT 1", "type_mismatch" },
		{ "SELECT id FROM users WHERE name IN ('a', 5) LIMIT 1", "type_mismatch" },
		{ "SELECT id FROM users WHERE name BETWEEN 1 AND 5 LIMIT 1", "type_mismatch" },
		{ "SELECT u.id FROM users u JOIN orders o ON u.name = 5 LIMIT 1",
		  "cartesian_product type_mismatch" },
		{ "SELECT id FROM users WHERE name = '5' LIMIT 1", "" },
		{ "SELECT id FROM users WHERE length(name) = 5 LIMIT 1", "" },
		{ "SELECT id FROM users WHERE CAST(name AS INTEGER) = 5 LIMIT 1", "" },
		{ "SELECT n FROM (SELECT 5 AS n) WHERE n = 5 LIMIT 1", "" },
		{ "SELECT name FROM users WHERE id NOT IN (SELECT user_id FROM orders) LIMIT 1",
		  "not_in_nullable_subquery" },
		{ "SELECT name FROM users WHERE id NOT IN (SELECT id FROM orders) LIMIT 1", "" },
		{ "SELECT name FROM users WHERE id NOT IN (SELECT user_id FROM orders WHERE user_id IS NOT "
		  "NULL) LIMIT 1",
		  "" },
		{ "SELECT name FROM users UNION SELECT city FROM users", "missing_limit" },
		{ "SELECT * FROM users", "select_star missing_limit" },
		{ "SELECT count(*) FROM users", "" },
		{ "SELECT city FROM users GROUP BY city", "" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, true, true, arena);
		char codes[256] = "";
		for (size_t d = 0; d < analysis.diagnostics_count; d++)
			snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%s", d ? " " : "",
				 analysis.diagnostics[d].sub_code ? analysis.diagnostics[d].sub_code
								  : analysis.diagnostics[d].code);
		if (strcmp(codes, cases[i].codes) != 0)
			print_analysis(cases[i].sql, &analysis);
		assert_string_equal(codes, cases[i].codes);
	}
}

static void test_told_once(void **state)
{
	static const struct {
		const char *sql;
		const char *offsets; /* of not_a_read */
	} cases[] = {
		{ "DELETE FROM users", "0" },
		{ "INSERT INTO users VALUES (1, 'a', 'b')", "0" },
		{ "REPLACE INTO users SELECT * FROM users", "0" },
		{ "UPDATE users SET name = 'x' WHERE id = 1", "0" },
		{ "CREATE TABLE x AS SELECT * FROM users", "0" },
		{ "DROP TABLE users", "0" },
		{ "WITH q AS (SELECT 1) DELETE FROM users", "21" },
		{ "EXPLAIN DELETE FROM users", "0" },
		{ "PRAGMA journal_mode = off", "0" },
		{ "VACUUM", "0" },
		{ "SELECT 1; DELETE FROM users; DROP TABLE users", "10 29" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, true, true, arena);
		str_t text = STR("");
		for (size_t v = 0; v < analysis.violations_count; v++)
			if (strcmp(analysis.violations[v].code, "not_a_read") == 0)
				text = arena_printf(arena, STR_FMT "%s%lld", STR_ARG(text),
						    text.len ? " " : "",
						    (long long)analysis.violations[v].offset);
		assert_string_equal(text.ptr, cases[i].offsets);
	}
}

/* "code.sub_code@offset", with blanks between. */
static const char *all_codes(const struct sql_analysis *analysis, struct arena *arena)
{
	str_t text = STR("");
	for (size_t i = 0; i < analysis->diagnostics_count; i++) {
		const struct sql_diagnostic *item = &analysis->diagnostics[i];
		text = arena_printf(arena, STR_FMT "%s%s@%lld", STR_ARG(text), i ? " " : "",
				    item->sub_code ? item->sub_code : item->code, (long long)item->offset);
	}
	return text.ptr;
}

static void test_double_quotes(void **state)
{
	static const struct {
		const char *sql;
		const char *strings, *names; /* what is reported where they may be strings, and where not */
		const char *same;	     /* what the statement means, or NULL */
	} cases[] = {
		{ "SELECT id FROM users WHERE city = \"Rome\" LIMIT 1", "double_quoted_text@34",
		  "unknown_column@34", "SELECT id FROM users WHERE city = 'Rome' LIMIT 1" },
		{ "SELECT id FROM users WHERE city = \"it's\" LIMIT 1", "double_quoted_text@34",
		  "unknown_column@34", "SELECT id FROM users WHERE city = 'it''s' LIMIT 1" },
		{ "SELECT id FROM users WHERE city = \"a \"\"b\"\" c\" LIMIT 1", "double_quoted_text@34",
		  "unknown_column@34", "SELECT id FROM users WHERE city = 'a \"b\" c' LIMIT 1" },
		{ "SELECT \"id\" FROM \"users\" WHERE \"CITY\" = 'Rome' LIMIT 1", "", "",
		  "SELECT id FROM users WHERE city = 'Rome' LIMIT 1" },
		/* of the same name, once a text and once a column */
		{ "SELECT id FROM orders WHERE \"city\" = 'x' AND user_id IN (SELECT id FROM users WHERE "
		  "\"city\" = 'y') LIMIT 1",
		  "double_quoted_text@28", "unknown_column@28",
		  "SELECT id FROM orders WHERE 'city' = 'x' AND user_id IN (SELECT id FROM users WHERE "
		  "city = 'y') LIMIT 1" },
		{ "SELECT id FROM users WHERE city IN (\"Rome\", \"Oslo\") LIMIT 1",
		  "double_quoted_text@36 double_quoted_text@44", "unknown_column@36 unknown_column@44",
		  "SELECT id FROM users WHERE city IN ('Rome', 'Oslo') LIMIT 1" },
		{ "SELECT id FROM users WHERE city = \"Rome\" AND nane = \"Rome\" LIMIT 1",
		  "unknown_column@45 double_quoted_text@34", "unknown_column@34 unknown_column@45", NULL },
		{ "SELECT id FROM users WHERE users.\"Rome\" = 1 LIMIT 1", "unknown_column@27",
		  "unknown_column@27", NULL },
		{ "SELECT id FROM users WHERE city = `Rome` LIMIT 1", "unknown_column@34",
		  "unknown_column@34", NULL },
		/* what is a text in the view stands where a column does here */
		{ "SELECT id FROM odd WHERE id IN (1, 2, 3, 4, 56789) OR id = \"id\" LIMIT 1", "", NULL,
		  NULL },
		{ "SELECT id FROM users ORDER BY \"Rome\" LIMIT 1", "double_quoted_text@30",
		  "unknown_column@30", NULL },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int names = 0; names < (cases[i].names ? 2 : 1); names++) {
			_cleanup_(arena_scope) struct arena *arena = arena_new();
			struct sql_policy policy = { .double_quotes_are_names = names };
			struct sql_request request = { .sql = str_from(cases[i].sql),
						       .dialect = SQL_SQLITE,
						       .target_named = true,
						       .catalog = catalog,
						       .policy = &policy };
			struct sql_analysis analysis, same;
			sql_analyse(&request, arena, &analysis);
			assert_string_equal(all_codes(&analysis, arena),
					    names ? cases[i].names : cases[i].strings);
			assert_int_equal(analysis.verdict, SQL_SAFE);
			if (names || !cases[i].same)
				continue;
			same = analyse(cases[i].same, true, true, arena);
			assert_string_equal(analysis.canonical.ptr, same.canonical.ptr);
			assert_null(strstr(same.canonical.ptr, "text:"));
		}
	}
}

static void test_required(void **state)
{
	static const struct sql_required_column rule = { STR("users"), STR("city") };
	static const struct sql_policy policy = { .required_columns = &rule, .required_columns_count = 1 };
	static const struct {
		const char *sql;
		bool missing;
	} cases[] = {
		{ "SELECT name FROM users LIMIT 1", true },
		{ "SELECT name FROM users WHERE city = 'x' LIMIT 1", false },
		{ "SELECT name FROM users WHERE 'x' = city AND id > 1 LIMIT 1", false },
		{ "SELECT name FROM users WHERE city = 'x' OR id > 1 LIMIT 1", true },
		{ "SELECT name FROM users WHERE city IN ('x', 'y') LIMIT 1", false },
		{ "SELECT name FROM users WHERE city = NULL LIMIT 1", true },
		{ "SELECT name FROM users WHERE city <> 'x' LIMIT 1", true },
		{ "SELECT name FROM users WHERE city = city LIMIT 1", true },
		{ "SELECT a.name FROM users a JOIN users b ON a.city = b.city WHERE b.city = 'x' LIMIT 1",
		  false },
		{ "SELECT a.name FROM users a JOIN users b ON a.id = b.id WHERE b.city = 'x' LIMIT 1", true },
		{ "SELECT o.id FROM orders o LEFT JOIN users u ON u.id = user_id AND u.city = 'x' LIMIT 1",
		  false },
		{ "SELECT o.id FROM users u LEFT JOIN orders o ON u.city = 'x' LIMIT 1", true },
		{ "SELECT id FROM orders WHERE user_id IN (SELECT id FROM users) LIMIT 1", true },
		{ "SELECT id FROM orders WHERE user_id IN (SELECT id FROM users WHERE city = 'x') LIMIT 1",
		  false },
		{ "WITH u AS (SELECT * FROM users) SELECT name FROM u WHERE city = 'x' LIMIT 1", true },
		{ "SELECT id FROM orders LIMIT 1", false },
		{ "EXPLAIN QUERY PLAN SELECT name FROM users", true },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_request request = { .sql = str_from(cases[i].sql),
					       .dialect = SQL_SQLITE,
					       .target_named = true,
					       .catalog = catalog,
					       .policy = &policy };
		struct sql_analysis analysis;
		bool missing = false;
		sql_analyse(&request, arena, &analysis);
		for (size_t d = 0; d < analysis.diagnostics_count; d++)
			missing = missing || strcmp(analysis.diagnostics[d].code, "missing_required") == 0;
		if (missing != cases[i].missing)
			print_analysis(cases[i].sql, &analysis);
		assert_int_equal(missing, cases[i].missing);
	}
}

static const char *doubling(const char *first, const char *next, unsigned levels, struct arena *arena)
{
	struct buf sql = BUF_INIT;
	buf_printf(&sql, "WITH a0 AS (%s)", first);
	for (unsigned i = 1; i < levels; i++) {
		buf_printf(&sql, ", a%u AS (", i);
		for (const char *at = next; *at; at++)
			if (*at == '@')
				buf_printf(&sql, "a%u", i - 1);
			else
				buf_append(&sql, at, 1);
		buf_append(&sql, ")", 1);
	}
	buf_printf(&sql, " SELECT * FROM a%u WHERE id > 0", levels - 1);
	const char *text = arena_text(arena, sql.data, sql.len).ptr;
	buf_free(&sql);
	return text;
}

/* Each would take the library hours, or the machine's memory, if it were let. */
static void test_growth_in_the_library(void **state)
{
	(void)state;
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	const char *sums = doubling("SELECT id, user_id FROM orders",
				    "SELECT id + user_id AS id, id - user_id AS user_id FROM @", 80, arena);
	struct sql_analysis analysis = analyse(sums, true, true, arena);
	assert_true(analysis.valid);
	const char *unions =
		doubling("SELECT id FROM orders", "SELECT * FROM @ UNION SELECT * FROM @", 40, arena);
	analysis = analyse(unions, true, true, arena);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
	const char *joins = doubling("SELECT id FROM orders", "SELECT x.id FROM @ x, @ y", 40, arena);
	analysis = analyse(joins, true, true, arena);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
}

static str_t repeated(struct arena *arena, const char *part, unsigned number)
{
	const char *place = strchr(part, '%');
	if (!place)
		return str_from(part);
	return arena_printf(arena, "%.*s%u%s", (int)(place - part), part, number, place + 2);
}

/* What the library compares with each other, or wraps into each other, is counted before it sees any. */
static void test_excess(void **state)
{
	static const struct {
		const char *head, *part, *tail; /* "%u" in the part: its number */
		unsigned most;
	} cases[] = {
		{ "SELECT 1", ", sum(id) OVER (PARTITION BY id + %u)", " FROM users LIMIT 1", 32 },
		{ "SELECT 1", ", sum(id) OVER w%u", " FROM users LIMIT 1", 32 },
		{ "SELECT count(*)", ", max(id + %u)", " FROM users", 299 },
		{ "SELECT count(*) FROM users GROUP BY id", ", id + %u", "", 128 },
		{ "SELECT id FROM users WHERE id IN (1, 2) ORDER BY id", ", id + %u", " LIMIT 2, 3", 128 },
		{ "SELECT 1", ", sum(id) OVER (ORDER BY id, name)", " FROM users LIMIT 1", 128 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (unsigned count = cases[i].most; count <= cases[i].most + 1; count++) {
			_cleanup_(arena_scope) struct arena *arena = arena_new();
			struct buf sql = BUF_INIT;
			buf_append_text(&sql, cases[i].head);
			for (unsigned k = 1; k <= count; k++)
				buf_append_str(&sql, repeated(arena, cases[i].part, k));
			buf_append_text(&sql, cases[i].tail);
			struct sql_analysis analysis = analyse(sql.data, true, true, arena);
			if (has_violation(&analysis, "too_long") != (count > cases[i].most))
				fail_msg("%s%s of %u", cases[i].head, cases[i].part, count);
			buf_free(&sql);
		}
}

static void test_many_violations(void **state)
{
	(void)state;
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	char sql[60000];
	memset(sql, '$', sizeof sql);
	memcpy(sql, "SELECT 1", 8);
	sql[sizeof sql - 1] = '\0';
	struct sql_analysis analysis = analyse(sql, true, true, arena);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
	assert_true(analysis.violations_count > 0 && analysis.violations_count <= 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_in_the_library),
		cmocka_unit_test(test_many_violations),
		cmocka_unit_test(test_excess),
		cmocka_unit_test(test_clauses),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_told_once),
		cmocka_unit_test(test_double_quotes),
		cmocka_unit_test(test_required),
		cmocka_unit_test(test_hostile_schema),
		cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_diagnostics),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_no_catalog),
		cmocka_unit_test(test_canonical),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
