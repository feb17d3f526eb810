/*
 * Bounds on a SQL text, checked before any parser of a library sees it: one pass, linear time, no allocation.
 * Pure; any thread.
 *
 * By the lexical rules of PostgreSQL, whose parser trusts its input. Counts only ever overestimate the depth
 * of what it would build: nothing within the bounds comes near a stack of POOL_STACK_BYTES, and nothing takes
 * more than some 10 ms from text to verdict.
 */
#pragma once

#include "common/str.h"

#define GATE_MAX_BYTES	       ((size_t)64 << 10)
#define GATE_MAX_TOKENS	       25000 /* a list of 10,000 numbers fits */
#define GATE_MAX_NESTING       128   /* parentheses, brackets, CASE … END */
#define GATE_MAX_CHAIN	       1024 /* words and operators of one expression, those in its brackets included */
#define GATE_MAX_SPINE	       256  /* joins and set operations of one query */
#define GATE_MAX_SELECTS       300  /* SELECT, VALUES and TABLE keywords */
#define GATE_MAX_LIST	       1664 /* commas of one query; also the most columns that PostgreSQL gives */
#define GATE_MAX_COMMENT_DEPTH 8
#define GATE_MAX_COMMENT_SCAN  500000 /* bytes that PostgreSQL reads twice behind openings of comments */

enum gate_verdict { GATE_PASSED, GATE_TOO_LONG, GATE_ENCODING, GATE_NUL, GATE_TOO_DEEP };

struct gate_result {
	enum gate_verdict verdict;
	size_t offset;	    /* where the bound was passed */
	const char *reason; /* for a person; static */
};

/* Whether the text is within all bounds, else the first that it passes. */
struct gate_result gate_check(str_t sql);

/* The same of its length and its encoding alone, for a text that is no SQL. */
struct gate_result gate_check_bytes(str_t text);
