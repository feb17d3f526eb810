#include "http/exposition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void samples_are_written_as_the_type_of_their_family_wants(void **state)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct exposition out = { .text = &text };
	(void)state;
	exposition_begin(&out, METRIC_BUILD);
	exposition_count(&out, 1, LABELS({ "version", "1.0" }));
	exposition_one_value(&out, METRIC_MAP_FILL, 0.1);
	exposition_begin(&out, METRIC_PUBLISHED_BYTES);
	exposition_count(&out, UINT64_MAX, LABELS({ "topic", "scored" }, { "other", "x" }));
	exposition_one_count(&out, METRIC_RECEIVED, 0);
	exposition_end(&out);
	assert_string_equal(
		text.data,
		"# TYPE assayd_build info\n"
		"# HELP assayd_build Version of the program.\n"
		"assayd_build_info{version=\"1.0\"} 1\n"
		"# TYPE assayd_completion_map_fill_ratio gauge\n"
		"# UNIT assayd_completion_map_fill_ratio ratio\n"
		"# HELP assayd_completion_map_fill_ratio Size of the largest completion map as a share "
		"of its limit; a partition pauses above 0.75.\n"
		"assayd_completion_map_fill_ratio 0.1\n"
		"# TYPE assayd_published_bytes counter\n"
		"# UNIT assayd_published_bytes bytes\n"
		"# HELP assayd_published_bytes Uncompressed size of the values of published "
		"messages, by kind of topic.\n"
		"assayd_published_bytes_total{topic=\"scored\",other=\"x\"} 18446744073709551615\n"
		"# TYPE assayd_events_received counter\n"
		"# HELP assayd_events_received Events read from the input topic; events "
		"that are read again after a rebalance or a restart count again.\n"
		"assayd_events_received_total 0\n"
		"# EOF\n");
}

/* Prometheus' text format: names as samples have them, and none of what it does not know. */
static void the_text_format_has_its_own_headings(void **state)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct exposition out = { .text = &text, .format = EXPOSITION_TEXT };
	(void)state;
	exposition_begin(&out, METRIC_BUILD);
	exposition_count(&out, 1, LABELS({ "version", "1.0" }));
	exposition_begin(&out, METRIC_PUBLISHED_BYTES);
	exposition_count(&out, 7, LABELS({ "topic", "scored" }));
	exposition_one_count(&out, METRIC_READY, 1);
	exposition_end(&out);
	assert_string_equal(
		text.data, "# HELP assayd_build_info Version of the program.\n"
			   "# TYPE assayd_build_info gauge\n"
			   "assayd_build_info{version=\"1.0\"} 1\n"
			   "# HELP assayd_published_bytes_total Uncompressed size of the values of published "
			   "messages, by kind of topic.\n"
			   "# TYPE assayd_published_bytes_total counter\n"
			   "assayd_published_bytes_total{topic=\"scored\"} 7\n"
			   "# HELP assayd_ready 1 while this instance can score events of all its "
			   "partitions, as /readyz reports.\n"
			   "# TYPE assayd_ready gauge\n"
			   "assayd_ready 1\n");
}

/* What stands behind the last space of the last line. */
static const char *last_value(const struct buf *text)
{
	static char value[64];
	const char *space = strrchr(text->data, ' ');
	snprintf(value, sizeof value, "%s", space + 1);
	value[strcspn(value, "\n")] = '\0';
	return value;
}

static void numbers_are_told_from_all_others(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 0.1, "0.1" },
		{ 1.0 / 3, "0.33333333333333331" },
		{ 1795346172.3610845, "1795346172.3610845" },
		{ 1e300, "1e+300" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct exposition out = { .text = &text };
		exposition_one_value(&out, METRIC_OLDEST_AGE, cases[i].value);
		assert_string_equal(last_value(&text), cases[i].text);
	}
}

static void values_of_labels_are_escaped(void **state)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct exposition out = { .text = &text };
	(void)state;
	exposition_begin(&out, METRIC_TARGET_UP);
	exposition_count(&out, 1, LABELS({ "target", "a\"b\\c\nd} é" }));
	assert_non_null(strstr(text.data, "\nassayd_target_up{target=\"a\\\"b\\\\c\\nd} é\"} 1\n"));
}

static void buckets_of_a_histogram_add_up(void **state)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct exposition out = { .text = &text };
	struct histogram histogram = { 0 };
	(void)state;
	histogram_observe(&histogram, 10);
	histogram_observe(&histogram, 11);
	histogram_observe(&histogram, 1000000);
	histogram_observe(&histogram, 90000000);
	exposition_begin(&out, METRIC_EVENT_DURATION);
	exposition_histogram(&out, &histogram, LABELS());
	static const char *const lines[] = {
		"\nassayd_event_duration_seconds_bucket{le=\"1e-05\"} 1\n",
		"\nassayd_event_duration_seconds_bucket{le=\"2.5e-05\"} 2\n",
		"\nassayd_event_duration_seconds_bucket{le=\"0.5\"} 2\n",
		"\nassayd_event_duration_seconds_bucket{le=\"1.0\"} 3\n",
		"\nassayd_event_duration_seconds_bucket{le=\"60.0\"} 3\n",
		"\nassayd_event_duration_seconds_bucket{le=\"+Inf\"} 4\n",
		"\nassayd_event_duration_seconds_count 4\n",
		"\nassayd_event_duration_seconds_sum 91.000021\n",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strstr(text.data, lines[i]))
			fail_msg("missing: %s in:\n%s", lines[i], text.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_written_as_the_type_of_their_family_wants),
		cmocka_unit_test(the_text_format_has_its_own_headings),
		cmocka_unit_test(numbers_are_told_from_all_others),
		cmocka_unit_test(values_of_labels_are_escaped),
		cmocka_unit_test(buckets_of_a_histogram_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
