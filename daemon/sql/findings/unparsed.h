/*
 * What can be seen of a text that does not parse: a second statement, a statement that writes, a function
 * that is refused by its name. It goes by the tokens alone, and sees what stands where a statement begins;
 * all else is not known. Pure; any thread; linear in the length.
 */
#pragma once

#include "sql/findings/violations.h"

/* Whether a call is refused by its name alone; sets the violation's code. `schema` may be absent. */
typedef bool (*refused_by_name_fn)(str_t schema, str_t name, enum sql_violation_code *ret_code);

/* Adds the violations that can be seen, and the doubt that `reason` is; `refused` may be NULL. Offsets count
 * in `text`. */
void unparsed_check(str_t text, enum sql_dialect dialect, refused_by_name_fn refused, str_t reason,
		    struct violations *violations);
