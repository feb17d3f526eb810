/*
 * Numbers as databases write them: digits with an optional sign, point and power of ten, NaN and infinities.
 * Pure; any thread.
 */
#pragma once

#include "common/buf.h"

enum compare_number {
	COMPARE_NUMBER_NONE, /* the text is none */
	COMPARE_NUMBER_FINITE,
	COMPARE_NUMBER_NAN,
	COMPARE_NUMBER_INFINITE,
	COMPARE_NUMBER_MINUS_INFINITE,
};

/* Length of the finite number at the start of `text`, 0 when there is none. */
size_t compare_number_length(str_t text);

/* What the whole text is. */
enum compare_number compare_number_of(str_t text);

/* Whether a finite number is written as databases write them where nothing asks for more digits: no needless
 * zero before or behind (but 5.0), no plus sign. */
bool compare_number_plain(str_t number);

/* The double next to a finite number; infinite when it is beyond all of them. A byte that cannot continue the
 * number has to follow it. */
double compare_number_double(str_t number);

/* The same for a whole text of the usual form (digits, maybe with a point and a sign, few enough to be
 * exact), quickly; false: it is something else. */
bool compare_number_simple(str_t text, double *ret_number);

/* A finite number without fraction of at most 18 digits, in whatever form; false: something else. */
bool compare_number_whole(str_t text, int64_t *ret_number);

/* Whether a finite number is a whole one of so many digits that the tolerance would make neighbours equal:
 * where nothing says what numbers are, such a one is a key, a code or a telephone number. */
bool compare_number_is_key(str_t number);

/* Appends the value of a finite number in the only form that it has: sign, digits without zeros at either end
 * and the power of ten. Numbers are equal exactly when these are, however many digits they have. */
void compare_number_canonical(str_t number, struct buf *text);

/* Appends the same for comparing alone: of numbers of the usual form a few bytes, quickly. */
void compare_number_exact(str_t number, struct buf *bytes);

/* Appends an amount of money as a number: digits, separators of thousands and of the fraction, a currency on
 * either side, and a sign or brackets. The last separator begins the fraction, unless it is the only kind and
 * three digits follow. False: it is none. */
bool compare_number_amount(str_t text, struct buf *number);

/* Appends a whole number in decimal digits, quickly. */
void compare_append_whole(struct buf *text, int64_t number);
