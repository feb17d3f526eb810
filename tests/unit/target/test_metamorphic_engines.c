/*
 * The same data in PostgreSQL, SQLite and MariaDB: queries that all three run return results that are equal,
 * whichever of them is the truth; and where one value differs, or one row, exactly that is told.
 *
 * ASSAYD_METAMORPHIC_ROUNDS: so many times with other data (default 1). PostgreSQL or MariaDB are left out,
 * by name, where they are not installed; with SQLite alone the test is skipped.
 */
#include "tests/harness/servers/postgres.h"

#include "tests/unit/target/mariadb_server.h"

#include "target/engine.h"

#include <libpq-fe.h>
#include <sqlite3.h>

enum { ENGINES = 3, ROWS = 80, COLUMNS = 13, VALUE_SIZE = 160 };

static const char *const engine_names[ENGINES] = { "PostgreSQL", "SQLite", "MariaDB" };

static struct test_postgres postgres;
static char sqlite_directory[] = "/tmp/assayd-test-engines-XXXXXX";
static char sqlite_path[256], dsns[ENGINES][512];
static bool present[ENGINES];

/* ---- Data ---- */

enum column_kind { NUMBER, EXACT, REAL, TRUTH_VALUE, DAY, MOMENT, CLOCK, WORDS, BYTES };

static const struct {
	const char *name;
	enum column_kind kind;
	const char *types[ENGINES];
	unsigned null_share; /* one in so many is NULL; 0: none */
} columns[COLUMNS] = {
	{ "id", NUMBER, { "int", "INTEGER", "int" }, 0 },
	{ "small", NUMBER, { "smallint", "SMALLINT", "smallint" }, 6 },
	{ "big", NUMBER, { "bigint", "BIGINT", "bigint" }, 5 },
	{ "price", EXACT, { "numeric(14,4)", "DECIMAL(14,4)", "decimal(14,4)" }, 7 },
	{ "ratio", REAL, { "float8", "DOUBLE", "double" }, 7 },
	{ "flag", TRUTH_VALUE, { "boolean", "BOOLEAN", "boolean" }, 5 },
	{ "day", DAY, { "date", "DATE", "date" }, 8 },
	{ "moment", MOMENT, { "timestamp", "DATETIME", "datetime(6)" }, 8 },
	{ "clock", CLOCK, { "time", "TIME", "time(6)" }, 8 },
	{ "words", WORDS, { "text", "TEXT", "varchar(200)" }, 4 },
	{ "class", WORDS, { "varchar(20)", "VARCHAR(20)", "varchar(20)" }, 0 },
	{ "raw", BYTES, { "bytea", "BLOB", "blob" }, 6 },
	{ "blank", WORDS, { "text", "TEXT", "text" }, 1 },
};

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % below;
}

static const char *draw_words(bool one_of_few)
{
	static const char *const few[] = { "red", "green", "blue" };
	static const char *const words[] = {
		"",
		"a",
		"A",
		" in front",
		"behind  ",
		"two  inside",
		"it''s",
		"Zo\303\253",
		"\346\227\245\346\234\254",
		"%",
		"_x",
		"NULL",
		"1",
		"007",
		"2024-01-01x",
		"\360\237\230\200",
		"{a}",
		"[1, 2]",
		"tab\there",
		"true",
		"line\nbreak",
		"-",
		"3 apples",
		"O(n)",
	};
	return one_of_few ? few[draw(3)] : words[draw(sizeof words / sizeof *words)];
}

