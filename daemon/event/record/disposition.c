/* The conclusion of a record, and what each finding says of this event. */
#include "event/record/builder.h"

#include "common/utf8.h"

#include <inttypes.h>
#include <math.h>

/* Bytes of one reason. */
#define MAX_REASON_BYTES 512

/* Errors that a reason names. */
#define ERRORS_NAMED 3

/* Whether it is an error of that finding. A fence is unwrapped, so the query behind it would run. */
static bool is_of(const struct sql_diagnostic *diagnostic, enum disposition_finding finding)
{
	bool table = strcmp(diagnostic->code, "unknown_table") == 0;
	bool refused = diagnostic->sqlstate && strcmp(diagnostic->code, "markdown_fence") != 0;
	if (diagnostic->severity != SQL_ERROR)
		return false;
	switch (finding) {
	case FINDING_UNKNOWN_TABLE:
		return table;
	case FINDING_SQL_REFUSED:
		return refused && !table;
	case FINDING_SQL_ERROR:
		return !refused;
	default:
		return true;
	}
}

static enum disposition_result result_of(const struct record_result_validation *validation)
{
	static const enum disposition_result results[VALIDATION_STATUS_COUNT_] = {
		[VALIDATION_COMPARED] = RESULT_COMPARED,
		[VALIDATION_EXECUTION_FAILED] = RESULT_EXECUTION_FAILED,
		[VALIDATION_TIMEOUT] = RESULT_TIMED_OUT,
		[VALIDATION_GROUND_TRUTH_FAILED] = RESULT_TRUTH_FAILED,
		[VALIDATION_UNAVAILABLE] = RESULT_UNAVAILABLE,
	};
	for (unsigned i = 0; validation && i < VALIDATION_STATUS_COUNT_; i++)
		if (results[i] &&
		    str_is(validation->status, target_validation_status_name((enum validation_status)i)))
			return i == VALIDATION_COMPARED && !validation->conclusive ? RESULT_INCONCLUSIVE
										   : results[i];
	return RESULT_NOT_ASKED;
}

static void fill_input(struct record_builder *builder)
{
	struct disposition_input *input = &builder->known;
	const struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	const struct scored_query *scored = builder->scored;
	const struct ground_truth *truth = facts->query->ground_truth;
	bool by_probability = analysis->level_by_probability;
	*input = (struct disposition_input){
		.confidence = by_probability ? opt_double(scored->confidence.probability->value)
					     : scored->confidence.overall,
		.level = analysis->overall.level,
		.low_confidence_below = facts->config->advisories.low_confidence_below,
		.retrieval_weak = analysis->has_retrieval && analysis->retrieval.level <= SCORE_LOW,
		.retrieval_moderate = analysis->has_retrieval && analysis->retrieval.level == SCORE_MEDIUM,
		.safety = (enum disposition_safety)analysis->sql.verdict,
		.valid = analysis->sql.valid || analysis->dialect >= SQL_MONGODB,
		.rejection_expected = truth && truth->should_pass.set && !truth->should_pass.value,
		.target_missing = str_present(facts->query->target) && !analysis->catalog,
		.target_unknown = str_present(facts->query->target) && !analysis->target,
		.answer_failed = analysis->agreement_error == ERR_ANSWER_FAILED,
		.agreement_missing = analysis->agreement_target_failed,
		.result = result_of(scored->result_validation),
		.truth_doubtful = builder->match.level == SCORE_LOW,
		.relevance = builder->relevance,
		.low_relevance_below = facts->config->advisories.low_relevance_below,
		.correctness = builder->correctness,
	};
	if (input->result == RESULT_NOT_ASKED && builder->semantic.state == METRIC_FAILED)
		input->result = RESULT_TRUTH_FAILED;
	if (scored->result_validation)
		input->result_score = scored->result_validation->score;
	for (size_t i = 0; i < analysis->sql.diagnostics_count; i++) {
		const struct sql_diagnostic *diagnostic = &analysis->sql.diagnostics[i];
		input->unknown_table |= is_of(diagnostic, FINDING_UNKNOWN_TABLE);
		input->sql_refused |= is_of(diagnostic, FINDING_SQL_REFUSED);
		input->sql_errors |= is_of(diagnostic, FINDING_SQL_ERROR);
	}
}

