/*
 * How long a report of the calibration takes over a database in which many events were counted.
 *
 *     bench_calibration [CONNECTION-STRING] [EVENTS [SEGMENTS]]
 *
 * EVENTS is 10,000,000 unless given, SEGMENTS (a multiple of 4) is 12; filling takes some minutes. With a
 * connection string an empty database of another server is filled, or, without EVENTS, one is read that
 * was filled before: so two builds can be compared.
 *
 * What is filled, by SQL: the events of 366 days, evenly over their seconds, with two label sources (seven
 * and three tenths), some applications and prompts more often than others, weights of 1, in buckets of a
 * minute, of an hour and of a day. 10,000,000 events are 27,300 a day or 19 a minute: nearly every event has
 * a row of its own among the minutes (9.1 million), and most of the 240 cells of 12 segments (two sources,
 * ten bins) have one in each hour (1.8 million) and each day (88,000). Reports read 4,600 rows of hours for a
 * day, 33,000 for a week, 52,000 for 11 days (the longest that is read by hours), and of days 240 each. More
 * segments make more rows, not more events.
 *
 * Learning is on: there are examples of the last 60 days, of the last two 5000 of each application and of
 * others 500, or as many as were counted (with 100 segments 720,000, 0.75 GB), of which a report reads
 * 10,000.
 *
 * The server has PostgreSQL's own settings (128 MB of shared_buffers, autovacuum), and the tables are
 * vacuumed and analyzed, as they are that grew for a year. Rows lie in the order of time, as they do when
 * counted.
 *
 * Prints the medians of a trivial query and of reports over windows up to everything, and of one application,
 * with the CPU time of the server's process for one of them, without parallel workers, which does not
 * depend on what else the machine waits for. Exit status 1 when one needs more than MAX_MS of the processor;
 * 77 without PostgreSQL 15.
 */
#include "avro/generated_query.h"
#include "calibration/report/reader.h"
#include "calibration/store/schema.h"
#include "tests/bench/samples.h"
#include "tests/harness/servers/postgres.h"

#define MAX_MS 100.0
#define DAY_S  86400
#define DAYS   366
#define SLICES 122		   /* of days, each filled by statements of its own */
#define END_S  INT64_C(1775001000) /* the end of the windows, half past an hour */
#define END_MS (END_S * 1000)
#define ROUNDS 11

/* Without keys, which are quicker to make afterwards. */
static const char prepare_sql[] = "SET synchronous_commit = off; SELECT setseed(0.5); "
				  "ALTER TABLE calibration_buckets DROP CONSTRAINT calibration_buckets_pkey; "
				  "ALTER TABLE calibration_rollups DROP CONSTRAINT calibration_rollups_pkey";

/* Events of a slice: its end and its length, how many applications with four segments each, how many events.
 */
static const char slice_sql[] =
	"CREATE TEMP TABLE events ON COMMIT DROP AS SELECT %lld - 1 - floor(random() * %lld)::bigint AS at, "
	"'app ' || floor(%ld * random() ^ 2) AS application, 'model ' || floor(2 * random()) AS model, "
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
	"prompt_version, label_source, level, bin)";

/* Days of which there are examples: no report goes back further, since it reads 10,000 of the newest. */
#define EXAMPLES_DAYS 60

/* What is kept to learn from: of the last two days 5000 of each application, of others 500, or as many as
 * were counted, with as many features as a record has, and a probability. */
static const char examples_sql[] =
	"INSERT INTO calibration_examples SELECT day, application, 'RESULT', gen_random_uuid(), 0, "
	"row_number() OVER (), day::timestamp AT TIME ZONE 'UTC' + random() * interval '1 day', model, "
	"prompt_version, confidence, 1, random() < confidence, features, 0.1 + 0.8 * confidence "
	"FROM (SELECT *, 1 - random() ^ 2 AS confidence FROM ("
	"SELECT (bucket_start AT TIME ZONE 'UTC')::date AS day, application, model, prompt_version, "
	"row_number() OVER (PARTITION BY bucket_start, application ORDER BY random()) AS place "
	"FROM calibration_rollups, generate_series(1, cases) AS each WHERE width_s = 86400 "
	"AND label_source = 'RESULT' AND bucket_start >= to_timestamp(%lld)) AS counted "
	"WHERE place <= CASE WHEN day >= (to_timestamp(%lld) AT TIME ZONE 'UTC')::date - 1 THEN 5000 ELSE "
	"500 "
	"END) AS kept, (SELECT jsonb_object_agg('feature_number_' || i, round(random()::numeric, 6)) "
	"AS features FROM generate_series(1, 90) AS i) AS f ORDER BY 1, 2, 4";

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

static void fill_slice(struct database *database, int64_t from_s, int64_t until_s, long long events,
		       long segments)
{
	char sql[sizeof slice_sql + 96];
	struct err_detail detail = { "" };
	snprintf(sql, sizeof sql, slice_sql, (long long)until_s, (long long)(until_s - from_s), segments / 4,
		 events);
	check(database_script(database, "BEGIN", &detail), &detail);
	check(database_script(database, sql, &detail), &detail);
	count(database, "calibration_buckets", 60);
	count(database, "calibration_rollups", 3600);
	count(database, "calibration_rollups", DAY_S);
	check(database_script(database, "COMMIT", &detail), &detail);
}

