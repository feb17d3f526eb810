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
	str_t next;	  /* what will most likely be run next, proven as `sql` is, and there until then: an
			     engine may send it along. Absent: nobody knows */
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

/* What happens to an error that open, begin or run returns: the validation is tried once more from its
 * beginning within its time, in the same session if that is still usable and in a new one otherwise; then it
 * ends as VALIDATION_UNAVAILABLE with that error, which the record carries. While run fails and `usable` says
 * true, nothing else of the transaction is run, and `end` follows. */
struct engine {
	/* Classes of columns are known only when a result was read to its end. */
	bool classes_at_end;

	/* What the process has to be able to reach besides what all do of its kind; before it connects. What
	 * is not named here cannot be opened later: of a file engine the folder, so that the file may be
	 * replaced by another one of its name. */
	void (*needs)(const struct worker_settings *settings, struct confinement *needs);

	/* Connects; the session is the caller's. ERR_TARGET_UNAVAILABLE, by which
	 * the supervisor counts the target as down. */
	err_t (*open)(const struct worker_settings *settings, void **ret_session, struct err_detail *detail);
	void (*close)(void *session);

	/* Starts a read-only transaction, of which all runs see one snapshot: that of now, or of the first of
	 * them, with which an engine may start it. ERR_TARGET_BUSY (locks, resources), ERR_TARGET_LOST or
	 * ERR_TARGET_UNAVAILABLE; `end` follows all the same. */
	err_t (*begin)(void *session, struct err_detail *detail);

	/* Runs one statement in the transaction and fetches its result within the limits set in
	 * `run->result`, or hands it on row by row when that has a sink (see result_end_row; a sink that
	 * wants no more ends the query as a limit does, and columns may get their types only behind the last
	 * row). A failed one does not disturb those after it, unless the session was lost with it.
	 *
	 * What is wrong with the statement is its outcome, and ERR_OK. ERR_TARGET_LOST: the session is, and
	 * `usable` says so. ERR_TARGET_BUSY: the target is out of resources or held by locks.
	 *
	 * `sql` was proven to be one statement that reads, or is made of such a one: truths and the generated
	 * query as they came, candidates, and of truths (sql/sort_keys.h, validation_ties.c, any_rows.c) the
	 * same with sort keys added to the select list, without its LIMIT and with another one behind, in a
	 * WITH with dense_rank() around it. An engine that does not take such texts refuses them as
	 * QUERY_FAILED: the verdict stays without what they would have told. Texts run several times each.
	 *
	 * Sets `execution.rows`, and `execution.time_ms` by the monotonic clock: 0 is a time like any other.
	 */
	err_t (*run)(void *session, str_t sql, struct query_run *run, struct err_detail *detail);

	/* Ends the transaction and wipes what the queries may have left in the session, without waiting for
	 * it where the next begin does. Also without one, when begin has failed, and when the session is
	 * lost. */
	void (*end)(void *session);

	/* Nothing has followed `end` for a moment: what it has left undone so that it could be done together
	 * with the next begin is done now. Called in any state between transactions. NULL: nothing is. */
	void (*rest)(void *session);

	/* Whether the runs of a transaction see one snapshot. NULL: they always do. */
	bool (*one_snapshot)(const void *session);

	/* Whether the session can still be used. Says false once it is lost; asked between statements. */
	bool (*usable)(const void *session);

	/* The source text of the catalog, in the arena: what the compiler of the engine's dialect reads
	 * (target_catalog_compile in catalogs.c). PostgreSQL: one JSON text (sql/catalog/catalog_query.sql);
	 * MariaDB: one a line (sql/catalog/catalog_query_mysql.sql); MongoDB: one a collection; SQLite: a
	 * JSON array of CREATE statements, which an engine that has no dialect of its own can write. Called
	 * without begin, in any session that is open. ERR_CATALOG_UNAVAILABLE. */
	err_t (*catalog)(void *session, struct arena *arena, str_t *ret_json, struct err_detail *detail);

	/* Warnings for a person about the target and the role, one per line; "": there are none. Of
	 * `assayd check`; called without begin. */
	err_t (*check)(void *session, struct arena *arena, str_t *ret_notes, struct err_detail *detail);
};

extern const struct engine engine_postgresql;
extern const struct engine engine_sqlite;
extern const struct engine engine_mariadb;
extern const struct engine engine_mongodb;

/* The engine of a kind, or NULL when this build cannot run it. */
const struct engine *engine_of(enum target_engine kind);
