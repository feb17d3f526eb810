#include "calibration/intake.h"

#include "calibration/days.h"
#include "common/clock.h"
#include "common/log.h"

#include <string.h>

enum { WARNING_PAUSE_MS = 10000 };

const char *intake_topic(const struct intake *intake, const char *name)
{
	return intake->feedback_topic && strcmp(name, intake->feedback_topic) == 0 ? intake->feedback_topic
										   : intake->scored_topic;
}

/* Feedback may come a horizon before or after its event, and events are counted for as long as buckets are
 * kept. A message's time is whatever its sender says: no partitions are made for absurd ones. */
static bool within_memory(const struct intake *intake, int64_t time_ms, int64_t since_ms)
{
	return time_ms >= since_ms - intake->horizon_ms &&
	       time_ms <= clock_wall_ms() + intake->horizon_ms + DAY_MS;
}

/* A topic full of foreign records must not flood the log. */
static void skip(struct intake *intake, const rd_kafka_message_t *message, const char *reason)
{
	int64_t now_us = clock_monotonic_us();
	intake->skipped++;
	if (intake->warned_us && now_us - intake->warned_us < INT64_C(1000) * WARNING_PAUSE_MS) {
		intake->skipped_silently++;
		return;
	}
	log_warning("partition %d of %s, offset %lld is not counted: %s (and %llu before it)",
		    (int)message->partition, rd_kafka_topic_name(message->rkt), (long long)message->offset,
		    reason, (unsigned long long)intake->skipped_silently);
	intake->warned_us = now_us;
	intake->skipped_silently = 0;
}

static void take_scored(struct intake *intake, const rd_kafka_message_t *message, int64_t since_ms)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case item;
	struct err_detail detail = { "" };
	bool read = false;
	err_t err = calibration_record_case(intake->codec, message, arena, &item, &read, &detail);
	if (err)
		skip(intake, message, err_message(err, &detail));
	if (err || !read)
		return;
	if (!intake->horizon_ms || !within_memory(intake, item.scored_at_ms, since_ms) ||
	    item.scored_at_ms < since_ms)
		item.event.text[0] = '\0';
	if (item.label_source != ENUM_ABSENT || item.event.text[0])
		batch_add(intake->batch, &item);
}

static void take_feedback(struct intake *intake, const rd_kafka_message_t *message, int64_t since_ms)
{
	struct calibration_feedback item;
	struct err_detail detail = { "" };
	err_t err = calibration_record_feedback(intake->codec, message, &item, &detail);
	intake->feedback++;
	if (err)
		skip(intake, message, err_message(err, &detail));
	else if (within_memory(intake, item.said_at_ms, since_ms))
		batch_add_feedback(intake->batch, &item);
	else
		intake->batch->expired++;
}

bool intake_take(struct intake *intake, const rd_kafka_message_t *message, int64_t since_ms)
{
	const char *topic = intake_topic(intake, rd_kafka_topic_name(message->rkt));
	struct batch_partition *partition = batch_find(intake->batch, topic, message->partition);
	if (!partition || !batch_reach(intake->batch, partition, message->offset))
		return false;
	intake->records++;
	if (topic == intake->feedback_topic)
		take_feedback(intake, message, since_ms);
	else
		take_scored(intake, message, since_ms);
	return true;
}
