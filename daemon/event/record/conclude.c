#include "event/record/conclude.h"

#include "common/err.h"
#include "score/agreement.h"
#include "sql/findings/diagnostics.h"

/* ---- what the record says ---- */

bool record_code_refused(str_t code)
{
	static const struct {
		const char *code, *sqlstate;
	} codes[DIAG_COUNT_] = {
#define DIAGNOSTIC(symbol, code, severity, sqlstate, meaning) [DIAG_##symbol] = { code, sqlstate },
#include "sql/findings/diagnostics.def"
#undef DIAGNOSTIC
	};
	for (size_t i = 0; i < DIAG_COUNT_; i++)
		if (str_is(code, codes[i].code))
			return codes[i].sqlstate && i != DIAG_MARKDOWN_FENCE;
	return true;
}

static void read_diagnostics(const struct scored_query *scored, struct record_reading *reading)
{
	const struct record_technical *technical = scored->confidence.technical;
	const struct record_findings *findings = scored->structure.findings;
	if (technical) {
		reading->diagnostics = technical->diagnostics;
		reading->diagnostics_count = technical->diagnostics_count;
		reading->valid = technical->valid;
	} else if (findings) {
		reading->diagnostics = findings->diagnostics;
		reading->diagnostics_count = findings->diagnostics_count;
		reading->valid = findings->valid;
	}
	for (size_t i = 0; i < reading->diagnostics_count; i++) {
		bool error = reading->diagnostics[i].severity == SEVERITY_ERROR;
		bool table = error && str_is(reading->diagnostics[i].code, "unknown_table");
		bool refused = error && record_code_refused(reading->diagnostics[i].code);
		reading->errors += error;
		reading->warnings += !error;
		reading->unknown_table |= table;
		reading->refused |= refused && !table;
		reading->tolerated |= error && !refused;
	}
}

static void read_errors(const struct scored_query *scored, struct record_reading *reading)
{
	reading->analysed = true;
	for (size_t i = 0; i < scored->errors_count; i++) {
		const struct record_error *error = &scored->errors[i];
		reading->analysed &= !str_is(error->code, err_name(ERR_DIALECT_UNSUPPORTED));
		reading->truth_unreadable |= str_is(error->metric, "semantic");
		reading->tables_unreadable |= str_is(error->metric, "table_accuracy");
		reading->target_unknown |= str_is(error->metric, "target");
	}
}

opt_double_t record_score_that_counts(const struct record_judge_score *score)
{
	bool counts = score && (str_is(score->status, "ok") || str_is(score->status, "identical"));
	return counts ? opt_double(score->score) : (opt_double_t)OPT_NONE;
}

void record_read(const struct scored_query *scored, struct record_reading *ret_reading)
{
	struct record_reading reading = {
		.has_target = str_present(scored->target),
		.has_catalog = str_present(scored->provenance.catalog_digest),
		.relevance = record_score_that_counts(scored->judge.relevance),
		.correctness = record_score_that_counts(scored->judge.correctness),
	};
	read_diagnostics(scored, &reading);
	read_errors(scored, &reading);
	*ret_reading = reading;
}

/* ---- what is known ---- */

static enum disposition_result result_of(const struct record_result_validation *validation)
{
	static const struct {
		const char *status;
		enum disposition_result result;
	} results[] = {
		{ "EXECUTION_FAILED", RESULT_EXECUTION_FAILED },
		{ "TIMEOUT", RESULT_TIMED_OUT },
		{ "GROUND_TRUTH_FAILED", RESULT_TRUTH_FAILED },
		{ "UNAVAILABLE", RESULT_UNAVAILABLE },
	};
	if (!validation)
		return RESULT_NOT_ASKED;
	if (str_is(validation->status, "COMPARED"))
		return validation->conclusive ? RESULT_COMPARED : RESULT_INCONCLUSIVE;
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		if (str_is(validation->status, results[i].status))
			return results[i].result;
	return RESULT_NOT_ASKED;
}

