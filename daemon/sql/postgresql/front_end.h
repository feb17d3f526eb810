/*
 * PostgreSQL's front end: its own parser (libpg_query) and type system. Any thread with POOL_STACK_BYTES of
 * stack; never fails.
 */
#pragma once

#include "sql/findings/front_end.h"

/* The whole analysis of a request whose dialect is PostgreSQL; results live in the arena. */
void sql_analyse_postgresql(const struct sql_request *request, struct arena *arena,
			    struct sql_analysis *ret_analysis);

/* Whether every recursive WITH query of the text has a bound; for dialects that share the syntax. */
enum front_end_recursion sql_recursion_postgresql(str_t text, struct arena *arena);
