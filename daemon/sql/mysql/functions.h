/*
 * The functions that MySQL and MariaDB bring along (functions.def): what kind each is, which are refused by
 * their names, which belong to the grammar, and what stands in for those of other dialects. Pure; any thread.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/query/tree.h"

/* What the servers have instead of a function that they do not have, or the one whose name is nearest: "; …",
 * or ""; in the arena. */
str_t mysql_hint_function(str_t name, struct arena *arena);

/* Whether the servers bring a function of that name along, dangerous ones included. */
bool mysql_native(str_t name);

/* Whether the servers' function of that name is refused whatever it is called with. The schema does not
 * matter. */
bool mysql_refused_by_name(str_t schema, str_t name, enum sql_violation_code *ret_code);

/* Whether a call means one of the functions that the servers bring along. */
bool mysql_calls_builtin(const struct query_node *call);

/* Whether the node calls an aggregate of the servers', not as a window function. */
bool mysql_is_aggregate(const struct query_node *node);

/* The violation that the name alone is; `exact`: by its full name, else by a pattern. */
bool mysql_dangerous_name(str_t name, bool exact, enum sql_violation_code *ret_code);

/* Whether a name that a function of the grammar has means another function: it is quoted, or a blank stands
 * between it and its bracket where that makes the difference. */
bool mysql_foreign_name(str_t name, bool quoted, bool spaced);
