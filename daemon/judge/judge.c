#include "judge/judge.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "judge/breaker.h"
#include "judge/budget_file.h"
#include "judge/cache.h"
#include "judge/exchange.h"
#include "judge/limits.h"

#include <stdatomic.h>

#define ROUND_MS	   1000 /* the longest wait between two signs of life */
#define BREAKER_FAILURES   10
#define BREAKER_PAUSE_MS   1000
#define BREAKER_BACKOFF_MS 1000
#define BREAKER_CAP_MS	   2000 /* a server that is back is noticed within some seconds */
#define BUDGET_SAVE_US	   1000000

/* What can change while the judge runs. */
struct terms {
	int64_t timeout_us;
	int64_t queue_wait_us; /* −1: without end */
	unsigned max_attempts;
	unsigned max_in_flight;
	int64_t requests_per_minute, tokens_per_minute, tokens_per_day; /* 0: no limit */
	size_t cache_bytes;
	int64_t cache_ttl_s, cache_retention_s;
};

struct judge {
	struct endpoint endpoint;
	struct terms terms;

	struct queue submitted;
	_Atomic bool stopping;
	_Atomic bool closed;
	struct pool *thread;
	struct ticker ticker;
	pthread_mutex_t mutex; /* for the next four */
	struct judge_stats published;
	struct terms next_terms;
	struct prompts *next_prompts; /* NULL: nothing changes */
	struct arena *digests;	      /* of all prompts that were ever in use */
	_Atomic(const char *) digest;
	struct shared_cache *shared; /* or NULL */
	char *budget_file;	     /* or NULL */

