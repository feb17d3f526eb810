#include "sql/mongodb/command.h"

#define MAX_NAME 255 /* of a collection, the limit of a server */

static const char writers[] =
	"insert insertOne insertMany update updateOne updateMany replaceOne save remove deleteOne deleteMany "
	"findAndModify findOneAndDelete findOneAndReplace findOneAndUpdate bulkWrite initializeOrderedBulkOp "
	"initializeUnorderedBulkOp drop dropDatabase dropCollection dropIndex dropIndexes createIndex "
	"createIndexes ensureIndex reIndex createCollection createView renameCollection convertToCapped "
	"compact "
	"cloneCollection copyDatabase mapReduce eval group createUser createRole updateUser updateRole "
	"dropUser "
	"dropRole dropAllUsers dropAllRoles grantRolesToUser revokeRolesFromUser grantPrivilegesToRole "
	"revokePrivilegesFromRole grantRolesToRole revokeRolesFromRole changeUserPassword auth logout "
	"setProfilingLevel setLogLevel fsyncLock fsyncUnlock shutdownServer killOp watch hideIndex "
	"unhideIndex "
	"createSearchIndex createSearchIndexes dropSearchIndex updateSearchIndex findandmodify delete create "
	"collMod fsync shutdown setParameter adminCommand enableFreeMonitoring disableFreeMonitoring "
	"configureQueryAnalyzer analyzeShardKey";

bool mongodb_writes(str_t word)
{
	return str_is_listed(word, writers);
}

bool mongodb_knows_option(enum mongodb_verb verb, str_t option)
{
	static const char *const known[] = {
		[MONGODB_FIND] =
			"batchSize singleBatch hint collation comment maxTimeMS allowDiskUse "
			"returnKey showRecordId min max let readConcern noCursorTimeout allowPartialResults",
		[MONGODB_AGGREGATE] = "cursor hint collation comment maxTimeMS allowDiskUse let readConcern "
				      "batchSize",
		[MONGODB_COUNT] = "hint collation comment maxTimeMS readConcern",
		[MONGODB_DISTINCT] = "hint collation comment maxTimeMS readConcern",
		[MONGODB_WRITE] = "",
	};
	return str_is_listed(option, known[verb]);
}

/* --- command documents --- */

struct option {
	const char *name;
	unsigned verbs; /* that have it: bits */
	bool in_shell;	/* also among the options of a method */
	size_t place;	/* of the pointer in struct mongodb_command */
};

#define PLACE(member) offsetof(struct mongodb_command, member)
#define OF(verb)      (1u << (verb))

static const struct option options_read[] = {
	{ "filter", OF(MONGODB_FIND), false, PLACE(filter) },
	{ "query", OF(MONGODB_COUNT) | OF(MONGODB_DISTINCT), false, PLACE(filter) },
	{ "projection", OF(MONGODB_FIND), true, PLACE(projection) },
	{ "sort", OF(MONGODB_FIND), true, PLACE(sort) },
	{ "skip", OF(MONGODB_FIND) | OF(MONGODB_COUNT), true, PLACE(skip) },
	{ "limit", OF(MONGODB_FIND) | OF(MONGODB_COUNT), true, PLACE(limit) },
	{ "pipeline", OF(MONGODB_AGGREGATE), false, PLACE(pipeline) },
	{ "key", OF(MONGODB_DISTINCT), false, PLACE(key) },
};

static struct mongodb_value *new_document(struct arena *arena, size_t offset)
{
	struct mongodb_value *document = ARENA_NEW(arena, struct mongodb_value);
	document->kind = MONGODB_DOCUMENT;
	document->offset = document->end = offset;
	return document;
}

/* Which of two counts is another question to each reader: the text is refused. */
static void set_once(struct mongodb_command *command, struct mongodb_value **place,
		     struct mongodb_value *value)
{
	if (*place && !command->twice)
		command->twice = value;
	*place = value;
}

