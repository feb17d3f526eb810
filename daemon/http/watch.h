/*
 * Watch: looks at the parts from time to time and notes what has changed since it last looked. Not
 * thread-safe; waits for nothing.
 */
#pragma once

#include "http/changes.h"
#include "http/metrics.h"

enum { WATCH_TARGETS = 64 };

/* What was last seen; all zero: nothing yet. */
struct watch {
	bool seen;	 /* whether the daemon is ready, likewise below */
	bool parts_seen; /* the parts */
	bool ready, stuck;
	int64_t since_ms; /* that it is as it is */
	uint64_t accepted, refused, recreated, drift_opened, drift_closed;
	int64_t model;
	bool calibration_up, targets_up[WATCH_TARGETS], breakers[JUDGE_MEMBERS_MAX];
};

/* `reason`: why it is not ready, of which the first line is noted. */
void watch_readiness(struct watch *watch, int64_t now_ms, bool ready, bool stuck, const char *reason,
		     struct changes *changes);

/* What the parts say now. Their first look notes nothing but reloads, which are counted from the start. */
void watch_parts(struct watch *watch, int64_t now_ms, const struct metrics_parts *parts,
		 struct changes *changes);
