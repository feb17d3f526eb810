#include "event/event_metrics.h"

#include "common/clock.h"
#include "event/event.h"

#include <math.h>

const char *event_metrics_answer_name(enum event_metrics_answer answer)
{
	static const char *const names[ANSWER_COUNT_] = { "verdict", "cached",	"identical", "saturated",
							  "spent",   "timeout", "failed" };
	return names[answer];
}

const char *event_metrics_question_name(enum event_metrics_question question)
{
	return stage_name(question == QUESTION_RELEVANCE ? STAGE_RELEVANCE : STAGE_CORRECTNESS);
}

const char *event_metrics_source_name(unsigned source)
{
	static const char *const names[EVENT_METRICS_SOURCES] = { "FEEDBACK", "RESULT", "CORRECTNESS",
								  "RELEVANCE" };
	return names[source];
}

const char *event_metrics_validator_name(unsigned validator)
{
	return validator == 0 ? "own" : "upstream";
}

const char *event_metrics_class_name(unsigned grade)
{
	static const char *const names[EVENT_METRICS_CLASSES] = {
		"TRUE_NEGATIVE",      "TRUE_POSITIVE",	   "FALSE_POSITIVE",  "FALSE_NEGATIVE",
		"CORRECT_ACCEPTANCE", "CORRECT_REJECTION", "FALSE_REJECTION", "FALSE_ACCEPTANCE",
	};
	return names[grade];
}

