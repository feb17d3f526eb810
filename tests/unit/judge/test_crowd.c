/* Hundreds of calls in the air: their answers may gather for a moment, and nobody else waits for that. */
#include "scripted_judge.h"

#define CROWD 300
#define HITS  50

static void assert_all_end_with(const struct judge_batch *batch, err_t error)
{
	for (size_t i = 0; i < batch->count; i++)
		assert_string_equal(err_name(batch->calls[i].verdict.error), err_name(error));
}

/* Whether a hit takes less than half of the time that answers may gather for. It is asked for when the
 * judge's thread waits again after the one before. */
static bool hits_quickly(struct judge *judge)
{
	struct judge_batch hit;
	judge_batch_init(&hit, judge, 1);
	usleep(300);
	judge_batch_submit(&hit);
	judge_batch_wait(&hit);
	assert_true(hit.calls[0].verdict.cached);
	bool quick = hit.calls[0].duration_us < 5000;
	judge_batch_free(&hit);
	return quick;
}

/* Requests take two seconds by now, so that answers may gather for 10 ms. Who submits is served at once all
 * the same (as often as by a judge that has nothing else to do, asked in turn on the same machine), and so is
 * who stops the judge. */
static void test_nobody_waits_for_the_crowd(void **state)
{
	(void)state;
	struct judge_server slow;
	struct judge_batch first, crowd, alone;
	size_t quick = 0, quick_alone = 0;
	judge_server_start(&slow, (const char *const[]){ "--latency", "2000", NULL });
	struct judge_settings settings = judge_server_settings(&slow);
	settings.max_in_flight = 2 * CROWD;
	settings.timeout_ms = 100000;
	judge_batch_init(&first, judge_server_judge(&settings), CROWD);
	judge_batch_submit(&first);
	judge_batch_init(&alone, judge_server_judge(&settings), 1);
	judge_batch_submit(&alone);
	judge_batch_wait(&first);
	judge_batch_wait(&alone);
	assert_all_end_with(&first, ERR_OK);
	judge_batch_init(&crowd, first.judge, CROWD);
	for (size_t i = 0; i < CROWD; i++)
		crowd.calls[i].sql = STR("SELECT 2 -- [slow 100]");
	judge_batch_submit(&crowd);
	await_judge_stat(first.judge, in_flight, CROWD);
	for (size_t i = 0; i < HITS; i++) {
		quick += hits_quickly(first.judge);
		quick_alone += hits_quickly(alone.judge);
	}
	print_message("of %d hits %zu took less than 5 ms beside %d calls in the air, %zu beside none\n",
		      HITS, quick, CROWD, quick_alone);
	assert_true(quick * 4 >= quick_alone);
	assert_int_equal(judge_stats(first.judge, 0).in_flight, CROWD);
	finish(&first);
	finish(&alone);
	assert_int_equal(queue_count(&crowd.answered), CROWD);
	assert_all_end_with(&crowd, ERR_SHUTTING_DOWN);
	judge_batch_free(&crowd);
	judge_server_stop(&slow);
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_waits_for_the_crowd),
	};
	return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
