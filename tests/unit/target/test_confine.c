/*
 * What a worker process cannot do any more: each forbidden thing is tried in a child that was confined by the
 * worker's own function, and live workers of all engines are looked at from outside.
 */
#include "tests/unit/target/mariadb_server.h" // first: it calls what banned.h forbids

#include "target/engine.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/cases.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#define SECRET "credential-of-somebody-else"

static struct test_postgres server;
static struct test_sqlite file;
static bool has_server, has_shop;
static char secret_path[] = "/tmp/assayd-test-secret-XXXXXX", server_dsn[320], shop_dsn[320];
static int leaked_fd;

static int set_up(void **state)
{
	(void)state;
	int fd = mkstemp(secret_path);
	assert_int_equal(write(fd, SECRET, sizeof SECRET), sizeof SECRET);
	leaked_fd = fd; /* nobody has marked it to be closed */
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	setenv("CREDENTIALS_DIRECTORY", "/run/credentials/assayd.service", 1);
	setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
	setenv("JOURNAL_STREAM", "8:1", 1);
	test_sqlite_make(&file, "CREATE TABLE sales (id INTEGER); INSERT INTO sales VALUES (1), (2)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(leaked_fd);
	unlink(secret_path);
	return test_sqlite_remove(&file);
}

/* --- what is forbidden --- */

static long run_program(void)
{
	char *const arguments[] = { (char[]){ "true" }, NULL }, *const none[] = { NULL };
	return execve("/bin/true", arguments, none);
}

static long run_program_by_descriptor(void)
{
	char *const arguments[] = { (char[]){ "true" }, NULL }, *const none[] = { NULL };
	return syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments, none, 0);
}

static long trace_parent(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static long read_parent(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { &leaked_fd, 1 };
	return process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static long write_parent(void)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { &leaked_fd, 1 };
	return process_vm_writev(getppid(), &here, 1, &there, 1, 0);
}

static long open_of_parent(const char *name, int flags)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", getppid(), name);
	return open(path, flags | O_CLOEXEC);
}

static long open_memory_of_parent(void)
{
	return open_of_parent("mem", O_RDONLY);
}

static long open_environment_of_parent(void)
{
	return open_of_parent("environ", O_RDONLY);
}

static long signal_parent(void)
{
	return kill(getppid(), SIGCONT);
}

static long limit_parent(void)
{
	struct rlimit limit = { 1000, 1000 };
	return prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL);
}

static long mount_something(void)
{
	return mount("none", "/mnt", "tmpfs", 0, NULL);
}

static long leave_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long fork_into_namespace(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
}

static long open_credential(void)
{
	return open(secret_path, O_RDONLY | O_CLOEXEC);
}

static long open_shadow(void)
{
	return open("/etc/shadow", O_RDONLY | O_CLOEXEC);
}

