/* Readers and writers a version apart: data of other schemas than ours, read into our structs. */
#include "support.h"

#include "avro/builtin.h"
#include "avro/canonical.h"
#include "avro/codec.h"
#include "avro/framing.h"
#include "avro/json.h"
#include "avro/plan.h"

#include <jansson.h>

#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define RECORD(name, ...) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" __VA_ARGS__ "]}"
#define NEEDED                                                                                               \
	FIELD("event_id", "\"string\"")                                                                      \
	"," FIELD("occurred_at", "\"long\"") "," FIELD("application", "\"string\"") "," FIELD(               \
		"question", "\"string\"") "," FIELD("sql", "\"string\"")
#define NEEDED_DATA "\2e\2\2a\2q\2s"

/* Reads one record of the writer's schema by a reader's; NULL and the error when it cannot be. */
static struct generated_query *read_by(const char *reader_text, const char *schema_text, str_t data,
				       struct arena *arena, err_t *ret_err, struct err_detail *detail)
{
	const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };
	struct schema *schema = parse_schema(schema_text);
	struct schema *reader = parse_schema(reader_text);
	struct generated_query *query = ARENA_NEW(arena, struct generated_query);
	const struct plan *plan;
	fields_init(&GENERATED_QUERY_RECORD, query);
	*ret_err = plan_make(schema, reader, &GENERATED_QUERY_RECORD, arena, &plan, detail);
	schema_free(reader);
	if (!*ret_err)
		*ret_err = bounds_check(schema->root, data.ptr, data.len, &limits, detail);
	if (!*ret_err)
		*ret_err = plan_decode(plan, data, &limits, arena, query, detail);
	schema_free(schema);
	return *ret_err ? NULL : query;
}

static struct generated_query *read_as_query(const char *schema, str_t data, struct arena *arena,
					     err_t *ret_err, struct err_detail *detail)
{
	return read_by(builtin_schema(RECORD_QUERY).ptr, schema, data, arena, ret_err, detail);
}

static struct generated_query *must_read(const char *schema, str_t data, struct arena *arena)
{
	err_t err;
	struct err_detail detail = { "" };
	struct generated_query *query = read_as_query(schema, data, arena, &err, &detail);
	if (err)
		fail_msg("%s: %s", err_name(err), detail.message);
	return query;
}

static void test_fewer_fields(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct generated_query *query = must_read(RECORD("Q", NEEDED), BYTES(NEEDED_DATA), arena);
	assert_string_equal(query->event_id.ptr, "e");
	assert_int_equal(query->occurred_at, 1);
	assert_string_equal(query->sql.ptr, "s");
	assert_false(str_present(query->model));
	assert_int_equal(query->dialect, ENUM_ABSENT);
	assert_false(query->generator_confidence.set);
	assert_null(query->ground_truth);
	assert_int_equal(query->attributes_count, 0);
}

/* Fields in another order, fields of a later version of every shape in between, and another name. */
static void test_more_and_reordered_fields(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const char SCHEMA[] = RECORD(
		"later.Query",
		FIELD("sql", "\"string\"") "," FIELD("n1", "{\"type\":\"map\",\"values\":\"int\"}") "," FIELD("question", "[\"string\",\"null\"]") "," FIELD(
			"n2",
			"{\"type\":\"array\",\"items\":" RECORD(
				"New",
				FIELD("x",
				      "[\"null\",\"New\"]")) "}") "," FIELD("application",
									    "\"bytes\"") "," FIELD("n3",
												   "{\"type\""
												   ":\"fixed"
												   "\","
												   "\"name\":"
												   "\"F\","
												   "\"size\":"
												   "2}") "," FIELD("occurred_at",
														   "\"int\"") "," FIELD("target",
																	"\"string\"") "," FIELD("n4",
																				"\"double\"") "," FIELD("event_id",
																							"\"string\""));
	static const char DATA[] = "\2s"	/* sql */
				   "\2\2k\2\0"	/* n1 {k: 1} */
				   "\0\2q"	/* question */
				   "\4\2\0\0\0" /* n2 [{x: {x: null}}, {x: null}] */
				   "\4\xc3\xa4" /* application */
				   "FF"		/* n3 */
				   "\x0d"	/* occurred_at −7 */
				   "\2t"	/* target */
				   "12345678"	/* n4 */
				   "\2e";	/* event_id */
	const struct generated_query *query = must_read(SCHEMA, BYTES(DATA), arena);
	assert_string_equal(query->sql.ptr, "s");
	assert_string_equal(query->question.ptr, "q");
	assert_string_equal(query->application.ptr, "\xc3\xa4");
	assert_int_equal(query->occurred_at, -7);
	assert_string_equal(query->target.ptr, "t");
	assert_string_equal(query->event_id.ptr, "e");
}

