/* The catalog of a MongoDB target: its collections with their validators, and the fields that a sample of
 * their documents has. */
#include "target/mongodb_session.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/utf8.h"

#include <jansson.h>

#define CATALOG_MAX_BYTES ((size_t)192 << 20)
#define COLLECTIONS_MAX	  20000
#define FIELDS_MAX	  10000 /* of a collection, likewise below */
#define DEPTH_MAX	  32
#define CHILDREN_MAX	  1000 /* of one document's field: more are keys of a map, not names of fields */
#define ELEMENTS_MAX	  1000 /* of an array that are looked at */
#define LEAST_SAMPLE_MS	  200
#define BATCH_DOCUMENTS	  100
#define LOSSES_MAX	  3 /* of connections, by collections that cannot be read */

DEFINE_CLEANUP(json_t, json_cleanup, json_decref)

/* Names of BSON's types, as $type has them. Source: "BSON Types" in MongoDB's manual. */
static const struct {
	bson_type_t type;
	const char *name;
} type_names[] = {
	{ BSON_TYPE_DOUBLE, "double" },
	{ BSON_TYPE_UTF8, "string" },
	{ BSON_TYPE_DOCUMENT, "object" },
	{ BSON_TYPE_ARRAY, "array" },
	{ BSON_TYPE_BINARY, "binData" },
	{ BSON_TYPE_UNDEFINED, "undefined" },
	{ BSON_TYPE_OID, "objectId" },
	{ BSON_TYPE_BOOL, "bool" },
	{ BSON_TYPE_DATE_TIME, "date" },
	{ BSON_TYPE_NULL, "null" },
	{ BSON_TYPE_REGEX, "regex" },
	{ BSON_TYPE_DBPOINTER, "dbPointer" },
	{ BSON_TYPE_CODE, "javascript" },
	{ BSON_TYPE_SYMBOL, "symbol" },
	{ BSON_TYPE_CODEWSCOPE, "javascriptWithScope" },
	{ BSON_TYPE_INT32, "int" },
	{ BSON_TYPE_TIMESTAMP, "timestamp" },
	{ BSON_TYPE_INT64, "long" },
	{ BSON_TYPE_DECIMAL128, "decimal" },
	{ BSON_TYPE_MINKEY, "minKey" },
	{ BSON_TYPE_MAXKEY, "maxKey" },
};

#define TYPES_COUNT (sizeof type_names / sizeof *type_names)

struct mongodb_field {
	str_t path;
	unsigned types, elements; /* bits, by place in type_names */
	size_t children;
	bool open;
};

/* The fields of one collection. */
struct mongodb_sample {
	struct arena *arena;
	struct hash_map by_path;
	struct mongodb_field **fields;
	size_t count, capacity;
	int64_t documents;
	bool whole; /* all documents were seen, with all that is in them */
	bool open;  /* there are more fields than are kept */
	bool cut;   /* not all elements of an array were looked at */
};

static unsigned type_bit(const bson_iter_t *iter)
{
	for (size_t i = 0; i < TYPES_COUNT; i++)
		if (type_names[i].type == bson_iter_type(iter))
			return 1u << i;
	return 0;
}

/* --- fields --- */

/* Names that no path reaches, or that would read as another one. */
static bool is_addressable(const char *name, size_t len)
{
	return len > 0 && name[0] != '$' && !memchr(name, '.', len) && utf8_valid(name, len);
}

/* NULL: there are too many. */
static struct mongodb_field *field_at(struct mongodb_sample *sample, struct mongodb_field *parent,
				      const bson_iter_t *iter)
{
	const char *name = bson_iter_key(iter);
	size_t len = bson_iter_key_len(iter);
	str_t path =
		parent ? arena_printf(sample->arena, STR_FMT ".%.*s", STR_ARG(parent->path), (int)len, name)
		       : arena_text(sample->arena, name, len);
	struct mongodb_field *field = hash_map_get(&sample->by_path, path);
	if (field)
		return field;
	if (sample->count == FIELDS_MAX) {
		sample->open = true;
		return NULL;
	}
	if (parent && ++parent->children > CHILDREN_MAX) {
		parent->open = true;
		return NULL;
	}
	field = ARENA_NEW(sample->arena, struct mongodb_field);
	field->path = path;
	hash_map_set(&sample->by_path, path, field);
	ARENA_PUSH(sample->arena, sample->fields, sample->count, sample->capacity, field);
	return field;
}

