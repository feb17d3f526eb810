#include "http/attention.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* One that is well. */
static struct status *status_new(void)
{
	struct status *status = calloc(1, sizeof *status);
	assert_non_null(status);
	status->calibrates = status->archives = status->keeps = true;
	status->calibrator.database_up = status->archive.up = status->keeper.database_up = true;
	status->targets_count = 2;
	status->targets[0] = (struct target_statistics){ .name = "shop", .up = true };
	status->targets[1] = (struct target_statistics){ .name = "stock", .up = true };
	status->judges_count = 2;
	status->judges[1].name = "second";
	status->judges[1].stats.day_tokens_limit = 100;
	status->judges[1].stats.day_tokens = 99;
	status->now_ms = INT64_C(1700000000000);
	status->certificate_ends_ms = status->now_ms + INT64_C(15) * 86400000;
	return status;
}

static void nothing_is_said_of_what_is_well(void **state)
{
	struct attention items[ATTENTION_MAX];
	struct status *status = status_new();
	(void)state;
	assert_int_equal(attention_of(status, items), 0);
	/* nor of what was not tried yet, or is not there */
	status->calibrator.database_up = false;
	assert_int_equal(attention_of(status, items), 0);
	status->archives = status->keeps = status->archive.up = status->keeper.database_up = false;
	assert_int_equal(attention_of(status, items), 0);
	free(status);
}

static void each_fault_is_named(void **state)
{
	static const struct {
		const char *code, *name;
	} expected[] = {
		{ "partitions_stopped", NULL },	    { "reload_refused", NULL },
		{ "target_away", "stock" },	    { "kafka_token_failing", NULL },
		{ "kafka_certificate_ends", NULL }, { "kafka_restart_needed", NULL },
		{ "registry_away", NULL },	    { "judge_left_alone", "judge" },
		{ "judge_budget_spent", "second" }, { "calibration_database_away", NULL },
		{ "archive_database_away", NULL },  { "audit_log_database_away", NULL },
		{ "audit_log_stopped", NULL },	    { "receiver_away", "webhook" },
		{ "receiver_gone", "other" },	    { "drift_open", NULL },
	};
	struct attention items[ATTENTION_MAX];
	struct status *status = status_new();
	(void)state;
	status->lag.stands_still = true;
	status->last_reload_refused = true;
	status->targets[1].up = false;
	status->tokens.failing = status->kafka_restart_needed = true;
	status->certificate_ends_ms = status->now_ms + INT64_C(13) * 86400000;
	status->registry.down = true;
	status->judges[0].stats.breaker_open = 1;
	status->judges[1].stats.day_tokens = 100;
	status->calibrator.database_up = false;
	status->calibrator.failures = 1;
	status->calibrator.drift_open_count = 1;
	status->archive.up = status->keeper.database_up = false;
	status->keeper.stopped = 1;
	status->receivers_count = 2;
	status->receivers[0] = (struct status_receiver){ "webhook", { .away = true } };
	status->receivers[1] = (struct status_receiver){ "other", { .away = true, .gone = true } };
	size_t count = attention_of(status, items);
	assert_int_equal(count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(items[i].code, expected[i].code);
		if (expected[i].name)
			assert_string_equal(items[i].name, expected[i].name);
		else
			assert_null(items[i].name);
	}
	free(status);
}

static void there_is_room_for_some(void **state)
{
	struct attention items[ATTENTION_MAX];
	struct status *status = status_new();
	(void)state;
	status->targets_count = STATUS_TARGETS + 7;
	for (size_t i = 0; i < STATUS_TARGETS; i++)
		status->targets[i].up = false;
	assert_int_equal(attention_of(status, items), ATTENTION_MAX);
	free(status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_of_what_is_well),
		cmocka_unit_test(each_fault_is_named),
		cmocka_unit_test(there_is_room_for_some),
	};
	return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