	/* the thread's own */
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
static void answer(struct judge *judge, struct judge_call *call, const struct judge_verdict *verdict,
		   bool cached)
{
	call->verdict = *verdict;
	call->verdict.message = arena_str(call->arena, verdict->message);
	call->verdict.reason = arena_str(call->arena, verdict->reason);
	call->verdict.cached = cached && verdict->error == ERR_OK;
	if (cached)
		call->verdict.prompt_tokens = call->verdict.completion_tokens = 0;
	call->duration_us = clock_monotonic_us() - call->submitted_us;
	judge->stats.saturated += verdict->error == ERR_JUDGE_SATURATED;
	judge->stats.failed += verdict->error != ERR_OK && verdict->error != ERR_JUDGE_SATURATED;
	call->done(call, call->context);
}

static void answer_error(struct judge *judge, struct judge_call *call, err_t err)
{
	struct judge_verdict verdict = { .error = err, .message = str_from(err_text(err)) };
	answer(judge, call, &verdict, false);
}

/* Answers all calls of the exchange and releases it. It is in no list any more. Unless the verdict is a
 * cache's, the first call has paid for it. */
static void answer_exchange(struct judge *judge, struct exchange *exchange, bool cached)
{
	struct list_node *node;
	digest_table_remove(&judge->open, &exchange->by_key);
	for (; (node = list_take(&exchange->calls)); cached = true)
		answer(judge, call_of(node), &exchange->verdict, cached);
	exchange_free(exchange);
}

static void close_exchange(struct judge *judge, struct exchange *exchange)
{
	answer_exchange(judge, exchange, false);
}

/* An exchange that was sent has its verdict or its error. */
static void conclude(struct judge *judge, struct exchange *exchange)
{
	const struct judge_verdict *verdict = &exchange->verdict;
	if (verdict->error == ERR_OK) {
		struct cached_verdict kept = { verdict->score, verdict->reason };
		cache_put(judge->cache, exchange->by_key.key, clock_monotonic_us(), &kept);
		if (judge->shared)
			shared_cache_put(judge->shared, exchange->by_key.key, exchange->lookup.kind, &kept);
		judge->stats.verdicts++;
	}
	close_exchange(judge, exchange);
}

static void send_exchange(struct judge *judge, struct exchange *exchange)
{
	if (exchange_write(exchange, &judge->endpoint) != ERR_OK) {
		close_exchange(judge, exchange); /* says nothing about the server */
		return;
	}
	int64_t now_us = clock_monotonic_us();
	if (exchange->deadline_us == 0)
		exchange->deadline_us = now_us + judge->terms.timeout_us;
	int64_t left_ms = (exchange->deadline_us - now_us) / 1000;
	if (left_ms <= 0) {
		exchange_fail(exchange, ERR_JUDGE_TIMEOUT);
		conclude(judge, exchange);
		return;
	}
	exchange->transfer.timeout_ms = left_ms;
	breaker_started(&judge->breaker, now_us);
	judge->stats.requests++;
	limits_sent(&judge->limits, now_us);
	list_append(&judge->sending, &exchange->node);
	transport_start(judge->transport, &exchange->transfer);
}

/* The calls of an exchange are in the order in which they came. */
static void await_place(struct judge *judge, struct exchange *exchange)
{
	int64_t submitted_us = call_of(exchange->calls.head.next)->submitted_us;
	list_append(&judge->waiting, &exchange->node);
	if (judge->terms.queue_wait_us >= 0 &&
	    submitted_us + judge->terms.queue_wait_us < judge->next_expiry_us)
		judge->next_expiry_us = submitted_us + judge->terms.queue_wait_us;
}

static void open_exchange(struct judge *judge, struct judge_call *call, const unsigned char key[DIGEST_BYTES])
{
	struct exchange *exchange = exchange_new(&judge->endpoint, key, judge->terms.max_attempts);
	list_append(&exchange->calls, &call->node);
	digest_table_add(&judge->open, &exchange->by_key);
	memcpy(exchange->lookup.key, key, DIGEST_BYTES);
	exchange->lookup.kind = call->kind;
	if (judge->shared && shared_cache_ask(judge->shared, &exchange->lookup, clock_monotonic_us()))
		list_append(&judge->looking, &exchange->node);
	else
		await_place(judge, exchange);
}

static void use_shared(struct judge *judge, struct exchange *exchange)
{
	struct cached_verdict kept = { exchange->lookup.score, exchange->lookup.reason };
	cache_put(judge->cache, exchange->by_key.key, clock_monotonic_us(), &kept);
	exchange->verdict = (struct judge_verdict){ .score = kept.score, .reason = kept.reason };
	judge->stats.hits += (int64_t)exchange->calls.count;
	judge->stats.shared_hits++;
	answer_exchange(judge, exchange, true);
}

static void run_shared(struct judge *judge)
{
	struct list finished = LIST_INIT(finished);
	struct list_node *node;
	int fd;
	if (!judge->shared)
		return;
	shared_cache_run(judge->shared, clock_monotonic_us(), &finished);
	if (shared_cache_moved(judge->shared, &fd))
		transport_watch(judge->transport, fd);
	while ((node = list_take(&finished))) {
		struct shared_lookup *lookup = container_of(node, struct shared_lookup, node);
		struct exchange *exchange = container_of(lookup, struct exchange, lookup);
		list_remove(&judge->looking, &exchange->node);
		if (lookup->found)
			use_shared(judge, exchange);
		else
			await_place(judge, exchange);
	}
}

static void admit(struct judge *judge, struct judge_call *call)
{
	unsigned char key[DIGEST_BYTES];
	struct cached_verdict kept;
	exchange_key(&judge->endpoint, call, key);
	if (cache_get(judge->cache, key, clock_monotonic_us(), &kept)) {
		judge->stats.hits++;
		struct judge_verdict verdict = { .score = kept.score, .reason = kept.reason };
		answer(judge, call, &verdict, true);
		return;
	}
	struct digest_node *open = digest_table_get(&judge->open, key);
	judge->stats.shared += open != NULL;
	if (open)
		list_append(&container_of(open, struct exchange, by_key)->calls, &call->node);
	else
		open_exchange(judge, call, key);
}

static void admit_submitted(struct judge *judge)
{
	struct list calls = LIST_INIT(calls);
	struct list_node *node;
	queue_take_all(&judge->submitted, &calls);
	while ((node = list_take(&calls)))
		admit(judge, call_of(node));
}

/* What the end of a transfer says about the server's limits. */
static void note_limits(struct judge *judge, const struct exchange *exchange, int64_t prompt_tokens,
			int64_t completion_tokens, int64_t now_us)
{
	judge->stats.prompt_tokens += prompt_tokens;
	judge->stats.completion_tokens += completion_tokens;
	if (exchange->fault.overloaded)
		limits_refused(&judge->limits, exchange->transfer.retry_after_ms, now_us);
	else if (exchange->fault.err == ERR_OK)
		limits_answered(&judge->limits, prompt_tokens + completion_tokens, now_us);
	judge->budget_changed |= judge->terms.tokens_per_day > 0 && prompt_tokens + completion_tokens > 0;
}

/* And about its health. */
static void note_health(struct judge *judge, const struct exchange *exchange, int64_t now_us)
{
	if (!exchange->fault.failing)
		breaker_succeeded(&judge->breaker);
	else if (breaker_failed(&judge->breaker, now_us))
		log_warning("the judge fails again and again: leaving it alone for a while (last: " STR_FMT
			    ")",
			    STR_ARG(exchange->verdict.message));
}

static enum exchange_step read_transfer(struct judge *judge, struct exchange *exchange)
{
	int64_t now_us = clock_monotonic_us();
	struct judge_verdict before = exchange->verdict;
	enum exchange_step step = exchange_read(exchange, &judge->endpoint, now_us);
	note_limits(judge, exchange, exchange->verdict.prompt_tokens - before.prompt_tokens,
		    exchange->verdict.completion_tokens - before.completion_tokens, now_us);
	note_health(judge, exchange, now_us);
	return step;
}

static void read_finished(struct judge *judge)
{
	struct list finished = LIST_INIT(finished);
	struct list_node *node;
	transport_run(judge->transport, &finished);
	while ((node = list_take(&finished))) {
		struct transfer *transfer = container_of(node, struct transfer, node);
		struct exchange *exchange = container_of(transfer, struct exchange, transfer);
		list_remove(&judge->sending, &exchange->node);
		switch (read_transfer(judge, exchange)) {
		case EXCHANGE_DONE:
			conclude(judge, exchange);
			break;
		case EXCHANGE_AGAIN:
			exchange->due_us = 0;
			list_append(&judge->pausing, &exchange->node); /* under the same rules as the rest */
			break;
		case EXCHANGE_LATER:
			exchange->attempts++;
			list_append(&judge->pausing, &exchange->node);
			break;
		}
	}
}

/* While the server is left alone, what was sent before waits for the next probe, as long as it may. */
static bool wait_for_probe(struct judge *judge, struct exchange *exchange, int64_t now_us)
{
	int64_t ready_us = breaker_ready_us(&judge->breaker, now_us);
	if (ready_us <= now_us || ready_us >= exchange->deadline_us)
		return false;
	exchange->due_us = ready_us;
	return true;
}

static void resume_paused(struct judge *judge, int64_t now_us)
{
	LIST_FOREACH_SAFE (node, &judge->pausing) {
		struct exchange *exchange = exchange_of(node);
		if (now_us < exchange->due_us || wait_for_probe(judge, exchange, now_us))
			continue;
		list_remove(&judge->pausing, node);
		if (!breaker_allows(&judge->breaker, now_us)) {
			conclude(judge, exchange); /* with its last error */
			continue;
		}
		send_exchange(judge, exchange);
	}
}

static unsigned in_flight(const struct judge *judge)
{
	return (unsigned)(judge->sending.count + judge->pausing.count);
}

/* Gives places to those that wait, in their order; turns them away while the breaker is open. */
static void start_waiting(struct judge *judge, int64_t now_us)
{
	judge->next_start_us = INT64_MAX;
	while (!list_empty(&judge->waiting)) {
		struct exchange *exchange = exchange_of(judge->waiting.head.next);
		bool allowed = breaker_allows(&judge->breaker, now_us);
		if (allowed)
			judge->next_start_us = limits_ready_us(&judge->limits, in_flight(judge), now_us);
		if (allowed && judge->next_start_us > now_us)
			return;
		list_remove(&judge->waiting, &exchange->node);
		if (allowed) {
			exchange->attempts = 1;
			send_exchange(judge, exchange);
		} else {
			exchange_fail(exchange, ERR_JUDGE_UNAVAILABLE);
			close_exchange(judge, exchange);
		}
	}
}

/* Answers the calls of a waiting exchange that have waited too long; returns when the next one will have. */
static int64_t expire_calls(struct judge *judge, struct exchange *exchange, int64_t now_us)
{
	int64_t next_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &exchange->calls) {
		struct judge_call *call = call_of(node);
		int64_t expires_us = call->submitted_us + judge->terms.queue_wait_us;
		if (expires_us <= now_us) {
			list_remove(&exchange->calls, node);
			answer_error(judge, call, ERR_JUDGE_SATURATED);
		} else if (expires_us < next_us) {
			next_us = expires_us;
		}
	}
	return next_us;
}

