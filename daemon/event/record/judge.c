#include "event/record/builder.h"

static const enum stage stages[JUDGE_QUESTIONS] = {
	[JUDGE_RELEVANCE] = STAGE_RELEVANCE, [JUDGE_CORRECTNESS] = STAGE_CORRECTNESS
};

/* What the members have said to one question, as a panel. */
static size_t opinions_of(const struct record_judging *judging, const struct judge *judge,
			  enum judge_question question, struct panel_opinion opinions[JUDGE_MEMBERS_MAX])
{
	for (size_t i = 0; i < judging->members_count; i++)
		opinions[i] = (struct panel_opinion){ judge ? judge_name(judge, i) : NULL,
						      &judging->members[i].calls[question].verdict };
	return judging->members_count;
}

void record_settle_judging(struct record_facts *facts)
{
	struct record_judging *judging = &facts->judging;
	struct panel_opinion opinions[JUDGE_MEMBERS_MAX];
	for (size_t question = 0; question < JUDGE_QUESTIONS; question++) {
		if (!judging->asked[question])
			continue;
		size_t count = opinions_of(judging, NULL, (enum judge_question)question, opinions);
		panel_score(opinions, count, &judging->scores[question]);
	}
}

/* A judge that is alone has no name, and its record no panel. */
static bool is_panel(const struct record_builder *builder)
{
	const struct judge *judge = builder->sources->judge;
	return judge && judge_name(judge, 0);
}

static const char *message_of(const struct judge_verdict *verdict)
{
	return str_present(verdict->message) ? verdict->message.ptr : err_text(verdict->error);
}

static struct record_judge_score *record_score(struct arena *arena, double score, str_t reason, bool cached)
{
	struct record_judge_score *record = ARENA_NEW(arena, struct record_judge_score);
	*record = (struct record_judge_score){ .score = score,
					       .reason = str_present(reason) ? reason : STR(""),
					       .status = STR("ok"),
					       .cached = cached };
	return record;
}

static struct record_judge_score *record_failure(struct arena *arena, err_t error, const char *message)
{
	struct record_judge_score *record = ARENA_NEW(arena, struct record_judge_score);
	*record = (struct record_judge_score){ .reason = str_from(message),
					       .status = str_from(err_name(error)) };
	return record;
}

/* What one judge said; its reply may repeat anything. */
static struct record_judge_score *record_verdict(const struct record_builder *builder,
						 const struct judge_verdict *verdict)
{
	struct arena *arena = builder->facts->arena;
	struct record_judge_score *record =
		verdict->error ? record_failure(arena, verdict->error, message_of(verdict))
			       : record_score(arena, verdict->score, verdict->reason, verdict->cached);
	record->raw = record_hides_literals(builder) ? STR_NONE : verdict->raw;
	return record;
}

static void add_errors(struct record_builder *builder, enum judge_question question)
{
	struct record_facts *facts = builder->facts;
	for (size_t i = 0; i < facts->judging.members_count; i++) {
		const struct judge_verdict *verdict = &facts->judging.members[i].calls[question].verdict;
		const char *message = message_of(verdict);
		if (!verdict->error)
			continue;
		if (is_panel(builder))
			message = arena_printf(facts->arena, "judge \"%s\": %s",
					       judge_name(builder->sources->judge, i), message)
					  .ptr;
		record_add_error(facts, stage_name(stages[question]), verdict->error, message);
	}
}

/* They are asked at the same time. */
static int64_t longest_us(const struct record_judging *judging, enum judge_question question)
{
	int64_t longest = 0;
	for (size_t i = 0; i < judging->members_count; i++) {
		int64_t duration_us = judging->members[i].calls[question].duration_us;
		longest = duration_us > longest ? duration_us : longest;
	}
	return longest;
}

/* What all said together; of one that is alone, what it said. */
static struct record_judge_score *record_question(struct record_builder *builder,
						  enum judge_question question)
{
	struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	const struct panel_score *score = &judging->scores[question];
	struct panel_opinion opinions[JUDGE_MEMBERS_MAX];
	bool failed = score->answered == 0;
	record_add_stage(facts, stages[question], failed ? "failed" : "ok", longest_us(judging, question));
	add_errors(builder, question);
	if (!is_panel(builder))
		return record_verdict(builder, &judging->members[0].calls[question].verdict);
	if (failed)
		return record_failure(facts->arena, score->error, err_text(score->error));
	size_t count = opinions_of(judging, builder->sources->judge, question, opinions);
	return record_score(facts->arena, score->mean.value, panel_reason(opinions, count, facts->arena),
			    score->cached);
}

/* ---- tokens and prompts ---- */

static void add_tokens(const struct record_judging *judging, size_t member, int64_t *prompt_tokens,
		       int64_t *completion_tokens)
{
	for (size_t question = 0; question < JUDGE_QUESTIONS; question++) {
		if (!judging->asked[question])
			continue;
		const struct judge_verdict *verdict = &judging->members[member].calls[question].verdict;
		*prompt_tokens += verdict->prompt_tokens;
		*completion_tokens += verdict->completion_tokens;
	}
}

/* What tokens cost; nothing where the verdicts came from the cache. */
static opt_double_t cost_of(const struct config_judge *prices, int64_t prompt_tokens,
			    int64_t completion_tokens)
{
	if (!prices) /* of a judge that the configuration does not have any more */
		return (opt_double_t)OPT_NONE;
	return panel_cost(prompt_tokens, completion_tokens, prices->prompt_token_price,
			  prices->completion_token_price);
}

/* The prompts may have been reloaded since the event began, and even between a judge's two calls: then both
 * are named, that of relevance first. Who was asked nothing has those that it would be asked with. */
