#include "event/record/reason.h"

#include "common/buf.h"
#include "common/err.h"
#include "event/record/stage.h"
#include "judge/panel.h"

#include <inttypes.h>
#include <math.h>

/* Bytes of one reason. */
#define MAX_REASON_BYTES 512

/* Errors that a reason names. */
#define ERRORS_NAMED 3

/* A share with two decimals. Every event has one or two of these: printf's own take a microsecond each. */
#define SHARE_FMT	 "%ld.%02ld"
#define SHARE_ARG(value) lround((value)*100) / 100, lround((value)*100) % 100

/* What the parts of a text are made of. */
struct reason_parts {
	const struct reason_source *source;
	const struct scored_query *scored;
	struct arena *arena;
};

/* The message of the first error of a metric and code, or none; NULL: of any. */
static str_t error_of(const struct reason_parts *reason, const char *metric, err_t code)
{
	const struct scored_query *scored = reason->scored;
	for (size_t i = 0; i < scored->errors_count; i++)
		if ((!metric || str_is(scored->errors[i].metric, metric)) &&
		    (!code || str_is(scored->errors[i].code, err_name(code))))
			return scored->errors[i].message;
	return STR_NONE;
}

/* ---- the SQL ---- */

/* That the dialect is none that is analysed, without what to publish instead; or absent. */
static str_t dialect_error(const struct reason_parts *reason)
{
	str_t error = error_of(reason, "technical", ERR_DIALECT_UNSUPPORTED);
	const char *more = str_present(error) ? memmem(error.ptr, error.len, "; publish", 9) : NULL;
	return more ? arena_text(reason->arena, error.ptr, (size_t)(more - error.ptr)) : error;
}

/* Whether it is an error of that finding. */
static bool is_of(const struct record_diagnostic *diagnostic, enum disposition_finding finding)
{
	bool table = str_is(diagnostic->code, "unknown_table");
	if (diagnostic->severity != SEVERITY_ERROR)
		return false;
	switch (finding) {
	case FINDING_UNKNOWN_TABLE:
		return table;
	case FINDING_SQL_REFUSED:
		return !table && record_code_refused(diagnostic->code);
	case FINDING_SQL_ERROR:
		return !record_code_refused(diagnostic->code);
	default:
		return true;
	}
}

/* What the errors of a finding say: the first ones, and how many more there are. */
static str_t errors_of_sql(const struct reason_parts *reason, enum disposition_finding finding)
{
	const struct record_reading *reading = reason->source->reading;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	size_t count = 0;
	for (size_t i = 0; i < reading->diagnostics_count; i++) {
		if (!is_of(&reading->diagnostics[i], finding))
			continue;
		if (count++ < ERRORS_NAMED)
			buf_printf(&text, "%s" STR_FMT, count > 1 ? "; " : "",
				   STR_ARG(reading->diagnostics[i].message));
	}
	if (count > ERRORS_NAMED)
		buf_printf(&text, " (errors: %zu)", count);
	return count > 0 ? arena_str(reason->arena, buf_str(&text))
			 : STR("the text is not exactly one statement");
}

static str_t invalid_text(const struct reason_parts *reason)
{
	const struct record_reading *reading = reason->source->reading;
	int64_t offset = reading->diagnostics_count > 0 ? reading->diagnostics[0].offset : -1;
	str_t errors = errors_of_sql(reason, FINDING_INVALID);
	if (!reason->source->dialect)
		return STR_NONE;
	if (offset <= 0)
		return arena_printf(reason->arena, "no statement of %s: " STR_FMT, reason->source->dialect,
				    STR_ARG(errors));
	/* a hint follows the error that it is about */
	const char *hint = memmem(errors.ptr, errors.len, "; instead of ", 13);
	size_t head = hint ? (size_t)(hint - errors.ptr) : errors.len;
	return arena_printf(reason->arena, "no statement of %s: %.*s at byte %" PRId64 "%.*s",
			    reason->source->dialect, (int)head, errors.ptr, offset, (int)(errors.len - head),
			    errors.ptr + head);
}

