#include "support.h"

#include "avro/codec.h"
#include "avro/json.h"
#include "avro/json_quick.h"

#include <dirent.h>
#include <locale.h>

#define NEEDED "\"event_id\":\"e\",\"occurred_at\":1,\"application\":\"a\",\"question\":\"q\",\"sql\":\"s\""

static err_t read_query(const char *json, enum json_author author, struct arena *arena,
			struct generated_query *query, struct err_detail *detail)
{
	const struct json_limits limits = { .max_items = 3, .author = author };
	fields_init(&GENERATED_QUERY_RECORD, query);
	query->occurred_at = 42;
	return json_read(&GENERATED_QUERY_RECORD, str_from(json), &limits, arena, query, detail);
}

struct refusal {
	const char *json;
	err_t err;
	const char *message;
};

static void check_refusals(const struct refusal *cases, size_t count, enum json_author author)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct generated_query query;
		struct err_detail detail = { "" };
		err_t err = read_query(cases[i].json, author, arena, &query, &detail);
		if (err != cases[i].err || !strstr(detail.message, cases[i].message))
			fail_msg("%s\n%s: %s", cases[i].json, err_name(err), detail.message);
	}
}

static void test_refused_of_programs(void **state)
{
	(void)state;
	static const struct refusal CASES[] = {
		{ "{", ERR_JSON_SYNTAX, "column 1: " },
		{ "\n {", ERR_JSON_SYNTAX, "line 2, column 2: " },
		{ "", ERR_JSON_SYNTAX, "the text is empty" },
		{ " \r\n", ERR_JSON_SYNTAX, "the text is empty" },
		{ "{} x", ERR_JSON_SYNTAX, "end of file" },
		{ "[]", ERR_JSON_SHAPE, "the record: expected an object, found an array" },
		{ "{\"sql\":\"a\",\"sql\":\"b\"}", ERR_JSON_SYNTAX, "duplicate" },
		{ "{\"sql\":\"\\ud800\"}", ERR_JSON_SYNTAX, "\\uD800" },
		{ "{\"sql\":\"\xff\"}", ERR_TEXT_ENCODING, "column 8: " },
		{ "{\"event_id\":\"e\",\"occurred_at\":1,\"application\":\"a\",\"question\":\"q\"}",
		  ERR_JSON_SHAPE, "sql: the field is missing" },
		{ "{" NEEDED ",\"dialect\":7}", ERR_JSON_SHAPE,
		  "dialect: expected one of POSTGRESQL, SQLITE, MYSQL, MONGODB, found a number" },
		{ "{" NEEDED ",\"model\":7}", ERR_JSON_SHAPE,
		  "model: expected a string or null, found a number" },
		{ "{" NEEDED ",\"generator_confidence\":\"NaN\"}", ERR_JSON_SHAPE,
		  "generator_confidence: expected a number or null, found a string \"NaN\": write null" },
		{ "{" NEEDED ",\"generator_confidence\":\"0.5 \"}", ERR_JSON_SHAPE,
		  "found a string \"0.5 \"" },
		{ "{" NEEDED ",\"generator_confidence\":\".5\"}", ERR_JSON_SHAPE, "found a string \".5\"" },
		{ "{" NEEDED ",\"generator_confidence\":\"1e400\"}", ERR_JSON_SHAPE, "found a string" },
		{ "{" NEEDED ",\"generator_confidence\":\"0x1\"}", ERR_JSON_SHAPE, "found a string" },
		{ "{" NEEDED ",\"diagnostic\":{\"valid\":\"True\"}}", ERR_JSON_SHAPE,
		  "diagnostic.valid: expected true or false, found a string \"True\": write it without "
		  "quotes" },
		{ "{" NEEDED ",\"generator_confidence\":1e400}", ERR_JSON_SHAPE, "overflow" },
		{ "{" NEEDED ",\"response\":{\"raw\":null}}", ERR_JSON_SHAPE,
		  "response.raw: expected a string, found null" },
		{ "{" NEEDED ",\"response\":[]}", ERR_JSON_SHAPE,
		  "response: expected an object or null, found an array" },
		{ "{" NEEDED ",\"diagnostic\":{\"valid\":1}}", ERR_JSON_SHAPE,
		  "diagnostic.valid: expected true or false, found a number" },
		{ "{" NEEDED ",\"retrieval\":{\"chunks\":[{\"chunk_id\":\"a\"},{\"chunk_id\":\"b\","
		  "\"bm25_score\":true}]}}",
		  ERR_JSON_SHAPE,
		  "retrieval.chunks[1].bm25_score: expected a number or null, found a boolean" },
		{ "{" NEEDED ",\"retrieval\":{\"chunks\":[{}]}}", ERR_JSON_SHAPE,
		  "retrieval.chunks[0].chunk_id: the field is missing" },
		{ "{" NEEDED ",\"ground_truth\":{\"tables\":[\"a\",\"b\",\"c\",\"d\"]}}", ERR_AVRO_ITEMS,
		  "ground_truth.tables: 4 items are more than the 3 allowed" },
		{ "{" NEEDED ",\"attributes\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"4\"}}",
		  ERR_AVRO_ITEMS, "attributes" },
		{ "{" NEEDED ",\"attributes\":{\"k\":1}}", ERR_JSON_SHAPE,
		  "attributes.k: expected a string, found a number: put it between quotes" },
		{ "{\"eventId\":\"e\",\"occurred_at\":1}", ERR_JSON_SHAPE,
		  "event_id: the field is missing; there is \"eventId\": name it event_id" },
		{ "{\"event_id\":\"e\",\"occurred_at\":\"1.5\"}", ERR_JSON_SHAPE,
		  "occurred_at: expected whole" },
		{ "{\"event_id\":\"e\",\"occurred_at\":1.5}", ERR_JSON_SHAPE, "occurred_at: expected whole" },
		{ "{\"event_id\":\"e\",\"occurred_at\":\"yesterday\"}", ERR_JSON_SHAPE,
		  "a time such as 2026-01-31T12:00:00Z, found a string \"yesterday\"" },
		{ "{\"event_id\":\"e\",\"occurred_at\":99999999999999999999}", ERR_JSON_SHAPE, "too big" },
	};
	check_refusals(CASES, COUNT_OF(CASES), JSON_BY_PROGRAM);
}

