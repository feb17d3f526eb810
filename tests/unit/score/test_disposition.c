#include "score/disposition.h"

#include "tests/unit/score/close.h"

#define LEVEL(name) .confidence = SOME(0.95), .level = (name), .valid = true
#define NOTHING	    .confidence = NONE, .valid = true
#define UNPARSED    .confidence = SOME(0.95), .level = SCORE_HIGH

/* What is known, and what follows: the action, the decisive finding, how many there are. */
static const struct {
	const char *name;
	struct disposition_input input; /* bounds of 0: the defaults */
	enum disposition_action action;
	enum disposition_finding decisive;
	size_t count;
	enum disposition_finding wrong;
} cases[] = {
	{ "high", { LEVEL(SCORE_HIGH) }, DISPOSITION_USE, FINDING_CONFIDENCE_HIGH, 1, FINDING_COUNT_ },
	{ "medium",
	  { LEVEL(SCORE_MEDIUM) },
	  DISPOSITION_USE_WITH_CAUTION,
	  FINDING_CONFIDENCE_MEDIUM,
	  1,
	  FINDING_COUNT_ },
	{ "low", { LEVEL(SCORE_LOW) }, DISPOSITION_VERIFY, FINDING_CONFIDENCE_LOW, 1, FINDING_COUNT_ },
	{ "very low",
	  { LEVEL(SCORE_VERY_LOW) },
	  DISPOSITION_WITHHOLD,
	  FINDING_CONFIDENCE_VERY_LOW,
	  1,
	  FINDING_COUNT_ },
	{ "none", { NOTHING }, DISPOSITION_WITHHOLD, FINDING_CONFIDENCE_NONE, 1, FINDING_COUNT_ },
	{ "below the advisories' bound",
	  { LEVEL(SCORE_HIGH), .low_confidence_below = 0.96 },
	  DISPOSITION_USE_WITH_CAUTION,
	  FINDING_CONFIDENCE_ADVISED,
	  2,
	  FINDING_COUNT_ },
	{ "at the advisories' bound",
	  { LEVEL(SCORE_HIGH), .low_confidence_below = 0.95 },
	  DISPOSITION_USE,
	  FINDING_CONFIDENCE_HIGH,
	  1,
	  FINDING_COUNT_ },
	{ "unsafe",
	  { LEVEL(SCORE_HIGH), .safety = DISPOSITION_UNSAFE },
	  DISPOSITION_WITHHOLD,
	  FINDING_UNSAFE,
	  2,
	  FINDING_UNSAFE },
	{ "not known to be safe",
	  { LEVEL(SCORE_HIGH), .safety = DISPOSITION_UNKNOWN },
	  DISPOSITION_VERIFY,
	  FINDING_SAFETY_UNKNOWN,
	  2,
	  FINDING_COUNT_ },
	{ "no statement",
	  { UNPARSED, .sql_errors = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_INVALID,
	  2,
	  FINDING_INVALID },
	{ "a relation that is not there",
	  { LEVEL(SCORE_HIGH), .unknown_table = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_UNKNOWN_TABLE,
	  2,
	  FINDING_COUNT_ },
	{ "another error for which a database refuses it",
	  { LEVEL(SCORE_HIGH), .sql_refused = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_SQL_REFUSED,
	  2,
	  FINDING_COUNT_ },
	{ "too slow",
	  { LEVEL(SCORE_HIGH), .result = RESULT_TIMED_OUT },
	  DISPOSITION_WITHHOLD,
	  FINDING_EXECUTION_TIMED_OUT,
	  2,
	  FINDING_EXECUTION_TIMED_OUT },
	{ "a target that is not configured",
	  { LEVEL(SCORE_HIGH), .target_missing = true, .target_unknown = true },
	  DISPOSITION_VERIFY,
	  FINDING_TARGET_UNKNOWN,
	  2,
	  FINDING_COUNT_ },
	{ "another error",
	  { LEVEL(SCORE_HIGH), .sql_errors = true },
	  DISPOSITION_VERIFY,
	  FINDING_SQL_ERROR,
	  2,
	  FINDING_COUNT_ },
	{ "the truth wants it rejected",
	  { LEVEL(SCORE_HIGH), .rejection_expected = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_REJECTION_EXPECTED,
	  2,
	  FINDING_REJECTION_EXPECTED },
	{ "failed beside its candidates",
	  { LEVEL(SCORE_VERY_LOW), .answer_failed = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_EXECUTION_FAILED,
	  2,
	  FINDING_EXECUTION_FAILED },
	{ "too slow, and so beside its candidates",
	  { LEVEL(SCORE_HIGH), .result = RESULT_TIMED_OUT, .answer_failed = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_EXECUTION_TIMED_OUT,
	  2,
	  FINDING_EXECUTION_TIMED_OUT },
	{ "a target that does not tell what candidates return",
	  { LEVEL(SCORE_HIGH), .agreement_missing = true },
	  DISPOSITION_VERIFY,
	  FINDING_TARGET_UNAVAILABLE,
	  2,
	  FINDING_COUNT_ },
	{ "failed",
	  { LEVEL(SCORE_HIGH), .result = RESULT_EXECUTION_FAILED, .truth_doubtful = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_EXECUTION_FAILED,
	  2,
	  FINDING_EXECUTION_FAILED },
	{ "wrong",
	  { LEVEL(SCORE_HIGH), .result = RESULT_COMPARED, .result_score = 0.49 },
	  DISPOSITION_WITHHOLD,
	  FINDING_RESULT_WRONG,
	  2,
	  FINDING_RESULT_WRONG },
	{ "wrong by a doubtful truth",
	  { LEVEL(SCORE_HIGH), .result = RESULT_COMPARED, .result_score = 0.49, .truth_doubtful = true },
	  DISPOSITION_VERIFY,
	  FINDING_RESULT_DIFFERS,
	  2,
	  FINDING_COUNT_ },
	{ "half right",
	  { LEVEL(SCORE_HIGH), .result = RESULT_COMPARED, .result_score = 0.5 },
	  DISPOSITION_VERIFY,
	  FINDING_RESULT_PARTLY_RIGHT,
	  2,
	  FINDING_COUNT_ },
	{ "right",
	  { LEVEL(SCORE_HIGH), .result = RESULT_COMPARED, .result_score = 1 },
	  DISPOSITION_USE,
	  FINDING_CONFIDENCE_HIGH,
	  1,
	  FINDING_COUNT_ },
	{ "right never raises",
	  { LEVEL(SCORE_LOW), .result = RESULT_COMPARED, .result_score = 1 },
	  DISPOSITION_VERIFY,
	  FINDING_CONFIDENCE_LOW,
	  1,
	  FINDING_COUNT_ },
	{ "a comparison that proves nothing",
	  { LEVEL(SCORE_HIGH), .result = RESULT_INCONCLUSIVE },
	  DISPOSITION_VERIFY,
	  FINDING_RESULT_INCONCLUSIVE,
	  2,
	  FINDING_COUNT_ },
	{ "a broken truth",
	  { LEVEL(SCORE_HIGH), .result = RESULT_TRUTH_FAILED },
	  DISPOSITION_VERIFY,
	  FINDING_GROUND_TRUTH_FAILED,
	  2,
	  FINDING_COUNT_ },
	{ "a target that is away",
	  { LEVEL(SCORE_HIGH), .result = RESULT_UNAVAILABLE },
	  DISPOSITION_VERIFY,
	  FINDING_TARGET_UNAVAILABLE,
	  2,
	  FINDING_COUNT_ },
	{ "a target that nothing is known of",
	  { LEVEL(SCORE_HIGH), .target_missing = true },
	  DISPOSITION_VERIFY,
	  FINDING_TARGET_UNAVAILABLE,
	  2,
	  FINDING_COUNT_ },
	{ "rejected",
	  { LEVEL(SCORE_HIGH), .relevance = SOME(29.9) },
	  DISPOSITION_WITHHOLD,
	  FINDING_JUDGE_REJECT,
	  2,
	  FINDING_JUDGE_REJECT },
	{ "warned of",
	  { LEVEL(SCORE_HIGH), .relevance = SOME(49.9) },
	  DISPOSITION_VERIFY,
	  FINDING_JUDGE_WARN,
	  2,
	  FINDING_COUNT_ },
	{ "accepted",
	  { LEVEL(SCORE_HIGH), .relevance = SOME(50) },
	  DISPOSITION_USE,
	  FINDING_CONFIDENCE_HIGH,
	  1,
	  FINDING_COUNT_ },
	{ "accepted below the advisories' bound",
	  { LEVEL(SCORE_HIGH), .relevance = SOME(60), .low_relevance_below = 61 },
	  DISPOSITION_VERIFY,
	  FINDING_JUDGE_LOW_RELEVANCE,
	  2,
	  FINDING_COUNT_ },
	{ "judged wrong",
	  { LEVEL(SCORE_HIGH), .correctness = SOME(0) },
	  DISPOSITION_WITHHOLD,
	  FINDING_JUDGE_INCORRECT,
	  2,
	  FINDING_JUDGE_INCORRECT },
	{ "judged wrong beside a right result",
	  { LEVEL(SCORE_HIGH), .correctness = SOME(0), .result = RESULT_COMPARED, .result_score = 1 },
	  DISPOSITION_VERIFY,
	  FINDING_JUDGE_DISAGREES,
	  2,
	  FINDING_COUNT_ },
	{ "judged half right",
	  { LEVEL(SCORE_HIGH), .correctness = SOME(0.5) },
	  DISPOSITION_VERIFY,
	  FINDING_JUDGE_PARTLY_CORRECT,
	  2,
	  FINDING_COUNT_ },
	{ "judged right",
	  { LEVEL(SCORE_HIGH), .correctness = SOME(1) },
	  DISPOSITION_USE,
	  FINDING_CONFIDENCE_HIGH,
	  1,
	  FINDING_COUNT_ },
	{ "weak retrieval",
	  { LEVEL(SCORE_HIGH), .retrieval_weak = true },
	  DISPOSITION_VERIFY,
	  FINDING_RETRIEVAL_WEAK,
	  2,
	  FINDING_COUNT_ },
	{ "moderate retrieval",
	  { LEVEL(SCORE_HIGH), .retrieval_moderate = true },
	  DISPOSITION_USE_WITH_CAUTION,
	  FINDING_RETRIEVAL_MODERATE,
	  2,
	  FINDING_COUNT_ },
	{ "moderate retrieval and confidence",
	  { LEVEL(SCORE_MEDIUM), .retrieval_moderate = true },
	  DISPOSITION_USE_WITH_CAUTION,
	  FINDING_CONFIDENCE_MEDIUM,
	  2,
	  FINDING_COUNT_ },
	{ "moderate retrieval raises nothing",
	  { LEVEL(SCORE_LOW), .retrieval_moderate = true },
	  DISPOSITION_VERIFY,
	  FINDING_CONFIDENCE_LOW,
	  2,
	  FINDING_COUNT_ },
	{ "not passed",
	  { LEVEL(SCORE_HIGH), .not_passed = true },
	  DISPOSITION_VERIFY,
	  FINDING_NOT_PASSED,
	  2,
	  FINDING_COUNT_ },
	{ "not passed, for a reason of its own",
	  { LEVEL(SCORE_HIGH), .not_passed = true, .safety = DISPOSITION_UNSAFE },
	  DISPOSITION_WITHHOLD,
	  FINDING_UNSAFE,
	  2,
	  FINDING_UNSAFE },
	{ "the gravest decides",
	  { LEVEL(SCORE_VERY_LOW), .relevance = SOME(20), .result = RESULT_EXECUTION_FAILED,
	    .retrieval_weak = true },
	  DISPOSITION_WITHHOLD,
	  FINDING_EXECUTION_FAILED,
	  4,
	  FINDING_EXECUTION_FAILED },
};

static void dispositions(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct disposition_input input = cases[i].input;
		struct disposition disposition;
		if (input.low_confidence_below == 0)
			input.low_confidence_below = 0.7;
		if (input.low_relevance_below == 0)
			input.low_relevance_below = 50;
		disposition_of(&input, &disposition);
		assert_case(cases[i].name, disposition.action, cases[i].action);
		assert_case(cases[i].name, disposition.findings[0], cases[i].decisive);
		assert_case(cases[i].name, disposition.count, cases[i].count);
		assert_case(cases[i].name, disposition_known_wrong(&input), cases[i].wrong);
	}
}

/* One of `count` values by the digits of `number`, which loses them. */
static size_t digit(size_t *number, size_t count)
{
	size_t value = *number % count;
	*number /= count;
	return value;
}

/* The input of that number; false when there are no more. */
static bool input_number(size_t number, struct disposition_input *ret_input)
{
	static const double scores[] = { 0, 0.3, 0.5, 0.95, 1 };
	static const opt_double_t relevances[] = { NONE, SOME(0), SOME(40), SOME(55), SOME(95) };
	static const opt_double_t verdicts[] = { NONE, SOME(0), SOME(0.5), SOME(1) };
	static const double confidences[] = { 0.2, 0.6, 0.8, 0.95 };
	size_t level = digit(&number, 5), retrieval = digit(&number, 3);
	*ret_input = (struct disposition_input){
		.low_confidence_below = 0.7,
		.low_relevance_below = digit(&number, 2) ? 50 : 60,
		.safety = (enum disposition_safety)digit(&number, 3),
		.valid = digit(&number, 2),
		.unknown_table = digit(&number, 2),
		.sql_errors = digit(&number, 2),
		.rejection_expected = digit(&number, 2),
		.target_missing = digit(&number, 2),
		.sql_refused = digit(&number, 2),
		.truth_doubtful = digit(&number, 2),
		.retrieval_weak = retrieval == 2,
		.retrieval_moderate = retrieval == 1,
		.not_passed = digit(&number, 2),
		.relevance = relevances[digit(&number, COUNT(relevances))],
		.correctness = verdicts[digit(&number, COUNT(verdicts))],
	};
	if (level < 4) {
		ret_input->level = (enum score_level)level;
		ret_input->confidence = opt_double(confidences[level]);
	}
	size_t result = digit(&number, 5 + COUNT(scores));
	static const enum disposition_result others[] = { RESULT_NOT_ASKED, RESULT_INCONCLUSIVE,
							  RESULT_EXECUTION_FAILED, RESULT_TRUTH_FAILED,
							  RESULT_UNAVAILABLE };
	ret_input->result = result < 5 ? others[result] : RESULT_COMPARED;
	ret_input->result_score = result < 5 ? 0 : scores[result - 5];
	return number == 0;
}

/* Over everything that can be known: the action is what the findings allow, those of less come first, the
 * level is among them and alone bounds from above, and USE takes a clean answer. */
static void all_that_can_be_known(void **state)
{
	struct disposition_input input;
	size_t number = 0;
	(void)state;
	for (; input_number(number, &input); number++) {
		struct disposition disposition;
		disposition_of(&input, &disposition);
		int most = input.confidence.set ? (int)input.level : 0;
		bool wrong = false, clean = true;
		assert_true(disposition.count > 0);
		assert_true((int)disposition.action <= most);
		for (size_t i = 0; i < disposition.count; i++) {
			enum disposition_action allowed = disposition_finding_action(disposition.findings[i]);
			assert_true(allowed >= disposition.action);
			assert_true(i == 0 ||
				    allowed >= disposition_finding_action(disposition.findings[i - 1]));
			wrong |= disposition_finding_wrong(disposition.findings[i]);
		}
		assert_int_equal(wrong, disposition_known_wrong(&input) != FINDING_COUNT_);
		if (wrong)
			assert_int_equal(disposition.action, DISPOSITION_WITHHOLD);
		clean = input.safety == DISPOSITION_SAFE && input.valid && !input.unknown_table &&
			!input.sql_errors && !input.sql_refused && !input.rejection_expected &&
			!input.target_missing && !input.retrieval_weak && !input.not_passed &&
			(input.result == RESULT_NOT_ASKED ||
			 (input.result == RESULT_COMPARED && input.result_score == 1)) &&
			!(input.relevance.set && input.relevance.value < input.low_relevance_below) &&
			!(input.correctness.set && input.correctness.value < 1);
		if (clean && input.retrieval_moderate && most == DISPOSITION_USE)
			assert_int_equal(disposition.action, DISPOSITION_USE_WITH_CAUTION);
		else if (clean)
			assert_int_equal(disposition.action, most);
		else
			assert_true(disposition.action <= DISPOSITION_VERIFY);
	}
	assert_true(number > 1000000);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(disposition_action_name(DISPOSITION_WITHHOLD), "WITHHOLD");
	assert_string_equal(disposition_action_name(DISPOSITION_USE_WITH_CAUTION), "USE_WITH_CAUTION");
	assert_string_equal(disposition_finding_code(FINDING_RESULT_WRONG), "result_wrong");
	for (unsigned i = 0; i < DISPOSITION_ACTION_COUNT_; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(disposition_action_text((enum disposition_action)i),
						disposition_action_text((enum disposition_action)k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dispositions),
		cmocka_unit_test(all_that_can_be_known),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