static long make_file(void)
{
	return open("/tmp/assayd-test-confined", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long write_database(void)
{
	return open(file.path, O_RDWR | O_CLOEXEC);
}

static long remove_file(void)
{
	return unlink(secret_path);
}

static long change_mode(void)
{
	return chmod(secret_path, 0666);
}

static long talk_to_kernel(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static long listen_to_packets(void)
{
	return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static long listen_for_others(void)
{
	return syscall(SYS_listen, WORKER_FD, 1);
}

static long write_code(void)
{
	void *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? -1 : 0;
}

static long turn_into_code(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mprotect(memory, 4096, PROT_READ | PROT_EXEC);
}

static long use_ring(void)
{
	char parameters[120] = { 0 };
	return syscall(SYS_io_uring_setup, 1, parameters);
}

static long load_program(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static const struct {
	const char *what;
	long (*try)(void);
} forbidden[] = {
	{ "execve", run_program },
	{ "execveat", run_program_by_descriptor },
	{ "ptrace", trace_parent },
	{ "process_vm_readv", read_parent },
	{ "process_vm_writev", write_parent },
	{ "/proc/PID/mem", open_memory_of_parent },
	{ "/proc/PID/environ", open_environment_of_parent },
	{ "kill", signal_parent },
	{ "prlimit", limit_parent },
	{ "mount", mount_something },
	{ "unshare", leave_namespace },
	{ "clone into a namespace", fork_into_namespace },
	{ "a credential", open_credential },
	{ "/etc/shadow", open_shadow },
	{ "a new file", make_file },
	{ "writing the database", write_database },
	{ "unlink", remove_file },
	{ "chmod", change_mode },
	{ "AF_NETLINK", talk_to_kernel },
	{ "AF_PACKET", listen_to_packets },
	{ "listen", listen_for_others },
	{ "memory to write and run", write_code },
	{ "written memory to run", turn_into_code },
	{ "io_uring", use_ring },
	{ "bpf", load_program },
};

#define FORBIDDEN_COUNT (sizeof forbidden / sizeof forbidden[0])

/* --- of engines without a network --- */

static long make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid;
}

static long open_library(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

/* --- what is still possible --- */

static long read_database(void)
{
	return open(file.path, O_RDONLY | O_CLOEXEC);
}

static long read_hosts(void)
{
	return open("/etc/hosts", O_RDONLY | O_CLOEXEC);
}

static long resolve_name(void)
{
	struct addrinfo *found = NULL;
	int code = getaddrinfo("localhost", "5432", NULL, &found);
	if (code == 0)
		freeaddrinfo(found);
	errno = EHOSTUNREACH;
	return code == 0 ? 0 : -1;
}

/* Nobody listens: to be refused by the machine is as good as an answer. */
static long connect_to(in_port_t number)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(number),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long result = connect(fd, (struct sockaddr *)&address, sizeof address);
	return result < 0 && errno == ECONNREFUSED ? 0 : result;
}

static long connect_to_named_port(void)
{
	return connect_to(1);
}

static long connect_to_other_port(void)
{
	return connect_to(2);
}

struct trial {
	const char *what;
	long (*try)(void);
	bool possible;
};

/* In a process that is confined as a worker of the engine; ends it. */
static _Noreturn void try_confined(const struct target_settings *target, const struct trial *trials,
				   size_t count)
{
	struct err_detail detail = { "" };
	struct worker_settings settings = { .target = *target };
	struct confinement needs = { .arena = arena_new() };
	int out = dup(STDERR_FILENO), failed = 0;
	dup2(out, WORKER_FD);
	confine_start(WORKER_FD);
	engine_of(target->engine)->needs(&settings, &needs);
	if (confine_to(&needs, &detail)) {
		dprintf(STDERR_FILENO, "%s\n", detail.message);
		_exit(100);
	}
	for (size_t i = 0; i < count; i++) {
		errno = 0;
		bool done = trials[i].try() >= 0;
		if (done != trials[i].possible)
			dprintf(STDERR_FILENO, "%s: %s\n", trials[i].what, done ? "works" : strerror(errno));
		failed += done != trials[i].possible;
	}
	_exit(failed);
}

static void expect_trials(const struct target_settings *target, const struct trial *trials, size_t count)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		try_confined(target, trials, count);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("a confined process ended with status %#x", (unsigned)status);
}

static void expect_forbidden(const struct target_settings *target)
{
	struct trial trials[FORBIDDEN_COUNT];
	for (size_t i = 0; i < FORBIDDEN_COUNT; i++)
		trials[i] = (struct trial){ forbidden[i].what, forbidden[i].try, false };
	expect_trials(target, trials, FORBIDDEN_COUNT);
}

static bool kernel_can(void)
{
	struct err_detail detail = { "" };
	bool can = WORKERS_CAN_BE_CONFINED && confine_probe(&detail) == ERR_OK;
	if (!can)
		print_message("skipped: %s\n", detail.message);
	return can;
}

/* Without it, everything of the list works here, for root at least: the list is no list of what never does.
 */
static void a_worker_can_do_nothing_that_is_forbidden(void **state)
{
	static const char dsn[] = "host=localhost port=1 dbname=x";
	struct target_settings engines[] = { sqlite_settings("shop", file.path),
					     postgresql_settings("sales", dsn),
					     postgresql_settings("stock", dsn),
					     postgresql_settings("notes", "mongodb://localhost:1/x") };
	engines[2].engine = TARGET_MARIADB;
	engines[3].engine = TARGET_MONGODB;
	(void)state;
	if (!kernel_can())
		skip();
	for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
		expect_forbidden(&engines[i]);
}

static void a_worker_of_a_file_has_the_file_alone(void **state)
{
	static const struct trial trials[] = {
		{ "the database", read_database, true },      { "a socket", make_socket, false },
		{ "a unix socket", make_unix_socket, false }, { "a process", make_process, false },
		{ "/etc/passwd", open_library, false },
	};
	const struct target_settings settings = sqlite_settings("shop", file.path);
	(void)state;
	if (!kernel_can())
		skip();
	expect_trials(&settings, trials, sizeof trials / sizeof trials[0]);
}

static void a_worker_of_a_server_has_what_connecting_needs(void **state)
{
	static const struct trial trials[] = {
		{ "/etc/hosts", read_hosts, true },
		{ "a name", resolve_name, true },
		{ "a socket", make_socket, true },
		{ "a unix socket", make_unix_socket, true },
		{ "a process", make_process, true },
		{ "the target's port", connect_to_named_port, true },
		{ "another port", connect_to_other_port, false },
		{ "a database in a file", read_database, false },
	};
	size_t count = sizeof trials / sizeof trials[0];
	const struct target_settings settings =
		postgresql_settings("sales", "host=localhost port=1 dbname=x");
	(void)state;
	if (!kernel_can() || confine_landlock_version() < 4)
		skip();
	expect_trials(&settings, trials, count);
}

/* What a certificate or a password file is called in a service file counts as if it stood in the dsn. */
static void what_a_service_names_is_needed(void **state)
{
	char path[200];
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct confinement needs = { .arena = arena };
	struct worker_settings settings = { .target = postgresql_settings("sales", "service=sales") };
	bool found = false;
	(void)state;
	snprintf(path, sizeof path, "%s/services", file.directory);
	FILE *services = fopen(path, "w");
	fprintf(services, "[sales]\nhost=db\nport=6432\nsslrootcert=/srv/authority.pem\n");
	fclose(services);
	setenv("PGSERVICEFILE", path, 1);
	engine_of(TARGET_POSTGRESQL)->needs(&settings, &needs);
	unsetenv("PGSERVICEFILE");
	for (size_t i = 0; i < needs.paths_count; i++)
		found |= strcmp(needs.paths[i].path, "/srv/authority.pem") == 0;
	assert_true(found);
	assert_int_equal(needs.ports[0], 6432);
}

/* --- live ones --- */

static void read_of(pid_t pid, const char *name, char *ret_content, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, ret_content, size - 1);
	ret_content[got > 0 ? got : 0] = '\0';
	close(fd);
}

/* The newest process of that name and parent; 0: none. */
static pid_t find_process(const char *name, pid_t parent)
{
	pid_t found = 0;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(processes));) {
		char content[512], its_name[32] = "";
		int its_parent = 0;
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		read_of(pid, "stat", content, sizeof content);
		if (sscanf(content, "%*d (%31[^)]) %*c %d", its_name, &its_parent) == 2 &&
		    its_parent == parent && strcmp(its_name, name) == 0)
			found = pid;
	}
	closedir(processes);
	return found;
}

