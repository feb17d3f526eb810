#include "sql/postgresql/resolve/literal_internal.h"

#include <ctype.h>

/* Follows DecodeDateTime and DecodeTimeOnly of PostgreSQL: fields from left to right, each read by its form
 * and by what is already there. */

enum order { ORDER_MDY, ORDER_DMY, ORDER_YMD, ORDERS_COUNT };

#define BIT(word)      (1U << (word))
#define DATE_BITS      (BIT(WORD_YEAR) | BIT(WORD_MONTH) | BIT(WORD_DAY))
#define SECOND_BITS    (BIT(WORD_SECOND) | BIT(WORD_MILLISECOND) | BIT(WORD_MICROSECOND))
#define TIME_BITS      (BIT(WORD_HOUR) | BIT(WORD_MINUTE) | SECOND_BITS)
#define NO_UNIT	       WORD_UNKNOWN
#define ZONE_BYTES     10 /* of a zone, that count */
#define YEAR_DIGITS    9  /* longer years are in doubt */
#define DATE_YEAR_MAX  5874897
#define STAMP_YEAR_MAX 294276
#define YEAR_MIN       (-4712)

struct reading {
	enum order order;
	bool time_only;
	unsigned seen;	     /* bits of enum date_word */
	unsigned now;	     /* of the present field */
	enum date_word unit; /* the label before a number: "y2001m02d04" */
	int year, month, day, day_of_year, hour, minute, second;
	int meridian; /* -1: none, 0 AM, 1 PM */
	bool is_julian, is_short_year, is_before_christ, has_month_name;
	bool is_reserved; /* a word that stands for a whole date */
	bool in_doubt;
};

static bool has_date(const struct reading *reading)
{
	return (reading->seen & DATE_BITS) == DATE_BITS;
}

static int digits_value(const char *text, size_t count)
{
	int value = 0;
	for (size_t i = 0; i < count; i++)
		value = value * 10 + (text[i] - '0');
	return value;
}

/* Digits without signs: "20230115", "103000", "103000.5". */
static literal_fault read_joined(struct reading *reading, const char *text, unsigned seen)
{
	size_t digits = strspn(text, "0123456789");
	if (text[digits] == '.') {
		double ignored;
		if (!literal_fraction(text + digits, &ignored))
			return LITERAL_DOUBT;
	} else if ((seen & DATE_BITS) != DATE_BITS && digits >= 6) {
		if (digits - 4 > YEAR_DIGITS)
			return LITERAL_DOUBT;
		reading->now = DATE_BITS;
		reading->day = digits_value(text + digits - 2, 2);
		reading->month = digits_value(text + digits - 4, 2);
		reading->year = digits_value(text, digits - 4);
		reading->is_short_year |= digits == 6;
		return NULL;
	}
	if ((seen & TIME_BITS) == TIME_BITS || (digits != 6 && digits != 4))
		return BAD_DATETIME;
	reading->now = TIME_BITS;
	reading->hour = digits_value(text, 2);
	reading->minute = digits_value(text + 2, 2);
	reading->second = digits == 6 ? digits_value(text + 4, 2) : 0;
	return NULL;
}

static void set_part(struct reading *reading, enum date_word part, int value, size_t digits)
{
	reading->now = BIT(part);
	if (part == WORD_YEAR) {
		reading->year = value;
		reading->is_short_year = digits <= 2;
	} else if (part == WORD_MONTH) {
		reading->month = value;
	} else {
		reading->day = value;
	}
}

/* The part of a date that the next number is, by those which are there. */
static enum date_word next_part(const struct reading *reading, unsigned seen, size_t digits, bool named)
{
	bool year_first = digits >= 3 || reading->order == ORDER_YMD;
	switch (seen & DATE_BITS) {
	case 0:
		return year_first ? WORD_YEAR : reading->order == ORDER_DMY ? WORD_DAY : WORD_MONTH;
	case BIT(WORD_YEAR):
	case BIT(WORD_DAY):
		return WORD_MONTH;
	case BIT(WORD_MONTH):
		return named && year_first ? WORD_YEAR : WORD_DAY;
	case BIT(WORD_YEAR) | BIT(WORD_MONTH):
		return WORD_DAY;
	case BIT(WORD_MONTH) | BIT(WORD_DAY):
		return WORD_YEAR;
	default:
		return WORD_UNKNOWN;
	}
}