static void test_promotions(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct {
		const char *type;
		str_t data;
		double value;
	} CASES[] = {
		{ "\"int\"", BYTES(NEEDED_DATA "\4"), 2 },
		{ "\"long\"", BYTES(NEEDED_DATA "\3"), -2 },
		{ "\"float\"", BYTES(NEEDED_DATA "\0\0\xc0\x3f"), 1.5 },
		{ "\"double\"", BYTES(NEEDED_DATA "\0\0\0\0\0\0\xf8\x3f"), 1.5 },
		{ "[\"string\",\"float\",\"null\"]", BYTES(NEEDED_DATA "\2\0\0\xc0\x3f"), 1.5 },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf schema = BUF_INIT;
		buf_printf(&schema, RECORD("Q", NEEDED ",{\"name\":\"generator_confidence\",\"type\":%s}"),
			   CASES[i].type);
		const struct generated_query *query = must_read(schema.data, CASES[i].data, arena);
		assert_true(query->generator_confidence.set);
		assert_true(query->generator_confidence.value == CASES[i].value);
	}
}

#define LOGICAL(type, name) "{\"type\":\"" type "\",\"logicalType\":\"" name "\"}"

/* NEEDED, with that type of the time. */
static str_t schema_at(struct arena *arena, const char *name, const char *type)
{
#define TEXT(name) "{\"name\":\"" name "\",\"type\":\"string\"}"
	return arena_printf(
		arena,
		"{\"type\":\"record\",\"name\":\"%s\",\"fields\":[" TEXT(
			"event_id") ","
				    "{\"name\":\"occurred_at\",\"type\":%s}," TEXT("application") "," TEXT(
					    "question") "," TEXT("sql") "]}",
		name, type);
#undef TEXT
}

/* "occurred_at" before 1970 and behind, in units of many kinds. */
static void test_units_of_times(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct {
		const char *type;
		str_t data;
		int64_t ms;
	} CASES[] = {
		{ LOGICAL("long", "timestamp-millis"), BYTES("\xb7\x17"), -1500 },
		{ LOGICAL("long", "timestamp-micros"), BYTES("\xb7\x17"), -2 },
		{ LOGICAL("long", "timestamp-micros"), BYTES("\xcf\x0f"), -1 },
		{ LOGICAL("long", "timestamp-micros"), BYTES("\xee\x2e"), 2 },
		{ LOGICAL("long", "timestamp-micros"), BYTES("\xf0\x2e"), 3 },
		{ LOGICAL("long", "local-timestamp-micros"), BYTES("\xf0\x2e"), 3 },
		{ LOGICAL("long", "timestamp-nanos"), BYTES("\x80\x9b\xee\x02"), 3 },
		{ LOGICAL("long", "local-timestamp-nanos"), BYTES("\x80\x9b\xee\x02"), 3 },
		{ LOGICAL("long", "timestamp-micros"), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		  INT64_MIN / 1000 - 1 },
		{ "[\"null\"," LOGICAL("long", "timestamp-micros") "]", BYTES("\2\xf0\x2e"), 3 },
		{ "{\"type\":" LOGICAL("long", "timestamp-micros") "}", BYTES("\xf0\x2e"), 3 },
		/* of a type that it is none of, or of nobody */
		{ LOGICAL("int", "timestamp-micros"), BYTES("\xf0\x2e"), 3000 },
		{ LOGICAL("long", "time-micros"), BYTES("\xf0\x2e"), 3000 },
		{ "{\"type\":\"long\",\"logicalType\":7}", BYTES("\xf0\x2e"), 3000 },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf data = BUF_INIT;
		buf_append(&data, "\2e", 2);
		buf_append_str(&data, CASES[i].data);
		buf_append(&data, "\2a\2q\2s", 6);
		const struct generated_query *query =
			must_read(schema_at(arena, "Q", CASES[i].type).ptr, buf_str(&data), arena);
		if (query->occurred_at != CASES[i].ms)
			fail_msg("%s: %lld", CASES[i].type, (long long)query->occurred_at);
		assert_string_equal(query->sql.ptr, "s");
	}
	/* nothing but a time has a unit */
	const struct generated_query *query = must_read(
		RECORD("Q", NEEDED "," FIELD("generator_confidence", LOGICAL("long", "timestamp-micros"))),
		BYTES(NEEDED_DATA "\xf0\x2e"), arena);
	assert_true(query->generator_confidence.value == 3000);
}

