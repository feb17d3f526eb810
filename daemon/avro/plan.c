#include "avro/plan.h"

#include "common/hash.h"
#include "common/utf8.h"

#define PLANS_MAX 200000u

/* What one writer's value becomes. */
struct plan {
	const struct schema_node *node;
	const struct field *field; /* NULL: skipped */
	struct plan *children;	   /* of each field or branch; of the items or values */
	const int *symbols;	   /* our index of each of the writer's symbols, or −1 */
	int instead;		   /* our index of what stands for those that we do not have, or −1 */
	bool unreadable;	   /* whatever comes is refused */
};

struct planner {
	struct arena *arena;
	struct hash_map made; /* struct plan_key → struct plan */
	size_t count;
	struct err_detail *detail;
};

/* What a plan follows from: writers may use a type in many places, and that in ever more. */
struct plan_key {
	const struct schema_node *node, *reader;
	const struct field *field;
};

struct decoder {
	struct wire wire;
	const struct bounds_limits *limits;
	struct arena *arena;
	struct err_detail *detail;
};

static err_t plan_value(struct planner *planner, const struct schema_node *node,
			const struct schema_node *reader, const struct field *field, struct plan *plan);

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

static bool is_alias(str_t name, const struct schema_aliases *aliases)
{
	for (size_t i = 0; i < aliases->count; i++)
		if (str_equal(aliases->names[i], name))
			return true;
	return false;
}

static str_t unqualified(str_t name)
{
	const char *dot = memrchr(name.ptr, '.', name.len);
	return dot ? (str_t){ dot + 1, (size_t)(name.ptr + name.len - dot - 1) } : name;
}

static bool names_match(const struct schema_node *node, const struct schema_node *reader)
{
	return str_equal(unqualified(node->name), unqualified(reader->name)) ||
	       is_alias(node->name, &reader->aliases);
}

/* The place of the reader's field that the writer's of this name is, or the count: there is none. A name that
 * the reader has comes before an alias. */
static size_t field_meant(const struct schema_node *reader, str_t name, bool by_alias)
{
	for (size_t i = 0; i < reader->count; i++)
		if (str_equal(reader->labels[i], name))
			return i;
	for (size_t i = 0; by_alias && i < reader->count; i++)
		if (is_alias(name, &reader->others[i]))
			return i;
	return reader->count;
}

static err_t refuse_twice(struct planner *planner, const struct schema_node *node, const char *name)
{
	return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
			"the writer's schema has the field \"%s\" of its record " STR_FMT
			" twice, once by another name for it",
			name, STR_ARG(node->name));
}

static err_t plan_record(struct planner *planner, const struct schema_node *node,
			 const struct schema_node *reader, const struct record_type *type, struct plan *plan)
{
	bool by_alias = names_match(node, reader);
	bool *found = ARENA_ARRAY(planner->made.arena, bool, type->count);
	plan->children = ARENA_ARRAY(planner->arena, struct plan, node->count);
	for (size_t i = 0; i < node->count; i++) {
		size_t place = field_meant(reader, node->labels[i], by_alias);
		plan->children[i].node = node->children[i];
		if (place == reader->count)
			continue;
		if (found[place])
			return refuse_twice(planner, node, type->fields[place].name);
		found[place] = true;
		err_t err = plan_value(planner, node->children[i], reader->children[place],
				       &type->fields[place], &plan->children[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < type->count; i++)
		if ((type->fields[i].flags & FIELD_REQUIRED) && !found[i])
			return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
					"the writer's schema has no field \"%s\" in its record " STR_FMT
					", read as %s",
					type->fields[i].name, STR_ARG(node->name), type->name);
	return ERR_OK;
}

/* Of a union the branches that can be read, at least one; which comes is seen when it does. */
static err_t plan_union(struct planner *planner, const struct schema_node *node,
			const struct schema_node *reader, const struct field *field, struct plan *plan)
{
	bool any = false;
	err_t first = ERR_SCHEMA_INCOMPATIBLE;
	plan->children = ARENA_ARRAY(planner->arena, struct plan, node->count);
	if (node->count == 0)
		return err_fail(planner->detail, first,
				"the writer's schema has a union of nothing for the field \"%s\"",
				field->name);
	for (size_t i = 0; i < node->count; i++) {
		err_t err = plan_value(planner, node->children[i], reader, field, &plan->children[i]);
		plan->children[i].unreadable = err != ERR_OK;
		any = any || !err;
	}
	return any ? ERR_OK : first;
}

static err_t plan_enum(struct planner *planner, const struct schema_node *node,
		       const struct schema_node *reader, const struct field *field, struct plan *plan)
{
	if (!names_match(node, reader))
		return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
				"the writer's schema has the enumeration " STR_FMT
				" for the field \"%s\", which is " STR_FMT ": name it so",
				STR_ARG(node->name), field->name, STR_ARG(reader->name));
	int *symbols = ARENA_ARRAY(planner->arena, int, node->count);
	for (size_t i = 0; i < node->count; i++)
		symbols[i] = field_enumeration_find(field->symbols, node->labels[i]);
	plan->symbols = symbols;
	plan->instead =
		str_present(reader->instead) ? field_enumeration_find(field->symbols, reader->instead) : -1;
	return ERR_OK;
}

