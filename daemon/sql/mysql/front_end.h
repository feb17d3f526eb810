/*
 * MySQL and MariaDB front end: a lexer and a parser of our own for queries, since no library has their
 * grammar. What it does not know is invalid and never SAFE. Any thread; never fails.
 */
#pragma once

#include "sql/findings/analysis.h"

/* The whole analysis of a request whose dialect is MySQL; results live in the arena. */
void sql_analyse_mysql(const struct sql_request *request, struct arena *arena,
		       struct sql_analysis *ret_analysis);

/* Calls `found` for every literal and comment, in order of the text. False: it does not parse. */
typedef void (*mysql_literal_fn)(void *context, size_t offset, size_t len, bool is_comment);
bool mysql_literals(str_t sql, struct arena *arena, mysql_literal_fn found, void *context);
