#include "tests/harness/oracles/cell_oracle.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define UNITS_DIGITS 18 /* a number is counted in 10^-18 */
#define KEY_DIGITS   10 /* whole numbers of so many digits may be keys */

enum { MAX_CELL_BYTES = 256, MAX_ELEMENTS = 16 };

/* What two columns have in common. */
enum rule {
	TEXTS,
	GUESSES,
	NUMBERS,
	KEYS,
	WHOLES,
	TRUTHS,
	MOMENTS,
	CLOCKS,
	LENGTHS,
	BYTES,
	DOCUMENTS,
	LISTS,
	WORDS,
	AMOUNTS
};

static enum rule rule_of(char class)
{
	switch (class) {
	case 'u':
		return GUESSES;
	case 'i':
		return WHOLES;
	case 'd':
	case 'f':
		return NUMBERS;
	case 'b':
		return TRUTHS;
	case 'D':
	case 'm':
	case 'z':
		return MOMENTS;
	case 'c':
		return CLOCKS;
	case 'v':
		return LENGTHS;
	case 'x':
		return BYTES;
	case 'j':
		return DOCUMENTS;
	case 'a':
		return LISTS;
	case 'A':
		return WORDS;
	case '$':
		return AMOUNTS;
	default:
		return TEXTS;
	}
}

static bool either(enum rule a, enum rule b, enum rule rule)
{
	return a == rule || b == rule;
}

static enum rule common_rule(char a_class, char b_class)
{
	enum rule a = rule_of(a_class), b = rule_of(b_class);
	if (a_class == 'n' || a_class == b_class)
		return b;
	if (b_class == 'n')
		return a;
	if (either(a, b, WHOLES) && (either(a, b, TEXTS) || either(a, b, GUESSES)))
		return KEYS;
	a = a == WHOLES ? NUMBERS : a;
	b = b == WHOLES ? NUMBERS : b;
	if (a == b || b == TEXTS)
		return a;
	if (a == TEXTS || a == GUESSES)
		return b;
	if (b == GUESSES)
		return a;
	if (either(a, b, TRUTHS) && (either(a, b, NUMBERS) || either(a, b, DOCUMENTS)))
		return TRUTHS;
	if (either(a, b, AMOUNTS) && either(a, b, NUMBERS))
		return AMOUNTS;
	if (either(a, b, CLOCKS) && either(a, b, LENGTHS))
		return LENGTHS;
	if (either(a, b, LISTS) && either(a, b, WORDS))
		return LISTS;
	return either(a, b, DOCUMENTS) ? DOCUMENTS : TEXTS;
}

enum kind {
	IS_TEXT,
	IS_NUMBER,
	IS_NAN,
	IS_INFINITE,
	IS_MINUS_INFINITE,
	IS_TRUE,
	IS_FALSE,
	IS_MOMENT,
	IS_CLOCK,
	IS_LENGTH
};

struct value {
	enum kind kind;
	__int128 units; /* of numbers and times */
	bool key;	/* a number that has no tolerance beside another one */
	bool plain;	/* as databases write numbers */
	const char *text;
};

/* --- numbers --- */

static __int128 power_of_ten(int power)
{
	__int128 value = 1;
	for (int i = 0; i < power; i++)
		value *= 10;
	return value;
}

static bool is_plain(const char *text)
{
	const char *digits = text + (*text == '-');
	size_t whole = strspn(digits, "0123456789");
	if (whole == 0 || (whole > 1 && *digits == '0'))
		return false;
	if (digits[whole] != '.')
		return true;
	size_t fraction = strspn(digits + whole + 1, "0123456789");
	return fraction == 1 || (fraction > 1 && digits[whole + fraction] != '0');
}

