/*
 * MongoDB's front end: queries as mongosh writes them, or as command documents, by a strict grammar of
 * literal values. What it does not know is invalid and never SAFE. Any thread; never fails.
 */
#pragma once

#include "sql/findings/analysis.h"

/* The whole analysis of a request whose dialect is MongoDB; results live in the arena. */
void sql_analyse_mongodb(const struct sql_request *request, struct arena *arena,
			 struct sql_analysis *ret_analysis);
