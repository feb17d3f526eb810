/*
 * PostgreSQL's parse nodes, as libpg_query hands them out. Has to be the first include of its file: see
 * pg_server.h.
 *
 * Only the struct layouts and pg_list.h may be used: never palloc, contexts, ereport or node functions.
 */
#pragma once

#include "sql/lex/pg_server.h" // first: see there

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/* Text of a String node. */
#define NODE_STRING(node) (((const String *)(node))->sval)
