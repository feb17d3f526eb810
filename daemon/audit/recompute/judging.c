/* Verdicts of judges, whether they were asked, what they cost. */
#include "audit/recompute/internal.h"
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
static void check_voice(struct recompute *work, const char *prefix, enum judge_question question,
			const struct record_judge_score *said)
{
	char field[FIELD_BYTES];
	struct reply reply;
	snprintf(field, sizeof field, "%s.score", prefix);
	if (!is_ok(said)) {
		recompute_number(work, field, said->score, str_is(said->status, "identical") ? 1 : 0);
		return;
	}
	recompute_range(work, field, said->score, 0, question == JUDGE_RELEVANCE ? 100 : 1);
	if (question == JUDGE_CORRECTNESS)
		recompute_number(work, field, 2 * said->score, round(2 * said->score));
	if (!is_whole(said->raw))
		return;
	err_t err = question == JUDGE_RELEVANCE
			    ? reply_read_relevance(said->raw, work->report->arena, &reply, NULL)
			    : reply_read_correctness(said->raw, work->report->arena, &reply, NULL);
	snprintf(field, sizeof field, "%s.raw", prefix);
	if (recompute_presence(work, field, true, err == ERR_OK)) {
		snprintf(field, sizeof field, "%s.score", prefix);
		recompute_number(work, field, said->score, reply.score);
	}
}

/* The mean distance of all pairs. */
static opt_double_t disagreement_of(const double *scores, size_t count)
{
	double sum = 0;
	size_t pairs = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++, pairs++)
			sum += fabs(scores[i] - scores[j]);
	return pairs ? opt_double(sum / (double)pairs) : (opt_double_t)OPT_NONE;
}

/* What several said, taken together. */
static void check_mean(struct recompute *work, const char *prefix, const struct record_judge_score *said,
		       const double *scores, size_t count, bool all_cached)
{
	char field[FIELD_BYTES];
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += scores[i];
	snprintf(field, sizeof field, "%s.score", prefix);
	recompute_number(work, field, said->score, count ? sum / (double)count : 0);
	snprintf(field, sizeof field, "%s.status", prefix);
	recompute_flag(work, field, is_ok(said), count > 0);
	snprintf(field, sizeof field, "%s.cached", prefix);
	if (count)
		recompute_flag(work, field, said->cached, all_cached);
}

static void check_question(struct recompute *work, enum judge_question question)
{
	const struct record_judge *judge = &work->scored->judge;
	bool relevance = question == JUDGE_RELEVANCE;
	const struct record_judge_score *said = relevance ? judge->relevance : judge->correctness;
	double *scores = ARENA_ARRAY(work->report->arena, double, judge->panel_count + 1);
	size_t voices = 0, answered = 0;
	bool all_cached = true;
	char prefix[FIELD_BYTES / 2];
	for (size_t i = 0; i < judge->panel_count; i++) {
		const struct record_judge_score *voice = voice_of(&judge->panel[i], question);
		if (!voice)
			continue;
		voices++;
		snprintf(prefix, sizeof prefix, "judge.panel.%zu.%s", i,
			 relevance ? "relevance" : "correctness");
		check_voice(work, prefix, question, voice);
		if (!is_ok(voice))
			continue;
		scores[answered++] = voice->score;
		all_cached &= voice->cached;
	}
	recompute_share(work, relevance ? "judge.relevance_disagreement" : "judge.correctness_disagreement",
			relevance ? judge->relevance_disagreement : judge->correctness_disagreement,
			disagreement_of(scores, answered));
	snprintf(prefix, sizeof prefix, "judge.%s", relevance ? "relevance" : "correctness");
	if (voices)
		recompute_presence(work, prefix, said != NULL, true);
	if (said && voices)
		check_mean(work, prefix, said, scores, answered, all_cached);
	else if (said)
		check_voice(work, prefix, question, said);
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

static opt_double_t score_that_counts(const struct record_judge_score *score)
{
	bool counts = score && (is_ok(score) || str_is(score->status, "identical"));
	return counts ? opt_double(score->score) : (opt_double_t)OPT_NONE;
}

void recompute_judge(struct recompute *work)
{
	static const char *const decisions[] = { "REJECT", "WARN", "ACCEPT", "ACCEPT_HIGH", "UNJUDGED" };
	const struct record_judge *judge = &work->scored->judge;
	work->relevance = score_that_counts(judge->relevance);
	work->correctness = score_that_counts(judge->correctness);
	check_question(work, JUDGE_RELEVANCE);
	check_question(work, JUDGE_CORRECTNESS);
	recompute_symbol(work, "judge.decision", judge->decision, (int)evaluation_decision(work->relevance),
			 decisions, 5);
	recompute_presence(work, "judge.unjudged_reason", str_present(judge->unjudged_reason),
			   !work->relevance.set);
	check_asked(work);
	check_cost(work);
}