static literal_fault read_number(struct reading *reading, const char *text, unsigned seen, bool named)
{
	char *end;
	int value;
	size_t digits = strlen(text);
	if (!literal_int(text, &end, &value))
		return FIELD_OVERFLOW;
	if (end == text)
		return BAD_DATETIME;
	if (*end == '.') {
		double ignored;
		if (end - text > 2)
			return read_joined(reading, text, seen | DATE_BITS);
		if (!literal_fraction(end, &ignored))
			return BAD_DATETIME;
	} else if (*end) {
		return BAD_DATETIME;
	}
	if (digits == 3 && (seen & DATE_BITS) == BIT(WORD_YEAR) && value >= 1 && value <= 366) {
		reading->now = BIT(WORD_DAY_OF_YEAR) | BIT(WORD_MONTH) | BIT(WORD_DAY);
		reading->day_of_year = value;
		return NULL;
	}
	if ((seen & DATE_BITS) == DATE_BITS)
		return read_joined(reading, text, seen);
	enum date_word part = next_part(reading, seen, digits, named);
	if (part == WORD_UNKNOWN)
		return BAD_DATETIME;
	/* "03-Jan-1999" where years come first: the year was the day. */
	if (named && part == WORD_DAY && (seen & BIT(WORD_YEAR)) && digits >= 3 && reading->is_short_year) {
		int day = reading->year;
		set_part(reading, WORD_YEAR, value, digits);
		value = day;
		digits = 2;
	}
	bool was_short = reading->is_short_year;
	set_part(reading, part, value, digits);
	reading->is_short_year = part == WORD_YEAR ? digits <= 2 : was_short;
	return NULL;
}

/* The name of a month within a date; what is read is cut out. */
static literal_fault read_month_name(struct reading *reading, const char *name, unsigned *seen,
				     unsigned *bits)
{
	int value;
	enum date_word kind = literal_date_word(name, &value);
	if (kind == WORD_IGNORED)
		return LITERAL_DOUBT;
	if (kind != WORD_MONTH || (*seen & BIT(WORD_MONTH)))
		return BAD_DATETIME;
	reading->month = value;
	*seen |= BIT(WORD_MONTH);
	*bits |= BIT(WORD_MONTH);
	return NULL;
}

/* Parts of a date with signs between them; false: it ends with a sign. */
static bool split_date(char *text, char **parts, size_t *ret_count)
{
	*ret_count = 0;
	while (*text && *ret_count < LITERAL_FIELDS_MAX) {
		while (*text && !isalnum((unsigned char)*text))
			text++;
		if (!*text)
			return false;
		parts[(*ret_count)++] = text;
		int (*same)(int) = isdigit((unsigned char)*text) ? isdigit : isalpha;
		while (same((unsigned char)*text))
			text++;
		if (*text)
			*text++ = '\0';
	}
	return true;
}

/* "2023-01-15", "15-jan-2023" */
static literal_fault read_date(struct reading *reading, char *text)
{
	char *parts[LITERAL_FIELDS_MAX];
	size_t count;
	unsigned seen = reading->seen, bits = 0;
	bool named = false;
	if (!split_date(text, parts, &count))
		return BAD_DATETIME;
	for (size_t i = 0; i < count; i++) {
		if (!literal_is_letter(*parts[i]))
			continue;
		literal_fault fault = read_month_name(reading, parts[i], &seen, &bits);
		if (fault)
			return fault;
		named = true;
		parts[i] = NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (!parts[i])
			continue;
		literal_fault fault = read_number(reading, parts[i], seen, named);
		if (fault)
			return fault;
		if (seen & reading->now)
			return BAD_DATETIME;
		seen |= reading->now;
		bits |= reading->now;
	}
	reading->now = bits;
	return (seen & ~(BIT(WORD_DAY_OF_YEAR) | BIT(WORD_ZONE))) == DATE_BITS ? NULL : BAD_DATETIME;
}

