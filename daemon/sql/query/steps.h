/*
 * Whether a recursion that makes one number of the one before comes to an end: it is followed for some steps.
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>

struct steps {
	double (*next)(const void *context, double value); /* NAN: not known */
	double (*held)(const void *context,
		       double value); /* what the condition holds against 0; NAN: not known */
	const void *context;
	bool circles_end; /* rows that are there already are not made again: UNION, of this number alone */
};

/* A limit that is not known, but is there: far away from where a recursion begins. */
#define STEPS_FAR 1e9

/* Whether `held(value) op 0` becomes false; `op` is one of <, <=, >, >=, =, <>. What is still on its way to
 * that after some steps does; what comes by a value again does not (unless `circles_end`), nor what gets no
 * nearer. True where a
 * value is not known. */
bool steps_end(const struct steps *steps, double start, const char *op);

/* `left op right` of numbers; `whole`: a quotient is cut off. NAN: not known. */
double steps_operation(const char *op, double left, double right, bool whole);

/* The comparison that holds when both sides have changed places. */
const char *steps_mirrored(const char *op);
