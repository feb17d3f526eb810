/* What all of it comes to: evaluation, label, disposition, recommendations. */
#include "audit/recompute/internal.h"
#include "event/record/facts.h"
#include "event/record/reason.h"
#include "score/evaluation.h"

enum { FIELD_BYTES = 64 };

/* ---- what is known ---- */

static bool rejection_expected(const struct recompute *work)
{
	const struct record_grading *grading = work->scored->grading;
	if (work->input) {
		const struct ground_truth *truth = work->input->ground_truth;
		return truth && truth->should_pass.set && !truth->should_pass.value;
	}
	return grading && grading->validation &&
	       (str_is(grading->validation->classification, "CORRECT_REJECTION") ||
		str_is(grading->validation->classification, "FALSE_ACCEPTANCE"));
}

/* ---- evaluation ---- */

static opt_double_t weight_of(const struct record_evaluation *evaluation, const char *metric)
{
	for (size_t i = 0; i < evaluation->weights_count; i++)
		if (str_is(evaluation->weights[i].key, metric))
			return opt_double(evaluation->weights[i].value);
	return (opt_double_t)OPT_NONE;
}

static void check_weights(struct recompute *work, const struct record_evaluation *said,
			  const struct evaluation_score *follows)
{
	size_t count = 0;
	for (unsigned i = 0; i < EVALUATION_METRIC_COUNT_; i++) {
		opt_double_t weight = OPT_NONE;
		if (follows->weights[i] > 0)
			weight = opt_double(follows->weights[i]);
		count += weight.set;
		recompute_share(work, "evaluation.weights",
				weight_of(said, evaluation_metric_name((enum evaluation_metric)i)), weight);
	}
	recompute_integer(work, "evaluation.weights", (int64_t)said->weights_count, (int64_t)count);
}

static void check_evaluation(struct recompute *work, enum disposition_finding wrong)
{
	const struct record_evaluation *said = work->scored->evaluation;
	struct evaluation_score follows;
	const char *failed_by;
	record_evaluate(work->scored, &work->read, recompute_has_truth(work), wrong, &follows, &failed_by);
	if (!recompute_presence(work, "evaluation", said != NULL, follows.score.set))
		return;
	check_weights(work, said, &follows);
	recompute_number(work, "evaluation.score", said->score, follows.score.value);
	recompute_flag(work, "evaluation.degraded", said->degraded, follows.degraded);
	recompute_flag(work, "evaluation.passed", said->passed, follows.passed);
	recompute_text(work, "evaluation.failed_by", said->failed_by, str_from(failed_by));
}

/* ---- label ---- */

static void check_label(struct recompute *work)
{
	static const char *const sources[] = { "FEEDBACK", "RESULT", "CORRECTNESS", "RELEVANCE" };
	const struct record_label *said = work->scored->label;
	struct label follows;
	bool labelled = record_label_of(work->scored, &work->read, &follows);
	if (!recompute_presence(work, "label", said != NULL, labelled))
		return;
	recompute_number(work, "label.value", said->value, follows.value);
	recompute_flag(work, "label.correct", said->correct, follows.correct);
	recompute_symbol(work, "label.source", said->source, (int)follows.origin, sources, 4);
	recompute_number(work, "label.weight", said->weight, follows.weight);
}

/* ---- disposition ---- */

/* One of a list of codes with texts; what follows is absent where the list has to be shorter, and its text
 * where that is not known. */
static void check_item(struct recompute *work, const char *field, const struct record_recommendation *said,
		       str_t code, str_t text)
{
	char name[FIELD_BYTES];
	recompute_text(work, field, said ? said->code : STR_NONE, code);
	snprintf(name, sizeof name, "%s.text", field);
	if (said && str_present(text))
		recompute_text(work, name, said->text, text);
}

static const struct record_recommendation *item_at(const struct record_recommendation *items, size_t count,
						   size_t index)
{
	return index < count ? &items[index] : NULL;
}