/* The dialect, where that is why nothing is known of the SQL. */
static str_t refused_text(const struct reason_parts *reason, enum disposition_finding finding)
{
	str_t why = dialect_error(reason);
	return str_present(why) ? why : errors_of_sql(reason, finding);
}

/* How old the knowledge is that a relation does not exist. */
static str_t unknown_table_text(const struct reason_parts *reason)
{
	opt_double_t age_s = reason->scored->provenance.catalog_age_s;
	str_t errors = errors_of_sql(reason, FINDING_UNKNOWN_TABLE);
	if (!age_s.set)
		return errors;
	return arena_printf(reason->arena, STR_FMT " (catalog read %" PRId64 " s ago)", STR_ARG(errors),
			    (int64_t)age_s.value);
}

str_t reason_word(str_t sql)
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

const struct record_violation *reason_violation(const struct record_safety *safety)
{
	static const char *const gravest[] = { "network_access", "file_access", "dangerous_function",
					       "not_a_read" };
	for (size_t k = 0; k < sizeof gravest / sizeof *gravest; k++)
		for (size_t i = 0; i < safety->violations_count; i++)
			if (str_is(safety->violations[i].code, gravest[k]))
				return &safety->violations[i];
	return safety->violations_count > 0 ? &safety->violations[0] : NULL;
}

static bool str_holds(str_t text, str_t part)
{
	return part.len == 0 || memmem(text.ptr, text.len, part.ptr, part.len);
}

static str_t doubt_text(const struct reason_parts *reason)
{
	const struct record_reading *reading = reason->source->reading;
	return arena_printf(reason->arena, "the query cannot be proven safe: " STR_FMT "%s",
			    STR_ARG(reason->scored->safety.doubt),
			    reading->has_target || reading->has_catalog || !reading->analysed
				    ? ""
				    : " (the event names no target)");
}

/* The codes of those that are not named yet, each once. */
static void append_other_violations(const struct record_safety *safety, const struct record_violation *named,
				    struct buf *out)
{
	bool first = true;
	for (size_t i = 0; i < safety->violations_count; i++) {
		str_t code = safety->violations[i].code;
		size_t k = 0;
		while (k < i && !str_equal(code, safety->violations[k].code))
			k++;
		if (k < i || str_equal(code, named->code))
			continue;
		buf_printf(out, "%s" STR_FMT, first ? "; also " : ", ", STR_ARG(code));
		first = false;
	}
}

static str_t unsafe_text(const struct reason_parts *reason)
{
	const struct record_safety *safety = &reason->scored->safety;
	if (safety->violations_count == 0)
		return STR("the query is unsafe, so assayd did not run it");
	const struct record_violation *gravest = reason_violation(safety);
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	str_t word = str_is(gravest->code, "not_a_read") ? reason->source->word : STR("");
	if (!str_present(word))
		return STR_NONE;
	bool says = str_holds(gravest->detail, word);
	buf_printf(&text,
		   "the query is unsafe, so assayd did not run it: " STR_FMT " (" STR_FMT "%s" STR_FMT ")",
		   STR_ARG(gravest->code), STR_ARG(gravest->detail), says ? "" : ": ",
		   STR_ARG(says ? STR("") : word));
	append_other_violations(safety, gravest, &text);
	return arena_str(reason->arena, buf_str(&text));
}

/* ---- what was run ---- */

static str_t summary_of_result(const struct reason_parts *reason, const char *otherwise)
{
	const struct record_result_validation *validation = reason->scored->result_validation;
	return validation && validation->explanation ? validation->explanation->summary : str_from(otherwise);
}

/* Why what the candidates return is not known. */
static str_t agreement_error(const struct reason_parts *reason)
{
	const struct scored_query *scored = reason->scored;
	str_t code = scored_query_agreement_error(scored);
	for (size_t i = 0; i < scored->errors_count && str_present(code); i++)
		if (str_is(scored->errors[i].metric, "agreement") && str_equal(scored->errors[i].code, code))
			return scored->errors[i].message;
	return STR_NONE;
}

static str_t failure_text(const struct reason_parts *reason)
{
	return reason->source->known->result == RESULT_EXECUTION_FAILED
		       ? summary_of_result(reason, "the query failed")
		       : agreement_error(reason);
}

