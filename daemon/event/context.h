/*
 * Context: the services that the stages of events use. Whoever runs events fills it in; it and what it points
 * at outlive them. All of it can be used by any thread.
 */
#pragma once

#include <stdbool.h>

struct analysis_cache;
struct archive;
struct catalog;
struct codec;
struct outages;
struct query_times;
struct registry;
struct rate_limiter;
struct incidents;
struct judge;
struct model_current;
struct step_counts;
struct targets;

struct event_context {
	const struct codec *codec;
	struct registry *registry;	   /* or NULL: none is configured */
	struct targets *targets;	   /* or NULL: none is configured */
	struct judge *judge;		   /* or NULL, likewise */
	struct catalog *default_catalog;   /* of events without a target, or NULL */
	struct analysis_cache *analyses;   /* of texts that came before, or NULL: none are kept */
	struct rate_limiter *rate_limiter; /* of advisories */
	struct outages *outages;	   /* of targets */
	struct query_times *query_times;   /* of generated queries that were run */
	struct incidents *incidents;
	struct model_current *models; /* or NULL: there are no probabilities */
	struct archive *archive;      /* of what records name by digest, or NULL */
	struct step_counts *steps;    /* how many events are at each step */
	struct { /* topics of outputs that have headers of CloudEvents; NULL: none have */
		const char *scored, *advisory;
	} cloud_events;
	bool lenient; /* events are JSON typed by people */
};