static void add_option(struct mongodb_command *command, str_t name, struct mongodb_value *value,
		       struct arena *arena)
{
	struct mongodb_value *copy = ARENA_NEW(arena, struct mongodb_value);
	*copy = *value;
	copy->key = name;
	copy->next = NULL;
	if (!command->options)
		command->options = new_document(arena, value->offset);
	for (const struct mongodb_value *other = command->options->first; other; other = other->next)
		if (str_equal(other->key, name) && !command->twice)
			command->twice = value;
	*(command->options->last ? &command->options->last->next : &command->options->first) = copy;
	command->options->last = copy;
	command->options->count++;
}

static void set_option(struct mongodb_command *command, struct mongodb_value *value, bool in_shell,
		       struct arena *arena)
{
	for (size_t i = 0; i < sizeof options_read / sizeof options_read[0]; i++) {
		const struct option *option = &options_read[i];
		if (!str_is(value->key, option->name) || !(option->verbs & OF(command->verb)) ||
		    (in_shell && !option->in_shell))
			continue;
		if (value->kind != MONGODB_NULL)
			set_once(command, (struct mongodb_value **)((char *)command + option->place), value);
		return;
	}
	bool explain = str_is(value->key, "explain");
	bool wanted = value->kind != MONGODB_BOOLEAN || value->number != 0;
	command->explained |= explain && wanted;
	if (!explain)
		add_option(command, value->key, value, arena);
}

static bool verb_of(str_t word, enum mongodb_verb *ret_verb)
{
	static const char *const verbs[] = { [MONGODB_FIND] = "find",
					     [MONGODB_AGGREGATE] = "aggregate",
					     [MONGODB_COUNT] = "count",
					     [MONGODB_DISTINCT] = "distinct" };
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (str_is(word, verbs[i])) {
			*ret_verb = (enum mongodb_verb)i;
			return true;
		}
	return false;
}

/* The first field names the command, and its value the collection. */
static bool take_document(struct mongodb_reader *reader, struct mongodb_value *document,
			  struct mongodb_command *command)
{
	struct mongodb_value *first = document->first;
	if (!mongodb_is_document(document) || !first)
		return mongodb_fail(reader, document->offset, "a command document is expected");
	command->word = first->key;
	command->word_offset = first->key_offset;
	if (mongodb_writes(first->key)) {
		command->verb = MONGODB_WRITE;
		return true;
	}
	if (!verb_of(first->key, &command->verb))
		return mongodb_fail(reader, first->key_offset,
				    "the command is none of find, aggregate, count and distinct");
	command->options_of = command->verb;
	command->collection_offset = first->offset;
	if (mongodb_is_text(first))
		command->collection = first->text;
	else if (command->verb != MONGODB_AGGREGATE || first->kind != MONGODB_NUMBER || first->number != 1)
		return mongodb_fail(reader, first->offset, "the name of a collection is expected");
	for (struct mongodb_value *value = first->next; value; value = value->next)
		set_option(command, value, false, reader->arena);
	return true;
}

/* --- mongosh --- */

struct mongodb_arguments {
	struct mongodb_value *first;
	size_t count;
	size_t offset; /* of the opening bracket */
};

static bool read_arguments(struct mongodb_reader *reader, struct mongodb_arguments *ret_arguments)
{
	struct mongodb_value *list = new_document(reader->arena, reader->at);
	ret_arguments->offset = reader->at;
	if (!mongodb_take(reader, '('))
		return mongodb_fail(reader, reader->at, "an opening bracket is expected");
	while (!mongodb_take(reader, ')')) {
		struct mongodb_value *value = mongodb_read_value(reader);
		if (!value)
			return false;
		*(list->last ? &list->last->next : &list->first) = value;
		list->last = value;
		ret_arguments->count++;
		if (!mongodb_take(reader, ',') && mongodb_peek(reader) != ')')
			return mongodb_fail(reader, reader->at, "a comma or a closing bracket is expected");
	}
	ret_arguments->first = list->first;
	return true;
}

