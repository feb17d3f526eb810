#include "target/mongodb_documents.h"

#include "common/decimal.h"
#include "common/hash.h"
#include "common/utf8.h"
#include "sql/mongodb/date.h"

#include <math.h>

#define MAX_COLUMNS 4096
#define MAX_DEPTH   100
#define REPLACEMENT "\xEF\xBF\xBD"

/* Kinds of values that were seen in a column. */
enum {
	SEEN_INTEGER = 1,
	SEEN_DOUBLE = 2,
	SEEN_DECIMAL = 4,
	SEEN_BOOLEAN = 8,
	SEEN_TEXT = 16,
	SEEN_DATE = 32,
	SEEN_BYTES = 64,
	SEEN_JSON = 128
};

struct column {
	str_t name;
	size_t index;
	unsigned seen;
};

/* Where the text of a row's cell stands. */
struct place {
	size_t offset, len;
	bool present;
};

struct mongodb_documents {
	struct result_builder *builder;
	int64_t kept_rows, kept_bytes;
	const char *last;
	struct arena *arena;
	struct hash_map by_name;
	struct column **columns;
	size_t columns_count, columns_capacity;
	struct place *places; /* of one row */
	struct buf kept;      /* documents, one behind the other */
	int64_t kept_count;
	int64_t count;
	struct buf text; /* of one row */
	bool begun;	 /* columns are known, and rows on their way */
};

/* --- texts of values --- */

static void append_utf8(struct buf *out, const char *text, size_t len)
{
	while (len > 0) {
		size_t valid = utf8_valid_prefix(text, len);
		buf_append(out, text, valid);
		if (valid == len)
			return;
		buf_append_text(out, REPLACEMENT);
		text += valid + 1;
		len -= valid + 1;
	}
}

/* Between quotes, as JSON has it. */
static void append_quoted(struct buf *out, const char *text, size_t len)
{
	_cleanup_(buf_free) struct buf valid = BUF_INIT;
	append_utf8(&valid, text, len);
	buf_append_char(out, '"');
	for (size_t i = 0; i < valid.len; i++) {
		unsigned char byte = (unsigned char)valid.data[i];
		if (byte == '"' || byte == '\\')
			buf_printf(out, "\\%c", byte);
		else if (byte < 0x20)
			buf_printf(out, "\\u%04x", byte);
		else
			buf_append_char(out, (char)byte);
	}
	buf_append_char(out, '"');
}

static void append_hex(struct buf *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		buf_append_char(out, digits[bytes[i] >> 4]);
		buf_append_char(out, digits[bytes[i] & 15]);
	}
}

static void append_double(struct buf *out, double number)
{
	char digits[DECIMAL_SIZE];
	if (isnan(number))
		buf_append_text(out, "NaN");
	else if (isinf(number))
		buf_append_text(out, number > 0 ? "Infinity" : "-Infinity");
	else
		buf_append(out, digits, decimal_write(number, digits));
}

/* A value that is written as a plain text; false: it is none of those. */
static bool append_plain(struct buf *out, const bson_iter_t *iter, unsigned *ret_seen)
{
	char text[BSON_DECIMAL128_STRING];
	bson_decimal128_t decimal;
	*ret_seen = SEEN_INTEGER;
	switch (bson_iter_type(iter)) {
	case BSON_TYPE_INT32:
	case BSON_TYPE_INT64:
		buf_printf(out, "%lld", (long long)bson_iter_as_int64(iter));
		return true;
	case BSON_TYPE_DOUBLE:
		*ret_seen = SEEN_DOUBLE;
		append_double(out, bson_iter_double(iter));
		return true;
	case BSON_TYPE_DECIMAL128:
		*ret_seen = SEEN_DECIMAL;
		bson_iter_decimal128(iter, &decimal);
		bson_decimal128_to_string(&decimal, text);
		buf_append_text(out, text);
		return true;
	case BSON_TYPE_BOOL:
		*ret_seen = SEEN_BOOLEAN;
		buf_append_text(out, bson_iter_bool(iter) ? "true" : "false");
		return true;
	default:
		return false;
	}
}

