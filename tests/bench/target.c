/*
 * How much of a database's throughput is left when queries are validated: pairs of queries through a target
 * of four connections (worker processes, snapshot, limits, reset, comparison; no truth cache), against
 * pgbench running the same two queries in a transaction of the same kind on four connections.
 *
 *     target [--small] [ROUND_SECONDS [ROUNDS]]
 *
 * A query takes about 5 ms; with --small it finds one row by its key, so that the transaction itself is what
 * costs. pgbench sets nothing within its transactions, and uses that protocol which is the faster one for it:
 * the simple one with --small, else the extended one. Its pipelines, which no validation can use before the
 * outcome of a query is known, are left out.
 *
 * The ratio of the CPU time of all processes, server and clients, for one pair is printed beside the ratio of
 * rates: it does not depend on what else the machine does.
 *
 * Rounds of both take turns on one private server, each pair giving one ratio: what else the machine does
 * hits both alike. Prints the medians; exit status 1 when the ratio's is below the least, 77 without
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
#define MAX_ROUNDS  99
#define PGBENCH	    "/usr/lib/postgresql/15/bin/pgbench"

struct workload {
	const char *set_up, *generated, *truth;
	bool ordered;
	const char *protocol; /* of pgbench: the one that is faster */
	double least_ratio;
};

static const struct workload medium = {
	.set_up = "CREATE TABLE sales (id int PRIMARY KEY, region int NOT NULL, amount numeric(10, 2) NOT "
		  "NULL, "
		  "sold_on date);"
		  "INSERT INTO sales SELECT i, i % 100, (i % 977) * 1.25, DATE '2024-01-01' + i % 365"
		  " FROM generate_series(1, 15000) AS i;"
		  "ANALYZE sales; CREATE ROLE reader LOGIN; GRANT SELECT ON sales TO reader;",
	.generated = "SELECT s.region, count(*) AS n, sum(s.amount) AS total FROM sales AS s"
		     " WHERE s.sold_on >= DATE '2024-01-15' GROUP BY s.region ORDER BY s.region",
	.truth = "SELECT region, count(*) AS n, sum(amount) AS total FROM sales"
		 " WHERE NOT sold_on < DATE '2024-01-15' GROUP BY region ORDER BY 1",
	.ordered = true,
	.protocol = "extended",
	.least_ratio = 0.80,
};

static const struct workload small = {
	.set_up = "CREATE TABLE staff (id int PRIMARY KEY, name text NOT NULL, pay numeric(10, 2) NOT NULL);"
		  "INSERT INTO staff SELECT i, 'name ' || i, i * 1.25 FROM generate_series(1, 200) AS i;"
		  "ANALYZE staff; CREATE ROLE reader LOGIN; GRANT SELECT ON staff TO reader;",
	.generated = "SELECT s.name, s.pay FROM staff AS s WHERE s.id = 42",
	.truth = "SELECT name, pay FROM staff WHERE id = 42",
	.protocol = "simple",
	.least_ratio = 0.75,
};

struct load;

struct slot {
	struct load *load;
	const struct workload *work;
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
		.sql = str_from(slot->work->truth),
		.ordered = slot->work->ordered,
		.order_keys = &slot->key,
		.order_keys_count = slot->work->ordered,
	};
	slot->call = (struct target_call){
		.arena = arena_new(),
		.target = "sales",
		.generated_sql = str_from(slot->work->generated),
		.truths = &slot->truth,
		.truths_count = 1,
		.done = call_done,
		.context = slot,
	};
	targets_submit(slot->load->targets, &slot->call);
}

/* Validations a second. */
static double run_validations(struct targets *targets, const struct workload *work, double seconds)
{
	struct load load = { .targets = targets, .running = IN_FLIGHT };
	pthread_mutex_init(&load.mutex, NULL);
	pthread_cond_init(&load.ended, NULL);
	int64_t start_us = clock_monotonic_us();
	load.stop_us = start_us + (int64_t)(seconds * 1e6);
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		load.slots[i].load = &load;
		load.slots[i].work = work;
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

/* Seconds of processes, alive or gone. */
struct cpu_times {
	double server_s, clients_s, own_s; /* of the server, of this process's children, of this process */
};

static struct cpu_times cpu_times(long server_pid)
{
	struct cpu_times sums = { 0 };
	struct process_times times;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; processes && (entry = readdir(processes));) {
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || !read_times(entry->d_name, &times))
			continue;
		if (pid == server_pid) {
			sums.server_s += times.own_s + times.children_s;
		} else if (pid == getpid()) {
			sums.own_s += times.own_s;
			sums.clients_s += times.children_s;
		} else if (times.parent == server_pid) {
			sums.server_s += times.own_s;
		} else if (times.parent == getpid()) {
			sums.clients_s += times.own_s;
		}
	}
	closedir(processes);
	return sums;
}

