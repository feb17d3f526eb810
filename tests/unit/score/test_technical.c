#include "score/technical.h"

#include "tests/unit/score/close.h"

static void scores(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct technical_findings findings;
		double expected;
	} cases[] = {
		{ "clean", { true, false, 0, 0 }, 100 },
		{ "one error", { true, false, 1, 0 }, 80 },
		{ "two errors", { true, false, 2, 0 }, 60 },
		{ "one error, two warnings", { true, false, 1, 2 }, 70 },
		{ "one warning", { true, false, 0, 1 }, 95 },
		{ "syntax error", { false, false, 1, 0 }, 0 },
		{ "not valid without errors", { false, false, 0, 0 }, 0 },
		{ "unknown table", { true, true, 1, 0 }, 0 },
		{ "exactly used up", { true, false, 5, 0 }, 0 },
		{ "clamped", { true, false, 4, 5 }, 0 },
		{ "four errors, three warnings", { true, false, 4, 3 }, 5 },
		{ "absurdly many", { true, false, SIZE_MAX, SIZE_MAX }, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_close(cases[i].name, technical_score(&cases[i].findings), cases[i].expected);
}

static void upstream_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool unknown_table;
	} cases[] = {
		{ "Table 'orders' not found", true },
		{ "table orders does not exist", true },
		{ "no such TABLE: NOT FOUND", true },
		{ "column does not exist", false },
		{ "table is locked", false },
		{ "not found", false },
		{ "table", false },
		{ "", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_case(cases[i].text, technical_text_is_unknown_table(str_from(cases[i].text)),
			    cases[i].unknown_table);
	assert_false(technical_text_is_unknown_table(STR_NONE));
	assert_true(technical_text_is_unknown_table(STR("x\0table y\0not found")));
}

static void choice_of_source(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum technical_source source;
		opt_double_t own, event, expected;
	} cases[] = {
		{ "own", TECHNICAL_OWN, SOME(80), SOME(60), SOME(80) },
		{ "own, which is missing", TECHNICAL_OWN, NONE, SOME(60), NONE },
		{ "event", TECHNICAL_EVENT, SOME(80), SOME(100), SOME(100) },
		{ "event, which is missing", TECHNICAL_EVENT, SOME(80), NONE, SOME(80) },
		{ "worst is ours", TECHNICAL_WORST, SOME(0), SOME(60), SOME(0) },
		{ "worst is the event's", TECHNICAL_WORST, SOME(80), SOME(60), SOME(60) },
		{ "worst of ours alone", TECHNICAL_WORST, SOME(80), NONE, SOME(80) },
		{ "worst of the event's alone", TECHNICAL_WORST, NONE, SOME(60), SOME(60) },
		{ "worst of none", TECHNICAL_WORST, NONE, NONE, NONE },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_opt_close(cases[i].name,
				 technical_choose(cases[i].source, cases[i].own, cases[i].event),
				 cases[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores),
		cmocka_unit_test(upstream_texts),
		cmocka_unit_test(choice_of_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