static str_t prompts_of(const struct record_builder *builder, size_t member)
{
	const struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	str_t digests[JUDGE_QUESTIONS] = { STR_NONE, STR_NONE };
	for (size_t question = 0; question < JUDGE_QUESTIONS; question++)
		if (judging->asked[question])
			digests[question] = judging->members[member].calls[question].prompt_digest;
	str_t relevance = digests[JUDGE_RELEVANCE], correctness = digests[JUDGE_CORRECTNESS];
	if (!str_present(relevance))
		return arena_str(facts->arena,
				 str_from(judge_prompt_digest(builder->sources->judge, member)));
	if (!str_present(correctness) || str_equal(relevance, correctness))
		return arena_str(facts->arena, relevance); /* the judge may end before */
	return arena_printf(facts->arena, STR_FMT " " STR_FMT, STR_ARG(relevance), STR_ARG(correctness));
}

/* Those of all judges, each once. */
static str_t all_prompts(const struct record_builder *builder)
{
	const struct judge *judge = builder->sources->judge;
	str_t digests[JUDGE_MEMBERS_MAX];
	if (!judge)
		return STR_NONE;
	if (judge_members(judge) == 1)
		return prompts_of(builder, 0);
	for (size_t i = 0; i < judge_members(judge); i++)
		digests[i] = prompts_of(builder, i);
	return panel_prompts(digests, judge_members(judge), builder->facts->arena);
}

/* ---- the parts of the record ---- */

static const char *failure_name(err_t error)
{
	if (error == ERR_JUDGE_SPENT)
		return "TOKENS_SPENT";
	return error == ERR_JUDGE_SATURATED ? "SATURATED" : err_name(error);
}

static void fill_panelist(struct record_builder *builder, size_t member, struct record_panelist *panelist)
{
	struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	const struct judge *judge = builder->sources->judge;
	const struct judge_call *calls = judging->members[member].calls;
	*panelist = (struct record_panelist){
		.name = arena_str(facts->arena, str_from(judge_name(judge, member))),
		.provider = arena_str(facts->arena, str_from(judge_provider(judge, member))),
		.model = arena_str(facts->arena, str_from(judge_model(judge, member))),
		.relevance = record_verdict(builder, &calls[JUDGE_RELEVANCE].verdict),
		.prompt_digest = prompts_of(builder, member),
	};
	if (judging->asked[JUDGE_CORRECTNESS])
		panelist->correctness = record_verdict(builder, &calls[JUDGE_CORRECTNESS].verdict);
	if (calls[JUDGE_RELEVANCE].verdict.error)
		panelist->unjudged_reason = str_from(failure_name(calls[JUDGE_RELEVANCE].verdict.error));
	add_tokens(judging, member, &panelist->prompt_tokens, &panelist->completion_tokens);
	panelist->cost = cost_of(config_judge_named(facts->config, judge_name(judge, member)),
				 panelist->prompt_tokens, panelist->completion_tokens);
}

static void fill_panel(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	struct record_judge *judge = &builder->scored->judge;
	judge->panel_count = facts->judging.members_count;
	judge->panel = ARENA_ARRAY(facts->arena, struct record_panelist, judge->panel_count);
	for (size_t i = 0; i < judge->panel_count; i++) {
		fill_panelist(builder, i, &judge->panel[i]);
		if (judge->panel[i].cost.set)
			judge->cost = opt_double(judge->cost.value + judge->panel[i].cost.value);
	}
}

/* Who was asked, and what it cost. */
static void fill_asked(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	struct record_judge *judge = &builder->scored->judge;
	for (size_t i = 0; i < judging->members_count; i++)
		add_tokens(judging, i, &judge->prompt_tokens, &judge->completion_tokens);
	if (is_panel(builder)) {
		fill_panel(builder);
		return;
	}
	judge->provider = arena_str(facts->arena, str_from(judge_provider(builder->sources->judge, 0)));
	judge->model = arena_str(facts->arena, str_from(judge_model(builder->sources->judge, 0)));
	judge->cost = cost_of(config_judge_named(facts->config, NULL), judge->prompt_tokens,
			      judge->completion_tokens);
}

static void fill_verdicts(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_judging *judging = &facts->judging;
	struct record_judge *judge = &builder->scored->judge;
	if (judging->asked[JUDGE_RELEVANCE])
		judge->relevance = record_question(builder, JUDGE_RELEVANCE);
	else
		record_add_stage(facts, STAGE_RELEVANCE, "skipped", 0);
	judge->relevance_disagreement = judging->scores[JUDGE_RELEVANCE].disagreement;
	if (judging->asked[JUDGE_CORRECTNESS]) {
		judge->correctness = record_question(builder, JUDGE_CORRECTNESS);
		judge->correctness_disagreement = judging->scores[JUDGE_CORRECTNESS].disagreement;
	} else if (judging->identical) {
		judge->correctness =
			record_score(facts->arena, 1.0, STR("identical to the ground truth"), false);
		judge->correctness->status = STR("identical");
	}
}

void record_build_judge(struct record_builder *builder)
{
	const struct record_judging *judging = &builder->facts->judging;
	struct record_judge *judge = &builder->scored->judge;
	judge->sampling_probability = judging->sampling_probability;
	builder->prompt_digest = all_prompts(builder);
	if (judging->members_count > 0)
		fill_asked(builder);
	fill_verdicts(builder);
	judge->decision = (int)evaluation_decision(judging->scores[JUDGE_RELEVANCE].mean);
	if (judge->decision != DECISION_UNJUDGED)
		return;
	judge->unjudged_reason =
		str_from(judging->unjudged_reason ? judging->unjudged_reason
						  : failure_name(judging->scores[JUDGE_RELEVANCE].error));
}