/* One that JSON writes as a string. */
static void append_text(struct buf *out, const bson_iter_t *iter, unsigned *ret_seen)
{
	char date[40], id[25];
	uint32_t len = 0, seconds, increment;
	const char *text, *options = "";
	const uint8_t *bytes;
	bson_subtype_t subtype;
	*ret_seen = SEEN_TEXT;
	switch (bson_iter_type(iter)) {
	case BSON_TYPE_UTF8:
		text = bson_iter_utf8(iter, &len);
		append_utf8(out, text, len);
		return;
	case BSON_TYPE_OID:
		bson_oid_to_string(bson_iter_oid(iter), id);
		buf_append_text(out, id);
		return;
	case BSON_TYPE_DATE_TIME:
		*ret_seen = SEEN_DATE;
		buf_append(out, date, mongodb_date_write(bson_iter_date_time(iter), date, sizeof date));
		return;
	case BSON_TYPE_BINARY:
		*ret_seen = SEEN_BYTES;
		bson_iter_binary(iter, &subtype, &len, &bytes);
		append_hex(out, bytes, len);
		return;
	case BSON_TYPE_REGEX:
		text = bson_iter_regex(iter, &options);
		buf_append_char(out, '/');
		append_utf8(out, text, strlen(text));
		buf_append_char(out, '/');
		append_utf8(out, options, strlen(options));
		return;
	case BSON_TYPE_TIMESTAMP:
		bson_iter_timestamp(iter, &seconds, &increment);
		buf_printf(out, "%u %u", seconds, increment);
		return;
	case BSON_TYPE_SYMBOL:
		text = bson_iter_symbol(iter, &len);
		append_utf8(out, text, len);
		return;
	case BSON_TYPE_CODE:
		text = bson_iter_code(iter, &len);
		append_utf8(out, text, len);
		return;
	case BSON_TYPE_CODEWSCOPE:
		buf_append_text(out, "code");
		return;
	case BSON_TYPE_MINKEY:
		buf_append_text(out, "MinKey");
		return;
	case BSON_TYPE_MAXKEY:
		buf_append_text(out, "MaxKey");
		return;
	default:
		buf_append_text(out, "unknown");
		return;
	}
}

static bool is_null(const bson_iter_t *iter)
{
	bson_type_t type = bson_iter_type(iter);
	return type == BSON_TYPE_NULL || type == BSON_TYPE_UNDEFINED;
}

static bool is_container(const bson_iter_t *iter)
{
	return BSON_ITER_HOLDS_DOCUMENT(iter) || BSON_ITER_HOLDS_ARRAY(iter);
}

static void append_json(struct buf *out, const bson_iter_t *iter, unsigned depth);

static void append_members(struct buf *out, const bson_iter_t *iter, unsigned depth)
{
	bool array = BSON_ITER_HOLDS_ARRAY(iter), first = true;
	bson_iter_t child;
	buf_append_char(out, array ? '[' : '{');
	if (depth < MAX_DEPTH && bson_iter_recurse(iter, &child))
		while (bson_iter_next(&child)) {
			if (!first)
				buf_append_char(out, ',');
			first = false;
			if (!array) {
				append_quoted(out, bson_iter_key(&child), bson_iter_key_len(&child));
				buf_append_char(out, ':');
			}
			append_json(out, &child, depth + 1);
		}
	buf_append_char(out, array ? ']' : '}');
}

/* NaN and infinities are no numbers of JSON. */
static bool is_finite(const bson_iter_t *iter)
{
	bson_decimal128_t decimal;
	if (BSON_ITER_HOLDS_DECIMAL128(iter)) {
		bson_iter_decimal128(iter, &decimal);
		return (decimal.high & UINT64_C(0x7800000000000000)) != UINT64_C(0x7800000000000000);
	}
	return !BSON_ITER_HOLDS_DOUBLE(iter) || isfinite(bson_iter_double(iter));
}

