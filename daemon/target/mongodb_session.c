#include "target/mongodb_session.h"

#include "common/buf.h"
#include "common/clock.h"

#define SESSION_MAGIC	   0x4d4f4442u
#define CONNECT_TIMEOUT_MS 5000
#define GIVE_UP_MS	   2000
#define SNAPSHOT_WIRE	   13 /* MongoDB 5.0 */

DEFINE_CLEANUP(mongoc_uri_t, uri_cleanup, mongoc_uri_destroy)

struct mongodb_session *mongodb_session_of(void *pointer)
{
	struct mongodb_session *session = pointer;
	if (session->magic != SESSION_MAGIC)
		abort();
	return session;
}

/* --- errors --- */

/* What speaks of the server's state and not of the query: worth another try. Source: error_codes.yml of
 * MongoDB's server. */
static const struct {
	uint32_t code;
	err_t err;
} target_errors[] = {
	{ 6, ERR_TARGET_LOST },	    /* HostUnreachable */
	{ 7, ERR_TARGET_LOST },	    /* HostNotFound */
	{ 46, ERR_TARGET_BUSY },    /* LockBusy */
	{ 24, ERR_TARGET_BUSY },    /* LockTimeout */
	{ 89, ERR_TARGET_LOST },    /* NetworkTimeout */
	{ 91, ERR_TARGET_LOST },    /* ShutdownInProgress */
	{ 107, ERR_TARGET_BUSY },   /* LockFailed */
	{ 133, ERR_TARGET_LOST },   /* FailedToSatisfyReadPreference */
	{ 134, ERR_TARGET_BUSY },   /* ReadConcernMajorityNotAvailableYet */
	{ 189, ERR_TARGET_LOST },   /* PrimarySteppedDown */
	{ 202, ERR_TARGET_BUSY },   /* NetworkInterfaceExceededTimeLimit */
	{ 239, ERR_TARGET_BUSY },   /* SnapshotTooOld */
	{ 246, ERR_TARGET_BUSY },   /* SnapshotUnavailable */
	{ 317, ERR_TARGET_LOST },   /* ConnectionPoolExpired */
	{ 384, ERR_TARGET_LOST },   /* ConnectionError */
	{ 9001, ERR_TARGET_LOST },  /* SocketException */
	{ 10107, ERR_TARGET_LOST }, /* NotWritablePrimary */
	{ 11600, ERR_TARGET_LOST }, /* InterruptedAtShutdown */
	{ 11602, ERR_TARGET_LOST }, /* InterruptedDueToReplStateChange */
	{ 13388, ERR_TARGET_BUSY }, /* StaleConfig */
	{ 13435, ERR_TARGET_LOST }, /* NotPrimaryNoSecondaryOk */
	{ 13436, ERR_TARGET_LOST }, /* NotPrimaryOrSecondary */
};

err_t mongodb_session_target_error(const bson_error_t *error)
{
	if (error->domain != MONGOC_ERROR_SERVER)
		return error->domain == MONGOC_ERROR_STREAM || error->domain == MONGOC_ERROR_CLIENT ||
				       error->domain == MONGOC_ERROR_PROTOCOL ||
				       error->domain == MONGOC_ERROR_SERVER_SELECTION
			       ? ERR_TARGET_LOST
			       : ERR_OK;
	for (size_t i = 0; i < sizeof target_errors / sizeof target_errors[0]; i++)
		if (target_errors[i].code == error->code)
			return target_errors[i].err;
	return ERR_OK;
}

bool mongodb_session_denies(const bson_error_t *error)
{
	enum { UNAUTHORIZED = 13, ATLAS_ERROR = 8000 };
	return error->domain == MONGOC_ERROR_SERVER &&
	       (error->code == UNAUTHORIZED || error->code == ATLAS_ERROR);
}

/* Overwrites every occurrence of the password, whoever put it into the message. */
static void redact(char *message, str_t password)
{
	if (password.len == 0)
		return;
	for (char *at = message; (at = strstr(at, password.ptr)); at += password.len)
		memset(at, '*', password.len);
}

str_t mongodb_session_message(const struct mongodb_session *session, const bson_error_t *error,
			      struct arena *arena)
{
	char *bytes = arena_strdup(arena, error->message);
	bytes[strcspn(bytes, "\n")] = '\0';
	redact(bytes, session->settings->password);
	return str_from(bytes);
}

/* What the library says of the servers that it tried, without how it tries. */
static void say_which(const char *message, char *to, size_t size)
{
	static const char none[] = "No suitable servers found";
	const char *tried = strstr(message, ": [");
	if (strncmp(message, none, sizeof none - 1) != 0)
		snprintf(to, size, "%.*s", (int)strcspn(message, "\n"), message);
	else if (tried)
		snprintf(to, size, "%.*s", (int)strcspn(tried + 3, "\n]"), tried + 3);
	else
		snprintf(to, size, "no suitable server was found");
}

static err_t fail_with(const struct mongodb_session *session, err_t err, const bson_error_t *error,
		       struct err_detail *detail)
{
	struct err_detail own;
	say_which(error->message, own.message, sizeof own.message);
	redact(own.message, session->settings->password);
	return err_fail(detail, err, "%s", own.message[0] ? own.message : err_text(err));
}

