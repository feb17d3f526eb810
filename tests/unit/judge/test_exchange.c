#include "judge/exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_US INT64_C(100000000)

/* One exchange that was sent, and has so much time left. */
struct sent {
	struct endpoint endpoint;
	struct judge_call call;
	struct exchange *exchange;
};

static void open_sent(struct sent *sent, int64_t left_ms)
{
	const struct judge_settings settings = { .provider = "openai",
						 .base_url = "http://127.0.0.1/v1",
						 .model = "m" };
	unsigned char key[DIGEST_BYTES];
	*sent = (struct sent){
		.call = { .question = STR("q"), .sql = STR("SELECT 1"), .dialect = "PostgreSQL" }
	};
	assert_int_equal(endpoint_open(&sent->endpoint, &settings, NULL), ERR_OK);
	exchange_key(&sent->endpoint, sent->endpoint.prompts, &sent->call, key);
	sent->exchange = exchange_new(&sent->endpoint, key, 3);
	assert_int_not_equal(sent->exchange->verdict.error, ERR_OK); /* nobody has judged anything yet */
	list_append(&sent->exchange->calls, &sent->call.node);
	assert_int_equal(exchange_write(sent->exchange, &sent->endpoint), ERR_OK);
	sent->exchange->sent_us = NOW_US + left_ms * 1000 - 30000000;
	sent->exchange->timeout_us = 30000000;
	sent->exchange->deadline_us = NOW_US + left_ms * 1000;
	sent->exchange->attempts = 1;
}

static enum exchange_step answer(struct sent *sent, long status, int64_t retry_after_ms, const char *body)
{
	sent->exchange->transfer.outcome = TRANSFER_ANSWERED;
	sent->exchange->transfer.status = status;
	sent->exchange->transfer.retry_after_ms = retry_after_ms;
	buf_reset(&sent->exchange->transfer.response);
	buf_append_text(&sent->exchange->transfer.response, body);
	return exchange_read(sent->exchange, &sent->endpoint, NOW_US);
}

static void close_sent(struct sent *sent)
{
	exchange_free(sent->exchange);
	endpoint_close(&sent->endpoint);
}

/* What is to be sent again may find no time or place for it: until there is a verdict, it is an error. */
static void test_sending_again_is_no_verdict(void **state)
{
	(void)state;
	static const struct {
		long status;
		const char *body;
		err_t error;
	} cases[] = {
		{ 400, "{\"error\": {\"message\": \"response_format is not supported\"}}",
		  ERR_JUDGE_REFUSED },
		{ 200, "nonsense", ERR_JUDGE_REPLY },
		{ 200, "{\"choices\": [{\"message\": {\"content\": \"perhaps\"}}]}", ERR_JUDGE_REPLY },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sent sent;
		open_sent(&sent, 20000);
		assert_int_equal(answer(&sent, cases[i].status, -1, cases[i].body), EXCHANGE_AGAIN);
		assert_string_equal(err_name(sent.exchange->verdict.error), err_name(cases[i].error));
		assert_true(str_present(sent.exchange->verdict.message));
		close_sent(&sent);
	}
}

