#include "command/redrive_plan.h"

#include "kafka/header.h"
#include "kafka/receipts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* A letter of a table; its number stands for its event_id, too. */
struct put {
	int32_t partition;
	int64_t offset, written_ms;
	const char *reason;
	const char *topic;
	const char *redriven; /* or NULL */
	bool cut;
	const char *receipt; /* it is no letter, but a receipt with this value */
};

static rd_kafka_headers_t *headers_of(const struct put *put)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
	if (put->receipt) {
		rd_kafka_header_add(headers, header_name(HEADER_REDRIVE_RECEIPT), -1, RECEIPTS_VERSION, -1);
		return headers;
	}
	if (put->redriven)
		rd_kafka_header_add(headers, "redriven", -1, put->redriven, -1);
	if (put->cut)
		rd_kafka_header_add(headers, "length", -1, "1000000", -1);
	if (put->reason)
		rd_kafka_header_add(headers, "reason", -1, put->reason, -1);
	rd_kafka_header_add(headers, "detail", -1, "why\033", -1);
	rd_kafka_header_add(headers, "topic", -1, put->topic ? put->topic : "in", -1);
	rd_kafka_header_add(headers, "partition", -1, "0", -1);
	rd_kafka_header_add(headers, "offset", -1, "7", -1);
	return headers;
}

static struct redrive_message message_of(const struct put *put, char key[32], rd_kafka_headers_t *headers)
{
	snprintf(key, 32, "key-%d-%lld", (int)put->partition, (long long)put->offset);
	return (struct redrive_message){ .partition = put->partition,
					 .offset = put->offset,
					 .written_ms = put->written_ms,
					 .key = str_from(put->receipt ? NULL : key),
					 .value = str_from(put->receipt ? put->receipt : "value"),
					 .headers = headers };
}

static err_t add(struct redrive_plan *plan, const struct put *put)
{
	char key[32];
	rd_kafka_headers_t *headers = headers_of(put);
	const struct redrive_message message = message_of(put, key, headers);
	err_t err = redrive_plan_add(plan, &message, NULL);
	rd_kafka_headers_destroy(headers);
	return err;
}

static enum redrive_fate fate_of(const struct redrive_plan *plan, const struct put *put)
{
	char key[32];
	rd_kafka_headers_t *headers = headers_of(put);
	const struct redrive_message message = message_of(put, key, headers);
	enum redrive_fate fate = redrive_plan_fate(plan, &message);
	rd_kafka_headers_destroy(headers);
	return fate;
}

static const struct put topic[] = {
	{ 0, 0, 1000, "unknown_schema", .redriven = NULL },
	{ 0, 2, 1500, "json_syntax", .redriven = NULL },
	{ 1, 0, 1200, "unknown_schema", .redriven = "3" },
	{ 0, 3, 2000, "event_too_large", .cut = true },
	{ 1, 1, 2500, "unknown_schema", .redriven = "2" },
	{ 1, 2, 2600, NULL, .redriven = NULL },
	{ 1, 3, 2700, .receipt = "1" },
	{ 0, 5, 3000, "unknown_schema", .topic = "other" },
	{ 0, 6, 3500, "json_syntax", .redriven = NULL },
	{ 0, 8, 4000, "unknown_schema", .redriven = NULL },
	{ 0, 9, 4100, .receipt = "2 6" },
};
enum { MESSAGES = sizeof topic / sizeof *topic };

static struct redrive_plan *plan_of(const struct redrive_choice *choice)
{
	struct redrive_plan *plan = redrive_plan_new(choice, 2);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(add(plan, &topic[i]), ERR_OK);
	redrive_plan_settle(plan);
	return plan;
}

static const char *const schema[] = { "unknown_schema" }, *const two[] = { "json_syntax", "event_too_large" },
			 *const ids[] = { "key-0-8", "key-1-1", "nobody" };

static void fates(void **state)
{
	(void)state;
	static const char letters[] = {
		[REDRIVE_CHOSEN] = 'c',	   [REDRIVE_DONE] = 'd',  [REDRIVE_PASSED] = '-',
		[REDRIVE_BEYOND] = 'b',	   [REDRIVE_CUT] = 'x',	  [REDRIVE_TOO_OFTEN] = 'o',
		[REDRIVE_ELSEWHERE] = 'e', [REDRIVE_FATES_] = '.'
	};
	static const struct {
		const char *name;
		struct redrive_choice choice;
		const char *expected; /* of each message of the topic */
	} cases[] = {
		{ "all", { .max_redrives = 3 }, "cdoxd..edc." },
		{ "more often", { .max_redrives = 4 }, "cdcxd..edc." },
		{ "less often", { .max_redrives = 1 }, "cdoxd..edc." },
		{ "one reason", { .reasons = schema, .reasons_count = 1, .max_redrives = 3 }, "cdo-d..edc." },
		{ "two reasons", { .reasons = two, .reasons_count = 2, .max_redrives = 3 }, "-d-xd..ed-." },
		{ "some ids", { .event_ids = ids, .event_ids_count = 3, .max_redrives = 3 }, "-d--d..edc." },
		{ "since", { .since_ms = 1200, .max_redrives = 3 }, "-doxd..edc." },
		{ "until", { .until_ms = 4000, .max_redrives = 3 }, "cdoxd..ed-." },
		{ "the oldest", { .limit = 1, .max_redrives = 4 }, "cdbxd..edb." },
		{ "the two oldest", { .limit = 2, .max_redrives = 4 }, "cdcxd..edb." },
		{ "a limit above all", { .limit = 3, .max_redrives = 4 }, "cdcxd..edc." },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct redrive_choice choice = cases[i].choice;
		char found[MESSAGES + 1] = "";
		choice.input_topic = "in";
		_cleanup_(redrive_plan_cleanup) struct redrive_plan *plan = plan_of(&choice);
		for (size_t j = 0; j < MESSAGES; j++)
			found[j] = letters[fate_of(plan, &topic[j])];
		if (strcmp(found, cases[i].expected) != 0)
			fail_msg("%s: %s", cases[i].name, found);
	}
}

