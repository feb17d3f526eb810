/*
 * May a function or an operator be called in a read? By name, by what PostgreSQL 15 itself brings along
 * (pg_builtin.def), and by the target's catalog.
 *
 * - Refused by name wherever it comes from: dangerous_functions.def.
 * - The system's own: immutable or stable and executable by PUBLIC; besides random, clock_timestamp and
 *   gen_random_uuid.
 * - Any other function of the catalog: immutable or stable, also where it runs with its owner's rights; the
 *   target's policy can say none, or name the ones that are allowed. Operators of users are refused with
 * none, too, and go by their volatility otherwise.
 * - Where the resolution does not tell which overload is meant, each that could be meant has to be allowed.
 * - A name that the catalog does not have is an error of the query, not a violation.
 * - Without a catalog: unknown names cannot be judged. A named target leaves them open (the verdict is
 *   UNKNOWN anyway); without a target the text is all there is, and what is not proven a read is refused.
 *
 * Pure; any thread.
 */
#pragma once

#include "sql/catalog/content.h"
#include "sql/violations.h"

#define ARGUMENTS_UNKNOWN ((size_t)-1)

struct qualified_name {
	str_t schema; /* as written, or absent */
	str_t name;
};

struct called_function {
	struct qualified_name name;
	const struct catalog_function *chosen; /* surely this one, or NULL */
	size_t arguments;		       /* or ARGUMENTS_UNKNOWN */
	bool certain; /* false: the name may as well mean a column, and unknown names are fine */
};

/* Whether the call is refused; sets the violation's code. */
bool function_refused(const struct called_function *function, const struct sql_request *request,
		      enum sql_violation_code *ret_code);

/* Whether an operator of the catalog is refused. */
bool operator_refused(const struct catalog_operator *op, const struct sql_policy *policy,
		      enum sql_violation_code *ret_code);

/* Whether the operator is refused by its name, where there is no catalog. */
bool operator_name_refused(struct qualified_name op, const struct sql_request *request,
			   enum sql_violation_code *ret_code);

/* Whether the relation of that name holds secrets of the server. */
bool relation_secret(str_t schema, str_t name);
