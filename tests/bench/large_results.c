/*
 * How long it takes to compare results of a million rows that are read in full, and how much memory the
 * worker process takes for it: columns permuted and renamed, rows shuffled, numbers within the tolerance,
 * rows that differ.
 *
 *     bench_large_results [ROWS]
 *
 * On a private PostgreSQL and on SQLite. Prints for each pair the verdict, the seconds, and the most memory
 * that the worker process ever had. Exit status 77 without PostgreSQL 15.
 */
#include "common/clock.h"
#include "target/target.h"
#include "target/worker_process.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"

#include <ctype.h>
#include <dirent.h>
#include <libpq-fe.h>
#include <semaphore.h>

#define ROWS_SQL "SELECT i AS n, i / 1000 AS g, 'name ' || i AS v, i / 7.0 AS f, i %% 2 AS b"

static const struct {
	const char *what, *generated, *truth;
	bool ordered;
} pairs[] = {
	{ "the same", "SELECT n, g, v, f, b FROM big", "SELECT n, g, v, f, b FROM big", false },
	{ "permuted, renamed, shuffled", "SELECT f AS z, v AS y, b AS x, n AS w, g AS u FROM big ORDER BY md",
	  "SELECT n, g, v, f, b FROM big", false },
	{ "within the tolerance, permuted, renamed, shuffled",
	  "SELECT f + 0.0000001 AS z, v AS y, b AS x, n AS w, g AS u FROM big ORDER BY md",
	  "SELECT n, g, v, f, b FROM big", false },
	{ "other values in a half of the rows",
	  "SELECT n, g, CASE WHEN b = 0 THEN 'x' ELSE v END AS v, f, b FROM big ORDER BY md",
	  "SELECT n, g, v, f, b FROM big", false },
	{ "ordered, shuffled within ties", "SELECT n, b, v FROM big ORDER BY b, md",
	  "SELECT n, b, v FROM big ORDER BY b", true },
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "large_results: %s: %s\n", what, why);
	exit(1);
}

static void fill_server(const struct test_postgres *server, long rows)
{
	char sql[512];
	snprintf(sql, sizeof sql,
		 "CREATE TABLE big AS SELECT *, hashint4(n) AS md FROM (" ROWS_SQL
		 " FROM generate_series(1, %ld) AS i) AS s; ANALYZE big; CREATE ROLE reader LOGIN;"
		 "GRANT SELECT ON big TO reader",
		 rows);
	PGconn *connection = PQconnectdb(server->socket_dsn);
	PGresult *result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail("table", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static void fill_file(struct test_sqlite *file, long rows)
{
	char sql[512];
	snprintf(sql, sizeof sql,
		 "CREATE TABLE big (n INTEGER, g INTEGER, v TEXT, f REAL, b INTEGER, md INTEGER);"
		 "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %ld)"
		 " INSERT INTO big SELECT *, n * 7919 %% 1000003 FROM (" ROWS_SQL " FROM s)",
		 rows);
	test_sqlite_make(file, sql);
}

/* The worker process, a child of this one: the most memory that it had, and its processor time. */
struct usage {
	double mib, seconds;
};

static bool read_usage(const char *pid, struct usage *ret_usage)
{
	char path[300], line[1024], *behind;
	long parent = 0, kib = 0;
	unsigned long user = 0, system = 0;
	bool is_worker = false;
	snprintf(path, sizeof path, "/proc/%s/status", pid);
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		is_worker |= strcmp(line, "Name:\tassayd-target\n") == 0;
		sscanf(line, "PPid: %ld", &parent);
		sscanf(line, "VmHWM: %ld", &kib);
	}
	if (file)
		fclose(file);
	if (!is_worker || parent != (long)getpid())
		return false;
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	file = fopen(path, "r");
	if (file && fgets(line, sizeof line, file) && (behind = strrchr(line, ')')))
		sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	if (file)
		fclose(file);
	*ret_usage =
		(struct usage){ (double)kib / 1024, (double)(user + system) / (double)sysconf(_SC_CLK_TCK) };
	return true;
}

static struct usage worker_usage(void)
{
	struct usage usage = { 0 };
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(processes));)
		if (isdigit((unsigned char)entry->d_name[0]) && read_usage(entry->d_name, &usage))
			break;
	closedir(processes);
	return usage;
}

static void call_done(struct target_call *call, void *context)
{
	(void)call;
	sem_post(context);
}

static void validate(const struct target_settings *settings, size_t pair)
{
	const struct targets_options options = { settings, 1, NULL, 1 };
	struct err_detail detail = { "" };
	struct targets *targets = NULL;
	sem_t done;
	if (targets_start(&options, &targets, &detail))
		fail("start", detail.message);
	targets_wait_catalogs(targets, 10000);
	sem_init(&done, 0, 0);
	const struct sql_order_key key = { .column = 1 };
	const struct validation_truth truth = {
		.sql = str_from(pairs[pair].truth),
		.ordered = pairs[pair].ordered,
		.order_keys = &key,
		.order_keys_count = pairs[pair].ordered,
	};
	struct target_call call = {
		.arena = arena_new(),
		.target = settings->name,
		.generated_sql = str_from(pairs[pair].generated),
		.truths = &truth,
		.truths_count = 1,
		.done = call_done,
		.context = &done,
	};
	targets_submit(targets, &call);
	while (sem_wait(&done) != 0)
		;
	const struct validation_result *result = &call.result;
	const struct usage usage = worker_usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%-10s  %-52s %-9s score %-5g %s  %6.2f s, %6.2f s of the worker's processor time, %6.1f MiB "
	       " " STR_FMT "\n",
	       settings->name, pairs[pair].what, target_validation_status_name(result->status), result->score,
	       result->truncated ? "estimated" : "proven   ", (double)call.duration_us / 1e6, usage.seconds,
	       usage.mib, STR_ARG(result->message));
	arena_free(call.arena);
	targets_stop(targets);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		return target_worker_main(WORKER_FD);
	long rows = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
	struct test_postgres server;
	struct test_sqlite file;
	char dsn[320];
	int status = test_postgres_start(&server, NULL);
	if (status != 0)
		return status;
	fill_server(&server, rows);
	fill_file(&file, rows);
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir, server.port);
	struct target_settings settings[] = {
		{ .name = "postgresql", .engine = TARGET_POSTGRESQL, .dsn = dsn },
		{ .name = "sqlite", .engine = TARGET_SQLITE, .path = file.path },
	};
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		settings[i].connections = 1;
		settings[i].statement_timeout_ms = 60000;
		settings[i].lock_timeout_ms = 1000;
		settings[i].max_rows = 10000;
		settings[i].max_result_bytes = 64 << 20;
		settings[i].stream_large_results = true;
		settings[i].worker_memory_bytes = (int64_t)512 << 20;
		settings[i].catalog_ttl_s = 3600;
		settings[i].sample_documents = 1000;
		for (size_t pair = 0; pair < sizeof pairs / sizeof pairs[0]; pair++)
			validate(&settings[i], pair);
	}
	test_postgres_do(&server, "stop");
	return test_sqlite_remove(&file);
}
