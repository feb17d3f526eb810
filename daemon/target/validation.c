#include "target/validation.h"

#include "common/clock.h"
#include "target/validation_candidates.h"
#include "target/validation_doubt.h"
#include "target/validation_full.h"
#include "target/validation_ties.h"

#include <time.h>

#define ATTEMPTS       2
#define RETRY_PAUSE_MS 250

void validation_session_close(const struct engine *engine, void **session)
{
	if (*session)
		engine->close(*session);
	*session = NULL;
}

err_t validation_session_ensure(const struct engine *engine, const struct worker_settings *settings,
				void **session, struct err_detail *detail)
{
	if (*session && engine->usable(*session))
		return ERR_OK;
	validation_session_close(engine, session);
	return engine->open(settings, session, detail);
}

static struct compare_verdict compare_with(const struct validation *validation, size_t index,
					   const struct result_set *truth, struct arena *arena,
					   struct compare_shown *ret_shown)
{
	const struct result_set ours = result_finish(&validation->generated.result);
	return validation_compare(validation, index, &ours, truth, arena, ret_shown);
}

static void forget_generated(struct validation *validation)
{
	result_free(&validation->generated.result);
	arena_free(validation->generated_arena);
	validation->generated_arena = NULL;
	validation->generated_ran = false;
}

/* A failed query may have taken the session with it. What was run before belongs to another snapshot then. */
static err_t begin_again(struct validation *validation, struct err_detail *detail)
{
	if (*validation->session && validation->engine->usable(*validation->session))
		return ERR_OK;
	forget_generated(validation);
	err_t err = validation_session_ensure(validation->engine, validation->settings, validation->session,
					      detail);
	return err ? err : validation->engine->begin(*validation->session, detail);
}

static void note_digest(struct query_run *run)
{
	const struct result_set result = result_finish(&run->result);
	if (run->outcome == QUERY_RETURNED)
		fingerprint_of(&result, run->execution.digest);
}

/* Runs the generated query once per transaction. */
static err_t ensure_generated(struct validation *validation, struct err_detail *detail)
{
	if (validation->generated_ran)
		return ERR_OK;
	forget_generated(validation);
	validation->generated_arena = arena_new();
	err_t err = validation_run_query(validation, validation->request->generated_sql,
					 validation->generated_arena, &validation->generated, detail);
	validation->generated_ran = !err;
	if (!err)
		note_digest(&validation->generated);
	validation->result.generated = validation->generated.execution;
	return err;
}

/* Whether the generated query returns exactly what one of the cached truths did: that is final. */
static err_t try_cached(struct validation *validation, bool *ret_matched, struct err_detail *detail)
{
	const struct validation_request *request = validation->request;
	*ret_matched = false;
	for (size_t i = 0; !*ret_matched && i < request->truths_count; i++) {
		const struct cached_truth *cached =
			request->truths[i].table
				? NULL
				: truth_cache_get(validation->cache, request->truths[i].sql,
						  request->catalog_digest, clock_monotonic_us());
		if (!cached)
			continue;
		err_t err = ensure_generated(validation, detail);
		if (err || validation->generated.outcome != QUERY_RETURNED)
			return err;
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct compare_shown shown;
		struct compare_verdict verdict = compare_with(validation, i, &cached->result, arena, &shown);
		*ret_matched = verdict.score >= 1.0 && !verdict.truncated && !verdict.limit_cut_tie &&
			       !verdict.loose_tie;
		if (*ret_matched) {
			validation_take_finding(
				validation, i,
				&(struct validation_finding){ .verdict = verdict,
							      .generated = validation->generated.execution,
							      .truth = cached->execution,
							      .shown = shown });
			validation->result.truth_cached = true;
		}
	}
	return ERR_OK;
}

/* A truth that lacks a column which has to be there is broken. */
static bool has_columns(struct validation *validation, size_t index, const struct query_run *truth,
			const struct result_set *result, struct arena *arena)
{
	struct compare_part part;
	struct query_run broken = *truth;
	str_t missing;
	if (validation_find_part(validation, result, arena, &part, &missing))
		return true;
	broken.message = arena_printf(
		arena, "ground_truth.compare.columns names \"" STR_FMT "\", which the truth does not return",
		STR_ARG(missing));
	validation_take_broken(validation, index, &broken);
	return false;
}

