#include "common/clock.h"
#include "common/log.h"
#include "judge/budget_file.h"
#include "judge/dispatcher_state.h"

#define ROUND_MS       1000 /* the longest wait between two signs of life */
#define BUDGET_SAVE_US 1000000

/* No place takes longer to come, but for the tokens of another day. */
#define PLACE_US     120000000
#define LOG_AGAIN_US 600000000

static struct judge_call *call_of(struct list_node *node)
{
	return container_of(node, struct judge_call, node);
}

static struct exchange *exchange_of(struct list_node *node)
{
	return container_of(node, struct exchange, node);
}

static void fill_in(struct judge_call *call, const struct judge_verdict *verdict, bool cached)
{
	call->verdict = *verdict;
	call->verdict.message = arena_str(call->arena, verdict->message);
	call->verdict.reason = arena_str(call->arena, verdict->reason);
	call->verdict.raw = cached ? STR_NONE : arena_str(call->arena, verdict->raw);
	call->verdict.cached = cached && verdict->error == ERR_OK;
	if (cached)
		call->verdict.prompt_tokens = call->verdict.completion_tokens = 0;
	call->duration_us = clock_monotonic_us() - call->submitted_us;
}

/* Hands the verdict out; the call is its owner's again. */
static void answer(struct dispatcher *dispatcher, struct judge_call *call,
		   const struct judge_verdict *verdict, bool cached)
{
	fill_in(call, verdict, cached);
	dispatcher->stats.saturated += verdict->error == ERR_JUDGE_SATURATED;
	dispatcher->stats.spent += verdict->error == ERR_JUDGE_SPENT;
	dispatcher->stats.failed += verdict->error != ERR_OK && verdict->error != ERR_JUDGE_SATURATED &&
				    verdict->error != ERR_JUDGE_SPENT;
	call->done(call, call->context);
}

static void answer_error(struct dispatcher *dispatcher, struct judge_call *call, err_t err)
{
	struct judge_verdict verdict = { .error = err, .message = str_from(err_text(err)) };
	answer(dispatcher, call, &verdict, false);
}

/* ---- what is open, for all threads to see ---- */

static _Atomic uint16_t *open_mark(struct dispatcher *dispatcher, const unsigned char key[DIGEST_BYTES])
{
	return &dispatcher->open_marks[(key[0] | (unsigned)key[1] << 8) % OPEN_MARKS];
}

static void add_open(struct dispatcher *dispatcher, struct exchange *exchange)
{
	digest_table_add(&dispatcher->open, &exchange->by_key);
	atomic_fetch_add(open_mark(dispatcher, exchange->by_key.key), 1);
}

static void remove_open(struct dispatcher *dispatcher, struct exchange *exchange)
{
	digest_table_remove(&dispatcher->open, &exchange->by_key);
	atomic_fetch_sub(open_mark(dispatcher, exchange->by_key.key), 1);
}

/* ---- ends ---- */

/* Answers all calls of the exchange and releases it. It is in no list any more. Unless the verdict is a
 * cache's, the first call has paid for it. */
static void answer_exchange(struct dispatcher *dispatcher, struct exchange *exchange, bool cached)
{
	struct list_node *node;
	remove_open(dispatcher, exchange);
	for (; (node = list_take(&exchange->calls)); cached = true)
		answer(dispatcher, call_of(node), &exchange->verdict, cached);
	exchange_free(exchange);
}

static void close_exchange(struct dispatcher *dispatcher, struct exchange *exchange)
{
	answer_exchange(dispatcher, exchange, false);
}

/* ---- the verdicts in memory ---- */

/* `age_us`: how long ago it was given. */
static void keep(struct dispatcher *dispatcher, const struct exchange *exchange,
		 const struct cached_verdict *kept, int64_t age_us)
{
	pthread_mutex_lock(&dispatcher->cache_mutex);
	cache_put(dispatcher->cache, exchange->by_key.key, clock_monotonic_us() - age_us, kept);
	pthread_mutex_unlock(&dispatcher->cache_mutex);
}

