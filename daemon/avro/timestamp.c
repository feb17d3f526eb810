#include "avro/timestamp.h"

struct scan {
	const char *at, *end;
};

static bool take_digits(struct scan *scan, int count, int64_t low, int64_t high, int64_t *ret_value)
{
	int64_t value = 0;
	for (int i = 0; i < count; i++) {
		if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9')
			return false;
		value = value * 10 + (*scan->at++ - '0');
	}
	*ret_value = value;
	return value >= low && value <= high;
}

static bool take(struct scan *scan, const char *set)
{
	if (scan->at == scan->end || *scan->at == '\0' || !strchr(set, *scan->at))
		return false;
	scan->at++;
	return true;
}

static bool leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
	static const int64_t DAYS[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	return month == 2 && leap(year) ? 29 : DAYS[month - 1];
}

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar. */
static int64_t days_since_epoch(int64_t year, int64_t month, int64_t day)
{
	int64_t before = year - 1;
	int64_t days = year * 365 + before / 4 - before / 100 + before / 400 - (1970 * 365 + 477);
	for (int64_t m = 1; m < month; m++)
		days += days_in_month(year, m);
	return days + day - 1;
}

static bool take_date(struct scan *scan, int64_t *ret_days)
{
	int64_t year, month, day;
	if (!take_digits(scan, 4, 1, 9999, &year) || !take(scan, "-") ||
	    !take_digits(scan, 2, 1, 12, &month) || !take(scan, "-") ||
	    !take_digits(scan, 2, 1, days_in_month(year, month), &day))
		return false;
	*ret_days = days_since_epoch(year, month, day);
	return true;
}

/* Digits behind the point, as milliseconds. */
static bool take_fraction(struct scan *scan, int64_t *ret_ms)
{
	const char *start = scan->at;
	int64_t ms = 0, unit = 100;
	for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++, unit /= 10)
		ms += (*scan->at - '0') * unit;
	*ret_ms = ms;
	return scan->at > start;
}

static bool take_time(struct scan *scan, int64_t *ret_ms)
{
	int64_t hour, minute, second = 0, ms = 0;
	if (!take_digits(scan, 2, 0, 23, &hour) || !take(scan, ":") || !take_digits(scan, 2, 0, 59, &minute))
		return false;
	if (take(scan, ":") && !take_digits(scan, 2, 0, 59, &second))
		return false;
	if (take(scan, ".,") && !take_fraction(scan, &ms))
		return false;
	*ret_ms = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
	return true;
}

static bool take_zone(struct scan *scan, int64_t *ret_ms)
{
	*ret_ms = 0;
	if (scan->at == scan->end || take(scan, "Zz"))
		return true;
	bool west = *scan->at == '-';
	int64_t hour, minute = 0;
	if (!take(scan, "+-") || !take_digits(scan, 2, 0, 14, &hour))
		return false;
	bool colon = take(scan, ":");
	if ((colon || scan->at < scan->end) && !take_digits(scan, 2, 0, 59, &minute))
		return false;
	*ret_ms = (hour * 60 + minute) * 60000 * (west ? -1 : 1);
	return true;
}

bool timestamp_parse(str_t text, int64_t *ret_ms)
{
	struct scan scan = { text.ptr, text.ptr + text.len };
	int64_t days, time_ms, zone_ms;
	if (!take_date(&scan, &days) || !take(&scan, "Tt ") || !take_time(&scan, &time_ms) ||
	    !take_zone(&scan, &zone_ms) || scan.at != scan.end)
		return false;
	*ret_ms = days * 86400000 + time_ms - zone_ms;
	return true;
}
