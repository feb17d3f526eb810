#include "target/postgresql_session.h"

#include "common/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define SESSION_MAGIC	  0x50475353u
#define CONNECT_TIMEOUT_S "5"
#define ANSWER_MS	  5000 /* for our own statements, besides the lock timeout */
#define CANCEL_S	  2
#define IDLE_SLACK_MS	  60000
#define USUAL_PORT	  "5432"

struct postgresql_session *postgresql_session_of(void *pointer)
{
	struct postgresql_session *session = pointer;
	if (session->magic != SESSION_MAGIC)
		abort();
	return session;
}

/* --- messages --- */

void postgresql_session_redact(const struct postgresql_session *session, char *message)
{
	str_t password = session->settings->password;
	if (password.len == 0)
		return;
	for (char *at = message; (at = strstr(at, password.ptr)); at += password.len)
		memset(at, '*', password.len);
}

err_t postgresql_session_fail(const struct postgresql_session *session, err_t err, const char *text,
			      struct err_detail *detail)
{
	struct err_detail own;
	int len = (int)strcspn(text, "\n");
	if (len == 0)
		text = err_text(err), len = (int)strlen(text);
	snprintf(own.message, sizeof own.message, "%.*s", len, text);
	postgresql_session_redact(session, own.message);
	return err_fail(detail, err, "%s", own.message);
}

err_t postgresql_session_fail_lost(const struct postgresql_session *session, struct err_detail *detail)
{
	return postgresql_session_fail(session, ERR_TARGET_LOST, PQerrorMessage(session->connection), detail);
}

/* --- waiting --- */

bool postgresql_session_wait(const struct postgresql_session *session, int64_t deadline_us)
{
	PGconn *connection = session->connection;
	while (PQisBusy(connection)) {
		int64_t left_us = deadline_us - clock_monotonic_us();
		struct pollfd socket = { .fd = PQsocket(connection), .events = POLLIN };
		if (left_us <= 0)
			return false;
		if (poll(&socket, 1, (int)(left_us / 1000 + 1)) > 0 && !PQconsumeInput(connection))
			return true; /* PQgetResult tells what happened */
	}
	return true;
}

/* Reads results until there is none for the statement. A failed one is an error. */
static err_t take_results(struct postgresql_session *session, int64_t deadline_us, struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (;;) {
		if (!postgresql_session_wait(session, deadline_us)) {
			session->abandoned = true;
			return err_fail(detail, ERR_TARGET_LOST, "the server does not answer");
		}
		PGresult *result = PQgetResult(session->connection);
		if (!result)
			return err;
		ExecStatusType status = PQresultStatus(result);
		if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC)
			err = postgresql_session_fail(session, ERR_TARGET_LOST, PQresultErrorMessage(result),
						      detail);
		PQclear(result);
		if (status == PGRES_PIPELINE_SYNC)
			return err;
	}
}

static int64_t answer_deadline_us(const struct postgresql_session *session)
{
	return clock_monotonic_us() + (session->settings->target.lock_timeout_ms + ANSWER_MS) * 1000;
}

err_t postgresql_session_execute(struct postgresql_session *session, const char *sql,
				 struct err_detail *detail)
{
	if (!PQsendQuery(session->connection, sql))
		return postgresql_session_fail_lost(session, detail);
	return take_results(session, answer_deadline_us(session), detail);
}

/* Runs statements that must not stand in one transaction, on one way to the server and back. */
static err_t execute_each(struct postgresql_session *session, const char *const *statements, size_t count)
{
	PGconn *connection = session->connection;
	bool sent = PQenterPipelineMode(connection);
	for (size_t i = 0; sent && i < count; i++)
		sent = PQsendQueryParams(connection, statements[i], 0, NULL, NULL, NULL, NULL, 0) &&
		       PQpipelineSync(connection);
	if (!sent)
		return ERR_TARGET_LOST;
	int64_t deadline_us = answer_deadline_us(session);
	err_t err = ERR_OK;
	/* of each statement: its result, nothing, and the sync */
	for (size_t i = 0; !err && i < 2 * count; i++)
		err = take_results(session, deadline_us, NULL);
	if (!err && !PQexitPipelineMode(connection))
		err = ERR_TARGET_LOST;
	return err;
}

/* The request waits for the server without a limit, so that it needs a process that ends. */
static void send_cancel(PGcancel *cancel)
{
	char ignored[256];
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigaction(SIGALRM, &standard, NULL);
	alarm(CANCEL_S);
	_exit(PQcancel(cancel, ignored, sizeof ignored) ? 0 : 1);
}

