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
#define HEARD_WITHIN_US	  100000
#define CANCEL_AGAIN_MS	  200
#define IDLE_SLACK_MS	  60000
#define WIPE_EVERY_US	  100000 /* while one transaction follows the other */
#define DRAIN_MS	  200	 /* between one cancel and the next */
#define DRAIN_ATTEMPTS	  10
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
		if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
			err = postgresql_session_fail(session, ERR_TARGET_LOST, PQresultErrorMessage(result),
						      detail);
		PQclear(result);
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

bool postgresql_session_cancel(struct postgresql_session *session)
{
	int64_t start_us = clock_monotonic_us();
	int ends[2];
	PGcancel *cancel = PQgetCancel(session->connection);
	if (!cancel || pipe2(ends, O_CLOEXEC) != 0) {
		PQfreeCancel(cancel);
		session->abandoned = true;
		return false;
	}
	pid_t pid = fork();
	if (pid == 0)
		send_cancel(cancel);
	close(ends[1]); /* the other one is open as long as the process lives */
	if (pid < 0 || !await_end(pid, ends[0]))
		session->abandoned = true;
	close(ends[0]);
	PQfreeCancel(cancel);
	return !session->abandoned && clock_monotonic_us() - start_us < HEARD_WITHIN_US;
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

/* In the canceller's process. Between two statements of a pipeline the server is deaf to a cancel for a
 * moment: a second one reaches the query that runs then. */
static void cancel_for_the_dead(void *pointer)
{
	char ignored[256];
	const struct timespec pause = { .tv_nsec = CANCEL_AGAIN_MS * 1000000L };
	PGcancel *cancel = PQgetCancel(postgresql_session_of(pointer)->connection);
	if (!cancel)
		return;
	PQcancel(cancel, ignored, sizeof ignored);
	nanosleep(&pause, NULL);
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

/* standard_conforming_strings: the safety verdict was made for texts where a backslash is nothing special.
 * From datestyle on the settings make the text forms of values the same whatever the role's own are. `scope`:
 * SET, or SET LOCAL. */
static str_t settings_sql(const struct postgresql_session *session, const char *scope, char *buffer,
			  size_t size)
{
	struct {
		const char *name;
		long long value;
	} limits[] = {
		{ "statement_timeout", session->statement_timeout_ms },
		{ "lock_timeout", session->settings->target.lock_timeout_ms },
		{ "idle_in_transaction_session_timeout", session->statement_timeout_ms + IDLE_SLACK_MS },
	};
	static const char *const forms[] = {
		"standard_conforming_strings = on", "datestyle = 'ISO'",
		"intervalstyle = 'postgres'",	    "bytea_output = 'hex'",
		"extra_float_digits = 1",
	};
	size_t len = 0;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		len += (size_t)snprintf(buffer + len, size - len, "%s %s = %lld;", scope, limits[i].name,
					limits[i].value);
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		len += (size_t)snprintf(buffer + len, size - len, "%s %s;", scope, forms[i]);
	return (str_t){ buffer, len };
}

#define SETTINGS_SIZE 640 /* of all of them */

/* What is set for the session holds in every transaction: nothing that one changes outlives its ROLLBACK. */
static err_t prepare_session(struct postgresql_session *session, struct err_detail *detail)
{
	char settings[SETTINGS_SIZE], sql[SETTINGS_SIZE + 128];
	err_t err = look_for_pooler(session, detail);
	if (err || session->pooled)
		return err;
	settings_sql(session, "SET", settings, sizeof settings);
	snprintf(sql, sizeof sql,
		 "SET default_transaction_read_only = on;"
		 "SET default_transaction_isolation = 'repeatable read';%s",
		 settings);
	return postgresql_session_execute(session, sql, detail);
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

#define BEGIN_TRANSACTION "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
#define SAVEPOINT	  "SAVEPOINT query"
#define TO_SAVEPOINT	  "ROLLBACK TO SAVEPOINT query"

static err_t begin_now(struct postgresql_session *session, const char *more, struct err_detail *detail)
{
	char settings[SETTINGS_SIZE], sql[SETTINGS_SIZE + 256];
	settings_sql(session, "SET LOCAL", settings, sizeof settings);
	snprintf(sql, sizeof sql, BEGIN_TRANSACTION ";%s%s" SAVEPOINT, settings, more);
	session->transaction = PG_TRANSACTION_OPEN;
	return postgresql_session_execute(session, sql, detail);
}

/* Nothing is asked of a session that may not have been wiped. */
static err_t await_wiping(struct postgresql_session *session, struct err_detail *detail)
{
	if (!session->wiping)
		return ERR_OK;
	session->wiping = false;
	err_t err = take_results(session, answer_deadline_us(session), detail);
	session->abandoned |= err != ERR_OK;
	return err;
}

err_t postgresql_session_begin_own(struct postgresql_session *session, struct err_detail *detail)
{
	postgresql_session_rest(session);
	err_t err = await_wiping(session, detail);
	return err ? err : begin_now(session, "SET LOCAL jit = off;", detail);
}

err_t postgresql_session_begin(void *pointer, struct err_detail *detail)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	err_t err = await_wiping(session, detail);
	if (!err && session->pooled)
		return begin_now(session, "", detail);
	if (!err)
		session->transaction = PG_TRANSACTION_ASKED_FOR;
	return err;
}

static bool send_statement(PGconn *connection, const char *sql)
{
	return PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 0);
}

/* What stands around every query is prepared: parsing it each time costs the server as much as a small query.
 */
static const struct {
	const char *name, *sql;
} ours[] = {
	{ "assayd begin", "BEGIN" },
	{ "assayd savepoint", SAVEPOINT },
	{ "assayd to savepoint", TO_SAVEPOINT },
	{ "assayd rollback", "ROLLBACK" },
};

enum { OUR_BEGIN, OUR_SAVEPOINT, OUR_TO_SAVEPOINT, OUR_ROLLBACK, OURS };

/* Behind a pooler the next transaction may have another backend, which knows no names. */
static bool send_ours(const struct postgresql_session *session, int which)
{
	return session->pooled
		       ? send_statement(session->connection, ours[which].sql)
		       : PQsendQueryPrepared(session->connection, ours[which].name, 0, NULL, NULL, NULL, 0);
}

/* Where one of them fails the session is not used again. */
static bool prepare_ours(struct postgresql_session *session, size_t *count)
{
	if (session->pooled || session->prepared)
		return true;
	for (int i = 0; i < OURS; i++)
		if (!PQsendPrepare(session->connection, ours[i].name, ours[i].sql, 0, NULL))
			return false;
	*count += OURS;
	session->prepared = true;
	return true;
}

/* TO_SAVEPOINT fails where the transaction is not as it was left, and undoes what the last query has set.
 * BEGIN names no modes: the session's are these already, and where it sets some the server looks through all
 * of its settings at the end of every savepoint. */
static bool send_before(struct postgresql_session *session, size_t *ret_count)
{
	bool first = session->transaction == PG_TRANSACTION_ASKED_FOR;
	bool ends_another = session->left_open;
	session->transaction = PG_TRANSACTION_OPEN;
	session->left_open = false;
	*ret_count = (first ? 2u : 1u) + (ends_another ? 1u : 0u);
	if (!prepare_ours(session, ret_count) || (ends_another && !send_ours(session, OUR_ROLLBACK)))
		return false;
	return first ? send_ours(session, OUR_BEGIN) && send_ours(session, OUR_SAVEPOINT)
		     : send_ours(session, OUR_TO_SAVEPOINT);
}

/* Without the flush the server would keep what the first query returns until the second one has run. */
static bool send_next(struct postgresql_session *session, str_t next)
{
	PGconn *connection = session->connection;
	return !str_present(next) ||
	       (PQsendFlushRequest(connection) && send_ours(session, OUR_TO_SAVEPOINT) &&
		send_statement(connection, next.ptr));
}

err_t postgresql_session_send(struct postgresql_session *session, str_t sql, str_t next, size_t *ret_before,
			      struct err_detail *detail)
{
	PGconn *connection = session->connection;
	if (PQenterPipelineMode(connection) && send_before(session, ret_before) &&
	    send_statement(connection, sql.ptr) && send_next(session, next) && PQpipelineSync(connection))
		return ERR_OK;
	session->abandoned = true;
	return postgresql_session_fail_lost(session, detail);
}

/* Reads on towards the SYNC. False: it has not come in time, or never will. */
static bool read_off(struct postgresql_session *session, int64_t deadline_us)
{
	ExecStatusType status = PGRES_EMPTY_QUERY;
	while (status != PGRES_PIPELINE_SYNC) {
		if (PQstatus(session->connection) != CONNECTION_OK ||
		    !postgresql_session_wait(session, deadline_us))
			return false;
		PGresult *result = PQgetResult(session->connection);
		if (result)
			status = PQresultStatus(result);
		else
			PQsetSingleRowMode(session->connection); /* of the next statement */
		PQclear(result);
	}
	return true;
}

/* Between two statements of a pipeline the server is deaf to a cancel for a moment, so that one may not do.
 */
static bool cancel_and_read_off(struct postgresql_session *session)
{
	for (int i = 0; i < DRAIN_ATTEMPTS && postgresql_session_usable(session); i++) {
		postgresql_session_cancel(session);
		if (read_off(session, clock_monotonic_us() + DRAIN_MS * 1000))
			return true;
	}
	return false;
}

void postgresql_session_drain(struct postgresql_session *session, bool skipped)
{
	session->ahead = (struct postgresql_ahead){ 0 };
	if (skipped ? read_off(session, answer_deadline_us(session)) : cancel_and_read_off(session))
		postgresql_session_sent(session);
	else
		session->abandoned = true;
}

void postgresql_session_sent(struct postgresql_session *session)
{
	if (!PQexitPipelineMode(session->connection)) {
		session->abandoned = true;
		return;
	}
	PGTransactionStatusType status = PQtransactionStatus(session->connection);
	session->abandoned |= status != PQTRANS_INTRANS && status != PQTRANS_INERROR;
}

/* What a query may leave behind a rolled-back transaction: locks, prepared statements. Ours go, too. */
#define WIPE "SELECT pg_catalog.pg_advisory_unlock_all(); DEALLOCATE ALL"

/* Nobody waits for it: whoever uses the session next reads the answer first. */
static void roll_back_and_wipe(struct postgresql_session *session)
{
	session->left_open = session->prepared = false;
	session->wiped_us = clock_monotonic_us();
	if (PQsendQuery(session->connection, "ROLLBACK; " WIPE))
		session->wiping = true;
	else
		session->abandoned = true;
}

/* Behind a pooler the backend is ours until the ROLLBACK, which is waited for. Otherwise the ROLLBACK goes
 * with what follows at once, or see rest. */
void postgresql_session_end(void *pointer)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	bool begun = session->transaction == PG_TRANSACTION_OPEN;
	session->transaction = PG_TRANSACTION_NONE;
	if (str_present(session->ahead.sql) && postgresql_session_usable(session))
		postgresql_session_drain(session, false);
	if (!begun || !postgresql_session_usable(session))
		return;
	/* a session that cannot be wiped is not used again */
	if (session->pooled)
		session->abandoned |= postgresql_session_execute(session, TO_SAVEPOINT "; " WIPE "; ROLLBACK",
								 NULL) != ERR_OK;
	else if (clock_monotonic_us() - session->wiped_us >= WIPE_EVERY_US)
		roll_back_and_wipe(session);
	else
		session->left_open = true;
}

void postgresql_session_rest(void *pointer)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	if (session->left_open && postgresql_session_usable(session))
		roll_back_and_wipe(session);
}