static struct mongodb_value *argument(const struct mongodb_arguments *arguments, size_t index)
{
	struct mongodb_value *value = arguments->first;
	for (size_t i = 0; value && i < index; i++)
		value = value->next;
	/* null stands for one that is left out */
	return value && value->kind == MONGODB_NULL ? NULL : value;
}

static bool takes_at_most(struct mongodb_reader *reader, const struct mongodb_arguments *arguments,
			  size_t count)
{
	return arguments->count <= count ||
	       mongodb_fail(reader, arguments->offset, "the method takes fewer arguments");
}

static void set_options(struct mongodb_command *command, const struct mongodb_value *options,
			struct arena *arena)
{
	struct mongodb_value *value = mongodb_is_document(options) ? options->first : NULL;
	if (options && !mongodb_is_document(options))
		command->stray = options;
	while (value) {
		struct mongodb_value *next = value->next;
		set_option(command, value, true, arena);
		value = next;
	}
}

/* An array of stages, or the stages themselves. */
static bool take_stages(struct mongodb_reader *reader, const struct mongodb_arguments *arguments,
			struct mongodb_command *command)
{
	struct mongodb_value *first = arguments->first;
	if (mongodb_is_array(first)) {
		command->pipeline = first;
		set_options(command, argument(arguments, 1), reader->arena);
		return takes_at_most(reader, arguments, 2);
	}
	struct mongodb_value *stages = new_document(reader->arena, arguments->offset);
	stages->kind = MONGODB_ARRAY;
	stages->first = first;
	stages->count = arguments->count;
	command->pipeline = stages;
	return true;
}

/* What the method is given; `word` is that of the command. */
static bool take_arguments(struct mongodb_reader *reader, const struct mongodb_arguments *arguments,
			   struct mongodb_command *command)
{
	switch (command->verb) {
	case MONGODB_FIND:
		command->filter = argument(arguments, 0);
		command->projection = argument(arguments, 1);
		set_options(command, argument(arguments, 2), reader->arena);
		return takes_at_most(reader, arguments, 3);
	case MONGODB_AGGREGATE:
		return take_stages(reader, arguments, command);
	case MONGODB_COUNT:
		command->filter = command->estimated ? NULL : argument(arguments, 0);
		set_options(command, argument(arguments, command->estimated ? 0 : 1), reader->arena);
		return takes_at_most(reader, arguments, command->estimated ? 1 : 2);
	case MONGODB_DISTINCT:
		command->key = argument(arguments, 0);
		command->filter = argument(arguments, 1);
		set_options(command, argument(arguments, 2), reader->arena);
		return takes_at_most(reader, arguments, 3);
	case MONGODB_WRITE:
	default:
		return true;
	}
}

static bool method_of(str_t word, struct mongodb_command *command)
{
	command->one = str_is(word, "findOne");
	command->estimated = str_is(word, "estimatedDocumentCount");
	if (command->one)
		command->verb = MONGODB_FIND;
	else if (command->estimated || str_is(word, "countDocuments"))
		command->verb = MONGODB_COUNT;
	else
		return verb_of(word, &command->verb);
	return true;
}

/* --- what is chained behind --- */

/* One that takes no part in what is returned. */
static bool says_nothing(str_t method)
{
	return STR_IS_ANY(method, "toArray", "pretty", "maxTimeMS", "batchSize", "comment", "allowDiskUse",
			  "noCursorTimeout", "readPref", "readConcern", "allowPartialResults");
}

/* One that the server does in its own way where it is asked for so. */
static bool is_option(str_t method)
{
	return STR_IS_ANY(method, "collation", "hint", "min", "max", "returnKey", "showRecordId");
}

/* sort("a") is sort({a: 1}). */
static struct mongodb_value *sort_by(struct mongodb_value *name, struct arena *arena)
{
	struct mongodb_value *document = new_document(arena, name->offset);
	struct mongodb_value *direction = ARENA_NEW(arena, struct mongodb_value);
	mongodb_set_number(direction, 1, arena);
	direction->key = name->text;
	direction->key_offset = direction->offset = name->offset;
	direction->end = document->end = name->end;
	document->first = document->last = direction;
	document->count = 1;
	name->kept = true;
	return document;
}

