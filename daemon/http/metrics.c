#include "http/metrics.h"

#include "common/clock.h"
#include "event/event_metrics.h"
#include "event/event_metrics_segments.h"

static void begin(struct exposition *out, enum metric metric)
{
	exposition_begin(out, metric);
}

/* ---- events ---- */

static void write_lag(struct exposition *out, struct source *source)
{
	struct source_lag lag;
	source_lag(source, &lag);
	exposition_one_value(out, METRIC_OLDEST_AGE, (double)lag.oldest_age_ms / 1000);
	exposition_one_value(out, METRIC_MAP_FILL, lag.map_fill);
	begin(out, METRIC_PARTITIONS);
	exposition_count(out, lag.assigned, LABELS({ "state", "assigned" }));
	exposition_count(out, lag.paused, LABELS({ "state", "paused" }));
	exposition_count(out, lag.stopped, LABELS({ "state", "stopped" }));
	exposition_one_count(out, METRIC_RECREATED, lag.recreated);
	exposition_one_count(out, METRIC_LAG, lag.behind);
	exposition_one_count(out, METRIC_UNREAD, lag.unread);
}

static void write_in_flight(struct exposition *out, struct credits *credits)
{
	size_t events, bytes;
	credits_used(credits, &events, &bytes);
	exposition_one_count(out, METRIC_IN_FLIGHT_EVENTS, events);
	exposition_one_count(out, METRIC_IN_FLIGHT_LIMIT_EVENTS, credits->events_limit);
	exposition_one_count(out, METRIC_IN_FLIGHT_BYTES, bytes);
	exposition_one_count(out, METRIC_IN_FLIGHT_LIMIT_BYTES, credits->bytes_limit);
}

static const char *level_name(unsigned level)
{
	return level == EVENT_METRICS_NO_LEVEL ? "NONE" : advisory_level_name((enum confidence_level)level);
}

static void write_finished(struct exposition *out, const struct event_metrics *event_metrics)
{
	uint64_t dead = 0;
	begin(out, METRIC_FINISHED);
	for (unsigned level = 0; level < EVENT_METRICS_LEVELS; level++)
		exposition_count(out, event_metrics_get(&event_metrics->scored[level]),
				 LABELS({ "result", "scored" }, { "level", level_name(level) }));
	for (unsigned err = 0; err < ERR_COUNT_; err++)
		dead += event_metrics_get(&event_metrics->dead[err]);
	exposition_count(out, dead, LABELS({ "result", "dead_letter" }, { "level", "NONE" }));
}

/* Codes of one disposition, and whatever else has come by. */
static void write_codes(struct exposition *out, enum metric metric, const char *label,
			const _Atomic uint64_t counts[ERR_COUNT_], enum err_disposition disposition)
{
	begin(out, metric);
	for (unsigned err = 1; err < ERR_COUNT_; err++) {
		uint64_t count = event_metrics_get(&counts[err]);
		if (count || err_disposition((err_t)err) == disposition)
			exposition_count(out, count, LABELS({ label, err_name((err_t)err) }));
	}
}

static const char *const verdicts[EVENT_METRICS_VERDICTS] = { "SAFE", "UNSAFE", "UNKNOWN" };
static const char *const decisions[EVENT_METRICS_DECISIONS] = { "REJECT", "WARN", "ACCEPT", "ACCEPT_HIGH",
								"UNJUDGED" };
static const char *const evaluation_outcomes[] = { "failed", "passed" };

