/* Technical, retrieval and advisory confidence, the generator's estimate, agreement. */
#include "audit/recompute/internal.h"
#include "common/err.h"
#include "event/chunks.h"
#include "event/response.h"
#include "score/advisory.h"
#include "score/agreement.h"
#include "score/number.h"
#include "score/technical.h"

#include <math.h>

/* ---- technical ---- */

static opt_double_t upstream_score(const struct upstream_diagnostic *diagnostic, bool shown)
{
	if (!diagnostic)
		return (opt_double_t)OPT_NONE;
	struct technical_findings findings = { .valid = diagnostic->valid,
					       .errors = diagnostic->errors_count,
					       .warnings = diagnostic->warnings_count };
	for (size_t i = 0; i < diagnostic->errors_count && shown; i++)
		findings.unknown_table |= technical_text_is_unknown_table(diagnostic->errors[i]);
	return opt_double(technical_score(&findings));
}

/* What the record says counts where it may follow. With the texts hidden, an error may be one of a table that
 * is not there. */
static opt_double_t check_upstream(struct recompute *work, const struct record_technical *technical)
{
	static const char field[] = "confidence.technical.upstream";
	if (!work->input) {
		recompute_leave(work, RECOMPUTE_GAP_UPSTREAM);
		if (technical->upstream.set)
			recompute_range(work, field, technical->upstream.value, 0, 100);
		return technical->upstream;
	}
	const struct upstream_diagnostic *diagnostic = work->input->diagnostic;
	opt_double_t follows = upstream_score(diagnostic, work->shown);
	if (!work->shown && diagnostic && diagnostic->valid && diagnostic->errors_count > 0) {
		recompute_leave(work, RECOMPUTE_GAP_UPSTREAM);
		if (technical->upstream.set && technical->upstream.value == 0)
			return technical->upstream;
	}
	recompute_share(work, field, technical->upstream, follows);
	return follows;
}

static void check_technical(struct recompute *work)
{
	const struct record_technical *technical = work->scored->confidence.technical;
	const struct technical_findings findings = { work->read.valid, work->read.unknown_table,
						     work->read.errors, work->read.warnings };
	enum technical_source source = (enum technical_source)work->rules->diagnostic_source;
	opt_double_t own = OPT_NONE, upstream = OPT_NONE;
	if (work->read.analysed && (work->read.has_catalog || !work->read.has_target))
		own = opt_double(technical_score(&findings));
	if (technical)
		upstream = check_upstream(work, technical);
	else if (work->input)
		upstream = upstream_score(work->input->diagnostic, work->shown);
	else if (source != TECHNICAL_OWN)
		recompute_leave(work, RECOMPUTE_GAP_TECHNICAL);
	opt_double_t follows = technical_choose(source, own, upstream);
	if (recompute_presence(work, "confidence.technical", technical != NULL, follows.set))
		recompute_number(work, "confidence.technical.score", technical->score, follows.value);
}

/* ---- retrieval ---- */

static struct level_thresholds thresholds_of(const struct record_bounds *bounds)
{
	return (struct level_thresholds){ bounds->high, bounds->medium, bounds->low };
}

static struct retrieval_options options_of(const struct record_retrieval_rules *rules)
{
	if (!rules)
		return RETRIEVAL_OPTIONS_DEFAULT;
	const struct record_retrieval_weights *weights = &rules->weights;
	return (struct retrieval_options){
		.weights = { [RETRIEVAL_TOP] = weights->top,
			     [RETRIEVAL_GAP] = weights->gap,
			     [RETRIEVAL_CONSENSUS] = weights->consensus,
			     [RETRIEVAL_AGREEMENT] = weights->agreement,
			     [RETRIEVAL_SPREAD] = weights->low_spread,
			     [RETRIEVAL_GRAPH] = weights->graph,
			     [RETRIEVAL_DIVERSITY] = weights->low_diversity },
		.thresholds = thresholds_of(&rules->thresholds),
		.rrf_scale = rules->rrf_scale,
		.consensus_above = rules->consensus_above,
		.gap_scale = rules->gap_scale,
		.spread_scale = rules->spread_scale,
	};
}

