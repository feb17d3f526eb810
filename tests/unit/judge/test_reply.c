#include "judge/reply.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

typedef err_t reader(str_t text, struct arena *arena, struct reply *ret_reply, struct err_detail *detail);

static void check(reader *read, const char *text, bool readable, double score, const char *reason)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct reply reply = { -1, STR_NONE };
	struct err_detail detail = { "" };
	err_t err = read(str_from(text), arena, &reply, &detail);
	if ((err == ERR_OK) != readable)
		fail_msg("%s: %s", text, readable ? detail.message : "was read");
	if (!readable) {
		assert_int_equal(err, ERR_JUDGE_REPLY);
		assert_true(reply.score == -1);
		assert_non_null(strstr(detail.message, "cannot be read as a verdict: "));
		return;
	}
	assert_true(reply.score == score);
	assert_int_equal(!reason, !reply.reason.ptr);
	if (reason)
		assert_string_equal(reply.reason.ptr, reason);
}

static void test_relevance(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double score;
		const char *reason;
	} cases[] = {
		{ "{\"score\": 95, \"reason\": \"good\"}", 95, "good" },
		{ "{\"reason\":\"good\",\"score\":95}", 95, "good" },
		{ "  \n{\"score\":0,\"reason\":\"\"}\n", 0, "" },
		{ "{\"score\": 100}", 100, NULL },
		{ "{\"score\": 100, \"reason\": null}", 100, NULL },
		{ "{\"score\": 95.0, \"reason\": \"r\"}", 95, "r" },
		{ "{\"score\": 9.5e1, \"reason\": \"r\"}", 95, "r" },
		{ "{\"score\": -0, \"reason\": \"r\"}", 0, "r" },
		{ "Sure!\n```json\n{\"score\": 7, \"reason\": \"r\"}\n```\nDone.", 7, "r" },
		{ "The set {a, b} matters. {\"score\": 7, \"reason\": \"r\"} {x}", 7, "r" },
		{ "[{\"score\": 7, \"reason\": \"r\"}]", 7, "r" },
		{ "{\"score\": 7, \"reason\": \"r\", \"issues\": [\"a\", [1, [2]]], \"sure\": true}", 7,
		  "r" },
		{ "{\"score\": 7, \"reason\": \"has } and { and \\\" and \\\\\"}", 7,
		  "has } and { and \" and \\" },
		{ "{\"score\": 7, \"reason\": \"{\\\"score\\\": 99}\"}", 7, "{\"score\": 99}" },
		{ "{\"score\": 7, \"reason\": \"\\u00e4\\ud83d\\ude00\"}", 7, "\xc3\xa4\xf0\x9f\x98\x80" },
		{ "{ \t\r\n\"score\": 7 }", 7, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check(reply_read_relevance, cases[i].text, true, cases[i].score, cases[i].reason);
}

static void test_relevance_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		" ",
		"95",
		"score: 95",
		"null",
		"[]",
		"[95]",
		"{}",
		"{\"reason\": \"r\"}",
		/* type and range */
		"{\"score\": \"95\", \"reason\": \"r\"}",
		"{\"score\": 95.5, \"reason\": \"r\"}",
		"{\"score\": 101, \"reason\": \"r\"}",
		"{\"score\": -1, \"reason\": \"r\"}",
		"{\"score\": 100.0000001, \"reason\": \"r\"}",
		"{\"score\": null, \"reason\": \"r\"}",
		"{\"score\": true, \"reason\": \"r\"}",
		"{\"score\": [95], \"reason\": \"r\"}",
		"{\"score\": 1e400, \"reason\": \"r\"}",
		"{\"score\": 99999999999999999999, \"reason\": \"r\"}",
		"{\"score\": NaN, \"reason\": \"r\"}",
		"{\"score\": Infinity}",
		"{\"score\": 0x5f}",
		"{\"score\": 095}",
		"{\"score\": +95}",
		"{\"score\": 95.}",
		"{\"score\": .5e2}",
		"{\"Score\": 95, \"reason\": \"r\"}",
		"{\"verdict\": \"correct\", \"reason\": \"r\"}",
		"{\"score\": 95, \"reason\": 5}",
		"{\"score\": 95, \"reason\": [\"r\"]}",
		/* not JSON */
		"{\"score\": 95,}",
		"{\"score\": 95, \"reason\": \"r\",}",
		"{'score': 95}",
		"{score: 95}",
		"{\"score\": 95 \"reason\": \"r\"}",
		"{\"score\": 95, // sure\n\"reason\": \"r\"}",
		"{\"score\": 95",
		"{\"score\": 95, \"reason\": \"r",
		"{\"score\": 95, \"reason\": \"r\\",
		"\"score\": 95}",
		"{\"score\": 95, \"reason\": \"a\nb\"}",
		"{\"score\": 95, \"reason\": \"\\x41\"}",
		"{\"score\": 95, \"reason\": \"\\ud83d\"}",
		"{\"score\": 95, \"reason\": \"\\ude00\"}",
		"{\"score\": 95, \"reason\": \"\\u0000\"}",
		"{\"score\": 95, \"reason\": \"\xff\"}",
		/* more than one verdict */
		"{\"score\": 95}{\"score\": 95}",
		"{\"score\": 1} or {\"score\": 100}",
		"{\"note\": 1} {\"score\": 95}",
		"{} {\"score\": 95}",
		"[{\"score\": 95}, {\"score\": 94}]",
		"{\"score\": 95, \"score\": 10}",
		"{\"score\": {\"score\": 95}}",
		"{\"score\": 95, \"more\": {\"score\": 10}}",
		"{\"score\": 95, \"more\": [{\"score\": 10}]}",
		"{\"score\": 1, {\"score\": 95}}",
		"{\"broken\": {\"score\": 95}",
		"{\"score\": 95} {\"",
		"{\"a\": ]} {\"score\": 95}",
		"He wrote \"{\" and then {\"score\": 95}",
		/* too deep */
		"{\"score\": 95, \"x\": [[[[[[[[[]]]]]]]]]}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		check(reply_read_relevance, texts[i], false, 0, NULL);
}

