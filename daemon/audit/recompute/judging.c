/* Verdicts of judges, whether they were asked, what they cost. */
#include "audit/recompute/internal.h"
#include "common/err.h"
#include "event/sampling.h"
#include "judge/panel.h"
#include "judge/reply.h"
#include "score/evaluation.h"

#include <math.h>

#define MARK_OF_CUT "\xe2\x80\xa6"

enum { FIELD_BYTES = 96 };

static bool is_ok(const struct record_judge_score *score)
{
	return score && str_is(score->status, "ok");
}

static const struct record_judge_score *voice_of(const struct record_panelist *panelist,
						 enum judge_question question)
{
	return question == JUDGE_RELEVANCE ? panelist->relevance : panelist->correctness;
}

static bool is_whole(str_t raw)
{
	size_t len = sizeof MARK_OF_CUT - 1;
	return str_present(raw) && (raw.len < len || memcmp(raw.ptr + raw.len - len, MARK_OF_CUT, len) != 0);
}

/* What one judge said, against its own reply where the record has all of it. */
static void check_reply(struct recompute *work, const char *prefix, enum judge_question question,
			const struct record_judge_score *said)
{
	char field[FIELD_BYTES];
	struct reply reply;
	err_t err = question == JUDGE_RELEVANCE
			    ? reply_read_relevance(said->raw, work->report->arena, &reply, NULL)
			    : reply_read_correctness(said->raw, work->report->arena, &reply, NULL);
	snprintf(field, sizeof field, "%s.raw", prefix);
	if (!recompute_presence(work, field, true, err == ERR_OK))
		return;
	snprintf(field, sizeof field, "%s.score", prefix);
	recompute_number(work, field, said->score, reply.score);
	snprintf(field, sizeof field, "%s.reason", prefix);
	recompute_text(work, field, said->reason, str_present(reply.reason) ? reply.reason : STR(""));
}

/* `alone`: there is no panel, so that an answer can be identical without anybody's being asked. */
static void check_voice(struct recompute *work, const char *prefix, enum judge_question question, bool alone,
			const struct record_judge_score *said)
{
	char field[FIELD_BYTES];
	bool identical = alone && question == JUDGE_CORRECTNESS && str_is(said->status, "identical");
	snprintf(field, sizeof field, "%s.status", prefix);
	recompute_known(work, field, said->status,
			is_ok(said) || identical || recompute_error(said->status) != ERR_OK);
	snprintf(field, sizeof field, "%s.score", prefix);
	if (!is_ok(said)) {
		recompute_number(work, field, said->score, identical ? 1 : 0);
		return;
	}
	double steps = question == JUDGE_RELEVANCE ? said->score : 2 * said->score; /* whole ones */
	recompute_range(work, field, said->score, 0, question == JUDGE_RELEVANCE ? 100 : 1);
	recompute_number(work, field, steps, round(steps));
	if (is_whole(said->raw))
		check_reply(work, prefix, question, said);
}

/* A reply is there where the judge itself has answered, and may be seen. */
static void check_raw(struct recompute *work, const char *prefix, const struct record_judge_score *said)
{
	bool answered = is_ok(said) && !said->cached, hidden = work->rules->redacted;
	char field[FIELD_BYTES];
	snprintf(field, sizeof field, "%s.cached", prefix);
	if (!is_ok(said))
		recompute_flag(work, field, said->cached, false);
	snprintf(field, sizeof field, "%s.raw", prefix);
	if (hidden || said->cached || str_is(said->status, "identical"))
		recompute_presence(work, field, str_present(said->raw), false);
	else if (answered && work->rules->formulas >= RECORD_FORMULAS_CONCLUDED)
		recompute_presence(work, field, str_present(said->raw), true);
}

/* What the members have said, as the panel takes them; those that were not asked are left out. */
static size_t opinions_of(struct recompute *work, enum judge_question question,
			  struct panel_opinion **ret_opinions)
{
	const struct record_judge *judge = &work->scored->judge;
	struct arena *arena = work->report->arena;
	struct panel_opinion *opinions = ARENA_ARRAY(arena, struct panel_opinion, judge->panel_count + 1);
	struct judge_verdict *verdicts = ARENA_ARRAY(arena, struct judge_verdict, judge->panel_count + 1);
	size_t count = 0;
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice = voice_of(&judge->panel[i], question);
		if (!voice)
			continue;
		err_t err = recompute_error(voice->status);
		verdicts[count] =
			(struct judge_verdict){ .error = err || is_ok(voice) ? err : ERR_JUDGE_REPLY,
						.score = voice->score,
						.reason = voice->reason,
						.cached = voice->cached };
		opinions[count] = (struct panel_opinion){ judge->panel[i].name.ptr, &verdicts[count] };
		count++;
	}
	*ret_opinions = opinions;
	return count;
}

