#include "judge/dispatcher.h"

#include "common/clock.h"
#include "common/log.h"
#include "judge/breaker.h"
#include "judge/budget_file.h"
#include "judge/cache.h"
#include "judge/exchange.h"
#include "judge/limits.h"

#define ROUND_MS	   1000 /* the longest wait between two signs of life */
#define BREAKER_FAILURES   10
#define BREAKER_PAUSE_MS   1000
#define BREAKER_BACKOFF_MS 1000
#define BREAKER_CAP_MS	   2000 /* a server that is back is noticed within some seconds */
#define BUDGET_SAVE_US	   1000000

struct dispatcher {
	struct endpoint endpoint;
	struct terms terms;
	struct shared_cache *shared; /* or NULL */
	char *budget_file;	     /* or NULL */
	struct transport *transport;
	struct cache *cache;
	struct breaker breaker;
	struct limits limits;
	bool budget_changed; /* since it was saved */
	int64_t budget_saved_us;
	struct judge_stats stats;
	struct digest_table open; /* every exchange that is not done, by key */
	struct list looking;	  /* in the shared cache */
	struct list waiting;	  /* for a place */
	struct list sending;
	struct list pausing; /* until the next try; keeps its place */
	int64_t next_expiry_us;
	int64_t next_start_us; /* when the limits let the next one start; INT64_MAX: not by time */
};

static struct judge_call *call_of(struct list_node *node)
{
	return container_of(node, struct judge_call, node);
}

static struct exchange *exchange_of(struct list_node *node)
{
	return container_of(node, struct exchange, node);
}

/* Hands the verdict out; the call is its owner's again. */
static void answer(struct dispatcher *dispatcher, struct judge_call *call,
		   const struct judge_verdict *verdict, bool cached)
{
	call->verdict = *verdict;
	call->verdict.message = arena_str(call->arena, verdict->message);
	call->verdict.reason = arena_str(call->arena, verdict->reason);
	call->verdict.cached = cached && verdict->error == ERR_OK;
	if (cached)
		call->verdict.prompt_tokens = call->verdict.completion_tokens = 0;
	call->duration_us = clock_monotonic_us() - call->submitted_us;
	dispatcher->stats.saturated += verdict->error == ERR_JUDGE_SATURATED;
	dispatcher->stats.failed += verdict->error != ERR_OK && verdict->error != ERR_JUDGE_SATURATED;
	call->done(call, call->context);
}

static void answer_error(struct dispatcher *dispatcher, struct judge_call *call, err_t err)
{
	struct judge_verdict verdict = { .error = err, .message = str_from(err_text(err)) };
	answer(dispatcher, call, &verdict, false);
}

/* Answers all calls of the exchange and releases it. It is in no list any more. Unless the verdict is a
 * cache's, the first call has paid for it. */
static void answer_exchange(struct dispatcher *dispatcher, struct exchange *exchange, bool cached)
{
	struct list_node *node;
	digest_table_remove(&dispatcher->open, &exchange->by_key);
	for (; (node = list_take(&exchange->calls)); cached = true)
		answer(dispatcher, call_of(node), &exchange->verdict, cached);
	exchange_free(exchange);
}

static void close_exchange(struct dispatcher *dispatcher, struct exchange *exchange)
{
	answer_exchange(dispatcher, exchange, false);
}

/* An exchange that was sent has its verdict or its error. */
static void conclude(struct dispatcher *dispatcher, struct exchange *exchange)
{
	const struct judge_verdict *verdict = &exchange->verdict;
	if (verdict->error == ERR_OK) {
		struct cached_verdict kept = { verdict->score, verdict->reason };
		cache_put(dispatcher->cache, exchange->by_key.key, clock_monotonic_us(), &kept);
		if (dispatcher->shared)
			shared_cache_put(dispatcher->shared, exchange->by_key.key, exchange->lookup.kind,
					 &kept);
		dispatcher->stats.verdicts++;
	}
	close_exchange(dispatcher, exchange);
}