#define DIALECTS_LATER "{\"type\":\"enum\",\"name\":\"Dialect\",\"symbols\":[\"ORACLE\",\"SQLITE\"]}"
#define CHUNKS(source)                                                                                       \
	FIELD("retrieval",                                                                                   \
	      RECORD("Ret", FIELD("chunks", "{\"type\":\"array\",\"items\":" RECORD(                         \
						    "Chunk", FIELD("chunk_id", "\"string\"") "," FIELD(      \
								     "source_type", source)) "}")))

static void test_unknown_symbols(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const char DIALECT[] = RECORD("Q", NEEDED "," FIELD("dialect", DIALECTS_LATER));
	static const char SOURCE[] = RECORD(
		"Q",
		NEEDED "," CHUNKS(
			"{\"type\":\"enum\",\"name\":\"SourceType\",\"symbols\":[\"BLOG\",\"GOVERNMENT\"]}"));
	const struct generated_query *query = must_read(DIALECT, BYTES(NEEDED_DATA "\0"), arena);
	assert_int_equal(query->dialect, ENUM_ABSENT);
	assert_string_equal(query->unknown_dialect.ptr, "ORACLE"); /* it can be told */
	query = must_read(DIALECT, BYTES(NEEDED_DATA "\2"), arena);
	assert_int_equal(query->dialect, DIALECT_SQLITE);
	assert_false(str_present(query->unknown_dialect));
	query = must_read(SOURCE, BYTES(NEEDED_DATA "\4\2x\0\2y\2\0"), arena);
	assert_int_equal(query->retrieval->chunks_count, 2);
	assert_int_equal(query->retrieval->chunks[0].source_type, SOURCE_UNKNOWN);
	assert_string_equal(query->retrieval->chunks[0].unknown_source_type.ptr, "BLOG");
	assert_int_equal(query->retrieval->chunks[1].source_type, SOURCE_GOVERNMENT);
	assert_string_equal(query->retrieval->chunks[1].chunk_id.ptr, "y");
}

static void test_unknown_symbol_where_one_is_needed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };
	struct schema *schema = parse_schema(RECORD(
		"A",
		FIELD("advisory_id", "\"string\"") "," FIELD(
			"kind", "{\"type\":\"enum\",\"name\":\"AdvisoryKind\",\"symbols\":[\"NEW_KIND\","
				"\"UNSAFE_QUERY\"]"
				"}") "," FIELD("event_type",
					       "\"string\"") "," FIELD("raised_at",
								       "\"long\"") "," FIELD("summary",
											     "\"string\"")));
	const struct plan *plan;
	struct advisory advisory;
	struct err_detail detail = { "" };
	struct schema *reader = parse_schema(builtin_schema(RECORD_ADVISORY).ptr);
	assert_int_equal(plan_make(schema, reader, &ADVISORY_RECORD, arena, &plan, NULL), ERR_OK);
	schema_free(reader);
	fields_init(&ADVISORY_RECORD, &advisory);
	assert_int_equal(plan_decode(plan, BYTES("\0\2\0\0\0"), &limits, arena, &advisory, &detail), ERR_OK);
	assert_int_equal(advisory.kind, ADVISORY_UNSAFE_QUERY);
	assert_int_equal(plan_decode(plan, BYTES("\0\0\0\0\0"), &limits, arena, &advisory, &detail),
			 ERR_AVRO_VALUE);
	assert_non_null(strstr(detail.message, "\"kind\""));
	schema_free(schema);
}

