/*
 * Ingest: what the calibrator makes of the messages that it reads: cases and feedback of its batch. Belongs
 * to the calibrator's thread.
 */
#pragma once

#include "calibration/count/batch.h"
#include "calibration/count/records.h"

struct ingest {
	const struct codec *codec;
	const char *scored_topic;   /* partitions of the batch are told apart by these pointers */
	const char *feedback_topic; /* or NULL: it is not read */
	int64_t horizon_ms;	    /* likewise 0 */
	struct batch *batch;
	uint64_t records;  /* of either topic, since the start, likewise below */
	uint64_t feedback; /* among them */
	uint64_t skipped;  /* that cannot be read */
	int64_t warned_us;
	uint64_t skipped_silently; /* since then */
};

/* Our pointer to the name of one of the two topics. */
const char *ingest_topic(const struct ingest *ingest, const char *name);

enum ingest_answer {
	INGEST_TAKEN,
	INGEST_PASSED,	/* it was read before, or its partition is not assigned */
	INGEST_AWAITED, /* nothing was done: it has to be taken again before anything else of its partition */
};

/* Adds what the message says to the batch; `since_ms`: from when on scored events are counted for feedback.
 * What cannot be read is counted as skipped, and logged now and then; that its schema cannot be had just now
 * is no such reason. The detail says why it is awaited. Blocks where the codec asks for a schema. */
enum ingest_answer ingest_take(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms,
			       struct err_detail *detail);
