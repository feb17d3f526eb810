#include "sql/mongodb/check.h"
#include "sql/mongodb/operators.h"

#include "sql/lex/identifier.h"

#include <strings.h>

#define MAX_LET	  128
#define MAX_HINTS 8

void mongodb_invalid(struct mongodb_check *check, enum sql_diagnostic_code code,
		     const struct mongodb_value *value, const char *message)
{
	bool named = str_present(value->key);
	size_t offset = named ? value->key_offset : value->offset;
	str_t object = arena_printf(check->arena, "@%zu", offset);
	if (named)
		diagnostics_add(check->diagnostics, code, SUB_NONE, object, (int64_t)offset,
				"\"" STR_FMT "\" %s", STR_ARG(value->key), message);
	else
		diagnostics_add(check->diagnostics, code, SUB_NONE, object, (int64_t)offset, "the value %s",
				message);
}

void mongodb_missing_dollar(struct mongodb_check *check, str_t text, size_t offset, const char *means)
{
	diagnostics_add(check->diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_MISSING_DOLLAR,
			arena_printf(check->arena, "@%zu", offset), (int64_t)offset,
			"\"" STR_FMT "\" %s; did you mean \"$" STR_FMT "\"?", STR_ARG(text), means,
			STR_ARG(text));
}

void mongodb_unknown_operator(struct mongodb_check *check, const struct mongodb_value *value, char place,
			      const char *what)
{
	str_t hint =
		++check->hints > MAX_HINTS ? STR("") : mongodb_operator_hint(value->key, place, check->arena);
	diagnostics_add(check->diagnostics, DIAG_UNKNOWN_FUNCTION, SUB_NONE, value->key,
			(int64_t)value->key_offset, "\"" STR_FMT "\" is no %s" STR_FMT, STR_ARG(value->key),
			what, STR_ARG(hint));
	if (!mongodb_operator(value->key)) /* a server of later times may have it */
		violations_doubt(check->violations, "\"" STR_FMT "\" is not known", STR_ARG(value->key));
}

bool mongodb_is_systems(str_t name)
{
	static const char *const parts[] = { "system", "oplog", "startup_log" };
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		size_t len = strlen(parts[i]);
		if (name.len > len && strncasecmp(name.ptr, parts[i], len) == 0 && name.ptr[len] == '.')
			return true;
	}
	return strcasestr(name.ptr, ".system.") != NULL || str_is(name, "startup_log") ||
	       memchr(name.ptr, '$', name.len) != NULL;
}

void mongodb_check_collection(struct mongodb_check *check, str_t name, size_t offset)
{
	if (name.len == 0 || memchr(name.ptr, '\0', name.len)) {
		diagnostics_add(check->diagnostics, DIAG_INVALID_USE, SUB_NONE, STR("collection"),
				(int64_t)offset, "no collection has such a name");
		violations_doubt(check->violations, "no collection has such a name");
		return;
	}
	if (mongodb_is_systems(name))
		violations_add(check->violations, VIOLATION_SYSTEM_CATALOG, (int64_t)offset,
			       "collection \"" STR_FMT "\" is the server's own", STR_ARG(name));
	texts_add(check->arena, &check->collections, identifier_lower(name, check->arena));
}

/* --- whatever is refused, wherever it stands --- */

static void refuse_name(struct mongodb_check *check, str_t name, size_t offset)
{
	const struct mongodb_operator *known = mongodb_operator(name);
	if (known && known->refused)
		violations_add(check->violations, known->violation, (int64_t)offset, "\"" STR_FMT "\" %s",
			       STR_ARG(name),
			       known->violation == VIOLATION_SELECT_INTO ? "writes into a collection"
			       : known->violation == VIOLATION_SYSTEM_CATALOG
				       ? "tells of the server, not of data"
				       : "runs code");
}

/* "a.$where": a part of a path that begins with a dollar means something else to each server; "a.$" at the
 * end is the element that was found. */
static void check_path_of_key(struct mongodb_check *check, const struct mongodb_value *value)
{
	for (size_t i = 0; i + 1 < value->key.len; i++) {
		if (value->key.ptr[i] != '.' || value->key.ptr[i + 1] != '$')
			continue;
		str_t part = { value->key.ptr + i + 1, value->key.len - i - 1 };
		const char *dot = memchr(part.ptr, '.', part.len);
		if (dot)
			part.len = (size_t)(dot - part.ptr);
		if (part.len == 1 && !dot)
			return;
		refuse_name(check, part, value->key_offset);
		mongodb_invalid(check, DIAG_INVALID_USE, value, "has a part that begins with a dollar");
		violations_doubt(check->violations, "a path has a part that begins with a dollar");
	}
}

/* Parts of operators, and what is no operator at all. */
static bool is_part(str_t key)
{
	return STR_IS_ANY(key, "$geometry", "$box", "$center", "$centerSphere", "$polygon", "$uniqueDocs",
			  "$language", "$caseSensitive", "$diacriticSensitive", "$natural", "$oid", "$date",
			  "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal", "$uuid", "$binary",
			  "$timestamp", "$regularExpression", "$minKey", "$maxKey");
}

/* In $literal as well: what stands there is a value in an expression alone, and a pipeline or a filter where
 * a stage has its own names. */
