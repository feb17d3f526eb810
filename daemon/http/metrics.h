/* The metrics of the daemon's parts, as text. Any thread, one at a time; waits for nothing. */
#pragma once

#include "audit/archive/archive.h"
#include "audit/keeper/keeper.h"
#include "avro/registry/registry.h"
#include "calibration/calibrator.h"
#include "calibration/learn/learner.h"
#include "event/pipeline.h"
#include "http/exposition.h"
#include "http/process.h"
#include "kafka/publisher.h"
#include "kafka/rights_watch.h"
#include "kafka/security.h"
#include "kafka/source.h"
#include "kafka/token_keeper.h"
#include "outward/forwarder.h"

#include <stdatomic.h>

/* How attempts to load the configuration again have ended, since the start. */
struct reloads {
	_Atomic uint64_t accepted, refused;
	atomic_bool last_refused;
};

/* Whatever there is of them: NULL is left out. */
struct metrics_parts {
	struct pipeline *pipeline;
	struct source *source;
	struct publisher *publisher;
	struct rights_watch *rights;
	struct credits *credits;
	struct targets *targets;
	struct judge *judge;
	struct calibrator *calibrator;
	struct learner *learner;
	struct archive *archive;
	struct audit_keeper *keeper;
	struct forwarder *webhook;
	struct forwarder *otlp;
	const struct reloads *reloads;
	const struct security_standing *standing;
	struct registry *registry;
};

/* `started_seconds`: when the process began, since 1970-01-01 UTC. */
void metrics_write(const struct metrics_parts *parts, bool ready, double started_seconds,
		   enum exposition_format format, struct buf *text);
