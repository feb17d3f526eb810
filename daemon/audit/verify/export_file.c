#include "audit/verify/export_file.h"

#include "common/base64.h"

#include <jansson.h>

static void append_topic(const char *topic, int32_t partition, struct buf *out)
{
	/* of letters, digits, '.', '_' and '-': nothing to be escaped */
	buf_printf(out, "{\"topic\":\"%s\",\"partition\":%d", topic, (int)partition);
}

static void append_bytes(const char *name, str_t bytes, struct buf *out)
{
	buf_printf(out, ",\"%s\":", name);
	if (!str_present(bytes)) {
		buf_append_text(out, "null");
		return;
	}
	buf_append_char(out, '"');
	base64_append(out, bytes.ptr, bytes.len);
	buf_append_char(out, '"');
}

void export_file_write(const char *topic, int32_t partition, int64_t offset, str_t key, str_t value,
		       struct buf *out)
{
	append_topic(topic, partition, out);
	buf_printf(out, ",\"offset\":%lld", (long long)offset);
	append_bytes("key", key, out);
	append_bytes("value", value, out);
	buf_append_text(out, "}\n");
}

void export_file_write_mark(const char *topic, int32_t partition, const struct growth_mark *mark,
			    struct buf *out)
{
	json_t *reason =
		json_stringn(mark->mark.reason.ptr ? mark->mark.reason.ptr : "", mark->mark.reason.len);
	char *text = reason ? json_dumps(reason, JSON_ENCODE_ANY) : NULL;
	if (!text)
		abort();
	append_topic(topic, partition, out);
	buf_printf(out, ",\"index\":%llu,\"mark\":\"%s\",\"from\":%lld,\"to\":%lld,\"reason\":%s}\n",
		   (unsigned long long)mark->index, mark->mark.kind == LEAF_MARK_GAP ? "gap" : "begins_again",
		   (long long)mark->mark.from_offset, (long long)mark->mark.to_offset, text);
	free(text);
	json_decref(reason);
}

/* ---- reading ---- */

static err_t shape(struct err_detail *detail, const char *field)
{
	return err_fail(detail, ERR_JSON_SHAPE, "\"%s\" is missing or not what an export has there", field);
}

static bool get_number(const json_t *object, const char *name, int64_t most, int64_t *ret_number)
{
	const json_t *value = json_object_get(object, name);
	if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > most)
		return false;
	*ret_number = json_integer_value(value);
	return true;
}

static bool get_bytes(const json_t *object, const char *name, struct arena *arena, str_t *ret_bytes)
{
	const json_t *value = json_object_get(object, name);
	*ret_bytes = STR_NONE;
	if (json_is_null(value))
		return true;
	if (!json_is_string(value))
		return false;
	str_t text = { json_string_value(value), json_string_length(value) };
	size_t capacity = text.len / 4 * 3, len = 0;
	char *bytes = ARENA_ARRAY(arena, char, capacity + 1);
	if (!base64_read(text, capacity, bytes, &len))
		return false;
	*ret_bytes = (str_t){ bytes, len };
	return true;
}

static err_t read_mark(const json_t *object, struct arena *arena, struct export_file_line *line,
		       struct err_detail *detail)
{
	const char *kind = json_string_value(json_object_get(object, "mark"));
	const json_t *reason = json_object_get(object, "reason");
	struct leaf_mark *mark = &line->mark.mark;
	int64_t index;
	if (!get_number(object, "index", INT64_MAX, &index))
		return shape(detail, "index");
	if (!get_number(object, "from", INT64_MAX, &mark->from_offset))
		return shape(detail, "from");
	if (!get_number(object, "to", INT64_MAX, &mark->to_offset))
		return shape(detail, "to");
	if (!json_is_string(reason))
		return shape(detail, "reason");
	line->mark.index = (uint64_t)index;
	mark->kind = kind && strcmp(kind, "gap") == 0 ? LEAF_MARK_GAP : LEAF_MARK_BEGINS_AGAIN;
	mark->reason = arena_text(arena, json_string_value(reason), json_string_length(reason));
	bool known = kind && (mark->kind == LEAF_MARK_GAP || strcmp(kind, "begins_again") == 0);
	return known && leaf_mark_valid(mark) ? ERR_OK : shape(detail, "mark");
}

static err_t read_object(const json_t *object, struct arena *arena, struct export_file_line *line,
			 struct err_detail *detail)
{
	const json_t *topic = json_object_get(object, "topic");
	int64_t partition;
	if (!json_is_string(topic))
		return shape(detail, "topic");
	if (!get_number(object, "partition", INT32_MAX, &partition))
		return shape(detail, "partition");
	line->topic = arena_text(arena, json_string_value(topic), json_string_length(topic));
	line->partition = (int32_t)partition;
	line->is_mark = json_object_get(object, "mark") != NULL;
	if (line->is_mark)
		return read_mark(object, arena, line, detail);
	if (!get_number(object, "offset", INT64_MAX - 1, &line->offset))
		return shape(detail, "offset");
	if (!get_bytes(object, "key", arena, &line->key))
		return shape(detail, "key");
	return get_bytes(object, "value", arena, &line->value) ? ERR_OK : shape(detail, "value");
}

err_t export_file_parse(str_t text, struct arena *arena, struct export_file_line *ret_line,
			struct err_detail *detail)
{
	json_error_t error;
	struct export_file_line line = { .partition = 0 };
	json_t *object = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return err_fail(detail, ERR_JSON_SYNTAX, "not JSON: %s", error.text);
	err_t err = read_object(object, arena, &line, detail);
	json_decref(object);
	if (!err)
		*ret_line = line;
	return err;
}
