#include "event/advisories.h"

#include "common/clock.h"
#include "common/utf8.h"
#include "event/context.h"
#include "event/incidents.h"
#include "event/outages.h"
#include "event/query_times.h"
#include "event/rate_limiter.h"
#include "event/record/reason.h"
#include "event/remedy.h"
#include "score/match.h"

#include <inttypes.h>
#include <math.h>

/* Bytes of the question and of the SQL that an advisory repeats; reasons that its summary names. */
enum { EXCERPT_BYTES = 1000, REASONS_SUMMARISED = 2 };

/* The gravest first. */
static const enum advisory_kind by_gravity[] = {
	ADVISORY_UNSAFE_QUERY,	     ADVISORY_OWN_FALSE_NEGATIVE, ADVISORY_LOW_CONFIDENCE,
	ADVISORY_LOW_RELEVANCE,	     ADVISORY_WRONG_ANSWER,	  ADVISORY_GROUND_TRUTH_FAILED,
	ADVISORY_TARGET_UNAVAILABLE, ADVISORY_REVIEW_REQUIRED,	  ADVISORY_PERFORMANCE_REGRESSION,
};

enum { KINDS = sizeof by_gravity / sizeof by_gravity[0] };

_Static_assert((int)KINDS == (int)ADVISORY_KIND_COUNT_ - 1, "all kinds but that of drift");

/* What is found on the way. */
struct raised {
	struct event *event;
	const struct scored_query *scored;
	unsigned kinds; /* bits */
	bool outage_begins;
	bool slower_than_truth;
	bool slower_than_before;
	struct query_usual usual; /* of the latter */
};

static bool has(const struct raised *raised, enum advisory_kind kind)
{
	return raised->kinds & 1u << kind;
}

static void note(struct raised *raised, enum advisory_kind kind, bool applies)
{
	if (applies)
		raised->kinds |= 1u << kind;
}

/* ---- kinds ---- */

/* What the level is the band of. */
static opt_double_t confidence_of(const struct event *event)
{
	const struct record_confidence *confidence = &event->scored->confidence;
	return event->facts.analysis.level_by_probability ? opt_double(confidence->probability->value)
							  : confidence->overall;
}

/* Known to be wrong by more than being unsafe, which is a kind of its own. */
static bool is_wrong(const struct event *event)
{
	const struct disposition *disposition = &event->facts.disposition;
	for (size_t i = 0; i < disposition->count; i++)
		if (disposition_finding_wrong(disposition->findings[i]) &&
		    disposition->findings[i] != FINDING_UNSAFE)
			return true;
	return false;
}

static bool has_status(const struct record_result_validation *validation, enum validation_status status)
{
	return validation && str_is(validation->status, target_validation_status_name(status));
}

/* Slower than the truth beside it, or than the same query used to be. */
static void compare_times(struct raised *raised)
{
	const struct event *event = raised->event;
	const struct record_result_validation *validation = event->scored->result_validation;
	const struct config_result *rules = &event->config->result;
	str_t form = event->facts.analysis.sql.canonical;
	bool compared = has_status(validation, VALIDATION_COMPARED);
	raised->slower_than_truth =
		compared &&
		match_performance_regressed(validation->generated.time_ms, validation->truth.time_ms,
					    rules->performance_factor, rules->performance_floor_ms);
	if ((compared || has_status(validation, VALIDATION_TIMEOUT)) && str_present(form))
		raised->slower_than_before =
			query_times_note(event->context->query_times, event->facts.query->target, form,
					 validation->generated.time_ms, rules->performance_factor,
					 rules->performance_floor_ms, &raised->usual);
}

static bool is_own_false_negative(const struct scored_query *scored)
{
	const struct record_grade *grade = scored->grading ? scored->grading->safety : NULL;
	return grade && str_is(grade->classification, "FALSE_NEGATIVE");
}

