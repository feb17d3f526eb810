#include "http/monitor.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/terminal.h"
#include "http/accept.h"
#include "http/server.h"
#include "http/status.h"
#include "http/watch.h"
#include "kafka/reason.h"

#include <inttypes.h>
#include <pthread.h>

enum {
	STATUS_OK = 200,
	STATUS_UNAVAILABLE = 503,
	MAX_STOPS = 20,
	REFUSED_MS = 5000, /* a shorter refusal of outputs is no news */
};

static const char standing_still[] = "events that are not read", no_right[] = "rights",
		  refused[] = "outputs that are not taken";

struct monitor {
	struct http_server *server;
	double started_seconds;
	pthread_mutex_t mutex; /* guards what follows; held while a page is made, which waits for nobody */
	char text[640];
	const char *reason; /* the text; NULL: the view tells */
	bool shown;
	bool texts; /* of events are shown */
	struct monitor_view view;
	struct history history;
	struct changes changes;
	struct watch watch;
};

/* ---- what is to be told; the mutex is held ---- */

/* The first of these threads that has waited for something for longer than a moment, or NULL. */
static const char *awaited(const struct monitor_view *view, int64_t now_us)
{
	struct heartbeat *const heartbeats[] = { view->source, view->publisher };
	const char *waiting_for;
	heartbeat_find_stuck(heartbeats, 2, &view->limits, now_us, &waiting_for);
	return waiting_for;
}

/* Why events are not scored, all of them or those of some partitions, or NULL. */
static const char *unready(const struct monitor *monitor)
{
	const struct monitor_view *view = &monitor->view;
	struct source_lag lag;
	struct publisher_statistics published;
	if (monitor->reason)
		return monitor->reason;
	if (rights_watch_missing(view->parts.rights))
		return no_right;
	const char *waiting_for = awaited(view, clock_monotonic_us());
	if (waiting_for)
		return waiting_for;
	source_lag(view->parts.source, &lag);
	if (lag.stands_still)
		return standing_still;
	publisher_statistics(view->parts.publisher, &published);
	if (published.refused_ms >= REFUSED_MS)
		return refused;
	return lag.joined ? NULL : "partitions of the input topic";
}

/* The thread that breaks the rules of the watchdog, or NULL. While a start or a stop is under way there are
 * none: its waits all have deadlines. */
static const struct heartbeat *find_stuck(const struct monitor *monitor)
{
	const struct monitor_view *view = &monitor->view;
	const char *waiting_for;
	int64_t now_us = clock_monotonic_us();
	if (!monitor->shown || monitor->reason)
		return NULL;
	if (now_us - atomic_load(&view->main->last_us) > view->limits.busy_ms * 1000)
		return view->main;
	return heartbeat_find_stuck(view->heartbeats, view->tickers_count, &view->limits, now_us,
				    &waiting_for);
}

/* ---- pages ---- */

static unsigned answer_metrics(struct http_page *page, void *context)
{
	struct monitor *monitor = context;
	const enum exposition_format format =
		accept_openmetrics(page->accept) ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
	page->content_type = exposition_content_type(format);
	pthread_mutex_lock(&monitor->mutex);
	const struct metrics_parts parts = monitor->shown ? monitor->view.parts : (struct metrics_parts){ 0 };
	metrics_write(&parts, !unready(monitor), monitor->started_seconds, format, &page->body);
	pthread_mutex_unlock(&monitor->mutex);
	return STATUS_OK;
}