/* What the reader has other names for, and what it has for a symbol that it does not know. */
static void test_names_of_the_reader(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf reader = BUF_INIT;
	static const char DIALECT[] = "\"name\": \"Dialect\",", SQL[] = "\"name\": \"sql\",";
	static const struct {
		const char *schema;
		str_t data;
		err_t err;
		const char *message;
	} CASES[] = {
		/* other names of fields, in a record of the reader's name, and of an enumeration */
		{ RECORD("com.example.GeneratedQuery",
			 FIELD("text", "\"string\"") "," FIELD("event_id", "\"string\"") "," FIELD(
				 "occurred_at",
				 "\"long\"") "," FIELD("application",
						       "\"string\"") "," FIELD("question",
									       "\"string\"") "," FIELD("diale"
												       "ct",
												       "{\"ty"
												       "pe\":"
												       "\"enu"
												       "m\","
												       "\"nam"
												       "e\":"
												       "\"x."
												       "Langu"
												       "age\""
												       ","
												       "\"sym"
												       "bols"
												       "\":["
												       "\"ORA"
												       "CLE\""
												       ",\"SQ"
												       "LITE"
												       "\"]"
												       "}")),
		  BYTES("\2s\2e\2\2a\2q\2"), ERR_OK, "" },
		/* not in another record */
		{ RECORD("Q",
			 FIELD("text", "\"string\"") "," FIELD("event_id", "\"string\"") "," FIELD(
				 "occurred_at", "\"long\"") "," FIELD("application",
								      "\"string\"") "," FIELD("question",
											      "\"string\"")),
		  BYTES("\2s\2e\2\2a\2q"), ERR_SCHEMA_INCOMPATIBLE, "\"sql\"" },
		/* both names at once */
		{ RECORD("GeneratedQuery", NEEDED "," FIELD("text", "\"string\"")), BYTES(NEEDED_DATA "\2t"),
		  ERR_SCHEMA_INCOMPATIBLE, "\"sql\" of its record GeneratedQuery twice" },
	};
	str_t text = builtin_schema(RECORD_QUERY);
	const char *at = strstr(text.ptr, SQL);
	assert_non_null(at);
	buf_append(&reader, text.ptr, (size_t)(at - text.ptr) + sizeof SQL - 1);
	buf_append_text(&reader, "\"aliases\": [\"other\", \"text\"],");
	const char *rest = strstr(at += sizeof SQL - 1, DIALECT);
	assert_non_null(rest);
	buf_append(&reader, at, (size_t)(rest - at) + sizeof DIALECT - 1);
	buf_append_text(&reader, "\"aliases\": [\"x.Language\"], \"default\": \"MYSQL\",");
	buf_append_text(&reader, rest + sizeof DIALECT - 1);
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct err_detail detail = { "" };
		err_t err;
		const struct generated_query *query =
			read_by(reader.data, CASES[i].schema, CASES[i].data, arena, &err, &detail);
		if (err != CASES[i].err || !strstr(detail.message, CASES[i].message))
			fail_msg("case %zu: %s: %s", i, err_name(err), detail.message);
		if (err)
			continue;
		assert_string_equal(query->sql.ptr, "s");
		assert_int_equal(query->dialect, DIALECT_SQLITE);
		char *unknown = arena_strdup(arena, "\2s\2e\2\2a\2q");
		query = read_by(reader.data, CASES[i].schema, (str_t){ unknown, 10 }, arena, &err, &detail);
		assert_int_equal(err, ERR_OK);
		assert_int_equal(query->dialect, DIALECT_MYSQL);
		assert_string_equal(query->unknown_dialect.ptr, "ORACLE");
	}
}

