/*
 * How much may be asked of the judge's server: places for requests in flight, requests a minute, tokens a
 * minute and tokens a day. The number of places adapts: a refusal for too many requests halves it, every
 * success gives a little back (additive increase, multiplicative decrease: Chiu and Jain, 1989). Tokens are
 * known only when they are spent: a budget may be overdrawn by what is in flight, and is paid back before the
 * next request. Budgets refill evenly and start full with the process. Pure: the time is handed in. Not
 * thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
	int64_t limit; /* per period; 0: none */
	int64_t period_us;
	double level; /* what is left; negative when overdrawn */
	int64_t at_us;
};

struct limits {
	unsigned max_in_flight;
	double places; /* 1..max_in_flight */
	int64_t narrowed_us;
	int64_t paused_until_us; /* as the server asked */
	struct rate requests, minute_tokens, day_tokens;
};

/* Full budgets; a limit of 0 is none. */
void limits_init(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		 int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us);

/* New limits; what was spent stays spent, and places are as they were where the new number has room. */
void limits_change(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		   int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us);

/* When a request may start, as far as is known: now_us or before (at once), later, or INT64_MAX (when one in
 * flight ends). */
int64_t limits_ready_us(struct limits *limits, unsigned in_flight, int64_t now_us);

/* A request is sent. */
void limits_sent(struct limits *limits, int64_t now_us);

/* It was answered, and cost so many tokens. */
void limits_answered(struct limits *limits, int64_t tokens, int64_t now_us);

/* It was refused as one too many; `retry_after_ms` as the server asked, or −1. */
void limits_refused(struct limits *limits, int64_t retry_after_ms, int64_t now_us);
