#include "event/record/builder.h"

#include <inttypes.h>

struct record_diagnostic *record_diagnostics(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct sql_analysis *sql = &facts->analysis.sql;
	struct record_diagnostic *diagnostics =
		ARENA_ARRAY(facts->arena, struct record_diagnostic, sql->diagnostics_count);
	for (size_t i = 0; i < sql->diagnostics_count; i++) {
		const struct sql_diagnostic *from = &sql->diagnostics[i];
		diagnostics[i] = (struct record_diagnostic){
			.code = str_from(from->code),
			.sub_code = str_from(from->sub_code),
			.severity = from->severity == SQL_ERROR ? SEVERITY_ERROR : SEVERITY_WARNING,
			.message = record_message(builder, from->message),
			.offset = record_offset(builder, from->offset),
		};
	}
	return diagnostics;
}

static struct record_technical *record_technical(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	if (!analysis->technical.set)
		return NULL;
	struct record_technical *technical = ARENA_NEW(facts->arena, struct record_technical);
	technical->score = analysis->technical.value;
	technical->valid = analysis->sql.valid;
	technical->diagnostics = record_diagnostics(builder);
	technical->diagnostics_count = analysis->sql.diagnostics_count;
	technical->upstream = analysis->upstream_technical;
	return technical;
}

static struct record_retrieval *record_retrieval(const struct record_facts *facts)
{
	const struct retrieval_score *from = &facts->analysis.retrieval;
	if (!facts->analysis.has_retrieval)
		return NULL;
	struct record_retrieval *retrieval = ARENA_NEW(facts->arena, struct record_retrieval);
	*retrieval = (struct record_retrieval){
		.confidence = from->confidence,
		.level = (int)from->level,
		.flagged = from->flagged,
		.top_score = from->top_score,
		.score_gap = from->score_gap,
		.score_spread = from->score_spread,
		.consensus_count = (int64_t)from->consensus_count,
		.bm25_dense_agreement = from->bm25_dense_agreement,
		.reranker_impact = from->reranker_impact,
		.graph_support = from->graph_support,
		.document_diversity = from->document_diversity,
		.interpretation = str_from(retrieval_interpretation_name(from->interpretation)),
		.interpretation_text = str_from(retrieval_interpretation_text(from->interpretation)),
		.action_text = str_from(retrieval_action_text(from->interpretation)),
		.non_finite_scores = (int64_t)from->non_finite_count,
	};
	return retrieval;
}

static struct record_advisory_confidence *record_advisory(const struct record_facts *facts)
{
	const struct advisory_score *from = &facts->analysis.advisory;
	if (!facts->analysis.has_advisory)
		return NULL;
	struct record_advisory_confidence *advisory =
		ARENA_NEW(facts->arena, struct record_advisory_confidence);
	*advisory = (struct record_advisory_confidence){
		.confidence = from->confidence,
		.level = (int)from->level,
		.retrieval_quality = from->retrieval_quality,
		.source_quality = from->source_quality,
		.response_quality = from->response_quality,
	};
	return advisory;
}

/* Why what the candidates return is not known. */
static str_t agreement_error_text(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	struct arena *arena = facts->arena;
	str_t said = record_server_message(builder, analysis->agreement_message);
	switch (analysis->agreement_error) {
	case ERR_CANDIDATES_LEFT_OUT:
		return arena_printf(arena,
				    "%zu of %zu texts could not be compared within agreement.budget_ms, "
				    "agreement.max_rows and the limits of the target, which are too many for "
				    "a share",
				    analysis->candidates_left_out, analysis->candidates_count + 1);
	case ERR_CANDIDATES_UNPROVEN:
		return STR("no candidate of another meaning is proven to be a read, so none is run, and the "
			   "share by meaning counts");
	case ERR_ANSWER_TOO_LARGE:
		return arena_printf(arena,
				    "the answer returns more than the %" PRId64 " rows or %" PRId64
				    " bytes of its target, so no candidate is compared with it",
				    analysis->target->max_rows, analysis->target->max_result_bytes);
	case ERR_SAFETY_UNKNOWN:
		return arena_printf(
			arena,
			"the query cannot be proven safe, so neither it nor a candidate is run: " STR_FMT,
			STR_ARG(record_message(builder, analysis->sql.doubt)));
	case ERR_ANSWER_FAILED:
		return arena_printf(arena,
				    "the answer does not run, so no candidate agrees with it: " STR_FMT,
				    STR_ARG(str_present(said) ? said : STR("the database does not say why")));
	default:
		if (!str_present(said))
			said = str_from(err_text(analysis->agreement_error));
		return arena_printf(arena, "the candidates could not be compared: " STR_FMT, STR_ARG(said));
	}
}

