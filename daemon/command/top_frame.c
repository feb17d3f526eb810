#include "command/top_frame.h"

#include "common/terminal.h"
#include "common/utf8.h"

#include <time.h>

#define RED    "\x1b[31m"
#define YELLOW "\x1b[33m"
#define GREEN  "\x1b[32m"
#define BOLD   "\x1b[1m"
#define PLAIN  "\x1b[0m"

enum { SPARKS = 60, CHANGES_TOLD = 4 };

/* What is written so far. */
struct top_lines {
	const struct top_size *size;
	struct buf line; /* that is being written */
	struct buf *out;
	unsigned lines;
};

/* ---- the document ---- */

/* What no count and no time reaches: values from there on are missing, so that sums of them do not overflow.
 */
#define INTEGER_END 1000000000000000LL

static json_int_t integer_of(const json_t *value)
{
	json_int_t found = json_is_integer(value) ? json_integer_value(value) : 0;
	return found > -INTEGER_END && found < INTEGER_END ? found : 0;
}

static json_int_t integer_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return integer_of(value);
}

static double number_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return json_is_number(value) ? json_number_value(value) : 0;
}

static bool flag_at(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static const char *text_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return json_is_string(value) ? json_string_value(value) : "";
}

/* ---- lines ---- */

/* The first code points that the columns have room for. */
static size_t fitting(const struct top_lines *frame)
{
	size_t at = 0;
	for (unsigned column = 0; column < frame->size->columns && at < frame->line.len; column++) {
		uint32_t point;
		size_t len = utf8_decode(frame->line.data + at, frame->line.len - at, &point);
		at += len ? len : 1;
	}
	return at;
}

/* Ends the line, in this colour. */
static void end_line(struct top_lines *frame, const char *colour)
{
	bool coloured = *colour && frame->size->colours;
	if (!frame->size->rows || frame->lines < frame->size->rows) {
		buf_append_text(frame->out, coloured ? colour : "");
		buf_append(frame->out, frame->line.data, frame->line.data ? fitting(frame) : 0);
		buf_append_text(frame->out, coloured ? PLAIN : "");
		buf_append_char(frame->out, '\n');
	}
	frame->lines++;
	buf_reset(&frame->line);
}

static void add_foreign(struct top_lines *frame, const char *text)
{
	terminal_append(&frame->line, str_from(text));
}

static void add_time(struct top_lines *frame, json_int_t at_ms, const char *format)
{
	time_t at = (time_t)(at_ms / 1000);
	struct tm tm;
	char text[48] = "?";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (gmtime_r(&at, &tm))
		strftime(text, sizeof text, format, &tm);
#pragma GCC diagnostic pop
	buf_append_text(&frame->line, text);
}

static void add_duration(struct top_lines *frame, json_int_t ms)
{
	json_int_t s = ms / 1000;
	if (s < 60)
		buf_printf(&frame->line, "%lld s", (long long)s);
	else if (s < 3600)
		buf_printf(&frame->line, "%lld min", (long long)(s / 60));
	else
		buf_printf(&frame->line, "%lld h %lld min", (long long)(s / 3600), (long long)(s / 60 % 60));
}

/* ---- parts ---- */

static void add_state(struct top_lines *frame, const json_t *status)
{
	bool stuck = flag_at(status, "stuck"), ready = flag_at(status, "ready");
	json_int_t now_ms = integer_at(status, "now_ms"), since_ms = integer_at(status, "since_ms");
	/* its build, behind the plus, leaves no room in narrow ones */
	const char *version = text_at(status, "version");
	buf_append_text(&frame->line, "assayd ");
	terminal_append(&frame->line, (str_t){ version, strcspn(version, "+") });
	buf_printf(&frame->line, "  %s since ", stuck ? "STUCK" : ready ? "ready" : "NOT READY");
	add_time(frame, since_ms, "%d %b %H:%M:%S UTC");
	buf_append_text(&frame->line, " (");
	add_duration(frame, now_ms - since_ms);
	buf_append_text(&frame->line, "), now ");
	add_time(frame, now_ms, "%H:%M:%S");
	end_line(frame, stuck ? RED : ready ? GREEN : YELLOW);
	for (const char *at = text_at(status, "reason"); *at; at += strspn(at, "\n")) {
		size_t len = strcspn(at, "\n");
		buf_append_text(&frame->line, "  ");
		terminal_append(&frame->line, (str_t){ at, len });
		end_line(frame, YELLOW);
		at += len;
	}
}

static void add_attention(struct top_lines *frame, const json_t *attention)
{
	const json_t *item;
	size_t i;
	json_array_foreach(attention, i, item)
	{
		const char *name = text_at(item, "name");
		buf_append_text(&frame->line, "! ");
		add_foreign(frame, text_at(item, "text"));
		buf_append_text(&frame->line, *name ? ": " : "");
		add_foreign(frame, name);
		end_line(frame, RED);
	}
}