static void note_document(struct mongodb_sample *sample, struct mongodb_field *parent, bson_iter_t *iter,
			  unsigned depth);

/* Paths go through arrays: what its documents have are the array's fields. */
static void note_array(struct mongodb_sample *sample, struct mongodb_field *field, const bson_iter_t *iter,
		       unsigned depth)
{
	bson_iter_t element, members;
	if (!bson_iter_recurse(iter, &element))
		return;
	for (size_t i = 0; bson_iter_next(&element); i++) {
		if (i == ELEMENTS_MAX) {
			sample->cut = field->open = true;
			return;
		}
		field->elements |= type_bit(&element);
		if (BSON_ITER_HOLDS_DOCUMENT(&element) && bson_iter_recurse(&element, &members))
			note_document(sample, field, &members, depth + 1);
	}
}

static void note_field(struct mongodb_sample *sample, struct mongodb_field *parent, const bson_iter_t *iter,
		       unsigned depth)
{
	bson_iter_t members;
	struct mongodb_field *field = field_at(sample, parent, iter);
	if (!field)
		return;
	field->types |= type_bit(iter);
	if (BSON_ITER_HOLDS_DOCUMENT(iter) && bson_iter_recurse(iter, &members))
		note_document(sample, field, &members, depth + 1);
	else if (BSON_ITER_HOLDS_ARRAY(iter))
		note_array(sample, field, iter, depth + 1);
}

static void note_document(struct mongodb_sample *sample, struct mongodb_field *parent, bson_iter_t *iter,
			  unsigned depth)
{
	if (parent && depth > DEPTH_MAX)
		parent->open = true;
	while (bson_iter_next(iter) && !(parent && parent->open))
		if (is_addressable(bson_iter_key(iter), bson_iter_key_len(iter)))
			note_field(sample, parent, iter, depth);
}

/* --- the sample --- */

static mongoc_cursor_t *start_sample(const struct mongodb_session *session, const char *name,
				     int64_t limit_ms, bool drawn)
{
	int64_t size = session->settings->target.sample_documents;
	mongoc_collection_t *collection =
		mongoc_client_get_collection(session->client, session->dsn.database, name);
	bson_t *pipeline = drawn ? BCON_NEW("pipeline", "[", "{", "$sample", "{", "size", BCON_INT64(size),
					    "}", "}", "]")
				 : BCON_NEW("pipeline", "[", "{", "$limit", BCON_INT64(size), "}", "]");
	bson_t options;
	mongodb_session_options(session, limit_ms, &options);
	BSON_APPEND_BOOL(&options, "allowDiskUse", false);
	BSON_APPEND_INT64(&options, "batchSize", BATCH_DOCUMENTS);
	mongoc_cursor_t *cursor =
		mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, pipeline, &options, NULL);
	bson_destroy(&options);
	bson_destroy(pipeline);
	mongoc_collection_destroy(collection);
	return cursor;
}

/* False: the collection cannot be read like this, which need not be the connection's fault. */
static bool read_sample(struct mongodb_session *session, const char *name, int64_t limit_ms, bool drawn,
			struct mongodb_sample *sample)
{
	mongoc_cursor_t *cursor = start_sample(session, name, limit_ms, drawn);
	int64_t until_us = clock_monotonic_us() + limit_ms * 1000;
	const bson_t *document;
	bson_error_t error = { 0 };
	bson_iter_t iter;
	bool late = false;
	while (!late && mongoc_cursor_next(cursor, &document)) {
		sample->documents++;
		if (bson_iter_init(&iter, document))
			note_document(sample, NULL, &iter, 0);
		late = clock_monotonic_us() > until_us;
	}
	bool failed = mongoc_cursor_error(cursor, &error);
	session->abandoned |= failed && mongodb_session_target_error(&error) == ERR_TARGET_LOST;
	sample->whole = !failed && !late && !sample->cut &&
			sample->documents < session->settings->target.sample_documents;
	mongoc_cursor_destroy(cursor);
	return !failed;
}

