/*
 * Fields that every query of their collection has to constrain (sql/query/required.h), in a command: by its
 * filter, by the $match stages that its documents come to first, and, of a collection that is looked up, by
 * what connects it. Conditions behind a stage that takes documents away ($limit, $group, …) come too late.
 * Pure; any thread; linear in the text.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/mongodb/command.h"

void mongodb_check_required(const struct mongodb_command *command, const struct sql_request *request,
			    struct arena *arena, struct diagnostics *diagnostics);