static bool parse_finite(const char *text, struct value *value)
{
	char mantissa[64] = "";
	const char *at = text + (*text == '-' || *text == '+');
	size_t whole = strspn(at, "0123456789"), fraction = 0;
	snprintf(mantissa, sizeof mantissa, "%.*s", (int)whole, at);
	at += whole;
	if (*at == '.') {
		fraction = strspn(++at, "0123456789");
		snprintf(mantissa + whole, sizeof mantissa - whole, "%.*s", (int)fraction, at);
		at += fraction;
	}
	int power = UNITS_DIGITS - (int)fraction, read = 0, exponent = 0;
	if (whole + fraction == 0)
		return false;
	if ((*at == 'e' || *at == 'E') && sscanf(at + 1, "%d%n", &exponent, &read) == 1 &&
	    !isspace((unsigned char)at[1]))
		at += 1 + read;
	if (*at)
		return false;
	__int128 digits = 0;
	for (const char *digit = mantissa; *digit; digit++)
		digits = digits * 10 + (*digit - '0');
	for (power += exponent; power < 0; power++)
		digits = (digits + 5) / 10;
	digits *= power_of_ten(power);
	value->kind = IS_NUMBER;
	value->units = *text == '-' ? -digits : digits;
	value->plain = is_plain(text);
	value->key = digits >= power_of_ten(KEY_DIGITS - 1 + UNITS_DIGITS) &&
		     digits % power_of_ten(UNITS_DIGITS) == 0;
	return true;
}

static bool parse_number(const char *text, struct value *value)
{
	static const struct {
		const char *word;
		enum kind kind;
	} words[] = { { "nan", IS_NAN },
		      { "infinity", IS_INFINITE },
		      { "inf", IS_INFINITE },
		      { "+infinity", IS_INFINITE },
		      { "+inf", IS_INFINITE },
		      { "-infinity", IS_MINUS_INFINITE },
		      { "-inf", IS_MINUS_INFINITE } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(text, words[i].word) == 0) {
			value->kind = words[i].kind;
			value->plain = true;
			return true;
		}
	return parse_finite(text, value);
}

static __int128 size_of(__int128 number)
{
	return number < 0 ? -number : number;
}

static bool close_numbers(__int128 a, __int128 b)
{
	__int128 larger = size_of(a) > size_of(b) ? size_of(a) : size_of(b), apart = size_of(a - b);
	bool small_part = larger <= power_of_ten(UNITS_DIGITS - 12) || apart <= larger / 100;
	return (apart <= power_of_ten(UNITS_DIGITS - 4) && small_part) || apart <= larger / 1000000000;
}

static bool numbers_equal(const struct value *a, const struct value *b, bool with_keys, bool exactly)
{
	if (exactly || (with_keys && (a->key || b->key)))
		return a->units == b->units;
	return close_numbers(a->units, b->units);
}

/* --- times --- */

static bool scan_digits(const char **at, size_t least, size_t most, long long *ret_value)
{
	size_t count = strspn(*at, "0123456789");
	if (count < least || count > most)
		return false;
	*ret_value = strtoll(*at, NULL, 10);
	*at += count;
	return true;
}

static bool scan_clock(const char **at, size_t hour_digits_most, double seconds_most, __int128 *ret_us)
{
	long long hour, minute, second = 0;
	if (!scan_digits(at, hour_digits_most == 2 ? 2 : 1, hour_digits_most, &hour) || *(*at)++ != ':' ||
	    !scan_digits(at, 2, 2, &minute) || minute > 59)
		return false;
	if (**at == ':' && (++*at, !scan_digits(at, 2, 2, &second)))
		return false;
	long double fraction = 0;
	if (**at == '.') {
		char text[40];
		size_t digits = strspn(*at + 1, "0123456789");
		snprintf(text, sizeof text, "0%.*s", (int)digits + 1, *at);
		if (digits == 0)
			return false;
		fraction = strtold(text, NULL);
		*at += 1 + digits;
	}
	*ret_us = ((hour * 60 + minute) * 60 + second) * 1000000 + (__int128)roundl(fraction * 1000000);
	return second <= 60 && (double)*ret_us <= seconds_most * 1e6;
}