/* A truth whose result is there as that of the generated query is. */
static err_t compare_fresh(struct validation *validation, size_t index, const struct query_run *truth,
			   const struct result_set *result, struct arena *arena, struct err_detail *detail)
{
	err_t err = ERR_OK;
	if (validation->generated.outcome != QUERY_RETURNED) {
		validation_take_failure(validation, index, truth);
		return ERR_OK;
	}
	struct validation_finding finding = { .generated = validation->generated.execution,
					      .truth = truth->execution };
	finding.generated.more = validation->generated.result.truncated;
	finding.truth.more = result->truncated;
	finding.verdict = compare_with(validation, index, result, arena, &finding.shown);
	err = validation_settle_ties(validation, index, result, arena, &finding.verdict, detail);
	if (!err)
		validation_doubt_order(validation, index, result, arena, &finding.verdict);
	bool compared = true;
	if (!err && finding.verdict.truncated && !finding.verdict.proven &&
	    validation_may_stream(validation, index))
		err = validation_compare_in_full(validation, index, truth, arena, &finding, &compared,
						 detail);
	if (!err && compared)
		err = validation_settle_any_rows(validation, index, result, arena, &finding.verdict, detail);
	bool last = index + 1 == validation->request->truths_count;
	if (!err && compared && last)
		err = validation_doubt_truth(validation, index, result, arena, &finding.verdict, detail);
	if (!err && compared)
		validation_take_finding(validation, index, &finding);
	return err;
}

static err_t try_query(struct validation *validation, size_t index, struct arena *arena,
		       struct err_detail *detail)
{
	const struct validation_request *request = validation->request;
	struct query_run truth;
	str_t next = validation->generated_ran ? STR_NONE : request->generated_sql;
	err_t err =
		validation_run_query_and(validation, request->truths[index].sql, next, arena, &truth, detail);
	if (!err && truth.outcome == QUERY_RETURNED) {
		struct result_set result = result_finish(&truth.result);
		bool comparable = has_columns(validation, index, &truth, &result, arena);
		if (comparable) /* at once, since its time may have begun already */
			err = ensure_generated(validation, detail);
		note_digest(&truth);
		truth_cache_put(validation->cache, request->truths[index].sql, request->catalog_digest,
				&truth, clock_monotonic_us());
		if (!err && comparable)
			err = compare_fresh(validation, index, &truth, &result, arena, detail);
	} else if (!err) {
		validation_take_broken(validation, index, &truth);
	}
	result_free(&truth.result);
	return err;
}

static err_t try_table(struct validation *validation, size_t index, struct arena *arena,
		       struct err_detail *detail)
{
	const struct result_set *table = validation->request->truths[index].table;
	struct query_run truth = { .outcome = QUERY_RETURNED, .execution.rows = (int64_t)table->rows_count };
	fingerprint_of(table, truth.execution.digest);
	if (!has_columns(validation, index, &truth, table, arena))
		return ERR_OK;
	err_t err = ensure_generated(validation, detail);
	return err ? err : compare_fresh(validation, index, &truth, table, arena, detail);
}

/* `ret_finished`: no other truth can change the outcome. */
static err_t try_truth(struct validation *validation, size_t index, bool *ret_finished,
		       struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	err_t err = validation->request->truths[index].table ? try_table(validation, index, arena, detail)
							     : try_query(validation, index, arena, detail);
	const struct validation_result *result = &validation->result;
	bool usable = *validation->session && validation->engine->usable(*validation->session);
	*ret_finished = validation->compared && (!usable || result->status != VALIDATION_COMPARED ||
						 (result->score >= 1.0 && result->conclusive));
	return err;
}

/* Of several truths, those before the last one are only doubted when none of them has fitted. */
static err_t doubt_others(struct validation *validation, struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i + 1 < validation->request->truths_count; i++) {
		const struct validation_result *result = &validation->result;
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct compare_verdict verdict = { .schema_match = true, .proven = true };
		struct query_run truth;
		if (!validation->compared || result->status != VALIDATION_COMPARED || result->score >= 1.0 ||
		    validation->nondeterministic || validation->request->truths[i].table ||
		    !*validation->session || !validation->engine->usable(*validation->session))
			continue;
		err = validation_run_query(validation, validation->request->truths[i].sql, arena, &truth,
					   detail);
		if (!err && truth.outcome == QUERY_RETURNED) {
			const struct result_set set = result_finish(&truth.result);
			err = validation_doubt_truth(validation, i, &set, arena, &verdict, detail);
		}
		result_free(&truth.result);
		validation->undecided |= !verdict.proven;
	}
	return err;
}

