/*
 * Whether one thread keeps a thousand calls in the air: a judge that answers after LATENCY_MS and may have
 * IN_FLIGHT calls at once allows IN_FLIGHT / LATENCY calls a second (Little's law). How many of them we make,
 * what CPU time the judge's thread spends on each, and how much memory the process has.
 *
 *     judge [--tls] [--latency MS] [--seconds S] [--in-flight N]
 *
 * Counts between the first answers and the last round, so that starting costs nothing. Over plain HTTP/1.1
 * the exit status is 1 below 95 % of what the law allows, above 150 µs a call, or from 100 MB on; over TLS
 * the figures are printed alone. 77 without the server's Python.
 */
#include "judge/judge.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PYTHON	    "/usr/bin/python3"
#define SERVER	    ASSAYD_SOURCE_DIR "/tests/bench/judge_server.py"
#define LEAST_SHARE 0.95
#define MAX_CPU_US  150.0
#define MAX_RSS_KB  (100 * 1000)
#define MAKE_TLS_PEM                                                                                         \
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "                 \
	"-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s.crt 2>/dev/null && "     \
	"cat %s.crt >> %s"

struct options {
	bool tls;
	int64_t latency_ms;
	int64_t seconds;
	unsigned in_flight;
};

struct server {
	pid_t pid;
	int stdin_fd;
	int port;
	char pem[64], certificate[80];
};

struct slot {
	struct load *load;
	struct judge_call call;
};

struct load {
	struct judge *judge;
	struct slot *slots;
	_Atomic uint64_t number; /* of the next question */
	_Atomic bool stopping;
	_Atomic size_t running;
	/* the judge thread's */
	uint64_t answered, failed;
	int64_t opens_us, closes_us;
	uint64_t counted;
	int64_t first_us, last_us, first_cpu_us, last_cpu_us;
};

