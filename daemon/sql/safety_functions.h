/*
 * May a function or an operator be called in a read? By name, by what PostgreSQL 15 itself brings along
 * (pg_builtin.def), and by the target's catalog.
 *
 * - Refused by name wherever it comes from: dangerous_functions.def.
 * - Built in (no schema, or pg_catalog): immutable or stable and executable by PUBLIC; besides random,
 *   clock_timestamp and gen_random_uuid.
 * - Any other function of the catalog: every overload has to be immutable or stable; the target's policy can
 *   say none, or name the ones that are allowed. Overloads are not told apart: one volatile one taints its
 *   name.
 * - A function that the catalog does not have is an unknown name, not a violation.
 * - Without a catalog: unknown names cannot be judged. A named target leaves them open (the verdict is
 * UNKNOWN anyway); without a target the text is all there is, and what is not proven a read is refused. Pure;
 * any thread.
 */
#pragma once

#include "sql/violations.h"

struct function_name {
	str_t schema; /* as written, or absent */
	str_t name;
};

/* Whether the call is refused; sets the violation's code. `certain` is false where the name may as well mean
 * a column: unknown names are fine there. */
bool function_refused(struct function_name function, bool certain, const struct sql_request *request,
		      enum sql_violation_code *ret_code);

/* Whether the operator is refused. */
bool operator_refused(struct function_name op, const struct sql_request *request,
		      enum sql_violation_code *ret_code);

/* Whether the relation of that name holds secrets of the server. */
bool relation_secret(str_t schema, str_t name);
