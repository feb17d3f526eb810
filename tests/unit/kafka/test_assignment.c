#include "kafka/assignment.h"

#include "common/pool.h"
#include "kafka/client.h"

#include <setjmp.h>

#include <cmocka.h>

static struct assignment *assignment_of(int32_t partitions, int64_t start)
{
	struct assignment *assignment = assignment_new("input", NULL);
	for (int32_t i = 0; i < partitions; i++)
		assignment_add(assignment, i * 3, offsets_new(start));
	return assignment;
}

static void arrivals_are_told_apart_by_partition(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(2, 10);
	assert_int_equal(assignment_arrive(assignment, 0, 10, 0, 0), OFFSETS_FRESH);
	assert_int_equal(assignment_arrive(assignment, 3, 10, 0, 0), OFFSETS_FRESH);
	assert_int_equal(assignment_arrive(assignment, 0, 10, 0, 0), OFFSETS_STALE);
	assert_int_equal(assignment_arrive(assignment, 1, 10, 0, 0), OFFSETS_STALE); /* not ours */
	assert_int_equal(assignment_arrive(assignment, -1, 10, 0, 0), OFFSETS_STALE);
	assert_int_equal(assignment_arrive(assignment, 999, 10, 0, 0), OFFSETS_STALE);
	assignment_leave(assignment);
	assignment_leave(assignment);
	assignment_unref(assignment);
}

/* The list's entry of a partition, or NULL. */
static const rd_kafka_topic_partition_t *entry_of(const rd_kafka_topic_partition_list_t *list,
						  int32_t partition)
{
	for (int i = 0; i < list->cnt; i++)
		if (list->elems[i].partition == partition)
			return &list->elems[i];
	return NULL;
}

static void a_transaction_commits_prefix_and_map_of_what_joined(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(2, 0);
	for (int64_t offset = 0; offset < 4; offset++)
		assert_int_equal(assignment_arrive(assignment, 0, offset, 0, 0), OFFSETS_FRESH);
	assert_true(assignment_begin(assignment));
	assert_true(assignment_join(assignment, 0, 0));
	assert_true(assignment_join(assignment, 0, 2));
	rd_kafka_topic_partition_list_t *list = assignment_offsets(assignment);
	assert_int_equal(list->cnt, 1); /* the other partition has not moved */
	assert_int_equal(entry_of(list, 0)->offset, 1);
	struct offsets *next_owner;
	bool foreign;
	assert_int_equal(
		offsets_restore(1, (str_t){ entry_of(list, 0)->metadata, entry_of(list, 0)->metadata_size },
				&next_owner, &foreign),
		ERR_OK);
	assert_int_equal(offsets_arrive(next_owner, 1, 0, 0), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(next_owner, 2, 0, 0), OFFSETS_DONE);
	assert_int_equal(offsets_arrive(next_owner, 3, 0, 0), OFFSETS_FRESH);
	offsets_free(next_owner);
	rd_kafka_topic_partition_list_destroy(list);

	assignment_end(assignment, false); /* aborted: the next transaction starts from nothing */
	assert_true(assignment_begin(assignment));
	list = assignment_offsets(assignment);
	assert_int_equal(list->cnt, 0);
	rd_kafka_topic_partition_list_destroy(list);
	assert_true(assignment_join(assignment, 0, 1));
	list = assignment_offsets(assignment);
	assert_int_equal(entry_of(list, 0)->offset, 0);
	rd_kafka_topic_partition_list_destroy(list);
	assignment_end(assignment, true);
	for (int i = 0; i < 4; i++)
		assignment_leave(assignment);
	assignment_unref(assignment);
}

/* A prefix that moved without an event is carried by the next transaction, or by one of its own. */
static void a_partition_has_an_offset_once_one_is_committed(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_new("topic", NULL);
	assignment_add(assignment, 0, offsets_new(OFFSETS_UNKNOWN));
	assignment_add(assignment, 1, offsets_new(7));
	assert_true(assignment_has_committed(assignment, 1));
	assert_false(assignment_has_committed(assignment, 2));
	assert_int_equal(assignment_arrive(assignment, 0, 3, 0, 0), OFFSETS_FRESH);
	for (int committed = 0; committed < 2; committed++) {
		assert_false(assignment_has_committed(assignment, 0));
		assert_true(assignment_begin(assignment));
		assert_true(assignment_join(assignment, 0, 3));
		rd_kafka_topic_partition_list_destroy(assignment_offsets(assignment));
		assignment_end(assignment, committed);
	}
	assert_true(assignment_has_committed(assignment, 0));
	assignment_leave(assignment);
	assignment_unref(assignment);
}

