#include "event/incidents.h"

#include "avro/advisory.h"
#include "common/log.h"
#include "common/terminal.h"

#include <inttypes.h>
#include <pthread.h>

#define MINUTE_US ((int64_t)60 * 1000000)

/* Reasons that a line names, of those that there are; bytes of a detail. */
enum { REASONS = ERR_COUNT_, REASONS_REPORTED = 5, DETAIL_BYTES = 200, FIRST_SIZE = 512 };

_Static_assert(ADVISORY_KIND_COUNT_ <= (int)REASONS, "a reason for each kind");

struct reason {
	uint64_t count;
	char first[FIRST_SIZE]; /* where, and what was said of it */
};

struct series {
	bool reported;	     /* ever */
	int64_t reported_us; /* when it was last */
	uint64_t count;	     /* since */
	struct reason reasons[REASONS];
};

struct incidents {
	pthread_mutex_t mutex;
	_Atomic int64_t due_us; /* when the next line is, or INT64_MAX */
	struct series series[INCIDENT_COUNT_];
};

static const struct incident_text {
	enum log_level level;
	const char *one, *many, *hint;
} texts[INCIDENT_COUNT_] = {
	[INCIDENT_DEAD_LETTER] = { LOG_LEVEL_WARNING, "dead letter", "dead letters", "" },
	[INCIDENT_SHORTENED] = { LOG_LEVEL_WARNING, "record published without its event",
				 "records published without their events",
				 ", too large for its topic (max.message.bytes)" },
	[INCIDENT_ADVISORY_REFUSED] = { LOG_LEVEL_ERROR, "advisory refused by its topic",
					"advisories refused by their topic",
					" and left out; the scored records hold the same" },
	[INCIDENT_ADVISORY_HELD_BACK] = { LOG_LEVEL_NOTICE, "advisory held back", "advisories held back",
					  " (advisories.max_per_minute)" },
};

struct incidents *incidents_new(void)
{
	struct incidents *incidents = calloc(1, sizeof *incidents);
	if (!incidents)
		abort();
	pthread_mutex_init(&incidents->mutex, NULL);
	atomic_store(&incidents->due_us, INT64_MAX);
	return incidents;
}

void incidents_free(struct incidents *incidents)
{
	if (!incidents)
		return;
	pthread_mutex_destroy(&incidents->mutex);
	free(incidents);
}

/* ---- lines ---- */

/* What is foreign neither ends a line nor moves a terminal. */
static void append_foreign(struct buf *text, str_t foreign)
{
	size_t most = foreign.len < DETAIL_BYTES ? foreign.len : DETAIL_BYTES, cut = most;
	while (cut < foreign.len && cut > most - 3 && ((unsigned char)foreign.ptr[cut] & 0xc0) == 0x80)
		cut--; /* between two characters */
	terminal_append(text, (str_t){ foreign.ptr, cut });
	if (cut < foreign.len)
		buf_append_text(text, "…");
}

/* 1234567 as "1,234,567". */
static void append_count(struct buf *text, uint64_t count)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count);
	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_append_char(text, ',');
		buf_append_char(text, digits[i]);
	}
}

static const char *reason_name(enum incident incident, unsigned reason)
{
	if (incident == INCIDENT_DEAD_LETTER)
		return err_name((err_t)reason);
	return incident == INCIDENT_ADVISORY_HELD_BACK ? advisory_kind_name((enum advisory_kind)reason) : "";
}

static unsigned most_frequent(const struct series *series)
{
	unsigned found = 0;
	for (unsigned i = 1; i < REASONS; i++)
		if (series->reasons[i].count > series->reasons[found].count)
			found = i;
	return found;
}

/* Forgets them. */
static void append_reasons(struct buf *line, enum incident incident, struct series *series)
{
	for (unsigned listed = 0; listed < REASONS_REPORTED && series->count > 0; listed++) {
		unsigned reason = most_frequent(series);
		const char *name = reason_name(incident, reason);
		buf_append_text(line, listed ? ", " : ": ");
		if (*name) {
			append_count(line, series->reasons[reason].count);
			buf_printf(line, " %s ", name);
		}
		buf_printf(line, "(first: %s)", series->reasons[reason].first);
		series->count -= series->reasons[reason].count;
		series->reasons[reason].count = 0;
	}
	if (series->count > 0) {
		buf_append_text(line, ", ");
		append_count(line, series->count);
		buf_append_text(line, " for other reasons");
	}
	for (unsigned i = 0; i < REASONS; i++)
		series->reasons[i].count = 0;
	series->count = 0;
}

static void make_line(struct buf *line, enum incident incident, struct series *series, int64_t now_us)
{
	const struct incident_text *text = &texts[incident];
	append_count(line, series->count);
	buf_printf(line, " %s", series->count == 1 ? text->one : text->many);
	if (series->reported)
		buf_printf(line, " in the last %" PRId64 " s",
			   (now_us - series->reported_us + 999999) / 1000000);
	buf_append_text(line, text->hint);
	append_reasons(line, incident, series);
	series->reported = true;
	series->reported_us = now_us;
}

/* ---- counting ---- */

static int64_t due_of(const struct series *series)
{
	if (series->count == 0)
		return INT64_MAX;
	return series->reported ? series->reported_us + MINUTE_US : INT64_MIN;
}

void incidents_note(struct incidents *incidents, enum incident incident, unsigned reason,
		    const struct event_origin *origin, str_t detail, int64_t now_us)
{
	if (!str_present(origin->topic))
		return;
	struct series *series = &incidents->series[incident];
	struct reason *counted = &series->reasons[reason];
	pthread_mutex_lock(&incidents->mutex);
	if (counted->count++ == 0) {
		_cleanup_(buf_free) struct buf first = BUF_INIT;
		buf_printf(&first, STR_FMT "/%" PRId32 "@%" PRId64, STR_ARG(origin->topic), origin->partition,
			   origin->offset);
		if (detail.len > 0)
			buf_append_text(&first, ": ");
		append_foreign(&first, detail);
		snprintf(counted->first, sizeof counted->first, "%s", first.data);
	}
	series->count++;
	if (due_of(series) < atomic_load(&incidents->due_us))
		atomic_store(&incidents->due_us, due_of(series));
	pthread_mutex_unlock(&incidents->mutex);
	incidents_log(incidents, now_us, false);
}

void incidents_log(struct incidents *incidents, int64_t now_us, bool all)
{
	struct buf lines[INCIDENT_COUNT_] = { 0 };
	int64_t due_us = INT64_MAX;
	if (!all && now_us < atomic_load(&incidents->due_us))
		return;
	pthread_mutex_lock(&incidents->mutex);
	for (unsigned i = 0; i < INCIDENT_COUNT_; i++) {
		struct series *series = &incidents->series[i];
		if (series->count > 0 && (all || now_us >= due_of(series)))
			make_line(&lines[i], (enum incident)i, series, now_us);
		if (due_of(series) < due_us)
			due_us = due_of(series);
	}
	atomic_store(&incidents->due_us, due_us);
	pthread_mutex_unlock(&incidents->mutex);
	for (unsigned i = 0; i < INCIDENT_COUNT_; i++) {
		if (lines[i].len)
			log_write(texts[i].level, NULL, "%s", lines[i].data);
		buf_free(&lines[i]);
	}
}
