#include "http/status.h"

#include "common/clock.h"
#include "event/record/record.h"

static double quantile_ms(const struct histogram_figures *figures, uint64_t count, double share)
{
	double rank = share * (double)count, below = 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double in = (double)figures->buckets[i];
		if (in > 0 && below + in >= rank) {
			double from = i > 0 ? (double)histogram_bounds_us[i - 1] : 0;
			double to = i < HISTOGRAM_BUCKETS - 1 ? (double)histogram_bounds_us[i] : from;
			return (from + (to - from) * (rank - below) / in) / 1000;
		}
		below += in;
	}
	return 0;
}

static struct status_latency latency_of(const char *name, const struct histogram *histogram)
{
	struct status_latency latency = { .name = name };
	struct histogram_figures figures;
	histogram_read(histogram, &figures);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		latency.count += figures.buckets[i];
	latency.p50_ms = quantile_ms(&figures, latency.count, 0.5);
	latency.p95_ms = quantile_ms(&figures, latency.count, 0.95);
	latency.p99_ms = quantile_ms(&figures, latency.count, 0.99);
	return latency;
}

static void read_bands(const struct event_metrics *metrics, struct status *status)
{
	for (unsigned source = 0; source < EVENT_METRICS_SOURCES; source++)
		for (unsigned i = 0; i < EVENT_METRICS_BANDS; i++) {
			const struct event_metrics_band *from = &metrics->bands[source][i];
			double weight = (double)event_metrics_get(&from->weight);
			status->bands[source][i] = (struct status_band){
				.events = event_metrics_get(&from->events),
				.confidence = weight > 0
						      ? (double)event_metrics_get(&from->confidence) / weight
						      : 0,
				.correct =
					weight > 0 ? (double)event_metrics_get(&from->correct) / weight : 0,
			};
		}
}

void status_totals(const struct metrics_parts *parts, struct history_totals *ret_totals)
{
	*ret_totals = (struct history_totals){ 0 };
	if (!parts->pipeline)
		return;
	const struct event_metrics *metrics = pipeline_event_metrics(parts->pipeline);
	for (size_t i = 0; i < EVENT_METRICS_LEVELS; i++)
		ret_totals->levels[i] = event_metrics_get(&metrics->scored[i]);
	for (size_t i = 0; i < EVENT_METRICS_ACTIONS; i++)
		ret_totals->actions[i] = event_metrics_get(&metrics->actions[i]);
	for (size_t i = 0; i < ERR_COUNT_; i++)
		ret_totals->dead += event_metrics_get(&metrics->dead[i]);
	ret_totals->advisories = event_metrics_get(&metrics->records[OUTPUT_ADVISORY]);
}

static void gather_events(struct pipeline *pipeline, struct status *status)
{
	const struct event_metrics *metrics = pipeline_event_metrics(pipeline);
	pipeline_statistics(pipeline, &status->pipeline);
	for (size_t i = 0; i < ADVISORY_KIND_COUNT_; i++)
		status->kinds[i] = event_metrics_get(&metrics->advisories[i]);
	for (unsigned i = 0; i < STAGE_COUNT_; i++)
		status->latencies[i] = latency_of(stage_name((enum stage)i), &metrics->stages[i]);
	status->latencies[STAGE_COUNT_] = latency_of("from reading to commit", &metrics->whole);
	read_bands(metrics, status);
	status->recent_count = recent_read(metrics->recent, status->recent);
}

static void gather_judges(const struct metrics_parts *parts, struct status *status)
{
	status->judges_count = judge_members(parts->judge);
	for (size_t i = 0; i < status->judges_count; i++) {
		struct status_judge *judge = &status->judges[i];
		judge->name = judge_name(parts->judge, i);
		judge->stats = judge_stats(parts->judge, i);
		if (parts->pipeline)
			judge->cost = (double)event_metrics_get(
					      &pipeline_event_metrics(parts->pipeline)->cost_nano[i]) /
				      1e9;
	}
	status->judge_cache = status->judges_count > 0 && status->judges[0].stats.cache_connected;
}

static void gather_targets(struct targets *targets, struct status *status)
{
	status->targets_count = targets_count(targets);
	for (size_t i = 0; i < status->targets_count && i < STATUS_TARGETS; i++)
		targets_statistics(targets, i, &status->targets[i]);
}

static void gather_receiver(struct forwarder *forwarder, struct status *status)
{
	if (!forwarder)
		return;
	struct status_receiver *receiver = &status->receivers[status->receivers_count++];
	receiver->name = forwarder_heartbeat(forwarder)->name;
	forwarder_statistics(forwarder, &receiver->statistics);
}

static void gather_beside(const struct metrics_parts *parts, struct status *status)
{
	status->calibrates = parts->calibrator != NULL;
	status->learns = parts->learner != NULL;
	status->archives = parts->archive != NULL;
	status->keeps = parts->keeper != NULL;
	if (parts->calibrator)
		calibrator_statistics(parts->calibrator, &status->calibrator);
	if (parts->learner)
		learner_statistics(parts->learner, &status->learner);
	if (parts->archive)
		archive_statistics(parts->archive, &status->archive);
	if (parts->keeper)
		keeper_statistics(parts->keeper, &status->keeper);
	status->has_registry = parts->registry != NULL;
	if (parts->registry)
		registry_statistics(parts->registry, &status->registry);
	gather_receiver(parts->webhook, status);
	gather_receiver(parts->otlp, status);
}

void status_gather(const struct metrics_parts *parts, struct status *status)
{
	status->version = record_program_version();
	if (parts->source) {
		source_lag(parts->source, &status->lag);
		status->partitions_count = source_partitions(parts->source, status->partitions);
	}
	if (parts->credits) {
		credits_used(parts->credits, &status->in_flight_events, &status->in_flight_bytes);
		status->in_flight_events_limit = parts->credits->events_limit;
		status->in_flight_bytes_limit = parts->credits->bytes_limit;
	}
	status_totals(parts, &status->totals);
	if (parts->pipeline)
		gather_events(parts->pipeline, status);
	if (parts->publisher)
		publisher_statistics(parts->publisher, &status->publisher);
	if (parts->judge)
		gather_judges(parts, status);
	if (parts->targets)
		gather_targets(parts->targets, status);
	gather_beside(parts, status);
	if (parts->standing) {
		status->certificate_ends_ms = atomic_load(&parts->standing->certificate_ends_ms);
		status->kafka_restart_needed = atomic_load(&parts->standing->restart_needed);
		token_keeper_statistics(&status->tokens);
	}
	if (parts->reloads) {
		status->reloads_accepted = atomic_load(&parts->reloads->accepted);
		status->reloads_refused = atomic_load(&parts->reloads->refused);
		status->last_reload_refused = atomic_load(&parts->reloads->last_refused);
	}
}