_Static_assert((int)DISPOSITION_SAFE == (int)SQL_SAFE && (int)DISPOSITION_UNSAFE == (int)SQL_UNSAFE &&
		       (int)DISPOSITION_UNKNOWN == (int)SQL_UNKNOWN,
	       "the verdicts of analysis and disposition are the same");
_Static_assert((int)DISPOSITION_USE == (int)RECORD_ACTION_USE, "the records' actions are the same");

void record_build_known_wrong(struct record_builder *builder)
{
	fill_input(builder);
	builder->wrong = disposition_known_wrong(&builder->known);
}

/* ---- texts ---- */

/* A share with two decimals. Every event has one or two of these: printf's own take a microsecond each. */
#define SHARE_FMT	 "%ld.%02ld"
#define SHARE_ARG(value) lround((value)*100) / 100, lround((value)*100) % 100

static str_t cut(const struct record_builder *builder, str_t text)
{
	return arena_excerpt(builder->facts->arena, text, MAX_REASON_BYTES);
}

/* What the errors of a finding say: the first ones, and how many more there are. */
static str_t errors_of_sql(const struct record_builder *builder, enum disposition_finding finding)
{
	const struct sql_analysis *sql = &builder->facts->analysis.sql;
	struct buf text = BUF_INIT;
	size_t count = 0;
	for (size_t i = 0; i < sql->diagnostics_count; i++) {
		if (!is_of(&sql->diagnostics[i], finding))
			continue;
		if (count++ < ERRORS_NAMED)
			buf_printf(&text, "%s" STR_FMT, count > 1 ? "; " : "",
				   STR_ARG(record_message(builder, sql->diagnostics[i].message)));
	}
	if (count > ERRORS_NAMED)
		buf_printf(&text, " (errors: %zu)", count);
	str_t named = count > 0 ? arena_str(builder->facts->arena, buf_str(&text))
				: STR("the text is not exactly one statement");
	buf_free(&text);
	return named;
}

static str_t invalid_text(const struct record_builder *builder)
{
	const struct record_analysis *analysis = &builder->facts->analysis;
	const struct sql_analysis *sql = &analysis->sql;
	int64_t offset = sql->diagnostics_count > 0 ? record_offset(builder, sql->diagnostics[0].offset) : -1;
	str_t errors = errors_of_sql(builder, FINDING_INVALID);
	const char *dialect = record_dialect_name(analysis->dialect);
	if (offset < 0)
		return arena_printf(builder->facts->arena, "no statement of %s: " STR_FMT, dialect,
				    STR_ARG(errors));
	return arena_printf(builder->facts->arena, "no statement of %s: " STR_FMT ", at byte %" PRId64,
			    dialect, STR_ARG(errors), offset);
}

/* How old the knowledge is that a relation does not exist. */
static str_t unknown_table_text(const struct record_builder *builder)
{
	const struct catalog *catalog = builder->facts->analysis.catalog;
	str_t errors = errors_of_sql(builder, FINDING_UNKNOWN_TABLE);
	int64_t read_at_ms = catalog ? catalog_read_at_ms(catalog) : 0;
	if (read_at_ms == 0)
		return errors;
	return arena_printf(builder->facts->arena, STR_FMT " (catalog read %" PRId64 " s ago)",
			    STR_ARG(errors), (builder->scored->scored_at - read_at_ms) / 1000);
}

/* The word that a statement begins with, where that is not one of a query. */
static str_t statement_word(str_t sql)
{
	size_t from = 0, to;
	while (from < sql.len && strchr(" \t\r\n(", sql.ptr[from]))
		from++;
	for (to = from;
	     to < sql.len && to - from < 16 && (sql.ptr[to] | 0x20) >= 'a' && (sql.ptr[to] | 0x20) <= 'z';)
		to++;
	bool query = (to - from == 6 && strncasecmp(sql.ptr + from, "SELECT", 6) == 0) ||
		     (to - from == 4 && strncasecmp(sql.ptr + from, "WITH", 4) == 0);
	return query ? STR("") : (str_t){ sql.ptr + from, to - from };
}

