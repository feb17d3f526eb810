/*
 * Hints of the front ends: what the message of the first error ends with. What a dialect has
 * instead comes from one table (instead.def); every entry of it is looked at.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/postgresql/ddl/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct catalog *sqlite, *mysql, *postgresql;

static int load_catalogs(void **state)
{
	static const char lite[] =
		"[\"CREATE TABLE users (id INTEGER, name TEXT, city TEXT)\","
		" \"CREATE TABLE orders (id INTEGER, user_id INTEGER, total REAL, created TEXT)\"]";
	static const char maria[] =
		"[\"format\", 2, \"shop\", 0]\n[\"schema\", \"shop\"]\n"
		"[\"relation\", \"shop\", \"users\", \"BASE TABLE\"]\n"
		"[\"column\", \"shop\", \"users\", 1, \"id\", \"int\", \"NO\"]\n"
		"[\"column\", \"shop\", \"users\", 2, \"name\", \"varchar\", \"YES\"]\n"
		"[\"column\", \"shop\", \"users\", 3, \"city\", \"varchar\", \"YES\"]\n"
		"[\"relation\", \"shop\", \"orders\", \"BASE TABLE\"]\n"
		"[\"column\", \"shop\", \"orders\", 1, \"id\", \"int\", \"NO\"]\n"
		"[\"column\", \"shop\", \"orders\", 2, \"user_id\", \"int\", \"YES\"]\n"
		"[\"column\", \"shop\", \"orders\", 3, \"total\", \"decimal\", \"YES\"]\n"
		"[\"column\", \"shop\", \"orders\", 4, \"created\", \"datetime\", \"YES\"]\n";
	static const char postgres[] =
		"CREATE TABLE users (id int, name text, city text);"
		"CREATE TABLE orders (id int, user_id int, total numeric, created timestamp)";
	(void)state;
	return ddl_compile(str_from(postgres), &postgresql, NULL) == ERR_OK &&
			       catalog_compile_sqlite(str_from(lite), &sqlite, NULL) == ERR_OK &&
			       catalog_compile_mysql(str_from(maria), &mysql, NULL) == ERR_OK
		       ? 0
		       : -1;
}

static int drop_catalogs(void **state)
{
	(void)state;
	catalog_unref(sqlite);
	catalog_unref(mysql);
	catalog_unref(postgresql);
	return 0;
}

/* The message of the first error behind its semicolon, or "". */
static const char *hint(const char *sql, enum sql_dialect dialect, struct arena *arena)
{
	struct sql_request request = { .sql = str_from(sql),
				       .dialect = dialect,
				       .target_named = true,
				       .catalog = dialect == SQL_MYSQL	  ? mysql
						  : dialect == SQL_SQLITE ? sqlite
									  : postgresql };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	for (size_t i = 0; i < analysis.diagnostics_count; i++) {
		const char *semicolon = strstr(analysis.diagnostics[i].message.ptr, "; ");
		if (analysis.diagnostics[i].severity == SQL_ERROR)
			return semicolon ? semicolon + 2 : "";
	}
	return "no error";
}

