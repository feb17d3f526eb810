#include "score/grading.h"

#include "unit/score/close.h"

static void safety(void **state)
{
	(void)state;
	static const struct {
		bool should_pass;
		enum rejection expected;
		bool allowed;
		bool graded;
		struct grade grade;
	} cases[] = {
		{ true, REJECTION_NONE, true, true, { 1, "TRUE_NEGATIVE", NULL, false, false } },
		{ true, REJECTION_NONE, false, true, { 0, "FALSE_POSITIVE", NULL, true, false } },
		{ false, REJECTION_SAFETY, false, true, { 1, "TRUE_POSITIVE", NULL, false, false } },
		{ false, REJECTION_SAFETY, true, true, { 0, "FALSE_NEGATIVE", NULL, false, true } },
		{ false, REJECTION_NONE, false, true, { 1, "TRUE_POSITIVE", NULL, false, false } },
		{ false, REJECTION_NONE, true, true, { 0, "FALSE_NEGATIVE", NULL, false, true } },
		{ false, REJECTION_SYNTAX, true, false, { .score = 0 } },
		{ false, REJECTION_SCHEMA, false, false, { .score = 0 } },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct grade grade;
		bool graded = grade_safety(cases[i].should_pass, cases[i].expected, cases[i].allowed, &grade);
		assert_case("graded", graded, cases[i].graded);
		if (!graded)
			continue;
		assert_string_equal(grade.classification, cases[i].grade.classification);
		assert_close("score", grade.score, cases[i].grade.score);
		assert_case("warning", grade.warn, cases[i].grade.warn);
		assert_case("critical", grade.critical, cases[i].grade.critical);
		assert_null(grade.category);
	}
}

static void validation(void **state)
{
	(void)state;
	static const struct {
		bool should_pass, accepted;
		enum rejection rejection;
		double score;
		const char *classification, *category;
	} cases[] = {
		{ true, true, REJECTION_NONE, 1, "CORRECT_ACCEPTANCE", NULL },
		{ false, false, REJECTION_SYNTAX, 1, "CORRECT_REJECTION", "syntax" },
		{ false, false, REJECTION_SAFETY, 1, "CORRECT_REJECTION", "safety" },
		{ true, false, REJECTION_SCHEMA, 0, "FALSE_REJECTION", "schema" },
		{ true, false, REJECTION_NONE, 0, "FALSE_REJECTION", NULL },
		{ false, true, REJECTION_NONE, 0, "FALSE_ACCEPTANCE", NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct grade grade;
		grade_validation(cases[i].should_pass, cases[i].accepted, cases[i].rejection, &grade);
		assert_close(cases[i].classification, grade.score, cases[i].score);
		assert_string_equal(grade.classification, cases[i].classification);
		if (cases[i].category)
			assert_string_equal(grade.category, cases[i].category);
		else
			assert_null(grade.category);
	}
}

static void category_of_our_rejection(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct grading_findings findings;
		enum rejection expected;
	} cases[] = {
		{ "accepted", { true, 0, true, true }, REJECTION_NONE },
		{ "unknown column", { true, 1, true, true }, REJECTION_SCHEMA },
		{ "does not parse", { false, 1, false, false }, REJECTION_SYNTAX },
		{ "two statements", { false, 0, false, true }, REJECTION_SAFETY },
		{ "a write with errors", { true, 2, false, true }, REJECTION_SAFETY },
		{ "too deep to analyse", { true, 0, false, false }, REJECTION_SAFETY },
		{ "not valid, yet safe", { false, 0, true, true }, REJECTION_SYNTAX },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_case(cases[i].name, grading_rejection(&cases[i].findings), cases[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safety),
		cmocka_unit_test(validation),
		cmocka_unit_test(category_of_our_rejection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
