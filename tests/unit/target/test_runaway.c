/*
 * Runaway queries one behind the other, with well-behaved ones between them, on PostgreSQL, MariaDB and
 * SQLite: each is cut at its limits, none of the well-behaved is lost, the daemon's own memory stays as it
 * is.
 *
 * ASSAYD_RUNAWAYS=1000: so many on each of them instead of 45, or 15 (takes minutes).
 */
#include "tests/unit/target/mariadb_server.h"

#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"

#include <libpq-fe.h>

#define FEW	       45
#define FEW_OF_MARIADB 15 /* all of its kinds */
#define BETWEEN	       20 /* a well-behaved query behind so many runaways */
#define MAX_IN_FLIGHT  8
#define MAX_GROWTH_KIB (16 << 10)
#define STATEMENT_MS   400

static struct test_postgres postgres;
static bool has_postgres, has_mariadb;
static struct test_sqlite file;
static struct targets *targets;

static const char schema[] = "CREATE TABLE big (id INTEGER, v VARCHAR(40))";
static const char well_behaved[] = "SELECT count(*), max(v) FROM big";

static const char *const postgresql_runaways[] = {
	"SELECT count(*) FROM big a, big b, big c, big d",
	"SELECT * FROM big a, big b",
	"SELECT pg_sleep(1000)",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
	"SELECT repeat('x', 1000000000)",
	"SELECT repeat(repeat('x', 1000), 100000)",
	"SELECT i FROM generate_series(1, 1000000) AS i",
	"SELECT repeat('x', 100000) FROM generate_series(1, 1000000)",
	"SELECT string_agg(a.v, '') FROM big a, big b, big c",
	"SELECT array_agg(i) FROM generate_series(1, 100000000) AS i",
	"SELECT factorial(30000)",
	"SELECT regexp_replace(repeat('a', 30000), '(a|aa)*b', '')",
	"SELECT a.v FROM big a, big b ORDER BY b.v || a.v",
	"SELECT i FROM generate_series(1, 1000000) AS i ORDER BY random()",
};

static const char *const mariadb_runaways[] = {
	"SELECT count(*) FROM big a, big b, big c, big d",
	"SELECT * FROM big a, big b",
	"SELECT SLEEP(1000)",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
	"SELECT REPEAT('x', 1000000000)",
	"SELECT REPEAT(REPEAT('x', 1000), 15000)",
	"SELECT seq FROM seq_1_to_10000000",
	"SELECT REPEAT('x', 100000) FROM seq_1_to_1000000",
	"SELECT GROUP_CONCAT(a.v) FROM big a, big b, big c",
	"SELECT BENCHMARK(1000000000, SHA2('x', 512))",
	"SELECT SUM(CONCAT(a.v, b.v) LIKE '%a%b%c%d%e%f%g%h%') FROM big a, big b, big c",
	"SELECT a.v FROM big a, big b ORDER BY CONCAT(b.v, a.v)",
	"SELECT seq FROM seq_1_to_10000000 ORDER BY RAND()",
	"SELECT MAX(JSON_ARRAYAGG(a.v)) OVER () FROM big a, big b GROUP BY a.id",
};

static const char *const sqlite_runaways[] = {
	"SELECT count(*) FROM big a, big b, big c, big d",
	"SELECT * FROM big a, big b",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM r) SELECT length(n) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT group_concat(n) FROM r",
	"SELECT printf('%.*c', 900000000, 'x')",
	"SELECT hex(zeroblob(1000000000))",
	"SELECT a.v FROM big a, big b, big c ORDER BY c.v || a.v",
	"SELECT max(a.v LIKE '%a%b%c%d%e%f%g%h%') FROM big a, big b, big c",
};

static long runaways_count(long few)
{
	const char *wanted = getenv("ASSAYD_RUNAWAYS");
	long count = wanted ? strtol(wanted, NULL, 10) : few;
	return count > 0 ? count : few;
}

static void fill_mariadb(void)
{
	MYSQL *root = root_connection();
	must(root, "USE shop");
	must(root, schema);
	must(root, "INSERT INTO big SELECT seq, CONCAT('value ', seq) FROM seq_1_to_3000");
	mysql_close(root);
}

static void fill_postgres(void)
{
	PGconn *connection = PQconnectdb(postgres.socket_dsn);
	char sql[512];
	snprintf(sql, sizeof sql,
		 "%s; INSERT INTO big SELECT i, 'value ' || i FROM generate_series(1, 3000) AS i;"
		 "CREATE ROLE reader LOGIN; GRANT SELECT ON big TO reader; ALTER SYSTEM SET temp_file_limit "
		 "= '200MB';"
		 "SELECT pg_reload_conf()",
		 schema);
	for (char *rest = sql, *one; (one = strsep(&rest, ";"));) {
		PGresult *result = PQexec(connection, one);
		ExecStatusType status = PQresultStatus(result);
		if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
			fail_msg("%s", PQerrorMessage(connection));
		PQclear(result);
	}
	PQfinish(connection);
}

