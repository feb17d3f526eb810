/*
 * Overall confidence: the smallest of the factors that an event has, and which one it is. An unsafe query has
 * 0, limited by "safety"; an event with none of the factors has neither confidence nor level. Pure; any
 * thread.
 */
#pragma once

#include "common/str.h"
#include "score/level.h"

enum overall_factor {
	FACTOR_TECHNICAL,
	FACTOR_ADVISORY,
	FACTOR_RETRIEVAL,
	FACTOR_GENERATOR,
	FACTOR_AGREEMENT,
	FACTOR_COUNT_
};

struct overall_input {
	opt_double_t values[FACTOR_COUNT_]; /* 0..1 each (technical too); none: the event lacks it */
	const enum overall_factor *factors; /* the ones that count; of equal ones the first limits */
	size_t factors_count;
	bool unsafe;
	struct level_thresholds thresholds;
};

struct overall_score {
	opt_double_t confidence;
	enum score_level level;	     /* only where the confidence is set */
	const char *limiting_factor; /* static text; NULL where the confidence is not set */
};

/* By the rules above. */
void overall_score(const struct overall_input *input, struct overall_score *ret_score);

/* "technical", "advisory", "retrieval", "generator", "agreement". */
const char *overall_factor_name(enum overall_factor factor);
