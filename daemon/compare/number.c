#include "compare/number.h"

#include <endian.h>

/* Longer powers of ten are no number's: what would have them is text. */
#define MAX_EXPONENT_DIGITS 15

/* Doubles hold whole numbers of so many digits and powers of ten up to 10^22 exactly, so that one division
 * rounds correctly (Clinger 1990). One place is for the point. */
#define MAX_SIMPLE_LENGTH 16

#define MAX_WHOLE_DIGITS 18

/* Whole numbers of fewer digits are apart whenever they are not equal. */
#define KEY_DIGITS_LEAST 10

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
		if (exponent > MAX_EXPONENT_DIGITS)
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
	char first = (char)(text.ptr[0] | 0x20);
	if (text.len > strlen("-infinity") ||
	    !(first == 'n' || first == 'i' || first == ('+' | 0x20) || first == '-'))
		return COMPARE_NUMBER_NONE;
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

static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,	 1e8,  1e9,  1e10, 1e11,
				 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Eight digits at once: neighbours are joined to pairs, pairs to fours, those to the number (after Lemire
 * 2022). False: not all of them are digits. */
static inline bool take_eight(const char *at, uint64_t *digits)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	word = le64toh(word);
	const uint64_t high = 0xf0f0f0f0f0f0f0f0, zeros = 0x3030303030303030, six = 0x0606060606060606;
	if ((word & high) != zeros || ((word + six) & high) != zeros)
		return false;
	word -= zeros;
	word = word * 10 + (word >> 8);
	const uint64_t mask = 0x000000ff000000ff;
	word = ((word & mask) * (100 + (UINT64_C(1000000) << 32)) +
		(word >> 16 & mask) * (1 + (UINT64_C(10000) << 32))) >>
	       32;
	*digits = *digits * 100000000 + word;
	return true;
}

/* Appends the digits at `at` to the number; returns where they end. */
static inline const char *take_digits(const char *at, const char *end, uint64_t *digits)
{
	if (end - at >= 8 && take_eight(at, digits))
		at += 8;
	for (; at < end && is_digit(*at); at++)
		*digits = *digits * 10 + (uint64_t)(*at - '0');
	return at;
}

bool compare_number_simple(str_t text, double *ret_number)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	uint64_t digits = 0;
	bool negative = at < end && *at == '-';
	at += negative;
	if (end - at < 1 || end - at > MAX_SIMPLE_LENGTH || !is_digit(*at))
		return false;
	size_t fraction = 0;
	at = take_digits(at, end, &digits);
	if (at < end && *at == '.') {
		fraction = (size_t)(end - at - 1);
		at = take_digits(at + 1, end, &digits);
	}
	if (at < end)
		return false;
	double value = (double)digits / powers[fraction];
	*ret_number = negative ? -value : value;
	return true;
}

static bool read_whole(str_t text, int64_t *ret_number)
{
	bool negative = text.len > 0 && text.ptr[0] == '-';
	int64_t number = 0;
	if (text.len <= negative || text.len - negative > MAX_WHOLE_DIGITS)
		return false;
	for (size_t i = negative; i < text.len; i++) {
		if (!is_digit(text.ptr[i]))
			return false;
		number = number * 10 + (text.ptr[i] - '0');
	}
	*ret_number = negative ? -number : number;
	return true;
}

/* The only form of a number taken apart again: "-", digits, "p", power, ";". */
static bool read_canonical(str_t canonical, int64_t *ret_number)
{
	size_t digits = count_digits(canonical, 0);
	if (digits == 0) {
		*ret_number = 0;
		return true;
	}
	int64_t power = strtoll(canonical.ptr + digits + 1, NULL, 10), number = 0;
	if (power < (int64_t)digits || power > MAX_WHOLE_DIGITS)
		return false;
	for (int64_t i = 0; i < power; i++)
		number = number * 10 + (i < (int64_t)digits ? canonical.ptr[i] - '0' : 0);
	*ret_number = canonical.ptr[digits] == 'm' ? -number : number;
	return true;
}

bool compare_number_whole(str_t text, int64_t *ret_number)
{
	if (read_whole(text, ret_number))
		return true;
	if (compare_number_of(text) != COMPARE_NUMBER_FINITE)
		return false;
	_cleanup_(buf_free) struct buf canonical = BUF_INIT;
	compare_number_canonical(text, &canonical);
	return read_canonical(buf_str(&canonical), ret_number);
}

bool compare_number_is_key(str_t number)
{
	double value;
	if (number.len < KEY_DIGITS_LEAST && compare_number_simple(number, &value))
		return false;
	_cleanup_(buf_free) struct buf canonical = BUF_INIT;
	compare_number_canonical(number, &canonical);
	size_t digits = count_digits(buf_str(&canonical), 0);
	int64_t power = digits > 0 ? strtoll(canonical.data + digits + 1, NULL, 10) : 0;
	return power >= (int64_t)digits && power >= KEY_DIGITS_LEAST;
}

double compare_number_double(str_t number)
{
	double value;
	if (compare_number_simple(number, &value))
		return value;
	return strtod(number.ptr, NULL);
}

void compare_append_whole(struct buf *text, int64_t number)
{
	char digits[24], *at = digits + sizeof digits;
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0)
		*--at = '-';
	buf_append(text, at, (size_t)(digits + sizeof digits - at));
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
	if (significant > 0) {
		buf_append_char(text, number.ptr[0] == '-' ? 'm' : 'p');
		compare_append_whole(text, power + read_power(number, at));
	}
	buf_append_char(text, ';');
}

