#include "event/record/builder.h"

static struct record_judge_score *record_verdict(struct record_builder *builder,
						 const struct judge_call *call, enum stage stage,
						 opt_double_t *ret_value)
{
	struct record_facts *facts = builder->facts;
	const struct judge_verdict *verdict = &call->verdict;
	struct record_judge_score *score = ARENA_NEW(facts->arena, struct record_judge_score);
	struct record_judge *judge = &builder->scored->judge;
	judge->prompt_tokens += verdict->prompt_tokens;
	judge->completion_tokens += verdict->completion_tokens;
	record_add_stage(facts, stage, verdict->error ? "failed" : "ok", call->duration_us);
	if (verdict->error) {
		const char *message =
			str_present(verdict->message) ? verdict->message.ptr : err_text(verdict->error);
		*score = (struct record_judge_score){ .reason = str_from(message),
						      .status = str_from(err_name(verdict->error)) };
		record_add_error(facts, stage_name(stage), verdict->error, message);
		builder->judge_failed = true;
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
static str_t prompt_digest(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	str_t relevance = judging->relevance_asked ? judging->relevance.prompt_digest : STR_NONE;
	str_t correctness = judging->correctness_asked ? judging->correctness.prompt_digest : STR_NONE;
	if (!builder->sources->has_judge)
		return STR_NONE;
	if (!str_present(relevance))
		return arena_str(facts->arena, str_from(builder->sources->prompt_digest));
	if (!str_present(correctness) || str_equal(relevance, correctness))
		return relevance;
	return arena_printf(facts->arena, STR_FMT " " STR_FMT, STR_ARG(relevance), STR_ARG(correctness));
}

void record_build_judge(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	struct record_judge *judge = &builder->scored->judge;
	const struct config *config = facts->config;
	judge->sampling_probability = judging->sampling_probability;
	builder->prompt_digest = prompt_digest(builder);
	if (judging->relevance_asked) {
		judge->provider = arena_str(facts->arena, str_from(builder->sources->judge_provider));
		judge->model = arena_str(facts->arena, str_from(builder->sources->judge_model));
		judge->relevance =
			record_verdict(builder, &judging->relevance, STAGE_RELEVANCE, &builder->relevance);
	} else {
		record_add_stage(facts, STAGE_RELEVANCE, "skipped", 0);
	}
	if (judging->correctness_asked) {
		judge->correctness = record_verdict(builder, &judging->correctness, STAGE_CORRECTNESS,
						    &builder->correctness);
	} else if (judging->identical) {
		judge->correctness = ARENA_NEW(facts->arena, struct record_judge_score);
		*judge->correctness = (struct record_judge_score){ 1.0, STR("identical to the ground truth"),
								   STR("identical"), false };
		builder->correctness = opt_double(1.0);
	}
	if (judging->relevance_asked)
		judge->cost = judge_cost(&config->judge, judge);
	judge->decision = (int)evaluation_decision(builder->relevance);
	if (judge->decision != DECISION_UNJUDGED)
		return;
	if (judging->unjudged_reason)
		judge->unjudged_reason = str_from(judging->unjudged_reason);
	else if (judging->relevance.verdict.error == ERR_JUDGE_SATURATED)
		judge->unjudged_reason = STR("SATURATED");
	else
		judge->unjudged_reason = str_from(err_name(judging->relevance.verdict.error));
}