/* What reasons say of the event. */
static struct reason_source source_of(const struct recompute *work)
{
	const struct generated_query *input = work->input;
	const struct ground_truth *truth = input ? input->ground_truth : NULL;
	enum sql_dialect dialect;
	struct reason_source source = {
		.scored = work->scored,
		.reading = &work->read,
		.known = &work->known,
		.event_known = input != NULL,
	};
	if (!work->read.valid && recompute_dialect(work, &dialect))
		source.dialect = record_dialect_name(dialect);
	if (work->shown)
		source.word = reason_word(input->sql);
	if (truth)
		source.similarity = recompute_similarity(truth);
	if (!input || !input->diagnostic)
		return source;
	source.upstream = true;
	source.upstream_valid = input->diagnostic->valid;
	if (input->diagnostic->errors_count > 0)
		source.upstream_error = input->diagnostic->errors[0];
	return source;
}

static void check_disposition(struct recompute *work, const struct disposition *follows)
{
	static const char *const actions[] = { "WITHHOLD", "VERIFY", "USE_WITH_CAUTION", "USE" };
	const struct record_disposition *said = work->scored->disposition;
	const struct reason_source source = source_of(work);
	recompute_symbol(work, "disposition.action", said->action, (int)follows->action, actions, 4);
	recompute_flag(work, "review_required", work->scored->review_required,
		       follows->action <= DISPOSITION_VERIFY);
	size_t most = said->reasons_count > follows->count ? said->reasons_count : follows->count;
	for (size_t i = 0; i < most; i++) {
		str_t code = STR_NONE, text = STR_NONE;
		if (i < follows->count) {
			code = str_from(disposition_finding_code(follows->findings[i]));
			text = reason_text(&source, follows->findings[i], i == 0, work->report->arena);
			if (!str_present(text))
				recompute_leave(work, RECOMPUTE_GAP_REASONS);
		}
		check_item(work, "disposition.reasons", item_at(said->reasons, said->reasons_count, i), code,
			   text);
	}
}

static void check_recommendations(struct recompute *work, enum disposition_action action)
{
	const struct scored_query *scored = work->scored;
	struct score_recommendation follows[RETRIEVAL_RECOMMENDATIONS_MAX + 2];
	size_t count = 0, most = scored->recommendations_count;
	bool known = !scored->confidence.retrieval || work->has_retrieval;
	follows[count++] = (struct score_recommendation){ disposition_action_name(action),
							  disposition_action_text(action) };
	for (size_t i = 0; work->has_retrieval && i < work->retrieval.recommendations_count; i++)
		follows[count++] = work->retrieval.recommendations[i];
	if (scored->judge.decision == DECISION_REJECT || scored->judge.decision == DECISION_WARN)
		follows[count++] = (struct score_recommendation){
			scored->judge.decision == DECISION_REJECT ? "REJECT" : "WARN",
			evaluation_decision_text((enum evaluation_decision)scored->judge.decision)
		};
	if (!known) { /* the first one follows nevertheless */
		recompute_leave(work, RECOMPUTE_GAP_RECOMMENDATIONS);
		count = most = 1;
	}
	most = most > count ? most : count;
	for (size_t i = 0; i < most; i++)
		check_item(work, "recommendations",
			   item_at(scored->recommendations, scored->recommendations_count, i),
			   i < count ? str_from(follows[i].code) : STR_NONE,
			   i < count ? str_from(follows[i].text) : STR_NONE);
}

void recompute_conclusion(struct recompute *work)
{
	struct disposition disposition;
	record_known(work->scored, &work->read, rejection_expected(work), &work->known);
	enum disposition_finding wrong = disposition_known_wrong(&work->known);
	check_evaluation(work, wrong);
	check_label(work);
	work->known.not_passed = work->scored->evaluation && !work->scored->evaluation->passed;
	disposition_of(&work->known, &disposition);
	check_disposition(work, &disposition);
	check_recommendations(work, disposition.action);
}