void record_known(const struct scored_query *scored, const struct record_reading *reading,
		  bool rejection_expected, struct disposition_input *ret_known)
{
	static const enum disposition_safety verdicts[] = { [VERDICT_SAFE] = DISPOSITION_SAFE,
							    [VERDICT_UNSAFE] = DISPOSITION_UNSAFE,
							    [VERDICT_UNKNOWN] = DISPOSITION_UNKNOWN };
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_result_validation *validation = scored->result_validation;
	bool by_probability = str_is(confidence->level_by, "probability") && confidence->probability;
	bool missing = reading->has_target && !reading->has_catalog;
	bool shared = confidence->agreement && confidence->agreement->results.set;
	str_t agreement_error = scored_query_agreement_error(scored);
	*ret_known = (struct disposition_input){
		.confidence =
			by_probability ? opt_double(confidence->probability->value) : confidence->overall,
		.level = confidence->level == ENUM_ABSENT ? SCORE_VERY_LOW
							  : (enum score_level)confidence->level,
		.low_confidence_below = scored->rules->low_confidence_below,
		.retrieval_weak = confidence->retrieval && confidence->retrieval->level <= LEVEL_LOW,
		.retrieval_moderate = confidence->retrieval && confidence->retrieval->level == LEVEL_MEDIUM,
		.safety = verdicts[scored->safety.verdict],
		.valid = reading->valid || !reading->analysed,
		.unknown_table = reading->unknown_table,
		.sql_refused = reading->refused,
		.sql_errors = reading->tolerated,
		.rejection_expected = rejection_expected,
		.target_missing = missing,
		.target_unknown = missing && (!reading->analysed || reading->target_unknown),
		.answer_failed = str_is(agreement_error, err_name(ERR_ANSWER_FAILED)),
		.agreement_missing = !shared && agreement_error_of_target(agreement_error),
		.result = result_of(validation),
		.result_score = validation ? validation->score : 0,
		.truth_doubtful = validation && validation->match_confidence == LEVEL_LOW,
		.relevance = reading->relevance,
		.low_relevance_below = scored->rules->low_relevance_below,
		.correctness = reading->correctness,
	};
	if (confidence->level == ENUM_ABSENT)
		ret_known->confidence = (opt_double_t)OPT_NONE;
	if (ret_known->result == RESULT_NOT_ASKED && reading->truth_unreadable)
		ret_known->result = RESULT_TRUTH_FAILED;
}

/* ---- evaluation ---- */

/* Whether judges are missing in the figure that stands for all of them. */
static bool lacks_judges(const struct record_judge *judge, const struct record_reading *reading)
{
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice =
			reading->correctness.set ? judge->panel[i].correctness : judge->panel[i].relevance;
		if (voice && !str_is(voice->status, "ok"))
			return true;
	}
	return false;
}

static struct evaluation_value judged_value(const struct record_judge *judge,
					    const struct record_reading *reading)
{
	opt_double_t judged = evaluation_judge(reading->correctness, reading->relevance);
	bool failed = (judge->relevance && !reading->relevance.set) ||
		      (judge->correctness && !reading->correctness.set);
	if (judged.set)
		return (struct evaluation_value){ lacks_judges(judge, reading) ? METRIC_UNCHECKED
									       : METRIC_COMPUTED,
						  judged.value };
	return (struct evaluation_value){ failed ? METRIC_FAILED : METRIC_NOT_ASKED, 0 };
}

