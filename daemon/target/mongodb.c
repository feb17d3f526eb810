#include "target/mongodb_documents.h"
#include "target/mongodb_session.h"
#include "target/mongodb_values.h"

#include "common/clock.h"
#include "sql/dialects.h"
#include "sql/mongodb/command.h"
#include "sql/sort_keys.h"

#include <math.h>

#define BATCH_DOCUMENTS 1000

DEFINE_CLEANUP(bson_t, document_cleanup, bson_destroy)

/* --- session --- */

static err_t mongodb_engine_open(const struct worker_settings *settings, void **ret_session,
				 struct err_detail *detail)
{
	struct mongodb_session *session = NULL;
	err_t err = mongodb_session_connect(settings, &session, detail);
	if (!err)
		*ret_session = session;
	return err;
}

static err_t mongodb_engine_begin(void *pointer, struct err_detail *detail)
{
	return mongodb_session_begin(mongodb_session_of(pointer), detail);
}

static void mongodb_engine_end(void *pointer)
{
	mongodb_session_end(mongodb_session_of(pointer));
}

static bool mongodb_engine_one_snapshot(const void *pointer)
{
	const struct mongodb_session *session = pointer;
	return session->server.snapshots;
}

/* --- one query --- */

struct mongodb_fetch {
	struct mongodb_session *session;
	struct query_run *run;
	struct mongodb_command command;
	struct mongodb_documents *documents;
	int64_t limit_ms, start_us;
	bool enough; /* no more documents are wanted */
	err_t target_error;
	struct err_detail *detail;
};

static void query_failed(const struct mongodb_fetch *fetch, enum query_outcome outcome, str_t message)
{
	fetch->run->outcome = outcome;
	if (!str_present(fetch->run->message))
		fetch->run->message = arena_str(fetch->run->result.arena, message);
}

static bool time_is_up(const struct mongodb_fetch *fetch)
{
	return clock_monotonic_us() - fetch->start_us >= fetch->limit_ms * 1000;
}

static void out_of_time(const struct mongodb_fetch *fetch)
{
	query_failed(fetch, QUERY_TIMEOUT, STR("the query was cancelled at its time limit"));
}

/* The connection failed: because the server was not heard of within the time that it has, which says nothing
 * of the server yet, or because it is gone. A server that answers others has a query that runs too long. */
static void lost(struct mongodb_fetch *fetch, const bson_error_t *error)
{
	str_t message = mongodb_session_message(fetch->session, error, fetch->run->result.arena);
	fetch->session->abandoned = true;
	if (time_is_up(fetch) && mongodb_session_cancel(fetch->session))
		out_of_time(fetch);
	else
		fetch->target_error = err_fail(fetch->detail, ERR_TARGET_LOST, "%s", message.ptr);
}

static void take_error(struct mongodb_fetch *fetch, const bson_error_t *error)
{
	err_t err = mongodb_session_target_error(error);
	str_t message = mongodb_session_message(fetch->session, error, fetch->run->result.arena);
	bool of_server = error->domain == MONGOC_ERROR_SERVER;
	if (err == ERR_TARGET_LOST && !of_server) {
		lost(fetch, error);
		return;
	}
	fetch->session->abandoned |= err == ERR_TARGET_LOST;
	if (of_server)
		fetch->run->execution.code = (int32_t)error->code;
	fetch->run->denied = mongodb_session_denies(error);
	if (err)
		fetch->target_error = err_fail(fetch->detail, err, "%s", message.ptr);
	else if (of_server && error->code == MONGOC_ERROR_MAX_TIME_MS_EXPIRED)
		out_of_time(fetch);
	else
		query_failed(fetch, QUERY_FAILED, message);
}

/* Destroying a cursor ends it on the server as well. */
static void fetch_documents(struct mongodb_fetch *fetch, mongoc_cursor_t *cursor)
{
	const bson_t *document;
	bson_error_t error = { 0 };
	while (!fetch->enough && mongoc_cursor_next(cursor, &document)) {
		fetch->enough = !mongodb_documents_take(fetch->documents, document);
		if (!fetch->enough && time_is_up(fetch)) {
			out_of_time(fetch);
			break;
		}
	}
	if (!fetch->enough && fetch->run->outcome == QUERY_RETURNED && mongoc_cursor_error(cursor, &error))
		take_error(fetch, &error);
	mongoc_cursor_destroy(cursor);
}

