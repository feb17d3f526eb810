#include "target/mariadb_session.h"

#include "common/buf.h"
#include "common/clock.h"

#include <errmsg.h>
#include <errno.h>
#include <fcntl.h>
#include <mysqld_error.h>
#include <poll.h>
#include <sys/socket.h>

#define SESSION_MAGIC	   0x4d594453u
#define CONNECT_TIMEOUT_MS 5000
#define OWN_STATEMENT_MS   10000
#define IDLE_SLACK_S	   60
#define PACKET_LEAST_BYTES ((int64_t)16 << 20)
#define PACKET_SLACK_BYTES ((int64_t)64 << 10)

#define OWN_ERRORS_MIN 5000 /* of the library, besides CR_MIN_ERROR to CR_MAX_ERROR */
#define OWN_ERRORS_MAX 5999

/* Of MySQL: MariaDB's headers do not have it. */
#define MYSQL_CLIENT_INTERACTION_TIMEOUT 4031

/* Ways to log in that do not show the password to whoever answers … */
#define AUTHENTICATION "mysql_native_password,client_ed25519,caching_sha2_password"
/* … and those that rely on TLS for that. */
#define AUTHENTICATION_IN_TLS AUTHENTICATION ",sha256_password,mysql_clear_password,dialog"

struct mariadb_session *mariadb_session_of(void *pointer)
{
	struct mariadb_session *session = pointer;
	if (session->magic != SESSION_MAGIC)
		abort();
	return session;
}

/* --- deadlines --- */

/* The library's callback has no context: this is the session whose function is being called. */
static _Thread_local struct mariadb_session *attended;

void mariadb_session_attend(struct mariadb_session *session, enum mariadb_session_phase phase,
			    int64_t timeout_ms)
{
	attended = session;
	session->phase = phase;
	session->deadline_us = clock_monotonic_us() + timeout_ms * 1000;
}

bool mariadb_session_has_time(struct mariadb_session *session)
{
	if (clock_monotonic_us() < session->deadline_us)
		return true;
	if (session->phase != MARIADB_SESSION_QUERY)
		return false;
	bool heard = mariadb_session_cancel(session);
	mariadb_session_attend(session,
			       heard ? MARIADB_SESSION_CANCELLED_TIME : MARIADB_SESSION_CANCEL_UNHEARD,
			       MARIADB_SESSION_GIVE_UP_MS);
	return heard;
}

/* In place of the library's own waiting, which has no end but that of each read. */
static int wait_for_socket(my_socket fd, my_bool is_read, int timeout_ms)
{
	(void)timeout_ms;
	int ready = 0;
	while (ready == 0 && mariadb_session_has_time(attended)) {
		int64_t left_us = attended->deadline_us - clock_monotonic_us();
		struct pollfd socket = { .fd = fd, .events = is_read ? POLLIN : POLLOUT };
		ready = poll(&socket, 1, left_us > 0 ? (int)(left_us / 1000 + 1) : 0);
		if (ready < 0 && errno == EINTR)
			ready = 0;
	}
	if (ready == 0)
		errno = ETIMEDOUT;
	return ready;
}

/* --- messages --- */

/* Overwrites every occurrence of the password, whoever put it into the message. */
static void redact(char *message, str_t password)
{
	if (password.len == 0)
		return;
	for (char *at = message; (at = strstr(at, password.ptr)); at += password.len)
		memset(at, '*', password.len);
}

unsigned mariadb_session_errno(const struct mariadb_session *session, MYSQL_STMT *statement)
{
	unsigned number = mysql_errno(session->connection);
	return number || !statement ? number : mysql_stmt_errno(statement);
}

static const char *error_text(const struct mariadb_session *session, MYSQL_STMT *statement)
{
	bool of_connection = mysql_errno(session->connection) || !statement;
	return of_connection ? mysql_error(session->connection) : mysql_stmt_error(statement);
}

str_t mariadb_session_message(const struct mariadb_session *session, MYSQL_STMT *statement,
			      struct arena *arena)
{
	const char *text = error_text(session, statement);
	char *bytes = arena_strdup(arena, text);
	bytes[strcspn(bytes, "\n")] = '\0';
	redact(bytes, session->settings->password);
	return str_from(bytes);
}

