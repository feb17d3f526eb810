#include "sql/mongodb/date.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#define DAY_MS	     86400000
#define LARGEST_YEAR 9999
#define MAX_PARTS    7

/* Days from 1970-01-01 to the first of a month, which may be any number: 13 is January of the next year.
 * Source: "days_from_civil" in Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
static int64_t days_to(int64_t year, int64_t month)
{
	year += (month - 1) / 12;
	month = (month - 1) % 12 + 1;
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

static int64_t take_digits(str_t text, size_t *at, size_t most)
{
	int64_t number = 0;
	for (size_t i = 0; i < most && *at < text.len && isdigit((unsigned char)text.ptr[*at]); i++, ++*at)
		number = number * 10 + (text.ptr[*at] - '0');
	return number;
}

static bool take(str_t text, size_t *at, const char *bytes)
{
	bool there = *at < text.len && strchr(bytes, text.ptr[*at]);
	*at += there;
	return there;
}

/* Behind the point: thousandths, whatever follows them. */
static int64_t take_fraction(str_t text, size_t *at)
{
	int64_t ms = 0;
	for (int64_t digit = 100; *at < text.len && isdigit((unsigned char)text.ptr[*at]); ++*at, digit /= 10)
		ms += digit * (text.ptr[*at] - '0');
	return ms;
}

static int64_t take_zone(str_t text, size_t *at)
{
	if (*at >= text.len || !strchr("+-", text.ptr[*at]))
		return 0;
	int64_t sign = text.ptr[(*at)++] == '-' ? -1 : 1;
	int64_t minutes = 60 * take_digits(text, at, 2);
	(void)take(text, at, ":");
	return sign * (minutes + take_digits(text, at, 2));
}

/* One that mongodb_is_date() has passed. */
static int64_t of_text(str_t text)
{
	size_t at = 0;
	int64_t year = take_digits(text, &at, 4), month = 1, day = 1, ms = 0;
	if (take(text, &at, "-"))
		month = take_digits(text, &at, 2);
	if (take(text, &at, "-"))
		day = take_digits(text, &at, 2);
	if (take(text, &at, "T ")) {
		ms = 3600000 * take_digits(text, &at, 2);
		if (take(text, &at, ":"))
			ms += 60000 * take_digits(text, &at, 2);
		if (take(text, &at, ":"))
			ms += 1000 * take_digits(text, &at, 2);
		if (take(text, &at, "."))
			ms += take_fraction(text, &at);
		ms -= 60000 * take_zone(text, &at);
	}
	return (days_to(year, month) + day - 1) * DAY_MS + ms;
}

/* "2024,0,31": year, month from 0 on, day, hour, minute, second, millisecond. */
static bool of_parts(str_t text, int64_t *ret_ms)
{
	static const int64_t factors[MAX_PARTS] = { 0, 0, DAY_MS, 3600000, 60000, 1000, 1 };
	int64_t parts[MAX_PARTS] = { 0, 0, 1 };
	size_t at = 0, count = 0;
	do {
		if (count == MAX_PARTS || at >= text.len || !isdigit((unsigned char)text.ptr[at]))
			return false;
		parts[count++] = take_digits(text, &at, 6);
	} while (take(text, &at, ","));
	if (at < text.len || parts[0] > LARGEST_YEAR)
		return false;
	int64_t year = parts[0] < 100 ? 1900 + parts[0] : parts[0]; /* as JavaScript has it */
	*ret_ms = (days_to(year, parts[1] + 1) - 1) * DAY_MS;
	for (size_t i = 2; i < MAX_PARTS; i++)
		*ret_ms += parts[i] * factors[i];
	return true;
}

bool mongodb_date_ms(const struct mongodb_value *date, int64_t *ret_ms)
{
	if (date->numeric) {
		*ret_ms = (int64_t)date->number;
		return fabs(date->number) <= 9007199254740992.0;
	}
	if (memchr(date->text.ptr, ',', date->text.len))
		return of_parts(date->text, ret_ms);
	*ret_ms = of_text(date->text);
	return true;
}

/* The inverse of days_to(), of a day and not of a month. */
static void civil(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t day_of_era = days - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted = (5 * day_of_year + 2) / 153;
	*ret_day = day_of_year - (153 * shifted + 2) / 5 + 1;
	*ret_month = shifted < 10 ? shifted + 3 : shifted - 9;
	*ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

size_t mongodb_date_write(int64_t ms, char *to, size_t size)
{
	int64_t year, month, day, of_day = ms % DAY_MS;
	of_day += of_day < 0 ? DAY_MS : 0;
	civil(ms / DAY_MS - (ms % DAY_MS < 0), &year, &month, &day);
	int length = snprintf(to, size, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld.%03lldZ", (long long)year,
			      (long long)month, (long long)day, (long long)(of_day / 3600000),
			      (long long)(of_day / 60000 % 60), (long long)(of_day / 1000 % 60),
			      (long long)(of_day % 1000));
	return length > 0 ? (size_t)length : 0;
}
