#include "event/outcome.h"
#include "event/truths.h"

/* Truths of a record that are told to be broken: other errors need room, too. */
#define BROKEN_MOST 6

static struct record_execution record_execution(struct arena *arena, const struct validation_execution *from)
{
	struct record_execution execution = { .rows = from->rows, .time_ms = from->time_ms };
	if (from->sqlstate[0])
		execution.sqlstate = arena_text(arena, from->sqlstate, strlen(from->sqlstate));
	if (from->code)
		execution.code = (opt_int64_t){ true, from->code };
	return execution;
}

/* The target counts the truths that it was asked about. */
static void settle_asked(const struct event *event, struct validation_result *ret_result)
{
	const struct event_analysis *analysis = &event->analysis;
	*ret_result = event->validation.result;
	size_t asked = ret_result->truth_index < analysis->truths_asked_count ? ret_result->truth_index : 0;
	ret_result->truth_index = analysis->truths_asked[asked];
}

/* A result that nobody was asked for: the query is unsafe or no statement (that is a result), it is not known
 * to be safe, or its target is out of reach. */
static void settle_not_asked(struct outcome *outcome, struct validation_result *ret_result)
{
	struct event *event = outcome->event;
	*ret_result = (struct validation_result){ .status = VALIDATION_UNSAFE };
	if (event->analysis.sql.verdict == SQL_UNSAFE)
		return;
	if (event->analysis.target && !event->analysis.sql.valid) {
		ret_result->status = VALIDATION_INVALID;
		return;
	}
	ret_result->status = VALIDATION_GROUND_TRUTH_FAILED;
	if (event->analysis.target && event->analysis.truths_asked) /* none may run, which is told already */
		return;
	ret_result->status = VALIDATION_UNAVAILABLE;
	/* a target that is not known, or speaks another dialect, is flagged already; so are truths that
	 * cannot be used */
	bool told = !event->analysis.target || event->analysis.truths_count == 0;
	ret_result->error = told		      ? ERR_OK
			    : event->analysis.catalog ? ERR_SAFETY_UNKNOWN
						      : ERR_CATALOG_UNAVAILABLE;
	ret_result->message =
		arena_printf(event->arena, "the query cannot be proven safe, so it is not run: " STR_FMT,
			     STR_ARG(outcome_message(outcome, event->analysis.sql.doubt)));
}

/* Nothing was compared, through no fault of the query. */
static bool is_missing(const struct validation_result *result)
{
	return result->status == VALIDATION_GROUND_TRUTH_FAILED || result->status == VALIDATION_UNAVAILABLE;
}

/* Whoever matches none of the truths that could be used may match one that was left out, which is told
 * already. */
static bool may_be_right(const struct event *event, const struct validation_result *result)
{
	return event->analysis.truths_left_out && result->status == VALIDATION_COMPARED && result->score < 1;
}

/* What is not conclusive is published and counts as nothing. */
static void flag_result(struct outcome *outcome, const struct validation_result *result)
{
	struct event *event = outcome->event;
	bool verdict = result->conclusive || result->status != VALIDATION_COMPARED;
	outcome->result.state = verdict ? METRIC_COMPUTED : METRIC_FAILED;
	outcome->result.value = result->score;
	if (!is_missing(result))
		return;
	outcome->result.state = METRIC_FAILED;
	outcome->truth_failed = result->status == VALIDATION_GROUND_TRUTH_FAILED;
	str_t message = event->validation_asked ? outcome_server_message(outcome, result->message)
						: result->message;
	if (result->error)
		event_add_error(event, "result_validation", result->error,
				str_present(message) ? message.ptr : err_text(result->error));
}

/* Truths that do not run beside others that do; a query that could not be compared with any is told as such.
 */
static void tell_broken(struct outcome *outcome, const struct validation_result *result)
{
	struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	for (size_t i = 0; !is_missing(result) && i < result->broken_count && i < BROKEN_MOST; i++) {
		const struct validation_broken *broken = &result->broken[i];
		if (broken->truth_index >= analysis->truths_asked_count)
			continue; /* a worker's mistake */
		str_t name = event_truth_name(event, analysis->truths_asked[broken->truth_index]);
		str_t message = outcome_server_message(outcome, broken->message);
		message = arena_printf(event->arena,
				       STR_FMT " does not run, and is left out: " STR_FMT
					       "; fix the ground truth",
				       STR_ARG(name), STR_ARG(message));
		event_add_error(event, "result_validation", broken->error, message.ptr);
	}
}

void outcome_result(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct generated_query *query = event->query;
	struct validation_result settled, *result = &settled;
	outcome->result.state = METRIC_NOT_ASKED;
	if (!outcome->has_truth || !str_present(query->target)) {
		event_add_stage(event, "result_validation", "skipped", 0);
		return;
	}
	if (event->validation_asked)
		settle_asked(event, &settled);
	else
		settle_not_asked(outcome, &settled);
	if (may_be_right(event, result))
		settled.conclusive = false;
	flag_result(outcome, result);
	tell_broken(outcome, result);
	outcome->truth_index = result->truth_index;
	struct record_result_validation *record = ARENA_NEW(event->arena, struct record_result_validation);
	*record = (struct record_result_validation){
		.status = str_from(validation_status_name(result->status)),
		.score = is_missing(result) ? 0 : result->score,
		.truth_index = event->analysis.truths_count > 0
				       ? (int64_t)event->analysis.truth_places[result->truth_index]
				       : 0,
		.weight = outcome->match.factor,
		.match_confidence = (int)outcome->match.level,
		.schema_match = result->schema_match,
		.row_count_match = result->row_count_match,
		.content_match_rate = result->content_match_rate,
		.ordering_matters = result->ordering_matters,
		.truncated = result->truncated,
		.nondeterministic = result->nondeterministic,
		.conclusive = outcome->result.state == METRIC_COMPUTED,
		.limit_cut_tie = result->limit_cut_tie,
		.truth_cached = result->truth_cached,
		.match_rate_low = result->match_rate_low,
		.match_rate_high = result->match_rate_high,
		.generated = record_execution(event->arena, &result->generated),
		.truth = record_execution(event->arena, &result->truth),
		.explanation = outcome_explanation(outcome, result),
	};
	outcome->scored->result_validation = record;
	event_add_stage(event, "result_validation", is_missing(result) ? "failed" : "ok",
			event->validation.duration_us);
}