static void fail(const char *what)
{
	fprintf(stderr, "judge: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_certificate(struct server *server)
{
	char command[640];
	snprintf(server->pem, sizeof server->pem, "/tmp/assayd-bench-XXXXXX");
	int fd = mkstemp(server->pem);
	if (fd < 0)
		fail(server->pem);
	close(fd);
	snprintf(server->certificate, sizeof server->certificate, "%s.crt", server->pem);
	snprintf(command, sizeof command, MAKE_TLS_PEM, server->pem, server->pem, server->pem, server->pem);
	if (system(command) != 0)
		fail("openssl");
}

static void start_server(struct server *server, const struct options *options)
{
	int to_server[2], from_server[2];
	char latency[24];
	snprintf(latency, sizeof latency, "%lld", (long long)options->latency_ms);
	*server = (struct server){ 0 };
	if (options->tls)
		make_certificate(server);
	char *arguments[] = { strdup(PYTHON), strdup(SERVER), latency, options->tls ? server->pem : NULL,
			      NULL };
	posix_spawn_file_actions_t actions;
	if (pipe2(to_server, O_CLOEXEC) != 0 || pipe2(from_server, O_CLOEXEC) != 0)
		fail("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to_server[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from_server[1], 1);
	errno = posix_spawn(&server->pid, arguments[0], &actions, NULL, arguments, environ);
	if (errno == ENOENT)
		exit(77);
	if (errno)
		fail(PYTHON);
	posix_spawn_file_actions_destroy(&actions);
	close(to_server[0]);
	close(from_server[1]);
	server->stdin_fd = to_server[1];
	_cleanup_(cleanup_fclose) FILE *output = fdopen(from_server[0], "r");
	if (fscanf(output, "%d", &server->port) != 1)
		fail(SERVER);
	free(arguments[0]);
	free(arguments[1]);
}

static void stop_server(struct server *server)
{
	close(server->stdin_fd);
	kill(server->pid, SIGKILL); /* its calls are answered */
	waitpid(server->pid, NULL, 0);
	if (server->pem[0]) {
		unlink(server->pem);
		unlink(server->certificate);
	}
}

static int64_t thread_cpu_us(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
	       usage.ru_stime.tv_usec;
}

static void ask(struct slot *slot);

/* On the judge's thread: its CPU time can be read here. */
static void answered(struct judge_call *call, void *context)
{
	struct slot *slot = context;
	struct load *load = slot->load;
	int64_t now_us = clock_monotonic_us();
	load->answered++;
	load->failed += call->verdict.error != ERR_OK;
	if (now_us >= load->opens_us && now_us < load->closes_us) {
		if (load->counted++ == 0) {
			load->first_us = now_us;
			load->first_cpu_us = thread_cpu_us();
		}
		load->last_us = now_us;
		load->last_cpu_us = thread_cpu_us();
	}
	arena_free(TAKE_PTR(call->arena));
	if (atomic_load(&load->stopping))
		atomic_fetch_sub(&load->running, 1);
	else
		ask(slot);
}

static void ask(struct slot *slot)
{
	struct arena *arena = arena_new();
	uint64_t number = atomic_fetch_add(&slot->load->number, 1);
	slot->call = (struct judge_call){
		.arena = arena,
		.kind = JUDGE_RELEVANCE,
		.question = arena_printf(arena, "Which %llu customers bought the most last year?",
					 (unsigned long long)number),
		.sql = arena_printf(
			arena,
			"SELECT c.id, c.name, sum(o.amount) AS total FROM customers AS c JOIN orders "
			"AS o ON o.customer_id = c.id WHERE o.placed_at >= date_trunc('year', now()) - "
			"interval '1 year' GROUP BY c.id, c.name ORDER BY total DESC LIMIT %llu",
			(unsigned long long)number),
		.dialect = "PostgreSQL",
		.done = answered,
		.context = slot,
	};
	judge_submit(slot->load->judge, &slot->call);
}

static void run_load(struct load *load, const struct options *options)
{
	int64_t start_us = clock_monotonic_us();
	load->opens_us = start_us + 3 * options->latency_ms * 1000; /* connected, and on an even pace */
	load->closes_us = load->opens_us + options->seconds * 1000000;
	load->slots = calloc(options->in_flight, sizeof *load->slots);
	atomic_store(&load->running, options->in_flight);
	for (unsigned i = 0; i < options->in_flight; i++) { /* evenly: bursts would be cheaper to serve */
		int64_t due_us = start_us + i * options->latency_ms * 1000 / options->in_flight;
		int64_t left_us = due_us - clock_monotonic_us();
		if (left_us > 0)
			usleep((useconds_t)left_us);
		load->slots[i].load = load;
		ask(&load->slots[i]);
	}
	usleep((useconds_t)(load->closes_us - clock_monotonic_us()));
	atomic_store(&load->stopping, true);
	while (atomic_load(&load->running) > 0)
		usleep(10000);
}

static long peak_rss_kb(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Whether the figures are good enough. */
static bool report(const struct load *load, const struct options *options)
{
	double allowed = options->in_flight * 1000.0 / (double)options->latency_ms;
	double rate = (double)(load->counted - 1) * 1e6 / (double)(load->last_us - load->first_us);
	double cpu_us = (double)(load->last_cpu_us - load->first_cpu_us) / (double)(load->counted - 1);
	long rss_kb = peak_rss_kb();
	printf("%s: %.1f calls/s, %.1f %% of the %.0f that %u in flight and %lld ms allow\n",
	       options->tls ? "HTTPS" : "HTTP", rate, 100 * rate / allowed, allowed, options->in_flight,
	       (long long)options->latency_ms);
	printf("%s: %.0f µs of CPU a call on the judge's thread; peak %.1f MB resident; %llu calls, %llu "
	       "failed\n",
	       options->tls ? "HTTPS" : "HTTP", cpu_us, (double)rss_kb * 1.024 / 1000,
	       (unsigned long long)load->answered, (unsigned long long)load->failed);
	return load->failed == 0 && (options->tls || (rate >= LEAST_SHARE * allowed && cpu_us <= MAX_CPU_US &&
						      rss_kb * 1024 < MAX_RSS_KB * 1000L));
}

static struct options read_options(int argc, char **argv)
{
	static const struct option long_options[] = { { "tls", no_argument, NULL, 't' },
						      { "latency", required_argument, NULL, 'l' },
						      { "seconds", required_argument, NULL, 's' },
						      { "in-flight", required_argument, NULL, 'n' },
						      { NULL, 0, NULL, 0 } };
	struct options options = { .latency_ms = 2000, .seconds = 20, .in_flight = 1024 };
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == 't')
			options.tls = true;
		else if (option == 'l')
			options.latency_ms = strtol(optarg, NULL, 10);
		else if (option == 's')
			options.seconds = strtol(optarg, NULL, 10);
		else if (option == 'n')
			options.in_flight = (unsigned)strtoul(optarg, NULL, 10);
		else
			exit(64);
	}
	return options;
}

int main(int argc, char **argv)
{
	const struct options options = read_options(argc, argv);
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	struct server server;
	start_server(&server, &options);
	char url[64];
	snprintf(url, sizeof url, "%s://127.0.0.1:%d/v1", options.tls ? "https" : "http", server.port);
	const struct judge_settings settings = {
		.provider = "openai",
		.base_url = url,
		.model = "bench",
		.ca_file = options.tls ? server.certificate : NULL,
		.timeout_ms = 30000,
		.wait_when_saturated = true,
		.max_in_flight = options.in_flight,
		.max_attempts = 4,
		.cache_ttl_s = 86400,
		.cache_bytes = 16 << 20,
	};
	struct load load = { 0 };
	struct err_detail detail = { "" };
	if (judge_start(&settings, 1, &load.judge, &detail) != ERR_OK)
		fail(detail.message);
	run_load(&load, &options);
	judge_stop(load.judge);
	stop_server(&server);
	free(load.slots);
	return report(&load, &options) ? 0 : 1;
}
