#include "judge/panel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#define NONE                                                                                                 \
	{                                                                                                    \
		.set = false                                                                                 \
	}
#define SOME(number)                                                                                         \
	{                                                                                                    \
		.set = true, .value = (number)                                                               \
	}
#define SAID(number)                                                                                         \
	{                                                                                                    \
		.score = (number)                                                                            \
	}
#define KEPT(number)                                                                                         \
	{                                                                                                    \
		.score = (number), .cached = true                                                            \
	}
#define FAILED(name)                                                                                         \
	{                                                                                                    \
		.error = ERR_JUDGE_##name, .score = 1e9, .cached = true                                      \
	}

enum { MOST = 5 };

/* Disagreement as numpy has it: abs(subtract.outer(x, x)).sum() / (n * (n - 1)). */
static const struct panel_case {
	const char *name;
	size_t count;
	struct judge_verdict verdicts[MOST];
	struct panel_score expected;
} cases[] = {
	{ "nobody", 0, { { 0 } }, { 0, NONE, NONE, false, ERR_OK } },
	{ "one", 1, { SAID(70) }, { 1, SOME(70), NONE, false, ERR_OK } },
	{ "two of one mind", 2, { SAID(80), SAID(80) }, { 2, SOME(80), SOME(0), false, ERR_OK } },
	{ "two as far apart as can be",
	  2,
	  { SAID(0), SAID(100) },
	  { 2, SOME(50), SOME(100), false, ERR_OK } },
	{ "a mean on a bound",
	  3,
	  { SAID(29), SAID(31), SAID(30) },
	  { 3, SOME(30), SOME(4.0 / 3), false, ERR_OK } },
	{ "a mean close below one",
	  3,
	  { SAID(30), SAID(30), SAID(29) },
	  { 3, SOME(89.0 / 3), SOME(2.0 / 3), false, ERR_OK } },
	{ "five",
	  5,
	  { SAID(10), SAID(95), SAID(40), SAID(95), SAID(0) },
	  { 5, SOME(48), SOME(55), false, ERR_OK } },
	{ "correctness", 3, { SAID(1), SAID(0.5), SAID(0) }, { 3, SOME(0.5), SOME(2.0 / 3), false, ERR_OK } },
	{ "one failed",
	  3,
	  { SAID(90), FAILED(TIMEOUT), SAID(60) },
	  { 2, SOME(75), SOME(30), false, ERR_OK } },
	{ "one is left",
	  3,
	  { FAILED(REPLY), SAID(60), FAILED(TIMEOUT) },
	  { 1, SOME(60), NONE, false, ERR_OK } },
	{ "all kept", 2, { KEPT(90), KEPT(70) }, { 2, SOME(80), SOME(20), true, ERR_OK } },
	{ "one kept", 2, { KEPT(90), SAID(70) }, { 2, SOME(80), SOME(20), false, ERR_OK } },
	{ "the one that is left was kept",
	  2,
	  { KEPT(90), FAILED(REPLY) },
	  { 1, SOME(90), NONE, true, ERR_OK } },
	{ "all failed", 2, { FAILED(TIMEOUT), FAILED(REPLY) }, { 0, NONE, NONE, false, ERR_JUDGE_TIMEOUT } },
	{ "all without a slot",
	  2,
	  { FAILED(SATURATED), FAILED(SATURATED) },
	  { 0, NONE, NONE, false, ERR_JUDGE_SATURATED } },
	{ "one without a slot, one without tokens",
	  2,
	  { FAILED(SATURATED), FAILED(SPENT) },
	  { 0, NONE, NONE, false, ERR_JUDGE_SPENT } },
	{ "some without a slot",
	  4,
	  { FAILED(SATURATED), FAILED(UNAVAILABLE), FAILED(REPLY), FAILED(SATURATED) },
	  { 0, NONE, NONE, false, ERR_JUDGE_UNAVAILABLE } },
};

static void assert_same(const char *name, opt_double_t found, opt_double_t expected)
{
	if (found.set != expected.set || (found.set && found.value != expected.value))
		fail_msg("%s: %d %.17g, not %d %.17g", name, found.set, found.value, expected.set,
			 expected.value);
}

static void check(const struct panel_case *item, const size_t order[MOST])
{
	struct panel_opinion opinions[MOST];
	struct panel_score score;
	for (size_t i = 0; i < item->count; i++)
		opinions[i] = (struct panel_opinion){ "judge", &item->verdicts[order[i]] };
	panel_score(opinions, item->count, &score);
	assert_same(item->name, score.mean, item->expected.mean);
	assert_same(item->name, score.disagreement, item->expected.disagreement);
	assert_int_equal(score.answered, item->expected.answered);
	assert_int_equal(score.cached, item->expected.cached);
	assert_string_equal(err_name(score.error), err_name(item->expected.error));
}

static void scores_are_taken_together(void **state)
{
	static const size_t as_given[MOST] = { 0, 1, 2, 3, 4 };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check(&cases[i], as_given);
}

