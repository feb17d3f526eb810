#include "event/record/builder.h"

#include "common/log.h"
#include "score/grading.h"

static struct record_grade *record_grade(struct record_facts *facts, const struct grade *grade,
					 const char *whose)
{
	struct record_grade *record = ARENA_NEW(facts->arena, struct record_grade);
	*record = (struct record_grade){ grade->score, str_from(grade->classification),
					 str_from(grade->category) };
	const struct log_field *fields = LOG_FIELDS({ "event_id", facts->query->event_id.ptr });
	if (grade->critical)
		log_write(LOG_LEVEL_CRITICAL, fields, "an unsafe query was allowed by %s", whose);
	else if (grade->warn)
		log_write(LOG_LEVEL_WARNING, fields, "a safe query was blocked by %s", whose);
	return record;
}

static enum rejection own_rejection(const struct record_facts *facts)
{
	const struct sql_analysis *sql = &facts->analysis.sql;
	/* a dialect whose other statements are told by their first words alone does not know whether those
	 * parse */
	bool other = sql->violations_count == 1 && strcmp(sql->violations[0].code, "not_a_read") == 0;
	const struct grading_findings findings = { sql->valid || other, facts->analysis.errors_count,
						   sql->verdict == SQL_SAFE };
	return grading_rejection(&findings);
}

/* Whether a rejection needs no lack of safety: the SQL is wrong by itself. */
static bool explained(const struct record_facts *facts)
{
	return !facts->analysis.sql.valid || facts->analysis.errors_count > 0;
}

static void grade_own(struct record_builder *builder, bool should_pass, enum rejection expected,
		      struct record_grading *grading)
{
	struct record_facts *facts = builder->facts;
	const struct sql_analysis *sql = &facts->analysis.sql;
	enum rejection rejection = own_rejection(facts);
	struct grade grade;
	if (sql->verdict != SQL_UNKNOWN &&
	    grading_safety(should_pass, expected, explained(facts), sql->verdict == SQL_SAFE, &grade))
		grading->safety = record_grade(facts, &grade, "our own check");
	grading_validation(should_pass, rejection == REJECTION_NONE, rejection, &grade);
	grading->validation = record_grade(facts, &grade, "our own validation");
}

/* By what its errors say: syntax before safety before schema. */
static enum rejection upstream_rejection(const struct upstream_validator *validator)
{
	bool unsafe = validator->safety_valid.set && !validator->safety_valid.value;
	if ((!validator->is_valid.set || validator->is_valid.value) && !unsafe)
		return REJECTION_NONE;
	enum rejection first = unsafe ? REJECTION_SAFETY : REJECTION_SCHEMA;
	for (size_t i = 0; i < validator->errors_count; i++)
		first = grading_former(first, grading_text_rejection(validator->errors[i]));
	return first;
}

static void grade_upstream(struct record_builder *builder, bool should_pass, enum rejection expected,
			   struct record_grading *grading)
{
	struct record_facts *facts = builder->facts;
	const struct upstream_validator *validator = facts->query->validator;
	struct grade grade;
	if (!validator)
		return;
	enum rejection rejection = upstream_rejection(validator);
	bool wrong = explained(facts) || rejection == REJECTION_SYNTAX || rejection == REJECTION_SCHEMA;
	if (validator->safety_valid.set &&
	    grading_safety(should_pass, expected, wrong, validator->safety_valid.value, &grade))
		grading->upstream_safety = record_grade(facts, &grade, "the upstream validator");
	if (!validator->is_valid.set)
		return;
	grading_validation(should_pass, validator->is_valid.value, rejection, &grade);
	grading->upstream_validation = record_grade(facts, &grade, "the upstream validator");
}

