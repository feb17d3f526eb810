#include "target/mariadb_cells.h"
#include "target/mariadb_session.h"

#include "common/buf.h"
#include "common/clock.h"

#include <errmsg.h>
#include <mysqld_error.h>

#define CATALOG_MAX_BYTES   ((size_t)192 << 20)
#define KEPT_BUFFER_BYTES   ((size_t)1 << 20)
#define ABSORB_ATTEMPTS	    3
#define MYSQL_QUERY_TIMEOUT 3024 /* MySQL's ER_STATEMENT_TIMEOUT */
/* The library's mark of a packet that it has no room for; a lost socket has another. */
#define NET_REFUSED_BY_US 1

/* --- session --- */

static err_t mariadb_engine_open(const struct worker_settings *settings, void **ret_session,
				 struct err_detail *detail)
{
	struct mariadb_session *session = NULL;
	err_t err = mariadb_session_connect(settings, &session, detail);
	if (!err)
		*ret_session = session;
	return err;
}

static err_t mariadb_engine_begin(void *pointer, struct err_detail *detail)
{
	return mariadb_session_execute(mariadb_session_of(pointer),
				       "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", detail);
}

/* The memory that the library has taken for a long row is only given back with the connection. */
static void mariadb_engine_end(void *pointer)
{
	struct mariadb_session *session = mariadb_session_of(pointer);
	if (session->largest_row_bytes > KEPT_BUFFER_BYTES)
		mariadb_session_abandon(session);
	if (!mariadb_session_usable(session))
		return;
	mariadb_session_attend(session, MARIADB_SESSION_PLAIN, MARIADB_SESSION_GIVE_UP_MS);
	if (mysql_reset_connection(session->connection) != 0 || mariadb_session_configure(session, NULL))
		mariadb_session_abandon(session); /* a session that cannot be wiped is not used again */
}

/* --- one query --- */

struct mariadb_fetch {
	struct mariadb_session *session;
	struct query_run *run;
	MYSQL_STMT *statement;
	struct mariadb_cells *cells;
	int64_t limit_ms;
	err_t target_error;
	struct err_detail *detail;
};

static void query_failed(struct mariadb_fetch *fetch, enum query_outcome outcome, str_t message)
{
	fetch->run->outcome = outcome;
	if (!str_present(fetch->run->message))
		fetch->run->message = message;
}

static bool is_timeout(unsigned number)
{
	return number == ER_STATEMENT_TIMEOUT || number == MYSQL_QUERY_TIMEOUT ||
	       number == ER_QUERY_INTERRUPTED;
}

/* The library drops the connection when it cannot or may not hold a row in memory: the server is well. It
 * then says that the connection was lost; what it has noted of the transport tells the one from the other. */
static bool is_too_large(const struct mariadb_session *session, unsigned number)
{
	return number == CR_OUT_OF_MEMORY || number == CR_NET_PACKET_TOO_LARGE ||
	       (number == CR_SERVER_LOST && session->connection->net.error == NET_REFUSED_BY_US);
}

/* The account lacks rights: to a database, a table, a column, a routine. */
static bool is_denied(unsigned number)
{
	return number == ER_DBACCESS_DENIED_ERROR || number == ER_TABLEACCESS_DENIED_ERROR ||
	       number == ER_COLUMNACCESS_DENIED_ERROR || number == ER_PROCACCESS_DENIED_ERROR ||
	       number == ER_SPECIFIC_ACCESS_DENIED_ERROR;
}

static void note_sqlstate(const struct mariadb_fetch *fetch)
{
	MYSQL *connection = fetch->session->connection;
	struct validation_execution *execution = &fetch->run->execution;
	snprintf(execution->sqlstate, sizeof execution->sqlstate, "%s",
		 mysql_errno(connection) ? mysql_sqlstate(connection)
					 : mysql_stmt_sqlstate(fetch->statement));
	execution->code = (int32_t)mariadb_session_errno(fetch->session, fetch->statement);
}

