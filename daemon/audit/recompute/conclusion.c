/* What all of it comes to: evaluation, label, disposition, recommendations. */
#include "audit/recompute/internal.h"
#include "score/agreement.h"
#include "score/evaluation.h"

/* ---- what is known ---- */

static enum disposition_result result_of(const struct record_result_validation *validation)
{
	static const struct {
		const char *status;
		enum disposition_result result;
	} results[] = {
		{ "EXECUTION_FAILED", RESULT_EXECUTION_FAILED },
		{ "TIMEOUT", RESULT_TIMED_OUT },
		{ "GROUND_TRUTH_FAILED", RESULT_TRUTH_FAILED },
		{ "UNAVAILABLE", RESULT_UNAVAILABLE },
	};
	if (!validation)
		return RESULT_NOT_ASKED;
	if (str_is(validation->status, "COMPARED"))
		return validation->conclusive ? RESULT_COMPARED : RESULT_INCONCLUSIVE;
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		if (str_is(validation->status, results[i].status))
			return results[i].result;
	return RESULT_NOT_ASKED;
}

static bool rejection_expected(const struct recompute *work)
{
	const struct record_grading *grading = work->scored->grading;
	if (work->input) {
		const struct ground_truth *truth = work->input->ground_truth;
		return truth && truth->should_pass.set && !truth->should_pass.value;
	}
	return grading && grading->validation &&
	       (str_is(grading->validation->classification, "CORRECT_REJECTION") ||
		str_is(grading->validation->classification, "FALSE_ACCEPTANCE"));
}

static void take_known(struct recompute *work)
{
	static const enum disposition_safety verdicts[] = { [VERDICT_SAFE] = DISPOSITION_SAFE,
							    [VERDICT_UNSAFE] = DISPOSITION_UNSAFE,
							    [VERDICT_UNKNOWN] = DISPOSITION_UNKNOWN };
	const struct scored_query *scored = work->scored;
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_result_validation *validation = scored->result_validation;
	bool by_probability = str_is(confidence->level_by, "probability") && confidence->probability;
	bool missing = work->has_target && !work->has_catalog;
	bool shared = confidence->agreement && confidence->agreement->results.set;
	str_t agreement_error = scored_query_agreement_error(scored);
	work->known = (struct disposition_input){
		.confidence =
			by_probability ? opt_double(confidence->probability->value) : confidence->overall,
		.level = confidence->level == ENUM_ABSENT ? SCORE_VERY_LOW
							  : (enum score_level)confidence->level,
		.low_confidence_below = work->rules->low_confidence_below,
		.retrieval_weak = confidence->retrieval && confidence->retrieval->level <= LEVEL_LOW,
		.retrieval_moderate = confidence->retrieval && confidence->retrieval->level == LEVEL_MEDIUM,
		.safety = verdicts[scored->safety.verdict],
		.valid = work->valid || !work->analysed,
		.unknown_table = work->unknown_table,
		.sql_refused = work->refused,
		.sql_errors = work->tolerated,
		.rejection_expected = rejection_expected(work),
		.target_missing = missing,
		.target_unknown = missing && (!work->analysed || work->target_unknown),
		.answer_failed = str_is(agreement_error, "answer_failed"),
		.agreement_missing = !shared && agreement_error_of_target(agreement_error),
		.result = result_of(validation),
		.result_score = validation ? validation->score : 0,
		.truth_doubtful = validation && validation->match_confidence == LEVEL_LOW,
		.relevance = work->relevance,
		.low_relevance_below = work->rules->low_relevance_below,
		.correctness = work->correctness,
	};
	if (confidence->level == ENUM_ABSENT)
		work->known.confidence = (opt_double_t)OPT_NONE;
	if (work->known.result == RESULT_NOT_ASKED && work->truth_unreadable)
		work->known.result = RESULT_TRUTH_FAILED;
}

/* ---- evaluation ---- */

static bool lacks_judges(const struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice =
			work->correctness.set ? judge->panel[i].correctness : judge->panel[i].relevance;
		if (voice && !str_is(voice->status, "ok"))
			return true;
	}
	return false;
}

