#include "database/database.h"

#include "address/libpq_dsn.h"
#include "address/server_hint.h"
#include "common/clock.h"
#include "common/secret.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

enum { CONNECT_TIMEOUT_MS = 10000, QUERY_TIMEOUT_MS = 20000 };

/* A wait looks so often whether it has been limited meanwhile. */
enum { LOOK_MS = 100 };

/* The server gives up before we do, so that a slow statement costs no connection. */
#define SESSION_SETTINGS                                                                                     \
	"SET statement_timeout = '15s'; SET lock_timeout = '10s'; SET TimeZone = 'UTC'; "                    \
	"SET idle_in_transaction_session_timeout = '60s'; SET client_encoding = 'UTF8'; "                    \
	"SET jit = off; SET work_mem = '64MB'; SET client_min_messages = 'warning'"

struct database {
	char *dsn;
	char *password_file;
	const char *application;
	const char *settings;	  /* how their names begin, or NULL */
	_Atomic int64_t until_us; /* no wait lasts longer */
	database_waits_fn *waits; /* or NULL */
	void *waits_context;
	PGconn *connection; /* or NULL */
};

static char *copy_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	if (text && !copy)
		abort();
	return copy;
}

struct database *database_new(const char *dsn, const char *password_file)
{
	struct database *database = calloc(1, sizeof *database);
	if (!database)
		abort();
	database->dsn = copy_text(dsn);
	database->password_file = copy_text(password_file);
	database->application = "assayd";
	atomic_store(&database->until_us, INT64_MAX);
	return database;
}

void database_limit_waits(struct database *database, int64_t until_us)
{
	atomic_store(&database->until_us, until_us);
}

void database_set_waits(struct database *database, database_waits_fn *waits, void *context)
{
	database->waits = waits;
	database->waits_context = context;
}

void database_set_application(struct database *database, const char *application)
{
	database->application = application;
}

void database_set_settings(struct database *database, const char *prefix)
{
	database->settings = prefix;
}

void database_disconnect(struct database *database)
{
	PQfinish(TAKE_PTR(database->connection));
}

PGconn *database_release(struct database *database)
{
	return TAKE_PTR(database->connection);
}

void database_free(struct database *database)
{
	if (!database)
		return;
	database_disconnect(database);
	free(database->dsn);
	free(database->password_file);
	free(database);
}

int database_version(const struct database *database)
{
	return database->connection ? PQserverVersion(database->connection) : 0;
}

/* Libpq's messages end with a line feed and can have several lines; the first says what is wrong. */
static err_t fail_with(struct err_detail *detail, err_t err, const char *message)
{
	return err_fail(detail, err, "%.*s", (int)strcspn(message, "\n"), message);
}

/* Puts the setting's name before what went wrong with it. */
static err_t name_setting(const struct database *database, const char *setting, err_t err,
			  struct err_detail *detail)
{
	if (!detail || !database->settings)
		return err;
	const struct err_detail reason = *detail;
	return err_fail(detail, err, "%s%s: %s", database->settings, setting, reason.message);
}

err_t database_check_settings(const char *dsn, const char *password_file, const char *prefix,
			      struct err_detail *detail)
{
	const struct database named = { .settings = prefix };
	_cleanup_(secret_free) char *password = NULL;
	err_t err = password_file ? secret_read_password(password_file, &password, detail) : ERR_OK;
	if (err)
		return name_setting(&named, "password_file", err, detail);
	err = libpq_dsn_check(dsn, detail);
	return err ? name_setting(&named, "dsn", err, detail) : ERR_OK;
}

/* Waits until the socket is ready for what libpq wants; false at the deadline. */
static bool wait_socket(const struct database *database, short events, int64_t deadline_us)
{
	struct pollfd descriptor = { PQsocket(database->connection), events, 0 };
	for (;;) {
		int64_t until_us = atomic_load(&database->until_us);
		int64_t left_us = (until_us < deadline_us ? until_us : deadline_us) - clock_monotonic_us();
		if (left_us <= 0 || descriptor.fd < 0)
			return false;
		int ready =
			poll(&descriptor, 1, left_us < LOOK_MS * 1000 ? (int)(left_us / 1000) + 1 : LOOK_MS);
		if (ready > 0 || (ready < 0 && errno != EINTR))
			return ready > 0;
		if (database->waits)
			database->waits(database->waits_context);
	}
}

static err_t finish_connect(const struct database *database, struct err_detail *detail)
{
	PGconn *connection = database->connection;
	int64_t deadline_us = clock_monotonic_us() + INT64_C(1000) * CONNECT_TIMEOUT_MS;
	if (PQstatus(connection) == CONNECTION_BAD)
		return fail_with(detail, ERR_DATABASE_UNAVAILABLE, PQerrorMessage(connection));
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	while (status != PGRES_POLLING_OK) {
		if (!wait_socket(database, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_us))
			return err_fail(detail, ERR_DATABASE_UNAVAILABLE,
					"PostgreSQL did not answer in time");
		status = PQconnectPoll(connection);
		if (status == PGRES_POLLING_FAILED)
			return fail_with(detail, ERR_DATABASE_UNAVAILABLE, PQerrorMessage(connection));
	}
	return ERR_OK;
}

/* Notices of the server would go to standard error. */
static void drop_notice(void *context, const PGresult *result)
{
	(void)context;
	(void)result;
}

