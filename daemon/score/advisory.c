#include "score/advisory.h"

#include "score/number.h"

static double retrieval_points(opt_double_t top)
{
	double t = top.value;
	if (!top.set || t <= 0)
		return 0;
	if (t >= 0.75)
		return 0.3 + 0.1 * score_clamp01((t - 0.75) / 0.25);
	if (t >= 0.5)
		return 0.2 + 0.1 * (t - 0.5) / 0.25;
	return 0.1 + 0.1 * t / 0.5;
}

static double source_points(enum chunk_source source)
{
	static const double points[] = {
		[CHUNK_GOVERNMENT] = 0.3,  [CHUNK_REGULATORY] = 0.25,	 [CHUNK_MARKET_DATA] = 0.2,
		[CHUNK_THIRD_PARTY] = 0.1, [CHUNK_UNKNOWN_SOURCE] = 0.0,
	};
	return points[source];
}

static double response_points(enum response_quality response)
{
	static const double points[] = {
		[RESPONSE_COMPLETE] = 0.3,
		[RESPONSE_OPTIONAL_MISSING] = 0.2,
		[RESPONSE_REQUIRED_MISSING] = 0.1,
		[RESPONSE_NOT_AN_OBJECT] = 0.0,
	};
	return points[response];
}

static opt_double_t top_score(const struct retrieval_chunk *chunks, size_t count, double rrf_scale)
{
	opt_double_t top = OPT_NONE;
	for (size_t i = 0; i < count; i++) {
		opt_double_t score = retrieval_chunk_score(&chunks[i], rrf_scale);
		if (score.set && (!top.set || score.value > top.value))
			top = score;
	}
	return top;
}

/* Mean of the sources' points by score. Weights are taken relative to the top score, so that their sum stays
 * finite; where no score is positive every chunk weighs the same. */
static double mean_source_points(const struct retrieval_chunk *chunks, size_t count, double rrf_scale,
				 opt_double_t top)
{
	double sum = 0, weights = 0;
	for (size_t i = 0; i < count; i++) {
		opt_double_t score = retrieval_chunk_score(&chunks[i], rrf_scale);
		if (!score.set)
			continue;
		double weight = top.value > 0 ? fmax(0, score.value) / top.value : 1;
		sum += weight * source_points(chunks[i].source);
		weights += weight;
	}
	return weights > 0 ? sum / weights : 0;
}

void advisory_score(const struct retrieval_chunk *chunks, size_t count, double rrf_scale,
		    enum response_quality response, const struct level_thresholds *thresholds,
		    struct advisory_score *ret_score)
{
	opt_double_t top = top_score(chunks, count, rrf_scale);
	struct advisory_score score = {
		.retrieval_quality = score_settle(retrieval_points(top)),
		.source_quality = score_settle(mean_source_points(chunks, count, rrf_scale, top)),
		.response_quality = response_points(response),
	};
	score.confidence =
		score_settle(score.retrieval_quality + score.source_quality + score.response_quality);
	score.level = level_of(score.confidence, thresholds);
	*ret_score = score;
}
