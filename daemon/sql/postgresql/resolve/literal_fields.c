#include "sql/postgresql/resolve/literal_internal.h"

#include <ctype.h>
#include <errno.h>

const char LITERAL_DOUBT[] = "";

#define WORD_BYTES 10 /* longer words are cut */

struct word {
	const char *text;
	enum date_word kind;
	int value;
};

static const struct word date_words[] = {
	{ "ad", WORD_ERA, 0 },
	{ "allballs", WORD_RESERVED, RESERVED_ZULU },
	{ "am", WORD_MERIDIAN, 0 },
	{ "apr", WORD_MONTH, 4 },
	{ "april", WORD_MONTH, 4 },
	{ "at", WORD_IGNORED, 0 },
	{ "aug", WORD_MONTH, 8 },
	{ "august", WORD_MONTH, 8 },
	{ "bc", WORD_ERA, 1 },
	{ "d", WORD_UNIT, WORD_DAY },
	{ "dec", WORD_MONTH, 12 },
	{ "december", WORD_MONTH, 12 },
	{ "dow", WORD_UNIT, WORD_OTHER_UNIT },
	{ "doy", WORD_UNIT, WORD_OTHER_UNIT },
	{ "dst", WORD_SUMMER, 0 },
	{ "epoch", WORD_RESERVED, RESERVED_EPOCH },
	{ "feb", WORD_MONTH, 2 },
	{ "february", WORD_MONTH, 2 },
	{ "fri", WORD_WEEKDAY, 5 },
	{ "friday", WORD_WEEKDAY, 5 },
	{ "h", WORD_UNIT, WORD_HOUR },
	{ "infinity", WORD_RESERVED, RESERVED_INFINITY },
	{ "-infinity", WORD_RESERVED, RESERVED_INFINITY },
	{ "isodow", WORD_UNIT, WORD_OTHER_UNIT },
	{ "isoyear", WORD_UNIT, WORD_OTHER_UNIT },
	{ "j", WORD_UNIT, WORD_JULIAN },
	{ "jan", WORD_MONTH, 1 },
	{ "january", WORD_MONTH, 1 },
	{ "jd", WORD_UNIT, WORD_JULIAN },
	{ "jul", WORD_MONTH, 7 },
	{ "julian", WORD_UNIT, WORD_JULIAN },
	{ "july", WORD_MONTH, 7 },
	{ "jun", WORD_MONTH, 6 },
	{ "june", WORD_MONTH, 6 },
	{ "m", WORD_UNIT, WORD_MONTH },
	{ "mar", WORD_MONTH, 3 },
	{ "march", WORD_MONTH, 3 },
	{ "may", WORD_MONTH, 5 },
	{ "mm", WORD_UNIT, WORD_MINUTE },
	{ "mon", WORD_WEEKDAY, 1 },
	{ "monday", WORD_WEEKDAY, 1 },
	{ "nov", WORD_MONTH, 11 },
	{ "november", WORD_MONTH, 11 },
	{ "now", WORD_RESERVED, RESERVED_NOW },
	{ "oct", WORD_MONTH, 10 },
	{ "october", WORD_MONTH, 10 },
	{ "on", WORD_IGNORED, 0 },
	{ "pm", WORD_MERIDIAN, 1 },
	{ "s", WORD_UNIT, WORD_SECOND },
	{ "sat", WORD_WEEKDAY, 6 },
	{ "saturday", WORD_WEEKDAY, 6 },
	{ "sep", WORD_MONTH, 9 },
	{ "sept", WORD_MONTH, 9 },
	{ "september", WORD_MONTH, 9 },
	{ "sun", WORD_WEEKDAY, 0 },
	{ "sunday", WORD_WEEKDAY, 0 },
	{ "t", WORD_ISO_TIME, WORD_ISO_TIME },
	{ "thu", WORD_WEEKDAY, 4 },
	{ "thur", WORD_WEEKDAY, 4 },
	{ "thurs", WORD_WEEKDAY, 4 },
	{ "thursday", WORD_WEEKDAY, 4 },
	{ "today", WORD_RESERVED, RESERVED_DAY },
	{ "tomorrow", WORD_RESERVED, RESERVED_DAY },
	{ "tue", WORD_WEEKDAY, 2 },
	{ "tues", WORD_WEEKDAY, 2 },
	{ "tuesday", WORD_WEEKDAY, 2 },
	{ "wed", WORD_WEEKDAY, 3 },
	{ "wednesday", WORD_WEEKDAY, 3 },
	{ "weds", WORD_WEEKDAY, 3 },
	{ "y", WORD_UNIT, WORD_YEAR },
	{ "yesterday", WORD_RESERVED, RESERVED_DAY },
};

