#include "sql/mongodb/command.h"
#include "sql/mongodb/front_end.h"

#include <math.h>
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

/* What stands where, as far as it tells names from values. A field of a filter may be called as a stage or
 * its operands are: only in a pipeline they mean something. */
enum mongodb_ground {
	GROUND_FILTER,
	GROUND_VALUES, /* of a filter's fields, and what else is no name */
	GROUND_PIPELINE,
	GROUND_STAGE,	    /* a document of a pipeline */
	GROUND_NAMES,	    /* a name, or a list of names */
	GROUND_JOIN,	    /* the operands of a stage that names collections and fields */
	GROUND_FACET,	    /* pipelines by name */
	GROUND_FIELDS,	    /* of a projection or a sort: numbers say whether, or which way */
	GROUND_EXPRESSIONS, /* texts that begin with a dollar are paths */
};

static enum mongodb_ground ground_of_stage(str_t name)
{
	if (STR_IS_ANY(name, "$count", "$unset"))
		return GROUND_NAMES;
	if (STR_IS_ANY(name, "$lookup", "$graphLookup", "$unionWith", "$unwind", "$densify"))
		return GROUND_JOIN;
	if (STR_IS_ANY(name, "$project", "$sort"))
		return GROUND_FIELDS;
	if (str_is(name, "$match"))
		return GROUND_FILTER;
	if (str_is(name, "$facet"))
		return GROUND_FACET;
	return STR_IS_ANY(name, "$search", "$searchMeta", "$vectorSearch", "$geoNear") ? GROUND_VALUES
										       : GROUND_EXPRESSIONS;
}

static enum mongodb_ground ground_of_operand(str_t name)
{
	if (STR_IS_ANY(name, "from", "coll", "as", "localField", "foreignField", "connectFromField",
		       "connectToField", "depthField", "includeArrayIndex", "field"))
		return GROUND_NAMES;
	if (str_is(name, "pipeline"))
		return GROUND_PIPELINE;
	return str_is(name, "restrictSearchWithMatch") ? GROUND_FILTER : GROUND_EXPRESSIONS;
}

static enum mongodb_ground ground_within(enum mongodb_ground around, const struct mongodb_value *value)
{
	bool in_document = str_present(value->key);
	switch (around) {
	case GROUND_FILTER: /* the lists of $and and $or hold filters */
		if (!in_document || STR_IS_ANY(value->key, "$and", "$or", "$nor"))
			return GROUND_FILTER;
		return str_is(value->key, "$expr") ? GROUND_EXPRESSIONS : GROUND_VALUES;
	case GROUND_PIPELINE:
		return GROUND_STAGE;
	case GROUND_STAGE:
		return ground_of_stage(value->key);
	case GROUND_JOIN:
		return ground_of_operand(value->key);
	case GROUND_FACET:
		return GROUND_PIPELINE;
	case GROUND_FIELDS:
	case GROUND_EXPRESSIONS:
		if (in_document && STR_IS_ANY(value->key, "$literal", "$const", "$elemMatch"))
			return GROUND_VALUES;
		return around == GROUND_FIELDS && in_document && value->key.len > 0 &&
				       value->key.ptr[0] != '$'
			       ? GROUND_FIELDS
			       : GROUND_EXPRESSIONS;
	case GROUND_VALUES:
	case GROUND_NAMES:
	default:
		return around;
	}
}

static bool is_kept(const struct mongodb_value *value, enum mongodb_ground ground)
{
	bool path = mongodb_is_text(value) && value->text.len > 0 && value->text.ptr[0] == '$';
	if (value->kind == MONGODB_NUMBER)
		return ground == GROUND_FIELDS && (value->number == 0 || fabs(value->number) == 1);
	return mongodb_is_text(value) &&
	       (ground == GROUND_NAMES ||
		(path &&
		 (ground == GROUND_EXPRESSIONS || ground == GROUND_FIELDS || ground == GROUND_JOIN)) ||
		(ground == GROUND_JOIN && str_present(value->key) && str_is(value->key, "$unionWith")));
}

static void keep_names(struct mongodb_value *value, enum mongodb_ground ground)
{
	value->kept = is_kept(value, ground);
	for (struct mongodb_value *child = value->first; child; child = child->next)
		keep_names(child, ground_within(ground, child));
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
	const struct {
		struct mongodb_value *part;
		enum mongodb_ground ground;
	} parts[] = { { command.filter, GROUND_FILTER },
		      { command.pipeline, GROUND_PIPELINE },
		      { command.projection, GROUND_FIELDS },
		      { command.sort, GROUND_FIELDS } };
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i].part)
			keep_names(parts[i].part, parts[i].ground);
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
