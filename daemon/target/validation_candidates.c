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

static enum candidate_outcome compare_candidate(const struct validation *validation,
						const struct result_set *answer,
						const struct result_set *other, struct arena *arena)
{
	struct compare_options options =
		validation_options(validation, &validation->request->candidates.answer, arena);
	struct compare_verdict verdict;
	if (answer->truncated || other->truncated)
		return CANDIDATE_LEFT_OUT;
	compare_results(other, answer, &options, arena, &verdict);
	return verdict.score >= 1.0 ? CANDIDATE_EQUAL : CANDIDATE_DIFFERENT;
}

/* For `most_ms` at most, above 0. An error is the target's. */
static err_t run_candidate(const struct validation *validation, str_t sql, struct budget *budget,
			   int64_t most_ms, enum candidate_outcome *ret_outcome)
{
	const struct target_settings *target = &validation->settings->target;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct query_run run = {
		.limit_ms = most_ms,
		.result = { .arena = arena,
			    .max_rows = budget->rows < target->max_rows ? budget->rows : target->max_rows,
			    .max_bytes = target->max_result_bytes },
	};
	err_t err = validation->engine->run(*validation->session, sql, &run, NULL);
	if (!err && run.outcome == QUERY_RETURNED) {
		const struct result_set answer = result_finish(&validation->generated.result);
		const struct result_set other = result_finish(&run.result);
		*ret_outcome = compare_candidate(validation, &answer, &other, arena);
		budget->rows -= (int64_t)other.rows_count;
	} else if (!err && (run.outcome == QUERY_FAILED || most_ms >= target->statement_timeout_ms)) {
		*ret_outcome = CANDIDATE_FAILED;
	}
	result_free(&run.result);
	return err;
}

void validation_run_candidates(struct validation *validation)
{
	const struct validation_candidates *asked = &validation->request->candidates;
	struct validation_result *result = &validation->result;
	struct budget budget = { clock_monotonic_us() + asked->budget_ms * 1000, asked->max_rows };
	if (!validation->generated_ran || validation->generated.outcome != QUERY_RETURNED)
		return;
	enum candidate_outcome *outcomes =
		ARENA_ARRAY(validation->arena, enum candidate_outcome, asked->count);
	result->candidates = outcomes; /* all zero: left out */
	result->candidates_count = asked->count;
	for (size_t i = 0; i < asked->count && budget.rows > 0; i++) {
		/* Asked for once: to an engine 0 is no limit of its own. */
		int64_t most_ms = left_ms(&budget);
		if (most_ms <= 0 || !*validation->session ||
		    !validation->engine->usable(*validation->session) ||
		    run_candidate(validation, asked->texts[i], &budget, most_ms, &outcomes[i]))
			return;
	}
}