static void a_passed_end_is_owed_until_it_is_committed(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(2, 0);
	assert_false(assignment_owes(assignment));
	assert_false(assignment_pass(assignment, 999, 10)); /* not ours */
	assert_int_equal(assignment_arrive(assignment, 0, 0, 0, 1), OFFSETS_FRESH);
	assert_true(assignment_pass(assignment, 0, 2));
	assert_false(assignment_owes(assignment)); /* its event takes it along */
	assert_true(assignment_begin(assignment));
	assert_true(assignment_join(assignment, 0, 0));
	rd_kafka_topic_partition_list_destroy(assignment_offsets(assignment));
	assert_true(assignment_pass(assignment, 0, 4)); /* too late for this one */
	assignment_end(assignment, true);
	assignment_leave(assignment);
	for (int committed = 0; committed < 2; committed++) {
		assert_true(assignment_owes(assignment));
		assert_true(assignment_begin(assignment));
		rd_kafka_topic_partition_list_t *list = assignment_offsets(assignment);
		assert_int_equal(list->cnt, 1);
		assert_int_equal(entry_of(list, 0)->offset, 4);
		rd_kafka_topic_partition_list_destroy(list);
		assignment_end(assignment, committed);
	}
	assert_false(assignment_owes(assignment));
	assert_true(assignment_drain(assignment, 0)); /* nothing was in flight for it */
	assert_false(assignment_pass(assignment, 0, 6));
	assignment_unref(assignment);
}

static void closed_assignments_take_part_in_nothing(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(1, 0);
	assert_int_equal(assignment_arrive(assignment, 0, 0, 0, 0), OFFSETS_FRESH);
	assert_false(assignment_drain(assignment, 10));
	assert_int_equal(assignment_state(assignment), ASSIGNMENT_DRAINING);
	assert_int_equal(assignment_arrive(assignment, 0, 1, 0, 0), OFFSETS_STALE);
	assert_true(assignment_begin(assignment));	/* what is done may still be committed */
	assert_false(assignment_close(assignment, 10)); /* a transaction is under way */
	assignment_end(assignment, true);
	assert_true(assignment_close(assignment, 10));
	assert_false(assignment_begin(assignment));
	assignment_leave(assignment);
	assert_true(assignment_drain(assignment, 0));
	assignment_unref(assignment);
}

/* A map that would not fit into a commit makes events wait, but never the one at the prefix. */
static void joins_stop_before_the_map_is_too_large(void **state)
{
	(void)state;
	enum { COUNT = 120000 };
	struct assignment *assignment = assignment_of(1, 0);
	for (int64_t offset = 0; offset < COUNT; offset++)
		assert_int_equal(assignment_arrive(assignment, 0, offset, 0, 0), OFFSETS_FRESH);
	assert_true(assignment_begin(assignment));
	int64_t joined = 0, at = 1;
	for (; at < COUNT && assignment_join(assignment, 0, at); at += 2)
		joined++;
	assert_true(joined > 5000 && at < COUNT); /* it did end */
	rd_kafka_topic_partition_list_t *list = assignment_offsets(assignment);
	assert_true(list->elems[0].metadata_size > 0 &&
		    list->elems[0].metadata_size <= OFFSETS_METADATA_BYTES);
	rd_kafka_topic_partition_list_destroy(list);
	assert_false(assignment_join(assignment, 0, at));
	assert_true(assignment_join(assignment, 0, 0));
	assignment_end(assignment, true);
	for (int i = 0; i < COUNT; i++)
		assignment_leave(assignment);
	assignment_unref(assignment);
}

