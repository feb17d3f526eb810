#include "score/match.h"

#include "tests/unit/score/close.h"

static void factors(void **state)
{
	(void)state;
	static const struct {
		opt_double_t similarity;
		enum score_level level;
		double factor;
	} cases[] = {
		{ NONE, SCORE_HIGH, 1.0 },	   { SOME(1), SCORE_HIGH, 1.0 },
		{ SOME(0.90), SCORE_HIGH, 1.0 },   { SOME(0.8999999), SCORE_MEDIUM, 0.8 },
		{ SOME(0.75), SCORE_MEDIUM, 0.8 }, { SOME(0.7499999), SCORE_LOW, 0.5 },
		{ SOME(0), SCORE_LOW, 0.5 },	   { SOME(NAN), SCORE_LOW, 0.5 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct match_truth match = match_truth(cases[i].similarity);
		assert_case("level", match.level, cases[i].level);
		assert_close("factor", match.factor, cases[i].factor);
	}
}

static void regressions(void **state)
{
	(void)state;
	static const struct {
		double generated_ms, truth_ms;
		bool regressed;
	} cases[] = {
		{ 600, 100, true },   { 500, 100, false }, /* not more than five times as long */
		{ 250, 1, false },			   /* not above the floor */
		{ 250.001, 1, true }, { 10000, 9000, false }, { 251, 0, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_case("regressed",
			    match_performance_regressed(cases[i].generated_ms, cases[i].truth_ms, 5, 250),
			    cases[i].regressed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factors),
		cmocka_unit_test(regressions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
