#include "target/workers.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/secret.h"
#include "target/worker_process.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FEWER_PAUSE_US	  ((int64_t)5000000) /* before more connections are tried again */
#define ATTEMPTS	  2
#define FAREWELL_MAX_US	  ((int64_t)10000000)
#define QUICK_US	  ((int64_t)5000)
#define WITHDRAW_AFTER_US ((int64_t)10000)
#define RECEIVE_BYTES	  65536u

/* --- answering --- */

static void call_finish(struct target_call *call)
{
	call->duration_us = clock_monotonic_us() - call->submitted_us;
	call->done(call, call->context);
}

void target_call_fail(struct target_call *call, err_t err, const char *message)
{
	const char *text = message && message[0] ? message : err_text(err);
	call->result = (struct validation_result){
		.status = VALIDATION_UNAVAILABLE,
		.error = err,
		.message = arena_text(call->arena, text, strlen(text)),
	};
	call_finish(call);
}

void target_calls_fail(struct list *calls, err_t err, const char *message)
{
	for (struct list_node *node; (node = list_take(calls));)
		target_call_fail(container_of(node, struct target_call, node), err, message);
}

/* --- whether the target can be reached --- */

void target_is_down(struct target *target, const char *reason)
{
	int64_t now_us = clock_monotonic_us();
	bool was_up = target->breaker.state == CIRCUIT_CLOSED;
	if (!circuit_breaker_failed(&target->breaker, now_us))
		return;
	if (was_up)
		log_warning("target %s cannot be reached: %s", target->settings.name, reason);
	target->spawn_after_us = 0; /* the breaker alone says when */
	err_fail(&target->down_reason, ERR_TARGET_UNAVAILABLE, "%s", reason);
	if (!target->catalog_in_flight) /* to be read when the target is back: it may have changed meanwhile
					 */
		target_catalog_settle(target, circuit_breaker_ready_us(&target->breaker, now_us), reason);
	target_calls_fail(&target->waiting, ERR_TARGET_UNAVAILABLE, reason);
}

static void target_is_up(struct target *target)
{
	if (target->breaker.state != CIRCUIT_CLOSED)
		log_notice("target %s can be reached again", target->settings.name);
	circuit_breaker_succeeded(&target->breaker);
	backoff_reset(&target->respawn);
}

/* --- processes --- */

void worker_set_state(struct worker *worker, enum worker_state state)
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
	if (state == WORKER_IDLE)
		worker->idle_since_us = clock_monotonic_us();
}

err_t worker_start(struct target *target, struct worker *worker, struct err_detail *detail)
{
	const struct secret_look password = secret_look_at(target->settings.password_file);
	err_t err = worker_spawn(&target->settings, true, &worker->out, &worker->pid, &worker->fd, detail);
	if (err) {
		worker_secret_free(&worker->out);
		return err;
	}
	worker->out_sent = 0;
	worker->proven = false;
	worker->quick = false;
	worker->password = password;
	worker->died_while = NULL;
	atomic_fetch_add(&target->started, 1);
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
	target_catalog_settle(target, clock_monotonic_us() + pause_us, message);
}

static struct worker_request take_request(struct worker_request *request)
{
	const struct worker_request taken = *request;
	*request = (struct worker_request){ REQUEST_NONE, NULL, 0 };
	return taken;
}

/* Ends what the worker was asked for with an error. */
static void worker_fail_request(struct target *target, struct worker *worker, err_t err, const char *message)
{
	const struct worker_request request = take_request(&worker->running);
	if (request.kind == REQUEST_CALL)
		target_call_fail(request.call, err, message);
	else if (request.kind == REQUEST_CATALOG)
		catalog_fetch_failed(target, err, message);
}

/* The call behind the running one is the next that any worker gets. */
static void take_back_behind(struct target *target, struct worker *worker)
{
	const struct worker_request request = take_request(&worker->behind);
	if (request.kind != REQUEST_CALL)
		return;
	request.call->attempts--;
	list_prepend(&target->waiting, &request.call->node);
}

/* Closes the socket and kills; the process is reaped later. */
static void worker_end(struct target *target, struct worker *worker)
{
	take_back_behind(target, worker);
	close(TAKE_FD(worker->fd));
	worker_kill(worker->pid);
	worker_set_state(worker, WORKER_DYING);
	worker->deadline_us = INT64_MAX;
	worker_secret_free(&worker->out);
	buf_free(&worker->in);
}

