#include "judge/judge.h"

#include "common/clock.h"
#include "common/pool.h"
#include "common/queue.h"
#include "judge/dispatcher.h"

#include <stdatomic.h>

/* Of one round: whoever comes in a crowd does not hold up the answers to those before him. */
#define ADMIT_MAX 256

struct judge {
	struct queue submitted;
	struct list taken; /* the thread's own: of these, what no round has admitted yet */
	_Atomic bool stopping;
	_Atomic bool closed;
	_Atomic int64_t found; /* calls that were answered at once */
	struct pool *thread;
	struct heartbeat heartbeat;
	pthread_mutex_t mutex; /* for the next five */
	struct judge_stats published;
	struct prompts *prompts; /* of the next call */
	struct dispatcher_limits next_bounds;
	struct prompts *next_prompts; /* NULL: nothing changes */
	struct arena *digests;	      /* of all prompts that were ever in use */
	_Atomic(const char *) digest;
	struct dispatcher *dispatcher; /* the thread's own */
};

/* ---- the thread ---- */

static void admit_submitted(struct judge *judge)
{
	queue_take_all(&judge->submitted, &judge->taken);
	dispatcher_admit(judge->dispatcher, &judge->taken, ADMIT_MAX);
	if (!list_empty(&judge->taken))
		dispatcher_wake(judge->dispatcher); /* the next round comes at once */
}

/* What was taken is turned away with what was submitted later. */
static void give_taken_back(struct judge *judge)
{
	struct list_node *node;
	while ((node = list_take(&judge->taken)))
		queue_push(&judge->submitted, node);
}

static void show_life(struct judge *judge)
{
	struct judge_stats stats = dispatcher_stats(judge->dispatcher);
	pthread_mutex_lock(&judge->mutex);
	judge->published = stats;
	pthread_mutex_unlock(&judge->mutex);
	if (dispatcher_busy(judge->dispatcher))
		heartbeat_waiting(&judge->heartbeat, "judge");
	else
		heartbeat_beat(&judge->heartbeat);
}

static void apply_change(struct judge *judge)
{
	pthread_mutex_lock(&judge->mutex);
	struct prompts *prompts = TAKE_PTR(judge->next_prompts);
	struct dispatcher_limits bounds = judge->next_bounds;
	pthread_mutex_unlock(&judge->mutex);
	if (prompts)
		dispatcher_change(judge->dispatcher, prompts, &bounds);
}

static void run(void *context, unsigned index)
{
	struct judge *judge = context;
	(void)index;
	while (!atomic_load(&judge->stopping)) {
		apply_change(judge);
		admit_submitted(judge);
		dispatcher_run(judge->dispatcher);
		show_life(judge);
		dispatcher_wait(judge->dispatcher);
	}
	dispatcher_abandon(judge->dispatcher);
	give_taken_back(judge);
	heartbeat_stop(&judge->heartbeat);
}

/* ---- for all threads ---- */

/* Turns away what was submitted and nobody will look at. Once the judge's thread has ended: any thread. */
static void abandon_submitted(struct judge *judge)
{
	struct list calls = LIST_INIT(calls);
	struct list_node *node;
	queue_take_all(&judge->submitted, &calls);
	while ((node = list_take(&calls))) {
		struct judge_call *call = container_of(node, struct judge_call, node);
		call->verdict = (struct judge_verdict){ .error = ERR_SHUTTING_DOWN,
							.message = str_from(err_text(ERR_SHUTTING_DOWN)) };
		call->duration_us = clock_monotonic_us() - call->submitted_us;
		call->done(call, call->context);
	}
}

/* Keeps the digest beyond the prompts' life. The mutex is held, or nobody else is there yet. */
static void set_prompts(struct judge *judge, struct prompts *prompts)
{
	prompts_free(judge->prompts);
	judge->prompts = prompts_share(prompts);
	atomic_store(&judge->digest, arena_strdup(judge->digests, prompts_digest(prompts)));
}