static str_t differs_text(const struct reason_parts *reason)
{
	if (!reason->source->event_known)
		return STR_NONE;
	return arena_printf(reason->arena,
			    STR_FMT "; the truth may be that of another question (similarity %.2f)",
			    STR_ARG(summary_of_result(reason, "the result differs from the truth's")),
			    reason->source->similarity.value);
}

static str_t truth_failed_text(const struct reason_parts *reason)
{
	const struct record_result_validation *validation = reason->scored->result_validation;
	bool reported =
		validation && validation->explanation && str_present(validation->explanation->message);
	str_t why = error_of(reason, evaluation_metric_name(EVALUATION_SEMANTIC), ERR_OK);
	if (!str_present(why))
		why = error_of(reason, stage_name(STAGE_RESULT), ERR_OK);
	if (str_present(why) && !reported)
		return why; /* it says what to do */
	return arena_printf(reason->arena, STR_FMT "; fix the ground truth",
			    STR_ARG(summary_of_result(reason, "the ground truth failed")));
}

bool reason_target_denied(const struct scored_query *scored)
{
	const struct record_result_validation *validation = scored->result_validation;
	const char *denied = err_name(ERR_TARGET_DENIED);
	if (str_is(scored_query_agreement_error(scored), denied))
		return true;
	return validation && validation->explanation && str_is(validation->explanation->error, denied);
}

/* Why nothing is asked of the target that the event names; it is in the errors. */
static str_t missing_text(const struct reason_parts *reason)
{
	str_t why = dialect_error(reason);
	if (!str_present(why) && reason->source->known->target_unknown)
		why = error_of(reason, "target", ERR_DIALECT_MISMATCH);
	return str_present(why) ? why : STR("its catalog cannot be read");
}

static str_t unavailable_text(const struct reason_parts *reason)
{
	const struct scored_query *scored = reason->scored;
	const struct record_result_validation *validation = scored->result_validation;
	str_t why = validation && validation->explanation ? validation->explanation->message : STR_NONE;
	bool missing = !reason->source->reading->has_catalog; /* whatever follows from it */
	str_t unread = error_of(reason, "technical", ERR_CATALOG_UNAVAILABLE);
	if (missing && !str_present(unread) && reason->source->known->target_unknown)
		unread = error_of(reason, "target", ERR_TARGET_UNKNOWN);
	if (missing && str_present(unread))
		return unread; /* it names the target */
	if (missing)
		why = missing_text(reason);
	if (!str_present(why) && reason->source->known->agreement_missing)
		why = agreement_error(reason);
	if (!str_present(why))
		why = STR("nothing is known of it");
	if (!missing && reason_target_denied(scored))
		return arena_printf(reason->arena,
				    "assayd's role may not read on target \"" STR_FMT
				    "\" what is needed: " STR_FMT,
				    STR_ARG(scored->target), STR_ARG(why));
	return arena_printf(reason->arena, "target \"" STR_FMT "\" could not be used: " STR_FMT,
			    STR_ARG(scored->target), STR_ARG(why));
}

/* ---- what others said ---- */

static str_t rejection_text(const struct reason_parts *reason)
{
	const struct record_grading *grading = reason->scored->grading;
	if (grading && grading->safety && str_is(grading->safety->classification, "FALSE_NEGATIVE"))
		return STR("assayd calls the query safe, and its ground truth says that it is not "
			   "(should_pass)");
	return STR("the ground truth says that this query must not pass (should_pass)");
}

static str_t judge_text(const struct reason_parts *reason)
{
	const struct record_judge *judge = &reason->scored->judge;
	return arena_printf(reason->arena, "judge%s: %.*f/100, " STR_FMT, judge->panel_count ? "s" : "",
			    panel_decimals(judge->relevance->score), judge->relevance->score,
			    STR_ARG(judge->relevance->reason));
}

static str_t correctness_text(const struct reason_parts *reason)
{
	const struct record_judge *judge = &reason->scored->judge;
	return arena_printf(reason->arena, "judge%s: correctness %.*f against the truth: " STR_FMT,
			    judge->panel_count ? "s" : "", judge->panel_count ? 2 : 1,
			    judge->correctness->score, STR_ARG(judge->correctness->reason));
}

