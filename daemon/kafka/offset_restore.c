#include "kafka/offset_restore.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"

enum {
	POLL_MS = 100,
	COMMITTED_TIMEOUT_MS = 10000,
	COMMITTED_PAUSE_MS = 2000,
	LOOK_MS = 6000, /* for the first look; what it does not tell is left to later ones */
	FIRST_STARTED = 8,
	AGAIN_MAX = 16, /* offsets, of which all but the first are marks of transactions or gone */
};

static rd_kafka_resp_err_t first_error(const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		if (list->elems[i].err)
			return list->elems[i].err;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Committed offsets and maps of all partitions; asks again while a transaction of the former owner is pending
 * or the coordinator is away. False: the source is stopping or the assignment was lost meanwhile. */
static bool fetch_committed(const struct restoring *restoring, rd_kafka_topic_partition_list_t *list)
{
	struct backoff backoff = { .base_ms = POLL_MS, .cap_ms = COMMITTED_PAUSE_MS };
	atomic_store(restoring->oldest_ms, clock_wall_ms());
	for (;;) {
		kafka_count_as_poll(restoring->consumer);
		rd_kafka_resp_err_t err = rd_kafka_committed(restoring->consumer, list, COMMITTED_TIMEOUT_MS);
		if (!err)
			err = first_error(list);
		if (!err)
			return true;
		heartbeat_waiting(restoring->heartbeat, "Kafka group coordinator");
		log_warning("committed offsets cannot be read yet: %s", rd_kafka_err2str(err));
		if (atomic_load(restoring->stopping) || rd_kafka_assignment_lost(restoring->consumer))
			return false;
		usleep((useconds_t)(POLL_MS + backoff_next_ms(&backoff)) * 1000);
	}
}

/* What becomes of a partition of a new assignment. */
struct restored {
	int32_t partition;
	int64_t next;  /* negative: the beginning */
	int64_t begin; /* where that is, negative: not known */
	struct witness witness;
	struct offsets *offsets; /* NULL: it stands still */
	bool again;		 /* known to be made again */
	bool unseen;		 /* what it is now is not known */
	int64_t last;		 /* what was read last, where all that is there was; negative: not known */
};

struct restore {
	const struct restoring *restoring;
	struct restored *items;
	size_t count;
	const rd_kafka_topic_partition_t *foreign; /* the first whose offset was set by somebody else */
	int foreign_count;
};

static struct offsets *offsets_of_again(const struct restoring *restoring, struct restored *item)
{
	for (size_t i = 0; i < restoring->again_count; i++) {
		struct offset_restore_again *again = &restoring->again[i];
		if (again->partition != item->partition || !again->offsets)
			continue;
		item->again = true;
		item->next = again->low;
		return TAKE_PTR(again->offsets);
	}
	return NULL;
}

/* A broker deletes the offsets of a topic with the topic. */
static void note_missing_offset(const struct restoring *restoring, int32_t partition)
{
	if (!rd_kafka_topic_partition_list_del(restoring->had_offsets, restoring->topic, partition))
		return;
	atomic_fetch_add(restoring->recreated, 1);
	log_warning("partition %d of %s has no committed offset any more: it was deleted and created again, "
		    "or its offset was deleted; it is read from its start",
		    (int)partition, restoring->topic);
}

/* From what is committed. */
static void decode(struct restore *restore, struct restored *item,
		   const rd_kafka_topic_partition_t *committed)
{
	bool foreign = false;
	str_t metadata = { committed->metadata, committed->metadata_size };
	item->partition = committed->partition;
	item->begin = item->last = -1;
	item->next = committed->offset < 0 ? OFFSETS_UNKNOWN : committed->offset;
	if ((item->offsets = offsets_of_again(restore->restoring, item)))
		return;
	if (item->next < 0) {
		note_missing_offset(restore->restoring, item->partition);
		item->offsets = offsets_new(OFFSETS_UNKNOWN);
	} else if (offsets_restore(item->next, metadata, &item->offsets, &foreign) != ERR_OK) {
		stops_set(restore->restoring->stops, &(struct stop){ .partition = item->partition,
								     .reason = STOP_MAP,
								     .next = item->next,
								     .low = -1,
								     .end = -1 });
	}
	if (foreign && restore->foreign_count++ == 0)
		restore->foreign = committed;
}

/* ---- whether it is what was read ---- */

static void stop(struct restore *restore, struct restored *item, const struct topic_probe_answer *answer)
{
	stops_set(
		restore->restoring->stops,
		&(struct stop){ .partition = item->partition,
				.reason = answer->identity == IDENTITY_DELETED ? STOP_DELETED : STOP_DIVERGED,
				.next = item->next,
				.low = answer->low,
				.end = answer->end });
	offsets_free(TAKE_PTR(item->offsets));
}

static void obey(struct restore *restore, const struct topic_probe_answer *answer)
{
	const struct restoring *restoring = restore->restoring;
	struct restored *item = NULL;
	for (size_t i = 0; i < restore->count && !item; i++)
		if (restore->items[i].partition == answer->question.partition)
			item = &restore->items[i];
	if (!item || !item->offsets)
		return;
	item->begin = answer->low;
	if (item->next < 0)
		return;
	item->unseen = answer->identity == IDENTITY_UNKNOWN;
	struct witness last = item->witness;
	if (answer->identity == IDENTITY_SAME && last.sign && answer->low <= last.offset &&
	    last.offset < item->next && answer->end == item->next && item->next - last.offset <= AGAIN_MAX)
		item->last = last.offset;
	if (answer->identity == IDENTITY_DELETED || answer->identity == IDENTITY_DIVERGED) {
		stop(restore, item, answer);
	} else if (answer->identity == IDENTITY_RECREATED) {
		log_warning("partition %d of %s was deleted and created again: it is read from its start, "
			    "offset %lld",
			    (int)item->partition, restoring->topic, (long long)answer->low);
		atomic_fetch_add(restoring->recreated, 1);
		offsets_free(item->offsets);
		item->offsets = offsets_new(answer->low);
		item->witness = (struct witness){ 0 };
		item->next = answer->low;
	}
}

static void compare(struct restore *restore)
{
	const struct restoring *restoring = restore->restoring;
	struct topic_probe_question *questions = calloc(restore->count + 1, sizeof *questions);
	struct topic_probe_answer *answers = NULL;
	size_t count = 0, answered = 0;
	if (!questions)
		abort();
	for (size_t i = 0; i < restore->count; i++) {
		struct restored *item = &restore->items[i];
		if (!item->offsets)
			continue;
		item->witness = offsets_witness(item->offsets);
		item->unseen = !item->again && item->next >= 0;
		if (!item->again)
			questions[count++] =
				(struct topic_probe_question){ item->partition, item->next, item->witness };
	}
	if (count > 0) {
		int64_t until_us = clock_monotonic_us() + INT64_C(1000) * LOOK_MS;
		topic_probe_ask(restoring->topic_probe, questions, count, false);
		while (!answers && clock_monotonic_us() < until_us && !atomic_load(restoring->stopping))
			if (!topic_probe_take(restoring->topic_probe, POLL_MS, &answers, &answered))
				heartbeat_waiting(restoring->heartbeat, "Kafka broker");
	}
	for (size_t i = 0; i < answered; i++)
		obey(restore, &answers[i]);
	free(questions);
	free(answers);
}

/* ---- all of them ---- */

/*
 * librdkafka 2.0.2 starts the partitions of an assignment one after the other, the last one first, and asks
 * each broker for those that it finds started when it looks: mostly one or two. Where nothing has come of
 * these, the broker keeps the question for as long as fetch.wait.max.ms, and the others wait for half a
 * second. So the last ones (their leaders are most brokers) read once more what was read last: that is
 * answered at once, and known to be stale when it comes. Likewise it would ask where a partition begins, and
 * get the answer behind that of a question that is kept.
 */
static int64_t position(const struct restore *restore, size_t i)
{
	const struct restored *item = &restore->items[i];
	if (item->next < 0)
		return item->begin < 0 ? RD_KAFKA_OFFSET_BEGINNING : item->begin;
	return item->last >= 0 && i + FIRST_STARTED >= restore->count ? item->last : item->next;
}

static void begin(struct restore *restore, struct assignment *assignment,
		  rd_kafka_topic_partition_list_t *positions)
{
	const struct restoring *restoring = restore->restoring;
	for (size_t i = 0; i < restore->count; i++) {
		struct restored *item = &restore->items[i];
		trails_add(restoring->trails, item->partition, item->next, item->witness);
		if (!item->offsets)
			continue;
		trails_find(restoring->trails, item->partition)->unseen = item->unseen;
		assignment_add(assignment, item->partition, item->offsets);
		rd_kafka_topic_partition_list_add(positions, restoring->topic, item->partition)->offset =
			position(restore, i);
	}
}

/* An offset that was reset is obeyed; that its map is gone with it is worth knowing. */
static void log_foreign(const struct restore *restore)
{
	if (restore->foreign)
		log_warning("the offsets of %d partitions were committed by another program, without a "
			    "completion map (the first: partition %d, offset %lld): all events from there on "
			    "are processed, even if they were finished before",
			    restore->foreign_count, (int)restore->foreign->partition,
			    (long long)restore->foreign->offset);
}

static void restore_all(const struct restoring *restoring, struct assignment *assignment,
			const rd_kafka_topic_partition_list_t *list,
			rd_kafka_topic_partition_list_t *positions)
{
	struct restore restore = { .restoring = restoring };
	restore.items = calloc((size_t)list->cnt + 1, sizeof *restore.items);
	if (!restore.items)
		abort();
	for (int i = 0; i < list->cnt; i++)
		decode(&restore, &restore.items[restore.count++], &list->elems[i]);
	compare(&restore);
	begin(&restore, assignment, positions);
	log_foreign(&restore);
	free(restore.items);
}

/*
 * Whether the metadata names a generation and a member: a commit without them would not be checked by the
 * broker. There is no call that tells; the serialised form is "CGMDv2:", the generation (int32, host order),
 * then group and member, each with a NUL (rd_kafka_consumer_group_metadata_write). A form that is not known
 * is trusted.
 */
static bool is_membership(const rd_kafka_consumer_group_metadata_t *group)
{
	static const char magic[] = "CGMDv2:";
	const size_t magic_len = sizeof magic - 1;
	void *form = NULL;
	size_t size = 0;
	int32_t generation;
	if (!group)
		return false;
	rd_kafka_error_t *error = rd_kafka_consumer_group_metadata_write(group, &form, &size);
	if (error) {
		rd_kafka_error_destroy(error);
		return false;
	}
	bool valid = true;
	if (size > magic_len + sizeof generation && memcmp(form, magic, magic_len) == 0) {
		const char *text = (const char *)form + magic_len + sizeof generation;
		const char *end = (const char *)form + size;
		memcpy(&generation, (const char *)form + magic_len, sizeof generation);
		const char *member = memchr(text, 0, (size_t)(end - text));
		valid = generation >= 0 && member && member + 1 < end && member[1] != 0;
	}
	rd_kafka_mem_free(NULL, form);
	return valid;
}

struct assignment *offset_restore_run(const struct restoring *restoring,
				      rd_kafka_topic_partition_list_t *list,
				      rd_kafka_topic_partition_list_t *positions)
{
	/* before anything that takes time: later it might be another generation's */
	rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(restoring->consumer);
	if (!is_membership(group) || (list->cnt > 0 && !fetch_committed(restoring, list))) {
		if (group)
			rd_kafka_consumer_group_metadata_destroy(group);
		return NULL;
	}
	struct assignment *assignment = assignment_new(restoring->topic, group);
	trails_clear(restoring->trails);
	rd_kafka_topic_partition_list_sort(list, NULL, NULL); /* as they are started */
	restore_all(restoring, assignment, list, positions);
	return assignment;
}
