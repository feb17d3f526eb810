/* Times as people write them. Pure. */
#pragma once

#include "common/str.h"

/* Reads ISO 8601: YYYY-MM-DD, T or a space, HH:MM[:SS[.fraction]], then Z, ±HH:MM, ±HHMM, ±HH or nothing
 * (UTC). A fraction beyond milliseconds is cut off. False when it is not such a time. */
bool timestamp_parse(str_t text, int64_t *ret_ms);
