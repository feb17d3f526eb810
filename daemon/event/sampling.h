/* Which events the judge sees. Pure; any thread. */
#pragma once

#include "common/str.h"

/* Whether an event is in a sample of `rate` (0..1): by a stable hash of its id, so that every instance and
 * every replay decides alike. */
bool sampling_includes(str_t event_id, double rate);
