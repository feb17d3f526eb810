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

static inline void submit_and_wait(struct judge_batch *batch, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		judge_submit(batch->judge, &batch->calls[i]);
	assert_int_equal(queue_wait(&batch->answered, to, 120000), to);
}

/* From now on who finds no place is skipped. */
static inline void wait_no_longer(struct judge *judge, struct judge_settings *settings)
{
	struct err_detail detail = { "" };
	settings->queue_wait_ms = 1;
	assert_int_equal(judge_reload(judge, settings, 1, &detail), ERR_OK);
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
