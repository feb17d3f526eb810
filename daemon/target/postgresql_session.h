/*
 * A session with a PostgreSQL server: connecting, our own statements, the transaction around the queries.
 * Nothing here waits for the server without a limit. A worker process, one thread.
 */
#pragma once

#include "target/engine.h"
#include "target/query_canceller.h"

#include <libpq-fe.h>

struct postgresql_session {
	unsigned magic;
	const struct worker_settings *settings;
	PGconn *connection;
	struct query_canceller query_canceller;
	bool pooled; /* a transaction pooler stands between: only within a transaction the backend is ours */
	bool abandoned;		      /* in a state that nobody wants to bring in order */
	int64_t statement_timeout_ms; /* of the transaction */
};

/* The session behind an engine's `void *`; aborts when it is none. */
struct postgresql_session *postgresql_session_of(void *pointer);

/* As engine.h says of needs, open, close, usable, begin and end. */
void postgresql_session_needs(const struct worker_settings *settings, struct confinement *needs);
err_t postgresql_session_open(const struct worker_settings *settings, void **ret_session,
			      struct err_detail *detail);
void postgresql_session_close(void *pointer);
bool postgresql_session_usable(const void *pointer);
err_t postgresql_session_begin(void *pointer, struct err_detail *detail);
void postgresql_session_end(void *pointer);

/* Where a transaction goes on after a query that failed; postgresql_session_begin sets it. */
#define PG_SAVEPOINT "query"

/* Runs statements of our own that return nothing that we need. A server that does not answer in time costs
 * the session. */
err_t postgresql_session_execute(struct postgresql_session *session, const char *sql,
				 struct err_detail *detail);

/* Waits until libpq has a whole result, or knows that there will be none. False: the time is up. */
bool postgresql_session_wait(const struct postgresql_session *session, int64_t deadline_us);

/* Asks the server to end the running query, and waits a moment until it has heard. A request that is not
 * heard costs the session, since it could hit a later query. */
void postgresql_session_cancel(struct postgresql_session *session);

/* Fails with the first line of libpq's message, without the password. */
err_t postgresql_session_fail(const struct postgresql_session *session, err_t err, const char *text,
			      struct err_detail *detail);
err_t postgresql_session_fail_lost(const struct postgresql_session *session, struct err_detail *detail);

/* Overwrites every occurrence of the password. */
void postgresql_session_redact(const struct postgresql_session *session, char *message);