static struct evaluation_value judge_value(const struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	opt_double_t judged = evaluation_judge(work->correctness, work->relevance);
	bool failed =
		(judge->relevance && !work->relevance.set) || (judge->correctness && !work->correctness.set);
	if (judged.set)
		return (struct evaluation_value){ lacks_judges(work) ? METRIC_UNCHECKED : METRIC_COMPUTED,
						  judged.value };
	return (struct evaluation_value){ failed ? METRIC_FAILED : METRIC_NOT_ASKED, 0 };
}

static void evaluate(const struct recompute *work, enum disposition_finding wrong,
		     struct evaluation_score *ret_score)
{
	const struct record_structure *structure = &work->scored->structure;
	const struct record_result_validation *validation = work->scored->result_validation;
	struct evaluation_input input = {
		.has_truth = recompute_has_truth(work),
		.has_target = work->has_target,
		.unsafe = work->scored->safety.verdict == VERDICT_UNSAFE,
		.result_factor = validation ? validation->weight : 1,
		.pass_score = work->rules->pass_score,
		.known_wrong = wrong != FINDING_COUNT_,
	};
	input.metrics[EVALUATION_STRUCTURAL] =
		(struct evaluation_value){ !work->analysed			    ? METRIC_FAILED
					   : work->has_target && !work->has_catalog ? METRIC_UNCHECKED
										    : METRIC_COMPUTED,
					   structure->structural };
	input.metrics[EVALUATION_SEMANTIC] =
		(struct evaluation_value){ work->truth_unreadable    ? METRIC_FAILED
					   : structure->semantic.set ? METRIC_COMPUTED
								     : METRIC_NOT_ASKED,
					   structure->semantic.value };
	input.metrics[EVALUATION_JUDGE] = judge_value(work);
	if (validation)
		input.metrics[EVALUATION_RESULT] =
			(struct evaluation_value){ validation->conclusive ? METRIC_COMPUTED : METRIC_FAILED,
						   validation->score };
	evaluation_score(&input, ret_score);
}

static opt_double_t weight_of(const struct record_evaluation *evaluation, const char *metric)
{
	for (size_t i = 0; i < evaluation->weights_count; i++)
		if (str_is(evaluation->weights[i].key, metric))
			return opt_double(evaluation->weights[i].value);
	return (opt_double_t)OPT_NONE;
}

static void check_weights(struct recompute *work, const struct record_evaluation *said,
			  const struct evaluation_score *follows)
{
	size_t count = 0;
	for (unsigned i = 0; i < EVALUATION_METRIC_COUNT_; i++) {
		opt_double_t weight = OPT_NONE;
		if (follows->weights[i] > 0)
			weight = opt_double(follows->weights[i]);
		count += weight.set;
		recompute_share(work, "evaluation.weights",
				weight_of(said, evaluation_metric_name((enum evaluation_metric)i)), weight);
	}
	recompute_integer(work, "evaluation.weights", (int64_t)said->weights_count, (int64_t)count);
}

static void check_evaluation(struct recompute *work, enum disposition_finding wrong)
{
	const struct record_evaluation *said = work->scored->evaluation;
	struct evaluation_score follows;
	str_t failed_by = STR_NONE;
	evaluate(work, wrong, &follows);
	if (!recompute_presence(work, "evaluation", said != NULL, follows.score.set))
		return;
	if (wrong != FINDING_COUNT_)
		failed_by = str_from(disposition_finding_code(wrong));
	else if (!follows.passed)
		failed_by = follows.below_pass_score ? STR("score") : STR("no_evidence");
	check_weights(work, said, &follows);
	recompute_number(work, "evaluation.score", said->score, follows.score.value);
	recompute_flag(work, "evaluation.degraded", said->degraded, follows.degraded);
	recompute_flag(work, "evaluation.passed", said->passed, follows.passed);
	recompute_text(work, "evaluation.failed_by", said->failed_by, failed_by);
}

/* ---- label ---- */