static void expire_waiting(struct judge *judge, int64_t now_us)
{
	if (now_us < judge->next_expiry_us)
		return;
	judge->next_expiry_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &judge->waiting) {
		struct exchange *exchange = exchange_of(node);
		int64_t next_us = expire_calls(judge, exchange, now_us);
		if (next_us < judge->next_expiry_us)
			judge->next_expiry_us = next_us;
		if (list_empty(&exchange->calls)) {
			list_remove(&judge->waiting, node);
			close_exchange(judge, exchange);
		}
	}
}

static int64_t time_to_next(const struct judge *judge, int64_t now_us)
{
	int64_t next_us = now_us + ROUND_MS * 1000;
	if (judge->next_expiry_us < next_us)
		next_us = judge->next_expiry_us;
	if (judge->next_start_us > now_us && judge->next_start_us < next_us)
		next_us = judge->next_start_us;
	if (judge->shared && shared_cache_next_us(judge->shared) < next_us)
		next_us = shared_cache_next_us(judge->shared);
	LIST_FOREACH (node, &judge->pausing)
		if (exchange_of(node)->due_us < next_us)
			next_us = exchange_of(node)->due_us;
	return next_us <= now_us ? 0 : (next_us - now_us + 999) / 1000;
}

static void publish_stats(struct judge *judge)
{
	judge->stats.in_flight = in_flight(judge);
	judge->stats.waiting = (int64_t)judge->waiting.count;
	judge->stats.places = (int64_t)judge->limits.places;
	judge->stats.breaker_open = judge->breaker.state != BREAKER_CLOSED;
	if (judge->shared) {
		struct shared_cache_stats shared = shared_cache_stats(judge->shared);
		judge->stats.cache_connected = shared.connected;
		judge->stats.cache_lost = shared.lost;
	}
	pthread_mutex_lock(&judge->mutex);
	judge->published = judge->stats;
	pthread_mutex_unlock(&judge->mutex);
}

