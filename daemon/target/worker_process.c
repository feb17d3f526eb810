#include "target/worker_process.h"

#include "address/environment.h"
#include "common/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WORKER_ATTEMPTS 2
#define RUNS_OF_TRUTH	7  /* as it is, with its sort keys, with its rows' ranks, uncut, twice for itself */
#define RUNS_IN_FULL	10 /* of a truth and the generated query: columns, rows, rows once more; of it twice */

/* What libraries' TLS, Kerberos and service files need, and nothing that could name another server or role.
 */
static const struct {
	const char *name;
	bool of_files; /* too: of engines without a server */
} kept_variables[] = {
	{ "HOME", false },	    { "KRB5CCNAME", false },   { "KRB5_CONFIG", false },
	{ "SSL_CERT_FILE", false }, { "SSL_CERT_DIR", false }, { "OPENSSL_CONF", false },
	{ "ASAN_OPTIONS", true },   { "UBSAN_OPTIONS", true }, { "TSAN_OPTIONS", true },
	{ "LSAN_OPTIONS", true },
};

#define KEPT_COUNT (sizeof kept_variables / sizeof kept_variables[0] + LIBPQ_VARIABLES_KEPT)

extern char **environ;

static bool is_kept(const char *variable, enum target_engine engine)
{
	if (environment_keeps(variable))
		return !target_engine_is_file(engine);
	for (size_t i = 0; i < sizeof kept_variables / sizeof kept_variables[0]; i++) {
		size_t len = strlen(kept_variables[i].name);
		if (strncmp(variable, kept_variables[i].name, len) == 0 && variable[len] == '=')
			return !target_engine_is_file(engine) || kept_variables[i].of_files;
	}
	return false;
}

/* libmongoc makes a file in shared memory when it is loaded, before anybody can say no in another way. */
static char no_shared_memory[] = "MONGOC_DISABLE_SHM=1";

static void clean_environment(enum target_engine engine, char *ret_environment[KEPT_COUNT + 2])
{
	size_t count = 0;
	ret_environment[count++] = no_shared_memory;
	for (char **variable = environ; *variable && count < KEPT_COUNT + 1; variable++)
		if (is_kept(*variable, engine))
			ret_environment[count++] = *variable;
	ret_environment[count] = NULL;
}

int64_t worker_budget_ms(const struct target_settings *target, size_t truths)
{
	int64_t of_truth = target->stream_large_results ? RUNS_OF_TRUTH + RUNS_IN_FULL : RUNS_OF_TRUTH;
	int64_t runs = 1 + of_truth * (int64_t)truths;
	return WORKER_ATTEMPTS * runs * target->statement_timeout_ms + WORKER_SLACK_MS;
}

size_t worker_truths_run(const struct validation_truth *truths, size_t count)
{
	size_t run = 0;
	for (size_t i = 0; i < count; i++)
		run += !truths[i].table;
	return run;
}

void worker_secret_free(struct buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->capacity);
	buf_free(buf);
}

static err_t read_password(const struct target_settings *target, char **ret_password,
			   struct err_detail *detail)
{
	struct err_detail reason = { "" };
	err_t err = secret_read_password(target->password_file, ret_password, &reason);
	return err ? err_fail(detail, err, "the password_file of target \"%s\" cannot be read: %s",
			      target->name, reason.message)
		   : ERR_OK;
}

err_t worker_first_message(const struct target_settings *target, struct buf *out, struct err_detail *detail)
{
	_cleanup_(secret_free) char *password = NULL;
	struct worker_settings settings = { .target = *target };
	if (target->password_file) {
		err_t err = read_password(target, &password, detail);
		if (err)
			return err;
		settings.password = str_from(password);
	}
	return message_put_settings(out, &settings);
}

/* Nothing is inherited but the socket. Sanitizers have something to say, though. */
static int prepare_descriptors(posix_spawn_file_actions_t *actions, int fd)
{
	int code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (int out = STDOUT_FILENO;
	     !code && out <= (WORKERS_CAN_BE_CONFINED ? STDERR_FILENO : STDOUT_FILENO); out++)
		code = posix_spawn_file_actions_addopen(actions, out, "/dev/null", O_WRONLY, 0);
	if (!code)
		code = posix_spawn_file_actions_adddup2(actions, fd, WORKER_FD);
	return code ? code : posix_spawn_file_actions_addclosefrom_np(actions, WORKER_FD + 1);
}

static int prepare_actions(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int fd)
{
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	int code = prepare_descriptors(actions, fd);
	code = code ? code : posix_spawnattr_setsigdefault(attributes, &all);
	code = code ? code : posix_spawnattr_setsigmask(attributes, &none);
	code = code ? code : posix_spawnattr_setpgroup(attributes, 0);
	code = code ? code
		    : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
								   POSIX_SPAWN_SETPGROUP);
	return code;
}

/* The process gets a group of its own: an interrupt typed at a terminal is for the supervisor alone. */
static int spawn(enum target_engine engine, int fd, pid_t *ret_pid)
{
	char name[] = "assayd", argument[] = WORKER_ARGUMENT;
	char *const arguments[] = { name, argument, NULL };
	char *environment[KEPT_COUNT + 2];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	clean_environment(engine, environment);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	int code = prepare_actions(&actions, &attributes, fd);
	if (code == 0)
		code = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

err_t worker_spawn(const struct target_settings *target, bool nonblocking, struct buf *ret_first,
		   pid_t *ret_pid, int *ret_fd, struct err_detail *detail)
{
	int pair[2];
	buf_reset(ret_first);
	err_t err = worker_first_message(target, ret_first, detail);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return err_fail(detail, ERR_OS, "no socket for a worker process: %s", strerror(errno));
	_cleanup_(cleanup_close) int ours = pair[0];
	_cleanup_(cleanup_close) int theirs = pair[1];
	if (nonblocking && fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
		return err_fail(detail, ERR_OS, "fcntl: %s", strerror(errno));
	int code = spawn(target->engine, theirs, ret_pid);
	if (code != 0)
		return err_fail(detail, ERR_OS, "a worker process cannot be started: %s", strerror(code));
	*ret_fd = TAKE_FD(ours);
	return ERR_OK;
}

void worker_kill(pid_t pid)
{
	kill(pid, SIGKILL);
}

bool worker_reap(pid_t pid, bool wait, int *ret_status)
{
	pid_t reaped;
	do
		reaped = waitpid(pid, ret_status, wait ? 0 : WNOHANG);
	while (reaped < 0 && errno == EINTR);
	if (reaped < 0)
		*ret_status = 0; /* somebody else has reaped it */
	return reaped != 0;
}
