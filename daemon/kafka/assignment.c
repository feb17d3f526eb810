#include "kafka/assignment.h"

#include "common/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct partition {
	int32_t id;
	struct offsets *offsets;
	int64_t committed;  /* prefix of the last commit, or OFFSETS_UNKNOWN */
	int64_t sent;	    /* prefix that the open transaction carries */
	bool joined;	    /* events of it are in the open transaction */
	unsigned unchecked; /* joins since the size of its map was last measured */
	bool map_full;	    /* found by the open transaction */
	unsigned arrivals;  /* since its fill was last measured */
	bool stopped;
	bool stop_reported; /* to the source */
};

struct assignment {
	_Atomic unsigned references;
	char *topic;
	rd_kafka_consumer_group_metadata_t *group;
	struct partition *partitions;
	size_t count, capacity;
	size_t *index; /* partition id → place in `partitions` plus 1; 0: not ours */
	size_t index_size;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum assignment_state state;
	size_t metadata_limit; /* bytes that the broker takes with an offset, as far as is known */
	bool in_transaction;
	size_t in_flight;
};

struct assignment *assignment_new(const char *topic, rd_kafka_consumer_group_metadata_t *group)
{
	struct assignment *assignment = calloc(1, sizeof *assignment);
	if (!assignment || !(assignment->topic = strdup(topic)))
		abort();
	atomic_init(&assignment->references, 1);
	assignment->group = group;
	assignment->metadata_limit = OFFSETS_METADATA_BYTES;
	pthread_mutex_init(&assignment->mutex, NULL);
	clock_cond_init(&assignment->changed);
	return assignment;
}

struct assignment *assignment_ref(struct assignment *assignment)
{
	atomic_fetch_add(&assignment->references, 1);
	return assignment;
}

void assignment_unref(struct assignment *assignment)
{
	if (!assignment || atomic_fetch_sub(&assignment->references, 1) != 1)
		return;
	for (size_t i = 0; i < assignment->count; i++)
		offsets_free(assignment->partitions[i].offsets);
	if (assignment->group)
		rd_kafka_consumer_group_metadata_destroy(assignment->group);
	pthread_cond_destroy(&assignment->changed);
	pthread_mutex_destroy(&assignment->mutex);
	free(assignment->partitions);
	free(assignment->index);
	free(assignment->topic);
	free(assignment);
}

static void *grown(void *items, size_t count, size_t size)
{
	void *larger = reallocarray(items, count, size);
	if (!larger)
		abort();
	return larger;
}

void assignment_add(struct assignment *assignment, int32_t partition, struct offsets *offsets)
{
	size_t id = (size_t)partition;
	if (assignment->count == assignment->capacity) {
		assignment->capacity = assignment->capacity ? assignment->capacity * 2 : 8;
		assignment->partitions =
			grown(assignment->partitions, assignment->capacity, sizeof *assignment->partitions);
	}
	if (id >= assignment->index_size) {
		assignment->index = grown(assignment->index, id + 1, sizeof *assignment->index);
		memset(assignment->index + assignment->index_size, 0,
		       (id + 1 - assignment->index_size) * sizeof *assignment->index);
		assignment->index_size = id + 1;
	}
	assignment->partitions[assignment->count++] = (struct partition){
		.id = partition, .offsets = offsets, .committed = offsets_prefix(offsets)
	};
	assignment->index[id] = assignment->count;
}

static struct partition *find(struct assignment *assignment, int32_t partition)
{
	size_t id = (size_t)partition;
	size_t place = partition >= 0 && id < assignment->index_size ? assignment->index[id] : 0;
	return place ? &assignment->partitions[place - 1] : NULL;
}

enum assignment_state assignment_state(struct assignment *assignment)
{
	pthread_mutex_lock(&assignment->mutex);
	enum assignment_state state = assignment->state;
	pthread_mutex_unlock(&assignment->mutex);
	return state;
}

const char *assignment_topic(const struct assignment *assignment)
{
	return assignment->topic;
}

const rd_kafka_consumer_group_metadata_t *assignment_group(const struct assignment *assignment)
{
	return assignment->group;
}

enum offsets_arrival assignment_arrive(struct assignment *assignment, int32_t partition, int64_t offset,
				       int64_t since_ms, uint64_t sign)
{
	enum offsets_arrival arrival = OFFSETS_STALE;
	pthread_mutex_lock(&assignment->mutex);
	struct partition *found = find(assignment, partition);
	if (found && assignment->state == ASSIGNMENT_OPEN)
		arrival = offsets_arrive(found->offsets, offset, since_ms, sign);
	if (arrival == OFFSETS_FRESH) {
		assignment->in_flight++;
		assignment_ref(assignment);
	}
	pthread_mutex_unlock(&assignment->mutex);
	return arrival;
}

bool assignment_pass(struct assignment *assignment, int32_t partition, int64_t end)
{
	pthread_mutex_lock(&assignment->mutex);
	struct partition *found = find(assignment, partition);
	bool passed = found && assignment->state == ASSIGNMENT_OPEN && offsets_pass(found->offsets, end);
	pthread_mutex_unlock(&assignment->mutex);
	return passed;
}