/* The target answers, but not that query: whoever may read all of it is told otherwise. */
static bool is_denied(const struct event *event)
{
	return event->facts.analysis.catalog && reason_target_denied(event->scored);
}

/* Notes whether the target of the event answers; true where it does not, and no event has said so yet. A
 * query that cannot be proven safe is asked of no target. */
static bool outage_begins(struct event *event)
{
	const struct record_facts *facts = &event->facts;
	const struct record_analysis *analysis = &facts->analysis;
	struct outages *outages = event->context->outages;
	const struct record_result_validation *validation = event->scored->result_validation;
	str_t target = facts->query->target;
	bool failed = analysis->agreement_target_failed;
	if (facts->validation_asked && validation)
		failed = str_is(validation->status, target_validation_status_name(VALIDATION_UNAVAILABLE));
	if (!str_present(target) || analysis->dialect >= SQL_UNKNOWN_DIALECT) /* nothing is asked of it */
		return false;
	if (is_denied(event))
		failed = false;
	if (failed || !analysis->catalog)
		return outages_away(outages, target, analysis->target != NULL, failed, clock_monotonic_us());
	outages_back(outages, target, facts->target_asked);
	return false;
}

/* What a target that does not answer brings with it, which one advisory tells for all events of the target.
 */
static bool follows_from_outage(const struct event *event, enum disposition_finding finding)
{
	bool away = disposition_has(&event->facts.disposition, FINDING_TARGET_UNAVAILABLE) ||
		    disposition_has(&event->facts.disposition, FINDING_TARGET_UNKNOWN);
	return away && !is_denied(event) &&
	       (finding == FINDING_TARGET_UNAVAILABLE || finding == FINDING_TARGET_UNKNOWN ||
		finding == FINDING_CONFIDENCE_NONE || finding == FINDING_SAFETY_UNKNOWN);
}

/* A person has to look, for a reason that is no outage's. */
static bool takes_review(const struct event *event)
{
	const struct disposition *disposition = &event->facts.disposition;
	for (size_t i = 0; i < disposition->count; i++) {
		enum disposition_finding finding = disposition->findings[i];
		if (disposition_finding_action(finding) <= DISPOSITION_VERIFY &&
		    !follows_from_outage(event, finding))
			return true;
	}
	return false;
}

static void find_kinds(struct raised *raised)
{
	struct event *event = raised->event;
	const struct scored_query *scored = raised->scored;
	const struct config_advisories *rules = &event->config->advisories;
	opt_double_t confidence = confidence_of(event);
	raised->outage_begins = outage_begins(event);
	compare_times(raised);
	note(raised, ADVISORY_UNSAFE_QUERY, scored->safety.verdict == VERDICT_UNSAFE);
	note(raised, ADVISORY_OWN_FALSE_NEGATIVE, is_own_false_negative(scored));
	note(raised, ADVISORY_LOW_CONFIDENCE,
	     confidence.set && confidence.value < rules->low_confidence_below);
	note(raised, ADVISORY_LOW_RELEVANCE,
	     scored->judge.decision != DECISION_UNJUDGED &&
		     scored->judge.relevance->score < rules->low_relevance_below);
	note(raised, ADVISORY_WRONG_ANSWER, is_wrong(event));
	note(raised, ADVISORY_GROUND_TRUTH_FAILED,
	     disposition_has(&event->facts.disposition, FINDING_GROUND_TRUTH_FAILED));
	note(raised, ADVISORY_REVIEW_REQUIRED, raised->kinds == 0 && takes_review(event));
	note(raised, ADVISORY_TARGET_UNAVAILABLE, raised->outage_begins);
	note(raised, ADVISORY_PERFORMANCE_REGRESSION,
	     raised->slower_than_truth || raised->slower_than_before);
}

static enum advisory_kind gravest(const struct raised *raised)
{
	size_t i = 0;
	while (i + 1 < KINDS && !has(raised, by_gravity[i]))
		i++;
	return by_gravity[i];
}

/* ---- what it says ---- */

