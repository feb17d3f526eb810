/*
 * Whether two cells are equal, by a second reading of the rules that shares nothing with the first: numbers
 * are whole numbers of 10^-15, moments come from the C library's calendar, documents from a JSON library. For
 * cells of moderate size: numbers below 10^19 with at most 18 digits behind the point.
 *
 * Classes are the letters of tests/unit/compare/cases.h. NULL is NULL.
 */
#pragma once

#include <stdbool.h>

/* `exactly`: as a database sorts, without any tolerance. */
bool oracle_cells_equal(char a_class, const char *a, char b_class, const char *b, bool exactly);