static const struct word interval_units[] = {
	{ "@", WORD_IGNORED, 0 },
	{ "ago", WORD_IGNORED, 1 },
	{ "c", WORD_CENTURY, 0 },
	{ "cent", WORD_CENTURY, 0 },
	{ "centuries", WORD_CENTURY, 0 },
	{ "century", WORD_CENTURY, 0 },
	{ "d", WORD_DAY, 0 },
	{ "day", WORD_DAY, 0 },
	{ "days", WORD_DAY, 0 },
	{ "dec", WORD_DECADE, 0 },
	{ "decade", WORD_DECADE, 0 },
	{ "decades", WORD_DECADE, 0 },
	{ "decs", WORD_DECADE, 0 },
	{ "h", WORD_HOUR, 0 },
	{ "hour", WORD_HOUR, 0 },
	{ "hours", WORD_HOUR, 0 },
	{ "hr", WORD_HOUR, 0 },
	{ "hrs", WORD_HOUR, 0 },
	{ "m", WORD_MINUTE, 0 },
	{ "microsecon", WORD_MICROSECOND, 0 },
	{ "mil", WORD_MILLENNIUM, 0 },
	{ "millennia", WORD_MILLENNIUM, 0 },
	{ "millennium", WORD_MILLENNIUM, 0 },
	{ "millisecon", WORD_MILLISECOND, 0 },
	{ "mils", WORD_MILLENNIUM, 0 },
	{ "min", WORD_MINUTE, 0 },
	{ "mins", WORD_MINUTE, 0 },
	{ "minute", WORD_MINUTE, 0 },
	{ "minutes", WORD_MINUTE, 0 },
	{ "mon", WORD_MONTH, 0 },
	{ "mons", WORD_MONTH, 0 },
	{ "month", WORD_MONTH, 0 },
	{ "months", WORD_MONTH, 0 },
	{ "ms", WORD_MILLISECOND, 0 },
	{ "msec", WORD_MILLISECOND, 0 },
	{ "msecond", WORD_MILLISECOND, 0 },
	{ "mseconds", WORD_MILLISECOND, 0 },
	{ "msecs", WORD_MILLISECOND, 0 },
	{ "qtr", WORD_OTHER_UNIT, 0 },
	{ "quarter", WORD_OTHER_UNIT, 0 },
	{ "s", WORD_SECOND, 0 },
	{ "sec", WORD_SECOND, 0 },
	{ "second", WORD_SECOND, 0 },
	{ "seconds", WORD_SECOND, 0 },
	{ "secs", WORD_SECOND, 0 },
	{ "timezone", WORD_OTHER_UNIT, 0 },
	{ "timezone_h", WORD_OTHER_UNIT, 0 },
	{ "timezone_m", WORD_OTHER_UNIT, 0 },
	{ "us", WORD_MICROSECOND, 0 },
	{ "usec", WORD_MICROSECOND, 0 },
	{ "usecond", WORD_MICROSECOND, 0 },
	{ "useconds", WORD_MICROSECOND, 0 },
	{ "usecs", WORD_MICROSECOND, 0 },
	{ "w", WORD_WEEK, 0 },
	{ "week", WORD_WEEK, 0 },
	{ "weeks", WORD_WEEK, 0 },
	{ "y", WORD_YEAR, 0 },
	{ "year", WORD_YEAR, 0 },
	{ "years", WORD_YEAR, 0 },
	{ "yr", WORD_YEAR, 0 },
	{ "yrs", WORD_YEAR, 0 },
};

static const struct word *find_word(const struct word *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(words[i].text, text, WORD_BYTES) == 0)
			return &words[i];
	}
	return NULL;
}

#define FIND_WORD(words, text) find_word((words), sizeof(words) / sizeof *(words), (text))

enum date_word literal_date_word(const char *text, int *ret_value)
{
	const struct word *word = FIND_WORD(date_words, text);
	*ret_value = word ? word->value : 0;
	return word ? word->kind : WORD_UNKNOWN;
}

enum date_word literal_interval_unit(const char *text)
{
	const struct word *word = FIND_WORD(interval_units, text);
	return word ? word->kind : WORD_UNKNOWN;
}

/* ---- Fields ---- */

/* Where the text is read from and where the present field is written to. */
struct reader {
	const char *at;
	char *out;
};

static void take(struct reader *reader)
{
	*reader->out++ = (char)tolower((unsigned char)*reader->at++);
}

static void take_digits(struct reader *reader)
{
	while (literal_is_digit(*reader->at))
		take(reader);
}

static void take_letters(struct reader *reader)
{
	while (literal_is_letter(*reader->at))
		take(reader);
}

static bool is_among(char c, const char *set)
{
	return c && strchr(set, c);
}

static enum literal_field_kind read_date(struct reader *reader)
{
	char sign = *reader->at;
	enum literal_field_kind kind = FIELD_DATE;
	take(reader);
	if (!literal_is_digit(*reader->at)) {
		while (literal_is_digit(*reader->at) || literal_is_letter(*reader->at) || *reader->at == sign)
			take(reader);
		return FIELD_DATE;
	}
	kind = sign == '.' ? FIELD_NUMBER : FIELD_DATE;
	take_digits(reader);
	if (*reader->at != sign)
		return kind;
	while (literal_is_digit(*reader->at) || *reader->at == sign)
		take(reader);
	return FIELD_DATE;
}

