#include "score/advisory.h"
#include "score/retrieval.h"

#include "tests/unit/score/close.h"

#define CHUNKS_MAX 6
#define DOC(name)                                                                                            \
	{                                                                                                    \
		(name), sizeof(name) - 1                                                                     \
	}
#define RERANK(x)  .rerank = SOME(x)
#define RRF(x)	   .rrf = SOME(x)
#define BOTH(x, y) .bm25 = SOME(x), .dense = SOME(y)
#define GRAPH(x)   .graph_boost = SOME(x)

static const struct {
	const char *name;
	struct retrieval_chunk chunks[CHUNKS_MAX];
	size_t count;
	double rrf_scale; /* 0: 1 */
	struct retrieval_score expected;
	const char *codes; /* of the recommendations */
} cases[] = {
	{ .name = "no chunks",
	  .expected = { .interpretation = RETRIEVAL_NO_RESULTS, .flagged = true },
	  .codes = "expand_query" },
	{ .name = "chunks without any score",
	  .chunks = { { .document_id = DOC("a") }, { .document_id = DOC("a") } },
	  .count = 2,
	  .expected = { .interpretation = RETRIEVAL_NO_RESULTS, .flagged = true, .document_diversity = 0.5 },
	  .codes = "expand_query" },
	{ .name = "one perfect chunk reaches the ceiling",
	  /* 0.30 + 0 + 0.15 + 0.075 + 0.10 + 0.05 + 0 */
	  .chunks = { { .document_id = DOC("a"), RERANK(1.0), GRAPH(0.2) } },
	  .count = 1,
	  .expected = { .confidence = 0.675,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 1,
			.top_score = 1,
			.consensus_count = 1,
			.graph_support = true,
			.document_diversity = 1,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results" },
	{ .name = "one perfect chunk of no document reaches the same",
	  .chunks = { { RERANK(1.0), GRAPH(0.2) } },
	  .count = 1,
	  .expected = { .confidence = 0.675,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 1,
			.top_score = 1,
			.consensus_count = 1,
			.graph_support = true,
			.document_diversity = 1,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results" },
	{ .name = "three chunks with everything",
	  /* 0.276 + 0.2·0.08/0.3 + 0.15 + 0.15 + 0.1·(1 − √0.0224/3/0.2) + 0.05 + 0.05/3; ranks differ by 1,
	     1, −2 */
	  .chunks = { { .document_id = DOC("b"), RERANK(0.80), RRF(0.6), BOTH(0.4, 0.5) },
		      { .document_id = DOC("a"), RERANK(0.92), RRF(0.5), BOTH(0.8, 0.9), GRAPH(0.1) },
		      { .document_id = DOC("a"), RERANK(0.84), RRF(0.4), BOTH(0.6, 0.7), GRAPH(0.0) } },
	  .count = 3,
	  .expected = { .confidence = 0.771055617422,
			.level = SCORE_MEDIUM,
			.flagged = true,
			.scored_count = 3,
			.top_score = 0.92,
			.score_gap = 0.08,
			.score_spread = 0.049888765157,
			.consensus_count = 3,
			.bm25_dense_agreement = SOME(1),
			.reranker_impact = SOME(1.5),
			.graph_support = true,
			.document_diversity = 2.0 / 3,
			.interpretation = RETRIEVAL_MODERATE },
	  .codes = "moderate_confidence" },
	{ .name = "the sum is exactly the bound of MEDIUM",
	  /* 0.30 + 0 + 0.15 + 0.075 + 0.10 + 0.05 + 0.025 = 0.70 */
	  .chunks = { { .document_id = DOC("a"), RERANK(1.0), GRAPH(0.2) },
		      { .document_id = DOC("a"), RERANK(1.0) } },
	  .count = 2,
	  .expected = { .confidence = 0.70,
			.level = SCORE_MEDIUM,
			.flagged = true,
			.scored_count = 2,
			.top_score = 1,
			.consensus_count = 2,
			.graph_support = true,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_MODERATE },
	  .codes = "moderate_confidence" },
	{ .name = "high",
	  /* 0.30 + 0.16 + 0.15 + 0.15 + 0.1·(1 − 0.12/0.2) + 0.05 + 0.025 */
	  .chunks = { { .document_id = DOC("a"), RERANK(1.0), BOTH(2, 3), GRAPH(1) },
		      { .document_id = DOC("a"), RERANK(0.76), BOTH(1, 1) } },
	  .count = 2,
	  .expected = { .confidence = 0.875,
			.level = SCORE_HIGH,
			.scored_count = 2,
			.top_score = 1,
			.score_gap = 0.24,
			.score_spread = 0.12,
			.consensus_count = 2,
			.bm25_dense_agreement = SOME(1),
			.graph_support = true,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_STRONG },
	  .codes = "" },
	{ .name = "constant scores, one exactly at the consensus bound does not count",
	  /* 0.225 + 0 + 0 + 0.075 + 0.10 + 0.025 + 0 */
	  .chunks = { { .document_id = DOC("a"), RERANK(0.75), BOTH(1, 1) },
		      { .document_id = DOC("b"), RERANK(0.75), BOTH(1, 2) },
		      { .document_id = DOC("c"), RERANK(0.75), BOTH(1, 3) } },
	  .count = 3,
	  .expected = { .confidence = 0.425,
			.flagged = true,
			.scored_count = 3,
			.top_score = 0.75,
			.document_diversity = 1,
			.interpretation = RETRIEVAL_POOR },
	  .codes = "expand_query scattered_sources" },
	{ .name = "zero is a score and outranks boosted and rrf",
	  /* 0 + 0 + 0 + 0.075 + 0.10 + 0.025 + 0 */
	  .chunks = { { .document_id = DOC("a"), RERANK(0.0), .boosted = SOME(0.9), RRF(0.8) } },
	  .count = 1,
	  .expected = { .confidence = 0.2,
			.flagged = true,
			.scored_count = 1,
			.document_diversity = 1,
			.interpretation = RETRIEVAL_POOR },
	  .codes = "expand_query" },
	{ .name = "a missing rerank falls to boosted, then to rrf; a chunk without any is not scored",
	  /* scores 0.9 0.6: 0.27 + 0.20 + 0.075 + 0.075 + 0.1·(1 − 0.15/0.2) + 0.025 + 0.05/3 */
	  .chunks = { { .document_id = DOC("a"), RRF(0.6) },
		      { .document_id = DOC("a"), .boosted = SOME(0.9), RRF(0.1) },
		      { .document_id = DOC("b") } },
	  .count = 3,
	  .expected = { .confidence = 0.686666666667,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 2,
			.top_score = 0.9,
			.score_gap = 0.3,
			.score_spread = 0.15,
			.consensus_count = 1,
			.document_diversity = 2.0 / 3,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results" },
	{ .name = "not-a-number and infinity are missing and counted",
	  /* scores 0.8 (boosted): 0.24 + 0 + 0.15 + 0.075 + 0.10 + 0.025 + 0 */
	  .chunks = { { .document_id = DOC("a"), RERANK(NAN), .boosted = SOME(0.8), BOTH(INFINITY, 1) },
		      { .document_id = DOC("b"), RERANK(-INFINITY), GRAPH(NAN), BOTH(1, 2) } },
	  .count = 2,
	  .expected = { .confidence = 0.59,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 1,
			.top_score = 0.8,
			.consensus_count = 1,
			.document_diversity = 1,
			.non_finite_count = 4,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results scattered_sources" },
	{ .name = "unnamed documents count one by one",
	  /* 0.24 + 0 + 0.15 + 0.075 + 0.1 + 0.025 + 0.05·(1 − 3/4) */
	  .chunks = { { RERANK(0.8) },
		      { RERANK(0.8) },
		      { .document_id = DOC("a"), RERANK(0.8) },
		      { .document_id = DOC("a"), RERANK(0.8) } },
	  .count = 4,
	  .expected = { .confidence = 0.6025,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 4,
			.top_score = 0.8,
			.consensus_count = 4,
			.document_diversity = 0.75,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results scattered_sources" },
	{ .name = "an empty name is a name",
	  .chunks = { { .document_id = DOC(""), RERANK(0.8) }, { .document_id = DOC(""), RERANK(0.8) } },
	  .count = 2,
	  /* 0.24 + 0 + 0.15 + 0.075 + 0.1 + 0.025 + 0.025 */
	  .expected = { .confidence = 0.615,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 2,
			.top_score = 0.8,
			.consensus_count = 2,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results" },
	{ .name = "negative scores",
	  /* −0.2 and −0.6: 0 + 0.2 + 0 + 0.075 + 0 + 0.025 + 0.025 */
	  .chunks = { { .document_id = DOC("a"), RERANK(-0.6) }, { .document_id = DOC("a"), RERANK(-0.2) } },
	  .count = 2,
	  .expected = { .confidence = 0.325,
			.flagged = true,
			.scored_count = 2,
			.top_score = -0.2,
			.score_gap = 0.4,
			.score_spread = 0.2,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_POOR },
	  .codes = "expand_query" },
	{ .name = "scores above one are clamped, not published so",
	  /* 0.30 + 0.20 + 0.15 + 0.075 + 0 + 0.025 + 0.025 */
	  .chunks = { { .document_id = DOC("a"), RERANK(7) }, { .document_id = DOC("a"), RERANK(3) } },
	  .count = 2,
	  .expected = { .confidence = 0.775,
			.level = SCORE_MEDIUM,
			.flagged = true,
			.scored_count = 2,
			.top_score = 7,
			.score_gap = 4,
			.score_spread = 2,
			.consensus_count = 2,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_MODERATE },
	  .codes = "moderate_confidence" },
	{ .name = "raw reciprocal ranks are scaled",
	  /* 1/61 and 1/62 by 61: 1 and 0.983870967742; gap 0.016129032258 */
	  .chunks = { { .document_id = DOC("a"), RRF(1.0 / 61) },
		      { .document_id = DOC("a"), RRF(1.0 / 62) } },
	  .count = 2,
	  .rrf_scale = 61,
	  /* 0.30 + 0.2·gap/0.3 + 0.15 + 0.075 + 0.1·(1 − gap/2/0.2) + 0.025 + 0.025 */
	  .expected = { .confidence = 0.681720430108,
			.level = SCORE_LOW,
			.flagged = true,
			.scored_count = 2,
			.top_score = 1,
			.score_gap = 0.016129032258,
			.score_spread = 0.008064516129,
			.consensus_count = 2,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_WEAK },
	  .codes = "review_results" },
	{ .name = "disagreement, scattered sources, graph without support",
	  /* r = −1: 0.12 + 0.2/3 + 0 + 0 + 0.1·(1 − 0.05/0.2) + 0.025 + 0; ranks equal: impact 0 */
	  .chunks = { { .document_id = DOC("a"), RERANK(0.4), RRF(0.2), BOTH(1, 2), GRAPH(0) },
		      { .document_id = DOC("b"), RERANK(0.3), RRF(0.1), BOTH(2, 1), GRAPH(-1) } },
	  .count = 2,
	  .expected = { .confidence = 0.286666666667,
			.flagged = true,
			.scored_count = 2,
			.top_score = 0.4,
			.score_gap = 0.1,
			.score_spread = 0.05,
			.bm25_dense_agreement = SOME(-1),
			.reranker_impact = SOME(0),
			.document_diversity = 1,
			.interpretation = RETRIEVAL_POOR },
	  .codes = "expand_query try_exact_match scattered_sources try_multi_hop" },
	{ .name = "extreme scores stay finite",
	  /* 0.30 + 0.20 + 0.075 + 0.075 + 0 + 0.025 + 0.025 */
	  .chunks = { { .document_id = DOC("a"), RERANK(1.7e308) },
		      { .document_id = DOC("a"), RERANK(-1.7e308) } },
	  .count = 2,
	  .expected = { .confidence = 0.70,
			.level = SCORE_MEDIUM,
			.flagged = true,
			.scored_count = 2,
			.top_score = 1.7e308,
			.score_gap = 1.7976931348623157e308,
			.score_spread = 1.7e308,
			.consensus_count = 1,
			.document_diversity = 0.5,
			.interpretation = RETRIEVAL_MODERATE },
	  .codes = "moderate_confidence" },
};

static void assert_codes(const char *name, const struct retrieval_score *score, const char *expected)
{
	char codes[256] = "";
	size_t len = 0;
	for (size_t i = 0; i < score->recommendations_count; i++) {
		len += (size_t)snprintf(codes + len, sizeof codes - len, "%s%s", i ? " " : "",
					score->recommendations[i].code);
		assert_true(strlen(score->recommendations[i].text) > 10);
	}
	if (strcmp(codes, expected) != 0)
		fail_msg("%s: recommendations \"%s\", not \"%s\"", name, codes, expected);
}

static void assert_score(const char *name, const struct retrieval_score *actual,
			 const struct retrieval_score *expected)
{
	assert_close(name, actual->confidence, expected->confidence);
	assert_case(name, actual->level, expected->level);
	assert_case(name, actual->flagged, expected->flagged);
	assert_case(name, actual->scored_count, expected->scored_count);
	assert_close(name, actual->top_score, expected->top_score);
	assert_close(name, actual->score_gap, expected->score_gap);
	assert_close(name, actual->score_spread, expected->score_spread);
	assert_case(name, actual->consensus_count, expected->consensus_count);
	assert_opt_close(name, actual->bm25_dense_agreement, expected->bm25_dense_agreement);
	assert_opt_close(name, actual->reranker_impact, expected->reranker_impact);
	assert_case(name, actual->graph_support, expected->graph_support);
	assert_close(name, actual->document_diversity, expected->document_diversity);
	assert_case(name, actual->non_finite_count, expected->non_finite_count);
	assert_case(name, actual->interpretation, expected->interpretation);
}

static void rankings(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct retrieval_options options = RETRIEVAL_OPTIONS_DEFAULT;
		struct retrieval_score score;
		if (cases[i].rrf_scale > 0)
			options.rrf_scale = cases[i].rrf_scale;
		retrieval_score(cases[i].chunks, cases[i].count, &options, arena, &score);
		assert_score(cases[i].name, &score, &cases[i].expected);
		assert_codes(cases[i].name, &score, cases[i].codes);
	}
}

static void scales_are_options(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct retrieval_chunk chunks[] = { { .document_id = DOC("a"), RERANK(0.9) },
						  { .document_id = DOC("a"), RERANK(0.6) } };
	struct retrieval_options options = RETRIEVAL_OPTIONS_DEFAULT;
	struct retrieval_score score;
	/* 0.27 + 0.2 + 0.15/2 + 0.075 + 0.1·(1 − 0.15/0.2) + 0.025 + 0.05/2 */
	retrieval_score(chunks, 2, &options, arena, &score);
	assert_close("defaults", score.confidence, 0.695);
	options.consensus_above = 0.5;
	options.gap_scale = 0.5;
	options.spread_scale = 0.3;
	/* 0.27 + 0.12 + 0.15 + 0.075 + 0.1·(1 − 0.15/0.3) + 0.025 + 0.05/2 */
	retrieval_score(chunks, 2, &options, arena, &score);
	assert_int_equal(score.consensus_count, 2);
	assert_close("others", score.confidence, 0.715);
}

static void levels_at_their_bounds(void **state)
{
	(void)state;
	static const struct {
		double top;
		enum score_level level;
		bool flagged;
		const char *codes;
	} bounds[] = {
		{ 0.85, SCORE_HIGH, false, "" },
		{ 0.849999999, SCORE_MEDIUM, true, "moderate_confidence" },
		{ 0.70, SCORE_MEDIUM, true, "moderate_confidence" },
		{ 0.699999999, SCORE_LOW, true, "review_results" },
		{ 0.50, SCORE_LOW, true, "review_results" },
		{ 0.499999999, SCORE_VERY_LOW, true, "expand_query" },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct retrieval_options options = RETRIEVAL_OPTIONS_DEFAULT;
	memset(options.weights, 0, sizeof options.weights);
	options.weights[RETRIEVAL_TOP] = 1;
	for (size_t i = 0; i < COUNT(bounds); i++) {
		struct retrieval_chunk chunks[] = { { .document_id = DOC("a"), RERANK(bounds[i].top) },
						    { .document_id = DOC("a"), RERANK(0) } };
		struct retrieval_score score;
		retrieval_score(chunks, COUNT(chunks), &options, arena, &score);
		assert_close("top alone", score.confidence, bounds[i].top);
		assert_case("level", score.level, bounds[i].level);
		assert_case("flagged", score.flagged, bounds[i].flagged);
		assert_codes("bound", &score, bounds[i].codes);
	}
}

static void no_results_even_with_zero_thresholds(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct retrieval_options options = RETRIEVAL_OPTIONS_DEFAULT;
	struct retrieval_score score;
	options.thresholds = (struct level_thresholds){ 0, 0, 0 };
	retrieval_score(NULL, 0, &options, arena, &score);
	assert_case("level", score.level, SCORE_VERY_LOW);
	assert_true(score.flagged);
}

/* A value of any kind that a publisher may send, from a small generator with a fixed seed. */
static opt_double_t any_score(uint64_t *seed)
{
	static const double odd[] = {
		0,	-0.0,	1,	  -1,	     1e308, -1e308, 1.7976931348623157e308,
		1e-300, 5e-324, INFINITY, -INFINITY, NAN,   0.75,   0.5
	};
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	uint64_t draw = *seed >> 33;
	if (draw % 4 == 0)
		return (opt_double_t)OPT_NONE;
	if (draw % 4 == 1)
		return opt_double(odd[draw / 4 % COUNT(odd)]);
	return opt_double((double)(draw / 4 % 1000) / 800);
}

static void assert_within(double value, double low, double high)
{
	if (!(value >= low && value <= high))
		fail_msg("%.17g is not within %g and %g", value, low, high);
}

static void any_ranking_gives_figures_in_range(void **state)
{
	(void)state;
	static const str_t documents[] = { { NULL, 0 }, DOC("a"), DOC("b") };
	uint64_t seed = 1;
	for (size_t round = 0; round < 20000; round++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct retrieval_chunk chunks[5];
		struct retrieval_score score;
		struct advisory_score advisory;
		size_t count = round % (COUNT(chunks) + 1);
		for (size_t i = 0; i < count; i++)
			chunks[i] = (struct retrieval_chunk){
				documents[(round + i) % 3], (enum chunk_source)(i % 5),
				any_score(&seed),	    any_score(&seed),
				any_score(&seed),	    any_score(&seed),
				any_score(&seed),	    any_score(&seed)
			};
		retrieval_score(chunks, count, &RETRIEVAL_OPTIONS_DEFAULT, arena, &score);
		assert_within(score.confidence, 0, 1);
		assert_within(score.score_gap, 0, 1.7976931348623157e308);
		assert_within(score.score_spread, 0, 1.7976931348623157e308);
		assert_true(isfinite(score.top_score));
		assert_within(score.document_diversity, 0, 1);
		assert_within(score.bm25_dense_agreement.set ? score.bm25_dense_agreement.value : 0, -1, 1);
		assert_within(score.reranker_impact.set ? score.reranker_impact.value : 0, 0, 2);
		assert_true(score.recommendations_count <= RETRIEVAL_RECOMMENDATIONS_MAX);
		advisory_score(chunks, count, 60, (enum response_quality)(round % 4),
			       &LEVEL_THRESHOLDS_ANSWER, &advisory);
		assert_within(advisory.confidence, 0, 1);
		assert_within(advisory.source_quality, 0, 0.3);
		assert_within(advisory.retrieval_quality, 0, 0.4);
	}
}

static void interpretations_have_names(void **state)
{
	(void)state;
	static const char *const names[] = { "STRONG", "MODERATE", "WEAK", "POOR", "NO_RESULTS" };
	for (size_t i = 0; i < COUNT(names); i++) {
		enum retrieval_interpretation interpretation = (enum retrieval_interpretation)i;
		assert_string_equal(retrieval_interpretation_name(interpretation), names[i]);
		assert_true(strlen(retrieval_interpretation_text(interpretation)) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rankings),
		cmocka_unit_test(scales_are_options),
		cmocka_unit_test(levels_at_their_bounds),
		cmocka_unit_test(no_results_even_with_zero_thresholds),
		cmocka_unit_test(any_ranking_gives_figures_in_range),
		cmocka_unit_test(interpretations_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
