#include "calibration/count/ingest.h"

#include "avro/codec.h"
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

static err_t take_scored(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms,
			 struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case item;
	bool read = false;
	err_t err = calibration_record_case(ingest->codec, message, arena, &item, &read, detail);
	if (err || !read)
		return err;
	if (!ingest->horizon_ms || !within_memory(ingest, item.scored_at_ms, since_ms) ||
	    item.scored_at_ms < since_ms)
		item.event.text[0] = '\0';
	if (item.label_source == ENUM_ABSENT && !item.event.text[0])
		return ERR_OK;
	calibration_case_complete(&item, arena);
	batch_add(ingest->batch, &item);
	return ERR_OK;
}

static err_t take_feedback(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms,
			   struct err_detail *detail)
{
	struct calibration_feedback item;
	err_t err = calibration_record_feedback(ingest->codec, message, &item, detail);
	if (err)
		return err;
	if (within_memory(ingest, item.said_at_ms, since_ms))
		batch_add_feedback(ingest->batch, &item);
	else
		ingest->batch->expired++;
	return ERR_OK;
}

enum ingest_answer ingest_take(struct ingest *ingest, const rd_kafka_message_t *message, int64_t since_ms,
			       struct err_detail *detail)
{
	const char *topic = ingest_topic(ingest, rd_kafka_topic_name(message->rkt));
	struct batch_partition *partition = batch_find(ingest->batch, topic, message->partition);
	bool is_feedback = topic == ingest->feedback_topic;
	if (!partition || message->offset < partition->reached)
		return INGEST_PASSED;
	err_t err = is_feedback ? take_feedback(ingest, message, since_ms, detail)
				: take_scored(ingest, message, since_ms, detail);
	if (codec_awaits_schema(err))
		return INGEST_AWAITED;
	batch_reach(ingest->batch, partition, message->offset);
	ingest->records++;
	ingest->feedback += is_feedback;
	if (err)
		skip(ingest, message, err_message(err, detail));
	return INGEST_TAKEN;
}
