/*
 * An analysis taken out of the arena that it was made in: what the work left behind there can go. Pure; any
 * thread.
 */
#pragma once

#include "sql/findings/analysis.h"

/* A deep copy in as little memory of the arena as it takes. Names of codes are static and stay shared. */
void analysis_copy(const struct sql_analysis *analysis, struct arena *arena,
		   struct sql_analysis *ret_analysis);
