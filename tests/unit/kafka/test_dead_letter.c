#include "kafka/dead_letter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A header; the name NULL ends a list. */
struct given {
	const char *name;
	str_t value;
};

#define PLACE                                                                                                \
	{ "topic", STR("in") }, { "partition", STR("3") },                                                   \
	{                                                                                                    \
		"offset", STR("17")                                                                          \
	}
#define WHOLE { "reason", STR("json_syntax") }, { "detail", STR("why") }, PLACE

static rd_kafka_headers_t *headers_of(const struct given *given)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
	for (; given->name; given++)
		rd_kafka_header_add(headers, given->name, -1, given->value.ptr, (ssize_t)given->value.len);
	return headers;
}

static void what_is_a_dead_letter(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct given given[12];
		bool is;
		bool cut;
		uint32_t redriven;
	} cases[] = {
		{ "nothing", { { NULL } }, false, false, 0 },
		{ "whole", { WHOLE }, true, false, 0 },
		{ "without a detail", { { "reason", STR("a_1") }, PLACE }, true, false, 0 },
		{ "without a reason", { { "detail", STR("why") }, PLACE }, false, false, 0 },
		{ "an empty reason", { { "reason", STR("") }, PLACE }, false, false, 0 },
		{ "a null reason", { { "reason", STR_NONE }, PLACE }, false, false, 0 },
		{ "a reason for the terminal", { { "reason", STR("a\033[31m") }, PLACE }, false, false, 0 },
		{ "a reason in capitals", { { "reason", STR("Json") }, PLACE }, false, false, 0 },
		{ "a reason with a NUL", { { "reason", { "a\0b", 3 } }, PLACE }, false, false, 0 },
		{ "a long reason",
		  { { "reason", STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") },
		    PLACE },
		  false,
		  false,
		  0 },
		{ "no topic",
		  { { "reason", STR("a") }, { "partition", STR("1") }, { "offset", STR("1") } },
		  false,
		  false,
		  0 },
		{ "no partition",
		  { { "reason", STR("a") }, { "topic", STR("t") }, { "offset", STR("1") } },
		  false,
		  false,
		  0 },
		{ "no offset",
		  { { "reason", STR("a") }, { "topic", STR("t") }, { "partition", STR("1") } },
		  false,
		  false,
		  0 },
		{ "a partition below 0", { WHOLE, { "partition", STR("-1") } }, false, false, 0 },
		{ "a partition above all", { WHOLE, { "partition", STR("2147483648") } }, false, false, 0 },
		{ "an offset above all",
		  { WHOLE, { "offset", STR("9223372036854775808") } },
		  false,
		  false,
		  0 },
		{ "the largest offset", { WHOLE, { "offset", STR("9223372036854775807") } }, true, false, 0 },
		{ "an offset that is none", { WHOLE, { "offset", STR("1 ") } }, false, false, 0 },
		{ "an empty offset", { WHOLE, { "offset", STR("") } }, false, false, 0 },
		{ "the last one counts", { { "reason", STR("!") }, WHOLE }, true, false, 0 },
		{ "cut", { WHOLE, { "length", STR("9") }, { "sha256", STR("x") } }, true, true, 0 },
		{ "a digest alone", { WHOLE, { "sha256", STR("") } }, true, true, 0 },
		{ "put back before", { { "redriven", STR("2") }, WHOLE }, true, false, 2 },
		{ "several times",
		  { { "redriven", STR("2") }, { "redriven", STR("7") }, { "redriven", STR("1") }, WHOLE },
		  true,
		  false,
		  7 },
		{ "as often as never",
		  { { "redriven", STR("99999999999999999999") },
		    { "redriven", STR("-3") },
		    { "redriven", STR_NONE },
		    { "redriven", STR("x") },
		    WHOLE },
		  true,
		  false,
		  0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		rd_kafka_headers_t *headers = headers_of(cases[i].given);
		struct dead_letter letter = { .redriven = 0 };
		if (dead_letter_read(headers, &letter) != cases[i].is)
			fail_msg("%s", cases[i].name);
		if (letter.cut != cases[i].cut || letter.redriven != cases[i].redriven)
			fail_msg("%s: cut %d, put back %u times", cases[i].name, letter.cut, letter.redriven);
		rd_kafka_headers_destroy(headers);
	}
	struct dead_letter letter;
	assert_false(dead_letter_read(NULL, &letter));
}

static void where_it_came_from(void **state)
{
	(void)state;
	rd_kafka_headers_t *headers = headers_of((const struct given[]){ WHOLE, { NULL } });
	struct dead_letter letter;
	assert_true(dead_letter_read(headers, &letter));
	assert_true(str_is(letter.reason, "json_syntax") && str_is(letter.detail, "why") &&
		    str_is(letter.topic, "in"));
	assert_int_equal(letter.partition, 3);
	assert_int_equal(letter.offset, 17);
	rd_kafka_headers_destroy(headers);
}

/* The marks first, then what the event had, in its order: doubled, empty and null ones, too. */
static void headers_of_the_event(void **state)
{
	(void)state;
	static const struct given given[] = {
		{ "traceparent", STR("00-a") },
		{ "redriven", STR("2") },
		{ "redriven_from", STR("forged") },
		{ "tenant", { "\0\377", 2 } },
		{ "redriven_reason", STR("former") },
		{ "tenant", STR("") },
		{ "none", STR_NONE },
		{ "redrive_receipt", STR("1") },
		WHOLE,
		{ NULL },
	};
	static const struct given expected[] = {
		{ "redriven", STR("3") },
		{ "redriven_from", STR("letters/5/42") },
		{ "redriven_reason", STR("json_syntax") },
		{ "traceparent", STR("00-a") },
		{ "tenant", { "\0\377", 2 } },
		{ "tenant", STR("") },
		{ "none", STR_NONE },
		{ "redrive_receipt", STR("1") },
	};
	rd_kafka_headers_t *headers = headers_of(given);
	struct dead_letter letter;
	assert_true(dead_letter_read(headers, &letter));
	rd_kafka_headers_t *made = dead_letter_event_headers(headers, &letter, "letters", 5, 42);
	assert_int_equal(rd_kafka_header_cnt(made), sizeof expected / sizeof *expected);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		const char *name;
		const void *value;
		size_t len;
		assert_int_equal(rd_kafka_header_get_all(made, i, &name, &value, &len), 0);
		assert_string_equal(name, expected[i].name);
		if (!str_equal((str_t){ value, len }, expected[i].value))
			fail_msg("%s", name);
	}
	rd_kafka_headers_destroy(made);
	rd_kafka_headers_destroy(headers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_dead_letter),
		cmocka_unit_test(where_it_came_from),
		cmocka_unit_test(headers_of_the_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
