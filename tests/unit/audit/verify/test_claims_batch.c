/* Notes are verified by several threads, and taken in the order in which they came. */
#include "audit/verify/claims_batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NOTES = 700, LARGE = 60, LARGE_BYTES = 200000 };

struct taken {
	unsigned count, bad, others, wrong;
};

/* Note n is of size n; each seventh was changed, each eleventh is of another log. */
static void take(void *context, const struct claims_batch_note *note)
{
	struct taken *taken = context;
	unsigned n = taken->count++;
	taken->wrong += note->tag != n;
	if (n % 11 == 0)
		taken->others += note->err == ERR_OK && note->partition < 0;
	else if (n % 7 == 0)
		taken->bad +=
			note->err == ERR_AUDIT_UNVERIFIED && note->partition == 1 && note->detail.message[0];
	else
		taken->wrong += note->err != ERR_OK || note->partition != 1 || note->claim.size != n ||
				note->claim.digest != log_claims_digest(note->text);
}

static void notes_are_taken_in_their_order(void **state)
{
	(void)state;
	unsigned char seed[NOTE_KEY_BYTES] = { 3 };
	struct note_signer signer;
	struct taken taken = { 0 };
	assert_int_equal(note_signer_make(STR("example.com/log"), seed, &signer), ERR_OK);
	const struct log_claims_reader reader = { &signer.key, 1, "scored" };
	_cleanup_(claims_batch_cleanup) struct claims_batch *batch = claims_batch_new(&reader, take, &taken);
	for (unsigned n = 0; n < NOTES; n++) {
		_cleanup_(buf_free) struct buf note = BUF_INIT;
		struct checkpoint checkpoint = { n % 11 ? STR("example.com/log/scored/1")
							: STR("example.com/log/other/1"),
						 n ? n : 1,
						 { { 1 } },
						 STR("") };
		assert_int_equal(checkpoint_sign(&checkpoint, &signer, 1, &note), ERR_OK);
		if (n % 11 && n % 7 == 0)
			note.data[strlen("example.com/log/scored/1\n")] ^= 1; /* the size */
		claims_batch_add(batch, buf_str(&note), n);
	}
	claims_batch_end(batch);
	assert_true(taken.count == NOTES && taken.wrong == 0);
	assert_true(taken.others == (NOTES + 10) / 11 && taken.bad == 90);
	claims_batch_end(batch);
	assert_int_equal(taken.count, NOTES);
}

static void count(void *context, const struct claims_batch_note *note)
{
	unsigned *counted = context;
	assert_int_equal(note->tag, (*counted)++);
	assert_int_equal(note->text.len, LARGE_BYTES);
}

static void large_notes_do_not_wait_for_many(void **state)
{
	(void)state;
	const struct log_claims_reader reader = { NULL, 0, "scored" };
	unsigned counted = 0;
	_cleanup_(claims_batch_cleanup) struct claims_batch *batch =
		claims_batch_new(&reader, count, &counted);
	_cleanup_(cleanup_free) char *text = calloc(1, LARGE_BYTES);
	assert_non_null(text);
	for (unsigned n = 0; n < LARGE; n++)
		claims_batch_add(batch, (str_t){ text, LARGE_BYTES }, n);
	assert_true(counted > 0 && counted < LARGE);
	claims_batch_end(batch);
	assert_int_equal(counted, LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_taken_in_their_order),
		cmocka_unit_test(large_notes_do_not_wait_for_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
