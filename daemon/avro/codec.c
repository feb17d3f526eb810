#include "avro/codec.h"

#include "avro/builtin.h"
#include "avro/canonical.h"
#include "avro/encode.h"
#include "avro/framing.h"
#include "avro/json.h"
#include "avro/named_schemas.h"
#include "avro/plan.h"
#include "common/hash.h"

#include <dirent.h>
#include <pthread.h>

#define DEFAULT_EVENT_BYTES ((size_t)4 << 20)
#define SCHEMA_FILE_MAX	    ((size_t)1 << 20)
#define LEARNT_BYTES_MAX    ((size_t)256 << 20) /* of schemas that a registry names */
#define SUFFIX		    ".avsc"

/* A schema that messages may name, and how it is read as each record. */
struct codec_writer {
	struct codec_writer *next;
	uint64_t fingerprint;
	unsigned char digest[DIGEST_BYTES]; /* of the canonical form with units of timestamps */
	struct arena *arena;		    /* of its own, or NULL: the codec's */
	struct schema *schema;
	const struct plan *plans[RECORD_COUNT_]; /* NULL: it is no such record */
	struct err_detail refusals[RECORD_COUNT_];
};

struct codec {
	struct arena *arena;
	enum wire_format output;
	size_t max_event_bytes;
	struct bounds_limits limits;
	struct codec_writer *writers;
	struct schema *readers[RECORD_COUNT_]; /* the compiled-in schemas, with their aliases */
	uint64_t fingerprints[RECORD_COUNT_];  /* of the compiled-in schemas */
	uint32_t written_ids[RECORD_COUNT_];   /* by which a registry names them; WIRE_CONFLUENT only */
	codec_resolve_fn resolve;	       /* or NULL */
	void *resolve_context;
	void (*release)(void *context);
	struct named_schemas *named; /* NULL: there is no registry */
	pthread_mutex_t mutex;	     /* of whoever learns: guards what follows, and adding to `named` */
	struct codec_writer *learnt;
	size_t learnt_bytes;
};

DEFINE_CLEANUP(DIR, dir_cleanup, closedir)

static const struct codec_writer *find_writer(const struct codec *codec, uint64_t fingerprint)
{
	for (const struct codec_writer *writer = codec->writers; writer; writer = writer->next)
		if (writer->fingerprint == fingerprint)
			return writer;
	return NULL;
}

static void digest_schema(const struct schema *schema, unsigned char ret_digest[DIGEST_BYTES])
{
	_cleanup_(buf_free) struct buf form = BUF_INIT;
	canonical_form_timed(schema, &form);
	hash_sha256(form.data, form.len, ret_digest);
}

/* Messages name both by one fingerprint, which has no units of timestamps. */
static err_t check_same(const struct codec_writer *known, const struct schema *schema,
			struct err_detail *detail)
{
	unsigned char digest[DIGEST_BYTES];
	digest_schema(schema, digest);
	if (memcmp(known->digest, digest, sizeof digest) == 0)
		return ERR_OK;
	return err_fail(
		detail, ERR_SCHEMA_INCOMPATIBLE,
		"a schema that differs in nothing but the units of its timestamps is known already (of "
		"assayd, or of another file), and messages in single-object encoding do not tell them "
		"apart: write timestamp-millis, or another name or namespace");
}

static err_t add_writer(struct codec *codec, str_t text, bool own, uint64_t *ret_fingerprint,
			struct err_detail *detail)
{
	struct schema *schema;
	err_t err = own ? schema_parse_own(text, &schema, detail) : schema_parse(text, &schema, detail);
	if (err)
		return err;
	uint64_t fingerprint = canonical_fingerprint(schema);
	*ret_fingerprint = fingerprint;
	const struct codec_writer *known = find_writer(codec, fingerprint);
	if (known) {
		err = check_same(known, schema, detail);
		schema_free(schema);
		return err;
	}
	struct codec_writer *writer = ARENA_NEW(codec->arena, struct codec_writer);
	writer->fingerprint = fingerprint;
	writer->schema = schema;
	digest_schema(schema, writer->digest);
	for (int id = 0; id < RECORD_COUNT_; id++)
		plan_make(schema, codec->readers[id], builtin_record((enum record_id)id), codec->arena,
			  &writer->plans[id], &writer->refusals[id]);
	writer->next = codec->writers;
	codec->writers = writer;
	return ERR_OK;
}