static struct record_agreement *record_agreement(const struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	if (analysis->candidates_count == 0)
		return NULL;
	if (analysis->agreement_error)
		record_add_error(facts, "agreement", analysis->agreement_error,
				 agreement_error_text(builder).ptr);
	struct record_agreement *agreement = ARENA_NEW(facts->arena, struct record_agreement);
	agreement->canonical = analysis->agreement;
	agreement->results = analysis->agreement_results;
	agreement->left_out = (int64_t)analysis->candidates_left_out;
	agreement->texts = (int64_t)analysis->candidates_count + 1;
	return agreement;
}

/* What is 0 says nothing that its absence does not say. */
static void record_features(const struct record_facts *facts, struct record_confidence *confidence)
{
	const double *values = facts->analysis.features;
	if (!values)
		return;
	size_t count = 0;
	for (size_t i = 0; i < FEATURE_COUNT_; i++)
		count += values[i] != 0;
	confidence->features = ARENA_ARRAY(facts->arena, struct record_feature, count);
	for (size_t i = 0; i < FEATURE_COUNT_; i++)
		if (values[i] != 0)
			confidence->features[confidence->features_count++] =
				(struct record_feature){ { FEATURE_INFO[i].name, FEATURE_INFO[i].name_len },
							 values[i] };
}

static void record_level(const struct record_facts *facts, struct record_confidence *confidence)
{
	const struct record_analysis *analysis = &facts->analysis;
	bool by_probability = analysis->level_by_probability;
	confidence->level = ENUM_ABSENT;
	if (!by_probability && !analysis->overall.confidence.set)
		return;
	confidence->level = (int)analysis->overall.level;
	confidence->level_by = by_probability ? STR("probability") : STR("overall");
}

void record_build_confidence(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct overall_score *overall = &facts->analysis.overall;
	builder->scored->confidence = (struct record_confidence){
		.overall = overall->confidence,
		.limiting_factor = str_from(overall->limiting_factor),
		.technical = record_technical(builder),
		.retrieval = record_retrieval(facts),
		.advisory = record_advisory(facts),
		.generator = facts->analysis.generator,
		.agreement = record_agreement(builder),
	};
	builder->scored->confidence.probability = facts->analysis.probability;
	record_features(facts, &builder->scored->confidence);
	record_level(facts, &builder->scored->confidence);
}

void record_build_safety(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct sql_analysis *sql = &facts->analysis.sql;
	struct record_safety *safety = &builder->scored->safety;
	safety->verdict = (int)sql->verdict;
	if (sql->verdict == SQL_UNKNOWN)
		safety->doubt = record_message(builder, sql->doubt);
	safety->violations_count = sql->violations_count;
	safety->violations = ARENA_ARRAY(facts->arena, struct record_violation, sql->violations_count);
	for (size_t i = 0; i < sql->violations_count; i++)
		safety->violations[i] =
			(struct record_violation){ str_from(sql->violations[i].code),
						   record_message(builder, sql->violations[i].detail),
						   record_offset(builder, sql->violations[i].offset) };
}