static void show_life(struct judge *judge)
{
	publish_stats(judge);
	if (in_flight(judge) > 0)
		tick_waiting(&judge->ticker, "judge");
	else
		tick(&judge->ticker);
}

static void abandon(struct judge *judge, struct list *exchanges)
{
	struct list_node *node;
	while ((node = list_take(exchanges))) {
		struct exchange *exchange = exchange_of(node);
		transport_cancel(judge->transport, &exchange->transfer);
		exchange_fail(exchange, ERR_SHUTTING_DOWN);
		close_exchange(judge, exchange);
	}
}

/* Turns away what was submitted and nobody will look at. Once the judge's thread has ended: any thread. */
static void abandon_submitted(struct judge *judge)
{
	struct list calls = LIST_INIT(calls);
	struct list_node *node;
	queue_take_all(&judge->submitted, &calls);
	while ((node = list_take(&calls))) {
		struct judge_call *call = call_of(node);
		call->verdict = (struct judge_verdict){ .error = ERR_SHUTTING_DOWN,
							.message = str_from(err_text(ERR_SHUTTING_DOWN)) };
		call->duration_us = clock_monotonic_us() - call->submitted_us;
		call->done(call, call->context);
	}
}

static void apply_terms(struct judge *judge, const struct terms *terms)
{
	judge->terms = *terms;
	limits_change(&judge->limits, terms->max_in_flight, terms->requests_per_minute,
		      terms->tokens_per_minute, terms->tokens_per_day, clock_monotonic_us());
	cache_resize(judge->cache, terms->cache_bytes, terms->cache_ttl_s);
	if (judge->shared)
		shared_cache_set_retention(judge->shared, terms->cache_retention_s);
	transport_set_connections(judge->transport, terms->max_in_flight);
	judge->next_expiry_us = terms->queue_wait_us < 0 ? INT64_MAX : 0;
}

