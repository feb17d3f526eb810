#include "tests/harness/oracles/effects.h"

#include "common/buf.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/inotify.h>
#include <time.h>

#define MAX_CELLS  8
#define MAX_CELL   160
#define CHEAP_NAME "effects_cheap"
#define TRIES	   3
#define BUSY_TRIES 12
#define BUSY_MS	   50 /* nothing takes so long */

static const char *const names[EFFECT_COUNT_] = {
	"xid",	"wal",	   "rows",   "catalog", "large object", "sequence",   "setting",
	"lock", "session", "notify", "file",	"time",		"terminated",
};

/* What the columns of the two queries tell of, in their order. */
static const effects_t cheap_effects[] = { EFFECT(XID),	     EFFECT(XID),     EFFECT(WAL),	 EFFECT(LOCK),
					   EFFECT(SEQUENCE), EFFECT(SESSION), EFFECT(TERMINATED) };
static const effects_t thorough_effects[] = { EFFECT(SETTING), EFFECT(CATALOG), EFFECT(LARGE_OBJECT),
					      EFFECT(ROWS) };
#define CHEAP_CELLS    (sizeof cheap_effects / sizeof cheap_effects[0])
#define THOROUGH_CELLS (sizeof thorough_effects / sizeof thorough_effects[0])

struct state {
	char cells[MAX_CELLS][MAX_CELL];
};

struct effects {
	PGconn *session;
	PGconn *observer; /* LISTEN evil */
	PGconn *victim;
	char dsn[512];
	int watch; /* inotify */
	struct buf cheap_query;
	struct buf thorough_query;
	struct state cheap;
	struct state thorough;
	unsigned way; /* of the transaction under way */
	char sqlstate[8];
	char message[512];
};

static bool failed(const PGconn *connection, const char *what)
{
	fprintf(stderr, "effects: %s: %s", what, PQerrorMessage(connection));
	return false;
}

static void ignore_notice(void *unused, const PGresult *notice)
{
	(void)unused;
	(void)notice;
}

static PGconn *connect_to(const char *dsn)
{
	PGconn *connection = PQconnectdb(dsn);
	PQsetNoticeReceiver(connection, ignore_notice, NULL);
	if (PQstatus(connection) == CONNECTION_OK)
		return connection;
	(void)failed(connection, "connecting");
	PQfinish(connection);
	return NULL;
}

static bool execute(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	PQclear(result);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || failed(connection, sql);
}

bool effects_prepare(const struct test_postgres *server)
{
	static const char *const settings[] = {
		"ALTER SYSTEM SET autovacuum = off",
		"ALTER SYSTEM SET wal_level = minimal",
		"ALTER SYSTEM SET max_wal_senders = 0",
		"ALTER SYSTEM SET checkpoint_timeout = '1h'",
		"ALTER SYSTEM SET bgwriter_delay = '10s'",
		"ALTER SYSTEM SET max_parallel_workers = 0",
		"ALTER SYSTEM SET max_prepared_transactions = 5",
	};
	PGconn *connection = connect_to(server->socket_dsn);
	bool done = connection != NULL;
	for (size_t i = 0; done && i < sizeof settings / sizeof settings[0]; i++)
		done = execute(connection, settings[i]);
	PQfinish(connection);
	return done && test_postgres_do(server, "restart") == 0;
}

/* The single cell that the query answers with; it has to be freed. NULL when it fails. */
static char *single_cell(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	char *cell = PQntuples(result) == 1 ? strdup(PQgetvalue(result, 0, 0)) : NULL;
	if (!cell)
		(void)failed(connection, sql);
	PQclear(result);
	return cell;
}

