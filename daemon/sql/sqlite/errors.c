#include "sql/sqlite/errors.h"

/* How the name that a message is about stands behind its known text. */
enum name_place { NAME_NONE, NAME_REST, NAME_WORD, NAME_CALL };

static const struct {
	const char *text;
	enum name_place name;
	enum sqlite_problem problem;
	enum sql_diagnostic_code code;
} messages[] = {
	{ "no such table: ", NAME_REST, SQLITE_PROBLEM_TABLE, DIAG_UNKNOWN_TABLE },
	{ "no such view: ", NAME_REST, SQLITE_PROBLEM_TABLE, DIAG_UNKNOWN_TABLE },
	{ "no such module: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_UNKNOWN_TABLE },
	{ "no such column: ", NAME_REST, SQLITE_PROBLEM_COLUMN, DIAG_UNKNOWN_COLUMN },
	{ "ambiguous column name: ", NAME_REST, SQLITE_PROBLEM_COLUMN, DIAG_AMBIGUOUS_COLUMN },
	{ "cannot join using column ", NAME_WORD, SQLITE_PROBLEM_OTHER, DIAG_UNKNOWN_COLUMN },
	{ "ambiguous reference to ", NAME_WORD, SQLITE_PROBLEM_OTHER, DIAG_AMBIGUOUS_COLUMN },
	{ "no such function: ", NAME_REST, SQLITE_PROBLEM_FUNCTION, DIAG_UNKNOWN_FUNCTION },
	{ "unknown function: ", NAME_CALL, SQLITE_PROBLEM_FUNCTION, DIAG_UNKNOWN_FUNCTION },
	{ "wrong number of arguments to function ", NAME_CALL, SQLITE_PROBLEM_CALL, DIAG_UNKNOWN_FUNCTION },
	{ "too many arguments on function ", NAME_WORD, SQLITE_PROBLEM_OTHER, DIAG_UNKNOWN_FUNCTION },
	{ "too many arguments on ", NAME_CALL, SQLITE_PROBLEM_OTHER, DIAG_UNKNOWN_FUNCTION },
	{ "no such collation sequence: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_USE },
	{ "no such index: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_USE },
	{ "no such window: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "duplicate WITH table name: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_DUPLICATE_ALIAS },
	{ "ON clause references tables to its right", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_JOIN },
	{ "misuse of aggregate: ", NAME_CALL, SQLITE_PROBLEM_OTHER, DIAG_INVALID_AGGREGATE },
	{ "misuse of aggregate function ", NAME_CALL, SQLITE_PROBLEM_OTHER, DIAG_INVALID_AGGREGATE },
	{ "misuse of aliased aggregate ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_AGGREGATE },
	{ "aggregate functions are not allowed", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_AGGREGATE },
	{ "DISTINCT aggregates must", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_AGGREGATE },
	{ "FILTER may not be used with non-aggregate ", NAME_CALL, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_AGGREGATE },
	{ "misuse of window function ", NAME_CALL, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "misuse of aliased window function ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "DISTINCT is not supported for window", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "FILTER clause may only be used with", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "unsupported frame specification", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "RANGE with offset ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "cannot override ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_WINDOW },
	{ "a GROUP BY clause is required before HAVING", NAME_NONE, SQLITE_PROBLEM_OTHER,
	  DIAG_UNGROUPED_COLUMN },
	{ "HAVING clause on a non-aggregate query", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_UNGROUPED_COLUMN },
	{ "sub-select returns ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_SUBQUERY },
	{ "row value misused", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_USE },
	{ "SELECTs to the left and right of ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_SET_OPERATION },
	{ "all VALUES must have the same number of terms", NAME_NONE, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_SET_OPERATION },
	{ "LIMIT clause should come after ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_SET_OPERATION },
	{ "ORDER BY clause should come after ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_SET_OPERATION },
	{ "circular reference: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_RECURSION },
	{ "multiple recursive references: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_RECURSION },
	{ "multiple references to recursive table: ", NAME_REST, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_RECURSION },
	{ "recursive reference in a subquery: ", NAME_REST, SQLITE_PROBLEM_OTHER, DIAG_INVALID_RECURSION },
	{ "recursive aggregate queries not supported", NAME_NONE, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_RECURSION },
	{ "cannot use window functions in recursive queries", NAME_NONE, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_RECURSION },
	{ "a NATURAL join may not have an ON or USING clause", NAME_NONE, SQLITE_PROBLEM_OTHER,
	  DIAG_INVALID_JOIN },
	{ "a JOIN clause is required before ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_JOIN },
	{ "unknown join type: ", NAME_NONE, SQLITE_PROBLEM_OTHER, DIAG_INVALID_JOIN },
	{ "parser stack overflow", NAME_NONE, SQLITE_PROBLEM_TOO_DEEP, DIAG_SYNTAX_ERROR },
	{ "Expression tree is too large", NAME_NONE, SQLITE_PROBLEM_TOO_DEEP, DIAG_SYNTAX_ERROR },
	{ "too many ", NAME_NONE, SQLITE_PROBLEM_TOO_DEEP, DIAG_SYNTAX_ERROR },
	{ "at most ", NAME_NONE, SQLITE_PROBLEM_TOO_DEEP, DIAG_SYNTAX_ERROR },
	{ "incomplete input", NAME_NONE, SQLITE_PROBLEM_SYNTAX, DIAG_SYNTAX_ERROR },
	{ "unrecognized token", NAME_NONE, SQLITE_PROBLEM_SYNTAX, DIAG_SYNTAX_ERROR },
	{ "near \"", NAME_NONE, SQLITE_PROBLEM_SYNTAX, DIAG_SYNTAX_ERROR },
	{ "near ", NAME_NONE, SQLITE_PROBLEM_SYNTAX, DIAG_SYNTAX_ERROR },
};

/* Messages that begin with what they are about. */
static const struct {
	const char *text;
	enum sql_diagnostic_code code;
} endings[] = {
	{ " may not be used as a window function", DIAG_INVALID_WINDOW },
	{ " is not a function", DIAG_UNKNOWN_FUNCTION },
	{ "should be between 1 and ", DIAG_INVALID_ORDER },
	{ " does not match any column in the result set", DIAG_INVALID_ORDER },
};

static str_t name_in(const char *text, enum name_place place)
{
	switch (place) {
	case NAME_REST:
		return str_from(text);
	case NAME_WORD:
		return (str_t){ text, strcspn(text, " ") };
	case NAME_CALL:
		return (str_t){ text, strcspn(text, "(") };
	case NAME_NONE:
	default:
		return STR_NONE;
	}
}

struct sqlite_message sqlite_message_classify(const char *message)
{
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		size_t len = strlen(messages[i].text);
		if (strncmp(message, messages[i].text, len) == 0)
			return (struct sqlite_message){ messages[i].problem, messages[i].code,
							name_in(message + len, messages[i].name) };
	}
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (strstr(message, endings[i].text))
			return (struct sqlite_message){ SQLITE_PROBLEM_OTHER, endings[i].code, STR_NONE };
	return (struct sqlite_message){ SQLITE_PROBLEM_OTHER, DIAG_INVALID_USE, STR_NONE };
}