static void refuse_all(struct mongodb_check *check, const struct mongodb_value *value)
{
	static const char roles[] = "$$USER_ROLES";
	if (mongodb_is_text(value) && value->text.len >= strlen(roles) &&
	    memcmp(value->text.ptr, roles, strlen(roles)) == 0)
		violations_add(check->violations, VIOLATION_SYSTEM_CATALOG, (int64_t)value->offset,
			       "$$USER_ROLES tells of the role that reads");
	for (const struct mongodb_value *child = value->first; child; child = child->next) {
		if (str_present(child->key)) {
			refuse_name(check, child->key, child->key_offset);
			check_path_of_key(check, child);
			if (mongodb_is_operator(child) && !mongodb_operator(child->key) &&
			    !is_part(child->key))
				violations_doubt(check->violations, "\"" STR_FMT "\" is not known",
						 STR_ARG(child->key));
		}
		refuse_all(check, child);
	}
}

/* --- the command --- */

static void check_options(struct mongodb_check *check, const struct mongodb_command *command)
{
	const struct mongodb_value *options = command->options;
	if (command->stray) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, command->stray, "is no document of options");
		violations_doubt(check->violations, "options are no document");
	}
	for (const struct mongodb_value *option = options ? options->first : NULL; option;
	     option = option->next) {
		if (mongodb_knows_option(command->options_of, option->key))
			continue;
		mongodb_invalid(check, DIAG_INVALID_USE, option, "is no option that is known here");
		violations_doubt(check->violations, "option \"" STR_FMT "\" is not known",
				 STR_ARG(option->key));
	}
}

static void check_number(struct mongodb_check *check, const struct mongodb_value *value)
{
	if (value && (!mongodb_is_integer(value) || value->number < 0))
		mongodb_invalid(check, DIAG_INVALID_TYPE, value, "is no number of documents");
}

static void check_find(struct mongodb_check *check, const struct mongodb_command *command)
{
	if (command->projection)
		mongodb_check_projection(check, command->projection);
	if (command->sort)
		mongodb_check_sort(check, command->sort);
	bool limited =
		command->one ||
		(command->limit && (command->limit->kind != MONGODB_NUMBER || command->limit->number != 0));
	if (command->verb == MONGODB_FIND && !limited)
		diagnostics_add(check->diagnostics, DIAG_MISSING_LIMIT, SUB_NONE, STR("limit"), 0,
				"the query has no limit");
}

/* Only a list of documents that the text itself holds needs no collection. */
static bool needs_none(const struct mongodb_command *command)
{
	const struct mongodb_value *first =
		mongodb_is_array(command->pipeline) ? command->pipeline->first : NULL;
	return mongodb_member(first, "$documents") != NULL;
}

static void check_aggregate(struct mongodb_check *check, const struct mongodb_command *command)
{
	if (!command->pipeline) {
		diagnostics_add(check->diagnostics, DIAG_INVALID_USE, SUB_NONE, STR("pipeline"),
				(int64_t)command->word_offset, "aggregate needs a pipeline");
		return;
	}
	mongodb_check_pipeline(check, command->pipeline);
	if (!str_present(command->collection) && !needs_none(command))
		diagnostics_add(check->diagnostics, DIAG_INVALID_USE, SUB_NONE, STR("collection"),
				(int64_t)command->word_offset,
				"the pipeline reads no collection and makes no documents");
	if (!check->grouped)
		diagnostics_add(check->diagnostics, DIAG_MISSING_LIMIT, SUB_NONE, STR("limit"), 0,
				"the pipeline neither groups nor limits");
}

/* The variables that the command itself defines. */
static void define(struct mongodb_check *check, const struct mongodb_command *command)
{
	const struct mongodb_value *let = mongodb_member(command->options, "let");
	struct mongodb_variable *variables = ARENA_ARRAY(check->arena, struct mongodb_variable, MAX_LET);
	size_t count = 0;
	for (const struct mongodb_value *variable = let ? let->first : NULL; variable && count < MAX_LET;
	     variable = variable->next) {
		mongodb_check_expression(check, variable);
		variables[count] = (struct mongodb_variable){ variable->key, check->variables };
		check->variables = &variables[count++];
	}
}

void mongodb_check_command(struct mongodb_check *check, const struct mongodb_command *command)
{
	const struct mongodb_value *const parts[] = { command->filter, command->projection, command->sort,
						      command->skip,   command->limit,	    command->pipeline,
						      command->key,    command->options };
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i])
			refuse_all(check, parts[i]);
	define(check, command);
	check_options(check, command);
	if (str_present(command->collection))
		mongodb_check_collection(check, command->collection, command->collection_offset);
	if (command->filter)
		mongodb_check_filter(check, command->filter);
	check_number(check, command->skip);
	check_number(check, command->limit);
	if (command->verb == MONGODB_AGGREGATE)
		check_aggregate(check, command);
	else if (command->verb == MONGODB_DISTINCT && !mongodb_is_text(command->key))
		diagnostics_add(check->diagnostics, DIAG_INVALID_TYPE, SUB_NONE, STR("key"),
				(int64_t)command->word_offset, "distinct needs the name of a field");
	else
		check_find(check, command);
	if (command->explained) /* its verbosity may run the query as often as the planner likes */
		violations_doubt(check->violations, "the plan is asked for, not the result");
}
