/* Values of a real MariaDB: the class and text of every type, and the same data from other engines. */
#include "tests/harness/servers/postgres.h"

#include "mariadb_server.h"

#include "target/engine.h"

static struct test_postgres postgres;
static bool have_postgres;
static char maria_dsn[320];

struct running {
	struct worker_settings settings;
	const struct engine *engine;
	void *session;
	struct arena *arena;
};

static void start_engine(struct running *running, const struct target_settings *target)
{
	struct err_detail detail = { "" };
	*running = (struct running){ .settings.target = *target, .arena = arena_new() };
	if (target->password_file)
		running->settings.password = STR(PASSWORD);
	running->engine = engine_of(target->engine);
	if (running->engine->open(&running->settings, &running->session, &detail) ||
	    running->engine->begin(running->session, &detail))
		fail_msg("%s", detail.message);
}

static void stop_engine(struct running *running)
{
	running->engine->end(running->session);
	running->engine->close(running->session);
	arena_free(running->arena);
}

static void run(struct running *running, const char *sql, struct query_run *ret_run)
{
	struct err_detail detail = { "" };
	*ret_run = (struct query_run){
		.result = { .arena = running->arena, .max_rows = 1000, .max_bytes = 16 << 20 }
	};
	if (running->engine->run(running->session, str_from(sql), ret_run, &detail) ||
	    ret_run->outcome != QUERY_RETURNED)
		fail_msg("%s: %s" STR_FMT, sql, detail.message, STR_ARG(ret_run->message));
}

static const char kinds_table[] =
	"CREATE TABLE shop.kinds (c1 TINYINT, c2 SMALLINT UNSIGNED, c3 MEDIUMINT, c4 INT UNSIGNED, c5 "
	"BIGINT, c6 "
	"BIGINT UNSIGNED, c7 INT(6) ZEROFILL, c8 BOOLEAN, c9 BIT(10), c10 YEAR, c11 DECIMAL(20, 5), c12 "
	"FLOAT, c13 "
	"DOUBLE, c14 DATE, c15 DATETIME, c16 DATETIME(6), c17 TIMESTAMP(3) NULL, c18 TIME, c19 TIME(2), c20 "
	"CHAR(5), c21 VARCHAR(20), c22 TEXT, c23 BINARY(3), c24 VARBINARY(5), c25 BLOB, c26 ENUM('x', 'y'), "
	"c27 "
	"SET('p', 'q'), c28 JSON, c29 POINT, c30 UUID, c31 INET6)";

static const char *const kinds_rows[] = {
	"INSERT INTO shop.kinds VALUES (-128, 65535, -8388608, 4294967295, -9223372036854775808, "
	"18446744073709551615, 42, TRUE, b'1000000001', 2024, 12345.678, 0.1, 0.1, '2024-02-29', '2024-02-29 "
	"23:59:59', '2024-02-29 12:34:56.1', '2024-02-29 12:34:56.123', '-838:59:59', '1:02:03.5', 'ab', "
	"'Zo\303\253', 'text', 'a', 'ab', 'b\\0b', 'y', 'p,q', '{\"a\": 1}', POINT(1, 2), "
	"'123e4567-e89b-12d3-a456-426655440000', '::1')",
	"INSERT INTO shop.kinds (c12, c13, c14, c15, c16, c20, c21, c23, c25, c26) VALUES (2.1e10, "
	"1.7976931348623157e308, '0000-00-00', '0000-00-00', '2024-00-00 10:00:00', '', '', '', '', '')",
};

