/*
 * The checks of a PostgreSQL statement that need no more than its resolution.
 */
#pragma once

#include "sql/diagnostics.h"

struct parsed_statement;
struct resolution;

/* The checks of a resolved PostgreSQL statement beyond names: ungrouped columns, required columns, warnings.
 */
void diagnose_statement(const struct parsed_statement *parsed, const struct resolution *resolution,
			const struct sql_request *request, struct diagnostics *diagnostics);