/* A literal that all three read, of the column's kind; bytes in `engine`'s own way. */
static void write_value(char *to, size_t column, int row, int engine, uint64_t seed)
{
	random_state = seed * 7919 + (uint64_t)row * 131 + column;
	for (int i = 0; i < 4; i++)
		(void)draw(2);
	unsigned share = columns[column].null_share;
	if (share && draw(share) == 0) {
		snprintf(to, VALUE_SIZE, "NULL");
		return;
	}
	int sign = draw(2) ? 1 : -1;
	switch (columns[column].kind) {
	case NUMBER:
		if (column == 0)
			snprintf(to, VALUE_SIZE, "%d", row);
		else if (column == 1)
			snprintf(to, VALUE_SIZE, "%d", sign * (int)draw(20));
		else
			snprintf(to, VALUE_SIZE, "%lld", (long long)sign * draw(2000000000) * 4000000001LL);
		return;
	case EXACT:
		snprintf(to, VALUE_SIZE, "%d.%04u", sign * (int)(1 + draw(90000000)), draw(10000));
		return;
	case REAL:
		snprintf(to, VALUE_SIZE, "%d.%06ue%d", sign * (int)(1 + draw(9)), draw(1000000),
			 (int)draw(24) - 12);
		return;
	case TRUTH_VALUE:
		snprintf(to, VALUE_SIZE, draw(2) ? "TRUE" : "FALSE");
		return;
	case DAY:
		snprintf(to, VALUE_SIZE, "'%u-%02u-%02u'", 1970 + draw(80), 1 + draw(12), 1 + draw(28));
		return;
	case MOMENT:
		snprintf(to, VALUE_SIZE, "'%u-%02u-%02u %02u:%02u:%02u%s'", 1971 + draw(60), 1 + draw(12),
			 1 + draw(28), draw(24), draw(60), draw(60), draw(2) ? ".25" : "");
		return;
	case CLOCK:
		snprintf(to, VALUE_SIZE, "'%02u:%02u:%02u'", draw(24), draw(60), draw(60));
		return;
	case WORDS:
		snprintf(to, VALUE_SIZE, "'%s'", draw_words(column == 10));
		return;
	case BYTES:
		snprintf(to, VALUE_SIZE, engine == 0 ? "decode('%02x00%02x', 'hex')" : "x'%02x00%02x'",
			 draw(256), draw(256));
		return;
	}
}

static void write_table(struct buf *sql, int engine, uint64_t seed)
{
	char value[VALUE_SIZE];
	buf_append_text(sql, "CREATE TABLE samples (");
	for (size_t i = 0; i < COLUMNS; i++)
		buf_printf(sql, "%s%s %s", i ? ", " : "", columns[i].name, columns[i].types[engine]);
	buf_printf(sql, ")%s; INSERT INTO samples VALUES ",
		   engine == 2 ? " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin" : "");
	for (int row = 1; row <= ROWS; row++) {
		buf_append_text(sql, row > 1 ? ", (" : "(");
		for (size_t i = 0; i < COLUMNS; i++) {
			write_value(value, i, row, engine, seed);
			buf_printf(sql, "%s%s", i ? ", " : "", value);
		}
		buf_append_char(sql, ')');
	}
	buf_append_text(sql, "; CREATE TABLE tags (sample int, tag varchar(10)); INSERT INTO tags VALUES ");
	for (int i = 0; i < ROWS; i++)
		buf_printf(sql, "%s(%d, '%s')", i ? ", " : "", 1 + i * 7 % (ROWS + 9), i % 3 ? "x" : "y");
}

/* ---- Engines ---- */

