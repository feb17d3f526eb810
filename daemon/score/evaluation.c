#include "score/evaluation.h"

#include "score/number.h"

#define DEFAULT_PASS_SCORE 0.7
#define CORRECT_FROM	   0.5

const char *evaluation_metric_name(enum evaluation_metric metric)
{
	static const char *const names[EVALUATION_METRIC_COUNT_] = {
		[EVALUATION_STRUCTURAL] = "structural",
		[EVALUATION_SEMANTIC] = "semantic",
		[EVALUATION_JUDGE] = "judge",
		[EVALUATION_RESULT] = "result",
	};
	return names[metric];
}

static const double *base_weights(const struct evaluation_input *input)
{
	static const double with_target[EVALUATION_METRIC_COUNT_] = { 0.40, 0.15, 0.15, 0.30 };
	static const double with_truth[EVALUATION_METRIC_COUNT_] = { 0.60, 0.10, 0.30, 0 };
	static const double without_truth[EVALUATION_METRIC_COUNT_] = { 0.60, 0, 0.30, 0 };
	if (!input->has_truth)
		return without_truth;
	return input->has_target ? with_target : with_truth;
}

static struct evaluation_value metric_value(const struct evaluation_input *input,
					    enum evaluation_metric metric)
{
	if (metric == EVALUATION_RESULT && input->unsafe)
		return (struct evaluation_value){ METRIC_COMPUTED, 0 };
	return input->metrics[metric];
}

/* Whether anything but the structure was computed: a well formed query alone is not evaluated. */
static bool is_evaluated(const double weights[EVALUATION_METRIC_COUNT_])
{
	return weights[EVALUATION_SEMANTIC] > 0 || weights[EVALUATION_JUDGE] > 0 ||
	       weights[EVALUATION_RESULT] > 0;
}

/* Whether anything that tells right from wrong was computed. Where a result was asked for, a likeness of
 * texts does not stand in for it. */
static bool has_evidence(const struct evaluation_input *input)
{
	enum metric_state judged = input->metrics[EVALUATION_JUDGE].state;
	return judged == METRIC_COMPUTED || judged == METRIC_UNCHECKED ||
	       input->metrics[EVALUATION_RESULT].state != METRIC_FAILED;
}

void evaluation_score(const struct evaluation_input *input, struct evaluation_score *ret_score)
{
	const double *base = base_weights(input);
	struct evaluation_score score = { .score = OPT_NONE };
	double sum = 0, total = 0;
	for (size_t i = 0; i < EVALUATION_METRIC_COUNT_; i++) {
		struct evaluation_value metric = metric_value(input, (enum evaluation_metric)i);
		if (base[i] == 0)
			continue;
		score.degraded |= metric.state == METRIC_FAILED || metric.state == METRIC_UNCHECKED;
		if (metric.state != METRIC_COMPUTED && metric.state != METRIC_UNCHECKED)
			continue;
		score.weights[i] =
			score_settle(i == EVALUATION_RESULT ? base[i] * input->result_factor : base[i]);
		sum += score.weights[i] * score_clamp01(metric.value);
		total += score.weights[i];
	}
	if (is_evaluated(score.weights)) {
		double pass_score = input->pass_score > 0 ? input->pass_score : DEFAULT_PASS_SCORE;
		score.score = opt_double(score_settle(sum / total));
		score.below_pass_score = score.score.value < pass_score;
		score.passed = !input->unsafe && !input->known_wrong && !score.below_pass_score &&
			       has_evidence(input);
	}
	*ret_score = score;
}

opt_double_t evaluation_judge(opt_double_t correctness, opt_double_t relevance)
{
	if (correctness.set || !relevance.set)
		return correctness;
	return opt_double(relevance.value / 100);
}

enum evaluation_decision evaluation_decision(opt_double_t relevance)
{
	if (!score_is_finite(relevance))
		return RELEVANCE_UNJUDGED;
	if (relevance.value < 30)
		return RELEVANCE_REJECT;
	if (relevance.value < 50)
		return RELEVANCE_WARN;
	return relevance.value < 80 ? RELEVANCE_ACCEPT : RELEVANCE_ACCEPT_HIGH;
}

const char *evaluation_decision_text(enum evaluation_decision decision)
{
	switch (decision) {
	case RELEVANCE_REJECT:
		return "the data asked for does not exist in the database";
	case RELEVANCE_WARN:
		return "the query is of low quality for this question";
	case RELEVANCE_ACCEPT:
		return "the query is acceptable for this question";
	case RELEVANCE_ACCEPT_HIGH:
		return "the query answers the question";
	case RELEVANCE_UNJUDGED:
		break;
	}
	return "the query was not judged";
}

static double judge_weight(double sampling_probability)
{
	return sampling_probability > 0 && sampling_probability < 1 ? 1 / sampling_probability : 1;
}

bool evaluation_label(const struct label_input *input, struct label *ret_label)
{
	double asked = judge_weight(input->sampling_probability);
	const struct {
		opt_double_t value;
		double full_scale;
		double weight;
	} candidates[] = {
		[ORIGIN_FEEDBACK] = { input->feedback, 1, 1 },
		[ORIGIN_RESULT] = { input->result, 1, 1 },
		[ORIGIN_CORRECTNESS] = { input->correctness, 1, input->identical ? 1 : asked },
		[ORIGIN_RELEVANCE] = { input->relevance, 100, asked },
	};
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		if (!score_is_finite(candidates[i].value))
			continue;
		double value = score_clamp01(candidates[i].value.value / candidates[i].full_scale);
		*ret_label = (struct label){ value, value >= CORRECT_FROM, (enum label_origin)i,
					     candidates[i].weight };
		return true;
	}
	return false;
}