static err_t fail_with(const struct mariadb_session *session, err_t err, struct err_detail *detail)
{
	struct err_detail own;
	const char *text = mysql_error(session->connection);
	snprintf(own.message, sizeof own.message, "%.*s", (int)strcspn(text, "\n"), text);
	redact(own.message, session->settings->password);
	return err_fail(detail, err, "%s", own.message[0] ? own.message : err_text(err));
}

/* --- errors --- */

/* What speaks of the server's state and not of the query: worth another try. */
static const struct {
	unsigned number;
	err_t err;
} target_errors[] = {
	{ ER_SERVER_SHUTDOWN, ERR_TARGET_LOST },
	{ ER_NORMAL_SHUTDOWN, ERR_TARGET_LOST },
	{ ER_FORCING_CLOSE, ERR_TARGET_LOST },
	{ ER_ABORTING_CONNECTION, ERR_TARGET_LOST },
	{ ER_NEW_ABORTING_CONNECTION, ERR_TARGET_LOST },
	{ ER_CONNECTION_KILLED, ERR_TARGET_LOST },
	{ MYSQL_CLIENT_INTERACTION_TIMEOUT, ERR_TARGET_LOST },
	{ ER_NET_READ_ERROR, ERR_TARGET_LOST },
	{ ER_NET_READ_INTERRUPTED, ERR_TARGET_LOST },
	{ ER_NET_ERROR_ON_WRITE, ERR_TARGET_LOST },
	{ ER_NET_WRITE_INTERRUPTED, ERR_TARGET_LOST },
	{ ER_CON_COUNT_ERROR, ERR_TARGET_BUSY },
	{ ER_TOO_MANY_USER_CONNECTIONS, ERR_TARGET_BUSY },
	{ ER_USER_LIMIT_REACHED, ERR_TARGET_BUSY },
	{ ER_MAX_PREPARED_STMT_COUNT_REACHED, ERR_TARGET_BUSY },
	{ ER_OUTOFMEMORY, ERR_TARGET_BUSY },
	{ ER_OUT_OF_SORTMEMORY, ERR_TARGET_BUSY },
	{ ER_OUT_OF_RESOURCES, ERR_TARGET_BUSY },
	{ ER_CANT_CREATE_THREAD, ERR_TARGET_BUSY },
	{ ER_DISK_FULL, ERR_TARGET_BUSY },
	{ ER_RECORD_FILE_FULL, ERR_TARGET_BUSY },
	{ ER_LOCK_WAIT_TIMEOUT, ERR_TARGET_BUSY },
	{ ER_LOCK_DEADLOCK, ERR_TARGET_BUSY },
	{ ER_TABLE_DEF_CHANGED, ERR_TARGET_BUSY }, /* the snapshot is older than the table's form */
	{ ER_NEED_REPREPARE, ERR_TARGET_BUSY },
	{ ER_CHECKREAD, ERR_TARGET_BUSY },
	{ ER_GET_ERRNO, ERR_TARGET_BUSY }, /* of the storage engine */
	{ ER_NOT_KEYFILE, ERR_TARGET_BUSY },
	{ ER_CRASHED_ON_USAGE, ERR_TARGET_BUSY },
	{ ER_CRASHED_ON_REPAIR, ERR_TARGET_BUSY },
	{ ER_GET_TEMPORARY_ERRMSG, ERR_TARGET_BUSY },
};

/* Errors that the library has made, not the server. */
static bool is_own_error(unsigned number)
{
	return (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) ||
	       (number >= OWN_ERRORS_MIN && number <= OWN_ERRORS_MAX);
}

err_t mariadb_session_target_error(unsigned number)
{
	if (is_own_error(number))
		return ERR_TARGET_LOST;
	for (size_t i = 0; i < sizeof target_errors / sizeof target_errors[0]; i++)
		if (target_errors[i].number == number)
			return target_errors[i].err;
	return ERR_OK;
}

/* A statement of our own has failed: that is never a query's fault. */
static err_t fail_own(struct mariadb_session *session, struct err_detail *detail)
{
	err_t err = mariadb_session_target_error(mysql_errno(session->connection));
	return fail_with(session, err ? err : ERR_TARGET_LOST, detail);
}

/* --- connection --- */

static int refuse_file(void **context, const char *name, void *data)
{
	(void)name;
	(void)data;
	*context = NULL;
	return 1;
}