static str_t unsafe_text(const struct record_builder *builder)
{
	const struct record_safety *safety = &builder->scored->safety;
	if (safety->violations_count == 0)
		return STR("the query is unsafe, so assayd did not run it");
	bool no_read = str_is(safety->violations[0].code, "not_a_read");
	str_t word = no_read ? statement_word(builder->facts->query->sql) : STR("");
	return arena_printf(
		builder->facts->arena,
		"the query is unsafe, so assayd did not run it: " STR_FMT " (" STR_FMT "%s" STR_FMT ")%s",
		STR_ARG(safety->violations[0].code), STR_ARG(safety->violations[0].detail),
		word.len > 0 ? ": " : "", STR_ARG(word), safety->violations_count > 1 ? ", and more" : "");
}

static str_t summary_of_result(const struct record_builder *builder, const char *otherwise)
{
	const struct record_result_validation *validation = builder->scored->result_validation;
	return validation && validation->explanation ? validation->explanation->summary : str_from(otherwise);
}

/* The first error of a metric, or none; NULL: of any. */
static str_t error_of(const struct record_builder *builder, const char *metric)
{
	const struct record_facts *facts = builder->facts;
	for (size_t i = 0; i < facts->errors_count; i++)
		if (!metric || str_is(facts->errors[i].metric, metric))
			return facts->errors[i].message;
	return STR_NONE;
}

/* Why what the candidates return is not known. */
static str_t agreement_error(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const char *code = err_name(facts->analysis.agreement_error);
	for (size_t i = 0; i < facts->errors_count; i++)
		if (str_is(facts->errors[i].metric, "agreement") && str_is(facts->errors[i].code, code))
			return facts->errors[i].message;
	return STR_NONE;
}

static str_t failure_text(const struct record_builder *builder)
{
	return builder->known.result == RESULT_EXECUTION_FAILED
		       ? summary_of_result(builder, "the query failed")
		       : agreement_error(builder);
}

static str_t truth_failed_text(const struct record_builder *builder)
{
	str_t why = error_of(builder, evaluation_metric_name(EVALUATION_SEMANTIC));
	if (!builder->scored->result_validation && str_present(why))
		return why; /* it says what to do */
	return arena_printf(builder->facts->arena, STR_FMT "; fix the ground truth",
			    STR_ARG(summary_of_result(builder, "the ground truth failed")));
}

static str_t unavailable_text(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_result_validation *validation = builder->scored->result_validation;
	str_t why = validation && validation->explanation ? validation->explanation->message : STR_NONE;
	if (!str_present(why) && !facts->analysis.catalog)
		why = error_of(builder, NULL);
	if (!str_present(why) && facts->analysis.agreement_target_failed)
		why = agreement_error(builder);
	if (!str_present(why))
		why = STR("nothing is known of it");
	return arena_printf(facts->arena, "target \"" STR_FMT "\" could not be used: " STR_FMT,
			    STR_ARG(facts->query->target), STR_ARG(why));
}

static str_t no_confidence_text(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	if (!str_present(facts->query->target) || facts->analysis.catalog)
		return STR("no confidence: the event has none of the factors");
	return arena_printf(facts->arena, "no confidence: " STR_FMT, STR_ARG(unavailable_text(builder)));
}

static str_t rejection_text(const struct record_builder *builder)
{
	const struct record_grading *grading = builder->scored->grading;
	if (grading && grading->safety && str_is(grading->safety->classification, "FALSE_NEGATIVE"))
		return STR("assayd calls the query safe, and its ground truth says that it is not "
			   "(should_pass)");
	return STR("the ground truth says that this query must not pass (should_pass)");
}

static str_t judge_text(const struct record_builder *builder)
{
	const struct record_judge_score *relevance = builder->scored->judge.relevance;
	return arena_printf(builder->facts->arena, "judge%s: %.*f/100, " STR_FMT,
			    builder->scored->judge.panel_count ? "s" : "", panel_decimals(relevance->score),
			    relevance->score, STR_ARG(relevance->reason));
}

static str_t correctness_text(const struct record_builder *builder)
{
	const struct record_judge_score *correctness = builder->scored->judge.correctness;
	return arena_printf(builder->facts->arena, "judge%s: correctness %.*f against the truth, " STR_FMT,
			    builder->scored->judge.panel_count ? "s" : "",
			    builder->scored->judge.panel_count ? 2 : 1, correctness->score,
			    STR_ARG(correctness->reason));
}

