/* A judge of several members: what happens to one is nothing to the others. Each has a scripted server. */
#include "judge_server.h"

#include <pthread.h>

enum { MEMBERS = 3 };

static const char *const names[MEMBERS] = { "first", "second", "third" };
static const char *const settings_names[MEMBERS] = { "judges[0]", "judges[1]", "judges[2]" };
static struct judge_server servers[MEMBERS];

static int start_servers(void **state)
{
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	for (size_t i = 0; i < MEMBERS; i++)
		judge_server_start(&servers[i], (const char *const[]){ NULL });
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	for (size_t i = 0; i < MEMBERS; i++)
		judge_server_stop(&servers[i]);
	return 0;
}

static int forget_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < MEMBERS; i++)
		judge_server_script(&servers[i], "");
	return 0;
}

/* One provider, model and prompt: only their names and servers tell them apart. */
static void fill_settings(struct judge_settings settings[MEMBERS])
{
	for (size_t i = 0; i < MEMBERS; i++) {
		settings[i] = judge_server_settings(&servers[i]);
		settings[i].name = names[i];
		settings[i].setting = settings_names[i];
	}
}

static struct judge *start(const struct judge_settings settings[MEMBERS])
{
	struct judge *judge = NULL;
	struct err_detail detail = { "" };
	if (judge_start(settings, MEMBERS, &judge, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return judge;
}

/* The same question for all members: call i is for member i modulo their number. */
static void batch_for_all(struct judge_batch *batch, struct judge *judge, size_t count)
{
	judge_batch_init(batch, judge, count);
	for (size_t i = 0; i < count; i++) {
		batch->calls[i].member = i % MEMBERS;
		batch->calls[i].question = arena_printf(batch->calls[i].arena, "question %zu", i / MEMBERS);
	}
}

static void await_answers(struct judge_batch *batch, size_t count)
{
	assert_int_equal(queue_wait(&batch->answered, count, 120000), count);
}

static bool is_answered(const struct judge_batch *batch, size_t call)
{
	return batch->calls[call].state != NULL; /* read only when the queue says that so many are there */
}

static void assert_error(const struct judge_batch *batch, size_t call, err_t expected)
{
	assert_string_equal(err_name(batch->calls[call].verdict.error), err_name(expected));
}

/* Also where a verdict is kept: what one said is not given out as another's. */
static void each_speaks_for_itself(void **state)
{
	static const double said[MEMBERS] = { 10, 55, 100 };
	struct judge_settings settings[MEMBERS];
	struct judge_batch batch, again;
	(void)state;
	fill_settings(settings);
	judge_server_script(&servers[0], "body={\"score\": 10}");
	judge_server_script(&servers[1], "body={\"score\": 55}");
	judge_server_script(&servers[2], "body={\"score\": 100}");
	struct judge *judge = start(settings);
	assert_int_equal(judge_members(judge), MEMBERS);
	batch_for_all(&batch, judge, MEMBERS);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	batch_for_all(&again, judge, MEMBERS);
	judge_batch_submit(&again);
	judge_batch_wait(&again);
	for (size_t i = 0; i < MEMBERS; i++) {
		assert_error(&batch, i, ERR_OK);
		assert_true(batch.calls[i].verdict.score == said[i]);
		assert_false(batch.calls[i].verdict.cached);
		assert_true(again.calls[i].verdict.score == said[i]);
		assert_true(again.calls[i].verdict.cached);
		assert_int_equal(judge_server_count(&servers[i], "requests"), 1);
		assert_string_equal(judge_name(judge, i), names[i]);
		assert_string_equal(judge_model(judge, i), "test-model");
		assert_string_equal(judge_provider(judge, i), "openai");
		for (int round = 0; judge_stats(judge, i).verdicts < 1 && round < 60000; round++)
			usleep(1000);
		assert_int_equal(judge_stats(judge, i).requests, 1);
		assert_int_equal(judge_stats(judge, i).hits, 1);
	}
	judge_stop(judge);
	judge_batch_free(&batch);
	judge_batch_free(&again);
}

/* The second is held until its time is over, the third's server is not there: the first answers long before,
 * goes on, and its circuit breaker stays closed. */
static void one_that_fails_leaves_the_others(void **state)
{
	enum { CALLS = 16 * MEMBERS };
	struct judge_settings settings[MEMBERS];
	struct judge_batch batch;
	(void)state;
	fill_settings(settings);
	judge_server_script(&servers[1], "hold;hold;hold;hold;hold;hold;hold;hold");
	settings[2].base_url = "http://127.0.0.1:1/v1";
	settings[2].max_attempts = 1;
	struct judge *judge = start(settings);
	batch_for_all(&batch, judge, CALLS);
	judge_batch_submit(&batch);
	await_answers(&batch, CALLS / MEMBERS * 2);
	for (size_t i = 0; i < CALLS; i += MEMBERS) {
		assert_true(is_answered(&batch, i) && !is_answered(&batch, i + 1) &&
			    is_answered(&batch, i + 2));
		assert_error(&batch, i, ERR_OK);
		assert_error(&batch, i + 2, ERR_JUDGE_UNAVAILABLE);
	}
	judge_server_await(&servers[1], settings[1].max_in_flight);
	for (int round = 0; !judge_stats(judge, 2).breaker_open && round < 60000; round++)
		usleep(1000);
	assert_int_equal(judge_stats(judge, 2).breaker_open, 1);
	assert_int_equal(judge_stats(judge, 0).breaker_open, 0);
	assert_int_equal(judge_stats(judge, 1).breaker_open, 0);
	assert_int_equal(judge_stats(judge, 2).failed, CALLS / MEMBERS);
	assert_int_equal(judge_stats(judge, 0).failed, 0);
	judge_server_release(&servers[1]);
	judge_batch_wait(&batch);
	for (size_t i = 1; i < CALLS; i += MEMBERS)
		assert_error(&batch, i, ERR_OK);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* One slot that is taken, and a day's tokens that are spent, are one member's. */
static void limits_are_of_one(void **state)
{
	struct judge_settings settings[MEMBERS];
	struct judge_batch batch;
	(void)state;
	fill_settings(settings);
	settings[0].max_in_flight = 1;
	settings[0].queue_wait_ms = 1;
	settings[1].tokens_per_day = 100; /* one answer takes 120 */
	settings[1].wait_when_saturated = true;
	judge_server_script(&servers[0], "hold");
	struct judge *judge = start(settings);
	batch_for_all(&batch, judge, 2 * MEMBERS);
	for (size_t i = 0; i < MEMBERS; i++)
		judge_submit(judge, &batch.calls[i]);
	await_answers(&batch, MEMBERS - 1);
	judge_server_await(&servers[0], 1);
	for (size_t i = MEMBERS; i < 2 * MEMBERS; i++)
		judge_submit(judge, &batch.calls[i]);
	await_answers(&batch, 2 * MEMBERS - 1);
	assert_error(&batch, MEMBERS, ERR_JUDGE_SATURATED);
	assert_error(&batch, MEMBERS + 1, ERR_JUDGE_SPENT);
	assert_error(&batch, MEMBERS + 2, ERR_OK);
	judge_server_release(&servers[0]);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < MEMBERS; i++)
		assert_error(&batch, i, ERR_OK);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* By name: who is not named any more goes on as it was, and so does what it has under way; of one that is new
 * nothing is known before the next start. */
static void settings_are_reloaded_by_name(void **state)
{
	struct judge_settings settings[MEMBERS], fresh[2];
	struct judge_batch batch;
	struct err_detail detail = { "" };
	(void)state;
	fill_settings(settings);
	for (size_t i = 0; i < MEMBERS; i++)
		settings[i].max_in_flight = 1;
	judge_server_script(&servers[0], "hold");
	judge_server_script(&servers[2], "hold");
	struct judge *judge = start(settings);
	batch_for_all(&batch, judge, 2 * MEMBERS);
	judge_submit(judge, &batch.calls[0]);
	judge_submit(judge, &batch.calls[2]);
	judge_server_await(&servers[0], 1);
	judge_server_await(&servers[2], 1);
	fresh[0] = settings[2];
	fresh[0].queue_wait_ms = 1; /* of the third alone */
	fresh[1] = settings[1];
	fresh[1].name = "new";
	assert_int_equal(judge_reload(judge, fresh, 2, &detail), ERR_OK);
	assert_int_equal(judge_members(judge), MEMBERS);
	judge_submit(judge, &batch.calls[MEMBERS]);
	judge_submit(judge, &batch.calls[MEMBERS + 2]);
	await_answers(&batch, 1);
	assert_error(&batch, MEMBERS + 2, ERR_JUDGE_SATURATED);
	assert_false(is_answered(&batch, 0) || is_answered(&batch, MEMBERS));
	judge_server_release(&servers[0]);
	judge_server_release(&servers[2]);
	judge_submit(judge, &batch.calls[1]);
	judge_submit(judge, &batch.calls[MEMBERS + 1]);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < MEMBERS + 2; i++)
		assert_error(&batch, i, ERR_OK);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* Prompts that cannot be read: all members keep what they have, those before the wrong one, too. */
static void a_wrong_reload_changes_nobody(void **state)
{
	struct judge_settings settings[MEMBERS], fresh[MEMBERS];
	struct err_detail detail = { "" };
	const char *before[MEMBERS];
	char folder[] = "/tmp/assayd-members-XXXXXX", command[64];
	(void)state;
	assert_non_null(mkdtemp(folder));
	judge_server_write_prompts(folder, "own words");
	fill_settings(settings);
	struct judge *judge = start(settings);
	for (size_t i = 0; i < MEMBERS; i++)
		before[i] = judge_prompt_digest(judge, i);
	memcpy(fresh, settings, sizeof fresh);
	fresh[0].prompt_directory = folder;
	fresh[2].prompt_directory = "/nowhere";
	assert_int_equal(judge_reload(judge, fresh, MEMBERS, &detail), ERR_FILE_UNREADABLE);
	for (size_t i = 0; i < MEMBERS; i++)
		assert_ptr_equal(judge_prompt_digest(judge, i), before[i]);
	assert_int_equal(judge_reload(judge, fresh, 2, &detail), ERR_OK); /* prompts are each one's own */
	assert_string_not_equal(judge_prompt_digest(judge, 0), before[0]);
	assert_string_equal(judge_prompt_digest(judge, 1), before[1]);
	assert_string_equal(judge_prompt_digest(judge, 2), before[2]);
	judge_stop(judge);
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* Sent, waiting for a slot, and never admitted: each is answered once. */
static void closing_answers_everybody(void **state)
{
	enum { CALLS = 400 * MEMBERS };
	struct judge_settings settings[MEMBERS];
	struct judge_batch batch;
	size_t shut = 0;
	(void)state;
	fill_settings(settings);
	for (size_t i = 0; i < MEMBERS; i++) {
		settings[i].max_in_flight = 2;
		judge_server_script(&servers[i], "hold;hold");
	}
	struct judge *judge = start(settings);
	batch_for_all(&batch, judge, CALLS + MEMBERS);
	for (size_t i = 0; i < CALLS; i++)
		judge_submit(judge, &batch.calls[i]);
	for (size_t i = 0; i < MEMBERS; i++)
		judge_server_await(&servers[i], 2);
	judge_close(judge);
	for (size_t i = CALLS; i < CALLS + MEMBERS; i++)
		judge_submit(judge, &batch.calls[i]);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < CALLS + MEMBERS; i++)
		shut += batch.calls[i].verdict.error == ERR_SHUTTING_DOWN;
	assert_int_equal(shut, CALLS + MEMBERS);
	judge_stop(judge);
	judge_batch_free(&batch);
}

static void *submit_all(void *context)
{
	judge_batch_submit(context);
	return NULL;
}

/* From several threads at once, beside reloads. */
static void many_ask_at_once(void **state)
{
	enum { THREADS = 4, CALLS = 50 * MEMBERS };
	struct judge_settings settings[MEMBERS];
	struct judge_batch batches[THREADS];
	pthread_t threads[THREADS];
	struct err_detail detail = { "" };
	(void)state;
	fill_settings(settings);
	struct judge *judge = start(settings);
	for (size_t i = 0; i < THREADS; i++)
		batch_for_all(&batches[i], judge, CALLS);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, submit_all, &batches[i]), 0);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(judge_reload(judge, settings, MEMBERS, &detail), ERR_OK);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < THREADS; i++) {
		judge_batch_wait(&batches[i]);
		for (size_t k = 0; k < CALLS; k++)
			assert_error(&batches[i], k, ERR_OK);
	}
	for (size_t i = 0; i < MEMBERS; i++) /* the same fifty questions, whoever asks */
		assert_int_equal(judge_server_count(&servers[i], "requests"), CALLS / MEMBERS);
	judge_stop(judge);
	for (size_t i = 0; i < THREADS; i++)
		judge_batch_free(&batches[i]);
}

