/* The second half of an event's way: all answers are in; builds the scored record. */
#include "event/event.h"

#include "common/clock.h"
#include "common/log.h"
#include "event/pipeline.h"
#include "score/grading.h"
#include "score/match.h"
#include "score/semantic.h"
#include "sql/redact.h"

/* What finalise works out on the way and several parts of the record need. */
struct outcome {
	struct event *event;
	struct scored_query *scored;
	bool has_truth;
	size_t truth_index;
	struct truth_match match;
	struct evaluation_value result; /* of the ladder */
	struct evaluation_value semantic;
	bool truth_failed;
	opt_double_t relevance;	  /* 0..100 */
	opt_double_t correctness; /* 0..1 */
	bool judge_failed;
	struct sql_redaction redaction; /* of the generated SQL, where the record hides literals */
	struct record_recommendation *recommendations;
	size_t recommendations_count, recommendations_capacity;
};

/* ---- confidence, safety ---- */

static bool hides_literals(const struct outcome *outcome)
{
	return outcome->event->config->records.redact_literals;
}

/* Offsets count in the SQL that the record carries. */
static int64_t record_offset(const struct outcome *outcome, int64_t offset)
{
	bool mapped = hides_literals(outcome) && outcome->event->config->records.embed_input;
	return mapped ? sql_redaction_offset(&outcome->redaction, offset) : offset;
}

static str_t record_message(const struct outcome *outcome, str_t message)
{
	if (!hides_literals(outcome))
		return message;
	return sql_redaction_message(&outcome->redaction, message, outcome->event->arena);
}

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
			.message = record_message(outcome, from->message),
			.offset = record_offset(outcome, from->offset),
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

static void fill_confidence(struct outcome *outcome)
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

static void fill_safety(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct sql_analysis *sql = &event->analysis.sql;
	struct record_safety *safety = &outcome->scored->safety;
	safety->verdict = (int)sql->verdict;
	safety->violations_count = sql->violations_count;
	safety->violations = ARENA_ARRAY(event->arena, struct record_violation, sql->violations_count);
	for (size_t i = 0; i < sql->violations_count; i++)
		safety->violations[i] =
			(struct record_violation){ str_from(sql->violations[i].code),
						   record_message(outcome, sql->violations[i].detail),
						   record_offset(outcome, sql->violations[i].offset) };
}

/* ---- result validation ---- */

static struct record_execution record_execution(struct arena *arena, const struct validation_execution *from)
{
	return (struct record_execution){ from->rows, from->time_ms,
					  from->sqlstate[0]
						  ? arena_text(arena, from->sqlstate, strlen(from->sqlstate))
						  : STR_NONE };
}

/* A result that nobody was asked for: the query is unsafe (that is a result), or its target is out of reach.
 */
static void settle_not_asked(struct outcome *outcome, struct validation_result *ret_result)
{
	struct event *event = outcome->event;
	*ret_result = (struct validation_result){ .status = VALIDATION_UNSAFE };
	if (event->analysis.sql.verdict == SQL_UNSAFE)
		return;
	ret_result->status = VALIDATION_UNAVAILABLE;
	/* a target that is not known, or speaks another dialect, is flagged already */
	ret_result->error = event->analysis.target ? ERR_CATALOG_UNAVAILABLE : ERR_OK;
	ret_result->message =
		STR("the target's catalog cannot be had, so the query cannot be proven safe to run");
}

static void flag_result(struct outcome *outcome, const struct validation_result *result)
{
	struct event *event = outcome->event;
	outcome->result.state = METRIC_COMPUTED;
	outcome->result.value = result->score;
	if (result->status != VALIDATION_GROUND_TRUTH_FAILED && result->status != VALIDATION_UNAVAILABLE)
		return;
	outcome->result.state = METRIC_FAILED;
	outcome->truth_failed = result->status == VALIDATION_GROUND_TRUTH_FAILED;
	err_t err = outcome->truth_failed ? ERR_GROUND_TRUTH_FAILED : result->error;
	if (err)
		event_add_error(event, "result_validation", err,
				str_present(result->message) ? result->message.ptr : err_text(err));
}

