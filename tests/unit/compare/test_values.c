/* Which values are equal: numbers, texts, booleans, bytes, arrays, JSON, NULL. See compare_cases.h. */
#include "cases.h"

static void test_numbers(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "decimal_scale_compared", "1.10 is 1.1", 'd', "1.10", 'd', "1.1", true },
		{ "decimal_against_float", "one number in two classes", 'd', "123.45", 'f', "123.45", true },
		{ "decimal_against_text_column", "a number column that is typed text", 't', "123.450", 'd',
		  "123.45", true },
		{ "float_against_text_column", "a number column that is typed text", 't', "0.5", 'f', ".5",
		  true },
		{ "integer_against_text_column", "a number column that is typed text", 't', "42", 'i', "42",
		  true },
		{ "integer_against_padded_text_column", "beside a number the text is one", 't', "007", 'i',
		  "7", true },
		{ "integer_against_decimal", "5 is 5.00", 'i', "5", 'd', "5.00", true },
		{ "integer_against_float", "SQLite sums integers to integers, others to doubles", 'i', "15",
		  'f', "15.0", true },
		{ "exponent_read_as_text", "1.5e+20 is 150000000000000000000", 'f', "1.5e+20", 'd',
		  "150000000000000000000", true },
		{ "capital_exponent", "E is e", 'f', "1.5E3", 'f', "1500", true },
		{ "negative_exponent", "25e-2 is 0.25", 'f', "25e-2", 'd', "0.25", true },
		{ "plus_sign_read_as_text", "+7 is 7", 'd', "+7", 'd', "7", true },
		{ "point_without_fraction", "7. is 7", 'd', "7.", 'd', "7", true },
		{ "binary_noise", "0.1 + 0.2 as a double is 0.3", 'f', "0.30000000000000004", 'd', "0.3",
		  true },
		{ "float4_against_float8", "one value, written with 4 and with 8 bytes", 'f', "0.1", 'f',
		  "0.10000000149011612", true },
		{ "rounding_bucket_edge", "two close values on either side of a rounding border", 'f',
		  "0.00004999", 'f', "0.00005001", true },
		{ "rounding_bucket_edge_of_whole_number", "1.00005 rounds to 1.0001, 1.00004 to 1", 'f',
		  "1.00004", 'f', "1.00006", true },
		{ "rounding_bucket_edge_2_decimals", "rounding to 2 places would part these", 'f', "1.00499",
		  'f', "1.00501", true },
		{ "same_bucket_is_not_close", "rounding to 3 places would join these, 0.0009 apart", 'f',
		  "1.0000", 'f', "1.0009", false },
		{ "absolute_border_included", "exactly 1e-4 apart is within 1e-4", 'd', "100.0001", 'd',
		  "100", true },
		{ "absolute_border_included_negative", "the same below zero", 'd', "-100.0001", 'd', "-100",
		  true },
		{ "absolute_too_wide", "1.1e-4 apart", 'd', "100.00011", 'd', "100", false },
		{ "absolute_across_zero", "0.00008 apart, signs differ: more than 1 % of either", 'f',
		  "0.00004", 'f', "-0.00004", false },
		{ "sign_of_rounded_zero", "both are what rounding leaves of zero", 'f', "1e-12", 'f',
		  "-1e-12", true },
		{ "cents_lost", "0.01 is a different amount", 'd', "19.99", 'd', "20.00", false },
		{ "relative_missing", "0.5 in 1e12 is 5e-13", 'd', "1000000000000.5", 'd', "1000000000001",
		  true },
		{ "relative_border", "1000 in 1e12 is exactly 1e-9", 'd', "1000000000000", 'd',
		  "999999999000", true },
		{ "relative_too_wide", "2000 in 1e12 is 2e-9", 'd', "1000000000000", 'd', "1000000002000",
		  false },
		{ "relative_for_small", "2e-9 of 1000 is 2e-6, within the absolute", 'f', "1000.000002", 'f',
		  "1000", true },
		{ "sign_lost", "-5 is not 5", 'd', "-5", 'd', "5", false },
		{ "negative_zero", "-0 is 0", 'f', "-0", 'f', "0", true },
		{ "negative_zero_decimal", "-0.00 is 0", 'd', "-0.00", 'i', "0", true },
		{ "zero_written_long", "0.000 is 0", 'd', "0.000", 'd', "0", true },
		{ "nan_differs_from_nan", "NaN stands for the same result", 'f', "NaN", 'f', "nan", true },
		{ "nan_equals_number", "NaN is none", 'f', "NaN", 'f', "0", false },
		{ "nan_equals_null", "NaN is a value", 'f', "NaN", 'f', NULL, false },
		{ "nan_equals_infinity", "different values", 'f', "NaN", 'f', "Infinity", false },
		{ "infinity_spellings", "PostgreSQL's and SQLite's infinity", 'f', "Infinity", 'f', "Inf",
		  true },
		{ "negative_infinity_spellings", "the same below zero", 'f', "-Infinity", 'f', "-Inf", true },
		{ "infinity_sign_lost", "two infinities", 'f', "-Infinity", 'f', "Infinity", false },
		{ "infinity_equals_largest_double", "it is beyond all numbers", 'f', "Infinity", 'f',
		  "1.7976931348623157e+308", false },
		{ "decimal_infinity", "PostgreSQL 14 has infinite decimals", 'd', "Infinity", 'f', "Infinity",
		  true },
		{ "number_with_tail", "12abc is text", 'u', "12abc", 'u', "12", false },
		{ "hexadecimal_read", "0x10 is text", 'u', "0x10", 'u', "16", false },
		{ "group_separators_read", "1,000 is text", 't', "1,000", 'i', "1000", false },
		{ "decimal_comma_read", "1,5 is text", 't', "1,5", 'd', "1.5", false },
		{ "two_points", "1.2.3 is text", 't', "1.2.3", 'd', "1.2", false },
		{ "money_equals_number", "a currency sign makes text", 'u', "$5.00", 'd', "5.00", false },
		{ "empty_text_is_zero", "nothing is no number", 't', "", 'i', "0", false },
		{ "sign_alone_is_zero", "a dash is no number", 't', "-", 'i', "0", false },
		{ "year_of_mariadb", "YEAR is a number", 'i', "2024", 'd', "2024", true },
	};
	CHECK_ALL(cases, check_value);
}

