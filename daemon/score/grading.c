#include "score/grading.h"

#include <ctype.h>

bool grading_safety(bool should_pass, enum rejection expected, bool explained, bool allowed,
		    struct grade *ret_grade)
{
	bool about_safety = expected == REJECTION_SAFETY || (expected == REJECTION_NONE && !explained);
	if (!should_pass && !about_safety)
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

void grading_validation(bool should_pass, bool accepted, enum rejection rejection, struct grade *ret_grade)
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
	if (!findings->valid)
		return REJECTION_SYNTAX;
	if (!findings->safe)
		return REJECTION_SAFETY;
	return findings->errors ? REJECTION_SCHEMA : REJECTION_NONE;
}

/* Length-bound strcasestr: the text may hold NULs. */
static bool contains(str_t text, const char *words)
{
	size_t len = strlen(words);
	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.ptr + i, words, len) == 0 &&
		    (i == 0 || !isalnum((unsigned char)text.ptr[i - 1])))
			return true;
	return false;
}

enum rejection grading_text_rejection(str_t text)
{
	static const struct {
		const char *words; /* at the beginning of a word */
		enum rejection rejection;
	} clues[] = {
		{ "invalid input syntax", REJECTION_SCHEMA },
		{ "permission denied", REJECTION_SAFETY },
		{ "syntax", REJECTION_SYNTAX },
		{ "parse", REJECTION_SYNTAX },
		{ "parsing", REJECTION_SYNTAX },
		{ "unexpected token", REJECTION_SYNTAX },
		{ "unrecognized token", REJECTION_SYNTAX },
		{ "unterminated", REJECTION_SYNTAX },
		{ "incomplete input", REJECTION_SYNTAX },
		{ "mismatched input", REJECTION_SYNTAX },
		{ "unsafe", REJECTION_SAFETY },
		{ "not safe", REJECTION_SAFETY },
		{ "forbidden", REJECTION_SAFETY },
		{ "not allowed", REJECTION_SAFETY },
		{ "dangerous", REJECTION_SAFETY },
		{ "injection", REJECTION_SAFETY },
		{ "blocked", REJECTION_SAFETY },
		{ "read-only", REJECTION_SAFETY },
		{ "read only", REJECTION_SAFETY },
		{ "only select", REJECTION_SAFETY },
		{ "multiple statements", REJECTION_SAFETY },
	};
	for (size_t i = 0; i < sizeof clues / sizeof clues[0]; i++)
		if (contains(text, clues[i].words))
			return clues[i].rejection;
	return REJECTION_SCHEMA;
}

enum rejection grading_former(enum rejection a, enum rejection b)
{
	static const int ranks[] = {
		[REJECTION_SYNTAX] = 0, [REJECTION_SAFETY] = 1, [REJECTION_SCHEMA] = 2, [REJECTION_NONE] = 3
	};
	return ranks[b] < ranks[a] ? b : a;
}
