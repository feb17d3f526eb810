#include "kafka/token_keeper.h"

#include "common/arena.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/login.h"
#include "kafka/reason.h"
#include "kafka/token_fetch.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	/* Share of a token's life after which there is another one: not at the same moment in all instances.
	 */
	RENEW_FROM_PERCENT = 70,
	RENEW_TO_PERCENT = 80,
	RETRY_BASE_MS = 500,
	RETRY_CAP_MS = 10000,
	RETRY_AFTER_MAX_MS = 60000, /* that a server may ask for */
	REFUSED_PAUSE_MS = 10000,   /* between tokens that are fetched because brokers refuse them */
	REFUSED_LOG_MS = 60000,
	LOOK_MS = 1000, /* whether one was refused: who tells must not wait */
};

/* Set where librdkafka may hold locks of its own. */
static _Atomic bool refused;

static struct {
	pthread_mutex_t life; /* of the thread: held while it starts or ends; before the other one */
	unsigned holders;
	struct pool *pool;

	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	bool initialised;
	struct arena *arena;			     /* of the settings and extensions */
	const struct kafka_oauth_settings *settings; /* or NULL */
	const char **extensions;
	struct fetcher *fetcher; /* while the thread runs */
	bool stopping;
	int64_t due_us, fetched_us, refused_logged_us;
	int64_t lifetime_ms;
	char subject[sizeof((struct token *)0)->subject];
	char description[sizeof((struct token *)0)->description];
	struct backoff backoff;
	struct token_keeper_statistics statistics;
} keeper = { .life = PTHREAD_MUTEX_INITIALIZER,
	     .mutex = PTHREAD_MUTEX_INITIALIZER,
	     .backoff = { .base_ms = RETRY_BASE_MS, .cap_ms = RETRY_CAP_MS } };

/* ---- settings ---- */

static const char *const *copy_texts(const char *const *texts, size_t count)
{
	const char **copies = ARENA_ARRAY(keeper.arena, const char *, count);
	for (size_t i = 0; i < count; i++)
		copies[i] = arena_strdup(keeper.arena, texts[i]);
	return copies;
}

