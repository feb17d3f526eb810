#include "sql/mongodb/command.h"
#include "sql/mongodb/front_end.h"

#include <stdlib.h>

struct mongodb_literal {
	size_t offset, len;
	bool is_comment;
};

struct mongodb_literal_list {
	struct arena *arena;
	struct mongodb_literal *items;
	size_t count, capacity;
};

static void add(struct mongodb_literal_list *list, size_t offset, size_t len, bool is_comment)
{
	const struct mongodb_literal literal = { offset, len, is_comment };
	ARENA_PUSH(list->arena, list->items, list->count, list->capacity, literal);
}

/* Whether a text that stands there is the name of a field or a collection. A field of a filter may be called
 * so as well: the stage around it tells. */
static bool names_something(str_t around, str_t key)
{
	if (STR_IS_ANY(key, "$count", "$unset", "$unionWith"))
		return true;
	return str_present(around) &&
	       STR_IS_ANY(around, "$lookup", "$graphLookup", "$unionWith", "$unwind", "$densify") &&
	       STR_IS_ANY(key, "from", "coll", "as", "localField", "foreignField", "connectFromField",
			  "connectToField", "depthField", "includeArrayIndex", "field");
}

/* Where the numbers of a field's own say whether it comes out, or which way it is sorted. */
static bool has_switches(str_t key)
{
	return STR_IS_ANY(key, "$project", "$sort");
}

struct mongodb_place {
	bool named;    /* a text is a name */
	bool switches; /* a number says which way */
	bool paths;    /* a text that begins with a dollar is a path: of a filter it is a value */
};

static struct mongodb_place place_within(const struct mongodb_place *around, str_t key_around, str_t key)
{
	bool is_operator = str_present(key) && key.len > 0 && key.ptr[0] == '$';
	if (!str_present(key)) /* an array */
		return (struct mongodb_place){ around->named, false, around->paths };
	return (struct mongodb_place){
		.named = names_something(key_around, key),
		.switches = (around->switches && !is_operator) || has_switches(key),
		.paths = str_is(key, "$expr") ||
			 (around->paths && !STR_IS_ANY(key, "$match", "$literal", "$const", "query",
						       "restrictSearchWithMatch")),
	};
}

static void keep_names(struct mongodb_value *value, const struct mongodb_place *place)
{
	bool path =
		place->paths && mongodb_is_text(value) && value->text.len > 0 && value->text.ptr[0] == '$';
	value->kept = value->kind == MONGODB_STRING ? path || place->named
						    : value->kind == MONGODB_NUMBER && place->switches;
	for (struct mongodb_value *child = value->first; child; child = child->next) {
		const struct mongodb_place within = place_within(place, value->key, child->key);
		keep_names(child, &within);
	}
}

static bool is_literal(const struct mongodb_value *value)
{
	switch (value->kind) {
	case MONGODB_NULL:
	case MONGODB_BOOLEAN:
	case MONGODB_NOW:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
		return false;
	case MONGODB_NUMBER:
	case MONGODB_STRING:
	case MONGODB_REGEX:
	case MONGODB_OBJECT_ID:
	case MONGODB_DATE:
	case MONGODB_OTHER:
	default:
		return !value->kept;
	}
}

static int by_offset(const void *left, const void *right)
{
	const struct mongodb_literal *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset > b->offset ? 1 : -1;
	return (a->len < b->len) - (a->len > b->len);
}

bool mongodb_literals(str_t text, struct arena *arena, mongodb_literal_fn found, void *context)
{
	struct mongodb_literal_list list = { .arena = arena };
	struct mongodb_reader reader = { .text = text, .arena = arena };
	struct mongodb_command command;
	bool more;
	if (!mongodb_read_command(&reader, &command, &more) || command.verb == MONGODB_WRITE)
		return false;
	const struct mongodb_place filter = { 0 }, stages = { .paths = true };
	const struct mongodb_place fields = { .switches = true, .paths = true };
	if (command.filter)
		keep_names(command.filter, &filter);
	if (command.pipeline)
		keep_names(command.pipeline, &stages);
	if (command.projection)
		keep_names(command.projection, &fields);
	if (command.sort)
		keep_names(command.sort, &fields);
	if (mongodb_is_text(command.key))
		command.key->kept = true;
	for (const struct mongodb_value *value = reader.latest; value; value = value->before)
		if (is_literal(value) && value->offset != command.collection_offset)
			add(&list, value->offset, value->end - value->offset, false);
	for (size_t i = 0; i < reader.comments_count; i++)
		add(&list, reader.comments[i].offset, reader.comments[i].len, true);
	qsort(list.items, list.count, list.count ? sizeof *list.items : 1, by_offset);
	size_t end = 0;
	for (size_t i = 0; i < list.count; i++) {
		const struct mongodb_literal *literal = &list.items[i];
		if (literal->offset < end) /* within one that is left out already */
			continue;
		end = literal->offset + literal->len;
		found(context, literal->offset, literal->len, literal->is_comment);
	}
	return true;
}
