#include "service/app.h"

#include "audit/archive/archive.h"
#include "audit/keeper/keeper.h"
#include "avro/registry/registry.h"
#include "calibration/calibrator.h"
#include "calibration/learn/learner.h"
#include "command/settings.h"
#include "common/clock.h"
#include "common/log.h"
#include "event/archiving.h"
#include "event/overall.h"
#include "event/pipeline.h"
#include "http/monitor.h"
#include "kafka/dead_letter.h"
#include "kafka/permissions.h"
#include "kafka/publisher.h"
#include "kafka/reason.h"
#include "kafka/rights_watch.h"
#include "kafka/source.h"
#include "kafka/topics.h"
#include "service/background_task.h"
#include "service/forwarding.h"
#include "service/notify.h"
#include "service/rotation.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>

enum {
	KAFKA_START_MS = 10000, /* of one attempt; what others can mend is waited for */
	AGAIN_MS = 2000,	/* between attempts */
	SILENT_MS = 2000,	/* after which the journal says what a start waits for */
	LOG_AGAIN_MS = 60000,	/* when that has become something else */
	START_GOES_ON_MS = 60000,
	CATALOGS_START_MS = 10000,
	ROUND_MS = 2000, /* of the main loop, between status lines */
	DRAIN_ROUND_MS = 250,
	START_GRACE_MS = 2000, /* for a start that is not wanted any more */
	STALL_MS = 30000,      /* without a watchdog: when a thread counts as stuck */
	/* a stop, after the drain: until when each of them has its time, and all */
	SOURCE_STOP_MS = 2000,
	PUBLISHER_STOP_MS = 3000,
	CALIBRATOR_STOP_MS = 4000,
	STOP_MS = 4500,	   /* the manual says 5 s */
	RESOLVE_MS = 5000, /* less than a thread may be silent for */
	MAX_HEARTBEATS = 320,
};