/* Letters that are digits, and amounts of money. */
static void test_forms_that_say_what_they_are(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "uuid_in_capitals", "one UUID", 't', "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 't',
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", true },
		{ "uuid_of_unknown_type", "one UUID", 'u', "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 't',
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", true },
		{ "uuid_of_digits_first", "it begins as a moment may", 't',
		  "10EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 't', "10eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", true },
		{ "other_uuid", "the last digit", 't', "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 't',
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12", false },
		{ "nearly_a_uuid", "g is no digit", 't', "G0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 't',
		  "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", false },
		{ "hyphens_elsewhere", "a code of its own", 't', "A0EEBC99-9C0B4-EF8-BB6D-6BB9BD380A11", 't',
		  "a0eebc99-9c0b4-ef8-bb6d-6bb9bd380a11", false },
		{ "uuid_without_hyphens", "32 digits may be anything", 't',
		  "A0EEBC999C0B4EF8BB6D6BB9BD380A11", 't', "a0eebc999c0b4ef8bb6d6bb9bd380a11", false },
		{ "bytes_in_capitals", "one byte", 'x', "ab", 't', "\\xAB", true },
		{ "bytes_with_a_capital_mark", "one byte", 'x', "ab", 't', "0XAB", true },
		{ "bytes_as_texts", "behind \\x they are bytes", 't', "\\xABCD", 't', "\\xabcd", true },
		{ "half_a_byte", "no bytes", 't', "\\xA", 't', "\\xa", false },
		{ "hexadecimal_without_mark", "may be any code", 't', "AB", 't', "ab", false },
		{ "words_in_capitals", "texts differ by case", 't', "Apple", 't', "apple", false },
		{ "money_and_number", "the same amount", '$', "$5.00", 'd', "5", true },
		{ "money_and_another_number", "a cent", '$', "$5.00", 'd', "5.01", false },
		{ "money_and_integer", "the same amount", '$', "$1,234.00", 'i', "1234", true },
		{ "money_and_text", "beside money a text is an amount", '$', "$1,234.50", 't', "1234.50",
		  true },
		{ "money_below_zero", "a debt", '$', "-$5.00", 'd', "-5", true },
		{ "money_in_brackets", "a debt, as books write it", '$', "($5.00)", 'f', "-5", true },
		{ "money_sign_lost", "a debt is none", '$', "-$5.00", 'd', "5", false },
		{ "money_of_another_locale", "a comma for the fraction", '$', "1.234,56 \xe2\x82\xac", 'd',
		  "1234.56", true },
		{ "money_without_fraction", "a currency that has none", '$',
		  "\xc2\xa5"
		  "1,234",
		  'd', "1234", true },
		{ "money_with_apostrophes", "as the Swiss write it", '$', "CHF 1'234.50", 'd', "1234.5",
		  true },
		{ "money_with_code", "a code for the sign", '$', "USD 5.00", '$', "$5.00", true },
		{ "money_of_millions", "several separators", '$', "$1,234,567.89", 'd', "1234567.89", true },
		{ "money_with_a_word", "no amount", '$', "about 5", 'd', "5", false },
		{ "money_with_slash", "no amount", '$', "N/A 5", 'd', "5", false },
		{ "money_of_two_numbers", "no amount", '$', "5:30", 'd', "5.30", false },
		{ "money_of_nothing", "no amount", '$', "$", 'd', "0", false },
		{ "money_is_no_null", "NULL is NULL", '$', "$0.00", 'd', NULL, false },
		{ "sign_makes_money_only_by_type", "a text that says $5.00", 't', "$5.00", 'd', "5", false },
	};
	CHECK_ALL(cases, check_value);
}

/* The absolute tolerance covers 1 % of the larger of two numbers above 1e-12 at most. */
static void test_small_numbers(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "small_rates_all_equal", "a quarter of it", 'f', "0.00002", 'f', "0.00008", false },
		{ "small_rates_by_power", "the same as databases write it", 'f', "2e-05", 'd', "0.000080",
		  false },
		{ "rate_lost", "0.00008 was rounded away", 'f', "0.00008", 'i', "0", false },
		{ "rate_of_integer_division", "0 where 0.0099 was asked for", 'd', "0.0099", 'i', "0",
		  false },
		{ "sign_of_rate", "a gain is no loss", 'f', "0.00002", 'f', "-0.00002", false },
		{ "cap_begins", "1 % of 0.01 is the tolerance", 'd', "0.01", 'd', "0.0099", true },
		{ "cap_begins_above", "1e-4 is less than 1 %", 'd', "0.011", 'd', "0.0109", true },
		{ "cap_begins_above_wide", "1.01e-4 is less than 1 %, and too much", 'd', "0.011", 'd',
		  "0.010899", false },
		{ "cap_begins_below", "1e-4 is more than 1 %", 'd', "0.0099", 'd', "0.0098", false },
		{ "cap_included", "exactly 1 % of the larger", 'd', "0.00100", 'd', "0.00099", true },
		{ "cap_included_below_zero", "the same below zero", 'd', "-0.00100", 'd', "-0.00099", true },
		{ "cap_of_smaller", "1.0101 % of the smaller, 1 % of the larger", 'f', "2e-7", 'f', "1.98e-7",
		  true },
		{ "cap_passed", "1.01 %", 'd', "0.00100", 'd', "0.0009899", false },
		{ "digits_of_small_rate", "the fourth digit of one", 'd', "0.00012340", 'd', "0.0001235",
		  true },
		{ "noise_of_small_rate", "one rate, divided in two ways", 'f', "0.00012345678901234567", 'd',
		  "0.000123456789012346", true },
		{ "noise_is_not_zero", "what rounding leaves of 0.1 + 0.2 - 0.3", 'f',
		  "5.551115123125783e-17", 'i', "0", true },
		{ "largest_rounded_zero", "1e-12 itself is not above it", 'f', "1e-12", 'f', "0", true },
		{ "largest_rounded_zero_in_digits", "the same", 'd', "0.000000000001", 'd', "0.0", true },
		{ "smallest_number", "above 1e-12 it is a number", 'f', "1.001e-12", 'f', "0", false },
		{ "smallest_number_below_zero", "the same below zero", 'f', "-1.001e-12", 'f', "0", false },
		{ "beside_rounded_zero", "one is above 1e-12, 1 % apart", 'f', "1.001e-12", 'f', "9.95e-13",
		  true },
		{ "beside_rounded_zero_too_wide", "one is above 1e-12, 2 % apart", 'f', "1.001e-12", 'f',
		  "9.8e-13", false },
		{ "rounded_zeros", "both are zero", 'f', "1e-12", 'f', "3e-15", true },
		{ "denormal_is_zero", "the smallest double", 'f', "5e-324", 'f', "-5e-324", true },
		{ "array_of_rates", "elements are numbers", 'a', "{0.00002}", 'a', "{0.00008}", false },
		{ "document_of_rates", "numbers are numbers inside", 'j', "{\"r\": 0.00002}", 'j',
		  "{\"r\": 0.00008}", false },
		{ "rates_as_text", "beside a number the text is one", 't', "0.00002", 'f', "0.00008", false },
		{ "guessed_rates", "SQLite's column of rates", 'u', "0.00002", 'u', "0.00008", false },
	};
	CHECK_ALL(cases, check_value);
}

