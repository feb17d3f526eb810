/*
 * How long a report of the calibration takes over a database in which many events were counted: buckets of a
 * minute, of an hour and of a day over 366 days, 12 segments, two label sources, filled by SQL.
 *
 *     bench_calibration [EVENTS | CONNECTION-STRING]
 *
 * EVENTS is 10,000,000 unless given, whose filling takes some minutes; a connection string names a database
 * that was filled before, so that two builds can be compared.
 *
 * Prints the medians of a trivial query and of reports over windows up to everything, with the CPU time of
 * the server's process for one of them, which does not depend on what else the machine does. Exit status 1
 * when one needs more than MOST_MS of the processor; 77 without PostgreSQL 15.
 */
#include "avro/generated_query.h"
#include "calibration/reader.h"
#include "calibration/schema.h"
#include "tests/bench/samples.h"
#include "tests/harness/postgres.h"

#define MOST_MS 100.0
#define DAY_S	86400
#define DAYS	366
#define SLICES	122		    /* of days, each filled by statements of its own */
#define END_S	INT64_C(1775001000) /* the end of the windows, half past an hour */
#define END_MS	(END_S * 1000)
#define ROUNDS	11

/* Without keys, which are quicker to make afterwards. */
static const char prepare_sql[] = "SET synchronous_commit = off; SELECT setseed(0.5); "
				  "ALTER TABLE calibration_buckets DROP CONSTRAINT calibration_buckets_pkey; "
				  "ALTER TABLE calibration_rollups DROP CONSTRAINT calibration_rollups_pkey";

/* Events of a slice: how many, its end and its length; whole days but for the last. */
static const char slice_sql[] =
	"CREATE TEMP TABLE events ON COMMIT DROP AS SELECT %lld - 1 - floor(random() * %lld)::bigint AS at, "
	"'app ' || floor(3 * random() ^ 2) AS application, 'model ' || floor(2 * random()) AS model, "
	"'prompt ' || floor(2 * random() ^ 2) AS prompt_version, "
	"CASE WHEN random() < 0.7 THEN 'RESULT' ELSE 'CORRECTNESS' END AS source, "
	"confidence::numeric(17, 16) AS confidence, (random() < confidence)::integer AS correct "
	"FROM (SELECT 1 - random() ^ 2 AS confidence FROM generate_series(1, %lld)) AS made";

/* Of one width; in the order in which they would be counted. */
static const char count_sql[] =
	"INSERT INTO %s SELECT w, to_timestamp(at / w * w), application, model, "
	"prompt_version, source, CASE WHEN confidence >= 0.9 THEN 'HIGH_CONFIDENCE' "
	"WHEN confidence >= 0.7 THEN 'MEDIUM_CONFIDENCE' WHEN confidence >= 0.5 THEN 'LOW_CONFIDENCE' "
	"ELSE 'VERY_LOW_CONFIDENCE' END, least(floor(confidence * 10), 9)::smallint, count(*), count(*), "
	"count(*), sum(correct), sum(confidence), sum((confidence - correct) * (confidence - correct)) "
	"FROM events, (VALUES (%d)) AS widths (w) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 "
	"ORDER BY 1, 2, 3, 4, 5, 6, 7, 8";

/* Deadlines are for the daemon, not for the making of an index. */
static const char finish_sql[] =
	"ALTER TABLE calibration_buckets ADD PRIMARY KEY (width_s, bucket_start, application, model, "
	"prompt_version, label_source, level, bin); "
	"ALTER TABLE calibration_rollups ADD PRIMARY KEY (width_s, bucket_start, application, model, "
	"prompt_version, label_source, level, bin); ANALYZE calibration_buckets; ANALYZE calibration_rollups";

static void check(err_t err, const struct err_detail *detail)
{
	if (!err)
		return;
	fprintf(stderr, "calibration: %s\n", detail->message);
	exit(1);
}

static void count(struct database *database, const char *table, int width_s)
{
	char sql[sizeof count_sql + 64];
	struct err_detail detail = { "" };
	snprintf(sql, sizeof sql, count_sql, table, width_s);
	check(database_script(database, sql, &detail), &detail);
}

static void fill_slice(struct database *database, int64_t from_s, int64_t until_s, long long events)
{
	char sql[sizeof slice_sql + 96];
	struct err_detail detail = { "" };
	snprintf(sql, sizeof sql, slice_sql, (long long)until_s, (long long)(until_s - from_s), events);
	check(database_script(database, "BEGIN", &detail), &detail);
	check(database_script(database, sql, &detail), &detail);
	count(database, "calibration_buckets", 60);
	count(database, "calibration_rollups", 3600);
	count(database, "calibration_rollups", DAY_S);
	check(database_script(database, "COMMIT", &detail), &detail);
}

static int finish(const struct test_postgres *server)
{
	PGconn *connection = PQconnectdb(server->socket_dsn);
	PGresult *result = PQexec(connection, finish_sql);
	bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
	if (!done)
		fprintf(stderr, "calibration: %s\n", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
	return !done;
}

static int fill(struct database *database, const struct test_postgres *server, long long events)
{
	struct err_detail detail = { "" };
	int64_t slice_s = DAYS * DAY_S / SLICES, until_s = END_S / DAY_S * DAY_S + DAY_S;
	check(calibration_schema_migrate(database, &detail), &detail);
	check(database_script(database, prepare_sql, &detail), &detail);
	for (int64_t i = SLICES; i > 0; i--)
		fill_slice(database, until_s - i * slice_s, until_s - (i - 1) * slice_s, events / SLICES);
	return finish(server);
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

/* Those of eleven days are the longest that are read by hours. */
static const struct {
	const char *name;
	int64_t days;
} windows[] = {
	{ "day", 1 },	   { "week", 7 },     { "11 days", 11 },
	{ "30 days", 30 }, { "90 days", 90 }, { "everything", DAYS },
};

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
		status = fill(database, &server, events);
	/* parallel workers would do a part of the work elsewhere */
	check(database_script(database, "SET max_parallel_workers_per_gather = 0", &detail), &detail);
	measure(database, "trivial", 0);
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		status |= measure(database, windows[i].name, windows[i].days * DAY_S) > MOST_MS;
	if (!filled)
		test_postgres_do(&server, "stop");
	return status;
}
