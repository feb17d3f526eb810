#include "event/outages.h"

#include <setjmp.h>

#include <cmocka.h>

#define HOUR_US ((int64_t)3600 * 1000000)

static void an_episode_begins_once_and_ends_with_an_answer(void **state)
{
	struct outages *outages = outages_new();
	(void)state;
	outages_back(outages, STR("shop"), true);
	assert_true(outages_away(outages, STR("shop"), true, true, 1));
	assert_false(outages_away(outages, STR("shop"), true, true, 2));
	assert_true(outages_away(outages, STR("shops"), true, true, 3));
	outages_back(outages, STR("shop"), false); /* the catalog is in memory still */
	assert_false(outages_away(outages, STR("shop"), true, true, 10 * HOUR_US));
	outages_back(outages, STR("shop"), true);
	assert_true(outages_away(outages, STR("shop"), true, true, 4));
	assert_false(outages_away(outages, STR("shops"), true, true, 5));
	outages_free(outages);
}

static void a_catalog_ends_what_its_absence_began(void **state)
{
	struct outages *outages = outages_new();
	(void)state;
	assert_true(outages_away(outages, STR("shop"), true, false, 1));
	assert_false(outages_away(outages, STR("shop"), true, false, 2));
	outages_back(outages, STR("shop"), false);
	assert_true(outages_away(outages, STR("shop"), true, false, 3));
	assert_false(outages_away(outages, STR("shop"), true, true, 4)); /* now a query has failed, too */
	outages_back(outages, STR("shop"), false);
	assert_false(outages_away(outages, STR("shop"), true, false, 5));
	outages_free(outages);
}

/* Names that events make up neither take memory nor hide a target of ours. */
static void names_that_are_not_configured_have_their_own(void **state)
{
	struct outages *outages = outages_new();
	char name[32];
	(void)state;
	assert_true(outages_away(outages, STR("nowhere"), false, false, HOUR_US));
	assert_false(outages_away(outages, STR("nowhere"), false, false, 2 * HOUR_US - 1));
	assert_true(outages_away(outages, STR("elsewhere"), false, false, 2 * HOUR_US - 1));
	assert_true(outages_away(outages, STR("nowhere"), false, false, 2 * HOUR_US));
	unsigned begun = 0;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		begun += outages_away(outages, str_from(name), false, false, 2 * HOUR_US + 1);
	}
	assert_int_equal(begun, 62 + 1); /* one for all that there is no room for */
	assert_false(outages_away(outages, STR("elsewhere"), false, false, 2 * HOUR_US + 2));
	assert_true(outages_away(outages, STR("n999"), false, false, 4 * HOUR_US));
	outages_free(outages);
}

/* Names that events make up neither take memory nor hide a target of ours. */
static void more_targets_than_there_is_room_for_share_one(void **state)
{
	struct outages *outages = outages_new();
	char name[256];
	(void)state;
	assert_true(outages_away(outages, STR("nowhere"), false, false, 1));
	assert_true(outages_away(outages, STR("nowhere"), true, true, 1));
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "t%d", i);
		outages_away(outages, str_from(name), true, true, 2 * HOUR_US + 1);
	}
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = 0;
	assert_false(outages_away(outages, str_from(name), true, true, 2 * HOUR_US + 2));
	assert_false(outages_away(outages, STR("nowhere"), true, true, 2));
	outages_free(outages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_episode_begins_once_and_ends_with_an_answer),
		cmocka_unit_test(a_catalog_ends_what_its_absence_began),
		cmocka_unit_test(names_that_are_not_configured_have_their_own),
		cmocka_unit_test(more_targets_than_there_is_room_for_share_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