/* Beyond what a double holds. */
static void test_huge_numbers(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "keys_within_relative_tolerance", "two whole-number columns: keys are equal or not", 'i',
		  "1234567890123", 'i', "1234567890124", false },
		{ "keys_beyond_double", "2^53 + 1 is no double and not 2^53", 'i', "9007199254740993", 'i',
		  "9007199254740992", false },
		{ "largest_bigint", "2^63 - 1 and the one before it", 'i', "9223372036854775807", 'i',
		  "9223372036854775806", false },
		{ "largest_bigint_itself", "the same", 'i', "9223372036854775807", 'i', "9223372036854775807",
		  true },
		{ "smallest_bigint_itself", "the same", 'i', "-9223372036854775808", 'i',
		  "-9223372036854775808", true },
		{ "unsigned_bigint_of_mariadb", "2^64 - 1 and the one before it", 'i', "18446744073709551615",
		  'i', "18446744073709551614", false },
		{ "whole_column_with_fraction", "still one value", 'i', "5.0", 'i', "5", true },
		{ "whole_column_with_exponent", "still one value", 'i', "12e2", 'i', "1200", true },
		{ "whole_column_with_zeros", "still one value", 'i', "007", 'i', "7", true },
		{ "whole_column_with_plus", "still one value", 'i', "+7", 'i', "7", true },
		{ "whole_column_negative_zero", "still one value", 'i', "-0", 'i', "0", true },
		{ "whole_column_trailing_zeros", "a hundred is not ten", 'i', "100", 'i', "10", false },
		{ "bigint_sum_as_decimal", "PostgreSQL sums bigint to numeric", 'i', "12345678901234", 'd',
		  "12345678901234", true },
		{ "decimals_keep_tolerance", "SPEC: decimals are equal within 1e-9 relative", 'd',
		  "9007199254740993", 'd', "9007199254740992", true },
		{ "forty_digits", "a difference in the last of 40 digits is within 1e-9", 'd',
		  "1234567890123456789012345678901234567890", 'd', "1234567890123456789012345678901234567891",
		  true },
		{ "forty_digits_too_wide", "a difference in the 5th of 40 digits", 'd',
		  "1234567890123456789012345678901234567890", 'd', "1234667890123456789012345678901234567890",
		  false },
		{ "long_fraction", "40 digits behind the point", 'd',
		  "0.1234567890123456789012345678901234567890", 'd', "0.1234567890", true },
		{ "leading_zeros_long", "zeros before the point do not count", 'd',
		  "000000000000000000000000000001.5", 'd', "1.5", true },
		{ "beyond_double_is_infinite", "10^400 is a number", 'd', "1e400", 'd', "Infinity", false },
		{ "beyond_double_all_equal", "10^400 is not 2 * 10^400", 'd', "1e400", 'd', "2e400", false },
		{ "beyond_double_itself", "one value in two forms", 'd', "1e400", 'd', "10.0e399", true },
		{ "beyond_double_sign", "below zero", 'd', "-1e400", 'd', "1e400", false },
		{ "beneath_double", "1e-400 is about zero", 'd', "1e-400", 'd', "0", true },
		{ "keys_as_text_within_tolerance", "a key that was cast is a key", 't', "175928847299117063",
		  'i', "175928847299117064", false },
		{ "keys_as_text_themselves", "one key in two classes", 't', "175928847299117063", 'i',
		  "175928847299117063", true },
		{ "keys_as_decimal_text", "a whole number in another form", 't', "12345678901.00", 'i',
		  "12345678901", true },
		{ "keys_of_ten_digits", "the first that the tolerance would join", 't', "5000000001", 'i',
		  "5000000002", false },
		{ "short_texts_lose_tolerance", "below ten digits nothing changes", 't', "4.99999999", 'i',
		  "5", true },
		{ "long_fractions_lose_tolerance", "what is not whole is no key", 't', "12345678901.000002",
		  't', "12345678901.000002", true },
		{ "keys_in_mixed_column", "SQLite's column of keys and words", 'u', "1234567890123", 'u',
		  "1234567890124", false },
		{ "keys_in_mixed_column_as_real", "1234567890123.0 was written by a double", 'u',
		  "1234567890123.0", 'u', "1234567890123", true },
		{ "keys_in_mixed_column_beside_integers", "the other column holds nothing but keys", 'u',
		  "1234567890123", 'i', "1234567890124", false },
		{ "long_bit_strings_are_close", "the last of 40 bits", 'u',
		  "1000000000000000000000000000000000000001", 'u', "1000000000000000000000000000000000000000",
		  false },
		{ "telephone_numbers_are_close", "citext and the like say nothing of themselves", 'u',
		  "4915112345678", 'u', "4915112345679", false },
		{ "huge_reals_in_mixed_column", "one value in two forms", 'u', "1e+20", 'u',
		  "100000000000000000000", true },
		{ "endless_exponent", "no number has such a power: text", 't', "1e99999999999999999999", 't',
		  "1e99999999999999999998", false },
		{ "endless_exponent_against_number", "text and number", 't', "1e99999999999999999999", 'd',
		  "1", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_guessed_numbers(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "unknown_compared_as_text", "SQLite's mixed column: 1.0 is 1", 'u', "1.0", 'u', "1", true },
		{ "unknown_beside_number", "1.50 is 1.5 where the truth is a number", 'u', "1.50", 'd', "1.5",
		  true },
		{ "bit_strings_as_numbers", "B'0101' is not B'101'", 'u', "0101", 'u', "101", false },
		{ "codes_in_mixed_column", "007 was not written by a number", 'u', "007", 't', "7", false },
		{ "versions_as_numbers", "1.10 is not 1.1 where nothing says that it is a number", 'u',
		  "1.10", 'u', "1.1", false },
		{ "phone_numbers", "+49 is not 49 where nothing says that it is a number", 'u', "+49", 'u',
		  "49", false },
		{ "unknown_noise", "doubles in a mixed column", 'u', "0.30000000000000004", 'u', "0.3",
		  true },
		{ "unknown_negative", "the sign counts", 'u', "-3", 'u', "3", false },
		{ "unknown_zero", "0 is 0.0", 'u', "0", 'u', "0.0", true },
		{ "unknown_text", "text is text", 'u', "abc", 't', "abc", true },
		{ "unknown_address", "inet is text", 'u', "10.0.0.1", 'u', "10.0.0.10", false },
		{ "text_codes_as_numbers", "007 is not 7 in text columns", 't', "007", 't', "7", false },
		{ "text_decimals_as_numbers", "1.10 is not 1.1 in text columns", 't', "1.10", 't', "1.1",
		  false },
		{ "text_exponents_as_numbers", "1e3 is not 1000 in text columns", 't', "1e3", 't', "1000",
		  false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_null(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "null_equals_empty_text", "NULL equals only NULL", 't', NULL, 't', "", false },
		{ "null_equals_blank_text", "NULL equals only NULL", 't', NULL, 't', "  ", false },
		{ "null_equals_zero", "NULL equals only NULL", 'i', NULL, 'i', "0", false },
		{ "null_equals_false", "NULL equals only NULL", 'b', NULL, 'b', "f", false },
		{ "null_equals_its_word", "the text NULL is a text", 't', NULL, 't', "NULL", false },
		{ "null_equals_python_none", "the text None is a text", 't', NULL, 't', "None", false },
		{ "null_equals_dash", "the text - is a text", 't', NULL, 't', "-", false },
		{ "null_equals_json_null", "JSON's null is a value", 'j', NULL, 'j', "null", false },
		{ "null_equals_empty_array", "an empty array is a value", 'a', NULL, 'a', "{}", false },
		{ "null_equals_zero_date", "MariaDB's zero date is a value", 'D', NULL, 'D', "0000-00-00",
		  false },
		{ "null_equals_empty_bytes", "no bytes are a value", 'x', NULL, 'x', "", false },
		{ "null_differs_from_null", "NULL equals NULL here", 't', NULL, 't', NULL, true },
		{ "null_of_other_class", "NULL has no class", 'n', NULL, 'i', NULL, true },
		{ "null_of_dates", "NULL has no class", 'D', NULL, 'j', NULL, true },
		{ "null_column_against_value", "a column that happens to be NULL", 'n', NULL, 'i', "5",
		  false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_booleans(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "true_against_1", "SQLite and MariaDB have no boolean", 'b', "t", 'i', "1", true },
		{ "false_against_0", "SQLite and MariaDB have no boolean", 'b', "f", 'i', "0", true },
		{ "true_against_0", "the opposite", 'b', "t", 'i', "0", false },
		{ "tinyint_2_is_true", "2 is no truth value", 'b', "t", 'i', "2", false },
		{ "tinyint_minus_1_is_true", "-1 is no truth value", 'b', "t", 'i', "-1", false },
		{ "true_against_unknown_1", "a mixed column", 'b', "t", 'u', "1", true },
		{ "true_against_decimal", "MAX of a boolean as a decimal", 'b', "t", 'd', "1.0", true },
		{ "true_against_half", "an average is no truth value", 'b', "t", 'd', "0.5", false },
		{ "true_against_float", "1.0 of SQLite's mixed column", 'b', "f", 'f', "0.0", true },
		{ "true_against_word", "CAST to text writes the word", 'b', "t", 't', "true", true },
		{ "true_against_capital_word", "TRUE is true", 'b', "t", 't', "TRUE", true },
		{ "false_against_word", "CAST to text writes the word", 'b', "f", 't', "false", true },
		{ "true_against_false", "the opposite", 'b', "t", 'b', "f", false },
		{ "true_against_any_text", "no truth value", 'b', "t", 't', "yes", false },
		{ "true_against_json_true", "a truth value out of a document", 'b', "t", 'j', "true", true },
		{ "true_against_json_false", "the opposite", 'b', "t", 'j', "false", false },
		{ "words_in_texts", "true is not t in text columns", 't', "true", 't', "t", false },
		{ "number_1_against_true_text", "no class says that this is a truth value", 'i', "1", 't',
		  "true", false },
		{ "boolean_column_with_2", "SQLite's BOOLEAN holds what it likes", 'b', "2", 'b', "t",
		  false },
		{ "boolean_column_with_2_itself", "the same", 'b', "2", 'b', "2", true },
	};
	CHECK_ALL(cases, check_value);
}

static void test_texts(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "padding_compared", "char(8) pads", 't', "ann     ", 't', "ann", true },
		{ "leading_blanks_compared", "texts are trimmed", 't', "  ann", 't', "ann", true },
		{ "line_ends_compared", "texts are trimmed", 't', "ann\r\n", 't', "ann", true },
		{ "blank_differs_from_empty", "texts are trimmed", 't', "   ", 't', "", true },
		{ "inner_blanks_lost", "only ends are trimmed", 't', "a b", 't', "ab", false },
		{ "inner_blanks_folded", "only ends are trimmed", 't', "a  b", 't', "a b", false },
		{ "case_folded", "letters have a case", 't', "Ann", 't', "ann", false },
		{ "accents_folded", "é is not e", 't', "André", 't', "Andre", false },
		{ "unicode_forms_folded", "composed and decomposed are different texts to a database", 't',
		  "caf\xc3\xa9", 't', "cafe\xcc\x81", false },
		{ "unicode_cut", "a byte that looks like a blank ends no character", 't', "\xc3\xa0", 't',
		  "\xc3", false },
		{ "no_break_space_trimmed", "it is no white space of ASCII", 't', "a\xc2\xa0", 't', "a",
		  false },
		{ "invalid_utf8", "bytes are compared", 't', "\xff\xfe", 't', "\xff\xfe", true },
		{ "emoji", "four bytes", 't', "😀", 't', "😁", false },
		{ "prefix_is_enough", "a text is compared whole", 't', "abcdefgh", 't', "abcdefghi", false },
		{ "uuid", "the same", 't', "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 't',
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", true },
		{ "text_equals_its_date_prefix", "a text that starts like a date", 't', "2024-01-01x", 't',
		  "2024-01-01", false },
		{ "cell_marks_confused", "what stands for a number inside is a text outside", 't', "#", 'd',
		  "1", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_bytes(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "bytes_as_numbers", "00 is one byte, 0000 are two", 'x', "00", 'x', "0000", false },
		{ "bytes_as_floats", "1e3 has an exponent only as a number", 'x', "1e30", 'x', "1000",
		  false },
		{ "bytes_case", "hexadecimal letters have no case", 'x', "deadbeef", 'x', "DEADBEEF", true },
		{ "bytes_of_hex_function", "HEX() gives capital letters as text", 't', "DEADBEEF", 'x',
		  "deadbeef", true },
		{ "bytes_prefix_of_postgresql", "bytea as text has \\x", 't', "\\xdeadbeef", 'x', "deadbeef",
		  true },
		{ "bytes_prefix_of_mariadb", "a literal has 0x", 't', "0xDEADBEEF", 'x', "deadbeef", true },
		{ "bytes_differ", "one bit", 'x', "deadbeef", 'x', "deadbeee", false },
		{ "bytes_empty", "no bytes", 'x', "", 'x', "", true },
		{ "bytes_cut", "a prefix", 'x', "dead", 'x', "deadbeef", false },
		{ "bytes_against_their_text", "6869 are bytes, hi is a text", 'x', "6869", 't', "hi", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_arrays(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "array_tolerance", "elements are numbers", 'a', "{1.000001,2}", 'a', "{1,2}", true },
		{ "array_tolerance_too_wide", "elements are numbers", 'a', "{1.001,2}", 'a', "{1,2}", false },
		{ "array_quotes", "quotes are not part of the text", 'a', "{\"ann\",bob}", 'a', "{ann,bob}",
		  true },
		{ "array_quoted_null", "\"NULL\" is a text", 'a', "{\"NULL\"}", 'a', "{NULL}", false },
		{ "array_null", "NULL equals NULL", 'a', "{1,NULL}", 'a', "{1,NULL}", true },
		{ "array_null_is_zero", "NULL equals only NULL", 'a', "{NULL}", 'a', "{0}", false },
		{ "array_order_lost", "arrays have an order", 'a', "{1,2}", 'a', "{2,1}", false },
		{ "array_nesting_lost", "{{1,2},{3,4}} is not {1,2,3,4}", 'a', "{{1,2},{3,4}}", 'a',
		  "{1,2,3,4}", false },
		{ "array_shape_lost", "2 x 3 is not 3 x 2", 'a', "{{1,2,3},{4,5,6}}", 'a',
		  "{{1,2},{3,4},{5,6}}", false },
		{ "array_against_json", "a list of a document", 'a', "{{1,2},{3,4}}", 'j', "[[1, 2], [3, 4]]",
		  true },
		{ "array_against_json_texts", "a list of a document", 'A', "{ann,\"bob b\"}", 'j',
		  "[\"ann\", \"bob b\"]", true },
		{ "array_marks_confused", "NULL and an infinity are two elements", 'a', "{NULL,inf}", 'a',
		  "{-inf}", false },
		{ "array_bounds", "subscripts are no values", 'a', "[0:1]={1,2}", 'a', "{1,2}", true },
		{ "array_empty", "nothing in it", 'a', "{}", 'a', "{}", true },
		{ "array_empty_against_null_element", "one element", 'a', "{}", 'a', "{NULL}", false },
		{ "array_commas_in_quotes", "one element with a comma", 'a', "{\"a,b\"}", 'a', "{a,b}",
		  false },
		{ "array_escapes", "a quote inside", 'a', "{\"a\\\"b\"}", 'a', "{\"a\\\"b\"}", true },
		{ "array_codes_as_numbers", "texts in it are no numbers", 'A', "{007,1.10}", 'A', "{7,1.1}",
		  false },
		{ "array_texts_equal", "the same, quoted or not", 'A', "{\"007\",x}", 'A', "{007,x}", true },
		{ "array_quoted_number", "quotes make a text", 'a', "{\"1\"}", 'a', "{1}", false },
		{ "array_keys_within_tolerance", "keys are equal or not", 'a', "{5000000001,5000000002}", 'a',
		  "{5000000001,5000000003}", false },
		{ "array_keys_themselves", "the same", 'a', "{5000000001}", 'a', "{5000000001}", true },
		{ "array_nan_is_infinity", "neither is a number", 'a', "{NaN}", 'a', "{Infinity}", false },
		{ "array_negative_zero", "-0 is 0", 'a', "{-0}", 'a', "{0}", true },
		{ "array_empty_text_is_null", "\"\" is a text", 'A', "{\"\"}", 'A', "{NULL}", false },
		{ "array_empty_text_is_nothing", "one element", 'A', "{\"\"}", 'A', "{}", false },
		{ "array_broken", "not closed: text", 'a', "{1,2", 'a', "{1,2}", false },
	};
	CHECK_ALL(cases, check_value);
}

static void test_json(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{ "json_member_order", "members have no order", 'j', "{\"b\": 1, \"a\": [true, null]}", 'j',
		  "{\"a\":[true,null],\"b\":1.0}", true },
		{ "json_list_order_lost", "lists have an order", 'j', "[1,2]", 'j', "[2,1]", false },
		{ "json_escapes", "escapes are their characters", 'j', "\"\\u00e9\\n\"", 'j', "\"é\\n\"",
		  true },
		{ "json_surrogates", "two halves are one character", 'j', "\"\\ud83d\\ude00\"", 'j', "\"😀\"",
		  true },
		{ "json_solidus", "\\/ is /", 'j', "\"a\\/b\"", 'j', "\"a/b\"", true },
		{ "json_tolerance", "numbers are numbers inside", 'j', "{\"x\": 0.30000000000000004}", 'j',
		  "{\"x\": 0.3}", true },
		{ "json_scale", "1.10 is 1.1", 'j', "[1.10]", 'j', "[1.1]", true },
		{ "json_exponent", "1e2 is 100", 'j', "[1e2]", 'j', "[100]", true },
		{ "json_beyond_double", "1e400 is not 2e400", 'j', "[1e400]", 'j', "[2e400]", false },
		{ "json_number_is_text", "1 is not \"1\"", 'j', "{\"x\": 1}", 'j', "{\"x\": \"1\"}", false },
		{ "json_true_is_1", "JSON has booleans", 'j', "{\"x\": true}", 'j', "{\"x\": 1}", false },
		{ "json_null_is_absent", "a member that is null is there", 'j', "{\"x\": null}", 'j', "{}",
		  false },
		{ "json_null_is_word", "null is not \"null\"", 'j', "[null]", 'j', "[\"null\"]", false },
		{ "json_list_is_object", "[] is not {}", 'j', "[]", 'j', "{}", false },
		{ "json_first_member_counts", "the last of two counts", 'j', "{\"x\":1,\"x\":2}", 'j',
		  "{\"x\":2}", true },
		{ "json_in_text_column", "json of SQLite and MariaDB is text", 't', "{ \"x\" : [ ] }", 'j',
		  "{\"x\":[]}", true },
		{ "json_texts_parsed", "text columns on both sides hold texts", 't', "{ \"x\" : [ ] }", 't',
		  "{\"x\":[]}", false },
		{ "json_string_against_text", "->> against ->", 'j', "\"ann\"", 't', "ann", true },
		{ "json_number_against_number", "a number out of a document", 'j', "5", 'i', "5", true },
		{ "json_number_against_other", "a number out of a document", 'j', "5", 'd', "6", false },
		{ "json_keys_within_tolerance", "keys are equal or not", 'j', "{\"id\": 1234567890123}", 'j',
		  "{\"id\": 1234567890124}", false },
		{ "json_key_as_exponent", "one number in two forms", 'j', "[1.5e10]", 'j', "[15000000000]",
		  true },
		{ "json_key_against_integer", "a key out of a document", 'j', "175928847299117063", 'i',
		  "175928847299117064", false },
		{ "json_inner_duplicates", "the last of two counts at any depth", 'j',
		  "{\"a\":{\"x\":1,\"x\":2}}", 'j', "{\"a\":{\"x\":1}}", false },
		{ "json_numbers_of_jsonb", "jsonb keeps 1.0", 'j', "{\"a\": 1.0}", 'j', "{\"a\":1}", true },
		{ "json_negative_zero", "-0 is 0", 'j', "[-0.0]", 'j', "[0]", true },
		{ "json_nul_escape", "a NUL is a character", 'j', "\"a\\u0000b\"", 'j', "\"a\"", false },
		{ "json_broken", "not closed: text", 'j', "{\"x\":1", 'j', "{\"x\":1}", false },
		{ "json_members_swap", "values belong to their names", 'j', "{\"x\":1,\"y\":2}", 'j',
		  "{\"y\":1,\"x\":2}", false },
		{ "json_name_case", "names have a case", 'j', "{\"X\":1}", 'j', "{\"x\":1}", false },
		{ "json_nesting", "values belong to their objects", 'j', "{\"a\":{\"b\":1},\"c\":2}", 'j',
		  "{\"a\":{\"c\":2},\"b\":1}", false },
		{ "json_blanks_in_strings", "strings inside are whole", 'j', "[\" a\"]", 'j', "[\"a\"]",
		  false },
		{ "json_empty_string_is_null", "\"\" is a string", 'j', "\"\"", 'j', "null", false },
	};
	CHECK_ALL(cases, check_value);
}

/* One byte more, less or of another value, wherever it stands in whatever length. */
static void test_every_byte_of_a_text_counts(void **state)
{
	enum { LONGEST = 70 };
	(void)state;
	for (size_t len = 1; len <= LONGEST; len++) {
		char text[LONGEST + 2] = "", other[LONGEST + 2] = "";
		memset(text, 'a', len);
		memset(other, 'a', len + 1);
		assert_true(compare_values('t', text, 't', text) >= 1);
		assert_true(compare_values('t', text, 't', other) < 1);
		for (size_t at = 0; at < len; at++) {
			memcpy(other, text, sizeof other);
			other[at] = 'b';
			assert_true(compare_values('t', text, 't', other) < 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_forms_that_say_what_they_are),
		cmocka_unit_test(test_small_numbers),
		cmocka_unit_test(test_huge_numbers),
		cmocka_unit_test(test_guessed_numbers),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_booleans),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_every_byte_of_a_text_counts),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
