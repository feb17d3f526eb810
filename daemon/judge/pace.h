/*
 * How fast requests may follow each other: a pace that is given, and one that is learnt from what the server
 * refuses.
 *
 * A server that gives us so many requests a second refuses the rest. What it took between two refusals tells
 * what it gives, however much of it can be saved up. From there on it is tried whether there is more, along a
 * cubic curve: a little less at first, the same after PACE_FLAT_US, then faster and faster, until the next
 * refusal or until the pace is no limit any more. Where asking less has cost answers and the server refuses
 * the same share, the pace is not what it minds, and the one of before is taken back. Pure; not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACE_FLAT_US 2000000

struct pace {
	double per_us; /* requests; 0: no limit */
	double burst;  /* that may go out together */
	double level;
	int64_t at_us;
};

struct pace_learned {
	struct pace pace;
	double base_per_us;	/* as it was learnt last */
	int64_t since_us;	/* when that was; or of the first refusal */
	int64_t asked, refused; /* since then */
	bool vain;		/* asking less was, the last time */
	double taken_per_us;
	double share; /* refused of what was asked, when it was learnt; 0: it was not */
};

/* A new limit; what was saved up stays, as far as there is room. */
void pace_set(struct pace *pace, double per_us, double burst, int64_t now_us);

/* When the next request may go: now_us, or later. */
int64_t pace_ready_us(struct pace *pace, int64_t now_us);

/* One goes. */
void pace_take(struct pace *pace, int64_t now_us);

/* The same of a learned one. */
int64_t pace_learned_ready_us(struct pace_learned *learned, int64_t now_us);
void pace_learned_take(struct pace_learned *learned, int64_t now_us);

/* A request that went at that time was refused as one too many. Returns false where the pace was not what the
 * server minded. */
bool pace_learned_refused(struct pace_learned *learned, int64_t sent_us, int64_t now_us);

/* No limit, until more is learnt. */
void pace_learned_give_up(struct pace_learned *learned);
