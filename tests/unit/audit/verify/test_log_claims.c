/* Checkpoints that are found somewhere: of which log they are, and whether a trusted key has signed them. */
#include "audit/verify/log_claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct note_signer signers[2];

static int make_keys(void **state)
{
	(void)state;
	unsigned char seed[NOTE_KEY_BYTES] = { 7 };
	for (size_t i = 0; i < 2; i++) {
		seed[1] = (unsigned char)i;
		if (note_signer_make(STR("example.com/log"), seed, &signers[i]) != ERR_OK)
			return -1;
	}
	return 0;
}

static void notes_are_of_logs(void **state)
{
	(void)state;
	static const struct {
		const char *origin;
		size_t signer;
		err_t err;
		int32_t partition;
	} cases[] = {
		{ "example.com/log/scored/0", 0, ERR_OK, 0 },
		{ "example.com/log/scored/2147483647", 0, ERR_OK, INT32_MAX },
		{ "example.com/log/scored/2147483648", 0, ERR_OK, -1 },
		{ "example.com/log/scored/007", 0, ERR_OK, -1 },
		{ "example.com/log/scored/", 0, ERR_OK, -1 },
		{ "example.com/log/scored/x", 0, ERR_OK, -1 },
		{ "example.com/log/other/0", 0, ERR_OK, -1 },
		{ "example.org/log/scored/0", 0, ERR_OK, -1 },
		{ "example.com/log/scored/3", 1, ERR_AUDIT_UNVERIFIED, 3 }, /* another key of that name */
	};
	const struct log_claims_reader reader = { &signers[0].key, 1, "scored" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf note = BUF_INIT;
		struct checkpoint checkpoint = { str_from(cases[i].origin), 5, { { 9 } }, STR("") };
		struct log_claim claim;
		struct err_detail detail = { "" };
		int32_t partition = -7;
		assert_int_equal(checkpoint_sign(&checkpoint, &signers[cases[i].signer], 1, &note), ERR_OK);
		err_t err = log_claims_read(&reader, buf_str(&note), &partition, &claim, &detail);
		if (err != cases[i].err || partition != cases[i].partition)
			fail_msg("%s: %d, partition %d", cases[i].origin, err, (int)partition);
		if (!err && partition >= 0)
			assert_true(claim.size == 5 && claim.root.bytes[0] == 9 && claim.places == 0);
	}
}

/* One bit of a note is another one: it is not taken for the note of another log. */
static void damaged_notes_are_nobody_elses(void **state)
{
	(void)state;
	const struct log_claims_reader reader = { &signers[0].key, 1, "scored" };
	struct checkpoint checkpoint = { STR("example.com/log/scored/4"), 5, { { 9 } }, STR("") };
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	assert_int_equal(checkpoint_sign(&checkpoint, &signers[0], 1, &note), ERR_OK);
	for (size_t at = 0; at < note.len; at++) {
		struct log_claim claim;
		int32_t partition;
		note.data[at] ^= 1;
		if (log_claims_read(&reader, buf_str(&note), &partition, &claim, NULL) == ERR_OK)
			fail_msg("byte %d: taken for one of partition %d", (int)at, (int)partition);
		note.data[at] ^= 1;
	}
}

static void add(struct log_claims *claims, uint64_t size, unsigned char root, unsigned places)
{
	const struct log_claim claim = { size, { { root } }, 100 * size + root, places };
	log_claims_add(claims, &claim);
}

static void the_same_from_several_places_is_one(void **state)
{
	(void)state;
	struct log_claims claims = { NULL };
	assert_null(log_claims_find(&claims, 9, 901));
	add(&claims, 9, 1, LOG_CLAIMS_TOPIC);
	add(&claims, 5, 2, LOG_CLAIMS_FILE);
	add(&claims, 9, 1, LOG_CLAIMS_FILE);
	log_claims_sort(&claims);
	assert_true(claims.count == 2 && !claims.forked && claims.items[0].size == 5);
	assert_int_equal(claims.items[1].places, LOG_CLAIMS_TOPIC | LOG_CLAIMS_FILE);
	add(&claims, 9, 2, LOG_CLAIMS_DATABASE);
	log_claims_sort(&claims);
	assert_true(claims.count == 3 && claims.forked && claims.forked_size == 9);
	assert_ptr_equal(log_claims_find(&claims, 9, 902), &claims.items[2]);
	assert_ptr_equal(log_claims_find(&claims, 5, 502), &claims.items[0]);
	assert_null(log_claims_find(&claims, 5, 901));
	assert_null(log_claims_find(&claims, 7, 502));
	log_claims_free(&claims);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_of_logs),
		cmocka_unit_test(damaged_notes_are_nobody_elses),
		cmocka_unit_test(the_same_from_several_places_is_one),
	};
	return cmocka_run_group_tests(tests, make_keys, NULL);
}