static void apply_change(struct judge *judge)
{
	pthread_mutex_lock(&judge->mutex);
	struct prompts *prompts = TAKE_PTR(judge->next_prompts);
	struct terms terms = judge->next_terms;
	pthread_mutex_unlock(&judge->mutex);
	if (!prompts)
		return;
	prompts_free(judge->endpoint.prompts);
	judge->endpoint.prompts = prompts;
	apply_terms(judge, &terms);
}

static void save_budget(struct judge *judge, int64_t now_us)
{
	if (!judge->budget_changed || !judge->budget_file || now_us - judge->budget_saved_us < BUDGET_SAVE_US)
		return;
	budget_file_save(judge->budget_file, &judge->limits, now_us, clock_wall_ms());
	judge->budget_changed = false;
	judge->budget_saved_us = now_us;
}

static void run(void *context, unsigned index)
{
	struct judge *judge = context;
	(void)index;
	while (!atomic_load(&judge->stopping)) {
		apply_change(judge);
		admit_submitted(judge);
		run_shared(judge);
		int64_t now_us = clock_monotonic_us();
		resume_paused(judge, now_us);
		start_waiting(judge, now_us);
		expire_waiting(judge, now_us);
		save_budget(judge, now_us);
		show_life(judge);
		transport_wait(judge->transport, time_to_next(judge, clock_monotonic_us()));
		read_finished(judge); /* also takes the wake-up: before what it is about is looked at */
	}
	if (judge->shared)
		shared_cache_forget(judge->shared);
	abandon(judge, &judge->looking);
	abandon(judge, &judge->sending);
	abandon(judge, &judge->pausing);
	abandon(judge, &judge->waiting);
	judge->budget_saved_us = INT64_MIN / 2;
	save_budget(judge, clock_monotonic_us());
	tick_stop(&judge->ticker);
}

static void release(struct judge *judge)
{
	if (judge->transport)
		queue_destroy(&judge->submitted);
	shared_cache_stop(judge->shared);
	transport_free(judge->transport);
	cache_free(judge->cache);
	digest_table_free(&judge->open);
	prompts_free(judge->next_prompts);
	arena_free(judge->digests);
	endpoint_close(&judge->endpoint);
	pthread_mutex_destroy(&judge->mutex);
	free(judge->budget_file);
	free(judge);
}

static struct terms terms_of(const struct judge_settings *settings)
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

static struct judge *judge_new(const struct judge_settings *settings)
{
	struct judge *judge = calloc(1, sizeof *judge);
	if (!judge)
		abort();
	judge->terms = terms_of(settings);
	limits_init(&judge->limits, judge->terms.max_in_flight, judge->terms.requests_per_minute,
		    judge->terms.tokens_per_minute, judge->terms.tokens_per_day, clock_monotonic_us());
	judge->next_expiry_us = judge->next_start_us = INT64_MAX;
	pthread_mutex_init(&judge->mutex, NULL);
	judge->digests = arena_new();
	judge->breaker = (struct breaker){ .threshold = BREAKER_FAILURES, .pause_ms = BREAKER_PAUSE_MS };
	judge->breaker.backoff = (struct backoff){ .base_ms = BREAKER_BACKOFF_MS, .cap_ms = BREAKER_CAP_MS };
	judge->ticker.name = "judge";
	list_init(&judge->looking);
	list_init(&judge->waiting);
	list_init(&judge->sending);
	list_init(&judge->pausing);
	return judge;
}