static void test_refused_of_people(void **state)
{
	(void)state;
	static const struct refusal CASES[] = {
		{ "{}", ERR_JSON_SHAPE, "sql: the field is missing" },
		{ "{\"sql\":null}", ERR_JSON_SHAPE, "sql: expected a string" },
		{ "{\"sql\":\"s\",\"eventId\":\"e\"}", ERR_JSON_SHAPE,
		  "eventId: unknown field; is \"event_id\" meant?" },
		{ "{\"sql\":\"s\",\"retreival\":{}}", ERR_JSON_SHAPE, "is \"retrieval\" meant?" },
		{ "{\"sql\":\"s\",\"retrieval\":{\"chunks\":[{\"rerank-score\":1}]}}", ERR_JSON_SHAPE,
		  "retrieval.chunks[0].rerank-score: unknown field; is \"rerank_score\" meant?" },
		{ "{\"sqll\":\"s\"}", ERR_JSON_SHAPE, "is \"sql\" meant?" },
		{ "{\"sql\":\"s\",\"dialect\":\"oracle\"}", ERR_JSON_SHAPE,
		  "dialect: expected one of POSTGRESQL, SQLITE, MYSQL, MONGODB, found a string \"oracle\"" },
		/* cut between characters */
		{ "{\"sql\":\"s\",\"dialect\":\"xééééééééééééééééééééé\"}", ERR_JSON_SHAPE,
		  "\"xééééééééééééééééééé\"" },
	};
	check_refusals(CASES, COUNT_OF(CASES), JSON_BY_PERSON);
}

static void test_programs_may_be_newer(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct generated_query query;
	assert_int_equal(read_query("{" NEEDED
				    ",\"eventId\":[{}],\"dialect\":\"ORACLE\",\"retrieval\":{\"chunks\":"
				    "[{\"chunk_id\":\"c\",\"source_type\":\"BLOG\"}]},\"attributes\":null}",
				    JSON_BY_PROGRAM, arena, &query, NULL),
			 ERR_OK);
	assert_int_equal(query.dialect, ENUM_ABSENT);
	assert_int_equal(query.retrieval->chunks[0].source_type, SOURCE_UNKNOWN);
	assert_int_equal(query.attributes_count, 0);
}

