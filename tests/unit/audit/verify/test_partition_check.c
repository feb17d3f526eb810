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
static struct merkle_hash leaves[LEAVES], upper[TILE_WIDTH];
static struct growth_position position;
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

static void claim_root(struct log_claims *to, uint64_t size, const struct merkle_hash *root)
{
	const struct log_claim claim = { size, *root, 0, LOG_CLAIMS_FILE };
	log_claims_add(to, &claim);
}

/* The tile above the leaves. */
static void keep_upper(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	(void)context;
	if (level == TILE_HEIGHT)
		upper[index] = *hash;
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
		merkle_range_append(&range, &leaves[i], keep_upper, NULL);
		if (range.size % 1000 != 0)
			continue;
		merkle_range_root(&range, &root);
		claim_root(&claims, range.size, &root);
	}
	log_claims_sort(&claims);
	position.range = range;
	position.last_offset = INT64_C(2) * (LEAVES - 1);
	position.next_offset = position.last_offset + 2;
	position.last_leaf = leaves[LEAVES - 1];
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
	if (level > 0) {
		assert_true(level == 1 && index == 0 && width == LEAVES / TILE_WIDTH);
		memcpy(ret_hashes, upper, width * sizeof *ret_hashes);
		return ERR_OK;
	}
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

static struct differences differences;

static void run(const struct tampering *tampering, bool with_tiles, struct partition_check_result *ret_result)
{
	struct tampering copy = *tampering;
	differences = (struct differences){ 0 };
	const struct partition_check_options options = {
		.claims = &claims,
		.tiles = with_tiles ? read_tile : NULL,
		.tiles_context = &copy.spoilt,
		.tiles_size = LEAVES,
		.next_offset = INT64_C(2) * LEAVES,
		.marks = marks,
		.marks_count = 1,
		.low = INT64_C(2) * tampering->first,
		.differences = &differences,
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
		assert_int_equal(differences.count, 0);
		assert_int_equal(result.claims_fitting, 6);
		assert_true(result.whole && result.verified_size == LEAVES && result.gone == 0);
	}
	assert_int_equal(result.compared, LEAVES - 1);
	/* older records are gone: with the leaves of the database the rest is verified, without them nothing
	 */
	old.first = 2345;
	run(&old, true, &result);
	assert_int_equal(differences.count, 0);
	assert_true(!result.whole && result.claims_fitting == 6 && result.gone == 2345);
	assert_int_equal(result.first_offset, 4690);
	run(&old, false, &result);
	assert_true(differences.count == 1 && result.claims_fitting == 0);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_ROOT);
}

