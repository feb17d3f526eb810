#include "event/record/builder.h"

/* Truths of a record that are told to be broken: other errors need room, too. */
#define MAX_BROKEN 6

static struct record_execution record_execution(const struct record_builder *builder,
						const struct validation_execution *from)
{
	struct arena *arena = builder->facts->arena;
	struct record_execution execution = { .rows = from->rows,
					      .more = from->more,
					      .time_ms = from->time_ms };
	if (from->sqlstate[0])
		execution.sqlstate = arena_text(arena, from->sqlstate, strlen(from->sqlstate));
	if (from->code)
		execution.code = (opt_int64_t){ true, from->code };
	if (from->digest[0] && !record_hides_literals(builder)) /* that of few values can be guessed */
		execution.digest = arena_text(arena, from->digest, strlen(from->digest));
	return execution;
}

/* The target counts the truths that it was asked about. */
static void settle_asked(const struct record_facts *facts, struct validation_result *ret_result)
{
	const struct record_analysis *analysis = &facts->analysis;
	*ret_result = facts->validation.result;
	size_t asked = ret_result->truth_index < analysis->truths_asked_count ? ret_result->truth_index : 0;
	ret_result->truth_index = analysis->truths_asked[asked];
	size_t doubted =
		ret_result->doubted_truth < analysis->truths_asked_count ? ret_result->doubted_truth : 0;
	ret_result->doubted_truth = analysis->truths_asked[doubted];
}

/* A result that nobody was asked for: the query is unsafe or no statement (that is a result), it is not known
 * to be safe, or its target is out of reach. */
static void settle_not_asked(struct record_builder *builder, struct validation_result *ret_result)
{
	struct record_facts *facts = builder->facts;
	*ret_result = (struct validation_result){ .status = VALIDATION_UNSAFE };
	if (facts->analysis.sql.verdict == SQL_UNSAFE)
		return;
	if (facts->analysis.target && !facts->analysis.sql.valid) {
		ret_result->status = VALIDATION_INVALID;
		return;
	}
	ret_result->status = VALIDATION_GROUND_TRUTH_FAILED;
	if (facts->analysis.target && facts->analysis.truths_asked) /* none may run, which is told already */
		return;
	ret_result->status = VALIDATION_UNAVAILABLE;
	/* a target that is not known, or speaks another dialect, is flagged already; so are truths that
	 * cannot be used */
	bool reported = !facts->analysis.target || facts->analysis.truths_count == 0;
	ret_result->error = reported		      ? ERR_OK
			    : facts->analysis.catalog ? ERR_SAFETY_UNKNOWN
						      : ERR_CATALOG_UNAVAILABLE;
	ret_result->message =
		arena_printf(facts->arena, "the query cannot be proven safe, so it is not run: " STR_FMT,
			     STR_ARG(record_message(builder, facts->analysis.sql.doubt)));
}

/* Nothing was compared, through no fault of the query. */
static bool is_missing(const struct validation_result *result)
{
	return result->status == VALIDATION_GROUND_TRUTH_FAILED || result->status == VALIDATION_UNAVAILABLE;
}

/* Whoever matches none of the truths that could be used may match one that was left out, which is told
 * already. */
static bool may_be_right(const struct record_facts *facts, const struct validation_result *result)
{
	return facts->analysis.truths_left_out && result->status == VALIDATION_COMPARED && result->score < 1;
}

/* Whether several truths have failed, of which what the result says is one: each is told. */
static bool several_broken(const struct record_facts *facts, const struct validation_result *result)
{
	const struct record_analysis *analysis = &facts->analysis;
	for (size_t i = 0; result->broken_count > 1 && i < result->broken_count; i++)
		if (result->broken[i].truth_index < analysis->truths_asked_count &&
		    analysis->truths_asked[result->broken[i].truth_index] == result->truth_index)
			return true;
	return false;
}

/* What is not conclusive is published and counts as nothing. */
static bool is_conclusive(const struct validation_result *result)
{
	return !is_missing(result) && (result->conclusive || result->status != VALIDATION_COMPARED);
}