static void test_people_may_leave_out(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct generated_query query;
	assert_int_equal(read_query("{\"sql\":\"s\",\"occurred_at\":null,\"ticket\":7,\"dialect\":\"sqlite\","
				    "\"retrieval\":{\"chunks\":[{\"rerank_score\":1}]}}",
				    JSON_BY_PERSON, arena, &query, NULL),
			 ERR_OK);
	assert_int_equal(query.occurred_at, 42);
	assert_true(str_is(query.event_id, ""));
	assert_true(str_is(query.question, ""));
	assert_int_equal(query.dialect, DIALECT_SQLITE);
	assert_true(str_is(query.retrieval->chunks[0].chunk_id, ""));
	assert_int_equal(query.retrieval->chunks[0].source_type, SOURCE_UNKNOWN);
	assert_true(query.retrieval->chunks[0].rerank_score.value == 1);
}

static void test_values(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct generated_query query;
	assert_int_equal(
		read_query(
			"{\"event_id\":\"\\ud83d\\ude00\\u0000x\",\"occurred_at\":"
			"\"2024-02-29T12:30:00Z\",\"application\":\"\",\"question\":\"q\",\"sql\":\"s\","
			"\"generator_confidence\":1,\"ground_truth\":{\"tables\":[],\"should_pass\":false}}",
			JSON_BY_PROGRAM, arena, &query, NULL),
		ERR_OK);
	assert_true(str_equal(query.event_id, BYTES("\xf0\x9f\x98\x80\0x")));
	assert_int_equal(query.occurred_at, 1709209800000);
	assert_true(query.generator_confidence.value == 1);
	assert_true(query.ground_truth->tables_set && query.ground_truth->should_pass.set);
	assert_false(query.ground_truth->should_pass.value);
	assert_int_equal(
		read_query("{\"event_id\":\"e\",\"occurred_at\":1e3,\"application\":\"\",\"question\":"
			   "\"q\",\"sql\":\"s\"}",
			   JSON_BY_PROGRAM, arena, &query, NULL),
		ERR_OK);
	assert_int_equal(query.occurred_at, 1000);
}

/* As programs send them whose numbers are narrower, or that know of texts alone. */
static void test_numbers_sent_as_texts(void **state)
{
	(void)state;
	static const struct {
		const char *time, *number;
		int64_t time_ms;
		double value;
	} CASES[] = {
		{ "\"1750000004000\"", "\"0.5\"", 1750000004000, 0.5 },
		{ "\"-1\"", "\"-1.5e-3\"", -1, -0.0015 },
		{ "\"9223372036854775807\"", "\"7\"", INT64_MAX, 7 },
		{ "\"2024-02-29T12:30:00.5+01:00\"", "\"1E2\"", 1709206200500, 100 },
		{ "\"2024-02-29 12:30\"", "\"0\"", 1709209800000, 0 },
	};
	static const enum json_author authors[] = { JSON_BY_PROGRAM, JSON_BY_PERSON };
	for (size_t i = 0; i < 2 * COUNT_OF(CASES); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf json = BUF_INIT;
		struct generated_query query;
		struct err_detail detail = { "" };
		buf_printf(&json,
			   "{\"event_id\":\"e\",\"occurred_at\":%s,\"application\":\"\",\"question\":\"q\","
			   "\"sql\":"
			   "\"s\",\"generator_confidence\":%s}",
			   CASES[i / 2].time, CASES[i / 2].number);
		if (read_query(json.data, authors[i % 2], arena, &query, &detail))
			fail_msg("%s: %s", json.data, detail.message);
		assert_int_equal(query.occurred_at, CASES[i / 2].time_ms);
		assert_true(query.generator_confidence.value == CASES[i / 2].value);
	}
}

static void test_nesting_is_bounded(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct {
		int levels;
		err_t err;
	} CASES[] = { { 63, ERR_OK }, { 64, ERR_JSON_SYNTAX }, { 100000, ERR_JSON_SYNTAX } };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf json = BUF_INIT;
		struct generated_query query;
		buf_append_text(&json, "{" NEEDED ",\"model\":\"[[[[\\\"[\",\"new\":");
		for (int level = 0; level < CASES[i].levels; level++)
			buf_append_char(&json, '[');
		for (int level = 0; level < CASES[i].levels; level++)
			buf_append_char(&json, ']');
		buf_append_char(&json, '}');
		assert_int_equal(read_query(json.data, JSON_BY_PROGRAM, arena, &query, NULL), CASES[i].err);
	}
}