err_t codec_learn_schema(struct codec *codec, str_t json, uint64_t *ret_fingerprint,
			 struct err_detail *detail)
{
	return add_writer(codec, json, false, ret_fingerprint, detail);
}

static err_t read_file(const char *path, struct buf *ret_text, struct err_detail *detail)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file)
		return err_fail(detail, ERR_FILE_UNREADABLE, "cannot open the schema %s: %m", path);
	size_t got = fread(buf_reserve(ret_text, SCHEMA_FILE_MAX), 1, SCHEMA_FILE_MAX, file);
	if (ferror(file) || got == SCHEMA_FILE_MAX)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"cannot read the schema %s, or it is larger than 1 MiB", path);
	ret_text->len += got;
	ret_text->data[ret_text->len] = '\0';
	return ERR_OK;
}

static err_t add_file(struct codec *codec, const char *path, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct err_detail why = { "" };
	uint64_t fingerprint;
	err_t err = read_file(path, &text, detail);
	if (err)
		return err;
	err = add_writer(codec, buf_str(&text), false, &fingerprint, &why);
	return err ? err_fail(detail, err, "%s: %s", path, err_message(err, &why)) : ERR_OK;
}

static err_t add_directory(struct codec *codec, const char *path, struct err_detail *detail)
{
	_cleanup_(dir_cleanup) DIR *directory = opendir(path);
	if (!directory)
		return err_fail(detail, ERR_FILE_UNREADABLE, "cannot open the schema directory %s: %m", path);
	const struct dirent *entry;
	while ((entry = readdir(directory))) {
		size_t len = strlen(entry->d_name);
		if (len <= strlen(SUFFIX) || strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		str_t file = arena_printf(codec->arena, "%s/%s", path, entry->d_name);
		err_t err = add_file(codec, file.ptr, detail);
		if (err)
			return err;
	}
	return ERR_OK;
}

static err_t add_builtin(struct codec *codec, enum record_id id, struct err_detail *detail)
{
	return add_writer(codec, builtin_schema(id), true, &codec->fingerprints[id], detail);
}

static err_t parse_builtin(struct codec *codec, enum record_id id, struct err_detail *detail)
{
	err_t err = schema_parse_own(builtin_schema(id), &codec->readers[id], detail);
	if (!err && !encode_matches(codec->readers[id]->root, builtin_record(id)))
		err = err_fail(detail, ERR_AVRO_CODEC, "the compiled-in schema of %s differs from its table",
			       builtin_record(id)->name);
	return err;
}

err_t codec_new(const struct codec_options *options, struct codec **ret_codec, struct err_detail *detail)
{
	_cleanup_(codec_cleanup) struct codec *codec = calloc(1, sizeof *codec);
	if (!codec)
		abort();
	codec->arena = arena_new();
	codec->output = options->output;
	codec->max_event_bytes = options->max_event_bytes ? options->max_event_bytes : DEFAULT_EVENT_BYTES;
	codec->limits.max_items = options->max_items ? options->max_items : BOUNDS_MAX_ITEMS;
	codec->limits.max_depth = BOUNDS_MAX_DEPTH;
	pthread_mutex_init(&codec->mutex, NULL);
	if (options->max_named)
		codec->named = named_schemas_new(options->max_named);
	err_t err = ERR_OK;
	for (int id = 0; id < RECORD_COUNT_ && !err; id++)
		err = parse_builtin(codec, (enum record_id)id, detail);
	for (int id = 0; id < RECORD_COUNT_ && !err; id++)
		err = add_builtin(codec, (enum record_id)id, detail);
	uint64_t fingerprint;
	for (size_t i = 0; !err && str_present(builtin_former_schema(i)); i++)
		err = add_writer(codec, builtin_former_schema(i), true, &fingerprint, detail);
	if (!err && options->schema_directory)
		err = add_directory(codec, options->schema_directory, detail);
	if (!err)
		*ret_codec = TAKE_PTR(codec);
	return err;
}

static void writer_free(struct codec_writer *writer)
{
	schema_free(writer->schema);
	arena_free(writer->arena);
}

void codec_free(struct codec *codec)
{
	if (!codec)
		return;
	for (const struct codec_writer *writer = codec->writers; writer; writer = writer->next)
		schema_free(writer->schema);
	for (int id = 0; id < RECORD_COUNT_; id++)
		schema_free(codec->readers[id]);
	for (struct codec_writer *writer = codec->learnt; writer;) {
		struct codec_writer *next = writer->next;
		writer_free(writer);
		writer = next;
	}
	if (codec->release)
		codec->release(codec->resolve_context);
	named_schemas_free(codec->named);
	pthread_mutex_destroy(&codec->mutex);
	arena_free(codec->arena);
	free(codec);
}

/* ---- schemas that a registry names ---- */

DEFINE_CLEANUP(struct codec_writer, writer_cleanup, writer_free)

/* How it is read as each record; one that is none of ours is refused as an event. */
static err_t writer_make(const struct codec *codec, struct schema *schema, struct codec_writer **ret_writer,
			 struct err_detail *detail)
{
	struct arena *arena = arena_new();
	_cleanup_(writer_cleanup) struct codec_writer *writer = ARENA_NEW(arena, struct codec_writer);
	writer->arena = arena;
	writer->schema = schema;
	bool read = false;
	for (int id = 0; id < RECORD_COUNT_; id++)
		read |= plan_make(schema, codec->readers[id], builtin_record((enum record_id)id), arena,
				  &writer->plans[id], &writer->refusals[id]) == ERR_OK;
	if (!read)
		return err_fail(detail, ERR_SCHEMA_INCOMPATIBLE, "%s",
				writer->refusals[RECORD_QUERY].message);
	digest_schema(schema, writer->digest);
	*ret_writer = TAKE_PTR(writer);
	return ERR_OK;
}

/* One that many names stand for, as where only its comments differ, is there once. Fingerprints could be made
 * to collide. NULL: there is no room. */
static const struct codec_writer *keep(struct codec *codec, struct codec_writer *fresh)
{
	for (const struct codec_writer *writer = codec->learnt; writer; writer = writer->next)
		if (memcmp(writer->digest, fresh->digest, sizeof fresh->digest) == 0) {
			writer_free(fresh);
			return writer;
		}
	if (codec->learnt_bytes >= LEARNT_BYTES_MAX) {
		writer_free(fresh);
		return NULL;
	}
	fresh->next = codec->learnt;
	codec->learnt = fresh;
	codec->learnt_bytes += arena_size_bytes(fresh->arena) + arena_size_bytes(fresh->schema->arena);
	return fresh;
}

err_t codec_learn_named(struct codec *codec, const struct schema_name *name, str_t json,
			struct err_detail *detail)
{
	struct schema *schema;
	struct codec_writer *fresh = NULL;
	err_t err = schema_parse(json, &schema, detail);
	if (!err)
		err = writer_make(codec, schema, &fresh, detail);
	if (err)
		return err;
	pthread_mutex_lock(&codec->mutex);
	const struct codec_writer *writer = keep(codec, fresh);
	bool room = writer && named_schemas_add(codec->named, name, writer);
	pthread_mutex_unlock(&codec->mutex);
	if (room)
		return ERR_OK;
	return err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
			"%zu schemas of the registry are known already, and there is room for no more (%s)",
			codec_named_count(codec), writer ? "registry.max_schemas" : "256 MiB in all");
}

