/*
 * Dates as mongosh texts write them, as the milliseconds since 1970 that BSON keeps. Pure; any thread.
 */
#pragma once

#include "sql/mongodb/value.h"

/* Of a value of the kind MONGODB_DATE. A time without a zone is UTC's, and a day that its month does not have
 * is one of the next. False: no date of the proleptic Gregorian calendar from the year 0 on is written there.
 */
bool mongodb_date_ms(const struct mongodb_value *date, int64_t *ret_ms);

/* Writes it as 2024-01-31T23:59:59.123Z; returns the length. `size`: of `to`, 40 bytes do. */
size_t mongodb_date_write(int64_t ms, char *to, size_t size);
