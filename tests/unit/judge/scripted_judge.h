/*
 * For tests of the judge whose server does what each test says: one scripted server for a test program, and
 * judges that ask it.
 */
#pragma once

#include "judge_server.h"

static struct judge_server server;

static inline int start_server(void **state)
{
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	judge_server_start(&server, (const char *const[]){ NULL });
	return 0;
}

static inline int stop_server(void **state)
{
	(void)state;
	judge_server_stop(&server);
	return 0;
}

static inline void finish(struct judge_batch *batch)
{
	judge_stop(batch->judge);
	judge_batch_free(batch);
}

/* Asks one thing of a new judge after setting the server's steps; `batch` is finished by the caller. */
static inline struct judge_call *ask_one(struct judge_batch *batch, const struct judge_settings *settings,
					 const char *steps, str_t question, enum judge_question kind)
{
	judge_server_script(&server, steps);
	judge_batch_init(batch, judge_server_judge(settings), 1);
	struct judge_call *call = &batch->calls[0];
	call->question = question;
	call->kind = kind;
	call->truth_sql = STR("SELECT 2");
	judge_batch_submit(batch);
	judge_batch_wait(batch);
	return call;
}
