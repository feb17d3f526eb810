#include "target/postgresql_session.h"

#include "common/clock.h"

#include <catalog/pg_type_d.h>

#define GIVE_UP_AFTER_MS     2000  /* a cancel that is not heard for so long costs the connection */
#define OWN_QUERY_EXTRA_MS   10000 /* the limit is made for queries of events */
#define CATALOG_MAX_BYTES    ((int64_t)192 << 20)
#define OLDEST_TRIED_VERSION 120000

/* The message of a query's error, in the arena. */
static str_t message_of(const struct postgresql_session *session, const PGresult *result, struct arena *arena)
{
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *text = primary ? primary : PQresultErrorMessage(result);
	str_t message = arena_text(arena, text, strcspn(text, "\n"));
	char *bytes = arena_strdup(arena, message.ptr);
	postgresql_session_redact(session, bytes);
	return str_from(bytes);
}

/* --- one query --- */

enum fetch_phase {
	FETCH_RUNNING,
	FETCH_CANCELLED_TIME, /* we asked for an end because the time is up */
	FETCH_CANCELLED_FULL, /* … because we have all rows that we want */
};

struct postgresql_fetch {
	struct postgresql_session *session;
	struct query_run *run;
	enum fetch_phase phase;
	int64_t deadline_us;
	int64_t heard_us; /* when the server said something last */
	bool own_limit;	  /* the time that it has is shorter than the server's own limit */
	size_t before;	  /* results of statements of ours that come before those of the query */
	bool described;	  /* the columns are known */
	bool ended;	  /* the query has no more results */
	bool failed;	  /* the server skips what stands behind it up to the SYNC */
	err_t target_error;
	struct err_detail *detail;
};

struct type_class {
	Oid type;
	enum cell_class cell;
};

static const struct type_class type_classes[] = {
	{ BOOLOID, CELL_BOOLEAN },	  { BYTEAOID, CELL_BYTES },
	{ INT2OID, CELL_INTEGER },	  { INT4OID, CELL_INTEGER },
	{ INT8OID, CELL_INTEGER },	  { OIDOID, CELL_INTEGER },
	{ NUMERICOID, CELL_DECIMAL },	  { FLOAT4OID, CELL_FLOAT },
	{ FLOAT8OID, CELL_FLOAT },	  { TEXTOID, CELL_TEXT },
	{ VARCHAROID, CELL_TEXT },	  { BPCHAROID, CELL_TEXT },
	{ NAMEOID, CELL_TEXT },		  { CHAROID, CELL_TEXT },
	{ UUIDOID, CELL_TEXT },		  { DATEOID, CELL_DATE },
	{ TIMEOID, CELL_TIME },		  { TIMETZOID, CELL_TIME },
	{ TIMESTAMPOID, CELL_TIMESTAMP }, { TIMESTAMPTZOID, CELL_TIMESTAMP_TZ },
	{ INTERVALOID, CELL_INTERVAL },	  { JSONOID, CELL_JSON },
	{ JSONBOID, CELL_JSON },	  { CASHOID, CELL_MONEY },
};

static const Oid text_array_types[] = {
	CHARARRAYOID, NAMEARRAYOID, TEXTARRAYOID, BPCHARARRAYOID, VARCHARARRAYOID, UUIDARRAYOID,
};

static const Oid array_types[] = {
	BOOLARRAYOID,	   BYTEAARRAYOID,	INT2ARRAYOID,	  INT4ARRAYOID, INT8ARRAYOID,  OIDARRAYOID,
	FLOAT4ARRAYOID,	   FLOAT8ARRAYOID,	NUMERICARRAYOID,  DATEARRAYOID, TIMEARRAYOID,  TIMETZARRAYOID,
	TIMESTAMPARRAYOID, TIMESTAMPTZARRAYOID, INTERVALARRAYOID, JSONARRAYOID, JSONBARRAYOID,
};

static bool is_among(const Oid *types, size_t count, Oid type)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] == type)
			return true;
	return false;
}