/* The truth warms the database's caches for the generated query, not the other way round: a slow generated
 * query is slow by its own fault. */
static err_t run_all(struct validation *validation, struct err_detail *detail)
{
	bool finished = false;
	err_t err = try_cached(validation, &finished, detail);
	for (size_t i = 0; !err && !finished && i < validation->request->truths_count; i++) {
		err = begin_again(validation, detail);
		if (!err)
			err = try_truth(validation, i, &finished, detail);
	}
	if (!err && !finished)
		err = doubt_others(validation, detail);
	if (!err && validation->compared) {
		if (validation->result.status != VALIDATION_UNAVAILABLE)
			validation->result.error = ERR_OK;
		if (validation->result.status == VALIDATION_COMPARED)
			validation->result.message = STR_NONE;
		if (validation->result.score < 1.0) {
			validation->result.conclusive &= !validation->undecided;
			validation->result.nondeterministic = validation->nondeterministic;
			validation->result.doubt =
				validation->nondeterministic ? validation->doubt : VALIDATION_NO_DOUBT;
			validation->result.doubted_truth = validation->doubted_truth;
		}
	}
	return err;
}

/* Beside a verdict on truths what becomes of the candidates is no reason to try again. */
static err_t run_candidates(struct validation *validation, struct err_detail *detail)
{
	err_t err = validation_run_candidates(validation, detail);
	return validation->request->truths_count > 0 ? ERR_OK : err;
}

static err_t run_once(struct validation *validation, struct err_detail *detail)
{
	validation->compared = validation->undecided = validation->nondeterministic = false;
	validation->broken_count = 0;
	validation->result = (struct validation_result){
		.status = VALIDATION_GROUND_TRUTH_FAILED,
		.error = ERR_GROUND_TRUTH_FAILED,
		.message = STR("no ground truth was given"),
	};
	err_t err = validation_session_ensure(validation->engine, validation->settings, validation->session,
					      detail);
	if (!err)
		err = validation->engine->begin(*validation->session, detail);
	if (!err)
		err = run_all(validation, detail);
	if (!err && validation->request->candidates.count > 0) {
		/* Also behind truths that do not run: agreement is not to depend on them. One that took the
		 * session with it ends this; the verdict stays. */
		if (*validation->session && validation->engine->usable(*validation->session))
			err = ensure_generated(validation, detail);
		if (!err)
			err = run_candidates(validation, detail);
	}
	if (*validation->session && validation->engine->one_snapshot)
		validation->result.apart = !validation->engine->one_snapshot(*validation->session);
	forget_generated(validation);
	validation->result.broken = validation->broken;
	validation->result.broken_count = validation->broken_count;
	if (*validation->session)
		validation->engine->end(*validation->session);
	if (*validation->session && !validation->engine->usable(*validation->session))
		validation_session_close(validation->engine, validation->session);
	return err;
}

static void pause_before_retry(const struct validation *validation)
{
	const struct timespec pause = { .tv_nsec = RETRY_PAUSE_MS * 1000000L };
	if (*validation->session && validation->engine->rest)
		validation->engine->rest(*validation->session);
	nanosleep(&pause, NULL);
}

void validation_run(const struct engine *engine, const struct worker_settings *settings, void **session,
		    struct truth_cache *cache, const struct validation_request *request, struct arena *arena,
		    struct validation_result *ret_result)
{
	struct validation validation = {
		.engine = engine,
		.settings = settings,
		.session = session,
		.cache = cache,
		.request = request,
		.arena = arena,
		.broken = ARENA_ARRAY(arena, struct validation_broken, request->truths_count),
	};
	struct err_detail detail = { "" };
	struct tries tries;
	tries_begin(&tries, &settings->target);
	validation.tries = &tries;
	err_t err = run_once(&validation, &detail);
	for (int attempt = 1; err && attempt < ATTEMPTS && tries_again(&tries); attempt++) {
		pause_before_retry(&validation);
		err = run_once(&validation, &detail);
	}
	*ret_result = validation.result;
	if (err)
		*ret_result = (struct validation_result){
			.status = VALIDATION_UNAVAILABLE,
			.error = err,
			.message = arena_str(arena, str_from(err_message(err, &detail))),
			.candidates = validation.result.candidates,
			.candidates_count = validation.result.candidates_count,
			.candidates_error = validation.result.candidates_error,
			.candidates_message = validation.result.candidates_message,
		};
}
