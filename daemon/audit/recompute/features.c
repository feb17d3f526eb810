/* Features: those that the record alone gives, and, where its SQL is analysed again, those of texts and
 * names. */
#include "event/features.h"
#include "audit/recompute/internal.h"
#include "score/agreement.h"

#include "common/err.h"

static double said_of(const struct record_confidence *confidence, int feature)
{
	for (size_t i = 0; i < confidence->features_count; i++)
		if (str_is(confidence->features[i].name, FEATURE_INFO[feature].name))
			return confidence->features[i].value;
	return 0;
}

static void check(struct recompute *work, int feature, double follows)
{
	char field[96];
	snprintf(field, sizeof field, "confidence.features.%s", FEATURE_INFO[feature].name);
	recompute_number(work, field, said_of(&work->scored->confidence, feature), follows);
}

static bool is_of_texts(int feature)
{
	enum feature_group group = FEATURE_INFO[feature].group;
	return group == FEATURES_QUESTION || group == FEATURES_ANSWER || group == FEATURES_SHAPE ||
	       group == FEATURES_SCHEMA;
}

/* ---- what the record gives ---- */

static void take_diagnostics(const struct recompute *work, struct features_input *input)
{
	struct arena *arena = work->report->arena;
	size_t count = work->read.diagnostics_count;
	struct features_diagnostic *diagnostics = ARENA_ARRAY(arena, struct features_diagnostic, count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct record_diagnostic *from = &work->read.diagnostics[i];
		diagnostics[i] = (struct features_diagnostic){ from->code.ptr, from->sub_code.ptr,
							       from->severity == SEVERITY_ERROR };
	}
	input->diagnostics = diagnostics;
	input->diagnostics_count = count;
}

/* `largest_other`: how many texts have the commonest of the other forms. */
static void take_agreement(const struct recompute *work, size_t largest_other, struct features_input *input)
{
	const struct record_agreement *said = work->scored->confidence.agreement;
	if (!said || said->texts < 1)
		return;
	bool fails = str_is(scored_query_agreement_error(work->scored), err_name(ERR_ANSWER_FAILED));
	input->agreement_form = said->canonical;
	input->agreement_executed = said->results.set;
	int64_t known = said->texts - 1 - (said->results.set ? said->left_out : 0);
	double share = said->canonical.set && !fails ? said->canonical.value : 0;
	input->agreement_results = said->results.set ? said->results : opt_double(share);
	input->agreement_other = (double)largest_other / (double)(known + 1);
	input->agreement_alone =
		known >= 0 && input->agreement_results.value <= agreement_share(0, (size_t)known);
}

static struct features_input input_of(const struct recompute *work, size_t largest_other)
{
	const struct record_confidence *confidence = &work->scored->confidence;
	const struct record_judge_rules *judge = work->rules->judge;
	struct features_input input = {
		.safe = work->scored->safety.verdict == VERDICT_SAFE,
		.generator = confidence->generator,
	};
	if (confidence->technical)
		input.technical = opt_double(confidence->technical->score);
	if (confidence->retrieval) {
		input.retrieval = opt_double(confidence->retrieval->confidence);
		input.retrieval_top = opt_double(confidence->retrieval->top_score);
	}
	if (judge && judge->sample_rate == 1)
		input.disagreement = work->scored->judge.relevance_disagreement;
	take_diagnostics(work, &input);
	take_agreement(work, largest_other, &input);
	return input;
}

/* How far the answer is ahead of the commonest other one. */
static void check_lead(struct recompute *work, double largest)
{
	double lead = said_of(&work->scored->confidence, FEATURE_AGREEMENT_LEAD);
	recompute_range(work, "confidence.features.agreement_lead", lead, largest - 1, largest);
}

void recompute_features(struct recompute *work)
{
	double follows[FEATURE_COUNT_];
	if (work->scored->confidence.features_count == 0) /* the settings asked for none */
		return;
	const struct features_input input = input_of(work, 0);
	features_fill(&input, follows);
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (!is_of_texts(i) && i != FEATURE_AGREEMENT_LEAD)
			check(work, i, follows[i]);
	check_lead(work, input.agreement_results.set ? input.agreement_results.value : 0);
	if (work->scored->confidence.agreement)
		recompute_leave(work, RECOMPUTE_GAP_LEAD);
	recompute_leave(work, RECOMPUTE_GAP_FEATURES);
}

void recompute_features_of_texts(struct recompute *work, const struct sql_request *request,
				 const struct sql_analysis *sql, size_t largest_other)
{
	const struct record_agreement *agreement = work->scored->confidence.agreement;
	double follows[FEATURE_COUNT_];
	if (work->scored->confidence.features_count == 0)
		return;
	struct features_input input = input_of(work, largest_other);
	input.question = work->input->question;
	input.sql = sql->text;
	input.dialect = request->dialect;
	if (request->catalog)
		features_take_relations(request->catalog, sql, work->report->arena, &input);
	features_fill(&input, follows);
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (is_of_texts(i))
			check(work, i, follows[i]);
	work->report->gaps[RECOMPUTE_GAP_FEATURES] = false;
	if (agreement && !agreement->results.set) {
		check(work, FEATURE_AGREEMENT_LEAD, follows[FEATURE_AGREEMENT_LEAD]);
		work->report->gaps[RECOMPUTE_GAP_LEAD] = false;
	}
}
