/* What becomes of a record whose schema is awaited, and of its partition. */
#include "calibration/count/ingest.h"

#include "avro/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char topic_name[] = "scored";

/* A batch of partitions 0 and 1, read up to offset 10 each, and who fills it. */
struct fixture {
	struct codec *codec;
	struct batch batch;
	struct ingest ingest;
	rd_kafka_t *client;
	rd_kafka_topic_t *topic;
	struct buf framed, plain; /* a record: by schema 5 of a registry, and in single-object encoding */
	err_t answer;		  /* of the registry; ERR_OK: it gives the schema */
};

static struct fixture fixture;

static err_t ask_registry(const struct schema_name *name, void *context, struct err_detail *detail)
{
	(void)context;
	if (fixture.answer)
		return err_fail(detail, fixture.answer, "as the test says");
	return codec_learn_named(fixture.codec, name, builtin_schema(RECORD_SCORED), detail);
}

static int set_up(void **state)
{
	const struct codec_options options = { .max_named = 4 };
	const struct batch_partition assigned[] = { { topic_name, .partition = 0 },
						    { topic_name, .partition = 1 } };
	const struct scored_query record = {
		.event_id = STR("e"),
		.application = STR("app"),
		.scored_at = 1767225600000,
		.confidence = { .overall = { true, 0.5 }, .level = LEVEL_MEDIUM },
		.safety = { .verdict = VERDICT_SAFE },
		.judge = { .decision = DECISION_UNJUDGED, .sampling_probability = 1 },
		.label = &(struct record_label){ 1, true, LABEL_RESULT, 1 },
		.provenance = { .topic = STR("t"), .program_version = STR("0"), .config_digest = STR("0") },
	};
	char reason[256];
	(void)state;
	fixture = (struct fixture){ .framed = BUF_INIT, .plain = BUF_INIT };
	assert_int_equal(codec_new(&options, &fixture.codec, NULL), ERR_OK);
	codec_set_resolver(fixture.codec, ask_registry, NULL, NULL);
	assert_int_equal(codec_encode_scored(fixture.codec, &record, &fixture.plain), ERR_OK);
	framing_write_confluent(5, &fixture.framed);
	buf_append(&fixture.framed, fixture.plain.data + 10, fixture.plain.len - 10);
	fixture.client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof reason);
	assert_non_null(fixture.client);
	fixture.topic = rd_kafka_topic_new(fixture.client, topic_name, NULL);
	fixture.ingest = (struct ingest){ .codec = fixture.codec,
					  .scored_topic = topic_name,
					  .batch = &fixture.batch };
	batch_assign(&fixture.batch, assigned, 2);
	batch_restart(&fixture.batch, (const int64_t[]){ 10, 10 });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	batch_free(&fixture.batch);
	rd_kafka_topic_destroy(fixture.topic);
	rd_kafka_destroy(fixture.client);
	codec_free(fixture.codec);
	buf_free(&fixture.framed);
	buf_free(&fixture.plain);
	return 0;
}

static enum ingest_answer take(const struct buf *value, int32_t partition, int64_t offset)
{
	struct err_detail detail = { "" };
	const rd_kafka_message_t message = { .rkt = fixture.topic,
					     .partition = partition,
					     .payload = value->data,
					     .len = value->len,
					     .offset = offset };
	return ingest_take(&fixture.ingest, &message, 0, &detail);
}

static int64_t reached(int32_t partition)
{
	return batch_find(&fixture.batch, topic_name, partition)->reached;
}

static void test_what_is_awaited_moves_nothing(void **state)
{
	static const err_t answers[] = { ERR_SCHEMA_UNAVAILABLE, ERR_SCHEMA_AWAITED, ERR_SHUTTING_DOWN };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		fixture.answer = answers[i];
		assert_int_equal(take(&fixture.framed, 0, 12), INGEST_AWAITED);
	}
	assert_int_equal(reached(0), 10);
	assert_int_equal(fixture.batch.records + fixture.batch.cases_count, 0);
	assert_int_equal(fixture.ingest.records + fixture.ingest.skipped, 0);
	assert_false(batch_moved(&fixture.batch));

	assert_int_equal(take(&fixture.plain, 1, 10), INGEST_TAKEN);
	assert_int_equal(reached(1), 11);
	fixture.answer = ERR_OK;
	assert_int_equal(take(&fixture.framed, 0, 12), INGEST_TAKEN);
	assert_int_equal(reached(0), 13);
	assert_int_equal(fixture.batch.cases_count, 2);
	assert_int_equal(take(&fixture.framed, 0, 12), INGEST_PASSED);
	assert_int_equal(take(&fixture.framed, 2, 12), INGEST_PASSED);
	assert_int_equal(fixture.batch.cases_count, 2);
	assert_int_equal(fixture.ingest.skipped, 0);
}

static void test_what_nobody_has_is_skipped(void **state)
{
	(void)state;
	fixture.answer = ERR_SCHEMA_UNKNOWN;
	assert_int_equal(take(&fixture.framed, 0, 10), INGEST_TAKEN);
	assert_int_equal(reached(0), 11);
	assert_int_equal(fixture.batch.cases_count, 0);
	assert_int_equal(fixture.ingest.skipped, 1);
}

/* The end of the partition was heard of before; what is behind the message is not passed by. */
static void test_a_partition_that_holds_is_not_passed(void **state)
{
	static rd_kafka_message_t message;
	struct batch_partition *partition = batch_find(&fixture.batch, topic_name, 0);
	(void)state;
	for (int i = 0; i < 2; i++)
		fixture.batch.partitions[i].end_us = 100;
	assert_true(batch_caught_up(&fixture.batch, 50));
	partition->held = &message;
	partition->held_written_ms = 7;
	assert_false(batch_caught_up(&fixture.batch, 50));
	batch_pass(partition, 20);
	assert_int_equal(reached(0), 10);
	assert_int_equal(batch_held_count(&fixture.batch), 1);
	assert_int_equal(batch_held_written_ms(&fixture.batch), 7);
	assert_ptr_equal(batch_take_held(partition), &message);
	assert_int_equal(batch_held_count(&fixture.batch), 0);
	assert_int_equal(batch_held_written_ms(&fixture.batch), 0);
	batch_pass(partition, 20);
	assert_int_equal(reached(0), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_awaited_moves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_nobody_has_is_skipped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_partition_that_holds_is_not_passed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
