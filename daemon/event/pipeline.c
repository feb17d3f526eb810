#include "event/pipeline.h"

#include "avro/registry/registry.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "event/analyse.h"
#include "event/context.h"
#include "event/encode.h"
#include "event/event_metrics.h"
#include "event/finalise.h"
#include "event/incidents.h"
#include "event/outages.h"
#include "event/query_times.h"
#include "event/rate_limiter.h"
#include "sql/catalog/content.h"

#include <assert.h>

enum {
	REST_MS = 5000, /* of the first worker, which tells of incidents, too */
	LONG_REST_MS = 60000,
};

struct pipeline {
	struct pipeline_options options;
	pthread_mutex_t config_mutex;
	struct config *config;
	struct event_context context;
	struct queue work; /* events to be analysed or finalised */
	struct pool *pool;
	struct heartbeat *heartbeats;
	struct heartbeat **ticker_list;
	_Atomic uint64_t received, scored, dead, discarded, levels[4];
	struct step_counts steps;
	struct event_metrics event_metrics;
};

/* ---- settings ---- */

/* A reference of the caller's own. */
static struct config *current_config(struct pipeline *pipeline)
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

struct analysis_cache_statistics pipeline_analyses(struct pipeline *pipeline)
{
	return analysis_cache_statistics(pipeline->context.analyses);
}

struct event_metrics *pipeline_event_metrics(struct pipeline *pipeline)
{
	return &pipeline->event_metrics;
}

static struct pipeline *pipeline_of(const struct event *event)
{
	return container_of(event->context, struct pipeline, context);
}

static void report_held(struct event *event)
{
	struct pipeline *pipeline = pipeline_of(event);
	if (pipeline->options.held)
		pipeline->options.held(event, pipeline->options.context);
}

/* ---- the publisher's reports ---- */

static void note_committed(struct pipeline *pipeline, const struct event *event)
{
	struct incidents *incidents = pipeline->context.incidents;
	event_metrics_event(&pipeline->event_metrics, event);
	if (event->dead_reason)
		incidents_note(incidents, INCIDENT_DEAD_LETTER, event->dead_reason, &event->origin,
			       event->dead_detail, clock_monotonic_us());
	else if (event->scored->input_shortened)
		incidents_note(incidents, INCIDENT_SHORTENED, 0, &event->origin, event->scored->application,
			       clock_monotonic_us());
}

static void changed(struct publication *publication, enum publication_change change)
{
	static const enum step steps[] = { [PUBLICATION_JOINED] = STEP_IN_TXN,
					   [PUBLICATION_RETURNED] = STEP_READY,
					   [PUBLICATION_COMMITTED] = STEP_COMMITTED,
					   [PUBLICATION_DISCARDED] = STEP_DISCARDED };
	struct event *event = container_of(publication, struct event, publication);
	struct pipeline *pipeline = pipeline_of(event);
	event_set_step(event, steps[change]);
	if (change == PUBLICATION_JOINED || change == PUBLICATION_RETURNED)
		report_held(event);
	if (change == PUBLICATION_COMMITTED)
		note_committed(pipeline, event);
	if (change == PUBLICATION_COMMITTED || change == PUBLICATION_DISCARDED)
		pipeline->options.published(event, pipeline->options.context);
}

/* ---- the way out ---- */

static void leave(struct event *event)
{
	struct pipeline *pipeline = pipeline_of(event);
	pipeline->options.ready(event, pipeline->options.context);
}