static void execute_postgres(const char *sql)
{
	PGconn *connection = PQconnectdb(postgres.socket_dsn);
	PGresult *result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static void execute_sqlite(const char *sql)
{
	sqlite3 *database;
	char *error = NULL;
	assert_int_equal(sqlite3_open(sqlite_path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s", error);
	sqlite3_close(database);
}

/* The library takes one statement at a time. */
static void execute_mariadb(const char *sql)
{
	MYSQL *connection = root_connection();
	char *text = strdup(sql), *rest = NULL;
	must(connection, "USE shop");
	for (char *one = strtok_r(text, ";", &rest); one; one = strtok_r(NULL, ";", &rest))
		must(connection, one);
	free(text);
	mysql_close(connection);
}

static void execute(int engine, const char *sql)
{
	static void (*const functions[ENGINES])(const char *) = { execute_postgres, execute_sqlite,
								  execute_mariadb };
	functions[engine](sql);
}

struct session {
	struct worker_settings settings;
	const struct engine *engine;
	void *session;
};

static void begin(struct session *session, int engine)
{
	static const enum target_engine kinds[ENGINES] = { TARGET_POSTGRESQL, TARGET_SQLITE, TARGET_MARIADB };
	struct err_detail detail = { "" };
	struct target_settings target = postgresql_settings("samples", dsns[engine]);
	target.engine = kinds[engine];
	target.path = sqlite_path;
	target.statement_timeout_ms = 120000;
	*session = (struct session){ .settings.target = target, .engine = engine_of(kinds[engine]) };
	if (engine == 2)
		session->settings.password = STR(PASSWORD);
	if (session->engine->open(&session->settings, &session->session, &detail) ||
	    session->engine->begin(session->session, &detail))
		fail_msg("%s: %s", engine_names[engine], detail.message);
}

static void end(struct session *session)
{
	session->engine->end(session->session);
	session->engine->close(session->session);
}

static void run(struct session *session, const char *sql, struct arena *arena, struct query_run *ret_run)
{
	struct err_detail detail = { "" };
	*ret_run =
		(struct query_run){ .result = { .arena = arena, .max_rows = 10000, .max_bytes = 16 << 20 } };
	if (session->engine->run(session->session, str_from(sql), ret_run, &detail) ||
	    ret_run->outcome != QUERY_RETURNED)
		fail_msg("%s: %s" STR_FMT, sql, detail.message, STR_ARG(ret_run->message));
}

/* ---- Comparison ---- */

struct measured {
	struct compare_verdict verdict;
	size_t rows;
};

static struct measured compare(struct session *one, const char *one_sql, struct session *other,
			       const char *other_sql, bool ordered)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct compare_order_key first = { 0 };
	const struct compare_options options = {
		.ordered = ordered, .order_keys = &first, .order_keys_count = 1, .all_keys_visible = true
	};
	struct query_run left, right;
	struct measured measured;
	run(one, one_sql, arena, &left);
	run(other, other_sql, arena, &right);
	struct result_set a = result_finish(&left.result), b = result_finish(&right.result);
	compare_results(&a, &b, &options, arena, &measured.verdict);
	measured.rows = b.rows_count;
	result_free(&left.result);
	result_free(&right.result);
	return measured;
}

/* Means the same in all three; with `ordered`, by its first column. */
static const struct {
	const char *sql;
	bool ordered;
} queries[] = {
	{ "SELECT * FROM samples", false },
	{ "SELECT * FROM samples ORDER BY id DESC", true },
	{ "SELECT blank, raw, class, words, clock, moment, day, flag, ratio, price, big, small, id FROM "
	  "samples",
	  false },
	{ "SELECT id, words FROM samples WHERE words IS NULL OR words <> 'a'", false },
	{ "SELECT count(*), count(small), count(blank), count(DISTINCT class) FROM samples", false },
	{ "SELECT sum(small), sum(price), sum(ratio), sum(big / 1000000.0) FROM samples", false },
	{ "SELECT avg(small), avg(price), avg(ratio) FROM samples", false },
	{ "SELECT min(big), max(big), min(price), max(price), min(day), max(moment) FROM samples", false },
	{ "SELECT class, count(*) AS n, avg(price) AS mean FROM samples GROUP BY class", false },
	{ "SELECT class, count(*) AS n, avg(price) AS mean FROM samples GROUP BY class ORDER BY class",
	  true },
	{ "SELECT class, flag, sum(price) FROM samples GROUP BY class, flag", false },
	{ "SELECT class, max(ratio) FROM samples WHERE flag GROUP BY class HAVING count(*) > 3", false },
	{ "SELECT DISTINCT class, flag FROM samples", false },
	{ "SELECT DISTINCT words FROM samples", false },
	{ "SELECT id, small > 3 AS bigger, price < 0 OR flag AS either FROM samples", false },
	{ "SELECT id, CASE WHEN small > 0 THEN 'up' WHEN small < 0 THEN 'down' END AS way FROM samples",
	  false },
	{ "SELECT id, coalesce(words, '?') AS w, nullif(class, 'red') AS c FROM samples", false },
	{ "SELECT id, price * small AS product, price + ratio AS total, -small AS negative FROM samples",
	  false },
	{ "SELECT id, abs(price), round(price, 2), length(raw) FROM samples", false },
	{ "SELECT id, upper(class), lower(class), trim(words), replace(class, 'e', 'E') FROM samples",
	  false },
	{ "SELECT a.id, b.id AS other FROM samples a JOIN samples b ON a.class = b.class AND a.id < b.id",
	  false },
	{ "SELECT s.id, t.tag FROM samples s LEFT JOIN tags t ON t.sample = s.id", false },
	{ "SELECT t.tag, sum(s.price) AS total FROM samples s JOIN tags t ON t.sample = s.id GROUP BY t.tag",
	  false },
	{ "SELECT id FROM samples WHERE id IN (SELECT sample FROM tags WHERE tag = 'y')", false },
	{ "SELECT id FROM samples s WHERE NOT EXISTS (SELECT 1 FROM tags t WHERE t.sample = s.id)", false },
	{ "SELECT id FROM samples WHERE price > (SELECT avg(price) FROM samples)", false },
	{ "SELECT class FROM samples UNION SELECT tag FROM tags", false },
	{ "SELECT class FROM samples UNION ALL SELECT tag FROM tags", false },
	{ "SELECT id FROM samples EXCEPT SELECT sample FROM tags", false },
	{ "WITH c AS (SELECT class, count(*) AS n FROM samples GROUP BY class) SELECT max(n) - min(n) FROM c",
	  false },
	{ "SELECT id, row_number() OVER (PARTITION BY class ORDER BY id) AS r FROM samples", false },
	{ "SELECT id, sum(small) OVER (ORDER BY id) AS s, rank() OVER (ORDER BY class) AS r FROM samples",
	  false },
	{ "SELECT id, lag(price) OVER (ORDER BY id) AS before_it FROM samples ORDER BY id", true },
	{ "SELECT id, day, moment FROM samples WHERE day >= '2000-01-01' AND moment < '2020-01-01'", false },
	{ "SELECT id, raw FROM samples WHERE raw IS NOT NULL", false },
	{ "SELECT id, blank FROM samples WHERE blank IS NULL ORDER BY id LIMIT 7", true },
	{ "SELECT id FROM samples WHERE class LIKE '%e%' AND words IS NOT NULL", false },
	{ "SELECT small % 3 AS rest, count(*) FROM samples GROUP BY small % 3", false },
	{ "SELECT 1 AS one, 'x' AS x, NULL AS n, 2.50 AS d FROM samples WHERE id = 1", false },
	{ "SELECT id FROM samples WHERE id < 0", false },
	{ "SELECT sum(price) FROM samples WHERE id < 0", false },
};

static unsigned compared;

static void queries_are_equal(struct session *sessions)
{
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		for (int one = 0; one < ENGINES; one++)
			for (int other = 0; other < ENGINES; other++) {
				if (one == other || !present[one] || !present[other])
					continue;
				const char *sql = queries[i].sql;
				struct measured got = compare(&sessions[one], sql, &sessions[other], sql,
							      queries[i].ordered);
				compared++;
				if (got.verdict.score < 1.0 || got.verdict.content_match_rate < 1.0)
					fail_msg("%s for %s: score %g, rate %g of %zu rows\n%s",
						 engine_names[one], engine_names[other], got.verdict.score,
						 got.verdict.content_match_rate, got.rows, sql);
			}
}

/* Another value for the column in one row; surely none that is equal. */
static void write_other(char *sql, size_t size, size_t column)
{
	static const char *const others[] = {
		[NUMBER] = "-31999",	  [EXACT] = "123456789.5",    [REAL] = "9.87e15",
		[TRUTH_VALUE] = "NULL",	  [DAY] = "'1901-02-03'",     [MOMENT] = "'1983-02-03 04:05:06.75'",
		[CLOCK] = "'23:59:58.5'", [WORDS] = "'nowhere else'", [BYTES] = "x'ffffffff'",
	};
	/* a truth value that was NULL becomes one */
	snprintf(sql, size,
		 "UPDATE samples SET %s = CASE WHEN %s IS NULL AND '%s' = 'flag' THEN 1 ELSE %s END"
		 " WHERE id = 17",
		 columns[column].name, columns[column].name, columns[column].name,
		 others[columns[column].kind]);
}

static bool equal(double a, double b)
{
	return a - b < 1e-12 && b - a < 1e-12;
}

/* SQLite has one other value, and is compared with the rest: one row less is alike, in whatever column. */
static void one_value_tells(uint64_t seed)
{
	for (size_t column = 0; column < COLUMNS; column++) {
		struct buf sql = BUF_INIT;
		char change[512];
		execute(1, "DROP TABLE samples; DROP TABLE tags");
		write_table(&sql, 1, seed);
		execute(1, sql.data);
		buf_free(&sql);
		write_other(change, sizeof change, column);
		execute(1, change);
		for (int other = 0; other < ENGINES; other += 2) {
			if (!present[other])
				continue;
			struct session lite, session;
			begin(&lite, 1);
			begin(&session, other);
			struct measured got = compare(&lite, "SELECT * FROM samples", &session,
						      "SELECT * FROM samples", false);
			struct measured back = compare(&session, "SELECT * FROM samples", &lite,
						       "SELECT * FROM samples", false);
			end(&lite);
			end(&session);
			compared += 2;
			if (!equal(got.verdict.content_match_rate, (ROWS - 1.0) / ROWS) ||
			    !equal(back.verdict.content_match_rate, (ROWS - 1.0) / ROWS) ||
			    !equal(got.verdict.score, 0.95) || !equal(back.verdict.score, 0.95))
				fail_msg("%s of SQLite for %s: rates %g and %g", columns[column].name,
					 engine_names[other], got.verdict.content_match_rate,
					 back.verdict.content_match_rate);
		}
	}
}

static void the_same_data_is_equal_everywhere(void **state)
{
	const char *setting = getenv("ASSAYD_METAMORPHIC_ROUNDS");
	unsigned long rounds = setting ? strtoul(setting, NULL, 10) : 1;
	(void)state;
	for (uint64_t seed = 1; seed <= rounds; seed++) {
		struct session sessions[ENGINES];
		for (int engine = 0; engine < ENGINES; engine++) {
			if (!present[engine])
				continue;
			struct buf sql = BUF_INIT;
			if (seed > 1)
				execute(engine, "DROP TABLE samples; DROP TABLE tags");
			write_table(&sql, engine, seed);
			execute(engine, sql.data);
			buf_free(&sql);
			begin(&sessions[engine], engine);
		}
		queries_are_equal(sessions);
		for (int engine = 0; engine < ENGINES; engine++)
			if (present[engine])
				end(&sessions[engine]);
		one_value_tells(seed);
	}
	print_message("%zu queries, %u comparisons of results of two engines\n",
		      sizeof queries / sizeof *queries, compared);
}

static void find_engines(void)
{
	present[0] = test_postgres_start(&postgres, NULL) == 0;
	present[1] = true;
	present[2] = start_shop("the comparison with MariaDB") == 0;
	if (!present[0])
		printf("skipped: the comparison with PostgreSQL needs it\n");
	snprintf(dsns[0], sizeof dsns[0], "%s", postgres.socket_dsn);
	snprintf(dsns[2], sizeof dsns[2], "host=127.0.0.1 port=%u user=reader dbname=shop", port);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	find_engines();
	if (!present[0] && !present[2])
		return 77;
	if (!mkdtemp(sqlite_directory))
		return 1;
	snprintf(sqlite_path, sizeof sqlite_path, "%s/samples.db", sqlite_directory);
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_same_data_is_equal_everywhere) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(sqlite_path);
	rmdir(sqlite_directory);
	if (present[2])
		stop_shop();
	return failed;
}
