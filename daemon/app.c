#include "app.h"

#include "calibration/calibrator.h"
#include "command/settings.h"
#include "common/clock.h"
#include "common/log.h"
#include "errand.h"
#include "event/pipeline.h"
#include "http/monitor.h"
#include "kafka/publisher.h"
#include "kafka/source.h"
#include "kafka/topics.h"
#include "notify.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

enum {
	KAFKA_START_MS = 30000,
	CATALOGS_START_MS = 10000,
	ROUND_MS = 250,		   /* of the main loop */
	START_GRACE_MS = 2000,	   /* for a start that is not wanted any more */
	STATUS_MS = 2000,	   /* between status lines */
	STALL_MS = 30000,	   /* without a watchdog: when a thread counts as stuck */
	PUBLISHER_STOP_MS = 20000, /* above the transaction timeout */
	STOP_MS = 60000,	   /* of all parts: with the drain still below TimeoutStopSec */
	MOST_TICKERS = 320,
};

/* Everything that runs. Parts are started from the top and stopped as stop_parts says. */
struct app {
	const char *config_file;
	struct arena *arena;
	struct config *config;
	struct kafka_settings kafka;
	struct codec *codec;
	struct targets *targets;
	struct judge *judge;
	struct credits credits;
	struct publisher *publisher;
	struct pipeline *pipeline;
	struct source *source;
	struct calibrator *calibrator;
	struct monitor *monitor; /* NULL: no HTTP */
	struct ticker main;	 /* of the main loop: for the monitor */
	struct ticker *tickers[MOST_TICKERS];
	size_t tickers_count;
	int64_t drain_timeout_ms; /* as last loaded */

	int fatal_fd;		     /* eventfd: a part can go on no longer */
	pthread_mutex_t fatal_mutex; /* guards the two below */
	err_t fatal;
	struct err_detail fatal_detail;
};

static void on_fatal(err_t err, const char *message, void *context)
{
	struct app *app = context;
	uint64_t one = 1;
	pthread_mutex_lock(&app->fatal_mutex);
	if (!app->fatal) {
		app->fatal = err;
		err_fail(&app->fatal_detail, err, "%s", message);
	}
	pthread_mutex_unlock(&app->fatal_mutex);
	if (write(app->fatal_fd, &one, sizeof one) < 0)
		abort();
}

/* ---- the way of an event between the parts ---- */

enum { MOST_HEADERS = 64, MOST_HEADER_BYTES = 65536 };

