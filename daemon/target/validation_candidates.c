#include "target/validation_candidates.h"

#include "common/clock.h"

/* What is left for all of them. */
struct budget {
	int64_t until_us;
	int64_t rows;
};

/* Rounded up, so that a budget of 1 ms is one. */
static int64_t left_ms(const struct budget *budget)
{
	return (budget->until_us - clock_monotonic_us() + 999) / 1000;
}

/* The first result of each kind that differs from the answer; likewise bounded in bytes, since several are
 * there at a time. */
struct candidate_kept {
	struct result_builder result; /* with an arena of its own */
	uint32_t candidate;
};

struct kept_results {
	struct candidate_kept *items;
	size_t count;
	int64_t bytes;
};

static bool returns_same(const struct validation *validation, const struct result_set *one,
			 const struct result_set *other, struct arena *arena)
{
	struct compare_options options =
		validation_options(validation, &validation->request->candidates.answer, arena);
	struct compare_verdict verdict;
	compare_results(other, one, &options, arena, &verdict);
	return verdict.score >= 1.0;
}

/* Of the candidate whose result differs from the answer; another one's, or its own. */
static uint32_t find_same(const struct validation *validation, const struct kept_results *kept,
			  const struct result_set *result, const struct budget *budget, uint32_t candidate,
			  struct arena *arena)
{
	for (size_t i = 0; i < kept->count && left_ms(budget) > 0; i++) {
		const struct result_set other = result_finish(&kept->items[i].result);
		if (returns_same(validation, &other, result, arena))
			return kept->items[i].candidate;
	}
	return candidate;
}

static void release(struct result_builder *result)
{
	result_free(result);
	arena_free(result->arena);
}

/* Takes the result over, or leaves it with the caller. */
static void keep(struct kept_results *kept, struct result_builder *result, uint32_t candidate,
		 int64_t max_bytes)
{
	if (result->bytes > max_bytes - kept->bytes)
		return;
	kept->bytes += result->bytes;
	kept->items[kept->count++] = (struct candidate_kept){ *result, candidate };
	*result = (struct result_builder){ 0 };
}

static void release_kept(struct kept_results *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		release(&kept->items[i].result);
}

/* By its columns, or by more rows than the answer has, whatever was not fetched. */
static bool is_different(const struct result_set *answer, const struct result_set *result)
{
	return result->columns_count != answer->columns_count ||
	       result->rows_count + result->truncated > answer->rows_count;
}

static struct candidate_result compare_candidate(const struct validation *validation, struct query_run *run,
						 struct kept_results *kept, struct budget *budget,
						 uint32_t candidate)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct result_set answer = result_finish(&validation->generated.result);
	const struct result_set result = result_finish(&run->result);
	struct candidate_result found = { CANDIDATE_LEFT_OUT, candidate };
	int64_t rows = (int64_t)result.rows_count;
	bool fewer = !result.truncated && result.rows_count < answer.rows_count;
	bool different = fewer || is_different(&answer, &result);
	if (different)
		found.outcome = CANDIDATE_DIFFERENT;
	if (result.truncated || (!different && rows > budget->rows))
		return found;
	budget->rows -= rows < budget->rows ? rows : budget->rows;
	if (!different && returns_same(validation, &answer, &result, arena)) {
		found.outcome = CANDIDATE_EQUAL;
		return found;
	}
	found.outcome = CANDIDATE_DIFFERENT;
	found.same_as = find_same(validation, kept, &result, budget, candidate, arena);
	if (found.same_as == candidate)
		keep(kept, &run->result, candidate, validation->settings->target.max_result_bytes);
	return found;
}

/* Those of the answer tell whether it is another result, and one more. Beyond them a candidate is read as far
 * as its even share of the budget reaches, since of what is read to its end it can be told whether others
 * return the same. */
