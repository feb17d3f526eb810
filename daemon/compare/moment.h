/*
 * Dates, timestamps, times of day and intervals in the text forms of PostgreSQL, SQLite and ISO 8601. Each
 * function reads the whole text or returns false. Pure; any thread.
 */
#pragma once

#include "common/str.h"

/* Microseconds since 1970-01-01 UTC of a date (its midnight) or timestamp (without a zone: UTC). */
bool compare_parse_moment(str_t text, int64_t *ret_us);

/* Microseconds since midnight UTC. */
bool compare_parse_time(str_t text, int64_t *ret_us);

/* Length in microseconds (also of a duration of ISO 8601) with days of 24 hours and months of 30 days. */
bool compare_parse_interval(str_t text, int64_t *ret_us);
