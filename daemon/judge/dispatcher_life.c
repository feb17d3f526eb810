/* A dispatcher from its opening to its end, and what can be changed and read in between. */
#include "common/clock.h"
#include "judge/budget_file.h"
#include "judge/dispatcher_state.h"

#define BREAKER_FAILURES   10
#define BREAKER_PAUSE_MS   1000
#define BREAKER_BACKOFF_MS 1000
#define BREAKER_CAP_MS	   2000

_Static_assert(BREAKER_FAILURES < 20 && BREAKER_PAUSE_MS + BREAKER_CAP_MS < 5000,
	       "twenty failures are too many, and a server that is back is asked within five seconds");

struct dispatcher_limits dispatcher_limits_of(const struct judge_settings *settings)
{
	return (struct dispatcher_limits){
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
	pthread_mutex_init(&dispatcher->cache_mutex, NULL);
	dispatcher->bounds = dispatcher_limits_of(settings);
	limits_init(&dispatcher->limits, dispatcher->bounds.max_in_flight,
		    dispatcher->bounds.requests_per_minute, dispatcher->bounds.tokens_per_minute,
		    dispatcher->bounds.tokens_per_day, clock_monotonic_us());
	dispatcher->next_expiry_us = dispatcher->next_start_us = INT64_MAX;
	dispatcher->next_deadline_us = INT64_MAX;
	dispatcher->room = INT64_MAX;
	atomic_init(&dispatcher->room_left, ROOM_ENDLESS);
	dispatcher->breaker = (struct circuit_breaker){
		.threshold = BREAKER_FAILURES,
		.pause_ms = BREAKER_PAUSE_MS,
		.silence_ms = BREAKER_PAUSE_MS,
		.backoff = { .base_ms = BREAKER_BACKOFF_MS, .cap_ms = BREAKER_CAP_MS },
	};
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

static void start_shared(struct dispatcher *dispatcher, const struct judge_settings *settings,
			 struct dispatcher *first)
{
	if (first)
		dispatcher->shared = first->shared;
	if (first || !settings->cache_dsn || !*settings->cache_dsn)
		return;
	dispatcher->runs_shared = true;
	dispatcher->shared = shared_cache_start(&(struct shared_cache_options){
		.dsn = settings->cache_dsn,
		.password_file = settings->cache_password_file,
		.settings = settings->cache_settings ? settings->cache_settings : "judge.cache_",
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

err_t dispatcher_open(const struct judge_settings *settings, struct dispatcher *first,
		      struct dispatcher **ret_dispatcher, struct err_detail *detail)
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
	start_shared(dispatcher, settings, first);
	load_budget(dispatcher, settings->budget_file);
	*ret_dispatcher = dispatcher;
	return ERR_OK;
}

void dispatcher_free(struct dispatcher *dispatcher)
{
	if (!dispatcher)
		return;
	if (dispatcher->runs_shared)
		shared_cache_stop(dispatcher->shared);
	transport_free(dispatcher->transport);
	cache_free(dispatcher->cache);
	pthread_mutex_destroy(&dispatcher->cache_mutex);
	digest_table_free(&dispatcher->open);
	endpoint_close(&dispatcher->endpoint);
	free(dispatcher->budget_file);
	free(dispatcher);
}

/* ---- meanwhile ---- */

static void apply_bounds(struct dispatcher *dispatcher, const struct dispatcher_limits *bounds)
{
	dispatcher->bounds = *bounds;
	limits_change(&dispatcher->limits, bounds->max_in_flight, bounds->requests_per_minute,
		      bounds->tokens_per_minute, bounds->tokens_per_day, clock_monotonic_us());
	pthread_mutex_lock(&dispatcher->cache_mutex);
	cache_resize(dispatcher->cache, bounds->cache_bytes, bounds->cache_ttl_s);
	pthread_mutex_unlock(&dispatcher->cache_mutex);
	if (dispatcher->runs_shared)
		shared_cache_set_retention(dispatcher->shared, bounds->cache_retention_s);
	transport_set_connections(dispatcher->transport, bounds->max_in_flight);
	dispatcher->next_expiry_us = bounds->queue_wait_us < 0 ? INT64_MAX : 0;
	dispatcher->room = INT64_MAX; /* until it is looked for again */
	atomic_store(&dispatcher->room_left, ROOM_ENDLESS);
}

void dispatcher_change(struct dispatcher *dispatcher, struct prompts *prompts,
		       const struct dispatcher_limits *bounds)
{
	prompts_free(dispatcher->endpoint.prompts);
	dispatcher->endpoint.prompts = prompts;
	endpoint_renew_key(&dispatcher->endpoint);
	apply_bounds(dispatcher, bounds);
}

struct judge_stats dispatcher_stats(struct dispatcher *dispatcher)
{
	struct judge_stats *stats = &dispatcher->stats;
	stats->in_flight = dispatcher_in_flight(dispatcher);
	stats->waiting = (int64_t)dispatcher->waiting.count;
	stats->slots = (int64_t)dispatcher->limits.slots;
	stats->breaker_open = dispatcher->breaker.state != CIRCUIT_CLOSED;
	stats->day_tokens_limit = dispatcher->bounds.tokens_per_day;
	stats->day_tokens = dispatcher->bounds.tokens_per_day > 0
				    ? limits_day_spent(&dispatcher->limits, clock_monotonic_us())
				    : 0;
	if (dispatcher->shared) {
		struct shared_cache_stats shared = shared_cache_stats(dispatcher->shared);
		stats->cache_connected = shared.connected;
		stats->cache_lost = shared.lost;
	}
	return *stats;
}

struct heartbeat *dispatcher_cache_heartbeat(const struct dispatcher *dispatcher)
{
	return dispatcher->runs_shared ? shared_cache_heartbeat(dispatcher->shared) : NULL;
}

const struct endpoint *dispatcher_endpoint(const struct dispatcher *dispatcher)
{
	return &dispatcher->endpoint;
}
