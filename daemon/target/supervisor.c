#include "target/supervisor.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "target/process.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LONGEST_PAUSE_US ((int64_t)1000000) /* a sign of life at least so often */
#define REAP_PAUSE_US	 ((int64_t)10000)
#define FAREWELL_US	 ((int64_t)500000) /* for idle workers to take leave of their servers */
#define WAIT_LIMIT_US	 ((int64_t)600 * 1000000)
#define FEWER_PAUSE_US	 ((int64_t)5000000) /* before more connections are tried again */
#define ATTEMPTS	 2
#define LEAST_DOWN_MS	 100
#define RECEIVE_BYTES	 65536u

/* --- answering --- */

static void call_finish(struct target_call *call)
{
	call->duration_us = clock_monotonic_us() - call->submitted_us;
	call->done(call, call->context);
}

void call_fail(struct target_call *call, err_t err, const char *message)
{
	const char *text = message && message[0] ? message : err_text(err);
	call->result = (struct validation_result){
		.status = VALIDATION_UNAVAILABLE,
		.error = err,
		.message = arena_text(call->arena, text, strlen(text)),
	};
	call_finish(call);
}

static void fail_all(struct list *calls, err_t err, const char *message)
{
	for (struct list_node *node; (node = list_take(calls));)
		call_fail(container_of(node, struct target_call, node), err, message);
}

void targets_wake(const struct targets *targets)
{
	uint64_t one = 1;
	if (write(targets->wake_fd, &one, sizeof one) < 0)
		return; /* full: it is readable already */
}

/* --- whether the target can be reached --- */

static void target_is_down(struct target *target, const char *reason)
{
	if (target->reach == REACH_DOWN)
		return;
	if (target->reach == REACH_UP)
		log_warning("target %s cannot be reached: %s", target->settings.name, reason);
	int64_t pause_ms = backoff_next_ms(&target->reconnect);
	target->reach = REACH_DOWN;
	target->spawn_after_us = 0; /* the retry alone says when */
	target->retry_us =
		clock_monotonic_us() + (pause_ms > LEAST_DOWN_MS ? pause_ms : LEAST_DOWN_MS) * 1000;
	err_fail(&target->down_reason, ERR_TARGET_UNAVAILABLE, "%s", reason);
	if (!target->catalog_in_flight) /* to be read when the target is back: it may have changed meanwhile
					 */
		catalog_settle(target, target->retry_us, true);
	fail_all(&target->waiting, ERR_TARGET_UNAVAILABLE, reason);
}

static void target_is_up(struct target *target)
{
	if (target->reach != REACH_UP)
		log_notice("target %s can be reached again", target->settings.name);
	target->reach = REACH_UP;
	backoff_reset(&target->reconnect);
	backoff_reset(&target->respawn);
}

/* --- processes --- */

static void worker_set_state(struct worker *worker, enum worker_state state)
{
	static const bool allowed[WORKER_STATE_COUNT_][WORKER_STATE_COUNT_] = {
		[WORKER_ABSENT] = { [WORKER_IDLE] = true },
		[WORKER_IDLE] = { [WORKER_BUSY] = true, [WORKER_DYING] = true },
		[WORKER_BUSY] = { [WORKER_IDLE] = true, [WORKER_DYING] = true },
		[WORKER_DYING] = { [WORKER_ABSENT] = true },
	};
	if (!allowed[worker->state][state])
		abort();
	worker->state = state;
}

static err_t worker_start(struct target *target, struct worker *worker, struct err_detail *detail)
{
	err_t err = worker_spawn(&target->settings, true, &worker->out, &worker->pid, &worker->fd, detail);
	if (err) {
		secret_free(&worker->out);
		return err;
	}
	worker->out_sent = 0;
	worker->proven = false;
	worker->died_while = NULL;
	buf_reset(&worker->in);
	worker_set_state(worker, WORKER_IDLE);
	return ERR_OK;
}

static void catalog_fetch_failed(struct target *target, err_t err, const char *message)
{
	int64_t pause_us = backoff_next_ms(&target->catalog_retry) * 1000;
	target->catalog_in_flight = false;
	pthread_mutex_lock(&target->targets->mutex);
	bool said = target->catalog_failed;
	pthread_mutex_unlock(&target->targets->mutex);
	bool known = err == ERR_TARGET_UNAVAILABLE || err == ERR_SHUTTING_DOWN;
	if (!said && !known) /* what is known has been said of the target or the daemon */
		log_warning("the catalog of target %s cannot be read: %s", target->settings.name, message);
	catalog_settle(target, clock_monotonic_us() + pause_us, true);
}

