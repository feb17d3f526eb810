/*
 * What is doubtful about a MySQL or MariaDB query beyond its names: warnings, columns that have to be
 * constrained. Needs resolved names. Pure; any thread.
 */
#pragma once

#include "sql/diagnostics.h"
#include "sql/mysql/tree.h"

/* Adds to `diagnostics`; `text` is what the tree was parsed from. */
void mysql_diagnose(const struct mysql_node *root, str_t text, const struct sql_request *request,
		    struct diagnostics *diagnostics);

/* required.c: missing_required, which mysql_diagnose includes. */
void mysql_required(const struct mysql_node *root, const struct sql_request *request,
		    struct diagnostics *diagnostics);
