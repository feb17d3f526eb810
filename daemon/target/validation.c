#include "target/validation.h"

#include "common/clock.h"

#include <time.h>

#define ATTEMPTS       2
#define RETRY_PAUSE_MS 250

/* One validation in progress. */
struct validation {
	const struct engine *engine;
	const struct worker_settings *settings;
	void **session;
	const struct validation_request *request;
	struct arena *arena; /* of the answer */
	bool compared;	     /* at least one truth ran */
	struct validation_result result;
};

void session_close(const struct engine *engine, void **session)
{
	if (*session)
		engine->close(*session);
	*session = NULL;
}

err_t session_ensure(const struct engine *engine, const struct worker_settings *settings, void **session,
		     struct err_detail *detail)
{
	if (*session && engine->usable(*session))
		return ERR_OK;
	session_close(engine, session);
	return engine->open(settings, session, detail);
}

static err_t run_query(const struct validation *validation, str_t sql, struct arena *arena,
		       struct query_run *ret_run, struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	*ret_run = (struct query_run){
		.result = { .arena = arena,
			    .max_rows = target->max_rows,
			    .max_bytes = target->max_result_bytes },
	};
	if (memchr(sql.ptr, '\0', sql.len)) { /* the rest would not be seen by the database */
		ret_run->outcome = QUERY_FAILED;
		ret_run->message = STR("the statement holds a NUL byte");
		return ERR_OK;
	}
	return validation->engine->run(*validation->session, sql, ret_run, detail);
}

/* The sort keys that can be seen in the output; the first that cannot ends them. */
static struct compare_options options_of(const struct validation_truth *truth, struct arena *arena)
{
	struct compare_order_key *keys =
		ARENA_ARRAY(arena, struct compare_order_key, truth->order_keys_count);
	size_t visible = 0;
	while (visible < truth->order_keys_count && truth->order_keys[visible].column >= 0) {
		keys[visible].column = (size_t)truth->order_keys[visible].column;
		visible++;
	}
	return (struct compare_options){
		.ordered = truth->ordered,
		.order_keys = keys,
		.order_keys_count = visible,
		.all_keys_visible = visible == truth->order_keys_count,
		.limited = truth->limited,
	};
}

/* Takes the verdict over when it is the first or the best so far. */
static void take_verdict(struct validation *validation, size_t index, const struct query_run *truth,
			 const struct compare_verdict *verdict)
{
	struct validation_result *result = &validation->result;
	if (validation->compared && verdict->score <= result->score)
		return;
	validation->compared = true;
	result->status = VALIDATION_COMPARED;
	result->truth_index = index;
	result->truth = truth->execution;
	result->score = verdict->score;
	result->schema_match = verdict->schema_match;
	result->row_count_match = verdict->row_count_match;
	result->content_match_rate = verdict->content_match_rate;
	result->ordering_matters = verdict->ordering_matters;
	result->truncated = verdict->truncated;
}

static void compare_runs(struct validation *validation, size_t index, const struct query_run *generated,
			 const struct query_run *truth, struct arena *arena)
{
	struct result_set ours = result_finish(&generated->result), theirs = result_finish(&truth->result);
	struct compare_options options = options_of(&validation->request->truths[index], arena);
	struct compare_verdict verdict = { 0 };
	compare_results(&ours, &theirs, &options, arena, &verdict);
	take_verdict(validation, index, truth, &verdict);
}

/* The generated query could not be run although a truth could. */
static void take_failure(struct validation *validation, size_t index, const struct query_run *generated,
			 const struct query_run *truth)
{
	struct validation_result *result = &validation->result;
	validation->compared = true;
	result->status =
		generated->outcome == QUERY_TIMEOUT ? VALIDATION_TIMEOUT : VALIDATION_EXECUTION_FAILED;
	result->message = arena_str(validation->arena, generated->message);
	result->truth_index = index;
	result->truth = truth->execution;
	result->ordering_matters = validation->request->truths[index].ordered;
}

static void take_broken_truth(struct validation *validation, size_t index, const struct query_run *truth)
{
	struct validation_result *result = &validation->result;
	result->status = VALIDATION_GROUND_TRUTH_FAILED;
	result->error = ERR_GROUND_TRUTH_FAILED;
	result->truth_index = index;
	result->truth = truth->execution;
	result->message = arena_str(validation->arena, truth->message);
}

