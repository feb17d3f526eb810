#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>
#include <errno.h>

#define BAD_TEXT       "22P02"
#define OUT_OF_RANGE   "22003"
#define BAD_DATETIME   "22007"
#define FIELD_OVERFLOW "22008"

static enum certainty refuse(const char **ret_sqlstate, const char *sqlstate)
{
	*ret_sqlstate = sqlstate;
	return SURELY_NOT;
}

static bool is_space(char c)
{
	return isspace((unsigned char)c) != 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) != 0;
}

/* Without the spaces around it. */
static str_t trimmed(const char *text)
{
	size_t length = strlen(text);
	while (length > 0 && is_space(*text)) {
		text++;
		length--;
	}
	while (length > 0 && is_space(text[length - 1]))
		length--;
	return (str_t){ text, length };
}

static bool same_word(str_t text, const char *word)
{
	return strlen(word) == text.len && strncasecmp(text.ptr, word, text.len) == 0;
}

static bool one_of(str_t text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (same_word(text, words[i]))
			return true;
	}
	return false;
}

#define ONE_OF(text, words) one_of((text), (words), sizeof(words) / sizeof *(words))

static size_t digits_at(str_t text, size_t at)
{
	size_t count = 0;
	while (at + count < text.len && is_digit(text.ptr[at + count]))
		count++;
	return count;
}

static size_t after_sign(str_t text)
{
	return text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
}

/* Words may be cut short as long as they stay unambiguous. */
static enum certainty boolean_fits(str_t text, const char **ret_sqlstate)
{
	static const struct {
		const char *word;
		size_t shortest;
	} words[] = { { "true", 1 }, { "false", 1 }, { "yes", 1 }, { "no", 1 },
		      { "on", 2 },   { "off", 2 },   { "1", 1 },   { "0", 1 } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (text.len >= words[i].shortest && text.len <= strlen(words[i].word) &&
		    strncasecmp(text.ptr, words[i].word, text.len) == 0)
			return SURELY;
	}
	return refuse(ret_sqlstate, BAD_TEXT);
}

static enum certainty integer_fits(str_t text, int64_t least, int64_t most, const char **ret_sqlstate)
{
	size_t sign = after_sign(text), digits = digits_at(text, sign);
	if (digits == 0 || sign + digits != text.len)
		return refuse(ret_sqlstate, BAD_TEXT);
	errno = 0;
	long long value = strtoll(text.ptr, NULL, 10);
	if (errno == ERANGE || value < least || value > most)
		return refuse(ret_sqlstate, OUT_OF_RANGE);
	return SURELY;
}

static bool is_special_number(str_t text)
{
	static const char *const words[] = { "nan", "inf", "infinity" };
	size_t sign = after_sign(text);
	return ONE_OF(((str_t){ text.ptr + sign, text.len - sign }), words);
}

/* Sign, digits with at most one point, exponent. */
static bool is_decimal(str_t text)
{
	size_t at = after_sign(text), whole = digits_at(text, at), fraction = 0;
	at += whole;
	if (at < text.len && text.ptr[at] == '.') {
		fraction = digits_at(text, at + 1);
		at += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
		at++;
		at += at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+');
		size_t exponent = digits_at(text, at);
		if (exponent == 0)
			return false;
		at += exponent;
	}
	return at == text.len;
}

static enum certainty number_fits(str_t text, const char **ret_sqlstate)
{
	if (is_special_number(text))
		return SURELY;
	return is_decimal(text) ? PERHAPS : refuse(ret_sqlstate, BAD_TEXT);
}

/* C's own notations are read, too. */
static enum certainty float_fits(str_t text, const char **ret_sqlstate)
{
	char *end;
	if (text.len == 0)
		return refuse(ret_sqlstate, BAD_TEXT);
	(void)strtod(text.ptr, &end);
	return end == text.ptr + text.len ? PERHAPS : refuse(ret_sqlstate, BAD_TEXT);
}

static bool has_digit(str_t text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (is_digit(text.ptr[i]))
			return true;
	}
	return false;
}