/* The worker is of no use any more: a BUSY one's request fails with `err`. */
void worker_discard(struct target *target, struct worker *worker, err_t err, const char *message)
{
	const char *text = message ? message : err_text(err);
	bool busy = worker->state == WORKER_BUSY;
	worker_end(target, worker);
	if (err == ERR_TARGET_TIMEOUT || err == ERR_TARGET_PROTOCOL)
		atomic_fetch_add(&target->killed, 1);
	if (busy && target->breaker.state == CIRCUIT_HALF_OPEN)
		target_is_down(target, text);
	if (busy)
		worker_fail_request(target, worker, err, text);
}

void worker_dismiss(struct worker *worker)
{
	close(TAKE_FD(worker->fd));
	worker_set_state(worker, WORKER_DYING);
	worker->deadline_us = clock_monotonic_us() + FAREWELL_MAX_US;
	worker_secret_free(&worker->out);
	buf_free(&worker->in);
}

static void delay_respawn(struct target *target)
{
	target->spawn_after_us = clock_monotonic_us() + backoff_next_ms(&target->respawn) * 1000;
}

static void worker_crashed(struct target *target, struct worker *worker)
{
	delay_respawn(target);
	atomic_fetch_add(&target->died, 1);
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

void worker_try_reap(const struct target *target, struct worker *worker, bool wait)
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
void worker_flush(struct target *target, struct worker *worker)
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
	worker_secret_free(&worker->out);
	worker->out_sent = 0;
}

static void worker_begin(struct target *target, struct worker *worker, struct worker_request request)
{
	worker_set_state(worker, WORKER_BUSY);
	worker->running = request;
	worker->began_us = clock_monotonic_us();
	worker->deadline_us = worker->began_us + request.budget_ms * 1000;
	circuit_breaker_started(&target->breaker, worker->began_us);
}

bool worker_ends_soon(const struct worker *worker, int64_t now_us)
{
	return worker->state == WORKER_BUSY && worker->running.kind == REQUEST_CALL &&
	       worker->behind.kind == REQUEST_NONE && worker->out.len == 0 && worker->quick &&
	       now_us - worker->began_us <= QUICK_US;
}

int64_t worker_withdraws_us(const struct worker *worker)
{
	bool behind = worker->state == WORKER_BUSY && worker->behind.kind == REQUEST_CALL;
	return behind ? worker->began_us + WITHDRAW_AFTER_US : INT64_MAX;
}

void worker_withdraw_late(struct target *target, struct worker *worker, int64_t now_us)
{
	if (now_us < worker_withdraws_us(worker))
		return;
	const int64_t budget_ms = worker->behind.budget_ms;
	take_back_behind(target, worker);
	worker->behind = (struct worker_request){ REQUEST_WITHDRAWN, NULL, budget_ms };
	message_put_request(&worker->out, MESSAGE_WITHDRAW);
	worker_flush(target, worker);
}

static void copy_catalog_digest(struct target *target, char ret_digest[DIGEST_HEX_SIZE])
{
	pthread_mutex_lock(&target->targets->mutex);
	snprintf(ret_digest, DIGEST_HEX_SIZE, "%s", target->catalog ? catalog_digest(target->catalog) : "");
	pthread_mutex_unlock(&target->targets->mutex);
}

void worker_send_call(struct target *target, struct worker *worker, struct target_call *call)
{
	char digest[DIGEST_HEX_SIZE];
	copy_catalog_digest(target, digest);
	struct validation_request request = { call->generated_sql, str_from(digest), call->truths,
					      call->truths_count,  call->comparing,  call->candidates };
	if (message_put_validate(&worker->out, &request)) {
		target_call_fail(call, ERR_TARGET_PROTOCOL, "the queries are too long");
		return;
	}
	call->attempts++;
	size_t truths = worker_truths_run(call->truths, call->truths_count);
	int64_t budget_ms = worker_budget_ms(&target->settings, truths) + call->candidates.budget_ms;
	const struct worker_request sent = { REQUEST_CALL, call, budget_ms };
	if (worker->state == WORKER_BUSY)
		worker->behind = sent;
	else
		worker_begin(target, worker, sent);
	worker_flush(target, worker);
}