/* Of one pair of queries. */
static struct cpu_times cpu_of_pair(const struct cpu_times *from, const struct cpu_times *until, double pairs)
{
	return (struct cpu_times){ (until->server_s - from->server_s) / pairs,
				   (until->clients_s - from->clients_s) / pairs,
				   (until->own_s - from->own_s) / pairs };
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
static double run_pgbench(const struct test_postgres *server, const char *protocol, const char *script,
			  double seconds)
{
	char command[640], line[256];
	double rate = 0;
	snprintf(command, sizeof command,
		 PGBENCH " -n -M %s -f %s -c %d -j %d -T %.0f -h %s -p %s -U reader postgres 2>/dev/null",
		 protocol, script, CONNECTIONS, CONNECTIONS, seconds, server->dir, server->port);
	FILE *pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof line, pipe))
		if (sscanf(line, "tps = %lf", &rate) == 1 && strstr(line, "including"))
			rate = 0;
	if (!pipe || pclose(pipe) != 0 || rate <= 0)
		fail("pgbench", "no figure");
	return rate;
}

static void write_script(const char *path, const struct workload *work)
{
	FILE *file = fopen(path, "w");
	if (!file)
		fail(path, strerror(errno));
	fprintf(file, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n%s;\n%s;\nCOMMIT;\n", work->truth,
		work->generated);
	fclose(file);
}

/* Milliseconds of one query on an idle server. */
static double set_up(const struct test_postgres *server, const struct workload *work)
{
	PGconn *connection = PQconnectdb(server->socket_dsn);
	PGresult *result = PQexec(connection, work->set_up);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail("setting up", PQerrorMessage(connection));
	PQclear(result);
	int64_t start_us = clock_monotonic_us();
	for (int i = 0; i < 20; i++)
		PQclear(PQexec(connection, work->truth));
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
		.sample_documents = 1000,
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

static void print_cpu(const char *who, const char *client, const struct cpu_times *pair)
{
	printf("CPU of a pair, %s: %.3f ms = server %.3f, %s %.3f, this process %.3f\n", who,
	       (pair->server_s + pair->clients_s + pair->own_s) * 1000, pair->server_s * 1000, client,
	       pair->clients_s * 1000, pair->own_s * 1000);
}

static int compare_rates(const struct test_postgres *server, const struct workload *work, double seconds,
			 size_t rounds)
{
	double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratios[MAX_ROUNDS], cpu_ratios[MAX_ROUNDS];
	char dsn[320], script[160];
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server->dir, server->port);
	snprintf(script, sizeof script, "/tmp/assayd-bench-target-%ld.sql", (long)getpid());
	long postmaster = postmaster_pid(server);
	write_script(script, work);
	printf("one query alone: %.2f ms\n", set_up(server, work));
	struct targets *targets = start_targets(dsn);
	run_validations(targets, work, 1);
	for (size_t i = 0; i < rounds; i++) {
		struct cpu_times start = cpu_times(postmaster);
		theirs[i] = run_pgbench(server, work->protocol, script, seconds);
		struct cpu_times between = cpu_times(postmaster);
		int64_t start_us = clock_monotonic_us();
		ours[i] = run_validations(targets, work, seconds);
		double taken_s = (double)(clock_monotonic_us() - start_us) / 1e6; /* the last ones end late */
		struct cpu_times end = cpu_times(postmaster);
		struct cpu_times their_pair = cpu_of_pair(&start, &between, theirs[i] * seconds);
		struct cpu_times our_pair = cpu_of_pair(&between, &end, ours[i] * taken_s);
		ratios[i] = ours[i] / theirs[i];
		cpu_ratios[i] = (their_pair.server_s + their_pair.clients_s + their_pair.own_s) /
				(our_pair.server_s + our_pair.clients_s + our_pair.own_s);
		printf("round %zu: pgbench %.1f/s, validations %.1f/s, ratio %.3f, of CPU %.3f\n", i + 1,
		       theirs[i], ours[i], ratios[i], cpu_ratios[i]);
		print_cpu("pgbench", "pgbench", &their_pair);
		print_cpu("validations", "workers", &our_pair);
	}
	targets_stop(targets);
	unlink(script);
	double ratio = median(ratios, rounds);
	printf("medians: pgbench %.1f/s, validations %.1f/s, ratio %.3f (least: %.2f), of CPU %.3f\n",
	       median(theirs, rounds), median(ours, rounds), ratio, work->least_ratio,
	       median(cpu_ratios, rounds));
	return ratio >= work->least_ratio ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct test_postgres server;
	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		return target_worker_main(WORKER_FD);
	const struct workload *work = &medium;
	if (argc > 1 && strcmp(argv[1], "--small") == 0)
		work = &small, argc--, argv++;
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 15;
	if (seconds < 1 || rounds < 1 || rounds > MAX_ROUNDS)
		fail("usage", "target [--small] [ROUND_SECONDS [ROUNDS]]");
	if (access(PGBENCH, X_OK) != 0)
		return 77;
	int status = test_postgres_start(&server, NULL);
	if (status != 0)
		return status;
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = compare_rates(&server, work, seconds, (size_t)rounds);
	test_postgres_do(&server, "stop");
	return status;
}