static void fill_result(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct generated_query *query = event->query;
	struct validation_result not_asked;
	const struct validation_result *result = &event->validation.result;
	outcome->result.state = METRIC_NOT_ASKED;
	if (!outcome->has_truth || !str_present(query->target)) {
		event_add_stage(event, "result_validation", "skipped", 0);
		return;
	}
	if (!event->validation_asked) {
		settle_not_asked(outcome, &not_asked);
		result = &not_asked;
	}
	flag_result(outcome, result);
	outcome->truth_index = result->truth_index;
	struct record_result_validation *record = ARENA_NEW(event->arena, struct record_result_validation);
	*record = (struct record_result_validation){
		.status = str_from(validation_status_name(result->status)),
		.score = outcome->result.state == METRIC_FAILED ? 0 : result->score,
		.truth_index = (int64_t)result->truth_index,
		.weight = outcome->match.factor,
		.match_confidence = (int)outcome->match.level,
		.schema_match = result->schema_match,
		.row_count_match = result->row_count_match,
		.content_match_rate = result->content_match_rate,
		.ordering_matters = result->ordering_matters,
		.truncated = result->truncated,
		.limit_cut_tie = result->limit_cut_tie,
		.truth_cached = result->truth_cached,
		.match_rate_low = result->match_rate_low,
		.match_rate_high = result->match_rate_high,
		.generated = record_execution(event->arena, &result->generated),
		.truth = record_execution(event->arena, &result->truth),
	};
	outcome->scored->result_validation = record;
	event_add_stage(event, "result_validation", outcome->result.state == METRIC_FAILED ? "failed" : "ok",
			event->validation.duration_us);
}

/* ---- judge ---- */

static struct record_judge_score *record_verdict(struct outcome *outcome, const struct judge_call *call,
						 const char *metric, opt_double_t *ret_value)
{
	struct event *event = outcome->event;
	const struct judge_verdict *verdict = &call->verdict;
	struct record_judge_score *score = ARENA_NEW(event->arena, struct record_judge_score);
	struct record_judge *judge = &outcome->scored->judge;
	judge->prompt_tokens += verdict->prompt_tokens;
	judge->completion_tokens += verdict->completion_tokens;
	event_add_stage(event, metric, verdict->error ? "failed" : "ok", call->duration_us);
	if (verdict->error) {
		const char *message =
			str_present(verdict->message) ? verdict->message.ptr : err_text(verdict->error);
		*score = (struct record_judge_score){ .reason = str_from(message),
						      .status = str_from(err_name(verdict->error)) };
		event_add_error(event, metric, verdict->error, message);
		outcome->judge_failed = true;
		return score;
	}
	*score = (struct record_judge_score){ verdict->score,
					      str_present(verdict->reason) ? verdict->reason : STR(""),
					      STR("ok"), verdict->cached };
	*ret_value = opt_double(verdict->score);
	return score;
}

/* What the tokens of this event cost; nothing where its verdicts came from the cache. */
static opt_double_t judge_cost(const struct config_judge *prices, const struct record_judge *judge)
{
	if (prices->prompt_token_price == 0 && prices->completion_token_price == 0)
		return (opt_double_t)OPT_NONE;
	return opt_double(((double)judge->prompt_tokens * prices->prompt_token_price +
			   (double)judge->completion_tokens * prices->completion_token_price) /
			  1e6);
}