/* What is expected of the columns, row by row; NULL: absent. */
static const struct {
	enum cell_class class;
	const char *texts[2];
} kinds[] = {
	{ CELL_INTEGER, { "-128" } },
	{ CELL_INTEGER, { "65535" } },
	{ CELL_INTEGER, { "-8388608" } },
	{ CELL_INTEGER, { "4294967295" } },
	{ CELL_INTEGER, { "-9223372036854775808" } },
	{ CELL_INTEGER, { "18446744073709551615" } },
	{ CELL_INTEGER, { "42" } },
	{ CELL_INTEGER, { "1" } },
	{ CELL_INTEGER, { "513" } },
	{ CELL_INTEGER, { "2024" } },
	{ CELL_DECIMAL, { "12345.67800" } },
	{ CELL_FLOAT, { "0.1", "2.1e+10" } },
	{ CELL_FLOAT, { "0.1", "1.7976931348623157e+308" } },
	{ CELL_DATE, { "2024-02-29", "0000-00-00" } },
	{ CELL_TIMESTAMP, { "2024-02-29 23:59:59", "0000-00-00" } },
	{ CELL_TIMESTAMP, { "2024-02-29 12:34:56.100000", "2024-00-00 10:00:00" } },
	{ CELL_TIMESTAMP, { "2024-02-29 12:34:56.123000" } },
	{ CELL_TIME, { "-838:59:59" } },
	{ CELL_TIME, { "01:02:03.500000" } },
	{ CELL_TEXT, { "ab", "" } },
	{ CELL_TEXT, { "Zo\303\253", "" } },
	{ CELL_TEXT, { "text" } },
	{ CELL_BYTES, { "610000", "000000" } },
	{ CELL_BYTES, { "6162" } },
	{ CELL_BYTES, { "620062", "" } },
	{ CELL_TEXT, { "y", "" } },
	{ CELL_TEXT, { "p,q" } },
	{ CELL_JSON, { "{\"a\": 1}" } },
	{ CELL_BYTES, { "000000000101000000000000000000f03f0000000000000040" } },
	{ CELL_TEXT, { "123e4567-e89b-12d3-a456-426655440000" } },
	{ CELL_TEXT, { "::1" } },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void every_type_has_its_class_and_text(void **state)
{
	(void)state;
	struct running maria;
	struct query_run got;
	struct target_settings target = mariadb_settings("reader", maria_dsn, sizeof maria_dsn);
	MYSQL *root = root_connection();
	must(root, "SET sql_mode = ''");
	must(root, kinds_table);
	must(root, "SET time_zone = '+00:00'");
	must(root, kinds_rows[0]);
	must(root, kinds_rows[1]);
	mysql_close(root);
	start_engine(&maria, &target);
	run(&maria, "SELECT * FROM kinds", &got);
	assert_int_equal(got.result.columns_count, KINDS);
	assert_int_equal(got.result.rows_count, 2);
	for (size_t i = 0; i < 2 * KINDS; i++) {
		const char *expected = kinds[i % KINDS].texts[i / KINDS];
		str_t cell = got.result.cells[i];
		assert_int_equal(got.result.columns[i % KINDS].type, kinds[i % KINDS].class);
		if (!expected != !cell.ptr || (expected && strcmp(expected, cell.ptr) != 0))
			fail_msg("column %zu: " STR_FMT " and not %s", i % KINDS + 1, STR_ARG(cell),
				 expected);
		assert_int_equal(cell.len, expected ? strlen(expected) : 0);
	}
	result_free(&got.result);
	stop_engine(&maria);
}

/* The same data in three dialects; NULL: there is nothing of the kind. */
static const struct {
	const char *what, *maria, *postgres, *sqlite;
} same[] = {
	{ "integers", "SELECT 1, -5, 9223372036854775807", "SELECT 1, -5, 9223372036854775807",
	  "SELECT 1, -5, 9223372036854775807" },
	{ "decimals", "SELECT 123.45, 0.10", "SELECT 123.45, 0.10", "SELECT 123.45, 0.1" },
	{ "floats", "SELECT 1e0 / 3, CAST(0.1 AS FLOAT), CAST(2.1e10 AS FLOAT)",
	  "SELECT 1::float8 / 3, 0.1::float4, 2.1e10::float4", "SELECT 1.0 / 3, 0.1, 2.1e10" },
	{ "means", "SELECT AVG(seq) FROM seq_1_to_4", "SELECT avg(i) FROM generate_series(1, 4) AS i",
	  "SELECT 2.5" },
	{ "truth values", "SELECT TRUE, FALSE, NULL", "SELECT true, false, NULL::boolean",
	  "SELECT 1, 0, NULL" },
	{ "texts", "SELECT 'Zo\303\253', '', 'a''b'", "SELECT 'Zo\303\253', '', 'a''b'",
	  "SELECT 'Zo\303\253', '', 'a''b'" },
	{ "dates", "SELECT DATE '2024-02-29'", "SELECT date '2024-02-29'", "SELECT '2024-02-29'" },
	{ "timestamps", "SELECT TIMESTAMP '2024-02-29 12:34:56', TIMESTAMP '2024-02-29 00:00:00.250'",
	  "SELECT timestamp '2024-02-29 12:34:56', timestamptz '2024-02-29 01:00:00.25+01'",
	  "SELECT '2024-02-29T12:34:56', '2024-02-29 00:00:00.25'" },
	{ "times", "SELECT TIME '12:34:56', TIME '12:34:56.5'", "SELECT time '12:34:56', time '12:34:56.5'",
	  "SELECT '12:34:56', '12:34:56.5'" },
	{ "bytes", "SELECT X'00ff', X''", "SELECT '\\x00ff'::bytea, '\\x'::bytea", "SELECT x'00ff', x''" },
	{ "documents", "SELECT JSON_OBJECT('a', 1, 'b', JSON_ARRAY(1, 2.0, NULL))",
	  "SELECT '{\"b\": [1, 2, null], \"a\": 1}'::jsonb", "SELECT '{\"a\":1,\"b\":[1,2,null]}'" },
	{ "counts by group", "SELECT seq % 2 AS odd, COUNT(*) AS n FROM seq_1_to_5 GROUP BY odd",
	  "SELECT i % 2 AS odd, count(*) AS n FROM generate_series(1, 5) AS i GROUP BY odd",
	  "SELECT 0 AS odd, 2 AS n UNION ALL SELECT 1, 3" },
};

static void must_be_equal(const char *what, struct running *one, const char *one_sql, struct running *other,
			  const char *other_sql)
{
	struct query_run left, right;
	struct compare_verdict verdict;
	const struct compare_options options = { 0 };
	struct arena *arena = arena_new();
	run(one, one_sql, &left);
	run(other, other_sql, &right);
	struct result_set a = result_finish(&left.result), b = result_finish(&right.result);
	compare_results(&a, &b, &options, arena, &verdict);
	if (verdict.score != 1.0)
		fail_msg("%s: %g", what, verdict.score);
	result_free(&left.result);
	result_free(&right.result);
	arena_free(arena);
}

static void the_same_data_is_equal(struct running *other, bool is_postgres)
{
	struct running maria;
	struct target_settings target = mariadb_settings("reader", maria_dsn, sizeof maria_dsn);
	start_engine(&maria, &target);
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
		const char *sql = is_postgres ? same[i].postgres : same[i].sqlite;
		must_be_equal(same[i].what, &maria, same[i].maria, other, sql);
		must_be_equal(same[i].what, other, sql, &maria, same[i].maria);
	}
	stop_engine(&maria);
}