/* Numbers as written: the fewest digits of 15, 16 and 17 that read back the same, in any locale. */
static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *text;
	} CASES[] = {
		{ 0, "0" },
		{ -0.0, "-0.0" },
		{ 0.1, "0.1" },
		{ 0.30000000000000004, "0.30000000000000004" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ -1234.5, "-1234.5" },
		{ 1e22, "1e+22" },
		{ 123456789012345680.0, "1.2345678901234568e+17" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
	};
	static const char *const LOCALES[] = { "C", "de_DE.UTF-8" };
	for (size_t l = 0; l < COUNT_OF(LOCALES); l++) {
		if (!setlocale(LC_NUMERIC, LOCALES[l]))
			print_message("skipped: there is no locale %s\n", LOCALES[l]);
		for (size_t i = 0; i < COUNT_OF(CASES); i++) {
			_cleanup_(buf_free) struct buf json = BUF_INIT;
			const struct advisory advisory = { .value = opt_double(CASES[i].value),
							   .level = ENUM_ABSENT };
			char expected[64];
			codec_json_advisory(&advisory, &json);
			snprintf(expected, sizeof expected, "\"value\":%s,", CASES[i].text);
			if (!strstr(json.data, expected))
				fail_msg("%s is not in %s", expected, json.data);
		}
	}
	setlocale(LC_NUMERIC, "C");
}

static void test_escapes(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	const struct advisory advisory = { .summary = BYTES("\"\\/\b\f\n\r\t\x01\x1f\x7f\xe2\x82\xac"),
					   .level = ENUM_ABSENT };
	codec_json_advisory(&advisory, &json);
	assert_non_null(
		strstr(json.data, "\"summary\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xe2\x82\xac\""));
}

/* ---- in one pass and through a tree ---- */

/* Whether one pass reads it; what it reads, the tree has to take as well, and to the same record. */
static bool read_both_ways(str_t text)
{
	static const struct json_limits limits = { 100000, JSON_BY_PROGRAM };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf one = BUF_INIT, other = BUF_INIT;
	struct generated_query query;
	struct err_detail detail = { "" };
	fields_init(&GENERATED_QUERY_RECORD, &query);
	if (!json_read_quickly(&GENERATED_QUERY_RECORD, text, &limits, arena, &query))
		return false;
	json_write(&GENERATED_QUERY_RECORD, &query, &one);
	fields_init(&GENERATED_QUERY_RECORD, &query);
	if (json_read_slowly(&GENERATED_QUERY_RECORD, text, &limits, arena, &query, &detail) != ERR_OK)
		fail_msg("one pass reads " STR_FMT ", the tree does not: %s", STR_ARG(text), detail.message);
	json_write(&GENERATED_QUERY_RECORD, &query, &other);
	assert_string_equal(one.data, other.data);
	return true;
}

/* Nothing of the corpus is a query, but what is JSON is refused for its shape alone. */
static void test_corpus(void **state)
{
	(void)state;
	const char *folder = corpus_path("json/test_parsing");
	if (!folder)
		skip();
	DIR *directory = opendir(folder);
	assert_non_null(directory);
	size_t count = 0;
	for (const struct dirent *file; (file = readdir(directory)); count++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		const struct json_limits limits = { 100000, JSON_BY_PERSON };
		struct generated_query query;
		char path[2048];
		snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		if (!strstr(path, ".json") || !read_whole_file(path, &text))
			continue;
		fields_init(&GENERATED_QUERY_RECORD, &query);
		err_t err = json_read(&GENERATED_QUERY_RECORD, buf_str(&text), &limits, arena, &query, NULL);
		bool refused = err == ERR_JSON_SYNTAX || err == ERR_TEXT_ENCODING;
		bool is_valid = file->d_name[0] == 'y' && !strstr(file->d_name, "duplicated_key") &&
				!strstr(file->d_name, "escaped_null_in_key");
		if (err == ERR_OK || (is_valid && refused))
			fail_msg("%s: %s", file->d_name, err_name(err));
		_cleanup_(buf_free) struct buf member = BUF_INIT;
		buf_append_text(&member, "{" NEEDED ",\"new\":");
		buf_append_str(&member, buf_str(&text));
		buf_append_text(&member, "}");
		if (read_both_ways(buf_str(&member)) && file->d_name[0] == 'n')
			fail_msg("%s is read", file->d_name);
	}
	closedir(directory);
	assert_true(count > 300);
}