static literal_fault read_offset(const char *text)
{
	char *end;
	int hours, minutes = 0, seconds = 0;
	if (*text != '+' && *text != '-')
		return BAD_DATETIME;
	if (!literal_int(text + 1, &end, &hours))
		return "22009";
	if (*end == ':') {
		if (!literal_int(end + 1, &end, &minutes) ||
		    (*end == ':' && !literal_int(end + 1, &end, &seconds)))
			return "22009";
	} else if (!*end && strlen(text) > 3) {
		minutes = hours % 100;
		hours /= 100;
	}
	if (hours < 0 || hours > 15 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
		return "22009";
	return *end ? BAD_DATETIME : NULL;
}

/* "hhmmss-zz", or the name of a time zone. */
static literal_fault read_time_and_zone(struct reading *reading, char *text, unsigned seen)
{
	if (!literal_is_digit(*text)) {
		reading->in_doubt = true;
		reading->now = BIT(WORD_ZONE);
		return NULL;
	}
	char *zone = strchr(text, '-');
	if ((reading->seen & TIME_BITS) == TIME_BITS || !zone)
		return BAD_DATETIME;
	literal_fault fault = read_offset(zone);
	if (fault)
		return fault;
	*zone = '\0';
	fault = read_joined(reading, text, seen);
	reading->now |= BIT(WORD_ZONE);
	return fault;
}

static literal_fault read_date_field(struct reading *reading, const struct literal_fields *fields, size_t at)
{
	char *text = fields->items[at].text;
	enum date_word unit = reading->unit;
	if (reading->time_only) {
		bool is_date = at == 0 && fields->count >= 2 &&
			       (fields->items[fields->count - 1].kind == FIELD_DATE ||
				fields->items[1].kind == FIELD_TIME);
		return is_date ? read_date(reading, text)
			       : read_time_and_zone(reading, text, reading->seen | DATE_BITS);
	}
	if (unit == WORD_JULIAN)
		return LITERAL_DOUBT;
	unsigned both = BIT(WORD_MONTH) | BIT(WORD_DAY);
	if (unit == NO_UNIT && (reading->seen & both) != both)
		return read_date(reading, text);
	if (unit != NO_UNIT && !literal_is_digit(*text))
		return LITERAL_DOUBT;
	if (unit != NO_UNIT && unit != WORD_ISO_TIME)
		return BAD_DATETIME;
	reading->unit = NO_UNIT;
	return read_time_and_zone(reading, text, reading->seen);
}

static bool time_overflows(const struct reading *reading)
{
	return reading->hour < 0 || reading->hour > 24 || reading->minute < 0 || reading->minute > 59 ||
	       reading->second < 0 || reading->second > 60 ||
	       (reading->hour == 24 && (reading->minute > 0 || reading->second > 0));
}

static literal_fault read_time(struct reading *reading, const char *text)
{
	struct literal_clock clock;
	if (reading->unit != NO_UNIT && !reading->time_only) {
		if (reading->unit != WORD_ISO_TIME)
			return BAD_DATETIME;
		reading->unit = NO_UNIT;
	}
	literal_fault fault = literal_clock_read(text, &clock);
	if (fault)
		return fault;
	if (clock.hours > INT32_MAX)
		return FIELD_OVERFLOW;
	reading->now = TIME_BITS;
	reading->hour = (int)clock.hours;
	reading->minute = clock.minutes;
	reading->second = clock.seconds;
	if (clock.hours == 24 && clock.fraction > 0)
		reading->in_doubt = true;
	return !reading->time_only && time_overflows(reading) ? FIELD_OVERFLOW : NULL;
}

/* A number behind a label: "y2001". */
static literal_fault read_labelled(struct reading *reading, const char *text)
{
	char *end;
	int value;
	enum date_word unit = reading->unit;
	if (!literal_int(text, &end, &value))
		return FIELD_OVERFLOW;
	bool may_have_fraction = unit == WORD_JULIAN || unit == WORD_ISO_TIME || unit == WORD_SECOND;
	if (*end && (*end != '.' || !may_have_fraction))
		return BAD_DATETIME;
	reading->unit = NO_UNIT;
	switch (unit) {
	case WORD_YEAR:
	case WORD_DAY:
		reading->now = BIT(unit);
		*(unit == WORD_YEAR ? &reading->year : &reading->day) = value;
		return NULL;
	case WORD_MONTH:
		if ((reading->seen & BIT(WORD_MONTH)) && (reading->seen & BIT(WORD_HOUR))) {
			reading->minute = value;
			reading->now = BIT(WORD_MINUTE);
		} else {
			reading->month = value;
			reading->now = BIT(WORD_MONTH);
		}
		return NULL;
	case WORD_HOUR:
	case WORD_MINUTE:
		reading->now = BIT(unit);
		*(unit == WORD_HOUR ? &reading->hour : &reading->minute) = value;
		return NULL;
	case WORD_SECOND:
		reading->second = value;
		reading->now = *end == '.' ? SECOND_BITS : BIT(WORD_SECOND);
		return NULL;
	case WORD_JULIAN:
		reading->now = DATE_BITS | (*end == '.' ? TIME_BITS : 0);
		reading->is_julian = true;
		reading->in_doubt |= value > 5000000;
		reading->year = 2000;
		reading->month = reading->day = 1;
		return NULL;
	case WORD_ISO_TIME: {
		literal_fault fault = read_joined(reading, text, reading->seen | DATE_BITS);
		return fault ? fault : reading->now == TIME_BITS ? NULL : BAD_DATETIME;
	}
	default:
		return BAD_DATETIME;
	}
}

static literal_fault read_number_field(struct reading *reading, const struct literal_fields *fields,
				       size_t at)
{
	char *text = fields->items[at].text;
	const char *point = strchr(text, '.');
	size_t length = strlen(text), whole = point ? (size_t)(point - text) : length;
	if (reading->unit != NO_UNIT)
		return read_labelled(reading, text);
	if (reading->time_only) {
		if (point && at == 0 && fields->count >= 2 &&
		    fields->items[fields->count - 1].kind == FIELD_DATE)
			return read_date(reading, text);
		if (point ? whole > 2 : length > 4)
			return read_joined(reading, text, reading->seen | DATE_BITS);
		return point ? BAD_DATETIME : read_number(reading, text, reading->seen | DATE_BITS, false);
	}
	if (point && !(reading->seen & DATE_BITS))
		return read_date(reading, text);
	if ((point && whole > 2) ||
	    (!point && length >= 6 && (!(reading->seen & DATE_BITS) || !(reading->seen & TIME_BITS))))
		return read_joined(reading, text, reading->seen);
	return read_number(reading, text, reading->seen, reading->has_month_name);
}

static literal_fault read_reserved(struct reading *reading, int value)
{
	if (reading->time_only && value != RESERVED_NOW && value != RESERVED_ZULU)
		return BAD_DATETIME;
	reading->now = value == RESERVED_NOW	? DATE_BITS | TIME_BITS | BIT(WORD_ZONE)
		       : value == RESERVED_DAY	? DATE_BITS
		       : value == RESERVED_ZULU ? TIME_BITS | BIT(WORD_ZONE)
						: BIT(WORD_RESERVED);
	if (reading->time_only && value == RESERVED_NOW)
		reading->now = TIME_BITS;
	if (reading->now & DATE_BITS) {
		reading->year = 2000;
		reading->month = reading->day = 1;
	}
	reading->is_reserved |= value == RESERVED_INFINITY || value == RESERVED_EPOCH;
	return NULL;
}

/* Words that are not known may be names of time zones or their abbreviations, of any of the sets that
 * PostgreSQL comes with. */
static literal_fault read_zone_word(struct reading *reading, const char *word)
{
	static const char *const zones[] = {
#define ZONE(name) name,
#include "sql/postgresql/resolve/literal_zones.def"
#undef ZONE
	};
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		if (strncmp(zones[i], word, ZONE_BYTES) == 0) {
			reading->in_doubt = true;
			reading->now = BIT(WORD_ZONE);
			return NULL;
		}
	}
	return BAD_DATETIME;
}

