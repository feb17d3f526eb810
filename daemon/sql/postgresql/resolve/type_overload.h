/*
 * Which of several functions or operators of one name PostgreSQL calls for arguments of given types.
 *
 * Pure. In doubt nothing is chosen, and what all candidates agree on is still told.
 */
#pragma once

#include "sql/postgresql/resolve/type_coercion.h"

/* Arguments of one call; calls with more get no answer. */
#define OVERLOAD_MAX_ARGUMENTS	100
#define OVERLOAD_MAX_CANDIDATES 200

struct overload_call {
	const type_id *types;
	size_t count;
	const str_t *names; /* of the last `names_count` arguments, which are given by name */
	size_t names_count;
	bool is_variadic;    /* the last argument is given with VARIADIC */
	type_id cast_target; /* the type that f(x) would cast to, or TYPE_UNSURE */
};

enum overload_result {
	OVERLOAD_NONE,	    /* surely none takes these arguments */
	OVERLOAD_AMBIGUOUS, /* several do, and none is best */
	OVERLOAD_UNSURE,    /* one, or none */
	OVERLOAD_FOUND,
	OVERLOAD_CAST, /* the call is a cast to `cast_target` */
};

/* What was chosen. */
struct overload_choice {
	enum overload_result result;
	const struct catalog_function *function; /* of overload_choose_function, where FOUND */
	const struct catalog_operator *oper;	 /* of overload_choose_operator, where FOUND */
	type_id value; /* type of the value; also where UNSURE and all candidates agree */
	type_id parameters[OVERLOAD_MAX_ARGUMENTS]; /* type of each argument as given, where FOUND */
	bool some_take_count;			    /* where NONE: some function takes as many arguments */
	bool poly_unknown; /* FOUND, but nothing tells what its polymorphic parameters stand for */
};

/* Among these overloads, all of one name; `memory` is of this catalog. */
void overload_choose_function(const struct catalog *catalog, struct coercion_memory *memory,
			      const struct catalog_function *const *overloads, size_t overloads_count,
			      const struct overload_call *call, struct overload_choice *ret_choice);

/* `left` is ignored for a prefix operator. */
void overload_choose_operator(const struct catalog *catalog, struct coercion_memory *memory,
			      const struct catalog_operator *const *overloads, size_t overloads_count,
			      bool is_prefix, type_id left, type_id right,
			      struct overload_choice *ret_choice);