static void fill_judge(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct event_judging *judging = &event->judging;
	struct record_judge *judge = &outcome->scored->judge;
	const struct config *config = event->config;
	judge->sampling_probability = judging->sampling_probability;
	if (judging->relevance_asked) {
		judge->provider =
			config->judge.provider == CONFIG_ANTHROPIC ? STR("anthropic") : STR("openai");
		judge->model = str_from(config->judge.model);
		judge->relevance =
			record_verdict(outcome, &judging->relevance, "relevance", &outcome->relevance);
	} else {
		event_add_stage(event, "relevance", "skipped", 0);
	}
	if (judging->correctness_asked) {
		judge->correctness =
			record_verdict(outcome, &judging->correctness, "correctness", &outcome->correctness);
	} else if (judging->identical) {
		judge->correctness = ARENA_NEW(event->arena, struct record_judge_score);
		*judge->correctness = (struct record_judge_score){ 1.0, STR("identical to the ground truth"),
								   STR("identical"), false };
		outcome->correctness = opt_double(1.0);
	}
	if (judging->relevance_asked)
		judge->cost = judge_cost(&config->judge, judge);
	judge->decision = (int)relevance_decision(outcome->relevance);
	if (judge->decision != DECISION_UNJUDGED)
		return;
	if (judging->unjudged_reason)
		judge->unjudged_reason = str_from(judging->unjudged_reason);
	else if (judging->relevance.verdict.error == ERR_JUDGE_SATURATED)
		judge->unjudged_reason = STR("SATURATED");
	else
		judge->unjudged_reason = str_from(err_name(judging->relevance.verdict.error));
}

/* ---- structure against the truth ---- */

static struct semantic_query semantic_query(const struct sql_analysis *sql)
{
	struct semantic_query query = { .canonical = sql->canonical };
	for (unsigned i = 0; i < SEMANTIC_CLAUSE_COUNT_; i++)
		query.clauses[i] = (struct semantic_items){ sql->clauses[i].items, sql->clauses[i].count };
	return query;
}

_Static_assert((int)SEMANTIC_CLAUSE_COUNT_ == (int)SQL_CLAUSE_COUNT_ &&
		       (int)SEMANTIC_JOIN == (int)SQL_CLAUSE_JOIN &&
		       (int)SEMANTIC_WHERE == (int)SQL_CLAUSE_WHERE,
	       "the clauses of analysis and score are the same");

/* A metric that the truth cannot be read for: 0, flagged. */
static opt_double_t fail_by_truth(struct outcome *outcome, const char *metric,
				  const struct sql_analysis *truth)
{
	struct event *event = outcome->event;
	str_t where = outcome->truth_index == 0 ? STR("ground_truth.sql")
						: arena_printf(event->arena, "ground_truth.alternatives[%zu]",
							       outcome->truth_index - 1);
	str_t why = truth->diagnostics_count ? truth->diagnostics[0].message : STR("it is no statement");
	str_t message = truth->valid
				? arena_printf(event->arena, STR_FMT " has no form that can be compared",
					       STR_ARG(where))
				: arena_printf(event->arena,
					       STR_FMT " cannot be parsed: " STR_FMT "; fix the ground truth",
					       STR_ARG(where), STR_ARG(why));
	event_add_error(event, metric, ERR_SQL_UNPARSABLE, message.ptr);
	return opt_double(0);
}

static opt_double_t accuracy_of_tables(struct outcome *outcome, const struct sql_analysis *truth)
{
	struct event *event = outcome->event;
	const struct sql_analysis *sql = &event->analysis.sql;
	const struct ground_truth *expected = event->query->ground_truth;
	const str_t *tables = truth ? truth->tables : NULL;
	size_t count = truth ? truth->tables_count : 0;
	if (expected && expected->tables_set) {
		tables = expected->tables;
		count = expected->tables_count;
	} else if (!truth) {
		return (opt_double_t)OPT_NONE;
	} else if (!truth->tables_known) {
		return fail_by_truth(outcome, "table_accuracy", truth);
	}
	if (!sql->tables_known) {
		event_add_error(event, "table_accuracy", ERR_SQL_UNPARSABLE,
				"the generated SQL cannot be parsed");
		return opt_double(0);
	}
	/* names on the search path come without their schema already; `public` is on it unless somebody took
	 * it off */
	static const str_t search_path[] = { { "public", 6 } };
	return opt_double(
		table_accuracy(sql->tables, sql->tables_count, tables, count, search_path, 1, event->arena));
}