static int64_t rows_of(const struct validation *validation, const struct budget *budget, uint32_t candidate)
{
	const struct validation_candidates *asked = &validation->request->candidates;
	int64_t answer = (int64_t)validation->generated.result.rows_count;
	int64_t share = budget->rows / (int64_t)(asked->count - candidate);
	int64_t most = validation->settings->target.max_rows;
	share = share < most ? share : most;
	return share > answer ? share : answer;
}

/* For `most_ms` at most, above 0. An error is the target's. */
static err_t run_candidate(const struct validation *validation, uint32_t candidate, struct kept_results *kept,
			   struct budget *budget, int64_t most_ms, struct candidate_result *ret_result,
			   struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	struct query_run run = {
		.limit_ms = most_ms,
		.result = { .arena = arena_new(),
			    .max_rows = rows_of(validation, budget, candidate),
			    .max_bytes = target->max_result_bytes },
	};
	err_t err = validation->engine->run(*validation->session,
					    validation->request->candidates.texts[candidate], &run, detail);
	if (!err && run.outcome == QUERY_RETURNED)
		*ret_result = compare_candidate(validation, &run, kept, budget, candidate);
	else if (!err && (run.outcome == QUERY_FAILED || most_ms >= target->statement_timeout_ms))
		ret_result->outcome = CANDIDATE_FAILED;
	release(&run.result);
	return err;
}

static err_t run_all(const struct validation *validation, struct kept_results *kept,
		     struct candidate_result *results, struct err_detail *detail)
{
	const struct validation_candidates *asked = &validation->request->candidates;
	struct budget budget = { validation->candidates_until_us, asked->max_rows };
	err_t err = ERR_OK;
	for (uint32_t i = 0; !err && i < asked->count; i++) {
		/* Asked for once: to an engine 0 is no limit of its own. */
		int64_t most_ms = left_ms(&budget);
		if (most_ms <= 0)
			break;
		if (!*validation->session || !validation->engine->usable(*validation->session))
			err = err_fail(detail, ERR_TARGET_LOST, "the connection was lost");
		else
			err = run_candidate(validation, i, kept, &budget, most_ms, &results[i], detail);
	}
	return err;
}

/* Why nothing can be compared with what the generated query returned; ERR_OK: it can. */
static err_t lack_of_answer(const struct validation *validation, str_t *ret_message)
{
	const struct query_run *answer = &validation->generated;
	*ret_message = STR_NONE;
	if (!validation->generated_ran) /* a truth took the session with it */
		return ERR_TARGET_LOST;
	if (answer->outcome == QUERY_RETURNED)
		return answer->result.truncated ? ERR_ANSWER_TOO_LARGE : ERR_OK;
	*ret_message = arena_str(validation->arena, answer->message);
	return answer->denied ? ERR_TARGET_DENIED : ERR_ANSWER_FAILED;
}

err_t validation_run_candidates(struct validation *validation, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct validation_candidates *asked = &validation->request->candidates;
	struct validation_result *result = &validation->result;
	struct kept_results kept = { .items = ARENA_ARRAY(arena, struct candidate_kept, asked->count) };
	result->candidates_error = lack_of_answer(validation, &result->candidates_message);
	if (result->candidates_error)
		return ERR_OK;
	struct candidate_result *results =
		ARENA_ARRAY(validation->arena, struct candidate_result, asked->count);
	for (uint32_t i = 0; i < asked->count; i++)
		results[i] = (struct candidate_result){ CANDIDATE_LEFT_OUT, i };
	result->candidates = results;
	result->candidates_count = asked->count;
	if (validation->candidates_until_us == 0)
		validation->candidates_until_us = clock_monotonic_us() + asked->budget_ms * 1000;
	err_t err = run_all(validation, &kept, results, detail);
	if (err) {
		result->candidates_error = err;
		result->candidates_message = arena_str(validation->arena, str_from(err_message(err, detail)));
	}
	release_kept(&kept);
	return err;
}
