#include "event/record/builder.h"

#include "common/log.h"

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

static void grade_own(struct record_builder *builder, bool should_pass, enum rejection expected,
		      struct record_grading *grading)
{
	const struct scored_query *scored = builder->scored;
	enum rejection rejection = record_own_rejection(scored, &builder->reading);
	struct grade grade;
	if (record_grade_own_safety(scored, &builder->reading, should_pass, expected, &grade))
		grading->safety = record_grade(builder->facts, &grade, "our own check");
	grading_validation(should_pass, rejection == REJECTION_NONE, rejection, &grade);
	grading->validation = record_grade(builder->facts, &grade, "our own validation");
}

static void grade_upstream(struct record_builder *builder, bool should_pass, enum rejection expected,
			   struct record_grading *grading)
{
	struct record_facts *facts = builder->facts;
	const struct upstream_validator *validator = facts->query->validator;
	struct grade grade;
	if (!validator)
		return;
	enum rejection rejection = record_upstream_rejection(validator);
	if (record_grade_upstream_safety(validator, &builder->reading, should_pass, expected, rejection,
					 &grade))
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

void record_build_evaluation(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const char *failed_by;
	struct evaluation_score score;
	record_evaluate(builder->scored, &builder->reading, builder->has_truth, builder->wrong, &score,
			&failed_by);
	if (!score.score.set)
		return;
	struct record_evaluation *evaluation = ARENA_NEW(facts->arena, struct record_evaluation);
	*evaluation = (struct record_evaluation){ score.score.value,
						  score.passed,
						  score.degraded,
						  ARENA_ARRAY(facts->arena, struct record_weight,
							      EVALUATION_METRIC_COUNT_),
						  0,
						  str_from(failed_by) };
	for (unsigned i = 0; i < EVALUATION_METRIC_COUNT_; i++)
		if (score.weights[i] > 0)
			evaluation->weights[evaluation->weights_count++] = (struct record_weight){
				str_from(evaluation_metric_name((enum evaluation_metric)i)), score.weights[i]
			};
	builder->scored->evaluation = evaluation;
}

void record_build_label(struct record_builder *builder)
{
	struct label label;
	if (!record_label_of(builder->scored, &builder->reading, &label))
		return;
	builder->scored->label = ARENA_NEW(builder->facts->arena, struct record_label);
	*builder->scored->label =
		(struct record_label){ label.value, label.correct, (int)label.origin, label.weight };
}