static void take_error(struct mariadb_fetch *fetch)
{
	struct mariadb_session *session = fetch->session;
	unsigned number = mariadb_session_errno(session, fetch->statement);
	err_t err = mariadb_session_target_error(number);
	str_t message = mariadb_session_message(session, fetch->statement, fetch->run->result.arena);
	if (err == ERR_TARGET_LOST)
		mariadb_session_abandon(session);
	else if (session->phase != MARIADB_SESSION_CANCELLED_FULL)
		note_sqlstate(fetch);
	fetch->run->denied = is_denied(number);
	if (session->phase == MARIADB_SESSION_CANCELLED_TIME ||
	    session->phase == MARIADB_SESSION_CANCEL_UNHEARD ||
	    (session->phase == MARIADB_SESSION_CANCELLED_FULL && number == ER_QUERY_INTERRUPTED))
		return; /* as asked for */
	if (is_too_large(session, number))
		query_failed(fetch, QUERY_FAILED,
			     STR("a row of the result does not fit into the worker's memory"));
	else if (err)
		fetch->target_error = err_fail(fetch->detail, err, "%s", message.ptr);
	else
		query_failed(fetch, is_timeout(number) ? QUERY_TIMEOUT : QUERY_FAILED, message);
}

/* Rows that are on their way already have to be read off before the next query: that may take a while. */
static void want_no_more(struct mariadb_fetch *fetch)
{
	struct mariadb_session *session = fetch->session;
	mariadb_session_cancel(session);
	mariadb_session_attend(session, MARIADB_SESSION_CANCELLED_FULL,
			       MARIADB_SESSION_GIVE_UP_MS + session->settings->target.statement_timeout_ms);
}

/* False: the library has an error. */
static bool take_row(struct mariadb_fetch *fetch)
{
	struct result_builder *builder = &fetch->run->result;
	char *text = NULL;
	size_t bytes = mariadb_cells_measure(fetch->cells);
	if (bytes > fetch->session->largest_row_bytes)
		fetch->session->largest_row_bytes = bytes;
	str_t *cells = result_add_row(builder, bytes, &text);
	if (cells && !mariadb_cells_write(fetch->cells, fetch->statement, text, cells))
		return false;
	if (!cells || !result_end_row(builder))
		want_no_more(fetch);
	return true;
}

static void fetch_rows(struct mariadb_fetch *fetch)
{
	struct mariadb_session *session = fetch->session;
	while (mariadb_session_has_time(session)) {
		int status = mysql_stmt_fetch(fetch->statement);
		if (status == MYSQL_NO_DATA)
			return;
		if (status == 1 || (session->phase == MARIADB_SESSION_QUERY && !take_row(fetch))) {
			take_error(fetch);
			return;
		}
	}
	mariadb_session_abandon(session);
}

/* A statement that returns nothing is not even started. */
static bool start(struct mariadb_fetch *fetch, str_t sql)
{
	MYSQL_STMT *statement = fetch->statement;
	if (mysql_stmt_prepare(statement, sql.ptr, sql.len) != 0) {
		take_error(fetch);
		return false;
	}
	if (mysql_stmt_field_count(statement) == 0 || mysql_stmt_param_count(statement) > 0) {
		query_failed(fetch, QUERY_FAILED,
			     mysql_stmt_field_count(statement) == 0
				     ? STR("the statement returns no result")
				     : STR("the statement has parameters that nobody gives"));
		return false;
	}
	if (mysql_stmt_execute(statement) == 0)
		fetch->cells = mariadb_cells_new(statement, &fetch->run->result);
	if (!fetch->cells)
		take_error(fetch);
	return fetch->cells != NULL;
}

/* A few functions of MariaDB, once interrupted, return something as if they had come to their end. */
static bool is_overdue(const struct mariadb_fetch *fetch)
{
	return fetch->run->outcome == QUERY_RETURNED && fetch->session->phase == MARIADB_SESSION_QUERY &&
	       fetch->run->execution.time_ms >= (double)fetch->limit_ms;
}

static void end_of_time(struct mariadb_fetch *fetch)
{
	if (fetch->session->phase == MARIADB_SESSION_CANCEL_UNHEARD)
		fetch->target_error = err_fail(fetch->detail, ERR_TARGET_LOST,
					       "the server did not answer in time and cannot be reached to "
					       "cancel the query");
	else if (fetch->session->phase == MARIADB_SESSION_CANCELLED_TIME || is_overdue(fetch))
		query_failed(fetch, QUERY_TIMEOUT, STR("the query was cancelled at its time limit"));
}

