/*
 * Status: what the daemon does now and has done lately, as a plain value, and as a page and JSON made of it.
 * One thread at a time; waits for nothing.
 */
#pragma once

#include "event/event_metrics.h"
#include "http/changes.h"
#include "http/history.h"
#include "http/metrics.h"

/* How long a stage took since the start, in milliseconds: quantiles as far as the bounds of histograms tell.
 */
struct status_latency {
	const char *name;
	uint64_t count;
	double p50_ms, p95_ms, p99_ms;
};

struct status_judge {
	const char *name; /* NULL: it is alone */
	struct judge_stats stats;
	double cost; /* in the currency of the prices; 0: none are configured */
};

/* A band of confidence with labels of one source; shares are weighted. */
struct status_band {
	uint64_t events;
	double confidence, correct; /* means; only with events */
};

enum { STATUS_TARGETS = 64 };

struct status_receiver {
	const char *name;
	struct forwarder_statistics statistics;
};

enum { STATUS_RECEIVERS = 2 };

/* Names live as long as the parts. */
struct status {
	int64_t now_ms, started_ms; /* since 1970 */
	const char *version;
	bool texts; /* whether texts of events are shown */

	bool ready, stuck;
	int64_t since_ms;  /* that it is ready, or not */
	struct buf reason; /* lines for a person, fit for a terminal; empty while ready */

	bool shown; /* there are parts, from which the following is */
	struct source_lag lag;
	struct partition_standing partitions[BOARD_PARTITIONS]; /* the worst ones */
	size_t partitions_count;
	struct pipeline_statistics pipeline;
	struct publisher_statistics publisher;
	struct history_totals totals;
	uint64_t kinds[ADVISORY_KIND_COUNT_]; /* of advisories about events */
	size_t in_flight_events, in_flight_bytes, in_flight_events_limit, in_flight_bytes_limit;
	struct status_latency latencies[STAGE_COUNT_ + 1]; /* the last: from reading to commit */
	struct status_band bands[EVENT_METRICS_SOURCES][EVENT_METRICS_BANDS];
	struct status_judge judges[JUDGE_MEMBERS_MAX];
	size_t judges_count;
	bool judge_cache; /* it can be read */
	struct target_statistics targets[STATUS_TARGETS];
	size_t targets_count; /* with those beyond, which are not listed */
	bool calibrates, learns, archives, keeps;
	struct calibrator_statistics calibrator;
	struct learner_statistics learner;
	struct archive_statistics archive;
	bool has_registry;
	struct registry_statistics registry;
	struct keeper_statistics keeper;
	struct status_receiver receivers[STATUS_RECEIVERS];
	size_t receivers_count;
	uint64_t reloads_accepted, reloads_refused;
	bool last_reload_refused;
	int64_t certificate_ends_ms; /* of ours for Kafka, since 1970; 0: there is none */
	bool kafka_restart_needed;   /* files of TLS have changed */
	struct token_keeper_statistics tokens;
	struct recent_advisory recent[RECENT_ADVISORIES];
	size_t recent_count;

	struct history_span minutes[HISTORY_MINUTES], hours[HISTORY_HOURS];
	struct change changes[CHANGES_KEPT];
	size_t changes_count;
};

/* Fills what is from the parts, NULL for none. */
void status_gather(const struct metrics_parts *parts, struct status *status);

/* What the totals of events are now. */
void status_totals(const struct metrics_parts *parts, struct history_totals *ret_totals);

/* Appends the page, HTML without scripts, whose style is that of status_style; `live`: it loads itself again
 * every some seconds. Whatever comes from others stays text. */
void status_write_page(const struct status *status, bool live, struct buf *out);

/* Appends the same as one JSON object. */
void status_write_json(const struct status *status, struct buf *out);

/* CSS of the page; static. */
extern const char status_style[];

/* The Content-Security-Policy that the page goes with: nothing but its style, from the same server. */
#define STATUS_POLICY                                                                                        \
	"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "         \
	"frame-ancestors 'none'"