static unsigned answer_healthz(struct http_page *page, void *context)
{
	struct buf *body = &page->body;
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	const struct heartbeat *stuck = find_stuck(monitor);
	if (stuck)
		buf_printf(body, "the %s thread is stuck\n", stuck->name);
	else
		buf_append_text(body, "ok\n");
	pthread_mutex_unlock(&monitor->mutex);
	return stuck ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* What is waited for, with what is known of the reason. */
static void append_awaited(struct buf *body, const char *what)
{
	char why[KAFKA_REASON_SIZE];
	bool known = strncmp(what, "Kafka", 5) == 0 && kafka_reason(why);
	buf_printf(body, "waiting for %s%s%s\n", what, known ? ": " : "", known ? why : "");
}

/* Rights that are missing, then partitions that stand still, perhaps for want of them. */
static void append_stops(const struct metrics_parts *parts, struct buf *body)
{
	rights_watch_describe(parts->rights, body);
	source_describe_stops(parts->source, MAX_STOPS, body);
}

static void append_refusal(struct publisher *publisher, struct buf *body)
{
	struct publisher_statistics published;
	publisher_statistics(publisher, &published);
	buf_printf(body, "nothing has been published for %" PRId64 " s: ", published.refused_ms / 1000);
	publisher_describe_refusal(publisher, body);
	buf_append_char(body, '\n');
}

/* Lines that say why it is unready; the mutex is held. */
static void append_reason(const struct monitor *monitor, const char *reason, struct buf *body)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT; /* may quote what others have said */
	if (reason == no_right || reason == standing_still)
		append_stops(&monitor->view.parts, &text);
	else if (reason == refused)
		append_refusal(monitor->view.parts.publisher, &text);
	else if (reason == monitor->reason)
		buf_printf(&text, "%s\n", reason);
	else
		append_awaited(&text, reason);
	terminal_append_lines(body, buf_str(&text));
}