static void write_findings(struct exposition *out, const struct event_metrics *event_metrics)
{
	write_codes(out, METRIC_METRIC_ERRORS, "code", event_metrics->errors, ERR_DISPOSITION_FAIL_METRIC);
	begin(out, METRIC_SAFETY);
	for (unsigned i = 0; i < EVENT_METRICS_VERDICTS; i++)
		exposition_count(out, event_metrics_get(&event_metrics->verdicts[i]),
				 LABELS({ "verdict", verdicts[i] }));
	begin(out, METRIC_VALIDATIONS);
	for (unsigned i = 0; i < VALIDATION_STATUS_COUNT_; i++)
		exposition_count(
			out, event_metrics_get(&event_metrics->validations[i]),
			LABELS({ "status", target_validation_status_name((enum validation_status)i) }));
	begin(out, METRIC_EVALUATIONS);
	for (unsigned i = 0; i < 2; i++)
		exposition_count(out, event_metrics_get(&event_metrics->evaluations[i]),
				 LABELS({ "outcome", evaluation_outcomes[i] }));
	begin(out, METRIC_GRADINGS);
	for (unsigned validator = 0; validator < EVENT_METRICS_VALIDATORS; validator++)
		for (unsigned i = 0; i < EVENT_METRICS_CLASSES; i++)
			exposition_count(out, event_metrics_get(&event_metrics->gradings[validator][i]),
					 LABELS({ "validator", event_metrics_validator_name(validator) },
						{ "class", event_metrics_class_name(i) }));
}

/* One sample of a segment. */
#define SEGMENT_LABELS(segment, ...)                                                                         \
	LABELS({ "application", (segment)->application }, { "model", (segment)->model }, __VA_ARGS__)

static void write_labels(struct exposition *out, const struct event_metrics_segment *segment)
{
	static const char *const labels[] = { "wrong", "correct" };
	for (unsigned source = LABEL_RESULT; source < EVENT_METRICS_SOURCES; source++)
		for (unsigned i = 0; i < 2; i++)
			exposition_count(out, segment->labels[source][i],
					 SEGMENT_LABELS(segment,
							{ "source", event_metrics_source_name(source) },
							{ "label", labels[i] }));
}

static void write_segments(struct exposition *out, const struct event_metrics_segments *segments)
{
	struct event_metrics_segment *all;
	size_t count = event_metrics_segments_read(segments, &all);
	begin(out, METRIC_SEGMENT_LEVELS);
	for (size_t i = 0; i < count; i++)
		for (unsigned level = 0; level < EVENT_METRICS_LEVELS; level++)
			exposition_count(out, all[i].levels[level],
					 SEGMENT_LABELS(&all[i], { "level", level_name(level) }));
	begin(out, METRIC_SEGMENT_VERDICTS);
	for (size_t i = 0; i < count; i++)
		for (unsigned verdict = 0; verdict < EVENT_METRICS_VERDICTS; verdict++)
			exposition_count(out, all[i].verdicts[verdict],
					 SEGMENT_LABELS(&all[i], { "verdict", verdicts[verdict] }));
	begin(out, METRIC_SEGMENT_LABELS);
	for (size_t i = 0; i < count; i++)
		write_labels(out, &all[i]);
	begin(out, METRIC_SEGMENT_ACTIONS);
	for (size_t i = 0; i < count; i++)
		for (unsigned action = 0; action < EVENT_METRICS_ACTIONS; action++)
			exposition_count(
				out, all[i].actions[action],
				SEGMENT_LABELS(&all[i], { "action", advisory_action_name(
									    (enum record_action)action) }));
	begin(out, METRIC_SEGMENT_DECISIONS);
	for (size_t i = 0; i < count; i++)
		for (unsigned decision = 0; decision < EVENT_METRICS_DECISIONS; decision++)
			exposition_count(out, all[i].decisions[decision],
					 SEGMENT_LABELS(&all[i], { "decision", decisions[decision] }));
	begin(out, METRIC_SEGMENT_EVALUATIONS);
	for (size_t i = 0; i < count; i++)
		for (unsigned outcome = 0; outcome < 2; outcome++)
			exposition_count(
				out, all[i].evaluations[outcome],
				SEGMENT_LABELS(&all[i], { "outcome", evaluation_outcomes[outcome] }));
	free(all);
}

/* Those about events, and those about drift, which the calibrator raises. */
static void write_advisories(struct exposition *out, const struct event_metrics *event_metrics,
			     struct calibrator *calibrator)
{
	struct calibrator_statistics statistics = { 0 };
	if (calibrator)
		calibrator_statistics(calibrator, &statistics);
	begin(out, METRIC_ADVISORIES);
	for (unsigned kind = 0; kind < ADVISORY_KIND_COUNT_; kind++)
		exposition_count(out,
				 kind == ADVISORY_CALIBRATION_DRIFT
					 ? statistics.drift_published
					 : event_metrics_get(&event_metrics->advisories[kind]),
				 LABELS({ "kind", advisory_kind_name((enum advisory_kind)kind) }));
}