static bool remembers_any(struct dispatcher *dispatcher)
{
	pthread_mutex_lock(&dispatcher->cache_mutex);
	bool any = cache_used_bytes(dispatcher->cache) > 0;
	pthread_mutex_unlock(&dispatcher->cache_mutex);
	return any;
}

/* The call gets the verdict, texts and all, before somebody else may drop it. */
static bool recall(struct dispatcher *dispatcher, const unsigned char key[DIGEST_BYTES],
		   struct judge_call *call)
{
	struct cached_verdict kept;
	pthread_mutex_lock(&dispatcher->cache_mutex);
	bool found = cache_get(dispatcher->cache, key, clock_monotonic_us(), &kept);
	if (found)
		fill_in(call, &(struct judge_verdict){ .score = kept.score, .reason = kept.reason }, true);
	pthread_mutex_unlock(&dispatcher->cache_mutex);
	return found;
}

/* Takes nothing of the call's arena: with a judge that is saturated this is what nearly all events have. */
static void turn_away(struct judge_call *call)
{
	call->verdict = (struct judge_verdict){ .error = ERR_JUDGE_SATURATED,
						.message = str_from(err_text(ERR_JUDGE_SATURATED)) };
	call->duration_us = clock_monotonic_us() - call->submitted_us;
}

enum dispatcher_answer dispatcher_find(struct dispatcher *dispatcher, const struct prompts *prompts,
				       struct judge_call *call)
{
	unsigned char key[DIGEST_BYTES];
	bool room = atomic_fetch_sub(&dispatcher->room_left, 1) > 0;
	if (room && !remembers_any(dispatcher))
		return DISPATCHER_WANTS_IT;
	exchange_key(&dispatcher->endpoint, prompts, call, key);
	bool found = recall(dispatcher, key, call);
	if (found)
		atomic_fetch_add(&dispatcher->room_left, 1);
	else if (room || atomic_load(open_mark(dispatcher, key)) > 0) /* it may join another one */
		return DISPATCHER_WANTS_IT;
	else
		turn_away(call);
	return found ? DISPATCHER_REMEMBERS : DISPATCHER_TURNS_AWAY;
}

/* ---- requests ---- */