static str_t disagrees_text(const struct reason_parts *reason)
{
	const struct record_judge *judge = &reason->scored->judge;
	return arena_printf(reason->arena,
			    "the result is %sthe truth's, but the judge%s the query incorrect: " STR_FMT,
			    reason->source->known->result_score < 1 ? "for the greater part " : "",
			    judge->panel_count ? "s call" : " calls", STR_ARG(judge->correctness->reason));
}

/* ---- confidence ---- */

static str_t no_confidence_text(const struct reason_parts *reason)
{
	const struct record_reading *reading = reason->source->reading;
	if (!reading->has_target || reading->has_catalog)
		return STR("no confidence: the event has none of the factors");
	return arena_printf(reason->arena, "no confidence: " STR_FMT, STR_ARG(unavailable_text(reason)));
}

/* Whether the level is lower than so much confidence would make it, since nothing else was scored. */
static bool technical_alone(const struct record_confidence *confidence)
{
	return confidence->level < LEVEL_HIGH;
}

/* Why technical is what it is, but for our own errors, which are reasons of their own. False: not known. */
static bool cause_of_technical(const struct reason_parts *reason, str_t *ret_cause)
{
	const struct reason_source *source = reason->source;
	const struct record_reading *reading = source->reading;
	*ret_cause = STR_NONE;
	if (reason->scored->confidence.technical->score >= 100) {
		if (technical_alone(&reason->scored->confidence))
			*ret_cause = STR("the form of the SQL alone was scored, which makes MEDIUM at most");
	} else if (reading->errors > 0 || !reading->valid)
		return true;
	else if (!source->event_known)
		return false;
	else if (str_present(source->upstream_error))
		*ret_cause =
			arena_printf(reason->arena, "upstream: " STR_FMT, STR_ARG(source->upstream_error));
	else if (reading->diagnostics_count > 0)
		*ret_cause = reading->diagnostics[0].message;
	else if (source->upstream && !source->upstream_valid)
		*ret_cause = STR("upstream: not valid");
	return true;
}

#define NOTHING_LACKS 0.9

/* What the advisory confidence lacks the most; "": nothing worth a word. */
static const char *lacking_part(const struct record_advisory_confidence *advisory)
{
	double retrieval = advisory->retrieval_quality / 0.4, sources = advisory->source_quality / 0.3,
	       response = advisory->response_quality / 0.3;
	if (retrieval >= NOTHING_LACKS && sources >= NOTHING_LACKS && response >= NOTHING_LACKS)
		return "";
	if (retrieval <= sources && retrieval <= response)
		return retrieval > 0 ? "what was retrieved fits badly" : "nothing that fits was retrieved";
	if (sources <= response)
		return "what was retrieved is of sources of low standing";
	if (response > 0.5)
		return "the model's reply lacks optional fields";
	return response > 0 ? "the model's reply lacks required fields"
			    : "the model's reply is no JSON object";
}

static str_t cause_of_advisory(const struct record_advisory_confidence *advisory, struct arena *arena)
{
	const char *lacking = lacking_part(advisory);
	return arena_printf(arena,
			    "%s%sretrieval " SHARE_FMT " of 0.4, sources " SHARE_FMT
			    " of 0.3, response " SHARE_FMT " of 0.3%s",
			    lacking, *lacking ? " (" : "", SHARE_ARG(advisory->retrieval_quality),
			    SHARE_ARG(advisory->source_quality), SHARE_ARG(advisory->response_quality),
			    *lacking ? ")" : "");
}

/* How many other texts agree with the answer: by what they return, where that is known. */
static str_t agreement_cause(const struct reason_parts *reason, const struct record_agreement *agreement)
{
	bool by_results = agreement->results.set;
	int64_t texts = agreement->texts - (by_results ? agreement->left_out : 0);
	double share = by_results ? agreement->results.value : agreement->canonical.value;
	int64_t same = llround(share * (double)texts) - 1; /* without the answer */
	const char *verb = by_results ? "return" : "mean";
	if (same <= 0)
		return arena_printf(reason->arena,
				    "none of the %" PRId64
				    " other texts for the question %ss the same as the "
				    "answer",
				    texts - 1, verb);
	return arena_printf(reason->arena,
			    "only %" PRId64 " of the %" PRId64
			    " other texts for the question %s%s the same as "
			    "the answer",
			    same, texts - 1, verb, same == 1 ? "s" : "");
}

