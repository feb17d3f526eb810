#include "score/retrieval.h"

#include "score/correlation.h"
#include "score/number.h"

#include <float.h>

#define WEAK_AGREEMENT	      0.5
#define SCATTERED_DIVERSITY   0.7
#define NEUTRAL_AGREEMENT     0.5
#define WITHOUT_GRAPH_SUPPORT 0.5

static const struct {
	const char *name;
	const char *text;
	const char *action;
} interpretations[] = {
	[RETRIEVAL_STRONG] = { "STRONG", "strong retrieval", "safe for automated response" },
	[RETRIEVAL_MODERATE] = { "MODERATE", "moderate retrieval", "review recommended" },
	[RETRIEVAL_WEAK] = { "WEAK", "weak retrieval", "mandatory review" },
	[RETRIEVAL_POOR] = { "POOR", "poor retrieval", "expert review required" },
	[RETRIEVAL_NO_RESULTS] = { "NO_RESULTS", "nothing with a score was retrieved",
				   "expert review required" },
};

const char *retrieval_interpretation_name(enum retrieval_interpretation interpretation)
{
	return interpretations[interpretation].name;
}

const char *retrieval_interpretation_text(enum retrieval_interpretation interpretation)
{
	return interpretations[interpretation].text;
}

const char *retrieval_action_text(enum retrieval_interpretation interpretation)
{
	return interpretations[interpretation].action;
}

static opt_double_t scaled_rrf(const struct retrieval_chunk *chunk, double rrf_scale)
{
	return (opt_double_t){ chunk->rrf.set, chunk->rrf.value * rrf_scale };
}

opt_double_t retrieval_chunk_score(const struct retrieval_chunk *chunk, double rrf_scale)
{
	const opt_double_t candidates[] = { chunk->rerank, chunk->boosted, scaled_rrf(chunk, rrf_scale) };
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		if (score_is_finite(candidates[i]))
			return candidates[i];
	}
	return (opt_double_t)OPT_NONE;
}

static size_t count_non_finite(const struct retrieval_chunk *chunks, size_t count, double rrf_scale)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		const opt_double_t scores[] = {
			chunks[i].bm25,	   chunks[i].dense,  scaled_rrf(&chunks[i], rrf_scale),
			chunks[i].boosted, chunks[i].rerank, chunks[i].graph_boost,
		};
		for (size_t k = 0; k < sizeof scores / sizeof *scores; k++)
			found += scores[k].set && !isfinite(scores[k].value);
	}
	return found;
}

static int descending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left < right) - (left > right);
}

/* What follows from the sorted scores alone. */
static void measure_scores(const struct retrieval_chunk *chunks, size_t count,
			   const struct retrieval_options *options, struct arena *arena,
			   struct retrieval_score *score)
{
	double *scores = ARENA_ARRAY(arena, double, count);
	size_t scored = 0;
	for (size_t i = 0; i < count; i++) {
		opt_double_t value = retrieval_chunk_score(&chunks[i], options->rrf_scale);
		if (value.set)
			scores[scored++] = value.value;
	}
	score->scored_count = scored;
	if (scored == 0)
		return;
	qsort(scores, scored, sizeof *scores, descending);
	score->top_score = scores[0];
	score->score_gap = scored > 1 ? fmin(scores[0] - scores[1], DBL_MAX) : 0;
	score->score_spread = correlation_standard_deviation(scores, scored, arena);
	while (score->consensus_count < scored && scores[score->consensus_count] > options->consensus_above)
		score->consensus_count++;
}

static int by_document(const void *a, const void *b)
{
	const str_t *left = a, *right = b;
	size_t shorter = left->len < right->len ? left->len : right->len;
	int order = memcmp(left->ptr, right->ptr, shorter);
	return order ? order : (left->len > right->len) - (left->len < right->len);
}

static double diversity(const struct retrieval_chunk *chunks, size_t count, struct arena *arena)
{
	if (count == 0)
		return 0;
	str_t *named = ARENA_ARRAY(arena, str_t, count);
	size_t named_count = 0, unique = 0;
	for (size_t i = 0; i < count; i++) {
		if (str_present(chunks[i].document_id))
			named[named_count++] = chunks[i].document_id;
		else
			unique++;
	}
	qsort(named, named_count, sizeof *named, by_document);
	for (size_t i = 0; i < named_count; i++)
		unique += i == 0 || !str_equal(named[i - 1], named[i]);
	return (double)unique / (double)count;
}

typedef opt_double_t correlation_fn(const double *x, const double *y, size_t count, struct arena *arena);

/* Correlates two scores, given by their offsets in the chunk, over the chunks that have both. */
static opt_double_t correlate(correlation_fn *correlation, const struct retrieval_chunk *chunks, size_t count,
			      size_t offset_x, size_t offset_y, struct arena *arena)
{
	double *x = ARENA_ARRAY(arena, double, count);
	double *y = ARENA_ARRAY(arena, double, count);
	size_t pairs = 0;
	for (size_t i = 0; i < count; i++) {
		const char *chunk = (const char *)&chunks[i];
		opt_double_t a = *(const opt_double_t *)(const void *)(chunk + offset_x);
		opt_double_t b = *(const opt_double_t *)(const void *)(chunk + offset_y);
		if (!score_is_finite(a) || !score_is_finite(b))
			continue;
		x[pairs] = a.value;
		y[pairs++] = b.value;
	}
	return correlation(x, y, pairs, arena);
}