static void send_exchange(struct dispatcher *dispatcher, struct exchange *exchange)
{
	if (exchange_write(exchange, &dispatcher->endpoint) != ERR_OK) {
		close_exchange(dispatcher, exchange); /* says nothing about the server */
		return;
	}
	int64_t now_us = clock_monotonic_us();
	if (exchange->deadline_us == 0)
		exchange->deadline_us = now_us + dispatcher->terms.timeout_us;
	int64_t left_ms = (exchange->deadline_us - now_us) / 1000;
	if (left_ms <= 0) {
		exchange_fail(exchange, ERR_JUDGE_TIMEOUT);
		conclude(dispatcher, exchange);
		return;
	}
	exchange->transfer.timeout_ms = left_ms;
	breaker_started(&dispatcher->breaker, now_us);
	dispatcher->stats.requests++;
	limits_sent(&dispatcher->limits, now_us);
	list_append(&dispatcher->sending, &exchange->node);
	transport_start(dispatcher->transport, &exchange->transfer);
}

/* What the caches took is no wait for a place. */
static void await_place(struct dispatcher *dispatcher, struct exchange *exchange)
{
	exchange->waiting_since_us = clock_monotonic_us();
	list_append(&dispatcher->waiting, &exchange->node);
	int64_t expires_us = exchange->waiting_since_us + dispatcher->terms.queue_wait_us;
	if (dispatcher->terms.queue_wait_us >= 0 && expires_us < dispatcher->next_expiry_us)
		dispatcher->next_expiry_us = expires_us;
}

static void open_exchange(struct dispatcher *dispatcher, struct judge_call *call,
			  const unsigned char key[DIGEST_BYTES])
{
	struct exchange *exchange = exchange_new(&dispatcher->endpoint, key, dispatcher->terms.max_attempts);
	list_append(&exchange->calls, &call->node);
	digest_table_add(&dispatcher->open, &exchange->by_key);
	memcpy(exchange->lookup.key, key, DIGEST_BYTES);
	exchange->lookup.kind = call->kind;
	if (dispatcher->shared &&
	    shared_cache_ask(dispatcher->shared, &exchange->lookup, clock_monotonic_us()))
		list_append(&dispatcher->looking, &exchange->node);
	else
		await_place(dispatcher, exchange);
}

static void use_shared(struct dispatcher *dispatcher, struct exchange *exchange)
{
	struct cached_verdict kept = { exchange->lookup.score, exchange->lookup.reason };
	cache_put(dispatcher->cache, exchange->by_key.key, clock_monotonic_us(), &kept);
	exchange->verdict = (struct judge_verdict){ .score = kept.score, .reason = kept.reason };
	dispatcher->stats.hits += (int64_t)exchange->calls.count;
	dispatcher->stats.shared_hits++;
	answer_exchange(dispatcher, exchange, true);
}

static void run_shared(struct dispatcher *dispatcher)
{
	struct list finished = LIST_INIT(finished);
	struct list_node *node;
	int fd;
	if (!dispatcher->shared)
		return;
	shared_cache_run(dispatcher->shared, clock_monotonic_us(), &finished);
	if (shared_cache_moved(dispatcher->shared, &fd))
		transport_watch(dispatcher->transport, fd);
	while ((node = list_take(&finished))) {
		struct shared_lookup *lookup = container_of(node, struct shared_lookup, node);
		struct exchange *exchange = container_of(lookup, struct exchange, lookup);
		list_remove(&dispatcher->looking, &exchange->node);
		if (lookup->found)
			use_shared(dispatcher, exchange);
		else
			await_place(dispatcher, exchange);
	}
}

static void admit(struct dispatcher *dispatcher, struct judge_call *call)
{
	unsigned char key[DIGEST_BYTES];
	struct cached_verdict kept;
	call->prompt_digest = arena_str(call->arena, str_from(prompts_digest(dispatcher->endpoint.prompts)));
	exchange_key(&dispatcher->endpoint, call, key);
	if (cache_get(dispatcher->cache, key, clock_monotonic_us(), &kept)) {
		dispatcher->stats.hits++;
		struct judge_verdict verdict = { .score = kept.score, .reason = kept.reason };
		answer(dispatcher, call, &verdict, true);
		return;
	}
	struct digest_node *open = digest_table_get(&dispatcher->open, key);
	dispatcher->stats.shared += open != NULL;
	if (open)
		list_append(&container_of(open, struct exchange, by_key)->calls, &call->node);
	else
		open_exchange(dispatcher, call, key);
}

