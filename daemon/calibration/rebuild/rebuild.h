/*
 * Rebuild: what calibration would hold if the scored topic, up to exactly where it is counted, were counted
 * anew; compared with what it holds, or put in its place. What the topics cannot supply is neither compared
 * nor removed (rebuild_guard.h says which rows that are); where they are not what was counted, or have
 * nothing left of it, a rebuild refuses.
 *
 * Nothing of what is stored is trusted but the positions, which segments are told apart, and from where on
 * events are remembered for feedback and labelled cases are sampled to learn from. Feedback is counted anew
 * from its own topic, likewise. Positions and buckets are read in one snapshot, so that a running calibrator
 * disturbs nothing. What the log does not hold any more cannot be counted anew: buckets that may have cases
 * of deleted records are neither compared nor replaced.
 *
 * Both functions block for as long as reading the log takes; any thread.
 */
#pragma once

#include "avro/codec.h"
#include "calibration/rebuild/rebuild_claims.h"
#include "calibration/rebuild/rebuild_examples.h"
#include "calibration/rebuild/rebuild_guard.h"
#include "calibration/rebuild/rebuild_memory.h"
#include "calibration/rebuild/rebuild_tables.h"
#include "kafka/client.h"

struct rebuild_outcome;

/* Told what a rebuild is about to do, when all is ready and nothing is committed. An error: it is not done.
 */
typedef err_t (*rebuild_ready_fn)(const struct rebuild_outcome *outcome, void *context,
				  struct err_detail *detail);

/* Read while the function runs, and not kept. */
struct rebuild_options {
	const struct kafka_settings *kafka; /* bootstrap servers, properties, group_id, scored_topic */
	const struct codec *codec;
	const char *dsn;	   /* libpq connection string without a password */
	const char *password_file; /* or NULL */
	int64_t bucket_s;
	int64_t max_segments;
	int64_t retention_days;
	const char *feedback_topic;
	int64_t feedback_horizon_ms; /* 0: feedback is left out */
	bool learns;		     /* a rebuild draws the sample of labelled cases, too */
	int64_t now_ms;		     /* 0: now */
	bool dry;		     /* a rebuild does all but commit */
	rebuild_ready_fn ready;	     /* of a rebuild; or NULL */
	void *ready_context;
};

struct rebuild_outcome {
	int64_t records;  /* read */
	int64_t cases;	  /* counted among them */
	int64_t feedback; /* messages among them, of the feedback topic */
	int64_t skipped;  /* undecodable, or with values that cannot be counted */
	struct rebuild_range range;
	bool trusted;  /* the log holds all that was written from its beginning on, as far as can be told */
	bool complete; /* no earlier buckets than the range's may have cases of deleted records */
	str_t *notes;  /* why something is left out, a sentence each */
	size_t notes_count;
	struct rebuild_differences differences; /* of a comparison */
	/* of a rebuild: */
	bool dry;
	int64_t removed, added; /* buckets */
	int64_t totals;		/* that were not the sums of theirs, and are now */
	struct rebuild_memory_replaced memory;
	struct rebuild_examples_replaced examples;
	struct rebuild_claims_replaced claims;
	struct rebuild_stored stored; /* after it */
};

/* Compares. ERR_CALIBRATION_LOG: nothing of the topic was ever counted. ERR_CONFLICT: records were deleted
 * while they were read, try again. ERR_SCHEMA_UNAVAILABLE: the schema registry cannot be asked for the schema
 * of a record. Texts in the arena. */
err_t rebuild_verify(const struct rebuild_options *options, struct arena *arena,
		     struct rebuild_outcome *ret_summary, struct err_detail *detail);

/* Replaces. ERR_CALIBRATION_LOG, and nothing was changed: the log is not to be trusted, see rebuild_outcome;
 * a topic is not what was counted, or nothing of that is left (rebuild_guard.h). While it reads the log
 * others go on counting; for the last records and the replacement itself they wait. ERR_CONFLICT: another
 * rebuild is running, or as above. ERR_SCHEMA_UNAVAILABLE: as above, nothing was changed. */
err_t rebuild_rebuild(const struct rebuild_options *options, struct arena *arena,
		      struct rebuild_outcome *ret_summary, struct err_detail *detail);
