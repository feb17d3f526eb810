/* What a record of the scored topic says does not depend on its format, and a record that says anything in
 * the wrong way is not counted, wherever that stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calibration/store/cases.h"

#include <jansson.h>

#define SEED ASSAYD_SOURCE_DIR "/tests/fuzz/seeds/fuzz_avro_json/scored"

static struct codec *new_codec(enum wire_format format)
{
	struct codec *codec;
	assert_int_equal(codec_new(&(const struct codec_options){ .output = format }, &codec, NULL), ERR_OK);
	return codec;
}

/* A record in which everything is set; the seed begins with a byte that chooses what it is read as. */
static json_t *full_record(void)
{
	FILE *file = fopen(SEED, "re");
	assert_non_null(file);
	assert_int_not_equal(getc(file), EOF);
	json_t *record = json_loadf(file, JSON_ALLOW_NUL, NULL);
	fclose(file);
	assert_non_null(record);
	return record;
}

static err_t read_json(const struct codec *codec, const json_t *record, struct arena *arena,
		       struct calibration_case *ret_case)
{
	struct err_detail detail = { "" };
	bool read = false;
	char *text = json_dumps(record, JSON_COMPACT);
	assert_non_null(text);
	err_t err = calibration_case_read(codec, text, strlen(text), arena, ret_case, &read, &detail);
	assert_true(err ? detail.message[0] : read);
	if (!err) {
		assert_false(str_present(ret_case->features)); /* before they are asked for */
		calibration_case_complete(ret_case, arena);
	}
	free(text);
	return err;
}

static void test_formats_agree(void **state)
{
	(void)state;
	static const enum wire_format FORMATS[] = { WIRE_SINGLE_OBJECT, WIRE_JSON };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	json_t *record = full_record();
	char *text = json_dumps(record, JSON_COMPACT);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(codec_cleanup) struct codec *codec = new_codec(FORMATS[i]);
		_cleanup_(buf_free) struct buf bytes = BUF_INIT;
		struct scored_query *scored;
		struct calibration_case item;
		bool read = false;
		assert_int_equal(codec_decode_scored(codec, text, strlen(text), arena, &scored, NULL),
				 ERR_OK);
		assert_int_equal(codec_encode_scored(codec, scored, &bytes), ERR_OK);
		assert_int_equal(
			calibration_case_read(codec, bytes.data, bytes.len, arena, &item, &read, NULL),
			ERR_OK);
		assert_true(read && item.correct);
		assert_int_equal(item.scored_at_ms, 2);
		assert_true(str_is(item.application, "app"));
		assert_false(str_present(item.model) || str_present(item.prompt_version));
		assert_int_equal(item.label_source, LABEL_CORRECTNESS);
		assert_int_equal(item.level, LEVEL_LOW);
		assert_true(item.confidence == 0.5 && item.weight == 4);
		assert_false(item.probability.set);
		/* the first half of SHA-256 of "e" */
		assert_string_equal(item.event.text, "3f79bb7b435b05321651daefd374cdc6");
	}
	free(text);
	json_decref(record);
}

/* One that is out of range is no reason not to count the case. */
static void test_probability_as_published(void **state)
{
	(void)state;
	static const struct {
		double value;
		bool taken;
	} VALUES[] = { { 0.625, true }, { 0, true }, { 1, true }, { 1.0000001, false }, { -1, false } };
	_cleanup_(codec_cleanup) struct codec *codec = new_codec(WIRE_JSON);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	json_t *record = full_record();
	for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
		struct calibration_case item;
		json_object_set_new(json_object_get(record, "confidence"), "probability",
				    json_pack("{s:f, s:f, s:f, s:i, s:i, s:i, s:[]}", "value",
					      VALUES[i].value, "low", 0.1, "high", 0.9, "labels", 80,
					      "segment_labels", 5, "model", 3, "reasons"));
		assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
		assert_int_equal(item.probability.set, VALUES[i].taken);
		assert_true(!VALUES[i].taken || item.probability.value == VALUES[i].value);
		assert_true(item.confidence == 0.5);
	}
	json_decref(record);
}

/* A question has one number, however it is written; a record without features or without a question has none.
 */
static void test_questions_have_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *question;
		bool same;
	} QUESTIONS[] = { { "How many  cities are there?", true },
			  { " how MANY\tcities are\nthere? ", true },
			  { "How many cities are there", false },
			  { "How manycities are there?", false } };
	_cleanup_(codec_cleanup) struct codec *codec = new_codec(WIRE_JSON);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	json_t *record = full_record(), *input = json_object_get(record, "input");
	struct calibration_case first, item;
	json_object_set_new(json_object_get(record, "confidence"), "features",
			    json_pack("{s:f}", "anchors", 1.5));
	assert_true(json_is_object(input));
	for (size_t i = 0; i < sizeof QUESTIONS / sizeof *QUESTIONS; i++) {
		json_object_set_new(input, "question", json_string(QUESTIONS[i].question));
		assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
		first = i == 0 ? item : first;
		const char *number = strstr(item.features.ptr, "\"" CALIBRATION_QUESTION "\":");
		assert_non_null(number);
		double value = strtod(number + strlen("\"" CALIBRATION_QUESTION "\":"), NULL);
		assert_true(value > 1e9 && value <= CALIBRATION_QUESTION_MAX);
		assert_int_equal(str_equal(item.features, first.features), QUESTIONS[i].same);
	}
	json_object_set_new(input, "question", json_string(" \n"));
	assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
	assert_null(strstr(item.features.ptr, "\"" CALIBRATION_QUESTION "\":"));
	json_object_set_new(json_object_get(record, "confidence"), "features", json_object());
	assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
	assert_false(str_present(item.features));
	json_decref(record);
}