/* --- connecting --- */

void mongodb_session_needs(const struct worker_settings *settings, struct confinement *needs)
{
	struct mongodb_dsn dsn;
	needs->network = true;
	if (mongodb_dsn_parse(settings->target.dsn, needs->arena, &dsn, NULL))
		return; /* connecting says why */
	confine_add(needs, dsn.ca_file, false);
	confine_add(needs, dsn.key_file, false);
	for (size_t i = 0; i < dsn.ports_count; i++)
		confine_add_port(needs, dsn.ports[i]);
}

static err_t make_uri(const struct mongodb_session *session, int32_t socket_timeout_ms,
		      mongoc_uri_t **ret_uri, struct err_detail *detail)
{
	bson_error_t ignored; /* quotes the string, which was read before */
	str_t password = session->settings->password;
	mongoc_uri_t *uri = mongoc_uri_new_with_error(session->settings->target.dsn, &ignored);
	if (!uri || (str_present(password) && !mongoc_uri_set_password(uri, password.ptr))) {
		mongoc_uri_destroy(uri);
		return err_fail(detail, ERR_TARGET_UNAVAILABLE, "the password is not valid UTF-8");
	}
	mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, socket_timeout_ms);
	mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYREADS, false);
	if (!session->dsn.connect_timeout)
		mongoc_uri_set_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, CONNECT_TIMEOUT_MS);
	if (!session->dsn.selection_timeout)
		mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, CONNECT_TIMEOUT_MS);
	*ret_uri = uri;
	return ERR_OK;
}

static err_t make_client(const struct mongodb_session *session, int32_t socket_timeout_ms,
			 mongoc_client_t **ret_client, struct err_detail *detail)
{
	_cleanup_(uri_cleanup) mongoc_uri_t *uri = NULL;
	bson_error_t error = { 0 };
	err_t err = make_uri(session, socket_timeout_ms, &uri, detail);
	if (err)
		return err;
	mongoc_client_t *client = mongoc_client_new_from_uri_with_error(uri, &error);
	if (!client)
		return fail_with(session, ERR_TARGET_UNAVAILABLE, &error, detail);
	mongoc_client_set_error_api(client, MONGOC_ERROR_API_VERSION_2);
	mongoc_client_set_appname(client, "assayd");
	if (!session->dsn.reads_from) {
		mongoc_read_prefs_t *secondary = mongoc_read_prefs_new(MONGOC_READ_SECONDARY_PREFERRED);
		mongoc_client_set_read_prefs(client, secondary);
		mongoc_read_prefs_destroy(secondary);
	}
	*ret_client = client;
	return ERR_OK;
}

static int32_t number_of(const bson_t *document, const char *name)
{
	bson_iter_t iter;
	return bson_iter_init_find(&iter, document, name) && BSON_ITER_HOLDS_NUMBER(&iter)
		       ? (int32_t)bson_iter_as_int64(&iter)
		       : 0;
}

/* By the server that answered; of several, what all of them can do. */
static void learn(struct mongodb_session *session)
{
	size_t count;
	mongoc_server_description_t **servers =
		mongoc_client_get_server_descriptions(session->client, &count);
	struct mongodb_server all = { .wire_version = INT32_MAX, .sessions = true, .set = true };
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		const bson_t *hello = mongoc_server_description_hello_response(servers[i]);
		const char *type = mongoc_server_description_type(servers[i]);
		int32_t wire_version = number_of(hello, "maxWireVersion");
		if (strcmp(type, "Unknown") == 0 || strcmp(type, "RSArbiter") == 0)
			continue;
		any = true;
		all.wire_version = wire_version < all.wire_version ? wire_version : all.wire_version;
		all.sessions &= bson_has_field(hello, "logicalSessionTimeoutMinutes");
		all.set &= strcmp(type, "Standalone") != 0;
	}
	all.snapshots = all.sessions && all.set && all.wire_version >= SNAPSHOT_WIRE;
	if (any)
		session->server = all;
	mongoc_server_descriptions_destroy_all(servers, count);
}

static err_t log_in(struct mongodb_session *session, struct err_detail *detail)
{
	const struct target_settings *target = &session->settings->target;
	bson_t *ping = BCON_NEW("ping", BCON_INT32(1));
	bson_t reply = BSON_INITIALIZER;
	int64_t timeout_ms = target->statement_timeout_ms + CLIENT_TIMER_SLACK_MS;
	err_t err = make_client(session, timeout_ms < INT32_MAX ? (int32_t)timeout_ms : INT32_MAX,
				&session->client, detail);
	if (!err)
		err = mongodb_session_command(session, session->dsn.database, ping, &reply, detail)
			      ? ERR_TARGET_UNAVAILABLE
			      : ERR_OK;
	if (!err)
		learn(session);
	bson_destroy(&reply);
	bson_destroy(ping);
	return err;
}