/* --- the command as BSON --- */

/* What changes the result without being a part of the query. */
static const char *const options_kept[] = { "collation", "hint",      "let",	     "min",
					    "max",	 "returnKey", "showRecordId" };

static bool wrong_value(const struct mongodb_fetch *fetch, const struct mongodb_value *wrong)
{
	str_t message = wrong ? arena_printf(fetch->run->result.arena,
					     "the value at byte %zu cannot be written as BSON", wrong->offset)
			      : STR("the query is too large");
	query_failed(fetch, QUERY_FAILED, message);
	return false;
}

/* Appends a part of the command, where it is there. False: the query has failed. */
static bool append(const struct mongodb_fetch *fetch, bson_t *to, const char *name,
		   const struct mongodb_value *value)
{
	const struct mongodb_value *wrong = NULL;
	return !value || mongodb_values_append_as(to, name, value, fetch->session->now_ms, &wrong) ||
	       wrong_value(fetch, wrong);
}

static bool append_count(const struct mongodb_fetch *fetch, bson_t *to, const char *name,
			 const struct mongodb_value *count)
{
	if (!count)
		return true;
	if (!mongodb_is_integer(count))
		return wrong_value(fetch, count);
	return BSON_APPEND_INT64(to, name, (int64_t)count->number);
}

static bool append_options(const struct mongodb_fetch *fetch, bson_t *options)
{
	for (size_t i = 0; i < sizeof options_kept / sizeof options_kept[0]; i++)
		if (!append(fetch, options, options_kept[i],
			    mongodb_member(fetch->command.options, options_kept[i])))
			return false;
	return true;
}

/* A document, empty where there is none. */
static bool append_all(const struct mongodb_fetch *fetch, bson_t *to, const struct mongodb_value *document)
{
	const struct mongodb_value *wrong = NULL;
	return !document || mongodb_values_append(to, document, fetch->session->now_ms, &wrong) ||
	       wrong_value(fetch, wrong);
}

/* False: the query has failed, for what would be sent is no read. */
static bool only_reads(const struct mongodb_fetch *fetch, const bson_t *query, const bson_t *options)
{
	const char *refused = mongodb_values_refused(query);
	refused = refused ? refused : mongodb_values_refused(options);
	if (refused)
		query_failed(fetch, QUERY_FAILED,
			     arena_printf(fetch->run->result.arena, "%s is not sent to a server", refused));
	return !refused;
}

static mongoc_collection_t *collection_of(const struct mongodb_fetch *fetch)
{
	return mongoc_client_get_collection(fetch->session->client, fetch->session->dsn.database,
					    fetch->command.collection.ptr);
}

#define FIRST_BATCH 101 /* the server's, unless another size is asked for */

/* One batch is the whole result for who asks for a single one. */
static bool append_limit(const struct mongodb_fetch *fetch, bson_t *options)
{
	const struct mongodb_command *command = &fetch->command;
	const struct mongodb_value *single = mongodb_member(command->options, "singleBatch");
	const struct mongodb_value *batch = mongodb_member(command->options, "batchSize");
	int64_t most = batch && mongodb_is_integer(batch) ? (int64_t)batch->number : FIRST_BATCH;
	bool limited = command->limit && command->limit->number > 0 && command->limit->number < (double)most;
	if (command->one)
		return BSON_APPEND_INT64(options, "limit", 1);
	if (single && single->number != 0 && most > 0 && !limited)
		return BSON_APPEND_INT64(options, "limit", most);
	return append_count(fetch, options, "limit", command->limit);
}

