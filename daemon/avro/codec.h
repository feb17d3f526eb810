/*
 * Wire formats: bytes of Kafka messages and JSON texts to plain values and back.
 *
 * A codec is shared by all threads and immutable, but that it may learn schemas by the names that a schema
 * registry has given them (codec_learn_named). Foreign bytes are checked by our own bounds check
 * (avro/bounds.h) before any library sees them; fields are bound by name through a plan made once per
 * writer's schema, with our own defaults, so that readers and writers a version apart understand each other.
 */
#pragma once

#include "avro/advisory.h"
#include "avro/builtin.h"
#include "avro/framing.h"
#include "avro/query_feedback.h"
#include "common/arena.h"
#include "common/buf.h"

enum wire_format { WIRE_SINGLE_OBJECT, WIRE_JSON, WIRE_CONFLUENT };

struct codec;

struct codec_options {
	enum wire_format output;      /* WIRE_CONFLUENT: after codec_set_written_id */
	const char *schema_directory; /* further writers' schemas (*.avsc) that single-object messages may
					 name; or NULL */
	size_t max_event_bytes;	      /* 0: 4 MiB */
	size_t max_items;	      /* of one array or map; 0: 100,000 */
	size_t max_named;	      /* schemas that a registry names; 0: there is none */
};

/* The caller owns the codec; nothing of the options is kept. ERR_FILE_UNREADABLE, ERR_SCHEMA_INCOMPATIBLE:
 * the detail names the file of the schema directory. */
err_t codec_new(const struct codec_options *options, struct codec **ret_codec, struct err_detail *detail);
void codec_free(struct codec *codec); /* NULL is fine */

DEFINE_CLEANUP(struct codec, codec_cleanup, codec_free)

/* A further writer's schema, by its JSON text, and the fingerprint that messages name it by. By the owner,
 * while nobody else has the codec. ERR_JSON_SYNTAX, ERR_SCHEMA_INCOMPATIBLE: it is no schema. */
err_t codec_learn_schema(struct codec *codec, str_t json, uint64_t *ret_fingerprint,
			 struct err_detail *detail);

/* The schema that messages name so from now on, for good; a name that is known keeps its schema. Any thread,
 * while others decode. ERR_JSON_SYNTAX: it is no schema of Avro. ERR_SCHEMA_INCOMPATIBLE: likewise, or it can
 * be read as none of our records; the detail says why not as an event. ERR_SCHEMA_UNAVAILABLE: there is no
 * room for more. None of these is remembered. */
err_t codec_learn_named(struct codec *codec, const struct schema_name *name, str_t json,
			struct err_detail *detail);

/* Likewise, for a schema that the codec has compiled in, which records of that kind are written with. By the
 * owner, while nobody else has the codec. */
void codec_set_written_id(struct codec *codec, enum record_id record, uint32_t id);

/* Whether the codec knows it; how many it knows. */
bool codec_knows_named(const struct codec *codec, const struct schema_name *name);
size_t codec_named_count(const struct codec *codec);

/* How a codec finds out about a name that it does not know: learns it, or says why that cannot be. May
 * block. */
typedef err_t (*codec_resolve_fn)(const struct schema_name *name, void *context, struct err_detail *detail);

/* Whether a message that was not decoded for this error may be decoded later, once a registry is back. Pure.
 */
static inline bool codec_awaits_schema(err_t err)
{
	return err == ERR_SCHEMA_UNAVAILABLE || err == ERR_SCHEMA_AWAITED || err == ERR_SHUTTING_DOWN;
}

/* For all records but queries, whose reader has to be told (ERR_SCHEMA_AWAITED) instead, since it must not
 * block. By the owner, while nobody else has the codec; `release`, or NULL, is called with the context when
 * the codec goes. */
void codec_set_resolver(struct codec *codec, codec_resolve_fn resolve, void *context,
			void (*release)(void *context));

/* Decodes an input message of any format (told apart by its header, FRAMING_HEADER, and its first bytes) into
 * the arena. JSON is read as from a program (avro/json.h): unknown fields and symbols of newer writers are
 * tolerated as in Avro. ERR_SCHEMA_AWAITED: it names a schema that the codec has yet to learn. */
err_t codec_decode_query_headed(const struct codec *codec, str_t header, const void *data, size_t len,
				struct arena *arena, struct generated_query **ret_query,
				struct err_detail *detail);

/* The same of a message without that header. */
err_t codec_decode_query(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			 struct generated_query **ret_query, struct err_detail *detail);

/* The same for one JSON text typed by a person: what has an obvious default may be absent (only `sql` has to
 * be there; event_id stays empty, occurred_at is `now_ms`, application and question are empty). A field whose
 * name is nearly a known one is refused with the name that was meant; other unknown fields are skipped. */
err_t codec_decode_query_json_lenient(const struct codec *codec, str_t json, int64_t now_ms,
				      struct arena *arena, struct generated_query **ret_query,
				      struct err_detail *detail);

/* Decodes an output record of either format; for the calibrator and for reading back. */
err_t codec_decode_scored(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			  struct scored_query **ret_scored, struct err_detail *detail);
err_t codec_decode_advisory(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct advisory **ret_advisory, struct err_detail *detail);

/* Decodes a message of the feedback topic, of any format; with the value of its header, or an absent one. */
err_t codec_decode_feedback_headed(const struct codec *codec, str_t header, const void *data, size_t len,
				   struct arena *arena, struct query_feedback **ret_feedback,
				   struct err_detail *detail);
err_t codec_decode_feedback(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct query_feedback **ret_feedback, struct err_detail *detail);

/* Appends the encoded record in the codec's output format. */
err_t codec_encode_query(const struct codec *codec, const struct generated_query *query, struct buf *out);
err_t codec_encode_scored(const struct codec *codec, const struct scored_query *scored, struct buf *out);
err_t codec_encode_advisory(const struct codec *codec, const struct advisory *advisory, struct buf *out);
err_t codec_encode_feedback(const struct codec *codec, const struct query_feedback *feedback,
			    struct buf *out);

/* Appends the record as one line of JSON without a line end, whatever the codec's output format. */
void codec_json_query(const struct generated_query *query, struct buf *out);
void codec_json_scored(const struct scored_query *scored, struct buf *out);
void codec_json_advisory(const struct advisory *advisory, struct buf *out);
