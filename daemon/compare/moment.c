#include "compare/moment.h"

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US	  (60 * MINUTE_US)
#define DAY_US	  (24 * HOUR_US)

/* Microseconds do not reach much farther: later dates (after the year 292000) are text. */
#define MAX_DAYS INT64_C(106000000)

/* MariaDB's 0000-00-00: before all dates that can be written. */
#define ZERO_DATE_DAYS INT64_C(-1000000)

struct cursor {
	const char *at;
	const char *end;
};

static inline bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static inline bool done(const struct cursor *cursor)
{
	return cursor->at == cursor->end;
}

static inline bool take(struct cursor *cursor, char byte)
{
	if (done(cursor) || *cursor->at != byte)
		return false;
	cursor->at++;
	return true;
}

/* Between `least` and `most` digits. */
static inline bool take_digits(struct cursor *cursor, int least, int most, int64_t *ret_value)
{
	int64_t value = 0;
	int count = 0;
	while (count < most && !done(cursor) && is_digit(*cursor->at)) {
		value = value * 10 + (*cursor->at++ - '0');
		count++;
	}
	if (count < least)
		return false;
	*ret_value = value;
	return true;
}

/* Digits behind the point as microseconds, rounded to the nearest. */
static bool take_fraction(struct cursor *cursor, int64_t *ret_us)
{
	int64_t value = 0;
	int count = 0;
	for (; !done(cursor) && is_digit(*cursor->at); cursor->at++, count++) {
		int digit = *cursor->at - '0';
		if (count < 6)
			value = value * 10 + digit;
		else if (count == 6 && digit >= 5)
			value++;
	}
	for (int i = count; i < 6; i++)
		value *= 10;
	*ret_us = value;
	return count > 0;
}

/* Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that leap days come last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t shifted = month <= 2 ? year - 1 : year;
	int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
	int64_t year_of_era = shifted - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
	static const int64_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(struct cursor *cursor, int64_t *ret_us)
{
	int64_t year, month, day;
	if (!take_digits(cursor, 4, 6, &year) || !take(cursor, '-') || !take_digits(cursor, 2, 2, &month) ||
	    !take(cursor, '-') || !take_digits(cursor, 2, 2, &day))
		return false;
	if (year == 0 && month == 0 && day == 0) {
		*ret_us = ZERO_DATE_DAYS * DAY_US;
		return true;
	}
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return false;
	int64_t days = days_of(year, month, day);
	*ret_us = days > MAX_DAYS ? 0 : days * DAY_US;
	return days <= MAX_DAYS;
}

/* HH:MM with optional seconds and fraction. */
static bool take_clock(struct cursor *cursor, int most_hour_digits, int64_t *ret_us)
{
	int64_t hour, minute, second = 0, fraction = 0;
	if (!take_digits(cursor, most_hour_digits > 2 ? 1 : 2, most_hour_digits, &hour) ||
	    !take(cursor, ':') || !take_digits(cursor, 2, 2, &minute) || minute > 59)
		return false;
	if (take(cursor, ':') && (!take_digits(cursor, 2, 2, &second) || second > 60))
		return false;
	if ((take(cursor, '.') || take(cursor, ',')) && !take_fraction(cursor, &fraction))
		return false;
	*ret_us = hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + fraction;
	return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
	size_t len = strlen(word);
	if ((size_t)(cursor->end - cursor->at) < len || strncasecmp(cursor->at, word, len) != 0)
		return false;
	cursor->at += len;
	return true;
}

