#include "sql/lex/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static word_id stem(const char *word)
{
	char lower[WORD_BYTES_MAX];
	return word_stem(lower, word_lower(str_from(word), lower));
}

static void test_stems(void **state)
{
	(void)state;
	static const struct {
		const char *one, *other;
		bool same;
	} cases[] = {
		{ "Drivers", "driver", true },
		{ "cities", "city", true },
		{ "boxes", "box", true },
		{ "matches", "match", true },
		{ "glass", "glasses", true },
		{ "status", "statu", false },
		{ "bus", "bu", false },
		{ "car", "cart", false },
		{ "\xC3\x89T\xC3\x89", "\xC3\xA9t\xC3\xA9", true },
		{ "\xD0\x9C\xD0\x98\xD0\xA0", "\xD0\xBC\xD0\xB8\xD1\x80", true },
		{ "\xCE\x91\xCE\x92", "\xCE\xB1\xCE\xB2", true },
		{ "\xC5\xBD", "\xC5\xBE", true },
		{ "\xC4\x8C", "\xC4\x8D", true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if ((stem(cases[i].one) == stem(cases[i].other)) != cases[i].same)
			fail_msg("%s and %s", cases[i].one, cases[i].other);
	assert_int_equal(stem(""), 0);
}

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		const char *words[5];
	} cases[] = {
		{ "FreeMealCount", { "free", "meal", "count" } },
		{ "free_meal_counts", { "free", "meal", "count" } },
		{ "Free Meal Count (K-12)", { "free", "meal", "count", "k", "12" } },
		{ "HTTPServer", { "http", "server" } },
		{ "driverId", { "driver", "id" } },
		{ "NumGE1500", { "num", "ge", "1500" } },
		{ "gr\xC3\xB6\xC3\x9F"
		  "eCm",
		  { "gr\xC3\xB6\xC3\x9F"
		    "e",
		    "cm" } },
		{ "a\xFF"
		  "b",
		  { "a", "b" } },
		{ "__", { NULL } },
		{ "one two three four five six", { "one", "two", "three", "four", "five" } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		word_id ids[5];
		size_t count = words_of_name(str_from(cases[i].name), ids, 5), expected = 0;
		while (expected < 5 && cases[i].words[expected])
			expected++;
		if (count != expected)
			fail_msg("%s has %zu words", cases[i].name, count);
		for (size_t j = 0; j < count; j++)
			if (ids[j] != stem(cases[i].words[j]))
				fail_msg("%s: word %zu", cases[i].name, j);
	}
}

static void test_sets_are_bounded(void **state)
{
	(void)state;
	static struct word_set set;
	memset(&set, 0xA5, sizeof set);
	word_set_clear(&set);
	assert_false(word_set_has(&set, UINT64_C(0xA5A5A5A5A5A5A5A5)));
	for (word_id id = 1; id < 5000; id++)
		word_set_add(&set, id * 977);
	assert_true(set.count < WORD_SET_SLOTS);
	assert_true(word_set_has(&set, 977));
	assert_false(word_set_has(&set, 976));
	assert_false(word_set_has(&set, 0));
}

/* What is kept of a name is what splitting it anew gives. */
static void check_kept(str_t name, struct arena *arena)
{
	char lower[WORD_BYTES_MAX];
	word_id ids[100];
	const struct name_words kept = words_keep(name, arena);
	size_t count = words_of_name(name, ids, NAME_WORDS_MAX);
	size_t all = words_of_name(name, ids, sizeof ids / sizeof ids[0]);
	assert_int_equal(kept.whole, word_stem(lower, word_lower(name, lower)));
	assert_int_equal(kept.count, count);
	assert_true(all >= count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(kept.ids[i], ids[i]);
}

static void test_kept(void **state)
{
	(void)state;
	static const char *const names[] = {
		"",
		"id",
		"_",
		"12",
		"a1b22c",
		"FreeMealCount",
		"HTTPServer",
		"ABC",
		"ABCd",
		"x\xC3\x89t\xC3\xA9",
		"\xD0\x9C\xD0\x98\xD0\xA0",
		"\xFF\xFE",
		"a\xFF"
		"B",
		"A\xC3\x89"
		"b",
		"one two three four five six seven eight nine ten eleven twelve thirteen",
		"a_name_that_is_longer_than_forty_bytes_and_more",
		"cities",
		"ss"
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		check_kept(str_from(names[i]), arena);
	check_kept(STR_NONE, arena);
	check_kept((str_t){ "a\0b", 3 }, arena);
	static char large[64 << 10];
	static const char letters[] = "aZ_9\xC3\xA9 ";
	memset(large, 'a', sizeof large);
	check_kept((str_t){ large, sizeof large }, arena);
	for (size_t i = 0; i < sizeof large; i++)
		large[i] = letters[i * 2654435761U / 7 % (sizeof letters - 1)];
	check_kept((str_t){ large, sizeof large }, arena);
}

/* By one byte at a time, whatever the length and the letters: ASCII is read by eight, and cut after 39. */
static void test_lower_case(void **state)
{
	(void)state;
	char text[64], lower[WORD_BYTES_MAX];
	for (size_t len = 0; len < sizeof text; len++)
		for (unsigned turn = 0; turn < 256; turn++) {
			for (size_t i = 0; i < len; i++)
				text[i] = (char)((turn + i * 37) % 128);
			size_t expected = len < WORD_BYTES_MAX - 1 ? len : WORD_BYTES_MAX - 1;
			assert_int_equal(word_lower((str_t){ text, len }, lower), expected);
			for (size_t i = 0; i < expected; i++)
				assert_int_equal(lower[i],
						 text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
			if (len == 0 || turn >= len)
				continue;
			text[turn] = (char)0xFF; /* no UTF-8: it stays */
			assert_int_equal(word_lower((str_t){ text, len }, lower), expected);
			for (size_t i = 0; i < expected; i++)
				assert_int_equal(lower[i],
						 text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stems),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sets_are_bounded),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_lower_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