static json_int_t sum_of(const json_t *counts)
{
	json_int_t sum = 0;
	const char *name;
	const json_t *value;
	json_object_foreach((json_t *)(uintptr_t)counts, name, value)
	{
		if (llabs(sum) < INTEGER_END)
			sum += integer_of(value);
	}
	return sum;
}

static void add_now(struct top_lines *frame, const json_t *status)
{
	const json_t *waiting = json_object_get(status, "waiting"),
		     *partitions = json_object_get(status, "partitions"),
		     *minutes = json_object_get(status, "minutes"), *hours = json_object_get(status, "hours");
	const json_t *minute = json_array_get(
			     minutes, json_array_size(minutes) > 1 ? json_array_size(minutes) - 2 : 0),
		     *hour = json_array_get(hours, json_array_size(hours) ? json_array_size(hours) - 1 : 0);
	buf_printf(&frame->line, "scored %lld in the last full minute, oldest waits ",
		   (long long)sum_of(json_object_get(minute, "actions")));
	add_duration(frame, integer_at(waiting, "oldest_age_ms"));
	buf_printf(&frame->line, ", in flight %lld of %lld, behind %lld",
		   (long long)integer_at(waiting, "in_flight"),
		   (long long)integer_at(waiting, "in_flight_limit"),
		   (long long)integer_at(waiting, "behind"));
	end_line(frame, "");
	buf_printf(&frame->line,
		   "partitions %lld assigned, %lld paused, %lld stopped; this hour %lld dead letters, %lld "
		   "advisories",
		   (long long)integer_at(partitions, "assigned"), (long long)integer_at(partitions, "paused"),
		   (long long)integer_at(partitions, "stopped"), (long long)integer_at(hour, "dead_letters"),
		   (long long)integer_at(hour, "advisories"));
	end_line(frame, integer_at(partitions, "stopped") ? RED : "");
}

static void add_counts(struct top_lines *frame, const char *title, const json_t *counts)
{
	const char *name;
	const json_t *value;
	buf_printf(&frame->line, "%-9s", title);
	json_object_foreach((json_t *)(uintptr_t)counts, name, value)
	{
		buf_append_text(&frame->line, " ");
		add_foreign(frame, name);
		buf_printf(&frame->line, " %lld", (long long)integer_of(value));
	}
	end_line(frame, "");
}

/* Scored events by the minute, of the last hour. */
static void add_sparks(struct top_lines *frame, const json_t *minutes)
{
	static const char *const sparks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t count = json_array_size(minutes), first = count > SPARKS ? count - SPARKS : 0;
	json_int_t most = 0;
	for (size_t i = first; i < count; i++) {
		json_int_t sum = sum_of(json_object_get(json_array_get(minutes, i), "actions"));
		most = sum > most ? sum : most;
	}
	buf_printf(&frame->line, "%-9s |", "by minute");
	for (size_t i = first; i < count; i++) {
		json_int_t sum = sum_of(json_object_get(json_array_get(minutes, i), "actions"));
		buf_append_text(&frame->line, sparks[most > 0 && sum > 0 ? 1 + sum * 7 / most : 0]);
	}
	buf_printf(&frame->line, "| at most %lld", (long long)most);
	end_line(frame, "");
}

