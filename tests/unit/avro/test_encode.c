#include "support.h"

#include "avro/builtin.h"
#include "avro/encode.h"

/* A record with a field of every kind, bound to a schema that can be varied. */
struct item {
	str_t key;
	double value;
};

struct sample {
	bool flag;
	opt_int64_t number;
	double real;
	str_t text;
	int choice;
	struct item *weights;
	size_t weights_count;
	str_t *names;
	size_t names_count;
	bool names_set;
};

static const char *const CHOICES[] = { "A", "B" };
static const struct enumeration CHOICE = { CHOICES, 2 };
static const struct field TEXT_ITEM = { .name = "item", .kind = FIELD_TEXT, .flags = FIELD_REQUIRED };
static const struct field VALUE = {
	.name = "value", .kind = FIELD_DOUBLE, .flags = FIELD_REQUIRED, .offset = offsetof(struct item, value)
};
static const struct field FIELDS[] = {
	{ .name = "flag", .kind = FIELD_BOOL, .offset = offsetof(struct sample, flag) },
	{ .name = "number",
	  .kind = FIELD_LONG,
	  .flags = FIELD_NULLABLE,
	  .offset = offsetof(struct sample, number) },
	{ .name = "real", .kind = FIELD_DOUBLE, .offset = offsetof(struct sample, real) },
	{ .name = "text", .kind = FIELD_TEXT, .offset = offsetof(struct sample, text) },
	{ .name = "choice",
	  .kind = FIELD_ENUM,
	  .offset = offsetof(struct sample, choice),
	  .symbols = &CHOICE },
	{ .name = "weights",
	  .kind = FIELD_MAP,
	  .offset = offsetof(struct sample, weights),
	  .count_offset = offsetof(struct sample, weights_count),
	  .item_size_bytes = sizeof(struct item),
	  .item = &VALUE },
	{ .name = "names",
	  .kind = FIELD_ARRAY,
	  .flags = FIELD_NULLABLE,
	  .offset = offsetof(struct sample, names),
	  .count_offset = offsetof(struct sample, names_count),
	  .set_offset = offsetof(struct sample, names_set),
	  .item_size_bytes = sizeof(str_t),
	  .item = &TEXT_ITEM },
};
static const struct record_type SAMPLE = { "Sample", sizeof(struct sample), FIELDS, COUNT_OF(FIELDS) };

static void check_bytes(const struct sample *sample, str_t expected)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	assert_int_equal(encode_record(&SAMPLE, sample, &out), ERR_OK);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.data, expected.ptr, expected.len);
}

static void test_bytes(void **state)
{
	(void)state;
	struct item weights[] = { { STR("k"), 1.0 }, { STR("l"), -2.0 } };
	str_t names[] = { STR("x"), STR_NONE };
	const struct sample empty = { .names_set = true };
	const struct sample full = { true, { true, -65 }, 1.5, STR("ab"), 1, weights, 2, names, 2, true };
	check_bytes(&empty, BYTES("\0"		     /* flag */
				  "\0"		     /* number: null */
				  "\0\0\0\0\0\0\0\0" /* real */
				  "\0"		     /* text */
				  "\0"		     /* choice */
				  "\0"		     /* weights */
				  "\2\0"));	     /* names: an empty array */
	check_bytes(&full, BYTES("\1"
				 "\2\x81\1" /* −65 */
				 "\0\0\0\0\0\0\xf8\x3f"
				 "\4ab"
				 "\2"
				 "\4\2k\0\0\0\0\0\0\xf0\x3f\2l\0\0\0\0\0\0\0\xc0\0"
				 "\2\4\2x\0\0"));
}

static void test_integers(void **state)
{
	(void)state;
	static const struct {
		int64_t value;
		str_t bytes;
	} CASES[] = {
		{ 0, BYTES("\0") },
		{ -1, BYTES("\1") },
		{ 63, BYTES("\x7e") },
		{ -64, BYTES("\x7f") },
		{ 64, BYTES("\x80\1") },
		{ INT64_MAX, BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1") },
		{ INT64_MIN, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1") },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		const struct sample sample = { .number = { true, CASES[i].value } };
		assert_int_equal(encode_record(&SAMPLE, &sample, &out), ERR_OK);
		assert_memory_equal(out.data + 2, CASES[i].bytes.ptr, CASES[i].bytes.len);
		assert_int_equal(out.len, 2 + CASES[i].bytes.len + 12);
	}
}

#define SCHEMA_OF(flag, number, choice, weights, names)                                                      \
	"{\"type\":\"record\",\"name\":\"Sample\",\"fields\":[{\"name\":\"" flag "\",\"type\":\"boolean\"}," \
	"{\"name\":\"number\",\"type\":" number "},{\"name\":\"real\",\"type\":\"double\"},"                 \
	"{\"name\":\"text\",\"type\":\"string\"},{\"name\":\"choice\",\"type\":{\"type\":\"enum\","          \
	"\"name\":\"C\",\"symbols\":[" choice "]}},{\"name\":\"weights\",\"type\":{\"type\":\"map\","        \
	"\"values\":\"" weights "\"}},{\"name\":\"names\",\"type\":" names "}]}"
#define OPTIONAL_LONG  "[\"null\",\"long\"]"
#define SYMBOLS	       "\"A\",\"B\""
#define OPTIONAL_TEXTS "[\"null\",{\"type\":\"array\",\"items\":\"string\"}]"

static void test_match(void **state)
{
	(void)state;
	static const struct {
		const char *schema;
		bool matches;
	} CASES[] = {
		{ SCHEMA_OF("flag", OPTIONAL_LONG, SYMBOLS, "double", OPTIONAL_TEXTS), true },
		{ SCHEMA_OF("flags", OPTIONAL_LONG, SYMBOLS, "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", "\"long\"", SYMBOLS, "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", "[\"long\",\"null\"]", SYMBOLS, "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", "[\"null\",\"int\"]", SYMBOLS, "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", OPTIONAL_LONG, "\"B\",\"A\"", "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", OPTIONAL_LONG, "\"A\",\"B\",\"C\"", "double", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", OPTIONAL_LONG, SYMBOLS, "float", OPTIONAL_TEXTS), false },
		{ SCHEMA_OF("flag", OPTIONAL_LONG, SYMBOLS, "double",
			    "[\"null\",{\"type\":\"array\",\"items\":\"bytes\"}]"),
		  false },
		{ "\"string\"", false },
		{ "{\"type\":\"record\",\"name\":\"Sample\",\"fields\":[]}", false },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct schema *schema = parse_schema(CASES[i].schema);
		if (encode_matches(schema->root, &SAMPLE) != CASES[i].matches)
			fail_msg("case %zu", i);
		schema_free(schema);
	}
}

static void test_builtin_schemas_match(void **state)
{
	(void)state;
	for (int id = 0; id < RECORD_COUNT_; id++) {
		struct schema *schema = parse_schema(builtin_schema((enum record_id)id).ptr);
		assert_true(encode_matches(schema->root, builtin_record((enum record_id)id)));
		assert_false(encode_matches(schema->root, &SAMPLE));
		schema_free(schema);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_builtin_schemas_match),
	};
	return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}