static void it_is_the_same_in_sqlite(void **state)
{
	(void)state;
	char path[] = "/tmp/assayd-test-mariadb-XXXXXX";
	struct running sqlite;
	close(mkstemp(path));
	struct target_settings target = sqlite_settings("shop", path);
	start_engine(&sqlite, &target);
	the_same_data_is_equal(&sqlite, false);
	stop_engine(&sqlite);
	unlink(path);
}

static void it_is_the_same_in_postgresql(void **state)
{
	(void)state;
	struct running postgresql;
	if (!have_postgres) {
		print_message("skipped: comparing with PostgreSQL needs PostgreSQL 15\n");
		skip();
	}
	struct target_settings target = postgresql_settings("shop", postgres.socket_dsn);
	start_engine(&postgresql, &target);
	the_same_data_is_equal(&postgresql, true);
	stop_engine(&postgresql);
}

int main(void)
{
	int status = start_shop("unit.target.mariadb_values");
	if (status != 0)
		return status;
	have_postgres = test_postgres_start(&postgres, NULL) == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_its_class_and_text),
		cmocka_unit_test(it_is_the_same_in_sqlite),
		cmocka_unit_test(it_is_the_same_in_postgresql),
	};
	status = cmocka_run_group_tests(tests, NULL, NULL);
	if (have_postgres)
		test_postgres_do(&postgres, "stop");
	stop_shop();
	return status;
}