/* What several said, taken together. */
static void check_panel(struct recompute *work, const char *prefix, const struct record_judge_score *said,
			const struct panel_opinion *opinions, size_t count)
{
	char field[FIELD_BYTES];
	struct panel_score follows;
	panel_score(opinions, count, &follows);
	bool answered = follows.answered > 0;
	snprintf(field, sizeof field, "%s.score", prefix);
	recompute_number(work, field, said->score, answered ? follows.mean.value : 0);
	snprintf(field, sizeof field, "%s.status", prefix);
	recompute_text(work, field, said->status, str_from(answered ? "ok" : err_name(follows.error)));
	snprintf(field, sizeof field, "%s.cached", prefix);
	recompute_flag(work, field, said->cached, follows.cached);
	snprintf(field, sizeof field, "%s.raw", prefix);
	recompute_presence(work, field, str_present(said->raw), false);
	snprintf(field, sizeof field, "%s.reason", prefix);
	recompute_text(work, field, said->reason,
		       answered ? panel_reason(opinions, count, work->report->arena)
				: str_from(err_text(follows.error)));
}

static void check_question(struct recompute *work, enum judge_question question)
{
	const struct record_judge *judge = &work->scored->judge;
	bool relevance = question == JUDGE_RELEVANCE;
	const struct record_judge_score *said = relevance ? judge->relevance : judge->correctness;
	struct panel_opinion *opinions;
	struct panel_score score;
	char prefix[FIELD_BYTES / 2];
	size_t voices = opinions_of(work, question, &opinions);
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice = voice_of(&judge->panel[i], question);
		snprintf(prefix, sizeof prefix, "judge.panel.%zu.%s", i,
			 relevance ? "relevance" : "correctness");
		if (voice) {
			check_voice(work, prefix, question, false, voice);
			check_raw(work, prefix, voice);
		}
	}
	panel_score(opinions, voices, &score);
	recompute_share(work, relevance ? "judge.relevance_disagreement" : "judge.correctness_disagreement",
			relevance ? judge->relevance_disagreement : judge->correctness_disagreement,
			score.disagreement);
	snprintf(prefix, sizeof prefix, "judge.%s", relevance ? "relevance" : "correctness");
	if (voices)
		recompute_presence(work, prefix, said != NULL, true);
	if (said && voices) {
		check_panel(work, prefix, said, opinions, voices);
	} else if (said) {
		check_voice(work, prefix, question, true, said);
		check_raw(work, prefix, said);
	}
}

/* Only who was asked has answered, and is named. Whether an answer is identical, is known without asking. */
static void check_asked_about(struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	bool asked = judge->relevance != NULL, alone = asked && judge->panel_count == 0;
	recompute_presence(work, "judge.provider", str_present(judge->provider), alone);
	recompute_presence(work, "judge.model", str_present(judge->model), alone);
	if (judge->correctness && !asked)
		recompute_text(work, "judge.correctness.status", judge->correctness->status,
			       STR("identical"));
	if (!work->input)
		return;
	bool truth = recompute_has_truth_query(work->input);
	if (asked || !truth)
		recompute_presence(work, "judge.correctness", judge->correctness != NULL, truth);
}

/* ---- what went wrong ---- */

/* Every judge that failed to answer is an error of that question, and nothing else is one. */
static void check_failures(struct recompute *work, enum judge_question question)
{
	const char *metric = question == JUDGE_RELEVANCE ? "relevance" : "correctness";
	const struct record_judge *judge = &work->scored->judge;
	const struct record_judge_score *alone =
		question == JUDGE_RELEVANCE ? judge->relevance : judge->correctness;
	int64_t failed = 0;
	size_t voices = judge->panel_count ? judge->panel_count : 1;
	for (size_t i = 0; i < voices; i++) {
		const struct record_judge_score *voice =
			judge->panel_count ? voice_of(&judge->panel[i], question) : alone;
		if (!voice || recompute_error(voice->status) == ERR_OK)
			continue;
		failed++;
		recompute_presence(work, "errors", recompute_errors(work, metric, voice->status) > 0, true);
	}
	recompute_integer(work, "errors", recompute_errors(work, metric, STR_NONE), failed);
}

/* Every digest that a member names is one of the record's, and the other way round. */
static void check_prompts(struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	str_t all = work->scored->provenance.prompt_digest;
	struct arena *arena = work->report->arena;
	str_t *digests = ARENA_ARRAY(arena, str_t, judge->panel_count + 1);
	for (size_t i = 0; i < judge->panel_count; i++)
		digests[i] = judge->panel[i].prompt_digest;
	if (judge->panel_count)
		recompute_text(work, "provenance.prompt_digest", all,
			       panel_prompts(digests, judge->panel_count, arena));
	else if (!work->rules->judge)
		recompute_presence(work, "provenance.prompt_digest", str_present(all), false);
}

/* ---- who is asked ---- */