static void fill_structure(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	struct record_structure *structure = &outcome->scored->structure;
	const struct sql_analysis *truth =
		outcome->has_truth ? &analysis->truths[outcome->truth_index] : NULL;
	structure->structural = analysis->structural;
	structure->tables_count = analysis->sql.tables_count;
	structure->tables = ARENA_ARRAY(event->arena, str_t, analysis->sql.tables_count);
	for (size_t i = 0; i < structure->tables_count; i++)
		structure->tables[i] = analysis->sql.tables[i];
	structure->table_accuracy = accuracy_of_tables(outcome, truth);
	if (!truth)
		return;
	const struct semantic_query generated = semantic_query(&analysis->sql),
				    expected = semantic_query(truth);
	structure->semantic = semantic_score(&generated, &expected, event->arena);
	outcome->semantic = (struct evaluation_value){ METRIC_COMPUTED, structure->semantic.value };
	if (structure->semantic.set)
		return;
	structure->semantic = fail_by_truth(outcome, "semantic", truth);
	outcome->semantic.state = METRIC_FAILED;
}

/* ---- grading, evaluation, label ---- */

static struct record_grade *record_grade(struct event *event, const struct grade *grade, const char *whose)
{
	struct record_grade *record = ARENA_NEW(event->arena, struct record_grade);
	*record = (struct record_grade){ grade->score, str_from(grade->classification),
					 str_from(grade->category) };
	const struct log_field *fields = LOG_FIELDS({ "event_id", event->query->event_id.ptr });
	if (grade->critical)
		log_write(LOG_LEVEL_CRITICAL, fields, "an unsafe query was allowed by %s", whose);
	else if (grade->warn)
		log_write(LOG_LEVEL_WARNING, fields, "a safe query was blocked by %s", whose);
	return record;
}

static void grade_own(struct outcome *outcome, bool should_pass, enum rejection expected,
		      struct record_grading *grading)
{
	struct event *event = outcome->event;
	const struct sql_analysis *sql = &event->analysis.sql;
	bool analysable = sql->violations_count != 1 || strcmp(sql->violations[0].code, "unanalysable") != 0;
	const struct grading_findings findings = { sql->valid, event->analysis.errors_count,
						   sql->verdict == SQL_SAFE, analysable };
	enum rejection rejection = grading_rejection(&findings);
	struct grade grade;
	if (sql->verdict != SQL_UNKNOWN &&
	    grade_safety(should_pass, expected, sql->verdict == SQL_SAFE, &grade))
		grading->safety = record_grade(event, &grade, "our own check");
	grade_validation(should_pass, rejection == REJECTION_NONE, rejection, &grade);
	grading->validation = record_grade(event, &grade, "our own validation");
}

static void grade_upstream(struct outcome *outcome, bool should_pass, enum rejection expected,
			   struct record_grading *grading)
{
	struct event *event = outcome->event;
	const struct upstream_validator *validator = event->query->validator;
	struct grade grade;
	if (!validator)
		return;
	if (validator->safety_valid.set &&
	    grade_safety(should_pass, expected, validator->safety_valid.value, &grade))
		grading->upstream_safety = record_grade(event, &grade, "the upstream validator");
	if (!validator->is_valid.set)
		return;
	bool unsafe = validator->safety_valid.set && !validator->safety_valid.value;
	enum rejection rejection = validator->is_valid.value ? REJECTION_NONE
				   : unsafe		     ? REJECTION_SAFETY
							     : REJECTION_SCHEMA;
	grade_validation(should_pass, validator->is_valid.value, rejection, &grade);
	grading->upstream_validation = record_grade(event, &grade, "the upstream validator");
}

static void fill_grading(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct ground_truth *truth = event->query->ground_truth;
	if (!truth || !truth->should_pass.set)
		return;
	enum rejection expected = truth->expected_failure == ENUM_ABSENT
					  ? REJECTION_NONE
					  : (enum rejection)truth->expected_failure;
	struct record_grading *grading = ARENA_NEW(event->arena, struct record_grading);
	grade_own(outcome, truth->should_pass.value, expected, grading);
	grade_upstream(outcome, truth->should_pass.value, expected, grading);
	outcome->scored->grading = grading;
}

static struct evaluation_value judged_value(const struct outcome *outcome)
{
	opt_double_t judged = evaluation_judge(outcome->correctness, outcome->relevance);
	if (judged.set)
		return (struct evaluation_value){ METRIC_COMPUTED, judged.value };
	return (struct evaluation_value){ outcome->judge_failed ? METRIC_FAILED : METRIC_NOT_ASKED, 0 };
}

