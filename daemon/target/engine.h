/*
 * What a kind of database has to offer to a worker process. All functions run in the worker's only thread
 * and may block up to their timeouts; the supervisor ends the process that does not come back.
 *
 * Errors that a function *returns* are the target's (it cannot be reached, the connection is lost, it is out
 * of resources); what is wrong with a query is an outcome of running it.
 */
#pragma once

#include "target/confine.h"
#include "target/message.h"
#include "target/result.h"

/* Slack of the client-side timer behind the server's own statement timeout. */
#define CLIENT_TIMER_SLACK_MS 500

enum query_outcome {
	QUERY_RETURNED, /* the result is there, maybe truncated */
	QUERY_FAILED,	/* the database refused it or gave it up */
	QUERY_TIMEOUT,
};

struct query_run {
	int64_t limit_ms; /* asked for: less than the statement timeout of the target; 0: that */
	enum query_outcome outcome;
	struct validation_execution execution;
	str_t message; /* why it failed; in the result's arena */
	bool denied;   /* it failed for want of rights of the target's role */
	struct result_builder result;
};

/* What a run has. */
static inline int64_t engine_run_limit_ms(const struct query_run *run, int64_t statement_timeout_ms)
{
	return run->limit_ms > 0 && run->limit_ms < statement_timeout_ms ? run->limit_ms
									 : statement_timeout_ms;
}

struct engine {
	/* Classes of columns are known only when a result was read to its end. */
	bool classes_at_end;

	/* What the process has to be able to reach besides what all do of its kind; before it connects. */
	void (*needs)(const struct worker_settings *settings, struct confinement *needs);

	/* Connects; the session is the caller's. ERR_TARGET_UNAVAILABLE. */
	err_t (*open)(const struct worker_settings *settings, void **ret_session, struct err_detail *detail);
	void (*close)(void *session);

	/* Starts a read-only transaction that holds its snapshot when this returns. */
	err_t (*begin)(void *session, struct err_detail *detail);

	/* Runs one statement in the transaction and fetches its result within the limits set in
	 * `run->result`, or hands it on row by row when that has a sink (see result_end_row; a sink that
	 * wants no more ends the query as a limit does, and columns may get their types only behind the last
	 * row). A failed one does not disturb those after it, unless the session was lost with it. */
	err_t (*run)(void *session, str_t sql, struct query_run *run, struct err_detail *detail);

	/* Ends the transaction and wipes what the queries may have left in the session. */
	void (*end)(void *session);

	/* Whether the session can still be used. */
	bool (*usable)(const void *session);

	/* The source text of the catalog. */
	err_t (*catalog)(void *session, struct arena *arena, str_t *ret_json, struct err_detail *detail);

	/* Warnings for a person about the target and the role, one per line. */
	err_t (*check)(void *session, struct arena *arena, str_t *ret_notes, struct err_detail *detail);
};

extern const struct engine engine_postgresql;
extern const struct engine engine_sqlite;
extern const struct engine engine_mariadb;

/* The engine of a kind, or NULL when this build cannot run it. */
const struct engine *engine_of(enum target_engine kind);
