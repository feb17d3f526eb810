#include "target/mongodb_session.h"

#include "target/mongodb_check.h"

#define DISCONNECT_WIRE	  8 /* MongoDB 4.2: queries end with the connection that asked for them */
#define ACTIONS_SHOWN	  8
#define COLLECTIONS_TRIED 1000
#define READ_TRIAL_MS	  2000

static void add_note(struct buf *notes, const char *text)
{
	if (notes->len > 0)
		buf_append_char(notes, '\n');
	buf_append_text(notes, text);
}

/* --- the role --- */

/* Actions that change neither data nor the server. Source: "Privilege Actions" in MongoDB's manual. */
static bool is_harmless(const char *action)
{
	static const char harmless[] =
		"find listCollections listIndexes listSearchIndexes listDatabases collStats dbStats dbHash "
		"indexStats killCursors planCacheRead changeStream changeOwnPassword changeOwnCustomData "
		"viewRole viewUser serverStatus connPoolStats getCmdLineOpts getLog getParameter "
		"getShardMap getShardVersion hostInfo inprog listSessions listShards netstat "
		"operationMetrics queryStatsRead queryStatsReadTransformed replSetGetConfig "
		"replSetGetStatus shardingState top useUUID checkFreeMonitoringStatus "
		"checkMetadataConsistency "
		"getClusterParameter listSampledQueries listClusterCatalog";
	return str_is_listed(str_from(action), harmless);
}

struct actions {
	const char *names[ACTIONS_SHOWN];
	size_t count; /* all of them, also those that are not among the names */
};

static void add_action(struct actions *actions, const char *name)
{
	size_t kept = actions->count < ACTIONS_SHOWN ? actions->count : ACTIONS_SHOWN;
	for (size_t i = 0; i < kept; i++)
		if (strcmp(actions->names[i], name) == 0)
			return;
	if (actions->count < ACTIONS_SHOWN)
		actions->names[actions->count] = name;
	actions->count++;
}

static void gather_actions(bson_iter_t *privileges, struct arena *arena, struct actions *actions)
{
	bson_iter_t privilege, names;
	while (bson_iter_next(privileges)) {
		if (!bson_iter_recurse(privileges, &privilege) || !bson_iter_find(&privilege, "actions") ||
		    !bson_iter_recurse(&privilege, &names))
			continue;
		while (bson_iter_next(&names))
			if (BSON_ITER_HOLDS_UTF8(&names) && !is_harmless(bson_iter_utf8(&names, NULL)))
				add_action(actions, arena_strdup(arena, bson_iter_utf8(&names, NULL)));
	}
}

static bool has_elements(const bson_t *document, const char *path)
{
	bson_iter_t iter, found, element;
	return bson_iter_init(&iter, document) && bson_iter_find_descendant(&iter, path, &found) &&
	       bson_iter_recurse(&found, &element) && bson_iter_next(&element);
}

void mongodb_check_role(const bson_t *status, const char *user, struct arena *arena, struct buf *notes)
{
	bson_iter_t iter, found, privileges;
	struct actions actions = { .count = 0 };
	if (!has_elements(status, "authInfo.authenticatedUsers")) {
		add_note(notes,
			 user ? "the server does not say who has logged in: whether the role may only "
				"read is not known"
			      : "the dsn names no user, and the server lets in whoever connects: turn its "
				"authorization on, and name a user with the role read and no other");
		return;
	}
	if (!bson_iter_init(&iter, status) ||
	    !bson_iter_find_descendant(&iter, "authInfo.authenticatedUserPrivileges", &found) ||
	    !bson_iter_recurse(&found, &privileges)) {
		add_note(notes, "the server does not say what the role may do: give it read and no other");
		return;
	}
	gather_actions(&privileges, arena, &actions);
	if (actions.count == 0)
		return;
	str_t list = STR("");
	for (size_t i = 0; i < actions.count && i < ACTIONS_SHOWN; i++)
		list = arena_printf(arena, STR_FMT "%s%s", STR_ARG(list), i ? ", " : "", actions.names[i]);
	add_note(notes, arena_printf(arena,
				     "the role may do more than read (" STR_FMT "%s): give it read on the "
				     "database and no other",
				     STR_ARG(list), actions.count > ACTIONS_SHOWN ? ", …" : "")
				.ptr);
}

