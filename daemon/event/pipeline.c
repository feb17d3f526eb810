#include "event/pipeline.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "event/flood_gate.h"
#include "event/tally.h"

#include <assert.h>

enum { IDLE_MS = 200 };

struct pipeline {
	struct pipeline_options options;
	pthread_mutex_t config_mutex;
	struct config *config;
	struct flood_gate *flood_gate;
	struct queue work; /* events to be analysed or finalised */
	struct pool *pool;
	struct ticker *tickers;
	struct ticker **ticker_list;
	_Atomic uint64_t received, scored, dead, discarded, levels[4];
	_Atomic int64_t at_step[STEP_COUNT_];
	struct tally tally;
};

/* ---- settings ---- */

struct config *pipeline_config(struct pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->config_mutex);
	struct config *config = config_ref(pipeline->config);
	pthread_mutex_unlock(&pipeline->config_mutex);
	return config;
}

void pipeline_reload(struct pipeline *pipeline, const struct config *config)
{
	struct config *fresh = config_ref(config);
	pthread_mutex_lock(&pipeline->config_mutex);
	struct config *old = pipeline->config;
	pipeline->config = fresh;
	pthread_mutex_unlock(&pipeline->config_mutex);
	config_unref(old);
}

const struct codec *pipeline_codec(const struct pipeline *pipeline)
{
	return pipeline->options.codec;
}

bool pipeline_lenient(const struct pipeline *pipeline)
{
	return pipeline->options.lenient;
}

struct targets *pipeline_targets(const struct pipeline *pipeline)
{
	return pipeline->options.targets;
}

struct judge *pipeline_judge(const struct pipeline *pipeline)
{
	return pipeline->options.judge;
}

struct catalog *pipeline_default_catalog(const struct pipeline *pipeline)
{
	return pipeline->options.default_catalog ? catalog_ref(pipeline->options.default_catalog) : NULL;
}

struct flood_gate *pipeline_flood_gate(const struct pipeline *pipeline)
{
	return pipeline->flood_gate;
}

struct tally *pipeline_tally(struct pipeline *pipeline)
{
	return &pipeline->tally;
}

/* ---- the way out ---- */

static void leave(struct event *event)
{
	struct pipeline *pipeline = event->pipeline;
	pipeline->options.ready(event, pipeline->options.context);
}

static void leave_ready(struct event *event)
{
	struct pipeline *pipeline = event->pipeline;
	struct err_detail detail = { "" };
	err_t err = event_encode(event, &detail);
	if (err && !event->dead_reason) {
		log_error("a scored record cannot be encoded: %s", err_message(err, &detail));
		event_kill(event, err, err_message(err, &detail));
		err = event_encode(event, &detail);
	}
	if (err)
		log_write(LOG_LEVEL_CRITICAL, NULL, "a dead letter cannot be encoded: %s",
			  err_message(err, &detail));
	event_set_step(event, STEP_READY);
	if (event->dead_reason)
		atomic_fetch_add(&pipeline->dead, 1);
	else
		atomic_fetch_add(&pipeline->scored, 1);
	if (event->scored && event->scored->confidence.level >= 0)
		atomic_fetch_add(&pipeline->levels[event->scored->confidence.level], 1);
	leave(event);
}

static void leave_dead(struct event *event, err_t reason, const struct err_detail *detail)
{
	event_kill(event, reason, err_message(reason, detail));
	leave_ready(event);
}

/* Nobody will take its outputs: the next owner of its partition does the event again. */
static bool leave_discarded(struct event *event)
{
	if (!event->origin.assignment || assignment_state(event->origin.assignment) != ASSIGNMENT_CLOSED)
		return false;
	event_set_step(event, STEP_DISCARDED);
	atomic_fetch_add(&event->pipeline->discarded, 1);
	leave(event);
	return true;
}

void pipeline_count(struct pipeline *pipeline, enum step step, int change)
{
	atomic_fetch_add_explicit(&pipeline->at_step[step], change, memory_order_relaxed);
}

void pipeline_published(struct pipeline *pipeline, struct event *event)
{
	pipeline->options.published(event, pipeline->options.context);
}

/* ---- branches ---- */

/* One branch, or the analysing worker itself, is done with the event; the last one hands it back to the
 * workers. */
static void release_branch(struct event *event)
{
	if (atomic_fetch_sub(&event->pending, 1) == 1)
		queue_push(&event->pipeline->work, &event->node);
}

static void target_done(struct target_call *call, void *context)
{
	(void)call;
	release_branch(context);
}

static void judge_done(struct judge_call *call, void *context)
{
	(void)call;
	release_branch(context);
}

static void submit_judge(struct event *event, struct judge_call *call)
{
	call->done = judge_done;
	call->context = event;
	atomic_fetch_add(&event->pending, 1);
	judge_submit(event->pipeline->options.judge, call);
}