static err_t add_hint(const struct database *database, err_t err, struct err_detail *detail)
{
	const struct err_detail reason = *detail;
	err_fail(detail, err, "%s%s", reason.message, server_hint(reason.message));
	return name_setting(database, "dsn", err, detail);
}

static err_t open_connection(struct database *database, struct err_detail *detail)
{
	_cleanup_(secret_free) char *password = NULL;
	if (database->password_file) {
		err_t err = secret_read_password(database->password_file, &password, detail);
		if (err)
			return name_setting(database, "password_file", err, detail);
	}
	const char *const keywords[] = { "dbname", "fallback_application_name", password ? "password" : NULL,
					 NULL };
	const char *const values[] = { database->dsn, database->application, password, NULL };
	database->connection = PQconnectStartParams(keywords, values, 1);
	if (!database->connection)
		abort();
	/* at once: a server that dies while we connect says so in a notice, too */
	PQsetNoticeReceiver(database->connection, drop_notice, NULL);
	err_t err = finish_connect(database, detail);
	if (!err)
		err = database_script(database, SESSION_SETTINGS, detail);
	if (!err)
		return ERR_OK;
	database_disconnect(database);
	return detail ? add_hint(database, err, detail) : err;
}

err_t database_connect(struct database *database, bool *ret_fresh, struct err_detail *detail)
{
	bool fresh = !database->connection;
	err_t err = fresh ? open_connection(database, detail) : ERR_OK;
	if (!err && ret_fresh)
		*ret_fresh = fresh;
	return err;
}

static err_t error_of(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	static const char *const unavailable[] = { "08", "53", "57" };
	if (!state)
		return ERR_DATABASE_UNAVAILABLE;
	if (strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0)
		return ERR_CONFLICT;
	/* 55P03: a lock was not to be had in time; 25P03: idle for too long in a transaction. */
	if (strcmp(state, "55P03") == 0 || strcmp(state, "25P03") == 0)
		return ERR_DATABASE_UNAVAILABLE;
	for (size_t i = 0; i < sizeof unavailable / sizeof *unavailable; i++)
		if (strncmp(state, unavailable[i], 2) == 0)
			return ERR_DATABASE_UNAVAILABLE;
	return ERR_DATABASE_REFUSED;
}

/* Sends what is buffered and reads until a result is complete; false: deadline or connection lost. */
static bool wait_result(const struct database *database, int64_t deadline_us)
{
	PGconn *connection = database->connection;
	for (;;) {
		int unsent = PQflush(connection);
		if (unsent < 0)
			return false;
		if (unsent == 0 && !PQisBusy(connection))
			return true;
		if (!wait_socket(database, (short)(unsent ? POLLIN | POLLOUT : POLLIN), deadline_us))
			return false;
		if (!PQconsumeInput(connection))
			return false;
	}
}

static err_t lose_connection(struct database *database, struct err_detail *detail)
{
	const char *message = PQerrorMessage(database->connection);
	err_t err = message[0]
			    ? fail_with(detail, ERR_DATABASE_UNAVAILABLE, message)
			    : err_fail(detail, ERR_DATABASE_UNAVAILABLE, "PostgreSQL did not answer in time");
	database_disconnect(database);
	return err;
}

/* Collects the results of what was sent; keeps the first failed one, else the last. */
static err_t collect(struct database *database, PGresult **ret_result, struct err_detail *detail)
{
	int64_t deadline_us = clock_monotonic_us() + INT64_C(1000) * QUERY_TIMEOUT_MS;
	_cleanup_(database_result_cleanup) PGresult *kept = NULL;
	err_t err = ERR_OK;
	for (;;) {
		if (!wait_result(database, deadline_us))
			return lose_connection(database, detail);
		PGresult *result = PQgetResult(database->connection);
		if (!result)
			break;
		ExecStatusType status = PQresultStatus(result);
		if (!err && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
			err = fail_with(detail, error_of(result), PQresultErrorMessage(result));
		PQclear(kept);
		kept = result;
	}
	if (PQstatus(database->connection) == CONNECTION_BAD) {
		database_disconnect(database);
		return err ? ERR_DATABASE_UNAVAILABLE
			   : err_fail(detail, ERR_DATABASE_UNAVAILABLE, "connection lost");
	}
	if (!err && ret_result)
		*ret_result = TAKE_PTR(kept);
	return err;
}

err_t database_query(struct database *database, const char *sql, int parameters_count,
		     const char *const *parameters, PGresult **ret_result, struct err_detail *detail)
{
	if (!database->connection)
		return err_fail(detail, ERR_DATABASE_UNAVAILABLE, "not connected to PostgreSQL");
	if (PQsetnonblocking(database->connection, 1) != 0 ||
	    !PQsendQueryParams(database->connection, sql, parameters_count, NULL, parameters, NULL, NULL, 0))
		return lose_connection(database, detail);
	return collect(database, ret_result, detail);
}

err_t database_script(struct database *database, const char *sql, struct err_detail *detail)
{
	if (!database->connection)
		return err_fail(detail, ERR_DATABASE_UNAVAILABLE, "not connected to PostgreSQL");
	if (PQsetnonblocking(database->connection, 1) != 0 || !PQsendQuery(database->connection, sql))
		return lose_connection(database, detail);
	return collect(database, NULL, detail);
}
