#include "sql/postgresql/resolve/literal_internal.h"

#include <ctype.h>
#include <errno.h>

const char LITERAL_DOUBT[] = "";

#define WORD_BYTES 10 /* longer words are cut */

struct word {
	const char *texts; /* with spaces between */
	enum date_word kind;
	int value;
};

static const struct word date_words[] = {
	{ "ad", WORD_ERA, 0 },
	{ "allballs", WORD_RESERVED, RESERVED_ZULU },
	{ "am", WORD_MERIDIAN, 0 },
	{ "apr april", WORD_MONTH, 4 },
	{ "at on", WORD_IGNORED, 0 },
	{ "aug august", WORD_MONTH, 8 },
	{ "bc", WORD_ERA, 1 },
	{ "d", WORD_UNIT, WORD_DAY },
	{ "dec december", WORD_MONTH, 12 },
	{ "dow doy isodow isoyear", WORD_UNIT, WORD_OTHER_UNIT },
	{ "dst", WORD_SUMMER, 0 },
	{ "epoch", WORD_RESERVED, RESERVED_EPOCH },
	{ "feb february", WORD_MONTH, 2 },
	{ "fri friday", WORD_WEEKDAY, 5 },
	{ "h", WORD_UNIT, WORD_HOUR },
	{ "infinity -infinity", WORD_RESERVED, RESERVED_INFINITY },
	{ "j jd julian", WORD_UNIT, WORD_JULIAN },
	{ "jan january", WORD_MONTH, 1 },
	{ "jul july", WORD_MONTH, 7 },
	{ "jun june", WORD_MONTH, 6 },
	{ "m", WORD_UNIT, WORD_MONTH },
	{ "mar march", WORD_MONTH, 3 },
	{ "may", WORD_MONTH, 5 },
	{ "mm", WORD_UNIT, WORD_MINUTE },
	{ "mon monday", WORD_WEEKDAY, 1 },
	{ "nov november", WORD_MONTH, 11 },
	{ "now", WORD_RESERVED, RESERVED_NOW },
	{ "oct october", WORD_MONTH, 10 },
	{ "pm", WORD_MERIDIAN, 1 },
	{ "s", WORD_UNIT, WORD_SECOND },
	{ "sat saturday", WORD_WEEKDAY, 6 },
	{ "sep sept september", WORD_MONTH, 9 },
	{ "sun sunday", WORD_WEEKDAY, 0 },
	{ "t", WORD_ISO_TIME, WORD_ISO_TIME },
	{ "thu thur thurs thursday", WORD_WEEKDAY, 4 },
	{ "today tomorrow yesterday", WORD_RESERVED, RESERVED_DAY },
	{ "tue tues tuesday", WORD_WEEKDAY, 2 },
	{ "wed wednesday weds", WORD_WEEKDAY, 3 },
	{ "y", WORD_UNIT, WORD_YEAR },
};

static const struct word interval_units[] = {
	{ "@", WORD_IGNORED, 0 },
	{ "ago", WORD_IGNORED, 1 },
	{ "c cent centuries century", WORD_CENTURY, 0 },
	{ "d day days", WORD_DAY, 0 },
	{ "dec decade decades decs", WORD_DECADE, 0 },
	{ "h hour hours hr hrs", WORD_HOUR, 0 },
	{ "m min mins minute minutes", WORD_MINUTE, 0 },
	{ "microsecon us usec usecond useconds usecs", WORD_MICROSECOND, 0 },
	{ "mil millennia millennium mils", WORD_MILLENNIUM, 0 },
	{ "millisecon ms msec msecond mseconds msecs", WORD_MILLISECOND, 0 },
	{ "mon mons month months", WORD_MONTH, 0 },
	{ "qtr quarter timezone timezone_h timezone_m", WORD_OTHER_UNIT, 0 },
	{ "s sec second seconds secs", WORD_SECOND, 0 },
	{ "w week weeks", WORD_WEEK, 0 },
	{ "y year years yr yrs", WORD_YEAR, 0 },
};

static const struct word *find_word(const struct word *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (str_is_listed((str_t){ text, strnlen(text, WORD_BYTES) }, words[i].texts))
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