static void test_correctness(void **state)
{
	(void)state;
	check(reply_read_correctness, "{\"verdict\": \"correct\", \"reason\": \"r\"}", true, 1.0, "r");
	check(reply_read_correctness, "{\"verdict\": \"partial\", \"reason\": \"r\"}", true, 0.5, "r");
	check(reply_read_correctness, "x {\"reason\": \"r\", \"verdict\": \"incorrect\"} y", true, 0.0, "r");
	static const char *const refused[] = {
		"correct",
		"{\"verdict\": \"Correct\"}",
		"{\"verdict\": \"mostly correct\"}",
		"{\"verdict\": 1}",
		"{\"verdict\": null}",
		"{\"verdict\": \"\"}",
		"{\"score\": 100}",
		"{\"verdict\": [\"correct\"]}",
		"{\"verdict\": \"correct\"} {\"verdict\": \"incorrect\"}",
		"{\"verdict\": \"correct\", \"verdict\": \"incorrect\"}",
		"{\"verdict\": \"correct\\u0000\"}",
	};
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		check(reply_read_correctness, refused[i], false, 0, NULL);
}

/* "é" is two bytes: a reason of 1,999 ASCII bytes and one é must lose all of the é. */
static void test_reason_is_cut_at_a_character(void **state)
{
	(void)state;
	static const struct {
		size_t ascii;
		const char *tail;
		size_t expected;
	} cases[] = {
		{ 2000, "", 2000 },
		{ 2001, "", 2000 },
		{ 1998, "\xc3\xa9", 2000 },
		{ 1999, "\xc3\xa9", 1999 },
		{ 1997, "\xf0\x9f\x98\x80", 1997 },
		{ 1996, "\xf0\x9f\x98\x80", 2000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct reply reply;
		buf_append_text(&text, "{\"score\": 1, \"reason\": \"");
		memset(buf_reserve(&text, cases[i].ascii), 'a', cases[i].ascii);
		text.len += cases[i].ascii;
		buf_printf(&text, "%s\"}", cases[i].tail);
		assert_int_equal(reply_read_relevance(buf_str(&text), arena, &reply, NULL), ERR_OK);
		assert_int_equal(reply.reason.len, cases[i].expected);
	}
}

static void test_bounds(void **state)
{
	(void)state;
	static const char *const fillers[] = { "{", "[", "{\"a\":", "\"", "\\", "{\"", " " };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct reply reply;
	for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		while (text.len < REPLY_SIZE_MAX - 8)
			buf_append_text(&text, fillers[i]);
		assert_int_equal(reply_read_relevance(buf_str(&text), arena, &reply, NULL), ERR_JUDGE_REPLY);
		buf_append_text(&text, "        {\"score\": 5}");
		assert_int_equal(reply_read_relevance(buf_str(&text), arena, &reply, NULL), ERR_JUDGE_REPLY);
	}
	assert_int_equal(reply_read_relevance(STR("{\"score\"\0: 5}"), arena, &reply, NULL), ERR_JUDGE_REPLY);
	assert_int_equal(reply_read_relevance(STR("{\"score\": 5}\0"), arena, &reply, NULL), ERR_OK);
}

