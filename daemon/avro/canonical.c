#include "avro/canonical.h"

#include <inttypes.h>

#define RABIN_EMPTY 0xc15d213aa4d7a795u

struct canonical_writer {
	struct buf *out;
	bool *defined; /* by node number: named types that were written out already */
	bool timed;
};

static void write_node(struct canonical_writer *writer, const struct schema_node *node);

static void write_quoted(struct buf *out, str_t text)
{
	buf_append_char(out, '"');
	buf_append_str(out, text);
	buf_append_char(out, '"');
}

static void write_fields(struct canonical_writer *writer, const struct schema_node *node)
{
	buf_append_text(writer->out, ",\"fields\":[");
	for (size_t i = 0; i < node->count; i++) {
		buf_append_text(writer->out, i ? ",{\"name\":" : "{\"name\":");
		write_quoted(writer->out, node->labels[i]);
		buf_append_text(writer->out, ",\"type\":");
		write_node(writer, node->children[i]);
		buf_append_char(writer->out, '}');
	}
	buf_append_char(writer->out, ']');
}

static void write_symbols(struct canonical_writer *writer, const struct schema_node *node)
{
	buf_append_text(writer->out, ",\"symbols\":[");
	for (size_t i = 0; i < node->count; i++) {
		if (i)
			buf_append_char(writer->out, ',');
		write_quoted(writer->out, node->labels[i]);
	}
	buf_append_char(writer->out, ']');
}

static void write_named(struct canonical_writer *writer, const struct schema_node *node)
{
	if (writer->defined[node->number]) {
		write_quoted(writer->out, node->name);
		return;
	}
	writer->defined[node->number] = true;
	buf_append_text(writer->out, "{\"name\":");
	write_quoted(writer->out, node->name);
	buf_printf(writer->out, ",\"type\":\"%s\"", schema_type_name(node->type));
	if (node->type == SCHEMA_RECORD)
		write_fields(writer, node);
	else if (node->type == SCHEMA_ENUM)
		write_symbols(writer, node);
	else
		buf_printf(writer->out, ",\"size\":%zu", node->size_bytes);
	buf_append_char(writer->out, '}');
}

static void write_union(struct canonical_writer *writer, const struct schema_node *node)
{
	buf_append_char(writer->out, '[');
	for (size_t i = 0; i < node->count; i++) {
		if (i)
			buf_append_char(writer->out, ',');
		write_node(writer, node->children[i]);
	}
	buf_append_char(writer->out, ']');
}

static void write_node(struct canonical_writer *writer, const struct schema_node *node)
{
	switch (node->type) {
	case SCHEMA_RECORD:
	case SCHEMA_ENUM:
	case SCHEMA_FIXED:
		write_named(writer, node);
		break;
	case SCHEMA_UNION:
		write_union(writer, node);
		break;
	case SCHEMA_ARRAY:
	case SCHEMA_MAP:
		buf_append_text(writer->out, node->type == SCHEMA_ARRAY ? "{\"type\":\"array\",\"items\":"
									: "{\"type\":\"map\",\"values\":");
		write_node(writer, node->children[0]);
		buf_append_char(writer->out, '}');
		break;
	default:
		write_quoted(writer->out, str_from(schema_type_name(node->type)));
		if (writer->timed && node->per_ms)
			buf_printf(writer->out, "/%" PRId64, node->per_ms);
	}
}

static void write_schema(const struct schema *schema, bool timed, struct buf *out)
{
	_cleanup_(cleanup_free) bool *defined = calloc(schema->nodes_count + 1, sizeof *defined);
	if (!defined)
		abort();
	struct canonical_writer writer = { out, defined, timed };
	write_node(&writer, schema->root);
}

void canonical_form(const struct schema *schema, struct buf *out)
{
	write_schema(schema, false, out);
}

void canonical_form_timed(const struct schema *schema, struct buf *out)
{
	write_schema(schema, true, out);
}

/* Schemas are few and read once, so that no table is worth its place. */
uint64_t canonical_rabin(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t fingerprint = RABIN_EMPTY;
	for (size_t i = 0; i < len; i++) {
		fingerprint ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			fingerprint = (fingerprint >> 1) ^ (fingerprint & 1 ? RABIN_EMPTY : 0);
	}
	return fingerprint;
}

uint64_t canonical_fingerprint(const struct schema *schema)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	canonical_form(schema, &text);
	return canonical_rabin(text.data, text.len);
}
