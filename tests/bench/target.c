/*
 * How much of a database's throughput is left when queries are validated: pairs of queries of about 5 ms each
 * through a target of four connections (worker processes, snapshot, limits, reset, comparison; no truth
 * cache), against pgbench running the same two queries in a transaction of the same kind on four connections.
 *
 *     target [ROUND_SECONDS [ROUNDS]]
 *
 * The ratio of the CPU time of all processes, server and clients, for one pair is printed beside the ratio of
 * rates: it does not depend on what else the machine does.
 *
 * Rounds of both take turns on one private server, each pair giving one ratio: what else the machine does
 * hits both alike. Prints the medians; exit status 1 when the ratio's is below LEAST_RATIO, 77 without
 * PostgreSQL 15 or pgbench.
 */
#include "target/target.h"
#include "common/clock.h"
#include "target/worker_process.h"
#include "tests/harness/servers/postgres.h"

#include <dirent.h>
#include <errno.h>
#include <libpq-fe.h>
#include <pthread.h>

#define CONNECTIONS 4
#define IN_FLIGHT   8
#define LEAST_RATIO 0.80
#define MAX_ROUNDS  99
#define PGBENCH	    "/usr/lib/postgresql/15/bin/pgbench"

static const char set_up_sql[] =
	"CREATE TABLE sales (id int PRIMARY KEY, region int NOT NULL, amount numeric(10, 2) NOT NULL, "
	"sold_on date);"
	"INSERT INTO sales SELECT i, i % 100, (i % 977) * 1.25, DATE '2024-01-01' + i % 365"
	" FROM generate_series(1, 15000) AS i;"
	"ANALYZE sales; CREATE ROLE reader LOGIN; GRANT SELECT ON sales TO reader;";
static const char generated_sql[] =
	"SELECT s.region, count(*) AS n, sum(s.amount) AS total FROM sales AS s"
	" WHERE s.sold_on >= DATE '2024-01-15' GROUP BY s.region ORDER BY s.region";
static const char truth_sql[] = "SELECT region, count(*) AS n, sum(amount) AS total FROM sales"
				" WHERE NOT sold_on < DATE '2024-01-15' GROUP BY region ORDER BY 1";

struct load;

struct slot {
	struct load *load;
	struct target_call call;
	struct validation_truth truth;
	struct sql_order_key key;
};

struct load {
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	struct targets *targets;
	int64_t stop_us;
	size_t running;
	size_t validated;
	size_t wrong;
	struct slot slots[IN_FLIGHT];
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "target: %s: %s\n", what, why);
	exit(1);
}

static void start_call(struct slot *slot);

static void call_done(struct target_call *call, void *context)
{
	struct slot *slot = context;
	struct load *load = slot->load;
	bool right = call->result.status == VALIDATION_COMPARED && call->result.score >= 1.0;
	arena_free(TAKE_PTR(call->arena));
	pthread_mutex_lock(&load->mutex);
	load->validated++;
	load->wrong += !right;
	bool more = clock_monotonic_us() < load->stop_us;
	if (!more && --load->running == 0)
		pthread_cond_signal(&load->ended);
	pthread_mutex_unlock(&load->mutex);
	if (more)
		start_call(slot);
}

static void start_call(struct slot *slot)
{
	slot->key = (struct sql_order_key){ 0 };
	slot->truth = (struct validation_truth){
		.sql = str_from(truth_sql), .ordered = true, .order_keys = &slot->key, .order_keys_count = 1
	};
	slot->call = (struct target_call){
		.arena = arena_new(),
		.target = "sales",
		.generated_sql = str_from(generated_sql),
		.truths = &slot->truth,
		.truths_count = 1,
		.done = call_done,
		.context = slot,
	};
	targets_submit(slot->load->targets, &slot->call);
}

/* Validations a second. */
static double run_validations(struct targets *targets, double seconds)
{
	struct load load = { .targets = targets, .running = IN_FLIGHT };
	pthread_mutex_init(&load.mutex, NULL);
	pthread_cond_init(&load.ended, NULL);
	int64_t start_us = clock_monotonic_us();
	load.stop_us = start_us + (int64_t)(seconds * 1e6);
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		load.slots[i].load = &load;
		start_call(&load.slots[i]);
	}
	pthread_mutex_lock(&load.mutex);
	while (load.running)
		pthread_cond_wait(&load.ended, &load.mutex);
	pthread_mutex_unlock(&load.mutex);
	if (load.wrong)
		fail("validations", "some were not a full match");
	return (double)load.validated / ((double)(clock_monotonic_us() - start_us) / 1e6);
}

/* --- CPU time --- */

struct process_times {
	long parent;
	double own_s, children_s;
};

static bool read_times(const char *pid, struct process_times *ret_times)
{
	char path[64], line[1024] = "";
	unsigned long user, system;
	long children_user, children_system;
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	const char *behind = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!behind || sscanf(behind, ") %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
			      &ret_times->parent, &user, &system, &children_user, &children_system) != 5)
		return false;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	ret_times->own_s = (double)(user + system) / ticks;
	ret_times->children_s = (double)(children_user + children_system) / ticks;
	return true;
}

/* Seconds of this process, the server, and the children of both, alive or gone. */
static double cpu_s(long server_pid)
{
	double sum_s = 0;
	struct process_times times;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; processes && (entry = readdir(processes));) {
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || !read_times(entry->d_name, &times))
			continue;
		if (pid == server_pid || pid == getpid())
			sum_s += times.own_s + times.children_s;
		else if (times.parent == server_pid || times.parent == getpid())
			sum_s += times.own_s;
	}
	closedir(processes);
	return sum_s;
}

