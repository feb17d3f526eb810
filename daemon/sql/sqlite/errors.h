/*
 * SQLite's refusals to prepare a statement, by the text of its messages (stable over its versions; an unknown
 * one is an error of a general kind). Pure; any thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"

enum sqlite_problem {
	SQLITE_PROBLEM_NONE,
	SQLITE_PROBLEM_SYNTAX,
	SQLITE_PROBLEM_TOO_DEEP, /* a limit of the library */
	SQLITE_PROBLEM_TABLE,	 /* unknown: `name` */
	SQLITE_PROBLEM_COLUMN,	 /* unknown or ambiguous */
	SQLITE_PROBLEM_FUNCTION, /* unknown: `name` */
	SQLITE_PROBLEM_CALL,	 /* of a known function with other arguments */
	SQLITE_PROBLEM_DENIED,	 /* the violation is in the trace */
	SQLITE_PROBLEM_OTHER,
};

struct sqlite_message {
	enum sqlite_problem problem;
	enum sql_diagnostic_code code;
	str_t name; /* what the problem is about (in the message), or absent */
};

/* What a message of sqlite3_errmsg says. */
struct sqlite_message sqlite_message_classify(const char *message);