static void submit_branches(struct event *event)
{
	if (event->validation_asked) {
		event->validation.done = target_done;
		event->validation.context = event;
		atomic_fetch_add(&event->pending, 1);
		targets_submit(event->pipeline->options.targets, &event->validation);
	}
	if (event->judging.relevance_asked)
		submit_judge(event, &event->judging.relevance);
	if (event->judging.correctness_asked)
		submit_judge(event, &event->judging.correctness);
}

static void adopt_branches(struct event *event)
{
	if (event->validation_asked)
		arena_adopt(event->arena, TAKE_PTR(event->validation.arena));
	if (event->judging.relevance_asked)
		arena_adopt(event->arena, TAKE_PTR(event->judging.relevance.arena));
	if (event->judging.correctness_asked)
		arena_adopt(event->arena, TAKE_PTR(event->judging.correctness.arena));
}

/* ---- workers ---- */

static void analyse(struct event *event)
{
	struct err_detail detail = { "" };
	if (leave_discarded(event))
		return;
	err_t err = event_analyse(event, &detail);
	if (err) {
		leave_dead(event, err, &detail);
		return;
	}
	event_set_step(event, STEP_ANALYSED);
	atomic_store(&event->pending, 1);
	event_set_step(event, STEP_AWAITING);
	submit_branches(event);
	release_branch(event);
}

static void finalise(struct event *event)
{
	adopt_branches(event);
	if (leave_discarded(event))
		return;
	event_finalise(event);
	leave_ready(event);
}

static void work_on(struct event *event)
{
	if (atomic_load(&event->step) == STEP_RECEIVED)
		analyse(event);
	else
		finalise(event);
}

static void worker_main(void *context, unsigned index)
{
	struct pipeline *pipeline = context;
	struct ticker *ticker = &pipeline->tickers[index];
	for (;;) {
		tick(ticker);
		struct list_node *node = queue_take(&pipeline->work, IDLE_MS);
		if (node)
			work_on(container_of(node, struct event, node));
		else if (queue_closed(&pipeline->work))
			break;
	}
	tick_stop(ticker);
}

/* ---- life ---- */

struct pipeline *pipeline_start(const struct pipeline_options *options)
{
	struct pipeline *pipeline = calloc(1, sizeof *pipeline);
	if (!pipeline)
		abort();
	pipeline->options = *options;
	pthread_mutex_init(&pipeline->config_mutex, NULL);
	pipeline->config = config_ref(options->config);
	if (options->default_catalog)
		pipeline->options.default_catalog = catalog_ref(options->default_catalog);
	pipeline->flood_gate = flood_gate_new();
	queue_init(&pipeline->work, false);
	pipeline->tickers = calloc(options->workers, sizeof *pipeline->tickers);
	pipeline->ticker_list = calloc(options->workers, sizeof(struct ticker *));
	if (!pipeline->tickers || !pipeline->ticker_list)
		abort();
	for (unsigned i = 0; i < options->workers; i++) {
		pipeline->tickers[i].name = "worker";
		tick(&pipeline->tickers[i]);
		pipeline->ticker_list[i] = &pipeline->tickers[i];
	}
	pipeline->pool = pool_start("worker", options->workers, worker_main, pipeline);
	return pipeline;
}

void pipeline_close(struct pipeline *pipeline)
{
	if (!pipeline || !pipeline->pool)
		return;
	queue_close(&pipeline->work);
	pool_join(TAKE_PTR(pipeline->pool));
}

void pipeline_stop(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	pipeline_close(pipeline);
	queue_destroy(&pipeline->work);
	flood_gate_free(pipeline->flood_gate);
	config_unref(pipeline->config);
	pthread_mutex_destroy(&pipeline->config_mutex);
	catalog_unref((struct catalog *)(uintptr_t)pipeline->options.default_catalog);
	free(pipeline->tickers);
	free(pipeline->ticker_list);
	free(pipeline);
}

void pipeline_submit(struct pipeline *pipeline, struct event *event)
{
	atomic_fetch_add_explicit(&pipeline->received, 1, memory_order_relaxed);
	queue_push(&pipeline->work, &event->node);
}

void pipeline_statistics(struct pipeline *pipeline, struct pipeline_statistics *ret_statistics)
{
	*ret_statistics = (struct pipeline_statistics){
		.received = atomic_load(&pipeline->received),
		.scored = atomic_load(&pipeline->scored),
		.dead = atomic_load(&pipeline->dead),
		.discarded = atomic_load(&pipeline->discarded),
	};
	for (unsigned i = 0; i < 4; i++)
		ret_statistics->levels[i] = atomic_load(&pipeline->levels[i]);
	for (unsigned i = 0; i < STEP_COUNT_; i++)
		ret_statistics->at_step[i] = atomic_load(&pipeline->at_step[i]);
}

size_t pipeline_tickers(struct pipeline *pipeline, struct ticker *const **ret_tickers)
{
	*ret_tickers = pipeline->ticker_list;
	return pipeline->options.workers;
}
