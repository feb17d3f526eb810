/*
 * Schemas of foreign writers and data of theirs: the first byte chooses the record that it is read as, a
 * schema follows, then a NUL, and what is behind is data. Whatever both are, reading them answers: the schema
 * by us, its plan, the bounds check, the decoding. What was read must be a record that encodes and decodes to
 * the same.
 */
#include "avro/bounds.h"
#include "avro/builtin.h"
#include "avro/encode.h"
#include "avro/json.h"
#include "avro/plan.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bounds_limits limits = { 1000, BOUNDS_MAX_DEPTH };
static struct schema *readers[RECORD_COUNT_];

/* Reads data of the writer's; true when it is read, and its JSON then in `json`. */
static bool read_by(const struct schema *writer, int id, str_t data, struct arena *arena, void *record,
		    struct buf *json)
{
	const struct record_type *type = builtin_record((enum record_id)id);
	const struct plan *plan;
	struct err_detail detail = { "" };
	err_t err = plan_make(writer, readers[id], type, arena, &plan, &detail);
	fields_init(type, record);
	if (!err)
		err = bounds_check(writer->root, data.ptr, data.len, &limits, &detail);
	if (!err)
		err = plan_decode(plan, data, &limits, arena, record, &detail);
	if (!err)
		json_write(type, record, json);
	else
		assert(detail.message[0] || err == ERR_TEXT_ENCODING || err == ERR_AVRO_ITEMS);
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < RECORD_COUNT_ && !readers[i]; i++)
		if (schema_parse(builtin_schema((enum record_id)i), &readers[i], NULL))
			abort();
	const uint8_t *end = size > 0 ? memchr(data + 1, '\0', size - 1) : NULL;
	if (!end)
		return 0;
	int id = data[0] % RECORD_COUNT_;
	str_t text = { (const char *)data + 1, (size_t)(end - data) - 1 };
	str_t bytes = { (const char *)end + 1, (size_t)(data + size - end) - 1 };
	struct schema *writer;
	if (schema_parse(text, &writer, NULL))
		return 0;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf json = BUF_INIT, again = BUF_INIT, encoded = BUF_INIT;
	const struct record_type *type = builtin_record((enum record_id)id);
	void *record = arena_alloc(arena, type->size_bytes);
	if (read_by(writer, id, bytes, arena, record, &json) &&
	    encode_record(type, record, &encoded) == ERR_OK) {
		assert(read_by(readers[id], id, buf_str(&encoded), arena, record, &again));
		assert(json.len == again.len && memcmp(json.data, again.data, json.len) == 0);
	}
	schema_free(writer);
	return 0;
}
