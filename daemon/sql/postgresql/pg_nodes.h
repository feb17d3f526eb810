/*
 * PostgreSQL's parse nodes, as libpg_query hands them out. Has to be the first include of its file: the
 * server's headers redefine stdio and claim names that are ours, which is undone here.
 *
 * Only the struct layouts and pg_list.h may be used: never palloc, contexts, ereport or node functions.
 */
#pragma once

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

#undef vsnprintf
#undef snprintf
#undef vsprintf
#undef sprintf
#undef vfprintf
#undef fprintf
#undef vprintf
#undef printf
#undef strerror
#undef strerror_r
#undef strtof
#undef ERROR
#undef FATAL
#undef PANIC
#undef LOG
#undef INFO
#undef NOTICE
#undef WARNING
#undef DEBUG1

/* Text of a String node. */
#define NODE_STRING(node) (((const String *)(node))->sval)
