/* Dates of mongosh texts as milliseconds, and back. */
#include "sql/mongodb/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static const struct {
	const char *text; /* a literal value */
	const char *written;
	int64_t ms;
} dates[] = {
	{ "ISODate('1970-01-01')", "1970-01-01T00:00:00.000Z", 0 },
	{ "ISODate('2024-02-29T12:34:56.789Z')", "2024-02-29T12:34:56.789Z", 1709210096789 },
	{ "new Date('2024-02-29T12:34:56.7891Z')", "2024-02-29T12:34:56.789Z", 1709210096789 },
	{ "ISODate('2024-02-29T12:34:56+02:00')", "2024-02-29T10:34:56.000Z", 1709202896000 },
	{ "ISODate('2024-02-29T12:34:56-0130')", "2024-02-29T14:04:56.000Z", 1709215496000 },
	{ "ISODate('2024-02-29 12:34')", "2024-02-29T12:34:00.000Z", 1709210040000 },
	{ "ISODate('2024')", "2024-01-01T00:00:00.000Z", 1704067200000 },
	{ "ISODate('1969-12-31T23:59:59.999Z')", "1969-12-31T23:59:59.999Z", -1 },
	{ "ISODate('0000-01-01')", "0000-01-01T00:00:00.000Z", -62167219200000 },
	{ "ISODate('9999-12-31T24:00Z')", "10000-01-01T00:00:00.000Z", 253402300800000 },
	{ "ISODate('2023-02-30')", "2023-03-02T00:00:00.000Z", 1677715200000 },
	{ "new Date(1709210096789)", "2024-02-29T12:34:56.789Z", 1709210096789 },
	{ "new Date(-5)", "1969-12-31T23:59:59.995Z", -5 },
	{ "{$date: '2024-02-29T12:34:56.789Z'}", "2024-02-29T12:34:56.789Z", 1709210096789 },
	{ "{$date: {$numberLong: '-1'}}", "1969-12-31T23:59:59.999Z", -1 },
	{ "new Date(2024, 1, 29, 12, 34, 56, 789)", "2024-02-29T12:34:56.789Z", 1709210096789 },
	{ "new Date(2024, 13)", "2025-02-01T00:00:00.000Z", 1738368000000 },
	{ "new Date(99, 0, 2)", "1999-01-02T00:00:00.000Z", 915235200000 },
};

static void dates_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
		struct arena *arena = arena_new();
		struct mongodb_reader reader = { .text = str_from(dates[i].text), .arena = arena };
		const struct mongodb_value *value = mongodb_read_value(&reader);
		char written[40];
		int64_t ms;
		if (!value || value->kind != MONGODB_DATE || !mongodb_date_ms(value, &ms))
			fail_msg("%s is no date", dates[i].text);
		if (ms != dates[i].ms)
			fail_msg("%s: %lld", dates[i].text, (long long)ms);
		assert_int_equal(mongodb_date_write(ms, written, sizeof written), strlen(dates[i].written));
		assert_string_equal(written, dates[i].written);
		arena_free(arena);
	}
}

static void what_has_no_moment_is_refused(void **state)
{
	static const char *const texts[] = { "new Date(2024, -1)", "new Date(12345, 1)",
					     "new Date(2024, 1, 1, 1, 1, 1, 1, 1)" };
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct arena *arena = arena_new();
		struct mongodb_reader reader = { .text = str_from(texts[i]), .arena = arena };
		const struct mongodb_value *value = mongodb_read_value(&reader);
		int64_t ms;
		if (value && mongodb_date_ms(value, &ms))
			fail_msg("%s is %lld", texts[i], (long long)ms);
		arena_free(arena);
	}
}

/* Day by day through four centuries and more, against the C library. */
static void all_days_are_written(void **state)
{
	(void)state;
	for (time_t day = -200 * 365; day < 300 * 366; day++) {
		char ours[40], theirs[40];
		struct tm parts;
		time_t seconds = day * 86400;
		mongodb_date_write((int64_t)seconds * 1000, ours, sizeof ours);
		strftime(theirs, sizeof theirs, "%Y-%m-%dT00:00:00.000Z", gmtime_r(&seconds, &parts));
		assert_string_equal(ours, theirs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_read),
		cmocka_unit_test(what_has_no_moment_is_refused),
		cmocka_unit_test(all_days_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
