/*
 * Cells as comparable values.
 *
 * A cell is read as an exact part (bytes that have to be equal) and the finite numbers in it (which have to
 * be close). The exact part of a document keeps a mark where a number stood, so that equal exact parts always
 * come with equally many numbers. Pure; any thread.
 */
#pragma once

#include "compare/compare.h"
#include "compare/reading.h"

/* How the cells of two paired columns are read. */
enum compare_mode {
	COMPARE_TEXT,	  /* trimmed; what has the form of a date or timestamp is one */
	COMPARE_LOOSE,	  /* a number where it looks like one, else as text */
	COMPARE_KEYED,	  /* the same, but what may be a key (compare_number_is_key) exactly */
	COMPARE_GUESSED,  /* the same only as databases write numbers (not 007, not 1.10), else as text */
	COMPARE_INTEGER,  /* a number, exactly */
	COMPARE_BOOLEAN,  /* t, true and 1; f, false and 0 */
	COMPARE_MOMENT,	  /* dates and timestamps: a date is its midnight, no zone is UTC */
	COMPARE_TIME,	  /* time of day */
	COMPARE_INTERVAL, /* a month is 30 days, as PostgreSQL compares intervals */
	COMPARE_BYTES,	  /* hexadecimal, whatever stands before it and in whatever letters */
	COMPARE_JSON,
	COMPARE_ARRAY,
	COMPARE_TEXT_ARRAY,
	COMPARE_MONEY, /* a number, with or without currency and separators */
};

/* The mode in which columns of these classes are compared; symmetric. */
enum compare_mode compare_mode_of(enum cell_class a, enum cell_class b);

/* Appends a cell to the reading. What cannot be read in the mode is text. */
void compare_read(struct compare_reading *reading, enum compare_mode mode, str_t cell);

/* How far two finite numbers may be apart that are equal. `larger` is the absolute value of the larger one.
 * Of numbers above 1e-12 the absolute tolerance never covers more than 1 %, so that small rates are told
 * apart, and from zero; what is smaller is what rounding leaves of zero.
 *
 * What is close to a number is an interval around it, and both its ends grow with the number: whoever sorts
 * numbers finds those that are close to one of them side by side. */
double compare_width(double larger, const struct compare_tolerance *tolerance);

/* |a − b| is within it; both are finite. */
bool compare_close(double a, double b, const struct compare_tolerance *tolerance);

/* Two readings: equal exact parts and close numbers. */
bool compare_readings_equal(const struct compare_reading *a, const struct compare_reading *b,
			    const struct compare_tolerance *tolerance);

/* Appends a cell in a mode that does not depend on the class of its partner: equal values of different
 * classes are nearly always read as the same. For guessing which columns belong together. */
void compare_read_alone(struct compare_reading *reading, enum cell_class type, str_t cell);

/* That mode. */
enum compare_mode compare_mode_alone(enum cell_class type);

/* Whole numbers as they are, others with about six significant digits: close numbers nearly always give the
 * same. */
int64_t compare_quantise(double number);

/* Whether letters of the text stand for digits, by a form that nothing else has, and some are capital: a UUID
 * with its hyphens, or hexadecimal behind \x. In small letters it is the same. */
bool compare_folds(str_t text);
