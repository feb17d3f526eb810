/* Whose turn it is, and for how long anybody waits for it: with a clock of the test's. */
#include "avro/registry/registry_lookups.h"

#include "../support.h"

#define SLICE_US (INT64_C(1000) * REGISTRY_SLICE_MS)

static struct registry_lookups lookups;
static int64_t now_us;
static uint32_t ids;

static int begin(void **state)
{
	(void)state;
	registry_lookups_init(&lookups);
	now_us = INT64_C(5000000000);
	ids = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (enum lookup_state of = LOOKUP_NEW; of < LOOKUP_STATES; of++)
		while (!list_empty(&lookups.by_state[of]))
			registry_lookup_forget(&lookups, registry_lookup_of(lookups.by_state[of].head.next));
	return 0;
}

static struct registry_lookup *add(enum lookup_state state, unsigned failures)
{
	const struct schema_name name = { .id = ++ids };
	struct registry_lookup *lookup = registry_lookups_add(&lookups, &name, LOOKUP_FIRST);
	lookup->wanted_until_us = INT64_MAX;
	lookup->due_us = state == LOOKUP_AGAIN ? now_us : 0;
	lookup->failures = failures;
	registry_lookup_set(&lookups, lookup, state);
	return lookup;
}

/* One look of the registry's thread: attempts that are spent come again later, others begin, none is
 * answered. */
static void look(void)
{
	struct registry_lookup *some[REGISTRY_AT_ONCE_MAX];
	for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++) {
		size_t count = registry_lookups_spent(&lookups, kind, now_us, some);
		for (size_t i = 0; i < count; i++) {
			some[i]->failures++;
			some[i]->due_us = now_us + SLICE_US;
			registry_lookup_set(&lookups, some[i], LOOKUP_AGAIN);
		}
		count = registry_lookups_take(&lookups, kind, REGISTRY_AT_ONCE_MAX, now_us, some);
		for (size_t i = 0; i < count; i++)
			some[i]->request.handle = some; /* it is under way */
	}
}

/* Until it is asked for, from one moment to the next at which something is to be done. */
static int64_t waits_us(const struct registry_lookup *lookup)
{
	int64_t began_us = now_us;
	for (int i = 0; i < 100000; i++) {
		int64_t next_us = INT64_MAX;
		look();
		if (lookup->state == LOOKUP_ASKING_FIRST || lookup->state == LOOKUP_ASKING_AGAIN)
			return now_us - began_us;
		for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++) {
			int64_t at_us = registry_lookups_next_us(&lookups, kind, 0, now_us);
			next_us = at_us < next_us ? at_us : next_us;
		}
		assert_true(next_us > now_us && next_us < INT64_MAX);
		now_us = next_us;
	}
	fail_msg("it is never asked for");
	return 0;
}

static void test_new_names(void **state)
{
	(void)state;
	static const unsigned before[] = { 0, 1, 63, 64, 100, 127, 128, 2048 };
	for (size_t i = 0; i < COUNT_OF(before); i++) {
		for (int failed = 0; failed < 500; failed++) /* which are in nobody's way */
			add(LOOKUP_AGAIN, 9);
		for (unsigned n = 0; n < before[i]; n++)
			add(LOOKUP_FIRST, 0);
		assert_int_equal(waits_us(add(LOOKUP_FIRST, 0)), before[i] / REGISTRY_FIRST_MAX * SLICE_US);
		end(NULL);
	}
}

/* One that comes while all places are taken, and have been for long, gets one at once. */
static void test_a_late_one(void **state)
{
	(void)state;
	for (int i = 0; i < REGISTRY_FIRST_MAX; i++)
		add(LOOKUP_FIRST, 0);
	look();
	now_us += 10 * SLICE_US;
	look();
	assert_int_equal(lookups.by_state[LOOKUP_ASKING_FIRST].count, REGISTRY_FIRST_MAX);
	assert_int_equal(waits_us(add(LOOKUP_FIRST, 0)), 0);
	assert_int_equal(lookups.by_state[LOOKUP_AGAIN].count, 1);
}