/* A cancel that came too late for its query ends the next one. */
static void absorb_cancel(struct mariadb_session *session)
{
	for (int i = 0; i < ABSORB_ATTEMPTS; i++) {
		if (mariadb_session_execute(session, "DO 0", NULL) == ERR_OK)
			return;
		if (mysql_errno(session->connection) != ER_QUERY_INTERRUPTED)
			break;
	}
	mariadb_session_abandon(session);
}

static void after_query(struct mariadb_fetch *fetch)
{
	struct mariadb_session *session = fetch->session;
	bool cancelled = session->phase == MARIADB_SESSION_CANCELLED_TIME ||
			 session->phase == MARIADB_SESSION_CANCELLED_FULL;
	end_of_time(fetch);
	if (session->phase == MARIADB_SESSION_QUERY) /* the rest belongs to us */
		mariadb_session_attend(session, MARIADB_SESSION_PLAIN, MARIADB_SESSION_GIVE_UP_MS);
	mysql_stmt_close(fetch->statement);
	if (session->abandoned)
		return;
	if (cancelled)
		absorb_cancel(session);
	if (mysql_more_results(session->connection) ||
	    !(session->connection->server_status & SERVER_STATUS_IN_TRANS))
		mariadb_session_abandon(session); /* the statement did more than it was asked for */
}

static err_t mariadb_engine_run(void *pointer, str_t sql, struct query_run *run, struct err_detail *detail)
{
	struct mariadb_session *session = mariadb_session_of(pointer);
	int64_t start_us = clock_monotonic_us();
	struct mariadb_fetch fetch = { .session = session, .run = run, .detail = detail };
	fetch.limit_ms = engine_run_limit_ms(run, session->settings->target.statement_timeout_ms);
	mariadb_session_attend(session, MARIADB_SESSION_QUERY, fetch.limit_ms + CLIENT_TIMER_SLACK_MS);
	run->outcome = QUERY_RETURNED;
	fetch.statement = mysql_stmt_init(session->connection);
	if (!fetch.statement)
		abort();
	if (start(&fetch, sql))
		fetch_rows(&fetch);
	run->execution.time_ms = (double)(clock_monotonic_us() - start_us) / 1000.0;
	run->execution.rows = (int64_t)run->result.rows_count;
	after_query(&fetch);
	return fetch.target_error;
}

/* --- catalog and check --- */

struct lines {
	struct buf text;
	bool cut;
};

static bool take_line(void *context, const str_t *cells, size_t cells_count)
{
	struct lines *lines = context;
	lines->cut = cells_count != 1 || lines->text.len + cells[0].len > CATALOG_MAX_BYTES;
	if (lines->cut)
		return false;
	buf_append_str(&lines->text, cells[0]);
	buf_append_char(&lines->text, '\n');
	return true;
}

static err_t mariadb_engine_catalog(void *pointer, struct arena *arena, str_t *ret_text,
				    struct err_detail *detail)
{
	struct lines lines = { BUF_INIT, false };
	struct query_run run = { .result = { .arena = arena,
					     .sink = { take_line, &lines },
					     .max_rows = INT32_MAX,
					     .max_bytes = CATALOG_MAX_BYTES } };
	err_t err = mariadb_engine_begin(pointer, detail);
	if (!err)
		err = mariadb_engine_run(pointer, str_from(CATALOG_QUERY_MYSQL), &run, detail);
	if (!err && (run.outcome != QUERY_RETURNED || run.result.truncated || lines.cut))
		err = err_fail(detail, ERR_CATALOG_UNAVAILABLE, "%s",
			       str_present(run.message) ? run.message.ptr : "the catalog is too large");
	if (!err)
		*ret_text = arena_str(arena, buf_str(&lines.text));
	buf_free(&lines.text);
	result_free(&run.result);
	mariadb_engine_end(pointer);
	return err;
}

static err_t mariadb_engine_check(void *pointer, struct arena *arena, str_t *ret_notes,
				  struct err_detail *detail)
{
	return mariadb_session_check_account(mariadb_session_of(pointer), arena, ret_notes, detail);
}

const struct engine engine_mariadb = {
	.needs = mariadb_session_needs,
	.open = mariadb_engine_open,
	.close = mariadb_session_close,
	.begin = mariadb_engine_begin,
	.run = mariadb_engine_run,
	.end = mariadb_engine_end,
	.usable = mariadb_session_usable,
	.catalog = mariadb_engine_catalog,
	.check = mariadb_engine_check,
};
