#include "judge/limits.h"

#include <string.h>

#define MINUTE_US (60 * INT64_C(1000000))
#define DAY_US	  (24 * 60 * MINUTE_US)

/* Refusals within this time are of one burst, and narrow once. */
#define NARROWING_US 750000

/* What ended within this time tells how the server fares with us. */
#define LATELY_US (2 * NARROWING_US)

/* How long refusals are put up with that narrowing does not spare, and the share of the answers of before
 * that is left by then if they have nothing to do with our number. */
#define PATIENCE_US   10000000
#define FEWER_PERCENT 85

/* After this time without a refusal there are as many slots as at the last one. */
#define RECOVERY_US 2000000.0

/* Where a learned pace holds us back: so many slots are enough, of those that were used. */
#define SPARE_SLOTS 1.25

/* A server that refuses a call beside fewer than this share of what it had at once within so long (twice)
 * does not mind their number; that is believed for a while. */
#define RATED_SHARE 0.8
#define HELD_US	    10000000
#define RATED_US    300000000

/* A server does not stop us for longer than this at its word. */
#define PAUSE_MAX_MS 60000

/* So much faster than of late places may come free. */
#define DOUBT 2

/* As good as any number. */
#define ROOM_MAX 1e9

/* Requests that may always go out together. */
#define BURST_MIN 10

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- windows ---- */

/* Of the slot of that moment. High enough that there are numbers for a whole span before it. */
static int64_t slot_number(const struct window *window, int64_t now_us)
{
	return now_us / window->slot_us + LIMITS_SLOTS;
}

static void window_init(struct window *window, int64_t limit, int64_t span_us, int64_t now_us)
{
	*window = (struct window){ .limit = limit, .slot_us = span_us / (LIMITS_SLOTS - 1) };
	window->newest = slot_number(window, now_us);
}

static int64_t *slot(struct window *window, int64_t number)
{
	return &window->spent[number % LIMITS_SLOTS];
}

/* Forgets what is older than the span. */
static void window_advance(struct window *window, int64_t now_us)
{
	int64_t newest = slot_number(window, now_us);
	int64_t steps = least(newest - window->newest, LIMITS_SLOTS);
	for (int64_t i = 0; i < steps; i++) {
		window->total -= *slot(window, newest - i);
		*slot(window, newest - i) = 0;
	}
	window->newest = later(newest, window->newest);
}

static void window_spend(struct window *window, int64_t amount, int64_t now_us)
{
	window_advance(window, now_us);
	*slot(window, window->newest) += amount;
	window->total += amount;
}

/* When so much more can be spent beside what others are about to spend; one that alone exceeds the limit goes
 * when nothing else is spent, nor about to be. */
static int64_t window_ready_us(struct window *window, int64_t others, int64_t amount, int64_t now_us)
{
	if (window->limit == 0)
		return now_us;
	window_advance(window, now_us);
	int64_t excess = window->total + others + least(amount, window->limit) - window->limit;
	if (excess <= 0)
		return now_us;
	for (int64_t number = window->newest - LIMITS_SLOTS + 1;; number++) {
		excess -= *slot(window, number);
		if (excess <= 0 || number == window->newest) /* when its number is a span away */
			return number * window->slot_us;
	}
}

/* ---- all together ---- */

static void set_pace(struct limits *limits, int64_t requests_per_minute, int64_t now_us)
{
	int64_t burst = least(requests_per_minute, later(BURST_MIN, requests_per_minute / 6));
	pace_set(&limits->pace, (double)requests_per_minute / (double)MINUTE_US, (double)burst, now_us);
}

void limits_init(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		 int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us)
{
	*limits = (struct limits){
		.max_in_flight = max_in_flight,
		.slots = max_in_flight,
		.ceiling = max_in_flight,
		.narrowed_us = INT64_MIN / 2,
		.patient_until_us = INT64_MIN,
		.rated_until_us = INT64_MIN,
		.paused_until_us = INT64_MIN,
	};
	set_pace(limits, requests_per_minute, now_us);
	window_init(&limits->answered, 0, LATELY_US, now_us);
	window_init(&limits->refused, 0, LATELY_US, now_us);
	window_init(&limits->requests, requests_per_minute, MINUTE_US, now_us);
	window_init(&limits->minute_tokens, tokens_per_minute, MINUTE_US, now_us);
	window_init(&limits->day_tokens, tokens_per_day, DAY_US, now_us);
}