static err_t check_role(struct mongodb_session *session, struct arena *arena, struct buf *notes,
			struct err_detail *detail)
{
	bson_t *command = BCON_NEW("connectionStatus", BCON_INT32(1), "showPrivileges", BCON_BOOL(true));
	bson_t reply = BSON_INITIALIZER;
	err_t err = mongodb_session_command(session, "admin", command, &reply, detail);
	if (!err)
		mongodb_check_role(&reply, session->dsn.user, arena, notes);
	else if (err != ERR_TARGET_LOST) /* an old server, or one that only looks like one */
		add_note(notes, "the server does not say what the role may do: give it read and no other");
	bson_destroy(&reply);
	bson_destroy(command);
	return err == ERR_TARGET_LOST ? err : ERR_OK;
}

/* --- the server --- */

static void check_server(const struct mongodb_session *session, struct buf *notes)
{
	const struct mongodb_server *server = &session->server;
	if (server->wire_version < DISCONNECT_WIRE)
		add_note(notes,
			 "the server is older than MongoDB 4.2: it may go on with a query whose worker is "
			 "gone, up to the query's time limit");
	if (session->dsn.insecure)
		add_note(notes,
			 "the dsn switches off what TLS checks of the server: whoever answers there gets the "
			 "password and the queries");
	if (str_present(session->settings->password) && !session->dsn.user)
		add_note(notes, "password_file is set, and the dsn names no user: nobody logs in");
	if (!server->snapshots)
		add_note(notes,
			 "the server has no snapshots (a replica set of MongoDB 5.0 or later has): what "
			 "is written between the truth's read and the query's can make them differ; "
			 "records say so");
}

/* --- reading --- */

/* Whether the role may read the collection; true also where it fails for another reason. */
static bool may_read(struct mongodb_session *session, const char *name)
{
	bson_t *pipeline = BCON_NEW("pipeline", "[", "{", "$limit", BCON_INT32(1), "}", "]");
	mongoc_collection_t *collection =
		mongoc_client_get_collection(session->client, session->dsn.database, name);
	bson_t options;
	mongodb_session_options(session, READ_TRIAL_MS, &options);
	mongoc_cursor_t *cursor =
		mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, pipeline, &options, NULL);
	const bson_t *document;
	bson_error_t error = { 0 };
	(void)mongoc_cursor_next(cursor, &document);
	bool failed = mongoc_cursor_error(cursor, &error);
	session->abandoned |= failed && mongodb_session_target_error(&error) == ERR_TARGET_LOST;
	mongoc_cursor_destroy(cursor);
	bson_destroy(&options);
	mongoc_collection_destroy(collection);
	bson_destroy(pipeline);
	return !failed || !mongodb_session_denies(&error);
}

static err_t check_reading(struct mongodb_session *session, struct arena *arena, struct buf *notes,
			   struct err_detail *detail)
{
	bson_error_t error = { 0 };
	mongoc_database_t *database = mongoc_client_get_database(session->client, session->dsn.database);
	char **names = mongoc_database_get_collection_names_with_opts(database, NULL, &error);
	size_t readable = 0, total = 0;
	const char *example = NULL;
	for (; names && names[total] && total < COLLECTIONS_TRIED && !session->abandoned; total++) {
		bool can = may_read(session, names[total]);
		readable += can;
		if (!can && !example)
			example = arena_strdup(arena, names[total]);
	}
	bool listed = names != NULL;
	bson_strfreev(names);
	mongoc_database_destroy(database);
	if (session->abandoned)
		return err_fail(detail, ERR_TARGET_LOST, "the connection was lost");
	if (!listed)
		add_note(notes,
			 arena_printf(arena,
				      "the role may not list the collections of \"%s\" (%s): give it read "
				      "on the database",
				      session->dsn.database, error.message)
				 .ptr);
	else if (total == 0)
		add_note(notes,
			 arena_printf(arena, "the database \"%s\" has no collections", session->dsn.database)
				 .ptr);
	else if (readable < total)
		add_note(notes, arena_printf(arena,
					     "the role can read %zu of the %zu collections, not \"%s\" for "
					     "example: give it read on the database, or results of their "
					     "queries are UNAVAILABLE",
					     readable, total, example)
					.ptr);
	return ERR_OK;
}

err_t mongodb_session_check(struct mongodb_session *session, struct arena *arena, str_t *ret_notes,
			    struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf notes = BUF_INIT;
	check_server(session, &notes);
	err_t err = check_role(session, arena, &notes, detail);
	if (!err)
		err = check_reading(session, arena, &notes, detail);
	if (!err)
		*ret_notes = arena_str(arena, buf_str(&notes));
	return err;
}