/* Copies the message's headers, as far as they are sane; their bytes. */
static size_t copy_headers(struct event *event, const rd_kafka_headers_t *from)
{
	const char *name;
	const void *value;
	size_t len, bytes = 0, count = from ? rd_kafka_header_cnt(from) : 0;
	if (count > MOST_HEADERS)
		count = MOST_HEADERS;
	struct output_header *headers = ARENA_ARRAY(event->arena, struct output_header, count);
	event->headers = headers;
	for (size_t i = 0; i < count; i++) {
		if (rd_kafka_header_get_all(from, i, &name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    bytes + strlen(name) + len > MOST_HEADER_BYTES)
			continue;
		bytes += strlen(name) + len;
		headers[event->headers_count++] =
			(struct output_header){ arena_strdup(event->arena, name),
						arena_text(event->arena, value, len) };
	}
	return bytes;
}

static void on_message(const struct source_message *message, void *context)
{
	struct app *app = context;
	const struct event_origin origin = {
		.topic = str_from(app->kafka.input_topic),
		.partition = message->partition,
		.offset = message->offset,
		.assignment = message->assignment,
		.credit_bytes = message->credit_bytes,
	};
	struct event *event = event_new(app->pipeline, message->value, message->key, &origin);
	size_t bytes = copy_headers(event, message->headers);
	event->origin.credit_bytes += bytes;
	credits_grow(&app->credits, bytes);
	pipeline_submit(app->pipeline, event);
}

static void let_go(struct app *app, struct event *event)
{
	struct assignment *assignment = event->origin.assignment;
	size_t bytes = event->origin.credit_bytes;
	event_free(event);
	assignment_leave(assignment);
	credits_return(&app->credits, bytes);
}

static void on_ready(struct event *event, void *context)
{
	struct app *app = context;
	if (atomic_load(&event->step) == STEP_DISCARDED) {
		let_go(app, event);
		return;
	}
	event->origin.credit_bytes += event->encoded.len;
	credits_grow(&app->credits, event->encoded.len);
	publisher_push(app->publisher, &event->publication);
}

static void on_published(struct event *event, void *context)
{
	let_go(context, event);
}

/* ---- start ---- */

/* For whoever watches; `what` is a static text. */
static void starting(struct app *app, const char *what)
{
	notify_status("%s", what);
	monitor_waits(app->monitor, what);
}

static err_t start_monitor(struct app *app, struct err_detail *detail)
{
	const struct config_http *http = &app->config->http;
	if (!http->configured || !*http->listen)
		return ERR_OK;
	return monitor_start(http->listen, &app->monitor, detail);
}

static err_t start_judge(struct app *app, struct err_detail *detail)
{
	struct judge_settings settings;
	if (!app->config->judge.configured)
		return ERR_OK;
	settings_judge(app->config, &settings);
	settings_judge_daemon(app->config, app->arena, &settings);
	return judge_start(&settings, &app->judge, detail);
}

static err_t start_targets(struct app *app, struct err_detail *detail)
{
	struct targets_options options;
	if (app->config->targets_count == 0)
		return ERR_OK;
	starting(app, "Starting; waiting for the catalogs of the targets");
	settings_targets(app->config, app->arena, &options);
	err_t err = targets_start(&options, &app->targets, detail);
	if (!err) /* the first events would otherwise meet targets without a catalog, and be UNKNOWN */
		targets_wait_catalogs(app->targets, CATALOGS_START_MS);
	return err;
}

static void start_pipeline(struct app *app)
{
	const struct pipeline_options options = {
		.config = app->config,
		.codec = app->codec,
		.targets = app->targets,
		.judge = app->judge,
		.workers = (unsigned)app->config->pipeline.workers,
		.ready = on_ready,
		.published = on_published,
		.context = app,
	};
	app->pipeline = pipeline_start(&options);
}

/* Feedback may come later; events do not wait for it. */
static void warn_of_feedback(const struct app *app)
{
	struct err_detail detail = { "" };
	err_t err = topics_check_feedback(&app->kafka, KAFKA_START_MS, &detail);
	if (err)
		log_warning("%s; until then no feedback is counted", err_message(err, &detail));
}

static err_t start_kafka(struct app *app, struct err_detail *detail)
{
	const struct source_callbacks source = { .message = on_message, .fatal = on_fatal, .context = app };
	starting(app, "Starting; waiting for the Kafka broker");
	err_t err = topics_check(&app->kafka, KAFKA_START_MS, detail);
	if (!err)
		err = publisher_start(&app->kafka, on_fatal, app, KAFKA_START_MS, &app->publisher, detail);
	if (err)
		return err;
	warn_of_feedback(app);
	start_pipeline(app);
	err = source_start(&app->kafka, &app->credits, &source, &app->source, detail);
	if (!err)
		publisher_set_consumer(app->publisher, source_consumer(app->source));
	return err;
}

static err_t start_calibrator(struct app *app, struct err_detail *detail)
{
	const struct config_calibration *calibration = &app->config->calibration;
	if (!calibration->configured)
		return ERR_OK;
	const struct calibrator_options options = {
		.kafka = &app->kafka,
		.codec = app->codec,
		.dsn = calibration->dsn,
		.password_file = calibration->password_file,
		.bucket_s = calibration->bucket_s,
		.max_segments = (size_t)calibration->max_segments,
		.drift = { calibration->drift_opens_below, calibration->drift_closes_at,
			   calibration->min_cases },
		.retention_days = calibration->retention_days,
		.feedback_topic = app->config->kafka.feedback_topic,
		.feedback_horizon_ms = calibration->feedback_horizon_s * 1000,
	};
	return calibrator_start(&options, &app->calibrator, detail);
}

static err_t start_parts(void *context, struct err_detail *detail)
{
	struct app *app = context;
	const struct config *config = app->config;
	const struct codec_options codec = {
		.output = config->kafka.wire_format == CONFIG_JSON ? WIRE_JSON : WIRE_SINGLE_OBJECT,
		.schema_directory = config->kafka.schema_directory,
		.max_event_bytes = (size_t)config->kafka.max_message_bytes,
	};
	credits_init(&app->credits, (size_t)config->pipeline.max_in_flight,
		     (size_t)config->pipeline.max_in_flight_bytes);
	err_t err = start_monitor(app, detail);
	if (!err)
		err = settings_kafka(config, app->arena, &app->kafka, detail);
	if (!err)
		err = codec_new(&codec, &app->codec, detail);
	if (!err)
		err = start_targets(app, detail);
	if (!err)
		err = start_judge(app, detail);
	if (!err)
		err = start_kafka(app, detail);
	if (!err)
		err = start_calibrator(app, detail);
	return err;
}

static void collect_tickers(struct app *app)
{
	struct ticker *const *workers;
	size_t count = pipeline_tickers(app->pipeline, &workers);
	app->tickers[app->tickers_count++] = source_ticker(app->source);
	app->tickers[app->tickers_count++] = publisher_ticker(app->publisher);
	if (app->targets)
		app->tickers[app->tickers_count++] = targets_ticker(app->targets);
	if (app->judge)
		app->tickers[app->tickers_count++] = judge_ticker(app->judge);
	if (app->judge && judge_cache_ticker(app->judge))
		app->tickers[app->tickers_count++] = judge_cache_ticker(app->judge);
	if (app->calibrator)
		app->tickers[app->tickers_count++] = calibrator_ticker(app->calibrator);
	if (app->monitor)
		app->tickers[app->tickers_count++] = monitor_ticker(app->monitor);
	for (size_t i = 0; i < count && app->tickers_count < MOST_TICKERS; i++)
		app->tickers[app->tickers_count++] = workers[i];
}

/* For how long a thread may be silent. */
static int64_t stall_ms(void)
{
	int64_t watchdog_ms = notify_watchdog_ms();
	return watchdog_ms ? watchdog_ms : STALL_MS;
}

static void show_parts(struct app *app)
{
	const struct monitor_view view = {
		.parts = { app->pipeline, app->source, app->publisher, &app->credits, app->targets,
			   app->judge, app->calibrator },
		.source = source_ticker(app->source),
		.publisher = publisher_ticker(app->publisher),
		.main = &app->main,
		.tickers = app->tickers,
		.tickers_count = app->tickers_count,
		.limits = notify_limits(stall_ms()),
	};
	tick(&app->main);
	monitor_show(app->monitor, &view);
}

/* ---- stop ---- */

/* What a run amounted to, for whoever reads the journal. */
static void log_published(struct publisher *publisher)
{
	struct publisher_statistics statistics;
	if (!publisher)
		return;
	publisher_statistics(publisher, &statistics);
	log_notice("published %" PRIu64 " events in %" PRIu64 " transactions, %" PRIu64 " aborted; %" PRIu64
		   " outputs refused, %" PRIu64 " producers replaced, %" PRIu64
		   " events left to the next start",
		   statistics.publications_committed, statistics.transactions_committed,
		   statistics.transactions_aborted, statistics.publications_refused,
		   statistics.producers_renewed, statistics.publications_discarded);
}

/*
 * First everything ends, then everything goes. The source ends first: it closes the assignment, so that
 * whatever finishes from here on is discarded. Then the branches, which answer all open calls; then the
 * workers, which see these answers; then the publisher, to which workers push. Each of them may still look at
 * the others until all have ended.
 */
static err_t stop_parts(void *context, struct err_detail *detail)
{
	struct app *app = context;
	(void)detail;
	source_close(app->source);
	targets_close(app->targets);
	judge_close(app->judge);
	pipeline_close(app->pipeline);
	publisher_close(app->publisher, PUBLISHER_STOP_MS);
	log_published(app->publisher);
	monitor_hide(app->monitor);
	calibrator_stop(app->calibrator);
	publisher_stop(app->publisher);
	source_stop(app->source);
	pipeline_stop(app->pipeline);
	judge_stop(app->judge);
	targets_stop(app->targets);
	codec_free(app->codec);
	credits_destroy(&app->credits);
	return ERR_OK;
}

static bool has_failed(const struct app *app)
{
	struct pollfd fd = { .fd = app->fatal_fd, .events = POLLIN };
	return poll(&fd, 1, 0) > 0;
}

/* Reads no more and lets what is in flight finish, for as long as the configuration allows. */
static void drain(struct app *app)
{
	int64_t left_us, deadline_us = clock_monotonic_us() + app->drain_timeout_ms * 1000;
	size_t events, bytes;
	monitor_waits(app->monitor, "Stopping");
	source_pause(app->source);
	credits_used(&app->credits, &events, &bytes);
	while (events && !has_failed(app) && (left_us = deadline_us - clock_monotonic_us()) > 0) {
		const char *waiting_for;
		int64_t left_ms = left_us / 1000 + 1;
		credits_wait_below(&app->credits, 0, left_ms < ROUND_MS ? left_ms : ROUND_MS);
		tick(&app->main);
		notify_alive(app->tickers, app->tickers_count, STALL_MS, &waiting_for);
		credits_used(&app->credits, &events, &bytes);
		notify_status("Stopping, in flight %zu%s%s", events, waiting_for ? "; waiting for " : "",
			      waiting_for ? waiting_for : "");
	}
	if (events)
		log_notice("%zu events are left uncommitted; they are done again after the next start",
			   events);
}

/* ---- start and stop beside the main loop ---- */

/*
 * Starts all parts in a thread of its own, so that this one can feed the watchdog and hear that the start is
 * not wanted any more (`*ret_unwanted`). One that hangs then is left behind by ending the process: nothing
 * has been read yet that is not guarded by a transaction, and worker processes end with us.
 */
static err_t start_beside(struct app *app, bool *ret_unwanted, struct err_detail *detail)
{
	struct errand errand;
	errand_begin(&errand, "start", start_parts, app, detail);
	int64_t unwanted_us = 0;
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	while (!errand_done(&errand)) {
		if (errand_wait(&stops) && !unwanted_us) {
			unwanted_us = clock_monotonic_us();
			notify_stopping();
		}
		if (unwanted_us && clock_monotonic_us() - unwanted_us > (int64_t)START_GRACE_MS * 1000) {
			log_notice("stopped before the start was complete");
			_exit(EXIT_SUCCESS);
		}
		notify_watchdog();
	}
	*ret_unwanted = unwanted_us != 0;
	return errand_end(&errand);
}

/*
 * Every wait in there has its own deadline, and the watchdog is fed meanwhile; but librdkafka does not always
 * keep the deadlines that it is given. A part that does not end is left behind by ending the process: what
 * it had not published is guarded by its transaction.
 */
static void stop_beside(struct app *app)
{
	struct errand errand;
	int64_t deadline_us = clock_monotonic_us() + (int64_t)STOP_MS * 1000;
	sigset_t none;
	sigemptyset(&none);
	errand_begin(&errand, "stop", stop_parts, app, NULL);
	while (!errand_done(&errand)) {
		errand_wait(&none);
		notify_watchdog();
		if (clock_monotonic_us() < deadline_us)
			continue;
		log_warning("not all parts have ended within %d s; what is not published is done again after "
			    "the next start",
			    STOP_MS / 1000);
		_exit(app->fatal ? err_exit_status(app->fatal) : EXIT_SUCCESS);
	}
	errand_end(&errand);
}

/* ---- main loop ---- */

static err_t reload_judge(struct app *app, const struct config *fresh, struct err_detail *detail)
{
	struct judge_settings settings;
	if (!app->judge || !fresh->judge.configured)
		return ERR_OK;
	settings_judge(fresh, &settings);
	return judge_reload(app->judge, &settings, detail);
}

static void reload(struct app *app)
{
	struct err_detail detail = { "" };
	struct config *fresh;
	notify_reloading();
	err_t err = config_load(app->config_file, &fresh, &detail);
	if (!err && (err = reload_judge(app, fresh, &detail)))
		config_unref(fresh);
	if (err) {
		log_error("the configuration stays as it was: %s", err_message(err, &detail));
		notify_ready();
		return;
	}
	_cleanup_(buf_free) struct buf names = BUF_INIT;
	if (config_restart_needed(app->config, fresh, &names) > 0)
		log_warning("these settings take effect at the next start only: %s", names.data);
	pipeline_reload(app->pipeline, fresh);
	app->drain_timeout_ms = fresh->pipeline.drain_timeout_ms;
	log_set_level((enum log_level)fresh->log.level);
	config_unref(fresh);
	log_notice("the configuration was loaded again");
	notify_ready();
}

/* What a committed prefix cannot tell: how long the slowest has waited, and why nothing moves. */
static void append_lag(struct app *app, const struct pipeline_statistics *statistics, struct buf *status)
{
	struct source_lag lag;
	source_lag(app->source, &lag);
	buf_printf(status,
		   "; oldest %" PRId64 " s, ready %" PRId64 ", in a transaction %" PRId64 ", map %u %%",
		   lag.oldest_age_ms / 1000, statistics->at_step[STEP_READY],
		   statistics->at_step[STEP_IN_TXN], lag.map_percent);
	if (lag.paused)
		buf_printf(status, ", %u partitions paused", lag.paused);
}

static void show_status(struct app *app, const char *waiting_for)
{
	struct pipeline_statistics statistics;
	size_t events, bytes;
	pipeline_statistics(app->pipeline, &statistics);
	credits_used(&app->credits, &events, &bytes);
	_cleanup_(buf_free) struct buf status = BUF_INIT;
	buf_printf(&status, "Scored %" PRIu64 ", dead letters %" PRIu64 ", in flight %zu%s%s",
		   statistics.scored, statistics.dead, events, waiting_for ? "; waiting for " : "",
		   waiting_for ? waiting_for : "");
	if (events)
		append_lag(app, &statistics, &status);
	notify_status("%s", status.data);
}

/* The next signal within a round, 0 when there was none, −1 when a part has failed for good. */
static int next_signal(const struct app *app, int signals)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = app->fatal_fd, .events = POLLIN } };
	struct signalfd_siginfo info;
	if (poll(fds, 2, ROUND_MS) <= 0)
		return 0;
	if (fds[1].revents)
		return -1;
	return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

