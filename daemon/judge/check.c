#include "judge/judge.h"

#include "common/buf.h"
#include "common/queue.h"
#include "database/database.h"
#include "judge/endpoint.h"

static void hand_back(struct judge_call *call, void *context)
{
	queue_push(context, &call->node);
}

/* Asks the judge about a query whose answer nobody doubts. */
static void ask(struct judge *judge, struct judge_call *call, struct queue *answered)
{
	call->kind = JUDGE_RELEVANCE;
	call->question = STR("What is one plus one?");
	call->sql = STR("SELECT 1 + 1");
	call->dialect = "PostgreSQL";
	call->done = hand_back;
	call->context = answered;
	judge_submit(judge, call);
	queue_take(answered, -1);
}

/* As libcurl, OpenSSL and servers say it; the first that is in the message. Hints name the settings of the
 * group judge. */
static const struct {
	const char *part, *hint;
} hints[] = {
	{ "Could not resolve", "mend the name in judge.base_url, or the name service" },
	{ "onnect to server", "no server listens there: start it, or mend judge.base_url" },
	{ "Connection refused", "no server listens there: start it, or mend judge.base_url" },
	{ "subject name", "write in judge.base_url the name that the server's certificate is for" },
	{ "certificate has expired", "have the server's certificate renewed" },
	{ "SSL certificate problem",
	  "name the certificates of the authority that issued the server's as judge.ca_file" },
	{ "wrong version number", "this server has no TLS: write http://, or mend the port" },
	{ "Empty reply", "this may be no HTTP server, or one with TLS: mend judge.base_url" },
	{ "HTTP/0.9", "this is no HTTP server: mend judge.base_url" },
	{ "HTTP 401", "mend the key (judge.api_key_file)" },
	{ "HTTP 403", "mend the key (judge.api_key_file), or what it may do" },
	{ "HTTP 404", "mend the path of judge.base_url, or judge.model" },
	{ "HTTP 400", "mend judge.model, or judge.provider" },
	{ "HTTP 5", "see what the server's log says" },
};

/* With the names of this judge's settings. */
static void append_hint(struct buf *out, const char *hint, const char *setting)
{
	static const char group[] = "judge.";
	const char *at = hint, *found;
	buf_append_text(out, "");
	while ((found = strstr(at, group))) {
		buf_append(out, at, (size_t)(found - at));
		buf_printf(out, "%s.", setting);
		at = found + sizeof group - 1;
	}
	buf_append_text(out, at);
}

static err_t explain(const struct judge_settings *settings, const struct judge_verdict *verdict,
		     struct err_detail *detail)
{
	const char *said = str_present(verdict->message) ? verdict->message.ptr : err_text(verdict->error);
	const char *setting = settings->setting ? settings->setting : "judge";
	_cleanup_(buf_free) struct buf hint = BUF_INIT;
	size_t i = 0, count = sizeof hints / sizeof *hints;
	if (verdict->error == ERR_JUDGE_TIMEOUT)
		return err_fail(detail, verdict->error,
				"no answer from %.200s within %lld ms (%s.timeout_ms): see whether the "
				"server hangs or "
				"the model is slow, or raise it",
				settings->base_url, (long long)settings->timeout_ms, setting);
	while (i < count && !strstr(said, hints[i].part))
		i++;
	append_hint(&hint, i < count ? hints[i].hint : "", setting);
	return err_fail(detail, verdict->error, "%.200s: %s%s%s", settings->base_url, said,
			hint.len ? "; " : "", hint.data);
}

err_t judge_check(const struct judge_settings *settings, struct err_detail *detail)
{
	struct judge_settings once = *settings;
	once.cache_dsn = NULL; /* a request is to be sent */
	struct judge *judge = NULL;
	once.max_attempts = 1;
	err_t err = judge_start(&once, 1, &judge, detail);
	if (err != ERR_OK)
		return err;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct judge_call call = { .arena = arena };
	struct queue answered;
	queue_init(&answered, false);
	ask(judge, &call, &answered);
	judge_stop(judge);
	queue_destroy(&answered);
	if (call.verdict.error == ERR_OK)
		return ERR_OK;
	return explain(settings, &call.verdict, detail);
}

err_t judge_check_settings(const struct judge_settings *settings, struct err_detail *detail)
{
	struct judge_settings without_prompts = *settings;
	struct endpoint endpoint;
	without_prompts.prompt_directory = NULL;
	err_t err = endpoint_open(&endpoint, &without_prompts, detail);
	endpoint_close(&endpoint);
	return err;
}

err_t judge_check_prompts(const struct judge_settings *settings, struct err_detail *detail)
{
	_cleanup_(prompts_cleanup) struct prompts *prompts = NULL;
	return prompts_load(settings->prompt_directory, &prompts, detail);
}

err_t judge_check_cache(const struct judge_settings *settings, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database =
		database_new(settings->cache_dsn, settings->cache_password_file);
	database_set_settings(database, settings->cache_settings ? settings->cache_settings : "judge.cache_");
	return database_connect(database, NULL, detail);
}
