/* The key: one that is refused, and one that is changed while the judge runs. */
#include "judge_server.h"

#include "common/log.h"

static struct judge_server server;
static char path[] = "/tmp/judge-key-XXXXXX";

static int start_server(void **state)
{
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	judge_server_start(&server, (const char *const[]){ NULL });
	close(mkstemp(path));
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	judge_server_stop(&server);
	unlink(path);
	return 0;
}

static void write_key(const char *key)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(key, file);
	fclose(file);
}

/* What the server takes from now on. */
static void expect_key(const char *key)
{
	json_decref(judge_server_ask(&server, "/reset", ""));
	json_decref(judge_server_ask(&server, "/key", key));
}

static _Atomic int refused, renewed, kept, secrets;

static void read_line(enum log_level level, const char *line, void *context)
{
	(void)context;
	atomic_fetch_add(&refused, level == LOG_LEVEL_ERROR && strstr(line, "refuses the API key") != NULL &&
					   strstr(line, path) != NULL);
	atomic_fetch_add(&renewed, strstr(line, "read again and has changed") != NULL);
	atomic_fetch_add(&kept, strstr(line, "of the judge is unchanged") != NULL);
	atomic_fetch_add(&secrets, strstr(line, "sk-") != NULL);
}

static struct judge *start(void)
{
	struct judge *judge = NULL;
	struct err_detail detail = { "" };
	struct judge_settings settings = judge_server_settings(&server);
	settings.api_key_file = path;
	settings.max_in_flight = 4;
	settings.max_attempts = 1;
	atomic_store(&refused, 0);
	atomic_store(&renewed, 0);
	atomic_store(&kept, 0);
	log_set_sink(read_line, NULL);
	if (judge_start(&settings, 1, &judge, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return judge;
}

static void stop(struct judge *judge)
{
	judge_stop(judge);
	log_set_sink(NULL, NULL);
	assert_int_equal(atomic_load(&secrets), 0);
}

/* How many of `count` calls get a verdict. The messages of the others do not tell any key. */
static size_t ask(struct judge *judge, size_t count, const char *tag)
{
	struct judge_batch batch;
	size_t judged = 0;
	judge_batch_init(&batch, judge, count);
	for (size_t i = 0; i < count; i++)
		batch.calls[i].question = arena_printf(batch.calls[i].arena, "%s %zu", tag, i);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < count; i++) {
		const struct judge_verdict *verdict = &batch.calls[i].verdict;
		judged += verdict->error == ERR_OK;
		assert_true(verdict->error == ERR_OK || !strstr(verdict->message.ptr, "sk-"));
	}
	judge_batch_free(&batch);
	return judged;
}

/* A key that is not taken is said once, and aloud; and not every event makes a call in order to be refused.
 */
static void test_refused_key(void **state)
{
	(void)state;
	write_key("sk-wrong");
	expect_key("sk-right");
	struct judge *judge = start();
	assert_int_equal(ask(judge, 200, "q"), 0);
	assert_in_range(judge_server_count(&server, "requests"), 10, 20);
	await_judge_stat(judge, breaker_open, 1);
	assert_int_equal(atomic_load(&refused), 1);
	stop(judge);
}

/* The server takes another key from now on, and the file has it: no call fails. */
static void test_key_is_changed(void **state)
{
	(void)state;
	write_key("sk-first");
	expect_key("sk-first");
	struct judge *judge = start();
	assert_int_equal(ask(judge, 5, "before"), 5);
	write_key("sk-second\n");
	expect_key("sk-second");
	assert_int_equal(ask(judge, 20, "after"), 20);
	assert_int_equal(atomic_load(&renewed), 1);
	assert_int_equal(atomic_load(&refused), 0);
	await_judge_stat(judge, breaker_open, 0);
	stop(judge);
}

/* A key that is refused is looked for again, until there is another one; what holds none changes nothing. */
static void test_key_is_mended(void **state)
{
	(void)state;
	write_key("sk-old");
	expect_key("sk-new");
	struct judge *judge = start();
	assert_int_equal(ask(judge, 1, "refused"), 0);
	write_key("");
	usleep(1100000);
	assert_int_equal(ask(judge, 1, "no key"), 0);
	assert_int_equal(atomic_load(&kept), 1);
	write_key("sk-new");
	usleep(1100000);
	assert_int_equal(ask(judge, 3, "mended"), 3);
	assert_int_equal(atomic_load(&refused), 1);
	stop(judge);
}

/* A reload takes a new key over before the old one is refused. */
static void test_reload_reads_the_key(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	write_key("sk-early");
	expect_key("sk-early");
	struct judge *judge = start();
	assert_int_equal(ask(judge, 2, "early"), 2);
	write_key("sk-late");
	expect_key("sk-late");
	struct judge_settings settings = judge_server_settings(&server);
	settings.api_key_file = path;
	assert_int_equal(judge_reload(judge, &settings, 1, &detail), ERR_OK);
	assert_int_equal(ask(judge, 2, "late"), 2);
	assert_int_equal(judge_server_count(&server, "requests"), 2);
	assert_int_equal(atomic_load(&renewed), 1);
	stop(judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_key),
		cmocka_unit_test(test_key_is_changed),
		cmocka_unit_test(test_key_is_mended),
		cmocka_unit_test(test_reload_reads_the_key),
	};
	return cmocka_run_group_tests_name("key", tests, start_server, stop_server);
}