static void expect_status(pid_t pid, const char *line)
{
	char content[8192];
	read_of(pid, "status", content, sizeof content);
	if (!strstr(content, line))
		fail_msg("process %d has not \"%s\": %s", pid, line, content);
}

/* Only root may look into a process that nobody may look into. */
static void expect_nothing_inherited(pid_t pid)
{
	static const char *const of_daemon[] = { "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM" };
	char content[8192], path[64], link[300];
	if (geteuid() != 0)
		return;
	read_of(pid, "environ", content, sizeof content);
	for (size_t at = 0; content[at]; at += strlen(content + at) + 1)
		for (size_t i = 0; i < sizeof of_daemon / sizeof of_daemon[0]; i++)
			assert_int_not_equal(strncmp(content + at, of_daemon[i], strlen(of_daemon[i])), 0);
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *descriptors = opendir(path);
	assert_non_null(descriptors);
	for (struct dirent *entry; (entry = readdir(descriptors));) {
		snprintf(path, sizeof path, "/proc/%d/fd/%.20s", pid, entry->d_name);
		ssize_t len = readlink(path, link, sizeof link - 1);
		link[len > 0 ? len : 0] = '\0';
		long number = strtol(entry->d_name, NULL, 10);
		if (entry->d_name[0] != '.' && number < WORKER_FD)
			assert_string_equal(link, "/dev/null");
		assert_null(strstr(link, secret_path));
	}
	closedir(descriptors);
}

