/*
 * A connection to a MariaDB or MySQL server on which every wait ends at a deadline of ours: what mariadb.c
 * and its neighbours share. One thread; a process may have several sessions.
 */
#pragma once

#include <mysql.h> // first: it calls what banned.h forbids

#include "address/mariadb_dsn.h"
#include "target/engine.h"
#include "target/query_canceller.h"

/* A cancel that is not heard for so long costs the connection; connecting anew to cancel takes no longer. */
#define MARIADB_SESSION_GIVE_UP_MS 2000

/* What happens when the deadline of a wait has passed. */
enum mariadb_session_phase {
	MARIADB_SESSION_PLAIN,		/* the connection is given up */
	MARIADB_SESSION_QUERY,		/* the running query is cancelled, and waited for a little longer */
	MARIADB_SESSION_CANCELLED_TIME, /* … was cancelled because its time is up */
	MARIADB_SESSION_CANCELLED_FULL, /* … because all wanted rows are there */
	MARIADB_SESSION_CANCEL_UNHEARD, /* … but the server cannot be reached to say so: it hangs, not the
					   query */
};

struct mariadb_session {
	unsigned magic;
	const struct worker_settings *settings;
	struct arena *arena; /* of the dsn */
	struct mariadb_dsn dsn;
	MYSQL *connection;
	struct query_canceller query_canceller;
	bool is_mysql;	/* and not MariaDB */
	bool abandoned; /* in a state that nobody wants to bring in order */
	enum mariadb_session_phase phase;
	int64_t deadline_us;
	size_t largest_row_bytes; /* that the library has kept memory for */
	char sql_mode[512];
};

/* The session behind an engine's `void *`; aborts when it is none. */
struct mariadb_session *mariadb_session_of(void *pointer);

/* As engine.h says. */
void mariadb_session_needs(const struct worker_settings *settings, struct confinement *needs);

/* ERR_TARGET_UNAVAILABLE. */
err_t mariadb_session_connect(const struct worker_settings *settings, struct mariadb_session **ret_session,
			      struct err_detail *detail);
void mariadb_session_close(void *session);

/* Gives the session the settings that all queries run under; also needed after it was reset. */
err_t mariadb_session_configure(struct mariadb_session *session, struct err_detail *detail);

/* False when it was given up, or the server has closed it meanwhile. */
bool mariadb_session_usable(const void *session);

/* Until mariadb_session_attend() is called again, waits for this session's server end in `timeout_ms`. */
void mariadb_session_attend(struct mariadb_session *session, enum mariadb_session_phase phase,
			    int64_t timeout_ms);

/* Whether the time goes on: at the deadline of a query it is cancelled and granted a little longer. */
bool mariadb_session_has_time(struct mariadb_session *session);

/* Runs a statement of our own whose result, if any, is of no interest. ERR_TARGET_LOST, ERR_TARGET_BUSY. */
err_t mariadb_session_execute(struct mariadb_session *session, const char *sql, struct err_detail *detail);

/* Runs a small query of our own; the result is the caller's to free. */
err_t mariadb_session_read(struct mariadb_session *session, const char *query, MYSQL_RES **ret_result,
			   struct err_detail *detail);

/* Asks the server, by a connection beside, to end what the session is running. False: it cannot be reached.
 */
bool mariadb_session_cancel(struct mariadb_session *session);

/* Cuts the connection: nothing on it waits any more. */
void mariadb_session_abandon(struct mariadb_session *session);

/* The error of the connection or, where that has none, of the statement (may be NULL). */
unsigned mariadb_session_errno(const struct mariadb_session *session, MYSQL_STMT *statement);

/* Its message without the password, in the arena. */
str_t mariadb_session_message(const struct mariadb_session *session, MYSQL_STMT *statement,
			      struct arena *arena);

/* The error of the target that an error number stands for; ERR_OK: it is the query's. */
err_t mariadb_session_target_error(unsigned number);

/* What a person should know about the server and the account, one line each (mariadb_check.c). */
err_t mariadb_session_check_account(struct mariadb_session *session, struct arena *arena, str_t *ret_notes,
				    struct err_detail *detail);