/* A type that is used in many places takes no more for that. */
static void test_plans_are_bounded(void **state)
{
	(void)state;
	enum { BRANCHES = 60 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	err_t err;
	struct err_detail detail = { "" };
	/* each of the branches of ground_truth has a union of as many as its results, and they of theirs */
	buf_append_text(&schema, "{\"type\":\"record\",\"name\":\"Q\",\"fields\":[" NEEDED);
	for (int i = 0; i < BRANCHES; i++) {
		static const char *const kinds[] = { "T", "R" };
		for (size_t kind = 0; kind < 2; kind++) {
			buf_printf(&schema, ",{\"name\":\"%c%d\",\"type\":[\"null\",", "tr"[kind], i);
			buf_printf(&schema, "{\"type\":\"record\",\"name\":\"%s%d\",\"fields\":[",
				   kinds[kind], i);
			buf_append_text(
				&schema,
				kind ? "{\"name\":\"results\",\"type\":{\"type\":\"array\",\"items\":["
				     : "{\"name\":\"rows\",\"type\":{\"type\":\"array\",\"items\":{"
				       "\"type\":\"array\",\"items\":[\"null\"");
			for (int j = 0; kind && j <= i; j++)
				buf_printf(&schema, "%s\"T%d\"", j ? "," : "", j);
			buf_append_text(&schema, kind ? "]}}]}]}" : ",\"string\"]}}}]}]}");
		}
	}
	buf_append_text(&schema, ",{\"name\":\"ground_truth\",\"type\":[\"null\"");
	for (int i = 0; i < BRANCHES; i++)
		buf_printf(&schema, ",\"R%d\"", i);
	buf_append_text(&schema, "]}]}");
	char data[sizeof NEEDED_DATA + 2 * BRANCHES] = NEEDED_DATA;
	size_t before = arena_size_bytes(arena);
	read_as_query(schema.data, (str_t){ data, sizeof data }, arena, &err, &detail);
	if (err)
		fail_msg("%s: %s", err_name(err), detail.message);
	assert_true(arena_size_bytes(arena) - before < ((size_t)16 << 20));
}

/* The definition of a record in the type of a field, or NULL: it has none, or is defined elsewhere. */
static const json_t *record_in(const json_t *type)
{
	if (json_is_array(type))
		type = json_array_get(type, 1);
	while (json_is_object(type) && json_object_get(type, "items"))
		type = json_object_get(type, "items");
	return json_object_get(type, "fields") ? type : NULL;
}

static void check_defaults(const json_t *schema, const struct record_type *type)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	void *record = arena_alloc(arena, type->size_bytes);
	fields_init(type, record);
	json_write(type, record, &text);
	json_t *json = json_loadb(text.data, text.len, 0, NULL);
	assert_non_null(json);
	for (size_t i = 0; i < type->count; i++) {
		const json_t *field = json_array_get(json_object_get(schema, "fields"), i);
		const json_t *wanted = json_object_get(field, "default");
		const json_t *value = json_object_get(json, type->fields[i].name);
		if (wanted ? !json_equal(wanted, value) : !(type->fields[i].flags & FIELD_REQUIRED))
			fail_msg("%s.%s is not at its default", type->name, type->fields[i].name);
		const struct field *item = &type->fields[i];
		while (item->kind == FIELD_ARRAY)
			item = item->item;
		const json_t *inner = record_in(json_object_get(field, "type"));
		if (inner && item->kind == FIELD_RECORD)
			check_defaults(inner, item->record);
	}
	json_decref(json);
}