void codec_set_written_id(struct codec *codec, enum record_id record, uint32_t id)
{
	const struct schema_name name = { .id = id };
	codec->written_ids[record] = id;
	if (codec->named)
		named_schemas_add(codec->named, &name, find_writer(codec, codec->fingerprints[record]));
}

bool codec_knows_named(const struct codec *codec, const struct schema_name *name)
{
	return codec->named && named_schemas_find(codec->named, name);
}

size_t codec_named_count(const struct codec *codec)
{
	return codec->named ? named_schemas_count(codec->named) : 0;
}

void codec_set_resolver(struct codec *codec, codec_resolve_fn resolve, void *context,
			void (*release)(void *context))
{
	codec->release = release;
	codec->resolve = resolve;
	codec->resolve_context = context;
}

static err_t find_named(const struct codec *codec, const struct schema_name *name,
			const struct codec_writer **ret_writer, struct err_detail *detail)
{
	char text[SCHEMA_NAME_SIZE];
	if (codec->named && (*ret_writer = named_schemas_find(codec->named, name)))
		return ERR_OK;
	framing_name_text(name, text);
	if (codec->named)
		return err_fail(detail, ERR_SCHEMA_AWAITED, "%s of the schema registry is not known yet",
				text);
	return err_fail(detail, ERR_FRAME_UNKNOWN,
			"the message is framed for %s of a schema registry, and none is configured; set "
			"registry.urls, or publish Avro's single-object encoding or JSON",
			text);
}

