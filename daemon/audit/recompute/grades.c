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

static void check_own(struct recompute *work, bool should_pass, enum rejection expected,
		      const struct record_grading *said)
{
	enum rejection rejection = record_own_rejection(work->scored, &work->read);
	struct grade grade;
	bool graded = record_grade_own_safety(work->scored, &work->read, should_pass, expected, &grade);
	check_grade(work, "safety", said->safety, graded, &grade);
	grading_validation(should_pass, rejection == REJECTION_NONE, rejection, &grade);
	check_grade(work, "validation", said->validation, true, &grade);
}

/* What errors whose texts are hidden may say: as the record has it, where that is possible. */
static enum rejection hidden_rejection(const struct upstream_validator *validator,
				       const struct record_grading *said)
{
	static const struct {
		const char *category;
		enum rejection rejection;
	} categories[] = { { "syntax", REJECTION_SYNTAX },
			   { "safety", REJECTION_SAFETY },
			   { "schema", REJECTION_SCHEMA } };
	struct upstream_validator silent = *validator;
	silent.errors_count = 0;
	enum rejection least = record_upstream_rejection(&silent);
	for (size_t i = 0; said->upstream_validation && i < sizeof categories / sizeof *categories; i++)
		if (str_is(said->upstream_validation->category, categories[i].category) &&
		    least != REJECTION_NONE &&
		    grading_former(least, categories[i].rejection) == categories[i].rejection)
			return categories[i].rejection;
	return least;
}

/* Of a verdict on safety alone: whether it is graded may be for what is hidden to say. */
static bool may_be_either(const struct recompute *work, const struct upstream_validator *validator,
			  bool should_pass, enum rejection expected)
{
	struct grade grade;
	return record_grade_upstream_safety(validator, &work->read, should_pass, expected, REJECTION_SYNTAX,
					    &grade) != record_grade_upstream_safety(validator, &work->read,
										    should_pass, expected,
										    REJECTION_SAFETY, &grade);
}

static void check_upstream(struct recompute *work, bool should_pass, enum rejection expected,
			   const struct record_grading *said)
{
	static const struct upstream_validator none = { .safety_valid = OPT_NONE, .is_valid = OPT_NONE };
	const struct upstream_validator *validator = work->input->validator ? work->input->validator : &none;
	bool hidden = !work->shown && validator->errors_count > 0;
	enum rejection rejection =
		hidden ? hidden_rejection(validator, said) : record_upstream_rejection(validator);
	struct grade grade;
	if (hidden)
		recompute_leave(work, RECOMPUTE_GAP_UPSTREAM_GRADES);
	if (hidden && !said->upstream_validation && may_be_either(work, validator, should_pass, expected))
		rejection = said->upstream_safety ? REJECTION_SAFETY : REJECTION_SYNTAX;
	bool graded = record_grade_upstream_safety(validator, &work->read, should_pass, expected, rejection,
						   &grade);
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
