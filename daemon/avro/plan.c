#include "avro/plan.h"

#include "common/hash.h"
#include "common/utf8.h"

/* What one writer's value becomes. */
struct plan {
	const struct schema_node *node;
	const struct field *field; /* NULL: skipped */
	struct plan *children;	   /* of each field or branch; of the items or values */
	const int *symbols;	   /* our index of each of the writer's symbols, or −1 */
	bool unreadable;	   /* a branch of a union that the field cannot hold */
};

struct planner {
	struct arena *arena;
	struct err_detail *detail;
};

struct decoder {
	struct wire wire;
	const struct bounds_limits *limits;
	struct arena *arena;
	struct err_detail *detail;
};

static err_t plan_value(struct planner *planner, const struct schema_node *node, const struct field *field,
			struct plan *plan);

/* Schema resolution by kind: same type, or a promotion. */
static bool readable(enum field_kind kind, enum schema_type type)
{
	switch (kind) {
	case FIELD_BOOL:
		return type == SCHEMA_BOOLEAN;
	case FIELD_LONG:
	case FIELD_TIME:
		return type == SCHEMA_INT || type == SCHEMA_LONG;
	case FIELD_DOUBLE:
		return type >= SCHEMA_INT && type <= SCHEMA_DOUBLE;
	case FIELD_TEXT:
		return type == SCHEMA_STRING || type == SCHEMA_BYTES;
	case FIELD_ENUM:
		return type == SCHEMA_ENUM;
	case FIELD_RECORD:
		return type == SCHEMA_RECORD;
	case FIELD_ARRAY:
		return type == SCHEMA_ARRAY;
	case FIELD_MAP:
		return type == SCHEMA_MAP;
	}
	return false;
}

static const struct field *field_named(const struct record_type *type, str_t name)
{
	for (size_t i = 0; i < type->count; i++)
		if (str_is(name, type->fields[i].name))
			return &type->fields[i];
	return NULL;
}

static bool writer_has(const struct schema_node *node, const char *name)
{
	for (size_t i = 0; i < node->count; i++)
		if (str_is(node->labels[i], name))
			return true;
	return false;
}

static err_t plan_record(struct planner *planner, const struct schema_node *node,
			 const struct record_type *type, struct plan *plan)
{
	for (size_t i = 0; i < type->count; i++)
		if ((type->fields[i].flags & FIELD_REQUIRED) && !writer_has(node, type->fields[i].name))
			return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
					"the writer's schema has no field \"%s\" in its record " STR_FMT
					", read as %s",
					type->fields[i].name, STR_ARG(node->name), type->name);
	plan->children = ARENA_ARRAY(planner->arena, struct plan, node->count);
	for (size_t i = 0; i < node->count; i++) {
		const struct field *field = field_named(type, node->labels[i]);
		plan->children[i].node = node->children[i];
		err_t err =
			field ? plan_value(planner, node->children[i], field, &plan->children[i]) : ERR_OK;
		if (err)
			return err;
	}
	return ERR_OK;
}

static bool null_readable(const struct field *field)
{
	return !(field->flags & FIELD_REQUIRED);
}

static err_t plan_union(struct planner *planner, const struct schema_node *node, const struct field *field,
			struct plan *plan)
{
	bool any = false;
	err_t first = ERR_OK;
	plan->children = ARENA_ARRAY(planner->arena, struct plan, node->count);
	for (size_t i = 0; i < node->count; i++) {
		err_t err = plan_value(planner, node->children[i], field, &plan->children[i]);
		plan->children[i].unreadable = err != ERR_OK;
		any = any || !err;
		if (err && node->children[i]->type != SCHEMA_NULL)
			first = err;
	}
	return any ? ERR_OK : first ? first : ERR_SCHEMA_INCOMPATIBLE;
}

static void plan_enum(struct planner *planner, const struct schema_node *node, const struct field *field,
		      struct plan *plan)
{
	int *symbols = ARENA_ARRAY(planner->arena, int, node->count);
	for (size_t i = 0; i < node->count; i++)
		symbols[i] = field_enumeration_find(field->symbols, node->labels[i]);
	plan->symbols = symbols;
}

static err_t plan_value(struct planner *planner, const struct schema_node *node, const struct field *field,
			struct plan *plan)
{
	plan->node = node;
	plan->field = field;
	if (node->type == SCHEMA_UNION)
		return plan_union(planner, node, field, plan);
	if (node->type == SCHEMA_NULL ? !null_readable(field) : !readable(field->kind, node->type))
		return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
				"the writer's schema has a %s for the field \"%s\"",
				schema_type_name(node->type), field->name);
	if (node->type == SCHEMA_RECORD)
		return plan_record(planner, node, field->record, plan);
	if (node->type == SCHEMA_ENUM)
		plan_enum(planner, node, field, plan);
	if (node->type != SCHEMA_ARRAY && node->type != SCHEMA_MAP)
		return ERR_OK;
	plan->children = ARENA_NEW(planner->arena, struct plan);
	return plan_value(planner, node->children[0], field->item, plan->children);
}

