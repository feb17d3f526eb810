/* The status as a page: HTML and inline SVG, without scripts. */
#include "http/attention.h"
#include "http/markup.h"
#include "http/status.h"

#include <inttypes.h>
#include <time.h>

enum { LIVE_S = 5, CHART_WIDTH = 720, CHART_HEIGHT = 120, PLOT_SIZE = 200 };

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  INT64_C(3600000)

/* ---- words and numbers ---- */

static void html(struct buf *out, const char *markup)
{
	buf_append_text(out, markup);
}

/* With a comma between groups of three digits. */
static void count(struct buf *out, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, value);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_append_char(out, ',');
		buf_append_char(out, digits[i]);
	}
}

static void bytes(struct buf *out, uint64_t value)
{
	if (value < 1024)
		buf_printf(out, "%" PRIu64 " bytes", value);
	else if (value < 1024 * 1024)
		buf_printf(out, "%.1f KiB", (double)value / 1024);
	else
		buf_printf(out, "%.1f MiB", (double)value / (1024 * 1024));
}

/* In the two largest units. */
static void duration(struct buf *out, int64_t ms)
{
	int64_t s = ms > 0 ? ms / 1000 : 0;
	if (s < 1)
		buf_append_text(out, "less than 1 s");
	else if (s < 60)
		buf_printf(out, "%" PRId64 " s", s);
	else if (s < 3600)
		buf_printf(out, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else if (s < 86400)
		buf_printf(out, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
	else
		buf_printf(out, "%" PRId64 " d %" PRId64 " h", s / 86400, s / 3600 % 24);
}

static void moment(struct buf *out, int64_t at_ms, const char *format)
{
	time_t at = (time_t)(at_ms / 1000);
	struct tm tm;
	char machine[32], person[48];
	if (!gmtime_r(&at, &tm))
		return;
	strftime(machine, sizeof machine, "%Y-%m-%dT%H:%M:%SZ", &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	strftime(person, sizeof person, format, &tm);
#pragma GCC diagnostic pop
	buf_printf(out, "<time datetime=\"%s\">%s</time>", machine, person);
}

/* One figure with its name: begun, filled by the caller, ended. */
static void figure_begin(struct buf *out, const char *name)
{
	buf_printf(out, "<div><dt>%s</dt><dd>", name);
}

static void figure_end(struct buf *out)
{
	html(out, "</dd></div>");
}

static void figure_count(struct buf *out, const char *name, uint64_t value)
{
	figure_begin(out, name);
	count(out, value);
	figure_end(out);
}

static void section_begin(struct buf *out, const char *id, const char *title)
{
	buf_printf(out, "<section aria-labelledby=\"%s\"><h2 id=\"%s\">%s</h2>", id, id, title);
}

static void section_end(struct buf *out)
{
	html(out, "</section>\n");
}

/* Tables may be wider than a phone: they scroll by themselves. `head`: markup. */
static void table_begin(struct buf *out, const char *caption, const char *head)
{
	buf_printf(out,
		   "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		   "aria-label=\"%s\"><table><caption>%s</caption>"
		   "<thead><tr>%s</tr></thead><tbody>",
		   caption, caption, head);
}

static void table_end(struct buf *out)
{
	html(out, "</tbody></table></div>");
}

static void cell_count(struct buf *out, uint64_t value)
{
	html(out, "<td>");
	count(out, value);
	html(out, "</td>");
}

/* As many digits as are worth something. */
static void cell_ms(struct buf *out, double ms)
{
	buf_printf(out, "<td>%.*f</td>", ms < 0.1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
}

static void row_begin(struct buf *out, const char *name)
{
	html(out, "<tr><th scope=\"row\">");
	markup_append(out, name);
	html(out, "</th>");
}

/* ---- series ---- */

/* What a chart is made of: parts of a span, from the bottom up, and what they are called. */
struct chart_series {
	const char *title;
	const char *css; /* class of a part is this and its number */
	unsigned count;
	uint64_t (*value)(const struct history_totals *totals, unsigned part);
	const char *(*name)(unsigned part);
};

/* The best first. */
static uint64_t action_value(const struct history_totals *totals, unsigned part)
{
	return totals->actions[EVENT_METRICS_ACTIONS - 1 - part];
}

static const char *action_name(unsigned part)
{
	return advisory_action_name((enum record_action)(EVENT_METRICS_ACTIONS - 1 - part));
}

static unsigned level_at(unsigned part)
{
	return part < EVENT_METRICS_NO_LEVEL ? EVENT_METRICS_NO_LEVEL - 1 - part : EVENT_METRICS_NO_LEVEL;
}

static uint64_t level_value(const struct history_totals *totals, unsigned part)
{
	return totals->levels[level_at(part)];
}

static const char *level_name(unsigned part)
{
	static const char *const names[] = { "HIGH", "MEDIUM", "LOW", "VERY_LOW", "no level" };
	return names[part];
}

static const struct chart_series actions = { "Actions", "a", EVENT_METRICS_ACTIONS, action_value,
					     action_name };
static const struct chart_series levels = { "Levels", "l", EVENT_METRICS_LEVELS, level_value, level_name };

static uint64_t sum_of(const struct chart_series *series, const struct history_totals *totals)
{
	uint64_t sum = 0;
	for (unsigned part = 0; part < series->count; part++)
		sum += series->value(totals, part);
	return sum;
}

static void legend(struct buf *out, const struct chart_series *series, const struct history_totals *totals)
{
	html(out, "<ul class=\"legend\">");
	for (unsigned part = 0; part < series->count; part++) {
		buf_printf(out, "<li><span class=\"swatch %s%u\"></span>%s ", series->css, part,
			   series->name(part));
		count(out, series->value(totals, part));
		html(out, "</li>");
	}
	html(out, "</ul>");
}

static void chart(struct buf *out, const struct chart_series *series, const struct history_span *spans,
		  size_t spans_count, const char *what)
{
	uint64_t most = 0, all = 0;
	double width = (double)CHART_WIDTH / (double)spans_count;
	for (size_t i = 0; i < spans_count; i++) {
		uint64_t sum = sum_of(series, &spans[i].counts);
		all += sum;
		most = sum > most ? sum : most;
	}
	buf_printf(out, "<figure><figcaption>%s %s; at most ", series->title, what);
	count(out, most);
	html(out, "</figcaption>");
	buf_printf(out,
		   "<svg class=\"chart\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		   "aria-label=\"%s %s: %" PRIu64 " events, at most %" PRIu64 "\">",
		   CHART_WIDTH, CHART_HEIGHT, series->title, what, all, most);
	for (size_t i = 0; i < spans_count && most > 0; i++) {
		double top = CHART_HEIGHT;
		for (unsigned part = 0; part < series->count; part++) {
			double height =
				(double)series->value(&spans[i].counts, part) * CHART_HEIGHT / (double)most;
			if (height <= 0)
				continue;
			top -= height;
			buf_printf(
				out,
				"<rect class=\"%s%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
				series->css, part, (double)i * width, top, width * 0.9, height);
		}
	}
	html(out, "</svg><p class=\"axis\"><span>");
	moment(out, spans[0].start_ms, "%H:%M");
	html(out, "</span><span>now</span></p></figure>");
}

static void hours_table(struct buf *out, const struct status *status, const struct chart_series *series)
{
	_cleanup_(buf_free) struct buf head = BUF_INIT, caption = BUF_INIT;
	html(&head, "<th scope=\"col\">from</th>");
	for (unsigned part = 0; part < series->count; part++)
		buf_printf(&head, "<th scope=\"col\">%s</th>", series->name(part));
	buf_printf(&caption, "%s by the hour", series->title);
	buf_printf(out, "<details><summary>%s by the hour, as figures</summary>", series->title);
	table_begin(out, caption.data, head.data);
	for (size_t i = HISTORY_HOURS; i-- > 0;) {
		const struct history_span *span = &status->hours[i];
		if (sum_of(series, &span->counts) == 0)
			continue;
		html(out, "<tr><th scope=\"row\">");
		moment(out, span->start_ms, "%d %b, %H:%M");
		html(out, "</th>");
		for (unsigned part = 0; part < series->count; part++)
			cell_count(out, series->value(&span->counts, part));
		html(out, "</tr>");
	}
	table_end(out);
	html(out, "</details>");
}

static void series_section(struct buf *out, const struct status *status, const struct chart_series *series,
			   const char *id)
{
	section_begin(out, id, series->title);
	html(out, "<p>Since the start, of all scored events:</p>");
	legend(out, series, &status->totals);
	chart(out, series, status->minutes, HISTORY_MINUTES, "by the minute, three hours");
	chart(out, series, status->hours, HISTORY_HOURS, "by the hour, a day");
	hours_table(out, status, series);
	section_end(out);
}

/* ---- is it well ---- */

static void banner(struct buf *out, const struct status *status)
{
	const char *css = status->stuck ? "bad" : status->ready ? "ok" : "wait";
	const char *word = status->stuck ? "Stuck" : status->ready ? "Ready" : "Not ready";
	buf_printf(out, "<div class=\"state %s\" role=\"status\"><p><strong>%s</strong> since ", css, word);
	moment(out, status->since_ms, "%d %b, %H:%M:%S UTC");
	html(out, " (");
	duration(out, status->now_ms - status->since_ms);
	html(out, ")</p>");
	if (status->reason.len) {
		html(out, "<pre>");
		markup_append(out, status->reason.data);
		html(out, "</pre>");
	}
	html(out, "</div>\n");
}

static void attention(struct buf *out, const struct status *status)
{
	struct attention items[ATTENTION_MAX];
	size_t items_count = attention_of(status, items);
	if (items_count > 0)
		html(out, "<ul class=\"state wait\" aria-label=\"What needs attention\">");
	for (size_t i = 0; i < items_count; i++) {
		html(out, "<li>");
		html(out, items[i].text);
		if (items[i].name) {
			html(out, ": ");
			markup_append(out, items[i].name);
		}
		html(out, "</li>");
	}
	if (items_count > 0)
		html(out, "</ul>");
}

static const struct history_span *last_minute(const struct status *status)
{
	return &status->minutes[HISTORY_MINUTES - 2]; /* the last one that is over */
}

static void now_section(struct buf *out, const struct status *status)
{
	const struct source_lag *lag = &status->lag;
	const struct history_totals *hour = &status->hours[HISTORY_HOURS - 1].counts;
	section_begin(out, "now", "Now");
	html(out, "<dl class=\"figures\">");
	figure_count(out, "scored in the last full minute", sum_of(&levels, &last_minute(status)->counts));
	figure_begin(out, "oldest unfinished event waits for");
	if (lag->oldest_age_ms > 0)
		duration(out, lag->oldest_age_ms);
	else
		html(out, "nothing waits");
	figure_end(out);
	figure_begin(out, "in flight");
	count(out, status->in_flight_events);
	html(out, " of ");
	count(out, status->in_flight_events_limit);
	html(out, " events, ");
	bytes(out, status->in_flight_bytes);
	html(out, " of ");
	bytes(out, status->in_flight_bytes_limit);
	figure_end(out);
	figure_count(out, "offsets behind the input topic's end", lag->behind);
	figure_begin(out, "partitions");
	buf_printf(out, "%u assigned, %u paused, %u stopped; fullest completion map %.0f %%", lag->assigned,
		   lag->paused, lag->stopped, lag->map_fill * 100);
	figure_end(out);
	figure_count(out, "dead letters this hour", hour->dead);
	figure_count(out, "advisories this hour", hour->advisories);
	figure_begin(out, "transactions");
	count(out, status->publisher.transactions_committed);
	html(out, " committed, ");
	count(out, status->publisher.transactions_aborted);
	html(out, " aborted");
	figure_end(out);
	html(out, "</dl>");
	section_end(out);
}

static void waits_section(struct buf *out, const struct status *status)
{
	static const char *const meanings[] = {
#define STEP(symbol, name, meaning) meaning,
#include "event/step.def"
#undef STEP
	};
	section_begin(out, "waits", "What waits for what");
	table_begin(out, "Events by step",
		    "<th scope=\"col\">step</th><th scope=\"col\">events</th><th scope=\"col\">meaning</th>");
	for (unsigned step = 0; step < STEP_COUNT_; step++) {
		int64_t events = status->pipeline.at_step[step];
		if (step == STEP_COMMITTED || step == STEP_DISCARDED)
			continue;
		row_begin(out, step_name((enum step)step));
		cell_count(out, events > 0 ? (uint64_t)events : 0);
		buf_printf(out, "<td>%s</td></tr>", meanings[step]);
	}
	table_end(out);
	section_end(out);
}

static void partitions_section(struct buf *out, const struct status *status)
{
	if (status->partitions_count == 0)
		return;
	section_begin(out, "partitions", "Partitions");
	table_begin(out, "Partitions of the input topic",
		    "<th scope=\"col\">partition</th><th scope=\"col\">state</th><th scope=\"col\">oldest "
		    "unfinished event waits for</th><th scope=\"col\">completion map</th>"
		    "<th scope=\"col\">offsets behind</th>");
	for (size_t i = 0; i < status->partitions_count; i++) {
		const struct partition_standing *standing = &status->partitions[i];
		buf_printf(out, "<tr><th scope=\"row\">%" PRId32 "</th><td%s>%s</td><td>",
			   standing->partition, standing->state == PARTITION_STOPPED ? " class=\"bad\"" : "",
			   board_state_name(standing->state));
		if (standing->oldest_ms == INT64_MAX)
			html(out, "nothing waits");
		else
			duration(out, status->now_ms - standing->oldest_ms);
		buf_printf(out, "</td><td>%.0f %%</td>", standing->fill * 100);
		cell_count(out, standing->behind);
		html(out, "</tr>");
	}
	table_end(out);
	if (status->lag.assigned > status->partitions_count)
		buf_printf(out, "<p>and %zu more, which stand no worse</p>",
			   status->lag.assigned - status->partitions_count);
	section_end(out);
}

static void changes_section(struct buf *out, const struct status *status)
{
	section_begin(out, "changes", "What changed");
	html(out, "<ul class=\"changes\">");
	for (size_t i = 0; i < status->changes_count; i++) {
		html(out, "<li>");
		moment(out, status->changes[i].at_ms, "%d %b, %H:%M:%S");
		html(out, " ");
		markup_append(out, status->changes[i].text);
		html(out, "</li>");
	}
	html(out, "<li>");
	moment(out, status->started_ms, "%d %b, %H:%M:%S");
	html(out, " started</li></ul>");
	section_end(out);
}

/* ---- confidence and correctness ---- */

static uint64_t labels_of(const struct status *status, unsigned source)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < EVENT_METRICS_BANDS; i++)
		sum += status->bands[source][i].events;
	return sum;
}

static void reliability_plot(struct buf *out, const struct status *status, unsigned source)
{
	buf_printf(out,
		   "<svg class=\"plot\" viewBox=\"-12 -12 %d %d\" role=\"img\" aria-label=\"Share that was "
		   "right "
		   "against "
		   "confidence, by %s; the table below has the figures\"><path class=\"diagonal\" d=\"M0 %d "
		   "L%d 0\"/>",
		   PLOT_SIZE + 24, PLOT_SIZE + 24, event_metrics_source_name(source), PLOT_SIZE, PLOT_SIZE);
	uint64_t all = labels_of(status, source);
	for (unsigned i = 0; i < EVENT_METRICS_BANDS; i++) {
		const struct status_band *band = &status->bands[source][i];
		if (band->events)
			buf_printf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>",
				   band->confidence * PLOT_SIZE, (1 - band->correct) * PLOT_SIZE,
				   3 + 7 * (double)band->events / (double)all);
	}
	html(out, "</svg><p class=\"axis\"><span>confidence 0</span><span>1</span></p>");
}

static void reliability_of(struct buf *out, const struct status *status, unsigned source)
{
	_cleanup_(buf_free) struct buf caption = BUF_INIT;
	buf_printf(&caption, "Labels of source %s", event_metrics_source_name(source));
	buf_printf(out, "<figure><figcaption>%s: ", caption.data);
	count(out, labels_of(status, source));
	html(out, " events; on the line confidence is as good as it says</figcaption>");
	reliability_plot(out, status, source);
	table_begin(out, caption.data,
		    "<th scope=\"col\">confidence</th><th scope=\"col\">events</th><th scope=\"col\">mean "
		    "confidence</th>"
		    "<th scope=\"col\">right</th>");
	for (unsigned i = EVENT_METRICS_BANDS; i-- > 0;) {
		const struct status_band *band = &status->bands[source][i];
		if (!band->events)
			continue;
		buf_printf(out, "<tr><th scope=\"row\">%.1f to %.1f</th>", i / 10.0, (i + 1) / 10.0);
		cell_count(out, band->events);
		buf_printf(out, "<td>%.2f</td><td>%.0f %%</td></tr>", band->confidence, band->correct * 100);
	}
	table_end(out);
	html(out, "</figure>");
}

static void reliability_section(struct buf *out, const struct status *status)
{
	bool any = false;
	section_begin(out, "reliability", "Confidence and correctness");
	html(out, "<p>Of events that this process scored and that had a label at once; assayd calibration "
		  "has all of them, also "
		  "what people reported later.</p>");
	for (unsigned source = 0; source < EVENT_METRICS_SOURCES; source++)
		if (labels_of(status, source)) {
			reliability_of(out, status, source);
			any = true;
		}
	if (!any)
		html(out, "<p>No event had a label yet.</p>");
	if (status->learns) {
		html(out, "<p>Learnt model: ");
		if (status->learner.version)
			buf_printf(out, "version %" PRId64, status->learner.version);
		else
			html(out, "none yet");
		html(out, ".</p>");
	}
	section_end(out);
}

/* ---- parts ---- */

static void latency_section(struct buf *out, const struct status *status)
{
	section_begin(out, "latency", "Latency");
	table_begin(out, "Milliseconds since the start, as far as buckets tell",
		    "<th scope=\"col\">stage</th><th scope=\"col\">events</th><th scope=\"col\">median</th>"
		    "<th scope=\"col\">95 %</th><th scope=\"col\">99 %</th>");
	for (size_t i = 0; i <= STAGE_COUNT_; i++) {
		const struct status_latency *latency = &status->latencies[i];
		if (!latency->name)
			continue;
		row_begin(out, latency->name);
		cell_count(out, latency->count);
		cell_ms(out, latency->p50_ms);
		cell_ms(out, latency->p95_ms);
		cell_ms(out, latency->p99_ms);
		html(out, "</tr>");
	}
	table_end(out);
	section_end(out);
}

static void budget_cell(struct buf *out, const struct judge_stats *stats)
{
	if (stats->day_tokens_limit == 0) {
		html(out, "<td>no limit</td>");
		return;
	}
	html(out, stats->day_tokens >= stats->day_tokens_limit ? "<td class=\"bad\">" : "<td>");
	count(out, (uint64_t)stats->day_tokens);
	html(out, " of ");
	count(out, (uint64_t)stats->day_tokens_limit);
	html(out, "</td>");
}

static void judge_section(struct buf *out, const struct status *status)
{
	if (status->judges_count == 0)
		return;
	section_begin(out, "judge", "Judge");
	table_begin(
		out, "Judges",
		"<th scope=\"col\">name</th><th scope=\"col\">state</th><th scope=\"col\">asked</th>"
		"<th scope=\"col\">failed</th><th scope=\"col\">in flight</th><th scope=\"col\">waiting</th>"
		"<th scope=\"col\">no place in time</th>"
		"<th scope=\"col\">not asked for want of tokens</th>"
		"<th scope=\"col\">tokens of a day</th><th scope=\"col\">tokens since the start</th>"
		"<th scope=\"col\">cost</th>");
	for (size_t i = 0; i < status->judges_count; i++) {
		const struct judge_stats *stats = &status->judges[i].stats;
		row_begin(out, status->judges[i].name ? status->judges[i].name : "judge");
		html(out, stats->breaker_open ? "<td class=\"bad\">left alone</td>" : "<td>asked</td>");
		cell_count(out, (uint64_t)stats->requests);
		cell_count(out, (uint64_t)stats->failed);
		cell_count(out, (uint64_t)stats->in_flight);
		cell_count(out, (uint64_t)stats->waiting);
		cell_count(out, (uint64_t)stats->saturated);
		cell_count(out, (uint64_t)stats->spent);
		budget_cell(out, stats);
		cell_count(out, (uint64_t)(stats->prompt_tokens + stats->completion_tokens));
		buf_printf(out, "<td>%.2f</td></tr>", status->judges[i].cost);
	}
	table_end(out);
	section_end(out);
}

static void targets_section(struct buf *out, const struct status *status)
{
	if (status->targets_count == 0)
		return;
	section_begin(out, "targets", "Targets");
	table_begin(
		out, "Targets",
		"<th scope=\"col\">name</th><th scope=\"col\">state</th><th scope=\"col\">waiting</th>"
		"<th scope=\"col\">processes</th><th scope=\"col\">ended</th><th scope=\"col\">killed</th>"
		"<th scope=\"col\">denied</th>");
	for (size_t i = 0; i < status->targets_count && i < STATUS_TARGETS; i++) {
		const struct target_statistics *target = &status->targets[i];
		row_begin(out, target->name);
		html(out, target->up ? "<td>up</td>" : "<td class=\"bad\">away</td>");
		cell_count(out, target->waiting);
		cell_count(out, target->workers);
		cell_count(out, target->died);
		cell_count(out, target->killed);
		cell_count(out, target->denied);
		html(out, "</tr>");
	}
	table_end(out);
	if (status->targets_count > STATUS_TARGETS)
		buf_printf(out, "<p>and %zu more, which metrics have</p>",
			   status->targets_count - STATUS_TARGETS);
	section_end(out);
}

static void database_figure(struct buf *out, bool up)
{
	figure_begin(out, "database");
	html(out, up ? "takes what is written" : "<span class=\"bad\">does not take what is written</span>");
	figure_end(out);
}

static void waiting_figure(struct buf *out, const struct status *status, const char *name, int64_t since_ms)
{
	figure_begin(out, name);
	if (since_ms > 0)
		duration(out, status->now_ms - since_ms);
	else
		html(out, "nothing waits");
	figure_end(out);
}

/* Whatever is open in the database, this process may not have opened it. */
static void drift_list(struct buf *out, const struct status *status)
{
	const struct calibrator_statistics *calibrator = &status->calibrator;
	html(out, "<h3>Open drift episodes</h3>");
	if (calibrator->drift_open_count == 0) {
		html(out, "<p>None.</p>");
		return;
	}
	html(out, "<ul class=\"advisories\">");
	for (size_t i = 0; i < calibrator->drift_open_count && i < DRIFT_OPEN_LISTED; i++) {
		const struct drift_open *episode = &calibrator->drift_open[i];
		html(out, "<li><p>since ");
		moment(out, episode->opened_at_ms, "%d %b, %H:%M:%S");
		html(out, ": ");
		markup_append(out, episode->summary);
		html(out, "</p></li>");
	}
	html(out, "</ul>");
	if (calibrator->drift_open_count > DRIFT_OPEN_LISTED)
		buf_printf(out, "<p>and %zu more, which assayd calibration lists</p>",
			   calibrator->drift_open_count - DRIFT_OPEN_LISTED);
}

static void calibration_section(struct buf *out, const struct status *status)
{
	if (!status->calibrates)
		return;
	const struct calibrator_statistics *calibrator = &status->calibrator;
	section_begin(out, "calibration", "Calibration");
	html(out, "<dl class=\"figures\">");
	database_figure(out, calibrator->database_up);
	figure_count(out, "labels counted", calibrator->cases);
	figure_count(out, "reported by people", calibrator->feedback_counted);
	waiting_figure(out, status, "oldest that is not counted waits for", calibrator->waiting_since_ms);
	if (calibrator->held)
		figure_count(out, "partitions that wait for a schema", calibrator->held);
	figure_begin(out, "drift episodes of this process");
	count(out, calibrator->drift_opened);
	html(out, " opened, ");
	count(out, calibrator->drift_closed);
	html(out, " closed");
	figure_end(out);
	html(out, "</dl>");
	drift_list(out, status);
	section_end(out);
}

static void audit_section(struct buf *out, const struct status *status)
{
	const struct keeper_statistics *keeper = &status->keeper;
	if (!status->keeps && !status->archives)
		return;
	section_begin(out, "audit", "Audit");
	html(out, "<dl class=\"figures\">");
	if (status->archives) {
		figure_begin(out, "archive");
		html(out, status->archive.up ? "up" : "<span class=\"bad\">away</span>");
		if (status->archive.lost) {
			html(out, ", lost ");
			count(out, status->archive.lost);
		}
		figure_end(out);
	}
	if (status->keeps) {
		database_figure(out, keeper->database_up);
		figure_count(out, "records logged", keeper->records);
		figure_count(out, "checkpoints signed", keeper->checkpoints);
		waiting_figure(out, status, "oldest record without a checkpoint waits for",
			       keeper->unsigned_since_ms);
		figure_begin(out, "stopped partitions of the log");
		buf_printf(out, "%s%u%s", keeper->stopped ? "<strong class=\"bad\">" : "", keeper->stopped,
			   keeper->stopped ? "</strong>" : "");
		figure_end(out);
	}
	html(out, "</dl>");
	section_end(out);
}

static void receivers_section(struct buf *out, const struct status *status)
{
	if (status->receivers_count == 0)
		return;
	section_begin(out, "receivers", "Receivers");
	html(out, "<dl class=\"figures\">");
	for (size_t i = 0; i < status->receivers_count; i++) {
		const struct forwarder_statistics *statistics = &status->receivers[i].statistics;
		bool up = !statistics->away && !statistics->gone;
		figure_begin(out, status->receivers[i].name);
		html(out, up ? "up" : "<span class=\"bad\">away</span>");
		html(out, ", sent ");
		count(out, statistics->sent);
		if (statistics->given_up) {
			html(out, ", given up ");
			count(out, statistics->given_up);
		}
		if (*statistics->reason) {
			html(out, ": ");
			markup_append(out, statistics->reason);
		}
		figure_end(out);
		waiting_figure(out, status, "oldest that is not sent waits for",
			       statistics->waiting_since_ms);
	}
	html(out, "</dl>");
	section_end(out);
}

static void registry_section(struct buf *out, const struct status *status)
{
	const struct registry_statistics *registry = &status->registry;
	if (!status->has_registry)
		return;
	section_begin(out, "registry", "Schema registry");
	html(out, "<dl class=\"figures\">");
	figure_begin(out, "state");
	if (registry->since_ms == 0) {
		html(out, "not asked yet");
	} else {
		html(out, registry->down ? "<span class=\"bad\">away</span>, since " : "up, since ");
		moment(out, registry->since_ms, "%d %b, %H:%M:%S");
	}
	if (registry->down) {
		html(out, ": ");
		markup_append(out, registry->fault.message);
	}
	figure_end(out);
	figure_count(out, "schemas known", registry->schemas);
	figure_count(out, "events that wait", registry->waiting);
	waiting_figure(out, status, "oldest waits for",
		       registry->oldest_ms > 0 ? status->now_ms - registry->oldest_ms : 0);
	html(out, "</dl>");
	section_end(out);
}

/* ---- advisories ---- */

static void advisory_item(struct buf *out, const struct recent_advisory *advisory, bool texts)
{
	html(out, "<li><p>");
	moment(out, advisory->raised_at_ms, "%d %b, %H:%M:%S");
	html(out, " <strong>");
	markup_append(out, advisory->kinds);
	html(out, "</strong>");
	if (advisory->action[0]) {
		html(out, " ");
		markup_append(out, advisory->action);
	}
	html(out, " <code>");
	markup_append(out, advisory->codes);
	html(out, "</code></p>");
	if (texts) {
		html(out, "<p>");
		markup_append(out, advisory->summary);
		html(out, "</p>");
	}
	html(out, "<p class=\"place\">");
	markup_append(out, advisory->application);
	if (advisory->target[0]) {
		html(out, ", ");
		markup_append(out, advisory->target);
	}
	html(out, ": <code>");
	markup_append(out, advisory->event_id);
	html(out, "</code></p></li>");
}

static void advisories_section(struct buf *out, const struct status *status)
{
	section_begin(out, "advisories", "Latest advisories");
	if (status->recent_count == 0)
		html(out, "<p>None since the start.</p>");
	html(out, "<ol class=\"advisories\">");
	for (size_t i = 0; i < status->recent_count; i++)
		advisory_item(out, &status->recent[i], status->texts);
	html(out, "</ol>");
	if (status->recent_count && !status->texts)
		html(out,
		     "<p>Texts are not shown here (http.show_texts); assayd show EVENT_ID has them.</p>");
	section_end(out);
}

/* ---- the page ---- */

static void head(struct buf *out, const struct status *status, bool live)
{
	const char *word = status->stuck ? "stuck" : status->ready ? "ready" : "not ready";
	html(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		  "<meta name=\"color-scheme\" content=\"light dark\">");
	if (live)
		buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">", LIVE_S);
	buf_printf(out,
		   "<title>assayd: %s</title><link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" "
		   "href=\"/status.css\"></head><body>\n",
		   word);
	html(out, "<header><h1>assayd</h1><p>version ");
	markup_append(out, status->version);
	html(out, ", as of ");
	moment(out, status->now_ms, "%d %b %Y, %H:%M:%S UTC");
	html(out, "</p><nav aria-label=\"Views\">");
	if (live)
		buf_printf(out, "<a href=\"/status\">stop reloading (every %d s)</a>", LIVE_S);
	else
		html(out, "<a href=\"/status\">reload</a> <a href=\"/status/live\">keep reloading</a>");
	html(out,
	     " <a href=\"/status.json\">JSON</a> <a href=\"/metrics\">metrics</a></nav></header>\n<main>\n");
}

