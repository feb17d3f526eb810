/*
 * Retrieval confidence: is what was retrieved any good? 0..1. Pure; any thread; scratch memory from the
 * caller's arena.
 *
 * The score of a chunk is the first present of rerank, boosted and rrf; 0.0 is present, what is not finite is
 * not. Seven metrics of the ranking are brought to 0..1 and summed by weight:
 *
 *   top        best score                                        clamp01
 *   gap        best − second best; one chunk: 0                  clamp01(gap / 0.3)
 *   consensus  number of scores above 0.75                       share of the scored chunks
 *   agreement  Pearson's r of bm25 and dense                     (r + 1) / 2; undefined: 0.5
 *   spread     population standard deviation of the scores       max(0, 1 − sd / 0.2)
 *   graph      whether any graph boost is positive               1.0 or 0.5
 *   diversity  different documents / chunks                      1 − diversity
 *
 * 0.75, 0.3 and 0.2 are the defaults of the options.
 *
 * Ceilings that follow with the default weights and scores up to 1: one chunk reaches 0.675 (no gap, no
 * agreement, and it is its own only document, named or not); any ranking whose two best are equal reaches
 * 0.80 and so is never HIGH; two chunks stay below 0.880; any number of them below 0.967; without bm25 and
 * dense scores it is 0.075 less, without graph support 0.025 less.
 */
#pragma once

#include "common/arena.h"
#include "score/level.h"

/* Kinds of source; same numeric order as the records'. */
enum chunk_source {
	CHUNK_GOVERNMENT,
	CHUNK_REGULATORY,
	CHUNK_MARKET_DATA,
	CHUNK_THIRD_PARTY,
	CHUNK_UNKNOWN_SOURCE
};

struct retrieval_chunk {
	str_t document_id; /* or absent: then a document of its own */
	enum chunk_source source;
	opt_double_t bm25;
	opt_double_t dense;
	opt_double_t rrf;
	opt_double_t boosted;
	opt_double_t rerank;
	opt_double_t graph_boost;
};

enum retrieval_metric {
	RETRIEVAL_TOP,
	RETRIEVAL_GAP,
	RETRIEVAL_CONSENSUS,
	RETRIEVAL_AGREEMENT,
	RETRIEVAL_SPREAD,
	RETRIEVAL_GRAPH,
	RETRIEVAL_DIVERSITY,
	RETRIEVAL_METRIC_COUNT_
};

struct retrieval_options {
	double weights[RETRIEVAL_METRIC_COUNT_]; /* sum to 1 */
	struct level_thresholds thresholds;
	double rrf_scale;	/* for publishers of raw reciprocal ranks */
	double consensus_above; /* a score above it agrees that something was found */
	double gap_scale;	/* the gap that counts as a whole one; above 0, likewise below */
	double spread_scale;	/* the standard deviation that counts as the widest */
};

#define RETRIEVAL_OPTIONS_DEFAULT                                                                            \
	((struct retrieval_options){ .weights = { 0.30, 0.20, 0.15, 0.15, 0.10, 0.05, 0.05 },                \
				     .thresholds = LEVEL_THRESHOLDS_RETRIEVAL,                               \
				     .rrf_scale = 1.0,                                                       \
				     .consensus_above = 0.75,                                                \
				     .gap_scale = 0.3,                                                       \
				     .spread_scale = 0.2 })

enum retrieval_interpretation {
	RETRIEVAL_STRONG,
	RETRIEVAL_MODERATE,
	RETRIEVAL_WEAK,
	RETRIEVAL_POOR,
	RETRIEVAL_NO_RESULTS
};

/* Stable code, as records show it ("STRONG", …, "NO_RESULTS"), and what it means for a person. */
const char *retrieval_interpretation_name(enum retrieval_interpretation interpretation);
const char *retrieval_interpretation_text(enum retrieval_interpretation interpretation);

/* What it asks for, as far as the retrieval goes; static text. */
const char *retrieval_action_text(enum retrieval_interpretation interpretation);

/* Advice with a stable code; both texts are static. */
struct score_recommendation {
	const char *code;
	const char *text;
};

#define RETRIEVAL_RECOMMENDATIONS_MAX 4

struct retrieval_score {
	double confidence;
	enum score_level level;
	bool flagged; /* to be reviewed: below HIGH */
	size_t scored_count;
	double top_score;
	double score_gap;
	double score_spread;
	size_t consensus_count;
	opt_double_t bm25_dense_agreement; /* r */
	opt_double_t reranker_impact;	   /* 1 − Spearman's rho of rerank and rrf; not weighted */
	bool graph_support;
	double document_diversity;
	size_t non_finite_count; /* scores of any kind that were NaN or infinite */
	enum retrieval_interpretation interpretation;
	struct score_recommendation recommendations[RETRIEVAL_RECOMMENDATIONS_MAX];
	size_t recommendations_count;
};

/* By the formula above; chunks may come in any order. The arena is for what is needed on the way. */
void retrieval_score(const struct retrieval_chunk *chunks, size_t count,
		     const struct retrieval_options *options, struct arena *arena,
		     struct retrieval_score *ret_score);

/* The score of one chunk, or none. */
opt_double_t retrieval_chunk_score(const struct retrieval_chunk *chunk, double rrf_scale);