/* By the formulas before the second it weighed as what was asked. */
static bool is_identical(const struct recompute *work)
{
	const struct record_judge_score *correctness = work->scored->judge.correctness;
	return work->rules->formulas >= 2 && correctness && str_is(correctness->status, "identical");
}

static void check_label(struct recompute *work)
{
	static const char *const sources[] = { "FEEDBACK", "RESULT", "CORRECTNESS", "RELEVANCE" };
	const struct record_label *said = work->scored->label;
	const struct record_result_validation *validation = work->scored->result_validation;
	struct label_input input = { .correctness = work->correctness,
				     .relevance = work->relevance,
				     .sampling_probability = work->scored->judge.sampling_probability,
				     .identical = is_identical(work) };
	struct label follows;
	if (validation && validation->conclusive)
		input.result = opt_double(validation->score);
	bool labelled = !(validation && str_is(validation->status, "GROUND_TRUTH_FAILED")) &&
			evaluation_label(&input, &follows);
	if (!recompute_presence(work, "label", said != NULL, labelled))
		return;
	recompute_number(work, "label.value", said->value, follows.value);
	recompute_flag(work, "label.correct", said->correct, follows.correct);
	recompute_symbol(work, "label.source", said->source, (int)follows.origin, sources, 4);
	recompute_number(work, "label.weight", said->weight, follows.weight);
}

/* ---- disposition ---- */

static str_t code_at(const struct record_recommendation *items, size_t count, size_t index)
{
	return index < count ? items[index].code : STR_NONE;
}

static void check_disposition(struct recompute *work, const struct disposition *follows)
{
	static const char *const actions[] = { "WITHHOLD", "VERIFY", "USE_WITH_CAUTION", "USE" };
	const struct record_disposition *said = work->scored->disposition;
	recompute_symbol(work, "disposition.action", said->action, (int)follows->action, actions, 4);
	recompute_flag(work, "review_required", work->scored->review_required,
		       follows->action <= DISPOSITION_VERIFY);
	size_t most = said->reasons_count > follows->count ? said->reasons_count : follows->count;
	for (size_t i = 0; i < most; i++)
		recompute_text(work, "disposition.reasons", code_at(said->reasons, said->reasons_count, i),
			       i < follows->count ? str_from(disposition_finding_code(follows->findings[i]))
						  : STR_NONE);
}

static void check_recommendations(struct recompute *work, enum disposition_action action)
{
	const struct scored_query *scored = work->scored;
	const char *codes[RETRIEVAL_RECOMMENDATIONS_MAX + 2];
	size_t count = 0;
	if (scored->confidence.retrieval && !work->has_retrieval) {
		recompute_leave(work, RECOMPUTE_GAP_RECOMMENDATIONS);
		recompute_text(work, "recommendations",
			       code_at(scored->recommendations, scored->recommendations_count, 0),
			       str_from(disposition_action_name(action)));
		return;
	}
	codes[count++] = disposition_action_name(action);
	for (size_t i = 0; work->has_retrieval && i < work->retrieval.recommendations_count; i++)
		codes[count++] = work->retrieval.recommendations[i].code;
	if (scored->judge.decision == DECISION_REJECT || scored->judge.decision == DECISION_WARN)
		codes[count++] = scored->judge.decision == DECISION_REJECT ? "REJECT" : "WARN";
	size_t most = scored->recommendations_count > count ? scored->recommendations_count : count;
	for (size_t i = 0; i < most; i++)
		recompute_text(work, "recommendations",
			       code_at(scored->recommendations, scored->recommendations_count, i),
			       i < count ? str_from(codes[i]) : STR_NONE);
}

void recompute_conclusion(struct recompute *work)
{
	struct disposition disposition;
	take_known(work);
	enum disposition_finding wrong = disposition_known_wrong(&work->known);
	check_evaluation(work, wrong);
	check_label(work);
	work->known.not_passed = work->scored->evaluation && !work->scored->evaluation->passed;
	disposition_of(&work->known, &disposition);
	check_disposition(work, &disposition);
	check_recommendations(work, disposition.action);
}