err_t plan_make(const struct schema *schema, const struct record_type *type, struct arena *arena,
		const struct plan **ret_plan, struct err_detail *detail)
{
	struct planner planner = { arena, detail };
	struct field *root = ARENA_NEW(arena, struct field);
	*root = (struct field){
		.name = type->name, .kind = FIELD_RECORD, .flags = FIELD_REQUIRED, .record = type
	};
	struct plan *plan = ARENA_NEW(arena, struct plan);
	err_t err = plan_value(&planner, schema->root, root, plan);
	if (!err)
		*ret_plan = plan;
	return err;
}

static err_t decode_value(struct decoder *decoder, const struct plan *plan, void *record);

static err_t refuse(struct decoder *decoder, const struct field *field, const char *what)
{
	return err_fail(decoder->detail, ERR_AVRO_VALUE, "the field \"%s\" holds %s", field->name, what);
}

static err_t decode_record(struct decoder *decoder, const struct plan *plan, void *record)
{
	const struct schema_node *node = plan->node;
	for (size_t i = 0; i < node->count; i++) {
		const struct plan *child = &plan->children[i];
		err_t err = child->field ? decode_value(decoder, child, record)
					 : bounds_skip(child->node, decoder->limits, &decoder->wire);
		if (err)
			return err;
	}
	return ERR_OK;
}

static err_t decode_text(struct decoder *decoder, bool check, str_t *ret_text)
{
	str_t text;
	err_t err = wire_bytes(&decoder->wire, &text);
	if (err)
		return err;
	if (check && !utf8_valid(text.ptr, text.len))
		return ERR_TEXT_ENCODING;
	*ret_text = arena_text(decoder->arena, text.ptr, text.len);
	return ERR_OK;
}

static err_t decode_long(struct decoder *decoder, const struct field *field, void *record)
{
	int64_t value;
	err_t err = wire_long(&decoder->wire, &value);
	if (err)
		return err;
	if (field->kind == FIELD_DOUBLE)
		field_set_double(field, record, (double)value);
	else
		field_set_long(field, record, value);
	return ERR_OK;
}

static err_t decode_double(struct decoder *decoder, bool single, const struct field *field, void *record)
{
	double value;
	float narrow;
	err_t err = single ? wire_float(&decoder->wire, &narrow) : wire_double(&decoder->wire, &value);
	if (!err)
		field_set_double(field, record, single ? (double)narrow : value);
	return err;
}

static err_t decode_bool(struct decoder *decoder, const struct field *field, void *record)
{
	bool value;
	err_t err = wire_boolean(&decoder->wire, &value);
	if (!err)
		field_set_bool(field, record, value);
	return err;
}

/* The writer's symbol; one that we do not know becomes the default where there is one. */
static err_t decode_enum(struct decoder *decoder, const struct plan *plan, void *record)
{
	int32_t index;
	err_t err = wire_int(&decoder->wire, &index);
	if (err)
		return err;
	if (index < 0 || (size_t)index >= plan->node->count)
		return refuse(decoder, plan->field, "no symbol of its enumeration");
	int symbol = plan->symbols[index];
	if (symbol >= 0)
		*(int *)field_at(plan->field, record) = symbol;
	else if (plan->field->flags & FIELD_REQUIRED)
		return refuse(decoder, plan->field, "a symbol that this version does not know");
	else
		field_set_unknown(plan->field, record, plan->node->labels[index], decoder->arena);
	return ERR_OK;
}

#define NUL_IN_KEY "a key with a NUL in it"

static err_t decode_key(struct decoder *decoder, const struct field *field, void *item)
{
	str_t *key = item;
	err_t err = decode_text(decoder, false, key);
	if (!err && memchr(key->ptr, '\0', key->len))
		return refuse(decoder, field, NUL_IN_KEY);
	return err;
}

/* Entries of a map of numbers, which records have many of. */
static err_t decode_numbers(struct decoder *decoder, const struct plan *plan, char *items, uint64_t count)
{
	const struct field *field = plan->field;
	size_t size = 0;
	for (uint64_t i = 0; i < count; i++) {
		char *item = items + i * field->item_size_bytes;
		str_t *key = (str_t *)(void *)item;
		err_t err = wire_bytes(&decoder->wire, key);
		if (!err)
			err = wire_double(&decoder->wire, field_at(field->item, item));
		if (err)
			return err;
		if (memchr(key->ptr, '\0', key->len))
			return refuse(decoder, field, NUL_IN_KEY);
		size += key->len + 1;
	}
	char *keys = arena_alloc(decoder->arena, size); /* of all, each with a NUL behind it */
	for (uint64_t i = 0; i < count; i++) {
		str_t *key = (str_t *)(void *)(items + i * field->item_size_bytes);
		memcpy(keys, key->ptr, key->len);
		key->ptr = keys;
		keys += key->len + 1;
	}
	return ERR_OK;
}

static bool has_numbers(const struct plan *plan)
{
	const struct field *item = plan->field->item;
	return plan->field->kind == FIELD_MAP && item->kind == FIELD_DOUBLE && !field_nullable(item) &&
	       plan->children->node->type == SCHEMA_DOUBLE;
}