/* A failed query may have taken the session with it. Nothing is compared yet where this is called, so that a
 * new snapshot mixes nothing. */
static err_t begin_again(struct validation *validation, struct err_detail *detail)
{
	if (*validation->session && validation->engine->usable(*validation->session))
		return ERR_OK;
	err_t err = session_ensure(validation->engine, validation->settings, validation->session, detail);
	return err ? err : validation->engine->begin(*validation->session, detail);
}

static err_t run_generated(struct validation *validation, struct arena *arena, struct query_run *generated,
			   struct err_detail *detail)
{
	err_t err = run_query(validation, validation->request->generated_sql, arena, generated, detail);
	validation->result.generated = generated->execution;
	return err;
}

/* Runs one truth, and behind the first that works the generated query; compares them. `ret_finished`: no
 * other truth can change the outcome. */
static err_t try_truth(struct validation *validation, size_t index, struct arena *generated_arena,
		       struct query_run *generated, bool *ret_finished, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct query_run truth;
	err_t err = run_query(validation, validation->request->truths[index].sql, arena, &truth, detail);
	*ret_finished = false;
	if (!err && truth.outcome != QUERY_RETURNED) {
		if (!validation->compared)
			take_broken_truth(validation, index, &truth);
		*ret_finished = validation->compared && !validation->engine->usable(*validation->session);
	} else if (!err) {
		if (!validation->compared)
			err = run_generated(validation, generated_arena, generated, detail);
		if (!err && generated->outcome != QUERY_RETURNED)
			take_failure(validation, index, generated, &truth);
		else if (!err)
			compare_runs(validation, index, generated, &truth, arena);
		*ret_finished = generated->outcome != QUERY_RETURNED || validation->result.score >= 1.0;
	}
	result_free(&truth.result);
	return err;
}

/* The truths warm the database's caches for the generated query, not the other way round: a slow generated
 * query is slow by its own fault. */
static err_t run_all(struct validation *validation, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct query_run generated = { 0 };
	bool finished = false;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && !finished && i < validation->request->truths_count; i++) {
		if (!validation->compared)
			err = begin_again(validation, detail);
		if (!err)
			err = try_truth(validation, i, arena, &generated, &finished, detail);
	}
	result_free(&generated.result);
	if (!err && validation->compared) {
		validation->result.error = ERR_OK;
		if (validation->result.status == VALIDATION_COMPARED)
			validation->result.message = STR_NONE;
	}
	return err;
}

static err_t run_once(struct validation *validation, struct err_detail *detail)
{
	validation->compared = false;
	validation->result = (struct validation_result){
		.status = VALIDATION_GROUND_TRUTH_FAILED,
		.error = ERR_GROUND_TRUTH_FAILED,
		.message = STR("no ground-truth SQL was given"),
	};
	err_t err = session_ensure(validation->engine, validation->settings, validation->session, detail);
	if (!err)
		err = validation->engine->begin(*validation->session, detail);
	if (!err)
		err = run_all(validation, detail);
	if (*validation->session)
		validation->engine->end(*validation->session);
	if (*validation->session && !validation->engine->usable(*validation->session))
		session_close(validation->engine, validation->session);
	return err;
}

static void pause_before_retry(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_PAUSE_MS * 1000000L };
	nanosleep(&pause, NULL);
}

void validation_run(const struct engine *engine, const struct worker_settings *settings, void **session,
		    const struct validation_request *request, struct arena *arena,
		    struct validation_result *ret_result)
{
	struct validation validation = { engine, settings, session, request, arena, false, { 0 } };
	struct err_detail detail = { "" };
	err_t err = run_once(&validation, &detail);
	for (int attempt = 1; err && attempt < ATTEMPTS; attempt++) {
		pause_before_retry();
		err = run_once(&validation, &detail);
	}
	*ret_result = validation.result;
	if (err)
		*ret_result = (struct validation_result){
			.status = VALIDATION_UNAVAILABLE,
			.error = err,
			.message = arena_str(arena, str_from(err_message(err, &detail))),
		};
}
