/*
 * A connection to PostgreSQL whose every wait has a deadline. Reconnects when it is next used after a loss.
 * Names of hosts are looked up by libpq, for as long as the system's resolver takes. Not thread-safe, but for
 * database_limit_waits.
 */
#pragma once

#include "common/cleanup.h"
#include "common/err.h"
#include "common/str.h"

#include <libpq-fe.h>

struct database;

/* Nothing is connected yet. `dsn` is a libpq connection string without a password, `password_file` may be
 * NULL; it is read at every connect, so that a password can be changed. Copies both. */
struct database *database_new(const char *dsn, const char *password_file);
void database_free(struct database *database);

/* How PostgreSQL shows the connections that are opened from now on, where the connection string does not say;
 * a static text. */
void database_set_application(struct database *database, const char *application);

/* How the names of the settings begin that the connection string ("…dsn") and the password's file
 * ("…password_file") came from, such as "calibration.": what goes wrong when connecting then names them. A
 * static text; NULL: nothing is named. */
void database_set_settings(struct database *database, const char *prefix);

/* Whether the two are valid, without connecting: the password's file can be read, the connection string
 * parsed. `prefix` as above. */
err_t database_check_settings(const char *dsn, const char *password_file, const char *prefix,
			      struct err_detail *detail);

/* Connects unless it is connected. DATABASE_UNAVAILABLE: try again later. `ret_fresh` (may be NULL) tells
 * whether the connection is a new one. */
err_t database_connect(struct database *database, bool *ret_fresh, struct err_detail *detail);

/* No wait lasts beyond that moment, by the monotonic clock; what would have to wait then fails at once with
 * DATABASE_UNAVAILABLE. Any thread: for an orderly end while another thread may be waiting. */
void database_limit_waits(struct database *database, int64_t until_us);

/* Called every 100 ms or so, by the thread that waits for the server, while it does. NULL: nothing is. */
typedef void database_waits_fn(void *context);
void database_set_waits(struct database *database, database_waits_fn *waits, void *context);

/* Closes the connection; the next use opens another. */
void database_disconnect(struct database *database);

/* Hands the open connection to the caller, who finishes it; the next use opens another. NULL: there is none.
 */
PGconn *database_release(struct database *database);

/* The message is the server's; what to do about it depends on the SQLSTATE:
 *   ERR_CONFLICT              deadlock or serialization failure: the transaction can be run again
 *   ERR_DATABASE_UNAVAILABLE  connection lost, deadline, server shutting down or out of resources
 *   ERR_DATABASE_REFUSED      all else
 * Parameters are text, NULL is NULL. The caller clears the result (may be asked for with NULL: not wanted).
 */
err_t database_query(struct database *database, const char *sql, int parameters_count,
		     const char *const *parameters, PGresult **ret_result, struct err_detail *detail);

/* Several statements without parameters. */
err_t database_script(struct database *database, const char *sql, struct err_detail *detail);

/* Major and minor version as libpq counts them, 150004 for 15.4. */
int database_version(const struct database *database);

DEFINE_CLEANUP(PGresult, database_result_cleanup, PQclear)
DEFINE_CLEANUP(struct database, database_cleanup, database_free)