static void answer_crowds(unsigned of_the_last)
{
	enum { CROWD = 400, CALLS = CROWD * MEMBERS };
	struct judge_settings settings[MEMBERS];
	struct judge_batch batch;
	fill_settings(settings);
	for (size_t i = 0; i < MEMBERS; i++) {
		settings[i].max_in_flight = i == MEMBERS - 1 ? of_the_last : CROWD;
		settings[i].wait_when_saturated = true;
		judge_server_script(&servers[i], "");
	}
	struct judge *judge = start(settings);
	batch_for_all(&batch, judge, CALLS);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < CALLS; i++)
		assert_error(&batch, i, ERR_OK);
	for (size_t i = 0; i < MEMBERS; i++)
		assert_int_equal(judge_server_count(&servers[i], "requests"), CROWD);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* So many requests that answers gather, and beside a member that has few, where they do not. */
static void crowds_are_answered(void **state)
{
	(void)state;
	answer_crowds(400);
	answer_crowds(2);
}

/* What is spent of a day's tokens is kept for each. */
static void budgets_are_kept_apart(void **state)
{
	struct judge_settings settings[MEMBERS];
	char files[MEMBERS][64];
	(void)state;
	fill_settings(settings);
	for (size_t i = 0; i < MEMBERS; i++) {
		snprintf(files[i], sizeof files[i], "/tmp/assayd-members-%d-%zu", (int)getpid(), i);
		settings[i].budget_file = files[i];
		settings[i].tokens_per_day = i == 1 ? 100 : 100000;
		settings[i].cache_bytes = 0;
	}
	for (int life = 0; life < 2; life++) {
		struct judge_batch batch;
		struct judge *judge = start(settings);
		batch_for_all(&batch, judge, MEMBERS);
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		assert_error(&batch, 0, ERR_OK);
		assert_error(&batch, 1, life ? ERR_JUDGE_SPENT : ERR_OK);
		assert_error(&batch, 2, ERR_OK);
		judge_stop(judge);
		judge_batch_free(&batch);
	}
	for (size_t i = 0; i < MEMBERS; i++)
		assert_int_equal(unlink(files[i]), 0);
}

