#include "common/decimal.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

enum { MANTISSA_BITS = 53, EXACT_POWERS = 22, MAX_TEXT = 128 };

/* The smallest mantissa: below it doubles are twice as dense. */
#define MANTISSA_LEAST (UINT64_C(1) << (MANTISSA_BITS - 1))

/* Between these there is no exponent, and the arithmetic below has enough bits. */
#define PLAIN_FROM  1e-4
#define PLAIN_BELOW 1e15

static const uint64_t powers[] = {
	1u,
	10u,
	100u,
	1000u,
	10000u,
	100000u,
	1000000u,
	10000000u,
	100000000u,
	1000000000u,
	10000000000u,
	100000000000u,
	1000000000000u,
	10000000000000u,
	100000000000000u,
	1000000000000000u,
	10000000000000000u,
	100000000000000000u,
	1000000000000000000u,
	10000000000000000000u,
};

static uint128 power_of_ten(int exponent)
{
	return exponent <= 19 ? powers[exponent] : (uint128)powers[19] * powers[exponent - 19];
}

/* ---- writing ---- */

/* A positive double as mantissa · 2^−shift. */
struct binary {
	uint64_t mantissa; /* 53 bits */
	int shift;
};

static struct binary binary_of(double value)
{
	int exponent;
	double fraction = frexp(value, &exponent);
	return (struct binary){ (uint64_t)ldexp(fraction, MANTISSA_BITS), MANTISSA_BITS - exponent };
}

/*
 * The number times 10^places, rounded; whether that many digits read back as the number. In units of
 * 2^−shift the product is exact, and neighbouring doubles are 10^places apart: what is nearer than half of
 * that reads back, and at exactly half what is even.
 */
static bool round_to(struct binary number, int places, uint64_t *ret_digits)
{
	uint128 ulp = power_of_ten(places), product = ulp * number.mantissa;
	uint128 rest = product & (((uint128)1 << number.shift) - 1), half = (uint128)1 << (number.shift - 1);
	uint64_t digits = (uint64_t)(product >> number.shift);
	bool up = rest > half || (rest == half && (digits & 1));
	uint128 off = up ? 2 * half - rest : rest;
	*ret_digits = digits + up;
	if (number.mantissa == MANTISSA_LEAST && !up)
		return 4 * off <= ulp;
	return 2 * off < ulp || (2 * off == ulp && (number.mantissa & 1) == 0);
}

size_t decimal_write_integer(int64_t value, char text[DECIMAL_SIZE])
{
	char digits[DECIMAL_SIZE];
	size_t count = 0, len = 0;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		digits[count++] = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		text[len++] = '-';
	while (count)
		text[len++] = digits[--count];
	text[len] = '\0';
	return len;
}

/* `digits` with `places` of them behind the point, without zeros at the end. */
static size_t write_plain(uint64_t digits, int places, char *text)
{
	uint64_t unit = powers[places > 19 ? 19 : places];
	uint64_t whole = places > 19 ? 0 : digits / unit, part = places > 19 ? digits : digits % unit;
	size_t len = decimal_write_integer((int64_t)whole, text);
	if (part == 0)
		return len;
	text[len] = '.';
	for (int i = places; i > 0; i--, part /= 10)
		text[len + (size_t)i] = (char)('0' + part % 10);
	len += (size_t)places;
	while (text[len] == '0')
		len--;
	text[++len] = '\0';
	return len;
}

/* How many digits stand before the point; below 1, less by one for each zero behind it. */
static int whole_digits(double value)
{
	static const double bounds[] = { 1e-3, 1e-2, 1e-1, 1e0, 1e1,  1e2,  1e3,  1e4,	1e5,
					 1e6,  1e7,  1e8,  1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };
	size_t passed = 0;
	while (passed < sizeof bounds / sizeof bounds[0] && value >= bounds[passed])
		passed++;
	return (int)passed - 3;
}

/* What has an exponent, and whatever else is rare. */
static size_t write_by_library(double value, char *text)
{
	size_t len = 0;
	for (int digits = 15; digits <= 17; digits++) {
		len = (size_t)snprintf(text, DECIMAL_SIZE, "%.*g", digits, value);
		double back = strtod(text, NULL);
		if (back >= value && back <= value)
			break;
	}
	/* what stands between the digits is the locale's decimal point, whatever its bytes */
	size_t kept = 0;
	bool point = false;
	for (size_t i = 0; i < len; i++) {
		bool ours = isdigit((unsigned char)text[i]) || strchr("+-e", text[i]);
		if (ours || !point)
			text[kept++] = ours ? text[i] : '.';
		point |= !ours;
	}
	text[kept] = '\0';
	return kept;
}

size_t decimal_write(double value, char text[DECIMAL_SIZE])
{
	double size = fabs(value);
	if (fpclassify(value) == FP_ZERO)
		return (size_t)snprintf(text, DECIMAL_SIZE, "%s", signbit(value) ? "-0" : "0");
	if (size < PLAIN_BELOW && (double)(int64_t)value == value) /* all of its digits are needed, no more */
		return decimal_write_integer((int64_t)value, text);
	if (!(size >= PLAIN_FROM && size < PLAIN_BELOW))
		return write_by_library(value, text);
	size_t sign = value < 0;
	struct binary number = binary_of(size);
	text[0] = '-';
	for (int count = 15; count <= 17; count++) {
		uint64_t digits;
		int places = count - whole_digits(size);
		if (round_to(number, places, &digits) && digits < powers[count])
			return sign + write_plain(digits, places, text + sign);
	}
	return write_by_library(value, text);
}

/* ---- reading ---- */

static locale_t plain_locale;

static void make_plain_locale(void)
{
	plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!plain_locale)
		abort();
}

static bool read_by_library(str_t text, double *ret_value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char copy[MAX_TEXT];
	if (text.len >= sizeof copy)
		return false;
	pthread_once(&once, make_plain_locale);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	*ret_value = strtod_l(copy, NULL, plain_locale);
	return isfinite(*ret_value);
}

/* Both factors are exact as doubles, so their product or quotient is rounded once. Source: Clinger, How to
 * read floating point numbers accurately, 1990. */
bool decimal_read(str_t text, uint64_t digits, int exponent, double *ret_value)
{
	static const double exact[EXACT_POWERS + 1] = { 1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,
							1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
							1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	bool negative = text.len > 0 && text.ptr[0] == '-';
	if (digits > UINT64_C(1) << MANTISSA_BITS || exponent < -EXACT_POWERS || exponent > EXACT_POWERS)
		return read_by_library(text, ret_value);
	double size = exponent < 0 ? (double)digits / exact[-exponent] : (double)digits * exact[exponent];
	*ret_value = negative ? -size : size;
	return true;
}