static str_t segment_of(struct event *event)
{
	const struct generated_query *query = event->facts.query;
	return arena_printf(event->arena, STR_FMT "\n" STR_FMT "\n" STR_FMT, STR_ARG(query->application),
			    STR_ARG(query->model), STR_ARG(query->prompt_version));
}

static str_t excerpt(struct event *event, str_t text)
{
	return arena_excerpt(event->arena, text, EXCERPT_BYTES);
}

/* The truth that the record is about, as far as it repeats it. */
static str_t truth_of(const struct scored_query *scored)
{
	const struct ground_truth *truth = scored->input->ground_truth;
	int64_t index = scored->result_validation ? scored->result_validation->truth_index : 0;
	if (!truth)
		return STR_NONE;
	if (index > 0 && (size_t)index <= truth->alternatives_count)
		return truth->alternatives[index - 1];
	return truth->sql;
}

static void set_kinds(const struct raised *raised, struct advisory *advisory)
{
	advisory->kinds = ARENA_ARRAY(raised->event->arena, str_t, KINDS);
	for (size_t i = 0; i < KINDS; i++)
		if (has(raised, by_gravity[i]))
			advisory->kinds[advisory->kinds_count++] =
				str_from(advisory_kind_name(by_gravity[i]));
}

/* The event's finer name of the gravest kind, the bound that was crossed, and what has crossed it. */
static void set_value(const struct raised *raised, enum advisory_kind kind, struct advisory *advisory)
{
	const struct event *event = raised->event;
	const struct scored_query *scored = raised->scored;
	const struct config_advisories *rules = &event->config->advisories;
	const struct record_result_validation *validation = scored->result_validation;
	advisory->event_type = str_from(advisory_kind_name(kind));
	if (kind == ADVISORY_LOW_CONFIDENCE) {
		bool rag = str_is(advisory->limiting_factor, "advisory") &&
			   !event->facts.analysis.level_by_probability &&
			   scored->confidence.advisory->confidence < rules->advisory_only_below;
		advisory->event_type = rag ? STR("RAG_ADVISORY_LOW_CONFIDENCE") : STR("QUERY_LOW_CONFIDENCE");
		advisory->threshold = opt_double(rules->low_confidence_below);
		advisory->value = confidence_of(event);
	} else if (kind == ADVISORY_LOW_RELEVANCE) {
		advisory->threshold = opt_double(rules->low_relevance_below);
		advisory->value = opt_double(scored->judge.relevance->score);
	} else if (kind == ADVISORY_PERFORMANCE_REGRESSION) {
		double expected_ms =
			raised->slower_than_truth ? validation->truth.time_ms : raised->usual.time_ms;
		const struct config_result *bounds = &event->config->result;
		advisory->threshold = opt_double(
			fmax(expected_ms * bounds->performance_factor, bounds->performance_floor_ms));
		advisory->value = opt_double(validation->generated.time_ms);
	}
}

/* Slowness, which is no reason of the disposition, since it bears on no answer. */
static void add_slowness(const struct raised *raised, struct advisory *advisory)
{
	struct arena *arena = raised->event->arena;
	const struct record_result_validation *validation = raised->scored->result_validation;
	double factor = raised->event->config->result.performance_factor;
	if (raised->slower_than_truth)
		advisory->reasons[advisory->reasons_count++] = (struct record_recommendation){
			STR("performance_regression"),
			arena_printf(arena,
				     "the query took %.0f ms, more than %g times its ground truth's %.1f ms; "
				     "its result %s",
				     validation->generated.time_ms, factor, validation->truth.time_ms,
				     validation->score >= 1 ? "is the same" : "differs"),
		};
	if (raised->slower_than_before)
		advisory->reasons[advisory->reasons_count++] = (struct record_recommendation){
			STR("slower_than_before"),
			arena_printf(arena,
				     "the query took %.0f ms, more than %g times the %.1f ms that are usual "
				     "for it (%" PRId64 " runs before)",
				     validation->generated.time_ms, factor, raised->usual.time_ms,
				     raised->usual.runs),
		};
}

