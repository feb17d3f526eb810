#include "avro/encode.h"

#include "avro/utf8.h"

#include <assert.h>
#include <avro.h>
#include <pthread.h>

/* Values keep the memory of the largest record that they held; after one above this they are given up. */
#define KEEP_MAX_BYTES 65536

struct values {
	avro_value_t value[RECORD_COUNT_]; /* iface NULL: not made */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t values_key;
static avro_value_iface_t *interfaces[RECORD_COUNT_];

static int put_value(const struct field *field, const void *record, avro_value_t *to);

static void drop_value(avro_value_t *value)
{
	if (value->iface)
		avro_value_decref(value);
	*value = (avro_value_t){ 0 };
}

static void values_free(void *memory)
{
	struct values *values = memory;
	for (int id = 0; id < RECORD_COUNT_; id++)
		drop_value(&values->value[id]);
	free(values);
}

static void prepare(void)
{
	if (pthread_key_create(&values_key, values_free))
		abort();
	for (int id = 0; id < RECORD_COUNT_; id++) {
		str_t text = builtin_schema((enum record_id)id);
		avro_schema_t schema;
		if (avro_schema_from_json_length(text.ptr, text.len, &schema))
			abort();
		interfaces[id] = avro_generic_class_from_schema(schema);
		avro_schema_decref(schema);
		if (!interfaces[id])
			abort();
	}
}

static avro_value_t *thread_value(enum record_id id)
{
	pthread_once(&once, prepare);
	struct values *values = pthread_getspecific(values_key);
	if (!values) {
		values = calloc(1, sizeof *values);
		if (!values || pthread_setspecific(values_key, values))
			abort();
	}
	avro_value_t *value = &values->value[id];
	if (!value->iface && avro_generic_value_new(interfaces[id], value))
		abort();
	return value;
}

static void append_repaired(struct buf *out, str_t text)
{
	while (text.len > 0) {
		size_t valid = utf8_valid_prefix(text.ptr, text.len);
		buf_append(out, text.ptr, valid);
		if (valid == text.len)
			return;
		buf_append_text(out, "\xef\xbf\xbd");
		text = (str_t){ text.ptr + valid + 1, text.len - valid - 1 };
	}
}

/* The library counts the final NUL as part of a string. */
static int put_text(str_t text, avro_value_t *to)
{
	if (utf8_valid(text.ptr, text.len))
		return avro_value_set_string_len(to, text.ptr ? text.ptr : "", text.len + 1);
	_cleanup_(buf_free) struct buf repaired = BUF_INIT;
	append_repaired(&repaired, text);
	return avro_value_set_string_len(to, repaired.data, repaired.len + 1);
}

static int put_enum(const struct field *field, int index, avro_value_t *to)
{
	if (index < 0 || (size_t)index >= field->symbols->count)
		return EINVAL;
	return avro_value_set_enum(to, index);
}

static int put_record(const struct record_type *type, const void *record, avro_value_t *to)
{
	for (size_t i = 0; i < type->count; i++) {
		avro_value_t child;
		int failed = avro_value_get_by_index(to, i, &child, NULL);
		if (!failed)
			failed = put_value(&type->fields[i], record, &child);
		if (failed)
			return failed;
	}
	return 0;
}

static int put_items(const struct field *field, const void *record, avro_value_t *to)
{
	struct field_items items = field_items(field, record);
	int failed = avro_value_reset(to);
	for (size_t i = 0; i < items.count && !failed; i++) {
		const char *item = items.data + i * field->item_size_bytes;
		avro_value_t child;
		if (field->kind == FIELD_MAP)
			failed = avro_value_add(to, ((const str_t *)(const void *)item)->ptr, &child, NULL,
						NULL);
		else
			failed = avro_value_append(to, &child, NULL);
		if (!failed)
			failed = put_value(field->item, item, &child);
	}
	return failed;
}

static int put_content(const struct field *field, const void *record, avro_value_t *to)
{
	switch (field->kind) {
	case FIELD_BOOL:
		return avro_value_set_boolean(to, field_bool(field, record));
	case FIELD_LONG:
	case FIELD_TIME:
		return avro_value_set_long(to, field_long(field, record));
	case FIELD_DOUBLE:
		return avro_value_set_double(to, field_double(field, record));
	case FIELD_TEXT:
		return put_text(*(const str_t *)field_in(field, record), to);
	case FIELD_ENUM:
		return put_enum(field, *(const int *)field_in(field, record), to);
	case FIELD_RECORD:
		return put_record(field->record, field_record(field, record), to);
	default:
		return put_items(field, record, to);
	}
}

/* A nullable field is a union of null and its content, in this order. */
static int put_value(const struct field *field, const void *record, avro_value_t *to)
{
	if (!field_nullable(field))
		return put_content(field, record, to);
	avro_value_t branch;
	bool present = field_present(field, record);
	int failed = avro_value_set_branch(to, present, &branch);
	if (failed)
		return failed;
	return present ? put_content(field, record, &branch) : avro_value_set_null(&branch);
}

static int write_value(avro_value_t *value, size_t size, struct buf *out)
{
	avro_writer_t writer = avro_writer_memory(buf_reserve(out, size), (int64_t)size);
	if (!writer)
		return ENOMEM;
	int failed = avro_value_write(writer, value);
	assert(failed || avro_writer_tell(writer) == (int64_t)size);
	avro_writer_free(writer);
	if (failed)
		return failed;
	out->len += size;
	out->data[out->len] = '\0';
	return 0;
}

err_t encode_record(enum record_id id, const void *record, struct buf *out)
{
	avro_value_t *value = thread_value(id);
	size_t size = 0;
	int failed = put_record(builtin_record(id), record, value);
	if (!failed)
		failed = avro_value_sizeof(value, &size);
	if (!failed)
		failed = write_value(value, size, out);
	if (failed || size > KEEP_MAX_BYTES)
		drop_value(value);
	return failed ? ERR_AVRO_CODEC : ERR_OK;
}
