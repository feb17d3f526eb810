/*
 * SQLite front end: the library itself prepares the statement against an empty in-memory copy of the target's
 * schema, under a default-deny authorizer. No generated statement is ever stepped.
 * Any thread; never fails: what cannot be prepared is invalid, what cannot be proven a read is never SAFE.
 */
#pragma once

#include "sql/findings/front_end.h"

/* The whole analysis of a request whose dialect is SQLite; results live in the arena. `read_recursion` is
 * asked about recursive queries. */
void sql_analyse_sqlite(const struct sql_request *request, front_end_recursion_fn read_recursion,
			struct arena *arena, struct sql_analysis *ret_analysis);