static err_t plan_content(struct planner *planner, const struct schema_node *node,
			  const struct schema_node *reader, const struct field *field, struct plan *plan)
{
	if (node->type == SCHEMA_UNION)
		return plan_union(planner, node, reader, field, plan);
	if (node->type == SCHEMA_NULL ? !field_nullable(field) : !readable(field->kind, node->type))
		return err_fail(planner->detail, ERR_SCHEMA_INCOMPATIBLE,
				"the writer's schema has a %s for the field \"%s\"",
				schema_type_name(node->type), field->name);
	if (field_nullable(field))
		reader = reader->children[1];
	if (node->type == SCHEMA_RECORD)
		return plan_record(planner, node, reader, field->record, plan);
	if (node->type == SCHEMA_ENUM)
		return plan_enum(planner, node, reader, field, plan);
	if (node->type != SCHEMA_ARRAY && node->type != SCHEMA_MAP)
		return ERR_OK;
	plan->children = ARENA_NEW(planner->arena, struct plan);
	plan->children->unreadable = plan_value(planner, node->children[0], reader->children[0], field->item,
						plan->children) != ERR_OK;
	return ERR_OK;
}

static err_t plan_value(struct planner *planner, const struct schema_node *node,
			const struct schema_node *reader, const struct field *field, struct plan *plan)
{
	struct plan_key *place = ARENA_NEW(planner->made.arena, struct plan_key);
	*place = (struct plan_key){ node, reader, field };
	str_t key = { (const char *)place, sizeof *place };
	const struct plan *made = hash_map_get(&planner->made, key);
	if (made) {
		*plan = *made;
		return made->unreadable ? ERR_SCHEMA_INCOMPATIBLE : ERR_OK;
	}
	planner->count += 1 + node->count;
	if (planner->count > PLANS_MAX)
		return ERR_SCHEMA_INCOMPATIBLE;
	plan->node = node;
	plan->field = field;
	err_t err = plan_content(planner, node, reader, field, plan);
	plan->unreadable = err != ERR_OK;
	hash_map_set(&planner->made, key, plan);
	return err;
}

err_t plan_make(const struct schema *writer, const struct schema *reader, const struct record_type *type,
		struct arena *arena, const struct plan **ret_plan, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *made = arena_new();
	struct planner planner = { .arena = arena, .detail = detail };
	struct field *root = ARENA_NEW(arena, struct field);
	*root = (struct field){
		.name = type->name, .kind = FIELD_RECORD, .flags = FIELD_REQUIRED, .record = type
	};
	struct plan *plan = ARENA_NEW(arena, struct plan);
	hash_map_init(&planner.made, made, 256);
	err_t err = plan_value(&planner, writer->root, reader->root, root, plan);
	if (planner.count > PLANS_MAX)
		return err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
				"the writer's schema has too many types and fields to be read as %s",
				type->name);
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

/* Towards the past, also before 1970. */
static int64_t to_ms(int64_t value, int64_t per_ms)
{
	return value / per_ms - (value % per_ms < 0);
}

static err_t decode_long(struct decoder *decoder, const struct plan *plan, void *record)
{
	const struct field *field = plan->field;
	int64_t value;
	err_t err = wire_long(&decoder->wire, &value);
	if (err)
		return err;
	if (field->kind == FIELD_DOUBLE)
		field_set_double(field, record, (double)value);
	else if (field->kind == FIELD_TIME && plan->node->per_ms)
		field_set_long(field, record, to_ms(value, plan->node->per_ms));
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

/* The writer's symbol; for one that we do not know, another or the default where there is one. */
static err_t decode_enum(struct decoder *decoder, const struct plan *plan, void *record)
{
	int32_t index;
	err_t err = wire_int(&decoder->wire, &index);
	if (err)
		return err;
	if (index < 0 || (size_t)index >= plan->node->count)
		return refuse(decoder, plan->field, "no symbol of its enumeration");
	int symbol = plan->symbols[index];
	if (symbol < 0 && plan->instead < 0 && (plan->field->flags & FIELD_REQUIRED))
		return refuse(decoder, plan->field, "a symbol that this version does not know");
	if (symbol < 0) {
		field_set_unknown(plan->field, record, plan->node->labels[index], decoder->arena);
		symbol = plan->instead;
	}
	if (symbol >= 0)
		*(int *)field_at(plan->field, record) = symbol;
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
	if (branch < 0 || (size_t)branch >= plan->node->count)
		return refuse(decoder, plan->field, "no branch of its union");
	return decode_value(decoder, &plan->children[branch], record);
}

static err_t decode_value(struct decoder *decoder, const struct plan *plan, void *record)
{
	const struct field *field = plan->field;
	if (plan->unreadable)
		return refuse(decoder, field, "a value of a type that it cannot hold");
	switch (plan->node->type) {
	case SCHEMA_NULL:
		field_init(field, record);
		return ERR_OK;
	case SCHEMA_BOOLEAN:
		return decode_bool(decoder, field, record);
	case SCHEMA_INT:
	case SCHEMA_LONG:
		return decode_long(decoder, plan, record);
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