static void check_live(const struct target_settings *settings, bool guarded)
{
	struct targets *targets = start_targets(settings, 1, NULL);
	check_match(targets, settings->name, "SELECT count(*) FROM sales", "SELECT count(id) FROM sales");
	pid_t worker = find_process("assayd-target", getpid());
	pid_t query_canceller = find_process("assayd-cancel", worker);
	assert_true(worker > 0);
	assert_int_equal(query_canceller > 0, guarded);
	for (size_t i = 0; i < (guarded ? 2 : 1); i++) {
		expect_status(i ? query_canceller : worker, "Seccomp:\t2\n");
		expect_status(i ? query_canceller : worker, "NoNewPrivs:\t1\n");
	}
	expect_nothing_inherited(worker);
	targets_stop(targets);
}

static void live_workers_are_confined(void **state)
{
	const struct target_settings of_file = sqlite_settings("shop", file.path);
	(void)state;
	if (!kernel_can())
		skip();
	check_live(&of_file, false);
	if (has_server) {
		PGconn *connection = PQconnectdb(server.socket_dsn);
		PQclear(PQexec(connection, "CREATE TABLE sales AS SELECT 1 AS id"));
		PQfinish(connection);
		snprintf(server_dsn, sizeof server_dsn,
			 "host=localhost port=%s user=postgres dbname=postgres", server.port);
		struct target_settings settings = postgresql_settings("sales", server_dsn);
		check_live(&settings, true);
		settings.dsn = server.socket_dsn;
		check_live(&settings, true);
	}
	if (has_shop) {
		struct target_settings settings = mariadb_settings("reader", shop_dsn, sizeof shop_dsn);
		check_live(&settings, true);
	}
}

/* The last one to close such a file takes its log with it; the folder lets us make it anew. */
static void a_file_with_a_log_that_nobody_has_open_is_read(void **state)
{
	struct test_sqlite logged;
	(void)state;
	test_sqlite_make(&logged, "PRAGMA journal_mode = WAL; CREATE TABLE sales (id INTEGER);"
				  "INSERT INTO sales VALUES (1)");
	const struct target_settings settings = sqlite_settings("shop", logged.path);
	struct targets *targets = start_targets(&settings, 1, NULL);
	check_match(targets, "shop", "SELECT count(*) FROM sales", "SELECT 1");
	test_sqlite_run(logged.path, "INSERT INTO sales VALUES (2)");
	check_match(targets, "shop", "SELECT count(*) FROM sales", "SELECT 2");
	targets_stop(targets);
	assert_int_equal(test_sqlite_remove(&logged), 0);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.confine", &has_server);
	if (status != 0)
		return status;
	has_shop = start_shop("unit.target.confine in MariaDB") == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_can_do_nothing_that_is_forbidden),
		cmocka_unit_test(a_worker_of_a_file_has_the_file_alone),
		cmocka_unit_test(a_worker_of_a_server_has_what_connecting_needs),
		cmocka_unit_test(what_a_service_names_is_needed),
		cmocka_unit_test(live_workers_are_confined),
		cmocka_unit_test(a_file_with_a_log_that_nobody_has_open_is_read),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_shop)
		stop_shop();
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
