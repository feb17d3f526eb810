/*
 * Whether a quoted literal is a value of a type, as PostgreSQL's input functions read it while a statement is
 * analysed. Pure; any thread.
 */
#pragma once

#include "sql/postgresql/resolve/type_coercion.h"

/* SURELY_NOT: PostgreSQL refuses it, whatever its settings, with the SQLSTATE (static) in `ret_sqlstate`.
 * Types that are not modelled are PERHAPS. */
enum certainty literal_fits(const struct catalog *catalog, type_id type, const char *text,
			    const char **ret_sqlstate);
