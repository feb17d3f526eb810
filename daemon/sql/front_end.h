/*
 * Front ends by dialect. Each fills the whole analysis; the request's dialect chooses one. See analysis.h.
 */
#pragma once

#include "sql/violations.h"

typedef void (*front_end_fn)(const struct sql_request *request, struct arena *arena,
			     struct sql_analysis *ret_analysis);

/* front_end_postgresql.c */
void sql_analyse_postgresql(const struct sql_request *request, struct arena *arena,
			    struct sql_analysis *ret_analysis);

/* An analysis of what cannot be analysed: invalid, UNSAFE, with that violation and a syntax_error. `offset`
 * counts in the SQL as given. */
void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis);