/* Whether some word of letters is one of those. */
static bool mentions(str_t text, const char *const *words, size_t count)
{
	for (size_t at = 0; at < text.len;) {
		size_t end = at;
		while (end < text.len && is_letter(text.ptr[end]))
			end++;
		if (end > at && one_of((str_t){ text.ptr + at, end - at }, words, count))
			return true;
		at = end > at ? end : at + 1;
	}
	return false;
}

struct number {
	size_t digits;
	unsigned value;
};

static struct number number_at(str_t text, size_t at)
{
	struct number number = { .digits = digits_at(text, at) };
	for (size_t i = 0; i < number.digits && i < 8; i++)
		number.value = number.value * 10 + (unsigned)(text.ptr[at + i] - '0');
	return number;
}

static unsigned days_of(unsigned year, unsigned month)
{
	static const unsigned days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

/* "12:30" with or without more behind it. */
static bool is_overflowing_time(str_t text, size_t at)
{
	struct number hour = number_at(text, at);
	at += hour.digits;
	if (hour.digits == 0 || hour.digits > 2 || at >= text.len || text.ptr[at] != ':')
		return false;
	struct number minute = number_at(text, at + 1);
	return minute.digits == 2 && (hour.value > 24 || minute.value > 59);
}

/* Year first: its parts have no other reading. */
static enum certainty iso_date_fits(str_t text, const char **ret_sqlstate)
{
	struct number year = number_at(text, 0);
	size_t at = year.digits;
	if (year.digits != 4)
		return PERHAPS;
	if (at == text.len)
		return refuse(ret_sqlstate, BAD_DATETIME);
	if (text.ptr[at] != '-')
		return PERHAPS;
	struct number month = number_at(text, at + 1);
	at += 1 + month.digits;
	if (month.digits == 0 || month.digits > 2)
		return PERHAPS;
	if (at == text.len)
		return refuse(ret_sqlstate, BAD_DATETIME);
	if (text.ptr[at] != '-')
		return PERHAPS;
	struct number day = number_at(text, at + 1);
	at += 1 + day.digits;
	if (day.digits == 0 || day.digits > 2 ||
	    (at < text.len && text.ptr[at] != ' ' && text.ptr[at] != 'T'))
		return PERHAPS;
	if (month.value < 1 || month.value > 12 || day.value < 1 ||
	    day.value > days_of(year.value, month.value))
		return refuse(ret_sqlstate, FIELD_OVERFLOW);
	if (at < text.len && is_overflowing_time(text, at + 1))
		return refuse(ret_sqlstate, FIELD_OVERFLOW);
	return PERHAPS;
}

/* Units of intervals as their input knows them; longer words are cut to ten letters. */
static const char *const units[] = {
	"ago",	      "c",	    "cent",	  "centuries", "century",    "d",	"day",
	"days",	      "dec",	    "decade",	  "decades",   "decs",	     "h",	"hour",
	"hours",      "hr",	    "hrs",	  "m",	       "microsecon", "mil",	"millennia",
	"millennium", "mils",	    "millisecon", "min",       "mins",	     "minute",	"minutes",
	"mon",	      "mons",	    "month",	  "months",    "ms",	     "msec",	"msecond",
	"mseconds",   "msecs",	    "s",	  "sec",       "second",     "seconds", "secs",
	"us",	      "usec",	    "usecond",	  "useconds",  "usecs",	     "w",	"week",
	"weeks",      "y",	    "year",	  "years",     "yr",	     "yrs",	"timezone",
	"timezone_h", "timezone_m", "qtr",
};

static str_t cut_unit(str_t word)
{
	return (str_t){ word.ptr, word.len > 10 ? 10 : word.len };
}

/* "3 months": a number and a unit that only intervals know. */
static bool is_plain_interval(str_t text)
{
	size_t at = after_sign(text), digits = digits_at(text, at);
	at += digits;
	if (digits == 0)
		return false;
	while (at < text.len && is_space(text.ptr[at]))
		at++;
	str_t word = { text.ptr + at, text.len - at };
	return word.len > 2 && ONE_OF(cut_unit(word), units);
}

/* A date has a year, a month (or its name) and a day; only a Julian day has one number. */
static bool has_too_few_digits(str_t text)
{
	size_t digits = 0, letters = 0;
	for (size_t i = 0; i < text.len; i++) {
		digits += is_digit(text.ptr[i]);
		letters += is_letter(text.ptr[i]);
	}
	return letters == 0 ? digits < 3 : digits < 2 && !strchr("jJ", text.ptr[0]);
}

static enum certainty date_fits(str_t text, const char **ret_sqlstate)
{
	static const char *const words[] = { "epoch",	  "now",      "today", "tomorrow",
					     "yesterday", "infinity", "inf" };
	if (!has_digit(text))
		return mentions(text, words, sizeof words / sizeof *words)
			       ? PERHAPS
			       : refuse(ret_sqlstate, BAD_DATETIME);
	if (is_plain_interval(text) || has_too_few_digits(text))
		return refuse(ret_sqlstate, BAD_DATETIME);
	return iso_date_fits(text, ret_sqlstate);
}

static enum certainty time_fits(str_t text, const char **ret_sqlstate)
{
	static const char *const words[] = { "now", "allballs" };
	if (has_digit(text) || mentions(text, words, sizeof words / sizeof *words))
		return PERHAPS;
	return refuse(ret_sqlstate, BAD_DATETIME);
}

/* "2023-01-15": three numbers. */
static bool begins_like_date(str_t text)
{
	size_t at = digits_at(text, 0);
	if (at != 4 || at >= text.len || text.ptr[at] != '-')
		return false;
	size_t month = digits_at(text, at + 1);
	at += 1 + month;
	return month > 0 && at < text.len && text.ptr[at] == '-' && digits_at(text, at + 1) > 0;
}

/* A word that is no unit; texts with other signs than those of numbers are left alone. */
static enum certainty interval_fits(str_t text, const char **ret_sqlstate)
{
	if (!has_digit(text))
		return refuse(ret_sqlstate, BAD_DATETIME);
	if (text.ptr[0] == 'P' || text.ptr[0] == 'p')
		return PERHAPS;
	if (begins_like_date(text))
		return refuse(ret_sqlstate, BAD_DATETIME);
	for (size_t at = 0; at < text.len;) {
		size_t end = at;
		while (end < text.len && is_letter(text.ptr[end]))
			end++;
		if (end > at && !ONE_OF(cut_unit(((str_t){ text.ptr + at, end - at })), units))
			return memchr(text.ptr, '_', text.len) ? PERHAPS : refuse(ret_sqlstate, BAD_DATETIME);
		at = end > at ? end : at + 1;
	}
	return PERHAPS;
}

/* 32 digits; hyphens may follow any group of four, braces may be around. */
static enum certainty uuid_fits(str_t text, const char **ret_sqlstate)
{
	size_t digits = 0;
	bool braces = text.len > 1 && text.ptr[0] == '{' && text.ptr[text.len - 1] == '}';
	for (size_t i = braces; i < text.len - braces; i++) {
		if (isxdigit((unsigned char)text.ptr[i]))
			digits++;
		else if (text.ptr[i] != '-' || digits == 0 || digits % 4 != 0 || text.ptr[i - 1] == '-')
			return refuse(ret_sqlstate, BAD_TEXT);
	}
	return digits == 32 && text.ptr[text.len - 1] != '-' ? SURELY : refuse(ret_sqlstate, BAD_TEXT);
}

/* Only what cannot begin a value; the rest is left to the reader. */
static enum certainty json_fits(str_t text, const char **ret_sqlstate)
{
	static const char *const words[] = { "true", "false", "null" };
	if (text.len == 0)
		return refuse(ret_sqlstate, BAD_TEXT);
	if (is_letter(text.ptr[0]) && !ONE_OF(text, words))
		return refuse(ret_sqlstate, BAD_TEXT);
	return memchr("{[\"-0123456789tfn", text.ptr[0], 17) ? PERHAPS : refuse(ret_sqlstate, BAD_TEXT);
}

/* `{1,2}`; elements are looked at where nothing is quoted or nested. */
static enum certainty array_fits(const struct catalog *catalog, type_id element, str_t text,
				 const char **ret_sqlstate)
{
	char value[64];
	if (text.len < 2 || (text.ptr[0] != '{' && text.ptr[0] != '['))
		return refuse(ret_sqlstate, BAD_TEXT);
	str_t inner = { text.ptr + 1, text.len - 2 };
	if (text.ptr[0] != '{' || text.ptr[text.len - 1] != '}' || element == BOXOID)
		return PERHAPS;
	for (size_t i = 0; i < inner.len; i++) {
		if (strchr("{}\"\\", inner.ptr[i]))
			return PERHAPS;
	}
	for (size_t at = 0; at < inner.len;) {
		const char *comma = memchr(inner.ptr + at, ',', inner.len - at);
		size_t length = comma ? (size_t)(comma - inner.ptr) - at : inner.len - at;
		if (length >= sizeof value)
			return PERHAPS;
		memcpy(value, inner.ptr + at, length);
		value[length] = '\0';
		if (strcasecmp(value, "null") != 0 &&
		    literal_fits(catalog, element, value, ret_sqlstate) == SURELY_NOT)
			return SURELY_NOT;
		at += length + 1;
	}
	return PERHAPS;
}

/* Binary digits; a leading letter may say so, or that they are hexadecimal. */
static enum certainty bits_fit(str_t text, const char **ret_sqlstate)
{
	bool hexadecimal = text.len > 0 && strchr("xX", text.ptr[0]);
	size_t at = text.len > 0 && strchr("bBxX", text.ptr[0]) ? 1 : 0;
	for (; at < text.len; at++) {
		if (hexadecimal ? !isxdigit((unsigned char)text.ptr[at]) : !strchr("01", text.ptr[at]))
			return refuse(ret_sqlstate, BAD_TEXT);
	}
	return PERHAPS;
}

static enum certainty range_fits(str_t text, const char **ret_sqlstate)
{
	if (same_word(text, "empty"))
		return SURELY;
	if (text.len == 0 || (text.ptr[0] != '(' && text.ptr[0] != '['))
		return refuse(ret_sqlstate, BAD_TEXT);
	return PERHAPS;
}

static enum certainty other_fits(const struct catalog *catalog, type_id type, str_t text,
				 const char **ret_sqlstate)
{
	const struct catalog_type *entry = catalog ? catalog_type(catalog, type) : NULL;
	if (entry && entry->element && entry->category == 'A')
		return array_fits(catalog, entry->element, text, ret_sqlstate);
	if (entry && entry->kind == 'r')
		return range_fits(text, ret_sqlstate);
	return PERHAPS;
}

enum certainty literal_fits(const struct catalog *catalog, type_id type, const char *text,
			    const char **ret_sqlstate)
{
	type_id base = catalog ? catalog_type_base(catalog, type) : type;
	str_t value = trimmed(text);
	switch (base) {
	case BOOLOID:
		return boolean_fits(value, ret_sqlstate);
	case INT2OID:
		return integer_fits(value, INT16_MIN, INT16_MAX, ret_sqlstate);
	case INT4OID:
		return integer_fits(value, INT32_MIN, INT32_MAX, ret_sqlstate);
	case INT8OID:
		return integer_fits(value, INT64_MIN, INT64_MAX, ret_sqlstate);
	case NUMERICOID:
		return number_fits(value, ret_sqlstate);
	case FLOAT4OID:
	case FLOAT8OID:
		return float_fits(value, ret_sqlstate);
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return date_fits(value, ret_sqlstate);
	case TIMEOID:
	case TIMETZOID:
		return time_fits(value, ret_sqlstate);
	case INTERVALOID:
		return interval_fits(value, ret_sqlstate);
	case UUIDOID:
		return uuid_fits(str_from(text), ret_sqlstate);
	case JSONOID:
	case JSONBOID:
		return json_fits(value, ret_sqlstate);
	case RECORDOID:
		return refuse(ret_sqlstate, "0A000");
	case BITOID:
	case VARBITOID:
		return bits_fit(str_from(text), ret_sqlstate);
	case TIDOID:
	case OIDOID:
	case MONEYOID:
	case POINTOID:
	case LSEGOID:
	case BOXOID:
	case LINEOID:
	case CIRCLEOID:
	case CIDROID:
	case INETOID:
		return has_digit(value) || memchr(value.ptr, ':', value.len) ? PERHAPS
									     : refuse(ret_sqlstate, BAD_TEXT);
	default:
		return other_fits(catalog, base, value, ret_sqlstate);
	}
}
