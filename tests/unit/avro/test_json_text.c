#include "support.h"

#include "tests/harness/json_oracle.h"

#include <dirent.h>
#include <time.h>

#define MUTANTS	   20000
#define LARGE_SIZE 1000000
#define TEXT_SIZE  8192

static uint64_t random_state = 88172645463325252;

static size_t random_below(size_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % limit);
}

static void check_agreement(str_t json)
{
	if (!json_oracle_agrees(json))
		fail_msg("%.*s", (int)json.len, json.ptr);
}

/* Another parser is the judge: of each of these, whether it is JSON, and what it says. */
static void test_texts(void **state)
{
	(void)state;
	static const char *const TEXTS[] = {
		"",
		" \t\r\n",
		"null",
		" true ",
		"truex",
		"nul",
		"[]",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1",
		"[1}",
		"{}",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{\"a\"}",
		"{a:1}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}",
		"{\"a\":{\"a\":1},\"b\":{\"a\":[{\"a\":2}]}}",
		"{\"\\u0000\":1}",
		"\"\\u0000\"",
		"\"\\ud83d\\ude00 \\u20ac \\u00e9 \\u007f \\\" \\\\ \\/ \\b \\f \\n \\r \\t\"",
		"\"\\ud83d\"",
		"\"\\ude00\"",
		"\"\\ud83dx\"",
		"\"\\ud83d\\u0041\"",
		"\"\\u12g4\"",
		"\"\\u12",
		"\"\\x\"",
		"\"\\",
		"\"\t\"",
		"\"open",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
		"\"\xe2\x82\"",
		"\"\xed\xa0\x80\"",
		"\"\xc0\x80\"",
		"[\xff]",
		"\xef\xbb\xbf[]",
		"/* */ 1",
		"'a'",
	};
	for (size_t i = 0; i < COUNT_OF(TEXTS); i++)
		check_agreement(str_from(TEXTS[i]));
	check_agreement(BYTES("[1,\0 2]"));
	check_agreement(BYTES("\"a\0b\""));
}

static void test_numbers(void **state)
{
	(void)state;
	static const char *const NUMBERS[] = {
		"0",
		"-0",
		"-0.0",
		"0e999",
		"-",
		"+1",
		"01",
		"-01",
		"1.",
		".5",
		"1e",
		"1e+",
		"1E-2",
		"0x10",
		"Infinity",
		"NaN",
		"9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808",
		"-9223372036854775809",
		"18446744073709551616",
		"99999999999999999999999",
		"9007199254740993.0",
		"9007199254740992e22",
		"9007199254740993e22",
		"1e22",
		"1e23",
		"123456789e-22",
		"123456789e-23",
		"0.30000000000000004",
		"2.2250738585072011e-308",
		"4.9e-324",
		"1e-400",
		"-1e-400",
		"1.7976931348623157e308",
		"1.7976931348623159e308",
		"1e309",
		"-1e309",
		"1e99999999999999999999",
		"1e-99999999999999999999",
		"179769313486231580793728971405301199e273",
	};
	for (size_t i = 0; i < COUNT_OF(NUMBERS); i++)
		check_agreement(str_from(NUMBERS[i]));
	for (int i = 0; i < MUTANTS; i++) {
		char text[64];
		snprintf(text, sizeof text, "%s%zu.%0*zue%d", random_below(2) ? "-" : "",
			 random_below(SIZE_MAX) >> random_below(64), (int)random_below(12) + 1,
			 random_below(1000), (int)random_below(60) - 30);
		check_agreement(str_from(text));
	}
}

/* Texts of a corpus and of our own records, each with a few bytes of it taken out, changed or put in. */
static void mutate(const struct buf *text)
{
	static const char *const PIECES[] = { "{",  "}",  "[",	  "]",	  ",",	     ":",	"\"",
					      "\\", "0",  "-",	  "1e9",  ".",	     "\xff",	"\xe2\x82",
					      " ",  "\n", "null", "true", "\\u0041", "\\ud83d", "\"a\":" };
	struct buf mutant = BUF_INIT;
	for (size_t changes = random_below(3) + 1, from = 0; changes > 0; changes--) {
		size_t at = from + random_below(text->len - from + 1);
		const char *piece = PIECES[random_below(COUNT_OF(PIECES))];
		buf_append(&mutant, text->data + from, at - from);
		if (random_below(3))
			buf_append_text(&mutant, piece);
		from = at + random_below(3);
		if (from > text->len)
			from = text->len;
		if (changes == 1)
			buf_append(&mutant, text->data + from, text->len - from);
	}
	/* of the exact size, so that reading beyond it is noticed */
	char *exact = malloc(mutant.len + 1);
	assert_non_null(exact);
	memcpy(exact + 1, mutant.data, mutant.len);
	check_agreement((str_t){ exact + 1, mutant.len });
	free(exact);
	buf_free(&mutant);
}

static void test_mutants(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	assert_true(read_whole_file(ASSAYD_SOURCE_DIR "/tests/fuzz/seeds/fuzz_avro_json/scored", &text));
	memmove(text.data, text.data + 1, --text.len);
	check_agreement(buf_str(&text));
	for (int i = 0; i < MUTANTS / 10; i++)
		mutate(&text);
}

static void test_corpus(void **state)
{
	(void)state;
	const char *folder = corpus_path("json/test_parsing");
	if (!folder)
		skip();
	DIR *directory = opendir(folder);
	assert_non_null(directory);
	for (const struct dirent *file; (file = readdir(directory));) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		char path[2048];
		snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		if (!strstr(path, ".json") || !read_whole_file(path, &text) || text.len == 0)
			continue;
		check_agreement(buf_str(&text));
		for (int i = 0; i < 20 && text.len < TEXT_SIZE; i++)
			mutate(&text);
	}
	closedir(directory);
}

