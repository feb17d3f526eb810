/*
 * Limits the rate of advisories: at most so many a minute per kind and segment; the ones held back are
 * counted and the next one that passes says how many they were. Bounded; any thread.
 */
#pragma once

#include "common/str.h"

struct rate_limiter;

/* The caller owns the limiter; freeing NULL is fine. */
struct rate_limiter *rate_limiter_new(void);
void rate_limiter_free(struct rate_limiter *limiter);

/* Whether an advisory of `kind` and `segment` may pass at `now_us`; `*ret_suppressed`: how many were held
 * back before. */
bool rate_limiter_pass(struct rate_limiter *limiter, int kind, str_t segment, unsigned max_a_minute,
		       int64_t now_us, int64_t *ret_suppressed);
