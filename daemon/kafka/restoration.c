#include "kafka/restoration.h"

#include "common/backoff.h"
#include "common/log.h"

enum { POLL_MS = 100, COMMITTED_TIMEOUT_MS = 10000, COMMITTED_PAUSE_MS = 2000 };

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
	for (;;) {
		rd_kafka_resp_err_t err = rd_kafka_committed(restoring->consumer, list, COMMITTED_TIMEOUT_MS);
		if (!err)
			err = first_error(list);
		if (!err)
			return true;
		tick_waiting(restoring->ticker, "Kafka group coordinator");
		log_warning("committed offsets cannot be read yet: %s", rd_kafka_err2str(err));
		if (atomic_load(restoring->stopping) || rd_kafka_assignment_lost(restoring->consumer))
			return false;
		usleep((useconds_t)(POLL_MS + backoff_next_ms(&backoff)) * 1000);
	}
}

/* What becomes of the partitions of a new assignment. */
struct restoration {
	struct assignment *assignment;
	rd_kafka_topic_partition_list_t *positions; /* of those that are consumed */
	const rd_kafka_topic_partition_t *foreign;  /* the first whose offset was set by somebody else */
	int foreign_count;
};

static void restore_partition(struct restoration *restoration, const rd_kafka_topic_partition_t *committed)
{
	struct offsets *offsets;
	bool foreign = false;
	str_t metadata = { committed->metadata, committed->metadata_size };
	if (committed->offset < 0) {
		offsets = offsets_new(OFFSETS_UNKNOWN);
	} else if (offsets_restore(committed->offset, metadata, &offsets, &foreign) != ERR_OK) {
		log_write(LOG_LEVEL_CRITICAL, NULL,
			  "partition %d of %s is not consumed: the metadata of its committed offset %lld "
			  "cannot be read "
			  "(written by a newer version?); run that version, or reset the group's offset by "
			  "hand",
			  (int)committed->partition, committed->topic, (long long)committed->offset);
		return;
	}
	if (foreign && restoration->foreign_count++ == 0)
		restoration->foreign = committed;
	assignment_add(restoration->assignment, committed->partition, offsets);
	rd_kafka_topic_partition_list_add(restoration->positions, committed->topic, committed->partition)
		->offset = committed->offset < 0 ? RD_KAFKA_OFFSET_BEGINNING : committed->offset;
}

/* An offset that was reset is obeyed; that its map is gone with it is worth knowing. */
static void restore_all(struct restoration *restoration, const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		restore_partition(restoration, &list->elems[i]);
	if (restoration->foreign)
		log_warning("the offsets of %d partitions were set by somebody else, without a completion "
			    "map (the first: partition %d, offset %lld): all events from there on are done, "
			    "finished or not",
			    restoration->foreign_count, (int)restoration->foreign->partition,
			    (long long)restoration->foreign->offset);
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

struct assignment *restoration_run(const struct restoring *restoring, rd_kafka_topic_partition_list_t *list,
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
	restore_all(&(struct restoration){ .assignment = assignment, .positions = positions }, list);
	return assignment;
}