/* As many digits as are worth something. */
static void add_ms(struct top_lines *frame, double ms)
{
	buf_printf(&frame->line, " %10.*f", ms < 0.1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
}

static void add_latencies(struct top_lines *frame, const json_t *latencies)
{
	const json_t *item;
	size_t i;
	buf_printf(&frame->line, "%-18s %10s %10s %10s %10s", "latency, ms", "events", "median", "95 %",
		   "99 %");
	end_line(frame, BOLD);
	json_array_foreach(latencies, i, item)
	{
		add_foreign(frame, text_at(item, "stage"));
		while (frame->line.len < 18)
			buf_append_char(&frame->line, ' ');
		buf_printf(&frame->line, " %10lld", (long long)integer_at(item, "count"));
		add_ms(frame, number_at(item, "p50_ms"));
		add_ms(frame, number_at(item, "p95_ms"));
		add_ms(frame, number_at(item, "p99_ms"));
		end_line(frame, "");
	}
}

static void add_targets(struct top_lines *frame, const json_t *targets)
{
	const json_t *item;
	size_t i;
	json_array_foreach(targets, i, item)
	{
		buf_append_text(&frame->line, "target ");
		add_foreign(frame, text_at(item, "name"));
		buf_printf(&frame->line, "  %s, %lld wait, %lld processes, %lld killed",
			   flag_at(item, "up") ? "up" : "AWAY", (long long)integer_at(item, "waiting"),
			   (long long)integer_at(item, "workers"), (long long)integer_at(item, "killed"));
		end_line(frame, flag_at(item, "up") ? "" : RED);
	}
}

static void add_judges(struct top_lines *frame, const json_t *judges)
{
	const json_t *item;
	size_t i;
	json_array_foreach(judges, i, item)
	{
		buf_append_text(&frame->line, "judge ");
		add_foreign(frame, text_at(item, "name"));
		buf_printf(&frame->line, "  %lld asked, %lld failed, %lld in flight, %lld wait, %lld tokens",
			   (long long)integer_at(item, "requests"), (long long)integer_at(item, "failed"),
			   (long long)integer_at(item, "in_flight"), (long long)integer_at(item, "waiting"),
			   (long long)(integer_at(item, "prompt_tokens") +
				       integer_at(item, "completion_tokens")));
		end_line(frame, flag_at(item, "breaker_open") ? RED : "");
	}
}

static void add_partitions(struct top_lines *frame, const json_t *partitions)
{
	const json_t *item;
	size_t i;
	json_array_foreach(json_object_get(partitions, "worst"), i, item)
	{
		const char *state = text_at(item, "state");
		if (strcmp(state, "read") == 0)
			continue;
		buf_printf(&frame->line, "partition %lld  ", (long long)integer_at(item, "partition"));
		add_foreign(frame, state);
		buf_append_text(&frame->line, ", oldest waits ");
		add_duration(frame, integer_at(item, "oldest_age_ms"));
		buf_printf(&frame->line, ", map %.0f %%, behind %lld", 100 * number_at(item, "map_fill"),
			   (long long)integer_at(item, "behind"));
		end_line(frame, YELLOW);
	}
}

static void add_drift(struct top_lines *frame, const json_t *calibration)
{
	const json_t *item;
	size_t i;
	json_array_foreach(json_object_get(calibration, "drift_episodes"), i, item)
	{
		buf_append_text(&frame->line, "drift since ");
		add_time(frame, integer_at(item, "opened_at_ms"), "%d %b %H:%M  ");
		add_foreign(frame, text_at(item, "summary"));
		end_line(frame, YELLOW);
	}
}

static void add_changes(struct top_lines *frame, const json_t *changes)
{
	const json_t *item;
	size_t i;
	buf_append_text(&frame->line, "what changed");
	end_line(frame, BOLD);
	json_array_foreach(changes, i, item)
	{
		if (i == CHANGES_TOLD)
			break;
		add_time(frame, integer_at(item, "at_ms"), "%d %b %H:%M:%S  ");
		add_foreign(frame, text_at(item, "text"));
		end_line(frame, "");
	}
}

static void add_advisories(struct top_lines *frame, const json_t *advisories)
{
	const json_t *item;
	size_t i;
	buf_append_text(&frame->line, "latest advisories");
	end_line(frame, BOLD);
	json_array_foreach(advisories, i, item)
	{
		const char *summary = text_at(item, "summary");
		add_time(frame, integer_at(item, "raised_at_ms"), "%H:%M:%S  ");
		add_foreign(frame, text_at(item, "kinds"));
		buf_append_text(&frame->line, "  ");
		add_foreign(frame, text_at(item, "application"));
		buf_append_text(&frame->line, "  ");
		add_foreign(frame, *summary ? summary : text_at(item, "reasons"));
		end_line(frame, "");
	}
}

void top_frame(const json_t *status, const struct top_size *size, struct buf *out)
{
	struct top_lines frame = { .size = size, .line = BUF_INIT, .out = out };
	const json_t *totals = json_object_get(status, "totals");
	add_state(&frame, status);
	if (json_is_object(totals)) { /* else it starts or stops, and there are no parts */
		add_attention(&frame, json_object_get(status, "attention"));
		add_now(&frame, status);
		add_counts(&frame, "actions", json_object_get(totals, "actions"));
		add_counts(&frame, "levels", json_object_get(totals, "levels"));
		add_sparks(&frame, json_object_get(status, "minutes"));
		add_targets(&frame, json_object_get(status, "targets"));
		add_judges(&frame, json_object_get(status, "judges"));
		add_partitions(&frame, json_object_get(status, "partitions"));
		add_drift(&frame, json_object_get(status, "calibration"));
		add_latencies(&frame, json_object_get(status, "latencies"));
	}
	add_changes(&frame, json_object_get(status, "changes"));
	if (json_is_object(totals))
		add_advisories(&frame, json_object_get(status, "advisories"));
	buf_free(&frame.line);
}