static void differences_are_found_and_named(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct tampering tampering;
		enum difference_kind kind;
		int64_t from, to; /* offsets, where leaves are there */
		int64_t root_from,
			root_to; /* where they are not: between two checkpoints; −2: found otherwise */
	} cases[] = {
		{ "changed",
		  { -1, -1, 1234, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_CHANGED,
		  2468,
		  2468,
		  1999,
		  3998 },
		{ "the first is changed",
		  { -1, -1, 0, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_CHANGED,
		  0,
		  0,
		  0,
		  1998 },
		{ "the last is changed",
		  { -1, -1, LEAVES - 1, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_CHANGED,
		  11998,
		  11998,
		  9999,
		  11998 },
		{ "one is removed",
		  { 17, 18, -1, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_REMOVED,
		  33,
		  35,
		  0,
		  2000 },
		{ "the first is removed",
		  { 0, 1, -1, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_REMOVED,
		  0,
		  1,
		  0,
		  2000 },
		{ "a thousand are removed, a mark with them",
		  { 2500, 3500, -1, -1, -1, 0, LEAVES, -1 },
		  DIFFERENCE_REMOVED,
		  4999,
		  6999,
		  3999,
		  -2 },
		{ "the end is removed",
		  { -1, -1, -1, -1, -1, 0, LEAVES - 9, -1 },
		  DIFFERENCE_REMOVED,
		  11981,
		  11999,
		  -2,
		  -2 },
		{ "one is inserted",
		  { -1, -1, -1, 40, -1, 0, LEAVES, -1 },
		  DIFFERENCE_INSERTED,
		  81,
		  81,
		  0,
		  1996 },
		{ "two have changed places",
		  { -1, -1, -1, -1, 50, 0, LEAVES, -1 },
		  DIFFERENCE_REORDERED,
		  100,
		  102,
		  -2,
		  -2 },
		{ "a record behind older ones that are gone is changed",
		  { -1, -1, 5000, -1, -1, 4000, LEAVES, -1 },
		  DIFFERENCE_CHANGED,
		  10000,
		  10000,
		  -2,
		  -2 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct partition_check_result result;
		run(&cases[i].tampering, true, &result);
		const struct difference *found = &differences.items[0];
		if (differences.count != 1 || found->kind != cases[i].kind ||
		    found->from_offset != cases[i].from || found->to_offset != cases[i].to)
			fail_msg("%s: %d differences, the first %s from %d to %d: %s", cases[i].name,
				 (int)differences.count, difference_kind_name(found->kind),
				 (int)found->from_offset, (int)found->to_offset, found->text);
		assert_int_equal(result.claims_fitting, 6); /* the database's leaves are the signed ones */
		assert_false(result.whole);
		run(&cases[i].tampering, false, &result);
		if (differences.count == 0)
			fail_msg("%s: not found without leaves", cases[i].name);
		if (cases[i].root_to >= 0 &&
		    (found->kind != DIFFERENCE_ROOT || found->from_offset != cases[i].root_from ||
		     found->to_offset != cases[i].root_to))
			fail_msg("%s: without leaves %s from %d to %d", cases[i].name,
				 difference_kind_name(found->kind), (int)found->from_offset,
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
	assert_int_equal(differences.count, 3);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_CHANGED);
	assert_int_equal(differences.items[1].kind, DIFFERENCE_INSERTED);
	assert_int_equal(differences.items[2].kind, DIFFERENCE_REMOVED);
	assert_non_null(
		strstr(differences.items[2].text, "10 logged records are missing behind offset 7998"));
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
	assert_int_equal(differences.count, 3);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_CHANGED);
	assert_int_equal(differences.items[1].kind, DIFFERENCE_TILE);
	assert_int_equal(differences.items[2].kind, DIFFERENCE_DATABASE);
	/* two signed roots of one size */
	for (size_t i = 0; i < claims.count; i++)
		claim_root(&forked, claims.items[i].size, &claims.items[i].root);
	struct merkle_hash other = { { 1 } };
	claim_root(&forked, 2000, &other);
	log_claims_sort(&forked);
	struct log_claims kept = claims;
	claims = forked;
	run(&nothing, true, &result);
	claims = kept;
	log_claims_free(&forked);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_FORK);
}

/* ---- tables of records, and what has become of them ---- */

struct item {
	int64_t offset;
	int variant; /* 0: the logged value */
};

static struct item items[3 * LEAVES];
static size_t items_count;

static void all_records(int first)
{
	items_count = 0;
	for (int i = first; i < LEAVES; i++)
		if (i != MARK)
			items[items_count++] = (struct item){ INT64_C(2) * i, 0 };
}

static void insert(size_t at, int64_t offset, int variant)
{
	memmove(items + at + 1, items + at, (items_count++ - at) * sizeof *items);
	items[at] = (struct item){ offset, variant };
}

static void cut_out(size_t at, size_t count)
{
	memmove(items + at, items + at + count, (items_count - at - count) * sizeof *items);
	items_count -= count;
}

static void change(size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++)
		items[i].variant = 1;
}

static void insert_far(size_t at, int count)
{
	for (int i = count - 1; i >= 0; i--)
		insert(at, 1000000 + i, 1);
}

static void move(size_t from, size_t to)
{
	struct item item = items[from];
	cut_out(from, 1);
	insert(to, item.offset, item.variant);
}

static void hold_against(const struct partition_check_options *options,
			 struct partition_check_result *ret_result)
{
	_cleanup_(partition_check_cleanup) struct partition_check *check = partition_check_new(options);
	differences = (struct differences){ 0 };
	for (size_t i = 0; i < items_count; i++) {
		char text[24];
		str_t value = items[i].variant ? STR("forged") : value_of((int)(items[i].offset / 2), text);
		assert_int_equal(partition_check_add(check, items[i].offset, STR("key"), value), ERR_OK);
	}
	assert_int_equal(partition_check_finish(check, ret_result), ERR_OK);
}

static struct partition_check_options of_log(int64_t low)
{
	return (struct partition_check_options){
		.claims = &claims,
		.tiles = read_tile,
		.tiles_size = LEAVES,
		.next_offset = INT64_C(2) * LEAVES,
		.position = &position,
		.marks = marks,
		.marks_count = 1,
		.low = low,
		.differences = &differences,
	};
}

static void swap_first(void)
{
	move(0, 1);
}
static void one_far_in_front(void)
{
	insert_far(0, 1);
}
static void twenty_far_in_front(void)
{
	insert_far(0, 20);
}
static void far_in_the_middle(void)
{
	insert_far(2000, 3);
}
static void more_than_a_window_of_far_ones(void)
{
	insert_far(100, 5000);
}
static void far_ones_at_the_end(void)
{
	insert_far(items_count, 5);
}
static void far_ones_at_the_end_out_of_order(void)
{
	insert_far(items_count, 5);
	move(items_count - 1, items_count - 3);
}
static void one_at_the_end_below_the_end_of_the_log(void)
{
	insert(items_count, INT64_C(2) * LEAVES - 1, 1);
}
static void first_becomes_far(void)
{
	items[0].offset = 1000000;
}
static void change_more_than_a_window(void)
{
	change(0, 2049);
}
static void change_more_than_a_window_in_the_middle(void)
{
	change(1000, 4000);
}
static void change_all(void)
{
	change(0, items_count);
}
static void cut_more_than_a_window(void)
{
	cut_out(500, 5000);
}
static void insert_more_than_a_window(void)
{
	for (int i = 0; i < 3000; i++)
		insert(700, 1399, 1 + i);
}
static void first_to_the_end(void)
{
	move(0, items_count - 1);
}
static void late_one_early(void)
{
	move(5000, 100);
}
static void twice(void)
{
	insert(77, items[76].offset, 0);
}
static void nothing_is_there(void)
{
	items_count = 0;
}

static void what_became_of_records_has_its_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		void (*change)(void);
		int first; /* of the records that are kept */
		int64_t low;
		uint64_t count;
		enum difference_kind kind;
		int64_t from, to;
		const char *text;
		uint64_t unlogged, gone;
	} cases[] = {
		{ "swap first", swap_first, 0, 0, 1, DIFFERENCE_REORDERED, 0, 2, "2 records", 0, 0 },
		{ "swap first of an export", swap_first, 0, -1, 1, DIFFERENCE_REORDERED, 0, 2, "", 0, 0 },
		{ "swap first of those kept", swap_first, 900, 1800, 1, DIFFERENCE_REORDERED, 1800, 1802, "",
		  0, 900 },
		{ "far in front", one_far_in_front, 0, 0, 1, DIFFERENCE_INSERTED, 1000000, 1000000,
		  "1 records from offset 1000000 to 1000000 stand before offset 0", 0, 0 },
		{ "far in front of an export", one_far_in_front, 0, -1, 1, DIFFERENCE_INSERTED, 1000000,
		  1000000, "", 0, 0 },
		{ "20 in front", twenty_far_in_front, 0, -1, 1, DIFFERENCE_INSERTED, 1000000, 1000019,
		  "20 records", 0, 0 },
		{ "far in the middle", far_in_the_middle, 0, 0, 1, DIFFERENCE_INSERTED, 1000000, 1000002,
		  "3 records", 0, 0 },
		{ "many far ones", more_than_a_window_of_far_ones, 0, 0, 1, DIFFERENCE_INSERTED, 1000000,
		  1004999, "5000 records", 0, 0 },
		{ "far at the end", far_ones_at_the_end, 0, 0, 0, DIFFERENCE_INSERTED, 0, 0, "", 5, 0 },
		{ "far at the end, no order", far_ones_at_the_end_out_of_order, 0, 0, 2, DIFFERENCE_REORDERED,
		  1000002, 1000002, "stands behind that at offset 1000004", 3, 0 },
		{ "below the end", one_at_the_end_below_the_end_of_the_log, 0, 0, 1, DIFFERENCE_INSERTED,
		  2 * LEAVES - 1, 2 * LEAVES - 1, "1 records", 0, 0 },
		{ "first becomes far", first_becomes_far, 0, 0, 2, DIFFERENCE_INSERTED, 1000000, 1000000, "",
		  0, 0 },
		{ "window changed", change_more_than_a_window, 0, 0, 1, DIFFERENCE_CHANGED, 0, 4096,
		  "2049 records from offset 0 to 4096 are not those", 0, 0 },
		{ "window of an export changed", change_more_than_a_window, 0, -1, 1, DIFFERENCE_CHANGED, 0,
		  4096, "2049 records", 0, 0 },
		{ "middle changed", change_more_than_a_window_in_the_middle, 0, 0, 1, DIFFERENCE_CHANGED,
		  2000, 10000, "4000 records", 0, 0 },
		{ "all changed", change_all, 0, 0, 1, DIFFERENCE_CHANGED, 0, 2 * (LEAVES - 1), "5999 records",
		  0, 0 },
		{ "all of an export changed", change_all, 10, -1, 1, DIFFERENCE_CHANGED, 20, 2 * (LEAVES - 1),
		  "5989 records", 0, 10 },
		{ "cut", cut_more_than_a_window, 0, 0, 1, DIFFERENCE_REMOVED, 999, 11001,
		  "5000 logged records are missing behind offset 998 and before offset 11002", 0, 0 },
		{ "many inserted", insert_more_than_a_window, 0, 0, 1, DIFFERENCE_INSERTED, 1399, 1399,
		  "3000 records", 0, 0 },
		{ "first to the end", first_to_the_end, 0, 0, 2, DIFFERENCE_REMOVED, 0, 1,
		  "1 logged records are missing before offset 2", 0, 0 },
		{ "a late one early", late_one_early, 0, 0, 2, DIFFERENCE_INSERTED, 10002, 10002, "", 0, 0 },
		{ "twice", twice, 0, 0, 1, DIFFERENCE_REORDERED, 152, 152, "stand behind offset 152", 0, 0 },
		{ "all expired", nothing_is_there, 0, 2 * LEAVES, 0, DIFFERENCE_REMOVED, 0, 0, "", 0, 5999 },
		{ "none in the export", nothing_is_there, 0, -1, 0, DIFFERENCE_REMOVED, 0, 0, "", 0, 5999 },
		{ "none in the topic", nothing_is_there, 0, 0, 1, DIFFERENCE_REMOVED, 0, -1,
		  "5999 logged records are missing, at the end", 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct partition_check_options options = of_log(cases[i].low);
		struct partition_check_result result;
		all_records(cases[i].first);
		cases[i].change();
		hold_against(&options, &result);
		const struct difference *found = &differences.items[0];
		if (differences.count != cases[i].count || result.unlogged != cases[i].unlogged ||
		    result.gone != cases[i].gone ||
		    (cases[i].count &&
		     (found->kind != cases[i].kind || found->from_offset != cases[i].from ||
		      found->to_offset != cases[i].to || !strstr(found->text, cases[i].text))))
			fail_msg("%s: %d differences, %d not logged, %d gone; %s from %d to %d: %s",
				 cases[i].name, (int)differences.count, (int)result.unlogged,
				 (int)result.gone, difference_kind_name(found->kind), (int)found->from_offset,
				 (int)found->to_offset, found->text);
		assert_int_equal(result.claims_fitting, 6);
	}
}

static void what_is_not_covered_is_counted_apart(void **state)
{
	(void)state;
	struct partition_check_options options = of_log(0);
	struct partition_check_result result;
	struct log_claims fewer = { .items = claims.items, .count = 2 };
	options.claims = &fewer;
	all_records(0);
	insert_far(items_count, 7);
	hold_against(&options, &result);
	assert_int_equal(differences.count, 0);
	assert_true(result.covered == 2000 && result.logged == LEAVES - 1 - 2000 && result.unlogged == 7);
	assert_true(result.unlogged_from == 1000000 && result.unlogged_to == 1000006);
	options.tiles = NULL; /* nobody says what is logged */
	options.next_offset = -1;
	hold_against(&options, &result);
	assert_int_equal(differences.count, 0);
	assert_true(result.covered == 2000 && result.logged == 0 && result.unlogged == LEAVES - 1 - 2000 + 7);
	assert_true(result.unlogged_from == 4000 && result.unlogged_to == 1000006);
	/* 100 of 300 expired, and nobody knows their leaves */
	options.low = 200;
	options.marks_count = 0;
	all_records(100);
	hold_against(&options, &result);
	assert_int_equal(differences.count, 1);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_ROOT);
	items_count = 200;
	hold_against(&options, &result);
	assert_non_null(strstr(differences.items[0].text, "before offset 200 are gone"));
}

/* ---- a database that was tampered with ---- */

struct damage {
	int missing_level, missing_index; /* −1: none is */
	int upper;			  /* this hash of the upper tile is another one */
};

static err_t read_damaged(void *context, unsigned level, uint64_t index, unsigned width,
			  struct merkle_hash ret_hashes[TILE_WIDTH])
{
	const struct damage *damage = context;
	if ((int)level == damage->missing_level && (int)index == damage->missing_index)
		return ERR_AUDIT_DAMAGED;
	err_t err = read_tile(NULL, level, index, width, ret_hashes);
	if (level == 1 && damage->upper >= 0)
		ret_hashes[damage->upper].bytes[31] ^= 1;
	return err;
}

static void hold_against_tables(const char *name, const struct partition_check_options *options,
				enum difference_kind kind, const char *text)
{
	struct partition_check_result result;
	all_records(0);
	hold_against(options, &result);
	if (differences.count != 1 || differences.items[0].kind != kind ||
	    !strstr(differences.items[0].text, text))
		fail_msg("%s: %d differences, the first %s: %s", name, (int)differences.count,
			 difference_kind_name(differences.items[0].kind), differences.items[0].text);
	assert_int_equal(result.claims_fitting, 6); /* by the records alone, where leaves are missing */
}

static void each_table_is_held_against_the_tree(void **state)
{
	(void)state;
	struct partition_check_options options = of_log(0);
	struct damage damage = { -1, -1, 3 };
	options.tiles = read_damaged;
	options.tiles_context = &damage;
	hold_against_tables("a hash above", &options, DIFFERENCE_TILE, "hash 3 of tile 0 of level 1");
	damage = (struct damage){ 1, 0, -1 };
	hold_against_tables("no tile above", &options, DIFFERENCE_TILE, "tile 0 of level 1 is missing");
	for (int tile = 0; tile < 24; tile += 23) {
		damage = (struct damage){ 0, tile, -1 };
		hold_against_tables("no leaves", &options, DIFFERENCE_TILE, "of level 0 is missing");
	}
	options = of_log(0);
	struct growth_position other = position;
	options.position = &other;
	other.range.hashes[4].bytes[0] ^= 1; /* 6000 has that bit */
	hold_against_tables("state", &options, DIFFERENCE_LOG, "state");
	other = position;
	other.last_leaf.bytes[5] ^= 1;
	hold_against_tables("last leaf", &options, DIFFERENCE_LOG, "last leaf");
	other = position;
	other.last_offset = GROWTH_OFFSET_NONE;
	hold_against_tables("no last leaf", &options, DIFFERENCE_LOG, "last leaf");
	other = position;
	other.last_offset--;
	hold_against_tables("last offset", &options, DIFFERENCE_LOG, "last offset");
	options = of_log(0);
	struct growth_mark more[] = { marks[0], marks[0] };
	options.marks = more;
	options.marks_count = 2;
	more[1].index = LEAVES;
	hold_against_tables("a mark too many", &options, DIFFERENCE_MARK, "there is a mark of leaf 6000");
	more[1].index = MARK + 1;
	all_records(0);
	struct partition_check_result result;
	hold_against(&options, &result);
	assert_int_equal(differences.items[0].kind, DIFFERENCE_MARK);
	options = of_log(0);
	struct partition_check_row rows[] = { { 1000, 2000 }, { 2000, 3999 }, { LEAVES, 2 * LEAVES } };
	options.rows = rows;
	options.rows_count = 3;
	all_records(0);
	hold_against(&options, &result);
	assert_int_equal(differences.count, 0);
	rows[1].next_offset = 4001;
	hold_against_tables("row too far", &options, DIFFERENCE_CHECKPOINT, "size 2000");
	rows[1].next_offset = 3998;
	hold_against_tables("row too near", &options, DIFFERENCE_CHECKPOINT, "is below it");
}

static err_t read_leaves(void *context, unsigned level, uint64_t index, unsigned width,
			 struct merkle_hash ret_hashes[TILE_WIDTH])
{
	(void)context;
	if (level > 0)
		for (unsigned i = 0; i < width; i++)
			tile_subtree(&leaves[i * TILE_WIDTH], TILE_HEIGHT, 0, &ret_hashes[i]);
	else
		memcpy(ret_hashes, &leaves[index * TILE_WIDTH], width * sizeof *ret_hashes);
	return ERR_OK;
}

static void a_log_that_began_again_is_the_topic_of_today(void **state)
{
	(void)state;
	struct growth_mark again = { .index = 100, .mark = { LEAF_MARK_BEGINS_AGAIN, 200, 0, STR("x") } };
	struct partition_check_options options = of_log(0);
	const struct partition_check_row rows[] = { { 90, 180 }, { 250, 298 } };
	struct partition_check_result result;
	struct merkle_hash root;
	struct log_claims one = { NULL };
	struct merkle_range range = { 0 };
	static struct merkle_hash before[LEAVES];
	memcpy(before, leaves, sizeof before);
	/* leaves 0 to 99 of another topic, a mark, then records 0 to 199 */
	leaf_mark_hash(&again.mark, &leaves[100]);
	for (int i = 0; i < 100; i++)
		leaves[i].bytes[0] ^= 1;
	for (int i = 0; i < 200; i++)
		record_leaf(i, &leaves[101 + i]);
	for (int i = 0; i < 301; i++)
		merkle_range_append(&range, &leaves[i], NULL, NULL);
	merkle_range_root(&range, &root);
	claim_root(&one, 301, &root);
	options.claims = &one;
	options.tiles_size = 301;
	options.position = NULL;
	options.next_offset = 400;
	options.marks = &again;
	options.rows = rows;
	options.rows_count = 2;
	all_records(0);
	items_count = 200;
	for (int spoilt = 0; spoilt < 2; spoilt++) {
		items[0].variant = spoilt;
		options.tiles = read_leaves;
		hold_against(&options, &result);
		assert_int_equal(differences.count, spoilt);
		assert_true(result.gone == 100 && result.covered == (uint64_t)(200 - spoilt) &&
			    !result.whole);
	}
	assert_int_equal(differences.items[0].kind, DIFFERENCE_CHANGED);
	memcpy(leaves, before, sizeof before);
	log_claims_free(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_touched_is_verified),
		cmocka_unit_test(differences_are_found_and_named),
		cmocka_unit_test(several_differences_are_told_apart),
		cmocka_unit_test(a_database_that_was_changed_is_told_apart_from_records),
		cmocka_unit_test(what_became_of_records_has_its_name),
		cmocka_unit_test(what_is_not_covered_is_counted_apart),
		cmocka_unit_test(each_table_is_held_against_the_tree),
		cmocka_unit_test(a_log_that_began_again_is_the_topic_of_today),
	};
	return cmocka_run_group_tests(tests, make_log, free_log);
}
