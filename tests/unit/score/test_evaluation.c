#include "score/evaluation.h"

#include "tests/unit/score/close.h"

#define IS(number)                                                                                           \
	{                                                                                                    \
		METRIC_COMPUTED, (number)                                                                    \
	}
#define UNCHECKED(number)                                                                                    \
	{                                                                                                    \
		METRIC_UNCHECKED, (number)                                                                   \
	}
#define FAILED                                                                                               \
	{                                                                                                    \
		METRIC_FAILED, 0                                                                             \
	}
#define LEFT_OUT                                                                                             \
	{                                                                                                    \
		METRIC_NOT_ASKED, 0                                                                          \
	}

static const struct {
	const char *name;
	struct evaluation_input input;
	struct evaluation_score expected;
} cases[] = {
	/* 0.40 + 0.075 + 0.15·0.8 + 0.30·0.95 */
	{ "truth and target",
	  { { IS(1), IS(0.5), IS(0.8), IS(0.95) }, true, true, false, 1, 0, false },
	  { SOME(0.88), true, false, { 0.40, 0.15, 0.15, 0.30 }, false } },
	/* (0.40 + 0.15 + 0.15 + 0.24·0.3) / 0.94 */
	{ "medium match",
	  { { IS(1), IS(1), IS(1), IS(0.3) }, true, true, false, 0.8, 0, false },
	  { SOME(0.821276595745), true, false, { 0.40, 0.15, 0.15, 0.24 }, false } },
	/* (0.40 + 0 + 0 + 0.15) / 0.85 */
	{ "low match",
	  { { IS(1), IS(0), IS(0), IS(1) }, true, true, false, 0.5, 0, false },
	  { SOME(0.647058823529), false, false, { 0.40, 0.15, 0.15, 0.15 }, true } },
	/* 0.60 + 0.05 + 0.15 */
	{ "truth without a target",
	  { { IS(1), IS(0.5), IS(0.5), LEFT_OUT }, true, false, false, 1, 0, false },
	  { SOME(0.8), true, false, { 0.60, 0.10, 0.30, 0 }, false } },
	{ "a result that no target can give is ignored",
	  { { IS(1), IS(0.5), IS(0.5), IS(0) }, true, false, false, 1, 0, false },
	  { SOME(0.8), true, false, { 0.60, 0.10, 0.30, 0 }, false } },
	/* (0.60·0.5 + 0.30) / 0.90 */
	{ "no truth",
	  { { IS(0.5), LEFT_OUT, IS(1), LEFT_OUT }, false, true, false, 1, 0, false },
	  { SOME(0.666666666667), false, false, { 0.60, 0, 0.30, 0 }, true } },
	{ "no truth, no judge",
	  { { IS(1), LEFT_OUT, LEFT_OUT, LEFT_OUT }, false, false, false, 1, 0, false },
	  { NONE, false, false, { 0.60, 0, 0, 0 }, false } },
	/* (0.40 + 0.15 + 0.15) / 0.85 */
	{ "the judge is down",
	  { { IS(1), IS(1), FAILED, IS(0.5) }, true, true, false, 1, 0, false },
	  { SOME(0.823529411765), true, true, { 0.40, 0.15, 0, 0.30 }, false } },
	{ "the truth is broken",
	  { { IS(1), IS(1), IS(1), FAILED }, true, true, false, 1, 0, false },
	  { SOME(1), true, true, { 0.40, 0.15, 0.15, 0 }, false } },
	/* texts that are alike are no answer that was seen */
	{ "the result cannot be had, and nobody judges",
	  { { IS(1), IS(1), LEFT_OUT, FAILED }, true, true, false, 1, 0, false },
	  { SOME(1), false, true, { 0.40, 0.15, 0, 0 }, false } },
	{ "the judge was not asked",
	  { { IS(1), IS(1), LEFT_OUT, IS(1) }, true, true, false, 1, 0, false },
	  { SOME(1), true, false, { 0.40, 0.15, 0, 0.30 }, false } },
	/* 0.40 + 0.15 + 0.15 + 0 is exactly the bound */
	{ "failed to execute",
	  { { IS(1), IS(1), IS(1), IS(0) }, true, true, false, 1, 0, false },
	  { SOME(0.7), true, false, { 0.40, 0.15, 0.15, 0.30 }, false } },
	{ "unsafe never passes",
	  { { IS(1), IS(1), IS(1), LEFT_OUT }, true, true, true, 1, 0, false },
	  { SOME(0.7), false, false, { 0.40, 0.15, 0.15, 0.30 }, false } },
	{ "unsafe without a target",
	  { { IS(1), IS(1), IS(1), LEFT_OUT }, true, false, true, 1, 0, false },
	  { SOME(1), false, false, { 0.60, 0.10, 0.30, 0 }, false } },
	{ "known to be wrong never passes",
	  { { IS(1), IS(1), IS(1), IS(1) }, true, true, false, 1, 0, true },
	  { SOME(1), false, false, { 0.40, 0.15, 0.15, 0.30 }, false } },
	{ "another bound",
	  { { IS(1), IS(1), IS(1), IS(0) }, true, true, false, 1, 0.71, false },
	  { SOME(0.7), false, false, { 0.40, 0.15, 0.15, 0.30 }, true } },
	{ "a target without its catalog, no truth",
	  { { UNCHECKED(1), LEFT_OUT, LEFT_OUT, LEFT_OUT }, false, true, false, 1, 0, false },
	  { NONE, false, true, { 0.60, 0, 0, 0 }, false } },
	/* 0.40·0.5 / 0.55 */
	{ "a target without its catalog",
	  { { UNCHECKED(0.5), IS(0), LEFT_OUT, FAILED }, true, true, false, 1, 0, false },
	  { SOME(0.363636363636), false, true, { 0.40, 0.15, 0, 0 }, true } },
	{ "nothing at all",
	  { { LEFT_OUT, LEFT_OUT, FAILED, LEFT_OUT }, false, false, false, 1, 0, false },
	  { NONE, false, true, { 0 }, false } },
};

