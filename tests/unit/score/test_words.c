#include "score/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "score/question.h"
#include "score/sketch.h"

static word_id stem(const char *word)
{
	char lower[WORD_BYTES];
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

/* Both tables are searched by halves. */
static void test_tables_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned senses;
	} senses[] = {
#define WORD(text, senses) { text, senses },
#include "score/question_words.def"
#undef WORD
	};
	for (size_t i = 0; i < sizeof senses / sizeof senses[0]; i++)
		if (question_senses(senses[i].text, strlen(senses[i].text)) != senses[i].senses)
			fail_msg("%s is not found", senses[i].text);
	assert_int_equal(question_senses("zebra", 5), 0);
	assert_int_equal(question_senses("th", 2), 0);
	static const char *const words[] = {
#define SKETCH_WORD(symbol, text) text,
#include "score/sketch_words.def"
#undef SKETCH_WORD
	};
	struct sketch *sketch = test_malloc(sizeof *sketch);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		sketch_read(str_from(words[i]), SQL_POSTGRESQL, sketch);
		if (sketch->count != 1 || sketch->tokens[0].word != (enum sketch_word)i)
			fail_msg("%s is not found", words[i]);
	}
	test_free(sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stems),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sets_are_bounded),
		cmocka_unit_test(test_tables_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