static enum cell_class class_of(Oid type)
{
	for (size_t i = 0; i < sizeof type_classes / sizeof type_classes[0]; i++)
		if (type_classes[i].type == type)
			return type_classes[i].cell;
	if (is_among(text_array_types, sizeof text_array_types / sizeof text_array_types[0], type))
		return CELL_TEXT_ARRAY;
	if (is_among(array_types, sizeof array_types / sizeof array_types[0], type))
		return CELL_ARRAY;
	return CELL_UNKNOWN;
}

static void describe(struct postgresql_fetch *fetch, const PGresult *result)
{
	struct result_builder *builder = &fetch->run->result;
	if (fetch->described)
		return;
	fetch->described = true;
	result_begin(builder, (size_t)PQnfields(result));
	for (size_t i = 0; i < builder->columns_count; i++) {
		const char *name = PQfname(result, (int)i);
		builder->columns[i].name = arena_text(builder->arena, name, strlen(name));
		builder->columns[i].type = class_of(PQftype(result, (int)i));
	}
}

/* False: the server was slow to hear of it. */
static bool request_cancel(struct postgresql_fetch *fetch, enum fetch_phase phase)
{
	bool heard = postgresql_session_cancel(fetch->session);
	/* rows that are on their way already have to be read off before the next query: that may take a while
	 */
	int64_t patience_ms = phase == FETCH_CANCELLED_FULL ? fetch->session->statement_timeout_ms : 0;
	fetch->phase = phase;
	fetch->deadline_us = clock_monotonic_us() + (GIVE_UP_AFTER_MS + patience_ms) * 1000;
	return heard;
}

/* Where the text of a cell starts: bytes are published without PostgreSQL's `\x`. */
static size_t prefix_of(const struct result_column *column, const char *value)
{
	return column->type == CELL_BYTES && value[0] == '\\' && value[1] == 'x' ? 2 : 0;
}

static void take_row(struct postgresql_fetch *fetch, const PGresult *result, int row)
{
	struct result_builder *builder = &fetch->run->result;
	size_t text_bytes = 0;
	char *text = NULL;
	for (size_t i = 0; i < builder->columns_count; i++)
		text_bytes += (size_t)PQgetlength(result, row, (int)i);
	str_t *cells = result_add_row(builder, text_bytes, &text);
	if (!cells) {
		request_cancel(fetch, FETCH_CANCELLED_FULL);
		return;
	}
	for (size_t i = 0; i < builder->columns_count; i++) {
		if (PQgetisnull(result, row, (int)i))
			continue;
		const char *value = PQgetvalue(result, row, (int)i);
		size_t prefix = prefix_of(&builder->columns[i], value);
		size_t len = (size_t)PQgetlength(result, row, (int)i) - prefix;
		memcpy(text, value + prefix, len);
		cells[i] = (str_t){ text, len };
		text += len + 1;
	}
	if (!result_end_row(builder))
		request_cancel(fetch, FETCH_CANCELLED_FULL);
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* What speaks of the server's state and not of the query: worth another try. 08P01 is how the server answers
 * a query with parameters. */
static err_t error_of_target(const char *sqlstate)
{
	static const char *const busy[] = { "53", "40001", "40P01", "55P03" };
	if ((starts_with(sqlstate, "08") && strcmp(sqlstate, "08P01") != 0) || starts_with(sqlstate, "57P"))
		return ERR_TARGET_LOST;
	for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++)
		if (starts_with(sqlstate, busy[i]))
			return ERR_TARGET_BUSY;
	return ERR_OK;
}

/* libpq drops the connection when it cannot hold one message in memory: the server is well. */
static bool out_of_memory(const PGconn *connection)
{
	const char *message = PQerrorMessage(connection);
	return strstr(message, "cannot allocate memory") || strstr(message, "out of memory") ||
	       strstr(message, "lost synchronization");
}

static void query_failed(struct postgresql_fetch *fetch, enum query_outcome outcome, str_t message)
{
	fetch->run->outcome = outcome;
	if (!str_present(fetch->run->message))
		fetch->run->message = message;
}