/* Why technical is what it is, but for our own errors, which are reasons of their own. */
static str_t cause_of_technical(const struct record_builder *builder)
{
	const struct record_analysis *analysis = &builder->facts->analysis;
	const struct upstream_diagnostic *upstream = builder->facts->query->diagnostic;
	if (analysis->technical.value >= 100)
		return STR("the form of the SQL alone was scored, which makes MEDIUM at most");
	if (analysis->errors_count > 0 || !analysis->sql.valid)
		return STR_NONE;
	if (upstream && upstream->errors_count > 0)
		return arena_printf(builder->facts->arena, "upstream: " STR_FMT,
				    STR_ARG(record_foreign_message(builder, upstream->errors[0])));
	if (analysis->sql.diagnostics_count > 0)
		return record_message(builder, analysis->sql.diagnostics[0].message);
	return upstream && !upstream->valid ? STR("upstream: not valid") : STR_NONE;
}

/* What made the factor that limits as low as it is; or nothing. */
static str_t cause_of_limit(const struct record_builder *builder)
{
	const struct record_analysis *analysis = &builder->facts->analysis;
	const struct record_confidence *confidence = &builder->scored->confidence;
	struct arena *arena = builder->facts->arena;
	str_t factor = confidence->limiting_factor;
	if (str_is(factor, "technical"))
		return cause_of_technical(builder);
	if (str_is(factor, "retrieval"))
		return str_from(retrieval_interpretation_text(analysis->retrieval.interpretation));
	if (str_is(factor, "advisory"))
		return arena_printf(arena,
				    "retrieval " SHARE_FMT " of 0.4, sources " SHARE_FMT
				    " of 0.3, response " SHARE_FMT " of 0.3",
				    SHARE_ARG(confidence->advisory->retrieval_quality),
				    SHARE_ARG(confidence->advisory->source_quality),
				    SHARE_ARG(confidence->advisory->response_quality));
	if (str_is(factor, "agreement") && analysis->agreement_error == ERR_ANSWER_FAILED)
		return STR("the answer does not run");
	if (str_is(factor, "agreement"))
		return arena_printf(arena, "of %" PRId64 " texts for the question that share agrees",
				    confidence->agreement->texts);
	if (str_is(factor, "generator"))
		return STR("the generator's own estimate");
	return STR_NONE;
}

/* `brief`: without what made the factor that limits, which confidence itself has. */
static str_t confidence_text(const struct record_builder *builder, bool brief)
{
	const struct record_confidence *confidence = &builder->scored->confidence;
	struct arena *arena = builder->facts->arena;
	if (builder->facts->analysis.level_by_probability)
		return arena_printf(
			arena, "right with probability " SHARE_FMT " (" SHARE_FMT " to " SHARE_FMT ")",
			SHARE_ARG(confidence->probability->value), SHARE_ARG(confidence->probability->low),
			SHARE_ARG(confidence->probability->high));
	str_t cause = brief ? STR_NONE : cause_of_limit(builder);
	return arena_printf(arena, "confidence " SHARE_FMT ", limited by " STR_FMT "%s" STR_FMT,
			    SHARE_ARG(confidence->overall.value), STR_ARG(confidence->limiting_factor),
			    str_present(cause) ? ": " : "", STR_ARG(cause));
}

/* The score, and what it was made of. */
static str_t not_passed_text(const struct record_builder *builder)
{
	const struct record_evaluation *evaluation = builder->scored->evaluation;
	struct buf text = BUF_INIT;
	if (!str_is(evaluation->failed_by, "score"))
		return STR("nothing that tells right from wrong could be computed");
	buf_printf(&text, "correctness %.2f is below the mark %.2f: structure %.2f", evaluation->score,
		   builder->facts->config->evaluation.pass_score, builder->scored->structure.structural);
	if (builder->semantic.state == METRIC_COMPUTED)
		buf_printf(&text, ", meaning %.2f", builder->semantic.value);
	if (builder->correctness.set || builder->relevance.set)
		buf_printf(&text, ", judge %.2f",
			   evaluation_judge(builder->correctness, builder->relevance).value);
	if (builder->result.state == METRIC_COMPUTED)
		buf_printf(&text, ", result %.2f", builder->result.value);
	str_t named = arena_str(builder->facts->arena, buf_str(&text));
	buf_free(&text);
	return named;
}

