/*
 * Decimal digits of doubles: the fewest that read back as the same number, and back. Does not depend on the
 * locale. Pure; any thread.
 *
 * Of what has 15 significant digits or fewer these are its digits; 17 are always enough (IEEE 754, 5.12.2).
 * Digits are correctly rounded, ties to even, by exact arithmetic in 128 bits.
 */
#pragma once

#include "common/str.h"

/* Room for any of them, with its NUL. */
#define DECIMAL_SIZE 32

/* Writes a finite number as C's %g would with as many digits as are needed ("0.1", "1e+300", "-0"); its
 * length. */
size_t decimal_write(double value, char text[DECIMAL_SIZE]);

/* Writes a whole number; its length. */
size_t decimal_write_integer(int64_t value, char text[DECIMAL_SIZE]);

/* The double nearest to `digits` · 10^`exponent`, which is written in `text` (digits, a point, an exponent).
 * False: it is too large for a double, or the text is longer than any that needs to be read. */
bool decimal_read(str_t text, uint64_t digits, int exponent, double *ret_value);
