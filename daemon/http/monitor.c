#include "http/monitor.h"

#include "common/clock.h"
#include "common/log.h"
#include "http/server.h"

#include <pthread.h>

enum { STATUS_OK = 200, STATUS_UNAVAILABLE = 503 };

struct monitor {
	struct http_server *server;
	double started_seconds;
	pthread_mutex_t mutex; /* guards what follows; held while a page is made, which waits for nobody */
	const char *reason;    /* static text; NULL: the view tells */
	bool shown;
	struct monitor_view view;
};

/* ---- what is to be told; the mutex is held ---- */

/* The first of these threads that has waited for something for longer than a moment, or NULL. */
static const char *awaited(const struct monitor_view *view, int64_t now_us)
{
	struct ticker *const tickers[] = { view->source, view->publisher };
	const char *waiting_for;
	tick_find_stuck(tickers, 2, &view->limits, now_us, &waiting_for);
	return waiting_for;
}

/* Why no event can be scored, or NULL. */
static const char *unready(const struct monitor *monitor)
{
	const struct monitor_view *view = &monitor->view;
	struct source_lag lag;
	if (monitor->reason)
		return monitor->reason;
	const char *waiting_for = awaited(view, clock_monotonic_us());
	if (waiting_for)
		return waiting_for;
	source_lag(view->parts.source, &lag);
	return lag.joined ? NULL : "partitions of the input topic";
}

/* The thread that breaks the rules of the watchdog, or NULL. While a start or a stop is under way there are
 * none: its waits all have deadlines. */
static const struct ticker *find_stuck(const struct monitor *monitor)
{
	const struct monitor_view *view = &monitor->view;
	const char *waiting_for;
	int64_t now_us = clock_monotonic_us();
	if (!monitor->shown || monitor->reason)
		return NULL;
	if (now_us - atomic_load(&view->main->last_us) > view->limits.busy_ms * 1000)
		return view->main;
	return tick_find_stuck(view->tickers, view->tickers_count, &view->limits, now_us, &waiting_for);
}

/* ---- pages ---- */

static unsigned answer_metrics(struct buf *body, void *context)
{
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	const struct metrics_parts parts = monitor->shown ? monitor->view.parts : (struct metrics_parts){ 0 };
	metrics_write(&parts, !unready(monitor), monitor->started_seconds, body);
	pthread_mutex_unlock(&monitor->mutex);
	return STATUS_OK;
}

static unsigned answer_healthz(struct buf *body, void *context)
{
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	const struct ticker *stuck = find_stuck(monitor);
	if (stuck)
		buf_printf(body, "the %s thread does not move\n", stuck->name);
	else
		buf_append_text(body, "ok\n");
	pthread_mutex_unlock(&monitor->mutex);
	return stuck ? STATUS_UNAVAILABLE : STATUS_OK;
}

static unsigned answer_readyz(struct buf *body, void *context)
{
	struct monitor *monitor = context;
	pthread_mutex_lock(&monitor->mutex);
	const char *reason = unready(monitor);
	if (!reason)
		buf_append_text(body, "ready\n");
	else if (reason == monitor->reason)
		buf_printf(body, "%s\n", reason);
	else
		buf_printf(body, "waiting for %s\n", reason);
	pthread_mutex_unlock(&monitor->mutex);
	return reason ? STATUS_UNAVAILABLE : STATUS_OK;
}

static const char plain_text[] = "text/plain; charset=utf-8";

static const struct http_route routes[] = {
	{ "/metrics", EXPOSITION_CONTENT_TYPE, answer_metrics },
	{ "/healthz", plain_text, answer_healthz },
	{ "/readyz", plain_text, answer_readyz },
	{ NULL, NULL, NULL },
};

/* ---- life ---- */

static void monitor_free(struct monitor *monitor)
{
	pthread_mutex_destroy(&monitor->mutex);
	free(monitor);
}

err_t monitor_start(const char *address, struct monitor **ret_monitor, struct err_detail *detail)
{
	struct process_figures figures;
	struct monitor *monitor = calloc(1, sizeof *monitor);
	if (!monitor)
		abort();
	pthread_mutex_init(&monitor->mutex, NULL);
	monitor->reason = "starting";
	monitor->started_seconds =
		process_read(&figures) ? figures.start_time_seconds : (double)clock_wall_ms() / 1000;
	const struct http_options options = { .address = address, .routes = routes, .context = monitor };
	err_t err = http_start(&options, &monitor->server, detail);
	if (err) {
		monitor_free(monitor);
		return err;
	}
	log_notice("metrics are at http://%s/metrics", http_address(monitor->server));
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
	monitor->reason = reason;
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

struct ticker *monitor_ticker(struct monitor *monitor)
{
	return monitor ? http_ticker(monitor->server) : NULL;
}