/* The server's wish comes before the pause of ours, and the deadline before both. */
static void test_pauses(void **state)
{
	(void)state;
	static const struct {
		long status;
		int64_t retry_after_ms, left_ms;
		enum exchange_step step;
		int64_t least_ms, most_ms; /* until it is due; the first pause is 250 ms at most */
	} cases[] = {
		{ 429, -1, 20000, EXCHANGE_LATER, 0, 250 }, { 503, 3000, 20000, EXCHANGE_LATER, 3000, 3250 },
		{ 429, 3000, 3000, EXCHANGE_DONE, 0, 0 },   { 429, 86400000, 29000, EXCHANGE_DONE, 0, 0 },
		{ 503, 0, 20000, EXCHANGE_LATER, 0, 250 },  { 400, 1000, 20000, EXCHANGE_DONE, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sent sent;
		open_sent(&sent, cases[i].left_ms);
		assert_int_equal(answer(&sent, cases[i].status, cases[i].retry_after_ms, "{}"),
				 cases[i].step);
		assert_int_not_equal(sent.exchange->verdict.error, ERR_OK);
		if (cases[i].step == EXCHANGE_LATER)
			assert_in_range(sent.exchange->due_us, NOW_US + cases[i].least_ms * 1000,
					NOW_US + cases[i].most_ms * 1000);
		close_sent(&sent);
	}
}

/* A call that came before the first sending has the time from that, one that joined later from then. */
static void test_deadlines(void **state)
{
	(void)state;
	static const struct {
		int64_t submitted_us, deadline_us;
	} cases[] = { { 1, 45 }, { 15, 45 }, { 16, 46 }, { 40, 70 } };
	const struct exchange exchange = { .sent_us = 15, .timeout_us = 30 };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct judge_call call = { .submitted_us = cases[i].submitted_us };
		assert_int_equal(exchange_deadline_us(&exchange, &call), cases[i].deadline_us);
	}
}

struct asked {
	struct judge_settings settings;
	struct judge_call call;
};

static void key_of(const struct asked *asked, unsigned char ret_key[DIGEST_BYTES])
{
	struct endpoint endpoint;
	assert_int_equal(endpoint_open(&endpoint, &asked->settings, NULL), ERR_OK);
	exchange_key(&endpoint, endpoint.prompts, &asked->call, ret_key);
	endpoint_close(&endpoint);
}

static void write_prompts(const char *folder)
{
	static const char *const names[] = { "relevance", "correctness" };
	for (size_t i = 0; i < 2; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s.txt", folder, names[i]);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fprintf(file,
			"[system]\nother words\n[user]\n{{dialect}} {{nonce}}{{question}}{{nonce}}{{sql}}"
			"{{nonce}}%s{{nonce}}{{schema}}{{nonce}}",
			i ? "{{truth_sql}}" : "");
		fclose(file);
	}
}

/* Verdicts are shared by all who ask with the same key: whatever may change a verdict changes the key, and
 * nothing else does. */
static void test_keys(void **state)
{
	(void)state;
	const struct asked base = {
		.settings = { .provider = "openai", .base_url = "http://127.0.0.1/v1", .model = "m" },
		.call = { .kind = JUDGE_CORRECTNESS,
			  .question = STR("q"),
			  .sql = STR("SELECT 1"),
			  .truth_sql = STR("SELECT 2"),
			  .schema = STR("t (a integer)"),
			  .dialect = "PostgreSQL" },
	};
	struct asked all[10];
	char folder[] = "/tmp/judge-prompts-XXXXXX", command[64];
	unsigned char keys[10][DIGEST_BYTES], key[DIGEST_BYTES];
	assert_non_null(mkdtemp(folder));
	write_prompts(folder);
	for (size_t i = 0; i < 10; i++)
		all[i] = base;
	all[1].settings.provider = "anthropic";
	all[2].settings.model = "n";
	all[3].settings.prompt_directory = folder;
	all[4].call.kind = JUDGE_RELEVANCE;
	all[5].call.question = STR("p");
	all[6].call.sql = STR("SELECT 2");
	all[7].call.truth_sql = STR("SELECT 1");
	all[8].call.schema = STR_NONE;
	all[9].call.dialect = "SQLite";
	for (size_t i = 0; i < 10; i++) {
		key_of(&all[i], keys[i]);
		for (size_t k = 0; k < i; k++)
			if (memcmp(keys[i], keys[k], DIGEST_BYTES) == 0)
				fail_msg("%zu and %zu have the same key", i, k);
	}
	struct asked same = base;
	same.settings.base_url = "https://judge.example/v1";
	same.settings.timeout_ms = 1;
	same.call.submitted_us = 5;
	key_of(&same, key);
	assert_memory_equal(key, keys[0], DIGEST_BYTES);
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sending_again_is_no_verdict),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_keys),
	};
	return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