static void test_names_that_failed(void **state)
{
	(void)state;
	static const struct {
		unsigned before, failures;
	} CASES[] = { { 7, 1 }, { 8, 0 }, { 8, 1 }, { 100, 1 }, { 100, 3 }, { 16, 20 } };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		for (unsigned n = 0; n < CASES[i].before; n++)
			add(LOOKUP_AGAIN, CASES[i].failures);
		unsigned doublings = CASES[i].failures < 8 ? CASES[i].failures : 8;
		assert_int_equal(waits_us(add(LOOKUP_AGAIN, 1)),
				 CASES[i].before / REGISTRY_AGAIN_MAX * (SLICE_US << doublings));
		end(NULL);
	}
}

static void test_order(void **state)
{
	(void)state;
	struct registry_lookup *some[REGISTRY_AT_ONCE_MAX];
	struct registry_lookup *third = add(LOOKUP_AGAIN, 1), *first = add(LOOKUP_AGAIN, 1);
	struct registry_lookup *second = add(LOOKUP_AGAIN, 1), *unwanted = add(LOOKUP_AGAIN, 1);
	third->due_us = now_us + 3;
	registry_lookup_set(&lookups, third, LOOKUP_AGAIN);
	second->due_us = now_us + 2;
	registry_lookup_set(&lookups, second, LOOKUP_AGAIN);
	unwanted->wanted_until_us = now_us;
	first->due_us = now_us + 1;
	registry_lookup_set(&lookups, first, LOOKUP_AGAIN);
	assert_int_equal(registry_lookups_take(&lookups, REGISTRY_AGAIN, 9, now_us, some), 0);
	assert_int_equal(registry_lookups_next_us(&lookups, REGISTRY_AGAIN, 0, now_us), now_us + 1);
	assert_int_equal(registry_lookups_next_us(&lookups, REGISTRY_AGAIN, now_us + 9, now_us), now_us + 9);
	assert_int_equal(registry_lookups_take(&lookups, REGISTRY_AGAIN, 9, now_us + 2, some), 2);
	assert_ptr_equal(some[0], first);
	assert_ptr_equal(some[1], second);
	assert_int_equal(registry_lookups_under_way(&lookups), 2);
	assert_ptr_equal(registry_lookups_find(&lookups, &third->name), third);
	assert_null(registry_lookups_find(&lookups, &(const struct schema_name){ .id = 99 }));
	assert_true(registry_lookups_next_us(&lookups, REGISTRY_FIRST, 0, now_us) == INT64_MAX);
}

/* What is answered already keeps its place until that is read. */
static void test_answered(void **state)
{
	(void)state;
	struct registry_lookup *some[REGISTRY_AT_ONCE_MAX];
	for (int i = 0; i < REGISTRY_FIRST_MAX + 2; i++)
		add(LOOKUP_FIRST, 0);
	look();
	registry_lookup_of(lookups.by_state[LOOKUP_ASKING_FIRST].head.next)->request.handle = NULL;
	assert_int_equal(registry_lookups_spent(&lookups, REGISTRY_FIRST, now_us + SLICE_US - 1, some), 0);
	assert_int_equal(registry_lookups_spent(&lookups, REGISTRY_FIRST, now_us + SLICE_US, some), 2);
	assert_int_equal(some[0]->name.id, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_names, begin, end),
		cmocka_unit_test_setup_teardown(test_a_late_one, begin, end),
		cmocka_unit_test_setup_teardown(test_names_that_failed, begin, end),
		cmocka_unit_test_setup_teardown(test_order, begin, end),
		cmocka_unit_test_setup_teardown(test_answered, begin, end),
	};
	return cmocka_run_group_tests_name("registry_lookups", tests, NULL, NULL);
}