/* The disposition's reasons, then slowness. */
static void set_reasons(const struct raised *raised, struct advisory *advisory)
{
	const struct record_disposition *disposition = raised->scored->disposition;
	advisory->action = disposition->action;
	advisory->reasons = ARENA_ARRAY(raised->event->arena, struct record_recommendation,
					disposition->reasons_count + 2);
	memcpy(advisory->reasons, disposition->reasons,
	       disposition->reasons_count * sizeof *disposition->reasons);
	advisory->reasons_count = disposition->reasons_count;
	add_slowness(raised, advisory);
}

static void add_factor(struct advisory *advisory, const char *name, opt_double_t value)
{
	if (value.set)
		advisory->factors[advisory->factors_count++] =
			(struct record_weight){ str_from(name), value.value };
}

/* Everything that confidence was made of, 0..1. */
static void set_factors(const struct raised *raised, struct advisory *advisory)
{
	const struct record_confidence *confidence = &raised->scored->confidence;
	const opt_double_t none = OPT_NONE;
	advisory->factors = ARENA_ARRAY(raised->event->arena, struct record_weight, 8);
	if (raised->scored->safety.verdict == VERDICT_UNSAFE)
		add_factor(advisory, "safety", opt_double(0));
	add_factor(advisory, "overall", confidence->overall);
	add_factor(advisory, "probability",
		   confidence->probability ? opt_double(confidence->probability->value) : none);
	add_factor(advisory, "technical",
		   confidence->technical ? opt_double(confidence->technical->score / 100) : none);
	add_factor(advisory, "advisory",
		   confidence->advisory ? opt_double(confidence->advisory->confidence) : none);
	add_factor(advisory, "retrieval",
		   confidence->retrieval ? opt_double(confidence->retrieval->confidence) : none);
	add_factor(advisory, "generator", confidence->generator);
	add_factor(advisory, "agreement", raised->event->facts.analysis.agreement_factor);
}

/* Without what ends a sentence, since more follows. */
static str_t unended(str_t text)
{
	while (text.len > 1 && text.ptr[text.len - 1] == '.' && text.ptr[text.len - 2] != '.')
		text.len--;
	return text;
}

/* The reason that tells of the target, for whose outage this advisory stands; `from`: behind those told. */
static const struct record_recommendation *reason_of_target(const struct advisory *advisory, size_t from)
{
	for (size_t i = from; i < advisory->reasons_count; i++)
		if (str_is(advisory->reasons[i].code, disposition_finding_code(FINDING_TARGET_UNKNOWN)) ||
		    str_is(advisory->reasons[i].code, disposition_finding_code(FINDING_TARGET_UNAVAILABLE)))
			return &advisory->reasons[i];
	return NULL;
}

/* Why before what to do. */
static str_t summary_of(const struct raised *raised, const struct advisory *advisory)
{
	struct buf text = BUF_INIT;
	const struct disposition *disposition = &raised->event->facts.disposition;
	enum disposition_action action = disposition->action;
	size_t decisive = 1; /* reasons, those that allow no more than the action */
	while (decisive < disposition->count && decisive < REASONS_SUMMARISED &&
	       disposition_finding_action(disposition->findings[decisive]) == action &&
	       !follows_from_outage(raised->event, disposition->findings[decisive]))
		decisive++;
	bool slow_alone = raised->kinds == 1u << ADVISORY_PERFORMANCE_REGRESSION;
	size_t i = slow_alone ? disposition->count : 0, end = i + decisive;
	str_t last = STR("");
	for (; i < advisory->reasons_count && i < end; i++) {
		buf_printf(&text, "%s" STR_FMT, last.len ? "; " : "",
			   STR_ARG(unended(advisory->reasons[i].text)));
		last = unended(advisory->reasons[i].text);
	}
	const struct record_recommendation *target =
		raised->outage_begins && !slow_alone ? reason_of_target(advisory, i) : NULL;
	if (target) {
		buf_printf(&text, "; " STR_FMT, STR_ARG(target->text));
		last = target->text;
	}
	if (last.len == 0 || !strchr("?!", last.ptr[last.len - 1]))
		buf_append_char(&text, '.');
	if (slow_alone)
		buf_printf(&text, " The answer is not affected (%s)", disposition_action_name(action));
	else
		buf_printf(&text, " %s: %s", disposition_action_name(action),
			   disposition_action_text(action));
	str_t summary = arena_str(raised->event->arena, buf_str(&text));
	buf_free(&text);
	return summary;
}

