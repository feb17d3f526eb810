#include "command/top_frame.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct buf frame_of(const char *text, unsigned columns, unsigned rows, bool colours)
{
	const struct top_size size = { columns, rows, colours };
	struct buf out = BUF_INIT;
	json_t *status = json_loads(text, 0, NULL);
	assert_non_null(status);
	top_frame(status, &size, &out);
	json_decref(status);
	buf_append_text(&out, "");
	return out;
}

#define STATUS                                                                                               \
	"{\"version\":\"1.2\",\"ready\":true,\"stuck\":false,\"now_ms\":3661000,\"since_ms\":1000,"          \
	"\"reason\":null,"                                                                                   \
	"\"totals\":{\"actions\":{\"USE\":4,\"WITHHOLD\":2},\"levels\":{\"HIGH_CONFIDENCE\":6}},"            \
	"\"waiting\":{\"oldest_age_ms\":65000,\"in_flight\":3,\"in_flight_limit\":9,\"behind\":7},"          \
	"\"partitions\":{\"assigned\":2,\"paused\":1,\"stopped\":0,\"worst\":[{\"partition\":1,\"state\":"   \
	"\"waits\",\"oldest_age_ms\":2000,\"map_fill\":0.8,\"behind\":5},{\"partition\":0,\"state\":"        \
	"\"read\"}]},"                                                                                       \
	"\"attention\":[{\"code\":\"target_away\",\"text\":\"a target does not "                             \
	"answer\",\"name\":\"sh\\u001bop\"},"                                                                \
	"{\"code\":\"drift_open\",\"text\":\"calibration drift was found\",\"name\":null}],"                 \
	"\"calibration\":{\"drift_episodes\":[{\"opened_at_ms\":1000,\"summary\":\"less right\"}]},"         \
	"\"minutes\":[{\"actions\":{\"USE\":1}},{\"actions\":{\"USE\":8}},{\"actions\":{}}],"                \
	"\"hours\":[{\"dead_letters\":5,\"advisories\":6}],"                                                 \
	"\"targets\":[{\"name\":\"sh\\u001bop\",\"up\":false,\"waiting\":1,\"workers\":2,\"killed\":0}],"    \
	"\"judges\":[{\"name\":null,\"requests\":9}],\"latencies\":[{\"stage\":\"sql\",\"count\":5,\"p50_"   \
	"ms\":0.25}],"                                                                                       \
	"\"changes\":[{\"at_ms\":1000,\"text\":\"ready\"}],"                                                 \
	"\"advisories\":[{\"raised_at_ms\":2000,\"kinds\":\"UNSAFE_QUERY\",\"application\":\"web\","         \
	"\"summary\":\"why\"}]}"

static void a_frame_has_what_the_page_has(void **state)
{
	_cleanup_(buf_free) struct buf out = frame_of(STATUS, 200, 0, false);
	static const char *const parts[] = {
		"assayd 1.2  ready since 01 Jan 00:00:01 UTC (1 h 1 min), now 01:01:01\n",
		"! a target does not answer: sh\\u001bop\n! calibration drift was found\n",
		"partition 1  waits, oldest waits 2 s, map 80 %, behind 5\n",
		"drift since 01 Jan 00:00  less right\n",
		"scored 8 in the last full minute, oldest waits 1 min, in flight 3 of 9, behind 7\n",
		"partitions 2 assigned, 1 paused, 0 stopped; this hour 5 dead letters, 6 advisories\n",
		"actions   USE 4 WITHHOLD 2\n",
		"|▁█ | at most 8\n",
		"target sh\\u001bop  AWAY, 1 wait, 2 processes, 0 killed\n",
		"sql                         5       0.25",
		"01 Jan 00:00:01  ready\n",
		"00:00:02  UNSAFE_QUERY  web  why\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strstr(out.data, parts[i]))
			fail_msg("%s is not in\n%s", parts[i], out.data);
	assert_null(strchr(out.data, '\x1b'));
}

static void a_frame_fits_the_terminal(void **state)
{
	_cleanup_(buf_free) struct buf out = frame_of(STATUS, 20, 5, true);
	unsigned lines = 0, columns = 0;
	bool escape = false;
	(void)state;
	for (size_t i = 0; i < out.len; i++) {
		if (out.data[i] == '\x1b')
			escape = true;
		if (!escape && out.data[i] != '\n' && (out.data[i] & 0xc0) != 0x80)
			columns++;
		if (escape && out.data[i] == 'm')
			escape = false;
		if (out.data[i] == '\n') {
			assert_true(columns <= 20);
			columns = 0;
			lines++;
		}
	}
	assert_int_equal(lines, 5);
	assert_non_null(strstr(out.data, "\x1b[32m"));
}

/* Whatever answers there: what is missing or of another type is left out. */
static void strange_documents_are_shown_as_far_as_they_go(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"ready\":1,\"totals\":[],\"changes\":{},\"reason\":\"waiting for Kafka\\n\"}",
		"{\"totals\":{\"actions\":{\"USE\":\"x\"},\"levels\":7},\"minutes\":[1,null,[]],\"hours\":{},"
		"\"targets\":[null,7,{}],\"judges\":[[]],\"latencies\":[\"x\"],\"advisories\":[null]}",
		"{\"now_ms\":9223372036854775807,\"since_ms\":-9223372036854775807,\"totals\":{}}",
		"{\"totals\":{},\"minutes\":[{\"actions\":{\"A\":9223372036854775807,\"B\":999999999999999,"
		"\"C\":"
		"999999999999999,\"D\":-9223372036854775807}}],\"judges\":[{\"prompt_tokens\":"
		"9223372036854775807,"
		"\"completion_tokens\":9223372036854775807}]}",
	};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		_cleanup_(buf_free) struct buf out = frame_of(texts[i], 80, 0, false);
		assert_non_null(strstr(out.data, "NOT READY"));
	}
	_cleanup_(buf_free) struct buf out = frame_of(texts[1], 80, 0, false);
	assert_non_null(strstr(out.data, "\n  waiting for Kafka\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_what_the_page_has),
		cmocka_unit_test(a_frame_fits_the_terminal),
		cmocka_unit_test(strange_documents_are_shown_as_far_as_they_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
