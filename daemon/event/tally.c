#include "event/tally.h"

#include "common/clock.h"
#include "event/event.h"

#include <math.h>

static const char *const stages[] = {
#define STAGE(symbol, name) name,
#include "event/stage.def"
#undef STAGE
};

const char *tally_stage_name(enum tally_stage stage)
{
	return stages[stage];
}

const char *tally_answer_name(enum tally_answer answer)
{
	static const char *const names[ANSWER_COUNT_] = { "verdict",   "cached",  "identical",
							  "saturated", "timeout", "failed" };
	return names[answer];
}

const char *tally_question_name(enum tally_question question)
{
	static const char *const names[QUESTION_COUNT_] = { "relevance", "correctness" };
	return names[question];
}

static void add(_Atomic uint64_t *count, uint64_t more)
{
	atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static void tally_stages(struct tally *tally, const struct event *event)
{
	for (size_t i = 0; i < event->stages_count; i++)
		for (size_t stage = 0; stage < STAGE_COUNT_; stage++)
			if (str_is(event->stages[i].name, stages[stage]) &&
			    !str_is(event->stages[i].status, "skipped"))
				histogram_observe(&tally->stages[stage], event->stages[i].duration_us);
}

static void tally_errors(struct tally *tally, const struct event *event)
{
	for (size_t i = 0; i < event->errors_count; i++)
		for (size_t err = 0; err < ERR_COUNT_; err++)
			if (str_is(event->errors[i].code, err_name((err_t)err)))
				add(&tally->errors[err], 1);
}

static void tally_outputs(struct tally *tally, const struct event *event)
{
	for (size_t i = 0; i < event->publication.outputs_count; i++) {
		const struct output *output = &event->publication.outputs[i];
		add(&tally->records[output->topic], 1);
		add(&tally->bytes[output->topic], output->value.len);
	}
}

static enum tally_answer answer_of(const struct record_judge_score *score)
{
	if (str_is(score->status, "ok"))
		return score->cached ? ANSWER_CACHED : ANSWER_VERDICT;
	if (str_is(score->status, "identical"))
		return ANSWER_IDENTICAL;
	if (str_is(score->status, err_name(ERR_JUDGE_SATURATED)))
		return ANSWER_SATURATED;
	return str_is(score->status, err_name(ERR_JUDGE_TIMEOUT)) ? ANSWER_TIMEOUT : ANSWER_FAILED;
}

static void tally_judge(struct tally *tally, const struct record_judge *judge)
{
	if (judge->relevance)
		add(&tally->answers[QUESTION_RELEVANCE][answer_of(judge->relevance)], 1);
	if (judge->correctness)
		add(&tally->answers[QUESTION_CORRECTNESS][answer_of(judge->correctness)], 1);
	if (judge->cost.set && judge->cost.value > 0)
		add(&tally->cost_nano, (uint64_t)llround(judge->cost.value * 1e9));
}

static void tally_validation(struct tally *tally, const struct record_result_validation *validation)
{
	for (size_t status = 0; validation && status < VALIDATION_STATUS_COUNT_; status++)
		if (str_is(validation->status, validation_status_name((enum validation_status)status)))
			add(&tally->validations[status], 1);
}

/* What was found out about the event, also where its record was refused in the end. */
static void tally_findings(struct tally *tally, const struct scored_query *scored)
{
	add(&tally->verdicts[scored->safety.verdict], 1);
	tally_validation(tally, scored->result_validation);
	tally_judge(tally, &scored->judge);
	if (scored->evaluation)
		add(&tally->evaluations[scored->evaluation->passed], 1);
}

static void tally_scored(struct tally *tally, const struct event *event)
{
	int level = event->scored->confidence.level;
	add(&tally->scored[level >= 0 ? level : TALLY_NO_LEVEL], 1);
	for (size_t i = 0; i < event->advisories_count; i++)
		add(&tally->advisories[event->advisories[i].kind], 1);
}

void tally_event(struct tally *tally, const struct event *event)
{
	if (event->dead_reason)
		add(&tally->dead[event->dead_reason], 1);
	else
		tally_scored(tally, event);
	if (event->scored)
		tally_findings(tally, event->scored);
	tally_stages(tally, event);
	tally_errors(tally, event);
	tally_outputs(tally, event);
	histogram_observe(&tally->whole, clock_monotonic_us() - event->received_us);
}