/* What the end of a transfer says about the server's limits. */
static void note_limits(struct dispatcher *dispatcher, const struct exchange *exchange, int64_t prompt_tokens,
			int64_t completion_tokens, int64_t now_us)
{
	dispatcher->stats.prompt_tokens += prompt_tokens;
	dispatcher->stats.completion_tokens += completion_tokens;
	if (exchange->fault.overloaded)
		limits_refused(&dispatcher->limits, exchange->transfer.retry_after_ms, now_us);
	else if (exchange->fault.err == ERR_OK)
		limits_answered(&dispatcher->limits, prompt_tokens + completion_tokens, now_us);
	dispatcher->budget_changed |=
		dispatcher->terms.tokens_per_day > 0 && prompt_tokens + completion_tokens > 0;
}

/* And about its health. */
static void note_health(struct dispatcher *dispatcher, const struct exchange *exchange, int64_t now_us)
{
	bool away = dispatcher->breaker.state != BREAKER_CLOSED;
	if (!exchange->fault.failing) {
		breaker_succeeded(&dispatcher->breaker);
		if (away)
			log_notice("the judge answers again");
	} else if (breaker_failed(&dispatcher->breaker, now_us) && !away) { /* else a probe has failed */
		log_warning("the judge fails again and again: leaving it alone for a while (last: " STR_FMT
			    ")",
			    STR_ARG(exchange->verdict.message));
	}
}

static enum exchange_step read_transfer(struct dispatcher *dispatcher, struct exchange *exchange)
{
	int64_t now_us = clock_monotonic_us();
	struct judge_verdict before = exchange->verdict;
	enum exchange_step step = exchange_read(exchange, &dispatcher->endpoint, now_us);
	note_limits(dispatcher, exchange, exchange->verdict.prompt_tokens - before.prompt_tokens,
		    exchange->verdict.completion_tokens - before.completion_tokens, now_us);
	note_health(dispatcher, exchange, now_us);
	return step;
}

static void read_finished(struct dispatcher *dispatcher)
{
	struct list finished = LIST_INIT(finished);
	struct list_node *node;
	transport_run(dispatcher->transport, &finished);
	while ((node = list_take(&finished))) {
		struct transfer *transfer = container_of(node, struct transfer, node);
		struct exchange *exchange = container_of(transfer, struct exchange, transfer);
		list_remove(&dispatcher->sending, &exchange->node);
		switch (read_transfer(dispatcher, exchange)) {
		case EXCHANGE_DONE:
			conclude(dispatcher, exchange);
			break;
		case EXCHANGE_AGAIN:
			exchange->due_us = 0;
			list_append(&dispatcher->pausing,
				    &exchange->node); /* under the same rules as the rest */
			break;
		case EXCHANGE_LATER:
			exchange->attempts++;
			list_append(&dispatcher->pausing, &exchange->node);
			break;
		}
	}
}

/* While the server is left alone, what was sent before waits for the next probe, as long as it may. */
static bool wait_for_probe(struct dispatcher *dispatcher, struct exchange *exchange, int64_t now_us)
{
	int64_t ready_us = breaker_ready_us(&dispatcher->breaker, now_us);
	if (ready_us <= now_us || ready_us >= exchange->deadline_us)
		return false;
	exchange->due_us = ready_us;
	return true;
}

static void resume_paused(struct dispatcher *dispatcher, int64_t now_us)
{
	LIST_FOREACH_SAFE (node, &dispatcher->pausing) {
		struct exchange *exchange = exchange_of(node);
		if (now_us < exchange->due_us || wait_for_probe(dispatcher, exchange, now_us))
			continue;
		list_remove(&dispatcher->pausing, node);
		if (!breaker_allows(&dispatcher->breaker, now_us)) {
			conclude(dispatcher, exchange); /* with its last error */
			continue;
		}
		send_exchange(dispatcher, exchange);
	}
}

