#include "target/supervisor.h"

#include "common/clock.h"
#include "common/log.h"
#include "target/worker_process.h"
#include "target/workers.h"

#include <errno.h>
#include <poll.h>

#define LONGEST_PAUSE_US ((int64_t)5000000)
#define REAP_PAUSE_US	 ((int64_t)10000)
#define FAREWELL_US	 ((int64_t)500000) /* for idle workers to take leave of their servers */
#define WAIT_LIMIT_US	 ((int64_t)600 * 1000000)

void targets_wake(const struct targets *targets)
{
	uint64_t one = 1;
	if (write(targets->wake_fd, &one, sizeof one) < 0)
		return; /* full: it is readable already */
}

/* --- giving out work --- */

/* A worker that can take a request now, started when there is none; NULL: not now. */
static struct worker *free_worker(struct target *target)
{
	struct worker *absent = NULL;
	for (size_t i = 0; i < target->settings.connections; i++) {
		if (target->workers[i].state == WORKER_IDLE)
			return &target->workers[i];
		if (target->workers[i].state == WORKER_ABSENT && !absent)
			absent = &target->workers[i];
	}
	if (!absent || clock_monotonic_us() < target->spawn_after_us)
		return NULL;
	struct err_detail detail = { "" };
	if (worker_start(target, absent, &detail)) {
		target_is_down(target, detail.message);
		return NULL;
	}
	return absent;
}

static bool may_ask(const struct target *target)
{
	return circuit_breaker_allows(&target->breaker, clock_monotonic_us());
}

static int64_t catalog_due_us(struct target *target)
{
	pthread_mutex_lock(&target->targets->mutex);
	int64_t due_us = target->catalog_due_us;
	pthread_mutex_unlock(&target->targets->mutex);
	return due_us;
}

static bool catalog_is_due(struct target *target)
{
	return !target->catalog_in_flight && catalog_due_us(target) <= clock_monotonic_us();
}

static void give_catalog_request(struct target *target)
{
	if (!catalog_is_due(target) || !may_ask(target))
		return;
	struct worker *worker = free_worker(target);
	if (worker)
		worker_send_catalog_request(target, worker);
}

/* One that is busy, but not for long; NULL: none, or one has to become free for the catalog. */
static struct worker *soon_free_worker(struct target *target)
{
	if (target->breaker.state != CIRCUIT_CLOSED || catalog_is_due(target))
		return NULL;
	int64_t now_us = clock_monotonic_us();
	for (size_t i = 0; i < target->settings.connections; i++)
		if (worker_ends_soon(&target->workers[i], now_us))
			return &target->workers[i];
	return NULL;
}

static void give_calls(struct target *target)
{
	while (!list_empty(&target->waiting) && may_ask(target)) {
		struct worker *worker = free_worker(target);
		if (!worker)
			worker = soon_free_worker(target);
		if (!worker || list_empty(&target->waiting)) /* failed with the start of a process */
			break;
		worker_send_call(target, worker,
				 container_of(list_take(&target->waiting), struct target_call, node));
	}
	if (!may_ask(target))
		target_calls_fail(&target->waiting, ERR_TARGET_UNAVAILABLE, target->down_reason.message);
}

static void expire_waiting(struct target *target, int64_t now_us)
{
	while (!list_empty(&target->waiting)) {
		struct target_call *call = container_of(target->waiting.head.next, struct target_call, node);
		if (now_us - call->submitted_us < WAIT_LIMIT_US)
			return;
		list_remove(&target->waiting, &call->node);
		target_call_fail(call, ERR_TARGET_UNAVAILABLE, "no connection of the target has become free");
	}
}

static void expire_workers(struct target *target, int64_t now_us)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		struct worker *worker = &target->workers[i];
		if (worker->state != WORKER_BUSY || now_us < worker->deadline_us)
			continue;
		log_warning("a worker process of target %s was killed: it has not answered within the %lld s "
			    "that its queries may take together",
			    target->settings.name, (long long)(worker->running.budget_ms / 1000));
		worker_discard(target, worker, ERR_TARGET_TIMEOUT, NULL);
	}
}

/* When it is dismissed; INT64_MAX: never. */
static int64_t dismissed_us(const struct target *target, const struct worker *worker)
{
	int64_t patience_us = target->settings.idle_timeout_s * 1000000;
	return patience_us > 0 ? worker->idle_since_us + patience_us : INT64_MAX;
}