static void reasons(void **state)
{
	(void)state;
	const struct redrive_choice choice = { .input_topic = "in", .max_redrives = 3 };
	_cleanup_(redrive_plan_cleanup) struct redrive_plan *plan = plan_of(&choice);
	size_t count;
	const struct redrive_reason *found = redrive_plan_reasons(plan, &count);
	assert_int_equal(count, 3);
	assert_string_equal(found[0].name, "event_too_large");
	assert_string_equal(found[1].name, "json_syntax");
	assert_string_equal(found[2].name, "unknown_schema");
	assert_int_equal(found[0].counts[REDRIVE_CUT], 1);
	assert_int_equal(found[1].counts[REDRIVE_DONE], 2);
	assert_int_equal(found[1].oldest_ms, 0);
	assert_int_equal(found[1].example.partition, -1);
	assert_int_equal(found[2].counts[REDRIVE_CHOSEN], 2);
	assert_int_equal(found[2].oldest_ms, 1000);
	assert_int_equal(found[2].newest_ms, 4000);
	assert_int_equal(found[2].example.offset, 8);
	assert_string_equal(found[2].example.key, "key-0-8");
	assert_string_equal(found[2].example.detail, "why\033");
	assert_int_equal(redrive_plan_count(plan, REDRIVE_CHOSEN), 2);
	assert_int_equal(redrive_plan_count(plan, REDRIVE_DONE), 3);
	assert_int_equal(redrive_plan_foreign(plan), 1);
	int64_t from, until;
	assert_true(redrive_plan_span(plan, 0, &from, &until));
	assert_true(from == 0 && until == 9);
	assert_false(redrive_plan_span(plan, 1, &from, &until));
}

/* What the topic has there by now is not what was planned. */
static void another_letter_at_its_place(void **state)
{
	(void)state;
	const struct redrive_choice choice = { .input_topic = "in", .max_redrives = 3 };
	_cleanup_(redrive_plan_cleanup) struct redrive_plan *plan = plan_of(&choice);
	struct put put = topic[0];
	assert_int_equal(fate_of(plan, &put), REDRIVE_CHOSEN);
	put.reason = "json_syntax";
	assert_int_equal(fate_of(plan, &put), REDRIVE_FATES_);
	put = topic[0];
	put.written_ms++;
	assert_int_equal(fate_of(plan, &put), REDRIVE_FATES_);
	put = topic[0];
	put.offset = 1;
	assert_int_equal(fate_of(plan, &put), REDRIVE_FATES_);
}

/* Nothing that an event brings makes a receipt; a receipt that cannot be read ends it all. */
static void receipts_are_told_apart(void **state)
{
	(void)state;
	const struct redrive_choice choice = { .input_topic = "in", .max_redrives = 3 };
	_cleanup_(redrive_plan_cleanup) struct redrive_plan *plan = plan_of(&choice);
	struct put put = topic[0];
	char key[32];
	put.offset = 20;
	rd_kafka_headers_t *headers = headers_of(&put);
	rd_kafka_header_add(headers, header_name(HEADER_REDRIVE_RECEIPT), -1, RECEIPTS_VERSION, -1);
	struct redrive_message message = message_of(&put, key, headers);
	message.value = STR("0 8");
	assert_int_equal(redrive_plan_add(plan, &message, NULL), ERR_OK);
	rd_kafka_headers_destroy(headers);
	redrive_plan_settle(plan);
	assert_int_equal(fate_of(plan, &topic[0]), REDRIVE_CHOSEN);
	const struct put damaged = { 0, 30, 5000, .receipt = "30" };
	assert_int_equal(add(plan, &damaged), ERR_OFFSETS_METADATA);
	const struct put nowhere = { 2, 0, 5000, "json_syntax", .redriven = NULL };
	assert_int_equal(add(plan, &nowhere), ERR_OK);
	assert_int_equal(fate_of(plan, &nowhere), REDRIVE_FATES_);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fates),
		cmocka_unit_test(reasons),
		cmocka_unit_test(another_letter_at_its_place),
		cmocka_unit_test(receipts_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