/* ---- decoding ---- */

static err_t find_frame_writer(const struct codec *codec, const struct frame *frame,
			       const struct codec_writer **ret_writer, struct err_detail *detail)
{
	if (frame->kind == FRAME_CONFLUENT)
		return find_named(codec, &frame->name, ret_writer, detail);
	*ret_writer = find_writer(codec, frame->fingerprint);
	if (*ret_writer)
		return ERR_OK;
	return err_fail(detail, ERR_SCHEMA_UNKNOWN,
			"no schema of fingerprint %016llx is known; put its .avsc file into "
			"kafka.schema_directory",
			(unsigned long long)frame->fingerprint);
}

/* Whoever wrote the bytes has to know by which schema they were read, if a registry may have given a wrong
 * one. */
static err_t name_schema(const struct frame *frame, err_t err, const struct err_detail *reason,
			 struct err_detail *detail)
{
	char name[SCHEMA_NAME_SIZE] = "";
	const char *why = err_message(err, reason);
	char text[sizeof reason->message];
	if (!detail)
		return err;
	if (frame->kind == FRAME_CONFLUENT)
		framing_name_text(&frame->name, name);
	snprintf(text, sizeof text, "%s%s%s", name, *name ? ": " : "", why);
	return err_fail(detail, err, "%s", text);
}

static err_t decode_avro(const struct codec *codec, enum record_id id, const struct frame *frame,
			 struct arena *arena, void *record, struct err_detail *detail)
{
	const struct codec_writer *writer;
	err_t found = find_frame_writer(codec, frame, &writer, detail);
	if (found)
		return found;
	if (!writer->plans[id])
		return name_schema(frame, ERR_SCHEMA_INCOMPATIBLE, &writer->refusals[id], detail);
	err_t err = bounds_check(writer->schema->root, frame->payload.ptr, frame->payload.len, &codec->limits,
				 detail);
	if (!err)
		err = plan_decode(writer->plans[id], frame->payload, &codec->limits, arena, record, detail);
	return err ? name_schema(frame, err, detail, detail) : ERR_OK;
}

static err_t decode_frame(const struct codec *codec, enum record_id id, const struct frame *frame,
			  struct arena *arena, void *record, struct err_detail *detail)
{
	const struct json_limits json = { codec->limits.max_items, JSON_BY_PROGRAM };
	switch (frame->kind) {
	case FRAME_JSON:
		return json_read(builtin_record(id), frame->payload, &json, arena, record, detail);
	case FRAME_SINGLE_OBJECT:
	case FRAME_CONFLUENT:
		break;
	}
	return decode_avro(codec, id, frame, arena, record, detail);
}

static err_t check_size(const struct codec *codec, size_t len, struct err_detail *detail)
{
	if (len <= codec->max_event_bytes)
		return ERR_OK;
	return err_fail(detail, ERR_EVENT_TOO_LARGE, "the event has %zu bytes, more than the %zu allowed",
			len, codec->max_event_bytes);
}

static err_t decode(const struct codec *codec, enum record_id id, str_t header, const void *data, size_t len,
		    struct arena *arena, void **ret_record, struct err_detail *detail)
{
	struct frame frame;
	const struct record_type *type = builtin_record(id);
	err_t err = check_size(codec, len, detail);
	if (!err)
		err = framing_read(header, data, len, &frame, detail);
	if (err)
		return err;
	void *record = arena_alloc(arena, type->size_bytes);
	fields_init(type, record);
	err = decode_frame(codec, id, &frame, arena, record, detail);
	if (err == ERR_SCHEMA_AWAITED && id != RECORD_QUERY && codec->resolve) {
		err = codec->resolve(&frame.name, codec->resolve_context, detail);
		if (!err)
			err = decode_frame(codec, id, &frame, arena, record, detail);
	}
	if (!err)
		*ret_record = record;
	return err;
}

err_t codec_decode_query_headed(const struct codec *codec, str_t header, const void *data, size_t len,
				struct arena *arena, struct generated_query **ret_query,
				struct err_detail *detail)
{
	void *record;
	err_t err = decode(codec, RECORD_QUERY, header, data, len, arena, &record, detail);
	if (!err)
		*ret_query = record;
	return err;
}

err_t codec_decode_query(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			 struct generated_query **ret_query, struct err_detail *detail)
{
	return codec_decode_query_headed(codec, STR_NONE, data, len, arena, ret_query, detail);
}

