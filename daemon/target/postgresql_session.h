/*
 * A session with a PostgreSQL server: connecting, our own statements, the transaction around the queries.
 * Nothing here waits for the server without a limit. A worker process, one thread.
 */
#pragma once

#include "target/engine.h"
#include "target/query_canceller.h"

#include <libpq-fe.h>

/* Where the transaction around the queries stands, which says what has to come before the next query. */
enum postgresql_transaction {
	PG_TRANSACTION_NONE,
	PG_TRANSACTION_ASKED_FOR, /* it begins with its first query, which takes the snapshot */
	PG_TRANSACTION_OPEN,	  /* it goes on from its savepoint, whatever the last query did */
};

/* A query that was sent behind another one, in the same pipeline. */
struct postgresql_ahead {
	str_t sql;	  /* the caller's; absent: there is none */
	int64_t began_us; /* when the one before it had been read; monotonic clock */
};

struct postgresql_session {
	unsigned magic;
	const struct worker_settings *settings;
	PGconn *connection;
	struct query_canceller query_canceller;
	bool pooled; /* a transaction pooler stands between: only within a transaction the backend is ours */
	bool abandoned;		      /* in a state that nobody wants to bring in order */
	int64_t statement_timeout_ms; /* of the transaction */
	enum postgresql_transaction transaction;
	struct postgresql_ahead ahead;
	bool prepared;	/* our statements are, by their names */
	bool left_open; /* the ROLLBACK of the last transaction has not been sent yet, see rest */
	bool wiping;	/* the answer to what ended the last transaction has not been read yet */
	int64_t wiped_us;
};

/* The session behind an engine's `void *`; aborts when it is none. */
struct postgresql_session *postgresql_session_of(void *pointer);

/* As engine.h says of needs, open, close, usable, begin, end and rest. */
void postgresql_session_needs(const struct worker_settings *settings, struct confinement *needs);
err_t postgresql_session_open(const struct worker_settings *settings, void **ret_session,
			      struct err_detail *detail);
void postgresql_session_close(void *pointer);
bool postgresql_session_usable(const void *pointer);
err_t postgresql_session_begin(void *pointer, struct err_detail *detail);
void postgresql_session_end(void *pointer);
void postgresql_session_rest(void *pointer);

/* Begins a transaction for a query of our own: at once, with `statement_timeout_ms` as the session has it by
 * now, and without compiling queries to machine code, which takes seconds for those that read a large
 * catalog. ERR_TARGET_LOST. */
err_t postgresql_session_begin_own(struct postgresql_session *session, struct err_detail *detail);

/* Sends a query, and before it in the same pipeline what puts it into the transaction: where that fails, the
 * server skips the query. Their results come first, one a statement: `ret_before` of them. Between them and
 * those of the query, and behind the query's, PQgetResult returns NULL; last comes PGRES_PIPELINE_SYNC.
 *
 * Where `next` is present, it follows in the same pipeline, in front of the SYNC: one result for what puts it
 * in its place, and then its own. A query that fails makes the server skip it. */
err_t postgresql_session_send(struct postgresql_session *session, str_t sql, str_t next, size_t *ret_before,
			      struct err_detail *detail);

/* Reads off what was sent behind a query and nobody wants, up to the SYNC. It is cancelled, unless the server
 * has `skipped` it anyway. One that goes on for too long costs the session. */
void postgresql_session_drain(struct postgresql_session *session, bool skipped);

/* The end of what was sent has been read: a query that has ended the transaction costs the session. */
void postgresql_session_sent(struct postgresql_session *session);

/* Runs statements of our own that return nothing that we need. A server that does not answer in time costs
 * the session. */
err_t postgresql_session_execute(struct postgresql_session *session, const char *sql,
				 struct err_detail *detail);

/* Waits until libpq has a whole result, or knows that there will be none. False: the time is up. */
bool postgresql_session_wait(const struct postgresql_session *session, int64_t deadline_us);

/* Asks the server to end the running query, and waits a moment until it has heard. A request that is not
 * heard costs the session, since it could hit a later query. False: it was not heard at once, as a server
 * does that is well. */
bool postgresql_session_cancel(struct postgresql_session *session);

/* Fails with the first line of libpq's message, without the password. */
err_t postgresql_session_fail(const struct postgresql_session *session, err_t err, const char *text,
			      struct err_detail *detail);
err_t postgresql_session_fail_lost(const struct postgresql_session *session, struct err_detail *detail);

/* Overwrites every occurrence of the password. */
void postgresql_session_redact(const struct postgresql_session *session, char *message);
