#include "score/advisory.h"

#include "tests/unit/score/close.h"

#define CHUNKS_MAX 3
#define CHUNK(score, origin)                                                                                 \
	{                                                                                                    \
		.source = CHUNK_##origin, .rerank = SOME(score)                                              \
	}

static const struct {
	const char *name;
	struct retrieval_chunk chunks[CHUNKS_MAX];
	size_t count;
	enum response_quality response;
	double retrieval, source, reply, confidence;
	enum score_level level;
} cases[] = {
	{ "nothing", { { .rrf = NONE } }, 0, RESPONSE_NOT_AN_OBJECT, 0, 0, 0, 0, SCORE_VERY_LOW },
	{ "the best of all", { CHUNK(1.0, GOVERNMENT) }, 1, RESPONSE_COMPLETE, 0.4, 0.3, 0.3, 1, SCORE_HIGH },
	{ "exactly HIGH",
	  { CHUNK(1.0, GOVERNMENT) },
	  1,
	  RESPONSE_OPTIONAL_MISSING,
	  0.4,
	  0.3,
	  0.2,
	  0.9,
	  SCORE_HIGH },
	{ "exactly MEDIUM",
	  { CHUNK(0.75, THIRD_PARTY) },
	  1,
	  RESPONSE_COMPLETE,
	  0.3,
	  0.1,
	  0.3,
	  0.7,
	  SCORE_MEDIUM },
	{ "exactly LOW",
	  { CHUNK(0.5, THIRD_PARTY) },
	  1,
	  RESPONSE_OPTIONAL_MISSING,
	  0.2,
	  0.1,
	  0.2,
	  0.5,
	  SCORE_LOW },
	{ "required missing",
	  { CHUNK(0.625, REGULATORY) },
	  1,
	  RESPONSE_REQUIRED_MISSING,
	  0.25,
	  0.25,
	  0.1,
	  0.6,
	  SCORE_LOW },
	{ "not an object",
	  { CHUNK(0.875, MARKET_DATA) },
	  1,
	  RESPONSE_NOT_AN_OBJECT,
	  0.35,
	  0.2,
	  0,
	  0.55,
	  SCORE_LOW },
	{ "low top score",
	  { CHUNK(0.25, UNKNOWN_SOURCE) },
	  1,
	  RESPONSE_COMPLETE,
	  0.15,
	  0,
	  0.3,
	  0.45,
	  SCORE_VERY_LOW },
	{ "just below high",
	  { CHUNK(0.749999999, UNKNOWN_SOURCE) },
	  1,
	  RESPONSE_NOT_AN_OBJECT,
	  0.2999999996,
	  0,
	  0,
	  0.2999999996,
	  SCORE_VERY_LOW },
	{ "just below medium",
	  { CHUNK(0.499999999, UNKNOWN_SOURCE) },
	  1,
	  RESPONSE_NOT_AN_OBJECT,
	  0.1999999998,
	  0,
	  0,
	  0.1999999998,
	  SCORE_VERY_LOW },
	{ "zero is a score without quality",
	  { CHUNK(0.0, GOVERNMENT) },
	  1,
	  RESPONSE_COMPLETE,
	  0,
	  0.3,
	  0.3,
	  0.6,
	  SCORE_LOW },
	{ "above one", { CHUNK(12.0, GOVERNMENT) }, 1, RESPONSE_COMPLETE, 0.4, 0.3, 0.3, 1, SCORE_HIGH },
	/* 0.9·0.3 / (0.9 + 0.3) */
	{ "sources weighted by score",
	  { CHUNK(0.3, UNKNOWN_SOURCE), CHUNK(0.9, GOVERNMENT) },
	  2,
	  RESPONSE_NOT_AN_OBJECT,
	  0.36,
	  0.225,
	  0,
	  0.585,
	  SCORE_LOW },
	{ "a negative weight is none",
	  { CHUNK(-0.5, GOVERNMENT), CHUNK(0.5, THIRD_PARTY) },
	  2,
	  RESPONSE_NOT_AN_OBJECT,
	  0.2,
	  0.1,
	  0,
	  0.3,
	  SCORE_VERY_LOW },
	{ "all negative: plain mean",
	  { CHUNK(-1.0, GOVERNMENT), CHUNK(-2.0, THIRD_PARTY) },
	  2,
	  RESPONSE_NOT_AN_OBJECT,
	  0,
	  0.2,
	  0,
	  0.2,
	  SCORE_VERY_LOW },
	{ "all zero: plain mean",
	  { CHUNK(0.0, REGULATORY), CHUNK(0.0, THIRD_PARTY) },
	  2,
	  RESPONSE_NOT_AN_OBJECT,
	  0,
	  0.175,
	  0,
	  0.175,
	  SCORE_VERY_LOW },
	{ "unscored chunks do not count",
	  { { .source = CHUNK_GOVERNMENT }, CHUNK(0.75, THIRD_PARTY), CHUNK(NAN, GOVERNMENT) },
	  3,
	  RESPONSE_NOT_AN_OBJECT,
	  0.3,
	  0.1,
	  0,
	  0.4,
	  SCORE_VERY_LOW },
	{ "extreme scores",
	  { CHUNK(1.7e308, GOVERNMENT), CHUNK(1.7e308, THIRD_PARTY) },
	  2,
	  RESPONSE_NOT_AN_OBJECT,
	  0.4,
	  0.2,
	  0,
	  0.6,
	  SCORE_LOW },
};

static void scores(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct advisory_score score;
		advisory_score(cases[i].chunks, cases[i].count, 1.0, cases[i].response,
			       &LEVEL_THRESHOLDS_ANSWER, &score);
		assert_close(cases[i].name, score.retrieval_quality, cases[i].retrieval);
		assert_close(cases[i].name, score.source_quality, cases[i].source);
		assert_close(cases[i].name, score.response_quality, cases[i].reply);
		assert_close(cases[i].name, score.confidence, cases[i].confidence);
		assert_case(cases[i].name, score.level, cases[i].level);
	}
}

static void published_bounds_are_exact(void **state)
{
	(void)state;
	const struct retrieval_chunk chunk = CHUNK(1.0, GOVERNMENT);
	struct advisory_score score;
	advisory_score(&chunk, 1, 1.0, RESPONSE_OPTIONAL_MISSING, &LEVEL_THRESHOLDS_ANSWER, &score);
	assert_true(score.confidence >= 0.9); /* 0.4 + 0.3 + 0.2 falls short of it in plain doubles */
}

static void reciprocal_ranks_are_scaled(void **state)
{
	(void)state;
	const struct retrieval_chunk chunk = { .source = CHUNK_GOVERNMENT, .rrf = SOME(0.0125) };
	struct advisory_score score;
	advisory_score(&chunk, 1, 60, RESPONSE_COMPLETE, &LEVEL_THRESHOLDS_ANSWER, &score);
	assert_close("0.0125 · 60 = 0.75", score.retrieval_quality, 0.3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores),
		cmocka_unit_test(published_bounds_are_exact),
		cmocka_unit_test(reciprocal_ranks_are_scaled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
