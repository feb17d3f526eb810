#include "event/outcome.h"

static struct record_technical *record_technical(const struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	if (!analysis->technical.set)
		return NULL;
	struct record_technical *technical = ARENA_NEW(event->arena, struct record_technical);
	technical->score = analysis->technical.value;
	technical->valid = analysis->sql.valid;
	technical->diagnostics_count = analysis->sql.diagnostics_count;
	technical->diagnostics =
		ARENA_ARRAY(event->arena, struct record_diagnostic, analysis->sql.diagnostics_count);
	for (size_t i = 0; i < analysis->sql.diagnostics_count; i++) {
		const struct sql_diagnostic *from = &analysis->sql.diagnostics[i];
		technical->diagnostics[i] = (struct record_diagnostic){
			.code = str_from(from->code),
			.sub_code = str_from(from->sub_code),
			.severity = from->severity == SQL_ERROR ? SEVERITY_ERROR : SEVERITY_WARNING,
			.message = outcome_message(outcome, from->message),
			.offset = outcome_offset(outcome, from->offset),
		};
	}
	return technical;
}

static struct record_retrieval *record_retrieval(const struct event *event)
{
	const struct retrieval_score *from = &event->analysis.retrieval;
	if (!event->analysis.has_retrieval)
		return NULL;
	struct record_retrieval *retrieval = ARENA_NEW(event->arena, struct record_retrieval);
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
		.non_finite_scores = (int64_t)from->non_finite_count,
	};
	return retrieval;
}

static struct record_advisory_confidence *record_advisory(const struct event *event)
{
	const struct advisory_score *from = &event->analysis.advisory;
	if (!event->analysis.has_advisory)
		return NULL;
	struct record_advisory_confidence *advisory =
		ARENA_NEW(event->arena, struct record_advisory_confidence);
	*advisory = (struct record_advisory_confidence){
		.confidence = from->confidence,
		.level = (int)from->level,
		.retrieval_quality = from->retrieval_quality,
		.source_quality = from->source_quality,
		.response_quality = from->response_quality,
	};
	return advisory;
}

void outcome_confidence(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct overall_score *overall = &event->analysis.overall;
	outcome->scored->confidence = (struct record_confidence){
		.overall = overall->confidence,
		.level = overall->confidence.set ? (int)overall->level : ENUM_ABSENT,
		.limiting_factor = str_from(overall->limiting_factor),
		.technical = record_technical(outcome),
		.retrieval = record_retrieval(event),
		.advisory = record_advisory(event),
		.generator = event->analysis.generator,
	};
}

void outcome_safety(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct sql_analysis *sql = &event->analysis.sql;
	struct record_safety *safety = &outcome->scored->safety;
	safety->verdict = (int)sql->verdict;
	if (sql->verdict == SQL_UNKNOWN)
		safety->doubt = outcome_message(outcome, sql->doubt);
	safety->violations_count = sql->violations_count;
	safety->violations = ARENA_ARRAY(event->arena, struct record_violation, sql->violations_count);
	for (size_t i = 0; i < sql->violations_count; i++)
		safety->violations[i] =
			(struct record_violation){ str_from(sql->violations[i].code),
						   outcome_message(outcome, sql->violations[i].detail),
						   outcome_offset(outcome, sql->violations[i].offset) };
}