/* What made the factor that limits as low as it is; or nothing. False: not known. */
static bool cause_of_limit(const struct reason_parts *reason, str_t *ret_cause)
{
	const struct record_confidence *confidence = &reason->scored->confidence;
	str_t factor = confidence->limiting_factor;
	*ret_cause = STR_NONE;
	if (str_is(factor, "technical") && confidence->technical)
		return cause_of_technical(reason, ret_cause);
	if (str_is(factor, "retrieval") && confidence->retrieval)
		*ret_cause = confidence->retrieval->interpretation_text;
	else if (str_is(factor, "advisory") && confidence->advisory)
		*ret_cause = cause_of_advisory(confidence->advisory, reason->arena);
	else if (str_is(factor, "agreement") && reason->source->known->answer_failed)
		*ret_cause = STR("the answer does not run");
	else if (str_is(factor, "agreement") && confidence->agreement)
		*ret_cause = agreement_cause(reason, confidence->agreement);
	else if (str_is(factor, "generator"))
		*ret_cause = arena_printf(reason->arena, "the model itself gives its SQL %ld %%",
					  lround(confidence->overall.value * 100));
	return true;
}

/* `brief`: without what made the factor that limits, which confidence itself has. */
static str_t confidence_text(const struct reason_parts *reason, bool brief)
{
	const struct record_confidence *confidence = &reason->scored->confidence;
	str_t cause = STR_NONE;
	if (str_is(confidence->level_by, "probability") && confidence->probability)
		return arena_printf(reason->arena,
				    "right with probability " SHARE_FMT " (" SHARE_FMT " to " SHARE_FMT ")",
				    SHARE_ARG(confidence->probability->value),
				    SHARE_ARG(confidence->probability->low),
				    SHARE_ARG(confidence->probability->high));
	if (!brief && !cause_of_limit(reason, &cause))
		return STR_NONE;
	bool limited = confidence->overall.value < 1;
	return arena_printf(reason->arena, "confidence " SHARE_FMT "%s" STR_FMT "%s" STR_FMT,
			    SHARE_ARG(confidence->overall.value), limited ? ", limited by " : "",
			    STR_ARG(limited ? confidence->limiting_factor : STR("")),
			    str_present(cause) ? ": " : "", STR_ARG(cause));
}

static str_t retrieval_text(const struct reason_parts *reason)
{
	const struct record_retrieval *retrieval = reason->scored->confidence.retrieval;
	return arena_printf(reason->arena, "retrieval %.2f: " STR_FMT ", " STR_FMT, retrieval->confidence,
			    STR_ARG(retrieval->interpretation_text), STR_ARG(retrieval->action_text));
}

/* The score, and what it was made of. */
static str_t not_passed_text(const struct reason_parts *reason)
{
	const struct scored_query *scored = reason->scored;
	const struct record_reading *reading = reason->source->reading;
	const struct record_result_validation *validation = scored->result_validation;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	if (!str_is(scored->evaluation->failed_by, "score"))
		return STR("nothing that tells right from wrong could be computed");
	buf_printf(&text, "the evaluation's score %.2f is below the mark %.2f: structure %.2f",
		   scored->evaluation->score, scored->rules->pass_score, scored->structure.structural);
	if (scored->structure.semantic.set && !reading->truth_unreadable)
		buf_printf(&text, ", meaning %.2f", scored->structure.semantic.value);
	if (reading->correctness.set || reading->relevance.set)
		buf_printf(&text, ", judge %.2f",
			   evaluation_judge(reading->correctness, reading->relevance).value);
	if (validation && validation->conclusive)
		buf_printf(&text, ", result %.2f", validation->score);
	return arena_str(reason->arena, buf_str(&text));
}

/* ---- all of them ---- */

