#include "target/engine.h"
#include "target/sqlite_log.h"

#include "common/clock.h"

#include <ctype.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_MAGIC	   0x53514c53u
#define OPCODES_PER_CHECK  1000
#define SQL_MAX_BYTES	   (64 << 10)
#define VALUE_MAX_BYTES	   (64 << 20)
#define EXPRESSION_DEPTH   200
#define COMPOUND_SELECTS   100
#define LIKE_PATTERN_BYTES 1000
#define PROGRAM_OPCODES	   250000
#define FORMAT_DIGITS	   3
#define BIGGEST_BUSY_MS	   INT32_MAX

struct sqlite_session {
	unsigned magic;
	const struct worker_settings *settings;
	sqlite3 *database;
	sqlite3 *formatter;  /* in memory: runs the real printf for ours */
	int64_t deadline_us; /* of the running query */
	bool lost;
};

static struct sqlite_session *session_of(void *pointer)
{
	struct sqlite_session *session = pointer;
	if (session->magic != SESSION_MAGIC)
		abort();
	return session;
}

/* --- what a query may do --- */

/* Functions that reach outside of the database, or fill the memory with one call. */
static bool is_denied_function(const char *name)
{
	static const char *const denied[] = { "load_extension", "fts3_tokenizer",  "readfile", "writefile",
					      "edit",		"randomblob",	   "zeroblob", "lsdir",
					      "sqlite_log",	"sqlite_offset",   "zipfile",  "fsdir",
					      "sqlar_compress", "sqlar_uncompress" };
	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++)
		if (sqlite3_stricmp(name, denied[i]) == 0)
			return true;
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
		     const char *trigger)
{
	(void)context;
	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_UPDATE: /* how SQLite declares a virtual table to itself; a real one does not only read */
		return strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA: /* full-text tables ask for it when they are opened */
		return sqlite3_stricmp(first, "data_version") == 0 && !second ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_FUNCTION:
		return is_denied_function(second) ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

/* A width or precision in digits, or `*`, makes one call of printf run for minutes, out of reach of the
 * progress handler: a bounded printf takes its place. */
static bool is_harmless_format(const char *format)
{
	for (const char *at = strchr(format, '%'); at; at = strchr(at + 1, '%')) {
		size_t len = strspn(at + 1, "-+ 0#!,.123456789*");
		size_t digits = 0;
		for (size_t i = 1; i <= len; i++) {
			digits = isdigit((unsigned char)at[i]) ? digits + 1 : 0;
			if (at[i] == '*' || digits > FORMAT_DIGITS)
				return false;
		}
		at += len;
	}
	return true;
}

/* Lets the real function format the same arguments in the database beside. */
static void format_with(sqlite3 *formatter, sqlite3_context *context, int count, sqlite3_value **values)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	sqlite3_stmt *statement = NULL;
	buf_append_text(&sql, "SELECT printf(?");
	for (int i = 1; i < count; i++)
		buf_append_text(&sql, ",?");
	buf_append_char(&sql, ')');
	int code = sqlite3_prepare_v2(formatter, sql.data, (int)sql.len, &statement, NULL);
	for (int i = 0; code == SQLITE_OK && i < count; i++)
		code = sqlite3_bind_value(statement, i + 1, values[i]);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		sqlite3_result_value(context, sqlite3_column_value(statement, 0));
	else
		sqlite3_result_error(context, sqlite3_errmsg(formatter), -1);
	sqlite3_finalize(statement);
}

static void bounded_printf(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct sqlite_session *session = sqlite3_user_data(context);
	const char *format = count > 0 ? (const char *)sqlite3_value_text(values[0]) : NULL;
	if (!format)
		return; /* NULL, as the real one */
	if (is_harmless_format(format))
		format_with(session->formatter, context, count, values);
	else
		sqlite3_result_error(context, "printf: the width or precision is too large", -1);
}