/* Ends what the worker was asked for with an error. */
static void worker_fail_request(struct target *target, struct worker *worker, err_t err, const char *message)
{
	struct target_call *call = TAKE_PTR(worker->call);
	if (call)
		call_fail(call, err, message);
	else
		catalog_fetch_failed(target, err, message);
}

/* Closes the socket and kills; the process is reaped later. */
static void worker_end(struct worker *worker)
{
	close(TAKE_FD(worker->fd));
	worker_kill(worker->pid);
	worker_set_state(worker, WORKER_DYING);
	secret_free(&worker->out);
	buf_free(&worker->in);
}

/* The worker is of no use any more: a BUSY one's request fails with `err`. */
static void worker_discard(struct target *target, struct worker *worker, err_t err, const char *message)
{
	const char *text = message ? message : err_text(err);
	bool busy = worker->state == WORKER_BUSY;
	worker_end(worker);
	if (busy && target->reach == REACH_PROBING)
		target_is_down(target, text);
	if (busy)
		worker_fail_request(target, worker, err, text);
}

static void delay_respawn(struct target *target)
{
	target->spawn_after_us = clock_monotonic_us() + backoff_next_ms(&target->respawn) * 1000;
}

static void worker_crashed(struct target *target, struct worker *worker)
{
	delay_respawn(target);
	worker->died_while = worker->state == WORKER_BUSY ? "while it ran a query" : "while it was idle";
	worker_discard(target, worker, ERR_TARGET_WORKER_DIED, NULL);
}

static void log_death(const struct target *target, const struct worker *worker, int status)
{
	if (WIFSIGNALED(status))
		log_warning("a worker process of target %s has died %s: %s", target->settings.name,
			    worker->died_while, strsignal(WTERMSIG(status)));
	else
		log_warning("a worker process of target %s has ended %s with exit status %d",
			    target->settings.name, worker->died_while, WEXITSTATUS(status));
}

static void worker_try_reap(const struct target *target, struct worker *worker, bool wait)
{
	int status;
	if (worker->state != WORKER_DYING || !worker_reap(worker->pid, wait, &status))
		return;
	if (worker->died_while)
		log_death(target, worker, status);
	worker_set_state(worker, WORKER_ABSENT);
}

/* --- requests --- */

/* Sends as much as the socket takes; the rest follows when it can be written. */
static void worker_flush(struct target *target, struct worker *worker)
{
	while (worker->out_sent < worker->out.len) {
		ssize_t sent = send(worker->fd, worker->out.data + worker->out_sent,
				    worker->out.len - worker->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent <= 0) {
			worker_crashed(target, worker);
			return;
		}
		worker->out_sent += (size_t)sent;
	}
	secret_free(&worker->out);
	worker->out_sent = 0;
}

static int64_t deadline_of(const struct target *target, size_t truths)
{
	return clock_monotonic_us() + worker_budget_ms(&target->settings, truths) * 1000;
}

static void worker_request(struct target *target, struct worker *worker, size_t truths)
{
	worker_set_state(worker, WORKER_BUSY);
	worker->deadline_us = deadline_of(target, truths);
	if (target->reach == REACH_DOWN)
		target->reach = REACH_PROBING;
	worker_flush(target, worker);
}

static void copy_catalog_digest(struct target *target, char ret_digest[DIGEST_HEX_SIZE])
{
	pthread_mutex_lock(&target->targets->mutex);
	snprintf(ret_digest, DIGEST_HEX_SIZE, "%s", target->catalog ? catalog_digest(target->catalog) : "");
	pthread_mutex_unlock(&target->targets->mutex);
}

static void send_call(struct target *target, struct worker *worker, struct target_call *call)
{
	char digest[DIGEST_HEX_SIZE];
	copy_catalog_digest(target, digest);
	const struct validation_request request = { call->generated_sql, str_from(digest), call->truths,
						    call->truths_count };
	if (message_put_validate(&worker->out, &request)) {
		call_fail(call, ERR_TARGET_PROTOCOL, "the queries are too long");
		return;
	}
	call->attempts++;
	worker->call = call;
	worker_request(target, worker, call->truths_count);
}