/* Everything that runs. Parts are started from the top and stopped as stop_parts says. */
struct app {
	const char *config_file;
	struct arena *arena;
	struct arena *kafka_arena; /* of the settings for Kafka, when they were read again, or NULL */
	struct config *config;
	struct kafka_settings kafka;
	struct rotation *rotation;
	struct codec *codec;
	struct registry *registry; /* NULL: none is configured */
	struct targets *targets;
	struct judge *judge;
	struct credits credits;
	struct rights_watch *rights;
	struct publisher *publisher;
	struct pipeline *pipeline;
	struct source *source;
	struct calibrator *calibrator;
	struct audit_keeper *keeper;  /* NULL: there is no audit log */
	struct forwarder *webhook;    /* NULL: there is none */
	struct forwarder *otlp;	      /* likewise */
	struct model_current *models; /* NULL: nothing is learnt */
	struct learner *learner;      /* likewise */
	struct archive *archive;      /* NULL: nothing is archived */
	struct monitor *monitor;      /* NULL: no HTTP */
	struct heartbeat main;	      /* of the main loop: for the monitor */
	struct {
		pthread_mutex_t mutex; /* of what follows: the start's thread writes, the main thread reads */
		const char *what;      /* static text: what the start is at; NULL: nothing that takes long */
		char why[512];	       /* that it has to wait, or "" */
		bool others;	       /* for what others can mend, for as long as that takes */
	} waits;
	struct heartbeat *heartbeats[MAX_HEARTBEATS];
	size_t tickers_count;
	int64_t drain_timeout_ms; /* as last loaded */
	struct reloads reloads;
	struct err_detail refusal; /* of the last reload: why, and when */
	int64_t stop_us;	   /* when the parts were told to end (monotonic) */
	_Atomic bool ended;	   /* nothing more is published */

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

/* An event's, and what says that it was put back. */
enum { MAX_HEADERS = 64 + DEAD_LETTER_MARKS, MAX_HEADER_BYTES = 65536 };

/* Copies the message's headers, as far as they are sane; their bytes. */
static size_t copy_headers(struct event *event, const rd_kafka_headers_t *from)
{
	const char *name;
	const void *value;
	size_t len, bytes = 0, count = from ? rd_kafka_header_cnt(from) : 0;
	if (count > MAX_HEADERS)
		count = MAX_HEADERS;
	struct output_header *headers = ARENA_ARRAY(event->arena, struct output_header, count);
	event->headers = headers;
	for (size_t i = 0; i < count; i++) {
		if (rd_kafka_header_get_all(from, i, &name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    bytes + strlen(name) + len > MAX_HEADER_BYTES)
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
	struct event *event = pipeline_event(app->pipeline, message->value, message->key, &origin);
	size_t bytes = copy_headers(event, message->headers);
	if (bytes)
		credits_hold(&app->credits, event->origin.credit_bytes + bytes, &event->origin.credit_bytes);
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

static void on_held(struct event *event, void *context)
{
	struct app *app = context;
	credits_hold(&app->credits, event_held_bytes(event), &event->origin.credit_bytes);
}

static void on_ready(struct event *event, void *context)
{
	struct app *app = context;
	if (atomic_load(&event->step) == STEP_DISCARDED) {
		let_go(app, event);
		return;
	}
	if (atomic_load(&app->ended)) { /* as if its assignment were closed */
		event->publication.changed(&event->publication, PUBLICATION_DISCARDED);
		return;
	}
	credits_settle(&app->credits, event->raw.len + event->key.len, event_held_bytes(event),
		       &event->origin.credit_bytes);
	publisher_push(app->publisher, &event->publication);
}

static void on_published(struct event *event, void *context)
{
	let_go(context, event);
}

static void on_passed(struct assignment *assignment, void *context)
{
	const struct app *app = context;
	publisher_commit_prefixes(app->publisher, assignment);
}

/* ---- start ---- */

/* What the start waits for, a static text or NULL, and why: an error that others can mend, or NULL. */
static void starting(struct app *app, const char *what, const char *why)
{
	pthread_mutex_lock(&app->waits.mutex);
	app->waits.what = what;
	app->waits.others = why != NULL;
	snprintf(app->waits.why, sizeof app->waits.why, "%s", why ? why : "");
	pthread_mutex_unlock(&app->waits.mutex);
}

static err_t start_monitor(struct app *app, struct err_detail *detail)
{
	const struct config_http *http = &app->config->http;
	if (!http->configured || !*http->listen)
		return ERR_OK;
	const enum monitor_texts texts = http->show_texts == CONFIG_TEXTS_ALWAYS  ? MONITOR_TEXTS_ALWAYS
					 : http->show_texts == CONFIG_TEXTS_NEVER ? MONITOR_TEXTS_NEVER
										  : MONITOR_TEXTS_LOCAL;
	return monitor_start(http->listen, texts, &app->monitor, detail);
}

static err_t start_judge(struct app *app, struct err_detail *detail)
{
	struct judge_settings *settings;
	size_t count = settings_judges(app->config, app->arena, &settings);
	if (count == 0)
		return ERR_OK;
	settings_judges_daemon(app->config, app->arena, settings, count);
	return judge_start(settings, count, &app->judge, detail);
}

static err_t start_targets(struct app *app, struct err_detail *detail)
{
	struct targets_options options;
	if (app->config->targets_count == 0)
		return ERR_OK;
	settings_targets(app->config, app->arena, &options);
	return targets_start(&options, &app->targets, detail);
}

/* The first events would otherwise meet targets without a catalog, and be UNKNOWN. Catalogs are read while
 * Kafka is reached. */
static void await_catalogs(struct app *app)
{
	if (!app->targets)
		return;
	starting(app, "the catalogs of the targets", NULL);
	targets_wait_catalogs(app->targets, CATALOGS_START_MS);
}

static void start_pipeline(struct app *app)
{
	struct pipeline_options options = {
		.config = app->config,
		.codec = app->codec,
		.registry = app->registry,
		.targets = app->targets,
		.judge = app->judge,
		.models = app->models,
		.archive = app->archive,
		.workers = (unsigned)app->config->pipeline.workers,
		.max_series = (size_t)app->config->http.max_series,
		.held = on_held,
		.ready = on_ready,
		.published = on_published,
		.context = app,
	};
	if (app->config->kafka.cloud_events) {
		options.cloud_events.scored = app->config->kafka.scored_topic;
		options.cloud_events.advisory = app->config->kafka.advisory_topic;
	}
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

/* A broker that is away or does not let us in, a topic that is not there, a right that we do not have:
 * whoever has to mend that may take his time. */
static bool is_for_others(err_t err)
{
	return err == ERR_KAFKA_UNAVAILABLE || err == ERR_KAFKA_TOPIC;
}

/* Secrets may have been changed meanwhile; where they cannot be read just now, they stay as they were. */
static void read_secrets_again(struct app *app)
{
	struct arena *fresh = arena_new();
	struct kafka_settings settings;
	if (settings_kafka(app->config, fresh, &settings, NULL) != ERR_OK) {
		arena_free(fresh);
		return;
	}
	app->kafka = settings;
	arena_free(app->kafka_arena);
	app->kafka_arena = fresh;
}

/* Whether events can be read and published. What cannot be found out does not hold up the start: it shows
 * when it is refused. */
static err_t check_rights(const struct kafka_settings *settings, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	right_set missing;
	permissions_look(settings, RIGHTS_OF_SCORING, KAFKA_START_MS, NULL, &missing);
	if (!missing)
		return ERR_OK;
	rights_describe(settings, missing, &text);
	return err_fail(detail, ERR_KAFKA_TOPIC, "%s", text.data);
}

/* Until topics, the group and the transactional id can be used. */
static err_t reach_kafka(struct app *app, struct err_detail *detail)
{
	static const char broker[] = "the Kafka broker", topics[] = "Kafka topics and rights";
	starting(app, broker, NULL);
	for (;;) {
		err_t err = topics_check(&app->kafka, KAFKA_START_MS, detail);
		if (!err)
			err = check_rights(&app->kafka, detail);
		if (!err && !app->rights)
			app->rights = rights_watch_start(&app->kafka);
		if (!err)
			err = publisher_start(&app->kafka, app->rights, on_fatal, app, KAFKA_START_MS,
					      &app->publisher, detail);
		if (!is_for_others(err))
			return err;
		starting(app, err == ERR_KAFKA_TOPIC ? topics : broker, err_message(err, detail));
		usleep(AGAIN_MS * 1000);
		read_secrets_again(app);
	}
}

static void on_shortage(size_t events, void *context)
{
	struct app *app = context;
	publisher_set_shortage(app->publisher, events);
}

static err_t start_kafka(struct app *app, struct err_detail *detail)
{
	const struct source_callbacks source = {
		.message = on_message, .passed = on_passed, .fatal = on_fatal, .context = app
	};
	err_t err = reach_kafka(app, detail);
	if (err)
		return err;
	await_catalogs(app);
	starting(app, "Kafka", NULL);
	warn_of_feedback(app);
	start_pipeline(app);
	credits_on_shortage(&app->credits, on_shortage, app);
	err = source_start(&app->kafka, app->rights, &app->credits, &source, &app->source, detail);
	if (!err)
		publisher_set_consumer(app->publisher, source_consumer(app->source));
	return err;
}

/* Before the pipeline, which does not wait for a model. */
static void start_learner(struct app *app)
{
	const struct config_calibration *calibration = &app->config->calibration;
	if (!calibration->configured || calibration->model == CONFIG_MODEL_OFF)
		return;
	app->models = model_current_new();
	const struct learner_options options = {
		.dsn = calibration->dsn,
		.password_file = calibration->password_file,
		.kind = calibration->model == CONFIG_MODEL_MAP ? MODEL_MAP : MODEL_FEATURES,
		.current = app->models,
		.interval_ms = calibration->model_interval_s * 1000,
		.state_directory = app->config->pipeline.state_directory,
		.rules = overall_rules(app->config).ptr,
	};
	app->learner = learner_start(&options);
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
			   calibration->min_cases, calibration->drift_false_alarms_per_10k },
		.retention_days = calibration->retention_days,
		.feedback_topic = app->config->kafka.feedback_topic,
		.learns = app->models != NULL,
		.feedback_horizon_ms = calibration->feedback_horizon_s * 1000,
	};
	return calibrator_start(&options, &app->calibrator, detail);
}

static err_t start_keeper(struct app *app, struct err_detail *detail)
{
	const struct config_audit *audit = &app->config->audit;
	struct config_database database;
	if (!audit->log || !config_audit_database(app->config, &database))
		return ERR_OK;
	const struct keeper_options options = {
		.kafka = &app->kafka,
		.dsn = database.dsn,
		.password_file = database.password_file,
		.database_settings = database.settings,
		.key_file = audit->key_file,
		.checkpoint_topic = audit->checkpoint_topic,
		.checkpoint_file = audit->checkpoint_file,
		.checkpoint_interval_ms = audit->checkpoint_interval_s * 1000,
	};
	return keeper_start(&options, &app->keeper, detail);
}

/* For who reads other topics than events, and may block, but not for so long that he would count as stuck. */
static err_t resolve_schema(const struct schema_name *name, void *context, struct err_detail *detail)
{
	return registry_resolve(context, name, RESOLVE_MS, detail);
}

static void start_registry(struct app *app, const struct registry_settings *settings)
{
	if (!settings)
		return;
	app->registry = registry_start(settings, app->codec);
	codec_set_resolver(app->codec, resolve_schema, app->registry, NULL);
}

/* The ids of the schemas that outputs are written with; whoever has to register them may take his time. */
static err_t learn_written_ids(struct app *app, struct err_detail *detail)
{
	if (app->config->kafka.wire_format != CONFIG_CONFLUENT)
		return ERR_OK;
	static const char what[] = "the schema registry";
	starting(app, what, NULL);
	for (;;) {
		err_t err = settings_written_ids(app->config, app->codec, detail);
		if (err != ERR_SCHEMA_UNAVAILABLE && err != ERR_SCHEMA_UNKNOWN &&
		    err != ERR_SCHEMA_INCOMPATIBLE)
			return err;
		starting(app, what, err_message(err, detail));
		usleep(AGAIN_MS * 1000);
	}
}

static err_t start_parts(void *context, struct err_detail *detail)
{
	struct app *app = context;
	const struct config *config = app->config;
	const struct registry_settings *registry = settings_registry(config, app->arena);
	const struct codec_options codec = {
		.output = settings_output(config),
		.schema_directory = config->kafka.schema_directory,
		.max_event_bytes = (size_t)config->kafka.max_message_bytes,
		.max_named = registry ? registry->max_schemas : 0,
	};
	credits_init(&app->credits, (size_t)config->pipeline.max_in_flight,
		     (size_t)config->pipeline.max_in_flight_bytes - settings_read_ahead_bytes(config));
	err_t err = start_monitor(app, detail);
	if (!err)
		err = settings_kafka(config, app->arena, &app->kafka, detail);
	if (!err)
		err = codec_new(&codec, &app->codec, detail);
	if (!err)
		err = learn_written_ids(app, detail);
	if (!err)
		start_registry(app, registry);
	if (!err)
		err = start_targets(app, detail);
	if (!err)
		err = start_judge(app, detail);
	if (!err) {
		app->archive = archiving_start(config);
		archiving_of_prompts(app->archive, app->judge);
		start_learner(app);
	}
	if (!err)
		err = start_kafka(app, detail);
	if (!err)
		err = start_calibrator(app, detail);
	if (!err)
		err = start_keeper(app, detail);
	if (!err)
		err = forwarding_start_webhook(config, &app->kafka, app->codec, &app->webhook, detail);
	if (!err)
		err = forwarding_start_otlp(config, &app->kafka, app->codec, &app->otlp, detail);
	return err;
}

static void collect_heartbeats(struct app *app)
{
	struct heartbeat *const *workers;
	size_t count = pipeline_heartbeats(app->pipeline, &workers);
	app->heartbeats[app->tickers_count++] = source_heartbeat(app->source);
	app->heartbeats[app->tickers_count++] = publisher_heartbeat(app->publisher);
	if (app->targets)
		app->heartbeats[app->tickers_count++] = targets_heartbeat(app->targets);
	if (app->judge)
		app->heartbeats[app->tickers_count++] = judge_heartbeat(app->judge);
	if (app->judge && judge_cache_heartbeat(app->judge))
		app->heartbeats[app->tickers_count++] = judge_cache_heartbeat(app->judge);
	if (app->registry)
		app->heartbeats[app->tickers_count++] = registry_heartbeat(app->registry);
	if (app->calibrator)
		app->heartbeats[app->tickers_count++] = calibrator_heartbeat(app->calibrator);
	if (app->keeper)
		app->heartbeats[app->tickers_count++] = keeper_heartbeat(app->keeper);
	if (app->webhook)
		app->heartbeats[app->tickers_count++] = forwarder_heartbeat(app->webhook);
	if (app->otlp)
		app->heartbeats[app->tickers_count++] = forwarder_heartbeat(app->otlp);
	if (app->learner)
		app->heartbeats[app->tickers_count++] = learner_heartbeat(app->learner);
	if (app->archive)
		app->heartbeats[app->tickers_count++] = archive_heartbeat(app->archive);
	if (app->monitor)
		app->heartbeats[app->tickers_count++] = monitor_heartbeat(app->monitor);
	for (size_t i = 0; i < count && app->tickers_count < MAX_HEARTBEATS; i++)
		app->heartbeats[app->tickers_count++] = workers[i];
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
		.parts = { app->pipeline, app->source, app->publisher, app->rights, &app->credits,
			   app->targets, app->judge, app->calibrator, app->learner, app->archive, app->keeper,
			   app->webhook, app->otlp, &app->reloads, rotation_standing(app->rotation),
			   app->registry },
		.source = source_heartbeat(app->source),
		.publisher = publisher_heartbeat(app->publisher),
		.main = &app->main,
		.heartbeats = app->heartbeats,
		.tickers_count = app->tickers_count,
		.limits = notify_limits(stall_ms()),
	};
	heartbeat_beat(&app->main);
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

/* Of the time that a stop may take, as far as `limit_ms` after its beginning. */
static int64_t stop_left_ms(const struct app *app, int64_t limit_ms)
{
	int64_t left_ms = limit_ms - (clock_monotonic_us() - app->stop_us) / 1000;
	return left_ms > 0 ? left_ms : 0;
}

/*
 * Everything ends. The source ends first: it closes the assignment, so that whatever finishes from here on is
 * discarded; where its client does not return, for want of a broker, `ended` sees to that. Then the branches,
 * which answer all open calls; then the workers, which see these answers; then the publisher, to which
 * workers push. The calibrator, the keeper of the audit log and forwarders are told at once and end beside
 * them. False: some part has not ended in time.
 */
static bool close_parts(struct app *app)
{
	calibrator_close(app->calibrator, app->stop_us + (int64_t)PUBLISHER_STOP_MS * 1000);
	keeper_close(app->keeper, app->stop_us + (int64_t)PUBLISHER_STOP_MS * 1000);
	forwarder_close(app->webhook);
	forwarder_close(app->otlp);
	learner_close(app->learner, app->stop_us + (int64_t)PUBLISHER_STOP_MS * 1000);
	rights_watch_close(app->rights);
	bool all = source_close(app->source, stop_left_ms(app, SOURCE_STOP_MS));
	atomic_store(&app->ended, true);
	registry_give_up(app->registry);
	targets_close(app->targets);
	judge_close(app->judge);
	pipeline_close(app->pipeline);
	all &= publisher_close(app->publisher, stop_left_ms(app, PUBLISHER_STOP_MS));
	log_published(app->publisher);
	monitor_hide(app->monitor);
	judge_stop(TAKE_PTR(app->judge)); /* stores verdicts */
	archive_close(app->archive, app->stop_us + (int64_t)PUBLISHER_STOP_MS * 1000);
	all &= calibrator_ended(app->calibrator, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= keeper_ended(app->keeper, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= forwarder_ended(app->webhook, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= forwarder_ended(app->otlp, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= learner_ended(app->learner, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= archive_ended(app->archive, stop_left_ms(app, CALIBRATOR_STOP_MS));
	all &= rights_watch_ended(app->rights, stop_left_ms(app, CALIBRATOR_STOP_MS));
	return all;
}

/* First everything ends, then everything goes: each may look at the others until all have ended. */
static err_t stop_parts(void *context, struct err_detail *detail)
{
	struct app *app = context;
	(void)detail;
	if (!close_parts(app))
		return ERR_TIMEOUT;
	calibrator_stop(app->calibrator);
	keeper_stop(app->keeper);
	forwarder_stop(app->webhook);
	forwarder_stop(app->otlp);
	learner_stop(app->learner);
	archive_stop(app->archive);
	publisher_stop(app->publisher);
	source_stop(app->source);
	rights_watch_free(app->rights);
	pipeline_stop(app->pipeline);
	model_current_free(app->models);
	targets_stop(app->targets);
	registry_stop(app->registry);
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
	size_t parked = registry_give_up(app->registry);
	if (parked)
		log_notice("%zu events that wait for their schemas are left uncommitted; they are done again "
			   "after the next start",
			   parked);
	credits_used(&app->credits, &events, &bytes);
	while (events && !has_failed(app) && (left_us = deadline_us - clock_monotonic_us()) > 0) {
		const char *waiting_for;
		int64_t left_ms = left_us / 1000 + 1;
		credits_wait_below(&app->credits, 0, left_ms < DRAIN_ROUND_MS ? left_ms : DRAIN_ROUND_MS);
		heartbeat_beat(&app->main);
		notify_alive(app->heartbeats, app->tickers_count, STALL_MS, &waiting_for);
		credits_used(&app->credits, &events, &bytes);
		notify_status("Stopping, in flight %zu%s%s", events, waiting_for ? "; waiting for " : "",
			      waiting_for ? waiting_for : "");
	}
	if (events)
		log_notice("%zu events are left uncommitted; they are done again after the next start",
			   events);
}

/* ---- start and stop beside the main loop ---- */

struct wait {
	char text[KAFKA_REASON_SIZE + 640];
	bool explained; /* it says why */
	bool others;	/* for what others can mend */
};

/* What was reported of a start that has to wait. */
struct wait_log {
	int64_t began_us, logged_us, extended_us; /* 0: not yet */
	struct wait shown;			  /* on status and page */
	struct wait logged;			  /* in the journal */
};

/* What the start waits for now; false: for nothing. */
static bool describe_wait(struct app *app, struct wait *ret_wait)
{
	char reason[KAFKA_REASON_SIZE];
	pthread_mutex_lock(&app->waits.mutex);
	const char *what = app->waits.what, *why = app->waits.why;
	bool known = what && !*why && strstr(what, "Kafka") && kafka_reason(reason);
	ret_wait->others = app->waits.others;
	ret_wait->explained = *why || known;
	if (what)
		snprintf(ret_wait->text, sizeof ret_wait->text, "waiting for %s%s%s", what,
			 ret_wait->explained ? ": " : "", known ? reason : why);
	pthread_mutex_unlock(&app->waits.mutex);
	return what != NULL;
}

/* A wait that lasts; that of which the reason is known by now; from time to time another one. */
static bool is_worth_logging(const struct wait_log *wait_log, const struct wait *wait, int64_t now_us)
{
	if (!wait_log->logged_us)
		return now_us - wait_log->began_us > INT64_C(1000) * SILENT_MS;
	if (strcmp(wait->text, wait_log->logged.text) == 0)
		return false;
	return (wait->explained && !wait_log->logged.explained) ||
	       now_us - wait_log->logged_us > INT64_C(1000) * LOG_AGAIN_MS;
}

/* Status and readiness page hear of a wait at once, the journal when it lasts. */
static void report_wait(struct app *app, struct wait_log *wait_log)
{
	struct wait wait;
	int64_t now_us = clock_monotonic_us();
	if (!describe_wait(app, &wait))
		return;
	if (strcmp(wait.text, wait_log->shown.text) != 0) {
		char page[sizeof wait.text + 16];
		snprintf(page, sizeof page, "Starting; %s", wait.text);
		notify_status("%s", page);
		monitor_waits(app->monitor, page);
		wait_log->shown = wait;
	}
	if (wait.others && now_us - wait_log->extended_us > INT64_C(1000) * START_GOES_ON_MS / 4) {
		notify_start_goes_on(START_GOES_ON_MS);
		wait_log->extended_us = now_us;
	}
	if (is_worth_logging(wait_log, &wait, now_us)) {
		log_warning("the start is %s", wait.text);
		wait_log->logged = wait;
		wait_log->logged_us = now_us;
	}
}

/*
 * Starts all parts in a thread of its own, so that this one can feed the watchdog, tell what is waited for
 * and hear that the start is not wanted any more (`*ret_unwanted`). One that hangs then is left behind by
 * ending the process: nothing has been read yet that is not guarded by a transaction, and worker processes
 * end with us.
 */
static err_t start_beside(struct app *app, bool *ret_unwanted, struct err_detail *detail)
{
	struct background_task task;
	struct wait_log wait_log = { .began_us = clock_monotonic_us() };
	background_task_begin(&task, "start", start_parts, app, detail);
	int64_t unwanted_us = 0;
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	while (!background_task_done(&task)) {
		if (background_task_wait(&stops) && !unwanted_us) {
			unwanted_us = clock_monotonic_us();
			notify_stopping();
		}
		if (unwanted_us && clock_monotonic_us() - unwanted_us > (int64_t)START_GRACE_MS * 1000) {
			log_notice("stopped before the start was complete");
			_exit(EXIT_SUCCESS);
		}
		if (!unwanted_us)
			report_wait(app, &wait_log);
		notify_watchdog();
		rotation_look(app->rotation);
	}
	err_t err = background_task_end(&task);
	if (wait_log.logged_us && !err)
		log_notice("the wait is over after %" PRId64 " s",
			   (clock_monotonic_us() - wait_log.began_us) / 1000000);
	*ret_unwanted = unwanted_us != 0;
	return err;
}

/* What was not published is guarded by its transaction; queries of targets are cancelled by the processes
 * beside the workers, whatever ends those. */
static void leave(const struct app *app, err_t err, const struct err_detail *detail)
{
	log_warning(
		"not all parts have ended within %d s; what is not published is done again after the next "
		"start",
		(STOP_MS + 500) / 1000);
	if (err)
		log_write(LOG_LEVEL_CRITICAL, NULL, "%s", err_message(err, detail));
	else if (app->fatal)
		log_write(LOG_LEVEL_CRITICAL, NULL, "%s", err_message(app->fatal, &app->fatal_detail));
	_exit(err_exit_status(err ? err : app->fatal));
}

/*
 * Ends all parts within STOP_MS, feeding the watchdog meanwhile. Waits have their own limits; but librdkafka
 * does not always keep those that it is given, and a server may keep silent: parts that do not end in time
 * are left behind by ending the process. `err` is what ended the start.
 */
static void stop_beside(struct app *app, err_t err, const struct err_detail *detail)
{
	struct background_task task;
	sigset_t none;
	sigemptyset(&none);
	app->stop_us = clock_monotonic_us();
	background_task_begin(&task, "stop", stop_parts, app, NULL);
	while (!background_task_done(&task) && stop_left_ms(app, STOP_MS) > 0) {
		background_task_wait(&none);
		notify_watchdog();
	}
	if (!background_task_done(&task) || background_task_end(&task))
		leave(app, err, detail);
}

/* ---- main loop ---- */

static err_t reload_judge(struct app *app, const struct config *fresh, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct judge_settings *settings;
	size_t count = settings_judges(fresh, arena, &settings);
	return app->judge ? judge_reload(app->judge, settings, count, detail) : ERR_OK;
}

/* What runs stays; it is told until a file is accepted, since who has asked for it may not look into the
 * journal. */
static void refuse_reload(struct app *app, const char *reason)
{
	char at[sizeof "2026-01-01T00:00:00Z"];
	time_t now_s = time(NULL);
	struct tm now;
	log_error("the configuration stays as it was: %s", reason);
	strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now_s, &now));
	err_fail(&app->refusal, ERR_CONFIG_FILE, "the configuration of %s was refused: %s", at, reason);
	atomic_fetch_add(&app->reloads.refused, 1);
	atomic_store(&app->reloads.last_refused, true);
	notify_ready();
}

/* What is learnt, and whether, takes effect at the next start, whatever the pipeline reads it for. */
static void keep_learning(const struct config *started, struct config *fresh)
{
	fresh->calibration.configured = started->calibration.configured;
	fresh->calibration.model = started->calibration.model;
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
		refuse_reload(app, err_message(err, &detail));
		return;
	}
	_cleanup_(buf_free) struct buf names = BUF_INIT;
	if (config_restart_needed(app->config, fresh, &names) > 0)
		log_warning("these settings take effect at the next start only: %s", names.data);
	keep_learning(app->config, fresh);
	learner_set_rules(app->learner, overall_rules(fresh).ptr);
	archiving_of_prompts(app->archive, app->judge);
	pipeline_reload(app->pipeline, fresh);
	app->drain_timeout_ms = fresh->pipeline.drain_timeout_ms;
	log_set_level((enum log_level)fresh->log.level);
	config_unref(fresh);
	log_notice("the configuration was loaded again");
	rotation_reload(app->rotation);
	atomic_fetch_add(&app->reloads.accepted, 1);
	atomic_store(&app->reloads.last_refused, false);
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

/* One of them in full: a status is a line. */
static void append_stops(struct app *app, struct buf *status)
{
	struct source_lag lag;
	source_lag(app->source, &lag);
	if (!lag.stands_still)
		return;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	source_describe_stops(app->source, 1, &text);
	buf_printf(status, "; %u partitions stopped: %.*s", lag.stopped,
		   text.len ? (int)(strchr(text.data, '\n') - text.data) : 0, text.data ? text.data : "");
}

/* The first of them in full, with what grants it. */
static void append_rights(struct app *app, struct buf *status)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	rights_watch_describe(app->rights, &text);
	if (text.len)
		buf_printf(status, "; Kafka refuses: %.*s", (int)(strchr(text.data, '\n') - text.data),
			   text.data);
}

/* Scoring goes on without it. */
static void append_audit(struct app *app, struct buf *status)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	keeper_describe_stops(app->keeper, 1, &text);
	if (text.len)
		buf_printf(status, "; stopped: %.*s", (int)text.len - 1, text.data);
}

/* Events whose schema is known go on without it. */
static void append_registry(struct app *app, struct buf *status)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	registry_describe(app->registry, &text);
	if (text.len)
		buf_printf(status, "; %s", text.data);
}

static void show_status(struct app *app, const char *waiting_for)
{
	struct pipeline_statistics statistics;
	size_t events, bytes;
	pipeline_statistics(app->pipeline, &statistics);
	credits_used(&app->credits, &events, &bytes);
	char reason[KAFKA_REASON_SIZE] = "";
	if (waiting_for && strncmp(waiting_for, "Kafka", 5) == 0)
		kafka_reason(reason);
	_cleanup_(buf_free) struct buf status = BUF_INIT;
	buf_printf(&status, "Scored %" PRIu64 ", dead letters %" PRIu64 ", in flight %zu%s%s%s%s%s",
		   statistics.scored, statistics.dead, events, waiting_for ? "; waiting for " : "",
		   waiting_for ? waiting_for : "", *reason ? " (" : "", reason, *reason ? ")" : "");
	if (events)
		append_lag(app, &statistics, &status);
	if (atomic_load(&app->reloads.last_refused))
		buf_printf(&status, "; %s", app->refusal.message);
	append_rights(app, &status);
	append_stops(app, &status);
	append_audit(app, &status);
	append_registry(app, &status);
	notify_status("%s", status.data);
}

/* The next signal within a round, 0 when there was none, −1 when a part has failed for good. */
static int next_signal(const struct app *app, int signals, int round_ms)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = app->fatal_fd, .events = POLLIN } };
	struct signalfd_siginfo info;
	if (poll(fds, 2, round_ms) <= 0)
		return 0;
	if (fds[1].revents)
		return -1;
	return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

static void serve(struct app *app, int signals)
{
	int64_t limit_ms = stall_ms(), next_status_us = 0;
	for (int wait_ms = 0;; wait_ms = (int)heartbeat_rest(&app->main, ROUND_MS)) {
		const char *waiting_for;
		int signal = next_signal(app, signals, wait_ms);
		if (signal == -1 || signal == SIGTERM || signal == SIGINT)
			return;
		if (signal == SIGHUP) {
			reload(app);
			next_status_us = 0;
		}
		heartbeat_beat(&app->main);
		notify_alive(app->heartbeats, app->tickers_count, limit_ms, &waiting_for);
		if (clock_monotonic_us() < next_status_us)
			continue;
		next_status_us = clock_monotonic_us() + (int64_t)ROUND_MS * 1000;
		rotation_look(app->rotation);
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
	heartbeat_limit_rests(stall_ms());
	notify_status("Starting");
	err_t err = start_beside(app, &unwanted, detail);
	if (!err && !unwanted) {
		collect_heartbeats(app);
		show_parts(app);
		log_notice("assayd " ASSAYD_VERSION " is ready, instance %s", app->kafka.instance_id);
		notify_ready();
		serve(app, signals);
		notify_stopping();
		if (!has_failed(app))
			drain(app);
	}
	stop_beside(app, unwanted ? ERR_OK : err, detail);
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
	_cleanup_(rotation_cleanup) struct rotation *rotation = rotation_new(config);
	struct app app = { .config_file = config_file,
			   .arena = arena,
			   .config = config,
			   .rotation = rotation,
			   .drain_timeout_ms = config->pipeline.drain_timeout_ms };
	pthread_mutex_init(&app.fatal_mutex, NULL);
	pthread_mutex_init(&app.waits.mutex, NULL);
	app.fatal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	app.main.name = "main";
	err = run(&app, signals, detail);
	monitor_stop(app.monitor);
	close(app.fatal_fd);
	pthread_mutex_destroy(&app.fatal_mutex);
	pthread_mutex_destroy(&app.waits.mutex);
	arena_free(app.kafka_arena);
	return err;
}