static void find(struct mongodb_fetch *fetch)
{
	const struct mongodb_command *command = &fetch->command;
	_cleanup_(document_cleanup) bson_t *filter = bson_new();
	bson_t options;
	mongodb_session_options(fetch->session, fetch->limit_ms, &options);
	BSON_APPEND_INT64(&options, "batchSize", BATCH_DOCUMENTS);
	bool made = append_all(fetch, filter, command->filter) &&
		    append(fetch, &options, "projection", command->projection) &&
		    append(fetch, &options, "sort", command->sort) &&
		    append_count(fetch, &options, "skip", command->skip) && append_limit(fetch, &options) &&
		    append_options(fetch, &options) && only_reads(fetch, filter, &options);
	if (made) {
		mongoc_collection_t *collection = collection_of(fetch);
		fetch_documents(fetch, mongoc_collection_find_with_opts(collection, filter, &options, NULL));
		mongoc_collection_destroy(collection);
	}
	bson_destroy(&options);
}

/* {pipeline: […]}, as the library wants it. */
static bool make_pipeline(const struct mongodb_fetch *fetch, bson_t *pipeline)
{
	return append(fetch, pipeline, "pipeline", fetch->command.pipeline);
}

/* What is counted, by stages: the server's own command for it knows no snapshots. */
static bool make_counting(const struct mongodb_fetch *fetch, bson_t *pipeline)
{
	const struct mongodb_command *command = &fetch->command;
	bson_t stages, stage, group, sum;
	const char *index;
	char key[16];
	uint32_t count = 1;
	bool made;
	BSON_APPEND_ARRAY_BEGIN(pipeline, "pipeline", &stages);
	BSON_APPEND_DOCUMENT_BEGIN(&stages, "0", &stage);
	BSON_APPEND_DOCUMENT_BEGIN(&stage, "$match", &group);
	made = append_all(fetch, &group, command->filter);
	bson_append_document_end(&stage, &group);
	bson_append_document_end(&stages, &stage);
	const struct {
		const char *name;
		const struct mongodb_value *number;
	} cuts[] = { { "$skip", command->skip }, { "$limit", command->limit } };
	for (size_t i = 0; made && i < 2; i++) {
		if (!cuts[i].number || cuts[i].number->number == 0) /* no limit is written as 0, too */
			continue;
		bson_uint32_to_string(count++, &index, key, sizeof key);
		BSON_APPEND_DOCUMENT_BEGIN(&stages, index, &stage);
		made = append_count(fetch, &stage, cuts[i].name, cuts[i].number);
		bson_append_document_end(&stages, &stage);
	}
	bson_uint32_to_string(count, &index, key, sizeof key);
	BSON_APPEND_DOCUMENT_BEGIN(&stages, index, &stage);
	BSON_APPEND_DOCUMENT_BEGIN(&stage, "$group", &group);
	BSON_APPEND_NULL(&group, "_id");
	BSON_APPEND_DOCUMENT_BEGIN(&group, "count", &sum);
	BSON_APPEND_INT32(&sum, "$sum", 1);
	bson_append_document_end(&group, &sum);
	bson_append_document_end(&stage, &group);
	bson_append_document_end(&stages, &stage);
	bson_append_array_end(pipeline, &stages);
	return made;
}

static mongoc_cursor_t *start_aggregate(const struct mongodb_fetch *fetch, const bson_t *pipeline,
					const bson_t *options)
{
	if (str_present(fetch->command.collection)) {
		mongoc_collection_t *collection = collection_of(fetch);
		mongoc_cursor_t *cursor =
			mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, pipeline, options, NULL);
		mongoc_collection_destroy(collection);
		return cursor;
	}
	mongoc_database_t *database =
		mongoc_client_get_database(fetch->session->client, fetch->session->dsn.database);
	mongoc_cursor_t *cursor = mongoc_database_aggregate(database, pipeline, options, NULL);
	mongoc_database_destroy(database);
	return cursor;
}

static mongoc_cursor_t *aggregate(struct mongodb_fetch *fetch,
				  bool (*make)(const struct mongodb_fetch *fetch, bson_t *pipeline))
{
	_cleanup_(document_cleanup) bson_t *pipeline = bson_new();
	mongoc_cursor_t *cursor = NULL;
	bson_t options;
	mongodb_session_options(fetch->session, fetch->limit_ms, &options);
	BSON_APPEND_INT64(&options, "batchSize", BATCH_DOCUMENTS);
	BSON_APPEND_BOOL(&options, "allowDiskUse", false);
	if (make(fetch, pipeline) && append_options(fetch, &options) && only_reads(fetch, pipeline, &options))
		cursor = start_aggregate(fetch, pipeline, &options);
	bson_destroy(&options);
	return cursor;
}