static void add(_Atomic uint64_t *count, uint64_t more)
{
	atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static void event_metrics_stages(struct event_metrics *event_metrics, const struct event *event)
{
	for (size_t i = 0; i < event->facts.stages_count; i++)
		for (size_t stage = 0; stage < STAGE_COUNT_; stage++)
			if (str_is(event->facts.stages[i].name, stage_name((enum stage)stage)) &&
			    !str_is(event->facts.stages[i].status, "skipped"))
				histogram_observe(&event_metrics->stages[stage],
						  event->facts.stages[i].duration_us);
}

static void event_metrics_errors(struct event_metrics *event_metrics, const struct event *event)
{
	for (size_t i = 0; i < event->facts.errors_count; i++)
		add(&event_metrics->errors[event->facts.errors[i].err], 1);
}

static void event_metrics_outputs(struct event_metrics *event_metrics, const struct event *event)
{
	for (size_t i = 0; i < event->publication.outputs_count; i++) {
		const struct output *output = &event->publication.outputs[i];
		add(&event_metrics->records[output->topic], 1);
		add(&event_metrics->bytes[output->topic], output->value.len);
	}
}

static enum event_metrics_answer answer_of(const struct record_judge_score *score)
{
	if (str_is(score->status, "ok"))
		return score->cached ? ANSWER_CACHED : ANSWER_VERDICT;
	if (str_is(score->status, "identical"))
		return ANSWER_IDENTICAL;
	if (str_is(score->status, err_name(ERR_JUDGE_SATURATED)))
		return ANSWER_SATURATED;
	if (str_is(score->status, err_name(ERR_JUDGE_SPENT)))
		return ANSWER_SPENT;
	return str_is(score->status, err_name(ERR_JUDGE_TIMEOUT)) ? ANSWER_TIMEOUT : ANSWER_FAILED;
}

static void event_metrics_answer(struct event_metrics *event_metrics, size_t member,
				 enum event_metrics_question question, const struct record_judge_score *score)
{
	if (score)
		add(&event_metrics->answers[member][question][answer_of(score)], 1);
}

static void event_metrics_cost(struct event_metrics *event_metrics, size_t member, opt_double_t cost)
{
	if (cost.set && cost.value > 0)
		add(&event_metrics->cost_nano[member], (uint64_t)llround(cost.value * 1e9));
}

static void event_metrics_judge(struct event_metrics *event_metrics, const struct record_judge *judge)
{
	for (size_t i = 0; i < judge->panel_count && i < JUDGE_MEMBERS_MAX; i++) {
		event_metrics_answer(event_metrics, i, QUESTION_RELEVANCE, judge->panel[i].relevance);
		event_metrics_answer(event_metrics, i, QUESTION_CORRECTNESS, judge->panel[i].correctness);
		event_metrics_cost(event_metrics, i, judge->panel[i].cost);
	}
	bool identical = judge->correctness && answer_of(judge->correctness) == ANSWER_IDENTICAL;
	if (judge->panel_count == 0 || identical)
		event_metrics_answer(event_metrics, 0, QUESTION_CORRECTNESS, judge->correctness);
	if (judge->panel_count > 0)
		return;
	event_metrics_answer(event_metrics, 0, QUESTION_RELEVANCE, judge->relevance);
	event_metrics_cost(event_metrics, 0, judge->cost);
}

static void event_metrics_validation(struct event_metrics *event_metrics,
				     const struct record_result_validation *validation)
{
	for (size_t status = 0; validation && status < VALIDATION_STATUS_COUNT_; status++)
		if (str_is(validation->status, target_validation_status_name((enum validation_status)status)))
			add(&event_metrics->validations[status], 1);
}

static void event_metrics_grade(_Atomic uint64_t classes[EVENT_METRICS_CLASSES],
				const struct record_grade *grade)
{
	for (unsigned i = 0; grade && i < EVENT_METRICS_CLASSES; i++)
		if (str_is(grade->classification, event_metrics_class_name(i)))
			add(&classes[i], 1);
}

static void event_metrics_grading(struct event_metrics *event_metrics, const struct record_grading *grading)
{
	if (!grading)
		return;
	event_metrics_grade(event_metrics->gradings[0], grading->safety);
	event_metrics_grade(event_metrics->gradings[0], grading->validation);
	event_metrics_grade(event_metrics->gradings[1], grading->upstream_safety);
	event_metrics_grade(event_metrics->gradings[1], grading->upstream_validation);
}

/* What was found out about the event, also where its record was refused in the end. */
static void event_metrics_findings(struct event_metrics *event_metrics, const struct scored_query *scored)
{
	add(&event_metrics->verdicts[scored->safety.verdict], 1);
	event_metrics_validation(event_metrics, scored->result_validation);
	event_metrics_judge(event_metrics, &scored->judge);
	if (scored->evaluation)
		add(&event_metrics->evaluations[scored->evaluation->passed], 1);
	event_metrics_grading(event_metrics, scored->grading);
}

/* Confidence against correctness; nothing without both. */
static void event_metrics_label(struct event_metrics *event_metrics, const struct scored_query *scored)
{
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_label *label = scored->label;
	bool by_probability = str_is(confidence->level_by, "probability") && confidence->probability;
	opt_double_t stated =
		by_probability ? opt_double(confidence->probability->value) : confidence->overall;
	if (!label || (unsigned)label->source >= EVENT_METRICS_SOURCES || !stated.set ||
	    !(stated.value >= 0 && stated.value <= 1) || !(label->weight >= 0 && label->weight <= 1e6))
		return;
	unsigned band = (unsigned)(stated.value * EVENT_METRICS_BANDS);
	struct event_metrics_band *to =
		&event_metrics
			 ->bands[label->source][band < EVENT_METRICS_BANDS ? band : EVENT_METRICS_BANDS - 1];
	uint64_t weight = (uint64_t)llround(label->weight * 1e6);
	add(&to->events, 1);
	add(&to->weight, weight);
	add(&to->correct, label->correct ? weight : 0);
	add(&to->confidence, (uint64_t)llround(label->weight * stated.value * 1e6));
}

static void event_metrics_scored(struct event_metrics *event_metrics, const struct event *event)
{
	int level = event->scored->confidence.level;
	add(&event_metrics->scored[level >= 0 ? level : EVENT_METRICS_NO_LEVEL], 1);
	for (unsigned kind = 0; event->advisory && kind < ADVISORY_KIND_COUNT_; kind++)
		if (event->advisory_kinds & 1u << kind)
			add(&event_metrics->advisories[kind], 1);
	if (event->scored->disposition)
		add(&event_metrics->actions[event->scored->disposition->action], 1);
	event_metrics_label(event_metrics, event->scored);
	recent_note(event_metrics->recent, event->advisory);
	if (event_metrics->segments)
		event_metrics_segments_count(event_metrics->segments, event->scored);
}

void event_metrics_event(struct event_metrics *event_metrics, const struct event *event)
{
	if (event->dead_reason)
		add(&event_metrics->dead[event->dead_reason], 1);
	else
		event_metrics_scored(event_metrics, event);
	if (event->scored)
		event_metrics_findings(event_metrics, event->scored);
	event_metrics_stages(event_metrics, event);
	event_metrics_errors(event_metrics, event);
	event_metrics_outputs(event_metrics, event);
	histogram_observe(&event_metrics->whole, clock_monotonic_us() - event->received_us);
}
