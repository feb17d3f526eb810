#include "kafka/landmarks.h"

#include <stdlib.h>

/* Records of the same times, or earlier ones, are told only by their contents. */
static const int64_t valid_us = INT64_C(600) * 1000000;

static void add(rd_kafka_topic_partition_list_t *list, const char *topic,
		const struct topic_probe_question *question)
{
	int64_t time_ms = question->witness.sign ? witness_time_ms(question->witness.sign) : 0;
	rd_kafka_topic_partition_list_add(list, topic, question->partition)->offset =
		time_ms > 0 ? time_ms + 1 : RD_KAFKA_OFFSET_END;
}

int64_t *landmarks_ask(rd_kafka_t *reader, const char *topic, const struct topic_probe_answer *questions,
		       size_t count, int timeout_ms)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = 0; i < count; i++)
		add(list, topic, &questions[i].question);
	if (count > 0 && rd_kafka_offsets_for_times(reader, list, timeout_ms) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	_cleanup_(cleanup_free) int64_t *offsets = calloc(count + 1, sizeof *offsets);
	if (!offsets)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (list->elems[i].err)
			return NULL;
		offsets[i] = list->elems[i].offset;
	}
	return TAKE_PTR(offsets);
}

static bool is_same(const struct topic_probe_question *a, const struct topic_probe_question *b)
{
	return a->partition == b->partition && a->next == b->next && a->witness.offset == b->witness.offset &&
	       a->witness.sign == b->witness.sign;
}

bool landmarks_tell(const struct landmarks *landmarks, const int64_t *offsets,
		    struct topic_probe_answer *answers, size_t count, int64_t now_us)
{
	if (!landmarks->answers || !offsets || count != landmarks->count ||
	    now_us >= landmarks->since_us + valid_us)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_same(&answers[i].question, &landmarks->answers[i].question) ||
		    offsets[i] != landmarks->offsets[i])
			return false;
	memcpy(answers, landmarks->answers, count * sizeof *answers);
	return true;
}

void landmarks_keep(struct landmarks *landmarks, int64_t *offsets, const struct topic_probe_answer *answers,
		    size_t count, int64_t now_us)
{
	bool same = offsets != NULL;
	for (size_t i = 0; i < count; i++)
		same &= answers[i].identity == IDENTITY_SAME && !answers[i].err;
	landmarks_clear(landmarks);
	if (!same) {
		free(offsets);
		return;
	}
	landmarks->answers = calloc(count + 1, sizeof *answers);
	if (!landmarks->answers)
		abort();
	memcpy(landmarks->answers, answers, count * sizeof *answers);
	landmarks->offsets = offsets;
	landmarks->count = count;
	landmarks->since_us = now_us;
}

void landmarks_clear(struct landmarks *landmarks)
{
	free(landmarks->answers);
	free(landmarks->offsets);
	*landmarks = (struct landmarks){ 0 };
}
