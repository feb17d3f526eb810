#include "judge/judge.h"

#include "common/clock.h"
#include "common/pool.h"
#include "common/queue.h"
#include "judge/dispatcher.h"
#include "judge/transport.h"

#include <stdatomic.h>

/* Of one round: whoever comes in a crowd does not hold up the answers to those before him. */
#define ADMIT_MAX 256

_Static_assert(JUDGE_MEMBERS_MAX <= TRANSPORTS_MAX, "one wait is for all members");

struct member {
	struct dispatcher *dispatcher;	    /* the thread's own */
	_Atomic int64_t found, turned_away; /* calls that were answered at once */
	_Atomic(const char *) digest;
	/* under the judge's mutex: */
	struct judge_stats published;
	struct prompts *prompts; /* of the next call */
	struct dispatcher_limits next_bounds;
	struct prompts *next_prompts; /* NULL: nothing changes */
};

struct judge {
	struct queue submitted;
	struct list taken; /* the thread's own: of these, what no round has admitted yet */
	_Atomic bool stopping;
	_Atomic bool closed;
	struct pool *thread;
	struct heartbeat heartbeat;
	pthread_mutex_t mutex; /* for the next one, and of the members what they say */
	struct arena *digests; /* of all prompts that were ever in use */
	struct member members[JUDGE_MEMBERS_MAX];
	struct dispatcher *dispatchers[JUDGE_MEMBERS_MAX]; /* the members' */
	size_t count;
};

/* All wait together: whichever is woken wakes the thread. */
static void wake(struct judge *judge)
{
	dispatcher_wake(judge->dispatchers[0]);
}

/* ---- the thread ---- */

static void admit_submitted(struct judge *judge)
{
	struct list_node *node;
	queue_take_all(&judge->submitted, &judge->taken);
	for (unsigned most = ADMIT_MAX; most > 0 && (node = list_take(&judge->taken)); most--) {
		struct judge_call *call = container_of(node, struct judge_call, node);
		dispatcher_admit(judge->dispatchers[call->member], call);
	}
	if (!list_empty(&judge->taken))
		wake(judge); /* the next round comes at once */
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
	struct judge_stats stats[JUDGE_MEMBERS_MAX];
	bool busy = false;
	for (size_t i = 0; i < judge->count; i++) {
		stats[i] = dispatcher_stats(judge->dispatchers[i]);
		busy |= dispatcher_busy(judge->dispatchers[i]);
	}
	pthread_mutex_lock(&judge->mutex);
	for (size_t i = 0; i < judge->count; i++)
		judge->members[i].published = stats[i];
	pthread_mutex_unlock(&judge->mutex);
	if (busy)
		heartbeat_waiting(&judge->heartbeat, "judge");
	else
		heartbeat_beat(&judge->heartbeat);
}

static void apply_change(struct judge *judge, struct member *member)
{
	pthread_mutex_lock(&judge->mutex);
	struct prompts *prompts = TAKE_PTR(member->next_prompts);
	struct dispatcher_limits bounds = member->next_bounds;
	pthread_mutex_unlock(&judge->mutex);
	if (prompts)
		dispatcher_change(member->dispatcher, prompts, &bounds);
}

