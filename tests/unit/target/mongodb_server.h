/* A private server that speaks MongoDB's protocol, with a database `shop`, for the tests of this room.
 * Header-only. */
#pragma once

#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "tests/harness/servers/mongodb.h"
#include "tests/unit/target/cases.h"

static struct test_mongodb documents_server;
static char documents_dsn[128];

/* Runs a command, in Extended JSON, on a database of the server. */
static inline void mongodb_admin(const char *database, const char *command)
{
	char uri[64];
	bson_error_t error = { 0 };
	bson_t reply;
	snprintf(uri, sizeof uri, "mongodb://127.0.0.1:%d", documents_server.port);
	mongoc_client_t *client = mongoc_client_new(uri);
	bson_t *document = bson_new_from_json((const uint8_t *)command, -1, &error);
	if (!document || !mongoc_client_command_simple(client, database, document, NULL, &reply, &error))
		fail_msg("%.200s: %s", command, error.message);
	bson_destroy(&reply);
	bson_destroy(document);
	mongoc_client_destroy(client);
}

/* Inserts documents number 1 to `count`: `format` has each one's number as its only %d, any number of times
 * by %1$d. */
static inline void mongodb_insert(const char *collection, const char *format, int count)
{
	for (int from = 1; from <= count;) {
		struct buf command = BUF_INIT;
		buf_printf(&command, "{\"insert\": \"%s\", \"documents\": [", collection);
		int until = from + 2000;
		for (int first = from; from <= count && from < until; from++) {
			char document[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(document, sizeof document, format, from);
#pragma GCC diagnostic pop
			buf_printf(&command, "%s%s", from == first ? "" : ",", document);
		}
		buf_append_text(&command, "]}");
		mongodb_admin("shop", command.data);
		buf_free(&command);
	}
}

/* 30 sales, as the other servers' tests have them. */
static inline void mongodb_make_sales(void)
{
	static const char *const regions[] = { "north", "south", "east" };
	struct buf command = BUF_INIT;
	buf_append_text(&command, "{\"insert\": \"sales\", \"documents\": [");
	for (int i = 1; i <= 30; i++)
		buf_printf(
			&command,
			"%s{\"_id\": %d, \"id\": %d, \"region\": \"%s\", \"amount\": {\"$numberDecimal\": "
			"\"%d.%d0\"}, \"price\": %d.5, \"sold_at\": {\"$date\": \"2024-01-%02dT00:00:00Z\"}, "
			"\"extra\": {\"k\": %d, \"tags\": [\"a\", %d]}, \"ok\": %s%s}",
			i > 1 ? "," : "", i, i, regions[i % 3], i * 3 / 2, i % 2 ? 5 : 0, i, i, i, i,
			i % 2 ? "false" : "true", i % 5 ? ", \"note\": null" : "");
	buf_append_text(&command, "]}");
	mongodb_admin("shop", command.data);
	buf_free(&command);
}

/* Starts the server with its data. Returns what test_mongodb_start() does. */
static inline int mongodb_start_shop(void)
{
	int status = test_mongodb_start(&documents_server);
	if (status != 0)
		return status;
	mongoc_init();
	mongoc_log_set_handler(NULL, NULL);
	snprintf(documents_dsn, sizeof documents_dsn, "mongodb://127.0.0.1:%d/shop", documents_server.port);
	mongodb_make_sales();
	return 0;
}

static inline struct target_settings mongodb_settings(void)
{
	struct target_settings settings = postgresql_settings("shop", documents_dsn);
	settings.engine = TARGET_MONGODB;
	settings.statement_timeout_ms = 120000; /* patient: a busy machine is no reason to fail */
	return settings;
}