bool assignment_owes(struct assignment *assignment)
{
	bool owes = false;
	pthread_mutex_lock(&assignment->mutex);
	for (size_t i = 0; i < assignment->count && !owes; i++) {
		const struct partition *partition = &assignment->partitions[i];
		owes = offsets_unfinished(partition->offsets) == 0 &&
		       offsets_prefix(partition->offsets) != partition->committed;
	}
	pthread_mutex_unlock(&assignment->mutex);
	return owes;
}

void assignment_leave(struct assignment *assignment)
{
	pthread_mutex_lock(&assignment->mutex);
	assert(assignment->in_flight > 0);
	assignment->in_flight--;
	pthread_cond_broadcast(&assignment->changed);
	pthread_mutex_unlock(&assignment->mutex);
	assignment_unref(assignment);
}

bool assignment_drain(struct assignment *assignment, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&assignment->mutex);
	if (assignment->state == ASSIGNMENT_OPEN)
		assignment->state = ASSIGNMENT_DRAINING;
	while (assignment->in_flight > 0)
		if (pthread_cond_timedwait(&assignment->changed, &assignment->mutex, &deadline) != 0)
			break;
	bool drained = assignment->in_flight == 0;
	pthread_mutex_unlock(&assignment->mutex);
	return drained;
}

bool assignment_close(struct assignment *assignment, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&assignment->mutex);
	assignment->state = ASSIGNMENT_CLOSED;
	while (assignment->in_transaction)
		if (pthread_cond_timedwait(&assignment->changed, &assignment->mutex, &deadline) != 0)
			break;
	bool closed = !assignment->in_transaction;
	pthread_mutex_unlock(&assignment->mutex);
	return closed;
}

bool assignment_begin(struct assignment *assignment)
{
	pthread_mutex_lock(&assignment->mutex);
	bool open = assignment->state != ASSIGNMENT_CLOSED;
	if (open)
		assignment->in_transaction = true;
	pthread_mutex_unlock(&assignment->mutex);
	return open;
}

/* Measuring a map costs time linear in what is unfinished; a join changes its size by a few bytes at most, so
 * measuring every so many joins with a margin for the ones between is enough. */
enum { SHARE_OF_MARGIN = 8, BYTES_OF_JOIN = 8 };

static size_t margin_bytes(const struct assignment *assignment)
{
	return assignment->metadata_limit / SHARE_OF_MARGIN;
}

static unsigned joins_between_measures(const struct assignment *assignment)
{
	return (unsigned)(margin_bytes(assignment) / BYTES_OF_JOIN);
}

static bool fits(const struct assignment *assignment, struct partition *partition)
{
	if (++partition->unchecked < joins_between_measures(assignment))
		return true;
	if (offsets_metadata_bytes(partition->offsets) >
	    assignment->metadata_limit - margin_bytes(assignment))
		return false;
	partition->unchecked = 0;
	return true;
}

bool assignment_join(struct assignment *assignment, int32_t partition, int64_t offset)
{
	pthread_mutex_lock(&assignment->mutex);
	struct partition *found = find(assignment, partition);
	bool first = !found->joined;
	bool prefix_moves = offsets_prefix(found->offsets) == offset;
	if (first)
		found->unchecked = joins_between_measures(assignment);
	bool fitting = prefix_moves || !found->map_full;
	if (fitting) {
		offsets_join(found->offsets, offset);
		fitting = prefix_moves || fits(assignment, found);
		if (!fitting)
			offsets_withdraw(found->offsets, offset);
	}
	found->map_full = !fitting;
	found->joined |= fitting;
	pthread_mutex_unlock(&assignment->mutex);
	return fitting;
}

void assignment_withdraw(struct assignment *assignment, int32_t partition, int64_t offset)
{
	pthread_mutex_lock(&assignment->mutex);
	offsets_withdraw(find(assignment, partition)->offsets, offset);
	pthread_mutex_unlock(&assignment->mutex);
}

rd_kafka_topic_partition_list_t *assignment_offsets(struct assignment *assignment)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)assignment->count);
	pthread_mutex_lock(&assignment->mutex);
	for (size_t i = 0; i < assignment->count; i++) {
		struct partition *partition = &assignment->partitions[i];
		int64_t prefix = offsets_prefix(partition->offsets);
		partition->sent = partition->committed;
		if (prefix == OFFSETS_UNKNOWN || (!partition->joined && prefix == partition->committed))
			continue;
		partition->sent = prefix;
		struct buf metadata = BUF_INIT;
		offsets_encode(partition->offsets, &metadata);
		rd_kafka_topic_partition_t *entry =
			rd_kafka_topic_partition_list_add(list, assignment->topic, partition->id);
		entry->offset = prefix;
		entry->metadata = metadata.data; /* librdkafka frees it with the list */
		entry->metadata_size = metadata.len;
	}
	pthread_mutex_unlock(&assignment->mutex);
	return list;
}