static void check_sampled(struct recompute *work, const struct record_judge_rules *rules)
{
	const struct record_judge *judge = &work->scored->judge;
	const struct record_agreement *agreement = work->scored->confidence.agreement;
	opt_double_t canonical = OPT_NONE, overall;
	const char *limiting;
	int level;
	if (agreement)
		canonical = agreement->canonical;
	bool always = recompute_smallest(work, canonical, &overall, &level, &limiting) &&
		      level < rules->always_below;
	bool drawn = always || sampling_includes(work->scored->event_id, rules->sample_rate);
	recompute_number(work, "judge.sampling_probability", judge->sampling_probability,
			 always ? 1 : rules->sample_rate);
	recompute_flag(work, "judge.unjudged_reason", str_is(judge->unjudged_reason, "NOT_SAMPLED"), !drawn);
	recompute_presence(work, "judge.relevance", judge->relevance != NULL, drawn);
}

static void check_asked(struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	const struct record_judge_rules *rules = work->rules->judge;
	const char *reason = NULL;
	if (!rules)
		reason = "NO_JUDGE";
	else if (work->scored->safety.verdict == VERDICT_UNSAFE && !rules->unsafe)
		reason = "UNSAFE";
	if (!reason) {
		check_sampled(work, rules);
		return;
	}
	recompute_number(work, "judge.sampling_probability", judge->sampling_probability, 1);
	recompute_text(work, "judge.unjudged_reason", judge->unjudged_reason, str_from(reason));
	recompute_presence(work, "judge.relevance", judge->relevance != NULL, false);
}

/* Why there is no score, where the judge was asked: by its error. */
static str_t reason_of(str_t status)
{
	err_t err = recompute_error(status);
	if (err == ERR_JUDGE_SPENT)
		return STR("TOKENS_SPENT");
	return err == ERR_JUDGE_SATURATED ? STR("SATURATED") : status;
}

static void check_unjudged(struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	if (judge->relevance && !work->read.relevance.set)
		recompute_text(work, "judge.unjudged_reason", judge->unjudged_reason,
			       reason_of(judge->relevance->status));
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice = judge->panel[i].relevance;
		char field[FIELD_BYTES];
		snprintf(field, sizeof field, "judge.panel.%zu.unjudged_reason", i);
		if (voice)
			recompute_text(work, field, judge->panel[i].unjudged_reason,
				       is_ok(voice) ? STR_NONE : reason_of(voice->status));
	}
}

/* ---- cost ---- */

static opt_double_t cost_of(const struct record_judge_rules *rules, size_t place, int64_t prompt_tokens,
			    int64_t completion_tokens)
{
	if (!rules || place >= rules->prices_count)
		return (opt_double_t)OPT_NONE;
	return panel_cost(prompt_tokens, completion_tokens, rules->prices[place].prompt,
			  rules->prices[place].completion);
}

static void check_cost(struct recompute *work)
{
	const struct record_judge *judge = &work->scored->judge;
	const struct record_judge_rules *rules = work->rules->judge;
	opt_double_t sum = OPT_NONE;
	int64_t prompt_tokens = 0, completion_tokens = 0;
	char field[FIELD_BYTES];
	if (!judge->relevance) {
		recompute_integer(work, "judge.prompt_tokens", judge->prompt_tokens, 0);
		recompute_integer(work, "judge.completion_tokens", judge->completion_tokens, 0);
	}
	if (judge->panel_count == 0) {
		recompute_share(work, "judge.cost", judge->cost,
				cost_of(rules, 0, judge->prompt_tokens, judge->completion_tokens));
		return;
	}
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_panelist *panelist = &judge->panel[i];
		opt_double_t cost = cost_of(rules, i, panelist->prompt_tokens, panelist->completion_tokens);
		snprintf(field, sizeof field, "judge.panel.%zu.cost", i);
		recompute_share(work, field, panelist->cost, cost);
		prompt_tokens += panelist->prompt_tokens;
		completion_tokens += panelist->completion_tokens;
		if (cost.set)
			sum = opt_double(sum.value + cost.value);
	}
	recompute_integer(work, "judge.prompt_tokens", judge->prompt_tokens, prompt_tokens);
	recompute_integer(work, "judge.completion_tokens", judge->completion_tokens, completion_tokens);
	recompute_share(work, "judge.cost", judge->cost, sum);
}

/* ---- all of it ---- */

void recompute_judge(struct recompute *work)
{
	static const char *const decisions[] = { "REJECT", "WARN", "ACCEPT", "ACCEPT_HIGH", "UNJUDGED" };
	const struct record_judge *judge = &work->scored->judge;
	check_question(work, JUDGE_RELEVANCE);
	check_question(work, JUDGE_CORRECTNESS);
	check_asked_about(work);
	check_failures(work, JUDGE_RELEVANCE);
	check_failures(work, JUDGE_CORRECTNESS);
	recompute_symbol(work, "judge.decision", judge->decision,
			 (int)evaluation_decision(work->read.relevance), decisions, 5);
	recompute_presence(work, "judge.unjudged_reason", str_present(judge->unjudged_reason),
			   !work->read.relevance.set);
	check_asked(work);
	check_unjudged(work);
	check_prompts(work);
	check_cost(work);
}