static void test_one_pass_reads_what_is_usual(void **state)
{
	static const struct {
		const char *more; /* members behind those that are needed */
		bool read;
	} cases[] = {
		{ "", true },
		{ ",\"new\":{\"a\":[1,-0,2.5e3,{\"b\":null}],\"c\":\"\\ud83d\\ude00\\n\"},\"newer\":true",
		  true },
		{ ",\"model\":\"\\u00e9\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000x\"", true },
		{ ",\"generator_confidence\":0.30000000000000004,\"candidates\":[]", true },
		{ ",\"attributes\":{\"a\":\"b\",\"c\":\"\"},\"dialect\":\"KLINGON\"", true },
		{ ",\"attributes\" : { } , "
		  "\"retrieval\":{\"chunks\":[{\"chunk_id\":\"c\",\"source_type\":\"NEW\",\"bm25_score\":1e2}"
		  "]}",
		  true },
		{ ",\"model\":null,\"generator_confidence\":null", true },
		/* what the tree refuses, or is left to it */
		{ ",\"sql\":\"again\"", false },
		{ ",\"new\":1,\"new\":2", false },
		{ ",\"new\":{\"a\":1,\"a\":2}", false },
		{ ",\"m\\u006fdel\":\"m\"", false },
		{ ",\"model\":\"\\ud83d\"", false },
		{ ",\"model\":\"\\udc00\\ud800\"", false },
		{ ",\"model\":\"\xff\"", false },
		{ ",\"new\":\"\xc3\"", false },
		{ ",\"model\":\"\n\"", false },
		{ ",\"model\":\"\\x\"", false },
		{ ",\"model\":\"", false },
		{ ",\"model\":\"\\", false },
		{ ",\"model\":7", false },
		{ ",\"generator_confidence\":01", false },
		{ ",\"generator_confidence\":1.", false },
		{ ",\"generator_confidence\":.5", false },
		{ ",\"generator_confidence\":1e", false },
		{ ",\"generator_confidence\":1e999", false },
		{ ",\"generator_confidence\":-", false },
		{ ",\"generator_confidence\":+1", false },
		{ ",\"new\":12345678901234567890", false },
		{ ",\"new\":[1,]", false },
		{ ",\"new\":[1 2]", false },
		{ ",\"new\":nul", false },
		{ ",\"new\":{\"a\"}", false },
		{ ",", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf json = BUF_INIT;
		buf_printf(&json, " {" NEEDED "%s} \n", cases[i].more);
		if (read_both_ways(buf_str(&json)) != cases[i].read)
			fail_msg("%s: one pass %s it", json.data, cases[i].read ? "leaves" : "reads");
	}
	assert_false(read_both_ways(STR("{" NEEDED "} x")));
	assert_false(read_both_ways(STR("{" NEEDED)));
	assert_false(read_both_ways(STR("{\"sql\":\"s\"}")));
	assert_false(read_both_ways(STR("")));
}

/* Bytes of a whole event changed, doubled and dropped at random. */
static void test_one_pass_is_as_strict_as_the_tree(void **state)
{
	static const char event[] = "{" NEEDED ",\"model\":\"m\\u00e9\",\"dialect\":\"SQLITE\",\"generator_"
				    "confidence\":0.875,\"new\":{\"a\":[1,2.5,"
				    "true],\"b\":\"\\n\"},\"retrieval\":{\"chunks\":[{\"chunk_id\":\"c\","
				    "\"document_id\":null,\"source_type\":"
				    "\"UNKNOWN\",\"rrf_score\":1.5e-3}]},\"ground_truth\":{\"sql\":\"SELECT "
				    "1\",\"alternatives\":[\"a\",\"b\"]},"
				    "\"attributes\":{\"k\":\"v\",\"l\":\"w\"}}";
	static const char bytes[] = "\"\\{}[]:,0159.-+eEu\n\x01\x7f\xc3\xa9\xedtrfalsn ";
	uint64_t random = 88172645463325252u;
	size_t read = 0;
	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[sizeof event + 1];
		size_t len = sizeof event - 1;
		memcpy(text, event, sizeof event);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		size_t at = random % len;
		char byte = bytes[(random >> 20) % (sizeof bytes - 1)];
		if ((random >> 40) % 3 == 0) {
			text[at] = byte;
		} else if ((random >> 40) % 3 == 1) {
			memmove(text + at, text + at + 1, len - at - 1);
			len--;
		} else {
			memmove(text + at + 1, text + at, len - at);
			text[at] = byte;
			len++;
		}
		read += read_both_ways((str_t){ text, len });
	}
	assert_true(read > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_of_programs),
		cmocka_unit_test(test_refused_of_people),
		cmocka_unit_test(test_programs_may_be_newer),
		cmocka_unit_test(test_people_may_leave_out),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_numbers_sent_as_texts),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_one_pass_reads_what_is_usual),
		cmocka_unit_test(test_one_pass_is_as_strict_as_the_tree),
	};
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
