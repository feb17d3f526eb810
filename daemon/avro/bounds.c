#include "avro/bounds.h"

#include "common/utf8.h"

struct bounds_walk {
	struct wire wire;
	const struct bounds_limits *limits;
	unsigned depth;
	str_t field; /* innermost field entered, for messages */
};

static err_t walk_value(struct bounds_walk *walk, const struct schema_node *node);

static err_t walk_string(struct bounds_walk *walk)
{
	str_t text;
	err_t err = wire_bytes(&walk->wire, &text);
	if (err)
		return err;
	return utf8_valid(text.ptr, text.len) ? ERR_OK : ERR_TEXT_ENCODING;
}

static err_t walk_index(struct bounds_walk *walk, size_t count, int32_t *ret_index)
{
	err_t err = wire_int(&walk->wire, ret_index);
	if (err)
		return err;
	return *ret_index >= 0 && (size_t)*ret_index < count ? ERR_OK : ERR_AVRO_VALUE;
}

static err_t walk_union(struct bounds_walk *walk, const struct schema_node *node)
{
	int32_t branch;
	err_t err = walk_index(walk, node->count, &branch);
	return err ? err : walk_value(walk, node->children[branch]);
}

static err_t walk_record(struct bounds_walk *walk, const struct schema_node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		walk->field = node->labels[i];
		err_t err = walk_value(walk, node->children[i]);
		if (err)
			return err;
	}
	return ERR_OK;
}

/* Entries of a map of numbers, which records have many of. */
static err_t walk_numbers(struct bounds_walk *walk, uint64_t count)
{
	err_t err = ERR_OK;
	for (uint64_t i = 0; !err && i < count; i++) {
		err = walk_string(walk);
		if (!err)
			err = wire_skip(&walk->wire, sizeof(double));
	}
	return err;
}

static err_t walk_items(struct bounds_walk *walk, const struct schema_node *node, uint64_t count)
{
	bool keys = node->type == SCHEMA_MAP;
	if (!keys && node->children[0]->empty)
		return ERR_OK;
	if (keys && node->children[0]->type == SCHEMA_DOUBLE)
		return walk_numbers(walk, count);
	for (uint64_t i = 0; i < count; i++) {
		err_t err = keys ? walk_string(walk) : ERR_OK;
		if (!err)
			err = walk_value(walk, node->children[0]);
		if (err)
			return err;
	}
	return ERR_OK;
}

/* Blocks of items up to the empty one. A block that says how many bytes it takes must take just those. */
static err_t walk_blocks(struct bounds_walk *walk, const struct schema_node *node)
{
	uint64_t total = 0;
	for (;;) {
		uint64_t count;
		int64_t size;
		err_t err = wire_block(&walk->wire, &count, &size);
		if (err || count == 0)
			return err;
		if (count > walk->limits->max_items - total)
			return ERR_AVRO_ITEMS;
		total += count;
		const unsigned char *start = walk->wire.at;
		err = walk_items(walk, node, count);
		if (err)
			return err;
		if (size >= 0 && walk->wire.at - start != size)
			return ERR_AVRO_LENGTH;
	}
}

static err_t walk_enum(struct bounds_walk *walk, const struct schema_node *node)
{
	int32_t symbol;
	return walk_index(walk, node->count, &symbol);
}

static err_t walk_primitive(struct bounds_walk *walk, enum schema_type type)
{
	int32_t number;
	int64_t wide;
	bool flag;
	str_t bytes;
	switch (type) {
	case SCHEMA_BOOLEAN:
		return wire_boolean(&walk->wire, &flag);
	case SCHEMA_INT:
		return wire_int(&walk->wire, &number);
	case SCHEMA_LONG:
		return wire_long(&walk->wire, &wide);
	case SCHEMA_FLOAT:
		return wire_skip(&walk->wire, 4);
	case SCHEMA_DOUBLE:
		return wire_skip(&walk->wire, 8);
	case SCHEMA_BYTES:
		return wire_bytes(&walk->wire, &bytes);
	default:
		return walk_string(walk);
	}
}

static err_t walk_nested(struct bounds_walk *walk, const struct schema_node *node)
{
	switch (node->type) {
	case SCHEMA_RECORD:
		return walk_record(walk, node);
	case SCHEMA_ENUM:
		return walk_enum(walk, node);
	case SCHEMA_FIXED:
		return wire_skip(&walk->wire, node->size_bytes);
	case SCHEMA_UNION:
		return walk_union(walk, node);
	default:
		return walk_blocks(walk, node);
	}
}

static err_t walk_value(struct bounds_walk *walk, const struct schema_node *node)
{
	if (node->empty)
		return ERR_OK;
	if (node->type <= SCHEMA_STRING)
		return walk_primitive(walk, node->type);
	if (walk->depth >= walk->limits->max_depth)
		return ERR_AVRO_DEPTH;
	walk->depth++;
	err_t err = walk_nested(walk, node);
	walk->depth--;
	return err;
}

err_t bounds_check(const struct schema_node *root, const void *data, size_t len,
		   const struct bounds_limits *limits, struct err_detail *detail)
{
	const unsigned char *start = data;
	struct bounds_walk walk = { .wire = { start, start + len }, .limits = limits };
	err_t err = walk_value(&walk, root);
	if (!err && walk.wire.at != walk.wire.end)
		return err_fail(detail, ERR_AVRO_TRAILING, "%zu bytes follow the end of the Avro record",
				wire_left(&walk.wire));
	if (err)
		return err_fail(detail, err, "%s: at byte %zu of %zu of the Avro data, field \"" STR_FMT "\"",
				err_text(err), (size_t)(walk.wire.at - start), len, STR_ARG(walk.field));
	return ERR_OK;
}

err_t bounds_skip(const struct schema_node *node, const struct bounds_limits *limits, struct wire *wire)
{
	struct bounds_walk walk = { .wire = *wire, .limits = limits };
	err_t err = walk_value(&walk, node);
	if (!err)
		*wire = walk.wire;
	return err;
}