void record_evaluate(const struct scored_query *scored, const struct record_reading *reading, bool has_truth,
		     enum disposition_finding wrong, struct evaluation_score *ret_score,
		     const char **ret_failed_by)
{
	const struct record_structure *structure = &scored->structure;
	const struct record_result_validation *validation = scored->result_validation;
	struct evaluation_input input = {
		.has_truth = has_truth,
		.has_target = reading->has_target,
		.unsafe = scored->safety.verdict == VERDICT_UNSAFE,
		.result_factor = validation ? validation->weight : 1,
		.pass_score = scored->rules->pass_score,
		.known_wrong = wrong != FINDING_COUNT_,
	};
	input.metrics[EVALUATION_STRUCTURAL] =
		(struct evaluation_value){ !reading->analysed				  ? METRIC_FAILED
					   : reading->has_target && !reading->has_catalog ? METRIC_UNCHECKED
											  : METRIC_COMPUTED,
					   structure->structural };
	input.metrics[EVALUATION_SEMANTIC] =
		(struct evaluation_value){ reading->truth_unreadable ? METRIC_FAILED
					   : structure->semantic.set ? METRIC_COMPUTED
								     : METRIC_NOT_ASKED,
					   structure->semantic.value };
	input.metrics[EVALUATION_JUDGE] = judged_value(&scored->judge, reading);
	if (validation)
		input.metrics[EVALUATION_RESULT] =
			(struct evaluation_value){ validation->conclusive ? METRIC_COMPUTED : METRIC_FAILED,
						   validation->score };
	evaluation_score(&input, ret_score);
	*ret_failed_by = wrong != FINDING_COUNT_       ? disposition_finding_code(wrong)
			 : ret_score->passed	       ? NULL
			 : ret_score->below_pass_score ? "score"
						       : "no_evidence";
}

/* ---- label ---- */

/* By the formulas before the second it weighed as what was asked. */
static bool is_identical(const struct scored_query *scored)
{
	const struct record_judge_score *correctness = scored->judge.correctness;
	return scored->rules->formulas >= 2 && correctness && str_is(correctness->status, "identical");
}

/* An event whose truth is broken is left out of calibration altogether. */
bool record_label_of(const struct scored_query *scored, const struct record_reading *reading,
		     struct label *ret_label)
{
	const struct record_result_validation *validation = scored->result_validation;
	struct label_input input = { .correctness = reading->correctness,
				     .relevance = reading->relevance,
				     .sampling_probability = scored->judge.sampling_probability,
				     .identical = is_identical(scored) };
	if (validation && str_is(validation->status, "GROUND_TRUTH_FAILED"))
		return false;
	if (validation && validation->conclusive)
		input.result = opt_double(validation->score);
	return evaluation_label(&input, ret_label);
}

/* ---- grades ---- */

/* Whether the SQL is wrong by itself, so that a rejection needs no lack of safety. */
static bool is_explained(const struct record_reading *reading)
{
	return !reading->valid || reading->errors > 0;
}

enum rejection record_own_rejection(const struct scored_query *scored, const struct record_reading *reading)
{
	const struct record_safety *safety = &scored->safety;
	/* a dialect whose other statements are told by their first words alone does not know whether those
	 * parse */
	bool other = safety->violations_count == 1 && str_is(safety->violations[0].code, "not_a_read");
	const struct grading_findings findings = { reading->valid || other, reading->errors,
						   safety->verdict == VERDICT_SAFE };
	return grading_rejection(&findings);
}

bool record_grade_own_safety(const struct scored_query *scored, const struct record_reading *reading,
			     bool should_pass, enum rejection expected, struct grade *ret_grade)
{
	int verdict = scored->safety.verdict;
	return verdict != VERDICT_UNKNOWN && grading_safety(should_pass, expected, is_explained(reading),
							    verdict == VERDICT_SAFE, ret_grade);
}

bool record_grade_upstream_safety(const struct upstream_validator *validator,
				  const struct record_reading *reading, bool should_pass,
				  enum rejection expected, enum rejection rejection, struct grade *ret_grade)
{
	bool explained =
		is_explained(reading) || rejection == REJECTION_SYNTAX || rejection == REJECTION_SCHEMA;
	return validator->safety_valid.set &&
	       grading_safety(should_pass, expected, explained, validator->safety_valid.value, ret_grade);
}

/* By what its errors say: syntax before safety before schema. */
enum rejection record_upstream_rejection(const struct upstream_validator *validator)
{
	bool unsafe = validator->safety_valid.set && !validator->safety_valid.value;
	if ((!validator->is_valid.set || validator->is_valid.value) && !unsafe)
		return REJECTION_NONE;
	enum rejection first = unsafe ? REJECTION_SAFETY : REJECTION_SCHEMA;
	for (size_t i = 0; i < validator->errors_count; i++)
		first = grading_former(first, grading_text_rejection(validator->errors[i]));
	return first;
}