/* An exchange that was sent has its verdict or its error. */
static void conclude(struct dispatcher *dispatcher, struct exchange *exchange)
{
	const struct judge_verdict *verdict = &exchange->verdict;
	limits_left(&dispatcher->limits, clock_monotonic_us() - exchange->sent_us);
	if (verdict->error == ERR_OK) {
		struct cached_verdict kept = { verdict->score, verdict->reason };
		keep(dispatcher, exchange, &kept, 0);
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
	if (exchange->sent_us == 0) {
		exchange->sent_us = now_us;
		exchange->timeout_us = dispatcher->bounds.timeout_us;
		exchange->deadline_us = now_us + exchange->timeout_us;
	}
	int64_t left_ms = (exchange->deadline_us - now_us) / 1000;
	if (left_ms <= 0) {
		exchange_fail(exchange, ERR_JUDGE_TIMEOUT);
		conclude(dispatcher, exchange);
		return;
	}
	if (dispatcher->key_generation != dispatcher->endpoint.key_generation)
		transport_set_key(dispatcher->transport, dispatcher->endpoint.header);
	dispatcher->key_generation = dispatcher->endpoint.key_generation;
	exchange->transfer.timeout_ms = left_ms;
	circuit_breaker_started(&dispatcher->breaker, now_us);
	dispatcher->stats.requests++;
	limits_sent(&dispatcher->limits, now_us);
	exchange->asked_us = now_us;
	list_append(&dispatcher->sending, &exchange->node);
	transport_start(dispatcher->transport, &exchange->transfer);
}

/* How many more may wait, beside those that there are slots for; by what was known at the last look. */
static int64_t room_left(const struct dispatcher *dispatcher)
{
	int64_t free = (int64_t)dispatcher->limits.slots - dispatcher_in_flight(dispatcher);
	return dispatcher->room == INT64_MAX
		       ? INT64_MAX
		       : dispatcher->room + (free > 0 ? free : 0) - (int64_t)dispatcher->waiting.count;
}

/* How long the half of those with the server have been there, or longer. */
static int64_t median_age_us(const struct dispatcher *dispatcher, int64_t now_us)
{
	size_t left = dispatcher->sending.count / 2;
	LIST_FOREACH (node, &dispatcher->sending)
		if (left-- == 0)
			return now_us - exchange_of(node)->asked_us;
	return 0;
}

/* Who comes when all that may wait do is turned away without a wait, as far as can be by the thread that
 * submits: where there is a shared cache, it is looked into before. */
static void look_for_room(struct dispatcher *dispatcher, int64_t now_us)
{
	int64_t within_us = dispatcher->bounds.queue_wait_us;
	dispatcher->room = within_us < 0 ? INT64_MAX
					 : limits_room(&dispatcher->limits, median_age_us(dispatcher, now_us),
						       within_us);
	bool looked_up = dispatcher->shared && dispatcher->bounds.cache_ttl_s > 0;
	bool endless = looked_up || dispatcher->room == INT64_MAX;
	atomic_store(&dispatcher->room_left, endless ? ROOM_ENDLESS : room_left(dispatcher));
}

/* What the caches took is no wait for a slot. */
static void await_place(struct dispatcher *dispatcher, struct exchange *exchange)
{
	if (room_left(dispatcher) <= 0) {
		exchange_fail(exchange, ERR_JUDGE_SATURATED);
		close_exchange(dispatcher, exchange);
		return;
	}
	exchange->waiting_since_us = clock_monotonic_us();
	list_append(&dispatcher->waiting, &exchange->node);
	int64_t expires_us = exchange->waiting_since_us + dispatcher->bounds.queue_wait_us;
	if (dispatcher->bounds.queue_wait_us >= 0 && expires_us < dispatcher->next_expiry_us)
		dispatcher->next_expiry_us = expires_us;
}

static void open_exchange(struct dispatcher *dispatcher, struct judge_call *call,
			  const unsigned char key[DIGEST_BYTES])
{
	struct exchange *exchange = exchange_new(&dispatcher->endpoint, key, dispatcher->bounds.max_attempts);
	list_append(&exchange->calls, &call->node);
	add_open(dispatcher, exchange);
	memcpy(exchange->lookup.by_key.key, key, DIGEST_BYTES);
	exchange->lookup.kind = call->kind;
	exchange->lookup.asker = dispatcher;
	exchange->lookup.ttl_us = dispatcher->bounds.cache_ttl_s * 1000000;
	if (dispatcher->shared && exchange->lookup.ttl_us > 0 &&
	    shared_cache_ask(dispatcher->shared, &exchange->lookup, clock_monotonic_us()))
		list_append(&dispatcher->looking, &exchange->node);
	else
		await_place(dispatcher, exchange);
}

static void use_shared(struct dispatcher *dispatcher, struct exchange *exchange)
{
	struct cached_verdict kept = { exchange->lookup.score, exchange->lookup.reason };
	keep(dispatcher, exchange, &kept, exchange->lookup.age_us);
	exchange->verdict = (struct judge_verdict){ .score = kept.score, .reason = kept.reason };
	dispatcher->stats.hits += (int64_t)exchange->calls.count;
	dispatcher->stats.shared_hits++;
	dispatcher->stats.shared_calls += (int64_t)exchange->calls.count;
	answer_exchange(dispatcher, exchange, true);
}

/* The first member runs the shared cache, for all of them. */
static void run_shared(struct dispatcher *dispatcher)
{
	struct list finished = LIST_INIT(finished);
	struct list_node *node;
	int fd;
	if (!dispatcher->runs_shared)
		return;
	shared_cache_run(dispatcher->shared, clock_monotonic_us(), &finished);
	if (shared_cache_moved(dispatcher->shared, &fd))
		transport_watch(dispatcher->transport, fd);
	while ((node = list_take(&finished))) {
		struct shared_lookup *lookup = container_of(node, struct shared_lookup, node);
		struct exchange *exchange = container_of(lookup, struct exchange, lookup);
		struct dispatcher *asker = lookup->asker;
		list_remove(&asker->looking, &exchange->node);
		if (lookup->found)
			use_shared(asker, exchange);
		else
			await_place(asker, exchange);
	}
}

/* Who joins a request that is under way has as much time as if it were his own. */
static void join_exchange(struct dispatcher *dispatcher, struct exchange *exchange, struct judge_call *call)
{
	dispatcher->stats.shared++;
	list_append(&exchange->calls, &call->node);
	if (exchange->sent_us == 0)
		return;
	int64_t first_us = exchange_deadline_us(exchange, call_of(exchange->calls.head.next));
	exchange->deadline_us = exchange_deadline_us(exchange, call);
	if (first_us < dispatcher->next_deadline_us)
		dispatcher->next_deadline_us = first_us;
}

void dispatcher_admit(struct dispatcher *dispatcher, struct judge_call *call)
{
	unsigned char key[DIGEST_BYTES];
	call->prompt_digest = arena_str(call->arena, str_from(prompts_digest(dispatcher->endpoint.prompts)));
	exchange_key(&dispatcher->endpoint, dispatcher->endpoint.prompts, call, key);
	if (recall(dispatcher, key, call)) { /* come while this one waited to be admitted */
		dispatcher->stats.hits++;
		call->done(call, call->context);
		return;
	}
	struct digest_node *open = digest_table_get(&dispatcher->open, key);
	if (open)
		join_exchange(dispatcher, container_of(open, struct exchange, by_key), call);
	else
		open_exchange(dispatcher, call, key);
}

/* What the end of a transfer says about the server's limits. */
static void note_limits(struct dispatcher *dispatcher, const struct exchange *exchange, int64_t prompt_tokens,
			int64_t completion_tokens, int64_t now_us)
{
	dispatcher->stats.prompt_tokens += prompt_tokens;
	dispatcher->stats.completion_tokens += completion_tokens;
	unsigned others = (unsigned)dispatcher->sending.count;
	if (exchange->fault.overloaded) {
		const struct limits_refusal refusal = { exchange->asked_us, others,
							exchange->transfer.retry_after_ms };
		limits_refused(&dispatcher->limits, &refusal, now_us);
	}
	if (exchange->fault.err != ERR_OK)
		return;
	int64_t tokens = exchange_tokens(exchange, prompt_tokens + completion_tokens);
	limits_answered(&dispatcher->limits, others, tokens, now_us);
	dispatcher->budget_changed |= dispatcher->bounds.tokens_per_day > 0 && tokens > 0;
}

/* And about its health. */
static void note_health(struct dispatcher *dispatcher, const struct exchange *exchange, int64_t now_us)
{
	bool away = dispatcher->breaker.state != CIRCUIT_CLOSED;
	if (!exchange->fault.failing) {
		circuit_breaker_succeeded(&dispatcher->breaker);
		if (away)
			log_notice("%s answers again", dispatcher->endpoint.who);
	} else if (circuit_breaker_failed(&dispatcher->breaker, now_us) &&
		   !away) { /* else a probe has failed */
		log_warning("%s fails repeatedly: circuit breaker open (last: " STR_FMT ")",
			    dispatcher->endpoint.who, STR_ARG(exchange->verdict.message));
	}
}

/* Nobody but a person can mend this. Said once, and again only when it comes back a good while later: some
 * refuse a request for what stands in it. */
static void note_key(struct dispatcher *dispatcher, const struct exchange *exchange, int64_t now_us)
{
	const char *file = dispatcher->endpoint.key_file;
	bool unauthorized = exchange->fault.unauthorized;
	if (unauthorized && !dispatcher->refusal_logged && now_us >= dispatcher->next_refusal_log_us) {
		dispatcher->next_refusal_log_us = now_us + LOG_AGAIN_US;
		log_error("%s refuses the API key (" STR_FMT "): %s%s%s", dispatcher->endpoint.who,
			  STR_ARG(exchange->verdict.message), file ? "check the key in " : "",
			  file ? file : dispatcher->endpoint.setting, file ? "" : ".api_key_file is not set");
	}
	if (unauthorized || exchange->fault.err == ERR_OK)
		dispatcher->refusal_logged = unauthorized;
}

static enum exchange_step read_transfer(struct dispatcher *dispatcher, struct exchange *exchange)
{
	int64_t now_us = clock_monotonic_us();
	struct judge_verdict before = exchange->verdict;
	enum exchange_step step = exchange_read(exchange, &dispatcher->endpoint, now_us);
	note_limits(dispatcher, exchange, exchange->verdict.prompt_tokens - before.prompt_tokens,
		    exchange->verdict.completion_tokens - before.completion_tokens, now_us);
	note_key(dispatcher, exchange, now_us);
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

/* When one that was sent before may be sent again: a retry is a request like any other, but that it has its
 * slot; and while the server is left alone, it waits for the next probe. */
static int64_t retry_ready_us(struct dispatcher *dispatcher, int64_t now_us)
{
	int64_t probe_us = circuit_breaker_ready_us(&dispatcher->breaker, now_us);
	int64_t limits_us =
		limits_retry_us(&dispatcher->limits, dispatcher_in_flight(dispatcher) - 1, now_us);
	return probe_us > limits_us ? probe_us : limits_us;
}

static void resume_paused(struct dispatcher *dispatcher, int64_t now_us)
{
	LIST_FOREACH_SAFE (node, &dispatcher->pausing) {
		struct exchange *exchange = exchange_of(node);
		if (now_us < exchange->due_us)
			continue;
		int64_t ready_us = retry_ready_us(dispatcher, now_us);
		if (ready_us > now_us && ready_us < exchange->deadline_us) {
			exchange->due_us = ready_us;
			continue;
		}
		list_remove(&dispatcher->pausing, node);
		if (ready_us > now_us)
			conclude(dispatcher, exchange); /* with its last error */
		else
			send_exchange(dispatcher, exchange);
	}
}

/* Gives slots to those that wait, in their order; turns them away while the breaker is open. */
static void start_waiting(struct dispatcher *dispatcher, int64_t now_us)
{
	dispatcher->next_start_us = INT64_MAX;
	while (!list_empty(&dispatcher->waiting)) {
		struct exchange *exchange = exchange_of(dispatcher->waiting.head.next);
		bool allowed = circuit_breaker_allows(&dispatcher->breaker, now_us);
		limits_expect(&dispatcher->limits, exchange_expected_tokens(exchange));
		if (allowed)
			dispatcher->next_start_us = limits_ready_us(&dispatcher->limits,
								    dispatcher_in_flight(dispatcher), now_us);
		if (allowed && dispatcher->next_start_us > now_us)
			return;
		dispatcher->spent_logged &= !allowed;
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

/* What is known of the slots to come. */
struct outlook {
	int64_t now_us;
	int64_t place_us; /* none comes before this, for any reason */
	int64_t day_us;	  /* nor before this, for want of the day's tokens */
};

/* Until when a call that waits can use a slot. */
static int64_t patience_us(const struct dispatcher *dispatcher, const struct exchange *exchange,
			   const struct judge_call *call, int64_t now_us)
{
	int64_t since_us = exchange->waiting_since_us > call->submitted_us ? exchange->waiting_since_us
									   : call->submitted_us;
	return dispatcher->bounds.queue_wait_us < 0 ? now_us + PLACE_US
						    : since_us + dispatcher->bounds.queue_wait_us;
}

/* Why a call that can use a slot until then waits in vain; ERR_OK: it may get one. */
static err_t why_in_vain(const struct outlook *outlook, int64_t until_us)
{
	if (outlook->day_us > outlook->now_us && outlook->day_us > until_us)
		return ERR_JUDGE_SPENT;
	return until_us <= outlook->now_us || outlook->place_us > until_us ? ERR_JUDGE_SATURATED : ERR_OK;
}

static void note_spent(struct dispatcher *dispatcher, const struct outlook *outlook)
{
	int64_t left_us = outlook->day_us - outlook->now_us;
	if (dispatcher->spent_logged)
		return;
	dispatcher->spent_logged = true;
	log_warning("%s.tokens_per_day is used up: no requests to %s for %lld min; events go on %s",
		    dispatcher->endpoint.setting, dispatcher->endpoint.who,
		    (long long)(left_us / 60000000 + 1),
		    dispatcher->endpoint.name ? "without it" : "unjudged");
}

/* Answers the calls of a waiting exchange that have waited too long, or would wait in vain; returns when the
 * next one will have. */
static int64_t expire_calls(struct dispatcher *dispatcher, struct exchange *exchange,
			    const struct outlook *outlook)
{
	int64_t next_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &exchange->calls) {
		struct judge_call *call = call_of(node);
		int64_t until_us = patience_us(dispatcher, exchange, call, outlook->now_us);
		err_t err = why_in_vain(outlook, until_us);
		if (err == ERR_JUDGE_SPENT)
			note_spent(dispatcher, outlook);
		if (err != ERR_OK) {
			list_remove(&exchange->calls, node);
			answer_error(dispatcher, call, err);
		} else if (until_us < next_us) {
			next_us = until_us;
		}
	}
	return next_us;
}

/* Looks at each only where one at least is given up, or may be. */
static void expire_waiting(struct dispatcher *dispatcher, int64_t now_us)
{
	bool endless = dispatcher->bounds.queue_wait_us < 0;
	int64_t first_us = endless ? now_us + PLACE_US : dispatcher->next_expiry_us;
	const struct outlook outlook = { now_us, limits_earliest_us(&dispatcher->limits, now_us),
					 limits_day_us(&dispatcher->limits, now_us) };
	if (first_us > now_us && outlook.place_us <= first_us)
		return;
	dispatcher->next_expiry_us = INT64_MAX;
	LIST_FOREACH_SAFE (node, &dispatcher->waiting) {
		struct exchange *exchange = exchange_of(node);
		int64_t next_us = expire_calls(dispatcher, exchange, &outlook);
		if (next_us < dispatcher->next_expiry_us && !endless)
			dispatcher->next_expiry_us = next_us;
		if (list_empty(&exchange->calls)) {
			list_remove(&dispatcher->waiting, node);
			close_exchange(dispatcher, exchange);
		}
	}
}

/* Answers the calls that have no time left, but for the last one, which ends with the request; returns when
 * the next one has none. */
static int64_t expire_joined(struct dispatcher *dispatcher, struct exchange *exchange, int64_t now_us)
{
	while (exchange->calls.count > 1) {
		struct judge_call *call = call_of(exchange->calls.head.next);
		int64_t deadline_us = exchange_deadline_us(exchange, call);
		if (deadline_us > now_us)
			return deadline_us;
		list_remove(&exchange->calls, &call->node);
		struct judge_verdict verdict = { .error = ERR_JUDGE_TIMEOUT,
						 .message = str_from(err_text(ERR_JUDGE_TIMEOUT)),
						 .prompt_tokens = exchange->verdict.prompt_tokens,
						 .completion_tokens = exchange->verdict.completion_tokens };
		exchange->verdict.prompt_tokens = exchange->verdict.completion_tokens = 0;
		answer(dispatcher, call, &verdict, false);
	}
	return INT64_MAX;
}

static void expire_sent(struct dispatcher *dispatcher, int64_t now_us)
{
	struct list *const sent[] = { &dispatcher->sending, &dispatcher->pausing };
	if (now_us < dispatcher->next_deadline_us)
		return;
	dispatcher->next_deadline_us = INT64_MAX;
	for (size_t i = 0; i < 2; i++) {
		LIST_FOREACH (node, sent[i]) {
			int64_t next_us = expire_joined(dispatcher, exchange_of(node), now_us);
			if (next_us < dispatcher->next_deadline_us)
				dispatcher->next_deadline_us = next_us;
		}
	}
}

static int64_t time_to_next(const struct dispatcher *dispatcher, int64_t now_us)
{
	int64_t next_us = now_us + ROUND_MS * 1000;
	if (dispatcher->next_expiry_us < next_us)
		next_us = dispatcher->next_expiry_us;
	if (dispatcher->next_deadline_us < next_us)
		next_us = dispatcher->next_deadline_us;
	if (dispatcher->next_start_us > now_us && dispatcher->next_start_us < next_us)
		next_us = dispatcher->next_start_us;
	if (dispatcher->runs_shared && shared_cache_next_us(dispatcher->shared) < next_us)
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

static void save_budget(struct dispatcher *dispatcher, int64_t now_us)
{
	if (!dispatcher->budget_changed || !dispatcher->budget_file ||
	    now_us - dispatcher->budget_saved_us < BUDGET_SAVE_US)
		return;
	budget_file_save(dispatcher->budget_file, &dispatcher->limits, now_us, clock_wall_ms());
	dispatcher->budget_changed = false;
	dispatcher->budget_saved_us = now_us;
}

void dispatcher_run(struct dispatcher *dispatcher)
{
	run_shared(dispatcher);
	int64_t now_us = clock_monotonic_us();
	resume_paused(dispatcher, now_us);
	start_waiting(dispatcher, now_us);
	expire_waiting(dispatcher, now_us);
	expire_sent(dispatcher, now_us);
	look_for_room(dispatcher, now_us);
	save_budget(dispatcher, now_us);
}

void dispatcher_wait(struct dispatcher *const dispatchers[], size_t count)
{
	struct transport *transports[TRANSPORTS_MAX];
	int64_t now_us = clock_monotonic_us(), next_ms = ROUND_MS;
	for (size_t i = 0; i < count; i++) {
		int64_t left_ms = time_to_next(dispatchers[i], now_us);
		next_ms = left_ms < next_ms ? left_ms : next_ms;
		transports[i] = dispatchers[i]->transport;
	}
	transport_wait(transports, count, next_ms);
	for (size_t i = 0; i < count; i++) {
		read_finished(
			dispatchers[i]); /* also takes the wake-up: before what it is about is looked at */
		run_shared(dispatchers[i]);
	}
}

void dispatcher_wake(struct dispatcher *dispatcher)
{
	transport_wake(dispatcher->transport);
}

bool dispatcher_busy(const struct dispatcher *dispatcher)
{
	return dispatcher_in_flight(dispatcher) > 0;
}

void dispatcher_abandon(struct dispatcher *dispatcher)
{
	if (dispatcher->runs_shared)
		shared_cache_forget(dispatcher->shared);
	abandon(dispatcher, &dispatcher->looking);
	abandon(dispatcher, &dispatcher->sending);
	abandon(dispatcher, &dispatcher->pausing);
	abandon(dispatcher, &dispatcher->waiting);
	dispatcher->budget_saved_us = INT64_MIN / 2;
	save_budget(dispatcher, clock_monotonic_us());
}
