/*
 * What a statement may ask for while SQLite prepares it: reads of tables, listed functions and modules;
 * all else is denied and becomes a violation. Pure; any thread, a trace belongs to one.
 */
#pragma once

#include "common/nearest.h"
#include "sql/findings/violations.h"
#include "sql/lex/texts.h"

/* What a statement asked for while it was prepared. */
struct sqlite_trace {
	struct arena *arena; /* the caller's, likewise below; takes the names of tables */
	struct violations *violations;
	str_t text;	     /* of the statement, for offsets */
	struct texts tables; /* read, in lower case; may repeat */
	bool reads_schema;   /* sqlite_schema and its other names */
	size_t requests;     /* so far: queries inside queries can double them level by level */
};

/* The function may be called, however large its arguments are. */
bool sqlite_function_is_allowed(const char *name);

/* Offers every function that may be called to `nearest`. */
struct nearest;
void sqlite_functions_offer(struct nearest *nearest);

/* How a request of a statement ends: SQLITE_OK or SQLITE_DENY; `stub`: the function stands in for an unknown
 * one. Arguments as those of an authorizer's callback. */
int sqlite_authorize(struct sqlite_trace *trace, int action, const char *first, const char *second,
		     const char *inside, bool stub);
