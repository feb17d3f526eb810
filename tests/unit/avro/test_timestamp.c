#include "support.h"

#include "avro/timestamp.h"

static void test_times(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool valid;
		int64_t ms;
	} CASES[] = {
		{ "1970-01-01T00:00:00Z", true, 0 },
		{ "1969-12-31T23:59:59.999Z", true, -1 },
		{ "2000-03-01T00:00:00Z", true, 951868800000 },
		{ "2024-02-29 12:30", true, 1709209800000 },
		{ "2024-02-29T12:30:00+02:00", true, 1709202600000 },
		{ "2024-02-29T12:30:00-0130", true, 1709215200000 },
		{ "2024-02-29T12:30:00+02", true, 1709202600000 },
		{ "2026-01-01t00:00:00.123456789z", true, 1767225600123 },
		{ "2026-01-01T00:00:00.5", true, 1767225600500 },
		{ "0001-01-01T00:00:00Z", true, -62135596800000 },
		{ "9999-12-31T23:59:59.999Z", true, 253402300799999 },
		{ "2023-02-29T00:00:00Z", false, 0 },
		{ "1900-02-29T00:00:00Z", false, 0 },
		{ "2024-13-01T00:00:00Z", false, 0 },
		{ "2024-04-31T00:00:00Z", false, 0 },
		{ "2024-01-01T24:00:00Z", false, 0 },
		{ "2024-01-01T00:60:00Z", false, 0 },
		{ "2024-01-01T00:00:60Z", false, 0 },
		{ "2024-01-01T00:00:00.Z", false, 0 },
		{ "2024-01-01T00:00:00+15:00", false, 0 },
		{ "2024-01-01T00:00:00+02:", false, 0 },
		{ "2024-01-01T00:00:00Zx", false, 0 },
		{ "2024-01-01", false, 0 },
		{ "0000-01-01T00:00:00Z", false, 0 },
		{ "1709209800000", false, 0 },
		{ "", false, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		int64_t ms = 0;
		bool valid = timestamp_parse(str_from(CASES[i].text), &ms);
		if (valid != CASES[i].valid || ms != CASES[i].ms)
			fail_msg("\"%s\": %d, %lld", CASES[i].text, valid, (long long)ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_times) };
	return cmocka_run_group_tests_name("timestamp", tests, NULL, NULL);
}