static void evaluations(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct evaluation_score score;
		evaluation_score(&cases[i].input, &score);
		assert_opt_close(cases[i].name, score.score, cases[i].expected.score);
		assert_case(cases[i].name, score.passed, cases[i].expected.passed);
		assert_case(cases[i].name, score.degraded, cases[i].expected.degraded);
		assert_case(cases[i].name, score.below_pass_score, cases[i].expected.below_pass_score);
		for (size_t k = 0; k < EVALUATION_METRIC_COUNT_; k++)
			assert_close(cases[i].name, score.weights[k], cases[i].expected.weights[k]);
	}
}

static void judge_part(void **state)
{
	(void)state;
	const opt_double_t none = NONE, half = SOME(0.5), zero = SOME(0), eighty = SOME(80);
	const opt_double_t share = SOME(0.8);
	assert_opt_close("correctness first", evaluation_judge(half, eighty), half);
	assert_opt_close("correctness of zero", evaluation_judge(zero, eighty), zero);
	assert_opt_close("relevance", evaluation_judge(none, eighty), share);
	assert_opt_close("neither", evaluation_judge(none, none), none);
}

static void decisions(void **state)
{
	(void)state;
	static const struct {
		opt_double_t relevance;
		enum evaluation_decision decision;
	} bands[] = {
		{ NONE, RELEVANCE_UNJUDGED },	      { SOME(NAN), RELEVANCE_UNJUDGED },
		{ SOME(0), RELEVANCE_REJECT },	      { SOME(29), RELEVANCE_REJECT },
		{ SOME(29.999), RELEVANCE_REJECT },   { SOME(30), RELEVANCE_WARN },
		{ SOME(49), RELEVANCE_WARN },	      { SOME(50), RELEVANCE_ACCEPT },
		{ SOME(79), RELEVANCE_ACCEPT },	      { SOME(80), RELEVANCE_ACCEPT_HIGH },
		{ SOME(100), RELEVANCE_ACCEPT_HIGH },
	};
	for (size_t i = 0; i < COUNT(bands); i++) {
		assert_case("decision", evaluation_decision(bands[i].relevance), bands[i].decision);
		assert_true(strlen(evaluation_decision_text(bands[i].decision)) > 10);
	}
}

static void labels(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct label_input input;
		bool found;
		struct label label;
	} choices[] = {
		{ "feedback first",
		  { SOME(0), SOME(1), SOME(1), SOME(90), 0.5, false },
		  true,
		  { 0, false, ORIGIN_FEEDBACK, 1 } },
		{ "then the result",
		  { NONE, SOME(0.95), SOME(0), SOME(10), 0.5, false },
		  true,
		  { 0.95, true, ORIGIN_RESULT, 1 } },
		{ "then correctness",
		  { NONE, NONE, SOME(0.5), SOME(10), 0.25, false },
		  true,
		  { 0.5, true, ORIGIN_CORRECTNESS, 4 } },
		{ "identical: seen whether sampled or not",
		  { NONE, NONE, SOME(1), SOME(10), 0.25, true },
		  true,
		  { 1, true, ORIGIN_CORRECTNESS, 1 } },
		{ "then relevance",
		  { NONE, NONE, NONE, SOME(49), 0.1, false },
		  true,
		  { 0.49, false, ORIGIN_RELEVANCE, 10 } },
		{ "partly correct counts",
		  { NONE, NONE, NONE, SOME(50), 1, false },
		  true,
		  { 0.5, true, ORIGIN_RELEVANCE, 1 } },
		{ "not quite",
		  { NONE, SOME(0.3), NONE, NONE, 1, false },
		  true,
		  { 0.3, false, ORIGIN_RESULT, 1 } },
		{ "no probability known",
		  { NONE, NONE, SOME(1), NONE, 0, false },
		  true,
		  { 1, true, ORIGIN_CORRECTNESS, 1 } },
		{ "none", { NONE, NONE, NONE, NONE, 1, false }, false, { .value = 0 } },
	};
	for (size_t i = 0; i < COUNT(choices); i++) {
		struct label label;
		bool found = evaluation_label(&choices[i].input, &label);
		assert_case(choices[i].name, found, choices[i].found);
		if (!found)
			continue;
		assert_close(choices[i].name, label.value, choices[i].label.value);
		assert_close(choices[i].name, label.weight, choices[i].label.weight);
		assert_case(choices[i].name, label.correct, choices[i].label.correct);
		assert_case(choices[i].name, label.origin, choices[i].label.origin);
	}
}

static void names(void **state)
{
	(void)state;
	static const char *const expected[] = { "structural", "semantic", "judge", "result" };
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_string_equal(evaluation_metric_name((enum evaluation_metric)i), expected[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluations), cmocka_unit_test(judge_part), cmocka_unit_test(decisions),
		cmocka_unit_test(labels),      cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
