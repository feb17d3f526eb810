/*
 * May a function or an operator be called in a read? By name, by what PostgreSQL 15 itself brings along
 * (catalog_builtin), and by the target's catalog.
 *
 * - Refused by name wherever it comes from: dangerous_functions.def.
 * - The system's own: immutable or stable and executable by PUBLIC; besides random, clock_timestamp and
 *   gen_random_uuid.
 * - Any other function of the catalog: immutable or stable, also where it runs with its owner's rights; the
 *   target's policy can say none, or name the ones that are allowed. Operators of users are refused with
 * none, too, and go by their volatility otherwise.
 * - Where the resolution does not tell which overload is meant, each that could be meant has to be allowed.
 * - A name that a complete catalog does not have is an error of the query, not a violation. One that is
 *   neither built in nor in a catalog which may lack it (or there is none) cannot be judged: a doubt. So are
 *   those that are made of such.
 *
 * Pure; any thread.
 */
#pragma once

#include "sql/catalog/content.h"
#include "sql/findings/violations.h"
#include "sql/lex/identifier.h"

/* What the names in a request are looked up in. */
struct known_names {
	const struct catalog *catalog; /* the request's, else what every server has; never NULL */
	bool complete;		       /* what is not in it does not exist */
	str_t gap;		       /* why something that is called is not known */
};

struct known_names known_names_of(const struct sql_request *request);

#define ARGUMENTS_UNKNOWN ((size_t)-1)

struct called_function {
	struct qualified_name name;
	const struct catalog_function *chosen; /* surely this one, or NULL */
	size_t arguments;		       /* or ARGUMENTS_UNKNOWN */
	bool certain; /* false: the name may as well mean a column, and unknown names are fine */
};

enum call_verdict { CALL_ALLOWED, CALL_REFUSED, CALL_UNKNOWN };

/* Judges a call; sets the violation's code where it is refused. */
enum call_verdict function_check(const struct called_function *function, const struct sql_request *request,
				 enum sql_violation_code *ret_code);

/* Whether a function of that name is refused whatever a catalog says of it (dangerous_functions.def). */
bool function_refused_by_name(str_t schema, str_t name, enum sql_violation_code *ret_code);

/* The same of an operator of the catalog. */
enum call_verdict function_check_operator(const struct catalog_operator *op, const struct sql_policy *policy,
					  enum sql_violation_code *ret_code);

/* Whether the relation of that name holds secrets of the server. */
bool safety_relation_is_secret(str_t schema, str_t name);
