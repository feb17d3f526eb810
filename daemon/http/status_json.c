/* The status as JSON: what the page shows, by the same names. */
#include "http/attention.h"
#include "http/status.h"

#include <jansson.h>
#include <math.h>

static void set_count(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

static void set_number(json_t *object, const char *name, double value)
{
	json_object_set_new(object, name, isfinite(value) ? json_real(value) : json_null());
}

/* Texts are UTF-8 already, or were made fit; what is not is replaced. */
static void set_text(json_t *object, const char *name, const char *text)
{
	json_t *value = text ? json_string(text) : json_null();
	json_object_set_new(object, name, value ? value : json_string("(not UTF-8)"));
}

static void set_time(json_t *object, const char *name, int64_t at_ms)
{
	json_object_set_new(object, name, at_ms > 0 ? json_integer(at_ms) : json_null());
}

static const char *level_name(unsigned level)
{
	return level == EVENT_METRICS_NO_LEVEL ? "NONE" : advisory_level_name((enum confidence_level)level);
}

static json_t *totals_of(const struct history_totals *totals)
{
	json_t *object = json_object(), *levels = json_object(), *actions = json_object();
	for (unsigned i = 0; i < EVENT_METRICS_LEVELS; i++)
		set_count(levels, level_name(i), totals->levels[i]);
	for (unsigned i = 0; i < EVENT_METRICS_ACTIONS; i++)
		set_count(actions, advisory_action_name((enum record_action)i), totals->actions[i]);
	json_object_set_new(object, "levels", levels);
	json_object_set_new(object, "actions", actions);
	set_count(object, "dead_letters", totals->dead);
	set_count(object, "advisories", totals->advisories);
	return object;
}

static json_t *spans_of(const struct history_span *spans, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = totals_of(&spans[i].counts);
		json_object_set_new(object, "start_ms", json_integer(spans[i].start_ms));
		json_object_set_new(object, "oldest_age_ms", json_integer(spans[i].oldest_age_ms));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *waiting_of(const struct status *status)
{
	json_t *object = json_object(), *steps = json_object();
	json_object_set_new(object, "oldest_age_ms", json_integer(status->lag.oldest_age_ms));
	set_count(object, "behind", status->lag.behind);
	set_count(object, "unread", status->lag.unread);
	set_number(object, "map_fill", status->lag.map_fill);
	set_count(object, "in_flight", status->in_flight_events);
	set_count(object, "in_flight_limit", status->in_flight_events_limit);
	set_count(object, "in_flight_bytes", status->in_flight_bytes);
	set_count(object, "in_flight_bytes_limit", status->in_flight_bytes_limit);
	for (unsigned step = 0; step < STEP_COUNT_; step++)
		set_count(steps, step_name((enum step)step),
			  status->pipeline.at_step[step] > 0 ? (uint64_t)status->pipeline.at_step[step] : 0);
	json_object_set_new(object, "steps", steps);
	return object;
}

static json_t *attention_json(const struct status *status)
{
	struct attention items[ATTENTION_MAX];
	json_t *array = json_array();
	size_t count = attention_of(status, items);
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		set_text(object, "code", items[i].code);
		set_text(object, "text", items[i].text);
		set_text(object, "name", items[i].name);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *standing_of(const struct partition_standing *standing, int64_t now_ms)
{
	json_t *object = json_object();
	bool waits = standing->oldest_ms < now_ms;
	json_object_set_new(object, "partition", json_integer(standing->partition));
	set_text(object, "state", board_state_name(standing->state));
	json_object_set_new(object, "oldest_age_ms", json_integer(waits ? now_ms - standing->oldest_ms : 0));
	set_number(object, "map_fill", standing->fill);
	set_count(object, "behind", standing->behind);
	return object;
}

static json_t *partitions_of(const struct status *status)
{
	const struct source_lag *lag = &status->lag;
	json_t *object = json_object(), *worst = json_array();
	set_count(object, "assigned", lag->assigned);
	set_count(object, "paused", lag->paused);
	set_count(object, "stopped", lag->stopped);
	set_count(object, "recreated", lag->recreated);
	for (size_t i = 0; i < status->partitions_count; i++)
		json_array_append_new(worst, standing_of(&status->partitions[i], status->now_ms));
	json_object_set_new(object, "worst", worst);
	return object;
}

static json_t *publisher_of(const struct publisher_statistics *publisher)
{
	json_t *object = json_object();
	set_count(object, "transactions_committed", publisher->transactions_committed);
	set_count(object, "transactions_aborted", publisher->transactions_aborted);
	set_count(object, "publications_refused", publisher->publications_refused);
	json_object_set_new(object, "refused_ms", json_integer(publisher->refused_ms));
	return object;
}

static json_t *latencies_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i <= STAGE_COUNT_; i++) {
		const struct status_latency *latency = &status->latencies[i];
		json_t *object = json_object();
		set_text(object, "stage", i < STAGE_COUNT_ ? latency->name : "event");
		set_count(object, "count", latency->count);
		set_number(object, "p50_ms", latency->p50_ms);
		set_number(object, "p95_ms", latency->p95_ms);
		set_number(object, "p99_ms", latency->p99_ms);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *reliability_of(const struct status *status)
{
	json_t *object = json_object();
	for (unsigned source = 0; source < EVENT_METRICS_SOURCES; source++) {
		json_t *array = json_array();
		for (unsigned i = 0; i < EVENT_METRICS_BANDS; i++) {
			const struct status_band *band = &status->bands[source][i];
			if (!band->events)
				continue;
			json_t *item = json_object();
			set_number(item, "from", (double)i / EVENT_METRICS_BANDS);
			set_number(item, "to", (double)(i + 1) / EVENT_METRICS_BANDS);
			set_count(item, "events", band->events);
			set_number(item, "confidence", band->confidence);
			set_number(item, "correct", band->correct);
			json_array_append_new(array, item);
		}
		json_object_set_new(object, event_metrics_source_name(source), array);
	}
	return object;
}

static json_t *judges_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i < status->judges_count; i++) {
		const struct status_judge *judge = &status->judges[i];
		json_t *object = json_object();
		set_text(object, "name", judge->name);
		json_object_set_new(object, "breaker_open", json_boolean(judge->stats.breaker_open));
		set_count(object, "requests", (uint64_t)judge->stats.requests);
		set_count(object, "failed", (uint64_t)judge->stats.failed);
		set_count(object, "saturated", (uint64_t)judge->stats.saturated);
		set_count(object, "budget_spent", (uint64_t)judge->stats.spent);
		set_count(object, "in_flight", (uint64_t)judge->stats.in_flight);
		set_count(object, "waiting", (uint64_t)judge->stats.waiting);
		set_count(object, "prompt_tokens", (uint64_t)judge->stats.prompt_tokens);
		set_count(object, "completion_tokens", (uint64_t)judge->stats.completion_tokens);
		set_count(object, "day_tokens", (uint64_t)judge->stats.day_tokens);
		json_object_set_new(object, "day_tokens_limit",
				    judge->stats.day_tokens_limit
					    ? json_integer(judge->stats.day_tokens_limit)
					    : json_null());
		set_number(object, "cost", judge->cost);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *targets_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i < status->targets_count && i < STATUS_TARGETS; i++) {
		const struct target_statistics *target = &status->targets[i];
		json_t *object = json_object();
		set_text(object, "name", target->name);
		json_object_set_new(object, "up", json_boolean(target->up));
		set_count(object, "waiting", target->waiting);
		set_count(object, "workers", target->workers);
		set_count(object, "died", target->died);
		set_count(object, "killed", target->killed);
		set_count(object, "denied", target->denied);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *drift_of(const struct calibrator_statistics *calibrator)
{
	json_t *array = json_array();
	for (size_t i = 0; i < calibrator->drift_open_count && i < DRIFT_OPEN_LISTED; i++) {
		json_t *object = json_object();
		set_time(object, "opened_at_ms", calibrator->drift_open[i].opened_at_ms);
		set_text(object, "application", calibrator->drift_open[i].application);
		set_text(object, "summary", calibrator->drift_open[i].summary);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *calibration_of(const struct calibrator_statistics *calibrator)
{
	json_t *object = json_object();
	json_object_set_new(object, "database_up", json_boolean(calibrator->database_up));
	set_count(object, "counted", calibrator->cases);
	set_count(object, "feedback", calibrator->feedback_counted);
	set_count(object, "behind", calibrator->behind);
	set_count(object, "waiting_partitions", calibrator->held);
	set_time(object, "waiting_since_ms", calibrator->waiting_since_ms);
	set_count(object, "drift_opened", calibrator->drift_opened);
	set_count(object, "drift_closed", calibrator->drift_closed);
	set_count(object, "drift_open", calibrator->drift_open_count);
	json_object_set_new(object, "drift_episodes", drift_of(calibrator));
	return object;
}

static json_t *model_of(const struct learner_statistics *learner)
{
	json_t *object = json_object();
	set_count(object, "version", (uint64_t)learner->version);
	set_count(object, "replaced", learner->replaced);
	set_count(object, "failures", learner->failures);
	json_object_set_new(object, "age_ms",
			    learner->age_ms >= 0 ? json_integer(learner->age_ms) : json_null());
	return object;
}

static json_t *archive_of(const struct archive_statistics *archive)
{
	json_t *object = json_object();
	json_object_set_new(object, "database_up", json_boolean(archive->up));
	set_count(object, "waiting", archive->waiting);
	set_count(object, "lost", archive->lost);
	return object;
}

static json_t *registry_of(const struct registry_statistics *registry)
{
	json_t *object = json_object();
	json_object_set_new(object, "up", json_boolean(!registry->down));
	set_time(object, "since_ms", registry->since_ms);
	set_text(object, "reason", registry->down ? registry->fault.message : NULL);
	set_count(object, "schemas", registry->schemas);
	set_count(object, "waiting", registry->waiting);
	json_object_set_new(object, "oldest_ms", json_integer(registry->oldest_ms));
	return object;
}

static json_t *log_of(const struct keeper_statistics *keeper)
{
	json_t *object = json_object();
	json_object_set_new(object, "database_up", json_boolean(keeper->database_up));
	set_count(object, "records", keeper->records);
	set_count(object, "checkpoints", keeper->checkpoints);
	set_count(object, "behind", keeper->behind);
	set_count(object, "stopped_partitions", keeper->stopped);
	set_time(object, "waiting_since_ms", keeper->waiting_since_ms);
	set_time(object, "unsigned_since_ms", keeper->unsigned_since_ms);
	return object;
}

static json_t *receivers_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i < status->receivers_count; i++) {
		const struct forwarder_statistics *statistics = &status->receivers[i].statistics;
		json_t *object = json_object();
		set_text(object, "name", status->receivers[i].name);
		json_object_set_new(object, "up", json_boolean(!statistics->away && !statistics->gone));
		set_count(object, "sent", statistics->sent);
		set_count(object, "given_up", statistics->given_up);
		set_count(object, "behind", statistics->behind);
		set_time(object, "waiting_since_ms", statistics->waiting_since_ms);
		set_text(object, "reason", *statistics->reason ? statistics->reason : NULL);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *advisories_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i < status->recent_count; i++) {
		const struct recent_advisory *advisory = &status->recent[i];
		json_t *object = json_object();
		set_time(object, "raised_at_ms", advisory->raised_at_ms);
		set_text(object, "kinds", advisory->kinds);
		set_text(object, "action", advisory->action);
		set_text(object, "level", advisory->level);
		set_text(object, "event_id", advisory->event_id);
		set_text(object, "application", advisory->application);
		set_text(object, "target", advisory->target);
		set_text(object, "reasons", advisory->codes);
		set_text(object, "summary", status->texts ? advisory->summary : NULL);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *changes_of(const struct status *status)
{
	json_t *array = json_array();
	for (size_t i = 0; i < status->changes_count; i++) {
		json_t *object = json_object();
		set_time(object, "at_ms", status->changes[i].at_ms);
		set_text(object, "text", status->changes[i].text);
		json_array_append_new(array, object);
	}
	return array;
}

static void set_parts(json_t *root, const struct status *status)
{
	json_t *reloads = json_object(), *kinds = json_object();
	for (unsigned kind = 0; kind < ADVISORY_KIND_COUNT_; kind++)
		set_count(kinds, advisory_kind_name((enum advisory_kind)kind), status->kinds[kind]);
	set_count(kinds, advisory_kind_name(ADVISORY_CALIBRATION_DRIFT), status->calibrator.drift_published);
	set_count(reloads, "accepted", status->reloads_accepted);
	set_count(reloads, "refused", status->reloads_refused);
	json_object_set_new(reloads, "last_refused", json_boolean(status->last_reload_refused));
	json_object_set_new(root, "received", json_integer((json_int_t)status->pipeline.received));
	json_object_set_new(root, "totals", totals_of(&status->totals));
	json_object_set_new(root, "kinds", kinds);
	json_object_set_new(root, "attention", attention_json(status));
	json_object_set_new(root, "waiting", waiting_of(status));
	json_object_set_new(root, "partitions", partitions_of(status));
	json_object_set_new(root, "publisher", publisher_of(&status->publisher));
	json_object_set_new(root, "latencies", latencies_of(status));
	json_object_set_new(root, "reliability", reliability_of(status));
	json_object_set_new(root, "judges", judges_of(status));
	json_object_set_new(root, "targets", targets_of(status));
	json_object_set_new(root, "reloads", reloads);
	json_object_set_new(root, "calibration",
			    status->calibrates ? calibration_of(&status->calibrator) : json_null());
	json_object_set_new(root, "model", status->learns ? model_of(&status->learner) : json_null());
	json_object_set_new(root, "archive", status->archives ? archive_of(&status->archive) : json_null());
	json_object_set_new(root, "registry",
			    status->has_registry ? registry_of(&status->registry) : json_null());
	json_object_set_new(root, "audit_log", status->keeps ? log_of(&status->keeper) : json_null());
	json_object_set_new(root, "receivers", receivers_of(status));
	json_object_set_new(root, "advisories", advisories_of(status));
}

void status_write_json(const struct status *status, struct buf *out)
{
	json_t *root = json_object();
	set_time(root, "now_ms", status->now_ms);
	set_time(root, "started_ms", status->started_ms);
	set_text(root, "version", status->version);
	json_object_set_new(root, "ready", json_boolean(status->ready));
	json_object_set_new(root, "stuck", json_boolean(status->stuck));
	set_time(root, "since_ms", status->since_ms);
	set_text(root, "reason", status->reason.len ? status->reason.data : NULL);
	if (status->shown)
		set_parts(root, status);
	json_object_set_new(root, "changes", changes_of(status));
	json_object_set_new(root, "minutes", spans_of(status->minutes, HISTORY_MINUTES));
	json_object_set_new(root, "hours", spans_of(status->hours, HISTORY_HOURS));
	_cleanup_(cleanup_free) char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	buf_append_text(out, text);
	buf_append_char(out, '\n');
}
