/*
 * How much may be asked of the judge's server: places for requests in flight, requests a minute, tokens a
 * minute and tokens a day.
 *
 * Places adapt: a refusal for too many requests halves them; successes give them back along a cubic curve
 * that is flat where the last refusal came, so that most of the time is spent close below it (after Ha, Rhee,
 * Xu: CUBIC, 2008). A server that refuses a call beside far fewer than it had at once minds their rate: then
 * a pace is learnt (judge/pace.h) and the places are left alone. One that refuses a share whatever we do
 * would leave us one place for ever: where asking less has cost answers and spared no refusals, and those are
 * the fewer, they are put up with for a while. Within every span of a minute or a day at most the limit is
 * asked for; requests are besides paced, with bursts of a sixth of the limit. Tokens are known only when they
 * are spent: what is in flight, and the one that is to start, are counted as the mean of what was (of the
 * last few), or what is expected while nothing was, so that a budget is overdrawn only by what calls take
 * beyond that. One that alone exceeds a budget starts when nothing of it is spent or in flight.
 * Pure: the time is handed in. Not thread-safe.
 */
#pragma once

#include "judge/pace.h"

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_SLOTS 61 /* of a sixtieth of the span each: one is never whole */

/* What was spent within the last span, by time. */
struct window {
	int64_t limit;		     /* 0: none */
	int64_t slot_us;	     /* width */
	int64_t newest;		     /* number of the slot that is being filled */
	int64_t spent[LIMITS_SLOTS]; /* by number modulo their count */
	int64_t total;
};

/* The most within a while: since the last change of spans, and in the span before. */
struct window_most {
	unsigned now, before;
	int64_t since_us;
};

struct limits {
	unsigned max_in_flight;
	double slots;	/* 1..max_in_flight */
	double ceiling; /* the places at the last refusal */
	int64_t narrowed_us;
	unsigned used;			 /* the most in flight since then */
	struct window answered, refused; /* of late */
	struct window_most held;	 /* calls that the server had at once */
	int64_t rated_until_us;		 /* it is rather the rate that it minds */
	int64_t answered_before;	 /* likewise, when the places were narrowed */
	int64_t patient_until_us;	 /* refusals do not narrow */
	int64_t paused_until_us;	 /* as the server asked */
	double mean_tokens;		 /* of a request; 0: none is known */
	double mean_held_us;		 /* that requests of late had their places; 0: none is known */
	double expected_tokens;		 /* until it is */
	struct pace pace;
	struct pace_learned learned;
	struct window requests, minute_tokens, day_tokens;
};

/* Nothing is spent yet; a limit of 0 is none. */
void limits_init(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		 int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us);

/* New limits; what was spent stays spent, and places are as they were where the new number has room. */
void limits_change(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		   int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us);

/* When a request may start, as far as is known: now_us or before (at once), later, or INT64_MAX (when one in
 * flight ends). */
int64_t limits_ready_us(struct limits *limits, unsigned in_flight, int64_t now_us);

/* The same of a request that has its place already and is to be sent once more, beside so many others. */
int64_t limits_retry_us(struct limits *limits, unsigned others, int64_t now_us);

/* Before this none can start, whatever becomes of those in flight: now_us, or later. What is taken for
 * granted is that the next one takes as much as the mean. */
int64_t limits_earliest_us(struct limits *limits, int64_t now_us);

/* The same by the tokens of the day alone. */
int64_t limits_day_us(struct limits *limits, int64_t now_us);

/* What a request is expected to take, for as long as none was answered. */
void limits_expect(struct limits *limits, int64_t tokens);

/* A request is sent. */
void limits_sent(struct limits *limits, int64_t now_us);

/* It was answered beside `others` that the server still has, and cost so many tokens. */
void limits_answered(struct limits *limits, unsigned others, int64_t tokens, int64_t now_us);

/* It was refused as one too many. */
struct limits_refusal {
	int64_t sent_us;
	unsigned others;	/* that the server still has */
	int64_t retry_after_ms; /* as the server asked, or −1 */
};
void limits_refused(struct limits *limits, const struct limits_refusal *refusal, int64_t now_us);

/* A request left its place, which it had for so long, retries and all. */
void limits_left(struct limits *limits, int64_t held_us);

/* How many requests may wait for a place, so that each may get one within that time: twice as many as by how
 * long places are held of late, since who is turned away gets none at all, and no more than the pace lets go.
 * As many as there are places in any case, which keeps these busy; none where there is no time to wait.
 * `age_us`: how long the half of those in flight have had theirs; a server that has become slow shows there
 * first. */
int64_t limits_room(const struct limits *limits, int64_t age_us, int64_t within_us);

/* What was spent of the day's tokens; not more than a sixtieth of a day late. */
int64_t limits_day_spent(struct limits *limits, int64_t now_us);

/* The same by slots, the newest slot first; and back, `elapsed_us` later, with the mean of a
 * request as it was then (0: not known). */
void limits_export_day(struct limits *limits, int64_t now_us, int64_t ret_spent[LIMITS_SLOTS]);
void limits_import_day(struct limits *limits, int64_t now_us, const int64_t spent[LIMITS_SLOTS],
		       int64_t elapsed_us, double mean_tokens);
