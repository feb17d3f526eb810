#include "outward/webhook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 24 bytes of each digit. */
#define ONE "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx"
#define TWO "whsec_MjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"

static void secrets_are_read(void **state)
{
	(void)state;
	const struct {
		const char *text;
		size_t count; /* 0: refused */
	} cases[] = {
		{ ONE, 1 },
		{ ONE "\n" TWO, 2 },
		{ ONE "\n" TWO "\n" ONE "\n" TWO, 4 },
		{ ONE "\n" TWO "\n" ONE "\n" TWO "\n" ONE, 0 },
		{ "", 0 },
		{ "\n", 0 },
		{ ONE "\n\n" TWO, 0 },
		{ "MTExMTExMTExMTExMTExMTExMTExMTEx", 0 }, /* no prefix */
		{ "whsec_", 0 },
		{ "whsec_MTExMTExMTExMTExMTExMTExMTExMTE=", 0 }, /* 23 bytes */
		{ "whsec_MTExMTExMTExMTExMTExMTExMTExMTE", 0 },
		{ ONE " ", 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct webhook_secrets secrets;
		struct err_detail detail = { "" };
		err_t err = webhook_parse_secrets(str_from(cases[i].text), &secrets, &detail);
		assert_int_equal(err == ERR_OK, cases[i].count > 0);
		if (!err)
			assert_int_equal(secrets.count, cases[i].count);
		assert_null(strstr(detail.message, "MTEx")); /* none is shown */
	}
}

/* By openssl: printf 'a-0-1.1700000000.{}' | openssl dgst -sha256 -hmac 111111111111111111111111 -binary |
 * base64 */
static void requests_are_signed(void **state)
{
	(void)state;
	struct webhook_secrets secrets;
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf signature = BUF_INIT;
	assert_int_equal(webhook_parse_secrets(STR(ONE "\n" TWO), &secrets, &detail), ERR_OK);
	webhook_sign(&secrets, "a-0-1", 1700000000, STR("{}"), &signature);
	assert_string_equal(signature.data, "v1,3DJSeir7bq7279N/KXVryxa9ryduym51MaTaTJ+dti0= "
					    "v1,MBwqA7pCs2ow8mPn4SQDwz0F0sEK+pCoA8nPjUX4APE=");
}

static void bodies_are_json(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf body = BUF_INIT;
	str_t kinds[] = { STR("UNSAFE_QUERY"), STR("LOW_CONFIDENCE") };
	struct advisory advisory = { .advisory_id = STR("a-0-1"),
				     .kinds = kinds,
				     .kinds_count = 2,
				     .event_type = STR("UNSAFE_QUERY"),
				     .raised_at = 1700000000007,
				     .level = ENUM_ABSENT,
				     .action = ENUM_ABSENT,
				     .summary = STR("\"x\""),
				     .application = STR("a") };
	static const char begin[] =
		"{\"type\":\"advisory.unsafe_query\",\"timestamp\":\"2023-11-14T22:13:20.007Z\","
		"\"data\":{\"advisory_id\":\"a-0-1\",";
	webhook_body(&advisory, &body);
	assert_memory_equal(body.data, begin, sizeof begin - 1);
	assert_non_null(strstr(body.data, "\"summary\":\"\\\"x\\\"\""));
	/* a kind that nobody of ours has written cannot leave its string */
	kinds[0] = STR("X\",\"data\":1");
	buf_reset(&body);
	webhook_body(&advisory, &body);
	assert_memory_equal(body.data, "{\"type\":\"advisory.xdata1\",", 26);
}

static void some_are_selected(void **state)
{
	(void)state;
	str_t unsafe[] = { STR("UNSAFE_QUERY"), STR("LOW_CONFIDENCE") },
	      drift[] = { STR("CALIBRATION_DRIFT") };
	const unsigned low = 1U << ADVISORY_LOW_CONFIDENCE, of_drift = 1U << ADVISORY_CALIBRATION_DRIFT;
	const struct advisory event = { .kinds = unsafe, .kinds_count = 2, .level = LEVEL_LOW };
	const struct advisory episode = { .kinds = drift, .kinds_count = 1, .level = ENUM_ABSENT };
	const struct advisory former = { .kind = ADVISORY_LOW_CONFIDENCE, .level = LEVEL_LOW };
	const struct {
		const struct advisory *advisory;
		unsigned kinds, levels;
		bool expected;
	} cases[] = {
		{ &event, 0, 0, true },
		{ &event, low, 0, true }, /* not only by the gravest */
		{ &event, of_drift, 0, false },
		{ &event, 1U << ADVISORY_UNSAFE_QUERY, 1U << LEVEL_LOW, true },
		{ &event, 0, 1U << LEVEL_VERY_LOW, false },
		{ &event, 0, 1U << LEVEL_VERY_LOW | 1U << LEVEL_LOW, true },
		{ &episode, 0, 1U << LEVEL_VERY_LOW, true },
		{ &episode, of_drift, 1U << LEVEL_VERY_LOW, true },
		{ &episode, low, 0, false },
		{ &former, low, 0, true },
		{ &former, of_drift, 0, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(webhook_selects(cases[i].advisory, cases[i].kinds, cases[i].levels),
				 cases[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_read),
		cmocka_unit_test(requests_are_signed),
		cmocka_unit_test(bodies_are_json),
		cmocka_unit_test(some_are_selected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