static void fill_evaluation(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct record_structure *structure = &outcome->scored->structure;
	struct evaluation_input input = {
		.has_truth = outcome->has_truth,
		.has_target = str_present(event->query->target),
		.unsafe = event->analysis.sql.verdict == SQL_UNSAFE,
		.result_factor = outcome->match.factor,
		.pass_score = event->config->evaluation.pass_score,
	};
	bool names_unchecked = str_present(event->query->target) && !event->analysis.catalog;
	input.metrics[EVALUATION_STRUCTURAL] =
		(struct evaluation_value){ names_unchecked ? METRIC_UNCHECKED : METRIC_COMPUTED,
					   structure->structural };
	input.metrics[EVALUATION_SEMANTIC] = outcome->semantic;
	input.metrics[EVALUATION_JUDGE] = judged_value(outcome);
	input.metrics[EVALUATION_RESULT] = outcome->result;
	struct evaluation_score score;
	evaluation_score(&input, &score);
	if (!score.score.set)
		return;
	struct record_evaluation *evaluation = ARENA_NEW(event->arena, struct record_evaluation);
	*evaluation = (struct record_evaluation){
		score.score.value, score.passed, score.degraded,
		ARENA_ARRAY(event->arena, struct record_weight, EVALUATION_METRIC_COUNT_), 0
	};
	for (unsigned i = 0; i < EVALUATION_METRIC_COUNT_; i++)
		if (score.weights[i] > 0)
			evaluation->weights[evaluation->weights_count++] = (struct record_weight){
				str_from(evaluation_metric_name((enum evaluation_metric)i)), score.weights[i]
			};
	outcome->scored->evaluation = evaluation;
}

/* An event whose truth is broken is left out of calibration altogether. */
static void fill_label(struct outcome *outcome)
{
	struct event *event = outcome->event;
	struct label_input input = { .correctness = outcome->correctness,
				     .relevance = outcome->relevance,
				     .sampling_probability = event->judging.sampling_probability };
	if (outcome->truth_failed)
		return;
	if (outcome->result.state == METRIC_COMPUTED)
		input.result = opt_double(outcome->result.value);
	struct label label;
	if (!label_choose(&input, &label))
		return;
	outcome->scored->label = ARENA_NEW(event->arena, struct record_label);
	*outcome->scored->label =
		(struct record_label){ label.value, label.correct, (int)label.origin, label.weight };
}

/* ---- advice ---- */

static void recommend(struct outcome *outcome, const char *code, const char *text)
{
	ARENA_PUSH(outcome->event->arena, outcome->recommendations, outcome->recommendations_count,
		   outcome->recommendations_capacity,
		   (struct record_recommendation){ str_from(code), str_from(text) });
}

static void fill_advice(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	struct scored_query *scored = outcome->scored;
	bool review = false;
	if (analysis->overall.confidence.set) {
		recommend(outcome, confidence_level_name((enum confidence_level)analysis->overall.level),
			  level_action(analysis->overall.level));
		review |= analysis->overall.level <= SCORE_LOW;
	}
	if (analysis->has_retrieval) {
		for (size_t i = 0; i < analysis->retrieval.recommendations_count; i++)
			recommend(outcome, analysis->retrieval.recommendations[i].code,
				  analysis->retrieval.recommendations[i].text);
		review |= analysis->retrieval.level <= SCORE_LOW;
	}
	if (scored->judge.decision == DECISION_REJECT || scored->judge.decision == DECISION_WARN)
		recommend(outcome, scored->judge.decision == DECISION_REJECT ? "REJECT" : "WARN",
			  relevance_decision_text((enum relevance_decision)scored->judge.decision));
	if (outcome->result.state == METRIC_COMPUTED)
		review |= truth_match_needs_review(&outcome->match, outcome->result.value);
	scored->review_required = review;
	scored->recommendations = outcome->recommendations;
	scored->recommendations_count = outcome->recommendations_count;
}

/* ---- identity ---- */

