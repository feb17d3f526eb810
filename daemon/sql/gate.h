/*
 * Bounds on a SQL text, checked before any parser of a library sees it: one pass, linear time, no allocation.
 *
 * Counts only ever overestimate what a parser would build, so that nothing within the bounds can exhaust a
 * stack of POOL_STACK_BYTES.
 */
#pragma once

#include "sql/catalog.h"

#define GATE_MAX_BYTES	       ((size_t)64 << 10)
#define GATE_MAX_COMMENT_DEPTH 8
#define GATE_MAX_NESTING       128 /* parentheses, brackets, CASE … END */
#define GATE_MAX_CHAIN	       4096 /* operators, joins and set operations without a comma or bracket between */
#define GATE_MAX_SELECTS       512 /* SELECT and VALUES keywords */
#define GATE_MAX_TOKENS	       20000

enum gate_verdict { GATE_PASSED, GATE_TOO_LONG, GATE_ENCODING, GATE_NUL, GATE_TOO_DEEP };

struct gate_result {
	enum gate_verdict verdict;
	size_t offset;	    /* where the bound was passed */
	const char *reason; /* for a person; static */
};

struct gate_result gate_check(str_t sql);