static unsigned in_flight(const struct dispatcher *dispatcher)
{
	return (unsigned)(dispatcher->sending.count + dispatcher->pausing.count);
}

/* Gives places to those that wait, in their order; turns them away while the breaker is open. */
static void start_waiting(struct dispatcher *dispatcher, int64_t now_us)
{
	dispatcher->next_start_us = INT64_MAX;
	while (!list_empty(&dispatcher->waiting)) {
		struct exchange *exchange = exchange_of(dispatcher->waiting.head.next);
		bool allowed = breaker_allows(&dispatcher->breaker, now_us);
		if (allowed)
			dispatcher->next_start_us =
				limits_ready_us(&dispatcher->limits, in_flight(dispatcher), now_us);
		if (allowed && dispatcher->next_start_us > now_us)
			return;
		list_remove(&dispatcher->waiting, &exchange->node);
		if (allowed) {
			exchange->attempts = 1;
			send_exchange(dispatcher, exchange);
		} else {
			exchange_fail(exchange, ERR_JUDGE_UNAVAILABLE);
			close_exchange(dispatcher, exchange);
		}
	}
}

/* Answers the calls of a waiting exchange that have waited too long; returns when the next one will have. */
static int64_t expire_calls(struct dispatcher *dispatcher, struct exchange *exchange, int64_t now_us)
{
	int64_t next_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &exchange->calls) {
		struct judge_call *call = call_of(node);
		int64_t since_us = exchange->waiting_since_us > call->submitted_us
					   ? exchange->waiting_since_us
					   : call->submitted_us;
		int64_t expires_us = since_us + dispatcher->terms.queue_wait_us;
		if (expires_us <= now_us) {
			list_remove(&exchange->calls, node);
			answer_error(dispatcher, call, ERR_JUDGE_SATURATED);
		} else if (expires_us < next_us) {
			next_us = expires_us;
		}
	}
	return next_us;
}

static void expire_waiting(struct dispatcher *dispatcher, int64_t now_us)
{
	if (now_us < dispatcher->next_expiry_us)
		return;
	dispatcher->next_expiry_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &dispatcher->waiting) {
		struct exchange *exchange = exchange_of(node);
		int64_t next_us = expire_calls(dispatcher, exchange, now_us);
		if (next_us < dispatcher->next_expiry_us)
			dispatcher->next_expiry_us = next_us;
		if (list_empty(&exchange->calls)) {
			list_remove(&dispatcher->waiting, node);
			close_exchange(dispatcher, exchange);
		}
	}
}

static int64_t time_to_next(const struct dispatcher *dispatcher, int64_t now_us)
{
	int64_t next_us = now_us + ROUND_MS * 1000;
	if (dispatcher->next_expiry_us < next_us)
		next_us = dispatcher->next_expiry_us;
	if (dispatcher->next_start_us > now_us && dispatcher->next_start_us < next_us)
		next_us = dispatcher->next_start_us;
	if (dispatcher->shared && shared_cache_next_us(dispatcher->shared) < next_us)
		next_us = shared_cache_next_us(dispatcher->shared);
	LIST_FOREACH (node, &dispatcher->pausing)
		if (exchange_of(node)->due_us < next_us)
			next_us = exchange_of(node)->due_us;
	return next_us <= now_us ? 0 : (next_us - now_us + 999) / 1000;
}

static void abandon(struct dispatcher *dispatcher, struct list *exchanges)
{
	struct list_node *node;
	while ((node = list_take(exchanges))) {
		struct exchange *exchange = exchange_of(node);
		transport_cancel(dispatcher->transport, &exchange->transfer);
		exchange_fail(exchange, ERR_SHUTTING_DOWN);
		close_exchange(dispatcher, exchange);
	}
}