static const char *copy_text(const char *text)
{
	return text ? arena_strdup(keeper.arena, text) : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_texts(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
	bool same = a_count == b_count;
	for (size_t i = 0; same && i < a_count; i++)
		same = strcmp(a[i], b[i]) == 0;
	return same;
}

static bool is_same(const struct kafka_oauth_settings *a, const struct kafka_oauth_settings *b)
{
	return same_text(a->token_url, b->token_url) && same_text(a->client_id, b->client_id) &&
	       same_text(a->client_secret_file, b->client_secret_file) &&
	       a->secret_in_form == b->secret_in_form && same_text(a->scope, b->scope) &&
	       same_text(a->ca_file, b->ca_file) && a->timeout_ms == b->timeout_ms &&
	       same_texts(a->parameters, a->parameters_count, b->parameters, b->parameters_count) &&
	       same_texts(a->extensions, a->extensions_count, b->extensions, b->extensions_count);
}

/* Settings that were there before stay where they are: a fetch may be under way with them. */
static void copy_settings(const struct kafka_oauth_settings *settings)
{
	struct kafka_oauth_settings *copy = ARENA_ARRAY(keeper.arena, struct kafka_oauth_settings, 1);
	const char **extensions = ARENA_ARRAY(keeper.arena, const char *, 2 * settings->extensions_count);
	*copy = *settings;
	copy->token_url = copy_text(settings->token_url);
	copy->client_id = copy_text(settings->client_id);
	copy->client_secret_file = copy_text(settings->client_secret_file);
	copy->scope = copy_text(settings->scope);
	copy->ca_file = copy_text(settings->ca_file);
	copy->parameters = copy_texts(settings->parameters, settings->parameters_count);
	copy->extensions = copy_texts(settings->extensions, settings->extensions_count);
	for (size_t i = 0; i < settings->extensions_count; i++) {
		const char *extension = copy->extensions[i];
		size_t len = strcspn(extension, "=");
		extensions[2 * i] = arena_text(keeper.arena, extension, len).ptr;
		extensions[2 * i + 1] = extension + len + 1;
	}
	keeper.settings = copy;
	keeper.extensions = extensions;
}

void token_keeper_configure(const struct kafka_oauth_settings *settings)
{
	pthread_mutex_lock(&keeper.mutex);
	if (!keeper.initialised) {
		clock_cond_init(&keeper.changed);
		keeper.arena = arena_new();
		keeper.initialised = true;
	}
	if (!keeper.settings || !is_same(keeper.settings, settings)) {
		copy_settings(settings);
		keeper.due_us = 0;
		pthread_cond_broadcast(&keeper.changed);
	}
	pthread_mutex_unlock(&keeper.mutex);
}

/* ---- a token ---- */

/* The mutex is held. */
static err_t hand_out(const struct token *token, struct err_detail *detail)
{
	const int64_t now_us = clock_monotonic_us();
	const struct kafka_login_token login = {
		.value = token->value,
		.subject = *token->subject ? token->subject : keeper.settings->client_id,
		.expires_ms = clock_wall_ms() + token->lifetime_ms,
		.extensions = keeper.extensions,
		.extensions_count = 2 * keeper.settings->extensions_count,
	};
	err_t err = kafka_login_set_token(&login, detail);
	if (err)
		return err;
	int64_t percent = RENEW_FROM_PERCENT + now_us % (RENEW_TO_PERCENT - RENEW_FROM_PERCENT + 1);
	keeper.due_us = now_us + token->lifetime_ms * 1000 / 100 * percent;
	keeper.fetched_us = now_us;
	keeper.lifetime_ms = token->lifetime_ms;
	keeper.statistics.expires_ms = login.expires_ms;
	memcpy(keeper.subject, token->subject, sizeof keeper.subject);
	memcpy(keeper.description, token->description, sizeof keeper.description);
	return ERR_OK;
}

static void count_success(void)
{
	struct token_keeper_statistics *statistics = &keeper.statistics;
	statistics->fetched++;
	if (statistics->failing)
		log_notice("tokens for Kafka are fetched again: the next one is due in %lld s",
			   (long long)(keeper.due_us - clock_monotonic_us()) / 1000000);
	else
		log_debug("a token for Kafka was fetched, for %lld s", (long long)keeper.lifetime_ms / 1000);
	statistics->failing = false;
	*statistics->failure = '\0';
	backoff_reset(&keeper.backoff);
}

static void count_failure(const char *message, int64_t retry_after_ms)
{
	struct token_keeper_statistics *statistics = &keeper.statistics;
	int64_t pause_ms = backoff_next_ms(&keeper.backoff),
		left_ms = statistics->expires_ms - clock_wall_ms();
	bool is_news = !statistics->failing ||
		       strncmp(statistics->failure, message, sizeof statistics->failure - 1) != 0;
	if (retry_after_ms > pause_ms)
		pause_ms = retry_after_ms < RETRY_AFTER_MAX_MS ? retry_after_ms : RETRY_AFTER_MAX_MS;
	keeper.due_us = clock_monotonic_us() + pause_ms * 1000;
	statistics->failed++;
	statistics->failing = true;
	snprintf(statistics->failure, sizeof statistics->failure, "%s", message);
	if (left_ms <= 0)
		kafka_reason_note(message);
	if (is_news && left_ms > 0)
		log_warning("%s; the one in use expires in %lld s", message, (long long)left_ms / 1000);
	else if (is_news)
		log_warning("%s; without one no connection to Kafka can be made", message);
}

static void fetch_next(struct fetcher *fetcher, const struct kafka_oauth_settings *settings)
{
	struct err_detail detail = { "" };
	struct token token = { .value = NULL };
	int64_t retry_after_ms;
	err_t err = token_fetch(fetcher, settings, &token, &retry_after_ms, &detail);
	pthread_mutex_lock(&keeper.mutex);
	bool wanted = !keeper.stopping && settings == keeper.settings;
	if (wanted && !err)
		err = hand_out(&token, &detail);
	if (wanted && !err)
		count_success();
	else if (wanted)
		count_failure(err_message(err, &detail), retry_after_ms);
	pthread_mutex_unlock(&keeper.mutex);
	token_free(&token);
}

/* ---- the thread ---- */

/* The mutex is held, likewise below. */
static void note_refusal(int64_t now_us)
{
	int64_t again_us = keeper.fetched_us + INT64_C(1000) * REFUSED_PAUSE_MS;
	if (!keeper.statistics.expires_ms || keeper.statistics.failing)
		return;
	if (again_us < keeper.due_us)
		keeper.due_us = again_us;
	if (keeper.refused_logged_us && now_us - keeper.refused_logged_us < INT64_C(1000) * REFUSED_LOG_MS)
		return;
	log_warning("a broker refuses the token, which says of itself: %s; the broker's log says why",
		    *keeper.description ? keeper.description : "nothing that can be read");
	keeper.refused_logged_us = now_us;
}

static void wait_until(int64_t at_us)
{
	int64_t look_us = clock_monotonic_us() + INT64_C(1000) * LOOK_MS;
	at_us = at_us < look_us ? at_us : look_us;
	const struct timespec until = { at_us / 1000000, at_us % 1000000 * 1000 };
	pthread_cond_timedwait(&keeper.changed, &keeper.mutex, &until);
}

/* Until one is due. NULL: the thread ends. */
static const struct kafka_oauth_settings *await_due(void)
{
	const struct kafka_oauth_settings *settings = NULL;
	pthread_mutex_lock(&keeper.mutex);
	while (!keeper.stopping && clock_monotonic_us() < keeper.due_us) {
		wait_until(keeper.due_us);
		if (atomic_exchange(&refused, false))
			note_refusal(clock_monotonic_us());
	}
	if (!keeper.stopping)
		settings = keeper.settings;
	pthread_mutex_unlock(&keeper.mutex);
	return settings;
}

static void keeper_main(void *context, unsigned index)
{
	(void)index;
	for (const struct kafka_oauth_settings *settings; (settings = await_due());)
		fetch_next(context, settings);
}

void token_keeper_hold(void)
{
	pthread_mutex_lock(&keeper.life);
	pthread_mutex_lock(&keeper.mutex);
	bool starts = keeper.settings && !keeper.pool;
	pthread_mutex_unlock(&keeper.mutex);
	keeper.holders++;
	if (starts) {
		keeper.fetcher = fetcher_new();
		keeper.pool = pool_start("kafka-token", 1, keeper_main, keeper.fetcher);
	}
	pthread_mutex_unlock(&keeper.life);
}

void token_keeper_release(void)
{
	pthread_mutex_lock(&keeper.life);
	if (--keeper.holders == 0 && keeper.pool) {
		pthread_mutex_lock(&keeper.mutex);
		keeper.stopping = true;
		pthread_cond_broadcast(&keeper.changed);
		pthread_mutex_unlock(&keeper.mutex);
		fetcher_interrupt(keeper.fetcher);
		pool_join(TAKE_PTR(keeper.pool));
		fetcher_free(TAKE_PTR(keeper.fetcher));
		keeper.stopping = false;
	}
	pthread_mutex_unlock(&keeper.life);
}

err_t token_keeper_try(const struct kafka_oauth_settings *settings,
		       char ret_description[sizeof((struct token *)0)->description], int64_t *ret_lifetime_ms,
		       struct err_detail *detail)
{
	_cleanup_(fetcher_cleanup) struct fetcher *fetcher = fetcher_new();
	struct token token;
	int64_t retry_after_ms;
	token_keeper_configure(settings);
	err_t err = token_fetch(fetcher, settings, &token, &retry_after_ms, detail);
	if (err)
		return err;
	memcpy(ret_description, token.description, sizeof token.description);
	*ret_lifetime_ms = token.lifetime_ms;
	pthread_mutex_lock(&keeper.mutex);
	err = hand_out(&token, detail); /* for the clients that come next */
	if (!err)
		count_success();
	pthread_mutex_unlock(&keeper.mutex);
	token_free(&token);
	return err;
}

void token_keeper_refused(void)
{
	atomic_store(&refused, true);
}

void token_keeper_subject(char *ret_subject, size_t size)
{
	pthread_mutex_lock(&keeper.mutex);
	snprintf(ret_subject, size, "%s", keeper.subject);
	pthread_mutex_unlock(&keeper.mutex);
}

void token_keeper_statistics(struct token_keeper_statistics *ret_statistics)
{
	pthread_mutex_lock(&keeper.mutex);
	*ret_statistics = keeper.statistics;
	pthread_mutex_unlock(&keeper.mutex);
}
