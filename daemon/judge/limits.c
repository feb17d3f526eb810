#include "judge/limits.h"

#define MINUTE_US (60 * INT64_C(1000000))
#define DAY_US	  (24 * 60 * MINUTE_US)

/* Refusals within this time are of one burst, and narrow once. */
#define NARROWING_US 1000000

/* A server does not stop us for longer than this at its word. */
#define PAUSE_MAX_MS 60000

static struct rate rate_of(int64_t limit, int64_t period_us, int64_t now_us)
{
	return (struct rate){ limit, period_us, (double)limit, now_us };
}

void limits_init(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		 int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us)
{
	*limits = (struct limits){
		.max_in_flight = max_in_flight,
		.places = max_in_flight,
		.narrowed_us = INT64_MIN / 2,
		.paused_until_us = INT64_MIN,
		.requests = rate_of(requests_per_minute, MINUTE_US, now_us),
		.minute_tokens = rate_of(tokens_per_minute, MINUTE_US, now_us),
		.day_tokens = rate_of(tokens_per_day, DAY_US, now_us),
	};
}

static void refill(struct rate *rate, int64_t now_us)
{
	double limit = (double)rate->limit;
	rate->level += (double)(now_us - rate->at_us) * limit / (double)rate->period_us;
	if (rate->level > limit)
		rate->level = limit;
	rate->at_us = now_us;
}

/* A budget that was not limited starts full; one that was keeps what is missing from it. */
static void change_rate(struct rate *rate, int64_t limit, int64_t now_us)
{
	if (rate->limit != 0)
		refill(rate, now_us);
	double missing = rate->limit != 0 ? (double)rate->limit - rate->level : 0;
	rate->limit = limit;
	rate->level = (double)limit - missing;
	rate->at_us = now_us;
}

void limits_change(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		   int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us)
{
	bool adapted = limits->places < limits->max_in_flight;
	if (!adapted || limits->places > max_in_flight)
		limits->places = max_in_flight;
	limits->max_in_flight = max_in_flight;
	change_rate(&limits->requests, requests_per_minute, now_us);
	change_rate(&limits->minute_tokens, tokens_per_minute, now_us);
	change_rate(&limits->day_tokens, tokens_per_day, now_us);
}

static void spend(struct rate *rate, int64_t amount, int64_t now_us)
{
	if (rate->limit == 0)
		return;
	refill(rate, now_us);
	rate->level -= (double)amount;
}

/* When there is something left for one more, at least 1 unit. */
static int64_t rate_ready_us(struct rate *rate, int64_t now_us)
{
	if (rate->limit == 0)
		return now_us;
	refill(rate, now_us);
	if (rate->level >= 1)
		return now_us;
	return now_us + 1 + (int64_t)((1 - rate->level) * (double)rate->period_us / (double)rate->limit);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t limits_ready_us(struct limits *limits, unsigned in_flight, int64_t now_us)
{
	if (in_flight >= (unsigned)limits->places)
		return INT64_MAX;
	int64_t ready_us = later(now_us, limits->paused_until_us);
	ready_us = later(ready_us, rate_ready_us(&limits->requests, now_us));
	ready_us = later(ready_us, rate_ready_us(&limits->minute_tokens, now_us));
	return later(ready_us, rate_ready_us(&limits->day_tokens, now_us));
}

void limits_sent(struct limits *limits, int64_t now_us)
{
	spend(&limits->requests, 1, now_us);
}

void limits_answered(struct limits *limits, int64_t tokens, int64_t now_us)
{
	spend(&limits->minute_tokens, tokens, now_us);
	spend(&limits->day_tokens, tokens, now_us);
	limits->places += 1 / limits->places;
	if (limits->places > limits->max_in_flight)
		limits->places = limits->max_in_flight;
}

void limits_refused(struct limits *limits, int64_t retry_after_ms, int64_t now_us)
{
	int64_t pause_ms = retry_after_ms < PAUSE_MAX_MS ? retry_after_ms : PAUSE_MAX_MS;
	if (pause_ms > 0)
		limits->paused_until_us = later(limits->paused_until_us, now_us + pause_ms * 1000);
	if (now_us - limits->narrowed_us < NARROWING_US)
		return;
	limits->narrowed_us = now_us;
	limits->places = limits->places > 2 ? limits->places / 2 : 1;
}