static bool scan_zone(const char *at, __int128 *ret_us)
{
	int hours, minutes = 0, read = 0;
	while (*at == ' ')
		at++;
	*ret_us = 0;
	if (!*at || strcasecmp(at, "z") == 0 || strcasecmp(at, "utc") == 0)
		return true;
	if ((*at != '+' && *at != '-') || sscanf(at + 1, "%2d%n", &hours, &read) != 1 || read != 2)
		return false;
	const char *rest = at + 3;
	if (*rest && (sscanf(rest + (*rest == ':'), "%2d%n", &minutes, &read) != 1 || read != 2 ||
		      rest[(*rest == ':') + 2]))
		return false;
	*ret_us = (__int128)(hours * 60 + minutes) * 60000000 * (*at == '-' ? -1 : 1);
	return true;
}

static bool parse_moment(const char *text, struct value *value)
{
	long long year, month, day;
	__int128 clock = 0, zone = 0;
	if (!scan_digits(&text, 4, 6, &year) || *text++ != '-' || !scan_digits(&text, 2, 2, &month) ||
	    *text++ != '-' || !scan_digits(&text, 2, 2, &day))
		return false;
	struct tm tm = { .tm_year = (int)year - 1900, .tm_mon = (int)month - 1, .tm_mday = (int)day };
	struct tm given = tm;
	time_t seconds = timegm(&tm);
	if (tm.tm_mon != given.tm_mon || tm.tm_mday != given.tm_mday)
		return false;
	if (*text && ((*text != ' ' && *text != 'T') || (text++, !scan_clock(&text, 2, 86400, &clock)) ||
		      !scan_zone(text, &zone)))
		return false;
	value->kind = IS_MOMENT;
	value->units = (__int128)seconds * 1000000 + clock - zone;
	return true;
}

static bool parse_clock(const char *text, struct value *value)
{
	__int128 zone;
	value->kind = IS_CLOCK;
	if (!scan_clock(&text, 2, 86400, &value->units) || !scan_zone(text, &zone))
		return false;
	value->units -= zone;
	return true;
}

static long long unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		long long seconds;
	} units[] = { { "year", 360 * 86400 }, { "years", 360 * 86400 }, { "mon", 30 * 86400 },
		      { "mons", 30 * 86400 },  { "day", 86400 },	 { "days", 86400 } };
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].seconds;
	return 0;
}

static bool parse_length(const char *text, struct value *value)
{
	*value = (struct value){ .kind = IS_LENGTH };
	if (!*text)
		return false;
	while (*text) {
		char unit[8];
		int read = 0;
		long long count;
		bool minus = *text == '-';
		const char *part = text + (minus || *text == '+');
		__int128 us;
		if (sscanf(part, "%lld %7[a-z]%n", &count, unit, &read) == 2 &&
		    isdigit((unsigned char)*part) && unit_seconds(unit)) {
			us = (__int128)count * unit_seconds(unit) * 1000000;
			part += read;
		} else if (!scan_clock(&part, 9, INFINITY, &us)) {
			return false;
		}
		value->units += minus ? -us : us;
		text = part + strspn(part, " ");
	}
	return true;
}

/* --- the other rules --- */

static bool parse_truth(const char *text, struct value *value)
{
	bool number = parse_finite(text, value);
	__int128 one = power_of_ten(UNITS_DIGITS);
	if (strcasecmp(text, "t") == 0 || strcasecmp(text, "true") == 0 || (number && value->units == one))
		value->kind = IS_TRUE;
	else if (strcasecmp(text, "f") == 0 || strcasecmp(text, "false") == 0 ||
		 (number && value->units == 0))
		value->kind = IS_FALSE;
	else
		return parse_number(text, value);
	return true;
}

static bool parse_guess(const char *text, struct value *value)
{
	return (parse_number(text, value) && value->plain) || parse_moment(text, value);
}

/* Dollars with separators of thousands. */
static bool parse_amount(const char *text, struct value *value)
{
	char plain[MAX_CELL_BYTES];
	bool minus = *text == '-';
	size_t len = 0;
	if (parse_number(text, value))
		return true;
	for (const char *at = text + minus + (text[minus] == '$'); *at; at++)
		if (*at != ',')
			plain[len++] = *at;
	plain[len] = '\0';
	if (len == 0 || strspn(plain, "0123456789.") != len || !parse_finite(plain, value))
		return false;
	value->units = minus ? -value->units : value->units;
	return true;
}

