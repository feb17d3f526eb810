/* Assertions on scores that name the case that failed. */
#pragma once

#include "common/str.h"

#include <math.h>
#include <setjmp.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NONE                                                                                                 \
	{                                                                                                    \
		false, 0                                                                                     \
	}
#define SOME(number)                                                                                         \
	{                                                                                                    \
		true, (number)                                                                               \
	}

static inline void assert_close_at(const char *name, double actual, double expected, const char *file,
				   int line)
{
	if (fabs(actual - expected) <= 1e-9)
		return;
	print_error("%s: %.12g is not %.12g\n", name, actual, expected);
	_fail(file, line);
}

static inline void assert_opt_close_at(const char *name, opt_double_t actual, opt_double_t expected,
				       const char *file, int line)
{
	if (actual.set != expected.set) {
		print_error("%s: %s\n", name, actual.set ? "unexpectedly there" : "missing");
		_fail(file, line);
	}
	if (actual.set)
		assert_close_at(name, actual.value, expected.value, file, line);
}

static inline void assert_case_at(const char *name, long actual, long expected, const char *file, int line)
{
	if (actual == expected)
		return;
	print_error("%s: %ld is not %ld\n", name, actual, expected);
	_fail(file, line);
}

#define assert_close(name, actual, expected) assert_close_at((name), (actual), (expected), __FILE__, __LINE__)
#define assert_opt_close(name, actual, expected)                                                             \
	assert_opt_close_at((name), (actual), (expected), __FILE__, __LINE__)
#define assert_case(name, actual, expected)                                                                  \
	assert_case_at((name), (long)(actual), (long)(expected), __FILE__, __LINE__)