err_t mongodb_session_connect(const struct worker_settings *settings, struct mongodb_session **ret_session,
			      struct err_detail *detail)
{
	struct arena *arena = arena_new();
	struct mongodb_dsn dsn;
	err_t err = mongodb_dsn_parse(settings->target.dsn, arena, &dsn, detail);
	if (err) {
		arena_free(arena);
		return err;
	}
	struct mongodb_session *session = calloc(1, sizeof *session);
	if (!session)
		abort();
	mongoc_init(); /* once for all */
	session->magic = SESSION_MAGIC;
	session->settings = settings;
	session->arena = arena;
	session->dsn = dsn;
	err = log_in(session, detail);
	if (err)
		mongodb_session_close(session);
	else
		*ret_session = session;
	return err;
}

err_t mongodb_session_renew(struct mongodb_session *session, struct err_detail *detail)
{
	if (!session->abandoned)
		return ERR_OK;
	mongodb_session_end(session);
	mongoc_client_destroy(session->client);
	session->client = NULL;
	session->abandoned = false;
	err_t err = log_in(session, detail);
	session->abandoned |= err != ERR_OK;
	return err;
}

void mongodb_session_close(void *pointer)
{
	struct mongodb_session *session = mongodb_session_of(pointer);
	mongodb_session_end(session);
	mongoc_client_destroy(session->client);
	arena_free(session->arena);
	session->magic = 0;
	free(session);
}

bool mongodb_session_usable(const void *pointer)
{
	const struct mongodb_session *session = pointer;
	return !session->abandoned;
}

/* --- reads --- */

err_t mongodb_session_begin(struct mongodb_session *session, struct err_detail *detail)
{
	bson_error_t error = { 0 };
	session->now_ms = clock_wall_ms();
	if (!session->server.sessions)
		return ERR_OK;
	mongoc_session_opt_t *options = mongoc_session_opts_new();
	mongoc_session_opts_set_causal_consistency(options, false);
	mongoc_session_opts_set_snapshot(options, session->server.snapshots);
	session->reading = mongoc_client_start_session(session->client, options, &error);
	mongoc_session_opts_destroy(options);
	if (session->reading)
		return ERR_OK;
	session->abandoned = true;
	return fail_with(session, ERR_TARGET_LOST, &error, detail);
}

void mongodb_session_end(struct mongodb_session *session)
{
	mongoc_client_session_destroy(session->reading);
	session->reading = NULL;
}

void mongodb_session_options(const struct mongodb_session *session, int64_t limit_ms, bson_t *ret_options)
{
	bson_error_t ignored; /* it is a session of this client */
	bson_init(ret_options);
	BSON_APPEND_INT64(ret_options, "maxTimeMS", limit_ms > 0 ? limit_ms : 1);
	if (session->reading)
		(void)mongoc_client_session_append(session->reading, ret_options, &ignored);
}

err_t mongodb_session_command(struct mongodb_session *session, const char *database, const bson_t *command,
			      bson_t *ret_reply, struct err_detail *detail)
{
	bson_error_t error = { 0 };
	bson_t reply;
	if (mongoc_client_command_simple(session->client, database, command, NULL, &reply, &error)) {
		bson_destroy(ret_reply);
		bson_steal(ret_reply, &reply);
		return ERR_OK;
	}
	bson_destroy(&reply);
	err_t err = mongodb_session_denies(&error) ? ERR_TARGET_DENIED : mongodb_session_target_error(&error);
	session->abandoned |= err == ERR_TARGET_LOST;
	return fail_with(session, err ? err : ERR_TARGET_UNAVAILABLE, &error, detail);
}

/* Ends whatever runs in the session. A server that knows none ends it, or does not, when the connection goes.
 */
static void kill_session(mongoc_client_t *client, const mongoc_client_session_t *reading)
{
	bson_t command = BSON_INITIALIZER, sessions, session, reply;
	bson_error_t ignored;
	bson_iter_t iter;
	BSON_APPEND_ARRAY_BEGIN(&command, "killSessions", &sessions);
	BSON_APPEND_DOCUMENT_BEGIN(&sessions, "0", &session);
	if (bson_iter_init_find(&iter, mongoc_client_session_get_lsid(reading), "id"))
		bson_append_iter(&session, "id", -1, &iter);
	bson_append_document_end(&sessions, &session);
	bson_append_array_end(&command, &sessions);
	(void)mongoc_client_command_simple(client, "admin", &command, NULL, &reply, &ignored);
	bson_destroy(&reply);
	bson_destroy(&command);
}

bool mongodb_session_cancel(struct mongodb_session *session)
{
	mongoc_client_t *client = NULL;
	bson_t *ping = BCON_NEW("ping", BCON_INT32(1));
	bson_t reply = BSON_INITIALIZER;
	bson_error_t ignored;
	bool reached = make_client(session, GIVE_UP_MS, &client, NULL) == ERR_OK;
	if (reached) {
		bson_destroy(&reply);
		reached = mongoc_client_command_simple(client, session->dsn.database, ping, NULL, &reply,
						       &ignored);
	}
	if (reached && session->reading)
		kill_session(client, session->reading);
	session->abandoned = true;
	mongoc_client_destroy(client);
	bson_destroy(&reply);
	bson_destroy(ping);
	return reached;
}
