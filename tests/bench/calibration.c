/*
 * How long a report of the calibration takes over a database in which many events were counted: buckets of a
 * minute and of an hour over 90 days, 12 segments, two label sources, filled by SQL.
 *
 *     bench_calibration [EVENTS | CONNECTION-STRING]
 *
 * EVENTS is 10,000,000 unless given, whose filling takes a minute or more; a connection string names a
 * database that was filled before, so that two builds can be compared.
 *
 * Prints the medians of a trivial query and of reports over a week and over everything, with the CPU time of
 * the server's process for one of them, which does not depend on what else the machine does. Exit status 1
 * when the week's needs more than MOST_MS of the processor; 77 without PostgreSQL 15.
 */
#include "avro/generated_query.h"
#include "calibration/reader.h"
#include "calibration/schema.h"
#include "tests/bench/samples.h"
#include "tests/harness/postgres.h"

#define MOST_MS 100.0
#define DAY_S	86400
#define DAYS	90
#define END_MS	INT64_C(1775001000000) /* the end of the windows, half past an hour */
#define ROUNDS	11

/* Without its key, which is quicker to make afterwards. */
static const char fill_sql[] =
	"SET work_mem = '1GB'; SET synchronous_commit = off; SET jit = off; SELECT setseed(0.5); "
	"ALTER TABLE calibration_buckets DROP CONSTRAINT calibration_buckets_pkey; "
	"CREATE UNLOGGED TABLE events AS SELECT 1775001000 - (random() * 90 * 86400)::bigint AS at, "
	"'app ' || floor(3 * random() ^ 2) AS application, 'model ' || floor(2 * random()) AS model, "
	"'prompt ' || floor(2 * random() ^ 2) AS prompt_version, "
	"CASE WHEN random() < 0.7 THEN 'RESULT' ELSE 'CORRECTNESS' END AS source, "
	"confidence::numeric(17, 16) AS confidence, (random() < confidence)::integer AS correct "
	"FROM (SELECT 1 - random() ^ 2 AS confidence FROM generate_series(1, %lld)) AS made; "
	"INSERT INTO calibration_buckets SELECT w, to_timestamp(at / w * w), application, model, "
	"prompt_version, source, CASE WHEN confidence >= 0.9 THEN 'HIGH_CONFIDENCE' "
	"WHEN confidence >= 0.7 THEN 'MEDIUM_CONFIDENCE' WHEN confidence >= 0.5 THEN 'LOW_CONFIDENCE' "
	"ELSE 'VERY_LOW_CONFIDENCE' END, least(floor(confidence * 10), 9)::smallint, count(*), count(*), "
	"count(*), sum(correct), sum(confidence), sum((confidence - correct) * (confidence - correct)) "
	"FROM events, (VALUES (60), (3600)) AS widths (w) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 2; "
	"DROP TABLE events; ALTER TABLE calibration_buckets ADD PRIMARY KEY (width_s, bucket_start, "
	"application, model, prompt_version, label_source, level, bin); ANALYZE calibration_buckets; "
	"RESET work_mem";

static void check(err_t err, const struct err_detail *detail)
{
	if (!err)
		return;
	fprintf(stderr, "calibration: %s\n", detail->message);
	exit(1);
}

static void fill(struct database *database, long long events)
{
	char sql[sizeof fill_sql + 32];
	struct err_detail detail = { "" };
	snprintf(sql, sizeof sql, fill_sql, events);
	check(calibration_schema_migrate(database, &detail), &detail);
	check(database_script(database, sql, &detail), &detail);
}

static long backend_pid(struct database *database)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct err_detail detail = { "" };
	check(database_query(database, "SELECT pg_backend_pid()", 0, NULL, &result, &detail), &detail);
	return strtol(PQgetvalue(result, 0, 0), NULL, 10);
}

/* Milliseconds that the server's process has used. */
static double cpu_ms(long pid)
{
	char path[64];
	unsigned long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	FILE *file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			    &system) != 2)
		fprintf(stderr, "calibration: %s cannot be read\n", path);
	if (file)
		fclose(file);
	return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static int64_t report(struct database *database, int64_t window_s)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct calibration_query query = { .window_s = window_s,
						 .bucket_s = 60,
						 .until_ms = END_MS,
						 .min_cases = 20,
						 .label_source = ENUM_ABSENT };
	struct calibration_reports reports;
	struct err_detail detail = { "" };
	int64_t cases = 0;
	check(calibration_read(database, &query, arena, &reports, &detail), &detail);
	for (size_t i = 0; i < reports.count; i++)
		cases += reports.entries[i].report.cases;
	return cases;
}

/* Milliseconds of CPU time in the server for one report; a window of 0: a trivial query. */
static double measure(struct database *database, const char *name, int64_t window_s)
{
	struct samples samples = { 0 };
	int64_t cases = window_s ? report(database, window_s) : 0;
	long pid = backend_pid(database);
	double before_ms = cpu_ms(pid);
	int64_t own_ns = cpu_ns();
	for (int i = 0; i < ROUNDS; i++) {
		int64_t start_ns = now_ns();
		if (window_s)
			report(database, window_s);
		else
			backend_pid(database);
		samples_add(&samples, now_ns() - start_ns);
	}
	double server_ms = (cpu_ms(pid) - before_ms) / ROUNDS;
	printf("%-10s %10lld cases: median %8.2f ms; CPU of the server %7.2f ms, of the client %.2f ms\n",
	       name, (long long)cases, samples_summary(&samples).median_us / 1e3, server_ms,
	       (double)(cpu_ns() - own_ns) / 1e6 / ROUNDS);
	free(samples.ns);
	return server_ms;
}

int main(int argc, char **argv)
{
	struct test_postgres server;
	struct err_detail detail = { "" };
	bool filled = argc > 1 && strchr(argv[1], '=');
	long long events = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000000;
	int status = filled ? 0 : test_postgres_start(&server, NULL);
	if (status)
		return status;
	_cleanup_(database_cleanup) struct database *database =
		database_new(filled ? argv[1] : server.socket_dsn, NULL);
	check(database_connect(database, NULL, &detail), &detail);
	if (!filled)
		fill(database, events);
	/* parallel workers would do a part of the work elsewhere */
	check(database_script(database, "SET max_parallel_workers_per_gather = 0", &detail), &detail);
	measure(database, "trivial", 0);
	double week_ms = measure(database, "week", INT64_C(7) * DAY_S);
	measure(database, "everything", (int64_t)DAYS * DAY_S);
	if (!filled)
		test_postgres_do(&server, "stop");
	return week_ms > MOST_MS;
}
