/*
 * The parts of a parse node, one level down: expressions and the nodes that expressions are made of, SELECT
 * and FROM included. Of other statements nothing. Pure; nodes are those of a parse, which go with it.
 */
#pragma once

#include "sql/postgresql/parse/pg_nodes.h" // first: see there

#include "sql/lex/identifier.h"

/* Calls `visit` for every child that is there, in the order of the text where the node keeps it. Lists are
 * opened. Stops early and returns false when `visit` does. Does not recurse by itself. */
bool node_children(const Node *node, bool (*visit)(const Node *child, void *context), void *context);

/* Last String of a list of names, or NULL. */
const char *names_last(const List *names);

/* The last two names of the list; absent where they are none. */
struct qualified_name names_qualified(const List *names);

/* Whether no schema stands in front of the name, or pg_catalog. */
bool names_are_system(const List *names);

/* Whether the node is the literal NULL; a NULL pointer is not. */
bool node_is_null(const Node *node);

/* The text of a quoted literal, or NULL; a node may be NULL here and below. */
const char *node_string(const Node *node);

/* Whether the node is a whole number in digits. */
bool node_integer(const Node *node, int *ret_value);

/* `*` or `t.*`; `(row).*` */
bool node_is_star(const Node *node);
bool node_is_all_fields(const Node *node);

/* The name of a column that is written without a relation, or NULL. */
const char *node_column_name(const Node *node);

/* Whether FETCH takes the rows that tie with its last one, too. */
bool node_with_ties(const SelectStmt *select);
