/*
 * What tests of the calibrator share: a PostgreSQL server and a Kafka broker for the program, topics and
 * empty tables for each test, and records of the scored and the feedback topic. Not under the thread
 * sanitizer: librdkafka starts its threads by C11's thrd_create, which that does not know of.
 */
#pragma once

#include "calibration/calibrator.h"
#include "calibration/rebuild/rebuild.h"
#include "harness/postgres.h"

#define RIG_PARTITIONS 3
#define RIG_BUCKET_S   300

/* 2026-01-01 00:00:00 UTC: outside of all windows that are judged */
#define LONG_AGO_MS INT64_C(1767225600000)

struct calibration_rig {
	struct test_postgres server;
	char kafka_dir[128], bootstrap[64];
	struct codec *codec;
	rd_kafka_t *producer; /* transactional */
	char topic[64], advisory_topic[64], feedback_topic[64];
	int64_t horizon_ms; /* for the next calibrator or rebuild; 0 at each test's begin */
	int sent;	    /* labelled records of committed transactions in the scored topic */
	int64_t first_scored_at_ms;
};

extern struct calibration_rig rig;

/* Fixtures of the group and of each test. The first one ends the program as skipped where there are no
 * servers. */
int rig_start(void **state);
int rig_stop(void **state);
int rig_begin_test(void **state);

/* `count` labelled records of ever new events (numbers sent, sent + 1, …), between them some without
 * label and some that are no records; committed or aborted. */
void rig_produce(int count, bool commit);

/* Feedback about the event of that number, said at a time; sent by rig_flush_feedback. NULL instead of a
 * verdict: rubbish. */
void rig_say(int number, const bool *correct, int64_t said_at_ms);
void rig_flush_feedback(void);

/* Deletes the records of a partition of the scored topic below an offset. */
void rig_delete_records(int32_t partition, int64_t before_offset);

struct kafka_settings rig_kafka_settings(void);
struct calibrator *rig_start_calibrator(void);
struct rebuild_options rig_rebuild_options(void);

/* First cell of the answer, "" when there is none. */
void rig_query(const char *sql, char *text, size_t size);

void rig_sleep_ms(long ms);

/* Cases in the fine buckets; waits for up to a minute until there are so many, and fails otherwise. */
long rig_counted(void);
void rig_wait_counted(long expected);
