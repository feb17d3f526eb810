/*
 * Many records, recomputed by several threads: messages go in one by one, what differs comes out in their
 * order, and what all of it amounts to in the end. Bounded: who adds waits while all threads have enough to
 * do.
 */
#pragma once

#include "audit/recompute/recompute.h"
#include "avro/codec.h"

#include <stdio.h>

struct recompute_stream;

struct recompute_stream_options {
	const struct codec *codec;		 /* nobody else changes it meanwhile */
	const struct recompute_archive *archive; /* or NULL */
	const struct recompute_targets *targets; /* or NULL: the SQL is not analysed again */
	const char *release;			 /* of this program; static */
	unsigned threads;
	bool json;
	FILE *out;
};

/* Where a record comes from. */
struct recompute_place {
	int64_t line;	   /* or its number in a container; 0: it comes from a topic */
	int32_t partition; /* of the scored topic, likewise below */
	int64_t offset;
};

/* What all of it amounts to. */
struct recompute_totals {
	int64_t records;     /* that were read */
	int64_t recomputed;  /* records of which anything was compared */
	int64_t checked;     /* values that were compared */
	int64_t differing;   /* records in which something differs */
	int64_t differences; /* values that do */
	int64_t unreadable;  /* messages that are no record */
	int64_t unavailable; /* messages whose schema cannot be had now */
	int64_t refused;     /* lines of `assayd score` that say why there is none */
	int64_t gaps[RECOMPUTE_GAP_COUNT_];
	struct err_detail why; /* of one that is unavailable */
};

/* What the options point at outlives the stream. */
struct recompute_stream *recompute_stream_start(const struct recompute_stream_options *options);

/* A message of either wire format, which is copied. */
void recompute_stream_add(struct recompute_stream *stream, str_t message, struct recompute_place place);

/* One that could not be read as far as that; `why` is copied. */
void recompute_stream_add_fault(struct recompute_stream *stream, const char *why,
				struct recompute_place place);

/* Waits until all are done, prints what they amount to, and releases the stream. */
void recompute_stream_end(struct recompute_stream *stream, struct recompute_totals *ret_totals);