static void take_error(struct postgresql_fetch *fetch, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	fetch->failed = true;
	if (fetch->phase == FETCH_CANCELLED_FULL && sqlstate && strcmp(sqlstate, "57014") == 0)
		return; /* as asked for */
	snprintf(fetch->run->execution.sqlstate, sizeof fetch->run->execution.sqlstate, "%s",
		 sqlstate ? sqlstate : "");
	fetch->run->denied = sqlstate && strcmp(sqlstate, "42501") == 0; /* insufficient_privilege */
	str_t message = message_of(fetch->session, result, fetch->run->result.arena);
	err_t err = sqlstate ? error_of_target(sqlstate) : ERR_OK;
	bool lost = PQstatus(fetch->session->connection) != CONNECTION_OK;
	if (!sqlstate && out_of_memory(fetch->session->connection))
		message = STR("a row of the result does not fit into the worker's memory");
	else if (!err && lost)
		err = ERR_TARGET_LOST;
	if (err)
		fetch->target_error = err_fail(fetch->detail, err, "%s", message.ptr);
	else
		query_failed(fetch, sqlstate && strcmp(sqlstate, "57014") == 0 ? QUERY_TIMEOUT : QUERY_FAILED,
			     message);
}

static void take_result(struct postgresql_fetch *fetch, const PGresult *result)
{
	switch (PQresultStatus(result)) {
	case PGRES_SINGLE_TUPLE:
	case PGRES_TUPLES_OK:
		describe(fetch, result);
		for (int row = 0; row < PQntuples(result) && fetch->phase == FETCH_RUNNING; row++)
			take_row(fetch, result, row);
		break;
	case PGRES_FATAL_ERROR:
	case PGRES_BAD_RESPONSE:
	case PGRES_NONFATAL_ERROR:
		take_error(fetch, result);
		break;
	case PGRES_COPY_IN:
	case PGRES_COPY_OUT:
	case PGRES_COPY_BOTH:
		query_failed(fetch, QUERY_FAILED, STR("COPY is not a query"));
		fetch->session->abandoned = true;
		break;
	default: /* what it did instead is not known, unless it is empty */
		query_failed(fetch, QUERY_FAILED, STR("the statement returns no result"));
		fetch->session->abandoned |= PQresultStatus(result) != PGRES_EMPTY_QUERY;
	}
}

/* The server ends a query at its own limit, which is the shorter one by CLIENT_TIMER_SLACK_MS: where it has
 * not said a word since, it may hang. */
static bool server_may_hang(const struct postgresql_fetch *fetch)
{
	return !fetch->own_limit &&
	       clock_monotonic_us() - fetch->heard_us >= (int64_t)CLIENT_TIMER_SLACK_MS * 1000;
}

/* The time of the current phase is up: ask for the end of the query, then stop listening. False: give up.
 * What a server that hangs, as one does that is slow to hear of a cancel besides, says of the query when it
 * goes on tells nothing of the query. */
static bool deadline_passed(struct postgresql_fetch *fetch)
{
	if (fetch->phase != FETCH_RUNNING)
		return false;
	bool may_hang = server_may_hang(fetch);
	query_failed(fetch, QUERY_TIMEOUT, STR("the query was cancelled at its time limit"));
	return request_cancel(fetch, FETCH_CANCELLED_TIME) || !may_hang;
}

/* Waits until libpq has a whole result. False: nobody waits any longer. */
static bool wait_for_result(struct postgresql_fetch *fetch)
{
	while (!postgresql_session_wait(fetch->session, fetch->deadline_us))
		if (!deadline_passed(fetch))
			return false;
	if (fetch->phase == FETCH_RUNNING)
		fetch->heard_us = clock_monotonic_us();
	return true;
}

/* A server that obeys neither its own time limit nor a cancel is not well, or out of reach. */
static void give_up(struct postgresql_fetch *fetch)
{
	fetch->session->abandoned = true;
	if (fetch->phase == FETCH_CANCELLED_TIME)
		fetch->target_error =
			err_fail(fetch->detail, ERR_TARGET_LOST, "the server does not end the query");
}