static void take_count(struct mongodb_fetch *fetch, const bson_iter_t *number)
{
	_cleanup_(document_cleanup) bson_t *row = bson_new();
	if (number)
		bson_append_iter(row, "count", -1, number);
	else
		BSON_APPEND_INT64(row, "count", 0);
	mongodb_documents_take(fetch->documents, row);
}

/* What the collection's own books say, of now: they have no snapshots. */
static void estimate(struct mongodb_fetch *fetch)
{
	_cleanup_(document_cleanup) bson_t *text = bson_new();
	bson_t reply;
	bson_error_t error = { 0 };
	bson_iter_t number;
	BSON_APPEND_UTF8(text, "count", fetch->command.collection.ptr);
	BSON_APPEND_INT64(text, "maxTimeMS", fetch->limit_ms);
	if (!mongoc_client_read_command_with_opts(fetch->session->client, fetch->session->dsn.database, text,
						  NULL, NULL, &reply, &error))
		take_error(fetch, &error);
	else
		take_count(fetch, bson_iter_init_find(&number, &reply, "n") ? &number : NULL);
	bson_destroy(&reply);
}

/* One row with the number; of no documents none is returned. */
static void count(struct mongodb_fetch *fetch)
{
	mongoc_cursor_t *cursor = aggregate(fetch, make_counting);
	bson_error_t error = { 0 };
	const bson_t *document;
	bson_iter_t number;
	if (!cursor)
		return;
	bool any = mongoc_cursor_next(cursor, &document) && bson_iter_init_find(&number, document, "count");
	if (mongoc_cursor_error(cursor, &error))
		take_error(fetch, &error);
	else
		take_count(fetch, any ? &number : NULL);
	mongoc_cursor_destroy(cursor);
}

/* A row for each value. */
static void take_values(struct mongodb_fetch *fetch, const bson_t *reply)
{
	bson_iter_t iter, value;
	if (!bson_iter_init_find(&iter, reply, "values") || !BSON_ITER_HOLDS_ARRAY(&iter) ||
	    !bson_iter_recurse(&iter, &value)) {
		query_failed(fetch, QUERY_FAILED, STR("the server returned no values"));
		return;
	}
	while (!fetch->enough && bson_iter_next(&value)) {
		_cleanup_(document_cleanup) bson_t *row = bson_new();
		bson_append_iter(row, fetch->command.key->text.ptr, -1, &value);
		fetch->enough = !mongodb_documents_take(fetch->documents, row);
	}
}

static void distinct(struct mongodb_fetch *fetch)
{
	const struct mongodb_command *command = &fetch->command;
	_cleanup_(document_cleanup) bson_t *text = bson_new();
	bson_t filter, options, reply;
	bson_error_t error = { 0 };
	BSON_APPEND_UTF8(text, "distinct", command->collection.ptr);
	BSON_APPEND_UTF8(text, "key", command->key->text.ptr);
	BSON_APPEND_DOCUMENT_BEGIN(text, "query", &filter);
	bool made = append_all(fetch, &filter, command->filter);
	bson_append_document_end(text, &filter);
	mongodb_session_options(fetch->session, fetch->limit_ms, &options);
	if (made && append_options(fetch, &options) && only_reads(fetch, text, &options)) {
		if (mongoc_client_read_command_with_opts(fetch->session->client, fetch->session->dsn.database,
							 text, NULL, &options, &reply, &error))
			take_values(fetch, &reply);
		else
			take_error(fetch, &error);
		bson_destroy(&reply);
	}
	bson_destroy(&options);
}

