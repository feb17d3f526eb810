#include "event/event_metrics_segments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void count_one(struct event_metrics_segments *segments, str_t application, str_t model)
{
	const struct scored_query scored = { .application = application,
					     .model = model,
					     .confidence = { .level = LEVEL_LOW } };
	event_metrics_segments_count(segments, &scored);
}

static void what_is_known_of_an_event_counts_for_its_application_and_model(void **state)
{
	struct event_metrics_segments *segments = event_metrics_segments_new(1000);
	struct record_label label = { .source = LABEL_RESULT, .correct = false };
	struct record_evaluation evaluation = { .passed = true };
	struct record_disposition disposition = { .action = RECORD_ACTION_VERIFY };
	struct scored_query scored = { .application = STR("shop"),
				       .model = STR("a"),
				       .confidence = { .level = LEVEL_VERY_LOW },
				       .safety = { .verdict = VERDICT_UNSAFE },
				       .label = &label,
				       .disposition = &disposition,
				       .judge = { .decision = DECISION_WARN },
				       .evaluation = &evaluation };
	struct event_metrics_segment *found;
	(void)state;
	event_metrics_segments_count(segments, &scored);
	scored = (struct scored_query){ .application = STR("shop"),
					.model = STR("b"),
					.confidence = { .level = ENUM_ABSENT } };
	event_metrics_segments_count(segments, &scored);
	event_metrics_segments_count(segments, &scored);
	assert_int_equal(event_metrics_segments_read(segments, &found), 2);
	assert_string_equal(found[0].application, "shop");
	assert_string_equal(found[0].model, "a");
	assert_int_equal(found[0].levels[LEVEL_VERY_LOW], 1);
	assert_int_equal(found[0].verdicts[VERDICT_UNSAFE], 1);
	assert_int_equal(found[0].labels[LABEL_RESULT][false], 1);
	assert_int_equal(found[0].labels[LABEL_RESULT][true], 0);
	assert_int_equal(found[0].evaluations[true], 1);
	assert_int_equal(found[0].actions[RECORD_ACTION_VERIFY], 1);
	assert_int_equal(found[0].decisions[DECISION_WARN], 1);
	assert_string_equal(found[1].model, "b");
	assert_int_equal(found[1].levels[EVENT_METRICS_NO_LEVEL], 2);
	assert_int_equal(found[1].evaluations[true] + found[1].evaluations[false], 0);
	free(found);
	event_metrics_segments_free(segments);
}

static void names_are_fit_for_labels(void **state)
{
	static const struct {
		str_t name;
		const char *label;
	} cases[] = {
		{ { NULL, 0 }, "" },
		{ { "", 0 }, "" },
		{ { "shop\n\x1b[31m\x7f", 11 }, "shop  [31m " },
		{ { "a\0b", 3 }, "a b" },
		{ { "caf\xc3\xa9 \xff rest", 11 }, "caf\xc3\xa9 " },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct event_metrics_segments *segments = event_metrics_segments_new(1000);
		struct event_metrics_segment *found;
		count_one(segments, cases[i].name, STR("m"));
		assert_int_equal(event_metrics_segments_read(segments, &found), 1);
		assert_string_equal(found[0].application, cases[i].label);
		free(found);
		event_metrics_segments_free(segments);
	}
}

static void long_names_are_cut_between_characters(void **state)
{
	struct event_metrics_segments *segments = event_metrics_segments_new(1000);
	struct event_metrics_segment *found;
	char name[2 * EVENT_METRICS_NAME_SIZE];
	(void)state;
	for (size_t i = 0; i < sizeof name; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	count_one(segments, (str_t){ name, sizeof name }, STR("m"));
	count_one(segments, (str_t){ name, sizeof name - 2 }, STR("m")); /* the same, cut */
	assert_int_equal(event_metrics_segments_read(segments, &found), 1);
	assert_int_equal(strlen(found[0].application), (EVENT_METRICS_NAME_SIZE - 1) / 2 * 2);
	assert_int_equal(found[0].levels[LEVEL_LOW], 2);
	free(found);
	event_metrics_segments_free(segments);
}

static void what_comes_when_it_is_full_is_other(void **state)
{
	enum { ROOM = 10, COME = 1000 };
	static const size_t limits[] = { 0, 1, EVENT_METRICS_SERIES, ROOM * EVENT_METRICS_SERIES };
	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct event_metrics_segments *segments = event_metrics_segments_new(limits[i]);
		struct event_metrics_segment *found;
		uint64_t sum = 0;
		for (unsigned round = 0; round < 2; round++)
			for (unsigned number = 0; number < COME; number++) {
				char name[16];
				snprintf(name, sizeof name, "n%u", number);
				count_one(segments, str_from(name), STR("m"));
			}
		count_one(segments, STR("other"), STR("other")); /* whoever is called that */
		size_t count = event_metrics_segments_read(segments, &found);
		assert_int_equal(count,
				 limits[i] < EVENT_METRICS_SERIES ? 1 : limits[i] / EVENT_METRICS_SERIES);
		assert_string_equal(found[0].application, "other");
		assert_string_equal(found[0].model, "other");
		assert_int_equal(found[0].levels[LEVEL_LOW], 2 * (COME - (count - 1)) + 1);
		for (size_t j = 0; j < count; j++)
			sum += found[j].levels[LEVEL_LOW];
		assert_int_equal(sum, 2 * COME + 1);
		free(found);
		event_metrics_segments_free(segments);
	}
}

static void no_table_has_none(void **state)
{
	struct event_metrics_segment *found;
	(void)state;
	assert_int_equal(event_metrics_segments_read(NULL, &found), 0);
	free(found);
	event_metrics_segments_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_of_an_event_counts_for_its_application_and_model),
		cmocka_unit_test(names_are_fit_for_labels),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(what_comes_when_it_is_full_is_other),
		cmocka_unit_test(no_table_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
