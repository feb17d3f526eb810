#include "sql/mongodb_sort_keys.h"

#include "common/buf.h"
#include "sql/mongodb/command.h"

#define KEYS_MAX 16

/* A command as the parts of a pipeline, of which each is a slice of its text. */
struct shown {
	str_t text;
	struct arena *arena;
	struct buf stages;	/* those before the keys, with commas behind them */
	struct buf projections; /* those behind them */
	const struct mongodb_value *sort;
	struct sort_cut cut;
	bool cut_seen;
};

static str_t slice(const struct shown *shown, const struct mongodb_value *value)
{
	return (str_t){ shown->text.ptr + value->offset, value->end - value->offset };
}

static void put_stage(struct shown *shown, struct buf *out, const char *name,
		      const struct mongodb_value *operand)
{
	str_t text = slice(shown, operand);
	buf_printf(out, "{%s:", name);
	buf_append_str(out, text);
	buf_append_text(out, "},");
}

/* Whether a projection keeps the fields that it names and no others. */
static bool includes(const struct mongodb_value *projection)
{
	for (const struct mongodb_value *field = projection->first; field; field = field->next) {
		bool number = field->kind == MONGODB_NUMBER || field->kind == MONGODB_BOOLEAN;
		if (!str_is(field->key, "_id"))
			return !number || field->number != 0;
	}
	return projection->first && projection->first->number != 0;
}

/* A projection that lets the keys through. */
static void put_projection(struct shown *shown, const struct mongodb_value *projection, size_t keys)
{
	struct buf *out = &shown->projections;
	str_t text = slice(shown, projection);
	if (!includes(projection)) {
		put_stage(shown, out, "$project", projection);
		return;
	}
	buf_append_text(out, "{$project:");
	buf_append(out, text.ptr, text.len - 1); /* up to its closing brace */
	size_t end = out->len;
	while (end > 0 && strchr(" \t\r\n", out->data[end - 1]))
		end--;
	buf_append_char(out, out->data[end - 1] == ',' ? ' ' : ',');
	for (size_t i = 0; i < keys; i++)
		buf_printf(out, "%s%s%zu:1", i ? "," : "", SORT_KEY_FIELD, i);
	buf_append_text(out, "}},");
}

/* A stage that neither takes documents away nor changes their order. */
static bool goes_on(const struct mongodb_value *operand)
{
	return STR_IS_ANY(operand->key, "$project", "$addFields", "$set", "$unset", "$lookup") ||
	       (str_is(operand->key, "$match") && mongodb_is_document(operand) && !operand->first);
}

/* One that does, but in a way that stays the same behind an order. */
static bool keeps_order(str_t name)
{
	return STR_IS_ANY(name, "$match", "$unwind");
}

/* The last stage that sorts, or else the first that cuts, with nothing behind it but further cuts and what
 * keeps the order. */
static const struct mongodb_value *end_of(const struct mongodb_value *pipeline)
{
	const struct mongodb_value *end = NULL;
	bool sorted = false;
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next) {
		str_t name = stage->first ? stage->first->key : STR("");
		bool cut = STR_IS_ANY(name, "$skip", "$limit");
		if (str_is(name, "$sort") || (!end && cut))
			end = stage;
		else if (!cut && !(stage->first && goes_on(stage->first)) && !(sorted && keeps_order(name)))
			end = NULL;
		sorted = end && str_is(end->first->key, "$sort");
	}
	return end;
}

static bool take_count(const struct mongodb_value *number, int64_t *place)
{
	if (!mongodb_is_integer(number) || number->number < 0)
		return false;
	*place = (int64_t)number->number;
	return true;
}

/* A skip, and then a limit, each once at most: other orders mean other rows. */
static bool take_cut(struct shown *shown, const struct mongodb_value *operand)
{
	bool skips = str_is(operand->key, "$skip");
	if (skips ? shown->cut_seen || shown->cut.limit >= 0 : shown->cut.limit >= 0)
		return false;
	shown->cut_seen |= skips;
	return take_count(operand, skips ? &shown->cut.offset : &shown->cut.limit);
}