/* Z, UTC, ±HH, ±HHMM, ±HH:MM or ±HH:MM:SS; nothing is UTC. */
static bool take_zone(struct cursor *cursor, int64_t *ret_us)
{
	*ret_us = 0;
	while (take(cursor, ' '))
		;
	if (done(cursor))
		return true;
	bool is_offset = *cursor->at == '+' || *cursor->at == '-';
	if (!is_offset && (take_word(cursor, "Z") || take_word(cursor, "UTC") || take_word(cursor, "GMT")))
		return true;
	bool west = take(cursor, '-');
	int64_t hours, minutes = 0, seconds = 0;
	if ((!west && !take(cursor, '+')) || !take_digits(cursor, 2, 2, &hours) || hours > 15)
		return false;
	bool colon = take(cursor, ':');
	if ((colon || !done(cursor)) && (!take_digits(cursor, 2, 2, &minutes) || minutes > 59))
		return false;
	if (colon && take(cursor, ':') && (!take_digits(cursor, 2, 2, &seconds) || seconds > 59))
		return false;
	int64_t offset = hours * HOUR_US + minutes * MINUTE_US + seconds * SECOND_US;
	*ret_us = west ? -offset : offset;
	return true;
}

/* Two digits; what is none sets `bad`. */
static inline unsigned two_digits(const char *at, unsigned *bad)
{
	unsigned tens = (unsigned char)at[0] - (unsigned)'0', ones = (unsigned char)at[1] - (unsigned)'0';
	*bad |= (tens > 9) | (ones > 9);
	return tens * 10 + ones;
}

/* Up to six digits behind the point and +00 behind them, or nothing. */
static inline bool take_usual_end(const char *at, const char *end, int64_t *ret_us)
{
	int64_t fraction = 0, scale = SECOND_US;
	if (at < end && *at == '.') {
		at++;
		if (at == end || !is_digit(*at))
			return false;
		for (; at < end && is_digit(*at) && scale > 1; at++) {
			fraction = fraction * 10 + (*at - '0');
			scale /= 10;
		}
	}
	*ret_us = fraction * scale;
	return at == end || (end - at == 3 && memcmp(at, "+00", 3) == 0);
}

/* Nearly all moments are written as PostgreSQL does it: 2024-03-01, 2024-03-01 12:00:00, .123456 and +00
 * behind it. False: another form, or none. */
static inline bool parse_usual(str_t text, int64_t *ret_us)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	unsigned bad = 0;
	if (text.len < 10 || (text.len > 10 && text.len < 19) || at[4] != '-' || at[7] != '-')
		return false;
	int64_t year = two_digits(at, &bad) * 100 + two_digits(at + 2, &bad), fraction = 0;
	unsigned month = two_digits(at + 5, &bad), day = two_digits(at + 8, &bad);
	unsigned hour = 0, minute = 0, second = 0;
	if (bad || year == 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return false;
	if (text.len > 10) {
		hour = two_digits(at + 11, &bad);
		minute = two_digits(at + 14, &bad);
		second = two_digits(at + 17, &bad);
		if (bad || at[10] != ' ' || at[13] != ':' || at[16] != ':' || hour > 23 || minute > 59 ||
		    second > 59 || !take_usual_end(at + 19, end, &fraction))
			return false;
	}
	*ret_us = days_of(year, month, day) * DAY_US + (hour * 60 + minute) * MINUTE_US + second * SECOND_US +
		  fraction;
	return true;
}

bool compare_parse_moment(str_t text, int64_t *ret_us)
{
	if (parse_usual(text, ret_us))
		return true;
	struct cursor cursor = { text.ptr, text.ptr + text.len };
	int64_t date, clock = 0, zone = 0;
	if (!take_date(&cursor, &date))
		return false;
	if (take(&cursor, ' ') || take(&cursor, 'T') || take(&cursor, 't')) {
		if (!take_clock(&cursor, 2, &clock) || clock > DAY_US || !take_zone(&cursor, &zone))
			return false;
	}
	*ret_us = date + clock - zone;
	return done(&cursor);
}

bool compare_parse_time(str_t text, int64_t *ret_us)
{
	struct cursor cursor = { text.ptr, text.ptr + text.len };
	int64_t clock, zone;
	if (!take_clock(&cursor, 2, &clock) || clock > DAY_US || !take_zone(&cursor, &zone))
		return false;
	*ret_us = clock - zone;
	return done(&cursor);
}