static void apply_terms(struct dispatcher *dispatcher, const struct terms *terms)
{
	dispatcher->terms = *terms;
	limits_change(&dispatcher->limits, terms->max_in_flight, terms->requests_per_minute,
		      terms->tokens_per_minute, terms->tokens_per_day, clock_monotonic_us());
	cache_resize(dispatcher->cache, terms->cache_bytes, terms->cache_ttl_s);
	if (dispatcher->shared)
		shared_cache_set_retention(dispatcher->shared, terms->cache_retention_s);
	transport_set_connections(dispatcher->transport, terms->max_in_flight);
	dispatcher->next_expiry_us = terms->queue_wait_us < 0 ? INT64_MAX : 0;
}

static void save_budget(struct dispatcher *dispatcher, int64_t now_us)
{
	if (!dispatcher->budget_changed || !dispatcher->budget_file ||
	    now_us - dispatcher->budget_saved_us < BUDGET_SAVE_US)
		return;
	budget_file_save(dispatcher->budget_file, &dispatcher->limits, now_us, clock_wall_ms());
	dispatcher->budget_changed = false;
	dispatcher->budget_saved_us = now_us;
}

void dispatcher_change(struct dispatcher *dispatcher, struct prompts *prompts, const struct terms *terms)
{
	prompts_free(dispatcher->endpoint.prompts);
	dispatcher->endpoint.prompts = prompts;
	apply_terms(dispatcher, terms);
}

void dispatcher_admit(struct dispatcher *dispatcher, struct list *calls)
{
	struct list_node *node;
	while ((node = list_take(calls)))
		admit(dispatcher, call_of(node));
}

void dispatcher_run(struct dispatcher *dispatcher)
{
	run_shared(dispatcher);
	int64_t now_us = clock_monotonic_us();
	resume_paused(dispatcher, now_us);
	start_waiting(dispatcher, now_us);
	expire_waiting(dispatcher, now_us);
	save_budget(dispatcher, now_us);
}

void dispatcher_wait(struct dispatcher *dispatcher)
{
	transport_wait(dispatcher->transport, time_to_next(dispatcher, clock_monotonic_us()));
	read_finished(dispatcher); /* also takes the wake-up: before what it is about is looked at */
}

void dispatcher_wake(struct dispatcher *dispatcher)
{
	transport_wake(dispatcher->transport);
}

bool dispatcher_busy(const struct dispatcher *dispatcher)
{
	return in_flight(dispatcher) > 0;
}

struct judge_stats dispatcher_stats(struct dispatcher *dispatcher)
{
	struct judge_stats *stats = &dispatcher->stats;
	stats->in_flight = in_flight(dispatcher);
	stats->waiting = (int64_t)dispatcher->waiting.count;
	stats->places = (int64_t)dispatcher->limits.places;
	stats->breaker_open = dispatcher->breaker.state != BREAKER_CLOSED;
	if (dispatcher->shared) {
		struct shared_cache_stats shared = shared_cache_stats(dispatcher->shared);
		stats->cache_connected = shared.connected;
		stats->cache_lost = shared.lost;
	}
	return *stats;
}

void dispatcher_abandon(struct dispatcher *dispatcher)
{
	if (dispatcher->shared)
		shared_cache_forget(dispatcher->shared);
	abandon(dispatcher, &dispatcher->looking);
	abandon(dispatcher, &dispatcher->sending);
	abandon(dispatcher, &dispatcher->pausing);
	abandon(dispatcher, &dispatcher->waiting);
	dispatcher->budget_saved_us = INT64_MIN / 2;
	save_budget(dispatcher, clock_monotonic_us());
}

struct ticker *dispatcher_cache_ticker(const struct dispatcher *dispatcher)
{
	return dispatcher->shared ? shared_cache_ticker(dispatcher->shared) : NULL;
}

const struct endpoint *dispatcher_endpoint(const struct dispatcher *dispatcher)
{
	return &dispatcher->endpoint;
}

/* ---- from opening to freeing ---- */

