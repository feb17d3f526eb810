/* Which advisories an event raises. Called by the worker that encodes its outputs, which owns the event then.
 */
#pragma once

#include "avro/advisory.h"
#include "event/event.h"

enum { ADVISORIES_MAX = ADVISORY_KIND_COUNT_ };

/* Writes the advisories of a finalised event into `ret_advisories` and returns how many; floods are tamed
 * (rate_limiter.h). Their texts live in the event's arena. */
size_t advisories_of(struct event *event, struct advisory ret_advisories[ADVISORIES_MAX]);