static void mends_are_named(void **state)
{
	static const struct {
		enum sql_dialect dialect;
		const char *sql;
		const char *hint;
	} cases[] = {
		/* the same column elsewhere in scope, before a similar one */
		{ SQL_SQLITE, "SELECT u.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"o\".\"total\"?" },
		{ SQL_MYSQL, "SELECT u.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean `o`.`total`?" },
		{ SQL_SQLITE, "SELECT x.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"o\".\"total\"?" },
		{ SQL_MYSQL, "SELECT x.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean `o`.`total`?" },
		{ SQL_SQLITE,
		  "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.city = 'x')",
		  "did you mean \"u\".\"city\"?" },
		{ SQL_MYSQL,
		  "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.city = 'x')",
		  "did you mean `u`.`city`?" },
		{ SQL_SQLITE, "SELECT 1 FROM users u, orders o WHERE o.user_id = u.id ORDER BY o.name",
		  "did you mean \"u\".\"name\"?" },
		{ SQL_MYSQL, "SELECT 1 FROM users u, orders o WHERE o.user_id = u.id ORDER BY o.name",
		  "did you mean `u`.`name`?" },
		{ SQL_SQLITE, "SELECT u.citi FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"city\"?" },
		{ SQL_MYSQL, "SELECT u.citi FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean `city`?" },
		{ SQL_SQLITE, "SELECT u.frob FROM users u", "" },
		{ SQL_MYSQL, "SELECT u.frob FROM users u", "" },
		/* functions of other dialects */
		{ SQL_SQLITE, "SELECT YEAR(created) FROM orders",
		  "instead of YEAR() there is strftime('%Y', …)" },
		{ SQL_SQLITE, "SELECT Concat(name, city) FROM users", "instead of CONCAT() there is … || …" },
		{ SQL_SQLITE, "SELECT NOW()", "instead of NOW() there is datetime('now')" },
		{ SQL_SQLITE, "SELECT DATEDIFF(created, created) FROM orders",
		  "instead of DATEDIFF() there is julianday(…) - julianday(…)" },
		{ SQL_SQLITE, "SELECT IF(id > 1, 2, 3) FROM users", "instead of IF() there is iif(…, …, …)" },
		{ SQL_MYSQL, "SELECT strftime('%Y', created) FROM orders",
		  "instead of STRFTIME() there is DATE_FORMAT(…, '%Y-%m-%d')" },
		{ SQL_MYSQL, "SELECT date_trunc('month', created) FROM orders",
		  "instead of DATE_TRUNC() there is DATE_FORMAT(…, '%Y-%m-01')" },
		{ SQL_MYSQL, "SELECT IIF(id > 1, 2, 3) FROM users", "instead of IIF() there is IF(…, …, …)" },
		{ SQL_MYSQL, "SELECT STRING_AGG(name, ',') FROM users",
		  "instead of STRING_AGG() there is GROUP_CONCAT(… SEPARATOR …)" },
		{ SQL_SQLITE, "SELECT uper(name) FROM users", "did you mean \"upper\"?" },
		{ SQL_MYSQL, "SELECT uper(name) FROM users", "did you mean upper()?" },
		{ SQL_SQLITE, "SELECT frobnicate(name) FROM users", "" },
		/* what does not even parse */
		{ SQL_SQLITE, "SELECT LEFT(name, 3) FROM users",
		  "instead of LEFT() there is substr(…, 1, n)" },
		{ SQL_SQLITE, "SELECT EXTRACT(YEAR FROM created) FROM orders",
		  "instead of EXTRACT() there is strftime('%Y', …)" },
		{ SQL_SQLITE, "SELECT created + INTERVAL 1 DAY FROM orders",
		  "instead of INTERVAL there is date(…, '+1 day')" },
		{ SQL_SQLITE, "SELECT id::text FROM users", "instead of :: there is CAST(… AS …)" },
		{ SQL_MYSQL, "SELECT id::text FROM users", "instead of :: there is CAST(… AS …)" },
		{ SQL_SQLITE, "SELECT id FROM users WHERE name ILIKE 'a%'",
		  "instead of ILIKE there is LIKE, which takes letters in any case" },
		{ SQL_MYSQL, "SELECT id FROM users WHERE name ILIKE 'a%'",
		  "instead of ILIKE there is LIKE, which takes letters in any case" },
		{ SQL_SQLITE, "SELECT id FROM users FETCH FIRST 3 ROWS ONLY",
		  "instead of FETCH there is LIMIT" },
		{ SQL_MYSQL, "SELECT u.id FROM users u FULL JOIN orders o ON o.user_id = u.id",
		  "instead of FULL there is the UNION of a LEFT and a RIGHT JOIN" },
		{ SQL_MYSQL, "SELECT COUNT(*) FILTER (WHERE id > 1) FROM users",
		  "instead of FILTER() there is CASE inside of the aggregate" },
		{ SQL_POSTGRESQL, "SELECT u.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"o\".\"total\"?" },
		{ SQL_POSTGRESQL, "SELECT x.total FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"o\".\"total\"?" },
		{ SQL_POSTGRESQL,
		  "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.city = 'x')",
		  "did you mean \"u\".\"city\"?" },
		{ SQL_POSTGRESQL, "SELECT 1 FROM users u JOIN orders o ON o.user_id = u.id AND o.name = 'x'",
		  "did you mean \"u\".\"name\"?" },
		{ SQL_POSTGRESQL,
		  "WITH v AS (SELECT id AS upvote FROM users), u AS (SELECT id AS upvotes FROM orders) "
		  "SELECT v.upvotes FROM v, u",
		  "did you mean \"u\".\"upvotes\"?" },
		{ SQL_POSTGRESQL, "SELECT u.citi FROM users u JOIN orders o ON o.user_id = u.id",
		  "did you mean \"city\"?" },
		{ SQL_POSTGRESQL, "SELECT u.frob FROM users u", "" },
		{ SQL_POSTGRESQL, "SELECT YEAR(created) FROM orders",
		  "instead of YEAR() there is EXTRACT(YEAR FROM …)" },
		{ SQL_POSTGRESQL, "SELECT IFNULL(name, city) FROM users",
		  "instead of IFNULL() there is COALESCE(…, …)" },
		{ SQL_POSTGRESQL, "SELECT ISNULL(name, city) FROM users",
		  "instead of ISNULL() there is COALESCE(…, …)" },
		{ SQL_POSTGRESQL, "SELECT GETDATE()", "instead of GETDATE() there is now()" },
		{ SQL_POSTGRESQL, "SELECT DATEDIFF(created, created) FROM orders",
		  "instead of DATEDIFF() there is the difference of two dates: …::date - …::date" },
		{ SQL_POSTGRESQL, "SELECT strftime('%Y', created) FROM orders",
		  "instead of STRFTIME() there is to_char(…, 'YYYY-MM-DD')" },
		{ SQL_POSTGRESQL, "SELECT DATE_FORMAT(created, '%Y') FROM orders",
		  "instead of DATE_FORMAT() there is to_char(…, 'YYYY-MM-DD')" },
		{ SQL_POSTGRESQL, "SELECT IF(id > 1, 2, 3) FROM users",
		  "instead of IF() there is CASE WHEN … THEN … ELSE … END" },
		{ SQL_POSTGRESQL, "SELECT LEN(name) FROM users", "instead of LEN() there is length(…)" },
		{ SQL_POSTGRESQL, "SELECT CURDATE()", "instead of CURDATE() there is CURRENT_DATE" },
		{ SQL_POSTGRESQL, "SELECT NVL(name, city) FROM users",
		  "instead of NVL() there is COALESCE(…, …)" },
		{ SQL_POSTGRESQL, "SELECT GROUP_CONCAT(name) FROM users",
		  "instead of GROUP_CONCAT() there is string_agg(…, ',')" },
		{ SQL_POSTGRESQL, "SELECT GROUP_CONCAT(name SEPARATOR ';') FROM users",
		  "instead of SEPARATOR there is string_agg(…, …)" },
		{ SQL_POSTGRESQL, "SELECT DATE_ADD(created, INTERVAL 1 DAY) FROM orders",
		  "instead of DATE_ADD() there is … + interval '1 day'" },
		{ SQL_POSTGRESQL, "SELECT uper(name) FROM users", "did you mean \"upper\"?" },
		{ SQL_POSTGRESQL, "SELECT TOP 5 name FROM users",
		  "instead of TOP there is LIMIT, at the end" },
		{ SQL_POSTGRESQL, "SELECT name FROM users WHERE name REGEXP '^a'",
		  "instead of REGEXP there is ~, or ~* for letters in any case" },
		{ SQL_POSTGRESQL, "SELECT `name` FROM `users`", "instead of ` there is \"…\" around names" },
		{ SQL_POSTGRESQL, "SELECT u.`name` FROM users u",
		  "instead of ` there is \"…\" around names" },
		{ SQL_POSTGRESQL, "SELECT [name] FROM users",
		  "instead of [ there is \"…\" around names, ARRAY[…] around values" },
		{ SQL_POSTGRESQL, "SELECT name FROM [users] u",
		  "instead of [ there is \"…\" around names, ARRAY[…] around values" },
		{ SQL_MYSQL, "SELECT u.[name] FROM users u", "instead of [ there is `…` around names" },
		{ SQL_MYSQL, "SELECT name FROM [users]", "instead of [ there is `…` around names" },
		{ SQL_POSTGRESQL, "SELECT id FROM users WHERE name = 'O\\'Brien'",
		  "a quote inside of a text is doubled, or the text is written E'…'" },
		{ SQL_POSTGRESQL, "SELECT id FROM users WHERE name = 'it\\'s' AND city = 'x'",
		  "a quote inside of a text is doubled, or the text is written E'…'" },
		{ SQL_POSTGRESQL, "SELECT id FORM users WHERE", "" },
		{ SQL_SQLITE, "SELECT id FORM users WHERE", "" },
		{ SQL_MYSQL, "SELECT id FROM users WHERE", "" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct arena *arena = arena_new();
		assert_string_equal(hint(cases[i].sql, cases[i].dialect, arena), cases[i].hint);
		arena_free(arena);
	}
}

static const struct {
	const char *word;
	const char *uses[SQL_MYSQL + 1];
} table[] = {
#define NONE NULL
#define INSTEAD(word, postgresql, sqlite, mysql)                                                             \
	{ word, { [SQL_POSTGRESQL] = postgresql, [SQL_SQLITE] = sqlite, [SQL_MYSQL] = mysql } },
#include "sql/findings/instead.def"
};

/* An entry for a function that the dialect has would mislead. */
static void tables_name_what_is_missing(void **state)
{
	size_t wrong = 0, seen = 0;
	(void)state;
	for (enum sql_dialect dialect = 0; dialect <= SQL_MYSQL; dialect++) {
		for (size_t i = 0; i < COUNT(table); i++) {
			struct arena *arena = arena_new();
			const char *word = table[i].word;
			if (table[i].uses[dialect] && word[strlen(word) - 1] == '(') {
				str_t sql = arena_printf(arena, "SELECT %s1, 2) FROM users", word);
				if (strcmp(hint(sql.ptr, dialect, arena), "no error") == 0)
					wrong++, print_error("%s is there\n", word);
				seen++;
			}
			arena_free(arena);
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(seen > COUNT(table));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(mends_are_named),
					    cmocka_unit_test(tables_name_what_is_missing) };
	return cmocka_run_group_tests(tests, load_catalogs, drop_catalogs);
}