static void fill_file(void)
{
	char sql[512];
	snprintf(sql, sizeof sql,
		 "%s; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
		 " INSERT INTO big SELECT i, 'value ' || i FROM n",
		 schema);
	test_sqlite_make(&file, sql);
}

static struct target_settings tight(struct target_settings settings)
{
	settings.connections = 2;
	settings.statement_timeout_ms = STATEMENT_MS;
	settings.max_rows = 1000;
	settings.max_result_bytes = 4 << 20;
	settings.worker_memory_bytes = (int64_t)256 << 20;
	settings.stream_large_results = true;
	return settings;
}

static int set_up(void **state)
{
	static char dsn[320], mariadb_dsn[256];
	(void)state;
	fill_file();
	struct target_settings settings[3] = { tight(sqlite_settings("file", file.path)) };
	size_t count = 1;
	if (has_postgres) {
		fill_postgres();
		snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", postgres.dir,
			 postgres.port);
		settings[count++] = tight(postgresql_settings("postgres", dsn));
	}
	if (has_mariadb) {
		fill_mariadb();
		settings[count++] = tight(mariadb_settings("reader", mariadb_dsn, sizeof mariadb_dsn));
	}
	targets = start_targets(settings, count, NULL);
	targets_wait_catalogs(targets, 30000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&file);
}

/* What the daemon itself holds in memory. */
static long resident_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(status);
	return kib;
}

struct flight {
	struct test_call call;
	bool used, is_runaway;
};

/* A query that was cut has no further fault than that; only a target that takes its time to end one may be
 * too busy for the next. */
static void land(struct flight *flight, const char *target)
{
	if (!flight->used)
		return;
	const struct validation_result *result = test_call_wait(&flight->call);
	str_t sql = flight->call.call.generated_sql;
	bool good = flight->is_runaway ? result->error == ERR_OK : result->score == 1.0;
	if (!good)
		fail_msg("%s: " STR_FMT ": %s %s: " STR_FMT, target, STR_ARG(sql),
			 target_validation_status_name(result->status), err_name(result->error),
			 STR_ARG(result->message));
	test_call_free(&flight->call);
	flight->used = false;
}

static void launch(struct flight *flight, const char *target, const char *sql, bool is_runaway)
{
	land(flight, target);
	test_call_init(&flight->call, target, sql, is_runaway ? "SELECT 'small'" : well_behaved);
	flight->used = true;
	flight->is_runaway = is_runaway;
	targets_submit(targets, &flight->call.call);
}

static void run_away(const char *target, const char *const *runaways, size_t kinds, long few)
{
	struct flight flights[MAX_IN_FLIGHT] = { 0 };
	long before_kib = 0;
	size_t at = 0;
	for (long i = 0; i < runaways_count(few); i++) {
		launch(&flights[at++ % MAX_IN_FLIGHT], target, runaways[(size_t)i % kinds], true);
		if (i % BETWEEN == 0)
			launch(&flights[at++ % MAX_IN_FLIGHT], target, well_behaved, false);
		if (i == (long)kinds) /* all kinds have been seen once */
			before_kib = resident_kib();
	}
	for (size_t i = 0; i < MAX_IN_FLIGHT; i++)
		land(&flights[i], target);
	if (ADDRESS_SPACE_CAN_BE_LIMITED && before_kib > 0)
		assert_true(resident_kib() - before_kib < MAX_GROWTH_KIB);
	launch(&flights[0], target, well_behaved, false);
	land(&flights[0], target);
}

static void postgresql_outlives_them(void **state)
{
	(void)state;
	if (!has_postgres)
		skip();
	run_away("postgres", postgresql_runaways, sizeof postgresql_runaways / sizeof postgresql_runaways[0],
		 FEW);
}

static void mariadb_outlives_them(void **state)
{
	(void)state;
	if (!has_mariadb)
		skip();
	run_away("shop", mariadb_runaways, sizeof mariadb_runaways / sizeof mariadb_runaways[0],
		 FEW_OF_MARIADB);
}

static void sqlite_outlives_them(void **state)
{
	(void)state;
	run_away("file", sqlite_runaways, sizeof sqlite_runaways / sizeof sqlite_runaways[0], FEW);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&postgres, "unit.target.runaway", &has_postgres);
	int mariadb_status = start_shop("a part of unit.target.runaway");
	has_mariadb = mariadb_status == 0;
	if (status != 0 || (!has_mariadb && mariadb_status != 77))
		return EXIT_FAILURE;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(postgresql_outlives_them),
		cmocka_unit_test(mariadb_outlives_them),
		cmocka_unit_test(sqlite_outlives_them),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_postgres)
		test_postgres_do(&postgres, "stop");
	if (has_mariadb)
		stop_shop();
	return status;
}