/* A $count of no documents returns none, where every other way of counting says 0. */
static void complete_count(struct mongodb_fetch *fetch)
{
	const struct mongodb_value *stages = fetch->command.pipeline;
	const struct mongodb_value *name =
		mongodb_is_array(stages) ? mongodb_member(stages->last, "$count") : NULL;
	bool none = fetch->run->outcome == QUERY_RETURNED && !fetch->target_error &&
		    mongodb_documents_count(fetch->documents) == 0;
	if (!none || !mongodb_is_text(name))
		return;
	_cleanup_(document_cleanup) bson_t *row = bson_new();
	BSON_APPEND_INT64(row, name->text.ptr, 0);
	mongodb_documents_take(fetch->documents, row);
}

static void run_command(struct mongodb_fetch *fetch)
{
	mongoc_cursor_t *cursor;
	switch (fetch->command.verb) {
	case MONGODB_FIND:
		find(fetch);
		return;
	case MONGODB_AGGREGATE:
		cursor = aggregate(fetch, make_pipeline);
		if (cursor) {
			fetch_documents(fetch, cursor);
			complete_count(fetch);
		}
		return;
	case MONGODB_COUNT:
		if (fetch->command.estimated)
			estimate(fetch);
		else
			count(fetch);
		return;
	case MONGODB_DISTINCT:
		distinct(fetch);
		return;
	case MONGODB_WRITE:
		break;
	}
	query_failed(fetch, QUERY_FAILED, STR("the text is no read"));
}

/* The second look at what was proven before, since no transaction of this server only reads. */
static bool read_command(struct mongodb_fetch *fetch, str_t sql)
{
	struct arena *arena = fetch->run->result.arena;
	const struct sql_request request = { .sql = sql,
					     .dialect = SQL_MONGODB,
					     .policy = &fetch->session->settings->target.policy };
	struct sql_analysis analysis;
	bool more;
	sql_analyse(&request, arena, &analysis);
	if (analysis.verdict != SQL_SAFE) {
		query_failed(fetch, QUERY_FAILED, STR("the text is not proven to be a read"));
		return false;
	}
	struct mongodb_reader reader = { .text = analysis.text, .arena = arena };
	if (mongodb_read_command(&reader, &fetch->command, &more))
		return true;
	query_failed(fetch, QUERY_FAILED, str_from(reader.failure));
	return false;
}

static err_t mongodb_engine_run(void *pointer, str_t sql, struct query_run *run, struct err_detail *detail)
{
	struct mongodb_session *session = mongodb_session_of(pointer);
	const struct target_settings *target = &session->settings->target;
	bool kept = !run->result.sink.take;
	struct mongodb_fetch fetch = {
		.session = session,
		.run = run,
		.documents = mongodb_documents_new(
			&run->result, kept ? run->result.max_rows : target->max_rows,
			kept ? run->result.max_bytes : target->max_result_bytes, SORT_KEY_FIELD),
		.limit_ms = engine_run_limit_ms(run, target->statement_timeout_ms),
		.start_us = clock_monotonic_us(),
		.detail = detail,
	};
	run->outcome = QUERY_RETURNED;
	if (read_command(&fetch, sql))
		run_command(&fetch);
	mongodb_documents_finish(fetch.documents);
	mongodb_documents_free(fetch.documents);
	run->execution.rows = (int64_t)run->result.rows_count;
	run->execution.time_ms = (double)(clock_monotonic_us() - fetch.start_us) / 1000;
	return fetch.target_error;
}

static err_t mongodb_engine_catalog(void *pointer, struct arena *arena, str_t *ret_text,
				    struct err_detail *detail)
{
	return mongodb_session_catalog(mongodb_session_of(pointer), arena, ret_text, detail);
}

static err_t mongodb_engine_check(void *pointer, struct arena *arena, str_t *ret_notes,
				  struct err_detail *detail)
{
	return mongodb_session_check(mongodb_session_of(pointer), arena, ret_notes, detail);
}

const struct engine engine_mongodb = {
	.classes_at_end = true,
	.needs = mongodb_session_needs,
	.open = mongodb_engine_open,
	.close = mongodb_session_close,
	.begin = mongodb_engine_begin,
	.run = mongodb_engine_run,
	.end = mongodb_engine_end,
	.one_snapshot = mongodb_engine_one_snapshot,
	.usable = mongodb_session_usable,
	.catalog = mongodb_engine_catalog,
	.check = mongodb_engine_check,
};