static bool build_cheap_query(struct effects *effects)
{
	_cleanup_(cleanup_free) char *sequences = single_cell(
		effects->session, "SELECT coalesce(string_agg(format('(SELECT concat_ws('','', last_value, "
				  "is_called) FROM %s)',"
				  " c.oid::regclass), ','), 'NULL') FROM pg_class c WHERE c.relkind = 'S'");
	if (!sequences)
		return false;
	buf_printf(
		&effects->cheap_query,
		"SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()),"
		" pg_catalog.pg_current_xact_id_if_assigned(),"
		" pg_catalog.pg_current_wal_insert_lsn(),"
		" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE pid = "
		"pg_catalog.pg_backend_pid()"
		"    AND (locktype = 'advisory' OR (locktype = 'relation' AND mode <> 'AccessShareLock'))),"
		" pg_catalog.concat_ws(',', %s),"
		" pg_catalog.concat_ws(',', (SELECT pg_catalog.count(*) FROM "
		"pg_catalog.pg_prepared_statements),"
		"    (SELECT pg_catalog.count(*) FROM pg_catalog.pg_cursors WHERE name <> ''),"
		"    (SELECT pg_catalog.count(*) FROM pg_catalog.pg_listening_channels())),"
		" EXISTS (SELECT FROM pg_catalog.pg_stat_get_backend_idset() s"
		"    WHERE pg_catalog.pg_stat_get_backend_pid(s) = %d)",
		sequences, PQbackendPID(effects->victim));
	return true;
}

static bool build_thorough_query(struct effects *effects)
{
	_cleanup_(cleanup_free) char *tables = single_cell(
		effects->session,
		"SELECT coalesce(string_agg(format('(SELECT pg_catalog.string_agg("
		"pg_catalog.textin(pg_catalog.record_out(t)), '','' ORDER BY "
		"pg_catalog.textin(pg_catalog.record_out(t)) COLLATE pg_catalog.\"C\") FROM %s t)', "
		"c.oid::regclass),"
		" ',' ORDER BY c.oid), 'NULL') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
		" WHERE c.relkind IN ('r', 'm') AND NOT c.relforcerowsecurity AND n.nspname NOT IN "
		"('pg_catalog', 'information_schema',"
		" 'pg_toast')");
	if (!tables)
		return false;
	buf_printf(&effects->thorough_query,
		   "SELECT pg_catalog.md5((SELECT pg_catalog.string_agg(name || '=' || setting, ',')"
		   "    FROM pg_catalog.pg_settings) || session_user || current_user),"
		   " (SELECT pg_catalog.md5(pg_catalog.string_agg(x.v, ',' ORDER BY x.v)) FROM ("
		   "    SELECT 'c ' || oid || ' ' || xmin AS v FROM pg_catalog.pg_class"
		   "    UNION ALL SELECT 'p ' || oid || ' ' || xmin FROM pg_catalog.pg_proc"
		   "    UNION ALL SELECT 't ' || oid || ' ' || xmin FROM pg_catalog.pg_type"
		   "    UNION ALL SELECT 'n ' || oid || ' ' || xmin FROM pg_catalog.pg_namespace"
		   "    UNION ALL SELECT 'd ' || objoid || ' ' || xmin FROM pg_catalog.pg_description"
		   "    UNION ALL SELECT 'r ' || oid || ' ' || rolname FROM pg_catalog.pg_roles) x),"
		   " (SELECT pg_catalog.md5(pg_catalog.string_agg(oid || ' ' || xmin, ',' ORDER BY oid))"
		   "    FROM pg_catalog.pg_largeobject_metadata),"
		   " pg_catalog.md5(pg_catalog.concat_ws(';', %s))",
		   tables);
	return true;
}

/* Takes the answer, puts it into `state` and tells what is not as it was there. A query that fails, because
 * what it looks at is gone, tells everything. */
static effects_t compare(PGresult *result, const effects_t *effects, size_t count, struct state *state)
{
	bool answered = PQresultStatus(result) == PGRES_TUPLES_OK;
	effects_t found = 0;
	for (size_t i = 0; i < count; i++) {
		const char *cell = answered ? PQgetvalue(result, 0, (int)i) : "?";
		if (strncmp(state->cells[i], cell, MAX_CELL - 1) != 0)
			found |= effects[i];
		snprintf(state->cells[i], MAX_CELL, "%s", cell);
	}
	PQclear(result);
	return found;
}

static effects_t compare_cheap(struct effects *effects)
{
	/* A statement that drops all prepared ones takes this one along: everything differs then. */
	return compare(PQexecPrepared(effects->session, CHEAP_NAME, 0, NULL, NULL, NULL, 0), cheap_effects,
		       CHEAP_CELLS, &effects->cheap);
}

effects_t effects_thorough(struct effects *effects)
{
	return compare(PQexec(effects->session, buf_str(&effects->thorough_query).ptr), thorough_effects,
		       THOROUGH_CELLS, &effects->thorough);
}

