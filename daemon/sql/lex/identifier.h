/*
 * Identifiers as PostgreSQL writes them. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* A name that may have a schema in front, which is absent where it is not written. */
struct qualified_name {
	str_t schema;
	str_t name;
};

/* In double quotes unless it is plain and no reserved word (quote_ident); a copy in the arena. */
str_t identifier_quote(str_t name, struct arena *arena);
