/*
 * Pipeline: the bounded pool of workers that takes events through their stages, and the branches beside it.
 *
 * An event that is submitted comes out exactly once, through `ready`: scored, as a dead letter, or (when its
 * assignment has ended meanwhile) discarded. The last of the branches to answer wakes a worker. The queue is
 * bounded by the credits of the source, or by whoever submits. The pipeline alone knows all stages; what they
 * use of it is in their context (event/context.h).
 */
#pragma once

#include "event/event.h"
#include "sql/analysis_cache.h"

struct archive;
struct pipeline;
struct registry;
struct event_metrics;

struct pipeline_options {
	const struct config *config; /* the first settings; a reference is taken */
	struct {		     /* topics of outputs that are to have headers of CloudEvents, or NULL;
					these texts outlive the pipeline */
		const char *scored, *advisory;
	} cloud_events;
	const struct codec *codec;
	struct registry *registry;	       /* of the schemas that messages name, or NULL */
	struct targets *targets;	       /* or NULL */
	struct judge *judge;		       /* or NULL */
	struct model_current *models;	       /* that probabilities come from, or NULL */
	struct archive *archive;	       /* of what records name by digest, or NULL */
	const struct catalog *default_catalog; /* of events without a target, or NULL; a reference is taken */
	unsigned workers;
	size_t max_series; /* of metrics by application and model; 0: the least */
	bool lenient;	   /* events are JSON typed by people */

	/* What the event holds (event_held_bytes) has changed, or can be told better than before: it will
	 * wait for answers, or its outputs have joined a transaction or left it. The thread that has the
	 * event. NULL: nobody counts. */
	void (*held)(struct event *event, void *context);

	/* The event is READY (publish it) or was DISCARDED (free it). A worker's thread. */
	void (*ready)(struct event *event, void *context);

	/* A READY event that was handed to the publisher is COMMITTED or DISCARDED (free it). The publisher's
	 * thread. */
	void (*published)(struct event *event, void *context);
	void *context;
};

/* Copies the options and starts the workers; what they point at outlives the pipeline. */
struct pipeline *pipeline_start(const struct pipeline_options *options);

/* Waits until the workers have finished what they have and joins them; targets and judge must have been
 * closed before. Events that the publisher holds still need the pipeline. NULL is fine. */
void pipeline_close(struct pipeline *pipeline);

/* Closes and releases, when no event is left. NULL is fine. */
void pipeline_stop(struct pipeline *pipeline);

/* New event from foreign bytes, which are copied, with the settings of now. The caller submits it, or frees
 * it. Any thread. */
struct event *pipeline_event(struct pipeline *pipeline, str_t raw, str_t key,
			     const struct event_origin *origin);

/* Any thread; never blocks. */
void pipeline_submit(struct pipeline *pipeline, struct event *event);

/* Events from now on get these settings. Any thread. */
void pipeline_reload(struct pipeline *pipeline, const struct config *config);

/* Counts since the start, for the status line and metrics: of events that became ready. */
struct pipeline_statistics {
	uint64_t received; /* submitted */
	uint64_t scored;
	uint64_t dead;
	uint64_t discarded;
	uint64_t levels[4];	      /* by enum confidence_level */
	int64_t at_step[STEP_COUNT_]; /* events there are now */
};

/* Any thread. */
void pipeline_statistics(struct pipeline *pipeline, struct pipeline_statistics *ret_statistics);

/* Of the texts that were analysed. Any thread. */
struct analysis_cache_statistics pipeline_analyses(struct pipeline *pipeline);

/* What became of the events whose outputs were committed; lives as long as the pipeline. */
struct event_metrics *pipeline_event_metrics(struct pipeline *pipeline);

/* Tickers of the workers. */
size_t pipeline_heartbeats(struct pipeline *pipeline, struct heartbeat *const **ret_heartbeats);