static void flag_missing(struct record_builder *builder, const struct validation_result *result)
{
	struct record_facts *facts = builder->facts;
	str_t message =
		facts->validation_asked ? record_server_message(builder, result->message) : result->message;
	if (!is_missing(result) || !result->error || several_broken(facts, result))
		return;
	const char *metric = stage_name(STAGE_RESULT);
	const char *text = str_present(message) ? message.ptr : err_text(result->error);
	if (result->status == VALIDATION_GROUND_TRUTH_FAILED)
		record_add_truth_error(facts, result->truth_index, metric, result->error, text);
	else
		record_add_error(facts, metric, result->error, text);
}

/* Truths that do not run, beside others that do or that do not run either; of one alone that does not, what
 * the result says is told already. */
static void flag_broken(struct record_builder *builder, const struct validation_result *result)
{
	struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	bool missing = is_missing(result);
	if (missing && !several_broken(facts, result))
		return;
	for (size_t i = 0; i < result->broken_count && i < MAX_BROKEN; i++) {
		const struct validation_broken *broken = &result->broken[i];
		size_t more = i + 1 == MAX_BROKEN ? result->broken_count - MAX_BROKEN : 0;
		if (broken->truth_index >= analysis->truths_asked_count)
			continue; /* a worker's mistake */
		str_t name = record_truth_name(facts, analysis->truths_asked[broken->truth_index]);
		str_t message = record_server_message(builder, broken->message);
		message = arena_printf(facts->arena,
				       STR_FMT " does not run%s: " STR_FMT "; fix the ground truth",
				       STR_ARG(name), missing ? "" : ", and is left out", STR_ARG(message));
		if (more > 0)
			message = arena_printf(facts->arena, STR_FMT " (and %zu more do not run)",
					       STR_ARG(message), more);
		record_add_truth_error(facts, analysis->truths_asked[broken->truth_index],
				       stage_name(STAGE_RESULT), broken->error, message.ptr);
	}
}

void record_build_result(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct generated_query *query = facts->query;
	struct validation_result settled, *result = &settled;
	if (!builder->has_truth || !str_present(query->target)) {
		record_add_stage(facts, STAGE_RESULT, "skipped", 0);
		return;
	}
	if (facts->validation_asked)
		settle_asked(facts, &settled);
	else
		settle_not_asked(builder, &settled);
	if (may_be_right(facts, result))
		settled.conclusive = false;
	flag_missing(builder, result);
	flag_broken(builder, result);
	builder->truth_index = result->truth_index;
	struct record_result_validation *record = ARENA_NEW(facts->arena, struct record_result_validation);
	*record = (struct record_result_validation){
		.status = str_from(target_validation_status_name(result->status)),
		.score = is_missing(result) ? 0 : result->score,
		.truth_index = facts->analysis.truths_count > 0
				       ? (int64_t)facts->analysis.truth_places[result->truth_index]
				       : 0,
		.weight = builder->match.factor,
		.match_confidence = (int)builder->match.level,
		.schema_match = result->schema_match,
		.row_count_match = result->row_count_match,
		.content_match_rate = result->content_match_rate,
		.ordering_matters = result->ordering_matters,
		.truncated = result->truncated,
		.nondeterministic = result->nondeterministic,
		.conclusive = is_conclusive(result),
		.limit_cut_tie = result->limit_cut_tie,
		.truth_cached = result->truth_cached,
		.one_snapshot = !result->apart,
		.match_rate_low = result->match_rate_low,
		.match_rate_high = result->match_rate_high,
		.generated = record_execution(builder, &result->generated),
		.truth = record_execution(builder, &result->truth),
		.explanation = record_build_explanation(builder, result),
	};
	int64_t larger =
		record->generated.rows > record->truth.rows ? record->generated.rows : record->truth.rows;
	bool counted = result->status == VALIDATION_COMPARED && result->schema_match;
	if (counted && !result->match_rate_low.set && result->rows_compared == larger)
		record->rows_matched = (opt_int64_t){ true, result->rows_matched };
	builder->scored->result_validation = record;
	record_add_stage(facts, STAGE_RESULT, is_missing(result) ? "failed" : "ok",
			 facts->validation.duration_us);
}
