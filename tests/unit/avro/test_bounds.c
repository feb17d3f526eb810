#include "support.h"

#include "avro/bounds.h"

#define RECORD_OF(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"
#define ARRAY_OF(items)	  "{\"type\":\"array\",\"items\":" items "}"
#define MAP_OF(values)	  "{\"type\":\"map\",\"values\":" values "}"
#define ENUM_AB		  "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}"
#define FIXED_3		  "{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}"
#define LIST		  RECORD_OF("{\"name\":\"next\",\"type\":[\"null\",\"R\"]}")

/* Limits of all cases: 5 items, 4 levels. Integers are zig-zag: \x02 is 1, \x01 is −1. */
static const struct {
	const char *schema;
	str_t data;
	err_t err;
} CASES[] = {
	{ "\"null\"", BYTES(""), ERR_OK },
	{ "\"null\"", BYTES("x"), ERR_AVRO_TRAILING },
	{ "\"boolean\"", BYTES("\0"), ERR_OK },
	{ "\"boolean\"", BYTES("\1"), ERR_OK },
	{ "\"boolean\"", BYTES("\2"), ERR_AVRO_VALUE },
	{ "\"boolean\"", BYTES(""), ERR_AVRO_TRUNCATED },
	{ "\"int\"", BYTES("\x54"), ERR_OK },
	{ "\"int\"", BYTES("\xff\xff\xff\xff\x0f"), ERR_OK },	      /* −2³¹ */
	{ "\"int\"", BYTES("\x80\x80\x80\x80\x10"), ERR_AVRO_VALUE }, /* 2³¹ */
	{ "\"int\"", BYTES("\x80"), ERR_AVRO_TRUNCATED },
	{ "\"long\"", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_OK }, /* −2⁶³ */
	{ "\"long\"", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), ERR_AVRO_VALUE },
	{ "\"long\"", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"), ERR_AVRO_VALUE },
	{ "\"long\"", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), ERR_AVRO_TRUNCATED },
	{ "\"float\"", BYTES("1234"), ERR_OK },
	{ "\"float\"", BYTES("123"), ERR_AVRO_TRUNCATED },
	{ "\"double\"", BYTES("12345678"), ERR_OK },
	{ "\"double\"", BYTES("1234567"), ERR_AVRO_TRUNCATED },
	{ "\"bytes\"", BYTES("\4\xff\xfe"), ERR_OK },
	{ "\"bytes\"", BYTES("\6\xff\xfe"), ERR_AVRO_LENGTH },
	{ "\"bytes\"", BYTES("\1"), ERR_AVRO_LENGTH },
	{ "\"bytes\"", BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_AVRO_LENGTH }, /* 2⁶³ − 1 */
	{ "\"string\"", BYTES("\0"), ERR_OK },
	{ "\"string\"", BYTES("\4\xc3\xa4"), ERR_OK },
	{ "\"string\"", BYTES("\4\xc3("), ERR_TEXT_ENCODING },
	{ "\"string\"", BYTES("\6\xed\xa0\x80"), ERR_TEXT_ENCODING }, /* a surrogate */
	{ "\"string\"", BYTES("\4x"), ERR_AVRO_LENGTH },
	{ FIXED_3, BYTES("abc"), ERR_OK },
	{ FIXED_3, BYTES("ab"), ERR_AVRO_TRUNCATED },
	{ ENUM_AB, BYTES("\2"), ERR_OK },
	{ ENUM_AB, BYTES("\4"), ERR_AVRO_VALUE },
	{ ENUM_AB, BYTES("\1"), ERR_AVRO_VALUE },
	{ "[\"null\",\"int\"]", BYTES("\0"), ERR_OK },
	{ "[\"null\",\"int\"]", BYTES("\2\2"), ERR_OK },
	{ "[\"null\",\"int\"]", BYTES("\4"), ERR_AVRO_VALUE },
	{ "[\"null\",\"int\"]", BYTES("\1"), ERR_AVRO_VALUE },
	{ "[]", BYTES("\0"), ERR_AVRO_VALUE },
	{ ARRAY_OF("\"int\""), BYTES("\0"), ERR_OK },
	{ ARRAY_OF("\"int\""), BYTES("\4\2\2\0"), ERR_OK },
	{ ARRAY_OF("\"int\""), BYTES("\4\2\2"), ERR_AVRO_TRUNCATED },
	{ ARRAY_OF("\"int\""), BYTES("\x0a\2\2\2\2\2\0"), ERR_OK },	      /* just 5 */
	{ ARRAY_OF("\"int\""), BYTES("\x0c\2\2\2\2\2\2\0"), ERR_AVRO_ITEMS }, /* 6 */
	{ ARRAY_OF("\"int\""), BYTES("\6\2\2\2\6\2\2\2\0"), ERR_AVRO_ITEMS }, /* 3 + 3 */
	{ ARRAY_OF("\"int\""), BYTES("\3\4\2\2\0"), ERR_OK },		      /* −2 items in 2 bytes */
	{ ARRAY_OF("\"int\""), BYTES("\3\2\2\2\0"), ERR_AVRO_LENGTH },	      /* they are said to take 1 */
	{ ARRAY_OF("\"int\""), BYTES("\3\6\2\2\0"), ERR_AVRO_LENGTH },	      /* they are said to take 3 */
	{ ARRAY_OF("\"int\""), BYTES("\3\1\2\2\0"), ERR_AVRO_LENGTH },	      /* −1 */
	{ ARRAY_OF("\"int\""), BYTES("\3\x7e\2\2\0"), ERR_AVRO_LENGTH },      /* more than there are */
	{ ARRAY_OF("\"int\""), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0"),
	  ERR_AVRO_ITEMS }, /* −2⁶³ */
	{ ARRAY_OF("\"null\""), BYTES("\x0a\0"), ERR_OK },
	{ ARRAY_OF("\"null\""), BYTES("\xfe\xff\xff\xff\x0f\0"), ERR_AVRO_ITEMS }, /* 2³¹ − 1 of nothing */
	{ ARRAY_OF("\"null\""), BYTES("\6\6\0"), ERR_AVRO_ITEMS },
	{ ARRAY_OF("\"null\""), BYTES("\3\0\0"), ERR_OK },
	{ ARRAY_OF("\"null\""), BYTES("\3\2\0\0"), ERR_AVRO_LENGTH },
	{ ARRAY_OF(RECORD_OF("{\"name\":\"n\",\"type\":\"null\"}")), BYTES("\xfe\xff\xff\xff\x0f\0"),
	  ERR_AVRO_ITEMS },
	{ MAP_OF("\"int\""), BYTES("\2\2k\2\0"), ERR_OK },
	{ MAP_OF("\"int\""), BYTES("\2\2\xff\2\0"), ERR_TEXT_ENCODING },
	{ MAP_OF("\"int\""), BYTES("\2\x08k\2\0"), ERR_AVRO_LENGTH },
	{ MAP_OF("\"null\""), BYTES("\x0c\0\0\0\0\0\0\0"), ERR_AVRO_ITEMS },
	{ LIST, BYTES("\2\0"), ERR_OK },
	{ LIST, BYTES("\2\2\2\2\2\2\0"), ERR_AVRO_DEPTH },
	{ RECORD_OF("{\"name\":\"r\",\"type\":\"R\"}"), BYTES(""), ERR_AVRO_DEPTH },
	{ RECORD_OF("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"string\"}"),
	  BYTES("\2\2x\0"), ERR_AVRO_TRAILING },
};

