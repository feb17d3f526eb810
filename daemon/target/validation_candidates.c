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

static struct candidate_result compare_candidate(const struct validation *validation, struct query_run *run,
						 struct kept_results *kept, const struct budget *budget,
						 uint32_t candidate)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct result_set answer = result_finish(&validation->generated.result);
	const struct result_set result = result_finish(&run->result);
	struct candidate_result found = { CANDIDATE_LEFT_OUT, candidate };
	if (answer.truncated || result.truncated)
		return found;
	if (returns_same(validation, &answer, &result, arena)) {
		found.outcome = CANDIDATE_EQUAL;
		return found;
	}
	found.outcome = CANDIDATE_DIFFERENT;
	found.same_as = find_same(validation, kept, &result, budget, candidate, arena);
	if (found.same_as == candidate)
		keep(kept, &run->result, candidate, validation->settings->target.max_result_bytes);
	return found;
}

/* For `most_ms` at most, above 0. An error is the target's. */
static err_t run_candidate(const struct validation *validation, uint32_t candidate, struct kept_results *kept,
			   struct budget *budget, int64_t most_ms, struct candidate_result *ret_result)
{
	const struct target_settings *target = &validation->settings->target;
	struct query_run run = {
		.limit_ms = most_ms,
		.result = { .arena = arena_new(),
			    .max_rows = budget->rows < target->max_rows ? budget->rows : target->max_rows,
			    .max_bytes = target->max_result_bytes },
	};
	err_t err = validation->engine->run(*validation->session,
					    validation->request->candidates.texts[candidate], &run, NULL);
	if (!err && run.outcome == QUERY_RETURNED) {
		budget->rows -= (int64_t)run.result.rows_count;
		*ret_result = compare_candidate(validation, &run, kept, budget, candidate);
	} else if (!err && (run.outcome == QUERY_FAILED || most_ms >= target->statement_timeout_ms)) {
		ret_result->outcome = CANDIDATE_FAILED;
	}
	release(&run.result);
	return err;
}

static void run_all(const struct validation *validation, struct kept_results *kept,
		    struct candidate_result *results)
{
	const struct validation_candidates *asked = &validation->request->candidates;
	struct budget budget = { clock_monotonic_us() + asked->budget_ms * 1000, asked->max_rows };
	for (uint32_t i = 0; i < asked->count && budget.rows > 0; i++) {
		/* Asked for once: to an engine 0 is no limit of its own. */
		int64_t most_ms = left_ms(&budget);
		if (most_ms <= 0 || !*validation->session ||
		    !validation->engine->usable(*validation->session) ||
		    run_candidate(validation, i, kept, &budget, most_ms, &results[i]))
			return;
	}
}

void validation_run_candidates(struct validation *validation)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	size_t count = validation->request->candidates.count;
	struct validation_result *result = &validation->result;
	struct kept_results kept = { .items = ARENA_ARRAY(arena, struct candidate_kept, count) };
	if (!validation->generated_ran || validation->generated.outcome != QUERY_RETURNED)
		return;
	struct candidate_result *results = ARENA_ARRAY(validation->arena, struct candidate_result, count);
	for (uint32_t i = 0; i < count; i++)
		results[i] = (struct candidate_result){ CANDIDATE_LEFT_OUT, i };
	result->candidates = results;
	result->candidates_count = count;
	run_all(validation, &kept, results);
	release_kept(&kept);
}
