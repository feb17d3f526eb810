#include "kafka/offsets.h"

#include <setjmp.h>

#include <cmocka.h>

static struct offsets *restored(const struct offsets *from)
{
	_cleanup_(buf_free) struct buf metadata = BUF_INIT;
	offsets_encode(from, &metadata);
	struct offsets *offsets;
	bool foreign;
	assert_int_equal(offsets_restore(offsets_prefix(from), buf_str(&metadata), &offsets, &foreign),
			 ERR_OK);
	assert_false(foreign);
	return offsets;
}

static void arrive(struct offsets *offsets, int64_t from, int64_t to)
{
	for (int64_t offset = from; offset < to; offset++)
		assert_int_equal(offsets_arrive(offsets, offset, 0, 0), OFFSETS_FRESH);
}

static void commit(struct offsets *offsets, const int64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		offsets_join(offsets, list[i]);
	offsets_end(offsets, true);
}

#define COMMIT(offsets, ...)                                                                                 \
	commit(offsets, (const int64_t[]){ __VA_ARGS__ },                                                    \
	       sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static void prefix_follows_the_first_unfinished_arrival(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(10);
	assert_int_equal(offsets_prefix(offsets), 10);
	arrive(offsets, 10, 15);
	assert_int_equal(offsets_prefix(offsets), 10);
	COMMIT(offsets, 11, 13);
	assert_int_equal(offsets_prefix(offsets), 10);
	assert_int_equal(offsets_unfinished(offsets), 3);
	COMMIT(offsets, 10);
	assert_int_equal(offsets_prefix(offsets), 12);
	COMMIT(offsets, 12, 14);
	assert_int_equal(offsets_prefix(offsets), 15);
	assert_int_equal(offsets_metadata_bytes(offsets), 3); /* the mark alone */
	offsets_free(offsets);
}

static void age_is_that_of_the_oldest_unfinished(void **state)
{
	(void)state;
	static const int64_t since_ms[] = { 500, 300, 400, 200 }; /* writers' clocks differ */
	struct offsets *offsets = offsets_new(0);
	assert_true(offsets_oldest_ms(offsets) == INT64_MAX);
	for (int64_t offset = 0; offset < 4; offset++)
		offsets_arrive(offsets, offset, since_ms[offset], 0);
	assert_int_equal(offsets_oldest_ms(offsets), 200);
	offsets_join(offsets, 3);
	assert_int_equal(offsets_oldest_ms(offsets), 200); /* not committed yet */
	offsets_end(offsets, false);
	assert_int_equal(offsets_oldest_ms(offsets), 200);
	COMMIT(offsets, 3);
	assert_int_equal(offsets_oldest_ms(offsets), 300);
	COMMIT(offsets, 1, 2);
	assert_int_equal(offsets_oldest_ms(offsets), 500);
	COMMIT(offsets, 0);
	assert_true(offsets_oldest_ms(offsets) == INT64_MAX);
	offsets_free(offsets);
}

static void start_is_unknown_until_the_first_arrival(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(OFFSETS_UNKNOWN);
	assert_int_equal(offsets_prefix(offsets), OFFSETS_UNKNOWN);
	assert_int_equal(offsets_metadata_bytes(offsets), 0);
	assert_int_equal(offsets_arrive(offsets, 1000, 0, 0), OFFSETS_FRESH);
	assert_int_equal(offsets_prefix(offsets), 1000);
	offsets_free(offsets);
}

static void offsets_with_gaps_advance_by_arrival(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(0);
	static const int64_t arrivals[] = { 3, 4, 9, 20 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(offsets_arrive(offsets, arrivals[i], 0, 0), OFFSETS_FRESH);
	COMMIT(offsets, 3, 4);
	assert_int_equal(offsets_prefix(offsets), 9);
	COMMIT(offsets, 9, 20);
	assert_int_equal(offsets_prefix(offsets), 21);
	offsets_free(offsets);
}

static void seen_offsets_are_stale(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(5);
	assert_int_equal(offsets_arrive(offsets, 4, 0, 0), OFFSETS_STALE);
	assert_int_equal(offsets_arrive(offsets, 5, 0, 0), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(offsets, 5, 0, 0), OFFSETS_STALE);
	offsets_free(offsets);
}

static void the_open_transaction_counts_as_done_and_nothing_else_does(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(0);
	arrive(offsets, 0, 4);
	offsets_join(offsets, 0);
	offsets_join(offsets, 2);
	assert_int_equal(offsets_prefix(offsets), 1);
	struct offsets *next_owner = restored(offsets);
	assert_int_equal(offsets_arrive(next_owner, 1, 0, 0), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(next_owner, 2, 0, 0), OFFSETS_DONE);
	assert_int_equal(offsets_arrive(next_owner, 3, 0, 0), OFFSETS_FRESH);
	offsets_free(next_owner);

	offsets_end(offsets, false); /* aborted: all of it is unfinished again */
	assert_int_equal(offsets_prefix(offsets), 0);
	assert_int_equal(offsets_unfinished(offsets), 4);
	offsets_join(offsets, 0);
	offsets_withdraw(offsets, 0);
	assert_int_equal(offsets_prefix(offsets), 0);
	offsets_free(offsets);
}

static void a_map_survives_owners_that_saw_only_part_of_it(void **state)
{
	(void)state;
	struct offsets *first = offsets_new(0);
	arrive(first, 0, 10);
	COMMIT(first, 1, 2, 5, 8);
	struct offsets *second = restored(first);
	assert_int_equal(offsets_arrive(second, 0, 0, 0), OFFSETS_FRESH);
	COMMIT(second, 0); /* the prefix now ends where nothing has arrived yet */
	assert_int_equal(offsets_prefix(second), 1);
	struct offsets *third = restored(second);
	static const enum offsets_arrival expected[] = { OFFSETS_DONE,	OFFSETS_DONE, OFFSETS_FRESH,
							 OFFSETS_FRESH, OFFSETS_DONE, OFFSETS_FRESH,
							 OFFSETS_FRESH, OFFSETS_DONE, OFFSETS_FRESH };
	for (int64_t offset = 1; offset < 10; offset++)
		assert_int_equal(offsets_arrive(third, offset, 0, 0), expected[offset - 1]);
	offsets_free(first);
	offsets_free(second);
	offsets_free(third);
}

static void a_reset_offset_makes_the_map_ignored(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(0);
	arrive(offsets, 0, 5);
	COMMIT(offsets, 2);
	_cleanup_(buf_free) struct buf metadata = BUF_INIT;
	offsets_encode(offsets, &metadata);
	struct offsets *reset;
	bool foreign;
	assert_int_equal(offsets_restore(1, buf_str(&metadata), &reset, &foreign), ERR_OK);
	assert_true(foreign);
	assert_int_equal(offsets_arrive(reset, 1, 0, 0), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(reset, 2, 0, 0), OFFSETS_FRESH);
	offsets_free(reset);
	offsets_free(offsets);
}

static void an_offset_without_our_mark_is_somebody_elses(void **state)
{
	(void)state;
	static const struct {
		const char *metadata;
		bool foreign;
	} cases[] = { { "", true }, { "a1", true }, { "note", true }, { "a1:", false } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct offsets *offsets;
		bool foreign;
		assert_int_equal(offsets_restore(7, str_from(cases[i].metadata), &offsets, &foreign), ERR_OK);
		assert_int_equal(foreign, cases[i].foreign);
		assert_int_equal(offsets_prefix(offsets), 7);
		assert_int_equal(offsets_arrive(offsets, 8, 0, 0), OFFSETS_FRESH);
		offsets_free(offsets);
	}
}

static void damaged_and_unknown_metadata_is_refused_and_foreign_is_ignored(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(0), *other;
	bool foreign;
	arrive(offsets, 0, 5);
	COMMIT(offsets, 2);
	_cleanup_(buf_free) struct buf metadata = BUF_INIT;
	offsets_encode(offsets, &metadata);
	assert_int_equal(offsets_restore(0, STR("somebody's note"), &other, &foreign), ERR_OK);
	assert_true(foreign);
	offsets_free(other);
	assert_int_equal(offsets_restore(0, STR("a1:AgEA"), &other, &foreign), ERR_OFFSETS_METADATA);
	assert_int_equal(offsets_restore(0, STR("a1:*"), &other, &foreign), ERR_OFFSETS_METADATA);
	for (size_t i = 3; i < metadata.len; i++) {
		_cleanup_(buf_free) struct buf damaged = BUF_INIT;
		buf_append(&damaged, metadata.data, metadata.len);
		damaged.data[i] = damaged.data[i] == 'B' ? 'C' : 'B';
		err_t err = offsets_restore(0, buf_str(&damaged), &other, &foreign);
		assert_true(err == ERR_OFFSETS_METADATA || foreign); /* a damaged base looks like a reset */
		if (err == ERR_OK)
			offsets_free(other);
	}
	offsets_free(offsets);
}

#define SIGN UINT64_C(0x00abcdef01234567)

/* The next owner's, who may be a former version: it knows nothing of signs, and reads the same map. */
static void the_sign_of_the_record_before_the_prefix_is_committed(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(10);
	assert_true(offsets_witness(offsets).sign == 0);
	for (int64_t offset = 10; offset < 20; offset += 3)
		offsets_arrive(offsets, offset, 0, SIGN + (uint64_t)offset);
	struct offsets *next_owner = restored(offsets);
	assert_true(offsets_witness(next_owner).sign == 0); /* nothing is done */
	offsets_free(next_owner);
	COMMIT(offsets, 10, 13, 19);
	assert_int_equal(offsets_prefix(offsets), 16);
	next_owner = restored(offsets);
	assert_int_equal(offsets_witness(next_owner).offset, 13);
	assert_true(offsets_witness(next_owner).sign == SIGN + 13);
	assert_int_equal(offsets_arrive(next_owner, 16, 0, 1), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(next_owner, 19, 0, 1), OFFSETS_DONE);
	assert_int_equal(offsets_arrive(next_owner, 22, 0, 1), OFFSETS_FRESH);
	offsets_free(next_owner);
	COMMIT(offsets, 16);
	next_owner = restored(offsets); /* no map any more */
	assert_int_equal(offsets_witness(next_owner).offset, 19);
	assert_true(offsets_witness(next_owner).sign == SIGN + 19);
	assert_int_equal(offsets_prefix(next_owner), 20);
	assert_false(offsets_restoring(next_owner));
	offsets_free(next_owner);
	offsets_free(offsets);
}

static void a_sign_is_kept_however_far_away_its_record_is(void **state)
{
	(void)state;
	static const int64_t gaps[] = { 63, 64, 5000, INT64_C(1) << 40 }; /* aborted records between them */
	for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
		struct offsets *offsets = offsets_new(0);
		offsets_arrive(offsets, 7, 0, SIGN);
		offsets_arrive(offsets, 7 + gaps[i], 0, SIGN + 1);
		offsets_arrive(offsets, 8 + gaps[i], 0, SIGN + 2);
		COMMIT(offsets, 7, 8 + gaps[i]);
		assert_int_equal(offsets_prefix(offsets), 7 + gaps[i]);
		struct offsets *next_owner = restored(offsets);
		assert_int_equal(offsets_witness(next_owner).offset, 7);
		assert_true(offsets_witness(next_owner).sign == SIGN);
		assert_int_equal(offsets_arrive(next_owner, 7 + gaps[i], 0, 0), OFFSETS_FRESH);
		assert_int_equal(offsets_arrive(next_owner, 8 + gaps[i], 0, 0), OFFSETS_DONE);
		offsets_free(next_owner);
		offsets_free(offsets);
	}
}

static void the_end_of_a_log_is_passed_behind_what_was_seen(void **state)
{
	(void)state;
	struct offsets *offsets = offsets_new(OFFSETS_UNKNOWN);
	assert_false(offsets_pass(offsets, 10)); /* of a log of which nothing is known */
	assert_int_equal(offsets_prefix(offsets), OFFSETS_UNKNOWN);
	offsets_arrive(offsets, 10, 0, SIGN);
	offsets_arrive(offsets, 12, 0, SIGN + 12);
	assert_false(offsets_pass(offsets, 13)); /* nothing lies between */
	assert_true(offsets_pass(offsets, 14));
	assert_false(offsets_pass(offsets, 14));
	assert_int_equal(offsets_prefix(offsets), 10);
	COMMIT(offsets, 12);
	struct offsets *next_owner = restored(offsets);
	assert_int_equal(offsets_arrive(next_owner, 10, 0, SIGN), OFFSETS_FRESH);
	assert_int_equal(offsets_arrive(next_owner, 12, 0, SIGN + 12), OFFSETS_DONE);
	COMMIT(next_owner, 10);
	assert_int_equal(offsets_prefix(next_owner), 13);
	assert_true(offsets_restoring(next_owner));
	assert_true(offsets_pass(next_owner, 14)); /* the owner before has seen that, this one has not */
	assert_false(offsets_restoring(next_owner));
	offsets_free(next_owner);
	COMMIT(offsets, 10);
	assert_int_equal(offsets_prefix(offsets), 14);
	assert_int_equal(offsets_witness(offsets).offset, 12); /* a mark is no witness */
	next_owner = restored(offsets);
	assert_true(offsets_witness(next_owner).sign == SIGN + 12);
	assert_true(offsets_pass(next_owner, 16)); /* behind another mark */
	assert_int_equal(offsets_arrive(next_owner, 15, 0, SIGN), OFFSETS_STALE);
	assert_int_equal(offsets_arrive(next_owner, 16, 0, SIGN), OFFSETS_FRESH);
	assert_int_equal(offsets_prefix(next_owner), 16);
	offsets_free(next_owner);
	offsets_free(offsets);
	offsets = offsets_new(5); /* committed, and no record known */
	assert_false(offsets_pass(offsets, 6));
	offsets_free(offsets);
}

static void a_topic_that_was_made_again_begins_with_what_was_done_of_it(void **state)
{
	(void)state;
	struct offsets *former = offsets_new(0);
	arrive(former, 0, 30);
	COMMIT(former, 0, 1, 20, 21, 23, 29);
	/* 0 to 19 were of the former topic */
	struct offsets *offsets = offsets_begin_again(former, 0, 20);
	assert_int_equal(offsets_prefix(offsets), 0);
	assert_int_equal(offsets_unfinished(offsets), 0);
	for (int64_t offset = 0; offset < 32; offset++) {
		bool done = offset == 20 || offset == 21 || offset == 23 || offset == 29;
		assert_int_equal(offsets_arrive(offsets, offset, 0, 0), done ? OFFSETS_DONE : OFFSETS_FRESH);
	}
	offsets_free(offsets);
	offsets = offsets_begin_again(former, 5, INT64_MAX); /* all of them were */
	assert_int_equal(offsets_arrive(offsets, 29, 0, 0), OFFSETS_FRESH);
	offsets_free(offsets);
	offsets_free(former);
}

static void the_smaller_form_is_chosen(void **state)
{
	(void)state;
	/* one hole below a hundred thousand finished ones: runs */
	struct offsets *offsets = offsets_new(0);
	for (int64_t offset = 0; offset < 100000; offset++) {
		offsets_arrive(offsets, offset, 0, 0);
		if (offset)
			offsets_join(offsets, offset);
	}
	offsets_end(offsets, true);
	assert_true(offsets_metadata_bytes(offsets) < 40);
	offsets_free(offsets);
	/* every other one finished: bits, a sixth of a character each after base64 */
	offsets = offsets_new(0);
	for (int64_t offset = 0; offset < 18000; offset++) {
		offsets_arrive(offsets, offset, 0, 0);
		if (offset % 2)
			offsets_join(offsets, offset);
	}
	offsets_end(offsets, true);
	assert_true(offsets_metadata_bytes(offsets) > 3000 && offsets_metadata_bytes(offsets) < 3100);
	offsets_free(offsets);
}

/* Owners come and go at random; a plain array of what was committed is the oracle. */
static void random_owners_agree_with_a_plain_array(void **state)
{
	(void)state;
	enum { SPAN = 300 };
	for (unsigned seed = 1; seed <= 300; seed++) {
		bool exists[SPAN], done[SPAN] = { false };
		for (int i = 0; i < SPAN; i++)
			exists[i] = rand_r(&seed) % 8 != 0;
		struct offsets *offsets = offsets_new(0);
		for (int owner = 0; owner < 12; owner++) {
			int64_t unfinished[SPAN];
			size_t count = 0;
			int64_t to = offsets_prefix(offsets) + rand_r(&seed) % 60;
			for (int64_t i = offsets_prefix(offsets); i < to && i < SPAN; i++) {
				if (!exists[i])
					continue;
				enum offsets_arrival arrival = offsets_arrive(offsets, i, 0, 0);
				assert_int_equal(arrival, done[i] ? OFFSETS_DONE : OFFSETS_FRESH);
				if (arrival == OFFSETS_FRESH)
					unfinished[count++] = i;
			}
			bool committed = rand_r(&seed) % 4 != 0;
			for (size_t i = 0; i < count; i++)
				if (rand_r(&seed) % 2) {
					offsets_join(offsets, unfinished[i]);
					done[unfinished[i]] = committed;
				}
			struct offsets *aborted_view = NULL;
			if (!committed) {
				offsets_end(offsets, false);
				aborted_view = restored(offsets);
			} else {
				aborted_view = restored(
					offsets); /* what the commit carries, before its outcome is known */
				offsets_end(offsets, true);
			}
			offsets_free(offsets);
			offsets = aborted_view;
		}
		offsets_free(offsets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefix_follows_the_first_unfinished_arrival),
		cmocka_unit_test(age_is_that_of_the_oldest_unfinished),
		cmocka_unit_test(start_is_unknown_until_the_first_arrival),
		cmocka_unit_test(offsets_with_gaps_advance_by_arrival),
		cmocka_unit_test(seen_offsets_are_stale),
		cmocka_unit_test(the_open_transaction_counts_as_done_and_nothing_else_does),
		cmocka_unit_test(a_map_survives_owners_that_saw_only_part_of_it),
		cmocka_unit_test(a_reset_offset_makes_the_map_ignored),
		cmocka_unit_test(an_offset_without_our_mark_is_somebody_elses),
		cmocka_unit_test(damaged_and_unknown_metadata_is_refused_and_foreign_is_ignored),
		cmocka_unit_test(the_sign_of_the_record_before_the_prefix_is_committed),
		cmocka_unit_test(a_sign_is_kept_however_far_away_its_record_is),
		cmocka_unit_test(the_end_of_a_log_is_passed_behind_what_was_seen),
		cmocka_unit_test(a_topic_that_was_made_again_begins_with_what_was_done_of_it),
		cmocka_unit_test(the_smaller_form_is_chosen),
		cmocka_unit_test(random_owners_agree_with_a_plain_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
