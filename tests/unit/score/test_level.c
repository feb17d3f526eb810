#include "score/level.h"

#include "tests/unit/score/close.h"

static void bands_are_half_open(void **state)
{
	(void)state;
	static const struct {
		double score;
		enum score_level answer, retrieval;
	} cases[] = {
		{ 1.0, SCORE_HIGH, SCORE_HIGH },
		{ 0.9, SCORE_HIGH, SCORE_HIGH },
		{ 0.8999999, SCORE_MEDIUM, SCORE_HIGH },
		{ 0.85, SCORE_MEDIUM, SCORE_HIGH },
		{ 0.8499999, SCORE_MEDIUM, SCORE_MEDIUM },
		{ 0.7, SCORE_MEDIUM, SCORE_MEDIUM },
		{ 0.6999999, SCORE_LOW, SCORE_LOW },
		{ 0.5, SCORE_LOW, SCORE_LOW },
		{ 0.4999999, SCORE_VERY_LOW, SCORE_VERY_LOW },
		{ 0.0, SCORE_VERY_LOW, SCORE_VERY_LOW },
		{ -1.0, SCORE_VERY_LOW, SCORE_VERY_LOW },
		{ NAN, SCORE_VERY_LOW, SCORE_VERY_LOW },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_case("answer", level_of(cases[i].score, &LEVEL_THRESHOLDS_ANSWER), cases[i].answer);
		assert_case("retrieval", level_of(cases[i].score, &LEVEL_THRESHOLDS_RETRIEVAL),
			    cases[i].retrieval);
	}
}

static void high_takes_a_narrow_interval(void **state)
{
	static const struct {
		double value, low;
		enum score_level level;
	} cases[] = {
		{ 0.95, 0.9, SCORE_HIGH },     { 0.9, 0.8, SCORE_HIGH },     { 0.95, 0.79, SCORE_MEDIUM },
		{ 0.95, NAN, SCORE_MEDIUM },   { 0.89, 0.88, SCORE_MEDIUM }, { 0.6, 0.1, SCORE_LOW },
		{ 0.1, 0.05, SCORE_VERY_LOW }, { NAN, 0.9, SCORE_VERY_LOW },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(level_of_estimate(cases[i].value, cases[i].low, &LEVEL_THRESHOLDS_ANSWER),
				 cases[i].level);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bands_are_half_open),
		cmocka_unit_test(high_takes_a_narrow_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
