#include "judge/pace.h"

/* A span has to be so long, and the server to have taken so many in it, before it teaches anything, unless it
 * is very long. */
#define SPAN_MIN_US    750000
#define SPAN_TAKEN_MIN 8
#define SPAN_LONG_US   10000000

/* Fewer refusals than that are no reason to limit ourselves. */
#define SHARE_MIN 0.05

/* It was in vain where so much of the share of refusals is left, and only so much of what was taken. */
#define VAIN_SHARE 0.7
#define VAIN_TAKEN 0.9

/* Of the cubic curve: PACE_FLAT_US + GROWTH_US after it was learnt the pace has doubled. */
#define GROWTH_US      5e6
#define VAIN_GROWTH_US 3e6 /* the same after asking less was in vain, at once */
#define GROWTH_MAX     4.0 /* from there on it is no limit */

#define PACE_SHARE_MAX 1.25 /* of a pace that counts, of what was taken */
#define PACE_WEIGHT    0.75
#define PER_US_MIN     (0.1 / 1e6)
#define LEARNT_BURST   2.0

/* ---- given ---- */

static void refill(struct pace *pace, int64_t now_us)
{
	pace->level += (double)(now_us - pace->at_us) * pace->per_us;
	if (pace->level > pace->burst)
		pace->level = pace->burst;
	pace->at_us = now_us;
}

void pace_set(struct pace *pace, double per_us, double burst, int64_t now_us)
{
	bool limited = pace->per_us > 0;
	refill(pace, now_us);
	pace->per_us = per_us;
	pace->burst = burst;
	if (!limited || pace->level > burst)
		pace->level = burst;
}

int64_t pace_ready_us(struct pace *pace, int64_t now_us)
{
	if (pace->per_us <= 0)
		return now_us;
	refill(pace, now_us);
	if (pace->level >= 1)
		return now_us;
	return now_us + 1 + (int64_t)((1 - pace->level) / pace->per_us);
}

void pace_take(struct pace *pace, int64_t now_us)
{
	refill(pace, now_us);
	pace->level -= 1;
}

/* ---- learned ---- */

static void grow(struct pace_learned *learned, int64_t now_us)
{
	double flat_us = learned->vain ? 0 : PACE_FLAT_US;
	double time = ((double)(now_us - learned->since_us) - flat_us) /
		      (learned->vain ? VAIN_GROWTH_US : GROWTH_US);
	double growth = 1 + time * time * time;
	if (learned->base_per_us <= 0)
		return;
	if (growth > GROWTH_MAX)
		pace_learned_give_up(learned);
	else
		pace_set(&learned->pace, learned->base_per_us * growth, LEARNT_BURST, now_us);
}

int64_t pace_learned_ready_us(struct pace_learned *learned, int64_t now_us)
{
	grow(learned, now_us);
	return pace_ready_us(&learned->pace, now_us);
}

void pace_learned_take(struct pace_learned *learned, int64_t now_us)
{
	learned->asked++;
	if (learned->pace.per_us > 0)
		pace_take(&learned->pace, now_us);
}

void pace_learned_give_up(struct pace_learned *learned)
{
	*learned = (struct pace_learned){ .share = 0 };
}

static void begin_span(struct pace_learned *learned, int64_t now_us)
{
	learned->since_us = now_us;
	learned->asked = learned->refused = 0;
}

/* What the server has made of the requests of a span, but for the latest, which it has not refused yet. */
struct lesson {
	double per_us; /* that were taken */
	double share;  /* refused */
	bool ripe;
};

static struct lesson draw_lesson(const struct pace_learned *learned, int64_t sent_us, int64_t now_us)
{
	double span_us = (double)(now_us - learned->since_us),
	       known_us = (double)(sent_us - learned->since_us);
	double asked = (double)learned->asked * known_us / span_us, taken = asked - (double)learned->refused;
	bool enough = known_us >= SPAN_LONG_US || (known_us >= SPAN_MIN_US && taken >= SPAN_TAKEN_MIN);
	if (span_us <= 0 || taken <= 0)
		return (struct lesson){ .share = 1, .ripe = span_us > 0 && enough };
	return (struct lesson){ taken / known_us, 1 - taken / asked, enough };
}

/* What the server gives: at least what it has taken. Where it let us save little it has given more, and the
 * first refusals come at the pace that is too fast; many come where that was too fast before. */
static double given(const struct lesson *lesson, double pace_per_us)
{
	double most = lesson->per_us * PACE_SHARE_MAX;
	if (pace_per_us <= 0 || lesson->share >= SHARE_MIN)
		return lesson->per_us;
	if (pace_per_us > most)
		pace_per_us = most;
	return lesson->per_us + PACE_WEIGHT * (pace_per_us - lesson->per_us);
}

bool pace_learned_refused(struct pace_learned *learned, int64_t sent_us, int64_t now_us)
{
	if (learned->since_us == 0) { /* from here on the server has nothing saved up */
		begin_span(learned, now_us);
		return true;
	}
	if (sent_us < learned->since_us)
		return true;
	learned->refused++;
	struct lesson lesson = draw_lesson(learned, sent_us, now_us);
	if (!lesson.ripe)
		return true;
	bool known = learned->base_per_us > 0;
	bool vain = learned->share >= SHARE_MIN && lesson.share >= VAIN_SHARE * learned->share &&
		    lesson.share < 0.5 && lesson.per_us < VAIN_TAKEN * learned->taken_per_us;
	double base_per_us =
		vain ? learned->base_per_us / (1 - lesson.share) : given(&lesson, learned->pace.per_us);
	begin_span(learned, now_us);
	if (!known && lesson.share < SHARE_MIN)
		return true;
	learned->vain = vain;
	learned->share = lesson.share;
	learned->taken_per_us = lesson.per_us;
	learned->base_per_us = base_per_us > PER_US_MIN ? base_per_us : PER_US_MIN;
	grow(learned, now_us);
	return !vain;
}