static void send_catalog_request(struct target *target, struct worker *worker)
{
	target->catalog_in_flight = true;
	message_put_request(&worker->out, MESSAGE_CATALOG);
	worker_request(target, worker, 0);
}

/* --- answers --- */

/* One process cannot connect while others can: the server has no more connections for us. */
static bool others_are_connected(const struct target *target, const struct worker *worker)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		const struct worker *other = &target->workers[i];
		bool alive = other->state == WORKER_IDLE || other->state == WORKER_BUSY;
		if (other != worker && alive && other->proven)
			return true;
	}
	return false;
}

/* What an answer says about the target. False: nothing, the request deserves another worker. */
static bool note_reach(struct target *target, struct worker *worker, err_t err, const char *message)
{
	worker->proven = err != ERR_TARGET_UNAVAILABLE;
	if (worker->proven) {
		target_is_up(target);
		return true;
	}
	if (target->reach == REACH_UP && others_are_connected(target, worker)) {
		log_warning("target %s goes on with fewer connections than configured: %s",
			    target->settings.name, message);
		target->spawn_after_us = clock_monotonic_us() + FEWER_PAUSE_US;
		worker_end(worker);
		return false;
	}
	target_is_down(target, message);
	worker_end(worker); /* the next one reads the password anew */
	return true;
}

static void take_validated(struct target *target, struct worker *worker, str_t payload)
{
	struct target_call *call = worker->call;
	if (message_get_validated(payload, call->arena, &call->result)) {
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
		return;
	}
	worker->call = NULL;
	worker_set_state(worker, WORKER_IDLE);
	bool answered = note_reach(target, worker, call->result.error, call->result.message.ptr);
	if (answered || call->attempts >= ATTEMPTS)
		call_finish(call);
	else
		list_prepend(&target->waiting, &call->node);
}

/* The next fetch is a whole lifetime away, unless compiling this one fails. */
static void catalog_postpone(struct target *target)
{
	int64_t due_us = clock_monotonic_us() + target->settings.catalog_ttl_s * 1000000;
	pthread_mutex_lock(&target->targets->mutex);
	target->catalog_due_us = due_us;
	pthread_mutex_unlock(&target->targets->mutex);
}

static void take_catalog(struct target *target, struct worker *worker, str_t payload)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct text_reply reply;
	if (message_get_text(payload, arena, &reply) || !str_present(reply.text)) {
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
		return;
	}
	worker_set_state(worker, WORKER_IDLE);
	note_reach(target, worker, reply.error, reply.text.ptr);
	if (reply.error) {
		catalog_fetch_failed(target, reply.error, reply.text.ptr);
		return;
	}
	struct fetched_catalog *fetched = calloc(1, sizeof *fetched);
	if (!fetched)
		abort();
	fetched->target = target;
	fetched->read_at_ms = clock_wall_ms();
	buf_append_str(&fetched->json, reply.text);
	backoff_reset(&target->catalog_retry);
	target->catalog_in_flight = false;
	catalog_postpone(target);
	queue_push(&target->targets->fetched, &fetched->node);
}

static void take_message(struct target *target, struct worker *worker, const struct message *message)
{
	if (worker->state == WORKER_BUSY && worker->call && message->kind == MESSAGE_VALIDATED)
		take_validated(target, worker, message->payload);
	else if (worker->state == WORKER_BUSY && !worker->call && message->kind == MESSAGE_TEXT)
		take_catalog(target, worker, message->payload);
	else
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
}

/* One answer at most is on its way: what comes behind it is garbage. */
static void worker_parse(struct target *target, struct worker *worker)
{
	struct message message;
	bool complete;
	err_t err = message_peek(buf_str(&worker->in), &complete, &message);
	if (!err && !complete)
		return;
	if (err || message.frame_bytes != worker->in.len) {
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
		return;
	}
	struct buf in = worker->in; /* stays while the message is read, whatever happens to the worker */
	worker->in = (struct buf)BUF_INIT;
	take_message(target, worker, &message);
	buf_free(&in);
}