static void append_json(struct buf *out, const bson_iter_t *iter, unsigned depth)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	unsigned seen;
	if (is_null(iter))
		buf_append_text(out, "null");
	else if (is_container(iter))
		append_members(out, iter, depth);
	else if (append_plain(&text, iter, &seen) && is_finite(iter))
		buf_append_str(out, buf_str(&text));
	else {
		if (text.len == 0)
			append_text(&text, iter, &seen);
		append_quoted(out, text.data ? text.data : "", text.len);
	}
}

/* Of a field of the top level. */
static unsigned append_cell(struct buf *out, const bson_iter_t *iter)
{
	unsigned seen = SEEN_JSON;
	if (is_container(iter))
		append_members(out, iter, 0);
	else if (!append_plain(out, iter, &seen))
		append_text(out, iter, &seen);
	return seen;
}

static enum cell_class class_of(unsigned seen)
{
	switch (seen) {
	case 0:
		return CELL_NULL;
	case SEEN_INTEGER:
		return CELL_INTEGER;
	case SEEN_DOUBLE:
	case SEEN_DOUBLE | SEEN_INTEGER:
		return CELL_FLOAT;
	case SEEN_DECIMAL:
	case SEEN_DECIMAL | SEEN_INTEGER:
	case SEEN_DECIMAL | SEEN_DOUBLE:
	case SEEN_DECIMAL | SEEN_DOUBLE | SEEN_INTEGER:
		return CELL_DECIMAL;
	case SEEN_BOOLEAN:
		return CELL_BOOLEAN;
	case SEEN_TEXT:
		return CELL_TEXT;
	case SEEN_DATE:
		return CELL_TIMESTAMP_TZ;
	case SEEN_BYTES:
		return CELL_BYTES;
	case SEEN_JSON:
		return CELL_JSON;
	default:
		return CELL_UNKNOWN;
	}
}

/* --- columns --- */

/* NULL: there are too many. */
static struct column *add_column(struct mongodb_documents *documents, str_t key)
{
	if (documents->columns_count == MAX_COLUMNS)
		return NULL;
	struct column *column = ARENA_NEW(documents->arena, struct column);
	column->name = arena_str(documents->arena, key);
	hash_map_set(&documents->by_name, column->name, column);
	ARENA_PUSH(documents->arena, documents->columns, documents->columns_count,
		   documents->columns_capacity, column);
	return column;
}

static struct column *column_of(const struct mongodb_documents *documents, const bson_iter_t *iter)
{
	str_t key = { bson_iter_key(iter), bson_iter_key_len(iter) };
	return hash_map_get(&documents->by_name, key);
}

static bool note_columns(struct mongodb_documents *documents, const bson_t *document)
{
	bson_iter_t iter;
	if (!bson_iter_init(&iter, document))
		return true;
	while (bson_iter_next(&iter)) {
		str_t key = { bson_iter_key(&iter), bson_iter_key_len(&iter) };
		if (!column_of(documents, &iter) && !add_column(documents, key))
			return false;
	}
	return true;
}

static bool stands_last(const struct mongodb_documents *documents, const struct column *column)
{
	size_t len = documents->last ? strlen(documents->last) : 0;
	return len > 0 && column->name.len >= len && memcmp(column->name.ptr, documents->last, len) == 0;
}

static void place_columns(struct mongodb_documents *documents)
{
	size_t next = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < documents->columns_count; i++)
			if (stands_last(documents, documents->columns[i]) == (pass == 1))
				documents->columns[i]->index = next++;
}

static str_t valid_name(str_t name, struct arena *arena)
{
	_cleanup_(buf_free) struct buf valid = BUF_INIT;
	append_utf8(&valid, name.ptr, name.len);
	return arena_text(arena, valid.data ? valid.data : "", valid.len);
}

/* --- rows --- */

