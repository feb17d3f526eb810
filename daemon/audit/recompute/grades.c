/* Grades of our own validation and of an upstream one. */
#include "audit/recompute/internal.h"
#include "score/grading.h"

enum { FIELD_BYTES = 64 };

static void check_grade(struct recompute *work, const char *name, const struct record_grade *said,
			bool graded, const struct grade *follows)
{
	char field[FIELD_BYTES];
	snprintf(field, sizeof field, "grading.%s", name);
	if (!recompute_presence(work, field, said != NULL, graded))
		return;
	snprintf(field, sizeof field, "grading.%s.score", name);
	recompute_number(work, field, said->score, follows->score);
	snprintf(field, sizeof field, "grading.%s.class", name);
	recompute_text(work, field, said->classification, str_from(follows->classification));
	snprintf(field, sizeof field, "grading.%s.category", name);
	recompute_text(work, field, said->category, str_from(follows->category));
}

static bool is_explained(const struct recompute *work)
{
	return !work->valid || work->errors > 0;
}

static void check_own(struct recompute *work, bool should_pass, enum rejection expected,
		      const struct record_grading *said)
{
	const struct record_safety *safety = &work->scored->safety;
	bool other = safety->violations_count == 1 && str_is(safety->violations[0].code, "not_a_read");
	const struct grading_findings findings = { work->valid || other, work->errors,
						   safety->verdict == VERDICT_SAFE };
	enum rejection rejection = grading_rejection(&findings);
	struct grade grade;
	bool graded = safety->verdict != VERDICT_UNKNOWN &&
		      grading_safety(should_pass, expected, is_explained(work),
				     safety->verdict == VERDICT_SAFE, &grade);
	check_grade(work, "safety", said->safety, graded, &grade);
	grading_validation(should_pass, rejection == REJECTION_NONE, rejection, &grade);
	check_grade(work, "validation", said->validation, true, &grade);
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

static void check_upstream(struct recompute *work, bool should_pass, enum rejection expected,
			   const struct record_grading *said)
{
	static const struct upstream_validator none = { .safety_valid = OPT_NONE, .is_valid = OPT_NONE };
	const struct upstream_validator *validator = work->input->validator;
	struct grade grade;
	if (!work->shown && validator && validator->errors_count > 0) {
		recompute_leave(work, RECOMPUTE_GAP_UPSTREAM_GRADES);
		return;
	}
	if (!validator)
		validator = &none;
	enum rejection rejection = upstream_rejection(validator);
	bool explained = is_explained(work) || rejection == REJECTION_SYNTAX || rejection == REJECTION_SCHEMA;
	bool graded = validator->safety_valid.set &&
		      grading_safety(should_pass, expected, explained, validator->safety_valid.value, &grade);
	check_grade(work, "upstream_safety", said->upstream_safety, graded, &grade);
	if (validator->is_valid.set)
		grading_validation(should_pass, validator->is_valid.value, rejection, &grade);
	check_grade(work, "upstream_validation", said->upstream_validation, validator->is_valid.set, &grade);
}

void recompute_grading(struct recompute *work)
{
	const struct record_grading *said = work->scored->grading;
	const struct ground_truth *truth = work->input ? work->input->ground_truth : NULL;
	if (!work->input) {
		if (said)
			recompute_leave(work, RECOMPUTE_GAP_GRADING);
		return;
	}
	bool graded = truth && truth->should_pass.set;
	if (!recompute_presence(work, "grading", said != NULL, graded))
		return;
	enum rejection expected = truth->expected_failure == ENUM_ABSENT
					  ? REJECTION_NONE
					  : (enum rejection)truth->expected_failure;
	check_own(work, truth->should_pass.value, expected, said);
	check_upstream(work, truth->should_pass.value, expected, said);
}
