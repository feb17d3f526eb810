#include "score/match.h"

struct match_truth match_truth(opt_double_t similarity)
{
	double value = similarity.set ? similarity.value : 1;
	if (value >= 0.90)
		return (struct match_truth){ SCORE_HIGH, 1.0 };
	if (value >= 0.75)
		return (struct match_truth){ SCORE_MEDIUM, 0.8 };
	return (struct match_truth){ SCORE_LOW, 0.5 };
}

bool match_performance_regressed(double generated_ms, double truth_ms, double factor, double floor_ms)
{
	return generated_ms > factor * truth_ms && generated_ms > floor_ms;
}
