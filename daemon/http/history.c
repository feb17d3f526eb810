#include "http/history.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  INT64_C(3600000)

/* The span that the moment lies in, emptied where it was an earlier one. */
static struct history_span *span_at(struct history_span *ring, size_t count, int64_t length_ms,
				    int64_t now_ms)
{
	int64_t start_ms = now_ms - now_ms % length_ms;
	struct history_span *span = &ring[(size_t)(start_ms / length_ms) % count];
	if (span->start_ms != start_ms)
		*span = (struct history_span){ .start_ms = start_ms };
	return span;
}

static uint64_t since(uint64_t total, uint64_t last)
{
	return total >= last ? total - last : total;
}

static void add(struct history_span *span, const struct history_totals *more, int64_t oldest_age_ms)
{
	for (size_t i = 0; i < EVENT_METRICS_LEVELS; i++)
		span->counts.levels[i] += more->levels[i];
	for (size_t i = 0; i < EVENT_METRICS_ACTIONS; i++)
		span->counts.actions[i] += more->actions[i];
	span->counts.dead += more->dead;
	span->counts.advisories += more->advisories;
	if (oldest_age_ms > span->oldest_age_ms)
		span->oldest_age_ms = oldest_age_ms;
}

void history_note(struct history *history, int64_t now_ms, const struct history_totals *totals,
		  int64_t oldest_age_ms)
{
	const struct history_totals *last = &history->last;
	struct history_totals more;
	if (now_ms < 0)
		return;
	for (size_t i = 0; i < EVENT_METRICS_LEVELS; i++)
		more.levels[i] = since(totals->levels[i], last->levels[i]);
	for (size_t i = 0; i < EVENT_METRICS_ACTIONS; i++)
		more.actions[i] = since(totals->actions[i], last->actions[i]);
	more.dead = since(totals->dead, last->dead);
	more.advisories = since(totals->advisories, last->advisories);
	add(span_at(history->minutes, HISTORY_MINUTES, MINUTE_MS, now_ms), &more, oldest_age_ms);
	add(span_at(history->hours, HISTORY_HOURS, HOUR_MS, now_ms), &more, oldest_age_ms);
	history->last = *totals;
}

static void read_spans(const struct history_span *ring, size_t count, int64_t length_ms, int64_t now_ms,
		       struct history_span *ret_spans)
{
	int64_t last_ms = now_ms - now_ms % length_ms;
	for (size_t i = 0; i < count; i++) {
		int64_t start_ms = last_ms - (int64_t)(count - 1 - i) * length_ms;
		const struct history_span *span =
			start_ms >= 0 ? &ring[(size_t)(start_ms / length_ms) % count] : NULL;
		ret_spans[i] = span && span->start_ms == start_ms
				       ? *span
				       : (struct history_span){ .start_ms = start_ms };
	}
}

void history_minutes(const struct history *history, int64_t now_ms,
		     struct history_span ret_spans[HISTORY_MINUTES])
{
	read_spans(history->minutes, HISTORY_MINUTES, MINUTE_MS, now_ms, ret_spans);
}

void history_hours(const struct history *history, int64_t now_ms,
		   struct history_span ret_spans[HISTORY_HOURS])
{
	read_spans(history->hours, HISTORY_HOURS, HOUR_MS, now_ms, ret_spans);
}
