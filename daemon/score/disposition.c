#include "score/disposition.h"

#include "score/evaluation.h"
#include "score/number.h"

/* A result from here on is partly right; a right one is 1. */
#define PARTLY_RIGHT_FROM 0.5

static const struct finding_info {
	const char *code;
	enum disposition_action action;
	bool wrong;
	const char *remedy;
} findings[FINDING_COUNT_] = {
#define DISPOSITION_FINDING(symbol, code, action, wrong, remedy)                                             \
	[FINDING_##symbol] = { code, DISPOSITION_##action, wrong, remedy },
#include "score/disposition.def"
#undef DISPOSITION_FINDING
};

const char *disposition_action_name(enum disposition_action action)
{
	static const char *const names[DISPOSITION_ACTION_COUNT_] = { "WITHHOLD", "VERIFY",
								      "USE_WITH_CAUTION", "USE" };
	return names[action];
}

const char *disposition_action_text(enum disposition_action action)
{
	static const char *const texts[DISPOSITION_ACTION_COUNT_] = {
		[DISPOSITION_WITHHOLD] = "do not use the answer; flag it for review",
		[DISPOSITION_VERIFY] = "take the answer as advice only; verification is required",
		[DISPOSITION_USE_WITH_CAUTION] = "use the answer with caution and verify it",
		[DISPOSITION_USE] = "use the answer directly and cite its sources",
	};
	return texts[action];
}

const char *disposition_finding_code(enum disposition_finding finding)
{
	return findings[finding].code;
}

enum disposition_action disposition_finding_action(enum disposition_finding finding)
{
	return findings[finding].action;
}

bool disposition_finding_wrong(enum disposition_finding finding)
{
	return findings[finding].wrong;
}

const char *disposition_finding_remedy(enum disposition_finding finding)
{
	return findings[finding].remedy;
}

static void find_in_sql(const struct disposition_input *input, bool found[FINDING_COUNT_])
{
	found[FINDING_UNSAFE] = input->safety == DISPOSITION_UNSAFE;
	found[FINDING_SAFETY_UNKNOWN] = input->safety == DISPOSITION_UNKNOWN;
	found[FINDING_INVALID] = !input->valid;
	found[FINDING_UNKNOWN_TABLE] = input->valid && input->unknown_table;
	found[FINDING_SQL_REFUSED] = input->valid && input->sql_refused;
	found[FINDING_SQL_ERROR] = input->valid && input->sql_errors;
	found[FINDING_REJECTION_EXPECTED] = input->rejection_expected;
}

static void find_in_result(const struct disposition_input *input, bool found[FINDING_COUNT_])
{
	bool compared = input->result == RESULT_COMPARED;
	bool wrong = compared && !(input->result_score >= PARTLY_RIGHT_FROM);
	found[FINDING_EXECUTION_FAILED] = input->result == RESULT_EXECUTION_FAILED ||
					  (input->answer_failed && input->result != RESULT_TIMED_OUT);
	found[FINDING_RESULT_WRONG] = wrong && !input->truth_doubtful;
	found[FINDING_RESULT_DIFFERS] = wrong && input->truth_doubtful;
	found[FINDING_RESULT_PARTLY_RIGHT] = compared && !wrong && input->result_score < 1;
	found[FINDING_RESULT_INCONCLUSIVE] = input->result == RESULT_INCONCLUSIVE;
	found[FINDING_GROUND_TRUTH_FAILED] = input->result == RESULT_TRUTH_FAILED;
	found[FINDING_EXECUTION_TIMED_OUT] = input->result == RESULT_TIMED_OUT;
	found[FINDING_TARGET_UNKNOWN] = input->target_missing && input->target_unknown;
	found[FINDING_TARGET_UNAVAILABLE] =
		(input->result == RESULT_UNAVAILABLE || input->target_missing || input->agreement_missing) &&
		!found[FINDING_TARGET_UNKNOWN];
}

static void find_in_verdicts(const struct disposition_input *input, bool found[FINDING_COUNT_])
{
	enum evaluation_decision decision = evaluation_decision(input->relevance);
	bool right = input->result == RESULT_COMPARED && input->result_score >= PARTLY_RIGHT_FROM;
	bool correctness = score_is_finite(input->correctness);
	bool incorrect = correctness && input->correctness.value < PARTLY_RIGHT_FROM;
	found[FINDING_JUDGE_REJECT] = decision == RELEVANCE_REJECT;
	found[FINDING_JUDGE_WARN] = decision == RELEVANCE_WARN;
	found[FINDING_JUDGE_LOW_RELEVANCE] =
		(decision == RELEVANCE_ACCEPT || decision == RELEVANCE_ACCEPT_HIGH) &&
		input->relevance.value < input->low_relevance_below;
	found[FINDING_JUDGE_INCORRECT] = incorrect && !right;
	found[FINDING_JUDGE_DISAGREES] = incorrect && right;
	found[FINDING_JUDGE_PARTLY_CORRECT] = correctness && !incorrect && input->correctness.value < 1;
}

static void find_in_confidence(const struct disposition_input *input, bool found[FINDING_COUNT_])
{
	bool known = score_is_finite(input->confidence);
	found[FINDING_CONFIDENCE_NONE] = !known;
	found[FINDING_CONFIDENCE_VERY_LOW] = known && input->level == SCORE_VERY_LOW;
	found[FINDING_CONFIDENCE_LOW] = known && input->level == SCORE_LOW;
	found[FINDING_CONFIDENCE_MEDIUM] = known && input->level == SCORE_MEDIUM;
	found[FINDING_CONFIDENCE_HIGH] = known && input->level == SCORE_HIGH;
	found[FINDING_CONFIDENCE_ADVISED] = known && input->level >= SCORE_MEDIUM &&
					    input->confidence.value < input->low_confidence_below;
	found[FINDING_RETRIEVAL_WEAK] = input->retrieval_weak;
	found[FINDING_RETRIEVAL_MODERATE] = input->retrieval_moderate;
}

static void find_all(const struct disposition_input *input, bool found[FINDING_COUNT_])
{
	find_in_sql(input, found);
	find_in_result(input, found);
	find_in_verdicts(input, found);
	find_in_confidence(input, found);
	found[FINDING_NOT_PASSED] = false;
}

enum disposition_finding disposition_known_wrong(const struct disposition_input *input)
{
	bool found[FINDING_COUNT_];
	find_all(input, found);
	unsigned i = 0;
	while (i < FINDING_COUNT_ && !(found[i] && findings[i].wrong))
		i++;
	return (enum disposition_finding)i;
}

void disposition_of(const struct disposition_input *input, struct disposition *ret_disposition)
{
	bool found[FINDING_COUNT_];
	find_all(input, found);
	found[FINDING_NOT_PASSED] = input->not_passed && disposition_known_wrong(input) == FINDING_COUNT_;
	ret_disposition->count = 0;
	for (unsigned action = 0; action < DISPOSITION_ACTION_COUNT_; action++)
		for (unsigned i = 0; i < FINDING_COUNT_; i++)
			if (found[i] && findings[i].action == (enum disposition_action)action)
				ret_disposition->findings[ret_disposition->count++] =
					(enum disposition_finding)i;
	/* one of confidence always applies */
	ret_disposition->action = findings[ret_disposition->findings[0]].action;
}

bool disposition_has(const struct disposition *disposition, enum disposition_finding finding)
{
	for (size_t i = 0; i < disposition->count; i++)
		if (disposition->findings[i] == finding)
			return true;
	return false;
}