static enum literal_field_kind read_number(struct reader *reader)
{
	take_digits(reader);
	if (*reader->at == ':') {
		while (literal_is_digit(*reader->at) || is_among(*reader->at, ":."))
			take(reader);
		return FIELD_TIME;
	}
	return is_among(*reader->at, "-/.") ? read_date(reader) : FIELD_NUMBER;
}

static enum literal_field_kind read_word(struct reader *reader, const char *start)
{
	take_letters(reader);
	bool is_date = is_among(*reader->at, "-/.");
	if (*reader->at == '+' || literal_is_digit(*reader->at)) {
		*reader->out = '\0';
		is_date = !FIND_WORD(date_words, start);
	}
	if (!is_date)
		return FIELD_WORD;
	do {
		take(reader);
	} while (is_among(*reader->at, "+-/_.:") || literal_is_digit(*reader->at) ||
		 literal_is_letter(*reader->at));
	return FIELD_DATE;
}

static bool read_signed(struct reader *reader, enum literal_field_kind *ret_kind)
{
	take(reader);
	while (literal_is_space(*reader->at))
		reader->at++;
	if (literal_is_digit(*reader->at)) {
		*ret_kind = FIELD_SIGNED_NUMBER;
		while (literal_is_digit(*reader->at) || is_among(*reader->at, ":.-"))
			take(reader);
		return true;
	}
	*ret_kind = FIELD_SIGNED_WORD;
	take_letters(reader);
	return literal_is_letter(reader->at[-1]);
}

static bool read_field(struct reader *reader, struct literal_field *field)
{
	field->text = reader->out;
	if (literal_is_digit(*reader->at)) {
		field->kind = read_number(reader);
	} else if (*reader->at == '.') {
		take(reader);
		take_digits(reader);
		field->kind = FIELD_NUMBER;
	} else if (literal_is_letter(*reader->at)) {
		field->kind = read_word(reader, field->text);
	} else {
		return read_signed(reader, &field->kind);
	}
	return true;
}

bool literal_fields_read(const char *text, struct literal_fields *ret_fields)
{
	struct reader reader = { text, ret_fields->buffer };
	ret_fields->count = 0;
	while (*reader.at) {
		if (literal_is_space(*reader.at)) {
			reader.at++;
			continue;
		}
		if (ret_fields->count == LITERAL_FIELDS_MAX)
			return false;
		bool begins = literal_is_digit(*reader.at) || literal_is_letter(*reader.at) ||
			      is_among(*reader.at, ".+-");
		if (!begins && !ispunct((unsigned char)*reader.at))
			return false;
		if (!begins) {
			reader.at++;
			continue;
		}
		if (!read_field(&reader, &ret_fields->items[ret_fields->count]))
			return false;
		*reader.out++ = '\0';
		ret_fields->count++;
	}
	return true;
}

/* ---- Numbers ---- */

bool literal_int(const char *text, char **ret_end, int *ret_value)
{
	errno = 0;
	long value = strtol(text, ret_end, 10);
	if (errno == ERANGE || value < INT32_MIN || value > INT32_MAX)
		return false;
	*ret_value = (int)value;
	return true;
}

bool literal_fraction(const char *text, double *ret_fraction)
{
	char *end;
	*ret_fraction = 0;
	if (text[1] == '\0')
		return true;
	errno = 0;
	*ret_fraction = strtod(text, &end);
	return *end == '\0' && errno == 0;
}

/* Seconds and their fraction, after "12:30:"; or of "30.5", where minutes come first. */
static literal_fault read_seconds(char *at, struct literal_clock *clock)
{
	if (*at == ':' && !literal_int(at + 1, &at, &clock->seconds))
		return FIELD_OVERFLOW;
	clock->has_seconds = true;
	if (*at == '.')
		return literal_fraction(at, &clock->fraction) ? NULL : BAD_DATETIME;
	return *at == '\0' ? NULL : BAD_DATETIME;
}

literal_fault literal_clock_read(const char *text, struct literal_clock *ret_clock)
{
	char *at;
	*ret_clock = (struct literal_clock){ 0 };
	errno = 0;
	ret_clock->hours = strtoll(text, &at, 10);
	if (errno == ERANGE)
		return FIELD_OVERFLOW;
	if (*at != ':')
		return BAD_DATETIME;
	if (!literal_int(at + 1, &at, &ret_clock->minutes))
		return FIELD_OVERFLOW;
	bool minutes_first = *at == '.';
	literal_fault fault = *at == '\0' ? NULL : read_seconds(at, ret_clock);
	if (fault)
		return fault;
	if (minutes_first) {
		if (ret_clock->hours > INT32_MAX || ret_clock->hours < INT32_MIN)
			return FIELD_OVERFLOW;
		ret_clock->seconds = ret_clock->minutes;
		ret_clock->minutes = (int)ret_clock->hours;
		ret_clock->hours = 0;
	}
	return ret_clock->hours < 0 || ret_clock->minutes < 0 || ret_clock->minutes > 59 ||
			       ret_clock->seconds < 0 || ret_clock->seconds > 60
		       ? FIELD_OVERFLOW
		       : NULL;
}