/* The name of a unit in the singular or plural, as PostgreSQL writes them; 0: none. */
static int64_t take_unit(struct cursor *cursor)
{
	static const struct {
		const char *name;
		int64_t length_us;
	} units[] = {
		{ "years", 360 * DAY_US }, { "year", 360 * DAY_US }, { "months", 30 * DAY_US },
		{ "month", 30 * DAY_US },  { "mons", 30 * DAY_US },  { "mon", 30 * DAY_US },
		{ "weeks", 7 * DAY_US },   { "week", 7 * DAY_US },   { "days", DAY_US },
		{ "day", DAY_US },	   { "hours", HOUR_US },     { "hour", HOUR_US },
		{ "minutes", MINUTE_US },  { "minute", MINUTE_US },  { "mins", MINUTE_US },
		{ "min", MINUTE_US },	   { "seconds", SECOND_US }, { "second", SECOND_US },
		{ "secs", SECOND_US },	   { "sec", SECOND_US },
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (take_word(cursor, units[i].name))
			return units[i].length_us;
	return 0;
}

/* One part of an interval: a clock, or a number with its unit. */
static bool take_interval_part(struct cursor *cursor, int64_t *ret_us)
{
	bool negative = take(cursor, '-');
	if (!negative)
		take(cursor, '+');
	struct cursor start = *cursor;
	int64_t length;
	if (!take_clock(cursor, 9, &length)) {
		*cursor = start;
		if (!take_digits(cursor, 1, 9, &length))
			return false;
		while (take(cursor, ' '))
			;
		int64_t unit = take_unit(cursor);
		if (unit == 0 || length > INT64_MAX / 4 / unit)
			return false;
		length *= unit;
	}
	*ret_us = negative ? -length : length;
	return true;
}

/* A number with its unit's letter in a duration of ISO 8601; only seconds have a fraction. */
static bool take_duration_part(struct cursor *cursor, bool is_clock, int64_t *ret_us)
{
	static const char letters[][5] = { "YMWD", "HMS" };
	static const int64_t lengths_us[][4] = { { 360 * DAY_US, 30 * DAY_US, 7 * DAY_US, DAY_US },
						 { HOUR_US, MINUTE_US, SECOND_US } };
	bool negative = take(cursor, '-');
	int64_t count, fraction = 0;
	if (!take_digits(cursor, 1, 9, &count) || (take(cursor, '.') && !take_fraction(cursor, &fraction)) ||
	    done(cursor))
		return false;
	const char *letter = strchr(letters[is_clock], *cursor->at);
	if (!letter || !*letter || (fraction > 0 && *letter != 'S'))
		return false;
	int64_t unit = lengths_us[is_clock][letter - letters[is_clock]];
	if (count > INT64_MAX / 4 / unit)
		return false;
	cursor->at++;
	*ret_us = negative ? -(count * unit + fraction) : count * unit + fraction;
	return true;
}

/* Behind the P: 1Y2M3DT4H5M6.5S. */
static bool take_duration(struct cursor *cursor, int64_t *ret_us)
{
	bool is_clock = false;
	int64_t total = 0, part;
	while (!done(cursor)) {
		if (!is_clock && take(cursor, 'T'))
			is_clock = true;
		if (!take_duration_part(cursor, is_clock, &part) ||
		    __builtin_add_overflow(total, part, &total))
			return false;
	}
	*ret_us = total;
	return true;
}

bool compare_parse_interval(str_t text, int64_t *ret_us)
{
	struct cursor cursor = { text.ptr, text.ptr + text.len };
	int64_t total = 0, part;
	if (done(&cursor))
		return false;
	if (take(&cursor, 'P'))
		return !done(&cursor) && take_duration(&cursor, ret_us);
	while (!done(&cursor)) {
		if (!take_interval_part(&cursor, &part) || __builtin_add_overflow(total, part, &total))
			return false;
		while (take(&cursor, ' '))
			;
	}
	*ret_us = total;
	return true;
}
