#include "sql/postgresql/resolve/literal_internal.h"

#include <errno.h>
#include <math.h>

/* Follows DecodeInterval and DecodeISO8601Interval of PostgreSQL: fields from right to left, units before
 * their values. What the fields of a type (MINUTE TO SECOND) change of that is not known here. */

#define OVERFLOW       "22015"
#define BIT(word)      (1U << (word))
#define SECOND_BITS    (BIT(WORD_SECOND) | BIT(WORD_MILLISECOND) | BIT(WORD_MICROSECOND))
#define TIME_BITS      (BIT(WORD_HOUR) | BIT(WORD_MINUTE) | SECOND_BITS)
#define NO_UNIT	       WORD_UNKNOWN
#define SURELY_HELD    1000000.0 /* larger amounts of a unit may overflow */
#define MONTHS_IN_YEAR 12

struct reading {
	unsigned seen, now;
	enum date_word unit;
	bool has_field; /* something was read */
	bool in_doubt;
};

static literal_fault read_clock(struct reading *reading, const char *text)
{
	struct literal_clock clock;
	literal_fault fault = literal_clock_read(text, &clock);
	if (fault)
		return fault;
	reading->in_doubt |= (double)clock.hours > SURELY_HELD;
	reading->now = TIME_BITS;
	reading->unit = WORD_DAY;
	return NULL;
}

static void count_unit(struct reading *reading, double fraction)
{
	enum date_word unit = reading->unit;
	reading->has_field = true;
	reading->now = unit == WORD_SECOND && fraction != 0 ? SECOND_BITS : BIT(unit);
	if (unit == WORD_HOUR)
		reading->unit = WORD_DAY;
}

/* Amounts above surely overflow. */
static double most_of(enum date_word unit)
{
	switch (unit) {
	case WORD_DAY:
	case WORD_WEEK:
	case WORD_MONTH:
	case WORD_YEAR:
	case WORD_DECADE:
	case WORD_CENTURY:
	case WORD_MILLENNIUM:
		return 2147483648.0;
	case WORD_HOUR:
		return 2562047789.0;
	case WORD_MINUTE:
		return 153722867281.0;
	case WORD_SECOND:
		return 9223372036855.0;
	default:
		return INFINITY;
	}
}

static literal_fault read_amount(struct reading *reading, const char *text)
{
	char *end;
	double fraction = 0;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno == ERANGE)
		return FIELD_OVERFLOW;
	if (*end == '-') {
		int months;
		if (!literal_int(end + 1, &end, &months) || months < 0 || months >= MONTHS_IN_YEAR)
			return FIELD_OVERFLOW;
		if (*end)
			return BAD_DATETIME;
		reading->unit = WORD_MONTH;
	} else if (*end == '.') {
		if (!literal_fraction(end, &fraction))
			return BAD_DATETIME;
	} else if (*end) {
		return BAD_DATETIME;
	}
	if (reading->unit == NO_UNIT)
		reading->unit = WORD_SECOND;
	if (reading->unit == WORD_OTHER_UNIT || reading->unit == WORD_IGNORED)
		return BAD_DATETIME;
	reading->in_doubt |= fabs((double)value) > SURELY_HELD;
	if (fabs((double)value) > most_of(reading->unit))
		return FIELD_OVERFLOW;
	count_unit(reading, fraction);
	return NULL;
}

static literal_fault read_field(struct reading *reading, const struct literal_field *field)
{
	switch (field->kind) {
	case FIELD_TIME:
		reading->has_field = true;
		return read_clock(reading, field->text);
	case FIELD_SIGNED_NUMBER:
		if (strchr(field->text + 1, ':') && !read_clock(reading, field->text + 1)) {
			reading->has_field = true;
			return NULL;
		}
		return read_amount(reading, field->text);
	case FIELD_DATE:
	case FIELD_NUMBER:
		return read_amount(reading, field->text);
	default:
		reading->unit = literal_interval_unit(field->text);
		reading->in_doubt |= strcmp(field->text, "ago") == 0;
		return reading->unit == WORD_UNKNOWN ? BAD_DATETIME : NULL;
	}
}

static literal_fault read_fields(const char *text)
{
	struct literal_fields fields;
	struct reading reading = { .unit = NO_UNIT };
	if (!literal_fields_read(text, &fields))
		return BAD_DATETIME;
	for (size_t i = fields.count; i > 0; i--) {
		reading.now = 0;
		literal_fault fault = read_field(&reading, &fields.items[i - 1]);
		if (fault)
			return fault;
		if (reading.now & reading.seen)
			return BAD_DATETIME;
		reading.seen |= reading.now;
	}
	if (!reading.has_field)
		return BAD_DATETIME;
	return reading.in_doubt ? LITERAL_DOUBT : NULL;
}

/* "P1Y2M3DT4H5M6S"; other forms with a P are in doubt. */
static literal_fault read_designators(const char *text)
{
	const char *units = "YMWD";
	if (strlen(text) < 2 || *text != 'P')
		return BAD_DATETIME;
	for (text++; *text;) {
		char *end;
		if (*text == 'T') {
			units = "HMS";
			text++;
			continue;
		}
		if (!literal_is_digit(*text) && *text != '-' && *text != '.')
			return BAD_DATETIME;
		errno = 0;
		double value = strtod(text, &end);
		if (end == text)
			return BAD_DATETIME;
		if (errno || !(fabs(value) < SURELY_HELD) || !*end || strchr("T-:", *end))
			return LITERAL_DOUBT;
		if (!strchr(units, *end))
			return BAD_DATETIME;
		text = end + 1;
	}
	return NULL;
}

/* Later versions read infinite intervals. */
static bool is_infinite(const char *text)
{
	while (literal_is_space(*text) || *text == '-' || *text == '+')
		text++;
	return strncasecmp(text, "infinity", strlen("infinity")) == 0;
}

literal_fault literal_interval(const char *text)
{
	if (strlen(text) > LITERAL_DATETIME_MAX || is_infinite(text))
		return LITERAL_DOUBT;
	literal_fault fault = read_fields(text);
	if (literal_fault_is(fault, BAD_DATETIME))
		fault = read_designators(text);
	return literal_fault_is(fault, FIELD_OVERFLOW) ? OVERFLOW : fault;
}
