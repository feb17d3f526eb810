/*
 * The checks of a resolved PostgreSQL statement beyond names and types: required columns and warnings.
 * Pure; between parse_begin and parse_end, on their thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"

struct parsed_statement;
struct resolution;

/* Adds to `diagnostics`. */
void diagnose_statement(const struct parsed_statement *parsed, const struct resolution *resolution,
			const struct sql_request *request, struct diagnostics *diagnostics);