static void worker_receive(struct target *target, struct worker *worker)
{
	for (;;) {
		char *to = buf_reserve(&worker->in, RECEIVE_BYTES);
		ssize_t got = recv(worker->fd, to, RECEIVE_BYTES, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			worker_crashed(target, worker);
			return;
		}
		worker->in.len += (size_t)got;
		worker->in.data[worker->in.len] = '\0';
		worker_parse(target, worker);
		if (worker->state != WORKER_BUSY)
			return;
	}
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
	return target->reach == REACH_UP ||
	       (target->reach == REACH_DOWN && clock_monotonic_us() >= target->retry_us);
}

static int64_t catalog_due_us(struct target *target)
{
	pthread_mutex_lock(&target->targets->mutex);
	int64_t due_us = target->catalog_due_us;
	pthread_mutex_unlock(&target->targets->mutex);
	return due_us;
}

static void give_catalog_request(struct target *target)
{
	if (target->catalog_in_flight || catalog_due_us(target) > clock_monotonic_us() || !may_ask(target))
		return;
	struct worker *worker = free_worker(target);
	if (worker)
		send_catalog_request(target, worker);
}

static void give_calls(struct target *target)
{
	while (!list_empty(&target->waiting) && may_ask(target)) {
		struct worker *worker = free_worker(target);
		if (!worker)
			break;
		send_call(target, worker,
			  container_of(list_take(&target->waiting), struct target_call, node));
	}
	if (!may_ask(target))
		fail_all(&target->waiting, ERR_TARGET_UNAVAILABLE, target->down_reason.message);
}

static void expire_waiting(struct target *target, int64_t now_us)
{
	while (!list_empty(&target->waiting)) {
		struct target_call *call = container_of(target->waiting.head.next, struct target_call, node);
		if (now_us - call->submitted_us < WAIT_LIMIT_US)
			return;
		list_remove(&target->waiting, &call->node);
		call_fail(call, ERR_TARGET_UNAVAILABLE, "no connection of the target has become free");
	}
}

static void expire_workers(struct target *target, int64_t now_us)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		struct worker *worker = &target->workers[i];
		if (worker->state != WORKER_BUSY || now_us < worker->deadline_us)
			continue;
		log_warning("a worker process of target %s was killed at its deadline",
			    target->settings.name);
		worker_discard(target, worker, ERR_TARGET_TIMEOUT, NULL);
	}
}

static void target_round(struct target *target)
{
	int64_t now_us = clock_monotonic_us();
	for (size_t i = 0; i < target->settings.connections; i++)
		worker_try_reap(target, &target->workers[i], false);
	expire_workers(target, now_us);
	expire_waiting(target, now_us);
	give_catalog_request(target);
	give_calls(target);
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
		call_fail(call, ERR_TARGET_UNKNOWN, NULL);
	else if (target->waiting.count >= targets->queue_limit)
		call_fail(call, ERR_TARGET_UNAVAILABLE, "too many queries wait for the target");
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
		if (worker->state == WORKER_BUSY)
			earlier(&at_us, worker->deadline_us);
		else if (worker->state == WORKER_DYING)
			earlier(&at_us, now_us + REAP_PAUSE_US);
	}
	if (!list_empty(&target->waiting) && target->spawn_after_us > now_us)
		earlier(&at_us, target->spawn_after_us);
	int64_t due_us = catalog_due_us(target);
	if (!target->catalog_in_flight && due_us > now_us)
		earlier(&at_us, due_us);
	if (!target->catalog_in_flight && target->reach == REACH_DOWN && target->retry_us > now_us)
		earlier(&at_us, target->retry_us);
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
	int ready = poll(set->fds, set->count, timeout_ms);
	tick(&targets->ticker);
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
			close(TAKE_FD(worker->fd));
			worker_set_state(worker, WORKER_DYING);
			secret_free(&worker->out);
			buf_free(&worker->in);
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
	fail_all(calls, ERR_SHUTTING_DOWN, NULL);
	for (size_t i = 0; i < targets->count; i++) {
		fail_all(&targets->items[i].waiting, ERR_SHUTTING_DOWN, NULL);
		dismiss(&targets->items[i]);
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
	tick(&targets->ticker);
	while (take_submitted(targets, &calls)) {
		for (struct list_node *node; (node = list_take(&calls));)
			accept_call(targets, container_of(node, struct target_call, node));
		for (size_t i = 0; i < targets->count; i++)
			target_round(&targets->items[i]);
		poll_once(targets, &set);
	}
	end_all(targets, &calls);
	tick_stop(&targets->ticker);
}