static bool chain_on_find(struct mongodb_reader *reader, str_t method, size_t offset,
			  const struct mongodb_arguments *arguments, struct mongodb_command *command)
{
	struct mongodb_value *value = argument(arguments, 0);
	if (command->one || command->verb != MONGODB_FIND)
		return mongodb_fail(reader, offset, "nothing can be asked of this result");
	if (STR_IS_ANY(method, "count", "size", "itcount")) {
		command->verb = MONGODB_COUNT;
		return true;
	}
	if (!value && is_option(method))
		value = new_document(reader->arena, arguments->offset);
	if (!value)
		return mongodb_fail(reader, arguments->offset, "an argument is expected");
	if (str_is(method, "sort"))
		set_once(command, &command->sort,
			 mongodb_is_text(value) && arguments->count == 1 ? sort_by(value, reader->arena)
									 : value);
	else if (str_is(method, "skip"))
		set_once(command, &command->skip, value);
	else if (str_is(method, "limit"))
		set_once(command, &command->limit, value);
	else if (STR_IS_ANY(method, "project", "projection"))
		set_once(command, &command->projection, value);
	else if (is_option(method))
		add_option(command, method, value, reader->arena);
	else
		return mongodb_fail(reader, offset, "there is no such method of a cursor");
	return true;
}

static bool read_chain(struct mongodb_reader *reader, struct mongodb_command *command)
{
	while (mongodb_take(reader, '.')) {
		struct mongodb_arguments arguments = { 0 };
		if (!mongodb_skip_space(reader))
			return false;
		size_t offset = reader->at;
		str_t method = mongodb_take_name(reader);
		if (mongodb_writes(method) || STR_IS_ANY(method, "forEach", "map", "next", "hasNext")) {
			command->word = method;
			command->word_offset = offset;
			command->verb = mongodb_writes(method) ? MONGODB_WRITE : command->verb;
			return mongodb_fail(reader, offset,
					    "what is done with the result is no part of a query");
		}
		if (!read_arguments(reader, &arguments))
			return false;
		if (str_is(method, "explain"))
			command->explained = true;
		else if (!says_nothing(method) && !chain_on_find(reader, method, offset, &arguments, command))
			return false;
		if (command->twice)
			return mongodb_fail(reader, offset, "this is asked for twice");
	}
	return true;
}

/* --- the beginning: db.name, db["name"], db.getCollection("name") --- */

static bool take_bracketed(struct mongodb_reader *reader, char close, str_t *ret_text)
{
	if (!mongodb_skip_space(reader))
		return false;
	char quote = mongodb_peek(reader);
	if (quote != '"' && quote != '\'' && quote != '`')
		return mongodb_fail(reader, reader->at, "the name of a collection is expected");
	str_t text = mongodb_take_string(reader);
	if (!str_present(text))
		return false;
	if (!mongodb_take(reader, close))
		return mongodb_fail(reader, reader->at, "a closing bracket is expected");
	*ret_text = text;
	return true;
}

/* db.a.b.find: what stands in front of the method is the collection's name. Behind one, a method's name is
 * the method. */
static bool join_name(struct mongodb_reader *reader, struct mongodb_command *command, str_t part,
		      size_t offset)
{
	if (!str_present(command->collection)) {
		command->collection = part;
		command->collection_offset = offset;
		return true;
	}
	struct mongodb_command method = { 0 };
	if (method_of(part, &method))
		return mongodb_fail(reader, offset, "the method is not called");
	if (command->collection.len + part.len > MAX_NAME)
		return mongodb_fail(reader, offset, "the name of a collection is too long");
	command->collection =
		arena_printf(reader->arena, STR_FMT "." STR_FMT, STR_ARG(command->collection), STR_ARG(part));
	return true;
}