/* Keeps the digest beyond the prompts' life. The mutex is held, or nobody else is there yet. */
static void name_prompts(struct judge *judge, const struct prompts *prompts)
{
	atomic_store(&judge->digest, arena_strdup(judge->digests, prompts_digest(prompts)));
}

static void wake(void *context)
{
	struct judge *judge = context;
	transport_wake(judge->transport);
}

static void start_shared(struct judge *judge, const struct judge_settings *settings)
{
	if (!settings->cache_dsn || !*settings->cache_dsn)
		return;
	judge->shared = shared_cache_start(&(struct shared_cache_options){
		.dsn = settings->cache_dsn,
		.password_file = settings->cache_password_file,
		.retention_s = settings->cache_retention_s,
		.wait_ms = settings->cache_wait_ms,
		.wake = wake,
		.context = judge,
	});
}

static void load_budget(struct judge *judge, const char *file)
{
	if (!file)
		return;
	judge->budget_file = strdup(file);
	if (!judge->budget_file)
		abort();
	budget_file_load(file, &judge->limits, clock_monotonic_us(), clock_wall_ms());
}

err_t judge_start(const struct judge_settings *settings, struct judge **ret_judge, struct err_detail *detail)
{
	struct judge *judge = judge_new(settings);
	err_t err = endpoint_open(&judge->endpoint, settings, detail);
	if (err != ERR_OK) {
		release(judge);
		return err;
	}
	name_prompts(judge, judge->endpoint.prompts);
	queue_init(&judge->submitted, false);
	judge->cache = cache_new(settings->cache_bytes, settings->cache_ttl_s);
	judge->transport = transport_new(
		&(struct transport_options){ .url = judge->endpoint.url,
					     .key_header = judge->endpoint.header,
					     .more_header = judge->endpoint.provider->more_header,
					     .ca_file = settings->ca_file,
					     .connections = judge->limits.max_in_flight });
	start_shared(judge, settings);
	load_budget(judge, settings->budget_file);
	judge->thread = pool_start("judge", 1, run, judge);
	*ret_judge = judge;
	return ERR_OK;
}

void judge_close(struct judge *judge)
{
	if (!judge || !judge->thread)
		return;
	atomic_store(&judge->stopping, true);
	transport_wake(judge->transport);
	pool_join(TAKE_PTR(judge->thread));
	atomic_store(&judge->closed, true);
	abandon_submitted(judge);
}

void judge_stop(struct judge *judge)
{
	if (!judge)
		return;
	judge_close(judge);
	release(judge);
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
	judge->next_terms = terms_of(settings);
	name_prompts(judge, prompts);
	pthread_mutex_unlock(&judge->mutex);
	transport_wake(judge->transport);
	return ERR_OK;
}

void judge_submit(struct judge *judge, struct judge_call *call)
{
	call->submitted_us = clock_monotonic_us();
	call->verdict = (struct judge_verdict){ .error = ERR_OK };
	queue_push(&judge->submitted, &call->node);
	if (atomic_load(&judge->closed)) /* after the push: either we see that it is closed, or closing sees
					    the call */
		abandon_submitted(judge);
	else
		transport_wake(judge->transport);
}

const char *judge_prompt_digest(const struct judge *judge)
{
	return atomic_load(&judge->digest);
}

struct ticker *judge_ticker(struct judge *judge)
{
	return &judge->ticker;
}

struct ticker *judge_cache_ticker(struct judge *judge)
{
	return judge->shared ? shared_cache_ticker(judge->shared) : NULL;
}

struct judge_stats judge_stats(struct judge *judge)
{
	pthread_mutex_lock(&judge->mutex);
	struct judge_stats stats = judge->published;
	pthread_mutex_unlock(&judge->mutex);
	return stats;
}