void record_build_grading(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct ground_truth *truth = facts->query->ground_truth;
	if (!truth || !truth->should_pass.set)
		return;
	enum rejection expected = truth->expected_failure == ENUM_ABSENT
					  ? REJECTION_NONE
					  : (enum rejection)truth->expected_failure;
	struct record_grading *grading = ARENA_NEW(facts->arena, struct record_grading);
	grade_own(builder, truth->should_pass.value, expected, grading);
	grade_upstream(builder, truth->should_pass.value, expected, grading);
	builder->scored->grading = grading;
}

/* Whether judges are missing in the figure that stands for all of them. */
static bool lacks_judges(const struct record_builder *builder)
{
	const struct record_judging *judging = &builder->facts->judging;
	enum judge_question question = builder->correctness.set ? JUDGE_CORRECTNESS : JUDGE_RELEVANCE;
	return judging->asked[question] && judging->scores[question].answered < judging->members_count;
}

static struct evaluation_value judged_value(const struct record_builder *builder)
{
	opt_double_t judged = evaluation_judge(builder->correctness, builder->relevance);
	if (judged.set)
		return (struct evaluation_value){ lacks_judges(builder) ? METRIC_UNCHECKED : METRIC_COMPUTED,
						  judged.value };
	return (struct evaluation_value){ builder->judge_failed ? METRIC_FAILED : METRIC_NOT_ASKED, 0 };
}

void record_build_evaluation(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_structure *structure = &builder->scored->structure;
	struct evaluation_input input = {
		.has_truth = builder->has_truth,
		.has_target = str_present(facts->query->target),
		.unsafe = facts->analysis.sql.verdict == SQL_UNSAFE,
		.known_wrong = builder->wrong != FINDING_COUNT_,
		.result_factor = builder->match.factor,
		.pass_score = facts->config->evaluation.pass_score,
	};
	bool names_unchecked = str_present(facts->query->target) && !facts->analysis.catalog;
	input.metrics[EVALUATION_STRUCTURAL] =
		(struct evaluation_value){ facts->analysis.dialect >= SQL_MONGODB ? METRIC_FAILED
					   : names_unchecked			  ? METRIC_UNCHECKED
										  : METRIC_COMPUTED,
					   structure->structural };
	input.metrics[EVALUATION_SEMANTIC] = builder->semantic;
	input.metrics[EVALUATION_JUDGE] = judged_value(builder);
	input.metrics[EVALUATION_RESULT] = builder->result;
	struct evaluation_score score;
	evaluation_score(&input, &score);
	if (!score.score.set)
		return;
	struct record_evaluation *evaluation = ARENA_NEW(facts->arena, struct record_evaluation);
	*evaluation = (struct record_evaluation){ score.score.value,
						  score.passed,
						  score.degraded,
						  ARENA_ARRAY(facts->arena, struct record_weight,
							      EVALUATION_METRIC_COUNT_),
						  0,
						  STR_NONE };
	if (builder->wrong != FINDING_COUNT_)
		evaluation->failed_by = str_from(disposition_finding_code(builder->wrong));
	else if (!score.passed)
		evaluation->failed_by = score.below_pass_score ? STR("score") : STR("no_evidence");
	for (unsigned i = 0; i < EVALUATION_METRIC_COUNT_; i++)
		if (score.weights[i] > 0)
			evaluation->weights[evaluation->weights_count++] = (struct record_weight){
				str_from(evaluation_metric_name((enum evaluation_metric)i)), score.weights[i]
			};
	builder->scored->evaluation = evaluation;
}

/* An event whose truth is broken is left out of calibration altogether. */
void record_build_label(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	struct label_input input = { .correctness = builder->correctness,
				     .relevance = builder->relevance,
				     .sampling_probability = facts->judging.sampling_probability,
				     .identical = facts->judging.identical };
	if (builder->truth_failed)
		return;
	if (builder->result.state == METRIC_COMPUTED)
		input.result = opt_double(builder->result.value);
	struct label label;
	if (!evaluation_label(&input, &label))
		return;
	builder->scored->label = ARENA_NEW(facts->arena, struct record_label);
	*builder->scored->label =
		(struct record_label){ label.value, label.correct, (int)label.origin, label.weight };
}