void assignment_end(struct assignment *assignment, bool committed)
{
	pthread_mutex_lock(&assignment->mutex);
	for (size_t i = 0; i < assignment->count; i++) {
		struct partition *partition = &assignment->partitions[i];
		if (committed)
			partition->committed = partition->sent;
		partition->map_full = false;
		if (partition->joined)
			offsets_end(partition->offsets, committed);
		partition->joined = false;
	}
	assignment->in_transaction = false;
	pthread_cond_broadcast(&assignment->changed);
	pthread_mutex_unlock(&assignment->mutex);
}

size_t assignment_shrink_maps(struct assignment *assignment)
{
	pthread_mutex_lock(&assignment->mutex);
	if (assignment->metadata_limit > OFFSETS_METADATA_BYTES_LEAST)
		assignment->metadata_limit /= 2;
	size_t limit = assignment->metadata_limit;
	pthread_mutex_unlock(&assignment->mutex);
	return limit;
}

enum { ARRIVALS_BETWEEN_FILLS = 256 };

#define FILL_PAUSE  0.75
#define FILL_RESUME 0.50

/* Share of its limit that a partition's map has reached. */
static double fill_of(const struct assignment *assignment, const struct partition *partition)
{
	return (double)offsets_metadata_bytes(partition->offsets) / (double)assignment->metadata_limit;
}

bool assignment_is_overfull(struct assignment *assignment, int32_t partition)
{
	bool overfull = false;
	pthread_mutex_lock(&assignment->mutex);
	struct partition *found = find(assignment, partition);
	if (found && ++found->arrivals >= ARRIVALS_BETWEEN_FILLS) {
		found->arrivals = 0;
		overfull = !offsets_restoring(found->offsets) && fill_of(assignment, found) > FILL_PAUSE;
	}
	pthread_mutex_unlock(&assignment->mutex);
	return overfull;
}

bool assignment_has_emptied(struct assignment *assignment, int32_t partition)
{
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	bool emptied = !found || (!found->stopped && (offsets_unfinished(found->offsets) == 0 ||
						      offsets_restoring(found->offsets) ||
						      fill_of(assignment, found) < FILL_RESUME));
	pthread_mutex_unlock(&assignment->mutex);
	return emptied;
}

int64_t assignment_prefix(struct assignment *assignment, int32_t partition)
{
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	int64_t prefix = found ? offsets_prefix(found->offsets) : OFFSETS_UNKNOWN;
	pthread_mutex_unlock(&assignment->mutex);
	return prefix;
}

bool assignment_has_committed(struct assignment *assignment, int32_t partition)
{
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	bool committed = found && found->committed != OFFSETS_UNKNOWN;
	pthread_mutex_unlock(&assignment->mutex);
	return committed;
}

struct offsets *assignment_begin_again(struct assignment *assignment, int32_t partition, int64_t start,
				       int64_t since)
{
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	struct offsets *offsets = found ? offsets_begin_again(found->offsets, start, since) : NULL;
	pthread_mutex_unlock(&assignment->mutex);
	return offsets;
}

void assignment_lag(struct assignment *assignment, int32_t partition, struct assignment_lag *ret_lag)
{
	*ret_lag = (struct assignment_lag){ .oldest_ms = INT64_MAX };
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	if (found) {
		ret_lag->oldest_ms = offsets_oldest_ms(found->offsets);
		ret_lag->fill = fill_of(assignment, found);
	}
	pthread_mutex_unlock(&assignment->mutex);
}

/* Whether that changes anything. */
static bool set_stopped(struct assignment *assignment, int32_t partition, bool stopped)
{
	pthread_mutex_lock(&assignment->mutex);
	struct partition *found = find(assignment, partition);
	bool changes = found && found->stopped != stopped;
	if (changes) {
		found->stopped = stopped;
		found->stop_reported = false;
	}
	pthread_mutex_unlock(&assignment->mutex);
	return changes;
}

bool assignment_stop(struct assignment *assignment, int32_t partition)
{
	return set_stopped(assignment, partition, true);
}

bool assignment_go_on(struct assignment *assignment, int32_t partition)
{
	return set_stopped(assignment, partition, false);
}

bool assignment_is_stopped(struct assignment *assignment, int32_t partition)
{
	pthread_mutex_lock(&assignment->mutex);
	const struct partition *found = find(assignment, partition);
	bool stopped = found && found->stopped;
	pthread_mutex_unlock(&assignment->mutex);
	return stopped;
}

bool assignment_take_stopped(struct assignment *assignment, int32_t *ret_partition)
{
	bool taken = false;
	pthread_mutex_lock(&assignment->mutex);
	for (size_t i = 0; i < assignment->count && !taken; i++) {
		struct partition *candidate = &assignment->partitions[i];
		taken = candidate->stopped && !candidate->stop_reported;
		if (!taken)
			continue;
		candidate->stop_reported = true;
		*ret_partition = candidate->id;
	}
	pthread_mutex_unlock(&assignment->mutex);
	return taken;
}
