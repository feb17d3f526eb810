/*
 * A session with a PostgreSQL server: connecting, our own statements, the transaction around the queries.
 * Nothing here waits for the server without a limit. A worker process, one thread.
 */
#pragma once

#include "target/engine.h"
#include "target/query_canceller.h"

#include <libpq-fe.h>

struct pg_session {
	unsigned magic;
	const struct worker_settings *settings;
	PGconn *connection;
	struct query_canceller query_canceller;
	bool pooled; /* a transaction pooler stands between: only within a transaction the backend is ours */
	bool abandoned;		      /* in a state that nobody wants to bring in order */
	int64_t statement_timeout_ms; /* of the transaction */
};

/* The session behind an engine's `void *`; aborts when it is none. */
struct pg_session *pg_session_of(void *pointer);

/* As engine.h says of needs, open, close, usable, begin and end. */
void pg_needs(const struct worker_settings *settings, struct confinement *needs);
err_t pg_open(const struct worker_settings *settings, void **ret_session, struct err_detail *detail);
void pg_close(void *pointer);
bool pg_usable(const void *pointer);
err_t pg_begin(void *pointer, struct err_detail *detail);
void pg_end(void *pointer);

/* Where a transaction goes on after a query that failed; pg_begin sets it. */
#define PG_SAVEPOINT "query"

/* Runs statements of our own that return nothing that we need. A server that does not answer in time costs
 * the session. */
err_t pg_execute(struct pg_session *session, const char *sql, struct err_detail *detail);

/* Waits until libpq has a whole result, or knows that there will be none. False: the time is up. */
bool pg_wait(const struct pg_session *session, int64_t deadline_us);

/* Asks the server to end the running query, and waits a moment until it has heard. A request that is not
 * heard costs the session, since it could hit a later query. */
void pg_cancel(struct pg_session *session);

/* Fails with the first line of libpq's message, without the password. */
err_t pg_fail(const struct pg_session *session, err_t err, const char *text, struct err_detail *detail);
err_t pg_fail_lost(const struct pg_session *session, struct err_detail *detail);

/* Overwrites every occurrence of the password. */
void pg_redact(const struct pg_session *session, char *message);