/* A statement of ours has failed: the query was not run. */
static void take_failed_before(struct postgresql_fetch *fetch, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	err_t err = sqlstate ? error_of_target(sqlstate) : ERR_OK;
	fetch->session->abandoned = true;
	fetch->target_error = postgresql_session_fail(fetch->session, err ? err : ERR_TARGET_LOST,
						      PQresultErrorMessage(result), fetch->detail);
}

/* Whether it did what is ours to do: a function that a query calls may have prepared something else by that
 * name, but nothing that ends a transaction or its part. */
static bool did_ours(const PGresult *result)
{
	static const char *const tags[] = { "ROLLBACK", "SAVEPOINT", "BEGIN", "" /* of preparing */ };
	const char *tag = PQresultStatus(result) == PGRES_COMMAND_OK
				  ? PQcmdStatus((PGresult *)(uintptr_t)result)
				  : NULL;
	for (size_t i = 0; tag && i < sizeof tags / sizeof *tags; i++)
		if (strcmp(tag, tags[i]) == 0)
			return true;
	return false;
}

/* Each of them has one result, and NULL behind it. */
static void take_before(struct postgresql_fetch *fetch, const PGresult *result)
{
	if (!result)
		fetch->before--;
	else if (!did_ours(result))
		take_failed_before(fetch, result);
	if (fetch->before == 0)
		PQsetSingleRowMode(fetch->session->connection);
}

/* Another query stands behind the one that has ended. A cancel may have hit it, and nobody can tell: it is
 * run again then. */
static void end_before_next(struct postgresql_fetch *fetch)
{
	if (fetch->failed || fetch->phase != FETCH_RUNNING)
		postgresql_session_drain(fetch->session, fetch->failed);
	else
		fetch->session->ahead = (struct postgresql_ahead){ fetch->run->next, clock_monotonic_us() };
}

/* The last result of what was sent is PGRES_PIPELINE_SYNC, behind the NULL of the query. False: it was that,
 * or none of use follows. */
static bool take_next(struct postgresql_fetch *fetch, const PGresult *result)
{
	struct postgresql_session *session = fetch->session;
	bool synced = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
	if (fetch->ended && synced)
		postgresql_session_sent(session);
	else if (fetch->ended || synced)
		session->abandoned = true;
	if (fetch->ended || synced)
		return false;
	if (fetch->before > 0)
		take_before(fetch, result);
	else if (result)
		take_result(fetch, result);
	else
		fetch->ended = true;
	bool lost = PQstatus(session->connection) != CONNECTION_OK;
	if (fetch->ended && !lost && !session->abandoned && str_present(fetch->run->next)) {
		end_before_next(fetch);
		return false;
	}
	bool reported = fetch->target_error || (result && PQresultStatus(result) == PGRES_FATAL_ERROR);
	if (lost && !fetch->ended && !reported) /* rows that were read before are no whole result */
		fetch->target_error = postgresql_session_fail_lost(session, fetch->detail);
	return !lost && !(session->abandoned && fetch->phase == FETCH_RUNNING);
}

static void fetch_all(struct postgresql_fetch *fetch)
{
	bool more = true;
	while (more) {
		if (!wait_for_result(fetch)) {
			give_up(fetch);
			return;
		}
		PGresult *result = PQgetResult(fetch->session->connection);
		more = take_next(fetch, result);
		PQclear(result);
	}
}

/* Takes the query over that was sent behind the one before it, or sends it. `ret_start_us`: since when it
 * runs. */
static err_t start(struct postgresql_fetch *fetch, str_t sql, int64_t *ret_start_us)
{
	struct postgresql_session *session = fetch->session;
	const struct postgresql_ahead ahead = session->ahead;
	*ret_start_us = clock_monotonic_us();
	if (str_present(ahead.sql) && str_equal(ahead.sql, sql)) {
		session->ahead = (struct postgresql_ahead){ 0 };
		fetch->run->next = STR_NONE;
		fetch->before = 1;
		*ret_start_us = ahead.began_us;
		return ERR_OK;
	}
	if (str_present(ahead.sql))
		postgresql_session_drain(session, false);
	if (session->abandoned)
		return postgresql_session_fail_lost(session, fetch->detail);
	if (session->pooled)
		fetch->run->next = STR_NONE;
	return postgresql_session_send(session, sql, fetch->run->next, &fetch->before, fetch->detail);
}

