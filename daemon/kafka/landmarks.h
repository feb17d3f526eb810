/*
 * Landmarks: a cheap sign that partitions still are the logs that a look from aside (topic_probe.h) has found
 * them to be. A broker tells the first offset that was written after a certain time. Asked for the time of a
 * record that was read, it names the same offset, mostly none, for as long as the log is the same one and
 * gets nothing new; the records of a topic that was made again were written later. (Not for certain: clocks
 * differ.) The other way round nothing follows: records that are deleted at the beginning may move a
 * landmark, too.
 *
 * They are asked for with the client that reads the partitions anyway, so that nothing is connected for it.
 */
#pragma once

#include "kafka/topic_probe.h"

/* What the last look has found, with the landmarks of just before it. Zeroed: nothing. */
struct landmarks {
	struct topic_probe_answer *answers;
	int64_t *offsets;
	size_t count;
	int64_t since_us; /* monotonic: when the look was over */
};

/* Asks for the landmark of each question, for up to `timeout_ms`; without a record that tells its time, it is
 * the end of the partition. NULL: not all of them are known. The caller frees them. */
int64_t *landmarks_ask(rd_kafka_t *reader, const char *topic, const struct topic_probe_answer *questions,
		       size_t count, int timeout_ms);

/* Whether all was found to be the same by a look not more than 10 minutes ago and nothing has moved since,
 * neither the questions nor the landmarks; then its answers are `answers`, too. Pure. */
bool landmarks_tell(const struct landmarks *landmarks, const int64_t *offsets,
		    struct topic_probe_answer *answers, size_t count, int64_t now_us);

/* Remembers a copy of what was found, if all is the same, else forgets all. Takes over `offsets`; NULL is
 * fine. */
void landmarks_keep(struct landmarks *landmarks, int64_t *offsets, const struct topic_probe_answer *answers,
		    size_t count, int64_t now_us);

/* Forgets all. */
void landmarks_clear(struct landmarks *landmarks);