void limits_change(struct limits *limits, unsigned max_in_flight, int64_t requests_per_minute,
		   int64_t tokens_per_minute, int64_t tokens_per_day, int64_t now_us)
{
	bool adapted = limits->slots < limits->max_in_flight;
	if (!adapted || limits->slots > max_in_flight)
		limits->slots = max_in_flight;
	limits->max_in_flight = max_in_flight;
	set_pace(limits, requests_per_minute, now_us);
	limits->requests.limit = requests_per_minute;
	limits->minute_tokens.limit = tokens_per_minute;
	limits->day_tokens.limit = tokens_per_day;
}

void limits_expect(struct limits *limits, int64_t tokens)
{
	limits->expected_tokens = (double)tokens;
}

/* When a window of tokens has room for one more beside so many others that have not told yet what they took.
 */
static int64_t tokens_ready_us(const struct limits *limits, struct window *window, unsigned others,
			       int64_t now_us)
{
	double each = limits->mean_tokens > 0 ? limits->mean_tokens : limits->expected_tokens;
	return window_ready_us(window, (int64_t)(each * others), later((int64_t)each, 1), now_us);
}

/* What was learnt of the server's pace left aside: that may be taken back. */
static int64_t set_ready_us(struct limits *limits, unsigned others, int64_t now_us)
{
	int64_t ready_us = later(now_us, limits->paused_until_us);
	ready_us = later(ready_us, pace_ready_us(&limits->pace, now_us));
	ready_us = later(ready_us, window_ready_us(&limits->requests, 0, 1, now_us));
	ready_us = later(ready_us, tokens_ready_us(limits, &limits->minute_tokens, others, now_us));
	return later(ready_us, tokens_ready_us(limits, &limits->day_tokens, others, now_us));
}

int64_t limits_retry_us(struct limits *limits, unsigned others, int64_t now_us)
{
	return later(set_ready_us(limits, others, now_us), pace_learned_ready_us(&limits->learned, now_us));
}

int64_t limits_earliest_us(struct limits *limits, int64_t now_us)
{
	return set_ready_us(limits, 0, now_us);
}

int64_t limits_day_us(struct limits *limits, int64_t now_us)
{
	return tokens_ready_us(limits, &limits->day_tokens, 0, now_us);
}

int64_t limits_ready_us(struct limits *limits, unsigned in_flight, int64_t now_us)
{
	if (in_flight > limits->used)
		limits->used = in_flight;
	return in_flight >= (unsigned)limits->slots ? INT64_MAX : limits_retry_us(limits, in_flight, now_us);
}

void limits_sent(struct limits *limits, int64_t now_us)
{
	window_spend(&limits->requests, 1, now_us);
	pace_take(&limits->pace, now_us);
	pace_learned_take(&limits->learned, now_us);
}

static void widen(struct limits *limits, int64_t now_us)
{
	double time = (double)(now_us - limits->narrowed_us) / RECOVERY_US - 1;
	double slots = limits->ceiling * (1 + time * time * time / 2);
	if (limits->learned.pace.per_us > 0 && slots > limits->used * SPARE_SLOTS + 1)
		slots = limits->used * SPARE_SLOTS + 1; /* it is not slots that hold us back */
	if (slots > limits->max_in_flight)
		slots = limits->max_in_flight;
	if (slots > limits->slots)
		limits->slots = slots;
}

static void note_held(struct window_most *held, unsigned calls, int64_t now_us)
{
	if (now_us - held->since_us >= HELD_US)
		*held = (struct window_most){ .before = held->now, .since_us = now_us };
	if (calls > held->now)
		held->now = calls;
}

void limits_answered(struct limits *limits, unsigned others, int64_t tokens, int64_t now_us)
{
	note_held(&limits->held, others + 1, now_us);
	window_spend(&limits->answered, 1, now_us);
	window_spend(&limits->minute_tokens, tokens, now_us);
	window_spend(&limits->day_tokens, tokens, now_us);
	if (tokens > 0)
		limits->mean_tokens +=
			((double)tokens - limits->mean_tokens) / (limits->mean_tokens > 0 ? 8 : 1);
	widen(limits, now_us);
}

void limits_left(struct limits *limits, int64_t held_us)
{
	limits->mean_held_us +=
		((double)held_us - limits->mean_held_us) / (limits->mean_held_us > 0 ? 32 : 1);
}

static double paced_room(const struct pace *pace, double room, int64_t within_us)
{
	double paced = pace->burst + pace->per_us * (double)within_us;
	return pace->per_us > 0 && paced < room ? paced : room;
}

