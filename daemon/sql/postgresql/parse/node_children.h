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

/* Whether the node is the literal NULL; a NULL pointer is not. */
bool is_null_constant(const Node *node);