/* A large text of one piece again and again, with a number in it. */
static struct buf repeated(const char *open, const char *before, const char *behind, const char *close)
{
	struct buf text = BUF_INIT;
	buf_append_text(&text, open);
	for (int i = 0; text.len < LARGE_SIZE; i++)
		buf_printf(&text, "%s%d%s", before, i, behind);
	buf_append_text(&text, close);
	return text;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Time and memory are linear: a megabyte of anything is read within the time of a thousand small texts. */
static void test_large_texts(void **state)
{
	(void)state;
	static const struct {
		const char *open, *before, *behind, *close;
		err_t err;
	} CASES[] = {
		{ "[0", ",[", "]", "]", ERR_OK },
		{ "{\"\":0", ",\"", "\":0", "}", ERR_OK },
		{ "{\"\":0", ",\"\\u0041", "\":0", "}", ERR_OK },
		{ "{\"\":0", ",\"", "\":0", ",\"1\":0}", ERR_JSON_SYNTAX },
		{ "[0.", "", "", "]", ERR_OK },
		{ "[1", "", "", "]", ERR_JSON_SHAPE },
		{ "\"", "\\ud83d\\ude00", "", "\"", ERR_OK },
		{ "", "[", ",", "", ERR_JSON_SYNTAX },
		{ "", " ", "", "", ERR_JSON_SYNTAX },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf json =
			repeated(CASES[i].open, CASES[i].before, CASES[i].behind, CASES[i].close);
		struct json_text text;
		struct err_detail detail = { "" };
		double start_s = cpu_s();
		err_t err = json_text_parse(buf_str(&json), &text, &detail);
		if (!err)
			json_text_free(&text);
		if (err != CASES[i].err || cpu_s() - start_s > 5)
			fail_msg("%s: %s %s, %.1f s", CASES[i].before, err_name(err), detail.message,
				 cpu_s() - start_s);
	}
}

/* Line, column and words of what is wrong. */
static void test_messages(void **state)
{
	(void)state;
	static const struct {
		const char *json;
		err_t err;
		const char *message;
	} CASES[] = {
		{ "", ERR_JSON_SYNTAX, "the text is empty; expected an object, { … }" },
		{ "{", ERR_JSON_SYNTAX, "column 1: expected a name in quotes, but the text ends" },
		{ "{\"a\" 1}", ERR_JSON_SYNTAX, "column 6: expected ':'" },
		{ "{\"é\":\n [1;2]}", ERR_JSON_SYNTAX, "line 2, column 4: expected ',' or ']'" },
		{ "{\"a\":1 \"b\":2}", ERR_JSON_SYNTAX, "column 8: expected ',' or '}'" },
		{ "[nil]", ERR_JSON_SYNTAX, "column 2: expected a value" },
		{ "[-a]", ERR_JSON_SYNTAX, "column 3: expected a digit" },
		{ "[\"a\nb\"]", ERR_JSON_SYNTAX, "column 3: a control character has to be escaped" },
		{ "\"ab", ERR_JSON_SYNTAX, "column 3: expected a closing quote, but the text ends" },
		{ "\"\\q\"", ERR_JSON_SYNTAX, "column 3: an unknown escape" },
		{ "\"\\u12x4\"", ERR_JSON_SYNTAX, "column 6: \\u needs four hexadecimal digits" },
		{ "\"\\ud83d!\"", ERR_JSON_SYNTAX, "column 8: half of a surrogate pair" },
		{ "\"é\xff\"", ERR_TEXT_ENCODING, "column 2: invalid UTF-8" },
		{ "{\"a\":1,\"a\":1}", ERR_JSON_SYNTAX, "column 10: duplicate name" },
		{ "{\"\\u0000\":1}", ERR_JSON_SYNTAX, "column 9: a name with a NUL" },
		{ "[1e999]", ERR_JSON_SHAPE, "column 6: overflow of a number" },
		{ "9223372036854775808", ERR_JSON_SHAPE, "column 19: a whole number is too big" },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct json_text text;
		struct err_detail detail = { "" };
		err_t err = json_text_parse(str_from(CASES[i].json), &text, &detail);
		if (err != CASES[i].err || strcmp(detail.message, CASES[i].message) != 0)
			fail_msg("%s: %s %s", CASES[i].json, err_name(err), detail.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),	    cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_mutants),	    cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_large_texts), cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