static literal_fault read_month(struct reading *reading, int value)
{
	if ((reading->seen & BIT(WORD_MONTH)) && !reading->has_month_name &&
	    !(reading->seen & BIT(WORD_DAY)) && reading->month >= 1 && reading->month <= 31) {
		reading->day = reading->month;
		reading->now = BIT(WORD_DAY);
	}
	reading->has_month_name = true;
	reading->month = value;
	return NULL;
}

static literal_fault read_word(struct reading *reading, const struct literal_fields *fields, size_t at)
{
	int value;
	enum date_word kind = literal_date_word(fields->items[at].text, &value);
	reading->now = kind == WORD_UNKNOWN || kind == WORD_IGNORED ? 0 : BIT(kind);
	switch (kind) {
	case WORD_IGNORED:
		return NULL;
	case WORD_RESERVED:
		return read_reserved(reading, value);
	case WORD_MONTH:
		return reading->time_only ? BAD_DATETIME : read_month(reading, value);
	case WORD_WEEKDAY:
		return reading->time_only ? BAD_DATETIME : NULL;
	case WORD_SUMMER:
		reading->in_doubt = true;
		return NULL;
	case WORD_MERIDIAN:
		reading->meridian = value;
		return NULL;
	case WORD_ERA:
		reading->is_before_christ = value == 1;
		return NULL;
	case WORD_UNIT:
		reading->now = 0;
		reading->unit = (enum date_word)value;
		return NULL;
	case WORD_ISO_TIME: {
		reading->now = 0;
		reading->unit = WORD_ISO_TIME;
		bool has_time = at + 1 < fields->count && (fields->items[at + 1].kind == FIELD_NUMBER ||
							   fields->items[at + 1].kind == FIELD_TIME ||
							   fields->items[at + 1].kind == FIELD_DATE);
		return has_time && (reading->time_only || has_date(reading)) ? NULL : BAD_DATETIME;
	}
	default:
		return read_zone_word(reading, fields->items[at].text);
	}
}