static void run(void *context, unsigned index)
{
	struct judge *judge = context;
	(void)index;
	while (!atomic_load(&judge->stopping)) {
		for (size_t i = 0; i < judge->count; i++)
			apply_change(judge, &judge->members[i]);
		admit_submitted(judge);
		for (size_t i = 0; i < judge->count; i++)
			dispatcher_run(judge->dispatchers[i]);
		show_life(judge);
		dispatcher_wait(judge->dispatchers, judge->count);
	}
	for (size_t i = 0; i < judge->count; i++)
		dispatcher_abandon(judge->dispatchers[i]);
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
static void set_prompts(struct judge *judge, struct member *member, struct prompts *prompts)
{
	prompts_free(member->prompts);
	member->prompts = prompts_share(prompts);
	atomic_store(&member->digest, arena_strdup(judge->digests, prompts_digest(prompts)));
}

static err_t open_member(struct judge *judge, const struct judge_settings *settings,
			 struct err_detail *detail)
{
	struct member *member = &judge->members[judge->count];
	err_t err = dispatcher_open(settings, judge->dispatchers[0], &member->dispatcher, detail);
	if (err != ERR_OK)
		return err;
	set_prompts(judge, member, dispatcher_endpoint(member->dispatcher)->prompts);
	judge->dispatchers[judge->count++] = member->dispatcher;
	return ERR_OK;
}

err_t judge_start(const struct judge_settings *settings, size_t count, struct judge **ret_judge,
		  struct err_detail *detail)
{
	err_t err = ERR_OK;
	struct judge *judge = calloc(1, sizeof *judge);
	if (!judge || count == 0 || count > JUDGE_MEMBERS_MAX)
		abort();
	judge->heartbeat.name = "judge";
	judge->digests = arena_new();
	pthread_mutex_init(&judge->mutex, NULL);
	queue_init(&judge->submitted, false);
	list_init(&judge->taken);
	for (size_t i = 0; i < count && err == ERR_OK; i++)
		err = open_member(judge, &settings[i], detail);
	if (err != ERR_OK) {
		judge_stop(judge);
		return err;
	}
	judge->thread = pool_start("judge", 1, run, judge);
	*ret_judge = judge;
	return ERR_OK;
}

void judge_close(struct judge *judge)
{
	if (!judge || !judge->thread)
		return;
	atomic_store(&judge->stopping, true);
	wake(judge);
	pool_join(TAKE_PTR(judge->thread));
	atomic_store(&judge->closed, true);
	abandon_submitted(judge);
}

void judge_stop(struct judge *judge)
{
	if (!judge)
		return;
	judge_close(judge);
	while (judge->count > 0) { /* the first one has what the others share */
		struct member *member = &judge->members[--judge->count];
		dispatcher_free(member->dispatcher);
		prompts_free(member->next_prompts);
		prompts_free(member->prompts);
	}
	queue_destroy(&judge->submitted);
	arena_free(judge->digests);
	pthread_mutex_destroy(&judge->mutex);
	free(judge);
}

/* Those of that member, or NULL. */
static const struct judge_settings *settings_of(const struct judge *judge, size_t member,
						const struct judge_settings *settings, size_t count)
{
	const char *name = judge_name(judge, member);
	for (size_t i = 0; i < count; i++)
		if (name && settings[i].name ? strcmp(name, settings[i].name) == 0 : name == settings[i].name)
			return &settings[i];
	return NULL;
}

static void change_next(struct judge *judge, struct member *member, const struct judge_settings *settings,
			struct prompts *prompts)
{
	prompts_free(member->next_prompts); /* of a change that nobody has seen yet */
	member->next_prompts = prompts;
	member->next_bounds = dispatcher_limits_of(settings);
	set_prompts(judge, member, prompts);
}

err_t judge_reload(struct judge *judge, const struct judge_settings *settings, size_t count,
		   struct err_detail *detail)
{
	const struct judge_settings *fresh[JUDGE_MEMBERS_MAX];
	struct prompts *prompts[JUDGE_MEMBERS_MAX] = { NULL };
	err_t err = ERR_OK;
	for (size_t i = 0; i < judge->count && err == ERR_OK; i++) {
		fresh[i] = settings_of(judge, i, settings, count);
		if (fresh[i])
			err = prompts_load(fresh[i]->prompt_directory, &prompts[i], detail);
	}
	pthread_mutex_lock(&judge->mutex);
	for (size_t i = 0; i < judge->count; i++) {
		if (err != ERR_OK)
			prompts_free(prompts[i]);
		else if (fresh[i])
			change_next(judge, &judge->members[i], fresh[i], prompts[i]);
	}
	pthread_mutex_unlock(&judge->mutex);
	wake(judge);
	return err;
}

/* From the verdicts in memory, or that there is no place: in a crowd each would wait for those before it, and
 * for its turn among the threads. */
static bool answer_at_once(struct judge *judge, struct judge_call *call)
{
	struct member *member = &judge->members[call->member];
	pthread_mutex_lock(&judge->mutex);
	_cleanup_(prompts_cleanup) struct prompts *prompts = prompts_share(member->prompts);
	const char *digest = atomic_load(&member->digest);
	pthread_mutex_unlock(&judge->mutex);
	enum dispatcher_answer answer = dispatcher_find(member->dispatcher, prompts, call);
	if (answer == DISPATCHER_WANTS_IT)
		return false;
	call->prompt_digest = str_from(digest);
	atomic_fetch_add(answer == DISPATCHER_REMEMBERS ? &member->found : &member->turned_away, 1);
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
		wake(judge);
}

size_t judge_members(const struct judge *judge)
{
	return judge->count;
}

const char *judge_name(const struct judge *judge, size_t member)
{
	return dispatcher_endpoint(judge->dispatchers[member])->name;
}

const char *judge_prompt_digest(const struct judge *judge, size_t member)
{
	return atomic_load(&judge->members[member].digest);
}

void judge_prompts_text(struct judge *judge, size_t member, struct buf *text)
{
	pthread_mutex_lock(&judge->mutex);
	_cleanup_(prompts_cleanup) struct prompts *prompts = prompts_share(judge->members[member].prompts);
	pthread_mutex_unlock(&judge->mutex);
	buf_append_str(text, prompts_text(prompts));
}

const char *judge_provider(const struct judge *judge, size_t member)
{
	return dispatcher_endpoint(judge->dispatchers[member])->provider->name;
}

const char *judge_model(const struct judge *judge, size_t member)
{
	return dispatcher_endpoint(judge->dispatchers[member])->model;
}

struct heartbeat *judge_heartbeat(struct judge *judge)
{
	return &judge->heartbeat;
}

struct heartbeat *judge_cache_heartbeat(struct judge *judge)
{
	return dispatcher_cache_heartbeat(judge->dispatchers[0]);
}

struct judge_stats judge_stats(struct judge *judge, size_t member)
{
	pthread_mutex_lock(&judge->mutex);
	struct judge_stats stats = judge->members[member].published;
	pthread_mutex_unlock(&judge->mutex);
	stats.hits += atomic_load(&judge->members[member].found);
	stats.saturated += atomic_load(&judge->members[member].turned_away);
	return stats;
}
