/* Which dates, times and intervals are equal, across engines and text forms. See compare_cases.h. */
#include "cases.h"

#include "compare/moment.h"

static void test_dates(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "date_itself", "the same", 'D', "2024-03-01", 'D', "2024-03-01", true },
		{ "date_next_day", "another day", 'D', "2024-03-01", 'D', "2024-03-02", false },
		{ "date_against_midnight", "MariaDB's DATE() against a timestamp at midnight", 'D',
		  "2024-03-01", 'm', "2024-03-01 00:00:00", true },
		{ "date_swallows_time", "a later time of the day", 'D', "2024-03-01", 'm',
		  "2024-03-01 00:00:01", false },
		{ "date_in_text_column", "SQLite has no dates", 't', "2024-03-01", 'D', "2024-03-01", true },
		{ "dates_in_text_columns", "SQLite has no dates: date() against datetime()", 't',
		  "2024-03-01 00:00:00", 't', "2024-03-01", true },
		{ "date_that_is_none", "29 February 2023 is no day", 't', "2023-02-29", 'D', "2023-03-01",
		  false },
		{ "date_month_13", "there is no such month", 't', "2023-13-01", 'D', "2024-01-01", false },
		{ "date_century_rule", "1900 had no 29 February, 2000 had", 't', "1900-02-29", 'D',
		  "1900-03-01", false },
		{ "date_leap_day", "2000 had a 29 February", 'm', "2000-02-29 00:00:00", 'D', "2000-02-29",
		  true },
		{ "date_before_1970", "days before the epoch", 'z', "1899-12-31 23:00:00-01", 'D',
		  "1900-01-01", true },
		{ "date_before_christ_folded", "44 BC is not 44", 'D', "0044-03-15 BC", 'D', "0044-03-15",
		  false },
		{ "date_before_christ_itself", "the same", 'D', "0044-03-15 BC", 'D', "0044-03-15 BC", true },
		{ "date_five_digit_year", "PostgreSQL's dates reach far", 'D', "10000-01-01", 'm',
		  "10000-01-01 00:00:00", true },
		{ "date_beyond_microseconds", "PostgreSQL's dates reach farther than its timestamps", 'D',
		  "484048-03-01", 'D', "484048-03-01", true },
		{ "date_beyond_microseconds_differs", "another day", 'D', "484048-03-01", 'D', "484048-03-02",
		  false },
		{ "date_infinite_itself", "the same", 'D', "infinity", 'D', "infinity", true },
		{ "date_infinite_sign", "the end and the beginning of time", 'D', "infinity", 'D',
		  "-infinity", false },
		{ "zero_date_itself", "MariaDB's zero date", 'D', "0000-00-00", 'D', "0000-00-00", true },
		{ "zero_date_against_zero_timestamp", "MariaDB's zero date at midnight", 'D', "0000-00-00",
		  'm', "0000-00-00 00:00:00", true },
		{ "zero_date_is_first_day", "it is no day of the year 0", 'D', "0000-00-00", 'D',
		  "0000-01-01", false },
		{ "zero_date_is_epoch", "it is not 1970", 'D', "0000-00-00", 'D', "1970-01-01", false },
		{ "date_order_guessed", "day and month are not exchanged", 't', "01/03/2024", 'D',
		  "2024-03-01", false },
		{ "date_as_number", "20240301 is a number", 'i', "20240301", 'D', "2024-03-01", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_timestamps(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "timestamp_iso_t", "T parts date and time as a blank does", 't', "2024-03-01T12:00:00", 'm',
		  "2024-03-01 12:00:00", true },
		{ "timestamp_iso_z", "Z is +00", 'z', "2024-01-01 00:00:00+00", 't', "2024-01-01T00:00:00Z",
		  true },
		{ "timestamp_zone_dropped", "two hours apart", 'z', "2024-03-01 12:00:00+02", 'z',
		  "2024-03-01 12:00:00+00", false },
		{ "timestamp_zone_as_text", "one moment in two zones", 'z', "2024-03-01 14:00:00+02", 'z',
		  "2024-03-01T12:00:00Z", true },
		{ "timestamp_zone_west", "one moment in two zones", 'z', "2024-03-01 07:00:00-05", 'z',
		  "2024-03-01 12:00:00+00", true },
		{ "timestamp_zone_next_day", "the zone changes the date", 'z', "2024-03-02 01:00:00+03", 'z',
		  "2024-03-01 22:00:00+00", true },
		{ "timestamp_zone_year", "the zone changes the year", 'z', "2024-01-01 00:30:00+01", 'z',
		  "2023-12-31 23:30:00+00", true },
		{ "timestamp_zone_half_hour", "India", 'z', "2024-03-01 17:30:00+05:30", 'z',
		  "2024-03-01 12:00:00+0000", true },
		{ "timestamp_zone_quarter_hour", "Nepal", 'z', "2024-03-01 17:45:00+05:45", 'z',
		  "2024-03-01 12:00:00Z", true },
		{ "timestamp_zone_seconds", "local mean time, as PostgreSQL writes it", 'z',
		  "1880-01-01 00:53:28+00:53:28", 'z', "1880-01-01 00:00:00+00", true },
		{ "timestamp_zone_word", "UTC is +00", 't', "2024-03-01 12:00:00 UTC", 'z',
		  "2024-03-01 12:00:00+00", true },
		{ "timestamp_zone_blank", "a blank before the zone", 't', "2024-03-01 12:00:00 +02:00", 'z',
		  "2024-03-01 10:00:00Z", true },
		{ "timestamp_no_zone", "no zone is UTC", 'm', "2024-03-01 12:00:00", 'z',
		  "2024-03-01 12:00:00+00", true },
		{ "timestamp_no_zone_other", "no zone is UTC", 'm', "2024-03-01 12:00:00", 'z',
		  "2024-03-01 12:00:00+01", false },
		{ "timestamp_fraction_zeros", "zeros at the end", 'm', "2024-03-01 12:00:00.500", 'm',
		  "2024-03-01 12:00:00.5", true },
		{ "timestamp_mariadb_fraction", "datetime(6) writes six digits", 'm',
		  "2024-03-01 12:00:00.000000", 'm', "2024-03-01 12:00:00", true },
		{ "timestamp_microseconds_lost", "one microsecond apart", 'm', "2024-03-01 12:00:00.000001",
		  'm', "2024-03-01 12:00:00.000002", false },
		{ "timestamp_nanoseconds", "rounded to microseconds", 't', "2024-03-01 12:00:00.123456789",
		  'm', "2024-03-01 12:00:00.123457", true },
		{ "timestamp_fraction_carries", "rounded up to the next second", 't',
		  "2024-03-01 12:00:00.9999999", 'm', "2024-03-01 12:00:01", true },
		{ "timestamp_comma", "ISO 8601 allows a comma", 't', "2024-03-01T12:00:00,5", 'm',
		  "2024-03-01 12:00:00.5", true },
		{ "timestamp_seconds_missing", "ISO 8601 may leave them out", 't', "2024-03-01T12:00Z", 'z',
		  "2024-03-01 12:00:00+00", true },
		{ "timestamp_24_hours", "the end of a day is the next one's midnight", 't',
		  "2024-03-01 24:00:00", 'm', "2024-03-02 00:00:00", true },
		{ "timestamp_25_hours", "there is no such hour", 't', "2024-03-01 25:00:00", 'm',
		  "2024-03-02 01:00:00", false },
		{ "timestamp_leap_day_zone", "half an hour into 1 March", 'z', "2024-02-29 23:30:00-01", 'D',
		  "2024-03-01", false },
		{ "timestamp_leap_day_zone_exact", "midnight of 1 March", 'z', "2024-02-29 23:00:00-01", 'D',
		  "2024-03-01", true },
		{ "timestamp_as_number", "an epoch is a number", 'i', "1709294400", 'm',
		  "2024-03-01 12:00:00", false },
		{ "timestamp_tail", "more behind it: text", 't', "2024-03-01 12:00:00 noon", 'm',
		  "2024-03-01 12:00:00", false },
		{ "timestamp_tolerance", "moments have none", 'm', "2024-03-01 12:00:00.00005", 'm',
		  "2024-03-01 12:00:00", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_times_of_day(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "time_seconds_missing", "12:30 is 12:30:00", 'c', "12:30:00", 't', "12:30", true },
		{ "time_fraction_zeros", "zeros at the end", 'c', "12:30:00.500000", 'c', "12:30:00.5",
		  true },
		{ "time_differs", "one second", 'c', "12:30:00", 'c', "12:30:01", false },
		{ "time_zone", "one moment in two zones", 'c', "12:30:00+02", 'c', "10:30:00+00", true },
		{ "time_zone_dropped", "two hours apart", 'c', "12:30:00+02", 'c', "12:30:00+00", false },
		{ "time_longer_than_a_day", "MariaDB's TIME is a length", 'c', "25:00:00", 'c',
		  "25:00:00.000000", true },
		{ "time_longest", "MariaDB's TIME is a length", 'c', "838:59:59", 'c', "838:59:58", false },
		{ "time_negative", "MariaDB's TIME has a sign", 'c', "-01:00:00", 'c', "01:00:00", false },
		{ "time_against_interval", "TIMEDIFF against a difference of timestamps", 'c', "02:00:00",
		  'v', "02:00:00", true },
		{ "time_against_days", "TIMEDIFF against a difference of timestamps", 'c', "26:00:00", 'v',
		  "1 day 02:00:00", true },
		{ "time_against_other_interval", "another length", 'c', "02:00:00", 'v', "02:00:01", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_intervals(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "interval_as_text", "one length", 'v', "1 day 02:00:00", 'v', "26:00:00", true },
		{ "interval_month", "PostgreSQL compares a month as 30 days", 'v', "1 mon", 'v', "30 days",
		  true },
		{ "interval_year", "and a year as 12 months", 'v', "1 year", 'v', "12 mons", true },
		{ "interval_month_is_31_days", "PostgreSQL compares a month as 30 days", 'v', "1 mon", 'v',
		  "31 days", false },
		{ "interval_sign_lost", "signs belong to their part", 'v', "-1 days +02:00:00", 'v',
		  "-22:00:00", true },
		{ "interval_negative", "the opposite", 'v', "-01:00:00", 'v', "01:00:00", false },
		{ "interval_differs", "one second", 'v', "1 day", 'v', "1 day 00:00:01", false },
		{ "interval_microseconds", "one microsecond", 'v', "00:00:00.000001", 'v', "00:00:00",
		  false },
		{ "interval_iso_8601", "another style of output", 't', "P1DT2H", 'v', "1 day 02:00:00",
		  true },
		{ "interval_iso_8601_months", "M before T is months, behind it minutes", 't', "P1M", 'v',
		  "00:01:00", false },
		{ "interval_iso_8601_minutes", "M before T is months, behind it minutes", 't', "PT1M", 'v',
		  "00:01:00", true },
		{ "interval_iso_8601_fraction", "seconds have a fraction", 't', "PT1.5S", 'v', "00:00:01.5",
		  true },
		{ "interval_iso_8601_sign", "signs belong to their part", 't', "P-1DT2H", 'v',
		  "-1 days +02:00:00", true },
		{ "interval_words", "another style of output", 't', "2 hours 30 minutes", 'v', "02:30:00",
		  true },
		{ "interval_zero", "no length", 'v', "00:00:00", 'v', "0 days", true },
		{ "interval_against_number", "a length has a unit", 'v', "00:00:05", 'i', "5", false },
	};
	CHECK_ALL(cases, check_value);
}

static void check_forms(const char *usual, const char *other)
{
	int64_t a = -1, b = -1;
	bool read = compare_parse_moment(str_from(usual), &a);
	if (read != compare_parse_moment(str_from(other), &b) || (read && a != b))
		fail_msg("%s: %d %lld, %s: %lld", usual, (int)read, (long long)a, other, (long long)b);
}

/* The usual form has a way of its own. Days and hours that there are not stand among them. */
static void test_usual_forms_are_read_as_others(void **state)
{
	(void)state;
	static const unsigned years[] = { 0,	1,    4,    100,  400,	1582, 1899,
					  1900, 1969, 1970, 2000, 2023, 2024, 9999 };
	static const char *const fractions[] = { "",	    ".0", ".5",	      ".123",	  ".000001",
						 ".999999", ".",  ".1234567", ".9999996", ".12a" };
	static const struct {
		const char *usual, *other;
	} zones[] = { { "", "Z" }, { "+00", "+0000" }, { "+01", "+0100" }, { "+0x", "+0x" }, { "-00", "Z" } };
	char usual[64], other[64];
	for (size_t i = 0; i < 14 * 14 * 33; i++) {
		unsigned year = years[i % 14], month = (unsigned)i / 14 % 14, day = (unsigned)i / 196;
		snprintf(usual, sizeof usual, "%04u-%02u-%02u", year, month, day);
		snprintf(other, sizeof other, "%04u-%02u-%02uT00:00Z", year, month, day);
		check_forms(usual, other);
	}
	for (unsigned i = 0; i < 26 * 62 * 10 * 5; i++) {
		const char *fraction = fractions[i / 5 % 10];
		unsigned hour = i / 50 % 26, minute = i / 1300 % 62;
		snprintf(usual, sizeof usual, "2024-02-29 %02u:%02u:%02u%s%s", hour, minute,
			 (minute + 7) % 62, fraction, zones[i % 5].usual);
		snprintf(other, sizeof other, "2024-02-29T%02u:%02u:%02u%s%s", hour, minute,
			 (minute + 7) % 62, fraction, zones[i % 5].other);
		check_forms(usual, other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_forms_are_read_as_others),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_timestamps),
		cmocka_unit_test(test_times_of_day),
		cmocka_unit_test(test_intervals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
