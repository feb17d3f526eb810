/* What differs between records and their log is found, to the record where leaves are there, and called what
 * it is. */
#include "audit/verify/partition_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { LEAVES = 6000, MARK = 3000 };

/* Record n has offset 2 n; leaf MARK is a mark, behind which records go on. */
static struct merkle_hash leaves[LEAVES];
static struct growth_mark marks[1];
static struct log_claims claims;

static str_t value_of(int record, char text[24])
{
	return (str_t){ text, (size_t)snprintf(text, 24, "value %d", record) };
}

static void record_leaf(int record, struct merkle_hash *ret_leaf)
{
	char text[24];
	leaf_hash(INT64_C(2) * record, STR("key"), value_of(record, text), ret_leaf);
}

static int make_log(void **state)
{
	(void)state;
	struct merkle_range range = { 0 };
	marks[0].index = MARK;
	marks[0].mark = (struct leaf_mark){ LEAF_MARK_GAP, 2 * MARK, 2 * MARK + 2, STR_NONE };
	for (int i = 0; i < LEAVES; i++) {
		struct merkle_hash root;
		if (i == MARK)
			leaf_mark_hash(&marks[0].mark, &leaves[i]);
		else
			record_leaf(i, &leaves[i]); /* record MARK is what the mark is of */
		merkle_range_append(&range, &leaves[i], NULL, NULL);
		if (range.size % 1000 != 0)
			continue;
		merkle_range_root(&range, &root);
		log_claims_add(&claims, range.size, &root, LOG_CLAIMS_FILE);
	}
	log_claims_sort(&claims);
	return 0;
}

static int free_log(void **state)
{
	(void)state;
	log_claims_free(&claims);
	return 0;
}

static err_t read_tile(void *context, unsigned level, uint64_t index, unsigned width,
		       struct merkle_hash ret_hashes[TILE_WIDTH])
{
	const int *spoilt = context;
	assert_int_equal(level, 0);
	memcpy(ret_hashes, &leaves[index * TILE_WIDTH], width * sizeof *ret_hashes);
	if (spoilt && *spoilt >= 0 && (uint64_t)*spoilt / TILE_WIDTH == index)
		ret_hashes[*spoilt % TILE_WIDTH].bytes[0] ^= 1;
	return ERR_OK;
}

/* What is done to the records on their way. */
struct tampering {
	int removed_from, removed_to; /* records [from, to) are left out */
	int changed;		      /* this one has another value */
	int inserted;		      /* behind this one a record is added */
	int swapped;		      /* this one comes behind the next */
	int first, last;	      /* records [first, last) are there */
	int spoilt;		      /* this leaf of the database */
};

#define NOTHING                                                                                              \
	{                                                                                                    \
		.removed_from = -1, .removed_to = -1, .changed = -1, .inserted = -1, .swapped = -1,          \
		.last = LEAVES, .spoilt = -1                                                                 \
	}

static void add(struct partition_check *check, const struct tampering *tampering, int record)
{
	char text[24];
	if (record == MARK || record < tampering->first || record >= tampering->last ||
	    (record >= tampering->removed_from && record < tampering->removed_to))
		return;
	str_t value = record == tampering->changed ? STR("another") : value_of(record, text);
	assert_int_equal(partition_check_add(check, INT64_C(2) * record, STR("key"), value), ERR_OK);
	if (record == tampering->inserted)
		assert_int_equal(partition_check_add(check, INT64_C(2) * record + 1, STR("new"), STR("x")),
				 ERR_OK);
}

static void run(const struct tampering *tampering, bool with_tiles, struct partition_check_result *ret_result)
{
	struct tampering copy = *tampering;
	const struct partition_check_options options = {
		.claims = &claims,
		.tiles = with_tiles ? read_tile : NULL,
		.tiles_context = &copy.spoilt,
		.tiles_size = LEAVES,
		.next_offset = INT64_C(2) * LEAVES,
		.marks = marks,
		.marks_count = 1,
		.low = INT64_C(2) * tampering->first,
	};
	_cleanup_(partition_check_cleanup) struct partition_check *check = partition_check_new(&options);
	for (int record = 0; record < LEAVES; record++) {
		if (record == tampering->swapped) {
			add(check, tampering, record + 1);
			add(check, tampering, record++);
			continue;
		}
		add(check, tampering, record);
	}
	assert_int_equal(partition_check_add(check, INT64_C(2) * LEAVES, STR("key"), STR("not logged yet")),
			 ERR_OK);
	assert_int_equal(partition_check_finish(check, ret_result), ERR_OK);
}

static void what_was_not_touched_is_verified(void **state)
{
	(void)state;
	struct tampering nothing = NOTHING, old = NOTHING;
	struct partition_check_result result;
	for (int tiles = 0; tiles <= 1; tiles++) {
		run(&nothing, tiles, &result);
		assert_int_equal(result.differences_count, 0);
		assert_int_equal(result.claims_fitting, 6);
		assert_true(result.whole && result.verified_size == LEAVES && result.gone == 0);
	}
	assert_int_equal(result.compared, LEAVES - 1);
	/* older records are gone: with the leaves of the database the rest is verified, without them nothing
	 */
	old.first = 2345;
	run(&old, true, &result);
	assert_int_equal(result.differences_count, 0);
	assert_true(!result.whole && result.claims_fitting == 6 && result.gone == 2345);
	assert_int_equal(result.first_offset, 4690);
	run(&old, false, &result);
	assert_true(result.differences_count == 1 && result.claims_fitting == 0);
	assert_int_equal(result.differences[0].kind, CHECK_ROOT);
}