static void leave_ready(struct event *event)
{
	struct pipeline *pipeline = pipeline_of(event);
	struct err_detail detail = { "" };
	event->publication.changed = changed;
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

/* Whoever owns its partition next, or the next start, does the event again. */
static void discard(struct event *event)
{
	event_set_step(event, STEP_DISCARDED);
	atomic_fetch_add(&pipeline_of(event)->discarded, 1);
	leave(event);
}

static bool is_unwanted(const struct event *event)
{
	return event->origin.assignment && assignment_state(event->origin.assignment) == ASSIGNMENT_CLOSED;
}

/* Nobody will take its outputs. */
static bool leave_discarded(struct event *event)
{
	if (!is_unwanted(event))
		return false;
	discard(event);
	return true;
}

/* ---- branches ---- */

/* One branch is done with the event; the last one hands it back to the workers, unless the one that analyses
 * it is not done yet. */
static void release_branch(struct event *event)
{
	if (atomic_fetch_sub(&event->pending, 1) == 1)
		queue_push(&pipeline_of(event)->work, &event->node);
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
	judge_submit(event->context->judge, call);
}

/* Each works on its own call alone: what the event holds can still be told. */
static void submit_branches(struct event *event)
{
	struct record_judging *judging = &event->facts.judging;
	if (event->facts.target_asked) {
		event->facts.validation.done = target_done;
		event->facts.validation.context = event;
		atomic_fetch_add(&event->pending, 1);
		targets_submit(event->context->targets, &event->facts.validation);
	}
	for (size_t i = 0; i < judging->members_count; i++)
		for (size_t question = 0; question < JUDGE_QUESTIONS; question++)
			if (judging->asked[question])
				submit_judge(event, &judging->members[i].calls[question]);
}

static void adopt_branches(struct event *event)
{
	struct record_judging *judging = &event->facts.judging;
	if (event->facts.target_asked)
		arena_adopt(event->arena, TAKE_PTR(event->facts.validation.arena));
	for (size_t i = 0; i < judging->members_count; i++)
		for (size_t question = 0; question < JUDGE_QUESTIONS; question++)
			if (judging->asked[question])
				arena_adopt(event->arena,
					    TAKE_PTR(judging->members[i].calls[question].arena));
}

/* ---- workers ---- */

static void finalise(struct event *event)
{
	adopt_branches(event);
	if (leave_discarded(event))
		return;
	event_finalise(event);
	leave_ready(event);
}

/* ---- events whose schema is not known yet ---- */

static void schema_done(struct registry_wait *wait)
{
	struct event *event = wait->context;
	queue_push(&pipeline_of(event)->work, &event->node);
}

static bool schema_wanted(const struct registry_wait *wait)
{
	return !is_unwanted(wait->context);
}

/* It is not to be had, or nobody is there any more who would wait for it. */
static void leave_unread(struct event *event)
{
	if (event->schema_wait->err == ERR_SHUTTING_DOWN)
		discard(event);
	else
		leave_dead(event, event->schema_wait->err, &event->schema_wait->detail);
}

/* No worker waits: the event is the registry's until its wait is over. False: the schema has become known. */
static bool park(struct event *event)
{
	struct frame frame;
	struct registry *registry = event->context->registry;
	struct registry_wait *wait = event->schema_wait;
	if (!wait)
		wait = event->schema_wait = ARENA_NEW(event->arena, struct registry_wait);
	if (framing_read(event_schema_header(event), event->raw.ptr, event->raw.len, &frame, NULL))
		abort(); /* it was read before */
	*wait = (struct registry_wait){
		.name = frame.name,
		.bytes = event_held_bytes(event),
		.partition = event->origin.partition,
		.done = schema_done,
		.wanted = schema_wanted,
		.context = event,
	};
	event_set_step(event, STEP_PARKED);
	report_held(event);
	enum registry_answer answer = registry_await(registry, wait);
	if (answer == REGISTRY_KNOWS)
		event_set_step(event, STEP_RECEIVED);
	else if (answer == REGISTRY_REFUSES)
		leave_unread(event);
	return answer != REGISTRY_KNOWS;
}

static void analyse(struct event *event)
{
	struct err_detail detail = { "" };
	if (leave_discarded(event))
		return;
	err_t err = event_analyse(event, &detail);
	while (err == ERR_SCHEMA_AWAITED) {
		if (park(event))
			return;
		err = event_analyse(event, &detail);
	}
	if (err) {
		leave_dead(event, err, &detail);
		return;
	}
	event_set_step(event, STEP_ANALYSED);
	atomic_store(&event->pending, 1);
	event_set_step(event, STEP_AWAITING);
	submit_branches(event);
	if (atomic_load(&event->pending) > 1) /* it waits for somebody */
		report_held(event);
	bool alone = atomic_fetch_sub(&event->pending, 1) == 1;
	if (alone) /* at once, and not behind all that was read meanwhile */
		finalise(event);
}

/* The wait for its schema is over. */
static void resume(struct event *event)
{
	if (leave_discarded(event))
		return;
	if (event->schema_wait->err) {
		leave_unread(event);
		return;
	}
	event_set_step(event, STEP_RECEIVED);
	analyse(event);
}

static void work_on(struct event *event)
{
	enum step step = atomic_load(&event->step);
	if (step == STEP_PARKED)
		resume(event);
	else if (step == STEP_RECEIVED)
		analyse(event);
	else
		finalise(event);
}

/* NULL: none came for a while, or there will be none any more. */
static struct event *await_event(struct pipeline *pipeline, unsigned index)
{
	struct list_node *node = queue_take(&pipeline->work, 0);
	if (!node) {
		int64_t rest_ms =
			heartbeat_rest(&pipeline->heartbeats[index], index == 0 ? REST_MS : LONG_REST_MS);
		node = queue_take(&pipeline->work, rest_ms);
		heartbeat_beat(&pipeline->heartbeats[index]);
	}
	return node ? container_of(node, struct event, node) : NULL;
}

static void worker_main(void *context, unsigned index)
{
	struct pipeline *pipeline = context;
	struct heartbeat *heartbeat = &pipeline->heartbeats[index];
	if (index == 0)
		catalog_builtin(); /* which takes a while, once: the first event is not there yet */
	for (;;) {
		heartbeat_beat(heartbeat);
		incidents_log(pipeline->context.incidents, clock_monotonic_us(), false);
		struct event *event = await_event(pipeline, index);
		if (event)
			work_on(event);
		else if (queue_closed(&pipeline->work))
			break;
	}
	heartbeat_stop(heartbeat);
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
	pipeline->context = (struct event_context){
		.codec = options->codec,
		.registry = options->registry,
		.targets = options->targets,
		.judge = options->judge,
		.models = options->models,
		.archive = options->archive,
		.default_catalog = options->default_catalog ? catalog_ref(options->default_catalog) : NULL,
		.analyses = analysis_cache_new((size_t)options->config->pipeline.analysis_cache_bytes),
		.rate_limiter = rate_limiter_new(),
		.outages = outages_new(),
		.query_times = query_times_new(),
		.incidents = incidents_new(),
		.steps = &pipeline->steps,
		.cloud_events = { options->cloud_events.scored, options->cloud_events.advisory },
		.lenient = options->lenient,
	};
	pipeline->event_metrics.segments = event_metrics_segments_new(options->max_series);
	pipeline->event_metrics.recent = recent_new();
	queue_init(&pipeline->work, false);
	pipeline->heartbeats = calloc(options->workers, sizeof *pipeline->heartbeats);
	pipeline->ticker_list = calloc(options->workers, sizeof(struct heartbeat *));
	if (!pipeline->heartbeats || !pipeline->ticker_list)
		abort();
	for (unsigned i = 0; i < options->workers; i++) {
		pipeline->heartbeats[i].name = "worker";
		heartbeat_beat(&pipeline->heartbeats[i]);
		pipeline->ticker_list[i] = &pipeline->heartbeats[i];
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
	incidents_log(pipeline->context.incidents, clock_monotonic_us(), true);
	incidents_free(pipeline->context.incidents);
	event_metrics_segments_free(pipeline->event_metrics.segments);
	recent_free(pipeline->event_metrics.recent);
	analysis_cache_free(pipeline->context.analyses);
	rate_limiter_free(pipeline->context.rate_limiter);
	outages_free(pipeline->context.outages);
	query_times_free(pipeline->context.query_times);
	config_unref(pipeline->config);
	pthread_mutex_destroy(&pipeline->config_mutex);
	catalog_unref(pipeline->context.default_catalog);
	free(pipeline->heartbeats);
	free(pipeline->ticker_list);
	free(pipeline);
}

struct event *pipeline_event(struct pipeline *pipeline, str_t raw, str_t key,
			     const struct event_origin *origin)
{
	return event_new(&pipeline->context, current_config(pipeline), raw, key, origin);
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
		ret_statistics->at_step[i] = atomic_load(&pipeline->steps.at[i]);
}

size_t pipeline_heartbeats(struct pipeline *pipeline, struct heartbeat *const **ret_heartbeats)
{
	*ret_heartbeats = pipeline->ticker_list;
	return pipeline->options.workers;
}