err_t codec_decode_scored(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			  struct scored_query **ret_scored, struct err_detail *detail)
{
	void *record;
	err_t err = decode(codec, RECORD_SCORED, STR_NONE, data, len, arena, &record, detail);
	if (!err)
		*ret_scored = record;
	return err;
}

err_t codec_decode_advisory(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct advisory **ret_advisory, struct err_detail *detail)
{
	void *record;
	err_t err = decode(codec, RECORD_ADVISORY, STR_NONE, data, len, arena, &record, detail);
	if (!err)
		*ret_advisory = record;
	return err;
}

err_t codec_decode_feedback_headed(const struct codec *codec, str_t header, const void *data, size_t len,
				   struct arena *arena, struct query_feedback **ret_feedback,
				   struct err_detail *detail)
{
	void *record;
	err_t err = decode(codec, RECORD_FEEDBACK, header, data, len, arena, &record, detail);
	if (!err)
		*ret_feedback = record;
	return err;
}

err_t codec_decode_feedback(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct query_feedback **ret_feedback, struct err_detail *detail)
{
	return codec_decode_feedback_headed(codec, STR_NONE, data, len, arena, ret_feedback, detail);
}

/* Who types bare SQL may not know of JSON. */
static err_t ask_for_object(str_t json, err_t err, const struct err_detail *reason, struct err_detail *detail)
{
	size_t i = 0;
	while (i < json.len && (json.ptr[i] == ' ' || json.ptr[i] == '\t'))
		i++;
	bool begun = i == json.len || json.ptr[i] == '{';
	return err_fail(detail, err, "%s%s", err_message(err, reason),
			begun ? "" : "; write an object, {\"sql\": \"SELECT …\"}");
}

err_t codec_decode_query_json_lenient(const struct codec *codec, str_t json, int64_t now_ms,
				      struct arena *arena, struct generated_query **ret_query,
				      struct err_detail *detail)
{
	const struct json_limits limits = { codec->limits.max_items, JSON_BY_PERSON };
	struct err_detail reason = { "" };
	err_t err = check_size(codec, json.len, detail);
	if (err)
		return err;
	struct generated_query *query = ARENA_NEW(arena, struct generated_query);
	fields_init(&GENERATED_QUERY_RECORD, query);
	query->occurred_at = now_ms;
	err = json_read(&GENERATED_QUERY_RECORD, json, &limits, arena, query, &reason);
	if (err)
		return ask_for_object(json, err, &reason, detail);
	*ret_query = query;
	return ERR_OK;
}

static err_t encode(const struct codec *codec, enum record_id id, const void *record, struct buf *out)
{
	if (codec->output == WIRE_JSON) {
		json_write(builtin_record(id), record, out);
		return ERR_OK;
	}
	size_t start = out->len;
	if (codec->output == WIRE_CONFLUENT && !codec->written_ids[id])
		return ERR_AVRO_CODEC;
	if (codec->output == WIRE_CONFLUENT)
		framing_write_confluent(codec->written_ids[id], out);
	else
		framing_write_single_object(codec->fingerprints[id], out);
	err_t err = encode_record(builtin_record(id), record, out);
	if (err) {
		out->len = start;
		out->data[start] = '\0';
	}
	return err;
}

err_t codec_encode_query(const struct codec *codec, const struct generated_query *query, struct buf *out)
{
	return encode(codec, RECORD_QUERY, query, out);
}

err_t codec_encode_scored(const struct codec *codec, const struct scored_query *scored, struct buf *out)
{
	return encode(codec, RECORD_SCORED, scored, out);
}

err_t codec_encode_advisory(const struct codec *codec, const struct advisory *advisory, struct buf *out)
{
	return encode(codec, RECORD_ADVISORY, advisory, out);
}

err_t codec_encode_feedback(const struct codec *codec, const struct query_feedback *feedback, struct buf *out)
{
	return encode(codec, RECORD_FEEDBACK, feedback, out);
}

void codec_json_query(const struct generated_query *query, struct buf *out)
{
	json_write(&GENERATED_QUERY_RECORD, query, out);
}

void codec_json_scored(const struct scored_query *scored, struct buf *out)
{
	json_write(&SCORED_QUERY_RECORD, scored, out);
}

void codec_json_advisory(const struct advisory *advisory, struct buf *out)
{
	json_write(&ADVISORY_RECORD, advisory, out);
}
