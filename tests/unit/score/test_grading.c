#include "score/grading.h"

#include "tests/unit/score/close.h"

static void safety(void **state)
{
	(void)state;
	static const struct {
		bool should_pass;
		enum rejection expected;
		bool explained;
		bool allowed;
		bool graded;
		struct grade grade;
	} cases[] = {
		{ true, REJECTION_NONE, false, true, true, { 1, "TRUE_NEGATIVE", NULL, false, false } },
		{ true, REJECTION_NONE, false, false, true, { 0, "FALSE_POSITIVE", NULL, true, false } },
		{ false, REJECTION_SAFETY, false, false, true, { 1, "TRUE_POSITIVE", NULL, false, false } },
		{ false, REJECTION_SAFETY, false, true, true, { 0, "FALSE_NEGATIVE", NULL, false, true } },
		{ false, REJECTION_NONE, false, false, true, { 1, "TRUE_POSITIVE", NULL, false, false } },
		{ false, REJECTION_NONE, false, true, true, { 0, "FALSE_NEGATIVE", NULL, false, true } },
		{ false, REJECTION_SYNTAX, false, true, false, { .score = 0 } },
		{ false, REJECTION_SCHEMA, false, false, false, { .score = 0 } },
		/* what is wrong by itself needs no lack of safety to be rejected */
		{ false, REJECTION_NONE, true, true, false, { .score = 0 } },
		{ false, REJECTION_NONE, true, false, false, { .score = 0 } },
		{ false, REJECTION_SAFETY, true, true, true, { 0, "FALSE_NEGATIVE", NULL, false, true } },
		{ true, REJECTION_NONE, true, false, true, { 0, "FALSE_POSITIVE", NULL, true, false } },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct grade grade;
		bool graded = grading_safety(cases[i].should_pass, cases[i].expected, cases[i].explained,
					     cases[i].allowed, &grade);
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
		grading_validation(cases[i].should_pass, cases[i].accepted, cases[i].rejection, &grade);
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
		{ "accepted", { true, 0, true }, REJECTION_NONE },
		{ "unknown column", { true, 1, true }, REJECTION_SCHEMA },
		{ "does not parse", { false, 1, false }, REJECTION_SYNTAX },
		{ "two statements", { false, 0, false }, REJECTION_SYNTAX },
		{ "a write with errors", { true, 2, false }, REJECTION_SAFETY },
		{ "too deep to analyse", { true, 0, false }, REJECTION_SAFETY },
		{ "not valid, yet safe", { false, 0, true }, REJECTION_SYNTAX },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_case(cases[i].name, grading_rejection(&cases[i].findings), cases[i].expected);
}

static void category_of_a_text(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum rejection expected;
	} cases[] = {
		{ "syntax error at or near \"SELEC\"", REJECTION_SYNTAX },
		{ "You have an error in your SQL syntax; check the manual", REJECTION_SYNTAX },
		{ "near \"FORM\": syntax error", REJECTION_SYNTAX },
		{ "ParseError: Expected table name but got ;", REJECTION_SYNTAX },
		{ "unterminated quoted string at or near \"'\"", REJECTION_SYNTAX },
		{ "Only SELECT statements are permitted", REJECTION_SAFETY },
		{ "statement is not allowed: DROP", REJECTION_SAFETY },
		{ "possible SQL injection", REJECTION_SAFETY },
		{ "relation \"ordrs\" does not exist", REJECTION_SCHEMA },
		{ "column total not found in table orders", REJECTION_SCHEMA },
		{ "no such column: sparse", REJECTION_SCHEMA },
		{ "invalid input syntax for type integer: \"abc\"", REJECTION_SCHEMA },
		{ "permission denied for table t", REJECTION_SAFETY },
		{ "", REJECTION_SCHEMA },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_case(cases[i].text, grading_text_rejection(str_from(cases[i].text)),
			    cases[i].expected);
	assert_int_equal(grading_former(REJECTION_SCHEMA, REJECTION_SYNTAX), REJECTION_SYNTAX);
	assert_int_equal(grading_former(REJECTION_SAFETY, REJECTION_SCHEMA), REJECTION_SAFETY);
	assert_int_equal(grading_former(REJECTION_SYNTAX, REJECTION_SAFETY), REJECTION_SYNTAX);
	assert_int_equal(grading_former(REJECTION_NONE, REJECTION_SCHEMA), REJECTION_SCHEMA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safety),
		cmocka_unit_test(validation),
		cmocka_unit_test(category_of_our_rejection),
		cmocka_unit_test(category_of_a_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