static struct value parse(enum rule rule, const char *text)
{
	struct value value = { .text = text };
	bool read = rule == GUESSES   ? parse_guess(text, &value)
		    : rule == AMOUNTS ? parse_amount(text, &value)
		    : rule == NUMBERS || rule == KEYS
			    ? parse_number(text, &value) || parse_moment(text, &value)
		    : rule == WHOLES		       ? parse_number(text, &value)
		    : rule == TRUTHS		       ? parse_truth(text, &value)
		    : rule == MOMENTS || rule == TEXTS ? parse_moment(text, &value)
		    : rule == CLOCKS ? parse_clock(text, &value) || parse_length(text, &value)
				     : parse_length(text, &value);
	if (!read)
		value.kind = IS_TEXT;
	return value;
}

static bool values_equal(enum rule rule, const char *a, const char *b, bool exactly)
{
	struct value left = parse(rule, a), right = parse(rule, b);
	if (left.kind != right.kind)
		return false;
	switch (left.kind) {
	case IS_TEXT:
		return strcmp(a, b) == 0;
	case IS_NUMBER:
		return numbers_equal(&left, &right, rule == KEYS || rule == GUESSES,
				     exactly || rule == WHOLES);
	case IS_MOMENT:
	case IS_CLOCK:
	case IS_LENGTH:
		return left.units == right.units;
	default:
		return true;
	}
}

static const char *hex_digits(const char *text)
{
	const char *digits =
		strncasecmp(text, "\\x", 2) == 0 || strncasecmp(text, "0x", 2) == 0 ? text + 2 : text;
	return strspn(digits, "0123456789abcdefABCDEF") == strlen(digits) ? digits : NULL;
}

static bool bytes_equal(const char *a, const char *b)
{
	const char *left = hex_digits(a), *right = hex_digits(b);
	if (left && right)
		return strcasecmp(left, right) == 0;
	return !left && !right && strcmp(a, b) == 0;
}

/* --- documents --- */

static json_t *number_of(const char *text)
{
	return json_pack("{s:s}", "number", text); /* no document of the tests has such a member */
}

/* Elements of arrays are texts, numbers where they may be, or null. */
static json_t *element_of(const char *start, size_t len, bool quoted, bool words)
{
	char text[MAX_CELL_BYTES] = "";
	struct value number;
	while (!quoted && len > 0 && isspace((unsigned char)start[len - 1]))
		len--;
	for (size_t i = 0, to = 0; i < len; i++, to++) {
		i += quoted && start[i] == '\\';
		text[to] = start[i];
		text[to + 1] = '\0';
	}
	if (!quoted && strcasecmp(text, "null") == 0)
		return json_null();
	return !quoted && !words && parse_finite(text, &number) ? number_of(text)
								: json_stringn_nocheck(text, strlen(text));
}

static json_t *scan_array(const char **at, bool words)
{
	json_t *list = json_array();
	if (*(*at)++ != '{')
		return list;
	while (**at && **at != '}') {
		const char *start = *at += strspn(*at, " ,");
		if (*start == '{') {
			json_array_append_new(list, scan_array(at, words));
		} else if (*start == '"') {
			for (++*at; **at != '"'; ++*at)
				*at += **at == '\\';
			json_array_append_new(list,
					      element_of(start + 1, (size_t)(*at - start) - 1, true, words));
			++*at;
		} else {
			*at += strcspn(*at, ",}");
			json_array_append_new(list, element_of(start, (size_t)(*at - start), false, words));
		}
	}
	*at += **at == '}';
	return list;
}

/* Well-formed arrays only; NULL: it is none. */
static json_t *read_array(const char *text, bool words)
{
	const char *at = *text == '[' && strchr(text, '=') ? strchr(text, '=') + 1 : text;
	return *at == '{' && at[strlen(at) - 1] == '}' && !strchr(at, ':') ? scan_array(&at, words) : NULL;
}