/* Of the kind, else of the decisive finding. */
static const char *remedy_of(const struct raised *raised, enum advisory_kind kind)
{
	if (kind == ADVISORY_OWN_FALSE_NEGATIVE)
		return remedy_of_false_negative(raised->scored->input &&
						str_present(truth_of(raised->scored)));
	if (kind == ADVISORY_PERFORMANCE_REGRESSION)
		return remedy_of_slowness(raised->slower_than_truth);
	return remedy_of_finding(raised->event);
}

static struct advisory *compose(const struct raised *raised, enum advisory_kind kind, int64_t suppressed)
{
	struct event *event = raised->event;
	const struct generated_query *query = event->facts.query;
	const struct scored_query *scored = raised->scored;
	const struct event_origin *origin = &event->origin;
	struct advisory *advisory = ARENA_NEW(event->arena, struct advisory);
	*advisory = (struct advisory){
		.advisory_id = arena_printf(event->arena, STR_FMT "-%" PRId32 "-%" PRId64,
					    STR_ARG(origin->topic), origin->partition, origin->offset),
		.kind = (int)advisory_kind_former(kind),
		.raised_at = scored->scored_at,
		.level = scored->confidence.level,
		.limiting_factor = scored->confidence.limiting_factor,
		.remedy = str_from(remedy_of(raised, kind)),
		.event_id = query->event_id,
		.occurred_at = { true, query->occurred_at },
		.application = query->application,
		.model = query->model,
		.prompt_version = query->prompt_version,
		.target = query->target,
		.suppressed = suppressed,
	};
	if (str_present(origin->topic)) {
		advisory->topic = origin->topic;
		advisory->partition = (opt_int64_t){ true, origin->partition };
		advisory->offset = (opt_int64_t){ true, origin->offset };
		advisory->scored_topic = str_from(event->config->kafka.scored_topic);
	}
	if (scored->input) {
		advisory->question = excerpt(event, scored->input->question);
		advisory->sql = excerpt(event, scored->input->sql);
		advisory->truth_sql = excerpt(event, truth_of(scored));
	}
	set_kinds(raised, advisory);
	set_value(raised, kind, advisory);
	set_reasons(raised, advisory);
	set_factors(raised, advisory);
	advisory->summary = summary_of(raised, advisory);
	return advisory;
}

struct advisory *advisories_of(struct event *event, unsigned *ret_kinds)
{
	struct raised raised = { .event = event, .scored = event->scored };
	int64_t suppressed = 0, now_us = clock_monotonic_us();
	*ret_kinds = 0;
	find_kinds(&raised);
	if (raised.kinds == 0)
		return NULL;
	enum advisory_kind kind = gravest(&raised);
	int64_t max = event->config->advisories.max_per_minute;
	bool pass = rate_limiter_pass(event->context->rate_limiter, (int)kind, segment_of(event),
				      (unsigned)max, now_us, &suppressed);
	if (!pass && !(raised.outage_begins && max > 0)) { /* nobody says again that an outage begins */
		incidents_note(event->context->incidents, INCIDENT_ADVISORY_HELD_BACK, kind, &event->origin,
			       event->facts.query->application, now_us);
		return NULL;
	}
	*ret_kinds = raised.kinds;
	return compose(&raised, kind, suppressed);
}
