/*
 * Analysis of a generated query by its dialect: one interface, and a table of the front ends behind it.
 *
 * Pure: no I/O, no clock; any thread (with POOL_STACK_BYTES of stack). Never fails: what cannot be analysed
 * is invalid and never SAFE, and says why. All results live in the arena of the call.
 */
#pragma once

#include "sql/findings/analysis.h"

/* Checks the text (lex/gate.h) and analyses it by its dialect. */
void sql_analyse(const struct sql_request *request, struct arena *arena, struct sql_analysis *ret_analysis);