int64_t limits_room(const struct limits *limits, int64_t age_us, int64_t within_us)
{
	double held_us = (double)age_us > limits->mean_held_us ? (double)age_us : limits->mean_held_us;
	double room = ROOM_MAX, turns = DOUBT * limits->slots * (double)within_us;
	if (held_us * ROOM_MAX > turns)
		room = turns / held_us;
	room = paced_room(&limits->pace, room, within_us);
	room = paced_room(&limits->learned.pace, room, within_us);
	return within_us == 0 ? 0 : (int64_t)(room > limits->slots ? room : limits->slots);
}

/* Whether most of what was asked of late was answered. */
static bool is_mostly_answered(const struct limits *limits)
{
	return limits->refused.total <= limits->answered.total;
}

/* Whether the last narrowing has cost answers and spared no refusals: a server that we had asked too much
 * would answer as much, or refuse less. */
static bool was_futile(const struct limits *limits, int64_t now_us)
{
	return now_us - limits->narrowed_us < 2 * NARROWING_US && limits->refused.total > 1 &&
	       is_mostly_answered(limits) &&
	       100 * limits->answered.total < FEWER_PERCENT * limits->answered_before;
}

static void narrow(struct limits *limits, int64_t now_us)
{
	limits->narrowed_us = now_us;
	limits->answered_before = limits->answered.total;
	limits->ceiling = limits->slots;
	limits->used = 0;
	limits->slots = limits->slots > 2 ? limits->slots / 2 : 1;
}

/* Refusals that we cannot spare ourselves are put up with for a while. */
static void be_patient(struct limits *limits, int64_t now_us)
{
	limits->patient_until_us = now_us + PATIENCE_US;
	if (limits->slots < limits->ceiling)
		limits->slots = limits->ceiling;
}

/* Where it refuses a call beside far fewer than it had at once, not their number is what it minds. */
static void note_evidence(struct limits *limits, unsigned others, int64_t now_us)
{
	unsigned held = limits->held.now > limits->held.before ? limits->held.now : limits->held.before;
	if (others + 3 < held * RATED_SHARE)
		limits->rated_until_us = now_us + RATED_US;
	if (now_us >= limits->rated_until_us)
		pace_learned_give_up(&limits->learned);
}

/* Places that are too many, as far as is known. */
static void narrow_or_not(struct limits *limits, bool paused, int64_t now_us)
{
	if (now_us - limits->narrowed_us < NARROWING_US)
		return;
	if (limits->learned.base_per_us > 0 && is_mostly_answered(limits))
		return;
	if (!paused && was_futile(limits, now_us))
		be_patient(limits, now_us);
	else
		narrow(limits, now_us);
}

void limits_refused(struct limits *limits, const struct limits_refusal *refusal, int64_t now_us)
{
	int64_t pause_ms = least(refusal->retry_after_ms, PAUSE_MAX_MS);
	bool paused = pause_ms > 0;
	if (paused)
		limits->paused_until_us = later(limits->paused_until_us, now_us + pause_ms * 1000);
	window_spend(&limits->refused, 1, now_us);
	window_advance(&limits->answered, now_us);
	if (!paused && now_us < limits->patient_until_us && is_mostly_answered(limits))
		return;
	limits->patient_until_us = least(limits->patient_until_us, now_us);
	note_evidence(limits, refusal->others, now_us);
	if (now_us < limits->rated_until_us &&
	    !pace_learned_refused(&limits->learned, refusal->sent_us, now_us) && !paused)
		be_patient(limits, now_us);
	else
		narrow_or_not(limits, paused, now_us);
}

int64_t limits_day_spent(struct limits *limits, int64_t now_us)
{
	window_advance(&limits->day_tokens, now_us);
	return limits->day_tokens.total;
}

void limits_export_day(struct limits *limits, int64_t now_us, int64_t ret_spent[LIMITS_SLOTS])
{
	struct window *window = &limits->day_tokens;
	window_advance(window, now_us);
	for (int64_t i = 0; i < LIMITS_SLOTS; i++)
		ret_spent[i] = *slot(window, window->newest - i);
}

void limits_import_day(struct limits *limits, int64_t now_us, const int64_t spent[LIMITS_SLOTS],
		       int64_t elapsed_us, double mean_tokens)
{
	struct window *window = &limits->day_tokens;
	limits->mean_tokens = mean_tokens;
	window_init(window, window->limit, DAY_US, now_us);
	int64_t steps = elapsed_us <= 0 ? 0 : elapsed_us / window->slot_us;
	for (int64_t i = 0; i + steps < LIMITS_SLOTS; i++) {
		*slot(window, window->newest - i - steps) = spent[i];
		window->total += spent[i];
	}
}