/* Those that nobody has needed for a while, but for what is on its way to be asked. */
static void dismiss_idle(struct target *target, int64_t now_us)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		struct worker *worker = &target->workers[i];
		if (worker->state == WORKER_IDLE && now_us >= dismissed_us(target, worker))
			worker_dismiss(worker);
		else if (worker->state == WORKER_DYING && now_us >= worker->deadline_us)
			worker_kill(worker->pid);
	}
}

/* For whoever watches. */
static void show_state(struct target *target)
{
	uint64_t workers = 0, waiting = target->waiting.count;
	for (size_t i = 0; i < target->settings.connections; i++) {
		const struct worker *worker = &target->workers[i];
		workers += worker->state == WORKER_IDLE || worker->state == WORKER_BUSY;
		waiting += worker->behind.kind == REQUEST_CALL;
	}
	atomic_store(&target->workers_now, workers);
	atomic_store(&target->waiting_now, waiting);
	atomic_store(&target->is_down, target->breaker.state != CIRCUIT_CLOSED);
}

static void target_round(struct target *target)
{
	int64_t now_us = clock_monotonic_us();
	for (size_t i = 0; i < target->settings.connections; i++)
		worker_try_reap(target, &target->workers[i], false);
	expire_workers(target, now_us);
	for (size_t i = 0; i < target->settings.connections; i++)
		worker_withdraw_late(target, &target->workers[i], now_us);
	expire_waiting(target, now_us);
	give_catalog_request(target);
	give_calls(target);
	dismiss_idle(target, now_us);
	show_state(target);
}

/* --- the loop --- */

static struct target *target_named(const struct targets *targets, const char *name)
{
	for (size_t i = 0; i < targets->count; i++)
		if (name && strcmp(targets->items[i].settings.name, name) == 0)
			return &targets->items[i];
	return NULL;
}

static void accept_call(struct targets *targets, struct target_call *call)
{
	struct target *target = target_named(targets, call->target);
	if (!target)
		target_call_fail(call, ERR_TARGET_UNKNOWN, NULL);
	else if (target->waiting.count >= targets->queue_limit)
		target_call_fail(call, ERR_TARGET_UNAVAILABLE, "too many queries wait for the target");
	else
		list_append(&target->waiting, &call->node);
}

/* False when the daemon stops; what was submitted is in `ret_calls` either way. */
static bool take_submitted(struct targets *targets, struct list *ret_calls)
{
	uint64_t ignored;
	if (read(targets->wake_fd, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
		abort();
	list_init(ret_calls);
	pthread_mutex_lock(&targets->mutex);
	list_splice(ret_calls, &targets->submitted);
	bool closed = targets->closed;
	pthread_mutex_unlock(&targets->mutex);
	return !closed;
}

static void earlier(int64_t *at_us, int64_t candidate_us)
{
	if (candidate_us < *at_us)
		*at_us = candidate_us;
}

static int64_t target_wakes_us(struct target *target, int64_t now_us)
{
	int64_t at_us = now_us + LONGEST_PAUSE_US;
	for (size_t i = 0; i < target->settings.connections; i++) {
		const struct worker *worker = &target->workers[i];
		earlier(&at_us, worker_withdraws_us(worker));
		if (worker->state == WORKER_BUSY)
			earlier(&at_us, worker->deadline_us);
		else if (worker->state == WORKER_IDLE)
			earlier(&at_us, dismissed_us(target, worker));
		else if (worker->state == WORKER_DYING)
			earlier(&at_us, now_us + REAP_PAUSE_US);
	}
	if (!list_empty(&target->waiting) && target->spawn_after_us > now_us)
		earlier(&at_us, target->spawn_after_us);
	int64_t due_us = catalog_due_us(target);
	if (!target->catalog_in_flight && due_us > now_us)
		earlier(&at_us, due_us);
	int64_t probe_us = circuit_breaker_ready_us(&target->breaker, now_us);
	if (!target->catalog_in_flight && probe_us > now_us)
		earlier(&at_us, probe_us);
	return at_us;
}

/* The sockets that are waited for, and whose they are. */
struct poll_set {
	struct pollfd *fds;
	struct {
		struct target *target;
		struct worker *worker;
	} * owners;
	size_t count;
};

static void poll_set_init(struct poll_set *set, const struct targets *targets)
{
	size_t capacity = 1;
	for (size_t i = 0; i < targets->count; i++)
		capacity += targets->items[i].settings.connections;
	set->fds = ARENA_ARRAY(targets->arena, struct pollfd, capacity);
	set->owners = arena_calloc(targets->arena, capacity, sizeof *set->owners);
}

static void poll_set_fill(struct poll_set *set, const struct targets *targets)
{
	set->fds[0] = (struct pollfd){ .fd = targets->wake_fd, .events = POLLIN };
	set->count = 1;
	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = &targets->items[i];
		for (size_t j = 0; j < target->settings.connections; j++) {
			struct worker *worker = &target->workers[j];
			if (worker->fd < 0)
				continue;
			bool unsent = worker->out_sent < worker->out.len;
			set->fds[set->count] =
				(struct pollfd){ .fd = worker->fd,
						 .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN) };
			set->owners[set->count].target = target;
			set->owners[set->count++].worker = worker;
		}
	}
}