static literal_fault read_field(struct reading *reading, const struct literal_fields *fields, size_t at)
{
	switch (fields->items[at].kind) {
	case FIELD_DATE:
		return read_date_field(reading, fields, at);
	case FIELD_TIME:
		return read_time(reading, fields->items[at].text);
	case FIELD_SIGNED_NUMBER:
		reading->now = BIT(WORD_ZONE);
		return read_offset(fields->items[at].text);
	case FIELD_NUMBER:
		return read_number_field(reading, fields, at);
	default:
		return read_word(reading, fields, at);
	}
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool year_is_valid(struct reading *reading)
{
	if (reading->is_julian)
		return true;
	if (reading->is_before_christ) {
		bool valid = reading->year > 0;
		reading->year = 1 - reading->year;
		return valid;
	}
	if (reading->is_short_year) {
		reading->year += reading->year < 70 ? 2000 : reading->year < 100 ? 1900 : 0;
		return reading->year >= 0;
	}
	return reading->year > 0;
}

static literal_fault check_date(struct reading *reading)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	if ((reading->seen & BIT(WORD_YEAR)) && !year_is_valid(reading))
		return FIELD_OVERFLOW;
	if (reading->seen & BIT(WORD_DAY_OF_YEAR)) {
		reading->month = reading->day = 1;
		reading->in_doubt |= reading->year > STAMP_YEAR_MAX;
		return NULL;
	}
	if ((reading->seen & BIT(WORD_MONTH)) && (reading->month < 1 || reading->month > 12))
		return FIELD_OVERFLOW;
	if ((reading->seen & BIT(WORD_DAY)) && (reading->day < 1 || reading->day > 31))
		return FIELD_OVERFLOW;
	if (!has_date(reading))
		return NULL;
	bool leap_day = reading->month == 2 && is_leap(reading->year);
	return reading->day > days[reading->month - 1] + leap_day ? FIELD_OVERFLOW : NULL;
}

static literal_fault check_time(struct reading *reading)
{
	if (reading->meridian >= 0 && reading->hour > 12)
		return FIELD_OVERFLOW;
	if (reading->meridian == 0 && reading->hour == 12)
		reading->hour = 0;
	else if (reading->meridian == 1 && reading->hour != 12)
		reading->hour += 12;
	return reading->time_only && time_overflows(reading) ? FIELD_OVERFLOW : NULL;
}

/* Reads the whole text with one order of parts. `last_year`: beyond it is out of range. */
static literal_fault read_ordered(const char *text, enum order order, bool time_only, int last_year)
{
	struct literal_fields fields;
	struct reading reading = { .order = order, .time_only = time_only, .unit = NO_UNIT, .meridian = -1 };
	if (!literal_fields_read(text, &fields))
		return BAD_DATETIME;
	for (size_t i = 0; i < fields.count; i++) {
		reading.now = 0;
		literal_fault fault = read_field(&reading, &fields, i);
		if (fault)
			return fault;
		if (reading.now & reading.seen)
			return BAD_DATETIME;
		reading.seen |= reading.now;
	}
	literal_fault fault = check_date(&reading);
	if (!fault)
		fault = check_time(&reading);
	if (fault)
		return fault;
	bool complete = time_only ? (reading.seen & TIME_BITS) == TIME_BITS
				  : reading.is_reserved || has_date(&reading);
	if (!complete)
		return BAD_DATETIME;
	if (!time_only && !reading.is_reserved && (reading.year > last_year || reading.year < YEAR_MIN)) {
		bool near = reading.year == last_year + 1 || reading.year == YEAR_MIN - 1;
		return near || (reading.seen & BIT(WORD_DAY_OF_YEAR)) ? LITERAL_DOUBT : FIELD_OVERFLOW;
	}
	return reading.in_doubt ? LITERAL_DOUBT : NULL;
}

/* By every order that settings may ask for. */
static literal_fault read_any_order(const char *text, bool time_only, int last_year)
{
	literal_fault first = NULL;
	if (strlen(text) > LITERAL_DATETIME_MAX)
		return LITERAL_DOUBT;
	for (enum order order = ORDER_MDY; order < ORDERS_COUNT; order++) {
		literal_fault fault = read_ordered(text, order, time_only, last_year);
		if (!literal_is_refused(fault))
			return order == ORDER_MDY ? fault : LITERAL_DOUBT;
		first = first ? first : fault;
	}
	return first;
}

literal_fault literal_date(const char *text)
{
	return read_any_order(text, false, DATE_YEAR_MAX);
}

literal_fault literal_timestamp(const char *text)
{
	return read_any_order(text, false, STAMP_YEAR_MAX);
}

literal_fault literal_time(const char *text)
{
	return read_any_order(text, true, 0);
}
