/*
 * Grades of a validator: did its verdict agree with what the ground truth expects? Pure; any thread. Used for
 * our own verdicts and for those of an upstream validator.
 */
#pragma once

#include "common/str.h"

/* Why a query is rejected or expected to be; the first three in the order of the records' expected failures.
 */
enum rejection { REJECTION_SYNTAX, REJECTION_SCHEMA, REJECTION_SAFETY, REJECTION_NONE };

struct grade {
	double score;		    /* 1.0 when the verdict agrees, else 0.0 */
	const char *classification; /* static text: "TRUE_NEGATIVE", "CORRECT_ACCEPTANCE", … */
	const char *category;	    /* of a rejection: "syntax", "schema", "safety"; else NULL */
	bool warn;		    /* worth a warning in the log: a safe query was blocked */
	bool critical;		    /* worth an alarm in the log: an unsafe query was allowed */
};

/* Grades a safety verdict. False, and no grade, where nothing is known about safety: a query that has to fail
 * for another reason. `expected` is REJECTION_NONE where the ground truth does not say; `explained`: an error
 * of syntax or schema is reason enough to reject it. */
bool grading_safety(bool should_pass, enum rejection expected, bool explained, bool allowed,
		    struct grade *ret_grade);

/* Grades a validation verdict; `rejection` is REJECTION_NONE for an accepted query. */
void grading_validation(bool should_pass, bool accepted, enum rejection rejection, struct grade *ret_grade);

/* What our own analysis found. */
struct grading_findings {
	bool valid;
	size_t errors;
	bool safe; /* proven safe */
};

/* Why our own validation rejects a query, or REJECTION_NONE when it is valid, without errors and safe: syntax
 * before safety before schema. */
enum rejection grading_rejection(const struct grading_findings *findings);

/* What the text of somebody else's error is about: the words of parsers and of guards; all else is schema. */
enum rejection grading_text_rejection(str_t text);

/* The one that counts of two reasons: syntax before safety before schema before none. */
enum rejection grading_former(enum rejection a, enum rejection b);