static bool cuts(const struct shown *shown)
{
	return shown->cut_seen || shown->cut.limit >= 0;
}

/* Conditions are the same in front of the order, unless they are of what a cut leaves, or of changed fields.
 * What is unwound before the cut is what the cut counts. */
static bool put_keeping(struct shown *shown, const struct mongodb_value *operand)
{
	bool matches = str_is(operand->key, "$match");
	if (cuts(shown) || (matches && shown->projections.len > 0))
		return false;
	put_stage(shown, matches ? &shown->stages : &shown->projections, operand->key.ptr, operand);
	return true;
}

static size_t keys_of(const struct shown *shown)
{
	return shown->sort ? shown->sort->count : 0;
}

/* A stage behind the order. */
static bool put_behind(struct shown *shown, const struct mongodb_value *operand)
{
	str_t name = operand->key;
	if (str_is(name, "$project"))
		put_projection(shown, operand, keys_of(shown));
	else if (goes_on(operand) && !str_is(name, "$match"))
		put_stage(shown, &shown->projections, name.ptr, operand);
	else if (goes_on(operand))
		return true;
	else
		return keeps_order(name) ? put_keeping(shown, operand) : take_cut(shown, operand);
	return true;
}

static bool split_pipeline(struct shown *shown, const struct mongodb_value *pipeline)
{
	const struct mongodb_value *end = end_of(pipeline);
	if (!end)
		return false;
	for (const struct mongodb_value *stage = pipeline->first; stage != end; stage = stage->next) {
		str_t text = slice(shown, stage);
		buf_append_str(&shown->stages, text);
		buf_append_char(&shown->stages, ',');
	}
	if (str_is(end->first->key, "$sort"))
		shown->sort = end->first;
	for (const struct mongodb_value *stage = shown->sort ? end->next : end; stage; stage = stage->next)
		if (!put_behind(shown, stage->first))
			return false;
	return true;
}

static bool split_find(struct shown *shown, const struct mongodb_command *command)
{
	shown->sort = command->sort && command->sort->first ? command->sort : NULL;
	if (command->filter)
		put_stage(shown, &shown->stages, "$match", command->filter);
	if (command->skip && !take_count(command->skip, &shown->cut.offset))
		return false;
	if (command->one)
		shown->cut.limit = 1;
	else if (command->limit && command->limit->number != 0 &&
		 !take_count(command->limit, &shown->cut.limit))
		return false;
	if (mongodb_is_document(command->projection) && command->projection->first)
		put_projection(shown, command->projection, keys_of(shown));
	return true;
}

/* A missing field sorts as null does. Paths with parts that are numbers, or names that no path has, are left
 * alone. */
static bool put_keys(struct shown *shown)
{
	struct buf *out = &shown->stages;
	put_stage(shown, out, "$sort", shown->sort);
	buf_append_text(out, "{$addFields:{");
	size_t index = 0;
	for (const struct mongodb_value *key = shown->sort->first; key; key = key->next, index++) {
		if (key->kind != MONGODB_NUMBER || key->key.len == 0 || key->key.ptr[0] == '$' ||
		    strpbrk(key->key.ptr, "\"\\\r\n"))
			return false;
		buf_printf(out, "%s%s%zu:{$ifNull:[\"$", index ? "," : "", SORT_KEY_FIELD, index);
		buf_append_str(out, key->key);
		buf_append_text(out, "\",null]}");
	}
	buf_append_text(out, "}},");
	return true;
}

static str_t quoted(str_t name, struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	buf_append_char(&out, '"');
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '"' || name.ptr[i] == '\\')
			buf_append_char(&out, '\\');
		buf_append_char(&out, name.ptr[i]);
	}
	buf_append_char(&out, '"');
	return arena_str(arena, buf_str(&out));
}

static str_t write_command(struct shown *shown, const struct mongodb_command *command)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	str_t name = quoted(command->collection, shown->arena);
	buf_append_text(&out, "db.getCollection(");
	buf_append_str(&out, name);
	buf_append_text(&out, ").aggregate([");
	buf_append_str(&out, buf_str(&shown->stages));
	buf_append_str(&out, buf_str(&shown->projections));
	buf_append_text(&out, "])");
	return arena_str(shown->arena, buf_str(&out));
}