/* What an earlier owner finished has yet to come by: a map that is full of it must not stop the partition. */
static void a_restored_map_does_not_stop_its_partition(void **state)
{
	(void)state;
	enum { HOLES = 1250, STEP = 16 };
	struct offsets *before = offsets_new(0), *offsets;
	_cleanup_(buf_free) struct buf metadata = BUF_INIT;
	bool foreign;
	for (int64_t offset = 0; offset < (int64_t)HOLES * STEP; offset++) {
		offsets_arrive(before, offset, 0, 0);
		if (offset % STEP)
			offsets_join(before, offset);
	}
	offsets_end(before, true);
	offsets_encode(before, &metadata);
	assert_true(metadata.len > OFFSETS_METADATA_BYTES * 3 / 4);
	assert_int_equal(offsets_restore(0, buf_str(&metadata), &offsets, &foreign), ERR_OK);
	offsets_free(before);

	struct assignment *assignment = assignment_new("input", NULL);
	assignment_add(assignment, 0, offsets);
	unsigned fresh = 0;
	for (int64_t offset = 0; offset < (int64_t)HOLES * STEP; offset++) {
		fresh += assignment_arrive(assignment, 0, offset, 0, 0) == OFFSETS_FRESH;
		assert_true(offset == (int64_t)HOLES * STEP - 1 || !assignment_is_overfull(assignment, 0));
	}
	assert_int_equal(fresh, HOLES);
	for (unsigned i = 0; i < fresh; i++)
		assignment_leave(assignment);
	assignment_unref(assignment);
}

static void a_full_map_stops_its_partition_until_it_empties(void **state)
{
	(void)state;
	enum { COUNT = 20000 };
	struct assignment *assignment = assignment_of(1, 0);
	bool overfull = false;
	for (int64_t offset = 0; offset < COUNT; offset++)
		assert_int_equal(assignment_arrive(assignment, 0, offset, 0, 0), OFFSETS_FRESH);
	assert_true(assignment_begin(assignment));
	for (int64_t offset = 1; offset < COUNT; offset += 2)
		assert_true(assignment_join(assignment, 0, offset));
	assignment_end(assignment, true);
	for (int64_t offset = COUNT; offset < COUNT + 256; offset++) {
		assert_int_equal(assignment_arrive(assignment, 0, offset, 0, 0), OFFSETS_FRESH);
		overfull |= assignment_is_overfull(assignment, 0);
	}
	assert_true(overfull);
	assert_false(assignment_has_emptied(assignment, 0));
	assert_true(assignment_begin(assignment));
	for (int64_t offset = 0; offset < COUNT; offset += 2)
		assert_true(assignment_join(assignment, 0, offset));
	assignment_end(assignment, true);
	assert_true(assignment_has_emptied(assignment, 0));
	for (int i = 0; i < COUNT + 256; i++)
		assignment_leave(assignment);
	assignment_unref(assignment);
}

static void stops_are_taken_once_each(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(3, 0);
	int32_t partition = -1, other = -1;
	assert_false(assignment_take_stopped(assignment, &partition));
	assert_true(assignment_stop(assignment, 3));
	assert_true(assignment_stop(assignment, 6));
	assert_false(assignment_stop(assignment, 6));
	assert_false(assignment_stop(assignment, 7)); /* not ours */
	assert_true(assignment_take_stopped(assignment, &partition));
	assert_true(assignment_take_stopped(assignment, &other));
	assert_int_equal(partition + other, 9);
	assert_false(assignment_take_stopped(assignment, &partition));
	assignment_unref(assignment);
}

static void a_partition_that_was_stopped_goes_on(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(3, 0);
	int32_t partition = -1;
	assert_false(assignment_go_on(assignment, 3));
	assert_true(assignment_has_emptied(assignment, 3));
	assert_true(assignment_stop(assignment, 3));
	assert_false(assignment_has_emptied(assignment, 3));
	assert_true(assignment_go_on(assignment, 3));
	assert_false(assignment_take_stopped(assignment, &partition)); /* it never was told */
	assert_true(assignment_has_emptied(assignment, 3));
	assert_true(assignment_stop(assignment, 3));
	assert_true(assignment_take_stopped(assignment, &partition));
	assert_int_equal(partition, 3);
	assert_true(assignment_go_on(assignment, 3));
	assert_true(assignment_stop(assignment, 3)); /* anew, and told anew */
	assert_true(assignment_take_stopped(assignment, &partition));
	assignment_unref(assignment);
}

