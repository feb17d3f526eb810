/*
 * Student's t distribution. Pure; any thread.
 */
#pragma once

/* How often a value of that many degrees of freedom (an odd number) exceeds `t`. Abramowitz and Stegun 1964,
 * 26.7.3. */
double student_tail(double t, int degrees);