static void serve(struct app *app, int signals)
{
	int64_t limit_ms = stall_ms(), next_status_us = 0;
	for (;;) {
		const char *waiting_for;
		int signal = next_signal(app, signals);
		if (signal == -1 || signal == SIGTERM || signal == SIGINT)
			return;
		if (signal == SIGHUP)
			reload(app);
		tick(&app->main);
		notify_alive(app->tickers, app->tickers_count, limit_ms, &waiting_for);
		if (clock_monotonic_us() < next_status_us)
			continue;
		next_status_us = clock_monotonic_us() + (int64_t)STATUS_MS * 1000;
		show_status(app, waiting_for);
	}
}

/* Blocked in every thread, read by the main loop alone. */
static int block_signals(void)
{
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	return signalfd(-1, &mask, SFD_CLOEXEC);
}

static err_t run(struct app *app, int signals, struct err_detail *detail)
{
	if (signals < 0 || app->fatal_fd < 0)
		return err_fail(detail, ERR_OS, "signals cannot be received: %s", strerror(errno));
	bool unwanted = false;
	notify_status("Starting");
	err_t err = start_beside(app, &unwanted, detail);
	if (!err && !unwanted) {
		collect_tickers(app);
		show_parts(app);
		log_notice("assayd " ASSAYD_VERSION " is ready, instance %s", app->kafka.instance_id);
		notify_ready();
		serve(app, signals);
		notify_stopping();
		if (!has_failed(app))
			drain(app);
	}
	stop_beside(app);
	if (unwanted)
		return ERR_OK;
	if (!err && app->fatal)
		err = err_fail(detail, app->fatal, "%s", app->fatal_detail.message);
	return err;
}

err_t app_run(const char *config_file, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	/* first of all: a stop that comes now is an orderly one already */
	_cleanup_(cleanup_close) int signals = block_signals();
	err_t err = config_load(config_file, &config, detail);
	if (err)
		return err;
	log_set_level((enum log_level)config->log.level);
	struct app app = { .config_file = config_file,
			   .arena = arena,
			   .config = config,
			   .drain_timeout_ms = config->pipeline.drain_timeout_ms };
	pthread_mutex_init(&app.fatal_mutex, NULL);
	app.fatal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	app.main.name = "main";
	err = run(&app, signals, detail);
	monitor_stop(app.monitor);
	close(app.fatal_fd);
	pthread_mutex_destroy(&app.fatal_mutex);
	return err;
}