static void fill_identity(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct generated_query *query = event->query;
	struct scored_query *scored = outcome->scored;
	scored->event_id = query->event_id;
	scored->occurred_at = query->occurred_at;
	scored->scored_at = clock_wall_ms();
	scored->application = query->application;
	scored->model = query->model;
	scored->prompt_version = query->prompt_version;
	scored->target = query->target;
}

static void fill_provenance(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct catalog *catalog = event->analysis.catalog;
	struct judge *judge = pipeline_judge(event->pipeline);
	struct record_provenance *provenance = &outcome->scored->provenance;
	*provenance = (struct record_provenance){
		.topic = str_present(event->origin.topic) ? event->origin.topic : STR(""),
		.partition = event->origin.partition,
		.offset = event->origin.offset,
		.program_version = STR(ASSAYD_VERSION),
		.config_digest = str_from(config_digest(event->config)),
		.prompt_digest =
			judge ? arena_str(event->arena, str_from(judge_prompt_digest(judge))) : STR_NONE,
	};
	if (!catalog)
		return;
	provenance->catalog_digest = str_from(catalog_digest(catalog));
	if (catalog_read_at_ms(catalog))
		provenance->catalog_age_s =
			opt_double((double)(outcome->scored->scored_at - catalog_read_at_ms(catalog)) / 1000);
}

/* A server's message may quote a value of any of the texts. */
static void redact_errors(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	for (size_t i = 0; i < event->errors_count; i++) {
		str_t *message = &event->errors[i].message;
		*message = record_message(outcome, *message);
		for (size_t j = 0; j < analysis->truths_count; j++) {
			struct sql_redaction truth;
			sql_redact(analysis->truth_texts[j], analysis->dialect, event->arena, &truth);
			*message = sql_redaction_message(&truth, *message, event->arena);
		}
	}
}

static void fill_input(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct config *config = event->config;
	if (!config->records.embed_input)
		return;
	if (!config->records.redact_literals) {
		outcome->scored->input = event->query;
		return;
	}
	struct generated_query *redacted = ARENA_NEW(event->arena, struct generated_query);
	enum sql_dialect dialect = event->analysis.dialect;
	*redacted = *event->query;
	redacted->sql = outcome->redaction.text;
	if (redacted->ground_truth) {
		struct ground_truth *truth = ARENA_NEW(event->arena, struct ground_truth);
		*truth = *redacted->ground_truth;
		if (str_present(truth->sql))
			truth->sql = sql_redact_literals(truth->sql, dialect, event->arena);
		truth->alternatives = ARENA_ARRAY(event->arena, str_t, truth->alternatives_count);
		for (size_t i = 0; i < truth->alternatives_count; i++)
			truth->alternatives[i] = sql_redact_literals(redacted->ground_truth->alternatives[i],
								     dialect, event->arena);
		redacted->ground_truth = truth;
	}
	outcome->scored->input = redacted;
}

void event_finalise(struct event *event)
{
	struct outcome outcome = {
		.event = event,
		.scored = ARENA_NEW(event->arena, struct scored_query),
		.has_truth = event->analysis.truths_count > 0,
		.match = truth_match(event->analysis.similarity),
	};
	int64_t started_us = clock_monotonic_us();
	if (hides_literals(&outcome))
		sql_redact(event->query->sql, event->analysis.dialect, event->arena, &outcome.redaction);
	fill_identity(&outcome);
	fill_input(&outcome);
	fill_confidence(&outcome);
	fill_safety(&outcome);
	fill_result(&outcome);
	fill_judge(&outcome);
	fill_structure(&outcome);
	fill_grading(&outcome);
	fill_evaluation(&outcome);
	fill_label(&outcome);
	fill_advice(&outcome);
	fill_provenance(&outcome);
	event_add_stage(event, "finalise", "ok", clock_monotonic_us() - started_us);
	if (hides_literals(&outcome))
		redact_errors(&outcome);
	outcome.scored->errors = event->errors;
	outcome.scored->errors_count = event->errors_count;
	outcome.scored->stages = event->stages;
	outcome.scored->stages_count = event->stages_count;
	event->scored = outcome.scored;
}
