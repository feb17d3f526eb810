/* JSON of programs and of people: whatever the text is, reading it answers, and what was read is written as
 * JSON that reads back as the same. */
#include "avro/fields.h"
#include "avro/json.h"
#include "avro/json_quick.h"
#include "avro/timestamp.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read in one pass, jansson takes as well, and to the same record. */
static void check_quick(const struct record_type *type, str_t text)
{
	const struct json_limits limits = { 1000, JSON_BY_PROGRAM };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	struct err_detail detail = { "" };
	void *record = arena_alloc(arena, type->size_bytes);
	fields_init(type, record);
	if (!json_read_quickly(type, text, &limits, arena, record))
		return;
	json_write(type, record, &json);
	fields_init(type, record);
	assert(json_read_slowly(type, text, &limits, arena, record, &detail) == ERR_OK);
	json_write(type, record, &again);
	assert(json.len == again.len && memcmp(json.data, again.data, json.len) == 0);
}

static void check(const struct record_type *type, str_t text, enum json_author author)
{
	const struct json_limits limits = { 1000, author };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	struct err_detail detail = { "" };
	void *record = arena_alloc(arena, type->size_bytes);
	fields_init(type, record);
	if (json_read(type, text, &limits, arena, record, &detail)) {
		assert(detail.message[0]);
		return;
	}
	json_write(type, record, &json);
	fields_init(type, record);
	assert(json_read(type, buf_str(&json), &limits, arena, record, &detail) == ERR_OK);
	json_write(type, record, &again);
	assert(json.len == again.len && memcmp(json.data, again.data, json.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	str_t text = { (const char *)data + 1, size - 1 };
	int64_t ms;
	switch (data[0] % 4) {
	case 0:
		check(&GENERATED_QUERY_RECORD, text, JSON_BY_PERSON);
		break;
	case 1:
		check_quick(&SCORED_QUERY_RECORD, text);
		check_quick(&GENERATED_QUERY_RECORD, text);
		check(&SCORED_QUERY_RECORD, text, JSON_BY_PROGRAM);
		break;
	case 2:
		check(&ADVISORY_RECORD, text, JSON_BY_PROGRAM);
		break;
	default:
		timestamp_parse(text, &ms);
	}
	return 0;
}