static int bound_printf(struct sqlite_session *session)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int code = sqlite3_open_v2(":memory:", &session->formatter,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function(session->database, "printf", -1, flags, session,
					       bounded_printf, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function(session->database, "format", -1, flags, session,
					       bounded_printf, NULL, NULL);
	return code;
}

static int watch_deadline(void *context)
{
	const struct sqlite_session *session = context;
	return clock_monotonic_us() >= session->deadline_us;
}

static void set_limits(const struct sqlite_session *session)
{
	const struct {
		int limit;
		int value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES },
		{ SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_BYTES },
		{ SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH },
		{ SQLITE_LIMIT_COMPOUND_SELECT, COMPOUND_SELECTS },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_PATTERN_BYTES },
		{ SQLITE_LIMIT_VDBE_OP, PROGRAM_OPCODES },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		sqlite3_limit(session->database, limits[i].limit, limits[i].value);
	const int off[] = { SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
			    SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, SQLITE_DBCONFIG_ENABLE_TRIGGER,
			    SQLITE_DBCONFIG_WRITABLE_SCHEMA };
	for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
		sqlite3_db_config(session->database, off[i], 0, NULL);
	int strings = !session->settings->target.policy.double_quotes_are_names;
	sqlite3_db_config(session->database, SQLITE_DBCONFIG_DQS_DML, strings, NULL);
	sqlite3_db_config(session->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

/* --- connection --- */

static err_t fail_target(struct sqlite_session *session, err_t err, struct err_detail *detail)
{
	session->lost = true;
	return err_fail(detail, err, "%s: %s", session->settings->target.path,
			sqlite3_errmsg(session->database));
}

static void lite_close(void *pointer)
{
	struct sqlite_session *session = session_of(pointer);
	sqlite3_close(session->database);
	sqlite3_close(session->formatter);
	session->magic = 0;
	free(session);
}

/* A file that was replaced by another of its name is to be opened anew. */
static bool lite_usable(const void *pointer)
{
	const struct sqlite_session *session = pointer;
	int moved = 0;
	int code = sqlite3_file_control(session->database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return !session->lost && (code != SQLITE_OK || !moved);
}

static err_t execute(struct sqlite_session *session, const char *sql, struct err_detail *detail)
{
	int code = sqlite3_exec(session->database, sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		return ERR_OK;
	bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
	return fail_target(session, busy ? ERR_TARGET_BUSY : ERR_TARGET_UNAVAILABLE, detail);
}

/* Reading the schema proves that the file is there and is a database. */
static err_t prepare_session(struct sqlite_session *session, struct err_detail *detail)
{
	const struct target_settings *target = &session->settings->target;
	int64_t busy_ms =
		target->lock_timeout_ms < BIGGEST_BUSY_MS ? target->lock_timeout_ms : BIGGEST_BUSY_MS;
	if (target->worker_memory_bytes > 0)
		sqlite3_hard_heap_limit64(target->worker_memory_bytes / 2);
	sqlite3_busy_timeout(session->database, (int)busy_ms);
	set_limits(session);
	if (bound_printf(session) != SQLITE_OK)
		return fail_target(session, ERR_TARGET_UNAVAILABLE, detail);
	return execute(session,
		       "PRAGMA query_only = 1; PRAGMA temp_store = memory; PRAGMA cell_size_check = 1;"
		       "SELECT count(*) FROM sqlite_schema",
		       detail);
}

/* As if nobody could change the file: SQLite then makes none beside it. */
static int open_immutable(const char *path, sqlite3 **ret_database)
{
	_cleanup_(buf_free) struct buf uri = BUF_INIT;
	buf_append_text(&uri, "file:");
	for (const char *at = path; *at; at++)
		if (strchr("?#%", *at))
			buf_printf(&uri, "%%%02x", (unsigned)*at);
		else
			buf_append_char(&uri, *at);
	buf_append_text(&uri, "?immutable=1");
	return sqlite3_open_v2(uri.data, ret_database,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
}

static int open_file(const struct target_settings *target, sqlite3 **ret_database)
{
	if (target->no_trace && sqlite_has_log(target->path) && !sqlite_log_is_there(target->path))
		return open_immutable(target->path, ret_database);
	return sqlite3_open_v2(target->path, ret_database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
}

static err_t lite_open(const struct worker_settings *settings, void **ret_session, struct err_detail *detail)
{
	struct sqlite_session *session = calloc(1, sizeof *session);
	if (!session)
		abort();
	session->magic = SESSION_MAGIC;
	session->settings = settings;
	int code = open_file(&settings->target, &session->database);
	err_t err = code == SQLITE_OK ? prepare_session(session, detail)
				      : fail_target(session, ERR_TARGET_UNAVAILABLE, detail);
	if (err)
		lite_close(session);
	else
		*ret_session = session;
	return err;
}

/* The first read takes the snapshot. */
static err_t lite_begin(void *pointer, struct err_detail *detail)
{
	return execute(session_of(pointer), "BEGIN; SELECT count(*) FROM sqlite_schema", detail);
}

static void lite_end(void *pointer)
{
	struct sqlite_session *session = session_of(pointer);
	if (!session->lost && !sqlite3_get_autocommit(session->database))
		execute(session, "ROLLBACK", NULL);
}

/* --- one query --- */

/* Storage classes that were seen in a column. */
enum { SEEN_INTEGER = 1, SEEN_FLOAT = 2, SEEN_TEXT = 4, SEEN_BLOB = 8 };

static bool declares(const char *declared, const char *word)
{
	return declared && strcasestr(declared, word);
}

static enum cell_class class_of_texts(const char *declared)
{
	if (declares(declared, "TIMESTAMP") || declares(declared, "DATETIME"))
		return CELL_TIMESTAMP;
	if (declares(declared, "DATE"))
		return CELL_DATE;
	if (declares(declared, "TIME"))
		return CELL_TIME;
	if (declares(declared, "JSON"))
		return CELL_JSON;
	return CELL_TEXT;
}

/* Columns of SQLite hold what they like: what was seen comes first, the declaration refines it. */
static enum cell_class class_of(unsigned seen, const char *declared)
{
	switch (seen) {
	case 0:
		return CELL_NULL;
	case SEEN_INTEGER:
		return declares(declared, "BOOL") ? CELL_BOOLEAN : CELL_INTEGER;
	case SEEN_FLOAT:
	case SEEN_FLOAT | SEEN_INTEGER:
		return declares(declared, "DEC") || declares(declared, "NUM") ? CELL_DECIMAL : CELL_FLOAT;
	case SEEN_TEXT:
		return class_of_texts(declared);
	case SEEN_BLOB:
		return CELL_BYTES;
	default:
		return CELL_UNKNOWN;
	}
}

static void describe(sqlite3_stmt *statement, struct result_builder *builder)
{
	result_begin(builder, (size_t)sqlite3_column_count(statement));
	for (size_t i = 0; i < builder->columns_count; i++) {
		const char *name = sqlite3_column_name(statement, (int)i);
		builder->columns[i].name =
			arena_text(builder->arena, name ? name : "", name ? strlen(name) : 0);
	}
}

static unsigned note_class(int storage_class)
{
	switch (storage_class) {
	case SQLITE_INTEGER:
		return SEEN_INTEGER;
	case SQLITE_FLOAT:
		return SEEN_FLOAT;
	case SQLITE_TEXT:
		return SEEN_TEXT;
	case SQLITE_BLOB:
		return SEEN_BLOB;
	default:
		return 0;
	}
}

static size_t write_hex(char *to, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		to[2 * i] = digits[bytes[i] >> 4];
		to[2 * i + 1] = digits[bytes[i] & 15];
	}
	return 2 * len;
}

/* Bytes that the cell takes as text; also turns numbers into their texts inside of SQLite. */
static size_t cell_bytes(sqlite3_stmt *statement, int column, int storage_class)
{
	if (storage_class == SQLITE_BLOB)
		return 2 * (size_t)sqlite3_column_bytes(statement, column);
	if (storage_class == SQLITE_NULL || !sqlite3_column_text(statement, column))
		return 0;
	return (size_t)sqlite3_column_bytes(statement, column);
}

static str_t write_cell(sqlite3_stmt *statement, int column, int storage_class, char *to)
{
	size_t len = (size_t)sqlite3_column_bytes(statement, column);
	if (storage_class == SQLITE_BLOB)
		return (str_t){ to, write_hex(to, sqlite3_column_blob(statement, column), len) };
	const unsigned char *text = sqlite3_column_text(statement, column);
	if (text && len)
		memcpy(to, text, len);
	return (str_t){ to, text ? len : 0 };
}

/* False when a limit is reached or no more rows are wanted. */
static bool take_row(sqlite3_stmt *statement, struct result_builder *builder, unsigned *seen, int *classes)
{
	size_t text_bytes = 0;
	char *text = NULL;
	for (size_t i = 0; i < builder->columns_count; i++) {
		classes[i] = sqlite3_column_type(statement, (int)i); /* before it is turned into a text */
		text_bytes += cell_bytes(statement, (int)i, classes[i]);
	}
	str_t *cells = result_add_row(builder, text_bytes, &text);
	if (!cells)
		return false;
	for (size_t i = 0; i < builder->columns_count; i++) {
		seen[i] |= note_class(classes[i]);
		if (classes[i] == SQLITE_NULL)
			continue;
		cells[i] = write_cell(statement, (int)i, classes[i], text);
		text += cells[i].len + 1;
	}
	return result_end_row(builder);
}

static int fetch_rows(sqlite3_stmt *statement, struct result_builder *builder)
{
	size_t columns = (size_t)sqlite3_column_count(statement);
	unsigned *seen = ARENA_ARRAY(builder->arena, unsigned, columns);
	int *classes = ARENA_ARRAY(builder->arena, int, columns);
	int code;
	describe(statement, builder);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		if (!take_row(statement, builder, seen, classes))
			break;
	for (size_t i = 0; i < columns; i++)
		builder->columns[i].type = class_of(seen[i], sqlite3_column_decltype(statement, (int)i));
	return code == SQLITE_ROW ? SQLITE_DONE : code;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n\f;")] == '\0';
}

static void refuse(struct query_run *run, const char *why)
{
	run->outcome = QUERY_FAILED;
	run->message = arena_text(run->result.arena, why, strlen(why));
}

static void time_is_up(struct query_run *run)
{
	refuse(run, "the query was cancelled at its time limit");
	run->outcome = QUERY_TIMEOUT;
}

/* Errors of the file or of its locks are not the query's. */
static err_t classify(struct sqlite_session *session, struct query_run *run, int code,
		      struct err_detail *detail)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
		run->outcome = QUERY_RETURNED;
		return ERR_OK;
	case SQLITE_INTERRUPT:
		time_is_up(run);
		return ERR_OK;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return fail_target(session, ERR_TARGET_BUSY, detail);
	case SQLITE_IOERR:
	case SQLITE_CORRUPT:
	case SQLITE_CANTOPEN:
	case SQLITE_NOTADB:
		return fail_target(session, ERR_TARGET_LOST, detail);
	default:
		run->execution.code = code;
		refuse(run, sqlite3_errmsg(session->database));
		return ERR_OK;
	}
}

static err_t run_statement(struct sqlite_session *session, str_t sql, struct query_run *run,
			   struct err_detail *detail)
{
	sqlite3_stmt *statement = NULL;
	const char *tail = "";
	err_t err = ERR_OK;
	int code = sqlite3_prepare_v3(session->database, sql.ptr, (int)sql.len + 1, 0, &statement, &tail);
	if (code != SQLITE_OK)
		err = classify(session, run, code, detail);
	else if (!statement)
		refuse(run, "there is no statement");
	else if (!is_blank(tail))
		refuse(run, "there is more than one statement");
	else if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
		refuse(run, "the statement does not only read");
	else if (sqlite3_bind_parameter_count(statement) > 0)
		refuse(run, "the statement has parameters that nobody gives");
	else
		err = classify(session, run, fetch_rows(statement, &run->result), detail);
	sqlite3_finalize(statement);
	return err;
}

static err_t lite_run(void *pointer, str_t sql, struct query_run *run, struct err_detail *detail)
{
	struct sqlite_session *session = session_of(pointer);
	int64_t start_us = clock_monotonic_us();
	if (sql.len > SQL_MAX_BYTES) {
		refuse(run, "the statement is too long");
		return ERR_OK;
	}
	session->deadline_us =
		start_us + engine_run_limit_ms(run, session->settings->target.statement_timeout_ms) * 1000;
	sqlite3_set_authorizer(session->database, authorize, session);
	sqlite3_progress_handler(session->database, OPCODES_PER_CHECK, watch_deadline, session);
	err_t err = run_statement(session, sql, run, detail);
	sqlite3_progress_handler(session->database, 0, NULL, NULL);
	sqlite3_set_authorizer(session->database, NULL, NULL);
	run->execution.time_ms = (double)(clock_monotonic_us() - start_us) / 1000.0;
	run->execution.rows = (int64_t)run->result.rows_count;
	if (!err && watch_deadline(session)) /* maybe in one long call of a function, unseen until now */
		time_is_up(run);
	return err;
}

/* --- catalog and check --- */

static err_t lite_catalog(void *pointer, struct arena *arena, str_t *ret_json, struct err_detail *detail)
{
	struct sqlite_session *session = session_of(pointer);
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(session->database,
				      "SELECT json_group_array(sql) FROM"
				      " (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid)",
				      -1, &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*ret_json = arena_text(arena, (const char *)sqlite3_column_text(statement, 0),
				       (size_t)sqlite3_column_bytes(statement, 0));
	sqlite3_finalize(statement);
	return code == SQLITE_ROW ? ERR_OK : fail_target(session, ERR_CATALOG_UNAVAILABLE, detail);
}

/* Opening has read the schema already; the file is only opened for reading whatever its permissions say. */
static err_t lite_check(void *pointer, struct arena *arena, str_t *ret_notes, struct err_detail *detail)
{
	(void)session_of(pointer);
	(void)detail;
	*ret_notes = arena_text(arena, "", 0);
	return ERR_OK;
}

/* --- what it needs --- */

/* SQLite makes the log and its index anew where the last connection has removed them, as far as the folder
 * lets it: empty ones do as well, and can be named. */
static void make_beside(const char *path, const char *suffix, bool no_trace, struct confinement *needs)
{
	struct stat database;
	str_t name = arena_printf(needs->arena, "%s%s", path, suffix);
	if (!no_trace && stat(path, &database) == 0) {
		_cleanup_(cleanup_close) int fd = open(name.ptr, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
						       database.st_mode & ACCESSPERMS);
		if (fd >= 0 && geteuid() == 0 && fchown(fd, database.st_uid, database.st_gid) != 0)
			return; /* then only we can use it, as before */
	}
	confine_add(needs, name.ptr, true);
}

/* The folder, too: the file may be replaced by another one of its name. */
static void lite_needs(const struct worker_settings *settings, struct confinement *needs)
{
	char *path = realpath(settings->target.path, NULL);
	if (!path)
		return;
	if (sqlite_has_log(path)) {
		make_beside(path, "-wal", settings->target.no_trace, needs);
		make_beside(path, "-shm", settings->target.no_trace, needs);
	}
	*strrchr(path, '/') = '\0';
	confine_add(needs, path[0] ? path : "/", false);
	free(path);
}

const struct engine engine_sqlite = {
	.classes_at_end = true,
	.needs = lite_needs,
	.open = lite_open,
	.close = lite_close,
	.begin = lite_begin,
	.run = lite_run,
	.end = lite_end,
	.usable = lite_usable,
	.catalog = lite_catalog,
	.check = lite_check,
};