static void test_cases(void **state)
{
	(void)state;
	const struct bounds_limits limits = { .max_items = 5, .max_depth = 4 };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		/* an allocation of just that size, so that the address sanitizer sees a read beyond it */
		size_t len = CASES[i].data.len;
		_cleanup_(cleanup_free) char *copy = malloc(len ? len : 1);
		assert_non_null(copy);
		memcpy(copy, CASES[i].data.ptr, len);
		struct schema *schema = parse_schema(CASES[i].schema);
		struct err_detail detail = { "" };
		err_t err = bounds_check(schema->root, copy, len, &limits, &detail);
		schema_free(schema);
		if (err != CASES[i].err)
			fail_msg("case %zu, %s: %s, not %s", i, CASES[i].schema, err_name(err),
				 err_name(CASES[i].err));
		assert_int_equal(err != ERR_OK, detail.message[0] != '\0');
	}
}

static void test_message_names_the_place(void **state)
{
	(void)state;
	const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };
	struct schema *schema = parse_schema(
		RECORD_OF("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"string\"}"));
	struct err_detail detail = { "" };
	assert_int_equal(bounds_check(schema->root, "\2\x10xy", 4, &limits, &detail), ERR_AVRO_LENGTH);
	assert_non_null(strstr(detail.message, "byte 2 of 4"));
	assert_non_null(strstr(detail.message, "field \"b\""));
	schema_free(schema);
}

/* 30 levels of records that each hold the next one twice are 2²⁹ nulls, and no bytes at all. */
static void test_empty_records_take_no_time(void **state)
{
	(void)state;
	const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (int level = 0; level < 30; level++)
		buf_printf(
			&text,
			"{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":", level);
	buf_append_text(&text, "\"null\"");
	for (int level = 29; level >= 0; level--) {
		if (level < 29)
			buf_printf(&text, "},{\"name\":\"b\",\"type\":\"R%d\"}]}", level + 1);
		else
			buf_append_text(&text, "}]}");
	}
	struct schema *schema = parse_schema(text.data);
	assert_true(schema->root->empty);
	assert_int_equal(bounds_check(schema->root, "", 0, &limits, NULL), ERR_OK);
	schema_free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_message_names_the_place),
		cmocka_unit_test(test_empty_records_take_no_time),
	};
	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
