#include "judge/judge.h"

#include "common/queue.h"
#include "database/database.h"

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

err_t judge_check(const struct judge_settings *settings, struct err_detail *detail)
{
	struct judge_settings once = *settings;
	once.cache_dsn = NULL; /* a request is to be sent */
	struct judge *judge = NULL;
	once.max_attempts = 1;
	err_t err = judge_start(&once, &judge, detail);
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
	return err_fail(detail, call.verdict.error, STR_FMT, STR_ARG(call.verdict.message));
}

err_t judge_check_cache(const struct judge_settings *settings, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database =
		database_new(settings->cache_dsn, settings->cache_password_file);
	database_set_settings(database, "judge.cache_");
	return database_connect(database, NULL, detail);
}
