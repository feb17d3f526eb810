#include "score/overall.h"

#include "score/number.h"

const char *overall_factor_name(enum overall_factor factor)
{
	static const char *const names[FACTOR_COUNT_] = {
		[FACTOR_TECHNICAL] = "technical", [FACTOR_ADVISORY] = "advisory",
		[FACTOR_RETRIEVAL] = "retrieval", [FACTOR_GENERATOR] = "generator",
		[FACTOR_AGREEMENT] = "agreement", [FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = "retrieval",
	};
	return names[factor];
}

void overall_score(const struct overall_input *input, struct overall_score *ret_score)
{
	struct overall_score score = { .confidence = OPT_NONE };
	bool alone = true;
	if (input->unsafe)
		score = (struct overall_score){ opt_double(0), SCORE_VERY_LOW, "safety" };
	for (size_t i = 0; i < input->factors_count && !input->unsafe; i++) {
		enum overall_factor factor = input->factors[i];
		opt_double_t value = input->values[factor];
		if (!score_is_finite(value))
			continue;
		alone &= factor == FACTOR_TECHNICAL;
		if (!score.confidence.set || score_clamp01(value.value) < score.confidence.value) {
			score.confidence = opt_double(score_clamp01(value.value));
			score.limiting_factor = overall_factor_name(factor);
		}
	}
	if (score.confidence.set)
		score.level = level_of(score.confidence.value, &input->thresholds);
	if (alone && score.level > input->technical_alone)
		score.level = input->technical_alone;
	*ret_score = score;
}