static err_t postgresql_engine_run(void *pointer, str_t sql, struct query_run *run, struct err_detail *detail)
{
	struct postgresql_session *session = postgresql_session_of(pointer);
	int64_t limit_ms = engine_run_limit_ms(run, session->statement_timeout_ms);
	int64_t start_us;
	struct postgresql_fetch fetch = { .session = session, .run = run, .detail = detail };
	err_t err = start(&fetch, sql, &start_us);
	if (err)
		return err;
	fetch.heard_us = start_us;
	fetch.own_limit = limit_ms < session->statement_timeout_ms;
	fetch.deadline_us = start_us + (limit_ms + CLIENT_TIMER_SLACK_MS) * 1000;
	run->outcome = QUERY_RETURNED;
	fetch_all(&fetch);
	run->execution.time_ms = (double)(clock_monotonic_us() - start_us) / 1000.0;
	run->execution.rows = (int64_t)run->result.rows_count;
	return fetch.target_error;
}

/* --- catalog and check --- */

static str_t join_lines(const struct result_builder *result, struct arena *arena)
{
	struct buf lines = BUF_INIT;
	for (size_t i = 0; i < result->cells_count; i += result->columns_count) {
		if (i)
			buf_append_char(&lines, '\n');
		buf_append_str(&lines, result->cells[i]);
	}
	str_t text = arena_str(arena, buf_str(&lines));
	buf_free(&lines);
	return text;
}

/* Runs a query of our own and takes its first column, one line per row. */
static err_t read_text(void *pointer, const char *sql, struct arena *arena, str_t *ret_text,
		       struct err_detail *detail)
{
	struct query_run run = {
		.result = { .arena = arena, .max_rows = INT32_MAX, .max_bytes = CATALOG_MAX_BYTES }
	};
	struct postgresql_session *session = postgresql_session_of(pointer);
	session->statement_timeout_ms += OWN_QUERY_EXTRA_MS;
	err_t err = postgresql_session_begin_own(session, detail);
	if (!err)
		err = postgresql_engine_run(pointer, str_from(sql), &run, detail);
	if (!err && (run.outcome != QUERY_RETURNED || run.result.truncated))
		err = err_fail(detail, ERR_CATALOG_UNAVAILABLE, "%s",
			       str_present(run.message) ? run.message.ptr : "the catalog is too large");
	if (!err)
		*ret_text = join_lines(&run.result, arena);
	result_free(&run.result);
	postgresql_session_end(pointer);
	session->statement_timeout_ms -= OWN_QUERY_EXTRA_MS;
	return err;
}

static err_t pg_catalog(void *session, struct arena *arena, str_t *ret_json, struct err_detail *detail)
{
	return read_text(session, CATALOG_QUERY_POSTGRESQL, arena, ret_json, detail);
}

