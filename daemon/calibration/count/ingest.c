#include "calibration/count/ingest.h"

#include "calibration/store/days.h"
#include "common/clock.h"
#include "common/log.h"

#include <string.h>

enum { WARNING_PAUSE_MS = 10000 };

const char *ingest_topic(const struct ingest *ingest, const char *name)
{
	return ingest->feedback_topic && strcmp(name, ingest->feedback_topic) == 0 ? ingest->feedback_topic
										   : ingest->scored_topic;
}

/* Feedback may come a horizon before or after its event, and events are counted for as long as buckets are
 * kept. A message's time is whatever its sender says: no partitions are made for absurd ones. */
static bool within_memory(const struct ingest *ingest, int64_t time_ms, int64_t since_ms)
{
	return time_ms >= since_ms - ingest->horizon_ms &&
	       time_ms <= clock_wall_ms() + ingest->horizon_ms + DAY_MS;
}

/* A topic full of foreign records must not flood the log. */
static void skip(struct ingest *ingest, const rd_kafka_message_t *message, const char *reason)
{
	int64_t now_us = clock_monotonic_us();
	ingest->skipped++;
	if (ingest->warned_us && now_us - ingest->warned_us < INT64_C(1000) * WARNING_PAUSE_MS) {
		ingest->skipped_silently++;
		return;
	}
	log_warning("partition %d of %s, offset %lld is not counted: %s (and %llu before it)",
		    (int)message->partition, rd_kafka_topic_name(message->rkt), (long long)message->offset,
		    reason, (unsigned long long)ingest->skipped_silently);
	ingest->warned_us = now_us;
	ingest->skipped_silently = 0;
}

static void take_scored(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case item;
	struct err_detail detail = { "" };
	bool read = false;
	err_t err = calibration_record_case(ingest->codec, message, arena, &item, &read, &detail);
	if (err)
		skip(ingest, message, err_message(err, &detail));
	if (err || !read)
		return;
	if (!ingest->horizon_ms || !within_memory(ingest, item.scored_at_ms, since_ms) ||
	    item.scored_at_ms < since_ms)
		item.event.text[0] = '\0';
	if (item.label_source == ENUM_ABSENT && !item.event.text[0])
		return;
	calibration_case_complete(&item, arena);
	batch_add(ingest->batch, &item);
}

static void take_feedback(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms)
{
	struct calibration_feedback item;
	struct err_detail detail = { "" };
	err_t err = calibration_record_feedback(ingest->codec, message, &item, &detail);
	ingest->feedback++;
	if (err)
		skip(ingest, message, err_message(err, &detail));
	else if (within_memory(ingest, item.said_at_ms, since_ms))
		batch_add_feedback(ingest->batch, &item);
	else
		ingest->batch->expired++;
}

bool ingest_take(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms)
{
	const char *topic = ingest_topic(ingest, rd_kafka_topic_name(message->rkt));
	struct batch_partition *partition = batch_find(ingest->batch, topic, message->partition);
	if (!partition || !batch_reach(ingest->batch, partition, message->offset))
		return false;
	ingest->records++;
	if (topic == ingest->feedback_topic)
		take_feedback(ingest, message, since_ms);
	else
		take_scored(ingest, message, since_ms);
	return true;
}