static unsigned answer_readyz(struct http_page *page, void *context)
{
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	const char *reason = unready(monitor);
	if (reason)
		append_reason(monitor, reason, &page->body);
	else
		buf_append_text(&page->body, "ready\n");
	pthread_mutex_unlock(&monitor->mutex);
	return reason ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* ---- the status page; the mutex is held ---- */

/* Whether it is ready or stuck, and why. */
static void look_at_readiness(struct monitor *monitor, int64_t now_ms, struct buf *reason)
{
	const struct heartbeat *stuck = find_stuck(monitor);
	const char *why = unready(monitor);
	if (stuck)
		buf_printf(reason, "the %s thread is stuck\n", stuck->name);
	if (why)
		append_reason(monitor, why, reason);
	watch_readiness(&monitor->watch, now_ms, !why, stuck != NULL, reason->len ? reason->data : "",
			&monitor->changes);
}

static void tick(void *context)
{
	_cleanup_(buf_free) struct buf reason = BUF_INIT;
	struct monitor *monitor = context;
	int64_t now_ms = clock_wall_ms();
	pthread_mutex_lock(&monitor->mutex);
	look_at_readiness(monitor, now_ms, &reason);
	if (monitor->shown) {
		const struct metrics_parts *parts = &monitor->view.parts;
		struct history_totals totals;
		struct source_lag lag = { 0 };
		watch_parts(&monitor->watch, now_ms, parts, &monitor->changes);
		status_totals(parts, &totals);
		if (parts->source)
			source_lag(parts->source, &lag);
		history_note(&monitor->history, now_ms, &totals, lag.oldest_age_ms);
	}
	pthread_mutex_unlock(&monitor->mutex);
}

/* The caller frees it and its reason. */
static struct status *status_of(struct monitor *monitor)
{
	struct status *status = calloc(1, sizeof *status);
	if (!status)
		abort();
	status->now_ms = clock_wall_ms();
	status->started_ms = (int64_t)(monitor->started_seconds * 1000);
	status->texts = monitor->texts;
	status->shown = monitor->shown;
	look_at_readiness(monitor, status->now_ms, &status->reason);
	status->ready = monitor->watch.ready;
	status->stuck = monitor->watch.stuck;
	status->since_ms = monitor->watch.since_ms;
	status_gather(monitor->shown ? &monitor->view.parts : &(struct metrics_parts){ 0 }, status);
	history_minutes(&monitor->history, status->now_ms, status->minutes);
	history_hours(&monitor->history, status->now_ms, status->hours);
	status->changes_count = changes_read(&monitor->changes, status->changes);
	return status;
}

static unsigned answer_status_by(struct http_page *page, struct monitor *monitor, bool live)
{
	pthread_mutex_lock(&monitor->mutex);
	struct status *status = status_of(monitor);
	pthread_mutex_unlock(&monitor->mutex);
	page->content_type = "text/html; charset=utf-8";
	page->policy = STATUS_POLICY;
	status_write_page(status, live, &page->body);
	buf_free(&status->reason);
	free(status);
	return STATUS_OK;
}

static unsigned answer_status(struct http_page *page, void *context)
{
	return answer_status_by(page, context, false);
}

static unsigned answer_status_live(struct http_page *page, void *context)
{
	return answer_status_by(page, context, true);
}

static unsigned answer_status_json(struct http_page *page, void *context)
{
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	struct status *status = status_of(monitor);
	pthread_mutex_unlock(&monitor->mutex);
	page->content_type = "application/json";
	status_write_json(status, &page->body);
	buf_free(&status->reason);
	free(status);
	return STATUS_OK;
}

static unsigned answer_status_css(struct http_page *page, void *context)
{
	(void)context;
	page->content_type = "text/css; charset=utf-8";
	buf_append_text(&page->body, status_style);
	return STATUS_OK;
}

static const struct http_route routes[] = {
	{ "/metrics", answer_metrics },
	{ "/healthz", answer_healthz },
	{ "/readyz", answer_readyz },
	{ "/status", answer_status },
	{ "/status/live", answer_status_live },
	{ "/status.json", answer_status_json },
	{ "/status.css", answer_status_css },
	{ "/", answer_status },
	{ NULL, NULL },
};

/* ---- life ---- */

static void monitor_free(struct monitor *monitor)
{
	pthread_mutex_destroy(&monitor->mutex);
	free(monitor);
}

err_t monitor_start(const char *address, enum monitor_texts texts, struct monitor **ret_monitor,
		    struct err_detail *detail)
{
	struct process_figures figures;
	struct monitor *monitor = calloc(1, sizeof *monitor);
	if (!monitor)
		abort();
	pthread_mutex_init(&monitor->mutex, NULL);
	snprintf(monitor->text, sizeof monitor->text, "starting");
	monitor->reason = monitor->text;
	monitor->started_seconds =
		process_read(&figures) ? figures.start_time_seconds : (double)clock_wall_ms() / 1000;
	const struct http_options options = {
		.address = address, .routes = routes, .context = monitor, .tick = tick
	};
	err_t err = http_start(&options, &monitor->server, detail);
	if (err) {
		monitor_free(monitor);
		return err;
	}
	pthread_mutex_lock(&monitor->mutex);
	monitor->texts = texts == MONITOR_TEXTS_ALWAYS ||
			 (texts == MONITOR_TEXTS_LOCAL && http_is_loopback(monitor->server));
	pthread_mutex_unlock(&monitor->mutex);
	log_notice("metrics are at http://%s/metrics, the status page is at /status there",
		   http_address(monitor->server));
	*ret_monitor = monitor;
	return ERR_OK;
}

void monitor_stop(struct monitor *monitor)
{
	if (!monitor)
		return;
	http_stop(monitor->server);
	monitor_free(monitor);
}

void monitor_waits(struct monitor *monitor, const char *reason)
{
	if (!monitor)
		return;
	pthread_mutex_lock(&monitor->mutex);
	snprintf(monitor->text, sizeof monitor->text, "%s", reason);
	monitor->reason = monitor->text;
	pthread_mutex_unlock(&monitor->mutex);
}

void monitor_show(struct monitor *monitor, const struct monitor_view *view)
{
	if (!monitor)
		return;
	pthread_mutex_lock(&monitor->mutex);
	monitor->view = *view;
	monitor->shown = true;
	monitor->reason = NULL;
	pthread_mutex_unlock(&monitor->mutex);
}

void monitor_hide(struct monitor *monitor)
{
	if (!monitor)
		return;
	pthread_mutex_lock(&monitor->mutex);
	monitor->shown = false;
	pthread_mutex_unlock(&monitor->mutex);
}

struct heartbeat *monitor_heartbeat(struct monitor *monitor)
{
	return monitor ? http_heartbeat(monitor->server) : NULL;
}
