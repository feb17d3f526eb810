/*
 * MongoDB's front end: queries as mongosh writes them, or as command documents, by a strict grammar of
 * literal values. What it does not know is invalid and never SAFE. Any thread; never fails.
 */
#pragma once

#include "sql/findings/analysis.h"

/* The whole analysis of a request whose dialect is MongoDB; results live in the arena. */
void sql_analyse_mongodb(const struct sql_request *request, struct arena *arena,
			 struct sql_analysis *ret_analysis);

/* Calls `found` for every literal and comment, in order of the text: names of fields and collections, paths,
 * directions of a sort and switches of a projection are none. False: it does not parse. */
typedef void (*mongodb_literal_fn)(void *context, size_t offset, size_t len, bool is_comment);
bool mongodb_literals(str_t text, struct arena *arena, mongodb_literal_fn found, void *context);
