/* What rows of a log say that does not fit their notes, each other or what was found elsewhere. */
#include "audit/verify/log_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct differences differences;
static struct merkle_range ranges[6]; /* of sizes 0, 10 to 50 */
static struct buf states[6];
static struct note_key key;
static const struct log_claims_reader reader = { &key, 1, "scored" };

static int make(void **state)
{
	(void)state;
	unsigned char seed[NOTE_KEY_BYTES] = { 1 };
	struct note_signer signer;
	struct merkle_range range = { 0 };
	if (note_signer_make(STR("example.com/log"), seed, &signer) != ERR_OK)
		return -1;
	key = signer.key;
	for (unsigned i = 0; i <= 50; i++) {
		const struct merkle_hash leaf = { { (unsigned char)i } };
		if (i % 10 == 0) {
			ranges[i / 10] = range;
			merkle_range_encode(&range, &states[i / 10]);
		}
		merkle_range_append(&range, &leaf, NULL, NULL);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < 6; i++)
		buf_free(&states[i]);
	return 0;
}

static struct log_claim claim_of(unsigned at, unsigned places)
{
	struct log_claim claim = { .size = 10 * at, .digest = at, .places = places };
	merkle_range_root(&ranges[at], &claim.root);
	return claim;
}

static void expect(const char *name, enum difference_kind kind, const char *text)
{
	if (!text && differences.count == 0)
		return;
	if (!text || differences.count != 1 || differences.items[0].kind != kind ||
	    !strstr(differences.items[0].text, text))
		fail_msg("%s: %d differences, the first %s: %s", name, (int)differences.count,
			 difference_kind_name(differences.items[0].kind), differences.items[0].text);
	differences.count = 0;
}