/* What a writer does not have is at the default that our schema says. */
static void test_defaults_are_those_of_the_schemas(void **state)
{
	(void)state;
	for (int id = 0; id < RECORD_COUNT_; id++) {
		str_t text = builtin_schema((enum record_id)id);
		json_t *schema = json_loadb(text.ptr, text.len, 0, NULL);
		assert_non_null(schema);
		check_defaults(schema, builtin_record((enum record_id)id));
		json_decref(schema);
	}
}

static void test_blocks_and_repeated_keys(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const char SCHEMA[] =
		RECORD("Q", NEEDED "," FIELD("attributes", "{\"type\":\"map\",\"values\":\"string\"}"));
	/* a block of two, one of one with its size, the end; the key a comes twice */
	const struct generated_query *query = must_read(SCHEMA,
							BYTES(NEEDED_DATA "\4\2a\2"
									  "1\2b\2"
									  "2\1\x08\2a\2"
									  "3\0"),
							arena);
	assert_int_equal(query->attributes_count, 2);
	assert_string_equal(query->attributes[0].key.ptr, "a");
	assert_string_equal(query->attributes[0].value.ptr, "3");
	assert_string_equal(query->attributes[1].key.ptr, "b");
	assert_string_equal(query->attributes[1].value.ptr, "2");
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *schema;
		str_t data;
		err_t err;
		const char *message;
	} CASES[] = {
		{ "\"string\"", BYTES("\0"), ERR_SCHEMA_INCOMPATIBLE, "string" },
		{ RECORD("Q", FIELD("event_id", "\"string\"")), BYTES("\0"), ERR_SCHEMA_INCOMPATIBLE,
		  "\"occurred_at\"" },
		{ RECORD("Q", NEEDED "," FIELD("model", "\"int\"")), BYTES(NEEDED_DATA "\0"),
		  ERR_SCHEMA_INCOMPATIBLE, "\"model\"" },
		{ RECORD("Q", NEEDED "," FIELD("generator_confidence", "\"string\"")),
		  BYTES(NEEDED_DATA "\0"), ERR_SCHEMA_INCOMPATIBLE, "\"generator_confidence\"" },
		/* values that cannot be read, as long as none comes */
		{ RECORD("Q", NEEDED "," FIELD("attributes", "{\"type\":\"map\",\"values\":\"int\"}")),
		  BYTES(NEEDED_DATA "\0"), ERR_OK, "" },
		{ RECORD("Q", NEEDED "," FIELD("attributes", "{\"type\":\"map\",\"values\":\"int\"}")),
		  BYTES(NEEDED_DATA "\2\2k\2\0"), ERR_AVRO_VALUE, "\"value\"" },
		/* null is no default */
		{ RECORD("Q", NEEDED
			 "," FIELD("attributes", "[\"null\",{\"type\":\"map\",\"values\":\"string\"}]")),
		  BYTES(NEEDED_DATA "\0"), ERR_AVRO_VALUE, "\"attributes\"" },
		{ RECORD("Q", NEEDED "," FIELD("model", "[]")), BYTES(NEEDED_DATA "\0"),
		  ERR_SCHEMA_INCOMPATIBLE, "\"model\"" },
		{ RECORD("Q", NEEDED
			 "," FIELD("dialect",
				   "{\"type\":\"enum\",\"name\":\"x.Language\",\"symbols\":[\"SQLITE\"]}")),
		  BYTES(NEEDED_DATA "\0"), ERR_SCHEMA_INCOMPATIBLE, "x.Language" },
		{ RECORD("Q", NEEDED "," FIELD("response", RECORD("Resp", FIELD("x", "\"int\"")))),
		  BYTES(NEEDED_DATA "\0"), ERR_SCHEMA_INCOMPATIBLE, "\"raw\"" },
		{ RECORD("Q", NEEDED "," FIELD("response", RECORD("Resp", FIELD("raw", "\"null\"")))),
		  BYTES(NEEDED_DATA ""), ERR_SCHEMA_INCOMPATIBLE, "\"raw\"" },
		/* a union may hold what our field cannot, as long as it does not come */
		{ RECORD("Q", NEEDED "," FIELD("model", "[\"null\",\"string\",\"int\"]")),
		  BYTES(NEEDED_DATA "\2\2m"), ERR_OK, "" },
		{ RECORD("Q", NEEDED "," FIELD("model", "[\"null\",\"string\",\"int\"]")),
		  BYTES(NEEDED_DATA "\4\2"), ERR_AVRO_VALUE, "\"model\"" },
		{ RECORD("Q",
			 FIELD("event_id", "[\"null\",\"string\"]") "," FIELD(
				 "occurred_at",
				 "\"long\"") "," FIELD("application",
						       "\"string\"") "," FIELD("question",
									       "\"string\"") "," FIELD("sql",
												       "\"str"
												       "ing"
												       "\"")),
		  BYTES("\0\2\0\0\0"), ERR_AVRO_VALUE, "\"event_id\"" },
		{ RECORD("Q", NEEDED "," FIELD("model", "\"bytes\"")), BYTES(NEEDED_DATA "\2\xff"),
		  ERR_TEXT_ENCODING, "" },
		{ RECORD("Q", NEEDED "," FIELD("attributes", "{\"type\":\"map\",\"values\":\"string\"}")),
		  BYTES(NEEDED_DATA "\2\4a\0\0\0"), ERR_AVRO_VALUE, "NUL" },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct err_detail detail = { "" };
		err_t err;
		read_as_query(CASES[i].schema, CASES[i].data, arena, &err, &detail);
		if (err != CASES[i].err || !strstr(detail.message, CASES[i].message))
			fail_msg("case %zu: %s: %s", i, err_name(err), detail.message);
	}
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
}