/* Whether something happened in the folder since the last call. */
static effects_t folder_changed(const struct effects *effects)
{
	char events[4096];
	return read(effects->watch, events, sizeof events) > 0 ? EFFECT(FILE) : 0;
}

/* A notification comes by itself, a moment after the commit. */
static effects_t notified(const struct effects *effects, int wait_ms)
{
	struct pollfd ready = { .fd = PQsocket(effects->observer), .events = POLLIN };
	if (poll(&ready, 1, wait_ms) <= 0 || !PQconsumeInput(effects->observer))
		return 0;
	effects_t found = 0;
	for (PGnotify *note = PQnotifies(effects->observer); note; note = PQnotifies(effects->observer)) {
		found = EFFECT(NOTIFY);
		PQfreemem(note);
	}
	return found;
}

static void end_copy(PGconn *connection, ExecStatusType status)
{
	char *row;
	if (status == PGRES_COPY_IN)
		(void)PQputCopyEnd(connection, "no data");
	if (status == PGRES_COPY_OUT)
		while (PQgetCopyData(connection, &row, 0) > 0)
			PQfreemem(row);
}

static void note_failure(struct effects *effects, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	if (!sqlstate)
		return;
	snprintf(effects->sqlstate, sizeof effects->sqlstate, "%s", sqlstate);
	snprintf(effects->message, sizeof effects->message, "%s", PQresultErrorMessage(result));
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sends and takes all results; milliseconds that it took. */
static int64_t run(struct effects *effects, const char *sql, bool extended)
{
	PGconn *session = effects->session;
	int64_t start_ms = now_ms();
	effects->sqlstate[0] = '\0';
	int sent = extended ? PQsendQueryParams(session, sql, 0, NULL, NULL, NULL, NULL, 0)
			    : PQsendQuery(session, sql);
	for (PGresult *result = sent ? PQgetResult(session) : NULL; result; result = PQgetResult(session)) {
		note_failure(effects, result);
		end_copy(session, PQresultStatus(result));
		PQclear(result);
	}
	return now_ms() - start_ms;
}

static bool prepare_cheap_query(struct effects *effects)
{
	PGresult *result =
		PQprepare(effects->session, CHEAP_NAME, buf_str(&effects->cheap_query).ptr, 0, NULL);
	ExecStatusType status = PQresultStatus(result);
	PQclear(result);
	return status == PGRES_COMMAND_OK || failed(effects->session, "preparing");
}

static bool open_sessions(struct effects *effects)
{
	effects->session = connect_to(effects->dsn);
	effects->victim = connect_to(effects->dsn);
	effects->observer = connect_to(effects->dsn);
	buf_reset(&effects->cheap_query);
	buf_reset(&effects->thorough_query);
	return effects->session && effects->victim && effects->observer &&
	       execute(effects->observer, "LISTEN evil") && build_cheap_query(effects) &&
	       prepare_cheap_query(effects) && build_thorough_query(effects);
}

static void close_sessions(struct effects *effects)
{
	PQfinish(effects->session);
	PQfinish(effects->victim);
	PQfinish(effects->observer);
	effects->session = effects->victim = effects->observer = NULL;
}

void effects_reset(struct effects *effects)
{
	close_sessions(effects);
	if (!open_sessions(effects)) {
		fprintf(stderr, "effects: the server is gone\n");
		abort();
	}
	(void)compare_cheap(effects);
	(void)effects_thorough(effects);
	(void)folder_changed(effects);
}

struct effects *effects_open(const struct test_postgres *server, const char *database, const char *role,
			     const char *folder)
{
	struct effects *effects = calloc(1, sizeof *effects);
	if (!effects)
		abort();
	snprintf(effects->dsn, sizeof effects->dsn,
		 "host=%s port=%s dbname=%s user=%s options='-c statement_timeout=%d'", server->dir,
		 server->port, database, role, EFFECTS_TIMEOUT_MS);
	effects->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (effects->watch < 0 || inotify_add_watch(effects->watch, folder, IN_ALL_EVENTS) < 0) {
		perror("effects: inotify");
		effects_close(effects);
		return NULL;
	}
	if (!open_sessions(effects)) {
		effects_close(effects);
		return NULL;
	}
	effects_reset(effects);
	return effects;
}

void effects_close(struct effects *effects)
{
	close_sessions(effects);
	buf_free(&effects->cheap_query);
	buf_free(&effects->thorough_query);
	close(effects->watch);
	free(effects);
}

/* What is common to both ways: the session's own state, and who else noticed. */
static effects_t look(struct effects *effects)
{
	if (PQstatus(effects->session) != CONNECTION_OK) {
		effects_reset(effects);
		return EFFECT(TERMINATED);
	}
	effects_t found = 0;
	if (PQtransactionStatus(effects->session) != PQTRANS_IDLE) {
		found |= EFFECT(SESSION);
		(void)execute(effects->session, "ROLLBACK");
	}
	found |= compare_cheap(effects) | folder_changed(effects);
	return found | notified(effects, found & EFFECT(XID) ? 100 : 0);
}

static effects_t try_in_transaction(struct effects *effects, const char *sql, int64_t *ret_ms)
{
	effects_t found = 0;
	(void)execute(effects->session, "BEGIN");
	*ret_ms = run(effects, sql, effects->way & EFFECTS_EXTENDED_PROTOCOL);
	PGTransactionStatusType status = PQtransactionStatus(effects->session);
	if (status == PQTRANS_IDLE)
		found |= EFFECT(SESSION); /* it has ended the transaction */
	if (status == PQTRANS_INTRANS)
		found |= compare_cheap(effects);
	if (status == PQTRANS_INTRANS && effects->way & EFFECTS_THOROUGH)
		found |= effects_thorough(effects);
	if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
		(void)execute(effects->session, "ROLLBACK");
	return effects->way & EFFECTS_LOOK_LATER ? found : found | look(effects);
}

static effects_t try_alone(struct effects *effects, const char *sql, int64_t *ret_ms)
{
	*ret_ms = run(effects, sql, false);
	return look(effects);
}

/* Whether the machine is: then what is slow now may be quick the next time. */
static bool is_busy(struct effects *effects)
{
	char sqlstate[sizeof effects->sqlstate], message[sizeof effects->message];
	memcpy(sqlstate, effects->sqlstate, sizeof sqlstate);
	memcpy(message, effects->message, sizeof message);
	bool busy = run(effects, "SELECT 1", false) >= BUSY_MS;
	memcpy(effects->sqlstate, sqlstate, sizeof sqlstate);
	memcpy(effects->message, message, sizeof message);
	return busy;
}

static effects_t try_again_in_doubt(struct effects *effects, const char *sql,
				    effects_t (*try)(struct effects *, const char *, int64_t *))
{
	const effects_t doubtful = EFFECT(TIME) | EFFECT(FILE) | EFFECT(WAL);
	effects_t found = 0;
	for (unsigned i = 0; i < TRIES || (i < BUSY_TRIES && is_busy(effects)); i++) {
		int64_t elapsed_ms;
		found = try(effects, sql, &elapsed_ms);
		if (elapsed_ms >= EFFECTS_SLOW_MS)
			found |= EFFECT(TIME);
		if (found == 0 || found & ~doubtful || effects->way & EFFECTS_ONE_TRY)
			break;
	}
	return found;
}

effects_t effects_in_transaction(struct effects *effects, const char *sql, unsigned way)
{
	effects->way = way;
	return try_again_in_doubt(effects, sql, try_in_transaction);
}

effects_t effects_alone(struct effects *effects, const char *sql, unsigned way)
{
	effects->way = way;
	return try_again_in_doubt(effects, sql, try_alone);
}

const char *effects_sqlstate(const struct effects *effects)
{
	return effects->sqlstate;
}

const char *effects_message(const struct effects *effects)
{
	return effects->message;
}

effects_t effects_named(const char *name)
{
	for (size_t i = 0; i < EFFECT_COUNT_; i++)
		if (strcmp(names[i], name) == 0)
			return (effects_t)1 << i;
	return 0;
}

const char *effects_text(effects_t effects, char *buffer, size_t size)
{
	size_t length = 0;
	buffer[0] = '\0';
	for (size_t i = 0; i < EFFECT_COUNT_; i++)
		if (effects & ((effects_t)1 << i) && length < size)
			length += (size_t)snprintf(buffer + length, size - length, "%s%s", length ? ", " : "",
						   names[i]);
	return buffer;
}