err_t judge_start(const struct judge_settings *settings, struct judge **ret_judge, struct err_detail *detail)
{
	struct dispatcher *dispatcher = NULL;
	err_t err = dispatcher_open(settings, &dispatcher, detail);
	if (err != ERR_OK)
		return err;
	struct judge *judge = calloc(1, sizeof *judge);
	if (!judge)
		abort();
	judge->dispatcher = dispatcher;
	judge->heartbeat.name = "judge";
	judge->digests = arena_new();
	pthread_mutex_init(&judge->mutex, NULL);
	queue_init(&judge->submitted, false);
	list_init(&judge->taken);
	set_prompts(judge, dispatcher_endpoint(dispatcher)->prompts);
	judge->thread = pool_start("judge", 1, run, judge);
	*ret_judge = judge;
	return ERR_OK;
}

void judge_close(struct judge *judge)
{
	if (!judge || !judge->thread)
		return;
	atomic_store(&judge->stopping, true);
	dispatcher_wake(judge->dispatcher);
	pool_join(TAKE_PTR(judge->thread));
	atomic_store(&judge->closed, true);
	abandon_submitted(judge);
}

void judge_stop(struct judge *judge)
{
	if (!judge)
		return;
	judge_close(judge);
	dispatcher_free(judge->dispatcher);
	queue_destroy(&judge->submitted);
	prompts_free(judge->next_prompts);
	prompts_free(judge->prompts);
	arena_free(judge->digests);
	pthread_mutex_destroy(&judge->mutex);
	free(judge);
}

err_t judge_reload(struct judge *judge, const struct judge_settings *settings, struct err_detail *detail)
{
	struct prompts *prompts = NULL;
	err_t err = prompts_load(settings->prompt_directory, &prompts, detail);
	if (err != ERR_OK)
		return err;
	pthread_mutex_lock(&judge->mutex);
	prompts_free(judge->next_prompts); /* of a change that nobody has seen yet */
	judge->next_prompts = prompts;
	judge->next_bounds = dispatcher_limits_of(settings);
	set_prompts(judge, prompts);
	pthread_mutex_unlock(&judge->mutex);
	dispatcher_wake(judge->dispatcher);
	return ERR_OK;
}

/* From the verdicts in memory: in a crowd of repeats each would wait for those before it, and for its turn
 * among the threads. */
static bool answer_at_once(struct judge *judge, struct judge_call *call)
{
	pthread_mutex_lock(&judge->mutex);
	_cleanup_(prompts_cleanup) struct prompts *prompts = prompts_share(judge->prompts);
	pthread_mutex_unlock(&judge->mutex);
	if (!dispatcher_find(judge->dispatcher, prompts, call))
		return false;
	atomic_fetch_add(&judge->found, 1);
	call->done(call, call->context);
	return true;
}

void judge_submit(struct judge *judge, struct judge_call *call)
{
	call->submitted_us = clock_monotonic_us();
	call->verdict = (struct judge_verdict){ .error = ERR_OK };
	call->prompt_digest = STR_NONE;
	if (!atomic_load(&judge->stopping) && answer_at_once(judge, call))
		return;
	queue_push(&judge->submitted, &call->node);
	if (atomic_load(&judge->closed)) /* after the push: either we see that it is closed, or closing sees
					    the call */
		abandon_submitted(judge);
	else
		dispatcher_wake(judge->dispatcher);
}

const char *judge_prompt_digest(const struct judge *judge)
{
	return atomic_load(&judge->digest);
}

const char *judge_provider(const struct judge *judge)
{
	return dispatcher_endpoint(judge->dispatcher)->provider->name;
}

const char *judge_model(const struct judge *judge)
{
	return dispatcher_endpoint(judge->dispatcher)->model;
}

struct heartbeat *judge_heartbeat(struct judge *judge)
{
	return &judge->heartbeat;
}

struct heartbeat *judge_cache_heartbeat(struct judge *judge)
{
	return dispatcher_cache_heartbeat(judge->dispatcher);
}

struct judge_stats judge_stats(struct judge *judge)
{
	pthread_mutex_lock(&judge->mutex);
	struct judge_stats stats = judge->published;
	pthread_mutex_unlock(&judge->mutex);
	stats.hits += atomic_load(&judge->found);
	return stats;
}