/* Which member's setting is wrong is told, and nothing is started. */
static void a_wrong_member_is_named(void **state)
{
	static const struct {
		size_t member;
		const char *key_file, *base_url, *said;
	} cases[] = {
		{ 0, "/nowhere/key", NULL, "(judges[0].api_key_file)" },
		{ 2, "/nowhere/key", NULL, "(judges[2].api_key_file)" },
		{ 1, NULL, "ftp://127.0.0.1", "judges[1].base_url" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct judge_settings settings[MEMBERS];
		struct judge *judge = NULL;
		struct err_detail detail = { "" };
		fill_settings(settings);
		settings[cases[i].member].api_key_file = cases[i].key_file;
		if (cases[i].base_url)
			settings[cases[i].member].base_url = cases[i].base_url;
		assert_true(judge_start(settings, MEMBERS, &judge, &detail) != ERR_OK);
		assert_null(judge);
		if (!strstr(detail.message, cases[i].said))
			fail_msg("%s", detail.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_speaks_for_itself, forget_steps),
		cmocka_unit_test_setup(one_that_fails_leaves_the_others, forget_steps),
		cmocka_unit_test_setup(limits_are_of_one, forget_steps),
		cmocka_unit_test_setup(settings_are_reloaded_by_name, forget_steps),
		cmocka_unit_test_setup(a_wrong_reload_changes_nobody, forget_steps),
		cmocka_unit_test_setup(closing_answers_everybody, forget_steps),
		cmocka_unit_test_setup(many_ask_at_once, forget_steps),
		cmocka_unit_test_setup(crowds_are_answered, forget_steps),
		cmocka_unit_test_setup(budgets_are_kept_apart, forget_steps),
		cmocka_unit_test(a_wrong_member_is_named),
	};
	return cmocka_run_group_tests_name("members", tests, start_servers, stop_servers);
}
