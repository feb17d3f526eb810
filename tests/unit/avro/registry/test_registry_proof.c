/* For how long a name has failed alone, against a registry that is there, away, or not heard of. */
#include "avro/registry/registry_proof.h"

#include "../support.h"

enum { SECOND = 1000000, WAIT = 10 * SECOND };

static struct registry_proof proof;
static struct registry_failing failing;
static int64_t now_us;

static int begin(void **state)
{
	(void)state;
	proof = (struct registry_proof){ 0 };
	failing = (struct registry_failing){ 0 };
	now_us = INT64_C(5000) * SECOND;
	return 0;
}

/* So many seconds of attempts, one a second, each of which is followed by an answer to another, or by none.
 */
static void attempts(int seconds, bool answered)
{
	for (int i = 0; i < seconds; i++) {
		now_us += SECOND;
		registry_fails(&failing, &proof, now_us);
		if (answered)
			registry_proof_give(&proof, now_us + SECOND / 10);
		else
			registry_proof_miss(&proof);
	}
}

static bool alone(void)
{
	return registry_fails_alone(&failing, &proof, WAIT);
}

static void test_one_that_fails_alone(void **state)
{
	(void)state;
	assert_false(alone());
	attempts(11, true);
	assert_false(alone());
	attempts(1, true);
	assert_true(alone());
	/* another begins from there */
	failing = (struct registry_failing){ 0 };
	assert_false(alone());
	attempts(10, true);
	assert_false(alone());
	attempts(1, true);
	assert_true(alone());
}

static void test_an_outage_is_waited_out(void **state)
{
	(void)state;
	attempts(10000, false);
	assert_false(alone());
	attempts(6, true);
	attempts(10000, false);
	attempts(6, true);
	assert_false(alone());
	attempts(2, true);
	assert_true(alone());
	/* nor is it passed over in the next one, or before it was tried again behind that */
	attempts(3, false);
	assert_false(alone());
	registry_proof_give(&proof, now_us += SECOND);
	assert_false(alone());
	attempts(1, true);
	assert_true(alone());
}

/* What it answered long before says nothing of the time since. */
static void test_answers_far_apart(void **state)
{
	(void)state;
	registry_proof_give(&proof, now_us);
	now_us += INT64_C(1000) * SECOND;
	attempts(2, true);
	assert_false(alone());
	now_us += INT64_C(1000) * SECOND;
	attempts(2, true);
	assert_false(alone());
	attempts(8, true);
	assert_false(alone());
	attempts(1, true);
	assert_true(alone());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_that_fails_alone, begin),
		cmocka_unit_test_setup(test_an_outage_is_waited_out, begin),
		cmocka_unit_test_setup(test_answers_far_apart, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