/* As they stand in tables: names of a program, numbers with all of their digits and no more. */
static void test_features_written(void **state)
{
	(void)state;
	static const struct {
		const char *features, *written;
	} FEATURES[] = {
		{ "{\"anchors\":1.5}", "{\"anchors\":1.5}" },
		{ "{\"a\":1,\"b_2\":-0.25,\"c\":1e6,\"d\":0.1}",
		  "{\"a\":1,\"b_2\":-0.25,\"c\":1000000,\"d\":0.1}" },
		{ "{\"a\":1.4e-9,\"b\":0}", "{\"a\":1.4e-09,\"b\":0}" },
		{ "{\"A\":1,\"a b\":1,\"\":1,\"a\\\"\":1,\"b\":1000001,\"c\":3}", "{\"c\":3}" },
		{ "{\"A\":1}", "{}" },
	};
	_cleanup_(codec_cleanup) struct codec *codec = new_codec(WIRE_JSON);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	json_t *record = full_record();
	struct calibration_case item;
	json_object_set_new(json_object_get(record, "input"), "question", json_string(""));
	for (size_t i = 0; i < sizeof FEATURES / sizeof *FEATURES; i++) {
		json_object_set_new(json_object_get(record, "confidence"), "features",
				    json_loads(FEATURES[i].features, 0, NULL));
		assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
		assert_string_equal(item.features.ptr, FEATURES[i].written);
		assert_int_equal(item.features.len, strlen(FEATURES[i].written));
	}
	json_decref(record);
}

/* A value that no field of the other's type can hold. */
static json_t *wrong_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
	case JSON_INTEGER:
	case JSON_REAL:
		return json_true();
	case JSON_OBJECT:
		return json_array();
	default:
		return json_object();
	}
}

static size_t spoil_all(const struct codec *codec, const json_t *record, json_t *value);

/* Puts something wrong in the value's place for a moment. */
static size_t spoil(const struct codec *codec, const json_t *record, json_t *holder, const char *key,
		    size_t index, json_t *value)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case item;
	bool member = json_is_object(holder);
	json_incref(value);
	if (member)
		json_object_set_new(holder, key, wrong_value(value));
	else
		json_array_set_new(holder, index, wrong_value(value));
	if (read_json(codec, record, arena, &item) != ERR_JSON_SHAPE)
		fail_msg("%s is wrong and was read", member ? key : "an item");
	if (member)
		json_object_set_new(holder, key, value);
	else
		json_array_set_new(holder, index, value);
	return 1 + spoil_all(codec, record, value);
}

static size_t spoil_all(const struct codec *codec, const json_t *record, json_t *value)
{
	const char *key;
	json_t *child;
	void *next;
	size_t index, count = 0;
	json_object_foreach_safe(value, next, key, child)
	{
		count += spoil(codec, record, value, key, 0, child);
	}
	json_array_foreach(value, index, child)
	{
		count += spoil(codec, record, value, NULL, index, child);
	}
	return count;
}

static void test_wrong_anywhere(void **state)
{
	(void)state;
	_cleanup_(codec_cleanup) struct codec *codec = new_codec(WIRE_JSON);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case item;
	json_t *record = full_record();
	assert_true(spoil_all(codec, record, record) > 200);
	assert_int_equal(read_json(codec, record, arena, &item), ERR_OK);
	json_decref(record);
}

static void test_missing(void **state)
{
	(void)state;
	static const char *const NEEDED[] = { "event_id",   "occurred_at", "scored_at", "application",
					      "confidence", "safety",	   "provenance" };
	_cleanup_(codec_cleanup) struct codec *codec = new_codec(WIRE_JSON);
	for (size_t i = 0; i < sizeof NEEDED / sizeof *NEEDED; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct calibration_case item;
		json_t *record = full_record();
		assert_int_equal(json_object_del(record, NEEDED[i]), 0);
		assert_int_equal(read_json(codec, record, arena, &item), ERR_JSON_SHAPE);
		json_decref(record);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_agree),
		cmocka_unit_test(test_probability_as_published),
		cmocka_unit_test(test_questions_have_numbers),
		cmocka_unit_test(test_features_written),
		cmocka_unit_test(test_wrong_anywhere),
		cmocka_unit_test(test_missing),
	};
	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
