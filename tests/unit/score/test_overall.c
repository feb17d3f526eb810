#include "score/overall.h"

#include "tests/unit/score/close.h"

static const enum overall_factor usual[] = { FACTOR_TECHNICAL, FACTOR_ADVISORY };
static const enum overall_factor all[] = { FACTOR_TECHNICAL, FACTOR_ADVISORY, FACTOR_RETRIEVAL,
					   FACTOR_GENERATOR };
static const enum overall_factor by_default[] = { FACTOR_TECHNICAL, FACTOR_ADVISORY,
						  FACTOR_RETRIEVAL_WITHOUT_ADVISORY };

static const struct {
	const char *name;
	struct overall_input input;
	opt_double_t confidence;
	enum score_level level;
	const char *limiting_factor;
} cases[] = {
	{ "the smaller one limits",
	  { { SOME(0.8), SOME(0.95) }, usual, 2, .unsafe = false },
	  SOME(0.8),
	  SCORE_MEDIUM,
	  "technical" },
	{ "the other one limits",
	  { { SOME(1), SOME(0.45) }, usual, 2, .unsafe = false },
	  SOME(0.45),
	  SCORE_VERY_LOW,
	  "advisory" },
	{ "technical alone says nothing of the meaning",
	  { { SOME(0.9), NONE }, usual, 2, .unsafe = false },
	  SOME(0.9),
	  SCORE_MEDIUM,
	  "technical" },
	{ "technical alone, where that is enough",
	  { { SOME(0.9), NONE }, usual, 2, .unsafe = false, .technical_alone = SCORE_HIGH },
	  SOME(0.9),
	  SCORE_HIGH,
	  "technical" },
	{ "technical alone is lower than its bound",
	  { { SOME(0.6), NONE }, usual, 2, .unsafe = false },
	  SOME(0.6),
	  SCORE_LOW,
	  "technical" },
	{ "a factor that is not chosen is no evidence",
	  { { SOME(1), NONE, NONE, SOME(1) }, usual, 2, .unsafe = false },
	  SOME(1),
	  SCORE_MEDIUM,
	  "technical" },
	{ "technical limits beside another",
	  { { SOME(0.95), NONE, SOME(1) }, all, 4, .unsafe = false },
	  SOME(0.95),
	  SCORE_HIGH,
	  "technical" },
	{ "retrieval in place of an advisory",
	  { { SOME(1), [FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = SOME(0.92) }, by_default, 3, .unsafe = false },
	  SOME(0.92),
	  SCORE_HIGH,
	  "retrieval" },
	{ "the other missing",
	  { { NONE, SOME(0.7) }, usual, 2, .unsafe = false },
	  SOME(0.7),
	  SCORE_MEDIUM,
	  "advisory" },
	{ "none there",
	  { { NONE, NONE, SOME(1), SOME(1) }, usual, 2, .unsafe = false },
	  NONE,
	  SCORE_VERY_LOW,
	  NULL },
	{ "no factors chosen",
	  { { SOME(1), SOME(1) }, usual, 0, .unsafe = false },
	  NONE,
	  SCORE_VERY_LOW,
	  NULL },
	{ "factors not chosen do not limit",
	  { { SOME(1), SOME(0.9), SOME(0), SOME(0) }, usual, 2, .unsafe = false },
	  SOME(0.9),
	  SCORE_HIGH,
	  "advisory" },
	{ "all four",
	  { { SOME(0.9), SOME(0.8), SOME(0.6), SOME(0.7) }, all, 4, .unsafe = false },
	  SOME(0.6),
	  SCORE_LOW,
	  "retrieval" },
	{ "the generator",
	  { { SOME(0.9), SOME(0.8), SOME(0.6), SOME(0.5) }, all, 4, .unsafe = false },
	  SOME(0.5),
	  SCORE_LOW,
	  "generator" },
	{ "of equals the first",
	  { { SOME(0.5), SOME(0.5) }, usual, 2, .unsafe = false },
	  SOME(0.5),
	  SCORE_LOW,
	  "technical" },
	{ "zero is zero",
	  { { SOME(0), SOME(1) }, usual, 2, .unsafe = false },
	  SOME(0),
	  SCORE_VERY_LOW,
	  "technical" },
	{ "unsafe", { { SOME(1), SOME(1) }, usual, 2, .unsafe = true }, SOME(0), SCORE_VERY_LOW, "safety" },
	{ "unsafe without factors",
	  { { NONE, NONE }, usual, 2, .unsafe = true },
	  SOME(0),
	  SCORE_VERY_LOW,
	  "safety" },
	{ "not a number is missing",
	  { { SOME(0.8), NONE, NONE, SOME(NAN) }, all, 4, .unsafe = false },
	  SOME(0.8),
	  SCORE_MEDIUM,
	  "technical" },
	{ "out of range is clamped",
	  { { NONE, NONE, NONE, SOME(1.5) }, all, 4, .unsafe = false },
	  SOME(1),
	  SCORE_HIGH,
	  "generator" },
};

static void smallest_factor(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct overall_input input = cases[i].input;
		struct overall_score score;
		if (input.technical_alone == SCORE_VERY_LOW)
			input.technical_alone = SCORE_MEDIUM;
		input.thresholds = LEVEL_THRESHOLDS_ANSWER;
		overall_score(&input, &score);
		assert_opt_close(cases[i].name, score.confidence, cases[i].confidence);
		assert_case(cases[i].name, score.level, cases[i].level);
		assert_case(cases[i].name, score.limiting_factor != NULL, cases[i].limiting_factor != NULL);
		if (score.limiting_factor)
			assert_string_equal(score.limiting_factor, cases[i].limiting_factor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(smallest_factor) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