/* --- its line --- */

static int by_path(const void *left, const void *right)
{
	const struct mongodb_field *a = *(struct mongodb_field *const *)left,
				   *b = *(struct mongodb_field *const *)right;
	return str_compare(a->path, b->path);
}

static json_t *names_of(unsigned bits)
{
	json_t *names = json_array();
	for (size_t i = 0; i < TYPES_COUNT; i++)
		if (bits & 1u << i)
			json_array_append_new(names, json_string(type_names[i].name));
	return names;
}

static json_t *fields_of(const struct mongodb_sample *sample)
{
	json_t *fields = json_array();
	if (sample->count)
		qsort(sample->fields, sample->count, sizeof *sample->fields, by_path);
	for (size_t i = 0; i < sample->count; i++) {
		const struct mongodb_field *field = sample->fields[i];
		json_t *item = json_pack("{s:s%, s:o}", "path", field->path.ptr, field->path.len, "types",
					 names_of(field->types));
		if (!item)
			continue;
		if (field->elements)
			json_object_set_new(item, "elements", names_of(field->elements));
		if (field->open)
			json_object_set_new(item, "open", json_true());
		json_array_append_new(fields, item);
	}
	return fields;
}

/* What the server says of a collection, besides its name: kind, and the validator with what it does. */
static void describe(const bson_t *collection, json_t *line)
{
	static const char *const settings[][2] = { { "validationAction", "validation_action" },
						   { "validationLevel", "validation_level" } };
	bson_iter_t iter, options, found;
	bool typed = bson_iter_init_find(&iter, collection, "type") && BSON_ITER_HOLDS_UTF8(&iter);
	json_object_set_new(line, "kind", json_string(typed ? bson_iter_utf8(&iter, NULL) : "collection"));
	if (!bson_iter_init_find(&iter, collection, "options") || !bson_iter_recurse(&iter, &options))
		return;
	if (bson_iter_find_descendant(&options, "validator", &found) && BSON_ITER_HOLDS_DOCUMENT(&found)) {
		uint32_t len;
		const uint8_t *data;
		bson_t validator;
		bson_iter_document(&found, &len, &data);
		char *text = bson_init_static(&validator, data, len)
				     ? bson_as_relaxed_extended_json(&validator, NULL)
				     : NULL;
		json_t *json = text ? json_loads(text, 0, NULL) : NULL;
		if (json)
			json_object_set_new(line, "validator", json);
		bson_free(text);
	}
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (bson_iter_recurse(&iter, &options) && bson_iter_find(&options, settings[i][0]) &&
		    BSON_ITER_HOLDS_UTF8(&options))
			json_object_set_new(line, settings[i][1],
					    json_string(bson_iter_utf8(&options, NULL)));
}

static void put_line(struct buf *out, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
	if (text) {
		buf_append_text(out, text);
		buf_append_char(out, '\n');
	}
	free(text);
}

static void put_collection(struct mongodb_session *session, const bson_t *collection, const char *name,
			   int64_t limit_ms, struct buf *out)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(json_cleanup) json_t *line = json_pack("{s:s}", "collection", name);
	struct mongodb_sample sample = { .arena = arena };
	hash_map_init(&sample.by_path, arena, 0);
	if (!line) /* a name that is no text */
		return;
	if (limit_ms > 0 && !read_sample(session, name, limit_ms, true, &sample) && !session->abandoned &&
	    sample.documents == 0)
		read_sample(session, name, limit_ms, false, &sample);
	json_object_set_new(line, "sampled", json_integer(sample.documents));
	json_object_set_new(line, "complete", json_boolean(sample.whole));
	json_object_set_new(line, "fields", fields_of(&sample));
	if (sample.open)
		json_object_set_new(line, "open", json_true());
	describe(collection, line);
	put_line(out, line);
}

/* --- all collections --- */

struct mongodb_listed {
	char *name;
	bson_t *description;
};

static int by_name(const void *left, const void *right)
{
	const struct mongodb_listed *a = left, *b = right;
	return strcmp(a->name, b->name);
}