static void leaver(void *context, unsigned index)
{
	(void)index;
	usleep(20000);
	assignment_leave(context);
}

static void draining_waits_for_what_is_in_flight(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_of(1, 0);
	for (int64_t offset = 0; offset < 3; offset++)
		assignment_arrive(assignment, 0, offset, 0, 0);
	struct pool *pool = pool_start("leaver", 3, leaver, assignment);
	assert_true(assignment_drain(assignment, 10000));
	pool_join(pool);
	assignment_unref(assignment);
}

static void smaller_maps_hold_back_what_does_not_fit(void **state)
{
	(void)state;
	enum { COUNT = 4000 };
	static const size_t limits[] = { 4096, 2048, 1024, 512, 256, 128 };
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct assignment *assignment = assignment_new("topic", NULL);
		assignment_add(assignment, 0, offsets_new(0));
		for (size_t halving = 1; halving <= i; halving++)
			assert_int_equal(assignment_shrink_maps(assignment), limits[halving]);
		for (int64_t offset = 0; offset < COUNT; offset++)
			assignment_arrive(assignment, 0, offset, 0, 0);
		assert_true(assignment_begin(assignment));
		size_t joined = 0;
		for (int64_t offset = 1; offset < COUNT; offset += 2)
			joined += assignment_join(assignment, 0, offset);
		assert_true(joined > 0 && (limits[i] > 256 || joined < COUNT / 2));
		_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
			assignment_offsets(assignment);
		assert_true(list->elems[0].metadata_size <= limits[i]);
		assert_true(assignment_join(assignment, 0, 0)); /* the prefix always moves */
		assignment_end(assignment, true);
		for (int event = 0; event < COUNT; event++)
			assignment_leave(assignment);
		assignment_unref(assignment);
	}
}

static void lag_is_that_of_the_partition(void **state)
{
	(void)state;
	struct assignment *assignment = assignment_new("topic", NULL);
	struct assignment_lag lag;
	assignment_add(assignment, 0, offsets_new(0));
	assignment_add(assignment, 1, offsets_new(0));
	assignment_lag(assignment, 2, &lag);
	assert_true(lag.oldest_ms == INT64_MAX && lag.fill == 0);
	for (int64_t offset = 0; offset < 100; offset++) {
		assert_int_equal(assignment_arrive(assignment, 0, offset, 5000, 0), OFFSETS_FRESH);
		assert_int_equal(assignment_arrive(assignment, 1, offset, 4000 + offset, 0), OFFSETS_FRESH);
	}
	assignment_lag(assignment, 0, &lag);
	assert_int_equal(lag.oldest_ms, 5000);
	assignment_lag(assignment, 1, &lag);
	assert_int_equal(lag.oldest_ms, 4000);
	double empty = lag.fill;
	assert_true(assignment_begin(assignment));
	for (int64_t offset = 0; offset < 100; offset += 2)
		assert_true(assignment_join(assignment, 1, offset));
	assignment_end(assignment, true);
	assignment_lag(assignment, 1, &lag);
	assert_int_equal(lag.oldest_ms, 4001);
	assert_true(lag.fill > empty);
	for (int i = 0; i < 200; i++)
		assignment_leave(assignment);
	assignment_unref(assignment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrivals_are_told_apart_by_partition),
		cmocka_unit_test(a_transaction_commits_prefix_and_map_of_what_joined),
		cmocka_unit_test(a_partition_has_an_offset_once_one_is_committed),
		cmocka_unit_test(a_passed_end_is_owed_until_it_is_committed),
		cmocka_unit_test(closed_assignments_take_part_in_nothing),
		cmocka_unit_test(joins_stop_before_the_map_is_too_large),
		cmocka_unit_test(smaller_maps_hold_back_what_does_not_fit),
		cmocka_unit_test(lag_is_that_of_the_partition),
		cmocka_unit_test(a_restored_map_does_not_stop_its_partition),
		cmocka_unit_test(a_full_map_stops_its_partition_until_it_empties),
		cmocka_unit_test(stops_are_taken_once_each),
		cmocka_unit_test(a_partition_that_was_stopped_goes_on),
		cmocka_unit_test(draining_waits_for_what_is_in_flight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