/* Options that say how documents are fetched, and not which or in what order. */
static bool are_of_fetching(const struct mongodb_value *options)
{
	for (const struct mongodb_value *option = options->first; option; option = option->next)
		if (!STR_IS_ANY(option->key, "cursor", "batchSize", "comment", "maxTimeMS", "allowDiskUse",
				"readConcern", "noCursorTimeout", "allowPartialResults"))
			return false;
	return true;
}

static bool can_be_shown(const struct mongodb_command *command)
{
	bool reads = command->verb == MONGODB_FIND ||
		     (command->verb == MONGODB_AGGREGATE && mongodb_is_array(command->pipeline));
	return reads && str_present(command->collection) && !command->explained &&
	       (!command->options || are_of_fetching(command->options));
}

static bool split(struct shown *shown, const struct mongodb_command *command)
{
	bool done = command->verb == MONGODB_FIND ? split_find(shown, command)
						  : split_pipeline(shown, command->pipeline);
	bool cut = shown->cut.limit >= 0 || shown->cut.offset > 0;
	return done && (cut || shown->sort) && keys_of(shown) <= KEYS_MAX &&
	       (!shown->sort || put_keys(shown));
}

bool mongodb_sort_keys(const struct sql_analysis *analysis, struct arena *arena, struct sort_keys *ret_keys)
{
	struct mongodb_reader reader = { .text = analysis->text, .arena = arena };
	struct mongodb_command command;
	struct shown shown = { .text = analysis->text,
			       .arena = arena,
			       .cut = { .known = true, .limit = -1 } };
	bool more;
	bool done = mongodb_read_command(&reader, &command, &more) && can_be_shown(&command) &&
		    split(&shown, &command);
	size_t count = keys_of(&shown);
	if (done)
		*ret_keys = (struct sort_keys){ .sql = write_command(&shown, &command),
						.added = count,
						.keys_count = count,
						.documents = true,
						.cut = shown.cut };
	buf_free(&shown.stages);
	buf_free(&shown.projections);
	if (!done || (count > 0) != analysis->ordered)
		return false;
	struct sql_order_key *keys = ARENA_ARRAY(arena, struct sql_order_key, count);
	for (size_t i = 0; i < count; i++)
		keys[i].column = (int)i;
	ret_keys->keys = keys;
	return true;
}

static bool is_cut(const struct mongodb_value *stage)
{
	return stage->first && STR_IS_ANY(stage->first->key, "$skip", "$limit");
}

/* The last cut with a stage behind it that does more than go on; what counts asks for no certain documents.
 */
static const struct mongodb_value *inner_cut_of(const struct mongodb_value *pipeline)
{
	const struct mongodb_value *cut = NULL, *inner = NULL;
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next) {
		if (!stage->first || str_is(stage->first->key, "$count"))
			cut = NULL;
		else if (is_cut(stage))
			cut = stage;
		else if (!goes_on(stage->first) && cut)
			inner = cut;
	}
	return inner;
}

str_t mongodb_sort_keys_inner_cut(const struct sql_analysis *analysis, struct arena *arena)
{
	struct mongodb_reader reader = { .text = analysis->text, .arena = arena };
	struct mongodb_command command;
	struct shown shown = { .text = analysis->text, .arena = arena };
	bool more;
	if (!mongodb_read_command(&reader, &command, &more) || command.verb != MONGODB_AGGREGATE ||
	    !can_be_shown(&command))
		return STR_NONE;
	const struct mongodb_value *cut = inner_cut_of(command.pipeline);
	for (const struct mongodb_value *stage = command.pipeline->first; cut && stage != cut->next;
	     stage = stage->next) {
		str_t text = slice(&shown, stage);
		buf_append_str(&shown.stages, text);
		buf_append_char(&shown.stages, ',');
	}
	str_t text = cut ? write_command(&shown, &command) : STR_NONE;
	buf_free(&shown.stages);
	return text;
}