/* The usual form: without zeros at its end a number that has few digits, and a small power of ten. */
struct usual {
	uint64_t digits;
	int16_t power;
	bool negative;
};

/* More digits, and larger powers, are written as text. */
#define MAX_USUAL_POWER 30000

static struct usual make_usual(uint64_t digits, int64_t power, bool negative)
{
	while (digits > 0 && digits % 10 == 0) {
		digits /= 10;
		power++;
	}
	return digits == 0 ? (struct usual){ 0, 0, false }
			   : (struct usual){ digits, (int16_t)power, negative };
}

static bool read_usual(str_t text, struct usual *ret_usual)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	uint64_t digits = 0;
	bool negative = at < end && *at == '-';
	at += negative;
	if (end - at < 1 || end - at > MAX_SIMPLE_LENGTH)
		return false;
	int64_t fraction = 0;
	at = take_digits(at, end, &digits);
	if (at < end && *at == '.') {
		fraction = end - at - 1;
		at = take_digits(at + 1, end, &digits);
	}
	if (at < end)
		return false;
	*ret_usual = make_usual(digits, -fraction, negative);
	return true;
}

/* The same of a number in its only form. */
static bool read_unusual(str_t canonical, struct usual *ret_usual)
{
	size_t digits = count_digits(canonical, 0);
	uint64_t number = 0;
	if (digits > MAX_SIMPLE_LENGTH)
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(canonical.ptr[i] - '0');
	int64_t power = digits > 0 ? strtoll(canonical.ptr + digits + 1, NULL, 10) - (int64_t)digits : 0;
	if (power > MAX_USUAL_POWER || power < -MAX_USUAL_POWER)
		return false;
	*ret_usual = make_usual(number, power, digits > 0 && canonical.ptr[digits] == 'm');
	return true;
}

static void append_usual(struct buf *bytes, const struct usual *usual)
{
	char *to = buf_reserve(bytes, 12);
	to[0] = usual->negative ? '-' : '+';
	memcpy(to + 1, &usual->digits, sizeof usual->digits);
	memcpy(to + 9, &usual->power, sizeof usual->power);
	bytes->len += 11;
	bytes->data[bytes->len] = '\0';
}

void compare_number_exact(str_t number, struct buf *bytes)
{
	struct usual usual;
	if (read_usual(number, &usual)) {
		append_usual(bytes, &usual);
		return;
	}
	size_t before = bytes->len;
	compare_number_canonical(number, bytes);
	const str_t canonical = { bytes->data + before, bytes->len - before };
	if (!read_unusual(canonical, &usual))
		return;
	bytes->len = before;
	append_usual(bytes, &usual);
}

/* Bytes of a currency: a sign such as $ or the euro's, or a code of three letters, with blanks. */
#define MAX_CURRENCY_BYTES   6
#define MAX_CURRENCY_LETTERS 3

static bool is_letter(char byte)
{
	return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

/* Whether nothing but a currency, blanks, signs and brackets is there; `negative` when one of these says so.
 */
static bool take_currency(str_t text, bool *negative)
{
	size_t letters = 0, bytes = 0;
	for (size_t i = 0; i < text.len; i++) {
		char byte = text.ptr[i];
		if (byte == '-' || byte == '(') {
			*negative = true;
			continue;
		}
		if (byte == ' ' || byte == '+' || byte == ')')
			continue;
		letters += is_letter(byte);
		bytes++;
		if (!is_letter(byte) && byte != '$' && byte != '.' && (unsigned char)byte < 0x80)
			return false;
	}
	return letters <= MAX_CURRENCY_LETTERS && bytes <= MAX_CURRENCY_BYTES;
}

/* Where the fraction begins: behind its separator; the end when there is none. */
static size_t find_fraction(str_t digits)
{
	size_t last = digits.len;
	bool kinds[2] = { false, false };
	for (size_t i = 0; i < digits.len; i++) {
		if (is_digit(digits.ptr[i]))
			continue;
		bool mark = digits.ptr[i] == '.' || digits.ptr[i] == ',';
		kinds[0] |= digits.ptr[i] == '.';
		kinds[1] |= !(digits.ptr[i] == '.');
		last = mark ? i : last;
	}
	bool only_groups = kinds[0] != kinds[1] && digits.len - last == 4;
	return last == digits.len || only_groups ? digits.len : last;
}

bool compare_number_amount(str_t text, struct buf *number)
{
	size_t first = 0, end = text.len;
	bool negative = false;
	while (first < text.len && !is_digit(text.ptr[first]))
		first++;
	while (end > first && !is_digit(text.ptr[end - 1]))
		end--;
	str_t digits = { text.ptr + first, end - first };
	if (digits.len == 0 || !take_currency((str_t){ text.ptr, first }, &negative) ||
	    !take_currency((str_t){ text.ptr + end, text.len - end }, &negative))
		return false;
	size_t fraction = find_fraction(digits), start = number->len;
	if (negative)
		buf_append_char(number, '-');
	for (size_t i = 0; i < digits.len; i++) {
		char byte = digits.ptr[i];
		if (i == fraction)
			buf_append_char(number, '.');
		else if (is_digit(byte))
			buf_append_char(number, byte);
		else if (byte != '.' && byte != ',' && byte != ' ' && byte != '\'' &&
			 (unsigned char)byte < 0x80) {
			number->len = start;
			return false;
		}
	}
	return true;
}