/* A label for one of several judges; a judge that is alone has none. */
#define JUDGE_LABEL(name)                                                                                    \
	{                                                                                                    \
		(name) ? "judge" : NULL, (name)                                                              \
	}

static void write_answers_of(struct exposition *out, const struct event_metrics *event_metrics, size_t member,
			     const char *judge, bool given)
{
	for (unsigned question = 0; question < QUESTION_COUNT_; question++)
		for (unsigned answer = 0; answer < ANSWER_COUNT_; answer++)
			if (!judge || given == (answer != ANSWER_IDENTICAL))
				exposition_count(
					out,
					event_metrics_get(&event_metrics->answers[member][question][answer]),
					LABELS({ "question", event_metrics_question_name(
								     (enum event_metrics_question)question) },
					       { "answer", event_metrics_answer_name(
								   (enum event_metrics_answer)answer) },
					       JUDGE_LABEL(given ? judge : NULL)));
}

/* Nobody is asked about what is identical to the truth: that has no judge. */
static void write_answers(struct exposition *out, const struct event_metrics *event_metrics,
			  const struct judge *judge)
{
	size_t members = judge ? judge_members(judge) : 1;
	begin(out, METRIC_ANSWERS);
	for (size_t i = 0; i < members; i++)
		write_answers_of(out, event_metrics, i, judge ? judge_name(judge, i) : NULL, true);
	if (judge && judge_name(judge, 0))
		write_answers_of(out, event_metrics, 0, judge_name(judge, 0), false);
}

static void write_durations(struct exposition *out, const struct event_metrics *event_metrics)
{
	begin(out, METRIC_EVENT_DURATION);
	exposition_histogram(out, &event_metrics->whole, LABELS());
	begin(out, METRIC_STAGE_DURATION);
	for (unsigned stage = 0; stage < STAGE_COUNT_; stage++)
		exposition_histogram(out, &event_metrics->stages[stage],
				     LABELS({ "stage", stage_name((enum stage)stage) }));
}