/* Whether the process has done its work; its alarm ends it in any case, since no worker process may send a
 * signal. */
static bool await_end(pid_t pid, int end_fd)
{
	struct pollfd closed = { .fd = end_fd, .events = POLLIN };
	int status = 0;
	bool ended = poll(&closed, 1, (CANCEL_S + 1) * 1000) > 0;
	return waitpid(pid, &status, 0) == pid && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void postgresql_session_cancel(struct postgresql_session *session)
{
	int ends[2];
	PGcancel *cancel = PQgetCancel(session->connection);
	if (!cancel || pipe2(ends, O_CLOEXEC) != 0) {
		PQfreeCancel(cancel);
		session->abandoned = true;
		return;
	}
	pid_t pid = fork();
	if (pid == 0)
		send_cancel(cancel);
	close(ends[1]); /* the other one is open as long as the process lives */
	if (pid < 0 || !await_end(pid, ends[0]))
		session->abandoned = true;
	close(ends[0]);
	PQfreeCancel(cancel);
}

/* --- connection --- */

static void ignore_notice(void *context, const PGresult *result)
{
	(void)context;
	(void)result;
}

void postgresql_session_close(void *pointer)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	query_canceller_dismiss(&session->query_canceller);
	PQfinish(session->connection);
	session->magic = 0;
	free(session);
}

bool postgresql_session_usable(const void *pointer)
{
	const struct postgresql_session *session = pointer;
	return !session->abandoned && PQstatus(session->connection) == CONNECTION_OK;
}

/* A transaction pooler gives every client a number of its own for the backend. What is set in a session
 * behind one would stay with a backend that others use next. */
static err_t look_for_pooler(struct postgresql_session *session, struct err_detail *detail)
{
	if (!PQsendQuery(session->connection, "SELECT pg_catalog.pg_backend_pid()"))
		return postgresql_session_fail_lost(session, detail);
	if (!postgresql_session_wait(session, answer_deadline_us(session)))
		return err_fail(detail, ERR_TARGET_UNAVAILABLE, "the server does not answer");
	PGresult *result = PQgetResult(session->connection);
	err_t err = ERR_OK;
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		err = postgresql_session_fail(session, ERR_TARGET_UNAVAILABLE, PQresultErrorMessage(result),
					      detail);
	else
		session->pooled =
			strtol(PQgetvalue(result, 0, 0), NULL, 10) != PQbackendPID(session->connection);
	PQclear(result);
	return err ? err : take_results(session, answer_deadline_us(session), detail);
}

/* In the canceller's process. */
static void cancel_for_the_dead(void *pointer)
{
	char ignored[256];
	PGcancel *cancel = PQgetCancel(postgresql_session_of(pointer)->connection);
	if (cancel)
		PQcancel(cancel, ignored, sizeof ignored);
}

/* --- what it needs --- */

static const char *value_in(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *option = options; option && option->keyword; option++)
		if (strcmp(option->keyword, keyword) == 0 && option->val && option->val[0])
			return option->val;
	return NULL;
}

/* A list of them, one for each host. */
static void add_ports(struct confinement *needs, const char *list)
{
	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		confine_add_port(needs, strtoul(at, NULL, 10));
}

static void add_options(struct confinement *needs, const PQconninfoOption *given,
			const PQconninfoOption *defaults)
{
	static const char *const files[] = { "sslrootcert", "sslcert",	 "sslkey",
					     "sslcrl",	    "sslcrldir", "passfile" };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const char *path = value_in(given, files[i]);
		confine_add(needs, path ? path : value_in(defaults, files[i]), false);
	}
	const char *ports = value_in(given, "port"), *hosts = value_in(given, "host");
	hosts = hosts ? hosts : value_in(defaults, "host");
	add_ports(needs, value_in(defaults, "port") ? value_in(defaults, "port") : USUAL_PORT);
	add_ports(needs, ports ? ports : "");
	needs->abstract_sockets = hosts && strchr(hosts, '@');
}

static void add_file_in(struct confinement *needs, const char *folder, const char *name)
{
	if (folder && folder[0])
		confine_add(needs, arena_printf(needs->arena, "%s/%s", folder, name).ptr, false);
}

