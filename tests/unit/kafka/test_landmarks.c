#include "kafka/landmarks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

enum { COUNT = 2 };

#define MINUTE_US (INT64_C(60) * 1000000)

static const struct topic_probe_answer found[COUNT] = {
	{ { 3, 100, { 99, 70 } }, IDENTITY_SAME, RD_KAFKA_RESP_ERR_NO_ERROR, 10, 100 },
	{ { 5, -1, { 0, 0 } }, IDENTITY_SAME, RD_KAFKA_RESP_ERR_NO_ERROR, 0, 0 },
};
static const int64_t places[COUNT] = { 98, 0 };

static int64_t *copy_of(const int64_t *offsets)
{
	int64_t *copy = malloc(COUNT * sizeof *copy);
	assert_non_null(copy);
	memcpy(copy, offsets, COUNT * sizeof *copy);
	return copy;
}

/* What is asked later, the landmarks that it has then, and whether the former look tells the answer. */
struct later {
	const char *what;
	struct topic_probe_question questions[COUNT];
	int64_t offsets[COUNT];
	size_t count;
	int64_t after_us;
	bool told;
};

#define FIRST                                                                                                \
	{                                                                                                    \
		3, 100,                                                                                      \
		{                                                                                            \
			99, 70                                                                               \
		}                                                                                            \
	}
#define SECOND                                                                                               \
	{                                                                                                    \
		5, -1,                                                                                       \
		{                                                                                            \
			0, 0                                                                                 \
		}                                                                                            \
	}

static const struct later laters[] = {
	{ "nothing has moved", { FIRST, SECOND }, { 98, 0 }, 2, MINUTE_US, true },
	{ "nothing has moved for long", { FIRST, SECOND }, { 98, 0 }, 2, 10 * MINUTE_US, false },
	{ "a landmark has moved", { FIRST, SECOND }, { 97, 0 }, 2, MINUTE_US, false },
	{ "a landmark is gone", { FIRST, SECOND }, { -1, 0 }, 2, MINUTE_US, false },
	{ "an empty one got something", { FIRST, SECOND }, { 98, 1 }, 2, MINUTE_US, false },
	{ "less is asked", { FIRST }, { 98 }, 1, MINUTE_US, false },
	{ "another partition", { { 4, 100, { 99, 70 } }, SECOND }, { 98, 0 }, 2, MINUTE_US, false },
	{ "more was passed by", { { 3, 101, { 99, 70 } }, SECOND }, { 98, 0 }, 2, MINUTE_US, false },
	{ "another witness", { { 3, 100, { 98, 70 } }, SECOND }, { 98, 0 }, 2, MINUTE_US, false },
	{ "another record there", { { 3, 100, { 99, 71 } }, SECOND }, { 98, 0 }, 2, MINUTE_US, false },
};

static void test_a_look_stands_while_nothing_moves(void **state)
{
	struct landmarks landmarks = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof laters / sizeof *laters; i++) {
		const struct later *later = &laters[i];
		struct topic_probe_answer answers[COUNT] = { 0 };
		landmarks_keep(&landmarks, copy_of(places), found, COUNT, MINUTE_US);
		for (size_t j = 0; j < COUNT; j++)
			answers[j].question = later->questions[j];
		bool told = landmarks_tell(&landmarks, later->offsets, answers, later->count,
					   MINUTE_US + later->after_us);
		if (told != later->told)
			fail_msg("%s", later->what);
		for (size_t j = 0; j < COUNT && told; j++) {
			assert_int_equal(answers[j].identity, IDENTITY_SAME);
			assert_int_equal(answers[j].low, found[j].low);
			assert_int_equal(answers[j].end, found[j].end);
		}
	}
	landmarks_clear(&landmarks);
}

static void test_only_what_is_the_same_is_remembered(void **state)
{
	struct landmarks landmarks = { 0 };
	struct topic_probe_answer answers[COUNT];
	(void)state;
	for (int what = 0; what < 5; what++) {
		landmarks_keep(&landmarks, copy_of(places), found, COUNT, MINUTE_US);
		memcpy(answers, found, sizeof found);
		answers[1].identity = what == 0	  ? IDENTITY_RECREATED
				      : what == 1 ? IDENTITY_UNKNOWN
				      : what == 2 ? IDENTITY_DELETED
						  : IDENTITY_SAME;
		if (what == 3)
			answers[1].err = RD_KAFKA_RESP_ERR__TIMED_OUT;
		landmarks_keep(&landmarks, what == 4 ? NULL : copy_of(places), answers, COUNT, MINUTE_US);
		memcpy(answers, found, sizeof found);
		assert_false(landmarks_tell(&landmarks, places, answers, COUNT, MINUTE_US));
	}
	landmarks_clear(&landmarks);
}

static void test_without_landmarks_nothing_is_told(void **state)
{
	struct landmarks landmarks = { 0 };
	struct topic_probe_answer answers[COUNT];
	(void)state;
	memcpy(answers, found, sizeof found);
	assert_false(landmarks_tell(&landmarks, places, answers, COUNT, 0));
	landmarks_keep(&landmarks, copy_of(places), found, COUNT, 0);
	assert_false(landmarks_tell(&landmarks, NULL, answers, COUNT, 0));
	assert_true(landmarks_tell(&landmarks, places, answers, COUNT, 0));
	landmarks_clear(&landmarks);
	assert_false(landmarks_tell(&landmarks, places, answers, COUNT, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_look_stands_while_nothing_moves),
		cmocka_unit_test(test_only_what_is_the_same_is_remembered),
		cmocka_unit_test(test_without_landmarks_nothing_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