static void write_published(struct exposition *out, const struct event_metrics *event_metrics)
{
	static const char *const topics[OUTPUT_TOPIC_COUNT_] = { "scored", "advisory", "dead_letter" };
	begin(out, METRIC_PUBLISHED_RECORDS);
	for (unsigned i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		exposition_count(out, event_metrics_get(&event_metrics->records[i]),
				 LABELS({ "topic", topics[i] }));
	begin(out, METRIC_PUBLISHED_BYTES);
	for (unsigned i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		exposition_count(out, event_metrics_get(&event_metrics->bytes[i]),
				 LABELS({ "topic", topics[i] }));
}

static void write_steps(struct exposition *out, const struct pipeline_statistics *statistics)
{
	begin(out, METRIC_AT_STEP);
	for (unsigned step = 0; step < STEP_COUNT_; step++) {
		int64_t count =
			statistics->at_step[step]; /* may be below 0 for a moment: steps are counted apart */
		exposition_count(out, count > 0 ? (uint64_t)count : 0,
				 LABELS({ "step", step_name((enum step)step) }));
	}
}

static void write_analyses(struct exposition *out, struct pipeline *pipeline)
{
	const struct analysis_cache_statistics analyses = pipeline_analyses(pipeline);
	begin(out, METRIC_ANALYSES);
	exposition_count(out, analyses.hits, LABELS({ "cache", "hit" }));
	exposition_count(out, analyses.misses, LABELS({ "cache", "miss" }));
	exposition_one_count(out, METRIC_ANALYSES_BYTES, analyses.bytes);
}

static void write_events(struct exposition *out, struct pipeline *pipeline, struct calibrator *calibrator,
			 const struct judge *judge)
{
	const struct event_metrics *event_metrics = pipeline_event_metrics(pipeline);
	struct pipeline_statistics statistics;
	pipeline_statistics(pipeline, &statistics);
	exposition_one_count(out, METRIC_RECEIVED, statistics.received);
	write_finished(out, event_metrics);
	write_codes(out, METRIC_DEAD_LETTERS, "reason", event_metrics->dead, ERR_DISPOSITION_DEAD_LETTER);
	write_steps(out, &statistics);
	write_durations(out, event_metrics);
	write_analyses(out, pipeline);
	write_findings(out, event_metrics);
	write_segments(out, event_metrics->segments);
	write_advisories(out, event_metrics, calibrator);
	write_answers(out, event_metrics, judge);
	write_published(out, event_metrics);
}

/* ---- publishing ---- */

static void write_rights(struct exposition *out, struct rights_watch *rights)
{
	right_set needed = rights_watch_needed(rights), missing = rights_watch_missing(rights);
	begin(out, METRIC_RIGHTS_MISSING);
	for (enum right right = 0; right < RIGHT_COUNT_; right++) {
		struct right_name name;
		if (!(needed & RIGHT_BIT(right)))
			continue;
		rights_watch_name(rights, right, &name);
		exposition_count(out, (missing & RIGHT_BIT(right)) != 0,
				 LABELS({ "operation", name.operation }, { "resource", name.resource },
					{ "name", name.name }));
	}
}

static void write_publishing(struct exposition *out, struct publisher *publisher, struct rights_watch *rights,
			     struct pipeline *pipeline)
{
	struct publisher_statistics published;
	struct pipeline_statistics events = { 0 };
	publisher_statistics(publisher, &published);
	if (pipeline)
		pipeline_statistics(pipeline, &events);
	exposition_one_count(out, METRIC_DISCARDED, events.discarded + published.publications_discarded);
	begin(out, METRIC_TRANSACTIONS);
	exposition_count(out, published.transactions_committed, LABELS({ "outcome", "committed" }));
	exposition_count(out, published.transactions_aborted, LABELS({ "outcome", "aborted" }));
	exposition_one_count(out, METRIC_REFUSED, published.publications_refused);
	int64_t rights_ms = rights_watch_age_ms(rights), refused_ms = published.refused_ms;
	exposition_one_value(out, METRIC_KAFKA_REFUSED,
			     (double)(rights_ms > refused_ms ? rights_ms : refused_ms) / 1000);
	if (rights)
		write_rights(out, rights);
	exposition_one_count(out, METRIC_PRODUCERS, published.producers_renewed);
}

/* ---- judge ---- */

/* One family for all judges: a sample each. */
static void write_judge_counts(struct exposition *out, enum metric metric, struct judge *judge, size_t offset)
{
	begin(out, metric);
	for (size_t i = 0; i < judge_members(judge); i++) {
		const struct judge_stats stats = judge_stats(judge, i);
		int64_t count;
		memcpy(&count, (const char *)&stats + offset, sizeof count);
		exposition_count(out, (uint64_t)count, LABELS(JUDGE_LABEL(judge_name(judge, i))));
	}
}

#define WRITE_JUDGES(out, metric, judge, member)                                                             \
	write_judge_counts((out), METRIC_##metric, (judge), offsetof(struct judge_stats, member))

static void write_judge_hits(struct exposition *out, struct judge *judge)
{
	begin(out, METRIC_JUDGE_HITS);
	for (size_t i = 0; i < judge_members(judge); i++) {
		const struct judge_stats stats = judge_stats(judge, i);
		const char *name = judge_name(judge, i);
		exposition_count(out, (uint64_t)(stats.hits - stats.shared_calls),
				 LABELS({ "tier", "memory" }, JUDGE_LABEL(name)));
		exposition_count(out, (uint64_t)stats.shared_calls,
				 LABELS({ "tier", "shared" }, JUDGE_LABEL(name)));
		exposition_count(out, (uint64_t)stats.shared, LABELS({ "tier", "open" }, JUDGE_LABEL(name)));
	}
}

static void write_judge_tokens(struct exposition *out, struct judge *judge)
{
	begin(out, METRIC_JUDGE_TOKENS);
	for (size_t i = 0; i < judge_members(judge); i++) {
		const struct judge_stats stats = judge_stats(judge, i);
		const char *name = judge_name(judge, i);
		exposition_count(out, (uint64_t)stats.prompt_tokens,
				 LABELS({ "kind", "prompt" }, JUDGE_LABEL(name)));
		exposition_count(out, (uint64_t)stats.completion_tokens,
				 LABELS({ "kind", "completion" }, JUDGE_LABEL(name)));
	}
}

static void write_judge_cost(struct exposition *out, struct judge *judge,
			     const struct event_metrics *event_metrics)
{
	begin(out, METRIC_JUDGE_COST);
	for (size_t i = 0; i < judge_members(judge); i++)
		exposition_value(out, (double)event_metrics_get(&event_metrics->cost_nano[i]) / 1e9,
				 LABELS(JUDGE_LABEL(judge_name(judge, i))));
}

static void write_judge_open(struct exposition *out, struct judge *judge)
{
	begin(out, METRIC_JUDGE_OPEN);
	for (size_t i = 0; i < judge_members(judge); i++) {
		const struct judge_stats stats = judge_stats(judge, i);
		const char *name = judge_name(judge, i);
		exposition_count(out, (uint64_t)stats.in_flight,
				 LABELS({ "state", "in_flight" }, JUDGE_LABEL(name)));
		exposition_count(out, (uint64_t)stats.waiting,
				 LABELS({ "state", "waiting" }, JUDGE_LABEL(name)));
	}
}

static void write_judge(struct exposition *out, struct judge *judge, struct pipeline *pipeline)
{
	const struct judge_stats first = judge_stats(judge, 0);
	WRITE_JUDGES(out, JUDGE_REQUESTS, judge, requests);
	write_judge_hits(out, judge);
	WRITE_JUDGES(out, JUDGE_SATURATED, judge, saturated);
	WRITE_JUDGES(out, JUDGE_SPENT, judge, spent);
	WRITE_JUDGES(out, JUDGE_FAILED, judge, failed);
	write_judge_tokens(out, judge);
	if (pipeline)
		write_judge_cost(out, judge, pipeline_event_metrics(pipeline));
	WRITE_JUDGES(out, JUDGE_BREAKER, judge, breaker_open);
	write_judge_open(out, judge);
	WRITE_JUDGES(out, JUDGE_PLACES, judge, slots);
	exposition_one_count(out, METRIC_JUDGE_CACHE_UP, (uint64_t)first.cache_connected);
	exposition_one_count(out, METRIC_JUDGE_CACHE_LOST, (uint64_t)first.cache_lost);
}

/* ---- targets ---- */

/* One family for all targets: a sample each. */
static void write_target_counts(struct exposition *out, enum metric metric, struct targets *targets,
				size_t offset)
{
	begin(out, metric);
	for (size_t i = 0; i < targets_count(targets); i++) {
		struct target_statistics statistics;
		targets_statistics(targets, i, &statistics);
		exposition_count(out, *(const uint64_t *)(const void *)((const char *)&statistics + offset),
				 LABELS({ "target", statistics.name }));
	}
}

static void write_targets(struct exposition *out, struct targets *targets)
{
	static const struct {
		enum metric metric;
		size_t offset;
	} families[] = {
		{ METRIC_TARGET_UP, offsetof(struct target_statistics, up) },
		{ METRIC_TARGET_WAITING, offsetof(struct target_statistics, waiting) },
		{ METRIC_TARGET_WORKERS, offsetof(struct target_statistics, workers) },
		{ METRIC_TARGET_STARTS, offsetof(struct target_statistics, started) },
		{ METRIC_TARGET_DEATHS, offsetof(struct target_statistics, died) },
		{ METRIC_TARGET_KILLS, offsetof(struct target_statistics, killed) },
		{ METRIC_TARGET_DENIED, offsetof(struct target_statistics, denied) },
	};
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		write_target_counts(out, families[i].metric, targets, families[i].offset);
}

/* ---- calibration ---- */

static void write_feedback(struct exposition *out, const struct calibrator_statistics *statistics)
{
	const struct {
		const char *outcome;
		uint64_t count;
	} outcomes[] = {
		{ "counted", statistics->feedback_counted },
		{ "corrected", statistics->feedback_corrected },
		{ "unchanged", statistics->feedback_unchanged },
		{ "unknown", statistics->feedback_unknown },
		{ "expired", statistics->feedback_expired },
		{ "refused", statistics->feedback_refused },
	};
	begin(out, METRIC_CALIBRATION_FEEDBACK);
	for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
		exposition_count(out, outcomes[i].count, LABELS({ "outcome", outcomes[i].outcome }));
}

/* Since a moment by the wall clock; 0: there is none. */
static double age_seconds(int64_t since_ms)
{
	int64_t now_ms = clock_wall_ms();
	return since_ms && since_ms < now_ms ? (double)(now_ms - since_ms) / 1000 : 0;
}

static void write_calibration(struct exposition *out, struct calibrator *calibrator, bool has_registry)
{
	struct calibrator_statistics statistics;
	calibrator_statistics(calibrator, &statistics);
	exposition_one_count(out, METRIC_CALIBRATION_UP, statistics.database_up);
	exposition_one_count(out, METRIC_CALIBRATION_LAG, statistics.behind);
	exposition_one_value(out, METRIC_CALIBRATION_AGE, age_seconds(statistics.waiting_since_ms));
	if (has_registry)
		exposition_one_count(out, METRIC_CALIBRATION_WAITING, statistics.held);
	exposition_one_count(out, METRIC_CALIBRATION_RECORDS, statistics.records);
	exposition_one_count(out, METRIC_CALIBRATION_CASES, statistics.cases);
	exposition_one_count(out, METRIC_CALIBRATION_SKIPPED, statistics.skipped);
	exposition_one_count(out, METRIC_CALIBRATION_FAILURES, statistics.failures);
	exposition_one_count(out, METRIC_CALIBRATION_CONFLICTS, statistics.conflicts);
	write_feedback(out, &statistics);
	begin(out, METRIC_CALIBRATION_DRIFT);
	exposition_count(out, statistics.drift_opened, LABELS({ "change", "opened" }));
	exposition_count(out, statistics.drift_closed, LABELS({ "change", "closed" }));
}

static void write_model(struct exposition *out, struct learner *learner)
{
	struct learner_statistics statistics;
	learner_statistics(learner, &statistics);
	exposition_one_value(out, METRIC_MODEL_VERSION, (double)statistics.version);
	begin(out, METRIC_MODEL_AGE);
	if (statistics.age_ms >= 0)
		exposition_value(out, (double)statistics.age_ms / 1000, LABELS());
	exposition_one_count(out, METRIC_MODEL_FITS, statistics.fits);
	exposition_one_count(out, METRIC_MODEL_REPLACED, statistics.replaced);
	exposition_one_count(out, METRIC_MODEL_FAILURES, statistics.failures);
}

static void write_audit_sizes(struct exposition *out, const struct keeper_statistics *statistics)
{
	begin(out, METRIC_AUDIT_SIZE);
	for (unsigned i = 0; i < statistics->sizes_count; i++) {
		char partition[12];
		snprintf(partition, sizeof partition, "%d", (int)statistics->sizes[i].partition);
		exposition_count(out, statistics->sizes[i].size, LABELS({ "partition", partition }));
	}
}

static void write_audit(struct exposition *out, struct audit_keeper *keeper)
{
	struct keeper_statistics statistics;
	keeper_statistics(keeper, &statistics);
	exposition_one_count(out, METRIC_AUDIT_UP, statistics.database_up);
	exposition_one_count(out, METRIC_AUDIT_LAG, statistics.behind);
	exposition_one_value(out, METRIC_AUDIT_AGE, age_seconds(statistics.waiting_since_ms));
	exposition_one_value(out, METRIC_AUDIT_UNSIGNED, age_seconds(statistics.unsigned_since_ms));
	exposition_one_count(out, METRIC_AUDIT_STOPPED, statistics.stopped);
	write_audit_sizes(out, &statistics);
	exposition_one_count(out, METRIC_AUDIT_RECORDS, statistics.records);
	exposition_one_count(out, METRIC_AUDIT_GAPS, statistics.gaps);
	begin(out, METRIC_AUDIT_CHECKPOINTS);
	exposition_count(out, statistics.checkpoints, LABELS({ "place", "database" }));
	exposition_count(out, statistics.in_topic, LABELS({ "place", "topic" }));
	exposition_count(out, statistics.in_file, LABELS({ "place", "file" }));
	begin(out, METRIC_AUDIT_FAILURES);
	exposition_count(out, statistics.failures, LABELS({ "what", "database" }));
	exposition_count(out, statistics.sign_failures, LABELS({ "what", "signing" }));
	exposition_count(out, statistics.publish_failures, LABELS({ "what", "publishing" }));
	exposition_one_count(out, METRIC_AUDIT_CONFLICTS, statistics.conflicts);
}

static void write_archive(struct exposition *out, struct archive *archive)
{
	struct archive_statistics statistics;
	archive_statistics(archive, &statistics);
	exposition_one_count(out, METRIC_ARCHIVE_UP, statistics.up);
	exposition_one_count(out, METRIC_ARCHIVE_WAITING, statistics.waiting);
	exposition_one_count(out, METRIC_ARCHIVE_STORED, statistics.stored);
	exposition_one_count(out, METRIC_ARCHIVE_LOST, statistics.lost);
	exposition_one_count(out, METRIC_ARCHIVE_FAILURES, statistics.failures);
	exposition_one_count(out, METRIC_ARCHIVE_EXPIRED, statistics.expired);
}

static void write_registry(struct exposition *out, struct registry *registry)
{
	struct registry_statistics statistics;
	registry_statistics(registry, &statistics);
	exposition_one_count(out, METRIC_REGISTRY_UP, !statistics.down);
	exposition_one_count(out, METRIC_REGISTRY_REQUESTS, statistics.requests);
	exposition_one_count(out, METRIC_REGISTRY_ERRORS, statistics.errors);
	exposition_one_count(out, METRIC_REGISTRY_SCHEMAS, statistics.schemas);
	exposition_one_count(out, METRIC_REGISTRY_WAITING, statistics.waiting);
	exposition_one_value(out, METRIC_REGISTRY_AGE, (double)statistics.oldest_ms / 1000);
	exposition_one_count(out, METRIC_REGISTRY_REFUSED, statistics.refused);
}

/* ---- receivers ---- */

struct receiver {
	const char *name;
	struct forwarder_statistics statistics;
};

static void write_receiver_ages(struct exposition *out, const struct receiver *receivers, size_t count)
{
	begin(out, METRIC_RECEIVER_AGE);
	for (size_t i = 0; i < count; i++)
		exposition_value(out, age_seconds(receivers[i].statistics.waiting_since_ms),
				 LABELS({ "receiver", receivers[i].name }));
}

static void write_receivers(struct exposition *out, const struct metrics_parts *parts)
{
	struct forwarder *const forwarders[] = { parts->webhook, parts->otlp };
	struct receiver receivers[sizeof forwarders / sizeof *forwarders];
	size_t count = 0;
	for (size_t i = 0; i < sizeof forwarders / sizeof *forwarders; i++) {
		if (!forwarders[i])
			continue;
		receivers[count].name = forwarder_heartbeat(forwarders[i])->name;
		forwarder_statistics(forwarders[i], &receivers[count++].statistics);
	}
	if (count == 0)
		return;
#define EACH(metric, value)                                                                                  \
	do {                                                                                                 \
		begin(out, metric);                                                                          \
		for (size_t i = 0; i < count; i++) {                                                         \
			const struct forwarder_statistics *it = &receivers[i].statistics;                    \
			exposition_count(out, value, LABELS({ "receiver", receivers[i].name }));             \
		}                                                                                            \
	} while (0)
	EACH(METRIC_RECEIVER_UP, !it->away && !it->gone);
	EACH(METRIC_RECEIVER_LAG, it->behind);
	write_receiver_ages(out, receivers, count);
	EACH(METRIC_RECEIVER_SENT, it->sent);
	EACH(METRIC_RECEIVER_GIVEN_UP, it->given_up);
	EACH(METRIC_RECEIVER_FAILURES, it->failures);
	EACH(METRIC_RECEIVER_PASSED, it->passed);
	EACH(METRIC_RECEIVER_UNREADABLE, it->unreadable);
	EACH(METRIC_RECEIVER_LOST, it->lost);
#undef EACH
}

/* ---- the process ---- */

static void write_process(struct exposition *out, double started_seconds)
{
	struct process_figures figures;
	exposition_one_value(out, METRIC_PROCESS_START, started_seconds);
	if (!process_read(&figures))
		return;
	exposition_one_value(out, METRIC_PROCESS_CPU, figures.cpu_seconds);
	exposition_one_count(out, METRIC_PROCESS_RESIDENT, figures.resident_bytes);
	exposition_one_count(out, METRIC_PROCESS_VIRTUAL, figures.virtual_bytes);
	exposition_one_count(out, METRIC_PROCESS_THREADS, figures.threads);
	exposition_one_count(out, METRIC_PROCESS_FDS, figures.open_fds);
	exposition_one_count(out, METRIC_PROCESS_MAX_FDS, figures.max_fds);
}

static void write_standing(struct exposition *out, const struct security_standing *standing)
{
	exposition_one_value(out, METRIC_CERTIFICATE_EXPIRY,
			     (double)atomic_load(&standing->certificate_ends_ms) / 1000);
	exposition_one_count(out, METRIC_RESTART_NEEDED, atomic_load(&standing->restart_needed));
}

static void write_tokens(struct exposition *out)
{
	struct token_keeper_statistics tokens;
	token_keeper_statistics(&tokens);
	exposition_begin(out, METRIC_TOKEN_FETCHES);
	exposition_count(out, tokens.fetched, LABELS({ "outcome", "fetched" }));
	exposition_count(out, tokens.failed, LABELS({ "outcome", "failed" }));
	exposition_one_value(out, METRIC_TOKEN_EXPIRY, (double)tokens.expires_ms / 1000);
}

static void write_reloads(struct exposition *out, const struct reloads *reloads)
{
	exposition_one_count(out, METRIC_RELOAD_ACCEPTED, !atomic_load(&reloads->last_refused));
	begin(out, METRIC_RELOADS);
	exposition_count(out, atomic_load(&reloads->accepted), LABELS({ "outcome", "accepted" }));
	exposition_count(out, atomic_load(&reloads->refused), LABELS({ "outcome", "refused" }));
}

void metrics_write(const struct metrics_parts *parts, bool ready, double started_seconds,
		   enum exposition_format format, struct buf *text)
{
	struct exposition out = { .text = text, .format = format };
	begin(&out, METRIC_BUILD);
	exposition_count(&out, 1, LABELS({ "version", ASSAYD_VERSION }));
	exposition_one_count(&out, METRIC_READY, ready);
	if (parts->reloads)
		write_reloads(&out, parts->reloads);
	if (parts->standing) {
		write_standing(&out, parts->standing);
		write_tokens(&out);
	}
	if (parts->source)
		write_lag(&out, parts->source);
	if (parts->credits)
		write_in_flight(&out, parts->credits);
	if (parts->pipeline)
		write_events(&out, parts->pipeline, parts->calibrator, parts->judge);
	if (parts->publisher)
		write_publishing(&out, parts->publisher, parts->rights, parts->pipeline);
	if (parts->judge)
		write_judge(&out, parts->judge, parts->pipeline);
	if (parts->registry)
		write_registry(&out, parts->registry);
	if (parts->targets)
		write_targets(&out, parts->targets);
	if (parts->calibrator)
		write_calibration(&out, parts->calibrator, parts->registry != NULL);
	if (parts->learner)
		write_model(&out, parts->learner);
	if (parts->keeper)
		write_audit(&out, parts->keeper);
	if (parts->archive)
		write_archive(&out, parts->archive);
	write_receivers(&out, parts);
	write_process(&out, started_seconds);
	exposition_end(&out);
}
