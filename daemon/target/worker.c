#include "target/validation.h"
#include "target/worker_process.h"

#include "common/clock.h"
#include "common/memory.h"

#include <poll.h>
#include <sys/resource.h>
#include <sysexits.h>

#define REST_AFTER_MS 2

struct worker_process {
	struct message_inbox in;
	struct worker_settings settings;
	const struct engine *engine;
	void *session;
	struct truth_cache *truths;
	struct buf out;
	struct err_detail unconfined; /* what could not be taken from this process; "": nothing */
	rlim_t cpu_s;		      /* the limit of the kernel; 0: none was set */
};

static void limit_memory(int64_t memory_bytes)
{
	if (ADDRESS_SPACE_CAN_BE_LIMITED && memory_bytes > 0)
		setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)memory_bytes, (rlim_t)memory_bytes });
}

/* The limit of the kernel counts from the start of the process: it is moved on for every request, in seconds.
 */
static void grant_cpu(struct worker_process *worker, size_t truths, int64_t more_ms)
{
	struct rusage usage;
	struct rlimit limit;
	int64_t budget_ms = worker_budget_ms(&worker->settings.target, truths) + more_ms;
	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return;
	rlim_t cpu_s = (rlim_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + budget_ms / 1000 + 2);
	if (cpu_s == worker->cpu_s || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = cpu_s;
	if (setrlimit(RLIMIT_CPU, &limit) == 0)
		worker->cpu_s = cpu_s;
}

static void answer_validate(struct worker_process *worker, str_t payload, struct arena *arena)
{
	struct validation_request request;
	struct validation_result result = { .status = VALIDATION_UNAVAILABLE, .error = ERR_TARGET_PROTOCOL };
	if (message_get_validate(payload, arena, &request) == ERR_OK) {
		grant_cpu(worker, worker_truths_run(request.truths, request.truths_count),
			  request.candidates.budget_ms);
		validation_run(worker->engine, &worker->settings, &worker->session, worker->truths, &request,
			       arena, &result);
	}
	message_put_validated(&worker->out, &result);
}

static void take_unneeded(struct worker_process *worker)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct confinement needs = { .arena = arena };
	worker->engine->needs(&worker->settings, &needs);
	confine_to(&needs, &worker->unconfined);
}

/* The engine's notes, and one about this process. */
static err_t check(const struct worker_process *worker, struct arena *arena, str_t *ret_notes,
		   struct err_detail *detail)
{
	str_t notes;
	err_t err = worker->engine->check(worker->session, arena, &notes, detail);
	if (!err && worker->unconfined.message[0])
		notes = arena_printf(arena, "the worker processes reach more than they need: %s%s" STR_FMT,
				     worker->unconfined.message, notes.len > 0 ? "\n" : "", STR_ARG(notes));
	if (!err)
		*ret_notes = notes;
	return err;
}

static void answer_text(struct worker_process *worker, enum message_kind kind, struct arena *arena)
{
	struct text_reply reply = { 0 };
	struct err_detail detail = { "" };
	grant_cpu(worker, 0, 0);
	reply.error = validation_session_ensure(worker->engine, &worker->settings, &worker->session, &detail);
	if (!reply.error && kind == MESSAGE_CATALOG)
		reply.error = worker->engine->catalog(worker->session, arena, &reply.text, &detail);
	else if (!reply.error)
		reply.error = check(worker, arena, &reply.text, &detail);
	if (reply.error)
		reply.text = str_from(err_message(reply.error, &detail));
	if (message_put_text(&worker->out, &reply)) {
		reply = (struct text_reply){ ERR_CATALOG_UNAVAILABLE, STR("the catalog is too large") };
		message_put_text(&worker->out, &reply);
	}
}

/* What stands behind the request that was taken withdraws it. */
static bool is_withdrawn(const struct worker_process *worker)
{
	struct message next;
	bool complete;
	return message_peek(message_inbox_rest(&worker->in), &complete, &next) == ERR_OK && complete &&
	       next.kind == MESSAGE_WITHDRAW;
}

/* False: the request is none. */
static bool answer(struct worker_process *worker, const struct message *message)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	buf_reset(&worker->out);
	switch (message->kind) {
	case MESSAGE_VALIDATE:
		if (is_withdrawn(worker))
			message_put_request(&worker->out, MESSAGE_WITHDRAWN);
		else
			answer_validate(worker, message->payload, arena);
		return true;
	case MESSAGE_WITHDRAW: /* too late, or taken into account above */
		return true;
	case MESSAGE_CATALOG:
	case MESSAGE_CHECK:
		answer_text(worker, message->kind, arena);
		return true;
	default:
		return false;
	}
}

static err_t receive_settings(struct worker_process *worker, struct arena *arena)
{
	_cleanup_(worker_secret_free) struct buf in = BUF_INIT;
	struct message message;
	err_t err = message_receive(worker->in.fd, -1, &in, &message);
	if (!err && message.kind != MESSAGE_SETTINGS)
		err = ERR_TARGET_PROTOCOL;
	if (!err)
		err = message_get_settings(message.payload, arena, &worker->settings);
	worker->engine = err ? NULL : engine_of(worker->settings.target.engine);
	return !err && !worker->engine ? ERR_TARGET_PROTOCOL : err;
}

/* What the session has put off is done unless the next request comes at once. */
static void rest_unless_busy(const struct worker_process *worker)
{
	struct pollfd socket = { .fd = worker->in.fd, .events = POLLIN };
	if (worker->session && worker->engine->rest && poll(&socket, 1, REST_AFTER_MS) == 0)
		worker->engine->rest(worker->session);
}

/* Looks at the socket even if the next request is here already: it may have been withdrawn meanwhile. */
static err_t next_request(struct worker_process *worker, struct message *ret_message)
{
	bool complete = false;
	err_t err = message_inbox_fill(&worker->in, false);
	for (bool rested = false; !err; rested = true) {
		err = message_peek(message_inbox_rest(&worker->in), &complete, ret_message);
		if (err || complete)
			break;
		if (!rested)
			rest_unless_busy(worker);
		err = message_inbox_fill(&worker->in, true);
	}
	if (!err)
		message_inbox_take(&worker->in, ret_message);
	return err;
}

/* Requests until the supervisor closes the socket. */
static int serve(struct worker_process *worker)
{
	struct message message;
	for (;;) {
		err_t err = next_request(worker, &message);
		if (err)
			return err == ERR_IO ? EX_OK : EX_PROTOCOL;
		if (!answer(worker, &message))
			return EX_PROTOCOL;
		if (message_send(worker->in.fd, &worker->out))
			return EX_OK;
	}
}

int target_worker_main(int fd)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct worker_process worker = { .in.fd = fd };
	confine_start(fd);
	memory_keep_freed();
	if (receive_settings(&worker, arena))
		return EX_PROTOCOL;
	limit_memory(worker.settings.target.worker_memory_bytes);
	take_unneeded(&worker);
	worker.truths = truth_cache_new(worker.settings.target.truth_cache_bytes,
					worker.settings.target.truth_cache_ttl_s * 1000000);
	int status = serve(&worker);
	truth_cache_free(worker.truths);
	validation_session_close(worker.engine, &worker.session);
	buf_free(&worker.in.bytes);
	buf_free(&worker.out);
	return status;
}
