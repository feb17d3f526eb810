#include "event/outcome.h"
#include "event/pipeline.h"

static struct record_judge_score *record_verdict(struct outcome *outcome, const struct judge_call *call,
						 const char *metric, opt_double_t *ret_value)
{
	struct event *event = outcome->event;
	const struct judge_verdict *verdict = &call->verdict;
	struct record_judge_score *score = ARENA_NEW(event->arena, struct record_judge_score);
	struct record_judge *judge = &outcome->scored->judge;
	judge->prompt_tokens += verdict->prompt_tokens;
	judge->completion_tokens += verdict->completion_tokens;
	event_add_stage(event, metric, verdict->error ? "failed" : "ok", call->duration_us);
	if (verdict->error) {
		const char *message =
			str_present(verdict->message) ? verdict->message.ptr : err_text(verdict->error);
		*score = (struct record_judge_score){ .reason = str_from(message),
						      .status = str_from(err_name(verdict->error)) };
		event_add_error(event, metric, verdict->error, message);
		outcome->judge_failed = true;
		return score;
	}
	*score = (struct record_judge_score){ verdict->score,
					      str_present(verdict->reason) ? verdict->reason : STR(""),
					      STR("ok"), verdict->cached };
	*ret_value = opt_double(verdict->score);
	return score;
}

/* What the tokens of this event cost; nothing where its verdicts came from the cache. */
static opt_double_t judge_cost(const struct config_judge *prices, const struct record_judge *judge)
{
	if (prices->prompt_token_price == 0 && prices->completion_token_price == 0)
		return (opt_double_t)OPT_NONE;
	return opt_double(((double)judge->prompt_tokens * prices->prompt_token_price +
			   (double)judge->completion_tokens * prices->completion_token_price) /
			  1e6);
}

/* The prompts may have been reloaded since the event began, and even between its two calls: then both are
 * named, that of relevance first. */
static str_t prompt_digest(const struct event *event)
{
	const struct event_judging *judging = &event->judging;
	const struct judge *judge = pipeline_judge(event->pipeline);
	str_t relevance = judging->relevance_asked ? judging->relevance.prompt_digest : STR_NONE;
	str_t correctness = judging->correctness_asked ? judging->correctness.prompt_digest : STR_NONE;
	if (!judge)
		return STR_NONE;
	if (!str_present(relevance))
		return arena_str(event->arena, str_from(judge_prompt_digest(judge)));
	if (!str_present(correctness) || str_equal(relevance, correctness))
		return relevance;
	return arena_printf(event->arena, STR_FMT " " STR_FMT, STR_ARG(relevance), STR_ARG(correctness));
}

void outcome_judge(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct event_judging *judging = &event->judging;
	struct record_judge *judge = &outcome->scored->judge;
	const struct config *config = event->config;
	judge->sampling_probability = judging->sampling_probability;
	outcome->prompt_digest = prompt_digest(event);
	if (judging->relevance_asked) {
		const struct judge *asked = pipeline_judge(event->pipeline);
		judge->provider = arena_str(event->arena, str_from(judge_provider(asked)));
		judge->model = arena_str(event->arena, str_from(judge_model(asked)));
		judge->relevance =
			record_verdict(outcome, &judging->relevance, "relevance", &outcome->relevance);
	} else {
		event_add_stage(event, "relevance", "skipped", 0);
	}
	if (judging->correctness_asked) {
		judge->correctness =
			record_verdict(outcome, &judging->correctness, "correctness", &outcome->correctness);
	} else if (judging->identical) {
		judge->correctness = ARENA_NEW(event->arena, struct record_judge_score);
		*judge->correctness = (struct record_judge_score){ 1.0, STR("identical to the ground truth"),
								   STR("identical"), false };
		outcome->correctness = opt_double(1.0);
	}
	if (judging->relevance_asked)
		judge->cost = judge_cost(&config->judge, judge);
	judge->decision = (int)relevance_decision(outcome->relevance);
	if (judge->decision != DECISION_UNJUDGED)
		return;
	if (judging->unjudged_reason)
		judge->unjudged_reason = str_from(judging->unjudged_reason);
	else if (judging->relevance.verdict.error == ERR_JUDGE_SATURATED)
		judge->unjudged_reason = STR("SATURATED");
	else
		judge->unjudged_reason = str_from(err_name(judging->relevance.verdict.error));
}
