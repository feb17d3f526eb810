/* Decimal digits against the C library's, which tries 15, 16 and 17 of them in turn. */
#include "common/decimal.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DRAWS = 100000 };

static void expect_as_library(double value)
{
	char expected[DECIMAL_SIZE], text[DECIMAL_SIZE];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(expected, sizeof expected, "%.*g", digits, value);
		double back = strtod(expected, NULL);
		if (back >= value && back <= value)
			break;
	}
	size_t len = decimal_write(value, text);
	if (strcmp(text, expected) != 0 || len != strlen(expected))
		fail_msg("%.17g (%a) is written \"%s\", not \"%s\"", value, value, text, expected);
}

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252u; /* Marsaglia's xorshift */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double from_bits(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void test_written_as_by_the_library(void **state)
{
	static const double values[] = { 0.0,
					 -0.0,
					 1,
					 -1,
					 0.1,
					 0.2 + 0.1,
					 1.0 / 3,
					 2.0 / 3,
					 1e-4,
					 1e-5,
					 0.00012345678901234567,
					 999999999999999,
					 1e15,
					 1e15 - 0.125,
					 123456789012345.6,
					 9007199254740993.0,
					 1e22,
					 1e300,
					 5e-324,
					 2.2250738585072014e-308,
					 1.7976931348623157e308,
					 0.3,
					 0.5,
					 0.25,
					 99.99999999999999,
					 99.999999999999986,
					 0.99999999999999989,
					 9.5367431640625e-07,
					 4503599627370496.5,
					 1099511627776.0,
					 0.0009765625,
					 0.001,
					 0.00099999999999999980 };
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		expect_as_library(values[i]);
	for (int i = 0; i < DRAWS; i++) {
		double share = (double)(random_bits() >> 11) * 0x1p-53;
		expect_as_library(share);
		expect_as_library(-share * 1000);
		expect_as_library(floor(share * 1e6) / 1e4);
		expect_as_library(floor(ldexp(share, (int)(random_bits() % 56))));
		expect_as_library(ldexp(1 + share, (int)(random_bits() % 64) - 14));
		double any = from_bits(random_bits());
		if (i % 10 == 0 && isfinite(any))
			expect_as_library(any);
	}
	/* powers of two, where doubles are closer on one side, and their neighbours */
	for (int exponent = -14; exponent < 51; exponent++) {
		expect_as_library(ldexp(1, exponent));
		expect_as_library(nextafter(ldexp(1, exponent), 0));
		expect_as_library(nextafter(ldexp(1, exponent), INFINITY));
	}
}

static void test_integers(void **state)
{
	static const int64_t values[] = { 0, 7, -7, 10, 1763856000000, INT64_MAX, INT64_MIN };
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		char text[DECIMAL_SIZE], expected[DECIMAL_SIZE];
		snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
		assert_int_equal(decimal_write_integer(values[i], text), strlen(expected));
		assert_string_equal(text, expected);
	}
}

static double read(const char *text, uint64_t digits, int exponent)
{
	double value = NAN;
	assert_true(decimal_read(str_from(text), digits, exponent, &value));
	return value;
}

static void test_read_exactly(void **state)
{
	double value;
	(void)state;
	assert_true(read("0.1", 1, -1) == 0.1);
	assert_true(read("-0.30000000000000004", 30000000000000004, -17) == -0.30000000000000004);
	assert_true(read("9007199254740993", 9007199254740993, 0) == 9007199254740992.0);
	assert_true(read("1e22", 1, 22) == 1e22);
	assert_true(read("1e23", 1, 23) == 1e23);
	assert_true(read("1e-400", 1, -400) == 0);
	assert_true(signbit(read("-0.0", 0, -1)));
	assert_false(decimal_read(STR("1e400"), 1, 400, &value));
	for (int i = 0; i < DRAWS; i++) {
		char text[DECIMAL_SIZE];
		uint64_t digits = random_bits() >> (random_bits() % 54 + 1);
		int exponent = (int)(random_bits() % 45) - 22;
		snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
		double got = read(text, digits, exponent), expected = strtod(text, NULL);
		if (got < expected || got > expected)
			fail_msg("%s is read as %.17g", text, got);
	}
}

/* A comma between the digits changes nothing. */
static void test_whatever_the_locale(void **state)
{
	(void)state;
	char text[DECIMAL_SIZE];
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		skip();
	decimal_write(1.5e300, text);
	assert_string_equal(text, "1.5e+300");
	assert_true(read("0.30000000000000004", 30000000000000004, -17) == 0.30000000000000004);
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_as_by_the_library),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_read_exactly),
		cmocka_unit_test(test_whatever_the_locale),
	};
	return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