static int read_no_file(void *context, char *buffer, unsigned size)
{
	(void)context;
	(void)buffer;
	(void)size;
	return -1;
}

static void end_no_file(void *context)
{
	(void)context;
}

static int say_no_file(void *context, char *message, unsigned size)
{
	(void)context;
	snprintf(message, size, "files of the client are not sent");
	return CR_UNKNOWN_ERROR;
}

/* A row that could not be part of a result anyway is not read into memory. */
static unsigned long packet_bytes(const struct target_settings *target)
{
	int64_t most =
		target->max_result_bytes > PACKET_LEAST_BYTES ? target->max_result_bytes : PACKET_LEAST_BYTES;
	if (target->worker_memory_bytes > 0 && most > target->worker_memory_bytes / 4)
		most = target->worker_memory_bytes / 4;
	return (unsigned long)(most + PACKET_SLACK_BYTES);
}

static void set_ssl(MYSQL *connection, const struct mariadb_dsn *dsn)
{
	const my_bool verify = dsn->ssl_verify, enforce = dsn->ssl;
	mysql_options(connection, MYSQL_OPT_SSL_ENFORCE, &enforce);
	if (!dsn->ssl)
		return;
	mysql_options(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
	if (dsn->ssl_ca)
		mysql_options(connection, MYSQL_OPT_SSL_CA, dsn->ssl_ca);
	if (dsn->ssl_cert)
		mysql_options(connection, MYSQL_OPT_SSL_CERT, dsn->ssl_cert);
	if (dsn->ssl_key)
		mysql_options(connection, MYSQL_OPT_SSL_KEY, dsn->ssl_key);
}

/* A connection that is not connected yet: it sends no files, comes back by itself never, and shows the
 * password to nobody who cannot be known. */
static MYSQL *new_connection(const struct mariadb_session *session)
{
	const struct mariadb_dsn *dsn = &session->dsn;
	const unsigned off = 0;
	const my_bool no = 0;
	const unsigned long most = packet_bytes(&session->settings->target);
	const enum mysql_protocol_type protocol = dsn->host ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
	bool trusted = dsn->ssl && dsn->ssl_verify;
	MYSQL *connection = mysql_init(NULL);
	if (!connection)
		abort();
	mysql_options(connection, MYSQL_OPT_LOCAL_INFILE, &off);
	mysql_set_local_infile_handler(connection, refuse_file, read_no_file, end_no_file, say_no_file, NULL);
	mysql_options(connection, MYSQL_OPT_RECONNECT, &no);
	mysql_options(connection, MYSQL_OPT_PROTOCOL, &protocol);
	mysql_options(connection, MYSQL_OPT_MAX_ALLOWED_PACKET, &most);
	mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(connection, MARIADB_OPT_RESTRICTED_AUTH,
		      trusted ? AUTHENTICATION_IN_TLS : AUTHENTICATION);
	mysql_options4(connection, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "assayd");
	set_ssl(connection, dsn);
	return connection;
}

static void set_timeouts(MYSQL *connection, int64_t timeout_ms)
{
	const unsigned seconds = (unsigned)((timeout_ms + 999) / 1000);
	mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	mysql_options(connection, MYSQL_OPT_READ_TIMEOUT, &seconds);
	mysql_options(connection, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
}

/* An absent password is an empty one: for none at all the library would look into the environment. */
static bool connect_to(const struct mariadb_session *session, MYSQL *connection)
{
	const struct mariadb_dsn *dsn = &session->dsn;
	const char *password =
		str_present(session->settings->password) ? session->settings->password.ptr : "";
	return mysql_real_connect(connection, dsn->host, dsn->user, password, dsn->dbname,
				  dsn->host ? dsn->port : 0, dsn->socket, 0) != NULL;
}

/* With TLS the library reads by itself from a blocking socket; from one that does not block it waits through
 * our callback. */
static void unblock(MYSQL *connection)
{
	int fd = (int)mysql_get_socket(connection);
	int flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void mariadb_session_abandon(struct mariadb_session *session)
{
	if (mysql_get_socket(session->connection) != MARIADB_INVALID_SOCKET)
		shutdown((int)mysql_get_socket(session->connection), SHUT_RDWR);
	session->abandoned = true;
}

void mariadb_session_close(void *pointer)
{
	struct mariadb_session *session = mariadb_session_of(pointer);
	query_canceller_dismiss(&session->query_canceller);
	mariadb_session_attend(session, MARIADB_SESSION_PLAIN, MARIADB_SESSION_GIVE_UP_MS);
	mysql_close(session->connection);
	attended = NULL;
	arena_free(session->arena);
	session->magic = 0;
	free(session);
}

bool mariadb_session_usable(const void *pointer)
{
	const struct mariadb_session *session = pointer;
	my_socket fd = mysql_get_socket(session->connection);
	struct pollfd socket = { .fd = fd, .events = POLLRDHUP };
	return !session->abandoned && fd != MARIADB_INVALID_SOCKET && poll(&socket, 1, 0) == 0;
}

bool mariadb_session_cancel(struct mariadb_session *session)
{
	char sql[64];
	MYSQL *beside = new_connection(session);
	set_timeouts(beside, MARIADB_SESSION_GIVE_UP_MS);
	snprintf(sql, sizeof sql, "KILL QUERY %lu", mysql_thread_id(session->connection));
	bool heard = connect_to(session, beside) && mysql_real_query(beside, sql, strlen(sql)) == 0;
	unsigned number = mysql_errno(beside);
	mysql_close(beside);
	return heard || !is_own_error(number);
}

/* In the canceller's process. */
static void cancel_for_the_dead(void *session)
{
	mariadb_session_cancel(mariadb_session_of(session));
}

/* `ret_result` is NULL for a statement that has none. */
static err_t ask(struct mariadb_session *session, const char *sql, MYSQL_RES **ret_result,
		 struct err_detail *detail)
{
	mariadb_session_attend(session, MARIADB_SESSION_PLAIN, OWN_STATEMENT_MS);
	if (mysql_real_query(session->connection, sql, strlen(sql)) != 0)
		return fail_own(session, detail);
	MYSQL_RES *result = mysql_store_result(session->connection);
	if (!result && mysql_field_count(session->connection) > 0)
		return fail_own(session, detail);
	*ret_result = result;
	return ERR_OK;
}

err_t mariadb_session_execute(struct mariadb_session *session, const char *sql, struct err_detail *detail)
{
	MYSQL_RES *result;
	err_t err = ask(session, sql, &result, detail);
	if (!err)
		mysql_free_result(result);
	return err;
}

err_t mariadb_session_read(struct mariadb_session *session, const char *query, MYSQL_RES **ret_result,
			   struct err_detail *detail)
{
	MYSQL_RES *result;
	err_t err = ask(session, query, &result, detail);
	if (!err && !result)
		err = err_fail(detail, ERR_TARGET_LOST, "the server gives no rows for: %s", query);
	if (!err)
		*ret_result = result;
	return err;
}

/* --- settings of the session --- */

/* Modes of the server that decide which values and queries are accepted: they stay as the administrator has
 * set them. All others change how a text is read, and safety was judged by the default reading. */
static const char *const kept_modes[] = {
	"ONLY_FULL_GROUP_BY",
	"STRICT_TRANS_TABLES",
	"STRICT_ALL_TABLES",
	"NO_ZERO_IN_DATE",
	"NO_ZERO_DATE",
	"ALLOW_INVALID_DATES",
	"ERROR_FOR_DIVISION_BY_ZERO",
	"NO_UNSIGNED_SUBTRACTION",
	"TIME_ROUND_FRACTIONAL",
	"TIME_TRUNCATE_FRACTIONAL",
};

static bool is_kept_mode(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof kept_modes / sizeof kept_modes[0]; i++)
		if (strlen(kept_modes[i]) == len && strncmp(kept_modes[i], name, len) == 0)
			return true;
	return false;
}

static void choose_modes(const char *modes, char *ret_kept, size_t size)
{
	size_t used = 0;
	ret_kept[0] = '\0';
	for (const char *at = modes; *at; at += at[strcspn(at, ",")] ? strcspn(at, ",") + 1 : strlen(at)) {
		size_t len = strcspn(at, ",");
		if (is_kept_mode(at, len) && used + len + 2 < size)
			used += (size_t)snprintf(ret_kept + used, size - used, "%s%.*s", used ? "," : "",
						 (int)len, at);
	}
}

static err_t read_modes(struct mariadb_session *session, struct err_detail *detail)
{
	MYSQL_RES *result;
	err_t err = mariadb_session_read(session, "SELECT @@GLOBAL.sql_mode", &result, detail);
	if (err)
		return err;
	MYSQL_ROW row = mysql_fetch_row(result);
	if (row && row[0])
		choose_modes(row[0], session->sql_mode, sizeof session->sql_mode);
	mysql_free_result(result);
	return ERR_OK;
}

static int64_t whole_seconds(int64_t ms)
{
	return (ms + 999) / 1000;
}

err_t mariadb_session_configure(struct mariadb_session *session, struct err_detail *detail)
{
	const struct target_settings *target = &session->settings->target;
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	buf_printf(&sql,
		   "SET NAMES utf8mb4, sql_mode = '%s', time_zone = '%s', autocommit = 1,"
		   " sql_select_limit = 18446744073709551615, lock_wait_timeout = %lld,"
		   " innodb_lock_wait_timeout = %lld, group_concat_max_len = "
		   "LEAST(@@GLOBAL.group_concat_max_len, %lld)",
		   session->sql_mode, session->dsn.time_zone,
		   (long long)whole_seconds(target->lock_timeout_ms),
		   (long long)whole_seconds(target->lock_timeout_ms), (long long)target->max_result_bytes);
	if (session->is_mysql)
		buf_printf(&sql, ", max_execution_time = %lld", (long long)target->statement_timeout_ms);
	else
		buf_printf(&sql, ", max_statement_time = %lld.%03lld, idle_transaction_timeout = %lld",
			   (long long)target->statement_timeout_ms / 1000,
			   (long long)target->statement_timeout_ms % 1000,
			   (long long)whole_seconds(target->statement_timeout_ms) + IDLE_SLACK_S);
	err_t err = mariadb_session_execute(session, sql.data, detail);
	if (err)
		return err;
	return mariadb_session_execute(
		session, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", detail);
}

static err_t log_in(struct mariadb_session *session, struct err_detail *detail)
{
	set_timeouts(session->connection, CONNECT_TIMEOUT_MS);
	mysql_optionsv(session->connection, MARIADB_OPT_IO_WAIT, wait_for_socket);
	mariadb_session_attend(session, MARIADB_SESSION_PLAIN, CONNECT_TIMEOUT_MS);
	if (!connect_to(session, session->connection))
		return fail_with(session, ERR_TARGET_UNAVAILABLE, detail);
	/* where nothing is verified, the library goes on in the clear with a server that has no TLS */
	if (session->dsn.ssl && !mysql_get_ssl_cipher(session->connection))
		return err_fail(detail, ERR_TARGET_UNAVAILABLE,
				"the server has no TLS (SSL), which the dsn asks for");
	unblock(session->connection);
	session->is_mysql = !mariadb_connection(session->connection);
	err_t err = read_modes(session, detail);
	if (!err)
		err = mariadb_session_configure(session, detail);
	return err ? ERR_TARGET_UNAVAILABLE : ERR_OK;
}

void mariadb_session_needs(const struct worker_settings *settings, struct confinement *needs)
{
	struct mariadb_dsn dsn;
	needs->network = true;
	if (mariadb_dsn_parse(settings->target.dsn, needs->arena, &dsn, NULL))
		return; /* connecting says why */
	confine_add(needs, dsn.ssl_ca, false);
	confine_add(needs, dsn.ssl_cert, false);
	confine_add(needs, dsn.ssl_key, false);
	confine_add_port(needs, dsn.port);
	needs->abstract_sockets = dsn.socket && dsn.socket[0] == '@';
}

err_t mariadb_session_connect(const struct worker_settings *settings, struct mariadb_session **ret_session,
			      struct err_detail *detail)
{
	struct arena *arena = arena_new();
	struct mariadb_dsn dsn;
	err_t err = mariadb_dsn_parse(settings->target.dsn, arena, &dsn, detail);
	if (err) {
		arena_free(arena);
		return err;
	}
	struct mariadb_session *session = calloc(1, sizeof *session);
	if (!session)
		abort();
	session->magic = SESSION_MAGIC;
	session->settings = settings;
	session->arena = arena;
	session->dsn = dsn;
	session->connection = new_connection(session);
	err = log_in(session, detail);
	if (err) {
		mariadb_session_close(session);
		return err;
	}
	query_canceller_start(&session->query_canceller, cancel_for_the_dead, session);
	*ret_session = session;
	return ERR_OK;
}