static void differences_are_found_and_named(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct tampering tampering;
		enum partition_check_kind kind;
		int64_t from, to; /* offsets, where leaves are there */
		int64_t root_from,
			root_to; /* where they are not: between two checkpoints; −2: found otherwise */
	} cases[] = {
		{ "changed", { -1, -1, 1234, -1, -1, 0, LEAVES, -1 }, CHECK_CHANGED, 2468, 2468, 1999, 3998 },
		{ "the first is changed",
		  { -1, -1, 0, -1, -1, 0, LEAVES, -1 },
		  CHECK_CHANGED,
		  0,
		  0,
		  0,
		  1998 },
		{ "the last is changed",
		  { -1, -1, LEAVES - 1, -1, -1, 0, LEAVES, -1 },
		  CHECK_CHANGED,
		  11998,
		  11998,
		  9999,
		  11998 },
		{ "one is removed", { 17, 18, -1, -1, -1, 0, LEAVES, -1 }, CHECK_REMOVED, 33, 35, 0, 2000 },
		{ "the first is removed", { 0, 1, -1, -1, -1, 0, LEAVES, -1 }, CHECK_REMOVED, 0, 1, 0, 2000 },
		{ "a thousand are removed, a mark with them",
		  { 2500, 3500, -1, -1, -1, 0, LEAVES, -1 },
		  CHECK_REMOVED,
		  4999,
		  6999,
		  3999,
		  -2 },
		{ "the end is removed",
		  { -1, -1, -1, -1, -1, 0, LEAVES - 9, -1 },
		  CHECK_REMOVED,
		  11981,
		  -1,
		  -2,
		  -2 },
		{ "one is inserted", { -1, -1, -1, 40, -1, 0, LEAVES, -1 }, CHECK_INSERTED, 81, 81, 0, 1996 },
		{ "two have changed places",
		  { -1, -1, -1, -1, 50, 0, LEAVES, -1 },
		  CHECK_REORDERED,
		  102,
		  100,
		  -2,
		  -2 },
		{ "a record behind older ones that are gone is changed",
		  { -1, -1, 5000, -1, -1, 4000, LEAVES, -1 },
		  CHECK_CHANGED,
		  10000,
		  10000,
		  -2,
		  -2 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct partition_check_result result;
		run(&cases[i].tampering, true, &result);
		const struct partition_check_difference *found = &result.differences[0];
		if (result.differences_count != 1 || found->kind != cases[i].kind ||
		    found->from_offset != cases[i].from || found->to_offset != cases[i].to)
			fail_msg("%s: %d differences, the first %s from %d to %d: %s", cases[i].name,
				 (int)result.differences_count, partition_check_kind_name(found->kind),
				 (int)found->from_offset, (int)found->to_offset, found->text);
		assert_int_equal(result.claims_fitting, 6); /* the database's leaves are the signed ones */
		assert_false(result.whole);
		run(&cases[i].tampering, false, &result);
		if (result.differences_count == 0)
			fail_msg("%s: not found without leaves", cases[i].name);
		if (cases[i].root_to >= 0 &&
		    (found->kind != CHECK_ROOT || found->from_offset != cases[i].root_from ||
		     found->to_offset != cases[i].root_to))
			fail_msg("%s: without leaves %s from %d to %d", cases[i].name,
				 partition_check_kind_name(found->kind), (int)found->from_offset,
				 (int)found->to_offset);
	}
}

static void several_differences_are_told_apart(void **state)
{
	(void)state;
	struct tampering three = NOTHING;
	struct partition_check_result result;
	three.changed = 100;
	three.inserted = 900;
	three.removed_from = 4000;
	three.removed_to = 4010;
	run(&three, true, &result);
	assert_int_equal(result.differences_count, 3);
	assert_int_equal(result.differences[0].kind, CHECK_CHANGED);
	assert_int_equal(result.differences[1].kind, CHECK_INSERTED);
	assert_int_equal(result.differences[2].kind, CHECK_REMOVED);
	assert_non_null(
		strstr(result.differences[2].text, "10 logged records are missing behind offset 7998"));
	assert_int_equal(result.compared, LEAVES - 1 - 1 - 10);
}

static void a_database_that_was_changed_is_told_apart_from_records(void **state)
{
	(void)state;
	struct tampering spoilt = NOTHING, nothing = NOTHING;
	struct partition_check_result result;
	struct log_claims forked = { NULL };
	spoilt.spoilt = 1500;
	run(&spoilt, true, &result);
	assert_true(result.whole); /* the records are those that were signed */
	assert_int_equal(result.claims_fitting, 1);
	assert_int_equal(result.differences_count, 2);
	assert_int_equal(result.differences[0].kind, CHECK_CHANGED);
	assert_int_equal(result.differences[1].kind, CHECK_DATABASE);
	/* two signed roots of one size */
	for (size_t i = 0; i < claims.count; i++)
		log_claims_add(&forked, claims.items[i].size, &claims.items[i].root, LOG_CLAIMS_TOPIC);
	struct merkle_hash other = { { 1 } };
	log_claims_add(&forked, 2000, &other, LOG_CLAIMS_FILE);
	log_claims_sort(&forked);
	struct log_claims kept = claims;
	claims = forked;
	run(&nothing, true, &result);
	claims = kept;
	log_claims_free(&forked);
	assert_int_equal(result.differences[0].kind, CHECK_FORK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_touched_is_verified),
		cmocka_unit_test(differences_are_found_and_named),
		cmocka_unit_test(several_differences_are_told_apart),
		cmocka_unit_test(a_database_that_was_changed_is_told_apart_from_records),
	};
	return cmocka_run_group_tests(tests, make_log, free_log);
}