static err_t list_collections(struct mongodb_session *session, struct arena *arena,
			      struct mongodb_listed **ret_listed, size_t *ret_count,
			      struct err_detail *detail)
{
	mongoc_database_t *database = mongoc_client_get_database(session->client, session->dsn.database);
	mongoc_cursor_t *cursor = mongoc_database_find_collections_with_opts(database, NULL);
	struct mongodb_listed *listed = NULL;
	size_t count = 0, capacity = 0;
	const bson_t *document;
	bson_error_t error = { 0 };
	bson_iter_t iter;
	while (count < COLLECTIONS_MAX && mongoc_cursor_next(cursor, &document)) {
		if (!bson_iter_init_find(&iter, document, "name") || !BSON_ITER_HOLDS_UTF8(&iter))
			continue;
		const char *name = bson_iter_utf8(&iter, NULL);
		if (strncmp(name, "system.", 7) != 0)
			ARENA_PUSH(arena, listed, count, capacity,
				   (struct mongodb_listed){ arena_strdup(arena, name), bson_copy(document) });
	}
	bool failed = mongoc_cursor_error(cursor, &error);
	err_t err = ERR_OK;
	if (failed)
		err = err_fail(detail, ERR_CATALOG_UNAVAILABLE, "the collections cannot be listed: %s",
			       mongodb_session_message(session, &error, arena).ptr);
	session->abandoned |= failed && mongodb_session_target_error(&error) == ERR_TARGET_LOST;
	mongoc_cursor_destroy(cursor);
	mongoc_database_destroy(database);
	if (count)
		qsort(listed, count, sizeof *listed, by_name);
	*ret_listed = listed;
	*ret_count = count;
	return err;
}

/* A connection that is lost with a collection, because its documents are larger than an answer may be, say,
 * is no reason to know nothing of the others. */
static bool goes_on(struct mongodb_session *session, unsigned *losses)
{
	if (!session->abandoned)
		return true;
	return ++*losses <= LOSSES_MAX && mongodb_session_renew(session, NULL) == ERR_OK;
}

/* All samples together have the time of one query; those that come late are not taken. */
static void put_collections(struct mongodb_session *session, const struct mongodb_listed *listed,
			    size_t count, struct buf *out)
{
	int64_t all_ms = session->settings->target.statement_timeout_ms;
	int64_t until_us = clock_monotonic_us() + all_ms * 1000;
	int64_t share_ms = 2 * all_ms / (int64_t)(count ? count : 1);
	unsigned losses = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t left_ms = (until_us - clock_monotonic_us()) / 1000;
		int64_t limit_ms = share_ms > LEAST_SAMPLE_MS ? share_ms : LEAST_SAMPLE_MS;
		put_collection(session, listed[i].description, listed[i].name,
			       !goes_on(session, &losses) ? 0
			       : limit_ms < left_ms	  ? limit_ms
							  : left_ms,
			       out);
	}
}

err_t mongodb_session_catalog(struct mongodb_session *session, struct arena *arena, str_t *ret_text,
			      struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	_cleanup_(json_cleanup) json_t *head =
		json_pack("{s:i, s:s, s:I}", "format", 1, "database", session->dsn.database, "sample_size",
			  (json_int_t)session->settings->target.sample_documents);
	struct mongodb_listed *listed = NULL;
	size_t count = 0;
	err_t err = mongodb_session_begin(session, detail) ? ERR_CATALOG_UNAVAILABLE : ERR_OK;
	if (!err)
		err = list_collections(session, arena, &listed, &count, detail);
	if (!err) {
		put_line(&out, head);
		put_collections(session, listed, count, &out);
	}
	for (size_t i = 0; i < count; i++)
		bson_destroy(listed[i].description);
	mongodb_session_end(session);
	if (!err && session->abandoned && mongodb_session_renew(session, detail))
		err = ERR_CATALOG_UNAVAILABLE;
	if (!err && out.len > CATALOG_MAX_BYTES)
		err = err_fail(detail, ERR_CATALOG_UNAVAILABLE, "the catalog is too large");
	if (!err)
		*ret_text = arena_str(arena, buf_str(&out));
	return err;
}
