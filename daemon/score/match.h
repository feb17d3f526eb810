/*
 * How far a ground truth may be trusted for this question, and whether a query is too slow beside it. Pure;
 * any thread.
 */
#pragma once

#include "common/str.h"
#include "score/level.h"

struct match_truth {
	enum score_level level; /* SCORE_HIGH, SCORE_MEDIUM or SCORE_LOW */
	double factor;		/* of the result's weight: 1.0, 0.8 or 0.5 */
};

/* By the similarity of the truth's question: from 0.90 HIGH, from 0.75 MEDIUM, below LOW; absent: 1. */
struct match_truth match_truth(opt_double_t similarity);

/* Whether the generated query took more than `factor` times as long as the truth and more than `floor_ms`. */
bool match_performance_regressed(double generated_ms, double truth_ms, double factor, double floor_ms);
