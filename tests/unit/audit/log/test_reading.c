/* What publishers and auditors read of the log's tables, on a real PostgreSQL. */
#include "audit/log/reading.h"

#include "tests/harness/servers/database_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct audit_store_log log_1 = { "scored", 1 };

static struct audit_store *new_store(bool reads_only)
{
	return audit_store_new(
		&(struct audit_store_options){ .dsn = server.socket_dsn, .reads_only = reads_only });
}

/* A log of that many leaves more, the last batch with a checkpoint; every hundredth leaf is a mark. */
static void grow(struct audit_store *store, int leaves, const char *note)
{
	struct audit_store_position position;
	struct err_detail detail = { "" };
	struct growth growth = GROWTH_INIT;
	size_t failed;
	assert_int_equal(audit_store_open(store, &log_1, "o/scored/1", &position, &detail), ERR_OK);
	growth_begin(&growth, &position.growth);
	for (int i = 0; i < leaves; i++) {
		uint64_t index = growth.to.range.size;
		err_t err = index % 100 == 50 ? growth_add_gap(&growth, growth.to.next_offset + 2)
			    : index == 101
				    ? growth_begin_again(&growth, 7, STR("restored"))
				    : growth_add_record(&growth, growth.to.next_offset, STR("k"), STR("v"));
		assert_int_equal(err, ERR_OK);
	}
	struct audit_store_step step = { .log = log_1, .growth = &growth, .note = note };
	assert_int_equal(audit_store_apply(store, &step, 1, &failed, &detail), ERR_OK);
	growth_free(&growth);
}

static void checkpoints_are_published_in_order_at_each_place(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store(false);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_store_checkpoint *found;
	struct err_detail detail = { "" };
	size_t count;
	grow(store, 300, "first\n");
	grow(store, 10, "second\n");
	grow(store, 10, "third\n");
	for (int place = AUDIT_STORE_TOPIC; place <= AUDIT_STORE_FILE; place++) {
		assert_int_equal(
			audit_store_unpublished(store, &log_1, place, 2, arena, &found, &count, &detail),
			ERR_OK);
		assert_int_equal(count, 2);
		assert_int_equal(found[0].size, 300);
		assert_true(str_is(found[1].note, "second\n"));
		assert_int_equal(audit_store_published(store, &log_1, place, 300, &detail), ERR_OK);
		assert_int_equal(audit_store_published(store, &log_1, place, 300, &detail), ERR_OK);
		assert_int_equal(
			audit_store_unpublished(store, &log_1, place, 9, arena, &found, &count, &detail),
			ERR_OK);
		assert_int_equal(count, 2);
		assert_int_equal(found[0].size, 310);
		assert_int_equal(audit_store_published(store, &log_1, place, 99, &detail), ERR_AUDIT_DAMAGED);
	}
	expect("SELECT count(*) FROM audit_checkpoints WHERE in_topic_at IS NOT NULL AND in_file_at IS NOT "
	       "NULL",
	       "1");
	assert_int_equal(audit_store_newest(store, &log_1, arena, &found, &count, &detail), ERR_OK);
	assert_int_equal(count, 1);
	assert_int_equal(found[0].size, 320);
	assert_true(found[0].made_at_ms > INT64_C(1700000000000) && found[0].next_offset > 0);
}

static void rows_and_marks_are_read_as_they_are(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store(false),
							  *reader = new_store(true);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_store_row *rows;
	struct growth_mark *marks;
	struct err_detail detail = { "" };
	size_t count;
	/* who only reads makes no tables */
	assert_int_equal(audit_store_rows(reader, "scored", arena, &rows, &count, &detail),
			 ERR_DATABASE_REFUSED);
	grow(store, 160, NULL);
	assert_int_equal(audit_store_rows(reader, "scored", arena, &rows, &count, &detail), ERR_OK);
	assert_int_equal(count, 1);
	assert_true(str_is(rows[0].origin, "o/scored/1") && rows[0].size == 160 &&
		    !str_present(rows[0].stopped));
	assert_int_equal(audit_store_rows(reader, "other", arena, &rows, &count, &detail), ERR_OK);
	assert_int_equal(count, 0);
	assert_int_equal(audit_store_marks(reader, &log_1, arena, &marks, &count, &detail), ERR_OK);
	assert_int_equal(count, 3);
	assert_true(marks[0].index == 50 && marks[0].mark.kind == LEAF_MARK_GAP && marks[2].index == 150);
	assert_true(marks[1].index == 101 && str_is(marks[1].mark.reason, "restored") &&
		    marks[1].mark.to_offset == 7);
	run_sql("UPDATE audit_marks SET to_offset = -1 WHERE index = 50");
	assert_int_equal(audit_store_marks(reader, &log_1, arena, &marks, &count, &detail),
			 ERR_AUDIT_DAMAGED);
}

static void a_leaf_is_found_by_its_hash(void **state)
{
	(void)state;
	_cleanup_(audit_store_cleanup) struct audit_store *store = new_store(false);
	struct merkle_hash leaf;
	struct err_detail detail = { "" };
	bool found;
	uint64_t index;
	grow(store, 600, NULL);
	/* offset 7 is there twice: before the log began again and after that; the last one counts */
	leaf_hash(7, STR("k"), STR("v"), &leaf);
	assert_int_equal(audit_store_find_leaf(store, &log_1, &leaf, &found, &index, &detail), ERR_OK);
	assert_true(found && index == 102);
	leaf_hash(7, STR("k"), STR("w"), &leaf);
	assert_int_equal(audit_store_find_leaf(store, &log_1, &leaf, &found, &index, &detail), ERR_OK);
	assert_false(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(checkpoints_are_published_in_order_at_each_place, drop_tables),
		cmocka_unit_test_setup(rows_and_marks_are_read_as_they_are, drop_tables),
		cmocka_unit_test_setup(a_leaf_is_found_by_its_hash, drop_tables),
	};
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
