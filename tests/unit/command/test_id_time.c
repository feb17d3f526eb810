/* Ids that say when they were made, and all others. */
#include "command/id_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void times_of_ids(void **state)
{
	static const struct {
		const char *id;
		int64_t ms;
	} cases[] = {
		{ "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", INT64_C(1645557742000) }, /* RFC 9562, A.6 */
		{ "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", INT64_C(1645557742000) },
		{ "01ARZ3NDEKTSV4RRFFQ69G5FAV", INT64_C(1469922850259) }, /* of the ULID's specification */
		{ "01arz3ndektsv4rrffq69g5fav", INT64_C(1469922850259) },
		{ "919108f7-52d1-4320-9bac-f847db4148a8", 0 }, /* version 4 */
		{ "ffffffff-ffff-7fff-bfff-ffffffffffff", 0 }, /* in ten thousand years */
		{ "017f22e2-79b0-7cc3-98c4-dc0c0c07398", 0 },
		{ "017f22e2-79b0-7cc3-98c4_dc0c0c07398f", 0 },
		{ "017f22e2079b007cc3098c40dc0c0c07398f", 0 },
		{ "017f22e2-79b0-7cc3-98c4-dc0c0c07398g", 0 },
		{ "01ARZ3NDEKTSV4RRFFQ69G5FAU", 0 }, /* no U among its digits */
		{ "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 0 },
		{ "order-17", 0 },
		{ "", 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (id_time_ms(str_from(cases[i].id)) != cases[i].ms)
			fail_msg("%s: %lld", cases[i].id, (long long)id_time_ms(str_from(cases[i].id)));
	assert_int_equal(id_time_ms(STR_NONE), 0);
	assert_int_equal(id_time_ms((str_t){ "017f22e2-79b0-7cc3-98c4-dc0c0c0739\0", 36 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(times_of_ids) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