/* The role's own default is the reset value: the current one is what we set. */
static const char check_query[] =
	"WITH tables AS (SELECT n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner) AS owner,"
	" pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND"
	" pg_catalog.has_any_column_privilege(c.oid, 'SELECT') AS readable"
	" FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
	" WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition"
	" AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = "
	"'pg_catalog.pg_class'::regclass"
	" AND d.objid = c.oid AND d.deptype = 'e')) "
	"SELECT format('the role \"%s\" is a superuser: use one that may only read', current_user)"
	" FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper"
	" UNION ALL "
	"SELECT format('the role \"%s\" can read %s of %s tables and views, not %I.%I for example, and "
	"results of"
	" their queries are UNAVAILABLE: GRANT USAGE ON SCHEMA %I TO %I; GRANT SELECT ON ALL TABLES IN "
	"SCHEMA %I TO"
	" %I; and for those made later ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT SELECT ON "
	"TABLES TO"
	" %I', current_user, (SELECT count(*) FROM tables WHERE readable), (SELECT count(*) FROM tables), "
	"t.nspname,"
	" t.relname, t.nspname, current_user, t.nspname, current_user, t.owner, t.nspname, current_user)"
	" FROM (SELECT * FROM tables WHERE NOT readable ORDER BY nspname, relname LIMIT 1) t"
	" UNION ALL "
	"SELECT format('the role \"%s\" may write %s tables, for example %s: grant it SELECT only', "
	"current_user,"
	" count(*), min(c.oid::pg_catalog.regclass::text)) FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
	" WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
	" AND n.nspname NOT LIKE 'pg\\_t%'"
	" AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper)"
	" HAVING count(*) > 0"
	" UNION ALL "
	"SELECT format('the role \"%s\" may run programs or reach files of the server through %s', "
	"current_user,"
	" string_agg(r.rolname, ', ' ORDER BY r.rolname)) FROM pg_catalog.pg_roles r WHERE r.rolname IN"
	" ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')"
	" AND pg_catalog.pg_has_role(r.oid, 'USAGE')"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper)"
	" HAVING count(*) > 0"
	" UNION ALL "
	"SELECT format('the role \"%s\" may write by default: ALTER ROLE … SET default_transaction_read_only "
	"= on',"
	" current_user) FROM pg_catalog.pg_settings WHERE name = 'default_transaction_read_only' AND "
	"reset_val = 'off'";

/* %u: the connections of one instance. Superusers have no limit of their own. */
static const char connections_query[] =
	"WITH own AS (SELECT CASE WHEN rolsuper OR rolconnlimit < 0 THEN NULL ELSE rolconnlimit END AS role,"
	" current_setting('max_connections')::int"
	" - current_setting('superuser_reserved_connections')::int AS server"
	" FROM pg_catalog.pg_roles WHERE rolname = current_user)"
	" SELECT format('connections = %u, and the role \"%%s\" may have %%s (CONNECTION LIMIT), of all "
	"instances "
	"together: lower the one or raise the other', current_user, role) FROM own WHERE role < %u"
	" UNION ALL "
	"SELECT format('connections = %u, and the server has %%s for everybody (max_connections): lower the "
	"one or "
	"raise "
	"the other', server) FROM own WHERE server < %u";

static err_t check_connections(void *pointer, struct arena *arena, str_t *notes, struct err_detail *detail)
{
	unsigned wanted = postgresql_session_of(pointer)->settings->target.connections;
	str_t more = STR_NONE;
	str_t query = arena_printf(arena, connections_query, wanted, wanted, wanted, wanted);
	err_t err = read_text(pointer, query.ptr, arena, &more, detail);
	if (!err && more.len)
		*notes = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(*notes), notes->len ? "\n" : "",
				      STR_ARG(more));
	return err;
}

static err_t postgresql_engine_check(void *pointer, struct arena *arena, str_t *ret_notes,
				     struct err_detail *detail)
{
	const struct postgresql_session *session = postgresql_session_of(pointer);
	int version = PQserverVersion(session->connection);
	err_t err = read_text(pointer, check_query, arena, ret_notes, detail);
	if (!err)
		err = check_connections(pointer, arena, ret_notes, detail);
	if (!err && version < OLDEST_TRIED_VERSION)
		*ret_notes = arena_printf(arena,
					  "PostgreSQL %d is older than what is known to work (%d)\n" STR_FMT,
					  version / 10000, OLDEST_TRIED_VERSION / 10000, STR_ARG(*ret_notes));
	return err;
}

const struct engine engine_postgresql = {
	.needs = postgresql_session_needs,
	.open = postgresql_session_open,
	.close = postgresql_session_close,
	.begin = postgresql_session_begin,
	.run = postgresql_engine_run,
	.end = postgresql_session_end,
	.rest = postgresql_session_rest,
	.usable = postgresql_session_usable,
	.catalog = pg_catalog,
	.check = postgresql_engine_check,
};