static int finish(const char *dsn)
{
	char examples[sizeof examples_sql + 64];
	const char *const statements[] = {
		finish_sql,
		"INSERT INTO calibration_segments SELECT DISTINCT application, model, prompt_version FROM "
		"calibration_rollups WHERE width_s = 86400",
		examples,
		"VACUUM (ANALYZE) calibration_buckets, calibration_rollups, calibration_totals, "
		"calibration_segments, calibration_examples",
	};
	PGconn *connection = PQconnectdb(dsn);
	bool done = true;
	snprintf(examples, sizeof examples, examples_sql, (long long)END_S - EXAMPLES_DAYS * DAY_S,
		 (long long)END_S);
	for (size_t i = 0; done && i < sizeof statements / sizeof *statements; i++) {
		PGresult *result = PQexec(connection, statements[i]);
		done = PQresultStatus(result) == PGRES_COMMAND_OK;
		if (!done)
			fprintf(stderr, "calibration: %s\n", PQerrorMessage(connection));
		PQclear(result);
	}
	PQfinish(connection);
	return !done;
}

static int fill(struct database *database, const char *dsn, long long events, long segments)
{
	struct err_detail detail = { "" };
	int64_t slice_s = DAYS * DAY_S / SLICES, until_s = END_S / DAY_S * DAY_S + DAY_S;
	check(calibration_schema_migrate(database, &detail), &detail);
	check(database_script(database, prepare_sql, &detail), &detail);
	for (int64_t i = SLICES; i > 0; i--)
		fill_slice(database, until_s - i * slice_s, until_s - (i - 1) * slice_s, events / SLICES,
			   segments);
	return finish(dsn);
}

static long backend_pid(struct database *database)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct err_detail detail = { "" };
	check(database_query(database, "SELECT pg_backend_pid()", 0, NULL, &result, &detail), &detail);
	return strtol(PQgetvalue(result, 0, 0), NULL, 10);
}

/* Milliseconds that the server's process has used, by the scheduler's clock: stat counts ticks of the timer.
 */
static double cpu_ms(long pid)
{
	char path[64];
	unsigned long long used_ns = 0;
	snprintf(path, sizeof path, "/proc/%ld/schedstat", pid);
	FILE *file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &used_ns) != 1)
		fprintf(stderr, "calibration: %s cannot be read\n", path);
	if (file)
		fclose(file);
	return (double)used_ns / 1e6;
}

static int64_t report(struct database *database, int64_t window_s, const char *application)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct calibration_query query = { .window_s = window_s,
						 .bucket_s = 60,
						 .until_ms = END_MS,
						 .min_cases = 20,
						 .application = application,
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
static double measure(struct database *database, const char *name, int64_t window_s, const char *application)
{
	struct samples samples = { 0 };
	int64_t cases = window_s ? report(database, window_s, application) : 0;
	long pid = backend_pid(database);
	double before_ms = cpu_ms(pid);
	int64_t own_ns = cpu_ns();
	for (int i = 0; i < ROUNDS; i++) {
		int64_t start_ns = now_ns();
		if (window_s)
			report(database, window_s, application);
		else
			backend_pid(database);
		samples_add(&samples, now_ns() - start_ns);
	}
	double server_ms = (cpu_ms(pid) - before_ms) / ROUNDS;
	printf("%-20s %10lld cases: median %8.2f ms; CPU of the server %7.2f ms, of the client %.2f ms\n",
	       name, (long long)cases, samples_summary(&samples).median_us / 1e3, server_ms,
	       (double)(cpu_ns() - own_ns) / 1e6 / ROUNDS);
	free(samples.ns);
	return server_ms;
}

/* Those of eleven days are the longest that are read by hours. */
static const struct {
	const char *name;
	int64_t days;
	const char *application;
} windows[] = {
	{ "day", 1, NULL },
	{ "week", 7, NULL },
	{ "11 days", 11, NULL },
	{ "30 days", 30, NULL },
	{ "90 days", 90, NULL },
	{ "everything", DAYS, NULL },
	{ "week of app 0", 7, "app 0" },
	{ "everything of app 0", DAYS, "app 0" },
};

/* Tests have less memory. */
static int start_server(struct test_postgres *server)
{
	int status = test_postgres_start(server, NULL);
	if (status)
		return status;
	PGconn *connection = PQconnectdb(server->socket_dsn);
	PQclear(PQexec(connection, "ALTER SYSTEM SET shared_buffers = '128MB'"));
	PQfinish(connection);
	return test_postgres_do(server, "restart");
}

/* Whether one needs too much. */
static int measure_all(struct database *database)
{
	struct err_detail detail = { "" };
	int status = 0;
	/* parallel workers would do a part of the work elsewhere */
	check(database_script(database, "SET max_parallel_workers_per_gather = 0", &detail), &detail);
	measure(database, "trivial", 0, NULL);
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		status |= measure(database, windows[i].name, windows[i].days * DAY_S,
				  windows[i].application) > MAX_MS;
	return status;
}

int main(int argc, char **argv)
{
	struct test_postgres server;
	struct err_detail detail = { "" };
	int numbers = argc > 1 && strchr(argv[1], '=') ? 2 : 1;
	bool filled = numbers == 2 && argc == 2;
	long long events = argc > numbers ? strtoll(argv[numbers], NULL, 10) : 10000000;
	long segments = argc > numbers + 1 ? strtol(argv[numbers + 1], NULL, 10) : 12;
	int status = numbers == 2 ? 0 : start_server(&server);
	if (status)
		return status;
	const char *dsn = numbers == 2 ? argv[1] : server.socket_dsn;
	_cleanup_(database_cleanup) struct database *database = database_new(dsn, NULL);
	check(database_connect(database, NULL, &detail), &detail);
	if (!filled)
		status = fill(database, dsn, events, segments);
	if (!status)
		status = measure_all(database);
	if (numbers == 1)
		test_postgres_do(&server, "stop");
	return status;
}