static str_t retrieval_text(const struct record_builder *builder)
{
	const struct retrieval_score *retrieval = &builder->facts->analysis.retrieval;
	return arena_printf(builder->facts->arena, "retrieval %.2f: %s, %s", retrieval->confidence,
			    retrieval_interpretation_text(retrieval->interpretation),
			    retrieval_action_text(retrieval->interpretation));
}

static str_t text_of(const struct record_builder *builder, enum disposition_finding finding, bool decides)
{
	const struct record_facts *facts = builder->facts;
	switch (finding) {
	case FINDING_UNSAFE:
		return unsafe_text(builder);
	case FINDING_REJECTION_EXPECTED:
		return rejection_text(builder);
	case FINDING_INVALID:
		return invalid_text(builder);
	case FINDING_SQL_REFUSED:
	case FINDING_SQL_ERROR:
		return errors_of_sql(builder, finding);
	case FINDING_UNKNOWN_TABLE:
		return unknown_table_text(builder);
	case FINDING_EXECUTION_FAILED:
		return failure_text(builder);
	case FINDING_EXECUTION_TIMED_OUT:
		return summary_of_result(builder, "the query failed");
	case FINDING_RESULT_WRONG:
	case FINDING_RESULT_PARTLY_RIGHT:
		return summary_of_result(builder, "the result differs from the truth's");
	case FINDING_RESULT_DIFFERS:
		return arena_printf(
			facts->arena, STR_FMT "; the truth may be that of another question (similarity %.2f)",
			STR_ARG(summary_of_result(builder, "the result differs from the truth's")),
			facts->analysis.similarity.value);
	case FINDING_RESULT_INCONCLUSIVE:
		return arena_printf(facts->arena, "the comparison with the truth proves nothing: " STR_FMT,
				    STR_ARG(summary_of_result(builder, "not all of it could be compared")));
	case FINDING_GROUND_TRUTH_FAILED:
		return truth_failed_text(builder);
	case FINDING_TARGET_UNKNOWN:
	case FINDING_TARGET_UNAVAILABLE:
		return unavailable_text(builder);
	case FINDING_JUDGE_REJECT:
	case FINDING_JUDGE_WARN:
	case FINDING_JUDGE_LOW_RELEVANCE:
		return judge_text(builder);
	case FINDING_JUDGE_INCORRECT:
	case FINDING_JUDGE_DISAGREES:
	case FINDING_JUDGE_PARTLY_CORRECT:
		return correctness_text(builder);
	case FINDING_SAFETY_UNKNOWN:
		return arena_printf(facts->arena, "the query cannot be proven safe: " STR_FMT,
				    STR_ARG(builder->scored->safety.doubt));
	case FINDING_RETRIEVAL_WEAK:
	case FINDING_RETRIEVAL_MODERATE:
		return retrieval_text(builder);
	case FINDING_NOT_PASSED:
		return not_passed_text(builder);
	case FINDING_CONFIDENCE_NONE:
		return no_confidence_text(builder);
	case FINDING_CONFIDENCE_ADVISED:
		return arena_printf(facts->arena, "below the %.2f that advisories ask for",
				    facts->config->advisories.low_confidence_below);
	case FINDING_CONFIDENCE_MEDIUM:
	case FINDING_CONFIDENCE_HIGH:
		return confidence_text(builder, !decides);
	case FINDING_CONFIDENCE_VERY_LOW:
	case FINDING_CONFIDENCE_LOW:
	case FINDING_COUNT_:
		break;
	}
	return confidence_text(builder, false);
}

void record_build_disposition(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	struct disposition *disposition = &facts->disposition;
	const struct record_evaluation *evaluation = builder->scored->evaluation;
	builder->known.not_passed = evaluation && !evaluation->passed;
	disposition_of(&builder->known, disposition);
	struct record_disposition *record = ARENA_NEW(facts->arena, struct record_disposition);
	record->action = (int)disposition->action;
	record->reasons = ARENA_ARRAY(facts->arena, struct record_recommendation, disposition->count);
	record->reasons_count = disposition->count;
	for (size_t i = 0; i < disposition->count; i++)
		record->reasons[i] = (struct record_recommendation){
			str_from(disposition_finding_code(disposition->findings[i])),
			cut(builder, text_of(builder, disposition->findings[i], i == 0)),
		};
	builder->scored->disposition = record;
}
