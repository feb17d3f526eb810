/*
 * Which advisory an event raises: at most one, with all its kinds, the gravest first. It can be acted on by
 * itself: the disposition with its reasons, question and SQL, the factors, and where the scored record lies.
 * Called by the worker that encodes its outputs, which owns the event then.
 */
#pragma once

#include "avro/advisory.h"
#include "event/event.h"

/* The advisory of a finalised event, or NULL: there is nothing to say, or floods are tamed (rate_limiter.h,
 * by the gravest kind). Its texts live in the event's arena. `*ret_kinds`: bits of its kinds, 1 << enum
 * advisory_kind. */
struct advisory *advisories_of(struct event *event, unsigned *ret_kinds);