void worker_send_catalog_request(struct target *target, struct worker *worker)
{
	target->catalog_in_flight = true;
	message_put_request(&worker->out, MESSAGE_CATALOG);
	const int64_t budget_ms = worker_budget_ms(&target->settings, 0);
	worker_begin(target, worker, (struct worker_request){ REQUEST_CATALOG, NULL, budget_ms });
	worker_flush(target, worker);
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

/* Its password file is another one than when it was started. */
static bool password_is_old(const struct target *target, const struct worker *worker)
{
	const struct secret_look now = secret_look_at(target->settings.password_file);
	return !secret_look_same(&now, &worker->password);
}

/* Those that have nothing to do: the next requests meet processes that have read the file anew. */
static void end_old_passwords(struct target *target)
{
	for (size_t i = 0; i < target->settings.connections; i++) {
		struct worker *worker = &target->workers[i];
		if (worker->state == WORKER_IDLE && password_is_old(target, worker))
			worker_end(target, worker);
	}
}

/* What an answer says about the target. False: nothing, the request deserves another worker. */
static bool note_reach(struct target *target, struct worker *worker, err_t err, const char *message)
{
	worker->proven = err != ERR_TARGET_UNAVAILABLE;
	if (worker->proven) {
		target_is_up(target);
		return true;
	}
	if (target->breaker.state == CIRCUIT_CLOSED && password_is_old(target, worker)) {
		end_old_passwords(target);
		return false;
	}
	if (target->breaker.state == CIRCUIT_CLOSED && others_are_connected(target, worker)) {
		log_warning("target %s goes on with fewer connections than configured: %s",
			    target->settings.name, message);
		target->spawn_after_us = clock_monotonic_us() + FEWER_PAUSE_US;
		worker_end(target, worker);
		return false;
	}
	target_is_down(target, message);
	worker_end(target, worker); /* the next one reads the password anew */
	end_old_passwords(target);
	return true;
}

/* It goes on with what stands behind, unless its answer has cost its life. */
static void worker_go_on(struct target *target, struct worker *worker)
{
	if (worker->state == WORKER_IDLE && worker->behind.kind != REQUEST_NONE)
		worker_begin(target, worker, take_request(&worker->behind));
}

static void take_validated(struct target *target, struct worker *worker, str_t payload)
{
	struct target_call *call = worker->running.call;
	if (message_get_validated(payload, call->arena, &call->result)) {
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
		return;
	}
	take_request(&worker->running);
	worker_set_state(worker, WORKER_IDLE);
	worker->quick = worker->idle_since_us - worker->began_us <= QUICK_US;
	if (call->result.error == ERR_TARGET_DENIED)
		atomic_fetch_add(&target->denied, 1);
	bool answered = note_reach(target, worker, call->result.error, call->result.message.ptr);
	worker_go_on(target, worker);
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
	take_request(&worker->running);
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

/* Whether it was run all the same or not. */
static void take_withdrawn(struct worker *worker)
{
	take_request(&worker->running);
	worker_set_state(worker, WORKER_IDLE);
}

static void take_message(struct target *target, struct worker *worker, const struct message *message)
{
	enum worker_request_kind asked = worker->state == WORKER_BUSY ? worker->running.kind : REQUEST_NONE;
	bool validated = message->kind == MESSAGE_VALIDATED;
	if (asked == REQUEST_CALL && validated)
		take_validated(target, worker, message->payload);
	else if (asked == REQUEST_WITHDRAWN && (validated || message->kind == MESSAGE_WITHDRAWN))
		take_withdrawn(worker);
	else if (asked == REQUEST_CATALOG && message->kind == MESSAGE_TEXT)
		take_catalog(target, worker, message->payload);
	else
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
}

/* Takes the first message of `in`. False: there is none, or the worker is of no use any more. */
static bool take_first(struct target *target, struct worker *worker, str_t in, size_t *ret_bytes)
{
	struct message message;
	bool complete = false;
	err_t err = message_peek(in, &complete, &message);
	if (err)
		worker_discard(target, worker, ERR_TARGET_PROTOCOL, NULL);
	if (err || !complete)
		return false;
	*ret_bytes = message.frame_bytes;
	take_message(target, worker, &message);
	return worker->fd >= 0;
}

/* As many answers are on their way as it has requests: what comes behind them is garbage. */
static void worker_parse(struct target *target, struct worker *worker)
{
	struct buf in = worker->in; /* stays while messages are read, whatever happens to the worker */
	size_t taken = 0, bytes;
	worker->in = (struct buf)BUF_INIT;
	while (taken < in.len &&
	       take_first(target, worker, (str_t){ in.data + taken, in.len - taken }, &bytes))
		taken += bytes;
	if (taken == 0 && worker->fd >= 0) { /* a part of the first one */
		worker->in = in;
		return;
	}
	if (taken < in.len && worker->fd >= 0)
		buf_append(&worker->in, in.data + taken, in.len - taken);
	buf_free(&in);
}

void worker_receive(struct target *target, struct worker *worker)
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
		if (worker->state != WORKER_BUSY || (size_t)got < RECEIVE_BYTES)
			return;
	}
}
