/*
 * Overall confidence: the smallest of the factors that an event has, and which one it is. An unsafe query has
 * 0, limited by "safety"; an event with none of the factors has neither confidence nor level. Where technical
 * is the only factor there is, the level is bounded: nothing is known then of what the query means. Pure; any
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
	FACTOR_RETRIEVAL_WITHOUT_ADVISORY, /* the same as retrieval, but missing where there is an advisory */
	FACTOR_COUNT_
};

struct overall_input {
	opt_double_t values[FACTOR_COUNT_]; /* 0..1 each (technical too); none: the event lacks it */
	const enum overall_factor *factors; /* the ones that count; of equal ones the first limits */
	size_t factors_count;
	bool unsafe;
	enum score_level technical_alone; /* the highest level where no other factor is there */
	struct level_thresholds thresholds;
};

struct overall_score {
	opt_double_t confidence;
	enum score_level level;	     /* only where the confidence is set */
	const char *limiting_factor; /* static text; NULL where the confidence is not set */
};

/* By the rules above. */
void overall_score(const struct overall_input *input, struct overall_score *ret_score);

/* "technical", "advisory", "retrieval" (with an advisory or without), "generator", "agreement". */
const char *overall_factor_name(enum overall_factor factor);