/* What is not finite is null in JSON, so that nulls may have been such. */
static size_t count_nulls(const struct retrieval *retrieval)
{
	size_t count = 0;
	for (size_t i = 0; i < retrieval->chunks_count; i++) {
		const struct retrieved_chunk *chunk = &retrieval->chunks[i];
		count += (size_t)!chunk->bm25_score.set + !chunk->dense_score.set + !chunk->rrf_score.set +
			 !chunk->boosted_score.set + !chunk->rerank_score.set + !chunk->graph_boost.set;
	}
	return count;
}

#define RETRIEVAL(name) "confidence.retrieval." name

static void check_metrics(struct recompute *work, const struct record_retrieval *said)
{
	const struct retrieval_score *follows = &work->retrieval;
	recompute_number(work, RETRIEVAL("confidence"), said->confidence, follows->confidence);
	recompute_number(work, RETRIEVAL("top_score"), said->top_score, follows->top_score);
	recompute_number(work, RETRIEVAL("score_gap"), said->score_gap, follows->score_gap);
	recompute_number(work, RETRIEVAL("score_spread"), said->score_spread, follows->score_spread);
	recompute_integer(work, RETRIEVAL("consensus_count"), said->consensus_count,
			  (int64_t)follows->consensus_count);
	recompute_share(work, RETRIEVAL("bm25_dense_agreement"), said->bm25_dense_agreement,
			follows->bm25_dense_agreement);
	recompute_share(work, RETRIEVAL("reranker_impact"), said->reranker_impact, follows->reranker_impact);
	recompute_flag(work, RETRIEVAL("graph_support"), said->graph_support, follows->graph_support);
	recompute_number(work, RETRIEVAL("document_diversity"), said->document_diversity,
			 follows->document_diversity);
	recompute_text(work, RETRIEVAL("interpretation"), said->interpretation,
		       str_from(retrieval_interpretation_name(follows->interpretation)));
	recompute_range(work, RETRIEVAL("non_finite_scores"), (double)said->non_finite_scores,
			(double)follows->non_finite_count,
			(double)(follows->non_finite_count + count_nulls(work->input->retrieval)));
}

/* What follows from the record's own figure. */
static void check_level(struct recompute *work, const struct record_retrieval *said,
			const struct level_thresholds *thresholds)
{
	static const enum retrieval_interpretation interpretations[] = { RETRIEVAL_POOR, RETRIEVAL_WEAK,
									 RETRIEVAL_MODERATE,
									 RETRIEVAL_STRONG };
	bool nothing = str_is(said->interpretation, retrieval_interpretation_name(RETRIEVAL_NO_RESULTS));
	enum score_level level = nothing ? SCORE_VERY_LOW : level_of(said->confidence, thresholds);
	recompute_level(work, RETRIEVAL("level"), said->level, (int)level);
	recompute_flag(work, RETRIEVAL("flagged"), said->flagged, level != SCORE_HIGH);
	enum retrieval_interpretation follows = nothing ? RETRIEVAL_NO_RESULTS : interpretations[level];
	recompute_text(work, RETRIEVAL("interpretation"), said->interpretation,
		       str_from(retrieval_interpretation_name(follows)));
	recompute_text(work, RETRIEVAL("interpretation_text"), said->interpretation_text,
		       str_from(retrieval_interpretation_text(follows)));
	recompute_text(work, RETRIEVAL("action_text"), said->action_text,
		       str_from(retrieval_action_text(follows)));
}

static void check_retrieval(struct recompute *work)
{
	const struct record_retrieval *said = work->scored->confidence.retrieval;
	struct arena *arena = work->report->arena;
	const struct retrieval_options options = options_of(work->rules->retrieval);
	if (work->input &&
	    !recompute_presence(work, "confidence.retrieval", said != NULL, work->input->retrieval != NULL))
		return;
	if (!said)
		return;
	check_level(work, said, &options.thresholds);
	if (!work->input) {
		recompute_leave(work, RECOMPUTE_GAP_RETRIEVAL);
		return;
	}
	const struct retrieval *retrieval = work->input->retrieval;
	retrieval_score(event_chunks(retrieval, arena), retrieval->chunks_count, &options, arena,
			&work->retrieval);
	work->has_retrieval = true;
	check_metrics(work, said);
}

/* ---- advisory ---- */

#define ADVISORY(name) "confidence.advisory." name

