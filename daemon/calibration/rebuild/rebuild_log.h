/*
 * What a rebuild reads of one topic: its partitions from the first record that is kept up to the position
 * that the calibration has reached, and when those records were published. Not thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "database/database.h"
#include "kafka/topic_reader.h"

/* A partition that is counted; times are −1 where there was no such record to be read. */
struct rebuild_partition {
	int64_t low, high;	 /* its first record that is kept, and its end */
	int64_t first_ms;	 /* when that was published */
	int64_t remembered_from; /* events from here on are remembered; INT64_MAX: none */
	int64_t remembered_ms;	 /* when the first of them was published */
	int64_t learnt_from;	 /* labelled cases from here on are sampled; INT64_MAX: none */
	int64_t claims_from;	 /* likewise, claims are kept */
	bool foreign;		 /* it ends before the stored position: it is not what was counted */
};

/* Partitions of one topic; empty but for the first members at first. */
struct rebuild_log {
	const char *topic;
	int64_t begin_ms;   /* time of the earliest of what was read; INT64_MAX: nothing was */
	bool remembers_all; /* events are remembered from the beginning, whatever was stored */
	bool learns_all;    /* likewise sampled, and their claims kept */
	struct rebuild_partition *partitions; /* in an arena, likewise below */
	struct topic_span *spans;	      /* one a partition */
	size_t count, partitions_capacity, spans_capacity;
};

/* Reads how far the topic is counted: spans end there, partitions that are new are added. ERR_CONFLICT: a
 * position was set back meanwhile. */
err_t rebuild_log_take_positions(struct rebuild_log *log, struct database *database,
				 struct topic_reader *reader, struct arena *arena, struct err_detail *detail);

/* Notes the time of what was read: of the scoring, or of feedback. */
void rebuild_log_note_begin(struct rebuild_log *log, int64_t time_ms);

/* Notes when the message, of the partition with that index, was published; `now_ms` stands for an unknown
 * time. */
void rebuild_log_note_time(struct rebuild_log *log, size_t index, const rd_kafka_message_t *message,
			   int64_t now_ms);

/* How many offsets are left to be read. */
int64_t rebuild_log_left(const struct rebuild_log *log);

/* What is read of a partition from its first record on that is kept: all of it, or what is remembered, or
 * sampled, or whose claims are kept. */
enum rebuild_part { REBUILD_ALL, REBUILD_REMEMBERED, REBUILD_LEARNT, REBUILD_CLAIMED };

/* Partitions that are read and the first record of each, as arrays of PostgreSQL. */
struct rebuild_places {
	struct buf partitions, first;
};

#define REBUILD_PLACES_INIT                                                                                  \
	{                                                                                                    \
		BUF_INIT, BUF_INIT                                                                           \
	}

/* The caller frees them. */
void rebuild_log_places(const struct rebuild_log *log, enum rebuild_part part,
			struct rebuild_places *ret_places);
void rebuild_places_free(struct rebuild_places *places);