/* False when a limit is reached or no more rows are wanted. */
static bool put_cells(const struct mongodb_documents *documents)
{
	struct result_builder *builder = documents->builder;
	size_t columns = documents->columns_count, bytes = 0;
	char *to = NULL;
	for (size_t i = 0; i < columns; i++)
		bytes += documents->places[i].present ? documents->places[i].len : 0;
	str_t *cells = result_add_row(builder, bytes, &to);
	if (!cells)
		return false;
	for (size_t i = 0; i < columns; i++) {
		const struct place *place = &documents->places[i];
		if (!place->present)
			continue;
		if (place->len > 0)
			memcpy(to, documents->text.data + place->offset, place->len);
		to[place->len] = '\0';
		cells[i] = (str_t){ to, place->len };
		to += place->len + 1;
	}
	return result_end_row(builder);
}

/* A field that nothing before had would be a further column: the rows before would not have it. */
static bool put_row(struct mongodb_documents *documents, const bson_t *document)
{
	bson_iter_t iter;
	buf_reset(&documents->text);
	memset(documents->places, 0, documents->columns_count * sizeof *documents->places);
	if (!bson_iter_init(&iter, document))
		return true;
	while (bson_iter_next(&iter)) {
		struct column *column = column_of(documents, &iter);
		if (!column) {
			documents->builder->truncated = true;
			return false;
		}
		if (is_null(&iter))
			continue;
		size_t start = documents->text.len;
		column->seen |= append_cell(&documents->text, &iter);
		documents->places[column->index] = (struct place){ start, documents->text.len - start, true };
	}
	return put_cells(documents);
}

static bool begin(struct mongodb_documents *documents)
{
	struct result_builder *builder = documents->builder;
	documents->begun = true;
	place_columns(documents);
	result_begin(builder, documents->columns_count);
	for (size_t i = 0; i < documents->columns_count; i++)
		builder->columns[documents->columns[i]->index].name =
			valid_name(documents->columns[i]->name, builder->arena);
	documents->places = ARENA_ARRAY(documents->arena, struct place, documents->columns_count);
	for (size_t at = 0; at < documents->kept.len;) {
		uint32_t len;
		bson_t document;
		memcpy(&len, documents->kept.data + at, sizeof len);
		len = BSON_UINT32_FROM_LE(len);
		if (!bson_init_static(&document, (const uint8_t *)documents->kept.data + at, len) ||
		    !put_row(documents, &document))
			return false;
		at += len;
	}
	return true;
}

static bool is_kept(const struct mongodb_documents *documents, const bson_t *document)
{
	return documents->kept_count < documents->kept_rows &&
	       (int64_t)documents->kept.len + document->len <= documents->kept_bytes;
}

bool mongodb_documents_take(struct mongodb_documents *documents, const bson_t *document)
{
	struct result_builder *builder = documents->builder;
	documents->count++;
	if (!documents->begun && is_kept(documents, document)) {
		documents->kept_count++;
		buf_append(&documents->kept, bson_get_data(document), document->len);
		if (note_columns(documents, document))
			return true;
		builder->truncated = true;
		return false;
	}
	if (builder->sink.take)
		return (documents->begun || begin(documents)) && put_row(documents, document);
	builder->truncated = true;
	return false;
}

void mongodb_documents_finish(struct mongodb_documents *documents)
{
	struct result_builder *builder = documents->builder;
	bool cut = builder->truncated;
	if (!documents->begun)
		begin(documents);
	builder->truncated |= cut;
	for (size_t i = 0; i < documents->columns_count; i++)
		builder->columns[documents->columns[i]->index].type = class_of(documents->columns[i]->seen);
}

int64_t mongodb_documents_count(const struct mongodb_documents *documents)
{
	return documents->count;
}

struct mongodb_documents *mongodb_documents_new(struct result_builder *builder, int64_t kept_rows,
						int64_t kept_bytes, const char *last)
{
	struct mongodb_documents *documents = calloc(1, sizeof *documents);
	if (!documents)
		abort();
	documents->builder = builder;
	documents->kept_rows = kept_rows;
	documents->kept_bytes = kept_bytes;
	documents->last = last;
	documents->arena = arena_new();
	hash_map_init(&documents->by_name, documents->arena, 0);
	return documents;
}

void mongodb_documents_free(struct mongodb_documents *documents)
{
	if (!documents)
		return;
	buf_free(&documents->kept);
	buf_free(&documents->text);
	arena_free(documents->arena);
	free(documents);
}
