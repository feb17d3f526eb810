#include "score/grading.h"

bool grade_safety(bool should_pass, enum rejection expected, bool allowed, struct grade *ret_grade)
{
	if (!should_pass && expected != REJECTION_SAFETY && expected != REJECTION_NONE)
		return false;
	if (should_pass)
		*ret_grade = allowed ? (struct grade){ .score = 1, .classification = "TRUE_NEGATIVE" }
				     : (struct grade){ .classification = "FALSE_POSITIVE", .warn = true };
	else
		*ret_grade = allowed ? (struct grade){ .classification = "FALSE_NEGATIVE", .critical = true }
				     : (struct grade){ .score = 1, .classification = "TRUE_POSITIVE" };
	return true;
}

static const char *rejection_name(enum rejection rejection)
{
	static const char *const names[] = {
		[REJECTION_SYNTAX] = "syntax",
		[REJECTION_SCHEMA] = "schema",
		[REJECTION_SAFETY] = "safety",
		[REJECTION_NONE] = NULL,
	};
	return names[rejection];
}

void grade_validation(bool should_pass, bool accepted, enum rejection rejection, struct grade *ret_grade)
{
	static const char *const classes[2][2] = {
		{ "CORRECT_REJECTION", "FALSE_ACCEPTANCE" },
		{ "FALSE_REJECTION", "CORRECT_ACCEPTANCE" },
	};
	*ret_grade = (struct grade){
		.score = should_pass == accepted ? 1 : 0,
		.classification = classes[should_pass][accepted],
		.category = accepted ? NULL : rejection_name(rejection),
	};
}

enum rejection grading_rejection(const struct grading_findings *findings)
{
	if (!findings->safe && findings->analysable)
		return REJECTION_SAFETY;
	if (!findings->valid)
		return REJECTION_SYNTAX;
	if (findings->errors)
		return REJECTION_SCHEMA;
	return findings->safe ? REJECTION_NONE : REJECTION_SAFETY;
}