static err_t decode_block(struct decoder *decoder, const struct plan *plan, char *items, uint64_t count)
{
	const struct field *field = plan->field;
	if (has_numbers(plan))
		return decode_numbers(decoder, plan, items, count);
	for (uint64_t i = 0; i < count; i++) {
		char *item = items + i * field->item_size_bytes;
		err_t err = field->kind == FIELD_MAP ? decode_key(decoder, field, item) : ERR_OK;
		if (!err)
			err = decode_value(decoder, plan->children, item);
		if (err)
			return err;
	}
	return ERR_OK;
}

enum { FEW_KEYS = 64 };

/* Whether a map of few entries has a key twice. However its keys are chosen, there are few to compare. */
static bool has_repeated(struct field_items items, size_t size)
{
	const str_t *slots[2 * FEW_KEYS] = { NULL };
	for (size_t i = 0; i < items.count; i++) {
		const str_t *key = (const str_t *)(void *)(items.data + i * size);
		size_t hash = key->len;
		for (size_t j = 0; j < key->len; j += 3)
			hash = hash * 31 + (unsigned char)key->ptr[j];
		size_t slot = hash % (2 * FEW_KEYS);
		while (slots[slot]) {
			if (str_equal(*slots[slot], *key))
				return true;
			slot = (slot + 1) % (2 * FEW_KEYS);
		}
		slots[slot] = key;
	}
	return false;
}

/* Leaves one entry for each key of a map, the last one that was sent; returns how many are left. */
static size_t drop_repeated(struct arena *arena, struct field_items items, size_t size)
{
	if (items.count <= FEW_KEYS && !has_repeated(items, size))
		return items.count;
	struct hash_map seen;
	hash_map_init(&seen, arena, items.count);
	size_t kept = 0;
	for (size_t i = 0; i < items.count; i++) {
		char *entry = items.data + i * size;
		char *place = hash_map_get(&seen, *(const str_t *)(void *)entry);
		if (!place) {
			place = items.data + kept++ * size;
			hash_map_set(&seen, *(const str_t *)(void *)entry, place);
		}
		if (place != entry)
			memcpy(place, entry, size);
	}
	return kept;
}

/* Items of all blocks in one array. Nearly every writer sends one block, so that the copy is rare. */
static err_t decode_items(struct decoder *decoder, const struct plan *plan, void *record)
{
	const size_t size = plan->field->item_size_bytes;
	struct field_items items = { NULL, 0 };
	for (;;) {
		uint64_t count;
		int64_t size_bytes;
		err_t err = wire_block(&decoder->wire, &count, &size_bytes);
		if (err)
			return err;
		if (count == 0)
			break;
		if (count > decoder->limits->max_items - items.count)
			return ERR_AVRO_ITEMS;
		char *grown = arena_calloc(decoder->arena, items.count + count, size);
		if (items.count > 0)
			memcpy(grown, items.data, items.count * size);
		err = decode_block(decoder, plan, grown + items.count * size, count);
		if (err)
			return err;
		items = (struct field_items){ grown, items.count + count };
	}
	if (plan->field->kind == FIELD_MAP)
		items.count = drop_repeated(decoder->arena, items, size);
	field_set_items(plan->field, record, items);
	return ERR_OK;
}

static err_t decode_union(struct decoder *decoder, const struct plan *plan, void *record)
{
	int32_t branch;
	err_t err = wire_int(&decoder->wire, &branch);
	if (err)
		return err;
	if (branch < 0 || (size_t)branch >= plan->node->count || plan->children[branch].unreadable)
		return refuse(decoder, plan->field, "a value of a type that it cannot hold");
	return decode_value(decoder, &plan->children[branch], record);
}

static err_t decode_value(struct decoder *decoder, const struct plan *plan, void *record)
{
	const struct field *field = plan->field;
	switch (plan->node->type) {
	case SCHEMA_NULL:
		field_init(field, record);
		return ERR_OK;
	case SCHEMA_BOOLEAN:
		return decode_bool(decoder, field, record);
	case SCHEMA_INT:
	case SCHEMA_LONG:
		return decode_long(decoder, field, record);
	case SCHEMA_FLOAT:
	case SCHEMA_DOUBLE:
		return decode_double(decoder, plan->node->type == SCHEMA_FLOAT, field, record);
	case SCHEMA_BYTES:
	case SCHEMA_STRING:
		return decode_text(decoder, plan->node->type == SCHEMA_BYTES, field_at(field, record));
	case SCHEMA_ENUM:
		return decode_enum(decoder, plan, record);
	case SCHEMA_RECORD:
		return decode_record(decoder, plan, field_make_record(field, record, decoder->arena));
	case SCHEMA_UNION:
		return decode_union(decoder, plan, record);
	default:
		return decode_items(decoder, plan, record);
	}
}

err_t plan_decode(const struct plan *plan, str_t data, const struct bounds_limits *limits,
		  struct arena *arena, void *record, struct err_detail *detail)
{
	const unsigned char *start = (const unsigned char *)data.ptr;
	struct decoder decoder = { { start, start + data.len }, limits, arena, detail };
	return decode_value(&decoder, plan, record);
}