/* Why a comparison is not conclusive, as far as it is known. */
static str_t cause_of_doubt(const struct reason_parts *reason)
{
	const struct record_result_validation *validation = reason->scored->result_validation;
	if (validation->explanation && str_present(validation->explanation->message))
		return arena_printf(reason->arena, ", for " STR_FMT,
				    STR_ARG(validation->explanation->message));
	return str_from(validation->limit_cut_tie
				? ", for its LIMIT cuts through rows that may come in any order"
			: validation->nondeterministic ? ", for it does not return the same twice"
			: validation->truncated	       ? ", for not all rows were fetched"
						       : "");
}

static str_t text_of_result(const struct reason_parts *reason, enum disposition_finding finding)
{
	switch (finding) {
	case FINDING_EXECUTION_FAILED:
		return failure_text(reason);
	case FINDING_EXECUTION_TIMED_OUT:
		return summary_of_result(reason, "the query failed");
	case FINDING_RESULT_DIFFERS:
		return differs_text(reason);
	case FINDING_RESULT_INCONCLUSIVE:
		return arena_printf(reason->arena,
				    "the comparison with the truth proves nothing" STR_FMT ": " STR_FMT,
				    STR_ARG(cause_of_doubt(reason)),
				    STR_ARG(summary_of_result(reason, "not all of it could be compared")));
	default:
		return summary_of_result(reason, "the result differs from the truth's");
	}
}

static str_t text_of(const struct reason_parts *reason, enum disposition_finding finding, bool decides)
{
	switch (finding) {
	case FINDING_UNSAFE:
		return unsafe_text(reason);
	case FINDING_REJECTION_EXPECTED:
		return rejection_text(reason);
	case FINDING_INVALID:
		return invalid_text(reason);
	case FINDING_SQL_REFUSED:
	case FINDING_SQL_ERROR:
		return refused_text(reason, finding);
	case FINDING_UNKNOWN_TABLE:
		return unknown_table_text(reason);
	case FINDING_EXECUTION_FAILED:
	case FINDING_EXECUTION_TIMED_OUT:
	case FINDING_RESULT_WRONG:
	case FINDING_RESULT_PARTLY_RIGHT:
	case FINDING_RESULT_DIFFERS:
	case FINDING_RESULT_INCONCLUSIVE:
		return text_of_result(reason, finding);
	case FINDING_GROUND_TRUTH_FAILED:
		return truth_failed_text(reason);
	case FINDING_TARGET_UNKNOWN:
	case FINDING_TARGET_UNAVAILABLE:
		return unavailable_text(reason);
	case FINDING_JUDGE_REJECT:
	case FINDING_JUDGE_WARN:
	case FINDING_JUDGE_LOW_RELEVANCE:
		return judge_text(reason);
	case FINDING_JUDGE_DISAGREES:
		return disagrees_text(reason);
	case FINDING_JUDGE_INCORRECT:
	case FINDING_JUDGE_PARTLY_CORRECT:
		return correctness_text(reason);
	case FINDING_SAFETY_UNKNOWN:
		return doubt_text(reason);
	case FINDING_RETRIEVAL_WEAK:
	case FINDING_RETRIEVAL_MODERATE:
		return retrieval_text(reason);
	case FINDING_NOT_PASSED:
		return not_passed_text(reason);
	case FINDING_CONFIDENCE_NONE:
		return no_confidence_text(reason);
	case FINDING_CONFIDENCE_ADVISED:
		return arena_printf(reason->arena, "below the %.2f that advisories ask for",
				    reason->scored->rules->low_confidence_below);
	case FINDING_CONFIDENCE_MEDIUM:
	case FINDING_CONFIDENCE_HIGH:
		return confidence_text(reason, !decides);
	case FINDING_CONFIDENCE_VERY_LOW:
	case FINDING_CONFIDENCE_LOW:
	case FINDING_COUNT_:
		break;
	}
	return confidence_text(reason, false);
}

str_t reason_text(const struct reason_source *source, enum disposition_finding finding, bool decides,
		  struct arena *arena)
{
	const struct reason_parts reason = { source, source->scored, arena };
	str_t text = text_of(&reason, finding, decides);
	return str_present(text) ? arena_excerpt(arena, text, MAX_REASON_BYTES) : STR_NONE;
}