/* All orders of the five, to the last bit. */
static void the_order_is_of_no_account(void **state)
{
	const struct panel_case *five = NULL;
	size_t orders = 0;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (cases[i].count == MOST)
			five = &cases[i];
	assert_non_null(five);
	for (size_t number = 0; number < 3125; number++) {
		size_t order[MOST], seen = 0;
		for (size_t i = 0, rest = number; i < MOST; i++, rest /= MOST) {
			order[i] = rest % MOST;
			seen |= (size_t)1 << order[i];
		}
		if (seen != 31)
			continue;
		check(five, order);
		orders++;
	}
	assert_int_equal(orders, 120);
}

/* How many judges answer does not move what they are expected to differ by: over all subsets of a size the
 * mean of the disagreement is that of the whole. */
static void a_smaller_panel_disagrees_as_much(void **state)
{
	static const double said[] = { 0, 10, 40, 95, 100 };
	struct judge_verdict verdicts[MOST];
	(void)state;
	for (size_t size = 2; size <= MOST; size++) {
		double sum = 0, subsets = 0;
		for (unsigned mask = 0; mask < 32; mask++) {
			struct panel_opinion opinions[MOST];
			struct panel_score score;
			if ((size_t)__builtin_popcount(mask) != size)
				continue;
			for (size_t i = 0; i < MOST; i++) {
				bool fails = !(mask & 1u << i);
				verdicts[i] =
					(struct judge_verdict){ .error = fails ? ERR_JUDGE_TIMEOUT : ERR_OK,
								.score = said[i] };
				opinions[i] = (struct panel_opinion){ "judge", &verdicts[i] };
			}
			panel_score(opinions, MOST, &score);
			sum += score.disagreement.value;
			subsets++;
		}
		assert_true(fabs(sum / subsets - 57) < 1e-9);
	}
}

/* All means of up to eight whole numbers close below a bound. */
static void no_mean_looks_like_a_bound_above_it(void **state)
{
	(void)state;
	assert_int_equal(panel_decimals(50), 0);
	for (int judges = 2; judges <= JUDGE_MEMBERS_MAX; judges++) {
		for (int below = 1; below < judges; below++) {
			double mean = (50.0 * judges - below) / judges;
			char shown[16];
			snprintf(shown, sizeof shown, "%.*f", panel_decimals(mean), mean);
			assert_int_equal(strncmp(shown, "49.", 3), 0);
		}
	}
}

static void reasons_name_who_gave_them(void **state)
{
	static const struct judge_verdict verdicts[] = {
		{ .score = 80, .reason = { "counts orders", 13 } },
		{ .error = ERR_JUDGE_TIMEOUT, .reason = { "not to be seen", 14 } },
		{ .score = 0.5 },
		{ .score = 20, .reason = { "wrong year", 10 } },
	};
	const struct panel_opinion opinions[] = { { "one", &verdicts[0] },
						  { "two", &verdicts[1] },
						  { "three", &verdicts[2] },
						  { "four", &verdicts[3] } };
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	assert_string_equal(panel_reason(opinions, 4, arena).ptr,
			    "one 80: counts orders; three 0.5; four 20: wrong year");
	assert_string_equal(panel_reason(opinions + 1, 1, arena).ptr, "");
	assert_string_equal(panel_reason(NULL, 0, arena).ptr, "");
}

/* Two-byte characters, one of which lies across the limit. */
static void long_reasons_are_cut_between_characters(void **state)
{
	char text[PANEL_REASON_MAX * 2 + 2] = "x";
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 1; i + 1 < sizeof text; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	const struct judge_verdict verdict = { .score = 7, .reason = { text, PANEL_REASON_MAX + 51 } };
	const struct panel_opinion opinion = { "j", &verdict };
	str_t reason = panel_reason(&opinion, 1, arena);
	assert_int_equal(reason.len, strlen("j 7: ") + PANEL_REASON_MAX - 1);
	assert_memory_equal(reason.ptr + 5, text, PANEL_REASON_MAX - 1);
}

static void prompts_are_named_once(void **state)
{
	static const struct {
		str_t digests[3];
		const char *all;
	} unions[] = {
		{ { { 0 } }, "" },
		{ { STR("aa"), STR("bb"), STR("cc") }, "aa bb cc" },
		{ { STR("bb"), STR("aa"), STR("bb") }, "bb aa" },
		{ { STR("aa bb"), { 0 }, STR("cc aa") }, "aa bb cc" },
		{ { STR("aaa"), STR("aa"), STR("a") }, "aaa aa a" },
		{ { STR(""), STR("aa  bb "), STR("aa") }, "aa bb" },
	};
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof unions / sizeof *unions; i++)
		assert_string_equal(panel_prompts(unions[i].digests, 3, arena).ptr, unions[i].all);
	assert_string_equal(panel_prompts(NULL, 0, arena).ptr, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_taken_together),
		cmocka_unit_test(the_order_is_of_no_account),
		cmocka_unit_test(a_smaller_panel_disagrees_as_much),
		cmocka_unit_test(no_mean_looks_like_a_bound_above_it),
		cmocka_unit_test(reasons_name_who_gave_them),
		cmocka_unit_test(long_reasons_are_cut_between_characters),
		cmocka_unit_test(prompts_are_named_once),
	};
	return cmocka_run_group_tests_name("panel", tests, NULL, NULL);
}