/* The row of the checkpoint of size 20, and what is wrong with it. */
static void rows_fit_their_notes(void **state)
{
	(void)state;
	const struct log_claim claim = claim_of(2, LOG_CLAIMS_DATABASE);
	str_t good = buf_str(&states[2]), short_one = { good.ptr, good.len - 1 };
	const struct {
		const char *name;
		struct log_rows_checkpoint row;
		const char *text;
		size_t kept;
	} cases[] = {
		{ "good", { 20, 44, good }, NULL, 1 },
		{ "another size", { 21, 44, good }, "the row of the checkpoint of size 21 has the note", 0 },
		{ "negative size", { -20, 44, good }, "size -20", 0 },
		{ "another state", { 20, 44, buf_str(&states[3]) }, "state in the row", 1 },
		{ "half a state", { 20, 44, short_one }, "state in the row", 1 },
		{ "no state", { 20, 44, STR_NONE }, "state in the row", 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log_rows rows = { NULL };
		log_rows_add(&rows, &cases[i].row, &claim, &differences);
		expect(cases[i].name, DIFFERENCE_CHECKPOINT, cases[i].text);
		assert_int_equal(rows.count, cases[i].kept);
		log_rows_free(&rows);
	}
}

static void logs_only_go_back_where_they_begin_again(void **state)
{
	(void)state;
	struct partition_check_row items[] = { { 10, 20 }, { 20, 50 }, { 30, 40 } };
	const struct log_rows rows = { items, 3, 3 };
	struct growth_mark mark = { .index = 25, .mark = { LEAF_MARK_BEGINS_AGAIN, 50, 0, STR("") } };
	log_rows_judge_order(&rows, &mark, 1, &differences);
	expect("begins again", DIFFERENCE_CHECKPOINT, NULL);
	mark.index = 30;
	log_rows_judge_order(&rows, &mark, 1, &differences);
	expect("begins again later", DIFFERENCE_CHECKPOINT, "sizes 20 and 30");
	mark.index = 25;
	mark.mark.kind = LEAF_MARK_GAP;
	log_rows_judge_order(&rows, &mark, 1, &differences);
	expect("gap", DIFFERENCE_CHECKPOINT, "offset 50, and then to 40");
}

static void rows_of_logs_make_sense(void **state)
{
	(void)state;
	static const char leaf[DIGEST_BYTES] = { 5 };
	const str_t origin = STR("example.com/log/scored/3"), last = { leaf, sizeof leaf },
		    good = buf_str(&states[3]);
	struct partition_check_row newest = { 30, 61 };
	const struct log_rows rows = { &newest, 1, 1 };
	const struct {
		const char *name;
		struct log_rows_log log;
		const char *text;
		bool is_known;
	} cases[] = {
		{ "good", { origin, good, 30, 61, 60, last }, NULL, true },
		{ "behind a mark", { origin, good, 30, 61, GROWTH_OFFSET_NONE, STR_NONE }, NULL, true },
		{ "further", { origin, good, 30, 99, 60, last }, NULL, true },
		{ "other partition",
		  { STR("example.com/log/scored/4"), good, 30, 61, 60, last },
		  "\"example.com/log/scored/4\"",
		  true },
		{ "no origin", { STR_NONE, good, 30, 61, 60, last }, "the origin \"\"", true },
		{ "not as far",
		  { origin, good, 30, 60, 59, last },
		  "of its checkpoint of size 30 to 61",
		  true },
		{ "last beyond", { origin, good, 30, 61, 61, last }, "its last record is at 61", true },
		{ "size", { origin, good, 31, 61, 60, last }, "not that of its size, 31", false },
		{ "negative size", { origin, good, -1, 61, 60, last }, "not that of its size", false },
		{ "state", { origin, buf_str(&states[4]), 30, 61, 60, last }, "not that of its size", false },
		{ "no state", { origin, STR_NONE, 30, 61, 60, last }, "is damaged", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct growth_position position = GROWTH_START;
		bool is_known = log_rows_judge_log(&rows, &cases[i].log, &reader, 3, &differences, &position);
		expect(cases[i].name, DIFFERENCE_LOG, cases[i].text);
		assert_int_equal(is_known, cases[i].is_known);
		if (is_known)
			assert_true(position.range.size == 30 &&
				    position.last_offset == cases[i].log.last_offset);
	}
}

/* Where the checkpoints of sizes 10 to 50 are: D database, F file, T topic, f and t: the database says so. */
static void checkpoints_are_where_they_are_said_to_be(void **state)
{
	(void)state;
	static const struct {
		const char *name, *places[5];
		struct log_rows_elsewhere elsewhere;
		enum difference_kind kind;
		const char *text;
		uint64_t older, newer;
	} cases[] = {
		{ "all", { "DFf", "DFf", "DFf", "DFf", "DFTft" }, { true, true, false }, 0, NULL, 0, 0 },
		{ "not published yet",
		  { "DFf", "DFf", "DFf", "D", "D" },
		  { true, true, false },
		  0,
		  NULL,
		  0,
		  0 },
		{ "elsewhere was not looked",
		  { "Df", "Dft", "D", "D", "D" },
		  { false, false, false },
		  0,
		  NULL,
		  0,
		  0 },
		{ "cleaned up", { "F", "F", "DFf", "DFf", "DFf" }, { true, false, false }, 0, NULL, 2, 0 },
		{ "one gone",
		  { "DFf", "F", "DFf", "DFf", "DFf" },
		  { true, false, false },
		  DIFFERENCE_CHECKPOINT,
		  "1 checkpoints, of sizes 20 to 20",
		  0,
		  0 },
		{ "newest gone",
		  { "DFf", "DFf", "DFf", "DFf", "T" },
		  { true, true, false },
		  DIFFERENCE_CHECKPOINT,
		  "of sizes 50 to 50",
		  0,
		  0 },
		{ "all gone",
		  { "F", "F", "F", "F", "F" },
		  { true, false, false },
		  DIFFERENCE_CHECKPOINT,
		  "5 checkpoints, of sizes 10 to 50",
		  0,
		  0 },
		{ "file is shorter",
		  { "DFf", "DFf", "DFf", "Df", "Df" },
		  { true, false, false },
		  DIFFERENCE_FILE,
		  "2 checkpoints, of sizes 40 to 50",
		  0,
		  0 },
		{ "a copy is shorter",
		  { "DFf", "DFf", "DFf", "Df", "Df" },
		  { true, false, true },
		  0,
		  NULL,
		  0,
		  2 },
		{ "a copy has a hole",
		  { "DFf", "Df", "DFf", "DFf", "Df" },
		  { true, false, true },
		  DIFFERENCE_FILE,
		  "of sizes 20 to 20",
		  0,
		  1 },
		{ "a copy has none",
		  { "Df", "Df", "Df", "Df", "Df" },
		  { true, false, true },
		  DIFFERENCE_FILE,
		  "5 checkpoints",
		  0,
		  0 },
		{ "topic has none",
		  { "Dt", "Dt", "Dt", "Dt", "Dt" },
		  { false, true, false },
		  DIFFERENCE_TOPIC,
		  "has none of this log",
		  0,
		  0 },
		{ "topic is older",
		  { "Dt", "DTt", "Dt", "Dt", "D" },
		  { false, true, false },
		  DIFFERENCE_TOPIC,
		  "has size 20, and the database says that it has that of size 40",
		  0,
		  0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log_claims claims = { NULL };
		struct log_rows_spare spare;
		for (unsigned at = 0; at < 5; at++) {
			unsigned places = 0;
			for (const char *c = cases[i].places[at]; *c; c++)
				places |= *c == 'D'   ? LOG_CLAIMS_DATABASE
					  : *c == 'F' ? LOG_CLAIMS_FILE
					  : *c == 'T' ? LOG_CLAIMS_TOPIC
					  : *c == 'f' ? LOG_CLAIMS_SAID_FILE
						      : LOG_CLAIMS_SAID_TOPIC;
			const struct log_claim claim = claim_of(at + 1, places);
			log_claims_add(&claims, &claim);
		}
		log_claims_sort(&claims);
		log_rows_judge_places(&claims, &cases[i].elsewhere, &differences, &spare);
		expect(cases[i].name, cases[i].kind, cases[i].text);
		if (spare.older != cases[i].older || spare.newer != cases[i].newer)
			fail_msg("%s: %d older, %d newer", cases[i].name, (int)spare.older, (int)spare.newer);
		log_claims_free(&claims);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_fit_their_notes),
		cmocka_unit_test(logs_only_go_back_where_they_begin_again),
		cmocka_unit_test(rows_of_logs_make_sense),
		cmocka_unit_test(checkpoints_are_where_they_are_said_to_be),
	};
	return cmocka_run_group_tests(tests, make, end);
}