/* --- a public collection of JSON texts: y_ are valid, n_ are not, i_ may be either --- */

static bool read_file(const char *path, struct buf *text)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t len;
	while ((len = fread(buf_reserve(text, 65536), 1, 65536, file)) > 0)
		text->len += len;
	return true;
}

/* Valid JSON that we refuse on purpose: further objects, and U+0000 (unless its backslash is escaped). */
static bool refused_on_purpose(str_t text)
{
	return memchr(text.ptr, '{', text.len) ||
	       (memmem(text.ptr, text.len, "\\u0000", 6) && !memmem(text.ptr, text.len, "\\\\u0000", 7));
}

static void check_corpus_file(const char *path, char kind)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct reply reply;
	assert_true(read_file(path, &content));
	buf_append_text(&text, "{\"score\": 5, \"reason\": \"r\", \"extra\": ");
	buf_append_str(&text, buf_str(&content));
	buf_append_text(&text, "}");
	err_t err = reply_read_relevance(buf_str(&text), arena, &reply, NULL);
	if (kind == 'y' && (err == ERR_OK) == refused_on_purpose(buf_str(&content)))
		fail_msg("%s: %s", path, err_name(err));
	if (kind == 'n' && err == ERR_OK)
		fail_msg("%s was read", path);
	assert_int_equal(reply_read_correctness(buf_str(&content), arena, &reply, NULL), ERR_JUDGE_REPLY);
}

static void test_json_corpus(void **state)
{
	(void)state;
	const char *corpora = getenv("ASSAYD_CORPORA");
	char folder[512], path[1024];
	snprintf(folder, sizeof folder, "%s/json/test_parsing",
		 corpora ? corpora : ASSAYD_SOURCE_DIR "/../shared/corpora");
	DIR *directory = opendir(folder);
	if (!directory) {
		print_message("skipped: no JSON corpus in %s\n", folder);
		skip();
	}
	size_t count = 0;
	for (struct dirent *file; (file = readdir(directory));) {
		if (file->d_name[1] != '_')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		check_corpus_file(path, file->d_name[0]);
		count++;
	}
	closedir(directory);
	print_message("%zu texts of the JSON corpus\n", count);
	assert_true(count > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relevance),   cmocka_unit_test(test_relevance_refused),
		cmocka_unit_test(test_correctness), cmocka_unit_test(test_reason_is_cut_at_a_character),
		cmocka_unit_test(test_bounds),	    cmocka_unit_test(test_json_corpus),
	};
	return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}
