/*
 * Advisory confidence: may the answer be used? 0..1, the plain sum of three factors in points. Pure; any
 * thread.
 *
 *   retrieval  0..0.4 by the top score t: from 0.75 on 0.3 + 0.1·clamp01((t − 0.75) / 0.25); from 0.5 on
 *              0.2 + 0.1·(t − 0.5) / 0.25; above 0 0.1 + 0.1·t / 0.5; else 0
 *   source     0..0.3: government 0.3, regulatory 0.25, market data 0.2, third party 0.1, unknown 0; the
 *              mean over the scored chunks, weighted by their scores
 *
 *   response   0..0.3: see enum response_quality
 */
#pragma once

#include "score/retrieval.h"

/* What the model's raw reply turned out to be. */
enum response_quality {
	RESPONSE_COMPLETE,	   /* a JSON object with all fields: 0.3 */
	RESPONSE_OPTIONAL_MISSING, /* 0.2 */
	RESPONSE_REQUIRED_MISSING, /* 0.1 */
	RESPONSE_NOT_AN_OBJECT	   /* 0 */
};

struct advisory_score {
	double confidence;
	enum score_level level;
	double retrieval_quality; /* points */
	double source_quality;
	double response_quality;
};

/* `rrf_scale` as in retrieval.h. */
void advisory_score(const struct retrieval_chunk *chunks, size_t count, double rrf_scale,
		    enum response_quality response, const struct level_thresholds *thresholds,
		    struct advisory_score *ret_score);
