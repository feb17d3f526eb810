/*
 * Numbers and texts as parameters and results of statements have them. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

#include <libpq-fe.h>

/* Memory for a number as the text of a parameter. */
struct database_number_text {
	char text[24];
};

/* The number in digits, in `to`. */
const char *database_number_text(struct database_number_text *to, int64_t number);

/* The value in a row and column, none of which is NULL: an integer, any number. */
int64_t database_integer_at(const PGresult *result, int row, int column);
double database_number_at(const PGresult *result, int row, int column);

/* The text in a row and column, copied into the arena; absent for NULL. */
str_t database_text_at(const PGresult *result, int row, int column, struct arena *arena);