static void poll_once(struct targets *targets, struct poll_set *set)
{
	int64_t now_us = clock_monotonic_us(), at_us = now_us + LONGEST_PAUSE_US;
	for (size_t i = 0; i < targets->count; i++)
		earlier(&at_us, target_wakes_us(&targets->items[i], now_us));
	poll_set_fill(set, targets);
	int timeout_ms = at_us <= now_us ? 0 : (int)((at_us - now_us) / 1000 + 1);
	timeout_ms = (int)heartbeat_rest(&targets->heartbeat, timeout_ms);
	int ready = poll(set->fds, set->count, timeout_ms);
	heartbeat_beat(&targets->heartbeat);
	for (size_t i = 1; ready > 0 && i < set->count; i++) {
		struct target *target = set->owners[i].target;
		struct worker *worker = set->owners[i].worker;
		if (set->fds[i].revents & POLLOUT)
			worker_flush(target, worker);
		if (worker->fd >= 0 && set->fds[i].revents & ~POLLOUT)
			worker_receive(target, worker);
	}
}

/* --- the end --- */

/* Idle workers see their socket closed and say goodbye to their servers; busy ones have no time for that. */
static void dismiss(struct target *target)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		struct worker *worker = &target->workers[i];
		if (worker->state == WORKER_BUSY) {
			worker_discard(target, worker, ERR_SHUTTING_DOWN, NULL);
		} else if (worker->state == WORKER_IDLE) {
			worker_dismiss(worker);
		}
	}
}

static bool all_gone(const struct targets *targets, bool wait)
{
	bool gone = true;
	for (size_t i = 0; i < targets->count; i++) {
		const struct target *target = &targets->items[i];
		for (size_t j = 0; j < target->settings.connections; j++) {
			worker_try_reap(target, &target->workers[j], wait);
			gone = gone && target->workers[j].state == WORKER_ABSENT;
		}
	}
	return gone;
}

static void kill_rest(const struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		for (size_t j = 0; j < targets->items[i].settings.connections; j++)
			if (targets->items[i].workers[j].state == WORKER_DYING)
				worker_kill(targets->items[i].workers[j].pid);
}

static void end_all(struct targets *targets, struct list *calls)
{
	target_calls_fail(calls, ERR_SHUTTING_DOWN, NULL);
	for (size_t i = 0; i < targets->count; i++) {
		dismiss(&targets->items[i]);
		target_calls_fail(&targets->items[i].waiting, ERR_SHUTTING_DOWN, NULL);
	}
	int64_t patience_us = clock_monotonic_us() + FAREWELL_US;
	while (!all_gone(targets, false) && clock_monotonic_us() < patience_us)
		poll(NULL, 0, (int)(REAP_PAUSE_US / 1000));
	kill_rest(targets);
	all_gone(targets, true);
}

void supervisor_run(void *context, unsigned index)
{
	struct targets *targets = context;
	struct poll_set set;
	struct list calls;
	(void)index;
	poll_set_init(&set, targets);
	heartbeat_beat(&targets->heartbeat);
	while (take_submitted(targets, &calls)) {
		for (struct list_node *node; (node = list_take(&calls));)
			accept_call(targets, container_of(node, struct target_call, node));
		for (size_t i = 0; i < targets->count; i++)
			target_round(&targets->items[i]);
		poll_once(targets, &set);
	}
	end_all(targets, &calls);
	heartbeat_stop(&targets->heartbeat);
}
