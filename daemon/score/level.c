#include "score/level.h"

enum score_level level_of(double score, const struct level_thresholds *thresholds)
{
	if (score >= thresholds->high)
		return SCORE_HIGH;
	if (score >= thresholds->medium)
		return SCORE_MEDIUM;
	return score >= thresholds->low ? SCORE_LOW : SCORE_VERY_LOW;
}

enum score_level level_of_estimate(double value, double lower_end, const struct level_thresholds *thresholds)
{
	enum score_level level = level_of(value, thresholds);
	return level == SCORE_HIGH && !(lower_end >= LEVEL_HIGH_LOWER_END) ? SCORE_MEDIUM : level;
}