static void test_schema_directory(void **state)
{
	(void)state;
	static const char OLD[] = RECORD("io.assayd.GeneratedQuery", NEEDED);
	char folder[] = "/tmp/assayd-schemas-XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(folder, "old.avsc", OLD);
	write_file(folder, "notes.txt", "not a schema");
	const struct codec_options options = { .schema_directory = folder };
	struct codec *codec = NULL;
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	struct schema *schema = parse_schema(OLD);
	framing_write_single_object(canonical_fingerprint(schema), &message);
	schema_free(schema);
	buf_append(&message, NEEDED_DATA, sizeof(NEEDED_DATA) - 1);
	struct generated_query *query;
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &query, NULL), ERR_OK);
	assert_string_equal(query->sql.ptr, "s");
	codec_free(codec);

	struct err_detail detail = { "" };
	write_file(folder, "bad.avsc", "{\"type\":\"panther\"}");
	assert_int_equal(codec_new(&options, &codec, &detail), ERR_SCHEMA_INCOMPATIBLE);
	assert_non_null(strstr(detail.message, "bad.avsc"));
	remove_file(folder, "bad.avsc");
	write_file(folder, "micros.avsc",
		   schema_at(arena, "io.assayd.GeneratedQuery", LOGICAL("long", "timestamp-micros")).ptr);
	assert_int_equal(codec_new(&options, &codec, &detail), ERR_SCHEMA_INCOMPATIBLE);
	assert_non_null(strstr(detail.message, "units of its timestamps"));
	remove_file(folder, "micros.avsc");
	remove_file(folder, "old.avsc");
	remove_file(folder, "notes.txt");
	rmdir(folder);
	assert_int_equal(codec_new(&options, &codec, &detail), ERR_FILE_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fewer_fields),
		cmocka_unit_test(test_more_and_reordered_fields),
		cmocka_unit_test(test_promotions),
		cmocka_unit_test(test_units_of_times),
		cmocka_unit_test(test_unknown_symbols),
		cmocka_unit_test(test_unknown_symbol_where_one_is_needed),
		cmocka_unit_test(test_names_of_the_reader),
		cmocka_unit_test(test_plans_are_bounded),
		cmocka_unit_test(test_defaults_are_those_of_the_schemas),
		cmocka_unit_test(test_blocks_and_repeated_keys),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_schema_directory),
	};
	return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