static bool graph_support(const struct retrieval_chunk *chunks, size_t count, bool *ret_any_graph)
{
	bool any = false, positive = false;
	for (size_t i = 0; i < count; i++) {
		any = any || score_is_finite(chunks[i].graph_boost);
		positive = positive ||
			   (score_is_finite(chunks[i].graph_boost) && chunks[i].graph_boost.value > 0);
	}
	*ret_any_graph = any;
	return positive;
}

static double weigh(const struct retrieval_score *score, const struct retrieval_options *options)
{
	opt_double_t r = score->bm25_dense_agreement;
	const double normalised[RETRIEVAL_METRIC_COUNT_] = {
		[RETRIEVAL_TOP] = score_clamp01(score->top_score),
		[RETRIEVAL_GAP] = score_clamp01(score->score_gap / options->gap_scale),
		[RETRIEVAL_CONSENSUS] = (double)score->consensus_count / (double)score->scored_count,
		[RETRIEVAL_AGREEMENT] = r.set ? (r.value + 1) / 2 : NEUTRAL_AGREEMENT,
		[RETRIEVAL_SPREAD] = fmax(0, 1 - score->score_spread / options->spread_scale),
		[RETRIEVAL_GRAPH] = score->graph_support ? 1.0 : WITHOUT_GRAPH_SUPPORT,
		[RETRIEVAL_DIVERSITY] = 1 - score->document_diversity,
	};
	double sum = 0;
	for (size_t i = 0; i < RETRIEVAL_METRIC_COUNT_; i++)
		sum += options->weights[i] * normalised[i];
	return score_settle(score_clamp01(sum));
}

static void recommend(struct retrieval_score *score, const char *code, const char *text)
{
	score->recommendations[score->recommendations_count++] = (struct score_recommendation){ code, text };
}

static void advise(struct retrieval_score *score, size_t count, const struct level_thresholds *thresholds,
		   bool any_graph)
{
	if (score->confidence < thresholds->low)
		recommend(score, "expand_query", "expand the query: what was found is poor");
	else if (score->confidence < thresholds->medium)
		recommend(score, "review_results", "review what was retrieved before using it");
	else if (score->confidence < thresholds->high)
		recommend(score, "moderate_confidence", "the retrieval is moderate: check what matters most");
	if (score->bm25_dense_agreement.set && score->bm25_dense_agreement.value < WEAK_AGREEMENT &&
	    score->confidence < thresholds->medium)
		recommend(score, "try_exact_match",
			  "keyword and vector search disagree: try an exact match of the terms");
	if (count > 1 && score->document_diversity > SCATTERED_DIVERSITY) /* one is not scattered */
		recommend(score, "scattered_sources", "the chunks are scattered over many documents");
	if (any_graph && !score->graph_support)
		recommend(score, "try_multi_hop",
			  "no chunk is supported by the graph: try a multi-hop search");
}

static enum retrieval_interpretation interpret(const struct retrieval_score *score)
{
	if (score->scored_count == 0)
		return RETRIEVAL_NO_RESULTS;
	switch (score->level) {
	case SCORE_HIGH:
		return RETRIEVAL_STRONG;
	case SCORE_MEDIUM:
		return RETRIEVAL_MODERATE;
	case SCORE_LOW:
		return RETRIEVAL_WEAK;
	case SCORE_VERY_LOW:
		break;
	}
	return RETRIEVAL_POOR;
}

void retrieval_score(const struct retrieval_chunk *chunks, size_t count,
		     const struct retrieval_options *options, struct arena *arena,
		     struct retrieval_score *ret_score)
{
	bool any_graph;
	struct retrieval_score score = { 0 };
	measure_scores(chunks, count, options, arena, &score);
	score.bm25_dense_agreement =
		correlate(correlation_pearson, chunks, count, offsetof(struct retrieval_chunk, bm25),
			  offsetof(struct retrieval_chunk, dense), arena);
	opt_double_t rho =
		correlate(correlation_spearman, chunks, count, offsetof(struct retrieval_chunk, rerank),
			  offsetof(struct retrieval_chunk, rrf), arena);
	if (rho.set)
		score.reranker_impact = opt_double(1 - rho.value);
	score.graph_support = graph_support(chunks, count, &any_graph);
	score.document_diversity = diversity(chunks, count, arena);
	score.non_finite_count = count_non_finite(chunks, count, options->rrf_scale);
	score.confidence = score.scored_count ? weigh(&score, options) : 0;
	score.level = score.scored_count ? level_of(score.confidence, &options->thresholds) : SCORE_VERY_LOW;
	score.flagged = score.level != SCORE_HIGH;
	score.interpretation = interpret(&score);
	advise(&score, count, &options->thresholds, any_graph);
	*ret_score = score;
}