/* A service that the connection string names says more, in a file; the library reads it for the defaults. */
void postgresql_session_needs(const struct worker_settings *settings, struct confinement *needs)
{
	PQconninfoOption *given = PQconninfoParse(settings->target.dsn, NULL);
	const char *service = value_in(given, "service");
	if (service)
		setenv("PGSERVICE", service, 1);
	PQconninfoOption *defaults = PQconndefaults();
	unsetenv("PGSERVICE");
	needs->network = true;
	add_options(needs, given, defaults);
	confine_add_home(needs, ".postgresql");
	confine_add_home(needs, ".pgpass");
	confine_add_home(needs, ".pg_service.conf");
	confine_add(needs, getenv("PGPASSFILE"), false);
	confine_add(needs, getenv("PGSERVICEFILE"), false);
	add_file_in(needs, getenv("PGSYSCONFDIR"), "pg_service.conf");
	confine_add(needs, "/etc/postgresql-common/pg_service.conf", false);
	PQconninfoFree(defaults);
	PQconninfoFree(given);
}

#define READ_ONLY_SESSION "SET default_transaction_read_only = on"

static err_t prepare_session(struct postgresql_session *session, struct err_detail *detail)
{
	err_t err = look_for_pooler(session, detail);
	if (!err && !session->pooled)
		err = postgresql_session_execute(session, READ_ONLY_SESSION, detail);
	return err;
}

err_t postgresql_session_open(const struct worker_settings *settings, void **ret_session,
			      struct err_detail *detail)
{
	/* what stands behind the connection string overrides it */
	const char *const keywords[] = { "dbname",	     "password",	"connect_timeout",
					 "application_name", "client_encoding", NULL };
	const char *const values[] = {
		settings->target.dsn, settings->password.ptr, CONNECT_TIMEOUT_S, "assayd", "UTF8", NULL
	};
	struct postgresql_session *session = calloc(1, sizeof *session);
	if (!session)
		abort();
	session->magic = SESSION_MAGIC;
	session->settings = settings;
	session->statement_timeout_ms = settings->target.statement_timeout_ms;
	session->connection = PQconnectdbParams(keywords, values, 1);
	err_t err = ERR_OK;
	if (PQstatus(session->connection) != CONNECTION_OK)
		err = postgresql_session_fail(session, ERR_TARGET_UNAVAILABLE,
					      PQerrorMessage(session->connection), detail);
	PQsetNoticeReceiver(session->connection, ignore_notice, NULL);
	if (!err)
		err = prepare_session(session, detail);
	if (err) {
		postgresql_session_close(session);
		return err;
	}
	query_canceller_start(&session->query_canceller, cancel_for_the_dead, session);
	*ret_session = session;
	return err;
}

/* --- transaction --- */

/* standard_conforming_strings: the safety verdict was made for texts where a backslash is nothing special.
 * The other settings make the text forms of values the same whatever the role's own settings are. The SELECT
 * takes the snapshot. */
err_t postgresql_session_begin(void *pointer, struct err_detail *detail)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	const struct target_settings *target = &session->settings->target;
	char sql[640];
	snprintf(sql, sizeof sql,
		 "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;"
		 "SET LOCAL statement_timeout = %lld; SET LOCAL lock_timeout = %lld;"
		 "SET LOCAL idle_in_transaction_session_timeout = %lld;"
		 "SET LOCAL standard_conforming_strings = on; SET LOCAL datestyle = 'ISO';"
		 "SET LOCAL intervalstyle = 'postgres'; SET LOCAL bytea_output = 'hex';"
		 "SET LOCAL extra_float_digits = 1; SELECT 1; SAVEPOINT " PG_SAVEPOINT,
		 (long long)session->statement_timeout_ms, (long long)target->lock_timeout_ms,
		 (long long)session->statement_timeout_ms + IDLE_SLACK_MS);
	return postgresql_session_execute(session, sql, detail);
}

/* What a query may leave behind a rolled-back transaction: locks, prepared statements. The backend is ours
 * until the ROLLBACK. */
static err_t wipe_in_transaction(struct postgresql_session *session)
{
	return postgresql_session_execute(
		session,
		"ROLLBACK TO SAVEPOINT " PG_SAVEPOINT
		"; SELECT pg_catalog.pg_advisory_unlock_all(); DEALLOCATE ALL; ROLLBACK",
		NULL);
}

static err_t wipe_session(struct postgresql_session *session)
{
	static const char *const statements[] = { "ROLLBACK", "DISCARD ALL", READ_ONLY_SESSION };
	return execute_each(session, statements, sizeof statements / sizeof statements[0]);
}

void postgresql_session_end(void *pointer)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	if (!postgresql_session_usable(session))
		return;
	err_t err = session->pooled ? wipe_in_transaction(session) : wipe_session(session);
	if (err) /* a session that cannot be wiped is not used again */
		session->abandoned = true;
}