static bool run_command(struct mongodb_reader *reader, struct mongodb_command *command)
{
	struct mongodb_arguments arguments = { 0 };
	if (!read_arguments(reader, &arguments))
		return false;
	if (arguments.count != 1)
		return mongodb_fail(reader, arguments.offset, "a command document is expected");
	return take_document(reader, arguments.first, command);
}

/* A name behind a dot, which may be a part of the collection's or the method. `ret_done`: the command is
 * read. */
static bool read_part(struct mongodb_reader *reader, struct mongodb_command *command, bool *ret_done)
{
	struct mongodb_arguments arguments = { 0 };
	if (!mongodb_skip_space(reader))
		return false;
	size_t offset = reader->at;
	str_t name = mongodb_take_name(reader);
	if (name.len == 0)
		return mongodb_fail(reader, offset, "the name of a collection or a method is expected");
	if (!mongodb_skip_space(reader))
		return false;
	if (mongodb_peek(reader) != '(')
		return join_name(reader, command, name, offset);
	*ret_done = true;
	command->word = name;
	command->word_offset = offset;
	if (str_is(name, "getCollection") && !str_present(command->collection)) {
		*ret_done = false;
		reader->at++;
		command->collection_offset = reader->at;
		return take_bracketed(reader, ')', &command->collection);
	}
	if (str_is(name, "getSiblingDB") && !str_present(command->collection) &&
	    !str_present(command->database)) {
		*ret_done = false;
		reader->at++;
		return take_bracketed(reader, ')', &command->database);
	}
	if (str_is(name, "runCommand") && !str_present(command->collection))
		return run_command(reader, command);
	if (mongodb_writes(name)) {
		command->verb = MONGODB_WRITE;
		return true;
	}
	if (!method_of(name, command))
		return mongodb_fail(
			reader, offset,
			"the method is none of find, findOne, aggregate, countDocuments and distinct");
	if (!str_present(command->collection) && command->verb != MONGODB_AGGREGATE)
		return mongodb_fail(reader, offset, "the name of a collection is expected");
	command->options_of = command->verb;
	return read_arguments(reader, &arguments) && take_arguments(reader, &arguments, command) &&
	       read_chain(reader, command);
}

static bool read_expression(struct mongodb_reader *reader, struct mongodb_command *command)
{
	bool done = false;
	if (!str_is(mongodb_take_name(reader), "db")) {
		return mongodb_fail(reader, 0, "the text begins with neither db. nor a command document");
	}
	while (!done) {
		if (mongodb_take(reader, '.')) {
			if (!read_part(reader, command, &done))
				return false;
		} else if (!str_present(command->collection) && mongodb_take(reader, '[')) {
			command->collection_offset = reader->at;
			if (!take_bracketed(reader, ']', &command->collection))
				return false;
		} else {
			return mongodb_fail(reader, reader->at, "a method is expected");
		}
	}
	return true;
}

bool mongodb_read_command(struct mongodb_reader *reader, struct mongodb_command *ret_command, bool *ret_more)
{
	*ret_command = (struct mongodb_command){ 0 };
	*ret_more = false;
	if (!mongodb_skip_space(reader))
		return false;
	bool read;
	if (mongodb_peek(reader) == '{') {
		struct mongodb_value *document = mongodb_read_value(reader);
		read = document && take_document(reader, document, ret_command);
	} else {
		reader->script = true;
		read = read_expression(reader, ret_command);
	}
	if (!read || ret_command->verb == MONGODB_WRITE)
		return read;
	if (ret_command->twice)
		return mongodb_fail(reader, ret_command->twice->offset, "this is asked for twice");
	bool ended = false;
	while (mongodb_take(reader, ';'))
		ended = true;
	if (reader->failure)
		return false;
	if (reader->at < reader->text.len) {
		*ret_more = ended;

		return mongodb_fail(reader, reader->at, "more follows behind the end of the query");
	}
	return true;
}