static long postmaster_pid(const struct test_postgres *server)
{
	char path[192], line[32] = "";
	snprintf(path, sizeof path, "%s/data/postmaster.pid", server->dir);
	FILE *file = fopen(path, "r");
	if (!file || !fgets(line, sizeof line, file))
		fail(path, "cannot be read");
	fclose(file);
	return strtol(line, NULL, 10);
}

/* Transactions a second, without connecting. */
static double run_pgbench(const struct test_postgres *server, const char *script, double seconds)
{
	char command[640], line[256];
	double rate = 0;
	snprintf(command, sizeof command,
		 PGBENCH
		 " -n -M extended -f %s -c %d -j 2 -T %.0f -h %s -p %s -U reader postgres 2>/dev/null",
		 script, CONNECTIONS, seconds, server->dir, server->port);
	FILE *pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof line, pipe))
		if (sscanf(line, "tps = %lf", &rate) == 1 && strstr(line, "including"))
			rate = 0;
	if (!pipe || pclose(pipe) != 0 || rate <= 0)
		fail("pgbench", "no figure");
	return rate;
}

static void write_script(const char *path)
{
	FILE *file = fopen(path, "w");
	if (!file)
		fail(path, strerror(errno));
	fprintf(file, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n%s;\n%s;\nCOMMIT;\n", truth_sql,
		generated_sql);
	fclose(file);
}

/* Milliseconds of one query on an idle server. */
static double set_up(const struct test_postgres *server)
{
	PGconn *connection = PQconnectdb(server->socket_dsn);
	PGresult *result = PQexec(connection, set_up_sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail("setting up", PQerrorMessage(connection));
	PQclear(result);
	int64_t start_us = clock_monotonic_us();
	for (int i = 0; i < 20; i++)
		PQclear(PQexec(connection, truth_sql));
	double ms = (double)(clock_monotonic_us() - start_us) / 20e3;
	PQfinish(connection);
	return ms;
}

static struct targets *start_targets(const char *dsn)
{
	const struct target_settings settings = {
		.name = "sales",
		.engine = TARGET_POSTGRESQL,
		.dsn = dsn,
		.connections = CONNECTIONS,
		.statement_timeout_ms = 10000,
		.lock_timeout_ms = 1000,
		.max_rows = 10000,
		.max_result_bytes = 64 << 20,
		.worker_memory_bytes = (int64_t)512 << 20,
		.catalog_ttl_s = 3600,
	};
	const struct targets_options options = { &settings, 1, NULL, 100 };
	struct err_detail detail = { "" };
	struct targets *targets = NULL;
	if (targets_start(&options, &targets, &detail))
		fail("targets", detail.message);
	targets_wait_catalogs(targets, 30000);
	return targets;
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, by_size);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int compare_rates(const struct test_postgres *server, double seconds, size_t rounds)
{
	double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratios[MAX_ROUNDS];
	double our_cpu_ms[MAX_ROUNDS], their_cpu_ms[MAX_ROUNDS];
	char dsn[320], script[160];
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server->dir, server->port);
	snprintf(script, sizeof script, "/tmp/assayd-bench-target-%ld.sql", (long)getpid());
	long postmaster = postmaster_pid(server);
	write_script(script);
	printf("one query alone: %.2f ms\n", set_up(server));
	struct targets *targets = start_targets(dsn);
	run_validations(targets, 1);
	for (size_t i = 0; i < rounds; i++) {
		double start_s = cpu_s(postmaster);
		theirs[i] = run_pgbench(server, script, seconds);
		double between_s = cpu_s(postmaster);
		int64_t start_us = clock_monotonic_us();
		ours[i] = run_validations(targets, seconds);
		double taken_s = (double)(clock_monotonic_us() - start_us) / 1e6; /* the last ones end late */
		ratios[i] = ours[i] / theirs[i];
		their_cpu_ms[i] = (between_s - start_s) / (theirs[i] * seconds) * 1000;
		our_cpu_ms[i] = (cpu_s(postmaster) - between_s) / (ours[i] * taken_s) * 1000;
		printf("round %zu: pgbench %.1f/s, validations %.1f/s, ratio %.3f\n", i + 1, theirs[i],
		       ours[i], ratios[i]);
	}
	targets_stop(targets);
	unlink(script);
	double ratio = median(ratios, rounds);
	printf("medians: pgbench %.1f/s, validations %.1f/s, ratio %.3f (least: %.2f)\n",
	       median(theirs, rounds), median(ours, rounds), ratio, LEAST_RATIO);
	double their_ms = median(their_cpu_ms, rounds), our_ms = median(our_cpu_ms, rounds);
	printf("CPU of a pair: pgbench %.2f ms, validations %.2f ms, ratio %.3f\n", their_ms, our_ms,
	       their_ms / our_ms);
	return ratio >= LEAST_RATIO ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct test_postgres server;
	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		return target_worker_main(WORKER_FD);
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 15;
	if (seconds < 1 || rounds < 1 || rounds > MAX_ROUNDS)
		fail("usage", "target [ROUND_SECONDS [ROUNDS]]");
	if (access(PGBENCH, X_OK) != 0)
		return 77;
	int status = test_postgres_start(&server, NULL);
	if (status != 0)
		return status;
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = compare_rates(&server, seconds, (size_t)rounds);
	test_postgres_do(&server, "stop");
	return status;
}
