/*
 * What is doubtful about a MySQL or MariaDB query beyond its names: warnings, columns that have to be
 * constrained. Needs resolved names. Pure.
 */
#pragma once

#include "sql/diagnostics.h"
#include "sql/mysql/tree.h"

void mysql_diagnose(const struct mysql_node *root, str_t text, const struct sql_request *request,
		    struct diagnostics *diagnostics);
