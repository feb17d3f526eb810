/*
 * Foreign messages: whatever the bytes are, decoding answers. The first byte chooses the record; 255 parses
 * the rest as a schema instead and walks it over its own text. What was decoded must encode, and decode to
 * the same JSON again.
 */
#include "avro/bounds.h"
#include "avro/builtin.h"
#include "avro/canonical.h"
#include "avro/codec.h"
#include "avro/framing.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct codec *codec;
static uint64_t fingerprints[RECORD_COUNT_];

static void prepare(void)
{
	const struct codec_options options = { .max_event_bytes = 1 << 20, .max_items = 1000 };
	if (codec_new(&options, &codec, NULL))
		abort();
	for (int id = 0; id < RECORD_COUNT_; id++) {
		struct schema *schema;
		if (schema_parse(builtin_schema((enum record_id)id), &schema, NULL))
			abort();
		fingerprints[id] = canonical_fingerprint(schema);
		schema_free(schema);
	}
}

/* Decodes the message; its JSON into `json`, and itself encoded anew into `again` where that is wanted. */
static err_t convert(int id, const struct buf *message, struct buf *json, struct buf *again)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct generated_query *query;
	struct scored_query *scored;
	struct advisory *advisory;
	err_t err;
	if (id == RECORD_QUERY) {
		err = codec_decode_query(codec, message->data, message->len, arena, &query, &detail);
		if (!err)
			codec_json_query(query, json);
		return err || !again ? err : codec_encode_query(codec, query, again);
	}
	if (id == RECORD_SCORED) {
		err = codec_decode_scored(codec, message->data, message->len, arena, &scored, &detail);
		if (!err)
			codec_json_scored(scored, json);
		return err || !again ? err : codec_encode_scored(codec, scored, again);
	}
	err = codec_decode_advisory(codec, message->data, message->len, arena, &advisory, &detail);
	if (!err)
		codec_json_advisory(advisory, json);
	return err || !again ? err : codec_encode_advisory(codec, advisory, again);
}

static void check_message(int id, const struct buf *message)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	_cleanup_(buf_free) struct buf json_again = BUF_INIT;
	if (convert(id, message, &json, &again))
		return;
	assert(convert(id, &again, &json_again, NULL) == ERR_OK);
	assert(json.len == json_again.len && memcmp(json.data, json_again.data, json.len) == 0);
}

static void check_schema(const uint8_t *data, size_t size)
{
	const struct bounds_limits limits = { .max_items = 1000, .max_depth = BOUNDS_MAX_DEPTH };
	_cleanup_(buf_free) struct buf form = BUF_INIT;
	struct schema *schema;
	str_t text = { (const char *)data, size };
	if (schema_parse(text, &schema, NULL))
		return;
	canonical_form(schema, &form);
	bounds_check(schema->root, data, size, &limits, NULL);
	uint64_t fingerprint = canonical_fingerprint(schema);
	schema_free(schema);
	if (schema_parse(buf_str(&form), &schema, NULL))
		abort();
	assert(canonical_fingerprint(schema) == fingerprint);
	schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!codec)
		prepare();
	if (size == 0)
		return 0;
	if (data[0] == 255) {
		check_schema(data + 1, size - 1);
		return 0;
	}
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	int id = data[0] % RECORD_COUNT_;
	if (data[0] < 128) /* bare Avro data: the frame would never be guessed */
		framing_write_single_object(fingerprints[id], &message);
	buf_append(&message, data + 1, size - 1);
	check_message(id, &message);
	return 0;
}
