#include "score/compare_number.h"

/* Longer powers of ten are no number's: what would have them is text. */
#define EXPONENT_DIGITS_MOST 15

/* Doubles hold every whole number and every power of ten up to these exactly, so that one multiplication or
 * division rounds correctly (Clinger 1990). */
#define EXACT_DIGITS_MOST (UINT64_C(1) << 53)
#define EXACT_POWER_MOST  22

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static size_t count_digits(str_t text, size_t from)
{
	size_t at = from;
	while (at < text.len && is_digit(text.ptr[at]))
		at++;
	return at - from;
}

static size_t sign_length(str_t text, size_t at)
{
	return at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+') ? 1 : 0;
}

size_t compare_number_length(str_t text)
{
	size_t at = sign_length(text, 0);
	size_t digits = count_digits(text, at);
	at += digits;
	if (at < text.len && text.ptr[at] == '.') {
		size_t fraction = count_digits(text, at + 1);
		digits += fraction;
		at += 1 + fraction;
	}
	if (digits == 0)
		return 0;
	if (at < text.len && (text.ptr[at] | 0x20) == 'e') {
		size_t sign = sign_length(text, at + 1), exponent = count_digits(text, at + 1 + sign);
		if (exponent > EXPONENT_DIGITS_MOST)
			return 0;
		if (exponent > 0)
			at += 1 + sign + exponent;
	}
	return at;
}

enum compare_number compare_number_of(str_t text)
{
	static const struct {
		const char *name;
		enum compare_number number;
	} words[] = {
		{ "nan", COMPARE_NUMBER_NAN },
		{ "infinity", COMPARE_NUMBER_INFINITE },
		{ "inf", COMPARE_NUMBER_INFINITE },
		{ "+infinity", COMPARE_NUMBER_INFINITE },
		{ "+inf", COMPARE_NUMBER_INFINITE },
		{ "-infinity", COMPARE_NUMBER_MINUS_INFINITE },
		{ "-inf", COMPARE_NUMBER_MINUS_INFINITE },
	};
	if (text.len == 0)
		return COMPARE_NUMBER_NONE;
	if (compare_number_length(text) == text.len)
		return COMPARE_NUMBER_FINITE;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text.len == strlen(words[i].name) && strncasecmp(text.ptr, words[i].name, text.len) == 0)
			return words[i].number;
	return COMPARE_NUMBER_NONE;
}

bool compare_number_plain(str_t number)
{
	size_t at = number.ptr[0] == '-' ? 1 : 0, whole = count_digits(number, at);
	if (whole == 0 || (whole > 1 && number.ptr[at] == '0'))
		return false;
	at += whole;
	if (at == number.len || number.ptr[at] != '.')
		return true;
	size_t fraction = count_digits(number, at + 1);
	return fraction == 1 || (fraction > 1 && number.ptr[at + fraction] != '0');
}

/* The power of ten behind the digits, 0 when there is none. `at` is behind the last digit. */
static int64_t read_power(str_t number, size_t at)
{
	int64_t power = 0;
	if (at >= number.len)
		return 0;
	bool negative = at + 1 < number.len && number.ptr[at + 1] == '-';
	for (at += 1 + sign_length(number, at + 1); at < number.len; at++)
		power = power * 10 + (number.ptr[at] - '0');
	return negative ? -power : power;
}

double compare_number_double(str_t number)
{
	static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
					 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	uint64_t digits = 0;
	int64_t power = 0;
	size_t at = sign_length(number, 0);
	bool behind_point = false;
	for (; at < number.len && digits < EXACT_DIGITS_MOST / 10; at++) {
		char byte = number.ptr[at];
		if (byte == '.') {
			behind_point = true;
			continue;
		}
		if (!is_digit(byte))
			break;
		digits = digits * 10 + (uint64_t)(byte - '0');
		power -= behind_point;
	}
	if (at < number.len && (is_digit(number.ptr[at]) || number.ptr[at] == '.'))
		return strtod(number.ptr, NULL);
	power += read_power(number, at);
	if (power > EXACT_POWER_MOST || power < -EXACT_POWER_MOST)
		return strtod(number.ptr, NULL);
	double value = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
	return number.ptr[0] == '-' ? -value : value;
}

void compare_number_canonical(str_t number, struct buf *text)
{
	char *to = buf_reserve(text, number.len + 1);
	size_t len = 0, significant = 0, at = sign_length(number, 0);
	int64_t power = 0;
	bool behind_point = false;
	for (; at < number.len && (is_digit(number.ptr[at]) || number.ptr[at] == '.'); at++) {
		if (number.ptr[at] == '.') {
			behind_point = true;
			continue;
		}
		bool leading = len == 0 && number.ptr[at] == '0';
		if (!leading)
			to[len++] = number.ptr[at];
		if (number.ptr[at] != '0')
			significant = len;
		power += !leading && !behind_point;
		power -= leading && behind_point;
	}
	text->len += significant;
	if (significant > 0)
		buf_printf(text, "%c%lld", number.ptr[0] == '-' ? 'm' : 'p',
			   (long long)(power + read_power(number, at)));
	buf_append_char(text, ';');
}