static void check_advisory(struct recompute *work)
{
	const struct record_advisory_confidence *said = work->scored->confidence.advisory;
	const struct generated_query *input = work->input;
	const struct level_thresholds thresholds = thresholds_of(&work->rules->thresholds);
	if (input && !recompute_presence(work, "confidence.advisory", said != NULL,
					 input->retrieval && input->response))
		return;
	if (!said)
		return;
	double sum = score_settle(said->retrieval_quality + said->source_quality + said->response_quality);
	recompute_number(work, ADVISORY("confidence"), said->confidence, sum);
	recompute_level(work, ADVISORY("level"), said->level, (int)level_of(sum, &thresholds));
	if (!input) {
		recompute_leave(work, RECOMPUTE_GAP_ADVISORY);
		return;
	}
	struct advisory_score follows;
	const struct retrieval_options options = options_of(work->rules->retrieval);
	advisory_score(event_chunks(input->retrieval, work->report->arena), input->retrieval->chunks_count,
		       options.rrf_scale, response_check(input->response), &thresholds, &follows);
	recompute_number(work, ADVISORY("retrieval_quality"), said->retrieval_quality,
			 follows.retrieval_quality);
	recompute_number(work, ADVISORY("source_quality"), said->source_quality, follows.source_quality);
	recompute_number(work, ADVISORY("response_quality"), said->response_quality,
			 follows.response_quality);
}

/* ---- generator, agreement ---- */

static void check_error(struct recompute *work, const char *metric, err_t err, bool follows)
{
	recompute_integer(work, "errors", recompute_errors(work, metric, str_from(err_name(err))), follows);
}

static void check_generator(struct recompute *work)
{
	if (!work->input) {
		recompute_leave(work, RECOMPUTE_GAP_GENERATOR);
		return;
	}
	opt_double_t estimate = work->input->generator_confidence;
	bool outside = estimate.set && !(estimate.value >= 0 && estimate.value <= 1);
	if (outside)
		estimate = (opt_double_t)OPT_NONE;
	if (outside || estimate.set) /* JSON has null for what is no number, which is outside, too */
		check_error(work, "generator", ERR_INPUT_RANGE, outside);
	recompute_share(work, "confidence.generator", work->scored->confidence.generator, estimate);
}

/* A share of the texts: one of them at least, and a whole number of them. */
static void check_share_of_texts(struct recompute *work, const char *field, opt_double_t share, int64_t texts)
{
	if (!share.set)
		return;
	double agree = share.value * (double)texts;
	recompute_number(work, field, agree, round(agree));
	recompute_range(work, field, share.value, texts > 0 ? 1 / (double)texts : 1, 1);
}

static void check_agreement(struct recompute *work)
{
	const struct record_agreement *said = work->scored->confidence.agreement;
	if (!work->input && said)
		recompute_leave(work, RECOMPUTE_GAP_AGREEMENT);
	if (work->input) {
		size_t count = work->input->candidates_count;
		recompute_presence(work, "confidence.agreement", said != NULL,
				   count >= AGREEMENT_CANDIDATES_MIN && work->read.analysed);
		check_error(work, "agreement", ERR_CANDIDATES_LIMIT,
			    count > AGREEMENT_CANDIDATES_MAX && work->read.analysed);
		if (said)
			recompute_integer(work, "confidence.agreement.texts", said->texts,
					  1 + (int64_t)(count < AGREEMENT_CANDIDATES_MAX
								? count
								: AGREEMENT_CANDIDATES_MAX));
	}
	if (!said)
		return;
	bool run = said->results.set || str_present(scored_query_agreement_error(work->scored));
	recompute_range(work, "confidence.agreement.left_out", (double)said->left_out, 0,
			run ? (double)said->texts - 1 : 0);
	check_share_of_texts(work, "confidence.agreement.canonical", said->canonical, said->texts);
	check_share_of_texts(work, "confidence.agreement.results", said->results,
			     said->texts - said->left_out);
	if (said->left_out > said->texts - said->left_out)
		recompute_presence(work, "confidence.agreement.results", said->results.set, false);
}

void recompute_confidence(struct recompute *work)
{
	check_technical(work);
	check_retrieval(work);
	check_advisory(work);
	check_generator(work);
	check_agreement(work);
}