/* The library reads large whole numbers and 0.1 its own way: a number in a document is compared by its text.
 */
static json_t *read_json(const char *text)
{
	struct value number;
	if (*text != '+' && parse_finite(text, &number))
		return number_of(text);
	return json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static void number_text(const json_t *json, char text[64])
{
	const json_t *digits = json_object_get(json, "number");
	if (digits)
		snprintf(text, 64, "%s", json_string_value(digits));
	else if (json_is_integer(json))
		snprintf(text, 64, "%lld", (long long)json_integer_value(json));
	else
		snprintf(text, 64, "%.17g", json_real_value(json));
}

static bool is_number(const json_t *json)
{
	return json_is_number(json) || json_object_get(json, "number");
}

static bool documents_equal(const json_t *a, const json_t *b, bool exactly)
{
	if (is_number(a) && is_number(b)) {
		char texts[2][64];
		struct value values[2];
		number_text(a, texts[0]);
		number_text(b, texts[1]);
		return parse_finite(texts[0], &values[0]) && parse_finite(texts[1], &values[1]) &&
		       numbers_equal(&values[0], &values[1], true, exactly);
	}
	if (is_number(a) || is_number(b) || json_typeof(a) != json_typeof(b))
		return false;
	if (json_is_array(a)) {
		bool equal = json_array_size(a) == json_array_size(b);
		for (size_t i = 0; equal && i < json_array_size(a); i++)
			equal = documents_equal(json_array_get(a, i), json_array_get(b, i), exactly);
		return equal;
	}
	if (!json_is_object(a))
		return json_equal(a, b);
	bool equal = json_object_size(a) == json_object_size(b);
	const char *name;
	json_t *member;
	json_object_foreach((json_t *)(uintptr_t)a, name, member) equal =
		equal && json_object_get(b, name) &&
		documents_equal(member, json_object_get(b, name), exactly);
	return equal;
}

static json_t *read_document(enum rule rule, const char *text)
{
	json_t *json = rule == DOCUMENTS ? read_json(text) : NULL;
	if (!json)
		json = read_array(text, rule == WORDS);
	return json ? json : json_stringn_nocheck(text, strlen(text));
}

static bool trees_equal(enum rule rule, const char *a, const char *b, bool exactly)
{
	json_t *left = read_document(rule, a), *right = read_document(rule, b);
	bool equal = documents_equal(left, right, exactly);
	json_decref(left);
	json_decref(right);
	return equal;
}

static void trim(const char *text, char trimmed[MAX_CELL_BYTES])
{
	text += strspn(text, " \t\r\n");
	snprintf(trimmed, MAX_CELL_BYTES, "%s", text);
	for (size_t len = strlen(trimmed); len > 0 && strchr(" \t\r\n", trimmed[len - 1]); len--)
		trimmed[len - 1] = '\0';
}

/* A UUID, or bytes behind \x. */
static bool is_digits(const char *text)
{
	int read = 0;
	if (strncasecmp(text, "\\x", 2) == 0)
		return strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text) - 2 &&
		       strlen(text) % 2 == 0;
	sscanf(text, "%*8[0-9a-fA-F]-%*4[0-9a-fA-F]-%*4[0-9a-fA-F]-%*4[0-9a-fA-F]-%*12[0-9a-fA-F]%n", &read);
	return read == 36 && text[36] == '\0';
}

/* Letters that are digits mean the same in either case. */
static void fold(char *text)
{
	for (bool digits = is_digits(text); digits && *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

bool oracle_cells_equal(char a_class, const char *a, char b_class, const char *b, bool exactly)
{
	char left[MAX_CELL_BYTES], right[MAX_CELL_BYTES];
	enum rule rule = common_rule(a_class, b_class);
	if (!a || !b)
		return !a && !b;
	trim(a, left);
	trim(b, right);
	fold(left);
	fold(right);
	if (rule == BYTES)
		return bytes_equal(left, right);
	if (rule == DOCUMENTS || rule == LISTS || rule == WORDS)
		return trees_equal(rule, left, right, exactly);
	return values_equal(rule, left, right, exactly);
}