struct terms terms_of(const struct judge_settings *settings)
{
	return (struct terms){
		.timeout_us = settings->timeout_ms * 1000,
		.queue_wait_us = settings->wait_when_saturated ? -1 : settings->queue_wait_ms * 1000,
		.max_attempts = settings->max_attempts ? settings->max_attempts : 1,
		.max_in_flight = settings->max_in_flight ? settings->max_in_flight : 1,
		.requests_per_minute = settings->requests_per_minute,
		.tokens_per_minute = settings->tokens_per_minute,
		.tokens_per_day = settings->tokens_per_day,
		.cache_bytes = settings->cache_bytes,
		.cache_ttl_s = settings->cache_ttl_s,
		.cache_retention_s = settings->cache_retention_s,
	};
}

static struct dispatcher *dispatcher_new(const struct judge_settings *settings)
{
	struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
	if (!dispatcher)
		abort();
	dispatcher->terms = terms_of(settings);
	limits_init(&dispatcher->limits, dispatcher->terms.max_in_flight,
		    dispatcher->terms.requests_per_minute, dispatcher->terms.tokens_per_minute,
		    dispatcher->terms.tokens_per_day, clock_monotonic_us());
	dispatcher->next_expiry_us = dispatcher->next_start_us = INT64_MAX;
	dispatcher->breaker = (struct breaker){ .threshold = BREAKER_FAILURES, .pause_ms = BREAKER_PAUSE_MS };
	dispatcher->breaker.backoff =
		(struct backoff){ .base_ms = BREAKER_BACKOFF_MS, .cap_ms = BREAKER_CAP_MS };
	list_init(&dispatcher->looking);
	list_init(&dispatcher->waiting);
	list_init(&dispatcher->sending);
	list_init(&dispatcher->pausing);
	return dispatcher;
}

static void wake(void *context)
{
	dispatcher_wake(context);
}

static void start_shared(struct dispatcher *dispatcher, const struct judge_settings *settings)
{
	if (!settings->cache_dsn || !*settings->cache_dsn)
		return;
	dispatcher->shared = shared_cache_start(&(struct shared_cache_options){
		.dsn = settings->cache_dsn,
		.password_file = settings->cache_password_file,
		.settings = settings->cache_of_calibration ? "calibration." : "judge.cache_",
		.retention_s = settings->cache_retention_s,
		.wait_ms = settings->cache_wait_ms,
		.wake = wake,
		.context = dispatcher,
	});
}

static void load_budget(struct dispatcher *dispatcher, const char *file)
{
	if (!file)
		return;
	dispatcher->budget_file = strdup(file);
	if (!dispatcher->budget_file)
		abort();
	budget_file_load(file, &dispatcher->limits, clock_monotonic_us(), clock_wall_ms());
}

err_t dispatcher_open(const struct judge_settings *settings, struct dispatcher **ret_dispatcher,
		      struct err_detail *detail)
{
	struct dispatcher *dispatcher = dispatcher_new(settings);
	err_t err = endpoint_open(&dispatcher->endpoint, settings, detail);
	if (err != ERR_OK) {
		dispatcher_free(dispatcher);
		return err;
	}
	dispatcher->cache = cache_new(settings->cache_bytes, settings->cache_ttl_s);
	dispatcher->transport = transport_new(
		&(struct transport_options){ .url = dispatcher->endpoint.url,
					     .key_header = dispatcher->endpoint.header,
					     .more_header = dispatcher->endpoint.provider->more_header,
					     .ca_file = settings->ca_file,
					     .connections = dispatcher->limits.max_in_flight });
	start_shared(dispatcher, settings);
	load_budget(dispatcher, settings->budget_file);
	*ret_dispatcher = dispatcher;
	return ERR_OK;
}

void dispatcher_free(struct dispatcher *dispatcher)
{
	if (!dispatcher)
		return;
	shared_cache_stop(dispatcher->shared);
	transport_free(dispatcher->transport);
	cache_free(dispatcher->cache);
	digest_table_free(&dispatcher->open);
	endpoint_close(&dispatcher->endpoint);
	free(dispatcher->budget_file);
	free(dispatcher);
}