void status_write_page(const struct status *status, bool live, struct buf *out)
{
	head(out, status, live);
	banner(out, status);
	attention(out, status);
	if (status->shown)
		now_section(out, status);
	changes_section(out, status);
	if (status->shown) {
		waits_section(out, status);
		partitions_section(out, status);
		series_section(out, status, &actions, "actions");
		series_section(out, status, &levels, "levels");
		reliability_section(out, status);
		latency_section(out, status);
		targets_section(out, status);
		judge_section(out, status);
		calibration_section(out, status);
		audit_section(out, status);
		receivers_section(out, status);
		registry_section(out, status);
		advisories_section(out, status);
	}
	html(out, "</main></body></html>\n");
}

const char status_style[] =
	":root{color-scheme:light "
	"dark;--ink:#1b1f24;--paper:#ffffff;--soft:#f1f3f5;--line:#c9ced4;--link:#0b57a4;"
	"--ok:#0a6b2d;--wait:#8a4b00;--bad:#b3261e;--c0:#0b6e69;--c1:#3a6fc4;--c2:#b26a00;--c3:#b3261e;--c4:#"
	"6b7280}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--paper:#14171a;--soft:#1f2429;--line:#444b52;"
	"--link:#8ab8f0;--ok:#5fce86;--wait:#f0b45f;--bad:#ff8a80;--c0:#3fc1b8;--c1:#7ea8ee;--c2:#f0b45f;--"
	"c3:#ff8a80;"
	"--c4:#a0a7af}}"
	"*{box-sizing:border-box}"
	"body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}"
	"header,main{max-width:75rem;margin:0 auto;padding:0 1rem}"
	"header{display:flex;flex-wrap:wrap;gap:0 1rem;align-items:baseline}"
	"h1{font-size:1.4rem;margin:.6rem 0}h2{font-size:1.15rem;margin:0 0 "
	".5rem}h3{font-size:1rem;margin:.6rem 0 .3rem}"
	"header p{margin:.2rem 0;overflow-wrap:anywhere}"
	"nav a{display:inline-block;margin-right:.75rem;padding:.2rem 0}a{color:var(--link)}"
	"main{display:grid;gap:1rem;grid-template-columns:minmax(0,1fr);padding-bottom:2rem}"
	"section{background:var(--soft);border:1px solid "
	"var(--line);border-radius:.4rem;padding:.8rem;min-width:0}"
	".state{border-left:.5rem solid;padding:.4rem .8rem;margin:0;background:var(--soft)}"
	".state p{margin:.2rem 0;font-size:1.15rem}.ok{border-color:var(--ok)}.wait{border-color:var(--wait)}"
	".state.bad{border-color:var(--bad)}.state.ok strong{color:var(--ok)}.state.wait "
	"strong{color:var(--wait)}"
	".state.bad strong,td.bad,span.bad,strong.bad{color:var(--bad)}"
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font-size:.9rem}"
	"code{overflow-wrap:anywhere;font-size:.9em}"
	".figures{display:grid;gap:.5rem "
	"1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,13rem),1fr));margin:0}"
	"dt{font-size:.85rem}dd{margin:0;font-weight:600;overflow-wrap:anywhere}"
	".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}"
	"caption{text-align:left;font-size:.85rem;padding:.2rem 0}"
	"th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-top:1px solid "
	"var(--line);vertical-align:top}"
	"thead th{border-top:0;font-weight:600}"
	"figure{margin:.6rem 0}figcaption{font-size:.85rem}"
	".chart{display:block;width:100%;height:7rem;background:var(--paper);border-bottom:1px solid "
	"var(--ink)}"
	".plot{display:block;width:100%;max-width:15rem;background:var(--paper);border:1px solid var(--line)}"
	".diagonal{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3;fill:none}.dot{fill:var(--c1)}"
	".axis{display:flex;justify-content:space-between;margin:0;font-size:.8rem}.plot+.axis{max-width:"
	"15rem}"
	".legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0;margin:.3rem 0}"
	".swatch{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border:1px solid var(--ink)}"
	".a0,.l0{fill:var(--c0);background:var(--c0)}.a1,.l1{fill:var(--c1);background:var(--c1)}"
	".a2,.l2{fill:var(--c2);background:var(--c2)}.a3,.l3{fill:var(--c3);background:var(--c3)}"
	".l4{fill:var(--c4);background:var(--c4)}"
	"ul.state{padding-left:2rem}.changes,.advisories{padding-left:1.2rem;margin:0}.advisories "
	"p{margin:.15rem "
	"0;overflow-wrap:anywhere}"
	".advisories li{margin-bottom:.6rem}.place{font-size:.88rem}summary{cursor:pointer;padding:.3rem "
	"0}\n";
